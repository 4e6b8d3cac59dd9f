//! Translates schemas of the `OpenAPI` slots to JSON Schema, so that a validator can read them. Every runner of
//! the laws uses it.

use polywire_schema::internals::{KeywordValue, Kw};
use serde_json::{Map, Value, json};

/// Schemas within schemas beyond this depth stay as they are; none that was fitted goes as deep.
const DEEPEST: usize = 512;

/// Keywords for definitions, which stay at the root.
const DEFINITIONS: [Kw; 3] = [Kw::BareDefs, Kw::Defs, Kw::Definitions];

/// Translates `nullable`, `ref` and the upper-case types of the `OpenAPI` slots
/// ([`ToolShape::GeminiOpenapi`](polywire_schema::ToolShape)) to JSON Schema.
///
/// ```
/// let slot = serde_json::json!({"type": "STRING", "nullable": true});
/// let plain = serde_json::json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
/// assert_eq!(polywire_testkit::as_json_schema(slot), plain);
/// ```
pub fn as_json_schema(schema: Value) -> Value {
    // Validators look for definitions under the word of JSON Schema, unless something else stands there.
    let taken = schema.get(Kw::Defs.name()).is_some();
    translate_schema(schema, if taken { Kw::BareDefs } else { Kw::Defs }, 0)
}

fn translate_schema(schema: Value, defs: Kw, depth: usize) -> Value {
    let Value::Object(map) = schema else { return schema };
    if depth == DEEPEST {
        return Value::Object(map);
    }
    let mut out = Map::with_capacity(map.len());
    let mut null = false;
    for (key, value) in map {
        match (Kw::of(&key), value) {
            (Some(Kw::Nullable), Value::Bool(flag)) => null = flag,
            (Some(Kw::BareRef), Value::String(pointer)) => {
                let name = pointer.strip_prefix("#/").and_then(|way| way.strip_prefix(Kw::BareDefs.name()));
                let pointer = name.map_or_else(|| pointer.clone(), |name| format!("#/{}{name}", defs.name()));
                out.insert(Kw::Ref.name().to_owned(), pointer.into());
            }
            (Some(kw @ Kw::BareDefs), value) if depth == 0 => {
                out.insert(defs.name().to_owned(), translate_value(kw.info().holds, value, defs, depth + 1));
            }
            (Some(kw), value) => _ = out.insert(key, translate_value(kw.info().holds, value, defs, depth + 1)),
            (None, value) => _ = out.insert(key, value),
        }
    }
    if !null {
        return Value::Object(out);
    }
    let mut union = Map::new();
    for kw in DEFINITIONS {
        union.extend(out.shift_remove_entry(kw.name()));
    }
    union.insert(Kw::AnyOf.name().to_owned(), json!([out, {Kw::Type.name(): "null"}]));
    Value::Object(union)
}

fn translate_value(holds: KeywordValue, value: Value, defs: Kw, depth: usize) -> Value {
    match (holds, value) {
        (KeywordValue::Schema | KeywordValue::SchemaList, Value::Array(list)) => {
            list.into_iter().map(|own| translate_schema(own, defs, depth)).collect()
        }
        (KeywordValue::Schema, own) => translate_schema(own, defs, depth),
        (KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap, Value::Object(map)) => {
            map.into_iter().map(|(key, own)| (key, translate_schema(own, defs, depth))).collect()
        }
        (KeywordValue::TypeNames, Value::Array(names)) => {
            names.into_iter().map(|own| translate_value(holds, own, defs, depth)).collect()
        }
        (KeywordValue::TypeNames, Value::String(name)) => name.to_ascii_lowercase().into(),
        (_, other) => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::as_json_schema;

    #[test]
    fn words_are_translated_where_they_are_words() {
        let slot = json!({"type": "OBJECT", "nullable": true, "defs": {"A": {"ref": "#/defs/A"}}, "properties": {
            "nullable": true,
            "ref": {"type": "STRING", "default": {"nullable": true}},
            "list": {"type": "ARRAY", "items": {"ref": "#/defs/A", "nullable": true}},
        }});
        let plain = json!({"$defs": {"A": {"$ref": "#/$defs/A"}}, "anyOf": [
            {"type": "object", "properties": {
                "nullable": true,
                "ref": {"type": "string", "default": {"nullable": true}},
                "list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}},
            }},
            {"type": "null"},
        ]});
        assert_eq!(as_json_schema(slot), plain);
    }
}
