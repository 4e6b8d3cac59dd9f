//! Timestamps and ids for responses that come from another protocol. The caller supplies the time and the seed, so that output is
//! deterministic in tests.

use serde_json::json;

use crate::history::synthetic_call_id;
use crate::neutral::{Block, Event, Extra, Response, ToolCall};
use crate::protocol::Protocol;

/// The creation time of a response, and the seed of its generated ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    unix_seconds: u64,
    seed: String,
}

impl Stamp {
    /// Creates a stamp from a Unix time in seconds and a seed that is unique to the response.
    pub fn new(unix_seconds: u64, seed: impl Into<String>) -> Self {
        Self { unix_seconds, seed: seed.into() }
    }
}

/// Fields that a protocol requires and a response of another protocol may lack.
struct RequiredFields {
    protocol: Protocol,
    created: Option<&'static str>,
    id_prefix: Option<&'static str>,
    call_id_prefix: Option<&'static str>,
}

static REQUIRED_FIELDS: [RequiredFields; 5] = [
    RequiredFields {
        protocol: Protocol::OpenAiChat,
        created: Some("created"),
        id_prefix: Some("chatcmpl-"),
        call_id_prefix: Some("call_"),
    },
    RequiredFields {
        protocol: Protocol::OpenAiResponses,
        created: Some("created_at"),
        id_prefix: Some("resp_"),
        call_id_prefix: Some("call_"),
    },
    RequiredFields {
        protocol: Protocol::AnthropicMessages,
        created: None,
        id_prefix: Some("msg_"),
        call_id_prefix: Some("toolu_"),
    },
    RequiredFields { protocol: Protocol::Gemini, created: None, id_prefix: None, call_id_prefix: None },
    RequiredFields {
        protocol: Protocol::BedrockConverse,
        created: None,
        id_prefix: None,
        call_id_prefix: Some("tooluse_"),
    },
];

/// Adds the timestamp and ids that a protocol requires and a response lacks.
#[derive(Clone, Debug)]
pub struct Stamper {
    protocol: Protocol,
    stamp: Stamp,
    calls: usize,
}

impl Stamper {
    /// Creates a stamper for one response, whole or streamed.
    pub fn new(protocol: Protocol, stamp: Stamp) -> Self {
        Self { protocol, stamp, calls: 0 }
    }

    /// Stamps a whole response.
    pub fn response(&mut self, response: &mut Response) {
        self.start(&mut response.id, &mut response.extra);
        for block in &mut response.content {
            self.block(block);
        }
    }

    /// Stamps the next event.
    pub fn event(&mut self, event: &mut Event) {
        match event {
            Event::Start { id, extra, .. } => self.start(id, extra),
            Event::Open { block, .. } => self.block(block),
            Event::Delta { .. }
            | Event::Close { .. }
            | Event::Fields { .. }
            | Event::Refusal { .. }
            | Event::Stop { .. }
            | Event::Usage(_)
            | Event::End
            | Event::Error(_)
            | Event::Other { .. } => {}
        }
    }

    fn start(&self, id: &mut String, extra: &mut Extra) {
        let Some(required) = self.required_fields() else { return };
        if let Some(field) = required.created.filter(|field| extra.field(self.protocol, field).is_none()) {
            extra.insert(self.protocol, field, json!(self.stamp.unix_seconds));
        }
        if let Some(prefix) = required.id_prefix.filter(|_| id.is_empty()) {
            *id = format!("{prefix}{}", self.stamp.seed);
        }
    }

    fn block(&mut self, block: &mut Block) {
        let Block::ToolCall(ToolCall { id, .. }) = block else { return };
        let number = self.calls;
        self.calls += 1;
        // Ids that a decoder generated repeat in every response; a conversation needs unique ids.
        let is_missing = id.is_empty() || *id == synthetic_call_id(0, number);
        if let Some(prefix) = self.required_fields().and_then(|required| required.call_id_prefix).filter(|_| is_missing)
        {
            *id = format!("{prefix}{}_{number}", self.stamp.seed);
        }
    }

    fn required_fields(&self) -> Option<&'static RequiredFields> {
        REQUIRED_FIELDS.iter().find(|required| required.protocol == self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::{Stamp, Stamper};
    use crate::{Block, Extra, Protocol, Response, ToolCall};

    fn answer() -> Response {
        let calls = ["", "own", "call_0_2"].map(|id| Block::ToolCall(ToolCall::new(id, "f", "{}")));
        Response { content: calls.into(), ..Response::default() }
    }

    #[test]
    fn what_is_missing_is_stamped_and_what_is_there_stays() {
        let mut response = answer();
        Stamper::new(Protocol::OpenAiChat, Stamp::new(1_700_000_000, "s")).response(&mut response);
        assert_eq!(response.id, "chatcmpl-s");
        assert_eq!(response.extra.field(Protocol::OpenAiChat, "created"), Some(&1_700_000_000.into()));
        let ids: Vec<&str> = response.calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_s_0", "own", "call_s_2"]);
        let stamped = response.clone();
        Stamper::new(Protocol::OpenAiChat, Stamp::new(1, "other")).response(&mut response);
        assert_eq!(response, stamped);
    }

    #[test]
    fn a_protocol_without_required_fields_gets_nothing() {
        let mut response = answer();
        Stamper::new(Protocol::Gemini, Stamp::new(1, "s")).response(&mut response);
        assert_eq!((response.id.as_str(), response.extra), ("", Extra::default()));
    }
}
