//! Merges duplicate keys in a body. Provider-specific fields of a nested object are written after its known fields, under the same key;
//! this module merges the two objects.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The maximum depth at which an encoder writes duplicate keys. Deeper values come from the caller.
const MAX_DEPTH: usize = 16;

/// Merges objects with the same key. If the values are not both objects, the first one stays.
pub(super) fn merge_duplicate_keys(body: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&body) else { return body };
    let mut out = String::with_capacity(text.len());
    write(&[text], MAX_DEPTH, &mut out);
    out.into_bytes()
}

/// The fields of an object in order, including duplicates, with unparsed values.
struct RawObject<'a>(Vec<(String, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push((name, value.get()));
                }
                Ok(RawObject(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Writes the values of one key: the first, merged with the fields of later objects if it is an object.
fn write(values: &[&str], depth: usize, out: &mut String) {
    let Some(first) = values.first() else { return };
    let objects = || values.iter().filter(|value| value.starts_with('{'));
    match first.as_bytes().first() {
        Some(b'{') if depth > 0 => {
            let read =
                objects().map(|value| serde_json::from_str::<RawObject<'_>>(value)).collect::<Result<Vec<_>, _>>();
            let Ok(read) = read else { return out.push_str(first) };
            let mut names: Vec<(String, Vec<&str>)> = Vec::new();
            let mut places = std::collections::HashMap::new();
            for (name, value) in read.into_iter().flat_map(|object| object.0) {
                let place = *places.entry(name.clone()).or_insert(names.len());
                match names.get_mut(place) {
                    Some((_, values)) => values.push(value),
                    None => names.push((name, vec![value])),
                }
            }
            out.push('{');
            for (index, (name, values)) in names.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                // Serializing a string cannot fail.
                out.push_str(&serde_json::to_string(name).unwrap_or_default());
                out.push(':');
                write(values, depth - 1, out);
            }
            out.push('}');
        }
        Some(b'[') if depth > 0 => {
            let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(first) else { return out.push_str(first) };
            out.push('[');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(&[entry.get()], depth - 1, out);
            }
            out.push(']');
        }
        _ => out.push_str(first),
    }
}
