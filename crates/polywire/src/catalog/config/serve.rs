//! The table `[serve]`: the settings of the gateway. Plain data; the gateway decides what is used.

use std::net::SocketAddr;

use serde::Deserialize;

/// The settings of the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Serve {
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
    /// The routes; the first whose name matches is used.
    #[serde(rename = "route")]
    pub routes: Vec<ServeRoute>,
    /// The use of the provider's strict flag, unless a route has its own.
    pub strict: ServeStrict,
    /// The handling of losses, unless a route, a key or a request has its own.
    pub on_loss: ServeOnLoss,
    /// `true` if requests without a gateway key are refused. By default they are as soon as a key exists.
    pub require_keys: Option<bool>,
    /// `true` if paths that are not translated are passed on to the provider in the path. By default only without gateway keys.
    pub pass_through: Option<bool>,
    /// The origins of pages that may send requests (CORS); none by default.
    pub cors_origins: Vec<String>,
    /// The store of keys and the ledger: a path or `sqlite:PATH`, `postgres://…`, or `memory`.
    pub store: Option<String>,
    /// The store of counters that replicas share: `redis://…`.
    pub counters: Option<String>,
    /// What happens to requests while a store fails.
    pub on_store_failure: ServeStoreFailure,
    /// What is recorded of requests.
    pub record: ServeRecord,
    /// The format of the log on standard error.
    pub log: ServeLog,
    /// The time to live of cached responses in seconds; 0 disables the cache.
    pub cache_seconds: u64,
    /// `true` if cached responses are shared between gateway keys.
    pub cache_shared: bool,
    /// The interval of heartbeats on idle streams, in seconds; 0 disables them.
    pub heartbeat_seconds: Option<u64>,
    /// The maximum number of retries of the last model of a route.
    pub retries: Option<usize>,
    /// Timeouts.
    pub timeouts: ServeTimeouts,
    /// Limits.
    pub limits: ServeLimits,
}

/// A route: names of models in requests, and the models that serve them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ServeRoute {
    /// The name in requests. `*` matches any text.
    pub name: String,
    /// The models, in the order of fallback.
    pub to: Vec<ServeTarget>,
    /// The use of the provider's strict flag.
    #[serde(default)]
    pub strict: Option<ServeStrict>,
    /// The handling of losses.
    #[serde(default)]
    pub on_loss: Option<ServeOnLoss>,
    /// What keeps a caller at one of several weighted models.
    #[serde(default)]
    pub sticky: ServeSticky,
}

impl ServeRoute {
    /// Creates a route with ordered fallback.
    pub fn new(name: impl Into<String>, models: impl IntoIterator<Item = String>) -> Self {
        let to = models.into_iter().map(|model| ServeTarget { model, weight: None }).collect();
        Self { name: name.into(), to, strict: None, on_loss: None, sticky: ServeSticky::None }
    }

    /// Reads `NAME=MODEL[,MODEL…]`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, models) = text.split_once('=')?;
        let models: Vec<String> = models.split(',').map(|model| model.trim().to_owned()).collect();
        let is_complete = !name.trim().is_empty() && models.iter().all(|model| !model.is_empty());
        is_complete.then(|| Self::new(name.trim(), models))
    }

    /// Returns `true` if a model name matches, ignoring case.
    ///
    /// ```
    /// use polywire::catalog::ServeRoute;
    /// let route = ServeRoute::parse("claude-*=openai/gpt-4.1").unwrap();
    /// assert!(route.matches("claude-sonnet-4-5") && !route.matches("gpt-5"));
    /// ```
    pub fn matches(&self, model: &str) -> bool {
        let (name, model) = (self.name.to_lowercase(), model.to_lowercase());
        let mut parts = name.split('*');
        let Some(mut rest) = model.strip_prefix(parts.next().unwrap_or_default()) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// A model of a route.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "TargetForm")]
#[non_exhaustive]
pub struct ServeTarget {
    /// The model, as `provider/model`.
    pub model: String,
    /// Its share of the requests, relative to the other weights of the route. Without weights the first model is preferred.
    pub weight: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a model name, or a table with `model` and `weight`")]
enum TargetForm {
    Name(String),
    Weighted(WeightedTarget),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedTarget {
    model: String,
    weight: Option<u32>,
}

impl From<TargetForm> for ServeTarget {
    fn from(form: TargetForm) -> Self {
        match form {
            TargetForm::Name(model) => Self { model, weight: None },
            TargetForm::Weighted(WeightedTarget { model, weight }) => Self { model, weight },
        }
    }
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }
    };
}

words! {
    /// The use of the provider's strict flag.
    ServeStrict {
        /// As the request says.
        #[default]
        AsAsked,
        /// Wherever the schema allows it.
        Auto,
        /// Never.
        Off,
    }
}

words! {
    /// The handling of losses.
    ServeOnLoss {
        /// They are recorded.
        #[default]
        Record,
        /// The request is refused.
        Error,
    }
}

words! {
    /// What keeps a caller at one of several weighted models.
    ServeSticky {
        /// Nothing: every request is drawn anew.
        #[default]
        None,
        /// The gateway key.
        Key,
        /// The conversation: its first messages.
        Conversation,
    }
}

words! {
    /// What happens to requests while a store fails.
    ServeStoreFailure {
        /// They are served; their ledger rows are written when the store is back.
        #[default]
        Serve,
        /// They are refused.
        Refuse,
    }
}

words! {
    /// What is recorded of requests.
    ServeRecord {
        /// Models, token counts, changes, timings.
        #[default]
        Metadata,
        /// Bodies too.
        Content,
    }
}

words! {
    /// The format of the log.
    ServeLog {
        /// One JSON object per line.
        #[default]
        Json,
        /// No log.
        Off,
    }
}

/// Timeouts of the gateway, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct ServeTimeouts {
    /// Until a provider is connected.
    pub connect: Option<u64>,
    /// Until a provider's response starts.
    pub first_byte: Option<u64>,
    /// Between two chunks of a response.
    pub idle: Option<u64>,
    /// For a whole request.
    pub total: Option<u64>,
    /// Until the head of a caller's request, and again its body, has arrived.
    pub read: Option<u64>,
    /// For open requests when the gateway stops.
    pub drain: Option<u64>,
}

/// Limits of the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct ServeLimits {
    /// The size of a request body in bytes.
    pub body_bytes: Option<usize>,
    /// The size of all request bodies that are being read, in bytes.
    pub buffered_bytes: Option<usize>,
    /// The number of concurrent requests.
    pub concurrency: Option<usize>,
    /// The number of concurrent requests of one key, unless the key has its own limit.
    pub concurrency_per_key: Option<usize>,
    /// The number of concurrent requests to one provider.
    pub concurrency_per_provider: Option<usize>,
    /// The number of requests with their reports that are kept in memory.
    pub recent_requests: Option<usize>,
    /// The number of responses that are stored for `previous_response_id`.
    pub stored_responses: Option<usize>,
    /// The size of reasoning and signatures that are kept for conversations that return to their provider, in bytes; 0 keeps none.
    pub echo_bytes: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::{ServeRoute, ServeTarget};

    #[test]
    fn a_star_matches_any_text() {
        let rows = [
            ("*", "", true),
            ("*", "anything", true),
            ("gpt-5", "GPT-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("claude-*", "claude-", true),
            ("claude-*", "my-claude-x", false),
            ("*mini*", "gpt-5-mini-2", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
        ];
        for (name, model, expected) in rows {
            assert_eq!(ServeRoute::new(name, []).matches(model), expected, "{name} {model}");
        }
    }

    #[test]
    fn a_route_of_the_command_line_has_a_name_and_models() {
        let route = ServeRoute::parse(" fast = openai/gpt-5-mini, groq/llama ").expect("a route");
        let models: Vec<&str> = route.to.iter().map(|target| target.model.as_str()).collect();
        assert_eq!((route.name.as_str(), models), ("fast", vec!["openai/gpt-5-mini", "groq/llama"]));
        for bad in ["", "fast", "=openai/x", "fast=", "fast=a,,b"] {
            assert_eq!(ServeRoute::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_target_is_a_name_or_a_table() {
        #[derive(serde::Deserialize)]
        struct File {
            to: Vec<ServeTarget>,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.to);
        let to = read("to = [\"a/b\", { model = \"c/d\", weight = 2 }]").expect("targets");
        assert_eq!(to.iter().map(|target| target.weight).collect::<Vec<_>>(), [None, Some(2)]);
        assert!(read("to = [{ weight = 2 }]").is_err() && read("to = [1]").is_err());
    }
}
