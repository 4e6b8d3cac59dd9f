//! What must hold for every text: valid JSON comes back as it is, and reading any text ends.

use polywire_answer::{CoerceOptions, Options, ReadOptions, RepairKind, Schema, coerce, read_with, salvage};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

/// Any JSON value, with texts that are full of notation.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,8}",
        r#"[\\"'{}\[\]:,`<>/#\n\t a-c]{0,16}"#,
        Just("```json\n{}\n```".to_owned()),
        Just("<think>".to_owned()),
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e15..1e15).prop_map(|number: f64| json!(number)),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Texts that look like answers and are broken somewhere.
pub(crate) fn any_broken() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any_value().prop_map(|value| value.to_string()),
        r#"[\\"'{}\[\]:,`<>/#+()=\n a-c0-9.-]{0,24}"#,
        "\\PC{0,6}",
        Just("```json\n".to_owned()),
        Just("\n```".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        Just("{\"a\": \"b".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// The same cases in every run, others and more of them where `POLYWIRE_FULL=1`.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let full = std::env::var_os("POLYWIRE_FULL").is_some_and(|value| value == "1");
    let (cases, rng_seed) = if full { (count * 50, RngSeed::Random) } else { (count, RngSeed::Fixed(7)) };
    ProptestConfig { cases, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn valid_json_comes_back_exactly(value in any_value(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let salvaged = salvage(&text, &Options::default()).expect("a value");
        prop_assert_eq!(salvaged.value.to_string(), serde_json::from_str::<Value>(&text).expect("JSON").to_string());
        prop_assert!(salvaged.repairs.is_empty());
    }

    #[test]
    fn the_tolerant_reader_reads_valid_json_as_the_strict_one_does(value in any_value()) {
        // A comment keeps the strict reader away.
        let container = json!([value]);
        let text = format!("/**/{container}");
        let salvaged = salvage(&text, &Options::default()).expect("a value");
        prop_assert_eq!(salvaged.value, container);
    }

    #[test]
    fn what_was_written_as_a_text_comes_back_exactly(value in any_value(), layers in 1_usize..4, place in 0_usize..3) {
        let value = json!([value]);
        let schema = Schema::new(&json!({"type": "array"})).expect("a schema");
        let text = (0..layers).fold(value.to_string(), |text, _| Value::String(text).to_string());
        let text = match place {
            0 => text,
            1 => format!(" {text}\n"),
            _ => format!("```json\n{text}\n```"),
        };
        let answer = read_with(&text, Some(&schema), &ReadOptions::default());
        prop_assert_eq!(answer.value, Some(value));
        let encoded = answer.repairs.iter().filter(|repair| repair.kind == RepairKind::Encoded).count();
        let fences = answer.repairs.iter().filter(|repair| repair.kind == RepairKind::Fence).count();
        prop_assert_eq!((encoded, fences, answer.repairs.len()), (layers, place & 2, layers + (place & 2)));
    }

    #[test]
    fn what_is_escaped_once_more_is_read_as_it_was_meant(value in any_value()) {
        let container = json!({"a": value});
        let quoted = Value::String(container.to_string()).to_string();
        let text = format!("So: {}", quoted.trim_matches('"'));
        let schema = Schema::new(&json!({"type": "object"})).expect("a schema");
        prop_assert_eq!(read_with(&text, Some(&schema), &ReadOptions::default()).value, Some(container));
    }

    #[test]
    fn what_is_cut_is_said_to_be_and_nothing_is_invented(value in plain_value()) {
        let text = json!({"a": value, "last key": [1]}).to_string();
        let schema = Schema::new(&json!({"type": "object"})).expect("a schema");
        for end in 1..text.len() {
            let cut = text.get(..end).unwrap_or_default();
            let bare = read_with(cut, None, &ReadOptions::default());
            let shaped = read_with(cut, Some(&schema), &ReadOptions::default());
            prop_assert!(bare.is_truncated() && shaped.is_truncated(), "{cut}");
            prop_assert!(has_keys_of(&shaped.value.unwrap_or_default(), &json!({"a": value, "last key": [1]})), "{cut}");
        }
    }

    #[test]
    fn any_text_and_every_prefix_of_it_can_be_read(text in any_broken()) {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let prefix = text.get(..end).unwrap_or_default();
            salvage(prefix, &Options::default());
            salvage(prefix, &Options::partial());
        }
    }

    #[test]
    fn any_text_can_be_read_by_any_schema(text in any_broken(), schema in any_schema()) {
        let schema = Schema::new(&schema).expect("a schema");
        read_with(&text, Some(&schema), &ReadOptions::default());
        read_with(&text, Some(&schema), &ReadOptions::default().with_salvage(Options::partial()));
    }

    #[test]
    fn a_valid_value_is_never_changed(value in any_value(), schema in any_schema()) {
        let ready = Schema::new(&schema).expect("a schema");
        let answer = read_with(&value.to_string(), Some(&ready), &ReadOptions::default());
        let (coerced, repairs) = coerce(value.clone(), &schema, &CoerceOptions::default()).expect("a schema");
        if jsonschema_accepts(&schema, &value) {
            prop_assert_eq!(&coerced, &value);
            prop_assert!(repairs.is_empty());
            if let Some(read) = answer.value.filter(|_| !value.to_string().contains("</")) {
                prop_assert_eq!(read, value);
            }
        }
    }
}

/// Any JSON value whose texts are words.
fn plain_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{1,8}( [a-z]{1,8})?".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Whether each key of a part is one of the whole.
fn has_keys_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| has_keys_of(value, whole)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.iter().zip(whole).all(|(part, whole)| has_keys_of(part, whole))
        }
        _ => true,
    }
}

fn jsonschema_accepts(schema: &Value, value: &Value) -> bool {
    polywire_answer::validate(value, schema).expect("a schema").is_empty()
}

/// Schemas with every kind of shape, some of them recursive.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": ["number", "null"]})),
        Just(json!({"type": "boolean"})),
        Just(json!({"enum": ["a", "b", 1, null]})),
        Just(json!({"const": "abc"})),
        Just(json!(true)),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|branches| json!({"anyOf": branches})),
            (inner.clone(), inner, any::<bool>()).prop_map(|(a, b, closed)| json!({
                "type": "object", "properties": {"a": a, "b": b}, "required": ["a"], "additionalProperties": !closed
            })),
        ]
    })
    .prop_map(|schema| if schema == json!({"$ref": "#"}) { json!({"type": "array", "items": schema}) } else { schema })
}
