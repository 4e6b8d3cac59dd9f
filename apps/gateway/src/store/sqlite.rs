//! The store in one `SQLite` file. A thread owns the connection and commits the rows of concurrent requests together.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tokio::sync::{mpsc, oneshot};

use super::{LedgerRow, OnFailure, Spent, StoreError, UsageRow};
use crate::key::Key;

/// Steps from one version of the file to the next. Steps are added, never changed.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE keys (id TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT;
    CREATE TABLE requests (
        id TEXT PRIMARY KEY, received_at INTEGER NOT NULL, key TEXT NOT NULL, protocol TEXT NOT NULL, asked TEXT NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL, route TEXT NOT NULL, status INTEGER NOT NULL, outcome TEXT NOT NULL,
        stream INTEGER NOT NULL, attempts INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        estimated INTEGER NOT NULL, cost_nanos INTEGER, changes INTEGER NOT NULL, wider INTEGER NOT NULL,
        narrower INTEGER NOT NULL, first_byte_ms INTEGER, total_ms INTEGER NOT NULL, overhead_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX requests_by_time ON requests (received_at);
    CREATE INDEX requests_by_key ON requests (key, received_at);
"];

/// A finished row is never replaced; an open one is replaced by its end. A row that may have been written although the store failed is
/// replaced by the refusal of its request.
const APPEND: &str = "
    INSERT INTO requests VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
    ON CONFLICT (id) DO UPDATE SET (provider, model, route, status, outcome, attempts, input_tokens, output_tokens, estimated,
        cost_nanos, changes, wider, narrower, first_byte_ms, total_ms, overhead_us)
        = (excluded.provider, excluded.model, excluded.route, excluded.status, excluded.outcome, excluded.attempts,
        excluded.input_tokens, excluded.output_tokens, excluded.estimated, excluded.cost_nanos, excluded.changes, excluded.wider,
        excluded.narrower, excluded.first_byte_ms, excluded.total_ms, excluded.overhead_us)
    WHERE requests.outcome = 'open' AND excluded.outcome <> 'open' OR excluded.outcome = 'refused'";

/// Rows of one transaction.
const BATCH: usize = 512;
/// Rows that wait for a store that fails.
const MAX_BACKLOG: usize = 100_000;
/// Jobs that wait for the thread.
const QUEUE: usize = 8_192;

type Waiter = Option<oneshot::Sender<Result<(), StoreError>>>;

enum Job {
    Append(Box<LedgerRow>, OnFailure, Waiter),
    Run(Box<dyn FnOnce(&mut Connection) + Send>),
}

/// A handle to the thread that owns the connection.
#[derive(Clone, Debug)]
pub(crate) struct Sqlite {
    jobs: mpsc::Sender<Job>,
    is_failing: Arc<AtomicBool>,
}

impl Sqlite {
    pub(crate) fn open(path: &str) -> Result<Self, StoreError> {
        if let Some(folder) = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_private_folder(folder).map_err(|error| StoreError(format!("{}: {error}", folder.display())))?;
        }
        Self::with(Connection::open(path).map_err(|error| StoreError(format!("{path}: {error}")))?)
    }

    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        Self::with(Connection::open_in_memory().map_err(failed)?)
    }

    fn with(mut connection: Connection) -> Result<Self, StoreError> {
        connection.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
        // A commit survives the end of the process; only a crash of the machine may lose the last ones.
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        migrate(&mut connection)?;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new().name("ledger".to_owned());
        let is_failing = Arc::new(AtomicBool::new(false));
        let failing = Arc::clone(&is_failing);
        thread.spawn(move || work(connection, queue, &failing)).map_err(|error| StoreError(error.to_string()))?;
        Ok(Self { jobs, is_failing })
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(crate) async fn append(&self, row: LedgerRow, on_failure: OnFailure) -> Result<(), StoreError> {
        let (waiter, done) = oneshot::channel();
        let job = Job::Append(Box::new(row), on_failure, Some(waiter));
        self.jobs.send(job).await.map_err(|_| stopped())?;
        done.await.map_err(|_| stopped())?
    }

    pub(crate) fn append_later(&self, row: LedgerRow) {
        let job = Job::Append(Box::new(row), OnFailure::Keep, None);
        if let Err(mpsc::error::TrySendError::Full(job)) = self.jobs.try_send(job)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let jobs = self.jobs.clone();
            // The thread ends with the process only.
            runtime.spawn(async move { jobs.send(job).await.ok() });
        }
    }

    pub(crate) async fn keys(&self) -> Result<Vec<Key>, StoreError> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached("SELECT row FROM keys ORDER BY id")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            let texts = rows.collect::<Result<Vec<_>, _>>()?;
            // A row of a later version is left to that version.
            Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
        })
        .await
    }

    pub(crate) async fn put_key(&self, key: Key) -> Result<(), StoreError> {
        let row = serde_json::to_string(&key).map_err(|error| StoreError(error.to_string()))?;
        self.run(move |connection| {
            connection.execute("INSERT OR REPLACE INTO keys VALUES (?1, ?2)", params![key.id, row]).map(drop)
        })
        .await
    }

    pub(crate) async fn spent(&self, day: i64, month: i64, key: Option<&str>) -> Result<Vec<Spent>, StoreError> {
        let key = key.map(str::to_owned);
        self.run(move |connection| {
            // The index is not used for a condition such as `?3 IS NULL OR key = ?3`.
            let filter = if key.is_some() { "key = ?3" } else { "?3 IS NULL" };
            let sql = format!(
                "SELECT key, SUM(iif(received_at >= ?1, cost_nanos, 0)), SUM(iif(received_at >= ?2, cost_nanos, 0)),
                SUM(cost_nanos) FROM requests WHERE cost_nanos IS NOT NULL AND {filter} GROUP BY key"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![day, month, key], |row| {
                Ok(Spent { key: row.get(0)?, day: row.get(1)?, month: row.get(2)?, total: row.get(3)? })
            })?;
            rows.collect()
        })
        .await
    }

    pub(crate) async fn usage(&self, since: i64, key: Option<String>) -> Result<Vec<UsageRow>, StoreError> {
        self.run(move |connection| {
            let sql = "SELECT date(received_at / 1000, 'unixepoch') AS day, key, provider, model, COUNT(*),
                SUM(outcome <> 'answered'), SUM(input_tokens), SUM(output_tokens), COALESCE(SUM(cost_nanos), 0), SUM(changes)
                FROM requests WHERE received_at >= ?1 AND (?2 IS NULL OR key = ?2)
                GROUP BY day, key, provider, model ORDER BY day, key, provider, model LIMIT 10000";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![since, key], usage_row)?;
            rows.collect()
        })
        .await
    }

    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        self.run(|connection| connection.query_row("SELECT 1", [], |_| Ok(())).optional().map(drop)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (waiter, done) = oneshot::channel();
        let job = Job::Run(Box::new(move |connection| {
            // Nobody waits any more if this fails.
            let _ = waiter.send(work(connection).map_err(failed));
        }));
        self.jobs.send(job).await.map_err(|_| stopped())?;
        done.await.map_err(|_| stopped())?
    }
}

fn usage_row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    Ok(UsageRow {
        day: row.get(0)?,
        key: row.get(1)?,
        provider: row.get(2)?,
        model: row.get(3)?,
        requests: row.get(4)?,
        failures: row.get(5)?,
        input_tokens: row.get(6)?,
        output_tokens: row.get(7)?,
        cost_nanos: row.get(8)?,
        changes: row.get(9)?,
    })
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(StoreError(format!("the file is of a later version ({version})")));
    }
    for (number, step) in MIGRATIONS.iter().enumerate().skip(version) {
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(step).map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", u32::try_from(number + 1).unwrap_or_default())
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// Runs jobs until the last handle is dropped.
fn work(mut connection: Connection, mut queue: mpsc::Receiver<Job>, is_failing: &AtomicBool) {
    let mut backlog: VecDeque<(Box<LedgerRow>, OnFailure)> = VecDeque::new();
    while let Some(first) = queue.blocking_recv() {
        let mut next = Some(first);
        let mut waiters: Vec<Waiter> = Vec::new();
        while let Some(job) = next.take() {
            match job {
                Job::Append(row, on_failure, waiter) => {
                    backlog.push_back((row, on_failure));
                    waiters.push(waiter);
                }
                Job::Run(run) => run(&mut connection),
            }
            if waiters.len() < BATCH {
                next = queue.try_recv().ok();
            }
        }
        if backlog.is_empty() {
            continue;
        }
        let written = write(&mut connection, &backlog).map_err(failed);
        is_failing.store(written.is_err(), Ordering::Relaxed);
        match written {
            Ok(()) => backlog.clear(),
            Err(_) => backlog.retain(|(_, on_failure)| *on_failure == OnFailure::Keep),
        }
        // Without a bound a store that fails for long would fill the memory.
        backlog.drain(..backlog.len().saturating_sub(MAX_BACKLOG));
        for waiter in waiters.into_iter().flatten() {
            let _ = waiter.send(written.clone());
        }
    }
    if !backlog.is_empty() {
        let _ = write(&mut connection, &backlog);
    }
}

fn write(connection: &mut Connection, rows: &VecDeque<(Box<LedgerRow>, OnFailure)>) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    {
        let mut statement = transaction.prepare_cached(APPEND)?;
        for (row, _) in rows {
            statement.execute(params![
                row.id,
                row.received_at,
                row.key,
                row.protocol,
                row.asked,
                row.provider,
                row.model,
                row.route,
                row.status,
                row.outcome,
                row.stream,
                row.attempts,
                row.input_tokens,
                row.output_tokens,
                row.estimated,
                row.cost_nanos,
                row.changes,
                row.wider,
                row.narrower,
                row.first_byte_ms,
                row.total_ms,
                row.overhead_us,
            ])?;
        }
    }
    transaction.commit()
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: rusqlite::Error) -> StoreError {
    StoreError(error.to_string())
}

fn stopped() -> StoreError {
    StoreError("its thread has ended".to_owned())
}

fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
