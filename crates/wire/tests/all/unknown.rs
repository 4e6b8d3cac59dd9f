//! Fields that nobody knows yet: wherever one stands in a body, it stands there again when the body is written, or its loss
//! is told; and no body says a field twice.

use polywire_wire::{Envelope, Protocol, Quirk, Surface};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::corpus::{Kind, of_kind};

/// A field that no protocol has.
const NEW: &str = "x_new";

/// The pointers of all objects in a value.
fn objects(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            out.push(at.to_owned());
            fields.iter().for_each(|(name, value)| objects(value, &format!("{at}/{}", name.replace('/', "~1")), out));
        }
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(index, value)| objects(value, &format!("{at}/{index}"), out));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads any JSON and fails where an object says a field twice.
struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Once;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON without a field that stands twice")
            }
            fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
                Ok(Once)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
                Ok(Once)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
                Ok(Once)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
                Ok(Once)
            }
            fn visit_str<E>(self, _: &str) -> Result<Once, E> {
                Ok(Once)
            }
            fn visit_unit<E>(self) -> Result<Once, E> {
                Ok(Once)
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Once, S::Error> {
                while list.next_element::<Once>()?.is_some() {}
                Ok(Once)
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Once, M::Error> {
                let mut seen = std::collections::HashSet::new();
                while let Some((name, _)) = map.next_entry::<String, Once>()? {
                    if !seen.insert(name.clone()) {
                        return Err(serde::de::Error::custom(format!("`{name}` stands twice")));
                    }
                }
                Ok(Once)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

fn surface_of(body: &Value) -> Surface {
    let surface = Surface::default().with(Quirk::MediaInResults);
    if body.get("request").is_some() || body.get("response").is_some_and(Value::is_object) {
        return surface.with_envelope(Envelope::CodeAssist);
    }
    if body.get("anthropic_version").is_some() { surface.with_envelope(Envelope::ModelInUrl) } else { surface }
}

fn check(kind: Kind, trip: impl Fn(Protocol, Value, &Surface) -> Option<(Vec<u8>, usize)>) {
    let mut faults = std::collections::BTreeSet::new();
    let mut tried = 0;
    for protocol in Protocol::ALL {
        for (path, case) in of_kind(protocol, kind) {
            let surface = surface_of(&case.body);
            let mut places = Vec::new();
            objects(&case.body, "", &mut places);
            for place in places {
                let mut body = case.body.clone();
                body.pointer_mut(&place).unwrap()[NEW] = json!("kept");
                let Some((written, told)) = trip(protocol, body, &surface) else { continue };
                tried += 1;
                let name = path.file_name().unwrap().to_string_lossy();
                let text = String::from_utf8(written).unwrap();
                if let Err(error) = serde_json::from_str::<Once>(&text) {
                    faults.insert(format!("{protocol}: {name}: `{place}`: {error}"));
                }
                if told == 0 && !text.contains(NEW) {
                    faults.insert(format!("{protocol}: {name}: `{place}`: lost in silence"));
                }
            }
        }
    }
    assert!(tried > 100, "{tried} places");
    assert!(faults.is_empty(), "{} of {tried}\n{}", faults.len(), faults.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_new_field_of_a_request_survives_or_is_told() {
    check(Kind::Request, |protocol, body, surface| {
        let read = protocol.decode_request(body).ok()?;
        let written = protocol.encode_request(&read.value, surface);
        Some((written.body, read.changes.len() + written.changes.len()))
    });
}

#[test]
fn a_new_field_of_an_answer_survives_or_is_told() {
    check(Kind::Response, |protocol, body, surface| {
        let read = protocol.decode_response(body).ok()?;
        let written = protocol.encode_response(&read.value, surface);
        Some((written.body, read.changes.len() + written.changes.len()))
    });
}
