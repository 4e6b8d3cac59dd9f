//! What the rows of [`words`](crate::words) are held against: every field of the neutral model has a row, or nobody would notice that a
//! protocol loses it; and what a protocol's own documents say (the corpus is written from them) is in a row of the protocol.

use std::collections::BTreeSet;

use polywire_wire::Protocol;
#[cfg(feature = "schemars")]
use polywire_wire::{Request, Response};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::Serialize;
use serde_json::{Value, json};

use crate::corpus::{Kind, of_kind, read_request};
use crate::generate::{plain_request, plain_response};
use crate::words::{REQUEST_WORDS, RESPONSE_WORDS, Word, dice};

/// The fields that a value has, wherever they stand: a list stands for its entries, and an object that says its type is of that type. What
/// is the caller's own, or without a neutral name, has no fields.
fn fields(value: &Value, at: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Array(entries) => entries.iter().for_each(|entry| fields(entry, at, out)),
        Value::Object(object) => {
            let kind = object.get("type").and_then(Value::as_str);
            let at = kind.map_or(at.to_owned(), |kind| format!("{at}[{kind}]"));
            for (name, value) in object.iter().filter(|(name, _)| *name != "type") {
                let at = format!("{at}/{name}");
                if !OPAQUE.iter().any(|opaque| at.ends_with(opaque)) {
                    fields(value, &at, out);
                }
                out.insert(at);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fields whose content is the caller's or a protocol's own.
const OPAQUE: [&str; 6] = ["/extra", "/metadata", "/parameters", "/schema", "/value", "/written"];

/// The fields of what a strategy makes.
fn made<T: Serialize>(strategy: impl Strategy<Value = T>, out: &mut BTreeSet<String>) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for _ in 0..60 {
        fields(&json!(strategy.new_tree(&mut runner).unwrap().current()), "", out);
    }
}

/// The fields that the rows of a protocol say, or of all protocols.
fn said<T: Clone + Serialize + std::fmt::Debug + 'static>(
    words: &'static [Word<T>],
    plain: &BoxedStrategy<T>,
    by: Option<Protocol>,
) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    made(plain.clone(), &mut out);
    for word in words.iter().filter(|word| by.is_none_or(|protocol| word.is_said_by(protocol))) {
        let value = (plain.clone(), dice(by.unwrap_or(Protocol::OpenAiChat))).prop_map(|(mut value, dice)| {
            word.add(&mut value, &dice);
            value
        });
        made(value, &mut out);
    }
    out
}

/// What only some surfaces of a protocol take, and the rows are of none: images inside of results are a quirk.
fn by_quirk(protocol: Protocol, field: &str) -> bool {
    protocol == Protocol::Gemini && field.starts_with("/messages/content[tool_result]/content[image]")
}

#[test]
fn what_the_documents_of_a_protocol_say_is_in_its_rows() {
    let mut missing = Vec::new();
    for protocol in Protocol::ALL {
        let rows = said(REQUEST_WORDS, &plain_request().boxed(), Some(protocol));
        for (path, case) in of_kind(protocol, Kind::Request) {
            let mut read = BTreeSet::new();
            fields(&json!(read_request(protocol, &case)), "", &mut read);
            let name = path.file_name().unwrap().to_string_lossy();
            let unsaid = read.difference(&rows).filter(|field| !by_quirk(protocol, field));
            missing.extend(unsaid.map(|field| format!("{protocol}: {name}: {field}")));
        }
        let rows = said(RESPONSE_WORDS, &plain_response().boxed(), Some(protocol));
        for (path, case) in of_kind(protocol, Kind::Response) {
            let mut read = BTreeSet::new();
            fields(&json!(protocol.decode_response(case.body).unwrap().value), "", &mut read);
            let name = path.file_name().unwrap().to_string_lossy();
            missing.extend(read.difference(&rows).map(|field| format!("{protocol}: {name}: {field}")));
        }
    }
    assert!(missing.is_empty(), "{} fields that no row says\n{}", missing.len(), missing.join("\n"));
}

#[cfg(feature = "schemars")]
mod model {
    use super::*;

    /// The fields that a schema has, in the form of [`fields`].
    fn declared(schema: &Value, root: &Value, at: &str, out: &mut BTreeSet<String>) {
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            declared(root.pointer(to.trim_start_matches('#')).unwrap(), root, at, out);
        }
        for list in ["oneOf", "anyOf", "allOf"].iter().filter_map(|name| schema.get(name)?.as_array()) {
            for branch in list {
                declared(branch, root, at, out);
            }
        }
        if let Some(entries) = schema.get("items") {
            declared(entries, root, at, out);
        }
        let kind = schema.pointer("/properties/type/const").and_then(Value::as_str);
        let at = kind.map_or(at.to_owned(), |kind| format!("{at}[{kind}]"));
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in properties.filter(|(name, _)| *name != "type") {
            let at = format!("{at}/{name}");
            if !OPAQUE.iter().any(|opaque| at.ends_with(opaque)) {
                declared(property, root, &at, out);
            }
            out.insert(at);
        }
        // A branch that says its type refers to the fields of that type.
        if let (Some(_), Some(to)) = (kind, schema.get("$ref").and_then(Value::as_str)) {
            declared(root.pointer(to.trim_start_matches('#')).unwrap(), root, &at, out);
        }
    }

    /// What stands in requests alone; an answer that has it all the same is made up by the laws.
    const NOT_ANSWERED: [&str; 6] = [
        "/content[audio]",
        "/content[document]",
        "/content[image]",
        "/content[tool_result",
        "/content[text]/cache",
        "/content[tool_call]/cache",
    ];

    #[test]
    fn every_field_of_the_neutral_model_has_a_row() {
        let mut missing = Vec::new();
        for (schema, rows) in [
            (json!(schemars::schema_for!(Request)), said(REQUEST_WORDS, &plain_request().boxed(), None)),
            (json!(schemars::schema_for!(Response)), said(RESPONSE_WORDS, &plain_response().boxed(), None)),
        ] {
            let mut fields = BTreeSet::new();
            declared(&schema, &schema, "", &mut fields);
            let asked = fields.difference(&rows).filter(|field| !NOT_ANSWERED.iter().any(|not| field.starts_with(not)));
            missing.extend(asked.cloned());
        }
        assert!(missing.is_empty(), "{} fields without a row\n{}", missing.len(), missing.join("\n"));
    }
}
