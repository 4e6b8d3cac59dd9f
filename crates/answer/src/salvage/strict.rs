//! JSON as it should be: read by `serde_json`, and returned as it is.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What a strict reading came to.
pub(crate) enum Strict {
    /// A value, and where it ends.
    Value(Value, usize),
    /// It is JSON as far as it goes.
    Cut,
    /// It is not JSON, or one of its numbers does not fit.
    No,
}

/// Reads the JSON at the start of a text; more may follow.
pub(crate) fn read(text: &str) -> Strict {
    let rounded = Cell::new(false);
    let mut source = serde_json::Deserializer::from_str(text);
    match (Exact { rounded: &rounded }).deserialize(&mut source) {
        // The tolerant reader says which number it was.
        Ok(_) if rounded.get() && holds_long_integer(text) => Strict::No,
        Ok(value) => Strict::Value(value, source.into_iter::<IgnoredAny>().byte_offset()),
        Err(error) if error.is_eof() => Strict::Cut,
        Err(_) => Strict::No,
    }
}

/// Whether an integer stands in JSON that is too long for 64 bits. A large float is what it says.
fn holds_long_integer(text: &str) -> bool {
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(inner) = bytes.next().filter(|inner| *inner != b'"') {
                    if inner == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'0'..=b'9' => {
                let mut digits = 1_usize;
                let mut float = false;
                while let Some(next) =
                    bytes.next_if(|next| matches!(next, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
                {
                    float |= !next.is_ascii_digit();
                    digits += 1;
                }
                if digits >= 19 && !float {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether the brackets of JSON at the start of a text are all closed: a quick look that saves a failing read.
pub(crate) fn is_closed(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return true;
                }
            }
            b'"' => {
                place += 1;
                while let Some(inner) = bytes.get(place).filter(|byte| **byte != b'"') {
                    place += 1 + usize::from(*inner == b'\\');
                }
            }
            _ => {}
        }
        place += 1;
    }
    false
}

/// Reads a [`Value`] and notices a number that no float holds exactly.
#[derive(Clone, Copy)]
struct Exact<'c> {
    rounded: &'c Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Exact<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The smallest float that no integer type of JSON libraries holds: from here on, integers arrive as floats.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

impl<'de> Visitor<'de> for Exact<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        if value.abs() >= LARGE {
            self.rounded.set(true);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            map.insert(key, members.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}
