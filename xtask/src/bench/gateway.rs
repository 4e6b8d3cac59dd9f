//! What a hop through the gateway costs, beside nginx as a plain hop and `LiteLLM`, all in front of the emulator and in one run. The
//! gateway counts, limits, writes its ledger and its metrics as in production.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::load::{Load, Target, first_byte, load, median};
use crate::say;
use crate::server::{Server, program};
use crate::steps::{root, succeed};

/// Rounds of all hops, interleaved so that a slow moment of the machine meets them all.
const ROUNDS: usize = 5;
const SECONDS: usize = 2;
const CONNECTIONS: usize = 16;
const STREAMS: usize = 40;
const LITELLM: &str = "litellm[proxy]==1.106.2";
/// The key of `LiteLLM`; it needs this prefix.
const LITELLM_KEY: &str = "sk-bench";

/// A way to the emulator.
struct Hop<'a> {
    name: &'static str,
    url: String,
    key: &'a str,
    model: &'static str,
}

/// What was measured of a hop: one request at a time, many at once, and streams.
struct Measured {
    name: &'static str,
    alone: Duration,
    per_second: f64,
    first_byte: Duration,
}

pub(crate) fn bench() -> Result<()> {
    let folder = root().join("target/bench/gateway");
    fs::create_dir_all(&folder)?;
    let program = program("bench")?;
    let emulator = Server::emulator(&program)?;
    let (gateway, key) = gateway(&program, &folder, &emulator.url)?;
    let idle = gateway.memory()?;
    let nginx = nginx(&folder, &emulator.url)?;
    let litellm = litellm(&folder, &emulator.url)?;
    let hop = |name, url: &str, key, model| Hop { name, url: format!("{url}/v1/chat/completions"), key, model };
    let hops = [
        hop("direct", &emulator.url, "any", "gpt-4o"),
        hop("nginx", &nginx.url, "any", "gpt-4o"),
        hop("polywire, same protocol", &gateway.url, &key, "openai:chat/gpt-4o"),
        hop("polywire, across", &gateway.url, &key, "anthropic/claude-sonnet-4-5"),
        hop("LiteLLM", &litellm.url, LITELLM_KEY, "gpt-4o"),
    ];
    let measured = hops.iter().map(|hop| Rounds::new(hop, &folder)).collect::<Result<Vec<_>>>()?;
    let measured = Rounds::run(measured)?;
    report(&measured);
    say(&format!("memory of the gateway: {} MiB idle, {} MiB after the run", idle >> 10, gateway.memory()? >> 10));
    Ok(())
}

/// The measurements of one hop.
struct Rounds<'a> {
    hop: &'a Hop<'a>,
    whole: PathBuf,
    streamed: PathBuf,
    alone: Vec<Load>,
    crowd: Vec<Load>,
    streams: Vec<Duration>,
}

impl<'a> Rounds<'a> {
    fn new(hop: &'a Hop<'a>, folder: &Path) -> Result<Self> {
        let file = |name: &str, stream: bool| -> Result<PathBuf> {
            let path = folder.join(format!("{}-{name}.json", hop.name.replace([' ', ','], "")));
            fs::write(&path, body(hop.model, stream).to_string())?;
            Ok(path)
        };
        let (whole, streamed) = (file("whole", false)?, file("stream", true)?);
        Ok(Self { hop, whole, streamed, alone: Vec::new(), crowd: Vec::new(), streams: Vec::new() })
    }

    fn run(mut all: Vec<Self>) -> Result<Vec<Measured>> {
        for round in 0..=ROUNDS {
            say(&format!("    round {round} of {ROUNDS}{}", if round == 0 { " (warm-up, not counted)" } else { "" }));
            for rounds in &mut all {
                rounds.round(round > 0)?;
            }
        }
        all.into_iter().map(Self::medians).collect()
    }

    fn round(&mut self, is_counted: bool) -> Result<()> {
        let target = |body| Target { url: self.hop.url.clone(), key: self.hop.key, body };
        let seconds = if is_counted { SECONDS } else { 1 };
        let alone = load(&target(&self.whole), 1, seconds)?;
        let crowd = load(&target(&self.whole), CONNECTIONS, seconds)?;
        let stream = first_byte(&target(&self.streamed), STREAMS)?;
        if is_counted {
            self.alone.push(alone);
            self.crowd.push(crowd);
            self.streams.push(stream);
        }
        Ok(())
    }

    fn medians(self) -> Result<Measured> {
        let mut rates: Vec<f64> = self.crowd.iter().map(|load| load.per_second).collect();
        rates.sort_by(f64::total_cmp);
        Ok(Measured {
            name: self.hop.name,
            alone: median(self.alone.iter().map(|load| load.median).collect())?,
            per_second: rates.get(rates.len() / 2).copied().unwrap_or_default(),
            first_byte: median(self.streams)?,
        })
    }
}

/// A request as an agent sends it: instructions, some turns, a tool.
fn body(model: &str, stream: bool) -> Value {
    let said = |role: &str, text: &str| json!({"role": role, "content": text.repeat(4)});
    json!({
        "model": model,
        "stream": stream,
        "messages": [
            said("system", "You help people to plan their day. Answer briefly and say what you do not know. "),
            said("user", "Where should I go if it rains in the afternoon and I have two hours? "),
            said("assistant", "The museum near the station is open until six and needs no reservation. "),
            said("user", "And if it stays dry? "),
        ],
        "tools": [{"type": "function", "function": {
            "name": "weather",
            "description": "The weather of a place, hour by hour.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}},
                "required": ["place"]
            }
        }}],
        "tool_choice": "none"
    })
}

fn report(measured: &[Measured]) {
    let of = |name: &str| measured.iter().find(|hop| hop.name == name);
    let (Some(direct), Some(nginx), Some(litellm)) = (of("direct"), of("nginx"), of("LiteLLM")) else { return };
    let added = |hop: &Measured| hop.alone.saturating_sub(direct.alone).as_secs_f64();
    say("hop | p50 | added | × nginx's | requests/s, 16 connections | × nginx's | × LiteLLM's | first byte | × direct");
    for hop in measured {
        say(&format!(
            "{} | {:.0?} | {:.0} µs | {:.2} | {:.0} | {:.2} | {:.1} | {:.0?} | {:.2}",
            hop.name,
            hop.alone,
            added(hop) * 1e6,
            added(hop) / added(nginx),
            hop.per_second,
            hop.per_second / nginx.per_second,
            hop.per_second / litellm.per_second,
            hop.first_byte,
            hop.first_byte.as_secs_f64() / direct.first_byte.as_secs_f64(),
        ));
    }
}

/// A gateway with a ledger in a file, and a key with every limit.
fn gateway(program: &Path, folder: &Path, emulator: &str) -> Result<(Server, String)> {
    let home = folder.join("home");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home)?;
    let store = home.join("ledger.db");
    let limits =
        ["--requests-per-minute", "100000000", "--tokens-per-minute", "4000000000", "--usd-per-day", "100000000"];
    let key = Server::create_key(program, &home, &store, "bench", &limits)?;
    Ok((Server::gateway_before(program, &home, &store, emulator)?, key))
}

/// nginx as a plain hop with kept connections.
fn nginx(folder: &Path, emulator: &str) -> Result<Server> {
    let port = free_port()?;
    let address = emulator.trim_start_matches("http://");
    let configuration = format!(
        "daemon off;\nworker_processes auto;\npid nginx.pid;\nerror_log stderr;\nevents {{ worker_connections 4096; }}\n\
         http {{\n  access_log off;\n  client_body_temp_path body;\n  proxy_temp_path proxy;\n  fastcgi_temp_path fastcgi;\n  \
         uwsgi_temp_path uwsgi;\n  scgi_temp_path scgi;\n  upstream emulator {{ server {address}; keepalive 64; }}\n  \
         server {{\n    listen 127.0.0.1:{port};\n    keepalive_requests 1000000000;\n    location / {{\n      \
         proxy_pass http://emulator;\n      proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      \
         proxy_buffering off;\n    }}\n  }}\n}}\n"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-c").arg(&file).stderr(Stdio::null());
    Server::on_port(&mut command, port).context("nginx does not run (Debian: nginx)")
}

/// `LiteLLM` from `PyPI`.
fn litellm(folder: &Path, emulator: &str) -> Result<Server> {
    let venv = folder.join("venv");
    let installed = folder.join("litellm.installed");
    if !fs::read(&installed).is_ok_and(|version| version == LITELLM.as_bytes()) {
        say("    installing LiteLLM into target/bench, once");
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", LITELLM];
        succeed(Command::new(venv.join("bin/python")).args(pip))?;
        fs::write(installed, LITELLM)?;
    }
    let port = free_port()?;
    let file = folder.join("litellm.yaml");
    let model = json!({"model": "openai/gpt-4o", "api_base": format!("{emulator}/v1"), "api_key": "any"});
    let configuration = json!({
        "model_list": [{"model_name": "gpt-4o", "litellm_params": model}],
        "general_settings": {"master_key": LITELLM_KEY},
    });
    // JSON is YAML.
    fs::write(&file, configuration.to_string())?;
    let mut command = Command::new(venv.join("bin/litellm"));
    command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--config"]).arg(&file);
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").current_dir(folder).stderr(Stdio::null());
    Server::on_port(&mut command, port)
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

impl Server {
    /// Starts a server that listens on this port in the end.
    fn on_port(command: &mut Command, port: u16) -> Result<Self> {
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let mut server = Self { process, url: format!("http://127.0.0.1:{port}") };
        let until = Instant::now() + Duration::from_mins(2);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if server.process.try_wait()?.is_some() || Instant::now() > until {
                bail!("nothing listens on port {port}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// The resident memory in KiB.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no memory is reported")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}
