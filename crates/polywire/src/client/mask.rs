//! Masks keys in responses: a server may echo them in an error, a response or a stream, literally or in a common encoding. Every
//! response is masked before it is decoded or logged.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::percent_encode_byte;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::SendError;

/// The replacement for a key. It needs no escaping in JSON.
pub(super) const HIDDEN: &str = "[hidden]";

/// A shorter key may be an ordinary word, so it is only masked after the name or prefix of its header.
const SHORT: usize = 8;

/// The keys of a request, in all encodings.
#[derive(Clone, Default)]
pub(super) struct Mask {
    /// Sorted by descending length, so that a form is not masked in part by a shorter one.
    forms: Vec<SecretForm>,
}

#[derive(Clone, PartialEq, Eq)]
struct SecretForm {
    text: String,
    /// Matches only if no letter or digit follows.
    needs_boundary: bool,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask(…)")
    }
}

impl Mask {
    /// Adds a secret, with the name of its header and the prefix in its value.
    pub(super) fn add_secret(&mut self, secret: &str, header: &str, before: &str) {
        let secret = secret.trim();
        if secret.is_empty() {
            return;
        }
        let forms: Vec<SecretForm> = if secret.len() < SHORT {
            let leads =
                [format!("{header}: {before}"), format!("{header}\":\"{before}"), format!("{header}\": \"{before}")];
            let leads = leads.into_iter().chain([before.to_owned()]).filter(|lead| lead.len() > 4);
            leads.map(|lead| SecretForm { text: format!("{lead}{secret}"), needs_boundary: true }).collect()
        } else {
            encodings(secret).into_iter().map(|text| SecretForm { text, needs_boundary: false }).collect()
        };
        for form in forms {
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.text.len()));
    }

    /// Masks the keys in a text.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.replaced(text.as_bytes()) {
            // The forms are UTF-8, so the bytes between them are too.
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns `true` if a text contains a key.
    pub(super) fn is_in(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Masks the keys in bytes.
    pub(super) fn bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        self.replaced(bytes).map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    fn replaced(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out: Option<Vec<u8>> = None;
        for form in &self.forms {
            let text = out.as_deref().unwrap_or(bytes);
            out = form.replaced(text).or(out);
        }
        out
    }

    /// Masks the keys in all strings of a value. Returns `None` if the masked value cannot be deserialized.
    pub(super) fn value<T: Serialize + DeserializeOwned>(&self, value: T) -> Option<(T, MaskResult)> {
        if self.forms.is_empty() {
            return Some((value, MaskResult::Unchanged));
        }
        let mut json = serde_json::to_value(&value).ok()?;
        if self.walk(&mut json) == MaskResult::Unchanged {
            return Some((value, MaskResult::Unchanged));
        }
        serde_json::from_value(json).ok().map(|value| (value, MaskResult::Masked))
    }

    fn walk(&self, value: &mut Value) -> MaskResult {
        match value {
            Value::String(text) => {
                let Cow::Owned(hidden) = self.text(text) else { return MaskResult::Unchanged };
                *text = hidden;
                MaskResult::Masked
            }
            Value::Array(items) => items.iter_mut().map(|item| self.walk(item)).max().unwrap_or(MaskResult::Unchanged),
            Value::Object(members) => {
                let mut found =
                    members.values_mut().map(|member| self.walk(member)).max().unwrap_or(MaskResult::Unchanged);
                if members.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
                    let old = std::mem::take(members);
                    members.extend(old.into_iter().map(|(key, member)| (self.text(&key).into_owned(), member)));
                    found = MaskResult::Masked;
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => MaskResult::Unchanged,
        }
    }

    /// Masks the keys in an error.
    pub(super) fn error(&self, error: SendError) -> SendError {
        let unreadable = || SendError::Unreadable {
            content_type: "not shown".to_owned(),
            why: "it repeats a key that was sent".to_owned(),
        };
        let text = |text: String| self.text(&text).into_owned();
        match error {
            SendError::Address(why) => SendError::Address(text(why)),
            SendError::Connection(error) => SendError::Connection(error.masked(self)),
            SendError::Credentials { provider, source } => {
                SendError::Credentials { provider, source: source.masked(self) }
            }
            SendError::Unreadable { content_type, why } => {
                SendError::Unreadable { content_type: text(content_type), why: text(why) }
            }
            SendError::Provider(error) => {
                self.value(*error).map_or_else(unreadable, |(error, _)| SendError::Provider(Box::new(error)))
            }
            SendError::Cut(partial) => {
                SendError::Cut(Box::new(self.value(*partial).map(|(partial, _)| partial).unwrap_or_default()))
            }
            error @ (SendError::Loss(_)
            | SendError::MissingKey { .. }
            | SendError::FirstByteTimeout(_)
            | SendError::IdleTimeout(_)
            | SendError::Deadline(_)
            | SendError::TooLarge(_)
            | SendError::AllModelsFailed(_)) => error,
        }
    }

    /// The start of the longest suffix that may be the beginning of a key; the length of the text if there is none.
    pub(super) fn open_end(&self, text: &str) -> usize {
        let is_begun =
            |end: &str| self.forms.iter().any(|form| form.text.len() > end.len() && form.text.starts_with(end));
        let longest = self.forms.first().map_or(0, |form| form.text.len());
        let starts = text.char_indices().map(|(at, _)| at).filter(|at| text.len() - at < longest);
        starts.into_iter().find(|at| text.get(*at..).is_some_and(is_begun)).unwrap_or(text.len())
    }

    /// Like [`Mask::open_end`], for bytes that need not be UTF-8.
    pub(super) fn open_end_of_bytes(&self, bytes: &[u8]) -> usize {
        let longest = self.forms.first().map_or(0, |form| form.text.len());
        let from = bytes.len().saturating_sub(longest.saturating_sub(1));
        let is_begun = |end: &[u8]| {
            let longer = self.forms.iter().map(|form| form.text.as_bytes()).filter(|form| form.len() > end.len());
            longer.into_iter().any(|form| form.starts_with(end))
        };
        (from..bytes.len()).find(|at| bytes.get(*at..).is_some_and(is_begun)).unwrap_or(bytes.len())
    }
}

/// The result of masking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MaskResult {
    #[default]
    Unchanged,
    Masked,
}

impl SecretForm {
    fn replaced(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let form = self.text.as_bytes();
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(at) = find(rest, form) {
            let (before, found) = rest.split_at_checked(at)?;
            let after = found.get(form.len()..).unwrap_or_default();
            out.extend_from_slice(before);
            let is_longer_word = self.needs_boundary && after.first().is_some_and(u8::is_ascii_alphanumeric);
            out.extend_from_slice(if is_longer_word { form } else { HIDDEN.as_bytes() });
            rest = after;
        }
        if rest.len() == bytes.len() {
            return None;
        }
        out.extend_from_slice(rest);
        (out != bytes).then_some(out)
    }
}

fn find(bytes: &[u8], form: &[u8]) -> Option<usize> {
    let first = *form.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes.get(at..)?.starts_with(form) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// A secret in plain text, JSON, percent-encoding and base64.
fn encodings(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let percent: String = secret.bytes().map(escaped).collect();
    let mut forms = vec![secret.to_owned(), json.replace('/', "\\/"), json, percent.replace('%', "%25"), percent];
    let lower = |byte| Some(escaped(byte)).map(|form| if form.starts_with('%') { form.to_lowercase() } else { form });
    forms.extend(secret.bytes().map(lower).collect::<Option<String>>());
    for ahead in 0..3 {
        let standard = base64_within(secret, ahead);
        forms.push(standard.replace('+', "-").replace('/', "_"));
        forms.push(standard);
    }
    forms.retain(|form| form.len() >= SHORT);
    forms
}

/// A byte in percent-encoding, with capital digits.
fn escaped(byte: u8) -> String {
    let is_plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    if is_plain { char::from(byte).to_string() } else { percent_encode_byte(byte).to_owned() }
}

/// The base64 of a secret at an offset, without the characters that also depend on neighbouring bytes.
fn base64_within(secret: &str, ahead: usize) -> String {
    let bytes: Vec<u8> = std::iter::repeat_n(0, ahead).chain(secret.bytes()).collect();
    let data = STANDARD_NO_PAD.encode(&bytes);
    let shared = usize::from(!bytes.len().is_multiple_of(3));
    data.get((ahead * 8).div_ceil(6)..data.len().saturating_sub(shared)).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
