//! Counters in Redis, which replicas share: one script admits a request by all limits of its key at once, so that replicas together hold
//! one limit.

use std::time::Duration;

use redis::Script;
use redis::aio::ConnectionManager;

use super::{Exceeded, budget_exceeded, rate};
use crate::clock::{Period, unix_ms};
use crate::key::KeyLimits;
use crate::store::Spent;

/// Admits a request by the generic cell rate algorithm, with the clock of Redis. Keys: bucket of requests, bucket of tokens, spent today,
/// this month, in total. Arguments: requests per minute, tokens per minute (0 for none), tokens, and the three budgets in billionths of a
/// dollar (-1 for none). Returns which limit is exceeded (0 for none), and the time to wait in milliseconds.
const ADMIT: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local minute = 60000000
for index = 1, 3 do
    local budget = tonumber(ARGV[3 + index])
    if budget >= 0 and tonumber(redis.call('GET', KEYS[2 + index]) or '0') >= budget then return {2 + index, 0} end
end
local counts = {1, tonumber(ARGV[3])}
local at = {}
for index = 1, 2 do
    local rate = tonumber(ARGV[index])
    if rate > 0 then
        local cost = minute * counts[index] / rate
        local level = math.max(tonumber(redis.call('GET', KEYS[index]) or '0') - now, 0)
        local wait = level + math.min(cost, minute) - minute
        if wait > 0 then return {index, math.ceil(wait / 1000)} end
        at[index] = now + level + cost
    end
end
for index = 1, 2 do
    if at[index] then
        redis.call('SET', KEYS[index], string.format('%.0f', at[index]), 'PX', math.ceil((at[index] - now) / 1000) + 1000)
    end
end
return {0, 0}
";

/// Adds what a request used beyond its estimate. Keys as above. Arguments: tokens per minute, difference of tokens, cost, and the times to
/// live of the day and the month in seconds.
const SETTLE: &str = r"
local rate = tonumber(ARGV[1])
if rate > 0 then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local at = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now) + 60000000 * tonumber(ARGV[2]) / rate
    if at > now then redis.call('SET', KEYS[2], string.format('%.0f', at), 'PX', math.ceil((at - now) / 1000) + 1000)
    else redis.call('DEL', KEYS[2]) end
end
redis.call('INCRBY', KEYS[3], ARGV[3])
redis.call('EXPIRE', KEYS[3], ARGV[4])
redis.call('INCRBY', KEYS[4], ARGV[3])
redis.call('EXPIRE', KEYS[4], ARGV[5])
redis.call('INCRBY', KEYS[5], ARGV[3])
return 0
";

/// A Redis that does not answer within this time is taken for gone.
const TIMEOUT: Duration = Duration::from_secs(1);
const DAY_SECONDS: i64 = 86_400;

/// A connection to Redis, which connects again by itself.
#[derive(Clone)]
pub(crate) struct RedisCounters {
    connection: ConnectionManager,
}

impl std::fmt::Debug for RedisCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedisCounters")
    }
}

/// Redis cannot be reached. The message has no URL, which may have a password.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl RedisCounters {
    /// Connects, and starts with what the ledger knows where Redis knows nothing.
    pub(crate) async fn open(url: &str, spent: &[Spent]) -> Result<Self, Unreachable> {
        let client =
            redis::Client::open(url).map_err(|_| Unreachable("the URL of the counters is invalid".to_owned()))?;
        let connected = tokio::time::timeout(TIMEOUT * 5, client.get_connection_manager()).await;
        let connection = connected.map_err(|_| no_answer())?.map_err(failed)?;
        let counters = Self { connection };
        let period = Period::at(unix_ms());
        for row in spent {
            let [_, _, day, month, total] = names(&row.key, period);
            let lives = [(day, row.day, 2 * DAY_SECONDS), (month, row.month, 40 * DAY_SECONDS), (total, row.total, 0)];
            for (name, value, seconds) in lives {
                let mut command = redis::cmd("SET");
                command.arg(name).arg(value).arg("NX");
                if seconds > 0 {
                    command.arg("EX").arg(seconds);
                }
                let mut connection = counters.connection.clone();
                command.query_async::<()>(&mut connection).await.map_err(failed)?;
            }
        }
        Ok(counters)
    }

    /// Admits a request of a key.
    pub(crate) async fn admit(
        &self,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
    ) -> Result<Result<(), Exceeded>, Unreachable> {
        let script = Script::new(ADMIT);
        let mut call = script.prepare_invoke();
        for name in names(key, Period::at(unix_ms())) {
            call.key(name);
        }
        call.arg(limits.requests_per_minute.unwrap_or(0)).arg(limits.tokens_per_minute.unwrap_or(0)).arg(tokens);
        let budgets = [limits.usd_per_day, limits.usd_per_month, limits.usd_total];
        for budget in budgets {
            call.arg(budget.map_or(-1, super::nanos));
        }
        let mut connection = self.connection.clone();
        let answered = tokio::time::timeout(TIMEOUT, call.invoke_async::<(u8, u64)>(&mut connection)).await;
        let (exceeded, wait) = answered.map_err(|_| no_answer())?.map_err(failed)?;
        let wait = Duration::from_millis(wait);
        let limit =
            |limit: Option<u32>, unit: &str| rate(&format!("{} {unit} per minute", limit.unwrap_or(0)), Some(wait));
        Ok(match exceeded {
            0 => Ok(()),
            1 => Err(limit(limits.requests_per_minute, "requests")),
            2 => Err(limit(limits.tokens_per_minute, "tokens")),
            number => {
                let what = ["of the day", "of the month", "of the key"];
                let index = usize::from(number.saturating_sub(3));
                let budget = budgets.get(index).copied().flatten().unwrap_or_default();
                Err(budget_exceeded(what.get(index).copied().unwrap_or_default(), budget))
            }
        })
    }

    /// Adds what a request used beyond its estimate.
    pub(crate) async fn settle(
        &self,
        key: &str,
        tokens_per_minute: u32,
        more_tokens: i64,
        cost_nanos: i64,
    ) -> Result<(), Unreachable> {
        let script = Script::new(SETTLE);
        let mut call = script.prepare_invoke();
        for name in names(key, Period::at(unix_ms())) {
            call.key(name);
        }
        call.arg(tokens_per_minute).arg(more_tokens).arg(cost_nanos).arg(2 * DAY_SECONDS).arg(40 * DAY_SECONDS);
        let mut connection = self.connection.clone();
        let answered = tokio::time::timeout(TIMEOUT, call.invoke_async::<()>(&mut connection)).await;
        answered.map_err(|_| no_answer())?.map_err(failed)
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
