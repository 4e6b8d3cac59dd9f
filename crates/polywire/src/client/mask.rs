//! Keys hidden in what comes back: a server may repeat what it was sent, in an error, an answer or a stream. Everything that a
//! provider says passes through here before it is read by anybody, as it is or in the usual encodings.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::percent_encode_byte;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::SendError;

/// What stands in the place of a key. It is the same inside and outside of JSON.
pub(super) const HIDDEN: &str = "[hidden]";

/// A shorter key may be an everyday word; it is hidden only where it stands in its header.
const SHORT: usize = 8;

/// The forms of the keys that were sent.
#[derive(Clone, Default)]
pub(super) struct Mask {
    /// The longest first, so that no form hides a part of another.
    forms: Vec<Form>,
}

#[derive(Clone, PartialEq, Eq)]
struct Form {
    text: String,
    /// Whether it counts only where no letter or digit follows.
    whole: bool,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask(…)")
    }
}

impl Mask {
    /// Hides a secret from now on, and what a header of this name says before it.
    pub(super) fn hide(&mut self, secret: &str, header: &str, before: &str) {
        let secret = secret.trim();
        if secret.is_empty() {
            return;
        }
        let forms: Vec<Form> = if secret.len() < SHORT {
            let leads =
                [format!("{header}: {before}"), format!("{header}\":\"{before}"), format!("{header}\": \"{before}")];
            let leads = leads.into_iter().chain([before.to_owned()]).filter(|lead| lead.len() > 4);
            leads.map(|lead| Form { text: format!("{lead}{secret}"), whole: true }).collect()
        } else {
            encodings(secret).into_iter().map(|text| Form { text, whole: false }).collect()
        };
        for form in forms {
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.text.len()));
    }

    /// A text without the keys.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.replaced(text.as_bytes()) {
            // Forms are text, so what is left between them is.
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// Whether a text holds a key.
    pub(super) fn is_in(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Bytes without the keys.
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

    /// A value without the keys in any of its texts, and whether there were some; none where what is left is no such value.
    pub(super) fn value<T: Serialize + DeserializeOwned>(&self, value: T) -> Option<(T, Found)> {
        if self.forms.is_empty() {
            return Some((value, Found::Nothing));
        }
        let mut json = serde_json::to_value(&value).ok()?;
        if self.walk(&mut json) == Found::Nothing {
            return Some((value, Found::Nothing));
        }
        serde_json::from_value(json).ok().map(|value| (value, Found::Keys))
    }

    fn walk(&self, value: &mut Value) -> Found {
        match value {
            Value::String(text) => {
                let Cow::Owned(hidden) = self.text(text) else { return Found::Nothing };
                *text = hidden;
                Found::Keys
            }
            Value::Array(items) => items.iter_mut().map(|item| self.walk(item)).max().unwrap_or(Found::Nothing),
            Value::Object(members) => {
                let mut found = members.values_mut().map(|member| self.walk(member)).max().unwrap_or(Found::Nothing);
                if members.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
                    let old = std::mem::take(members);
                    members.extend(old.into_iter().map(|(key, member)| (self.text(&key).into_owned(), member)));
                    found = Found::Keys;
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Found::Nothing,
        }
    }

    /// An error without the keys.
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

    /// Where the end of a text begins that may be the beginning of a key.
    pub(super) fn open_end(&self, text: &str) -> usize {
        let is_begun =
            |end: &str| self.forms.iter().any(|form| form.text.len() > end.len() && form.text.starts_with(end));
        let longest = self.forms.first().map_or(0, |form| form.text.len());
        let starts = text.char_indices().map(|(at, _)| at).filter(|at| text.len() - at < longest);
        starts.into_iter().find(|at| text.get(*at..).is_some_and(is_begun)).unwrap_or(text.len())
    }
}

/// Whether there were keys in something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    #[default]
    Nothing,
    Keys,
}

impl Form {
    fn replaced(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let form = self.text.as_bytes();
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(at) = find(rest, form) {
            let (before, found) = rest.split_at_checked(at)?;
            let after = found.get(form.len()..).unwrap_or_default();
            out.extend_from_slice(before);
            let goes_on = self.whole && after.first().is_some_and(u8::is_ascii_alphanumeric);
            out.extend_from_slice(if goes_on { form } else { HIDDEN.as_bytes() });
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

/// A secret as it is, and as it stands in JSON, in an address and in base64.
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

/// A byte as it stands in an address, with capitals.
fn escaped(byte: u8) -> String {
    let is_plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    if is_plain { char::from(byte).to_string() } else { percent_encode_byte(byte).to_owned() }
}

/// The base64 of a secret with some bytes ahead of it, without the characters that other bytes have a share in.
fn base64_within(secret: &str, ahead: usize) -> String {
    let bytes: Vec<u8> = std::iter::repeat_n(0, ahead).chain(secret.bytes()).collect();
    let data = STANDARD_NO_PAD.encode(&bytes);
    let shared = usize::from(!bytes.len().is_multiple_of(3));
    data.get((ahead * 8).div_ceil(6)..data.len().saturating_sub(shared)).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
