//! What a caller may choose about sending.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::PlanOptions;

macro_rules! options {
    ($($(#[$about:meta])* $name:ident / $with:ident: $type:ty = $default:expr;)*) => {
        /// What a caller may choose about sending.
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
                #[doc = concat!("The same with another `", stringify!($name), "`.")]
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
    /// How requests are planned.
    plan / with_plan: PlanOptions = PlanOptions::default();
    /// How often a value is asked for before what is wrong with it is an error.
    attempts / with_attempts: usize = 3;
    /// How often a request is sent again because the provider could not take it.
    retries / with_retries: usize = 4;
    /// The wait before the first retry, where the provider does not name one; it doubles.
    backoff / with_backoff: Duration = Duration::from_millis(500);
    /// The longest wait that a provider may ask for.
    max_retry_after / with_max_retry_after: Duration = Duration::from_mins(1);
    /// How many exchanges go on at a time with one provider, in all clones of a client together.
    max_concurrency / with_max_concurrency: usize = 64;
    /// The same for single providers, by their ids.
    provider_concurrency / with_provider_concurrency: BTreeMap<String, usize> = BTreeMap::new();
    /// The time to reach a host. An HTTP stack of the caller's own has its own.
    connect_timeout / with_connect_timeout: Duration = Duration::from_secs(10);
    /// The time until an answer begins. An answer that is no stream begins when the model has written all of it.
    first_byte_timeout / with_first_byte_timeout: Duration = Duration::from_mins(5);
    /// The longest silence within an answer. A stream that goes on is not cut, however long it is.
    idle_timeout / with_idle_timeout: Duration = Duration::from_mins(5);
    /// The time for everything: planning, all attempts, exchanges and waits, and validation.
    deadline / with_deadline: Duration = Duration::from_hours(1);
    /// The most bytes of an answer.
    max_response_bytes / with_max_response_bytes: usize = 64 << 20;
    /// Whether the bytes of answers are kept beside what was read in them.
    raw_bytes / with_raw_bytes: RawBytes = RawBytes::Discard;
    /// Where requests, keys among them, may go without encryption.
    plain_http / with_plain_http: PlainHttp = PlainHttp::LoopbackOnly;
    /// What spans record beside names and figures.
    record / with_record: SpanContent = SpanContent::Metadata;
}

impl ClientOptions {
    /// The same with one time for the first byte of an answer and for every silence within it.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with_first_byte_timeout(timeout).with_idle_timeout(timeout)
    }
}

/// Whether the bytes of answers are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RawBytes {
    /// They are forgotten once they are read.
    #[default]
    Discard,
    /// [`Completion::raw`](super::Completion::raw) and [`Attempt::raw`](super::Attempt::raw) have them.
    Keep,
}

/// What spans record of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanContent {
    /// Names and figures: models, tokens, how it ended.
    #[default]
    Metadata,
    /// What was said and answered too.
    Full,
}

/// Where plain HTTP may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlainHttp {
    /// To this machine alone.
    #[default]
    LoopbackOnly,
    /// Anywhere: whoever is on the way reads what is sent.
    Anywhere,
}
