//! Our own bodies, written from the providers' documents: read as they should be, read again as they were written, and
//! translated from every protocol into every other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use polywire_wire::{
    Assembler, Block, Change, Effect, Event, Framing, Headers, IncompleteStream, Message, Protocol, Quirk, Request,
    Response, ResultBlock, Role, StopReason, Surface, WireError, events_of,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::history::broken_rules;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(crate) struct Case {
    why: String,
    kind: Kind,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    headers: Map<String, Value>,
    pub(crate) body: Value,
    /// The whole body that says what a stream says.
    whole: Option<Value>,
    /// Values that stand at places of what is read.
    expect: Map<String, Value>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Request,
    Response,
    Stream,
    Cut,
    Error,
}

/// At least so many for each protocol.
const LEAST: usize = 12;

fn cases(protocol: Protocol) -> Vec<(PathBuf, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/wire").join(protocol.name());
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let case = serde_json::from_slice(&std::fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, case)
    };
    paths.into_iter().map(read).collect()
}

pub(crate) fn of_kind(protocol: Protocol, kind: Kind) -> impl Iterator<Item = (PathBuf, Case)> {
    cases(protocol).into_iter().filter(move |(_, case)| case.kind == kind)
}

fn expect(path: &Path, case: &Case, found: &Value) {
    for (pointer, wanted) in &case.expect {
        assert_eq!(found.pointer(pointer), Some(wanted), "{} ({}): `{pointer}` of {found:#}", path.display(), case.why);
    }
}

/// The bytes of a stream that is written down as its events.
pub(crate) fn stream_bytes(framing: Framing, events: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let events = events.as_array().unwrap();
    let bodies = || events.iter().map(|event| &event["data"]).filter(|data| !data.is_string());
    if framing == Framing::JsonArray {
        return json!(bodies().collect::<Vec<_>>()).to_string().into_bytes();
    }
    if framing == Framing::Ndjson {
        return bodies().flat_map(|data| format!("{data}\n").into_bytes()).collect();
    }
    for event in events {
        let name = event["event"].as_str().unwrap_or_default();
        let data = event["data"].as_str().map_or_else(|| event["data"].to_string(), str::to_owned);
        if framing == Framing::Aws {
            bytes.extend(aws_message(name, data.as_bytes()));
            continue;
        }
        if !name.is_empty() {
            bytes.extend(format!("event: {name}\n").bytes());
        }
        bytes.extend(format!("data: {data}\n\n").bytes());
    }
    bytes
}

/// One AWS message, written here by the book and not by the code under test.
fn aws_message(event: &str, payload: &[u8]) -> Vec<u8> {
    let kind = if event.ends_with("Exception") { ":exception-type" } else { ":event-type" };
    let mut headers = vec![u8::try_from(kind.len()).unwrap()];
    headers.extend(kind.bytes());
    headers.push(7);
    headers.extend(u16::try_from(event.len()).unwrap().to_be_bytes());
    headers.extend(event.bytes());
    let length = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes();
    let mut message = [length(16 + headers.len() + payload.len()), length(headers.len())].concat();
    message.extend(crc32(&message).to_be_bytes());
    message.extend(headers);
    message.extend(payload);
    message.extend(crc32(&message).to_be_bytes());
    message
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

pub(crate) fn events(protocol: Protocol, framing: Framing, bytes: &[u8]) -> Vec<Event> {
    let mut decoder = protocol.stream_decoder(framing);
    let mut events = decoder.push(bytes).unwrap();
    events.extend(decoder.finish().unwrap());
    events
}

pub(crate) fn assembled(events: &[Event]) -> Result<Response, Box<IncompleteStream>> {
    let mut assembler = Assembler::default();
    events.iter().cloned().for_each(|event| assembler.push(event));
    assembler.finish()
}

pub(crate) fn read_request(protocol: Protocol, case: &Case) -> Request {
    protocol.decode_request(case.body.clone()).unwrap().value
}

fn read_error(protocol: Protocol, case: &Case) -> WireError {
    let headers: Vec<(&str, &str)> =
        case.headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    protocol.decode_error(case.status, Headers(&headers), case.body.to_string().as_bytes())
}

#[test]
fn every_protocol_has_its_cases() {
    for protocol in Protocol::ALL {
        let count = cases(protocol).len();
        assert!(count >= LEAST, "{protocol}: {count} of {LEAST}");
    }
}

#[test]
fn bodies_are_read_as_they_should_be_and_again_as_they_were_written() {
    let surface = Surface::default();
    for protocol in Protocol::ALL {
        for (path, case) in cases(protocol) {
            let name = path.display();
            match case.kind {
                Kind::Request => {
                    let request = read_request(protocol, &case);
                    expect(&path, &case, &json!(request));
                    // What an envelope says outside of the body is said only inside of its envelope.
                    let envelope = request.extra.get(protocol).is_some_and(|extra| extra.contains_key("envelope"));
                    let surface = if envelope {
                        surface.clone().with_envelope(polywire_wire::Envelope::CodeAssist)
                    } else {
                        surface.clone()
                    };
                    let in_url =
                        request.extra.get(protocol).is_some_and(|extra| extra.contains_key("anthropic_version"));
                    let surface =
                        if in_url { surface.with_envelope(polywire_wire::Envelope::ModelInUrl) } else { surface };
                    let surface = if name.to_string().contains("request-media") {
                        surface.with(Quirk::MediaInResults)
                    } else {
                        surface
                    };
                    let again =
                        protocol.decode_request(protocol.encode_request(&request, &surface).value()).unwrap().value;
                    assert_eq!(again, request, "{name}");
                }
                Kind::Response => {
                    let response = protocol.decode_response(case.body.clone()).unwrap().value;
                    expect(&path, &case, &json!(response));
                    let envelope = response.extra.get(protocol).is_some_and(|extra| extra.contains_key("envelope"));
                    let surface = if envelope {
                        surface.clone().with_envelope(polywire_wire::Envelope::CodeAssist)
                    } else {
                        surface.clone()
                    };
                    let again =
                        protocol.decode_response(protocol.encode_response(&response, &surface).value()).unwrap().value;
                    assert_eq!(again, response, "{name}");
                }
                Kind::Stream => {
                    let framing = protocol.framing(&surface);
                    let bytes = stream_bytes(framing, &case.body);
                    let whole = events(protocol, framing, &bytes);
                    let response = assembled(&whole).unwrap_or_else(|cut| panic!("{name}: {cut}"));
                    expect(&path, &case, &json!(response));
                    if let Some(whole) = &case.whole {
                        assert_eq!(response, protocol.decode_response(whole.clone()).unwrap().value, "{name}");
                    }
                    let mut decoder = protocol.stream_decoder(framing);
                    let mut bytewise: Vec<Event> =
                        bytes.iter().flat_map(|byte| decoder.push(&[*byte]).unwrap()).collect();
                    bytewise.extend(decoder.finish().unwrap());
                    assert_eq!(bytewise, whole, "{name}: cut into bytes");
                }
                Kind::Cut => {
                    let framing = protocol.framing(&surface);
                    let cut = assembled(&events(protocol, framing, &stream_bytes(framing, &case.body))).unwrap_err();
                    let found = json!({"response": cut.response, "cut_calls": cut.cut_calls, "error": cut.error});
                    expect(&path, &case, &found);
                    assert!(cut.response.calls().next().is_none(), "{name}: a cut call looks complete");
                }
                Kind::Error => {
                    let error = read_error(protocol, &case);
                    expect(&path, &case, &json!(error));
                    assert_eq!(error.status, case.status, "{name}");
                }
            }
        }
    }
}

/// R-E4: all 20 pairs. What a request says in words reaches the other side, and the other side accepts the history.
#[test]
fn requests_translate_between_all_protocols() {
    for (from, to) in pairs() {
        for (path, case) in of_kind(from, Kind::Request) {
            let request = read_request(from, &case);
            let mut repaired = request.clone();
            let surface = Surface::default();
            let surface = if to == Protocol::OpenAiResponses { surface.with(Quirk::Stateless) } else { surface };
            to.repair_history(&mut repaired, &surface);
            let encoded = to.encode_request(&repaired, &surface);
            let body = encoded.value();
            let broken = broken_rules(to, &surface, &body);
            assert_eq!(broken, Vec::<String>::new(), "{from} to {to}: {}: {body:#}", path.display());
            let there = to.decode_request(body).unwrap().value;
            let said = json!(there).to_string();
            for call in request.messages.iter().flat_map(polywire_wire::Message::calls) {
                assert!(said.contains(&call.name), "{from} to {to}: {}: `{}` is lost", path.display(), call.name);
            }
            for text in request.system.iter().map(|text| &text.text).chain(texts(&request)) {
                let there = json!(text).to_string();
                assert!(said.contains(there.trim_matches('"')), "{from} to {to}: {}: {text:?} is lost", path.display());
            }
            if json!(there).get("extra") != json!(request).get("extra") {
                let told = !encoded.changes.is_empty();
                assert!(told, "{from} to {to}: {}: fields are lost in silence", path.display());
            }
        }
    }
}

/// All 20 pairs: what went wrong, how long to wait and in which words reach the other side.
#[test]
fn errors_translate_between_all_protocols() {
    for (from, to) in pairs() {
        for (path, case) in of_kind(from, Kind::Error) {
            let error = read_error(from, &case);
            let encoded = to.encode_error(&error, &Surface::default());
            let headers: Vec<_> = encoded.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let there = to.decode_error(encoded.status, Headers(&headers), &encoded.body);
            let told = |error: &WireError| {
                (error.kind.clone(), error.message.clone(), error.retry_after_ms, error.retryable(), error.status)
            };
            assert_eq!(told(&there), told(&error), "{from} to {to}: {}", path.display());
        }
    }
}

/// What the cases of every protocol must be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    ParallelCalls,
    Thinking,
    ImageInResult,
    Declined,
    Truncated,
    Error,
    Streamed,
    CutStream,
}

const SUBJECTS: [Subject; 8] = [
    Subject::ParallelCalls,
    Subject::Thinking,
    Subject::ImageInResult,
    Subject::Declined,
    Subject::Truncated,
    Subject::Error,
    Subject::Streamed,
    Subject::CutStream,
];

/// What a case is about, by what is read from it and not by its name.
fn subjects(protocol: Protocol, case: &Case) -> Vec<Subject> {
    let mut subjects = Vec::new();
    let mut see = |subject, seen: bool| subjects.extend(seen.then_some(subject));
    let thinks = |blocks: &[Block]| blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
    match case.kind {
        Kind::Request => {
            let request = read_request(protocol, case);
            let images = |block: &Block| {
                let content = block.as_result().map_or(&[][..], |result| &result.content);
                content.iter().any(|block| matches!(block, ResultBlock::Image(_)))
            };
            see(Subject::ParallelCalls, request.messages.iter().any(|message| message.calls().count() > 1));
            see(Subject::Thinking, request.messages.iter().any(|message| thinks(&message.content)));
            // Where a result takes no image, the image follows it in a user's turn.
            let follows = request.messages.windows(2).any(|pair| {
                let image = |message: &Message| message.content.iter().any(|block| matches!(block, Block::Image(_)));
                pair[0].role == Role::Tool && pair[1].role == Role::User && image(&pair[1])
            });
            let inside = request.messages.iter().flat_map(|message| &message.content).any(images);
            see(Subject::ImageInResult, inside || follows);
        }
        Kind::Response | Kind::Stream => {
            let response = if case.kind == Kind::Response {
                protocol.decode_response(case.body.clone()).unwrap().value
            } else {
                let framing = protocol.framing(&Surface::default());
                assembled(&events(protocol, framing, &stream_bytes(framing, &case.body))).unwrap()
            };
            see(Subject::Streamed, case.kind == Kind::Stream);
            see(Subject::ParallelCalls, response.calls().count() > 1);
            see(Subject::Thinking, thinks(&response.content));
            see(Subject::Declined, matches!(response.stop, StopReason::Refusal | StopReason::ContentFilter));
            see(Subject::Truncated, response.stop == StopReason::MaxTokens);
        }
        Kind::Cut => see(Subject::CutStream, true),
        Kind::Error => see(Subject::Error, true),
    }
    subjects
}

#[test]
fn the_cases_of_every_protocol_are_about_everything() {
    for protocol in Protocol::ALL {
        let seen: BTreeSet<Subject> = cases(protocol).iter().flat_map(|(_, case)| subjects(protocol, case)).collect();
        let missing: Vec<_> = SUBJECTS.iter().filter(|subject| !seen.contains(subject)).collect();
        assert!(missing.is_empty(), "{protocol}: no case about {missing:?}");
    }
}

fn texts(request: &Request) -> impl Iterator<Item = &String> {
    request
        .messages
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| if let polywire_wire::Block::Text(text) = block { Some(&text.text) } else { None })
}

/// R-E4: all 20 pairs, whole and streamed. Words, calls and the end reach the other side.
#[test]
fn answers_translate_between_all_protocols_whole_and_streamed() {
    let surface = Surface::default();
    for (from, to) in pairs() {
        let whole =
            of_kind(from, Kind::Response).map(|(path, case)| (path, from.decode_response(case.body).unwrap().value));
        let streamed = of_kind(from, Kind::Stream).map(|(path, case)| {
            let framing = from.framing(&surface);
            (path, assembled(&events(from, framing, &stream_bytes(framing, &case.body))).unwrap())
        });
        for (path, response) in whole.chain(streamed) {
            let there = to.decode_response(to.encode_response(&response, &surface).value()).unwrap().value;
            let mut encoder = to.stream_encoder(&surface);
            let bytes: Vec<u8> = events_of(&response, 2).iter().flat_map(|event| encoder.push(event)).collect();
            let stream = assembled(&events(to, to.framing(&surface), &bytes)).unwrap();
            for (how, there) in [("whole", &there), ("streamed", &stream)] {
                let name = format!("{from} to {to}: {}: {how}", path.display());
                let calls = |response: &Response| -> Vec<(String, String, Value)> {
                    response.calls().map(|call| (call.id.clone(), call.name.clone(), call.value().unwrap())).collect()
                };
                assert_eq!(calls(there), calls(&response), "{name}");
                assert!(there.text().starts_with(&response.text()), "{name}: {:?}", there.text());
                if response.refusal.is_some() {
                    let heard = there.refusal.clone().unwrap_or_else(|| there.text());
                    assert!(heard.contains(response.refusal.as_deref().unwrap()), "{name}: the refusal is lost");
                }
                let (told, usage) = (there.usage.as_ref(), response.usage.as_ref());
                assert_eq!(told.map(|one| one.output_tokens), usage.map(|one| one.output_tokens), "{name}");
            }
        }
    }
}

/// All 20 pairs: a stream that is translated event by event says what the assembled answer says.
#[test]
fn streams_translate_event_by_event_between_all_protocols() {
    let surface = Surface::default();
    for (from, to) in pairs() {
        for (path, case) in of_kind(from, Kind::Stream) {
            let framing = from.framing(&surface);
            let read = events(from, framing, &stream_bytes(framing, &case.body));
            let response = assembled(&read).unwrap();
            let mut encoder = to.stream_encoder(&surface);
            let bytes: Vec<u8> = read.iter().flat_map(|event| encoder.push(event)).collect();
            let there = assembled(&events(to, to.framing(&surface), &bytes)).unwrap();
            let name = format!("{from} to {to}: {}", path.display());
            let unsaid = json!(response).to_string().contains("\"extra\":");
            let words = [response.text(), response.refusal.unwrap_or_default()].concat();
            let heard = [there.text(), there.refusal.clone().unwrap_or_default()].concat();
            // Several texts may be said as one, a line each.
            assert_eq!(heard.replace('\n', ""), words.replace('\n', ""), "{name}");
            let calls = |blocks: &[Block]| -> Vec<Value> {
                blocks.iter().filter_map(Block::as_call).map(|call| call.value().unwrap()).collect()
            };
            assert_eq!(calls(&there.content), calls(&response.content), "{name}");
            let told = |change: &Change| change.code == "foreign-fields" && change.effect == Effect::Narrower;
            assert!(!unsaid || encoder.changes().iter().any(told), "{name}: {:?}", encoder.changes());
        }
    }
}

fn pairs() -> impl Iterator<Item = (Protocol, Protocol)> {
    let all = Protocol::ALL;
    all.into_iter().flat_map(move |from| all.into_iter().filter(move |to| *to != from).map(move |to| (from, to)))
}
