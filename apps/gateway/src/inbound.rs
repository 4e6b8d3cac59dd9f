//! What a request says beside its content: model, stream, stored conversation, wishes in headers.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use polywire::catalog::ServeOnLoss;
use polywire::wire::Protocol;
use polywire::{Action, Change, Effect, Kind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::endpoint::Generate;
use crate::telemetry::parse_trace_parent;

pub(crate) const ON_LOSS_HEADER: &str = "x-polywire-on-loss";
pub(crate) const REPORT_HEADER: &str = "x-polywire-report";

/// Headers of callers that are passed on to a provider of the same protocol.
const PASSED_HEADERS: [(Protocol, &str); 3] = [
    (Protocol::AnthropicMessages, "anthropic-beta"),
    (Protocol::OpenAiResponses, "openai-beta"),
    (Protocol::OpenAiChat, "openai-beta"),
];

/// Bytes of the first messages by which a conversation is recognized.
const CONVERSATION_BYTES: usize = 2_048;

/// A request for an answer of a model.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    pub(crate) generate: Generate,
    /// The model in the request.
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) body: Bytes,
    /// The beginning of the conversation.
    pub(crate) conversation: Bytes,
    pub(crate) previous_response: Option<String>,
    pub(crate) thread: Thread,
    pub(crate) storage: Storage,
    pub(crate) on_loss: Option<ServeOnLoss>,
    pub(crate) report: ReportPlace,
    /// Headers that may be passed on.
    headers: Vec<(Protocol, HeaderName, HeaderValue)>,
    pub(crate) trace_parent: Option<HeaderValue>,
}

/// Whether the provider is to keep the conversation, as in `thread` of Anthropic Messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    AtProvider,
    None,
}

/// Whether a response may be referred to later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Stored,
    NotStored,
}

/// Where the caller wants the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportPlace {
    /// Counts in a header, everything at `/requests/{id}`.
    Header,
    /// In the answer too.
    Body,
}

/// The members of a body that decide where it goes.
#[derive(Deserialize)]
struct Head<'b> {
    #[serde(borrow, default)]
    model: Option<Cow<'b, str>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(borrow, default)]
    previous_response_id: Option<Cow<'b, str>>,
    #[serde(borrow, default)]
    thread: Option<&'b RawValue>,
    #[serde(borrow, default, alias = "input", alias = "contents")]
    messages: Option<&'b RawValue>,
}

impl Inbound {
    /// Reads what decides where a body goes. The error is a message for the caller.
    pub(crate) fn read(generate: Generate, headers: &HeaderMap, body: &Bytes) -> Result<Self, String> {
        let head: Head<'_> = serde_json::from_slice(body).map_err(|error| format!("the body is invalid: {error}"))?;
        let named = generate.model.clone().or_else(|| head.model.map(Cow::into_owned)).unwrap_or_default();
        let model = named.strip_prefix("models/").unwrap_or(&named).to_owned();
        let conversation = head.messages.map(|messages| messages.get().as_bytes()).unwrap_or_default();
        let conversation = body.slice_ref(conversation.get(..CONVERSATION_BYTES).unwrap_or(conversation));
        let stream = generate.stream.unwrap_or(head.stream == Some(true));
        let previous_response = head.previous_response_id.map(Cow::into_owned).filter(|id| !id.is_empty());
        let is_thread = generate.protocol == Protocol::AnthropicMessages && head.thread.is_some();
        let thread = if is_thread { Thread::AtProvider } else { Thread::None };
        let storage = match (generate.protocol, head.store) {
            (Protocol::OpenAiResponses, None | Some(true)) => Storage::Stored,
            _ => Storage::NotStored,
        };
        let on_loss = match header(headers, ON_LOSS_HEADER) {
            None => None,
            Some("error") => Some(ServeOnLoss::Error),
            Some("record") => Some(ServeOnLoss::Record),
            Some(_) => return Err(format!("the header `{ON_LOSS_HEADER}` must be `error` or `record`")),
        };
        let report = match header(headers, REPORT_HEADER) {
            None | Some("header") => ReportPlace::Header,
            Some("body") => ReportPlace::Body,
            Some(_) => return Err(format!("the header `{REPORT_HEADER}` must be `body` or `header`")),
        };
        let passed = PASSED_HEADERS.iter().flat_map(|(protocol, name)| {
            let values = headers.get_all(*name).iter().cloned();
            values.map(|value| (*protocol, HeaderName::from_static(name), value))
        });
        let headers_of_caller = passed.filter(|(protocol, ..)| *protocol == generate.protocol).collect();
        let is_valid = |value: &&HeaderValue| value.to_str().is_ok_and(|text| parse_trace_parent(text).is_some());
        let trace_parent = headers.get("traceparent").filter(is_valid).cloned();
        Ok(Self {
            generate,
            model,
            stream,
            body: body.clone(),
            conversation,
            previous_response,
            thread,
            storage,
            on_loss,
            report,
            headers: headers_of_caller,
            trace_parent,
        })
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.generate.protocol
    }

    /// The headers for a provider of a protocol, and a change for every one that has no meaning there.
    pub(crate) fn headers_for(&self, protocol: Protocol) -> (HeaderMap, Vec<Change>) {
        let mut passed = HeaderMap::new();
        let mut changes = Vec::new();
        for (own, name, value) in &self.headers {
            if *own == protocol {
                let joined = match passed.get(name) {
                    Some(before) => {
                        HeaderValue::from_bytes(&[HeaderValue::as_bytes(before), b",", value.as_bytes()].concat())
                    }
                    None => Ok(value.clone()),
                };
                // Two valid values with a comma between them are a valid value.
                if let Ok(joined) = joined {
                    passed.insert(name.clone(), joined);
                }
            } else {
                let detail = format!("header `{name}` dropped: {} has no such header", protocol.title());
                let what = (Action::Dropped, Effect::Note);
                changes.push(Change::new("header", "/headers", what, detail).with_kind(Kind::Parameters));
            }
        }
        if let Some(trace_parent) = &self.trace_parent {
            passed.insert("traceparent", trace_parent.clone());
        }
        (passed, changes)
    }
}

/// The value of a header as text.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}
