//! AWS event stream messages: a prelude with lengths and a checksum, headers, a payload, a checksum.
//!
//! <https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html>, read 2026-11.

use serde::Serialize;

use super::{Frame, Sink, broken, too_long};
use crate::error::DecodeError;

/// Prelude (total length, length of headers, checksum) and the last checksum.
const OVERHEAD: usize = 16;
const PRELUDE: usize = 12;

/// Splits a stream into messages. The event name of a frame is the event type or exception type.
#[derive(Debug, Default)]
pub(super) struct AwsFramer {
    rest: Vec<u8>,
}

impl AwsFramer {
    pub(super) fn push(&mut self, mut bytes: &[u8], longest: usize, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        // Messages that arrive whole are parsed without copying.
        if self.rest.is_empty() {
            while let Some(length) = message_length(bytes, longest)? {
                let Some((message, after)) = bytes.split_at_checked(length) else { break };
                dispatch(message, sink)?;
                bytes = after;
            }
            self.rest.extend_from_slice(bytes);
            return Ok(());
        }
        while !bytes.is_empty() {
            let wanted = message_length(&self.rest, longest)?.unwrap_or(PRELUDE);
            let missing = wanted.saturating_sub(self.rest.len()).min(bytes.len());
            let (taken, after) = bytes.split_at(missing);
            self.rest.extend_from_slice(taken);
            bytes = after;
            if message_length(&self.rest, longest)? == Some(self.rest.len()) {
                let message = std::mem::take(&mut self.rest);
                dispatch(&message, sink)?;
                return self.push(bytes, longest, sink);
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(broken("the stream ends inside a message")) }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|four| u32::from_be_bytes(*four))
}

/// The length of the message at the start of `bytes`, once its prelude is complete.
fn message_length(bytes: &[u8], longest: usize) -> Result<Option<usize>, DecodeError> {
    let Some(prelude) = bytes.get(..PRELUDE) else { return Ok(None) };
    let numbers = (u32_at(prelude, 0), prelude.get(..8).map(crc32fast::hash), u32_at(prelude, 8));
    let (Some(total), Some(computed), Some(expected)) = numbers else { return Ok(None) };
    if computed != expected {
        return Err(broken("the checksum of a message prelude does not match"));
    }
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    if total < OVERHEAD {
        return Err(broken("the length of a message is smaller than its frame"));
    }
    if total > longest { Err(too_long(longest)) } else { Ok(Some(total)) }
}

fn dispatch(message: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
    let (checked, expected) = message.split_at(message.len().saturating_sub(4));
    if u32_at(expected, 0) != Some(crc32fast::hash(checked)) {
        return Err(broken("the checksum of a message does not match"));
    }
    let length = u32_at(checked, 4).and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
    let body = checked.get(PRELUDE..).and_then(|body| body.split_at_checked(length));
    let Some((headers, data)) = body else { return Err(broken("the headers are longer than their message")) };
    let event = event_name(headers)?;
    sink(Frame { event, data })
}

/// The value of `:event-type` or `:exception-type` among the headers.
fn event_name(mut headers: &[u8]) -> Result<&str, DecodeError> {
    let short = || broken("a message header is truncated");
    let mut found = "";
    while let Some((&length, rest)) = headers.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(length)).ok_or_else(short)?;
        let (&kind, rest) = rest.split_first().ok_or_else(short)?;
        let (skip, size) = match kind {
            0 | 1 => (0, 0),
            2 => (0, 1),
            3 => (0, 2),
            4 => (0, 4),
            5 | 8 => (0, 8),
            9 => (0, 16),
            6 | 7 => {
                let two = rest.first_chunk::<2>().ok_or_else(short)?;
                (2, usize::from(u16::from_be_bytes(*two)))
            }
            _ => return Err(broken("a message header has an unknown type")),
        };
        let (value, rest) = rest.get(skip..).and_then(|rest| rest.split_at_checked(size)).ok_or_else(short)?;
        if matches!(name, b":event-type" | b":exception-type" | b":error-code") {
            found = std::str::from_utf8(value).map_err(|_| broken("the event type is not valid UTF-8"))?;
        }
        headers = rest;
    }
    Ok(found)
}

/// Writes a JSON event.
pub(crate) fn encode_event(name: &str, payload: &impl Serialize, out: &mut Vec<u8>) {
    encode_message((":event-type", name), "event", payload, out);
}

/// Writes a JSON exception.
pub(crate) fn encode_exception(name: &str, payload: &impl Serialize, out: &mut Vec<u8>) {
    encode_message((":exception-type", name), "exception", payload, out);
}

fn encode_message(name: (&str, &str), message_type: &str, payload: &impl Serialize, out: &mut Vec<u8>) {
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let start = out.len();
    out.extend_from_slice(&[0; PRELUDE]);
    for (name, value) in [name, (":content-type", "application/json"), (":message-type", message_type)] {
        let (Ok(name_length), Ok(value_length)) = (u8::try_from(name.len()), u16::try_from(value.len())) else {
            continue; // Our own names and values are short.
        };
        out.push(name_length);
        out.extend_from_slice(name.as_bytes());
        out.push(7);
        out.extend_from_slice(&value_length.to_be_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    let headers = length(out.len() - start - PRELUDE);
    if serde_json::to_writer(&mut *out, payload).is_err() {
        // A payload has string keys only, so that this cannot happen.
        return out.truncate(start);
    }
    let total = length(out.len() - start + OVERHEAD - PRELUDE);
    let checksum = crc32fast::hash([total, headers].as_flattened()).to_be_bytes();
    if let Some(prelude) = out.get_mut(start..start + PRELUDE) {
        prelude.copy_from_slice([total, headers, checksum].as_flattened());
    }
    let whole = crc32fast::hash(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&whole.to_be_bytes());
}
