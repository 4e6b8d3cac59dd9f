//! Keys and the ledger, in `SQLite` on one machine or in Postgres for several replicas. Ledger rows are idempotent by request id.

mod postgres;
mod sqlite;

use std::fmt;

use serde::Serialize;

use crate::key::Key;

use postgres::Postgres;
use sqlite::Sqlite;

/// A request in the ledger. It has no content.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are columns of a table")]
pub(crate) struct LedgerRow {
    pub(crate) id: String,
    /// Unix milliseconds.
    pub(crate) received_at: i64,
    pub(crate) key: String,
    pub(crate) protocol: String,
    /// The model in the request.
    pub(crate) asked: String,
    pub(crate) provider: String,
    /// The model that answered.
    pub(crate) model: String,
    pub(crate) route: String,
    pub(crate) status: i64,
    /// `open` until the request has ended.
    pub(crate) outcome: String,
    pub(crate) stream: bool,
    pub(crate) attempts: i64,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    /// Tokens are estimated from sizes.
    pub(crate) estimated: bool,
    /// Billionths of a US dollar; `None` if the price is not known.
    pub(crate) cost_nanos: Option<i64>,
    pub(crate) changes: i64,
    pub(crate) wider: i64,
    pub(crate) narrower: i64,
    pub(crate) first_byte_ms: Option<i64>,
    pub(crate) total_ms: i64,
    pub(crate) overhead_us: i64,
}

/// What a key has spent, in billionths of a US dollar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) key: String,
    pub(crate) day: i64,
    pub(crate) month: i64,
    pub(crate) total: i64,
}

/// A sum over requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct UsageRow {
    /// The day, as `YYYY-MM-DD`.
    pub(crate) day: String,
    pub(crate) key: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) requests: i64,
    pub(crate) failures: i64,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) cost_nanos: i64,
    pub(crate) changes: i64,
}

/// What happens to a row that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// It is written as soon as the store works again.
    Keep,
    /// It is forgotten: its request is refused.
    Discard,
}

/// The error of a store. It has no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreError(pub(crate) String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store failed: {}", self.0)
    }
}

impl std::error::Error for StoreError {}

/// A store of keys and ledger rows.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens a store: a path, `sqlite:PATH`, `postgres://…`, or `memory`.
    pub(crate) async fn open(place: &str) -> Result<Self, StoreError> {
        Ok(match place {
            "memory" => Self::Sqlite(Sqlite::in_memory()?),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Self::Postgres(Postgres::open(url).await?)
            }
            path => Self::Sqlite(Sqlite::open(path.strip_prefix("sqlite:").unwrap_or(path))?),
        })
    }

    /// Writes a row, and returns when it survives the end of this process.
    pub(crate) async fn append(&self, row: LedgerRow, on_failure: OnFailure) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.append(row, on_failure).await,
            Self::Postgres(store) => store.append(row, on_failure).await,
        }
    }

    /// Returns `true` if the last rows could not be written.
    pub(crate) fn is_failing(&self) -> bool {
        match self {
            Self::Sqlite(store) => store.is_failing(),
            Self::Postgres(store) => store.is_failing(),
        }
    }

    /// Writes a row without waiting.
    pub(crate) fn append_later(&self, row: LedgerRow) {
        match self {
            Self::Sqlite(store) => store.append_later(row),
            Self::Postgres(store) => store.append_later(row),
        }
    }

    /// All keys, revoked ones too.
    pub(crate) async fn keys(&self) -> Result<Vec<Key>, StoreError> {
        match self {
            Self::Sqlite(store) => store.keys().await,
            Self::Postgres(store) => store.keys().await,
        }
    }

    /// Creates or replaces a key.
    pub(crate) async fn put_key(&self, key: Key) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.put_key(key).await,
            Self::Postgres(store) => store.put_key(key).await,
        }
    }

    /// What every key, or one of them, has spent since these times, in Unix milliseconds.
    pub(crate) async fn spent(&self, day: i64, month: i64, key: Option<&str>) -> Result<Vec<Spent>, StoreError> {
        match self {
            Self::Sqlite(store) => store.spent(day, month, key).await,
            Self::Postgres(store) => store.spent(day, month, key).await,
        }
    }

    /// Sums by day, key and model since a time in Unix milliseconds.
    pub(crate) async fn usage(&self, since: i64, key: Option<String>) -> Result<Vec<UsageRow>, StoreError> {
        match self {
            Self::Sqlite(store) => store.usage(since, key).await,
            Self::Postgres(store) => store.usage(since, key).await,
        }
    }

    /// Fails if the store cannot be reached.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.ping().await,
            Self::Postgres(store) => store.ping().await,
        }
    }
}
