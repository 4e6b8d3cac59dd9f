//! Keys in texts, values, errors and events, in every encoding and however they are cut.

use polywire_wire::{Delta, Event, FaultKind, Response, Source, WireError};

use super::{HIDDEN, Mask, MaskResult};
use crate::client::mask_events::EventMask;
use crate::client::{SendError, TransportError};

const KEY: &str = "sk-very/secret+0123456789\"";

fn mask(key: &str) -> Mask {
    let mut mask = Mask::default();
    mask.add_secret(key, "x-api-key", "");
    mask.add_secret(key, "authorization", "Bearer ");
    mask
}

fn base64(text: &str) -> String {
    let Source::Base64 { data, .. } = Source::bytes("text/plain", text.as_bytes()) else { panic!("no base64") };
    data
}

#[test]
fn keys_are_hidden_in_every_usual_encoding() {
    let mask = mask(KEY);
    let json = serde_json::to_string(KEY).expect("JSON");
    let echoes = [
        format!("you sent {KEY}, twice {KEY}"),
        format!("{{\"authorization\": {json}}}"),
        json.replace('/', "\\/"),
        "?key=sk-very%2Fsecret%2B0123456789%22".to_owned(),
        "?key=sk-very%2fsecret%2b0123456789%22".to_owned(),
        base64(KEY),
        base64(&format!("a{KEY}b")),
        base64(&format!("Bearer {KEY}")),
        base64(&format!("user:{KEY}")).replace('/', "_").replace('+', "-"),
    ];
    for echo in echoes {
        let hidden = mask.text(&echo);
        assert!(hidden.contains(HIDDEN), "{echo}: {hidden}");
        for part in ["very", "secret", "0123456789", "c2VjcmV0", "MDEyMzQ1Njc4"] {
            assert!(!hidden.contains(part), "{echo}: {hidden}");
        }
        assert_eq!(mask.bytes(echo.as_bytes()), hidden.as_bytes());
    }
    assert_eq!(mask.text("nothing to hide"), "nothing to hide");
}

#[test]
fn short_keys_do_not_hide_everyday_words() {
    let mask = mask("ollama");
    assert_eq!(mask.text("ollama runs llamas; Bearer ollamas"), "ollama runs llamas; Bearer ollamas");
    assert_eq!(mask.text("x-api-key: ollama, Bearer ollama."), "[hidden], [hidden].");
    assert_eq!(mask.text(r#"{"x-api-key":"ollama"}"#), r#"{"[hidden]"}"#);
    assert_eq!(Mask::default().text("x"), "x");
}

#[test]
fn keys_are_hidden_in_values_and_errors() {
    let mask = mask(KEY);
    let mut error = WireError::new(FaultKind::Authentication, format!("bad key {KEY}"));
    error.details = Some(serde_json::json!({ "headers": { KEY: [KEY] } }));
    error.request_id = Some(KEY.to_owned());
    let errors = [
        SendError::Provider(Box::new(error)),
        SendError::Connection(TransportError::new(KEY)),
        SendError::Address(KEY.to_owned()),
        SendError::Unreadable { content_type: KEY.to_owned(), why: KEY.to_owned() },
        SendError::Cut(Box::new(Response { id: KEY.to_owned(), ..Response::default() })),
    ];
    for error in errors {
        let hidden = format!("{:?}", mask.error(error));
        assert!(hidden.contains(HIDDEN) && !hidden.contains("secret"), "{hidden}");
    }
    let (value, found) = mask.value(vec![1, 2]).expect("a value");
    assert_eq!((value, found), (vec![1, 2], MaskResult::Unchanged));
}

fn text(index: usize, text: &str) -> Event {
    Event::Delta { index, delta: Delta::Text(text.to_owned()) }
}

fn joined(events: &[Event]) -> String {
    let text = |event: &Event| {
        if let Event::Delta { delta: Delta::Text(text), .. } = event { Some(text.clone()) } else { None }
    };
    events.iter().filter_map(text).collect()
}

/// However a key is cut between two or more events, it is hidden, and everything else arrives.
#[test]
fn keys_cut_between_events_are_hidden() {
    let said = format!("A {KEY} and s and sk- the end s");
    let cuts = said.char_indices().map(|(at, _)| at);
    for cut in cuts {
        let (one, two) = said.split_at(cut);
        let (two, three) = two.split_at(two.len() / 2);
        let mut events = EventMask::new(mask(KEY));
        let mut out = events.push(vec![text(0, one)]);
        out.extend(events.push(vec![text(1, "sk-very"), text(0, two)]));
        out.extend(events.push(vec![text(0, three), Event::Close { index: 0 }]));
        assert_eq!(events.found, MaskResult::Masked, "{cut}");
        assert!(matches!(out.last(), Some(Event::Close { .. })));
        out.retain(|event| !matches!(event, Event::Delta { index: 1, .. }));
        assert_eq!(joined(&out), "A [hidden] and s and sk- the end s", "{cut}");
        assert_eq!(events.finish(), [text(1, "sk-very")], "what is no key in the end is given");
    }
}

#[test]
fn events_without_keys_are_as_they_were() {
    let events = vec![text(0, ""), text(0, "Hello"), Event::Close { index: 0 }, Event::End];
    let mut masked = EventMask::new(mask(KEY));
    assert_eq!(masked.push(events.clone()), events);
    assert_eq!((masked.found, masked.finish()), (MaskResult::Unchanged, vec![]));
}
