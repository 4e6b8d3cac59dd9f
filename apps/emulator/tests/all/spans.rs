//! What spans tell: the names of OpenTelemetry's conventions, figures, and content only where it is asked for.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, ThreadId};

use polywire::wire::{Message, Request};
use polywire::{Client, ClientOptions, Secret, SpanContent};
use polywire_emulator::Emulator;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as Values};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// The fields of a span, and the thread that made it.
type Kept = (Option<ThreadId>, Fields);

/// Keeps the fields of all spans and events, with the thread that they are of: each test has its own. There is one keeper for
/// the process, since whether a span is wanted is remembered for all threads.
#[derive(Clone, Default)]
struct Keeper {
    spans: Arc<Mutex<BTreeMap<u64, Kept>>>,
    events: Arc<Mutex<Vec<(ThreadId, Fields)>>>,
    next: Arc<AtomicU64>,
}

static KEEPER: LazyLock<Keeper> = LazyLock::new(|| {
    let keeper = Keeper::default();
    tracing::subscriber::set_global_default(keeper.clone()).expect("no other subscriber");
    keeper
});

struct Collect<'f>(&'f mut Fields);

impl Visit for Collect<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target().starts_with("polywire")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fields = Fields::new();
        span.record(&mut Collect(&mut fields));
        self.spans.lock().expect("a lock").insert(id, (Some(thread::current().id()), fields));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Values<'_>) {
        let mut spans = self.spans.lock().expect("a lock");
        values.record(&mut Collect(&mut spans.entry(span.into_u64()).or_default().1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Collect(&mut fields));
        self.events.lock().expect("a lock").push((thread::current().id(), fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The spans of one request, and everything that was told.
async fn told(name: &str, trouble: &str, record: SpanContent) -> (Vec<Fields>, String) {
    let keeper = &*KEEPER;
    let emulator = Emulator::start(0).await.expect("a port");
    let model = super::model(name);
    let provider = model.provider();
    let options = ClientOptions::default().with_retries(1).with_record(record);
    let client = Client::with_options(options).expect("a client");
    let client = client.with_base_url(&provider.id, &emulator.base_url(provider));
    let client = client.with_key(&provider.id, Secret::new("sk-very-secret"));
    let client = client.with_header(polywire_emulator::EMULATE_HEADER, trouble);
    let mut request = Request::new("", vec![Message::user("the words of the user")]);
    request.max_tokens = Some(99);
    // What comes of it is not what this is about.
    let _ = client.complete(&request, &model).await;
    let here = thread::current().id();
    let spans = keeper.spans.lock().expect("a lock");
    let spans: Vec<Fields> =
        spans.values().filter(|(thread, _)| *thread == Some(here)).map(|(_, fields)| fields.clone()).collect();
    let events = keeper.events.lock().expect("a lock");
    let events: Vec<&Fields> = events.iter().filter(|(thread, _)| *thread == here).map(|(_, fields)| fields).collect();
    let all = format!("{spans:?} {events:?}");
    (spans, all)
}

#[tokio::test]
async fn spans_have_the_names_of_the_conventions() {
    let (spans, all) = told("bedrock:converse/anthropic.claude-sonnet-4-5", "429-1", SpanContent::Metadata).await;
    let [span] = spans.as_slice() else { panic!("{spans:?}") };
    let expected = [
        ("otel.name", "chat anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("otel.kind", "client"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "aws.bedrock"),
        ("gen_ai.request.model", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("gen_ai.request.max_tokens", "99"),
        ("gen_ai.output.type", "text"),
        ("gen_ai.response.finish_reasons", "[\"end_turn\"]"),
        ("server.address", "127.0.0.1"),
        ("http.response.status_code", "200"),
        ("polywire.retries", "1"),
    ];
    for (name, value) in expected {
        assert_eq!(span.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(span["gen_ai.usage.input_tokens"].parse::<u64>().is_ok_and(|count| count > 0));
    assert!(span["gen_ai.usage.output_tokens"].parse::<u64>().is_ok_and(|count| count > 0));
    assert!(!all.contains("words of the user") && !all.contains("very-secret"), "{all}");
}

#[tokio::test]
async fn what_was_said_is_told_on_request() {
    let (spans, all) = told("openai:chat/gpt-4o", "", SpanContent::Full).await;
    assert!(spans[0]["gen_ai.input.messages"].contains("the words of the user"));
    assert!(spans[0]["gen_ai.output.messages"].contains("text"));
    assert_eq!(spans[0]["gen_ai.provider.name"], "openai");
    assert!(!all.contains("very-secret"), "{all}");
}

#[tokio::test]
async fn errors_have_a_type() {
    let (spans, all) = told("anthropic/claude-sonnet-4-5", "401", SpanContent::Metadata).await;
    assert_eq!(spans[0]["error.type"], "authentication");
    assert_eq!(spans[0]["otel.status_code"], "ERROR");
    assert!(!all.contains("words of the user") && !all.contains("very-secret"), "{all}");
}
