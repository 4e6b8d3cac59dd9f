//! One error for everything: its kind, a code, a place, a message and details.

use polywire::answer::{Fault, SchemaError};
use polywire::schema::{DialectError, LensError, ReadError, ReadErrorKind};
use polywire::wire::{DecodeError, FaultKind, WireError};
use polywire::{AskError, AskErrorKind, Attempt, Failed, LossError, ResolveError, SendError, TranslateError};
use polywire_emulator::NameError;
use serde_json::{Map, Value, json};

/// An error with everything that a language's exception shows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The kind, which decides the class of the exception.
    pub kind: ErrorKind,
    /// A stable word for programs, such as `missing-key`.
    pub code: String,
    /// The JSON Pointer of the place in the caller's document, or the name that is wrong; empty if there is none.
    pub at: String,
    /// The message for people.
    pub message: String,
    /// More about it: an object, such as `{"status": 429, "retry_after_ms": 1000}`.
    pub details: Box<Map<String, Value>>,
}

/// The kind of an [`Error`]: one class of exception each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is wrong.
    Input,
    /// A dialect, protocol, provider or model is unknown.
    UnknownName,
    /// A schema cannot be read.
    Schema,
    /// A value cannot be converted to or from a fitted schema.
    Conversion,
    /// A body is not valid in its protocol.
    Decode,
    /// Something would be lost that the options forbid to lose.
    Loss,
    /// A request got no response.
    Send,
    /// The provider returned an error.
    Provider,
    /// No valid value was returned.
    Answer,
    /// The model refused.
    Refused,
    /// The operation was cancelled, or the runtime was shut down.
    Cancelled,
}

impl ErrorKind {
    /// The name of the exception's class, in every language.
    pub fn class(self) -> &'static str {
        match self {
            Self::Input => "InputError",
            Self::UnknownName => "UnknownNameError",
            Self::Schema => "SchemaError",
            Self::Conversion => "ConversionError",
            Self::Decode => "DecodeError",
            Self::Loss => "LossError",
            Self::Send => "SendError",
            Self::Provider => "ProviderError",
            Self::Answer => "AnswerError",
            Self::Refused => "RefusedError",
            Self::Cancelled => "CancelledError",
        }
    }
}

impl Error {
    /// An error without a place and details.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>) -> Self {
        Self { kind, code: code.to_owned(), at: String::new(), message: message.into(), details: Box::default() }
    }

    /// The same with its place.
    #[must_use]
    pub fn at(mut self, at: impl Into<String>) -> Self {
        self.at = at.into();
        self
    }

    /// The same with one more detail.
    #[must_use]
    pub fn with(mut self, name: &str, detail: Value) -> Self {
        self.details.insert(name.to_owned(), detail);
        self
    }

    /// A wrong argument.
    pub fn input(code: &str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, code, message)
    }

    /// The operation was cancelled, or the runtime was shut down.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled", "the operation was cancelled")
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let (kind, code) = match error.kind() {
            ReadErrorKind::Json => (ErrorKind::Schema, "not-json"),
            ReadErrorKind::NotASchema => (ErrorKind::Schema, "not-a-schema"),
            ReadErrorKind::TooDeep => (ErrorKind::Schema, "too-deep"),
            ReadErrorKind::TooLarge => (ErrorKind::Schema, "too-large"),
            ReadErrorKind::UnknownDialect => (ErrorKind::UnknownName, "unknown-dialect"),
            ReadErrorKind::Unresolved => (ErrorKind::Schema, "unresolved"),
            _ => (ErrorKind::Schema, "schema"),
        };
        Self::new(kind, code, error.to_string()).at(error.at())
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Self {
        Self::new(ErrorKind::Schema, "not-a-schema", error.to_string()).at(error.at())
    }
}

impl From<DialectError> for Error {
    fn from(error: DialectError) -> Self {
        Self::new(ErrorKind::UnknownName, "unknown-dialect", error.to_string())
    }
}

impl From<LensError> for Error {
    fn from(error: LensError) -> Self {
        Self::new(ErrorKind::Conversion, "conversion", error.to_string()).at(error.at())
    }
}

impl From<ResolveError> for Error {
    fn from(error: ResolveError) -> Self {
        let (code, name) = match &error {
            ResolveError::UnknownProvider { name, .. } => ("unknown-provider", name.as_str()),
            ResolveError::UnknownSurface { name, .. } => ("unknown-surface", name.as_str()),
            ResolveError::NotServed { model, .. } => ("not-served", model.as_str()),
            _ => ("unknown-model", ""),
        };
        Self::new(ErrorKind::UnknownName, code, error.to_string()).at(name)
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::new(ErrorKind::UnknownName, "unknown-model", error.to_string()).at(error.name)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(ErrorKind::Decode, "not-the-protocol", error.to_string()).at(error.at())
    }
}

impl From<LossError> for Error {
    fn from(error: LossError) -> Self {
        let at = error.losses().first().map(|change| change.at.clone()).unwrap_or_default();
        Self::new(ErrorKind::Loss, "loss", error.to_string()).at(at).with("losses", json!(error.losses()))
    }
}

impl From<TranslateError> for Error {
    fn from(error: TranslateError) -> Self {
        match error {
            TranslateError::Json(_) => Self::new(ErrorKind::Decode, "not-json", error.to_string()),
            TranslateError::Decode(error) => error.into(),
            TranslateError::Resolve(error) => error.into(),
            TranslateError::Loss(error) => error.into(),
            _ => Self::new(ErrorKind::Decode, "translate", error.to_string()),
        }
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        let mut made = Self::new(ErrorKind::Provider, &error.kind.to_string(), error.message.clone())
            .at(error.param.clone().unwrap_or_default())
            .with("status", json!(error.status))
            .with("retryable", json!(error.retryable()));
        if let Some(code) = error.code {
            made = made.with("provider_code", json!(code));
        }
        if let Some(wait) = error.retry_after_ms {
            made = made.with("retry_after_ms", json!(wait));
        }
        if let Some(id) = error.request_id {
            made = made.with("request_id", json!(id));
        }
        if error.kind == FaultKind::ContentFilter {
            made.kind = ErrorKind::Refused;
        }
        made
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        let message = error.to_string();
        let retryable = error.retryable();
        let code = match error {
            SendError::Provider(error) => return (*error).into(),
            SendError::Loss(error) => return error.into(),
            SendError::MissingKey { provider, variables } => {
                return Self::new(ErrorKind::Send, "missing-key", message)
                    .at(provider)
                    .with("variables", json!(variables));
            }
            SendError::Credentials { provider, .. } => {
                return Self::new(ErrorKind::Send, "credentials", message).at(provider).with("retryable", json!(true));
            }
            SendError::AllModelsFailed(failed) => {
                return Self::new(ErrorKind::Send, "all-models-failed", message).with("failed", failures(&failed));
            }
            SendError::Address(_) => "address",
            SendError::Connection(_) => "connection",
            SendError::FirstByteTimeout(_) | SendError::IdleTimeout(_) => "timeout",
            SendError::Deadline(_) => "deadline",
            SendError::TooLarge(_) => "too-large",
            SendError::Cut(_) => "cut",
            SendError::Unreadable { .. } => "unreadable",
            _ => "send",
        };
        Self::new(ErrorKind::Send, code, message).with("retryable", json!(retryable))
    }
}

impl From<AskError> for Error {
    fn from(error: AskError) -> Self {
        let message = error.to_string();
        let AskError { kind, attempts, failed, .. } = error;
        let made = match kind {
            AskErrorKind::Send(error) => Self { message, ..error.into() },
            AskErrorKind::Schema(_) => Self::new(ErrorKind::Schema, "not-a-schema", message),
            AskErrorKind::Refused(words) => {
                Self::new(ErrorKind::Refused, "refused", message).with("refusal", json!(words))
            }
            AskErrorKind::Truncated => Self::new(ErrorKind::Answer, "truncated", message),
            AskErrorKind::UnexpectedToolCalls(response) => {
                Self::new(ErrorKind::Answer, "tool-calls", message).with("response", json!(response))
            }
            AskErrorKind::TooCostly => Self::new(ErrorKind::Answer, "too-costly", message),
            AskErrorKind::Invalid => {
                let faults = attempts.last().map(|attempt| attempt.faults.as_slice()).unwrap_or_default();
                let at = faults.first().map(|fault: &Fault| fault.at.clone()).unwrap_or_default();
                Self::new(ErrorKind::Answer, "invalid", message).at(at).with("errors", json!(faults))
            }
            AskErrorKind::Typed(_) => Self::new(ErrorKind::Answer, "typed", message),
            _ => Self::new(ErrorKind::Answer, "answer", message),
        };
        let made = made.with("attempts", attempts.iter().map(attempt).collect());
        if failed.is_empty() { made } else { made.with("failed", failures(&failed)) }
    }
}

/// The attempt as plain data.
pub(crate) fn attempt(attempt: &Attempt) -> Value {
    json!({
        "model": format!("{}/{}", attempt.plan.provider, attempt.plan.model),
        "response": attempt.response,
        "repairs": attempt.repairs,
        "errors": attempt.faults,
        "retries": attempt.retries,
        "cost_usd": attempt.cost.usd(),
    })
}

fn failures(failed: &[Failed]) -> Value {
    failed.iter().map(|failed| json!({"model": failed.model, "why": failed.why})).collect()
}
