//! What becomes of a single schema: names, nulls, unions, references, enums and arrays.

use polywire_schema::{Action, Effect, FitOptions, dialect, dialects, fit_text};
use serde_json::{Value, json};

use super::{check_fit, check_property, fitted, tells};

#[test]
fn r_a6_snake_case_keywords_are_keywords_and_win_over_their_twins() {
    let twins = json!({"any_of": [{"type": "string"}, {"type": "integer"}], "anyOf": [{"type": "boolean"}]});
    check_property("openai-strict", &twins, &json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}));
    let schema = json!({
        "type": "object",
        "properties": {"any_of": {"type": "array", "items": {"type": "string"}, "min_items": 2}},
        "required": ["any_of"],
        "additional_properties": false
    });
    let expected = json!({
        "type": "object",
        "properties": {"any_of": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
        "required": ["any_of"],
        "additionalProperties": false
    });
    check_fit("openai-strict", &schema, &expected);
}

/// Law 2 within a schema: a part that needs no change keeps the caller's order of keys, whatever happens beside it.
#[test]
fn what_a_dialect_takes_as_it_is_stays_as_it_was_written() {
    let list =
        r#"{"maxItems":3,"items":{"enum":["b","a"],"description":"T","type":"string"},"minItems":1,"type":"array"}"#;
    let object = r#"{"required":["a"],"properties":{"a":{"minimum":1,"type":"integer"}},"additionalProperties":false,"type":"object"}"#;
    let union = r#"{"anyOf":[{"description":"X","type":"string"},{"minimum":1,"type":"integer"}],"description":"D"}"#;
    for (stays, id) in
        [list, object, union].into_iter().flat_map(|stays| ["openai-strict", "gemini"].map(|id| (stays, id)))
    {
        let beside = r#"{"not":{},"$comment":"gone"}"#;
        let schema = format!(r#"{{"type":"object","properties":{{"a":{stays},"b":{beside}}},"required":["a"]}}"#);
        let fitted = fit_text(&schema, dialect(id).unwrap(), &FitOptions::default()).unwrap();
        assert!(fitted.schema.contains(stays) && !fitted.schema.contains(beside), "{id}: {}", fitted.schema);
    }
}

/// Which way round the caller wrote the keys does not decide whether two parts are the same.
#[test]
fn parts_that_differ_in_the_order_of_keys_are_the_same() {
    let two = |keyword: &str| json!({keyword: [{"type": "array", "items": {"type": "number"}}, {"items": {"type": "number"}, "type": "array"}]});
    let one = json!({"type": "array", "items": {"type": "number"}});
    check_property("gemini-openapi", &two("anyOf"), &one);
    let mut tuple = two("prefixItems");
    tuple["type"] = json!("array");
    let list = fitted("gemini-openapi", &json!({"type": "object", "properties": {"a": tuple}, "required": ["a"]}));
    assert_eq!(list.schema["properties"]["a"]["type"], "array", "{}", list.schema);
}

#[test]
fn r_a6_snake_case_keywords_are_keywords_for_lenient_providers_too() {
    let schema = |union: &str| json!({"type": "object", "properties": {"a": {union: [{"type": "string"}, {"type": "integer"}]}}});
    for id in ["openai", "anthropic", "bedrock", "mcp"] {
        check_fit(id, &schema("any_of"), &schema("anyOf"));
    }
}

#[test]
fn r_a6_what_a_person_understands_is_spilled_and_structure_is_not() {
    let text = json!({"type": "string", "description": "A link.", "format": "uri", "examples": ["x"], "minLength": 3});
    let spilled = json!({
        "type": "string",
        "description": "A link. (format: uri) (for example \"x\")",
        "minLength": 3
    });
    let changes = check_property("gemini-openapi", &text, &spilled);
    assert!(tells(&changes, "format", Action::Described, Effect::Wider), "{changes:?}");
    assert!(tells(&changes, "examples", Action::Described, Effect::Note), "{changes:?}");
    let beside = json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 10});
    let said = |kind: &str| json!({"type": kind, "description": "(default: 10)"});
    let described = json!({"anyOf": [said("integer"), said("string")]});
    check_property("gemini-openapi", &beside, &described);
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "additionalProperties": false,
        "$defs": {"A": {"type": "integer"}}
    });
    check_fit("gemini-openapi", &schema, &json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
}

#[test]
fn r_a6_a_nullable_type_takes_the_marker_of_its_target() {
    let list = json!({"type": ["string", "null"], "description": "D"});
    let union = json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "D"});
    for nullable in [&list, &union] {
        check_property("gemini-openapi", nullable, &json!({"type": "string", "description": "D", "nullable": true}));
    }
    check_property("mcp", &list, &json!({"description": "D", "anyOf": [{"type": "string"}, {"type": "null"}]}));
}

#[test]
fn r_a6_unions_are_collapsed_on_cca_and_only_there() {
    let objects = json!({"anyOf": [
        {"type": "object", "properties": {"x": {"type": "string"}, "k": {"const": "x"}}, "required": ["x", "k"]},
        {"type": "object", "properties": {"y": {"type": "integer"}, "k": {"const": "y"}}, "required": ["y", "k"]}
    ]});
    let joined = json!({
        "type": "object",
        "properties": {
            "x": {"type": "string"},
            "k": {"type": "string", "enum": ["x", "y"]},
            "y": {"type": "integer"}
        },
        "required": ["k"],
        "description": "(x: x; y: y)"
    });
    let changes = check_property("cca", &objects, &joined);
    assert!(tells(&changes, "anyOf", Action::Merged, Effect::Wider), "{changes:?}");
    let alike = json!({"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]});
    check_property("cca", &alike, &json!({"type": "string", "enum": ["a", "b"]}));
    let mixed = json!({"anyOf": [{"type": "string"}, {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}]});
    let schema = json!({"type": "object", "properties": {"a": mixed}});
    assert!(!fitted("cca", &schema).schema.to_string().contains("anyOf"));
    let flat = json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"type": "null"}]});
    assert_eq!(fitted("openai-strict", &schema).schema["properties"]["a"], flat);
}

#[test]
fn r_a7_a_cca_schema_is_valid_2020_12_and_has_no_union_null_or_type_list() {
    let hard = [
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"type": ["object", "array", "null"], "properties": {"a": true}}),
        json!({"$ref": "#"}),
        json!({"not": {}}),
        json!({"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/properties/a"}, {"nullable": true}]}}}),
        json!({"type": "object", "patternProperties": {"^a": {"oneOf": [{"type": "null"}, {"const": [1]}]}}}),
        json!({"if": {"type": "object"}, "then": {"required": ["a"]}, "else": false}),
    ];
    for schema in hard {
        let fitted = fitted("cca", &schema);
        let text = fitted.schema.to_string();
        jsonschema::draft202012::meta::validate(&fitted.schema).unwrap_or_else(|error| panic!("{text}: {error}"));
        for residue in
            ["\"anyOf\"", "\"oneOf\"", "\"allOf\"", "\"not\"", "\"nullable\"", "\"type\":[", "\"type\":\"null\""]
        {
            assert!(!text.contains(residue), "{residue} in {text}");
        }
        let collapsed = fitted.schema == json!({"type": "object", "properties": {}});
        assert!(!collapsed || !fitted.changes.is_empty(), "{schema} collapsed in silence");
    }
}

#[test]
fn r_a8_a_nullable_property_leaves_required_on_cca() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c": {"type": "boolean", "nullable": true},
            "d": {"type": "string"}
        },
        "required": ["a", "b", "c", "d"]
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "boolean"},
            "d": {"type": "string"}
        },
        "required": ["d"]
    });
    check_fit("cca", &schema, &expected);
}

#[test]
fn r_a12_siblings_win_over_the_definition_they_refer_to() {
    let schema = |a: Value| {
        json!({
            "type": "object",
            "properties": {"a": a},
            "required": ["a"],
            "additionalProperties": false
        })
    };
    let mut referring = schema(json!({"$ref": "#/$defs/A", "description": "Own."}));
    referring["$defs"] = json!({"A": {"type": "string", "description": "Theirs.", "title": "T"}});
    check_fit("openai-strict", &referring, &schema(json!({"type": "string", "description": "Own.", "title": "T"})));
}

#[test]
fn r_a12_recursion_is_kept_where_it_may_be_and_bounded_elsewhere() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "required": ["tree"],
        "$defs": {"Tree": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/Tree"}, "label": {"type": "string"}},
            "required": ["label"]
        }}
    });
    let kept = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "required": ["tree"],
        "additionalProperties": false,
        "$defs": {"Tree": {
            "type": "object",
            "properties": {"left": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}, "label": {"type": "string"}},
            "required": ["left", "label"],
            "additionalProperties": false
        }}
    });
    check_fit("openai-strict", &schema, &kept);
    let bounded = json!({
        "type": "object",
        "properties": {"tree": {
            "type": "object",
            "properties": {
                "left": {
                    "type": "string",
                    "description": "(a JSON object like Tree with the keys left, label, written as JSON text)"
                },
                "label": {"type": "string"}
            },
            "required": ["label"]
        }},
        "required": ["tree"]
    });
    let changes = check_fit("gemini-openapi", &schema, &bounded);
    assert!(tells(&changes, "type", Action::Carried, Effect::Wider), "{changes:?}");
}

#[test]
fn r_a13_an_all_of_is_an_intersection() {
    let single = json!({"allOf": [{"type": "string", "description": "Entry."}], "description": "Sibling."});
    check_property("openai-strict", &single, &json!({"type": "string", "description": "Entry."}));
    let several = json!({"allOf": [
        {"type": "number", "minimum": 1},
        {"type": "integer", "minimum": 3, "maximum": 9},
        {"maximum": 7, "enum": [2, 3, 4, 8]}
    ]});
    check_property("openai-strict", &several, &json!({"type": "integer", "enum": [3, 4]}));
    let objects = json!({"allOf": [
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
        {"properties": {"x": {"enum": ["a", "b", 3]}, "y": {"type": "integer"}}, "required": ["y"]}
    ]});
    let merged = json!({
        "type": "object",
        "properties": {"x": {"type": "string", "enum": ["a", "b"]}, "y": {"type": "integer"}},
        "required": ["x", "y"],
        "additionalProperties": false
    });
    check_property("openai-strict", &objects, &merged);
}

#[test]
fn r_a14_a_list_of_types_becomes_a_variant_for_each_with_its_own_keywords() {
    let several = json!({
        "type": ["string", "integer", "array"],
        "description": "Any.",
        "pattern": "^a",
        "minimum": 2,
        "items": {"type": "string"}
    });
    let variants = json!({"description": "Any.", "anyOf": [
        {"type": "string", "pattern": "^a"},
        {"type": "integer", "minimum": 2},
        {"type": "array", "items": {"type": "string"}}
    ]});
    let schema = json!({"type": "object", "properties": {"a": several}, "required": ["a"]});
    assert_eq!(fitted("openai-strict", &schema).schema["properties"]["a"], variants);
    // Where a union stands alone (R-A18, GEM-SCHEMA-37), each variant says what is shared.
    let each = json!({"anyOf": [
        {"type": "string", "description": "Any.", "pattern": "^a"},
        {"type": "integer", "description": "Any.", "minimum": 2},
        {"type": "array", "description": "Any.", "items": {"type": "string"}}
    ]});
    check_property("gemini-openapi", &several, &each);
}

#[test]
fn r_a15_enums_get_their_type_and_mixed_ones_the_documented_form() {
    check_property("openai-strict", &json!({"enum": ["x", "y"]}), &json!({"type": "string", "enum": ["x", "y"]}));
    check_property("openai-strict", &json!({"const": 1.5}), &json!({"type": "number", "enum": [1.5]}));
    let mixed =
        json!({"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["x"]}, {"type": "null"}]});
    check_property("openai-strict", &json!({"enum": [1, "x", null]}), &mixed);
    let composite = json!({"type": "string", "enum": ["[1]", "{\"a\":2}"]});
    check_property("openai-strict", &json!({"enum": [[1], {"a": 2}]}), &composite);
    let labels = json!({"type": "string", "enum": ["1", "x"], "nullable": true});
    let changes = check_property("gemini-openapi", &json!({"enum": [1, "x", null]}), &labels);
    assert!(tells(&changes, "enum", Action::Carried, Effect::Same), "{changes:?}");
}

#[test]
fn r_a16_arrays_get_items_wherever_the_target_asks_for_them() {
    let any = json!({"type": "string", "description": "(any JSON value, written as JSON text)"});
    let array = json!({"type": "array", "items": any});
    let text = json!({"type": "string"});
    check_property("openai-strict", &json!({"type": "array"}), &array);
    check_property("openai-strict", &json!({"type": ["array", "string"]}), &json!({"anyOf": [text, array]}));
    let union = json!({"anyOf": [{"type": "array"}, {"type": "string"}]});
    check_property("openai-strict", &union, &json!({"anyOf": [array, text]}));
    check_property("openai", &union, &json!({"anyOf": [{"type": "array", "items": {}}, {"type": "string"}]}));
    let asking = dialects().filter(|dialect| dialect.rules().any(|rule| rule.about.contains("has-items")));
    let mut asked = 0;
    for dialect in asking {
        let schema = json!({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]});
        let items = &fitted(dialect.id(), &schema).schema["properties"]["a"]["items"];
        assert!(items.is_object(), "{}: {items}", dialect.id());
        asked += 1;
    }
    assert!(asked >= 10, "{asked} dialects ask for items");
}
