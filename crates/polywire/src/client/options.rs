//! What a caller may choose about sending.

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
                #[doc = concat!("The same with another choice of `", stringify!($name), "`.")]
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
    /// The wait before the first time it is sent again, where the provider does not say; it doubles.
    backoff / with_backoff: Duration = Duration::from_millis(500);
    /// The longest wait that a provider may ask for.
    max_retry_after / with_max_retry_after: Duration = Duration::from_mins(1);
    /// How many exchanges go on at a time, in all clones of a client together.
    max_concurrency / with_max_concurrency: usize = 64;
    /// The time for one exchange.
    timeout / with_timeout: Duration = Duration::from_mins(5);
    /// The time for everything: planning, all attempts, exchanges and waits, and validation.
    deadline / with_deadline: Duration = Duration::from_mins(15);
    /// The most bytes of an answer.
    max_response_bytes / with_max_response_bytes: usize = 64 << 20;
    /// Where requests, keys among them, may go without encryption.
    plain_http / with_plain_http: PlainHttp = PlainHttp::LoopbackOnly;
    /// What spans tell beside names and figures.
    record / with_record: SpanContent = SpanContent::Metadata;
}

/// What spans tell of an exchange.
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
