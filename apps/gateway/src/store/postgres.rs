//! The store in Postgres, which replicas share. A task writes the rows of concurrent requests together, and connects again when the
//! connection is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls};

use super::{LedgerRow, OnFailure, Spent, StoreError, UsageRow};
use crate::key::Key;

/// Steps from one version of the tables to the next. Steps are added, never changed.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE polywire_keys (id TEXT PRIMARY KEY, row TEXT NOT NULL);
    CREATE TABLE polywire_requests (
        id TEXT PRIMARY KEY, received_at BIGINT NOT NULL, key TEXT NOT NULL, protocol TEXT NOT NULL, asked TEXT NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL, route TEXT NOT NULL, status BIGINT NOT NULL, outcome TEXT NOT NULL,
        stream BOOLEAN NOT NULL, attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
        estimated BOOLEAN NOT NULL, cost_nanos BIGINT, changes BIGINT NOT NULL, wider BIGINT NOT NULL, narrower BIGINT NOT NULL,
        first_byte_ms BIGINT, total_ms BIGINT NOT NULL, overhead_us BIGINT NOT NULL
    );
    CREATE INDEX polywire_requests_by_time ON polywire_requests (received_at);
    CREATE INDEX polywire_requests_by_key ON polywire_requests (key, received_at);
"];

/// A finished row is never replaced; an open one is replaced by its end. A row that may have been written although the store failed is
/// replaced by the refusal of its request.
const APPEND: &str = "
    INSERT INTO polywire_requests SELECT * FROM UNNEST($1::TEXT[], $2::BIGINT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[],
        $7::TEXT[], $8::TEXT[], $9::BIGINT[], $10::TEXT[], $11::BOOLEAN[], $12::BIGINT[], $13::BIGINT[], $14::BIGINT[],
        $15::BOOLEAN[], $16::BIGINT[], $17::BIGINT[], $18::BIGINT[], $19::BIGINT[], $20::BIGINT[], $21::BIGINT[], $22::BIGINT[])
    ON CONFLICT (id) DO UPDATE SET (provider, model, route, status, outcome, attempts, input_tokens, output_tokens, estimated,
        cost_nanos, changes, wider, narrower, first_byte_ms, total_ms, overhead_us)
        = (excluded.provider, excluded.model, excluded.route, excluded.status, excluded.outcome, excluded.attempts,
        excluded.input_tokens, excluded.output_tokens, excluded.estimated, excluded.cost_nanos, excluded.changes, excluded.wider,
        excluded.narrower, excluded.first_byte_ms, excluded.total_ms, excluded.overhead_us)
    WHERE polywire_requests.outcome = 'open' AND excluded.outcome <> 'open' OR excluded.outcome = 'refused'";

/// The number of the lock under which one replica changes the tables.
const MIGRATION_LOCK: i64 = 0x706f_6c79;
const BATCH: usize = 512;
const MAX_BACKLOG: usize = 100_000;
const QUEUE: usize = 8_192;
/// A database that does not answer within this time is taken for gone.
const TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

type Waiter = Option<oneshot::Sender<Result<(), StoreError>>>;
type Job = (Box<LedgerRow>, OnFailure, Waiter);

/// A handle to the tables.
#[derive(Clone, Debug)]
pub(crate) struct Postgres {
    connection: Arc<Connection>,
    jobs: mpsc::Sender<Job>,
    is_failing: Arc<AtomicBool>,
}

/// A connection that is opened when it is needed.
#[derive(Debug)]
struct Connection {
    config: Config,
    client: Mutex<Option<Arc<Client>>>,
}

impl Connection {
    async fn client(&self) -> Result<Arc<Client>, StoreError> {
        let mut current = self.client.lock().await;
        if let Some(client) = current.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let connected = timeout(TIMEOUT, self.config.connect(NoTls)).await.map_err(|_| timed_out())?;
        let (client, connection) = connected.map_err(failed)?;
        // The task ends with the connection; the client knows that it is closed.
        tokio::spawn(async move { connection.await.ok() });
        let client = Arc::new(client);
        *current = Some(Arc::clone(&client));
        Ok(client)
    }
}

impl Postgres {
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        // An error of the parser may repeat the password.
        let config: Config = url.parse().map_err(|_| StoreError("the URL of the database is invalid".to_owned()))?;
        let connection = Arc::new(Connection { config, client: Mutex::default() });
        migrate(&*connection.client().await?).await?;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let is_failing = Arc::new(AtomicBool::new(false));
        tokio::spawn(work(Arc::clone(&connection), queue, Arc::clone(&is_failing)));
        Ok(Self { connection, jobs, is_failing })
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(crate) async fn append(&self, row: LedgerRow, on_failure: OnFailure) -> Result<(), StoreError> {
        let (waiter, done) = oneshot::channel();
        self.jobs.send((Box::new(row), on_failure, Some(waiter))).await.map_err(|_| stopped())?;
        done.await.map_err(|_| stopped())?
    }

    pub(crate) fn append_later(&self, row: LedgerRow) {
        if let Err(mpsc::error::TrySendError::Full(job)) = self.jobs.try_send((Box::new(row), OnFailure::Keep, None))
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let jobs = self.jobs.clone();
            runtime.spawn(async move { jobs.send(job).await.ok() });
        }
    }

    pub(crate) async fn keys(&self) -> Result<Vec<Key>, StoreError> {
        let client = self.connection.client().await?;
        let rows = within(client.query("SELECT row FROM polywire_keys ORDER BY id", &[])).await?;
        Ok(rows.iter().filter_map(|row| serde_json::from_str(row.try_get(0).ok()?).ok()).collect())
    }

    pub(crate) async fn put_key(&self, key: Key) -> Result<(), StoreError> {
        let row = serde_json::to_string(&key).map_err(|error| StoreError(error.to_string()))?;
        let sql = "INSERT INTO polywire_keys VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET row = excluded.row";
        let client = self.connection.client().await?;
        within(client.execute(sql, &[&key.id, &row])).await.map(drop)
    }

    pub(crate) async fn spent(&self, day: i64, month: i64, key: Option<&str>) -> Result<Vec<Spent>, StoreError> {
        let sql = "SELECT key, COALESCE(SUM(cost_nanos) FILTER (WHERE received_at >= $1), 0)::BIGINT,
            COALESCE(SUM(cost_nanos) FILTER (WHERE received_at >= $2), 0)::BIGINT, SUM(cost_nanos)::BIGINT
            FROM polywire_requests WHERE cost_nanos IS NOT NULL AND ($3::TEXT IS NULL OR key = $3) GROUP BY key";
        let client = self.connection.client().await?;
        let rows = within(client.query(sql, &[&day, &month, &key])).await?;
        let spent = rows.iter().map(|row| {
            Ok(Spent { key: row.try_get(0)?, day: row.try_get(1)?, month: row.try_get(2)?, total: row.try_get(3)? })
        });
        spent.collect::<Result<_, _>>().map_err(failed)
    }

    pub(crate) async fn usage(&self, since: i64, key: Option<String>) -> Result<Vec<UsageRow>, StoreError> {
        let sql = "SELECT to_char(to_timestamp(received_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, key, provider, model,
            COUNT(*), COUNT(*) FILTER (WHERE outcome <> 'answered'), SUM(input_tokens)::BIGINT, SUM(output_tokens)::BIGINT,
            COALESCE(SUM(cost_nanos), 0)::BIGINT, SUM(changes)::BIGINT
            FROM polywire_requests WHERE received_at >= $1 AND ($2::TEXT IS NULL OR key = $2)
            GROUP BY day, key, provider, model ORDER BY day, key, provider, model LIMIT 10000";
        let client = self.connection.client().await?;
        let rows = within(client.query(sql, &[&since, &key])).await?;
        let usage = rows.iter().map(|row| {
            Ok(UsageRow {
                day: row.try_get(0)?,
                key: row.try_get(1)?,
                provider: row.try_get(2)?,
                model: row.try_get(3)?,
                requests: row.try_get(4)?,
                failures: row.try_get(5)?,
                input_tokens: row.try_get(6)?,
                output_tokens: row.try_get(7)?,
                cost_nanos: row.try_get(8)?,
                changes: row.try_get(9)?,
            })
        });
        usage.collect::<Result<_, _>>().map_err(failed)
    }

    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let client = self.connection.client().await?;
        within(client.simple_query("SELECT 1")).await.map(drop)
    }
}

async fn migrate(client: &Client) -> Result<(), StoreError> {
    let prepare = format!(
        "SELECT pg_advisory_lock({MIGRATION_LOCK}); CREATE TABLE IF NOT EXISTS polywire_version (version BIGINT NOT NULL)"
    );
    within(client.batch_execute(&prepare)).await?;
    let row = within(client.query_opt("SELECT MAX(version) FROM polywire_version", &[])).await?;
    let version: i64 = row.and_then(|row| row.try_get::<_, Option<i64>>(0).ok().flatten()).unwrap_or_default();
    let version = usize::try_from(version).unwrap_or_default();
    if version > MIGRATIONS.len() {
        return Err(StoreError(format!("the tables are of a later version ({version})")));
    }
    for (number, step) in MIGRATIONS.iter().enumerate().skip(version) {
        let step = format!("BEGIN; {step}; INSERT INTO polywire_version VALUES ({}); COMMIT", number + 1);
        within(client.batch_execute(&step)).await?;
    }
    within(client.batch_execute(&format!("SELECT pg_advisory_unlock({MIGRATION_LOCK})"))).await
}

/// Writes rows until the last handle is dropped.
async fn work(connection: Arc<Connection>, mut queue: mpsc::Receiver<Job>, is_failing: Arc<AtomicBool>) {
    let mut backlog: Vec<(Box<LedgerRow>, OnFailure)> = Vec::new();
    let mut jobs = Vec::with_capacity(BATCH);
    loop {
        let received = if backlog.is_empty() {
            queue.recv_many(&mut jobs, BATCH).await
        } else {
            // Without another request, rows that wait are tried again nevertheless.
            timeout(RETRY_INTERVAL, queue.recv_many(&mut jobs, BATCH)).await.unwrap_or(1)
        };
        if received == 0 {
            break;
        }
        let mut waiters: Vec<Waiter> = Vec::with_capacity(jobs.len());
        for (row, on_failure, waiter) in jobs.drain(..) {
            backlog.push((row, on_failure));
            waiters.push(waiter);
        }
        let written = write(&connection, &backlog).await;
        is_failing.store(written.is_err(), Ordering::Relaxed);
        match written {
            Ok(()) => backlog.clear(),
            Err(_) => backlog.retain(|(_, on_failure)| *on_failure == OnFailure::Keep),
        }
        // Without a bound a database that fails for long would fill the memory.
        backlog.drain(..backlog.len().saturating_sub(MAX_BACKLOG));
        for waiter in waiters.into_iter().flatten() {
            let _ = waiter.send(written.clone());
        }
    }
    if !backlog.is_empty() {
        // The process ends; nobody is left to hear of a failure.
        let _ = write(&connection, &backlog).await;
    }
}

async fn write(connection: &Connection, rows: &[(Box<LedgerRow>, OnFailure)]) -> Result<(), StoreError> {
    // One statement cannot write a row twice; the end of a request is newer than its beginning.
    let mut by_id: BTreeMap<&str, &LedgerRow> = BTreeMap::new();
    for (row, _) in rows {
        let known = by_id.get(row.id.as_str());
        let is_newer = known.is_none_or(|known| known.outcome == "open" || row.outcome == "refused");
        if is_newer {
            by_id.insert(&row.id, row);
        }
    }
    let rows: Vec<&LedgerRow> = by_id.into_values().collect();
    let client = connection.client().await?;
    let statement = within(client.prepare_typed(APPEND, &[])).await?;
    macro_rules! column {
        ($field:ident) => {
            rows.iter().map(|row| &row.$field).collect::<Vec<_>>()
        };
    }
    let (id, received_at, key, protocol) = (column!(id), column!(received_at), column!(key), column!(protocol));
    let (asked, provider, model, route) = (column!(asked), column!(provider), column!(model), column!(route));
    let (status, outcome, stream, attempts) = (column!(status), column!(outcome), column!(stream), column!(attempts));
    let (input, output, estimated) = (column!(input_tokens), column!(output_tokens), column!(estimated));
    let (cost, changes, wider, narrower) = (column!(cost_nanos), column!(changes), column!(wider), column!(narrower));
    let (first, total, overhead) = (column!(first_byte_ms), column!(total_ms), column!(overhead_us));
    within(client.execute(
        &statement,
        &[
            &id,
            &received_at,
            &key,
            &protocol,
            &asked,
            &provider,
            &model,
            &route,
            &status,
            &outcome,
            &stream,
            &attempts,
            &input,
            &output,
            &estimated,
            &cost,
            &changes,
            &wider,
            &narrower,
            &first,
            &total,
            &overhead,
        ],
    ))
    .await
    .map(drop)
}

async fn within<T>(work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, StoreError> {
    timeout(TIMEOUT, work).await.map_err(|_| timed_out())?.map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: tokio_postgres::Error) -> StoreError {
    StoreError(match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    })
}

fn timed_out() -> StoreError {
    StoreError("the database did not answer".to_owned())
}

fn stopped() -> StoreError {
    StoreError("its task has ended".to_owned())
}
