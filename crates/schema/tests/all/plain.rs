//! Schemas that every reader understands alike: the words of one draft, each with a value of its kind. Only of these can a
//! validator say what was asked for; what else the reader understands, it need not. The fuzz targets take this file in by its path.

use serde_json::{Map, Value};

/// References and unions that are followed from one schema, at most.
const MOST_STEPS: usize = 200;

/// Whether a validator reads the schema as it is meant.
pub(crate) fn is_plain(schema: &Value) -> bool {
    let Some(root) = schema.as_object() else { return false };
    let defs = root.get("$defs").and_then(Value::as_object);
    let empty = Map::new();
    let defs = defs.unwrap_or(&empty);
    says_plain_words(schema) && std::iter::once(schema).chain(defs.values()).all(|own| ends(own, defs))
}

fn says_plain_words(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return schema.is_boolean() };
    let all = |value: &Value| value.as_object().is_some_and(|map| map.values().all(says_plain_words));
    let each =
        |value: &Value| value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(says_plain_words));
    members.iter().all(|(word, value)| match word.as_str() {
        "type" => {
            is_type(value) || value.as_array().is_some_and(|names| !names.is_empty() && names.iter().all(is_type))
        }
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" => all(value),
        "items"
        | "additionalProperties"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else"
        | "unevaluatedProperties"
        | "unevaluatedItems" => says_plain_words(value),
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => each(value),
        "required" => are_names(value),
        "dependentRequired" => value.as_object().is_some_and(|map| map.values().all(are_names)),
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "const" | "default" => true,
        "examples" => value.is_array(),
        "title" | "description" | "pattern" | "format" => value.is_string(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => value.is_u64(),
        "uniqueItems" => value.is_boolean(),
        "$ref" => value.as_str().is_some_and(|pointer| pointer.starts_with("#/$defs/")),
        _ => false,
    })
}

fn are_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_type(name: &Value) -> bool {
    let names = ["string", "number", "integer", "boolean", "object", "array", "null"];
    name.as_str().is_some_and(|name| names.contains(&name))
}

/// Whether a schema does not say, by unions and references alone, that a value is what it is.
fn ends(schema: &Value, defs: &Map<String, Value>) -> bool {
    let mut open = vec![schema];
    for _ in 0..MOST_STEPS {
        let Some(own) = open.pop() else { return true };
        let pointer = own.get("$ref").and_then(Value::as_str).and_then(|pointer| pointer.strip_prefix("#/$defs/"));
        open.extend(pointer.and_then(|name| defs.get(name)));
        for word in ["anyOf", "oneOf", "allOf"] {
            open.extend(own.get(word).and_then(Value::as_array).into_iter().flatten());
        }
        open.extend(["not", "if", "then", "else"].into_iter().filter_map(|word| own.get(word)));
        open.extend(own.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Map::values));
    }
    false
}
