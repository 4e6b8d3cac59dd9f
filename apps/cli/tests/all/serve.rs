//! `polywire serve` and `polywire keys` as processes: start, reload, keys of another process, kill and restart.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Home, json, output};

/// A gateway in a process of its own.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    lines: Vec<String>,
}

impl Served {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::start_with(home, arguments, &[])
    }

    fn start_with(home: &Home, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = home.polywire(&[&["serve", "--port", "0"], arguments].concat());
        command.envs(environment.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("standard output")).lines();
        let lines: Vec<String> = (0..2).map(|_| lines.next().expect("a line").expect("text")).collect();
        let address = lines[0].strip_prefix("listening on http://").expect("an address").to_owned();
        Self { child, address, lines }
    }

    fn send(&self, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, String)> {
        send(&self.address, method, path, key, body)
    }

    fn ask(&self, model: &str, key: &str) -> Option<(u16, String)> {
        ask(&self.address, model, key)
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

/// The status and body of a response; `None` if the connection fails.
fn send(address: &str, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n");
    stream.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}

fn ask(address: &str, model: &str, key: &str) -> Option<(u16, String)> {
    let body = format!(r#"{{"model": "{model}", "messages": [{{"role": "user", "content": "Hello?"}}]}}"#);
    send(address, "POST", "/v1/chat/completions", key, &body)
}

/// Without a key the emulator answers, and the gateway says so.
#[test]
fn serve_starts_without_keys_and_routes_by_the_command_line() {
    let home = Home::new("serve");
    let served = Served::start(&home, &["--route", "*=anthropic/claude-sonnet-4-5"]);
    assert!(served.lines[1].contains("the emulator answers"), "{:?}", served.lines);
    let (status, body) = served.ask("whatever", "").expect("a response");
    assert_eq!(status, 200, "{body}");
    assert_eq!(served.send("GET", "/ready", "", "").map(|(status, _)| status), Some(200));
    served.kill();
    let bad = home.run(&["serve", "--port", "0", "--route", "nothing"], &[]);
    assert_eq!(bad.status.code(), Some(2));
}

/// R-G4: keys of another process count at once, and after kills the usage has what was answered (`serve_kill` looks at every id).
#[test]
fn r_g4_keys_of_another_process_count_and_a_kill_loses_nothing() {
    let home = Home::new("serve-keys");
    let created = json(&home.run(&["keys", "create", "me", "--admin", "--json"], &[]));
    let key = created["key"].as_str().expect("a key").to_owned();
    let (answered, sent) = (AtomicU64::new(0), AtomicU64::new(0));
    for round in 1..=3 {
        let mut served = Served::start(&home, &[]);
        assert_eq!(served.ask("gpt-4o", "none").map(|(status, _)| status), Some(401));
        let (address, before) = (served.address.clone(), answered.load(Ordering::SeqCst));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        sent.fetch_add(1, Ordering::SeqCst);
                        match ask(&address, "gpt-4o", &key) {
                            Some((200, body)) if body.ends_with('}') => answered.fetch_add(1, Ordering::SeqCst),
                            Some((status, body)) => panic!("{status}: {body}"),
                            None => return,
                        };
                    }
                });
            }
            while answered.load(Ordering::SeqCst) < before + round {
                std::thread::yield_now();
            }
            served.child.kill().expect("killed");
            served.child.wait().expect("ended");
        });
    }
    let again = Served::start(&home, &[]);
    let (status, usage) = again.send("GET", "/usage", &key, "").expect("a response");
    assert_eq!(status, 200);
    let usage: serde_json::Value = serde_json::from_str(&usage).expect("JSON");
    let rows = usage["usage"].as_array().expect("rows").iter();
    let counted: u64 = rows.filter_map(|row| Some(row["requests"].as_u64()? - row["failures"].as_u64()?)).sum();
    let (answered, sent) = (answered.into_inner(), sent.into_inner());
    assert!((answered..=sent).contains(&counted), "{answered} answered, {counted} counted, {sent} sent");
    again.kill();
    let listed = output(&home.run(&["keys", "list"], &[]));
    assert!(listed.contains("valid") && !listed.contains(&key), "{listed}");
    let id = created["id"].as_str().expect("an id");
    assert!(output(&home.run(&["keys", "revoke", id], &[])).contains("is revoked"));
    assert!(output(&home.run(&["keys", "list"], &[])).contains("revoked"));
}

/// R-G6: spans and metrics reach a collector before a gateway that is told to stop has ended.
#[cfg(unix)]
#[test]
fn r_g6_telemetry_is_sent_before_the_gateway_ends() {
    let home = Home::new("serve-otlp");
    let collector = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let endpoint = format!("http://{}", collector.local_addr().expect("an address"));
    let served = Served::start_with(&home, &["--store", "memory"], &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    assert_eq!(served.ask("gpt-4o", "").map(|(status, _)| status), Some(200));
    let stopped = Command::new("kill").arg(served.child.id().to_string()).status().expect("a status");
    assert!(stopped.success());
    let mut received = BTreeMap::new();
    while received.len() < 2 {
        let (path, body) = collected(&collector);
        received.insert(path, body);
    }
    for (path, name) in [("/v1/traces", "gen_ai.usage.input_tokens"), ("/v1/metrics", "gen_ai.client.token.usage")] {
        assert!(received.get(path).is_some_and(|body| body.contains(name)), "{path}: {received:?}");
    }
    served.kill();
}

/// The path and body of the next request to a collector.
fn collected(collector: &TcpListener) -> (String, String) {
    let (mut stream, _) = collector.accept().expect("a connection");
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).expect("bytes");
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().expect("a length"));
        if bytes.len() >= head.len() + 4 + length {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").expect("written");
            return (head.split(' ').nth(1).expect("a path").to_owned(), text);
        }
        assert!(count > 0, "the request ended early");
    }
}

/// R-G6: a changed file is read without losing a request; a bad one changes nothing.
#[test]
fn r_g6_a_changed_configuration_is_reloaded_and_a_bad_one_is_not() {
    let home = Home::new("serve-reload");
    let file = home.0.join("work/gateway.toml");
    let write = |model: &str| {
        fs::write(&file, format!("[[serve.route]]\nname = \"m\"\nto = [\"{model}\"]\n")).expect("written");
    };
    write("openai/gpt-4o");
    let name = file.display().to_string();
    let served = Served::start(&home, &["--config", &name]);
    let served_by = |wanted: &str| {
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            served.ask("m", "").is_some_and(|(status, body)| status == 200 && body.contains(wanted))
        })
    };
    assert!(served_by("gpt-4o"));
    write("nobody/none");
    assert!(served_by("gpt-4o"), "the old configuration stays");
    write("anthropic/claude-sonnet-4-5");
    assert!(served_by("claude-sonnet-4-5"));
    served.kill();
    write("nobody/none");
    let checked = home.run(&["config", "check", &name], &[]);
    assert_eq!(checked.status.code(), Some(1));
    let text = output(&checked);
    assert!(text.contains(":3:") && text.contains("`nobody` is not a provider"), "{text}");
}
