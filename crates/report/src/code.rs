//! Codes of changes: short names that are cheap to copy.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The stable name of a kind of change, such as `OAI-STRICT-03` or `unknown-model`. It compares with text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Code(Arc<str>);

impl Code {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Code {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<T: Into<Arc<str>>> From<T> for Code {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Change, Code, Effect, Kind};

    #[test]
    fn changes_are_json_and_back() {
        let change = Change::new("R-1", "/tools/0", (Action::MadeNullable, Effect::Same), "absent is null");
        let json = serde_json::json!({
            "code": "R-1", "at": "/tools/0", "action": "made-nullable", "effect": "same", "detail": "absent is null"
        });
        assert_eq!(serde_json::to_value(&change).expect("JSON"), json);
        assert_eq!(serde_json::from_value::<Change>(json).expect("a change"), change);
        let change = change.with_kind(Kind::Tools).with_keyword("required");
        assert_eq!(change.to_string(), "R-1 at `/tools/0`: `required` made-nullable (same): absent is null");
        assert!(change.code == "R-1" && *change.code == *Code::from("R-1"));
    }

    #[test]
    fn the_older_name_of_a_kind_is_read() {
        assert_eq!(serde_json::from_value::<Kind>("wishes".into()).expect("a kind"), Kind::Parameters);
    }
}
