//! Responses that a later request may refer to by `previous_response_id`: the conversation until then, in the caller's own items. Kept in
//! memory within bounds, and never given to another key.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use polywire::wire::{FaultKind, WireError};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::inbound::{Inbound, Thread};

/// Bytes of all conversations together.
const MAX_BYTES: usize = 64 << 20;

/// Stored responses by their ids.
#[derive(Debug)]
pub(crate) struct StoredResponses {
    limit: usize,
    responses: Mutex<Responses>,
}

#[derive(Debug, Default)]
struct Responses {
    by_id: HashMap<String, Arc<StoredResponse>>,
    order: VecDeque<String>,
    bytes: usize,
}

/// A response and the conversation before it.
#[derive(Debug)]
pub(crate) struct StoredResponse {
    key: String,
    /// The input items and then the output items.
    items: Vec<Box<RawValue>>,
    /// The response itself.
    pub(crate) body: Box<RawValue>,
}

impl StoredResponse {
    fn size(&self) -> usize {
        self.items.iter().map(|item| item.get().len()).sum::<usize>() + self.body.get().len()
    }
}

impl StoredResponses {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, responses: Mutex::default() }
    }

    pub(crate) fn get(&self, id: &str, key: &str) -> Option<Arc<StoredResponse>> {
        let responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.by_id.get(id).filter(|stored| stored.key == key).cloned()
    }

    pub(crate) fn remove(&self, id: &str, key: &str) -> bool {
        let is_there = self.get(id, key).is_some();
        if is_there {
            let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
            responses.remove(id);
        }
        is_there
    }

    /// Stores the response to a request.
    pub(crate) fn put(&self, key: &str, request: &[u8], response: &str) {
        let Some((id, stored)) = stored(key, request, response) else { return };
        let size = stored.size();
        if self.limit == 0 || size > MAX_BYTES {
            return;
        }
        let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.remove(&id);
        responses.bytes += size;
        responses.order.push_back(id.clone());
        responses.by_id.insert(id, Arc::new(stored));
        while responses.by_id.len() > self.limit || responses.bytes > MAX_BYTES {
            let Some(oldest) = responses.order.front().cloned() else { break };
            responses.remove(&oldest);
        }
    }
}

impl Responses {
    fn remove(&mut self, id: &str) {
        if let Some(stored) = self.by_id.remove(id) {
            self.bytes = self.bytes.saturating_sub(stored.size());
            self.order.retain(|known| known != id);
        }
    }
}

/// The error of a request whose conversation is only at a provider of the caller's protocol. Clients that get these codes send the whole
/// conversation: without the error, a client that believes in a stored conversation goes on with its last message alone.
pub(crate) fn conversation_elsewhere(inbound: &Inbound) -> Option<Box<WireError>> {
    let refusal = |code: &str, param: &str, message: String, details: Option<Value>| {
        let error = WireError::new(FaultKind::InvalidRequest, message);
        Some(Box::new(WireError { code: Some(code.to_owned()), param: Some(param.to_owned()), details, ..error }))
    };
    if let Some(id) = inbound.previous_response.as_deref() {
        let id: String = id.chars().take(100).collect();
        let message =
            format!("the previous response `{id}` is not stored here; send the whole conversation in `input`");
        return refusal("previous_response_not_found", "previous_response_id", message, None);
    }
    if inbound.thread == Thread::AtProvider {
        let message = "this model has no threads; send the whole conversation in `messages`".to_owned();
        return refusal("thread_unsupported_request", "thread", message, Some(json!({"unsupported": ["thread"]})));
    }
    None
}

#[derive(serde::Deserialize)]
struct RequestItems<'b> {
    #[serde(borrow)]
    input: &'b RawValue,
}

#[derive(serde::Deserialize)]
struct ResponseItems<'b> {
    id: String,
    #[serde(borrow)]
    output: Vec<&'b RawValue>,
}

fn stored(key: &str, request: &[u8], response: &str) -> Option<(String, StoredResponse)> {
    let request: RequestItems<'_> = serde_json::from_slice(request).ok()?;
    let answer: ResponseItems<'_> = serde_json::from_str(response).ok()?;
    let mut items = input_items(request.input)?;
    items.extend(answer.output.into_iter().map(ToOwned::to_owned));
    let body = RawValue::from_string(response.to_owned()).ok()?;
    Some((answer.id, StoredResponse { key: key.to_owned(), items, body }))
}

/// The items of an input, which may be a text.
fn input_items(input: &RawValue) -> Option<Vec<Box<RawValue>>> {
    if let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(input.get()) {
        return Some(items);
    }
    let text: String = serde_json::from_str(input.get()).ok()?;
    let message = json!({"role": "user", "content": text});
    Some(vec![serde_json::value::to_raw_value(&message).ok()?])
}

/// A request with the stored conversation in the place of `previous_response_id`.
pub(crate) fn continued(request: &[u8], before: &StoredResponse) -> Option<Vec<u8>> {
    let mut body: Value = serde_json::from_slice(request).ok()?;
    let members = body.as_object_mut()?;
    members.shift_remove("previous_response_id");
    let input = members.get("input").map_or_else(|| "[]".to_owned(), Value::to_string);
    let input = RawValue::from_string(input).ok()?;
    let mut items: Vec<Value> =
        before.items.iter().map(|item| serde_json::from_str(item.get())).collect::<Result<_, _>>().ok()?;
    for item in input_items(&input)? {
        items.push(serde_json::from_str(item.get()).ok()?);
    }
    members.insert("input".to_owned(), Value::Array(items));
    serde_json::to_vec(&body).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{StoredResponses, continued};

    const ANSWER: &str = r#"{"id":"resp_1","output":[{"type":"message","role":"assistant","content":[]}]}"#;

    #[test]
    fn a_conversation_continues_where_it_was() {
        let responses = StoredResponses::new(2);
        responses.put("k", br#"{"input":"Hello"}"#, ANSWER);
        let before = responses.get("resp_1", "k").expect("stored");
        let next =
            continued(br#"{"model":"m","previous_response_id":"resp_1","input":"And?"}"#, &before).expect("a body");
        let next: Value = serde_json::from_slice(&next).expect("JSON");
        let expected = json!({"model": "m", "input": [
            {"role": "user", "content": "Hello"},
            {"type": "message", "role": "assistant", "content": []},
            {"role": "user", "content": "And?"},
        ]});
        assert_eq!(next, expected);
    }

    #[test]
    fn responses_belong_to_their_key_and_are_few() {
        let responses = StoredResponses::new(2);
        for number in 0..3 {
            responses.put("k", br#"{"input":[]}"#, &ANSWER.replace("resp_1", &format!("resp_{number}")));
        }
        assert!(responses.get("resp_0", "k").is_none(), "the oldest is gone");
        assert!(responses.get("resp_1", "other").is_none() && !responses.remove("resp_1", "other"));
        assert!(responses.remove("resp_1", "k") && responses.get("resp_1", "k").is_none());
        assert!(responses.get("resp_2", "k").is_some());
    }
}
