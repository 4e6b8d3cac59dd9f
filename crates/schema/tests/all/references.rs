//! What references lead to, across the resources of a document and the documents that were fetched.

use std::sync::Arc;

use polywire_schema::{Effect, FitOptions, Resolver, Slot, check, dialect};
use serde_json::{Value, json};

use crate::judge::fit_by_the_laws;

/// Documents by their URI.
struct Documents(Value);

impl Resolver for Documents {
    fn resolve(&self, uri: &str) -> Option<Value> {
        self.0.get(uri).cloned()
    }
}

/// The schema of the property `p`, as a dialect that knows no references prints it.
#[track_caller]
fn printed(schema: &Value, documents: &Value) -> Value {
    let options = FitOptions::default().with_resolver(Some(Arc::new(Documents(documents.clone()))));
    let target = dialect("gemini-openapi").unwrap();
    let fitted = fit_by_the_laws(&schema.to_string(), target, &options).unwrap_or_else(|fault| panic!("{fault}"));
    let fitted: Value = serde_json::from_str(&fitted.schema).unwrap();
    fitted["properties"]["p"].clone()
}

fn about(reference: &str, definitions: &Value) -> Value {
    json!({"type": "object", "properties": {"p": {"$ref": reference}}, "required": ["p"], "$defs": definitions})
}

#[test]
fn a_reference_in_a_resource_means_what_it_means_there_however_one_comes_to_it() {
    let own = json!({"n": {"$ref": "#/$defs/s"}, "s": {"type": "integer"}});
    let a = json!({"$id": "https://x.example/a.json", "$defs": own, "$ref": "#/$defs/s"});
    let definitions = json!({"A": a, "s": {"type": "string"}});
    for reference in ["https://x.example/a.json#/$defs/n", "https://x.example/a.json", "#/$defs/A/$defs/n", "#/$defs/A"]
    {
        assert_eq!(printed(&about(reference, &definitions), &json!({})), json!({"type": "integer"}), "{reference}");
    }
}

#[test]
fn a_reference_in_a_fetched_document_means_what_it_means_there() {
    let own = json!({"n": {"$ref": "#/$defs/s"}, "s": {"type": "integer"}, "far": {"$ref": "b.json#/$defs/s"}});
    let documents = json!({
        "https://x.example/a.json": {"$defs": own, "$ref": "#/$defs/s"},
        "https://x.example/b.json": {"$defs": {"s": {"type": "boolean"}}},
    });
    let definitions = json!({"s": {"type": "string"}});
    for (reference, printed_type) in [("#/$defs/n", "integer"), ("", "integer"), ("#/$defs/far", "boolean")] {
        let schema = about(&format!("https://x.example/a.json{reference}"), &definitions);
        assert_eq!(printed(&schema, &documents), json!({ "type": printed_type }), "{reference}");
    }
}

#[test]
fn a_relative_reference_is_seen_from_the_resource_that_it_stands_in() {
    let definitions = json!({
        "A": {"$id": "https://x.example/a/here.json", "$defs": {"n": {"$ref": "there.json"}}},
        "B": {"$id": "https://x.example/a/there.json", "type": "integer"},
        "C": {"$id": "https://y.example/there.json", "type": "string"},
    });
    let mut schema = about("https://x.example/a/here.json#/$defs/n", &definitions);
    schema["$id"] = json!("https://y.example/root.json");
    assert_eq!(printed(&schema, &json!({})), json!({"type": "integer"}));
}

#[test]
fn an_anchor_belongs_to_its_resource() {
    let definitions = json!({
        "s": {"$anchor": "same", "type": "string"},
        "A": {"$id": "https://x.example/a.json", "$defs": {"s": {"$anchor": "same", "type": "integer"}}},
    });
    assert_eq!(printed(&about("https://x.example/a.json#same", &definitions), &json!({})), json!({"type": "integer"}));
    assert_eq!(printed(&about("#same", &definitions), &json!({})), json!({"type": "string"}));
}

#[test]
fn a_resource_without_definitions_is_one_too() {
    let node = json!({"$id": "https://x.example/n.json", "type": "object", "properties": {"up": {"$ref": "#/properties/x"}, "x": {"type": "integer"}}});
    let mut schema = about("https://x.example/n.json#/properties/up", &json!({ "N": node }));
    schema["properties"]["x"] = json!({"type": "string"});
    assert_eq!(printed(&schema, &json!({})), json!({"type": "integer"}));
}

#[test]
fn a_property_called_like_a_word_for_data_is_looked_into() {
    let inner = json!({"type": "object", "properties": {"q": {"$anchor": "here", "type": "integer"}}});
    let mut schema = about("#here", &json!({}));
    schema["properties"]["default"] = inner;
    assert_eq!(printed(&schema, &json!({})), json!({"type": "integer"}));
}

#[test]
fn a_definition_called_like_a_keyword_is_no_way_out_of_a_loop() {
    for name in ["properties", "items", "additionalProperties", "plain"] {
        let own = json!({ "$ref": format!("#/$defs/{name}") });
        let list = json!({"type": "array", "minItems": 1, "items": own});
        let schema = json!({"type": "object", "properties": {"n": own}, "$defs": {name: {"anyOf": [{"$ref": "#/$defs/M"}, {"type": "string"}]}, "M": list}});
        let target = dialect("gemini").unwrap();
        let loops: Vec<String> = check(&schema, target, Slot::Tool).unwrap().into_iter().map(|one| one.at).collect();
        assert_eq!(loops, ["/$defs/M/items"], "{name}");
        let fitted = fit_by_the_laws(&schema.to_string(), target, &FitOptions::default());
        let fitted = fitted.unwrap_or_else(|fault| panic!("{fault}"));
        assert!(fitted.schema.contains("anyOf"), "{name}: {}", fitted.schema);
    }
}

#[test]
fn what_is_taken_for_a_reference_that_misses_is_told() {
    let inner =
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/s"}}, "$defs": {"deep": {"type": "integer"}}});
    let resource =
        json!({"$id": "https://x.example/a.json", "type": "object", "properties": {"x": {"$ref": "#/$defs/s"}}});
    let cases = [
        (json!({"$ref": "#/$defs/deep"}), "", Some("/$defs/A/$defs/deep")),
        (json!({"$ref": "/$defs/s"}), "", Some("/$defs/s")),
        (json!({"$ref": "#/$defs/B"}), "/$defs/B/properties/x", Some("/$defs/s")),
        (json!({"$ref": "#/$defs/A"}), "", None),
        (json!({"$ref": "#/$defs/s"}), "", None),
    ];
    for (reference, at, taken) in cases {
        let mut schema = about("", &json!({"A": inner, "B": resource, "s": {"type": "string"}}));
        schema["properties"]["p"] = reference;
        let fitted = fit_by_the_laws(&schema.to_string(), dialect("openai-strict").unwrap(), &FitOptions::default());
        let changes = fitted.unwrap_or_else(|fault| panic!("{fault}")).changes;
        let told: Vec<_> = changes.iter().filter(|change| &*change.code == "READ-REF").collect();
        let at = if at.is_empty() { "/properties/p" } else { at };
        assert_eq!(told.len(), usize::from(taken.is_some()), "{schema} {told:?}");
        for (change, taken) in told.iter().zip(taken) {
            assert_eq!((&*change.at, change.effect), (at, Effect::Note));
            assert!(change.detail.contains(&format!("`{taken}`")), "{}", change.detail);
        }
    }
}

/// A schema with a definition for each name, which requires one of its own kind, the next one and the first.
fn loops(count: usize) -> Value {
    let name = |index: usize| format!("#/$defs/D{}", index % count);
    let definition = |index: usize| {
        let properties =
            json!({"own": {"$ref": name(index)}, "next": {"$ref": name(index + 1)}, "first": {"$ref": name(0)}});
        (format!("D{index}"), json!({"type": "object", "properties": properties, "required": ["own", "next", "first"]}))
    };
    let definitions: serde_json::Map<String, Value> = (0..count).map(definition).collect();
    json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/D0"}}, "$defs": definitions})
}

#[test]
fn every_loop_is_a_violation() {
    let found = check(&loops(3), dialect("gemini").unwrap(), Slot::Tool).unwrap();
    let places: Vec<&str> = found.iter().map(|one| one.at.as_str()).collect();
    let own = |index| format!("/$defs/D{index}/properties/own");
    let first = |index| format!("/$defs/D{index}/properties/first");
    assert_eq!(places, [own(0), own(1), own(2), "/$defs/D2/properties/next".into(), first(2), first(1), first(0)]);
}

#[test]
fn each_of_many_loops_gets_a_way_out() {
    let schema = loops(2_000);
    for id in ["gemini", "vertex-openapi"] {
        let fitted = fit_by_the_laws(&schema.to_string(), dialect(id).unwrap(), &FitOptions::default());
        let fitted = fitted.unwrap_or_else(|fault| panic!("{fault}"));
        assert!(fitted.schema.len() > 200_000, "{id}: {}", fitted.schema.len());
    }
}

#[test]
fn relative_references_are_joined_to_the_base_step_by_step() {
    for reference in [
        "item.json",
        "./item.json",
        "sub/../item.json",
        "/dir/item.json",
        "//x.example/dir/item.json",
        "HTTPS://x.example/dir/item.json",
    ] {
        let mut schema = about(reference, &json!({"i": {"$id": "item.json", "type": "integer"}}));
        schema["$id"] = json!("https://x.example/dir/root.json");
        assert_eq!(printed(&schema, &json!({})), json!({"type": "integer"}), "{reference}");
    }
}
