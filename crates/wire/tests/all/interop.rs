//! What the official SDKs found in our bodies (`cargo xtask ci interop`), kept here for machines that do not have them.

use polywire_wire::{
    Block, Event, FaultKind, Framing, Image, Message, Protocol, Quirk, Request, Response, Role, Source, Surface,
    WireError, events_of,
};
use serde_json::{Value, json};

fn request(protocol: Protocol, body: Value) -> (Value, Vec<String>) {
    let request = protocol.decode_request(body).unwrap().value;
    let encoded = protocol.encode_request(&request, &Surface::default());
    (encoded.value(), encoded.changes.iter().map(|change| change.code.to_string()).collect())
}

fn stream(protocol: Protocol, response: &Response) -> String {
    let mut encoder = protocol.stream_encoder(&Surface::default());
    let bytes = events_of(response, 9).iter().flat_map(|event| encoder.push(event)).collect();
    String::from_utf8(bytes).unwrap()
}

/// Parts of an assistant's message belong to a message with an id; a text alone does not need one.
#[test]
fn a_text_that_was_said_needs_no_id() {
    let messages = vec![
        Message::new(Role::User, vec![Block::text("2+2?"), image(None)]),
        Message::new(Role::Assistant, vec![Block::text("4"), Block::text("!")]),
    ];
    let request = Request { messages, ..Request::default() };
    let surface = Surface::default().with(Quirk::Stateless);
    let body = Protocol::OpenAiResponses.encode_request(&request, &surface).value();
    assert_eq!(body["input"][0]["content"][1]["detail"], "auto", "the field is required");
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    assert_eq!(body["input"].as_array().unwrap()[1..], [said("4"), said("!")]);
    assert_eq!(Protocol::OpenAiResponses.decode_request(body).unwrap().value.messages, request.messages);
}

fn image(detail: Option<&str>) -> Block {
    let (source, detail) = (Source::base64("image/png", "AAAA"), detail.map(str::to_owned));
    Block::Image(Image { source, detail, ..Image::default() })
}

#[test]
fn fields_of_an_envelope_stay_in_it() {
    let messages = json!([{"role": "user", "content": "hi"}]);
    let vertex = json!({"anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "messages": messages});
    let (body, changes) = request(Protocol::AnthropicMessages, vertex);
    assert_eq!((body.get("anthropic_version"), changes), (None, vec!["no-envelope".to_owned()]));
    let contents = json!([{"role": "user", "parts": [{"text": "hi"}]}]);
    let (body, changes) = request(Protocol::Gemini, json!({"request": {"contents": contents, "session_id": "s"}}));
    assert_eq!((body.get("session_id"), changes), (None, vec!["no-envelope".to_owned()]));
}

/// Clients choose what they raise by the protocol's own word.
#[test]
fn an_error_has_the_word_of_its_protocol() {
    let rate = WireError { code: Some("tokens_per_min".to_owned()), ..WireError::new(FaultKind::RateLimit, "slow") };
    let long = WireError::new(FaultKind::ContextLength, "much");
    let own = WireError { code: Some("ModelErrorException".to_owned()), ..WireError::new(FaultKind::Server, "oh") };
    for (error, exception) in
        [(&rate, "ThrottlingException"), (&long, "ValidationException"), (&own, "ModelErrorException")]
    {
        let whole = Protocol::BedrockConverse.encode_error(error, &Surface::default());
        assert_eq!(whole.headers.first(), Some(&("x-amzn-errortype", exception.to_owned())));
        let mut encoder = Protocol::BedrockConverse.stream_encoder(&Surface::default());
        let bytes = encoder.push(&Event::Error(error.clone()));
        let events = Protocol::BedrockConverse.stream_decoder(Framing::Aws).push(&bytes).unwrap();
        let Some(Event::Error(read)) = events.first() else { panic!("{events:?}") };
        assert_eq!((&read.kind, &read.code), (&error.kind, &error.code));
    }
    let body = Protocol::Gemini.encode_error(&rate, &Surface::default()).body;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["error"]["status"], "RESOURCE_EXHAUSTED");
}

#[test]
fn pieces_have_what_clients_read() {
    let response = Response { content: vec![Block::text("Hello")], ..Response::default() };
    assert!(stream(Protocol::OpenAiResponses, &response).contains(r#""logprobs":[]"#));
    assert!(!stream(Protocol::OpenAiChat, &response).contains(r#""id":"""#));
}
