//! Exact response cache, off by default: whole answers by the caller's request, in memory within bounds, never across keys unless the
//! configuration says so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ring::digest::{Context, SHA256};
use serde_json::Value;

/// Bytes of all cached answers together.
const MAX_BYTES: usize = 64 << 20;

/// The hash of a request and of who may get its answer.
pub(crate) type Fingerprint = [u8; 32];

/// Cached answers.
#[derive(Debug, Default)]
pub(crate) struct ResponseCache {
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    by_request: HashMap<Fingerprint, (Instant, Bytes)>,
    order: VecDeque<Fingerprint>,
    bytes: usize,
}

/// The fingerprint of a request in its canonical form: without spaces, keys sorted. `None` if it is not JSON.
pub(crate) fn fingerprint(scope: &str, protocol: &str, model: &str, body: &[u8]) -> Option<Fingerprint> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let mut hash = Context::new(&SHA256);
    for part in [scope, protocol, model] {
        hash.update(part.as_bytes());
        hash.update(&[0]);
    }
    update(&mut hash, &body);
    hash.finish().as_ref().try_into().ok()
}

fn update(hash: &mut Context, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            hash.update(b"{");
            for (name, member) in members {
                update(hash, &Value::from(name.as_str()));
                update(hash, member);
            }
            hash.update(b"}");
        }
        Value::Array(items) => {
            hash.update(b"[");
            for item in items {
                update(hash, item);
            }
            hash.update(b"]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            hash.update(value.to_string().as_bytes());
            hash.update(b",");
        }
    }
}

impl ResponseCache {
    pub(crate) fn get(&self, request: &Fingerprint, max_age: Duration) -> Option<Bytes> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (stored_at, body) = answers.by_request.get(request)?;
        (stored_at.elapsed() < max_age).then(|| body.clone())
    }

    pub(crate) fn put(&self, request: Fingerprint, body: Bytes) {
        if body.len() > MAX_BYTES / 16 {
            return;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.bytes += body.len();
        match answers.by_request.insert(request, (Instant::now(), body)) {
            Some((_, old)) => answers.bytes -= old.len(),
            None => answers.order.push_back(request),
        }
        while answers.bytes > MAX_BYTES {
            let Some(oldest) = answers.order.pop_front() else { break };
            if let Some((_, old)) = answers.by_request.remove(&oldest) {
                answers.bytes -= old.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ResponseCache, fingerprint};

    #[test]
    fn a_request_is_the_same_in_any_spelling_and_another_for_another_key() {
        let one = fingerprint("k", "p", "m", br#"{"a": [1, 2], "b": {"x": null}}"#);
        assert!(one.is_some());
        assert_eq!(one, fingerprint("k", "p", "m", br#"{"b":{"x":null},"a":[1,2]}"#));
        for other in
            [&br#"{"a":[1],"b":{"x":null}}"#[..], br#"{"a":[1,2],"b":{"x":"null"}}"#, br#"{"a":[12],"b":{"x":null}}"#]
        {
            assert_ne!(one, fingerprint("k", "p", "m", other));
        }
        assert_ne!(one, fingerprint("other", "p", "m", br#"{"a": [1, 2], "b": {"x": null}}"#));
        assert_eq!(fingerprint("k", "p", "m", b"{"), None);
    }

    #[test]
    fn answers_expire() {
        let cache = ResponseCache::default();
        cache.put([1; 32], "answer".into());
        assert_eq!(cache.get(&[1; 32], Duration::from_hours(1)).as_deref(), Some(&b"answer"[..]));
        assert_eq!(cache.get(&[1; 32], Duration::ZERO), None);
        assert_eq!(cache.get(&[2; 32], Duration::from_hours(1)), None);
    }
}
