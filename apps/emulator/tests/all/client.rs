//! The client as a caller sees it: own HTTP stacks, one call's choices, streams as `futures_core::Stream`, errors with sources.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_core::Stream;
use polywire::client::{
    Credential, CredentialFuture, Credentials, Environment, Transport, TransportError, TransportFuture, one_chunk,
};
use polywire::wire::{Delta, Event, Message, OutputFormat, Request};
use polywire::{AskErrorKind, AskOutcome, CallOptions, Client, ClientOptions, RawBytes, SendError, SigningKey};
use serde_json::json;

use super::script::{FIRST_EVENT, STREAM, Script, WORDS, answer, chat, say, soon};

/// Answers from memory, and keeps what was sent.
#[derive(Clone, Default)]
struct Double {
    sent: Arc<Mutex<Vec<http::Request<Bytes>>>>,
    body: &'static str,
}

impl Double {
    fn of(body: &'static str) -> Self {
        Self { body, ..Self::default() }
    }

    fn client(&self) -> Client {
        let builder = Client::builder().options(soon()).transport(self.clone()).environment(Environment::empty());
        builder.key("openai", "sk-very-secret").build().expect("a client")
    }

    fn header(&self, number: usize, name: &str) -> String {
        let sent = self.sent.lock().expect("a lock");
        let value = sent[number].headers().get(name).map(|value| value.to_str().expect("text").to_owned());
        value.unwrap_or_default()
    }

    fn body(&self, number: usize) -> serde_json::Value {
        serde_json::from_slice(self.sent.lock().expect("a lock")[number].body()).expect("JSON")
    }
}

impl Transport for Double {
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture {
        self.sent.lock().expect("a lock").push(request);
        let response = http::Response::new(one_chunk(self.body));
        Box::pin(async { Ok(response) })
    }
}

fn hello() -> Request {
    Request::new("", vec![Message::user("Hello")])
}

#[tokio::test]
async fn a_transport_replaces_the_http_stack() {
    let double = Double::of(WORDS);
    let done = double.client().complete(&hello(), &chat()).await.expect("words");
    assert_eq!((done.response.text().as_str(), done.raw), ("Hello", None));
    assert_eq!(done.cost.usd(), None, "the answer says nothing of tokens");
    assert_eq!(double.header(0, "authorization"), "Bearer sk-very-secret");
    let sent = double.sent.lock().expect("a lock");
    assert_eq!(
        (sent[0].method().as_str(), sent[0].uri().to_string().as_str()),
        ("POST", "https://api.openai.com/v1/chat/completions")
    );
}

/// The choices of one call reach the wire, and the next call is without them.
#[tokio::test]
async fn a_call_has_its_own_key_headers_and_limits() {
    let double = Double::of(WORDS);
    let client = double.client();
    let options = CallOptions::new()
        .with_key("openai", "sk-of-the-call")
        .with_key("anthropic", "sk-of-another")
        .with_header("x-tenant", "seven")
        .with_header_for("anthropic", "x-other", "no")
        .with_trace_parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .with_temperature(0.25)
        .with_max_tokens(77);
    let shown = format!("{options:?}");
    assert!(!shown.contains("sk-of"), "{shown}");
    client.call(options).complete(&hello(), &chat()).await.expect("words");
    client.complete(&hello(), &chat()).await.expect("words");
    let names = ["authorization", "x-tenant", "x-other", "traceparent"];
    assert_eq!(
        names.map(|name| double.header(0, name)),
        ["Bearer sk-of-the-call", "seven", "", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]
    );
    assert_eq!(names.map(|name| double.header(1, name)), ["Bearer sk-very-secret", "", "", ""]);
    let body = double.body(0);
    assert_eq!((&body["temperature"], &body["max_completion_tokens"]), (&json!(0.25), &json!(77)), "{body}");
    assert!(double.body(1).get("temperature").is_none());
}

#[tokio::test]
async fn a_call_has_its_own_deadline_and_a_trace_parent_is_checked() {
    let script = Script::start(|stream, _| async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        drop(stream);
    })
    .await;
    let client = script.client(soon());
    let began = Instant::now();
    let call = client.call(CallOptions::new().with_deadline(Duration::from_millis(80)));
    let error = call.complete(&hello(), &chat()).await.expect_err("too slow");
    assert_eq!(error, SendError::Deadline(Duration::from_millis(80)));
    assert!(began.elapsed() < Duration::from_secs(2));
    let zeros = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
    for bad in ["", "00-xyz", zeros, "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"] {
        let error = client.call(CallOptions::new().with_trace_parent(bad)).complete(&hello(), &chat()).await;
        assert!(matches!(error, Err(SendError::Address(_))), "{bad}");
    }
}

async fn items<S: Stream + Unpin>(mut stream: S) -> Vec<S::Item> {
    let mut items = Vec::new();
    while let Some(item) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        items.push(item);
    }
    items
}

/// Events are items, the error is the last one, and a poll that is given up loses nothing.
#[tokio::test]
async fn completions_are_streams_of_results() {
    let script = Script::start(|mut stream, _| async move {
        say(&mut stream, STREAM).await;
        say(&mut stream, FIRST_EVENT).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        say(&mut stream, &FIRST_EVENT.replace("Hel", "lo")).await;
    })
    .await;
    let mut stream = script.client(soon()).stream(&hello(), &chat());
    let mut events = Vec::new();
    loop {
        match tokio::time::timeout(Duration::from_millis(7), stream.next()).await {
            Ok(Some(item)) => events.push(item),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    let text = |item: &Result<Event, SendError>| match item {
        Ok(Event::Delta { delta: Delta::Text(text), .. }) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(text).collect::<String>(), "Hello");
    assert!(matches!(events.last(), Some(Err(SendError::Cut(_)))), "{:?}", events.last());
    let again = items(script.client(soon()).stream(&hello(), &chat())).await;
    assert_eq!(again, events, "the trait gives the same");
    assert!(matches!(stream.finish().await, Err(SendError::Cut(_))));
}

/// The bytes of an answer are kept only on request, in streams too.
#[tokio::test]
async fn raw_bytes_are_kept_on_request() {
    let script = Script::start(|mut stream, _| async move {
        say(&mut stream, STREAM).await;
        say(&mut stream, &FIRST_EVENT.replace("null}]", "\"stop\"}]")).await;
        say(&mut stream, "data: [DONE]\n\n").await;
    })
    .await;
    for (raw_bytes, kept) in [(RawBytes::Discard, false), (RawBytes::Keep, true)] {
        let client = script.client(soon().with_raw_bytes(raw_bytes));
        let done = client.stream(&hello(), &chat()).finish().await.expect("words");
        assert_eq!(done.raw.is_some_and(|raw| raw.contains("[DONE]")), kept);
    }
}

/// The environment is a value: nothing else is looked up.
#[tokio::test]
async fn the_environment_is_what_the_builder_says() {
    let double = Double::of(WORDS);
    let environment = Environment::from_iter([("OPENAI_API_KEY", " sk-from-outside \n")]);
    let client = |environment| Client::builder().transport(double.clone()).environment(environment).build();
    client(environment).expect("a client").complete(&hello(), &chat()).await.expect("words");
    assert_eq!(double.header(0, "authorization"), "Bearer sk-from-outside");
    let error = client(Environment::empty()).expect("a client").complete(&hello(), &chat()).await;
    assert!(matches!(error, Err(SendError::MissingKey { .. })), "{error:?}");
}

/// A transport that fails, with a key in what it says.
struct Broken(&'static str);

impl Transport for Broken {
    fn send(&self, _: http::Request<Bytes>) -> TransportFuture {
        let error = TransportError::new(std::io::Error::other(self.0));
        Box::pin(async { Err(error) })
    }
}

#[tokio::test]
async fn errors_have_sources_but_never_keys() {
    for (says, has_cause) in [("the cable is cut", true), ("refused: sk-very-secret", false)] {
        let builder = Client::builder().options(ClientOptions::default().with_retries(0)).transport(Broken(says));
        let client = builder.key("openai", "sk-very-secret").build().expect("a client");
        let error = client.complete(&hello(), &chat()).await.expect_err("no cable");
        let source = error.source().expect("a source");
        assert!(source.is::<TransportError>());
        assert_eq!(source.source().is_some(), has_cause, "{error}");
        assert!(!format!("{error} {error:?}").contains("very-secret"), "{error:?}");
    }
}

/// Credentials are fetched anew for every request.
#[tokio::test]
async fn credentials_are_fetched() {
    struct Passing(Mutex<usize>);
    impl Credentials for Passing {
        fn credential(&self) -> CredentialFuture {
            let mut count = self.0.lock().expect("a lock");
            *count += 1;
            let given = match *count {
                1 => Ok(Credential::Bearer("token-one".into())),
                2 => Ok(Credential::Signing(SigningKey::new("AKID", "very-secret".into(), "eu-west-1"))),
                _ => Err(TransportError::new("signed out")),
            };
            Box::pin(async { given })
        }
    }
    let double = Double::of(WORDS);
    let client = Client::builder().options(soon().with_retries(0)).transport(double.clone());
    let client = client.credentials("openai", Passing(Mutex::default())).build().expect("a client");
    client.complete(&hello(), &chat()).await.expect("words");
    client.complete(&hello(), &chat()).await.expect("words");
    let error = client.complete(&hello(), &chat()).await.expect_err("signed out");
    assert_eq!(double.header(0, "authorization"), "Bearer token-one");
    assert!(double.header(1, "authorization").starts_with("AWS4-HMAC-SHA256 Credential=AKID/"));
    assert_eq!(error.to_string(), "no credentials for openai: signed out");
}

/// Calls of tools are an outcome where they are asked for, and an error with the answer elsewhere.
#[tokio::test]
async fn tool_calls_are_an_outcome() {
    let body = r#"{"id":"x","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let client = Double::of(body).client();
    let format = || OutputFormat::strict("x", json!({"type": "object"})).expect("a format");
    match client.ask_or_call(hello(), format(), &chat()).await.expect("calls") {
        AskOutcome::ToolCalls(calls) => {
            assert_eq!(calls.response.calls().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["look"]);
            assert_eq!(calls.attempts.len(), 1);
        }
        other => panic!("{other:?}"),
    }
    let error = client.ask_format(hello(), format(), &chat()).await.expect_err("no value");
    assert!(matches!(error.kind, AskErrorKind::UnexpectedToolCalls(_)), "{error}");
}

/// Answers carry what they cost, by the price of the model.
#[tokio::test]
async fn answers_carry_their_cost() {
    let body = r#"{"id":"x","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}"#;
    let client = Double::of(body).client();
    let done = client.complete(&hello(), &chat()).await.expect("words");
    assert_eq!(done.cost, polywire::Cost::Known { usd: 0.0035 });
    let asked = client.ask_value(hello(), &json!({"type": "object"}), &chat()).await.expect("a value");
    assert_eq!(asked.cost(), done.cost);
}

#[tokio::test]
async fn an_own_reqwest_client_is_used() {
    let script = Script::start(|mut stream, _| async move {
        say(&mut stream, &answer("200 OK", "content-type: application/json\r\n", WORDS)).await;
    })
    .await;
    // A client of polywire's installs the cryptography that `reqwest` needs here.
    drop(Client::new());
    let http = reqwest::Client::builder().user_agent("mine/1").no_proxy().build().expect("a client");
    let client = Client::builder().http(http).base_url("openai", &script.url).key("openai", "sk-very-secret");
    client.build().expect("a client").complete(&hello(), &chat()).await.expect("words");
    assert!(script.request(0).contains("user-agent: mine/1"), "{}", script.request(0));
}
