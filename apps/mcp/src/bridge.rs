//! The two eras of the protocol: sessions that start with `initialize` (up to 2025-11-25), and requests that each stand for themselves
//! (2026-07-28). A client of one era can use a server of the other.

use serde_json::{Value, json};

use crate::json::{get, member_mut};
use crate::message::{Id, Message};

/// The latest revision with sessions.
pub(crate) const LATEST_WITH_SESSIONS: &str = "2025-11-25";
/// The first revision without.
pub(crate) const STATELESS: &str = "2026-07-28";

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The key of `_meta` that says to which `subscriptions/listen` a notification belongs.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// JSON-RPC: a request of the stateless era that does not say who asks.
const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: the revision is not supported.
const UNSUPPORTED_VERSION: i64 = -32022;

/// How a peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize` starts a session.
    Sessions,
    /// Every request says who asks, and `server/discover` tells about the server.
    Stateless,
}

impl Era {
    /// The method that starts a conversation.
    pub(crate) fn greeting(self) -> &'static str {
        match self {
            Self::Sessions => "initialize",
            Self::Stateless => "server/discover",
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Sessions => Self::Stateless,
            Self::Stateless => Self::Sessions,
        }
    }
}

/// Who the client is, in either era.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientInfo {
    version: Option<String>,
    info: Value,
    capabilities: Value,
}

impl ClientInfo {
    /// From the parameters of `initialize`.
    pub(crate) fn of_session(params: &Value) -> Self {
        Self {
            version: get(params, "/protocolVersion").as_str().map(str::to_owned),
            info: get(params, "/clientInfo").clone(),
            capabilities: get(params, "/capabilities").clone(),
        }
    }

    /// From the `_meta` of a request.
    pub(crate) fn of_request(params: &Value) -> Self {
        Self {
            version: meta(params, PROTOCOL_VERSION).as_str().map(str::to_owned),
            info: meta(params, CLIENT_INFO).clone(),
            capabilities: meta(params, CLIENT_CAPABILITIES).clone(),
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        get(&self.info, "/name").as_str()
    }

    fn info(&self) -> Value {
        if self.info.is_object() { self.info.clone() } else { json!({"name": "polywire", "version": VERSION}) }
    }

    fn capabilities(&self) -> Value {
        if self.capabilities.is_object() { self.capabilities.clone() } else { json!({}) }
    }

    /// The parameters with which this client greets a server of an era.
    pub(crate) fn greeting(&self, era: Era) -> Value {
        match era {
            Era::Sessions => {
                let version = self.version.as_deref().filter(|version| *version < STATELESS);
                json!({
                    "protocolVersion": version.unwrap_or(LATEST_WITH_SESSIONS),
                    "capabilities": self.capabilities(),
                    "clientInfo": self.info(),
                })
            }
            Era::Stateless => self.with_meta(json!({})),
        }
    }

    /// Parameters of a request that says who asks.
    pub(crate) fn with_meta(&self, mut params: Value) -> Value {
        let meta = member_mut(&mut params, "_meta");
        let version = self.version.as_deref().filter(|version| *version >= STATELESS).unwrap_or(STATELESS);
        *member_mut(meta, PROTOCOL_VERSION) = json!(version);
        *member_mut(meta, CLIENT_INFO) = self.info();
        *member_mut(meta, CLIENT_CAPABILITIES) = self.capabilities();
        params
    }
}

/// The answer to a request of the stateless era that does not say who asks, or in a revision that nobody here speaks.
pub(crate) fn envelope_fault(id: &Id, message: &Message) -> Option<Message> {
    let value = message.value();
    let params = get(&value, "/params");
    let Some(version) = meta(params, PROTOCOL_VERSION).as_str() else {
        return Some(Message::error(id, INVALID_PARAMS, &format!("`_meta` has no `{PROTOCOL_VERSION}`")));
    };
    if !meta(params, CLIENT_CAPABILITIES).is_object() {
        return Some(Message::error(id, INVALID_PARAMS, &format!("`_meta` has no `{CLIENT_CAPABILITIES}`")));
    }
    (version != STATELESS).then(|| {
        let data = json!({"supported": [STATELESS], "requested": version});
        let text = format!("the revision `{version}` is not supported");
        Message::error_with(id, &json!({"code": UNSUPPORTED_VERSION, "message": text, "data": data}))
    })
}

/// The protocol version of a request of the stateless era.
pub(crate) fn version_of(params: &Value) -> Option<&str> {
    meta(params, PROTOCOL_VERSION).as_str()
}

/// Who sends a request of the stateless era, as text.
pub(crate) fn identity_of(params: &Value) -> String {
    json!([meta(params, CLIENT_INFO), meta(params, CLIENT_CAPABILITIES)]).to_string()
}

/// A member of `_meta`.
fn meta<'v>(value: &'v Value, key: &str) -> &'v Value {
    get(value, "/_meta").get(key).unwrap_or(&Value::Null)
}

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is known about a server, in either era.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerInfo {
    pub(crate) version: Option<String>,
    pub(crate) info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

impl ServerInfo {
    /// From the result of the greeting.
    pub(crate) fn of(era: Era, result: &Value) -> Self {
        let (version, info) = match era {
            Era::Sessions => (get(result, "/protocolVersion"), get(result, "/serverInfo")),
            Era::Stateless => (get(result, "/supportedVersions/0"), meta(result, SERVER_INFO)),
        };
        Self {
            version: version.as_str().map(str::to_owned),
            info: info.clone(),
            capabilities: get(result, "/capabilities").clone(),
            instructions: get(result, "/instructions").as_str().map(str::to_owned),
        }
    }

    /// The result of the greeting, for a client of an era that asked for a version.
    pub(crate) fn greeting(&self, era: Era, client: &ClientInfo) -> Value {
        let info =
            if self.info.is_object() { self.info.clone() } else { json!({"name": "polywire", "version": VERSION}) };
        let capabilities = if self.capabilities.is_object() { self.capabilities.clone() } else { json!({}) };
        let mut result = match era {
            Era::Sessions => {
                let own = self.version.as_deref().filter(|version| *version < STATELESS);
                let version = own.or(client.version.as_deref()).unwrap_or(LATEST_WITH_SESSIONS);
                json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
            }
            Era::Stateless => json!({
                "resultType": "complete",
                "supportedVersions": [STATELESS],
                "capabilities": capabilities,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {SERVER_INFO: info},
            }),
        };
        if let Some(instructions) = &self.instructions {
            *member_mut(&mut result, "instructions") = json!(instructions);
        }
        result
    }

    /// One server in the place of several.
    pub(crate) fn joined<'s>(servers: impl Iterator<Item = (&'s str, &'s Self)>) -> Self {
        let mut joined = Self { capabilities: json!({}), ..Self::default() };
        let mut instructions = Vec::new();
        for (name, server) in servers {
            let oldest = joined.version.take().into_iter().chain(server.version.clone()).min();
            joined.version = oldest;
            merge(&mut joined.capabilities, &server.capabilities);
            instructions.extend(server.instructions.iter().map(|text| format!("{name}: {text}")));
        }
        joined.instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
        joined
    }

    /// Whether the server has a capability such as `tools`.
    pub(crate) fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }
}

/// Adds the members of one object to another, objects within objects too.
fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    for (key, value) in from {
        match into.get_mut(key) {
            Some(own) if own.is_object() => merge(own, value),
            Some(own) if value == &Value::Bool(true) => *own = Value::Bool(true),
            Some(_) => {}
            None => _ = into.insert(key.clone(), value.clone()),
        }
    }
}

/// Completes a result for clients of the stateless era.
pub(crate) fn complete_result(method: &str, result: &mut Value) {
    let Value::Object(members) = result else { return };
    members.entry("resultType").or_insert_with(|| json!("complete"));
    if method.ends_with("/list") || method == "resources/read" {
        members.entry("ttlMs").or_insert_with(|| json!(0));
        members.entry("cacheScope").or_insert_with(|| json!("private"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ClientInfo, Era, ServerInfo};

    #[test]
    fn an_old_client_is_introduced_to_a_stateless_server_and_the_reverse() {
        let old = ClientInfo::of_session(&json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
            "clientInfo": {"name": "c", "version": "1"}}));
        let params = old.greeting(Era::Stateless);
        assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let new = ClientInfo::of_request(&params);
        assert_eq!(new.name(), Some("c"));
        assert_eq!(new.greeting(Era::Sessions)["protocolVersion"], "2025-11-25");
        let server = ServerInfo::of(
            Era::Stateless,
            &json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "2"}}}),
        );
        let greeting = server.greeting(Era::Sessions, &old);
        assert_eq!(greeting["protocolVersion"], "2025-06-18");
        assert_eq!(greeting["serverInfo"]["name"], "s");
    }

    #[test]
    fn capabilities_of_several_servers_are_joined() {
        let one = ServerInfo { capabilities: json!({"tools": {"listChanged": false}}), ..ServerInfo::default() };
        let other = ServerInfo {
            capabilities: json!({"tools": {"listChanged": true}, "prompts": {}}),
            ..ServerInfo::default()
        };
        let joined = ServerInfo::joined([("a", &one), ("b", &other)].into_iter());
        assert_eq!(joined.capabilities, json!({"tools": {"listChanged": true}, "prompts": {}}));
    }
}
