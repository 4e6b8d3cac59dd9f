//! A body as it is sent: JSON that our own writer wrote, so that nobody has to read it again before it leaves.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A body of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body(Box<str>);

impl Body {
    /// The body of a writer of JSON.
    pub(crate) fn of(written: Vec<u8>) -> Self {
        Self(String::from_utf8(written).unwrap_or_default().into())
    }

    /// The text.
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
