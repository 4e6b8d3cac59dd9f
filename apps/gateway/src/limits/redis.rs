//! Counters in Redis, which replicas share: one script admits a request by all limits of its key at once, so that replicas together hold
//! one limit.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::Script;
use redis::aio::ConnectionManager;

use crate::clock::{Period, unix_ms};
use crate::key::{KeyLimits, random_hex};

/// Admits a request by the generic cell rate algorithm, with the clock of Redis. Keys: bucket of requests, bucket of tokens, spent today,
/// this month, in total. Arguments: requests per minute, tokens per minute (0 for none), tokens, and the three budgets in billionths of a
/// dollar (-1 for none). Returns which limit is exceeded (0 for none), the time to wait in milliseconds, the levels of both buckets in
/// microseconds, and what is spent. The sum in total never expires: where it is missing, Redis does not know the key (any more).
const ADMIT: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local minute = 60000000
local total = redis.call('GET', KEYS[5])
if not total then return {9, 0, 0, 0, 0, 0, 0} end
local spent = {tonumber(redis.call('GET', KEYS[3]) or '0'), tonumber(redis.call('GET', KEYS[4]) or '0'), tonumber(total)}
local level = {}
for index = 1, 2 do
    level[index] = math.max(tonumber(redis.call('GET', KEYS[index]) or '0') - now, 0)
end
local function answer(limit, wait) return {limit, wait, level[1], level[2], spent[1], spent[2], spent[3]} end
for index = 1, 3 do
    local budget = tonumber(ARGV[3 + index])
    if budget >= 0 and spent[index] >= budget then return answer(2 + index, 0) end
end
local counts = {1, tonumber(ARGV[3])}
local after = {}
for index = 1, 2 do
    local rate = tonumber(ARGV[index])
    if rate > 0 then
        local cost = minute * counts[index] / rate
        local wait = level[index] + math.min(cost, minute) - minute
        if wait > 0 then return answer(index, math.ceil(wait / 1000)) end
        after[index] = level[index] + cost
    end
end
for index = 1, 2 do
    if after[index] then
        level[index] = after[index]
        redis.call('SET', KEYS[index], string.format('%.0f', now + level[index]), 'PX', math.ceil(level[index] / 1000) + 1000)
    end
end
return answer(0, 0)
";

/// Adds what a request used beyond its estimate. Keys as above. Arguments: tokens per minute, difference of tokens, cost, and the times to
/// live of the day and the month in seconds. Sums that are missing stay missing, until they are raised to those of the ledger.
const SETTLE: &str = r"
local rate = tonumber(ARGV[1])
if rate > 0 then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local at = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now) + 60000000 * tonumber(ARGV[2]) / rate
    if at > now then redis.call('SET', KEYS[2], string.format('%.0f', at), 'PX', math.ceil((at - now) / 1000) + 1000)
    else redis.call('DEL', KEYS[2]) end
end
if redis.call('EXISTS', KEYS[5]) == 1 then
    redis.call('INCRBY', KEYS[3], ARGV[3])
    redis.call('EXPIRE', KEYS[3], ARGV[4])
    redis.call('INCRBY', KEYS[4], ARGV[3])
    redis.call('EXPIRE', KEYS[4], ARGV[5])
    redis.call('INCRBY', KEYS[5], ARGV[3])
end
return 0
";

/// Raises counters to at least these values. Keys as above. Arguments: the levels of both buckets in microseconds, the three sums, and the
/// times to live of the day and the month in seconds.
const RAISE: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for index = 1, 2 do
    local level = math.max(tonumber(redis.call('GET', KEYS[index]) or '0') - now, tonumber(ARGV[index]))
    if level > 0 then
        redis.call('SET', KEYS[index], string.format('%.0f', now + level), 'PX', math.ceil(level / 1000) + 1000)
    end
end
for index = 3, 5 do
    if tonumber(ARGV[index]) > tonumber(redis.call('GET', KEYS[index]) or '-1') then redis.call('SET', KEYS[index], ARGV[index]) end
end
redis.call('EXPIRE', KEYS[3], ARGV[6])
redis.call('EXPIRE', KEYS[4], ARGV[7])
return 0
";

/// A Redis that does not answer within this time is taken for gone.
const TIMEOUT: Duration = Duration::from_secs(1);
const DAY_SECONDS: i64 = 86_400;
/// After a failure requests do not wait for Redis again for this time.
const PAUSE_MS: i64 = 500;
/// The set of replicas, by the times at which they were heard last.
const REPLICAS: &str = "polywire:replicas";
/// A replica that was not heard for this time is taken for gone.
const SILENCE_MS: i64 = 20_000;

/// A connection to Redis, which connects again by itself.
#[derive(Clone)]
pub(crate) struct RedisCounters {
    connection: ConnectionManager,
    /// The name of this replica.
    replica: Arc<str>,
    replicas: Arc<AtomicU32>,
    /// The time until which Redis is taken for gone, in Unix milliseconds.
    gone_until: Arc<AtomicI64>,
}

impl std::fmt::Debug for RedisCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedisCounters")
    }
}

/// Redis cannot be reached. The message has no URL, which may have a password.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

/// The counters of a key: how full its buckets are, and billionths of a dollar that are spent today, this month, in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) requests: Duration,
    pub(super) tokens: Duration,
    pub(super) spent: [i64; 3],
}

/// What the shared counters say about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SharedAnswer {
    Admitted(Levels),
    /// A rate is exceeded, of tokens or of requests.
    Rate {
        levels: Levels,
        is_tokens: bool,
        wait: Duration,
    },
    /// The budget of the day, the month or the key is spent.
    Budget {
        levels: Levels,
        number: usize,
    },
    /// The key has no counters.
    Unknown,
}

/// The code of a missing key in `ADMIT`.
const UNKNOWN: i64 = 9;

impl RedisCounters {
    /// Connects.
    pub(crate) async fn open(url: &str) -> Result<Self, Unreachable> {
        let client =
            redis::Client::open(url).map_err(|_| Unreachable("the URL of the counters is invalid".to_owned()))?;
        let connected = tokio::time::timeout(TIMEOUT * 5, client.get_connection_manager()).await;
        let connection = connected.map_err(|_| no_answer())?.map_err(failed)?;
        let replica = random_hex::<8>().unwrap_or_default().into();
        let (replicas, gone_until) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicI64::new(0)));
        let counters = Self { connection, replica, replicas, gone_until };
        counters.beat().await;
        Ok(counters)
    }

    /// Says that this replica lives, and counts those that do. If Redis is gone, the last count stays.
    pub(super) async fn beat(&self) {
        let now = unix_ms();
        let mut pipe = redis::pipe();
        pipe.zadd(REPLICAS, &*self.replica, now).ignore();
        pipe.zrembyscore(REPLICAS, "-inf", now - SILENCE_MS).ignore();
        pipe.zcard(REPLICAS);
        let mut connection = self.connection.clone();
        if let Ok(Ok((count,))) = tokio::time::timeout(TIMEOUT, pipe.query_async::<(u32,)>(&mut connection)).await {
            self.replicas.store(count.max(1), Ordering::Relaxed);
        }
    }

    /// Takes this replica out of the set.
    pub(super) async fn leave(&self) {
        let mut command = redis::cmd("ZREM");
        command.arg(REPLICAS).arg(&*self.replica);
        let mut connection = self.connection.clone();
        // It is taken for gone soon anyway.
        let _ = tokio::time::timeout(TIMEOUT, command.query_async::<()>(&mut connection)).await;
    }

    pub(super) fn replicas(&self) -> u32 {
        self.replicas.load(Ordering::Relaxed)
    }

    /// Fails at once while Redis is taken for gone.
    pub(super) fn check(&self) -> Result<(), Unreachable> {
        if unix_ms() < self.gone_until.load(Ordering::Relaxed) { Err(no_answer()) } else { Ok(()) }
    }

    /// Waits for an answer, and notes whether Redis is there.
    async fn watched<T>(&self, answer: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Unreachable> {
        self.check()?;
        let answered = tokio::time::timeout(TIMEOUT, answer).await;
        let answered = answered.map_err(|_| no_answer()).and_then(|answered| answered.map_err(failed));
        if answered.is_err() {
            self.gone_until.store(unix_ms() + PAUSE_MS, Ordering::Relaxed);
        }
        answered
    }

    /// Admits a request of a key.
    pub(super) async fn admit(&self, key: &str, limits: &KeyLimits, tokens: u64) -> Result<SharedAnswer, Unreachable> {
        static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(ADMIT));
        let mut call = SCRIPT.prepare_invoke();
        for name in names(key, Period::at(unix_ms())) {
            call.key(name);
        }
        call.arg(limits.requests_per_minute.unwrap_or(0)).arg(limits.tokens_per_minute.unwrap_or(0)).arg(tokens);
        for budget in [limits.usd_per_day, limits.usd_per_month, limits.usd_total] {
            call.arg(budget.map_or(-1, super::nanos));
        }
        let mut connection = self.connection.clone();
        let [code, wait, requests, tokens, spent @ ..] =
            self.watched(call.invoke_async::<[i64; 7]>(&mut connection)).await?;
        let positive = |value: i64| u64::try_from(value).unwrap_or_default();
        let levels = Levels {
            requests: Duration::from_micros(positive(requests)),
            tokens: Duration::from_micros(positive(tokens)),
            spent,
        };
        let wait = Duration::from_millis(positive(wait));
        Ok(match code {
            0 => SharedAnswer::Admitted(levels),
            1 => SharedAnswer::Rate { levels, is_tokens: false, wait },
            2 => SharedAnswer::Rate { levels, is_tokens: true, wait },
            UNKNOWN => SharedAnswer::Unknown,
            number => SharedAnswer::Budget { levels, number: usize::try_from(number - 3).unwrap_or_default() },
        })
    }

    /// Adds what a request used beyond its estimate.
    pub(super) async fn settle(
        &self,
        key: &str,
        tokens_per_minute: u32,
        more_tokens: i64,
        cost_nanos: i64,
    ) -> Result<(), Unreachable> {
        static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(SETTLE));
        let mut call = SCRIPT.prepare_invoke();
        for name in names(key, Period::at(unix_ms())) {
            call.key(name);
        }
        call.arg(tokens_per_minute).arg(more_tokens).arg(cost_nanos).arg(2 * DAY_SECONDS).arg(40 * DAY_SECONDS);
        let mut connection = self.connection.clone();
        self.watched(call.invoke_async::<()>(&mut connection)).await
    }

    /// Raises the counters of a key to at least these.
    pub(super) async fn raise(&self, key: &str, levels: &Levels) -> Result<(), Unreachable> {
        static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(RAISE));
        let mut call = SCRIPT.prepare_invoke();
        for name in names(key, Period::at(unix_ms())) {
            call.key(name);
        }
        for level in [levels.requests, levels.tokens] {
            call.arg(u64::try_from(level.as_micros()).unwrap_or(u64::MAX));
        }
        for spent in levels.spent {
            call.arg(spent);
        }
        call.arg(2 * DAY_SECONDS).arg(40 * DAY_SECONDS);
        let mut connection = self.connection.clone();
        self.watched(call.invoke_async::<()>(&mut connection)).await
    }
}

/// The names of a key's counters. The braces keep them on one node of a cluster.
fn names(key: &str, period: Period) -> [String; 5] {
    let name = |what: &str| format!("polywire:{{{key}}}:{what}");
    [
        name("requests"),
        name("tokens"),
        name(&format!("day:{}", period.day)),
        name(&format!("month:{}", period.month)),
        name("total"),
    ]
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: redis::RedisError) -> Unreachable {
    Unreachable(format!("the counters failed: {}", error.category()))
}

fn no_answer() -> Unreachable {
    Unreachable("the counters did not answer".to_owned())
}
