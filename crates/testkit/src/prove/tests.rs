//! Verdicts on small schemas, and the reasons where there is none.

use std::collections::BTreeMap;

use polywire_schema::{FitOptions, FittedText, ToolShape, dialect, fit_text};
use serde_json::{Value, json};

use super::normalize::normalize;
use super::pattern_lengths::matched_lengths;
use super::{Proof, Proofs, Question, Reason, Relation, Undecided, decide};

fn fitted(schema: &str) -> FittedText {
    let strict = dialect("openai-strict").expect("a dialect");
    fit_text(schema, strict, &FitOptions::default()).expect("a fit")
}

fn proof(fitted: &FittedText, schema: &str) -> Result<Proof, Undecided> {
    decide(&Question::of(fitted, schema, ToolShape::OpenaiChat))
}

/// A verdict on what is given as fitted, with a lens that changes nothing.
fn compared(asked: &Value, wire: &Value) -> Result<Proof, Undecided> {
    let lens = fitted(r#"{"type": "object", "properties": {}, "additionalProperties": false}"#).lens().clone();
    assert!(lens.is_identity());
    decide(&Question {
        asked: asked.to_string(),
        wire: wire.to_string(),
        lens,
        words: super::Notation::JsonSchema,
        recorded: vec![super::Difference::Gained, super::Difference::Lost],
    })
}

/// Verdicts on what was fitted, and on the same with its record torn out.
#[test]
fn a_verdict_that_is_not_on_record_is_told_with_a_value() {
    let list = |more: &str| {
        format!(
            r#"{{"type": "object", "properties": {{"a": {{"type": "array", "items": {{"type": "integer"}}{more}}}}},
            "required": ["a"], "additionalProperties": false}}"#
        )
    };
    let open = json!({"type": "object", "properties": {"a": {"type": "integer"}}}).to_string();
    let map = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "point": {"type": "array", "prefixItems": [{"type": "integer"}], "items": false, "minItems": 1}},
        "additionalProperties": false});
    let rows = [
        (list(""), Relation::Equal, None),
        (map.to_string(), Relation::Equal, None),
        (
            list(r#", "uniqueItems": true"#),
            Relation::Wider,
            Some("proved wider, with no change that says so: {\"a\":["),
        ),
        (open, Relation::Narrower, Some("proved narrower, with no change that says so: {")),
    ];
    for (schema, relation, told) in rows {
        let mut fitted = fitted(&schema);
        let shown = proof(&fitted, &schema).unwrap_or_else(Proof::undecided);
        assert!(shown.relation == relation && shown.silent.is_none(), "{schema}: {:?}", shown.silent);
        fitted.changes.clear();
        let silent = proof(&fitted, &schema).unwrap_or_else(Proof::undecided).silent;
        match told {
            None => assert_eq!(silent, None, "{schema}"),
            Some(told) => assert!(silent.as_ref().is_some_and(|silent| silent.starts_with(told)), "{silent:?}"),
        }
    }
}

/// What once stood in the way: older drafts, maps by pattern, unions, recursion, wrapped roots, lengths, formats nobody knows.
#[test]
fn fitted_schemas_are_proved_equal() {
    let closed = |properties: Value| {
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://example.com/a.json", "type": "object",
            "properties": properties, "additionalProperties": false})
    };
    let rows = [
        closed(json!({"n": {"type": "number", "minimum": 1, "exclusiveMinimum": true}})),
        closed(
            json!({"s": {"type": "string", "minLength": 1, "maxLength": 9}, "f": {"type": "string", "format": "acme"}}),
        ),
        closed(json!({"m": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "integer"}},
            "additionalProperties": false}})),
        closed(
            json!({"u": {"anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": {"type": "string"}}]}}),
        ),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}),
        json!({"type": "array", "items": {"$ref": "#/definitions/n"}, "definitions": {"n": {"type": "object",
            "properties": {"next": {"$ref": "#/definitions/n"}}, "additionalProperties": false}}}),
        json!({"type": "object", "properties": {"self": {"$ref": "#"}, "n": {"type": "integer"}},
            "additionalProperties": false}),
    ];
    for schema in rows {
        let schema = schema.to_string();
        let shown = proof(&fitted(&schema), &schema).unwrap_or_else(Proof::undecided);
        assert!(shown.relation == Relation::Equal && shown.silent.is_none(), "{schema}: {shown}");
    }
}

/// Rules of containment by parts, each with a neighbour that must not be taken for it.
#[test]
fn parts_are_compared_by_what_their_words_mean() {
    let node = |inside: Value| {
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "required": ["v", "next"], "additionalProperties": false,
            "properties": {"v": inside, "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}}}})
    };
    let by_pattern = |others: Value| json!({"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": others});
    let with_union = |word: &str| json!({"type": "object", "properties": {"a": {"type": "integer"}}, (word): [{"required": ["a"]}, {"required": ["b"]}]});
    let kinds_together = |count: &str| {
        json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "n": {"type": count}},
            "anyOf": [{"properties": {"k": {"enum": ["a"]}}}, {"properties": {"k": {"enum": ["b"]}}, "required": ["n"]}]})
    };
    let kinds_apart = |count: &str| {
        let of = |kind: &str, required: Value| {
            json!({"type": "object", "required": required, "properties": {"k": {"type": "string", "enum": [kind]},
                "n": {"type": count}}})
        };
        json!({"anyOf": [of("a", json!(["k"])), of("b", json!(["k", "n"]))]})
    };
    let nullable = |next: Value| {
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {
            "kind": {"type": ["string", "null"], "enum": ["v1"]}, "next": next}}}})
    };
    let shared = |kind: &str| {
        json!({"$ref": "#/$defs/a", "$defs": {
            "a": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}},
                "b": {"$ref": "#/$defs/b"}}},
            "b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/b"}, "v": {"type": kind}}}}})
    };
    let rows = [
        (node(json!({"type": "number"})), node(json!({"type": "integer"})), Relation::Narrower),
        (node(json!({"type": "integer"})), node(json!({"type": "string"})), Relation::Neither),
        (
            by_pattern(json!({"type": "number"})),
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            Relation::Narrower,
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            by_pattern(json!({"type": "string"})),
            Relation::Neither,
        ),
        (with_union("anyOf"), with_union("oneOf"), Relation::Narrower),
        (
            json!({"type": ["string", "null"], "maxLength": 2}),
            json!({"type": "string", "maxLength": 2}),
            Relation::Narrower,
        ),
        (json!({"type": "string", "maxLength": 40_000}), json!({"type": "string"}), Relation::Wider),
        // An intersection with a union in it, against the union that it comes to.
        (kinds_together("integer"), kinds_apart("integer"), Relation::Equal),
        (kinds_together("integer"), kinds_apart("string"), Relation::Neither),
        // A definition that is met far down first, and then further up.
        (shared("integer"), shared("integer"), Relation::Equal),
        (shared("integer"), shared("number"), Relation::Wider),
        // Words of objects ask nothing of other values.
        (
            json!({"properties": {"a": {"type": "integer"}}, "minProperties": 1, "items": {"type": "string"}}),
            json!({"minProperties": 1, "items": {"type": "string"}, "properties": {"a": {"type": "number"}}}),
            Relation::Wider,
        ),
        (
            json!({"type": "string", "pattern": "^[0-9]{9}$", "maxLength": 9}),
            json!({"type": "string", "pattern": "^[0-9]{9}$"}),
            Relation::Equal,
        ),
        (
            json!({"type": "string", "pattern": "^[0-9]{2,}$", "maxLength": 4}),
            json!({"type": "string", "pattern": "^[0-9]{2,}$"}),
            Relation::Wider,
        ),
        // A reference may lead to where no schema is expected.
        (
            json!({"$ref": "#/mine/a", "mine": {"a": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}}}}),
            json!({"type": "string"}),
            Relation::Neither,
        ),
        // Of two types that are named, one may have no value on the list.
        (nullable(json!({"$ref": "#/$defs/a"})), nullable(json!({"$ref": "#/$defs/a"})), Relation::Equal),
        // Listed values are looked at one by one.
        (json!({"not": {"enum": [[true]]}}), json!({"enum": [[1], [2]]}), Relation::Narrower),
        (
            json!({"type": "integer", "maximum": 9_223_372_036_854_776_000_u64}),
            json!({"type": "integer"}),
            Relation::Wider,
        ),
        (json!({"type": "number", "multipleOf": 0.01}), json!({"type": "number"}), Relation::Wider),
        (json!({"type": "string", "pattern": "^.*$"}), json!({"type": "string"}), Relation::Wider),
        (
            json!({"type": "string", "format": "uri", "pattern": "^https?://"}),
            json!({"type": "string", "pattern": "^https?://"}),
            Relation::Wider,
        ),
    ];
    for (asked, wire, relation) in rows {
        let shown = compared(&asked, &wire).unwrap_or_else(Proof::undecided);
        assert!(shown.relation == relation, "{asked} and {wire}: {shown}");
    }
}

/// What is said in the same words on both sides, with a neighbour that says them of something else. The patterns keep canonical
/// forms from telling.
#[test]
fn the_same_words_on_both_sides_are_compared_part_by_part() {
    let within = |inside: Value, kind: &str| {
        json!({"$ref": "#/$defs/n", "$defs": {"n": inside, "code": {"type": "object", "required": ["c"], "properties": {
            "c": {"type": kind, "pattern": "^(a|b)+$(?!x)"}, "n": {"$ref": "#/$defs/n"}}}}})
    };
    let code = json!({"$ref": "#/$defs/code"});
    let with = |word: &str| json!({"type": "object", "required": [word], "properties": {"n": {"$ref": "#/$defs/n"}}});
    let insides = [
        json!({"oneOf": [code, with("x"), with("y")]}),
        json!({"type": "object", "minProperties": 1, "not": code}),
        json!({"type": "object", "not": {"not": {"not": code}}}),
        json!({"if": code, "then": with("x"), "else": with("y")}),
        json!({"type": "object", "dependentSchemas": {"x": code}}),
        json!({"type": "array", "contains": code, "maxContains": 2}),
    ];
    for inside in insides {
        let asked = within(inside, "string");
        let rows = [("string", Relation::Equal), ("boolean", Relation::Undecided)];
        for (kind, relation) in rows {
            let wire = within(asked["$defs"]["n"].clone(), kind);
            let shown = compared(&asked, &wire).unwrap_or_else(Proof::undecided);
            // Another type is found out by a value, or not at all.
            let is_right =
                shown.relation == relation || (relation == Relation::Undecided && shown.relation != Relation::Equal);
            assert!(is_right, "{asked} and {wire}: {shown}");
        }
    }
    let either = |most: u64| json!({"type": "integer", "oneOf": [{"minimum": 0}, {"maximum": most}]});
    let shown = compared(&either(10), &either(5)).unwrap_or_else(Proof::undecided);
    assert!(shown.relation == Relation::Neither || shown.relation == Relation::Wider, "{shown}");
}

/// What may come back of an object that the wire cannot close, and whose undeclared properties travel as a list.
#[test]
fn an_object_that_stays_open_is_proved_wider() {
    let openapi = dialect("gemini-openapi").expect("a dialect");
    let rows = [
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}),
            Relation::Wider,
        ),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}}), Relation::Equal),
    ];
    for (schema, relation) in rows {
        let schema = schema.to_string();
        let fitted = fit_text(&schema, openapi, &FitOptions::default()).expect("a fit");
        let shown = decide(&Question::of(&fitted, &schema, ToolShape::GeminiOpenapi)).unwrap_or_else(Proof::undecided);
        assert!(shown.relation == relation, "{schema}: {shown}");
    }
}

/// How long texts are by their pattern.
#[test]
fn patterns_say_how_long_a_text_is() {
    let rows = [
        ("^$", Some((0, Some(0)))),
        ("^a{2,3}b?$", Some((2, Some(4)))),
        ("^(?:ab|c)+\\.$", Some((2, None))),
        ("^[\\]x][^a]$", Some((2, Some(2)))),
        ("^[A-Z]{3,}?$", Some((3, None))),
        ("a$", None),
        ("^a|b$", None),
        ("^\\bx$", None),
        ("^(?=a)b$", None),
        ("^(a$", None),
    ];
    for (pattern, told) in rows {
        assert_eq!(matched_lengths(pattern), told, "{pattern}");
    }
}

/// Older words in those of 2020-12.
#[test]
fn older_drafts_are_put_into_plain_words() {
    let draft = |number: &str| format!("http://json-schema.org/draft-{number}/schema#");
    let rows = [
        (
            json!({"$schema": draft("04"), "maximum": 3, "exclusiveMaximum": true, "const": 1}),
            json!({"exclusiveMaximum": 3}),
        ),
        (json!({"$schema": draft("04"), "minimum": 3, "exclusiveMinimum": false}), json!({"minimum": 3})),
        (
            json!({"$schema": draft("06"), "items": [{"type": "null"}], "additionalItems": false}),
            json!({"prefixItems": [{"type": "null"}], "items": false}),
        ),
        (
            json!({"$schema": draft("07"), "items": {"type": "null"}, "additionalItems": false}),
            json!({"items": {"type": "null"}}),
        ),
        (
            json!({"$schema": draft("07"), "dependencies": {"a": ["b"], "c": {"minProperties": 2}}}),
            json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"minProperties": 2}}}),
        ),
        (
            json!({"$schema": draft("07"), "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"title": "a"}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {}}}),
        ),
        (
            json!({"$ref": "#/$defs/a", "type": "null", "$defs": {"a": {}}}),
            json!({"$ref": "#/$defs/a", "type": "null", "$defs": {"a": {}}}),
        ),
        (json!({"pattern": "^[\\s\\S]{2,}$", "minLength": 3, "x-note": 1}), json!({"minLength": 3})),
        (json!({"pattern": "^[\\s\\S]{2}x$"}), json!({"pattern": "^[\\s\\S]{2}x$"})),
        (
            json!({"minItems": 2.0, "maxLength": 1e3, "minimum": 1.5}),
            json!({"minItems": 2, "maxLength": 1000, "minimum": 1.5}),
        ),
        (
            json!({"enum": [{"title": "kept"}], "properties": {"title": {"format": "acme"}}}),
            json!({"enum": [{"title": "kept"}], "properties": {"title": {}}}),
        ),
        // Definitions are gathered, from wherever they stand; two of one name keep apart.
        (
            json!({"$ref": "#/mine/a", "mine": {"a": {"format": "acme", "items": {"$ref": "#/$defs/a"}}},
                "$defs": {"a": {"type": "null", "$defs": {"b": {}}}, "c": {}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a-1"}}, "a-1": {"type": "null"}}}),
        ),
        (
            json!({"prefixItems": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a-2"}, {"$ref": "#/b/a"}],
                "$defs": {"a": {}, "a-2": {}}, "b": {"a": {}}}),
            json!({"prefixItems": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a-2"}, {"$ref": "#/$defs/a-3"}],
                "$defs": {"a-3": {}, "a-2": {}, "a": {}}}),
        ),
        (
            json!({"items": {"$ref": "#"}}),
            json!({"$ref": "#/$defs/whole", "$defs": {"whole": {"items": {"$ref": "#/$defs/whole"}}}}),
        ),
    ];
    for (schema, words) in rows {
        assert_eq!(normalize(schema.clone()), Ok(words), "{schema}");
    }
    assert!(normalize(json!({"$schema": draft("03")})).is_err());
}

/// Every reason that a schema can bring about, counted by name.
#[test]
fn an_undecided_proof_says_why() {
    let list = json!({"type": "array", "not": {"enum": [[false], [true, 1]]}});
    let rows = [
        (json!({"$schema": "http://json-schema.org/draft-03/schema#"}), Reason::Draft),
        (json!({"type": "string", "pattern": "x".repeat(1 << 20)}), Reason::Size),
        (json!({"$ref": "#/$defs/nowhere"}), Reason::Refused),
    ];
    // A pattern that the judge cannot take apart, said in two ways.
    let name = |pattern: &str| json!({"type": "object", "propertyNames": {"pattern": pattern}});
    let rows = rows.map(|(asked, reason)| (asked, list.clone(), reason));
    let rows = rows.into_iter().chain([(name("^(a|b)(?!c)"), name("^(b|a)(?!c)"), Reason::Containment)]);
    let mut proofs = Proofs::default();
    for (asked, wire, reason) in rows {
        let shown = compared(&asked, &wire).unwrap_or_else(Proof::undecided);
        let why = shown.undecided.as_ref().map(|why| why.reason);
        assert!(why == Some(reason) && shown.relation == Relation::Undecided, "{asked}: {shown}");
        proofs.add(&shown);
    }
    let reasons = [Reason::Size, Reason::Draft, Reason::Refused, Reason::Containment].map(|reason| (reason, 1));
    assert!(proofs.reasons == BTreeMap::from(reasons) && proofs.undecided == 4);
    let told = json!(Proof::undecided(Reason::Time.because("more than 2 s")));
    assert_eq!(told["undecided"], json!({"reason": "time", "detail": "more than 2 s"}));
}
