//! Which targets there are, how schemas reach them, and one form for all of them.

use polywire_schema::{
    Action, Dialect, Effect, FitOptions, Severity, Slot, ToolShape, check, dialects, fit, target, targets,
};
use serde_json::{Value, json};

use super::{check_fit, fitted, of, tells};

#[test]
fn r_a1_one_engine_reads_every_dialect_from_its_file() {
    let text = include_str!("../../../data/openai-strict.toml");
    let own = Dialect::from_toml(&text.replacen("\"openai-strict\"", "\"my-own\"", 1)).expect("a dialect");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2, "default": 4}}});
    let ours = fit(&schema, of("openai-strict"), &FitOptions::default()).expect("a fit");
    let theirs = fit(&schema, &own, &FitOptions::default()).expect("a fit");
    assert_eq!(own.id(), "my-own");
    assert_eq!((theirs.schema, theirs.changes), (ours.schema, ours.changes));
}

#[test]
fn r_a2_every_target_is_a_dialect() {
    let ids: Vec<&str> = dialects().map(Dialect::id).collect();
    let expected = [
        "anthropic",
        "anthropic-strict",
        "azure-strict",
        "bedrock",
        "cca",
        "cerebras-strict",
        "deepseek-strict",
        "fireworks",
        "gemini",
        "gemini-openapi",
        "groq-strict",
        "llamacpp",
        "lmstudio",
        "mcp",
        "mistral",
        "moonshot",
        "ollama",
        "openai",
        "openai-responses",
        "openai-strict",
        "openrouter",
        "portable",
        "together",
        "vertex-openapi",
        "vllm",
        "xai",
    ];
    assert_eq!(ids, expected);
}

#[test]
fn r_a2_responses_take_any_of_for_one_of() {
    let union = |keyword: &str| json!({"type": "object", "properties": {"a": {keyword: [{"type": "string"}, {"type": "integer"}]}}});
    let changes = check_fit("openai-responses", &union("oneOf"), &union("anyOf"));
    assert!(tells(&changes, "oneOf", Action::Rewritten, Effect::Same), "{changes:?}");
}

#[test]
fn r_a3_named_entry_points_do_what_the_generic_one_does() {
    let schema = json!({"type": "object", "properties": {"n": {"type": ["integer", "null"], "const": 4}}});
    for (id, named) in [
        ("openai-strict", targets::openai_strict(&schema)),
        ("gemini-openapi", targets::gemini_openapi(&schema)),
        ("cca", targets::cca(&schema)),
        ("anthropic", targets::anthropic(&schema)),
        ("portable", targets::portable(&schema)),
    ] {
        let (named, generic) = (named.expect("a fit"), fitted(id, &schema));
        assert_eq!((named.schema, named.changes), (generic.schema, generic.changes), "{id}");
    }
}

#[test]
fn r_a4_every_dialect_says_which_transport_it_serves() {
    for dialect in dialects() {
        assert!(dialect.serves().len() > 10, "{} does not say what it serves", dialect.id());
        assert!(!dialect.source().is_empty() && dialect.checked_on().starts_with("20"), "{}", dialect.id());
    }
    let shapes = [
        ("openai-strict", ToolShape::OpenaiChat),
        ("openai-responses", ToolShape::OpenaiResponses),
        ("anthropic", ToolShape::Anthropic),
        ("gemini", ToolShape::GeminiJson),
        ("cca", ToolShape::GeminiOpenapi),
        ("bedrock", ToolShape::Bedrock),
        ("mcp", ToolShape::Mcp),
    ];
    for (id, shape) in shapes {
        assert_eq!(of(id).shape(), shape, "{id}");
    }
}

#[test]
fn r_a5_a_zod_instance_is_made_plain() {
    let text = json!({"_def": {"checks": [{"kind": "min", "value": 2}], "typeName": "ZodString", "coerce": false}});
    let optional = json!({"_def": {"innerType": text, "typeName": "ZodOptional"}});
    let object = json!({"_def": {"unknownKeys": "strict", "catchall": {"_def": {"typeName": "ZodNever"}}, "typeName": "ZodObject"}, "shape": {"a": text, "b": optional}});
    let plain = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 2}, "b": {"type": "string", "minLength": 2}},
        "required": ["a"],
        "additionalProperties": false
    });
    check_fit("anthropic", &object, &plain);
}

#[test]
fn r_a5_older_drafts_are_upgraded_and_references_resolved_before_the_walk() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 0, "exclusiveMinimum": true},
            "p": {"$ref": "#/definitions/Pair"}
        },
        "required": ["n", "p"],
        "additionalProperties": false,
        "definitions": {
            "Pair": {"type": "array", "items": [{"type": "string"}, {"type": "string"}], "additionalItems": false, "minItems": 2}
        }
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "exclusiveMinimum": 0},
            "p": {"$ref": "#/$defs/Pair"}
        },
        "required": ["n", "p"],
        "additionalProperties": false,
        "$defs": {"Pair": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}}
    });
    check_fit("openai-strict", &schema, &expected);
}

#[test]
fn r_a18_one_schema_for_opposed_providers_carries_an_optional_as_a_short_list() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a"]
    });
    let nullable = json!({"type": ["integer", "null"]});
    let closed = |b: Value, required: Value| {
        json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": b},
            "required": required,
            "additionalProperties": false
        })
    };
    check_fit("openai-strict", &schema, &closed(nullable, json!(["a", "b"])));
    check_fit("gemini-openapi", &schema, &schema);
    let list = json!({
        "type": "array",
        "description": "(optional)",
        "items": {"type": "integer"}
    });
    let explained = |mut schema: Value| {
        let meaning = "(lists marked optional or nullable hold at most one item; an empty list means none)";
        schema["description"] = json!(meaning);
        schema
    };
    let changes = check_fit("portable", &schema, &explained(closed(list.clone(), json!(["a", "b"]))));
    assert!(tells(&changes, "required", Action::Carried, Effect::Same), "{changes:?}");
    assert!(tells(&changes, "additionalProperties", Action::Closed, Effect::Narrower), "{changes:?}");
    let mut bounded = list;
    bounded["maxItems"] = json!(1);
    check_fit("openai-strict,vertex-openapi", &schema, &explained(closed(bounded, json!(["a", "b"]))));
}

/// A word that only one member reads is no word for what both accept.
#[test]
fn r_a18_a_meet_uses_no_word_that_one_of_its_members_passes_over() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": ["integer", "null"]},
            "b": {"$ref": "#/$defs/B"},
            "list": {"type": "array", "items": {"type": ["string", "null"]}}
        },
        "required": ["a", "b", "list"],
        "$defs": {"B": {"type": "string", "maxLength": 3}}
    });
    let short = |items: Value| {
        json!({
            "type": "array", "description": "(nullable)", "items": items, "maxItems": 1
        })
    };
    for ids in ["openai,vertex-openapi", "vertex-openapi,openai", "vertex-openapi,openai,gemini-openapi"] {
        let expected = json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "string", "maxLength": 3},
                "list": {"type": "array", "items": short(json!({"type": "string"}))}
            },
            "required": ["b", "list"],
            "description": "(lists marked optional or nullable hold at most one item; an empty list means none)"
        });
        check_fit(ids, &schema, &expected);
    }
    let nullable = json!({"type": "integer", "nullable": true});
    assert_eq!(fitted("gemini-openapi,vertex-openapi", &schema).schema["properties"]["a"], nullable);
}

#[test]
fn r_a18_a_meet_goes_down_the_ladder_with_all_of_its_members() {
    let fallback = |ids: &str| target(ids).expect("a meet").fallback().map(str::to_owned);
    assert_eq!(fallback("gemini,anthropic,openai-strict").as_deref(), Some("gemini,anthropic,openai"));
    assert_eq!(fallback("openai-strict,gemini,anthropic-strict").as_deref(), Some("openai,gemini,anthropic"));
    assert_eq!(fallback("gemini,anthropic"), None);
}

#[test]
fn r_a18_keys_fit_every_member_of_a_meet() {
    let schema = json!({"type": "object", "properties": {"$a": {"type": "string"}, "b-c": {"type": "string"}}});
    for ids in ["moonshot,vertex-openapi", "vertex-openapi,moonshot"] {
        let keys = |schema: &Value| schema["properties"].as_object().expect("properties").keys().cloned().collect();
        let fitted: Vec<String> = keys(&fitted(ids, &schema).schema);
        assert_eq!(fitted, ["_a", "b_c"], "{ids}");
        let found = check(&schema, &target(ids).expect("a meet"), Slot::Tool).expect("a schema");
        let codes: Vec<&str> = found.iter().filter(|one| one.keyword == "properties").map(|one| &*one.code).collect();
        assert_eq!(codes.len(), 2, "{ids}: {found:?}");
    }
}

/// Where a list of objects may have no `maxItems`, neither may one that stands for an optional object.
#[test]
fn r_a18_an_optional_object_in_a_meet_takes_no_siblings_down() {
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let schema = json!({
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"anyOf": [object, {"type": "null"}]}}},
        "required": ["list"]
    });
    let list = &fitted("openai,vertex-openapi", &schema).schema["properties"]["list"]["items"];
    assert_eq!((&list["items"]["type"], &list["maxItems"]), (&json!("object"), &Value::Null));
}

#[test]
fn r_a18_dialects_with_nothing_in_common_are_an_error_that_names_both_rules() {
    for (ids, codes) in [
        ("llamacpp,gemini-openapi", ["LCPP-01", "GEM-SCHEMA-07"]),
        ("gemini-openapi,mcp,xai", ["XAI-03", "GEM-SCHEMA-07"]),
    ] {
        let error = target(ids).map(|_| ()).expect_err("no meet").to_string();
        assert!(error.contains(ids) && codes.iter().all(|code| error.contains(code)), "{error}");
    }
}

#[test]
fn r_a18_the_portable_form_is_taken_by_every_main_provider() {
    let schema = json!({
        "type": "object",
        "properties": {
            "when": {"type": ["string", "null"], "format": "date"},
            "kind": {"oneOf": [{"const": "a"}, {"const": 2}]},
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
            "tree": {"$ref": "#"}
        }
    });
    let portable = fitted("portable", &schema);
    for id in ["openai-strict", "azure-strict", "gemini", "vertex-openapi", "cca", "anthropic-strict", "bedrock", "mcp"]
    {
        let mut found = check(&portable.schema, of(id), Slot::Tool).expect("a schema");
        found.retain(|one| one.severity != Severity::Ignored);
        assert!(found.is_empty(), "{id}: {found:?}\n{}", portable.schema);
    }
}

#[test]
fn r_c10_a_schema_is_translated_for_gemini_with_a_record_of_what_is_dropped() {
    let schema = json!({
        "type": "object",
        "properties": {
            "when": {"type": ["string", "null"], "format": "uri"},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}}}
        },
        "required": ["when"],
        "$comment": "x"
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "when": {"type": "string", "description": "(format: uri)", "nullable": true},
            "rows": {"type": "array", "items": {"type": "object", "properties": {
                "n": {"type": "integer", "description": "(a multiple of 2)"}
            }}}
        },
        "required": ["when"]
    });
    let changes = check_fit("gemini-openapi", &schema, &expected);
    assert!(tells(&changes, "multipleOf", Action::Described, Effect::Wider), "{changes:?}");
    assert!(tells(&changes, "$comment", Action::Dropped, Effect::Note), "{changes:?}");
    for odd in [json!({}), json!({"type": "object", "properties": null}), json!({"items": [[]]}), json!(true)] {
        fitted("gemini-openapi", &odd);
    }
}

#[test]
fn r_a18_what_a_provider_ignores_is_reported_as_ignored() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}});
    let found = check(&schema, of("gemini"), Slot::Tool).expect("a schema");
    let told: Vec<_> = found.iter().map(|one| (one.at.as_str(), one.severity.to_string())).collect();
    assert_eq!(told, [("/properties/a/minLength", "ignored".to_owned())]);
    // It stays, where the model reads it.
    let changes = check_fit("gemini", &schema, &schema);
    assert!(tells(&changes, "minLength", Action::Kept, Effect::Wider), "{changes:?}");
}
