//! Whole answers, back in the caller's protocol.

use polywire_wire::{Response, Stamper, Usage};

use super::splice::splice;
use super::{Inner, Translation};
use crate::change::{Change, of_wire};
use crate::restore::restore;
use crate::translate::{TranslateError, decode};

/// An answer in the caller's protocol.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TranslatedResponse {
    /// The body.
    pub body: Vec<u8>,
    /// Every change and loss on the way back, repairs of the model's text among them.
    pub changes: Vec<Change>,
    /// What the answer cost, where the provider says so.
    pub usage: Option<Usage>,
}

impl Translation {
    /// Brings a whole answer back into the caller's protocol, names and shapes.
    pub fn response(&self, body: &[u8]) -> Result<TranslatedResponse, TranslateError> {
        let inner = &*self.inner;
        let decoded = decode(body, inner.plan.protocol)?;
        let usage = decoded.value.usage.clone();
        let mut changes: Vec<Change> = decoded.changes.into_iter().map(of_wire).collect();
        if !inner.is_same_protocol() {
            let restored = restore(decoded.value, inner.contract());
            changes.extend(restored.changes);
            let body = inner.encoded(restored.response, &mut changes);
            return Ok(TranslatedResponse { body, changes, usage });
        }
        let restored = restore(decoded.value.clone(), inner.contract());
        changes.extend(restored.changes);
        let is_untouched = inner.surface.envelope == inner.plan.surface.envelope && restored.response == decoded.value;
        let body = if is_untouched { body.to_vec() } else { inner.edited(body, &decoded.value, &restored.response)? };
        Ok(TranslatedResponse { body, changes, usage })
    }
}

impl Inner {
    fn encoded(&self, mut response: Response, changes: &mut Vec<Change>) -> Vec<u8> {
        Stamper::new(self.from, self.options.stamp.clone()).response(&mut response);
        self.keep_echo(&response.content);
        let encoded = self.from.encode_response(&response, &self.surface);
        changes.extend(encoded.changes.into_iter().map(of_wire));
        encoded.body
    }

    /// The provider's document with everything in it that was brought back.
    fn edited(&self, body: &[u8], decoded: &Response, restored: &Response) -> Result<Vec<u8>, TranslateError> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_default();
        let original = std::str::from_utf8(body).map_err(|error| TranslateError::Json(error.to_string()))?;
        let baseline = text(self.from.encode_response(decoded, &self.plan.surface).body);
        let wanted = text(self.from.encode_response(restored, &self.surface).body);
        Ok(splice(original, &baseline, &wanted).into_owned().into_bytes())
    }
}
