//! Input that is wrong, hostile or merely huge: an error that names the place, or a result, and either of them soon.

use std::fmt::Write as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use polywire_schema::{
    Change, Dialect, Effect, FitOptions, Limits, ReadErrorKind, Slot, Unresolved, check, check_text, dialect, dialects,
    fit, fit_text,
};
use serde_json::{Map, Value, json};

use crate::judge::{assert_no_faults, fit_by_the_laws};

/// What no input may take, for one dialect and all the laws, on a slow machine and with little optimization.
const PATIENCE: Duration = Duration::from_secs(10);

#[track_caller]
fn refused(text: &str, options: &FitOptions, kind: ReadErrorKind, at: &str, says: &str) {
    let mut faults = Vec::new();
    for dialect in dialects() {
        let fault = match fit_text(text, dialect, options) {
            Ok(_) => "no error".to_owned(),
            Err(error) if error.kind() == kind && error.at() == at && error.to_string().contains(says) => continue,
            Err(error) => format!("{:?} at `{}`: {error}", error.kind(), error.at()),
        };
        let text: String = text.chars().take(200).collect();
        faults.push(format!("{}: {fault} for {text}", dialect.id()));
    }
    assert_no_faults(&faults);
}

/// Every dialect, each in its own time and on the small stack that threads have.
#[track_caller]
fn fits_soon(schema: &Value) {
    fits_soon_for(schema, &dialects().collect::<Vec<_>>());
}

#[track_caller]
fn fits_soon_for(schema: &Value, dialects: &[&'static Dialect]) {
    let text = schema.to_string();
    let mut faults = Vec::new();
    for dialect in dialects.iter().copied() {
        let (sender, answer) = mpsc::channel();
        let own = text.clone();
        let worker = thread::spawn(move || {
            let held = fit_by_the_laws(&own, dialect, &FitOptions::default());
            let told = held.err().map(|fault| fault.to_string().chars().take(300).collect::<String>());
            // Nobody listens any more where patience ran out.
            _ = sender.send(told);
        });
        match answer.recv_timeout(PATIENCE) {
            Ok(None) => worker.join().expect("a worker that is done"),
            Ok(Some(fault)) => faults.push(format!("{}: {fault}", dialect.id())),
            Err(_) => {
                // The thread goes on, perhaps with ever more memory: the sooner the test ends, the better.
                faults.push(format!("{}: no answer after {PATIENCE:?}", dialect.id()));
                break;
            }
        }
    }
    assert_no_faults(&faults);
}

/// A few dialects of each kind, where all of them would take long.
fn some_dialects() -> Vec<&'static Dialect> {
    let ids = ["anthropic-strict", "cca", "gemini", "gemini-openapi", "mcp", "openai", "openai-strict", "portable"];
    ids.iter().map(|id| dialect(id).expect("a dialect")).collect()
}

#[test]
fn text_that_is_not_json_is_an_error_with_line_and_column() {
    let options = FitOptions::default();
    for text in ["", "{", "{\"type\": \"object\",}", "{'type': 'object'}", "{} {}", "nul", "\u{feff}{}", "{\"a\": 01}"]
    {
        refused(text, &options, ReadErrorKind::Json, "", "line 1 column");
    }
    let error = check_text("{\n \"type\": object}", dialect("openai").unwrap(), Slot::Tool).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("line 2")), (ReadErrorKind::Json, true), "{error}");
}

#[test]
fn a_key_that_stands_twice_is_an_error_that_names_it() {
    let text = r#"{"type": "object", "properties": {"a": {"type": "string"}, "a": {"type": "null"}}}"#;
    refused(text, &FitOptions::default(), ReadErrorKind::Json, "", "`a`");
    refused(r#"{"enum": [{"b": 1, "b": 2}]}"#, &FitOptions::default(), ReadErrorKind::Json, "", "`b`");
}

#[test]
fn what_is_nested_too_deeply_is_an_error() {
    let deep = |levels: usize| format!("{}{{}}{}", "{\"items\":".repeat(levels), "}".repeat(levels));
    refused(&deep(600), &FitOptions::default(), ReadErrorKind::TooDeep, "", "deep");
    refused(&deep(200_000), &FitOptions::default(), ReadErrorKind::TooDeep, "", "deep");
    refused(&"[".repeat(1_000_000), &FitOptions::default(), ReadErrorKind::TooDeep, "", "deep");
    let shallow = FitOptions::default().with_limits(Limits::default().with_depth(3));
    refused(&deep(4), &shallow, ReadErrorKind::TooDeep, "", "deep");
}

#[test]
fn a_value_that_is_nested_too_deeply_is_an_error_too() {
    let mut schema = json!({});
    for _ in 0..600 {
        schema = json!({ "items": schema });
    }
    for dialect in dialects() {
        let error = fit(&schema, dialect, &FitOptions::default()).expect_err("an error");
        assert_eq!(error.kind(), ReadErrorKind::TooDeep, "{error}");
    }
}

#[test]
fn more_values_than_the_limits_allow_are_an_error() {
    let small = FitOptions::default().with_limits(Limits::default().with_values(100));
    let schema = json!({"type": "string", "enum": (0..200).map(|index| index.to_string()).collect::<Vec<_>>()});
    refused(&schema.to_string(), &small, ReadErrorKind::TooLarge, "", "too many values");
    assert!(fit_text(r#"{"type": "string"}"#, dialect("openai").unwrap(), &small).is_ok());
}

#[test]
fn a_value_that_is_no_schema_is_an_error() {
    for text in ["null", "3", "\"object\"", "[]", "[{\"type\": \"object\"}]"] {
        refused(text, &FitOptions::default(), ReadErrorKind::NotASchema, "", "a schema is an object or a boolean");
    }
    for text in ["null", "3", "\"object\"", "[]"] {
        for dialect in dialects() {
            let said = check_text(text, dialect, Slot::Tool);
            let refused = said.as_ref().map_or(true, |violations| !violations.is_empty());
            assert!(refused, "`check` finds nothing wrong with {text} for {}", dialect.id());
        }
    }
}

/// One slip of a generator does not take the schemas around it away.
#[test]
fn a_value_where_a_schema_must_stand_is_told_with_its_place_and_nothing_else_is_lost() {
    let cases = [
        (json!({"type": "object", "properties": {"b/c": 3}}), "/properties/a/properties/b~1c", Effect::Wider),
        (json!({"type": "object", "properties": {"b": null}}), "/properties/a/properties/b", Effect::Same),
        (json!({"anyOf": [{"type": "integer"}, "null"]}), "/properties/a/anyOf/1", Effect::Same),
        (json!({"anyOf": [{"type": "integer"}, "no type"]}), "/properties/a/anyOf/1", Effect::Same),
        (json!({"oneOf": [{"type": "integer"}, null]}), "/properties/a/oneOf/1", Effect::Same),
        (json!({"not": 3}), "/properties/a", Effect::Wider),
        (json!({"type": "array", "items": "string"}), "/properties/a/items", Effect::Same),
        (json!({"type": "object", "additionalProperties": ["a"]}), "/properties/a/additionalProperties", Effect::Wider),
    ];
    for (slip, at, effect) in cases {
        let schema =
            json!({"type": "object", "properties": {"a": slip, "path": {"type": "string"}}, "required": ["path"]});
        for dialect in dialects() {
            let fitted = fit(&schema, dialect, &FitOptions::default()).expect("a fit");
            let told = |change: &&Change| &*change.code == "READ-MALFORMED" && change.at == at;
            let effects: Vec<Effect> = fitted.changes.iter().filter(told).map(|change| change.effect).collect();
            assert_eq!(effects, [effect], "{schema} for {}", dialect.id());
            let path = fitted.schema.pointer("/properties/path/type").and_then(Value::as_str);
            assert!(path.is_some_and(|name| name.eq_ignore_ascii_case("string")), "{schema} for {}", dialect.id());
            assert!(check(&fitted.schema, dialect, Slot::Tool).expect("JSON").is_empty(), "{schema}");
        }
    }
}

#[test]
fn a_reference_without_a_target_is_an_error_where_the_caller_says_so() {
    let refuse = FitOptions::default().with_unresolved(Unresolved::Refuse);
    for uri in ["#/$defs/Missing", "#missing", "https://example.org/other.json", "other.json#/a", "#/properties/b"] {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": uri}}});
        refused(&schema.to_string(), &refuse, ReadErrorKind::Unresolved, "/properties/a", uri);
        fits_soon(&schema);
    }
}

#[test]
fn a_reference_that_would_be_guessed_is_an_error_there_too() {
    let refuse = FitOptions::default().with_unresolved(Unresolved::Refuse);
    let nested = json!({"type": "object", "properties": {"b": {"$defs": {"B": {"$anchor": "b", "$id": "urn:b", "type": "string"}}}}});
    for uri in ["#/$defs/B", "/properties/b", "#b"] {
        let mut schema = nested.clone();
        schema["properties"]["a"] = json!({ "$ref": uri });
        refused(&schema.to_string(), &refuse, ReadErrorKind::Unresolved, "/properties/a", uri);
        let fitted = fit(&schema, dialect("gemini-openapi").unwrap(), &FitOptions::default()).unwrap();
        assert!(fitted.changes.iter().any(|change| change.detail.contains("taken to be meant")), "{uri}");
    }
}

#[test]
fn references_that_go_round_in_circles_fit() {
    fits_soon(&json!({ "$ref": "#" }));
    fits_soon(&json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}));
    fits_soon(&json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}));
    fits_soon(&json!({"allOf": [{"$ref": "#"}], "type": "object"}));
    fits_soon(&json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}));
    fits_soon(&json!({"not": {"$ref": "#"}}));
    fits_soon(
        &json!({"anyOf": [{"$ref": "#"}], "oneOf": [{"anyOf": [{"minLength": 3}], "type": "boolean", "title": "x"}]}),
    );
    fits_soon(
        &json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"], "additionalProperties": false}),
    );
    fits_soon(
        &json!({"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}, {"$ref": "#/$defs/A"}]}, "B": {"oneOf": [{"$ref": "#/$defs/A"}]}}}),
    );
    fits_soon(&json!({"type": "array", "items": {"$ref": "#/items"}, "minItems": 1}));
    fits_soon(
        &json!({"items": {"allOf": [{"$ref": "#"}], "prefixItems": [{"$ref": "#"}], "dependentRequired": {"a": []}}}),
    );
}

#[test]
fn a_long_chain_of_references_fits() {
    let mut defs = Map::new();
    for index in 0..10_000 {
        defs.insert(format!("d{index}"), json!({ "$ref": format!("#/$defs/d{}", index + 1) }));
    }
    defs.insert("d10000".to_owned(), json!({"type": "string"}));
    fits_soon_for(
        &json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}),
        &some_dialects(),
    );
}

#[test]
fn many_references_to_anchors_and_properties_are_checked_soon() {
    let count = 20_000;
    let mut properties = Map::new();
    for index in 0..count {
        properties.insert(format!("s{index}"), json!({"type": "string", "$anchor": format!("a{index}")}));
        properties.insert(format!("a{index}"), json!({ "$ref": format!("#a{}", count - 1 - index) }));
        properties.insert(format!("p{index}"), json!({ "$ref": format!("#/properties/s{}", count - 1 - index) }));
    }
    let schema = json!({"type": "object", "properties": properties}).to_string();
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || {
        for dialect in dialects() {
            // Nobody listens any more where patience ran out.
            _ = sender.send(check_text(&schema, dialect, Slot::Tool).is_ok());
        }
    });
    for dialect in dialects() {
        assert_eq!(answer.recv_timeout(PATIENCE), Ok(true), "{}", dialect.id());
    }
}

#[test]
fn a_long_chain_of_objects_fits() {
    let mut defs = Map::new();
    for index in 0..5_000 {
        let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
        defs.insert(format!("d{index}"), json!({"type": "object", "properties": {"next": next}, "required": ["next"]}));
    }
    defs.insert("d5000".to_owned(), json!({"type": "string"}));
    fits_soon_for(
        &json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}),
        &some_dialects(),
    );
}

#[test]
fn definitions_that_double_do_not_explode() {
    let mut defs = Map::new();
    for index in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
        let both = json!({"left": next.clone(), "right": next});
        defs.insert(format!("d{index}"), json!({"type": "object", "properties": both}));
    }
    defs.insert("d60".to_owned(), json!({"type": "string"}));
    fits_soon(&json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}));
}

#[test]
fn multiples_that_are_met_again_and_again_do_not_explode() {
    let mut defs = Map::new();
    defs.insert("d0".to_owned(), json!({"allOf": [{"multipleOf": 2}, {"multipleOf": 3}]}));
    for index in 1..60 {
        let last = json!({ "$ref": format!("#/$defs/d{}", index - 1) });
        defs.insert(format!("d{index}"), json!({"allOf": [last, last]}));
    }
    fits_soon(&json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d59"}}, "$defs": defs}));
}

#[test]
fn unions_that_multiply_do_not_explode() {
    let pairs: Vec<Value> = (0..30)
        .map(|index| json!({"anyOf": [{"required": [format!("a{index}")]}, {"required": [format!("b{index}")]}]}))
        .collect();
    fits_soon(&json!({"type": "object", "properties": {"a": {"type": "object", "allOf": pairs}}}));
}

#[test]
fn a_union_of_a_hundred_thousand_branches_fits() {
    let branches: Vec<Value> =
        (0..100_000).map(|index| json!({"type": "string", "const": format!("v{index}")})).collect();
    fits_soon_for(&json!({"type": "object", "properties": {"a": {"anyOf": branches}}}), &some_dialects());
}

#[test]
fn a_union_of_a_thousand_branches_keeps_them() {
    let branches: Vec<Value> =
        (0..1_000).map(|index| json!({"type": "string", "const": format!("v{index}"), "description": "one"})).collect();
    let schema = json!({"type": "object", "properties": {"a": {"anyOf": branches}}, "required": ["a"]});
    for id in ["gemini-openapi", "anthropic", "mistral"] {
        let fitted = fit(&schema, dialect(id).expect("a dialect"), &FitOptions::default()).expect("a fit");
        assert!(fitted.schema.to_string().contains("v999"), "{id}");
    }
}

#[test]
fn a_union_of_many_objects_fits() {
    let branch = |index: usize| json!({"type": "object", "properties": {format!("p{index}"): {"type": "string"}}, "required": [format!("p{index}")]});
    let branches: Vec<Value> = (0..3_000).map(branch).collect();
    fits_soon_for(&json!({"type": "object", "properties": {"a": {"oneOf": branches}}}), &some_dialects());
}

#[test]
fn a_deep_tower_of_combinators_fits() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        for index in 0..100 {
            schema = json!({ keyword: [schema, {"description": format!("level {index}")}] });
        }
        fits_soon(&json!({"type": "object", "properties": {"a": schema}}));
    }
}

#[test]
fn a_tower_as_deep_as_the_limit_fits_on_a_small_stack() {
    for wrap in [
        |inner: Value| json!({"type": "object", "properties": {"a": inner}}),
        |inner: Value| json!({"type": "array", "items": inner}),
        |inner: Value| json!({ "not": inner }),
        |inner: Value| json!({"type": "object", "additionalProperties": inner}),
    ] {
        let mut schema = json!({"type": "string"});
        let mut levels = 0;
        while levels < 120 {
            schema = wrap(schema);
            levels += 1;
        }
        fits_soon(&schema);
    }
}

#[test]
fn texts_within_texts_do_not_add_up_to_a_tower() {
    let mut schema = json!({"type": "string"});
    for _ in 0..7 {
        for _ in 0..14 {
            schema = json!({"type": "array", "items": schema});
        }
        schema = json!({"type": "array", "items": schema.to_string()});
    }
    for _ in 0..100 {
        schema = json!({"type": "array", "items": schema});
    }
    fits_soon(&json!({"type": "object", "properties": {"a": schema}}));
}

#[test]
fn a_huge_enum_fits() {
    let values: Vec<String> = (0..100_000).map(|index| format!("value {index}")).collect();
    fits_soon_for(&json!({"type": "object", "properties": {"a": {"enum": values}}}), &some_dialects());
    let mixed: Vec<Value> =
        (0..20_000).map(|index| if index % 2 == 0 { json!(index) } else { json!(index.to_string()) }).collect();
    fits_soon_for(&json!({"type": "object", "properties": {"a": {"enum": mixed}}}), &some_dialects());
}

#[test]
fn an_object_of_many_properties_fits() {
    let mut properties = Map::new();
    let mut names = Vec::new();
    for index in 0..30_000 {
        // Keys that must be renamed, and meet each other when they are.
        let name = format!("key {}", if index % 2 == 0 { format!("{index}!") } else { format!("{}?", index - 1) });
        properties.insert(name.clone(), json!({"type": "string"}));
        names.push(name);
    }
    fits_soon_for(&json!({"type": "object", "properties": properties, "required": names}), &some_dialects());
}

#[test]
fn long_texts_and_patterns_fit() {
    let long = "ä".repeat(200_000);
    let mut pattern = String::from("^(");
    for index in 0..20_000 {
        write!(pattern, "a{index}|").expect("text");
    }
    pattern.push_str("b)$");
    fits_soon(
        &json!({"type": "object", "properties": {"a": {"type": "string", "description": long, "pattern": pattern}}}),
    );
    let groups = format!("{}a{}", "(".repeat(20_000), ")".repeat(20_000));
    fits_soon(&json!({"type": "object", "properties": {"a": {"type": "string", "pattern": groups}}}));
    fits_soon(
        &json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "((a{1,1000}){1,1000}){1,1000}"}}}),
    );
}

#[test]
fn a_dialect_that_cannot_be_read_is_an_error() {
    for text in ["", "id = 3", "id = \"own\"\nunknown = true", "id = \"own\"\n[[keyword]]\nnames = [\"noSuchKeyword\"]"]
    {
        assert!(Dialect::from_toml(text).is_err(), "{text}");
    }
}
