//! One object of two halves. What has no neutral name is kept as the rest of the object that it stood in and is written beside
//! the part that has names; where both are objects of one name, the body would say the name twice. Here they become one.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Objects lie no deeper than this in any protocol's own shapes; what lies deeper is the caller's and has one half.
const DEEPEST: usize = 16;

/// The body with every name said once. Of two values that are not both objects, the first one stays.
pub(super) fn merge_duplicate_keys(body: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&body) else { return body };
    let mut out = String::with_capacity(text.len());
    write(&[text], DEEPEST, &mut out);
    out.into_bytes()
}

/// The fields of an object in their order, values unread.
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

/// Writes the values of one name: the first, with the fields of the others if all are objects.
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
                // A name is a text, which can always be written.
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
