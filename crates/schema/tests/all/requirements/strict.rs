//! Strict form, and what the checker says before anything is sent.

use polywire_schema::{
    Action, Effect, FitOptions, Slot, StrictMode, check, check_tools, explain, fit, fit_tools, read_tools,
    strict_preflight, target,
};
use serde_json::{Value, json};

use super::{check_fit, check_property, fitted, of, tells};

#[test]
fn r_a9_strict_strips_what_is_refused_and_writes_the_default_once() {
    let told = json!({"type": "integer", "description": "How many.", "default": 3});
    check_property("openai-strict", &told, &json!({"type": "integer", "description": "How many. (default: 3)"}));
    let there = json!({"type": "integer", "description": "How many (default: 3)", "default": 3});
    check_property("openai-strict", &there, &json!({"type": "integer", "description": "How many (default: 3)"}));
    let changes = check_property("openai-strict", &json!({"const": "k"}), &json!({"type": "string", "enum": ["k"]}));
    assert!(tells(&changes, "const", Action::Rewritten, Effect::Same), "{changes:?}");
    let refused = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "x-own": 1});
    let stripped = json!({"type": "array", "description": "(no duplicates)", "items": {"type": "string"}});
    check_property("openai-strict", &refused, &stripped);
}

#[test]
fn r_a10_strict_closes_objects_requires_everything_and_makes_optionals_nullable() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "c": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}}
        },
        "required": ["c"]
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "c": {"type": "array", "items": {
                "type": "object",
                "properties": {"x": {"type": ["number", "null"]}},
                "required": ["x"],
                "additionalProperties": false
            }}
        },
        "required": ["a", "b", "c"],
        "additionalProperties": false
    });
    let changes = check_fit("openai-strict", &schema, &expected);
    assert!(tells(&changes, "required", Action::MadeNullable, Effect::Same), "{changes:?}");
    assert!(tells(&changes, "additionalProperties", Action::Closed, Effect::Narrower), "{changes:?}");
}

#[test]
fn r_a10_strict_reaches_the_places_of_a_tuple() {
    let place = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    let tuple = json!({"type": "array", "prefixItems": [place, {"type": "integer"}], "items": false, "minItems": 2});
    let carried = json!({
        "type": "object",
        "properties": {
            "item_1": {
                "type": "object",
                "properties": {"x": {"type": ["string", "null"]}},
                "required": ["x"],
                "additionalProperties": false
            },
            "item_2": {"type": "integer"}
        },
        "required": ["item_1", "item_2"],
        "additionalProperties": false
    });
    check_property("openai-strict", &tuple, &carried);
}

#[test]
fn r_a11_what_cannot_be_strict_is_sent_without_the_flag_and_says_so() {
    let values: Vec<String> = (0..1_001).map(|index| format!("v{index}")).collect();
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "enum": values}}});
    let auto = fitted("openai-strict", &schema);
    assert!(!auto.strict());
    assert_eq!(auto.schema, schema, "the looser dialect takes it as it is");
    assert!(tells(&auto.changes, "enum", Action::FellBack, Effect::Note), "{:?}", auto.changes);
    let list = read_tools(&json!([
        {"name": "large", "input_schema": schema},
        {"name": "small", "input_schema": {"type": "object", "properties": {}}}
    ]));
    let tools = fit_tools(&list.expect("a tool list"), of("openai-strict"), &FitOptions::default());
    let flags: Vec<bool> = tools.tools.iter().map(|tool| tool.strict).collect();
    assert_eq!(flags, [false, true], "one tool never fails the others");
    let off = FitOptions::default().with_strict(StrictMode::Off);
    let loose = fit(&json!({"type": "object", "properties": {}}), of("openai-strict"), &off).expect("a fit");
    assert!(!loose.strict());
}

#[test]
fn r_c6_the_strict_preflight_names_every_object_through_unions_and_arrays() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, {"type": "null"}]},
            "b": {"type": "array", "items": {
                "type": "object", "properties": {"y": {"type": "string"}}, "required": [], "additionalProperties": false
            }},
            "c": {"$ref": "#/$defs/C"}
        },
        "required": ["a", "b", "c"],
        "additionalProperties": false,
        "$defs": {"C": {"type": "object", "properties": {}}}
    });
    let found = strict_preflight(&schema, of("openai-strict"), Slot::Tool).expect("a schema");
    let told: Vec<_> = found.iter().map(|one| (one.code.as_str(), one.at.as_str())).collect();
    let expected = [
        ("OAI-STRICT-03", "/properties/a/anyOf/0"),
        ("OAI-STRICT-04", "/properties/b/items"),
        ("OAI-STRICT-03", "/$defs/C"),
    ];
    assert_eq!(told, expected);
    let mended = fitted("openai-strict", &schema).schema;
    assert_eq!(strict_preflight(&mended, of("openai-strict"), Slot::Tool).expect("a schema"), []);
}

#[test]
fn r_e2_every_violation_is_told_at_once_in_the_words_of_the_provider() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": true}, "b": {"oneOf": [{"type": "string"}]}},
        "required": ["a"]
    });
    let list = read_tools(&json!([{"name": "my tool", "strict": true, "input_schema": schema}])).expect("a tool list");
    let found = check_tools(&list, of("openai-strict"));
    let told: Vec<_> = found.iter().map(|one| (one.code.as_str(), one.at.as_str())).collect();
    for expected in [
        ("OAI-STRICT-24", "/0/input_schema/properties/a/uniqueItems"),
        ("OAI-STRICT-10", "/0/input_schema/properties/a"),
        ("OAI-STRICT-26", "/0/input_schema/properties/b/oneOf"),
        ("OAI-STRICT-03", "/0/input_schema"),
        ("OAI-STRICT-04", "/0/input_schema"),
        ("OAI-CHAT-02", "/0/name"),
    ] {
        assert!(told.contains(&expected), "{expected:?} is not in {told:?}");
    }
    let missing = found.iter().find(|one| one.code == "OAI-STRICT-10").expect("the array");
    let says = "Invalid schema for function 'my tool': In context=('properties', 'a'), array schema missing items.";
    assert_eq!(missing.says, says);
    assert!(found.iter().all(|one| !one.source.is_empty() && !explain(&one.code).is_empty()), "{found:?}");
}

#[test]
fn r_e3_budgets_are_counted_for_a_schema_before_it_is_sent() {
    let found = |id: &str, schema: &Value| -> Vec<String> {
        check(schema, of(id), Slot::Tool).expect("a schema").into_iter().map(|one| one.code).collect()
    };
    let values: Vec<String> = (0..1_001).map(|index| format!("v{index}")).collect();
    let large = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "enum": values}},
        "required": ["a"],
        "additionalProperties": false
    });
    assert_eq!(found("openai-strict", &large), ["OAI-STRICT-63"]);
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = json!({"type": "object", "properties": {"a": deep}, "required": ["a"], "additionalProperties": false});
    }
    assert!(found("openai-strict", &deep).contains(&"OAI-STRICT-61".to_owned()));
}

#[test]
fn r_e3_budgets_are_counted_for_a_request_before_it_is_sent() {
    let tool = |index: usize| {
        let properties: serde_json::Map<String, Value> =
            (0..9).map(|key| (format!("p{key}"), json!({"type": "string"}))).collect();
        json!({
            "name": format!("tool{index}"),
            "strict": true,
            "input_schema": {"type": "object", "properties": properties, "additionalProperties": false}
        })
    };
    let list = read_tools(&json!((0..3).map(tool).collect::<Vec<_>>())).expect("a tool list");
    let found = check_tools(&list, of("anthropic-strict"));
    let told: Vec<_> = found.iter().map(|one| (one.code.as_str(), one.at.as_str())).collect();
    assert_eq!(told, [("ANT-STRICT-04", "")], "27 optionals in three tools that are fine on their own");
    let tools = fit_tools(&list, of("anthropic-strict"), &FitOptions::default());
    let flags: Vec<bool> = tools.tools.iter().map(|tool| tool.strict).collect();
    assert_eq!(flags, [true, true, false]);
    let many: Vec<Value> = (0..129)
        .map(|index| json!({"name": format!("t{index}"), "input_schema": {"type": "object", "properties": {}}}))
        .collect();
    let many = read_tools(&json!(many)).expect("a tool list");
    assert!(check_tools(&many, of("openai")).iter().any(|one| one.code == "OAI-CHAT-06"));
}

#[test]
fn r_e3_an_overdrawn_budget_is_told_with_all_that_was_counted() {
    let properties: serde_json::Map<String, Value> =
        (0..9_000).map(|key| (format!("p{key}"), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties});
    for id in ["openai-strict", "anthropic-strict"] {
        let fitted = fit(&schema, of(id), &FitOptions::default()).expect("a fit");
        let told = fitted.changes.iter().find(|change| change.action == Action::FellBack).expect("the next rung");
        assert!(!fitted.strict() && told.detail.contains("9000"), "{id}: {}", told.detail);
    }
}

#[test]
fn r_e3_what_is_required_there_is_not_counted_as_optional() {
    let properties: serde_json::Map<String, Value> =
        (0..7_000).map(|key| (format!("p{key}"), json!({"type": "string"}))).collect();
    let both = target("openai-strict,anthropic-strict").expect("a meet");
    let fitted =
        fit(&json!({"type": "object", "properties": properties}), &both, &FitOptions::default()).expect("a fit");
    let told = fitted.changes.iter().find(|change| change.action == Action::FellBack).expect("the next rung");
    assert!(told.detail.contains("7000"), "{}", told.detail);
}

/// Objects that hold any of themselves and are told apart by a tag, which stands last.
#[test]
fn objects_with_tags_that_hold_each_other_are_not_taken_for_each_other() {
    let names: Vec<String> = (0..6).map(|number| format!("t{number}")).collect();
    let any: Vec<Value> = names.iter().map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect();
    let object = |name: &String| {
        let properties = json!({"child": {"anyOf": any}, "note": {"type": "string"}, "kind": {"const": name}});
        (name.clone(), json!({"type": "object", "properties": properties, "required": ["child", "kind"]}))
    };
    let defs: serde_json::Map<String, Value> = names.iter().map(object).collect();
    let schema = json!({"type": "object", "properties": {"root": {"anyOf": any}}, "required": ["root"], "$defs": defs});
    let fitted = fit(&schema, of("openai-strict"), &FitOptions::default()).expect("a fit");
    let doubtful = fitted.changes.iter().find(|change| change.detail.contains("another branch"));
    assert!(fitted.strict() && doubtful.is_none(), "{doubtful:?}");
}

/// Law 4: what a budget takes is on record where the caller knows it, also if it is printed elsewhere.
#[test]
fn what_a_budget_takes_is_told_at_a_place_of_the_callers_schema() {
    let long: Vec<String> = (0..251).map(|number| format!("{number:060}")).collect();
    let object = json!({"type": "object", "properties": {"sku": {"enum": long}}, "required": ["sku"]});
    let rows = [
        (json!({"type": "object", "additionalProperties": object}), ""),
        (
            json!({"type": "object", "properties": {"a-b": object}, "required": ["a-b"]}),
            "/properties/a-b/properties/sku",
        ),
    ];
    for (schema, at) in rows {
        let fitted = fit(&schema, of("portable"), &FitOptions::default()).expect("a fit");
        let gone = fitted.changes.iter().find(|change| change.keyword == "enum" && change.effect == Effect::Wider);
        assert_eq!(gone.map(|change| change.at.as_str()), Some(at), "{:?}", fitted.changes);
    }
}
