//! JSON-RPC messages as they were received: only the head is read, the text stays what it was.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::param_headers::ParamHeaders;

/// The JSON text of an id, so that `1` and `"1"` are two ids.
pub(crate) type Id = String;

/// A message and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    text: String,
    kind: Kind,
    /// The arguments that HTTP repeats in headers; none where the message did not come over HTTP, or needs none.
    headers: Option<ParamHeaders>,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request { id: Id, method: String },
    Notification { method: String },
    Response { id: Id },
}

#[derive(Deserialize)]
struct Head<'t> {
    #[serde(borrow)]
    id: Option<&'t RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'t, str>>,
}

impl Message {
    /// Reads the head of a message; the error says what is wrong with it.
    pub(crate) fn parse(text: String) -> Result<Self, String> {
        // serde reads a list as an object, too.
        if !text.trim_start().starts_with('{') {
            return Err("a message is a JSON object".to_owned());
        }
        let head: Head<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let kind = match (head.id.map(|id| id.get().to_owned()), head.method.map(Cow::into_owned)) {
            (Some(id), Some(method)) => Kind::Request { id, method },
            (None, Some(method)) => Kind::Notification { method },
            (Some(id), None) => Kind::Response { id },
            (None, None) => return Err("a message has an `id` or a `method`".to_owned()),
        };
        Ok(Self::of(text, kind))
    }

    /// A request of our own.
    pub(crate) fn request(id: &Id, method: &str, params: &Value) -> Self {
        let id_value: Value = serde_json::from_str(id).unwrap_or_default();
        let text = json!({"jsonrpc": "2.0", "id": id_value, "method": method, "params": params}).to_string();
        Self::of(text, Kind::Request { id: id.clone(), method: method.to_owned() })
    }

    pub(crate) fn notification(method: &str) -> Self {
        let text = json!({"jsonrpc": "2.0", "method": method}).to_string();
        Self::of(text, Kind::Notification { method: method.to_owned() })
    }

    pub(crate) fn notification_with(method: &str, params: &Value) -> Self {
        let text = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        Self::of(text, Kind::Notification { method: method.to_owned() })
    }

    /// The result of a request, as JSON text.
    pub(crate) fn result(id: &Id, result: &str) -> Self {
        Self::of(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#), Kind::Response { id: id.clone() })
    }

    pub(crate) fn error(id: &Id, code: i64, message: &str) -> Self {
        Self::error_with(id, &json!({"code": code, "message": message}))
    }

    pub(crate) fn error_with(id: &Id, error: &Value) -> Self {
        Self::of(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#), Kind::Response { id: id.clone() })
    }

    fn of(text: String, kind: Kind) -> Self {
        Self { text, kind, headers: None }
    }

    /// The same message with arguments that HTTP repeats in headers.
    pub(crate) fn with_headers(self, headers: Option<ParamHeaders>) -> Self {
        Self { headers, ..self }
    }

    pub(crate) fn headers(&self) -> Option<&ParamHeaders> {
        self.headers.as_ref()
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The whole message, to be looked into or changed.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The JSON text of one member, such as `result`.
    pub(crate) fn member(&self, name: &str) -> Option<&str> {
        let members: std::collections::HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(&self.text).ok()?;
        members.get(name).map(|raw| raw.get())
    }

    /// The same message with other contents.
    pub(crate) fn with_value(&self, value: &Value) -> Self {
        Self { text: value.to_string(), kind: self.kind.clone(), headers: self.headers.clone() }
    }

    /// The members of an object member, such as those of `result`, each as it was written.
    pub(crate) fn members(&self, name: &str) -> BTreeMap<String, &RawValue> {
        self.member(name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// The same message with another id. The rest of the text is not copied: a result may be large.
    pub(crate) fn with_id(mut self, id: &Id) -> Self {
        let own = serde_json::from_str::<Head<'_>>(&self.text).ok().and_then(|head| head.id);
        if let Some(own) = own {
            let start = own.get().as_ptr().addr() - self.text.as_ptr().addr();
            let end = start + own.get().len();
            self.text.replace_range(start..end, id);
            if let Kind::Request { id: own, .. } | Kind::Response { id: own } = &mut self.kind {
                id.clone_into(own);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Message};

    #[test]
    fn the_head_says_what_a_message_is() {
        let rows = [
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#,
                Some(Kind::Request { id: "\"a\"".into(), method: "m".into() }),
            ),
            (r#"{"method":"m","params":{"id":3}}"#, Some(Kind::Notification { method: "m".into() })),
            (r#"{"id":1,"result":{"method":"x"}}"#, Some(Kind::Response { id: "1".into() })),
            (r#"{"jsonrpc":"2.0"}"#, None),
            ("[]", None),
            (r#"["1", "m"]"#, None),
            ("not JSON", None),
        ];
        for (text, kind) in rows {
            assert_eq!(Message::parse(text.to_owned()).ok().map(|message| message.kind().clone()), kind, "{text}");
        }
    }

    #[test]
    fn a_member_is_given_as_it_was_written() {
        let message = Message::parse(r#"{"id":1,"result": {"b" : 1.0,"a":2}}"#.to_owned()).expect("a message");
        assert_eq!(message.member("result"), Some(r#"{"b" : 1.0,"a":2}"#));
        assert_eq!(message.members("result")["b"].get(), "1.0");
        assert_eq!(message.with_id(&"\"x\"".to_owned()).text(), r#"{"id":"x","result": {"b" : 1.0,"a":2}}"#);
    }
}
