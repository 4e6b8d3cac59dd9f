//! Fields that nobody knows yet: wherever one stands in a body, it stands there again when the body is written, or its loss
//! is told; and no body says a field twice.

use polywire_wire::{Change, Envelope, Event, Protocol, Quirk, Response, Surface};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::corpus::{Kind, assembled, events, of_kind, stream_bytes};

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

/// The answer of a stream, and the stream written again.
fn stream_trip(protocol: Protocol, body: &Value) -> (Response, Vec<Event>, Vec<u8>, Vec<Change>) {
    let surface = Surface::default();
    let framing = protocol.framing(&surface);
    let read = events(protocol, framing, &stream_bytes(framing, body));
    let mut encoder = protocol.stream_encoder(&surface);
    let bytes = read.iter().flat_map(|event| encoder.push(event)).collect();
    let response = assembled(&read).unwrap();
    (response, read, bytes, encoder.changes().to_vec())
}

/// Lists that several events say, of which the last one counts.
const SAID_ANEW: [&str; 2] = ["/safetyRatings/", "/annotations/"];

/// A field that is new in any event is in the answer that the stream makes, and in the stream that is written again.
#[test]
fn a_new_field_of_an_event_survives_in_the_answer_and_in_the_stream() {
    let mut faults = std::collections::BTreeSet::new();
    for protocol in Protocol::ALL {
        let mut tried = 0;
        for (path, case) in of_kind(protocol, Kind::Stream) {
            let mut places = Vec::new();
            objects(&case.body, "", &mut places);
            // The frame around the data is the corpus's own, and what is said anew replaces what was said.
            let anew = |place: &String| SAID_ANEW.iter().any(|list| place.contains(list));
            let is_data = |place: &String| place.split('/').nth(2) == Some("data");
            for place in places.into_iter().filter(|place| is_data(place) && !anew(place)) {
                let mut body = case.body.clone();
                body.pointer_mut(&place).unwrap()[NEW] = json!("kept");
                let (response, read, written, changes) = stream_trip(protocol, &body);
                tried += 1;
                let name = format!("{protocol}: {}: `{place}`", path.file_name().unwrap().to_string_lossy());
                let other = read
                    .iter()
                    .any(|event| matches!(event, Event::Other { .. }) && json!(event).to_string().contains(NEW));
                if !other && !json!(response).to_string().contains(NEW) {
                    faults.insert(format!("{name}: not in the answer"));
                }
                if !written.windows(NEW.len()).any(|piece| piece == NEW.as_bytes()) {
                    faults.insert(format!("{name}: not in the stream that is written again: {changes:?}"));
                }
                let again = stream_trip_of(protocol, &written);
                if again != response {
                    faults.insert(format!("{name}: another answer the second time: {again:?} for {response:?}"));
                }
            }
        }
        assert!(tried > 20, "{protocol}: {tried} places");
        println!("{protocol}: {tried} places");
    }
    assert!(faults.is_empty(), "{}\n{}", faults.len(), faults.into_iter().collect::<Vec<_>>().join("\n"));
}

fn stream_trip_of(protocol: Protocol, written: &[u8]) -> Response {
    assembled(&events(protocol, protocol.framing(&Surface::default()), written)).unwrap()
}
