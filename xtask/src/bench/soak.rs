//! Many streams and many requests at once for a while: nothing fails, memory stays flat, and no key starves. Only loopback, and bounded
//! in time and count.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::http::Connection;
use crate::say;
use crate::server::{Server, program};
use crate::steps::root;

/// How much is asked.
struct Extent {
    profile: &'static str,
    streams: usize,
    requests: u64,
    time: Duration,
}

const LONG: Extent = Extent { profile: "bench", streams: 2_000, requests: 1_000_000, time: Duration::from_mins(10) };
const SHORT: Extent = Extent { profile: "dev", streams: 500, requests: 20_000, time: Duration::from_mins(1) };

/// Connections with whole requests beside the streams: most belong to one key, one to another.
const GREEDY: usize = 15;
/// The share of one of the many connections that the only one of the other key must have at least.
const FAIR: f64 = 0.5;
/// Growth of memory between the middle and the end of a run that is no leak yet: pools and buffers fill.
const GROWTH: f64 = 1.10;
const GROWTH_KIB: u64 = 8 << 10;
/// Threads with streams only wait; the stack of each is small.
const STACK: usize = 256 << 10;
const SAMPLE: Duration = Duration::from_secs(2);

/// What the threads share.
#[derive(Default)]
struct Counts {
    is_over: AtomicBool,
    streams: AtomicU64,
    greedy: AtomicU64,
    modest: AtomicU64,
    failures: Mutex<Vec<String>>,
}

impl Counts {
    fn fail(&self, what: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() < 20 {
            failures.push(what);
        }
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn requests(&self) -> u64 {
        self.greedy.load(Ordering::Relaxed) + self.modest.load(Ordering::Relaxed)
    }
}

/// `cargo xtask soak`: 2,000 streams and a million requests, or ten minutes.
pub(crate) fn long() -> Result<()> {
    soak(&LONG)
}

/// The form for CI: a minute.
pub(crate) fn short() -> Result<()> {
    soak(&SHORT)
}

fn soak(extent: &Extent) -> Result<()> {
    let folder = root().join("target/bench/soak");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let program = program(extent.profile)?;
    let emulator = Server::emulator(&program)?;
    let store = folder.join("ledger.db");
    let greedy = key(&program, &folder, &store, "greedy")?;
    let modest = key(&program, &folder, &store, "modest")?;
    let gateway = Server::gateway_before(&program, &folder, &store, &emulator.url)?;
    say(&format!("    idle: {} MiB", gateway.memory()? >> 10));
    let counts = Counts::default();
    let started = Instant::now();
    let mut memory: Vec<(Duration, u64)> = Vec::new();
    std::thread::scope(|scope| {
        let (url, counts) = (gateway.url.as_str(), &counts);
        for number in 0..extent.streams {
            let key = if number % 10 == 0 { &modest } else { &greedy };
            let worker = std::thread::Builder::new().stack_size(STACK);
            if let Err(error) = worker.spawn_scoped(scope, move || streams(url, key, counts)) {
                counts.fail(error.to_string());
            }
        }
        for _ in 0..GREEDY {
            let key = &greedy;
            scope.spawn(move || requests(url, key, counts, &counts.greedy));
        }
        let key = &modest;
        scope.spawn(move || requests(url, key, counts, &counts.modest));
        while !counts.is_over() {
            std::thread::sleep(SAMPLE);
            match gateway.memory() {
                Ok(now) => memory.push((started.elapsed(), now)),
                Err(error) => counts.fail(format!("{error:#}")),
            }
            let is_done = counts.requests() >= extent.requests && started.elapsed() >= extent.time / 10;
            if is_done || started.elapsed() >= extent.time {
                counts.is_over.store(true, Ordering::Relaxed);
            }
        }
    });
    let took = started.elapsed();
    report(&counts, &memory, took, gateway.memory()?);
    check_ledger(&gateway, &greedy, &modest, &counts)?;
    judge(&counts, &memory)
}

fn report(counts: &Counts, memory: &[(Duration, u64)], took: Duration, after: u64) {
    let (greedy, modest) = (counts.greedy.load(Ordering::Relaxed), counts.modest.load(Ordering::Relaxed));
    let streams = counts.streams.load(Ordering::Relaxed);
    say(&format!(
        "    {:.0} s: {streams} streams, {} requests ({greedy} + {modest})",
        took.as_secs_f64(),
        greedy + modest
    ));
    let every = (memory.len() / 10).max(1);
    let samples: Vec<String> =
        memory.iter().step_by(every).map(|(at, kib)| format!("{:.0} s {}", at.as_secs_f64(), kib >> 10)).collect();
    say(&format!("    memory in MiB: {}; after the last request {}", samples.join(", "), after >> 10));
}

fn judge(counts: &Counts, memory: &[(Duration, u64)]) -> Result<()> {
    let failures = counts.failures.lock().unwrap_or_else(PoisonError::into_inner);
    if !failures.is_empty() {
        bail!("requests failed: {}", failures.join("; "));
    }
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    let share = |counter: &AtomicU64, connections: usize| counter.load(Ordering::Relaxed) as f64 / connections as f64;
    let (greedy, modest) = (share(&counts.greedy, GREEDY), share(&counts.modest, 1));
    if modest < greedy * FAIR {
        bail!(
            "a key with one connection got {modest:.0} answers, each of another key's {GREEDY} connections {greedy:.0}"
        );
    }
    let middle = memory.get(memory.len() / 2).map(|(_, kib)| *kib).unwrap_or_default();
    let end = memory.last().map(|(_, kib)| *kib).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    let has_grown = end as f64 > middle as f64 * GROWTH && end > middle + GROWTH_KIB;
    if has_grown {
        bail!("memory grows: {} MiB in the middle, {} MiB at the end", middle >> 10, end >> 10);
    }
    Ok(())
}

/// Every answer is in the ledger, and nothing twice. Streams that the end of the run cut are there too.
fn check_ledger(gateway: &Server, greedy: &str, modest: &str, counts: &Counts) -> Result<()> {
    let mut answered = 0;
    for key in [greedy, modest] {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--fail", "--header"]).arg(format!("authorization: Bearer {key}"));
        let output = curl.arg(format!("{}/usage", gateway.url)).output().context("`curl` cannot be started")?;
        let usage: Value = serde_json::from_slice(&output.stdout).context("no usage is reported")?;
        let rows = usage.get("usage").and_then(Value::as_array).context("no usage is reported")?;
        let number = |row: &Value, name: &str| row.get(name).and_then(Value::as_u64).unwrap_or_default();
        answered += rows.iter().map(|row| number(row, "requests") - number(row, "failures")).sum::<u64>();
    }
    let expected = counts.requests() + counts.streams.load(Ordering::Relaxed);
    if answered != expected && counts.failures.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
        bail!("the ledger has {answered} answers, callers got {expected}");
    }
    Ok(())
}

/// Reads one stream after the other.
fn streams(url: &str, key: &str, counts: &Counts) {
    let body = body("openai:chat/gpt-4o+slow", true);
    let work = || -> Result<()> {
        let mut connection = Connection::open(url, key)?;
        while !counts.is_over() {
            let answer = connection.post("/v1/chat/completions", &body)?;
            if answer.status != 200 || !answer.body.ends_with(b"data: [DONE]\n\n") {
                bail!("a stream: status {}, {} bytes", answer.status, answer.body.len());
            }
            counts.streams.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    if let Err(error) = work() {
        counts.fail(format!("{error:#}"));
    }
}

/// Sends whole requests, in turns to a provider of the caller's protocol and of another.
fn requests(url: &str, key: &str, counts: &Counts, answered: &AtomicU64) {
    let bodies = [body("openai:chat/gpt-4o", false), body("anthropic/claude-sonnet-4-5", false)];
    let work = || -> Result<()> {
        let mut connection = Connection::open(url, key)?;
        for body in bodies.iter().cycle() {
            if counts.is_over() {
                break;
            }
            let answer = connection.post("/v1/chat/completions", body)?;
            if answer.status != 200 {
                bail!("a request: status {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    if let Err(error) = work() {
        counts.fail(format!("{error:#}"));
    }
}

fn body(model: &str, stream: bool) -> String {
    let question = "Where should I go if it rains in the afternoon and I have two hours?";
    json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": question}]}).to_string()
}

fn key(program: &Path, folder: &Path, store: &Path, name: &str) -> Result<String> {
    let limits = ["--requests-per-minute", "100000000", "--tokens-per-minute", "4000000000", "--concurrency", "10000"];
    Server::create_key(program, folder, store, name, &limits)
}
