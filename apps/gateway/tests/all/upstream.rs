//! A provider of `OpenAI`'s protocols on a socket of its own, for what the emulator does not do: silence, and bytes without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polywire::client::Environment;
use polywire_gateway::Gateway;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What it does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Reads the request and says nothing.
    Silent,
    /// Closes the connection without an answer.
    Closes,
    /// Begins a stream and falls silent until it is told to go on.
    Pauses,
    /// Streams words as fast as they are read.
    Floods,
}

/// A provider that ends with this.
pub(crate) struct Provider {
    pub(crate) gateway: Gateway,
    /// Bytes that the gateway took.
    pub(crate) written: Arc<AtomicUsize>,
    /// Lets a paused stream end.
    pub(crate) go_on: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Provider {
    /// Starts a provider and a gateway before it.
    pub(crate) async fn start(behaviour: Behaviour, lines: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (written, go_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let (counter, notify) = (Arc::clone(&written), Arc::clone(&go_on));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, behaviour, Arc::clone(&counter), Arc::clone(&notify)));
            }
        });
        let base = format!("http://{address}/v1");
        let environment = Environment::from_iter([("OPENAI_API_KEY", "any"), ("OPENAI_BASE_URL", &base)]);
        let options = crate::options(lines).with_environment(environment);
        let gateway = Gateway::start(options).await.expect("a gateway");
        Self { gateway, written, go_on, task }
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn event(delta: &str, finish: &str) -> String {
    let data = format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    );
    format!("{:x}\r\n{data}\r\n", data.len())
}

async fn answer(
    mut stream: TcpStream,
    behaviour: Behaviour,
    written: Arc<AtomicUsize>,
    go_on: Arc<Notify>,
) -> Option<()> {
    let mut head = Vec::new();
    let mut buffer = vec![0; 4096];
    // The bodies of these tests are short: they come with the head, or right after it.
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(buffer.get(..count)?);
    }
    match behaviour {
        Behaviour::Silent => std::future::pending().await,
        Behaviour::Closes => None,
        Behaviour::Pauses => {
            let begin = format!("{HEAD}{}", event("{\"role\":\"assistant\",\"content\":\"One\"}", "null"));
            stream.write_all(begin.as_bytes()).await.ok()?;
            go_on.notified().await;
            let data = "data: [DONE]\n\n";
            let end = format!("{}{:x}\r\n{data}\r\n0\r\n\r\n", event("{\"content\":\" two\"}", "\"stop\""), data.len());
            stream.write_all(end.as_bytes()).await.ok()
        }
        Behaviour::Floods => {
            stream.write_all(HEAD.as_bytes()).await.ok()?;
            let words = event(&format!("{{\"content\":\"{}\"}}", "word ".repeat(800)), "null");
            loop {
                stream.write_all(words.as_bytes()).await.ok()?;
                written.fetch_add(words.len(), Ordering::Relaxed);
            }
        }
    }
}

/// Waits until a count stays the same for half a second.
pub(crate) async fn settled(count: &AtomicUsize) -> usize {
    let mut last = usize::MAX;
    loop {
        let now = count.load(Ordering::Relaxed);
        if now == last {
            return now;
        }
        last = now;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
