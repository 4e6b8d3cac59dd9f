//! What reading understands in another way than it is written is on record, with the place and what it means.

use polywire_schema::{Draft, Effect, FitOptions, dialect};
use serde_json::{Value, json};

use crate::judge::fit_by_the_laws;

/// The records of reading at the property `p`, by code, keyword and effect.
#[track_caller]
fn told(property: &Value, draft: Option<Draft>) -> Vec<(String, String, Effect)> {
    let schema =
        json!({"type": "object", "properties": {"p": property}, "$comment": "not clean: a comment is refused"});
    let options = FitOptions::default().with_draft(draft);
    let fitted = fit_by_the_laws(&schema.to_string(), dialect("openai-strict").unwrap(), &options);
    let changes = fitted.unwrap_or_else(|fault| panic!("{fault}")).changes;
    let read = changes.into_iter().filter(|change| change.code.starts_with("READ-") && change.at == "/properties/p");
    read.map(|change| (change.code.to_string(), change.keyword.to_string(), change.effect)).collect()
}

#[test]
fn every_form_of_another_draft_or_generator_is_on_record() {
    let same = |code: &str, keyword: &str| vec![(code.to_owned(), keyword.to_owned(), Effect::Same)];
    let cases = [
        (json!({"type": "STRING"}), same("READ-TYPE", "type")),
        (json!({"type": "String"}), same("READ-TYPE", "type")),
        (json!({"type": ["string"]}), same("READ-TYPE", "type")),
        (json!({"type": ["string", "string"]}), same("READ-TYPE", "type")),
        (json!({"type": ["integer", "number"]}), same("READ-TYPE", "type")),
        (json!({"type": "string", "required": true}), same("READ-REQUIRED", "required")),
        (json!({"type": "number", "minimum": 3, "exclusiveMinimum": true}), same("READ-BOUND", "exclusiveMinimum")),
        (json!({"type": "number", "maximum": 3, "exclusiveMaximum": false}), same("READ-BOUND", "exclusiveMaximum")),
        (json!({"type": "array", "items": [{"type": "string"}]}), same("READ-TUPLE", "items")),
        (json!({"type": "number", "divisibleBy": 2}), same("READ-OLDER", "divisibleBy")),
        (json!({"type": "object", "dependencies": {"a": ["b"]}}), same("READ-OLDER", "dependencies")),
        (json!({"type": "string", "nullable": false}), same("READ-NULLABLE", "nullable")),
        (json!({"type": "string", "enum": ["a", "b", "a"]}), same("READ-ENUM", "enum")),
    ];
    for (property, expected) in cases {
        assert_eq!(told(&property, None), expected, "{property}");
    }
    let tuple = json!({"type": "array", "items": [{"type": "string"}], "additionalItems": false});
    let both = [same("READ-TUPLE", "items"), same("READ-TUPLE", "additionalItems")].concat();
    assert_eq!(told(&tuple, Some(Draft::Draft07)), both);
    let disallowed = json!({"type": "string", "disallow": "null", "extends": {"minLength": 2}});
    let both = [same("READ-OLDER", "disallow"), same("READ-OLDER", "extends")].concat();
    assert_eq!(told(&disallowed, Some(Draft::Draft03)), both);
    assert_eq!(
        told(&json!({"type": "string", "nullable": true}), Some(Draft::OpenApi30)),
        same("READ-NULLABLE", "nullable")
    );
}

#[test]
fn a_keyword_that_annotates_outside_its_draft_is_a_note() {
    let own = told(&json!({"type": "string", "extends": "Base"}), Some(Draft::Draft2020));
    assert_eq!(own, [("READ-OLDER".to_owned(), "extends".to_owned(), Effect::Note)]);
}

#[test]
fn a_schema_of_today_leaves_no_record() {
    let cases = [
        json!({"type": "string"}),
        json!({"type": ["string", "null"]}),
        json!({"type": ["null", "integer"]}),
        json!({"type": "number", "exclusiveMinimum": 3}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "string", "enum": ["a", "b"]}),
    ];
    for property in cases {
        assert_eq!(told(&property, None), [], "{property}");
    }
}
