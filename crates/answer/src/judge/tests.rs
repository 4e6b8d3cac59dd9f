//! The judge beside the `jsonschema` crate: same verdicts, same faults.

use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};

use super::wording::describe;
use super::{Fault, Formats, Judge};
use crate::keyword;
use crate::read::Verdict;
use crate::validate::feedback;

/// The place and the keyword of every fault must be those of the `jsonschema` crate, in any order, and so must what the words name:
/// fields, limits, schemas. The crate does not say how many items match `contains`.
#[track_caller]
fn check(schema: &Value, value: &Value) {
    let judge = Judge::new(schema, Formats::Asserted).expect("a schema");
    let oracle: Validator = jsonschema::options().should_validate_formats(true).build(schema).expect("a schema");
    let of_error = |error: ValidationError<'_>| {
        let keyword = error.kind().keyword().to_owned();
        let detail = (keyword != keyword::CONTAINS).then(|| describe(&error));
        (error.instance_path().to_string(), keyword, detail)
    };
    let of_fault = |fault: Fault| {
        let detail = (fault.keyword != keyword::CONTAINS).then_some(fault.detail);
        (fault.at, fault.keyword, detail)
    };
    let mut expected: Vec<_> = oracle.iter_errors(value).map(of_error).collect();
    let mut found: Vec<_> = judge.faults(value).into_iter().map(of_fault).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "{schema} on {value}");
    assert_eq!(judge.is_valid(value), oracle.is_valid(value), "{schema} on {value}");
}

#[test]
fn a_union_fails_where_it_stands_and_in_the_same_words() {
    let leaf = json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]});
    check(&leaf, &json!(1));
    check(&json!({"properties": {"a": leaf}, "required": ["b"]}), &json!({"a": {}}));
    check(&json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), &json!(3));
    check(&json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), &json!(0));
    check(&json!({"anyOf": [{"format": "date"}, {"maxLength": 1}]}), &json!("no date"));
    check(&json!({"if": {"anyOf": [true]}, "then": {"not": {"oneOf": [true]}}}), &json!(0));
}

#[test]
fn references_are_followed_by_any_name() {
    let odd = json!({"properties": {"a b/~%é": {"anyOf": [{"type": "string"}]}}});
    check(&odd, &json!({"a b/~%é": 1}));
    let into = json!({"items": [{"anyOf": [{"$ref": "#/definitions/x"}, {"type": "null"}]}, {"$ref": "#/items/0/anyOf/0"}],
        "definitions": {"x": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}},
        "$schema": "http://json-schema.org/draft-07/schema#"});
    check(&into, &json!([1, 2]));
    let named = json!({"$id": "https://example.com/a", "$ref": "b",
        "$defs": {"b": {"$id": "b", "type": "object", "properties": {"c": {"anyOf": [{"$ref": "#/$defs/d"}, {"$ref": "a"}]}}, "$defs": {"d": {"type": "null"}}}}});
    check(&named, &json!({"c": {"c": 1}}));
    check(&named, &json!({"c": {"c": null}}));
    let dynamic = json!({"$dynamicAnchor": "node", "anyOf": [{"type": "null"}, {"type": "array", "items": {"$dynamicRef": "#node"}}]});
    check(&dynamic, &json!([[1]]));
    check(&dynamic, &json!([[null]]));
    let extended = json!({"$id": "https://example.com/strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": false,
        "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "node", "type": "object",
            "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}}});
    check(&extended, &json!({"children": [{"children": []}]}));
    check(&extended, &json!({"children": [{"other": 1}]}));
    let recursive = json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true,
        "type": "object", "additionalProperties": {"$recursiveRef": "#"}});
    check(&recursive, &json!({"a": {"b": {}}}));
    check(&recursive, &json!({"a": {"b": 1}}));
}

#[test]
fn every_applicator_is_judged_as_the_crate_judges_it() {
    let object = json!({"properties": {"a": {"type": "string"}}, "patternProperties": {"^n_": {"type": "number"}},
        "additionalProperties": false, "propertyNames": {"maxLength": 4}, "minProperties": 1,
        "dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"n_1": ["a"]}});
    for value in [json!({}), json!({"a": 1, "n_1": "x"}), json!({"n_1": 1}), json!({"long name": 1, "b": 2}), json!([])]
    {
        check(&object, &value);
    }
    let list = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "contains": {"const": 1},
        "minContains": 2, "maxContains": 3, "uniqueItems": true});
    for value in [json!([]), json!(["a", 1, 1.0]), json!(["a", 1, "b"]), json!([1, 2]), json!(["a", 1, 1, 1, 1])] {
        check(&list, &value);
    }
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": false,
        "dependencies": {"a": ["b"], "b": {"required": ["c"]}}});
    for value in
        [json!(["a", 1, 2]), json!([1]), json!({"a": 1}), json!({"a": 1, "b": 1}), json!({"a": 1, "b": 1, "c": 1})]
    {
        check(&old, &value);
    }
    let branches = json!({"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}],
        "if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"properties": {"t": {}}},
        "else": {"properties": {"e": {}}}, "allOf": [{"patternProperties": {"^p": {}}}], "unevaluatedProperties": false});
    for value in [
        json!({"b": 1, "c": 2}),
        json!({"a": 1, "b": 1, "pp": 1}),
        json!({"k": 1, "t": 1}),
        json!({"k": 2, "t": 1, "e": 2}),
    ] {
        check(&branches, &value);
    }
    let items = json!({"prefixItems": [true], "anyOf": [{"prefixItems": [true, {"type": "string"}]}, true],
        "contains": {"const": 9}, "unevaluatedItems": {"type": "null"}});
    for value in [json!([1, "a", 9]), json!([1, 2, 9]), json!([1, "a", null, 9, 5])] {
        check(&items, &value);
    }
}

#[test]
fn long_enumerations_are_looked_up_as_they_are_compared() {
    let mut values: Vec<Value> = (0..40).map(Value::from).collect();
    values.extend([json!({"a": 1, "b": [2]}), json!("text"), json!(null), json!(1e30), json!(-0.0)]);
    let schema = json!({ "enum": values });
    for value in
        [json!(7.0), json!(41), json!({"b": [2.0], "a": 1}), json!({"a": 1}), json!("text"), json!(1e30), json!(0)]
    {
        check(&schema, &value);
    }
    let twins = json!({"uniqueItems": true});
    check(&twins, &json!([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]));
    check(&twins, &json!([[], [[]], {}, 0, false, null, ""]));
}

#[test]
fn nested_unions_do_not_multiply() {
    let node = json!({"$ref": "#/$defs/node"});
    let branch =
        |key: &str| json!({"type": "object", "properties": {"next": node, key: {"type": "null"}}, "required": [key]});
    let branches: Vec<Value> = ["a", "b", "c", "d"].into_iter().map(branch).collect();
    let schema = json!({"items": node, "$defs": {"node": {"anyOf": branches}}});
    let judge = Judge::new(&schema, Formats::AsTheDraftSays).expect("a schema");
    let deep = (0..60).fold(json!({}), |inner, _| json!({"next": inner}));
    let faults: Vec<_> = judge.faults(&json!([{"a": null}, deep])).into_iter().map(|fault| fault.at).collect();
    assert_eq!(faults, ["/1"]);
}

#[test]
fn members_that_two_keywords_lead_to_do_not_multiply() {
    let node = json!({"$ref": "#"});
    let schema =
        json!({"properties": {"next": node}, "patternProperties": {"^n": node}, "additionalProperties": false});
    let judge = Judge::new(&schema, Formats::AsTheDraftSays).expect("a schema");
    let deep = (0..60).fold(json!({"other": 1}), |inner, _| json!({"next": inner}));
    let faults: Vec<_> = judge.faults(&deep).into_iter().map(|fault| fault.at).collect();
    assert_eq!(faults, ["/next".repeat(60)]);
}

#[test]
fn a_value_that_could_not_be_judged_is_not_valid() {
    let judge = Judge::new(&json!({"items": {"type": "integer"}}), Formats::Asserted).expect("a schema");
    let value = json!([1, 2, 3]);
    assert_eq!(judge.verdict_within(&value, 3), Verdict::TooCostly);
    assert_eq!(judge.verdict_within(&value, 1_000), Verdict::Valid);
    assert_eq!(judge.verdict(&value), Verdict::Valid);
}

#[test]
fn a_pattern_that_does_not_come_to_an_end_is_too_costly() {
    let judge = Judge::new(&json!({"pattern": "^(a|a)*(?=b)$"}), Formats::Asserted).expect("a schema");
    let value = json!("a".repeat(60));
    assert_eq!(judge.verdict(&value), Verdict::TooCostly);
    assert!(!judge.is_valid(&value));
    assert_eq!(judge.faults(&value).iter().map(Fault::has_place).collect::<Vec<_>>(), [false]);
}

#[test]
fn a_long_list_of_faults_says_how_many_more_there_are() {
    let judge = Judge::new(&json!({"items": {"type": "integer"}}), Formats::Asserted).expect("a schema");
    let faults = judge.faults(&Value::from(vec!["x"; 20_000]));
    let more = format!("… and {} more", 20_000 - (faults.len() - 1));
    assert_eq!(faults.last().map(|fault| fault.detail.as_str()), Some(more.as_str()));
    assert!(faults.iter().map(Fault::bytes).sum::<usize>() < 300_000);
}

#[test]
fn a_pattern_that_cannot_be_read_is_an_error_with_its_place() {
    for (schema, at) in [
        (json!({"properties": {"a/b": {"type": "string", "pattern": "("}}}), "/properties/a~1b/pattern"),
        (json!({"prefixItems": [{"patternProperties": {"~(": {}}}]}), "/prefixItems/0/patternProperties/~0("),
        (json!({"$defs": {"x": {"pattern": "a{1000000}"}}, "$ref": "#/$defs/x"}), "/$defs/x/pattern"),
    ] {
        let error = Judge::new(&schema, Formats::Asserted).expect_err("a bad pattern");
        assert_eq!(error.at(), at, "{error}");
    }
}

/// Lengths that a provider has no keyword for travel as patterns, which are large once compiled.
#[test]
fn many_properties_with_bounded_lengths_are_judged() {
    let bounded = |index: usize| {
        (format!("k{index}"), json!({"type": "string", "pattern": format!("^[\\s\\S]{{0,{}}}$", 255 + index % 8 * 64)}))
    };
    let properties: serde_json::Map<String, Value> = (0..600).map(bounded).collect();
    let judge = Judge::new(&json!({"properties": properties}), Formats::Asserted).expect("a schema");
    assert!(judge.is_valid(&json!({"k0": "a"})));
    assert!(!judge.is_valid(&json!({"k0": "a".repeat(256)})));
}

#[test]
fn faults_say_what_to_correct() {
    let schema = json!({
        "required": ["vendor"],
        "properties": {
            "count": {"type": "integer"}, "note": {"type": ["string", "null"]}, "state": {"enum": ["open", "paid"]},
            "code": {"pattern": "^[A-Z]+$"}, "total": {"minimum": 1}, "tags": {"maxItems": 1, "uniqueItems": true},
            "who": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "list": {"contains": {"const": 1}, "maxContains": 1},
            "map": {"propertyNames": {"maxLength": 1}},
        },
        "additionalProperties": false,
    });
    let value = json!({"count": "3", "note": 1, "state": "new", "code": "a", "total": 0, "tags": [1, 1], "who": 2,
        "list": [1, 1], "map": {"ab": 0}, "x": 1, "y": 2});
    let judge = Judge::new(&schema, Formats::Asserted).expect("a schema");
    let faults = judge.faults(&value);
    let mut found: Vec<_> = faults.iter().map(|fault| format!("{} {}", fault.at, fault.detail)).collect();
    found.sort();
    let expected = [
        " missing required field `vendor`",
        " unexpected fields `x`, `y`",
        "/code must match the pattern `^[A-Z]+$`",
        "/count expected integer but found string",
        "/list 2 items match the schema in `contains`, expected at most 1",
        "/map the field name \"ab\" must have at most 1 character",
        "/note expected null or string but found number",
        "/state must be one of \"open\", \"paid\"",
        "/tags must have at most 1 item",
        "/tags two items are equal, but items must be unique",
        "/total must be at least 1",
        "/who matches none of the schemas in `anyOf`",
    ];
    assert_eq!(found, expected);
    let text = feedback(&faults);
    assert!(text.contains("\n- /count: expected integer but found string; got \"3\"\n"), "{text}");
    let union =
        "\n- /who: matches none of the schemas in `anyOf`: [{\"type\":\"string\"},{\"type\":\"null\"}]; got 2\n";
    assert!(text.contains(union), "{text}");
}
