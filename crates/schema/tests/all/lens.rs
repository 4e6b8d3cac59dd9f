//! Values through the lens: the instances of our own cases go to the wire and come back, with the `jsonschema` crate as judge.

use std::fmt;

use polywire_schema::{FitOptions, Fitted, Lens, Open, ToolShape, dialect, fit};
use polywire_testkit::{as_json_schema, image, image_at_most, sample};
use serde_json::{Value, json};

use crate::corpus::every_case;
use crate::oracle::{Court, Covers};

fn fitted(schema: &Value, id: &str, open: Open) -> Fitted {
    let dialect = dialect(id).expect("a dialect");
    fit(schema, dialect, &FitOptions::default().with_open(open)).expect("a fit")
}

/// Law 3.
#[test]
fn law_3_valid_instances_go_to_the_wire_and_come_back() {
    let mut faults = Vec::new();
    for_instances("valid", |case| {
        if let Err(reason) = case.court.law_3(case.fitted.lens(), &case.covers, case.value) {
            faults.push(format!("{case}: {reason}"));
        }
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Law 4, seen from the caller: what the caller's schema refuses does not become acceptable in silence.
#[test]
fn law_4_invalid_instances_are_refused_or_on_record() {
    let mut faults = Vec::new();
    for_instances("invalid", |case| {
        if let Err(reason) = case.court.refuses(case.fitted.lens(), &case.covers, case.value) {
            faults.push(format!("{case}: {reason}"));
        }
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Law 4, on values of the wire that once came back as something that nobody asked for.
#[test]
fn law_4_listed_values_of_the_wire_are_what_the_caller_asked_for() {
    let (mut faults, mut listed) = (Vec::new(), 0);
    for_instances("wire", |case| {
        listed += 1;
        if let Err(reason) = case.court.law_4(case.fitted.lens(), &case.covers, case.value) {
            faults.push(format!("{case}: {reason}"));
        }
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(listed > 0, "no case lists a value of the wire");
}

/// An instance of an own case, and what its schema became.
struct InstanceCase<'c> {
    id: &'c str,
    schema: &'c Value,
    fitted: Fitted,
    court: Court,
    covers: Covers,
    value: &'c Value,
}

impl fmt::Display for InstanceCase<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {}\n  fitted {}", self.id, self.value, self.schema, self.fitted.schema)
    }
}

/// Every instance that the own cases list under a key, with open objects closed and carried.
fn for_instances(key: &str, mut judge: impl FnMut(&InstanceCase<'_>)) {
    for case in every_case() {
        let (id, case) = (case.id, case.value);
        for value in case[key].as_array().into_iter().flatten() {
            for open in [Open::Carry, Open::Close] {
                let fitted = fitted(&case["schema"], &id, open);
                // A schema that no validator reads is judged by its changes alone.
                let Some(court) = Court::new(&case["schema"], &fitted, dialect(&id).expect("a dialect")) else {
                    continue;
                };
                let covers = Covers::of(&case["schema"], &fitted.changes);
                judge(&InstanceCase { id: &id, schema: &case["schema"], fitted, court, covers, value });
            }
        }
    }
}

/// R-E1.
#[test]
fn r_e1_what_was_carried_is_brought_back() {
    let schema = json!({
        "type": "object",
        "properties": {
            "unit": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
            "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": false, "minItems": 2},
            "anything": {}
        },
        "required": ["labels"]
    });
    let fitted = fitted(&schema, "openai-strict", Open::Close);
    let value = json!({"labels": {"a": 1}, "point": [1.5, "x"], "anything": {"deep": [null]}});
    let wire = fitted.encode(value.clone()).expect("on the wire");
    assert_eq!(
        wire,
        json!({
            "unit": null,
            "labels": [{"key": "a", "value": 1}],
            "point": {"item_1": 1.5, "item_2": "x"},
            "anything": "{\"deep\":[null]}"
        })
    );
    assert_eq!(fitted.decode(wire).expect("back"), value);
}

#[test]
fn a_lens_is_kept_as_json_and_used_again() {
    let schema = json!({"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]});
    let fitted = fitted(&schema, "openai-strict", Open::Close);
    let text = serde_json::to_string(fitted.lens()).expect("JSON");
    let lens: Lens = serde_json::from_str(&text).expect("a lens");
    assert_eq!(&lens, fitted.lens());
    let wire = lens.encode(json!({"a": "b"})).expect("on the wire");
    assert_eq!(wire, json!({"value": [{"key": "a", "value": "b"}]}));
    assert_eq!(lens.decode(wire).expect("back"), json!({"a": "b"}));
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let schema = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}, "required": ["m"]});
    let fitted = fitted(&schema, "openai-strict", Open::Close);
    let twice = json!({"m": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]});
    let (value, repairs) = fitted.lens().decode_repaired(twice).expect("the last entry");
    assert_eq!(value, json!({"m": {"a": "2"}}));
    let repairs: Vec<_> = repairs.iter().map(|repair| (&*repair.at, &*repair.detail)).collect();
    assert_eq!(repairs, [("/m/1", "the key `a` is given again: the last entry is read")]);
    let error = fitted.decode(json!({"m": ["a"]})).expect_err("no entry");
    assert_eq!(error.to_string(), "an entry is an object (at `/m/0`)");
    assert_eq!(
        fitted.lens().decode_partial(json!({"m": [{"key": "a", "value": "1"}, {"key": "b"}]})),
        Some(json!({"m": {"a": "1", "b": null}}))
    );
}

/// A thousand values within each other go through on a thread of the usual size, and so does a megabyte.
#[test]
fn deep_and_large_values_go_through() {
    let schema = json!({
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "names": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "note": {"type": "string"}}, "required": ["name"]}}},
        "additionalProperties": false
    });
    let fitted = fitted(&schema, "openai-strict", Open::Close);
    let mut deep = json!({});
    for _ in 0..1_000 {
        deep = json!({ "next": deep });
    }
    let wire = fitted.encode(deep.clone()).expect("on the wire");
    assert_eq!(wire["next"]["next"]["names"], Value::Null);
    assert_eq!(fitted.decode(wire).expect("back"), deep);
    let names: Vec<Value> =
        (0..25_000).map(|index| json!({"name": format!("a name that is rather long: {index}")})).collect();
    let large = json!({ "names": names });
    assert!(large.to_string().len() > 800_000);
    let wire = fitted.encode(large.clone()).expect("on the wire");
    assert_eq!(fitted.decode(wire).expect("back"), large);
}

/// What the caller may get back is what the image says: kept instances are in it, and so is whatever comes back of made-up ones.
#[test]
fn the_image_holds_what_comes_back() {
    let (mut faults, mut images, mut values) = (Vec::new(), 0, 0);
    for case in every_case() {
        let (id, case) = (case.id, case.value);
        let fitted = fitted(&case["schema"], &id, Open::Close);
        let openapi = dialect(&id).expect("a dialect").shape() == ToolShape::GeminiOpenapi;
        let said = if openapi { as_json_schema(fitted.schema.clone()) } else { fitted.schema.clone() };
        let hull = image_at_most(fitted.lens(), &said);
        let around = jsonschema::draft202012::new(&hull).unwrap_or_else(|error| panic!("{id}: {hull}: {error}"));
        let image = image(fitted.lens(), &said).unwrap_or_else(|_| hull.clone());
        let judge = jsonschema::draft202012::new(&image).unwrap_or_else(|error| panic!("{id}: {image}: {error}"));
        let wire = jsonschema::draft202012::new(&said).expect("a fitted schema");
        let valid = case["valid"].as_array().into_iter().flatten();
        let court = Court::new(&case["schema"], &fitted, dialect(&id).expect("a dialect"));
        let kept =
            valid.filter(|value| court.as_ref().is_some_and(|court| court.returns(fitted.lens(), value))).cloned();
        let made = (0..8).filter_map(|seed| sample(&said, seed)).filter(|made| wire.is_valid(made));
        let back = made.filter_map(|made| fitted.decode(made).ok());
        images += usize::from(!fitted.lens().is_identity());
        for value in kept.chain(back) {
            values += 1;
            if !judge.is_valid(&value) || !around.is_valid(&value) {
                faults.push(format!("{id}: {value} of {}\n  wire {}\n  image {image}", case["schema"], fitted.schema));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults of {values}:\n{}", faults.len(), faults.join("\n"));
    assert!(images > 100, "{images} images");
}

/// Where the wire cannot close an object, what nobody declared comes back as it is, all but the name of the list of entries.
#[test]
fn an_open_object_lets_undeclared_properties_through() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
        "additionalProperties": {"type": "integer"}});
    let fitted = fitted(&schema, "gemini-openapi", Open::Close);
    let image = image(fitted.lens(), &fitted.schema).expect("an image");
    let judge = jsonschema::draft202012::new(&image).expect("a schema");
    let list = "additional_properties";
    let rows = [
        (json!({"a": "x", "b": 2}), true),
        (json!({"a": "x", "b": "y"}), true),
        (json!({"a": "x", (list): 3}), true),
        (json!({"a": "x", (list): "y"}), false),
        (json!({"a": 1}), false),
        (json!({"b": 2}), false),
    ];
    for (value, is_held) in rows {
        assert_eq!(judge.is_valid(&value), is_held, "{value}: {image}");
    }
    let back = fitted.decode(json!({"a": "x", "b": "y", (list): [{"key": (list), "value": 3}]})).expect("back");
    assert_eq!(back, json!({"a": "x", "b": "y", (list): 3}));
}

/// The image of each shape that a lens may have: what it holds, and what it does not.
#[test]
fn every_shape_has_an_image() {
    let tree = json!({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "object",
        "properties": {"next": {"$ref": "#/$defs/n"}}, "additionalProperties": false}}});
    let keyed = json!({"type": "object", "properties": {"m": {"type": "object",
        "patternProperties": {"^[a-z]+$": {"type": "integer"}}, "additionalProperties": false}}, "required": ["m"],
        "additionalProperties": false});
    let rest = json!({"type": "object", "properties": {"A": {"type": "string"}}, "required": ["A"],
        "patternProperties": {"^[a-z]+$": {"type": "integer"}}, "additionalProperties": false});
    let taken = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
        "additionalProperties": {"type": "integer"}});
    let optional = json!({"type": "object", "properties": {"u": {"anyOf": [{"type": "integer"},
        {"type": "object", "additionalProperties": {"type": "string"}}, {"type": "array", "items": {"type": "object",
        "additionalProperties": {"type": "boolean"}}}]}}, "additionalProperties": false});
    let whole = json!({"type": "object", "properties": {"self": {"$ref": "#"}, "n": {"type": "integer"}},
        "additionalProperties": false});
    let nested = json!({"type": "object", "properties": {"a": {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "object",
        "additionalProperties": {"type": "string"}}]}, {"type": "boolean"}]}}, "required": ["a"],
        "additionalProperties": false});
    let rows = [
        (&tree, vec![json!([{"next": {"next": {}}}]), json!([])], vec![json!([{"next": null}]), json!({})]),
        (&keyed, vec![json!({"m": {"a": 1}})], vec![json!({"m": {"A": 1}}), json!({"m": {"a": "b"}}), json!({})]),
        (&rest, vec![json!({"A": "x", "b": 2})], vec![json!({"A": "x", "B": 2}), json!({"A": "x", "b": "c"})]),
        (&taken, vec![json!({"a": "x", "b": 2})], vec![json!({"a": 1}), json!({"a": "x", "b": "c"})]),
        (
            &optional,
            vec![json!({}), json!({"u": 1}), json!({"u": {"k": "v"}}), json!({"u": [{"k": true}]})],
            vec![json!({"u": null}), json!({"u": {"k": 1}}), json!({"u": [{"k": 1}]})],
        ),
        (&whole, vec![json!({"self": {"self": {"n": 1}}})], vec![json!({"self": null}), json!({"self": {"n": "x"}})]),
        (
            &nested,
            vec![json!({"a": "s"}), json!({"a": {"k": "v"}}), json!({"a": true})],
            vec![json!({"a": 1}), json!({})],
        ),
    ];
    for (schema, held, others) in rows {
        assert_image(schema, "openai-strict", &held, &others);
    }
}

/// The values that come back from the wire are these, and those do not.
fn assert_image(schema: &Value, id: &str, held: &[Value], others: &[Value]) {
    let fitted = fitted(schema, id, Open::Close);
    assert!(!fitted.lens().is_identity(), "{id}: {}", fitted.schema);
    let image = image(fitted.lens(), &fitted.schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
    let judge = jsonschema::draft202012::new(&image).unwrap_or_else(|error| panic!("{image}: {error}"));
    for (values, are_held) in [(held, true), (others, false)] {
        for value in values {
            let found = judge.is_valid(value);
            assert_eq!(found, are_held, "{value} of {schema}\n  wire {}\n  image {image}", fitted.schema);
        }
    }
}

/// An object of the wire that names no type, words that nobody knows, and a renamed key beside a pattern.
#[test]
fn what_the_wire_leaves_open_is_in_the_image() {
    let untyped = json!({"type": "object", "properties": {"d": {"properties": {"a": {"type": "string"}},
        "required": ["a"], "patternProperties": {".*": {"type": "string"}}}}, "required": ["d"], "additionalProperties": false});
    let renamed = json!({"type": "object", "author": "ada", "properties": {"$a": {"type": "string"}},
        "patternProperties": {"^[.]": {"type": "integer"}}, "additionalProperties": false});
    let rows = [
        (
            "gemini",
            &untyped,
            vec![json!({"d": {"a": "x", "b": "y"}}), json!({"d": 3}), json!({"d": ["z"]})],
            vec![json!({"d": {"a": 1}}), json!({"d": {"b": "y"}}), json!({})],
        ),
        (
            "anthropic",
            &renamed,
            vec![json!({"$a": "x", ".b": 1}), json!({})],
            vec![json!({"_a": "x"}), json!({".b": "x"}), json!({"b": 1})],
        ),
    ];
    for (id, schema, held, others) in rows {
        assert_image(schema, id, &held, &others);
    }
}

#[test]
fn unions_that_lead_back_to_each_other_are_passed_without_going_round() {
    let schema = json!({
        "type": "object",
        "properties": {"b": {"$ref": "#/$defs/B"}},
        "required": ["b"],
        "additionalProperties": false,
        "$defs": {
            "B": {"anyOf": [
                {"type": "object", "properties": {"k": {"type": "object", "additionalProperties": {"type": "integer"}}},
                    "additionalProperties": false},
                {"$ref": "#/$defs/C"},
                {"type": "string"}
            ]},
            "C": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "number"}]}
        }
    });
    for id in ["openai-strict", "groq-strict", "gemini", "anthropic"] {
        let fitted = fit(&schema, dialect(id).unwrap(), &FitOptions::default()).unwrap();
        for value in [json!({"b": "q"}), json!({"b": 1.5}), json!({"b": {"k": {"z": 1}}})] {
            let wire = fitted.encode(value.clone()).unwrap();
            assert_eq!(fitted.decode(wire).unwrap(), value, "{id}");
        }
    }
}
