//! A request body as serialized JSON text. It comes from the encoder and is sent without being parsed again.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON request body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body(Box<str>);

impl Body {
    pub(crate) fn of(json: Vec<u8>) -> Self {
        Self(String::from_utf8(json).unwrap_or_default().into())
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        &self.0
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let body = Box::<RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(Self(body.get().into()))
    }
}
