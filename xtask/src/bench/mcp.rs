//! What the MCP proxy costs: the same server with it and without, interleaved in one run, on standard input and output.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::load::median;
use crate::say;
use crate::steps::root;

const TOOLS: usize = 500;
/// Rounds of both, so that a slow moment of the machine meets both.
const ROUNDS: usize = 8;
const LISTS: usize = 10;
const CALLS: usize = 100;
const AT_ONCE: usize = 200;
const LARGE: usize = 50 << 20;
const LONG_LINE: usize = 1 << 30;

/// Measures this program.
pub(crate) fn bench(program: &Path) -> Result<()> {
    let script = root().join("interop/mcp/many.py");
    let mut alone = Command::new("python3");
    alone.arg(&script).arg(TOOLS.to_string());
    let mut direct = Peer::start(alone)?;
    let mut proxied = Peer::start(behind(program, &script))?;
    let cold = proxied.time("tools/list", &json!({}))?;
    direct.time("tools/list", &json!({}))?;
    let (own, fitted) = (call("tool.7", &json!({"path": "a"})), strict_call());
    let mut times: [[Vec<Duration>; 2]; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (side, (peer, params)) in [(&mut direct, &own), (&mut proxied, &fitted)].into_iter().enumerate() {
            for _ in 0..LISTS {
                let time = peer.time("tools/list", &json!({}))?;
                record(&mut times, 0, side, time);
            }
            for _ in 0..CALLS {
                let time = peer.time("tools/call", params)?;
                record(&mut times, 1, side, time);
            }
            let time = peer.time_many(params, AT_ONCE)?;
            record(&mut times, 2, side, time);
        }
    }
    say(&format!("the first list of {TOOLS} tools, fitted: {cold:?}"));
    let names = [format!("list of {TOOLS} tools"), "call".to_owned(), format!("{AT_ONCE} calls at once")];
    for (name, [direct, proxied]) in names.into_iter().zip(times) {
        let (direct, proxied) = (median(direct)?, median(proxied)?);
        let ratio = proxied.as_secs_f64() / direct.as_secs_f64();
        say(&format!("{name}: {direct:?} without, {proxied:?} with the proxy, {ratio:.2} x"));
    }
    large_result(&mut proxied)?;
    long_line(program, &script)
}

/// A result that is held twice would need twice its size.
fn large_result(peer: &mut Peer) -> Result<()> {
    let before = peer.peak_memory()?;
    let response = peer.ask("tools/call", &call("large", &json!({"bytes": LARGE})))?;
    let received = response.len();
    let grown = peer.peak_memory()?.saturating_sub(before);
    say(&format!(
        "a result of {received} bytes: the peak of memory grows by {grown} bytes, {:.2} x",
        ratio(grown, received)
    ));
    Ok(())
}

/// A line without end is read to its end and skipped.
fn long_line(program: &Path, script: &Path) -> Result<()> {
    let mut peer = Peer::start(behind(program, script))?;
    let before = peer.peak_memory()?;
    let block = vec![b'x'; 1 << 20];
    for _ in 0..LONG_LINE / block.len() {
        peer.input.write_all(&block)?;
    }
    peer.input.write_all(b"\n")?;
    peer.time("tools/list", &json!({}))?;
    let grown = peer.peak_memory()?.saturating_sub(before);
    say(&format!(
        "a line of {LONG_LINE} bytes: the peak of memory grows by {grown} bytes, and the next request is answered"
    ));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a ratio to be read")]
fn ratio(one: usize, other: usize) -> f64 {
    one as f64 / other as f64
}

fn record(times: &mut [[Vec<Duration>; 2]; 3], kind: usize, side: usize, time: Duration) {
    if let Some(list) = times.get_mut(kind).and_then(|sides| sides.get_mut(side)) {
        list.push(time);
    }
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The same call in the fitted schema, where every property is required.
fn strict_call() -> Value {
    call("tool_7", &json!({"path": "a", "labels": null, "mode": null, "range": null, "tags": null}))
}

fn behind(program: &Path, script: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["mcp", "--for", "openai-strict", "--", "python3"]).arg(script).arg(TOOLS.to_string());
    command
}

/// A server, or the proxy before it, which ends with this.
struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Peer {
    fn start(mut command: Command) -> Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = piped.spawn().with_context(|| format!("{command:?} cannot be started"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else { bail!("no pipes") };
        let mut peer = Self { process, input, output: BufReader::with_capacity(1 << 16, output), next_id: 0 };
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        peer.ask("initialize", &client)?;
        Ok(peer)
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<()> {
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        Ok(writeln!(self.input, "{message}")?)
    }

    fn receive(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if !line.contains("\"result\"") || line.contains("\"isError\"") {
            bail!("no result: {}", line.chars().take(500).collect::<String>());
        }
        Ok(line)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.send(method, params)?;
        self.receive()
    }

    fn time(&mut self, method: &str, params: &Value) -> Result<Duration> {
        let start = Instant::now();
        self.ask(method, params)?;
        Ok(start.elapsed())
    }

    fn time_many(&mut self, params: &Value, count: usize) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..count {
            self.send("tools/call", params)?;
        }
        for _ in 0..count {
            self.receive()?;
        }
        Ok(start.elapsed())
    }

    /// The most memory that the process has had, in bytes.
    fn peak_memory(&self) -> Result<usize> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak of memory")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse::<usize>()? << 10)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
