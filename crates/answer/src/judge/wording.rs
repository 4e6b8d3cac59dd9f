//! The words of faults: sentences by which people understand, and models correct, what a schema refuses.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use crate::validate::Fault;

/// What is wrong, in words, for an error of the `jsonschema` crate.
pub(super) fn describe(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Required { property: Value::String(name) } => format!("missing required field `{name}`"),
        Kind::Required { property } => format!("missing required field {property}"),
        Kind::Type { kind: TypeKind::Single(name) } => wrong_type([name.as_str()], error.instance()),
        Kind::Type { kind: TypeKind::Multiple(names) } => {
            wrong_type(names.iter().map(jsonschema::JsonType::as_str), error.instance())
        }
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("must be one of {}", listed(options.iter().map(Fault::quote))),
            None => format!("must be one of {}", Fault::quote(options)),
        },
        Kind::Constant { expected_value } => format!("must be {}", Fault::cut_json(expected_value)),
        Kind::Format { format } => format!("must be a valid `{format}`"),
        Kind::Pattern { pattern } => format!("must match the pattern `{pattern}`"),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {}", count(*limit, "character")),
        Kind::MaxLength { limit } => format!("must have at most {}", count(*limit, "character")),
        Kind::MinItems { limit } => format!("must have at least {}", count(*limit, "item")),
        Kind::MaxItems { limit } => format!("must have at most {}", count(*limit, "item")),
        Kind::MinProperties { limit } => format!("must have at least {}", count(*limit, "field")),
        Kind::MaxProperties { limit } => format!("must have at most {}", count(*limit, "field")),
        Kind::UniqueItems => "two items are equal, but items must be unique".to_owned(),
        Kind::AdditionalItems { limit } => too_many_items(*limit),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected_fields(unexpected.iter())
        }
        Kind::UnevaluatedItems { unexpected } => unexpected_items(unexpected.len()),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => no_branch(error.kind().keyword()),
        Kind::OneOfMultipleValid { .. } => several_branches(error.kind().keyword()),
        Kind::Not { schema } => forbidden(schema),
        Kind::PropertyNames { error } => field_name(error.instance(), &describe(error)),
        Kind::FalseSchema => NOTHING_ALLOWED.to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("must be encoded as `{content_encoding}`"),
        Kind::ContentMediaType { content_media_type } => format!("must be of the media type `{content_media_type}`"),
        Kind::Contains
        | Kind::Custom { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Referencing(_) => error.masked_with("the value").to_string(),
    }
}

/// The schema `false`.
pub(super) const NOTHING_ALLOWED: &str = "no value is allowed here";

fn wrong_type<'n>(expected: impl IntoIterator<Item = &'n str>, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("expected {} but found {found}", expected.into_iter().collect::<Vec<_>>().join(" or "))
}

pub(super) fn too_many_items(limit: usize) -> String {
    format!("must have at most {}", count(limit as u64, "item"))
}

pub(super) fn unexpected_items(number: usize) -> String {
    format!("{} not allowed by the schema", count(number as u64, "item"))
}

pub(super) fn unexpected_fields<'k>(names: impl Iterator<Item = &'k String>) -> String {
    let names: Vec<&String> = names.collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("unexpected field{plural} {}", listed(names.iter().map(|name| format!("`{name}`"))))
}

/// `anyOf` and `oneOf`.
pub(super) fn no_branch(keyword: &str) -> String {
    format!("matches none of the schemas in `{keyword}`")
}

pub(super) fn several_branches(keyword: &str) -> String {
    format!("matches more than one of the schemas in `{keyword}`")
}

pub(super) fn forbidden(schema: &Value) -> String {
    format!("must not match {}", Fault::cut_json(schema))
}

/// A fault of the name of a field.
pub(super) fn field_name(name: &Value, detail: &str) -> String {
    format!("the field name {} {detail}", Fault::quote(name))
}

/// So many items match `contains`, and that is too few or too many.
pub(super) fn wrong_contains(matching: usize, min: usize, max: Option<usize>) -> String {
    let expected = match max {
        Some(max) if matching > max => format!("at most {max}"),
        _ => format!("at least {min}"),
    };
    format!("{} match the schema in `contains`, expected {expected}", count(matching as u64, "item"))
}

fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// As many of the items as a fault can show.
fn listed(items: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for item in items {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&item);
        if text.len() > Fault::MAX_DETAIL {
            break;
        }
    }
    text
}
