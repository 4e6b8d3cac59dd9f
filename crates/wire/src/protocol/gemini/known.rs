//! The fields of messages and tools that the API knows. Google rejects any other with 400 `Unknown name "…"`, so unknown fields are
//! dropped and recorded. (GEM-SCHEMA-07 and GEM-CFG-10 of the notes, read 2026-11; names of the generativelanguage v1beta types
//! 0.12.1.)

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::OWN;
use super::shapes::{KnownPart, Part};
use crate::fields::is_proto_name;
use crate::protocol::context::{At, Context, DROPPED_NOTE};

const PART: &[&str] = &[
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "partMetadata",
    "mediaResolution",
];
const CONTENT: &[&str] = &["role", "parts"];
const DECLARATION: &[&str] =
    &["name", "description", "behavior", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"];
const RESPONSE: &[&str] = &["id", "name", "response", "parts", "willContinue", "scheduling"];

/// The objects inside a part and their fields.
const INNER: &[(&str, &[&str])] = &[
    ("inlineData", &["mimeType", "data", "displayName"]),
    ("fileData", &["mimeType", "fileUri", "displayName"]),
    ("functionCall", &["id", "name", "args", "partialArgs", "willContinue"]),
    ("functionResponse", RESPONSE),
];

type Fields = Map<String, Value>;

/// Keeps the known fields of a `Content`.
pub(super) fn of_content<'e>(ctx: &mut Context<'_>, at: &At<'_>, own: Option<&'e Fields>) -> Option<Cow<'e, Fields>> {
    own.map(|own| of_message(ctx, at, "a content", CONTENT, own)).filter(|own| !own.is_empty())
}

/// Keeps the known fields of a function declaration.
pub(super) fn of_function<'e>(ctx: &mut Context<'_>, at: &At<'_>, own: Option<&'e Fields>) -> Option<Cow<'e, Fields>> {
    own.map(|own| of_message(ctx, at, "a function declaration", DECLARATION, own)).filter(|own| !own.is_empty())
}

fn of_message<'e>(ctx: &mut Context<'_>, at: &At<'_>, kind: &str, names: &[&str], own: &'e Fields) -> Cow<'e, Fields> {
    let mut fields = Cow::Borrowed(own);
    for name in own.keys().filter(|name| !is_proto_name(name, names)) {
        drop_field(ctx, at, kind, name);
        fields.to_mut().shift_remove(name);
    }
    fields
}

fn drop_field(ctx: &mut Context<'_>, at: &At<'_>, kind: &str, name: &str) {
    let detail =
        format!("`{name}` dropped: {kind} of the Gemini API has no such field, and unknown fields are rejected");
    ctx.record_field("unknown-field", at, OWN, name, DROPPED_NOTE, detail);
}

/// Drops unknown fields of a part, and the part if it is empty afterwards.
pub(super) fn part<'r>(ctx: &mut Context<'_>, at: &At<'_>, part: Part<'r>) -> Option<Part<'r>> {
    match part {
        Part::Known(mut known) => {
            if let Some(extra) = known.extra.take() {
                known.extra = part_fields(ctx, at, extra);
            }
            result_fields(ctx, at, &mut known);
            Some(Part::Known(known))
        }
        Part::Other(value) => {
            let Some(fields) = value.as_object() else { return Some(Part::Other(value)) };
            match part_fields(ctx, at, Cow::Borrowed(fields)) {
                Some(Cow::Borrowed(_)) => Some(Part::Other(value)),
                Some(Cow::Owned(fields)) => Some(Part::Other(Cow::Owned(Value::Object(fields)))),
                None => None,
            }
        }
    }
}

fn part_fields<'e>(ctx: &mut Context<'_>, at: &At<'_>, fields: Cow<'e, Fields>) -> Option<Cow<'e, Fields>> {
    let unknown = |fields: &Fields, names: &[&str]| -> Vec<String> {
        fields.keys().filter(|name| !is_proto_name(name, names)).cloned().collect()
    };
    let mut fields = fields;
    for name in unknown(&fields, PART) {
        drop_field(ctx, at, "a part", &name);
        fields.to_mut().shift_remove(&name);
    }
    for (message, names) in INNER {
        let Some(inner) = fields.get(*message).and_then(Value::as_object) else { continue };
        for name in unknown(inner, names) {
            drop_field(ctx, at, &format!("`{message}`"), &name);
            if let Some(inner) = fields.to_mut().get_mut(*message).and_then(Value::as_object_mut) {
                inner.shift_remove(&name);
            }
        }
        if fields.get(*message).and_then(Value::as_object).is_some_and(Map::is_empty) {
            fields.to_mut().shift_remove(*message);
        }
    }
    Some(fields).filter(|fields| !fields.is_empty())
}

/// Splits the fields of a result into those of `functionResponse` and those of its part.
fn result_fields(ctx: &mut Context<'_>, at: &At<'_>, part: &mut KnownPart<'_>) {
    let Some(result) = &mut part.function_response else { return };
    let mut beside = Map::new();
    for (name, value) in std::mem::take(&mut result.extra) {
        if is_proto_name(&name, RESPONSE) {
            result.extra.insert(name, value);
        } else if is_proto_name(&name, PART) {
            beside.insert(name, value);
        } else {
            drop_field(ctx, at, "`functionResponse`", &name);
        }
    }
    if !beside.is_empty() {
        part.extra = Some(Cow::Owned(beside));
    }
}
