//! Options of the client.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::PlanOptions;

macro_rules! options {
    ($($(#[$about:meta])* $name:ident / $with:ident: $type:ty = $default:expr;)*) => {
        /// Options of the client.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct ClientOptions {
            $($(#[$about])* pub $name: $type,)*
        }

        impl Default for ClientOptions {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl ClientOptions {
            $(
                #[doc = concat!("Sets `", stringify!($name), "`.")]
                #[must_use]
                pub fn $with(mut self, $name: $type) -> Self {
                    self.$name = $name;
                    self
                }
            )*
        }
    };
}

options! {
    /// The options of planning.
    plan / with_plan: PlanOptions = PlanOptions::default();
    /// The maximum number of attempts per model for a valid value.
    attempts / with_attempts: usize = 3;
    /// The maximum number of retries of a failed request.
    retries / with_retries: usize = 4;
    /// The wait before the first retry without `retry-after`. It doubles with every retry.
    backoff / with_backoff: Duration = Duration::from_millis(500);
    /// The longest accepted `retry-after`. A longer one is an error.
    max_retry_after / with_max_retry_after: Duration = Duration::from_mins(1);
    /// The maximum number of concurrent requests per provider, for all clones of a client together.
    max_concurrency / with_max_concurrency: usize = 64;
    /// The maximum number of concurrent requests of single providers, by their ids.
    provider_concurrency / with_provider_concurrency: BTreeMap<String, usize> = BTreeMap::new();
    /// The connect timeout. It does not apply to the caller's own HTTP client or transport.
    connect_timeout / with_connect_timeout: Duration = Duration::from_secs(10);
    /// The timeout until a response starts. A response that is not streamed starts after the model has generated all of it.
    first_byte_timeout / with_first_byte_timeout: Duration = Duration::from_mins(5);
    /// The timeout between two chunks of a response. It does not limit the total duration of a stream.
    idle_timeout / with_idle_timeout: Duration = Duration::from_mins(5);
    /// The deadline of a whole call: planning, all attempts, requests, waits and validation.
    deadline / with_deadline: Duration = Duration::from_hours(1);
    /// The maximum size of a response.
    max_response_bytes / with_max_response_bytes: usize = 64 << 20;
    /// The handling of raw response bodies.
    raw_bytes / with_raw_bytes: RawBytes = RawBytes::Discard;
    /// The hosts to which requests, including keys, may be sent without TLS.
    plain_http / with_plain_http: PlainHttp = PlainHttp::LoopbackOnly;
    /// The content of spans.
    record / with_record: SpanContent = SpanContent::Metadata;
}

impl ClientOptions {
    /// Sets `first_byte_timeout` and `idle_timeout`.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with_first_byte_timeout(timeout).with_idle_timeout(timeout)
    }
}

/// The handling of raw response bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RawBytes {
    /// They are dropped after decoding.
    #[default]
    Discard,
    /// They are in [`Completion::raw`](super::Completion::raw) and [`Attempt::raw`](super::Attempt::raw).
    Keep,
}

/// The content of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanContent {
    /// Models, parameters, token counts, finish reasons and error types.
    #[default]
    Metadata,
    /// Messages and responses too.
    Full,
}

/// The hosts to which plain HTTP requests may be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlainHttp {
    /// Only loopback addresses.
    #[default]
    LoopbackOnly,
    /// Any host. Requests and keys can be read on the network.
    Anywhere,
}
