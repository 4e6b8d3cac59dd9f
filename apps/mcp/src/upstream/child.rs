//! A server as a child process. One that ends is started again, later each time.

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

use super::{Environment, Inbox};
use crate::lines::{Line, LineReader, write_line};
use crate::message::Message;
use crate::settings::Shared;

/// The first pause before a server is started again; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A server that ran so long starts with the first pause again.
const RAN_WELL: Duration = Duration::from_mins(1);
/// How long a server may take to end by itself after its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// What every server gets, whatever its configuration gives.
const BASIC: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TEMP",
    "TMP",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "SYSTEMROOT",
    "PATHEXT",
];

pub(super) struct ChildServer {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Environment,
}

pub(super) async fn run(own: ChildServer, mut messages: mpsc::Receiver<Message>, inbox: Inbox, shared: Arc<Shared>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let start = Instant::now();
        let reason = match own.spawn() {
            Ok((child, input, output)) => {
                match pump(&own, child, input, output, &mut messages, &inbox, &shared).await {
                    Ended::ByUs => return,
                    Ended::ByServer(reason) => reason,
                }
            }
            Err(error) => {
                // It will not be there a moment later either.
                inbox.down(format!("cannot start `{}`: {error}", own.program)).await;
                return;
            }
        };
        inbox.down(reason).await;
        if start.elapsed() > RAN_WELL {
            pause = FIRST_PAUSE;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            // The session is over; nothing is sent to a server that is down.
            message = messages.recv() => if message.is_none() { return },
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        inbox.up().await;
    }
}

enum Ended {
    ByUs,
    ByServer(String),
}

impl ChildServer {
    fn spawn(&self) -> std::io::Result<(Child, ChildStdin, ChildStdout)> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).kill_on_drop(true);
        if let Environment::Only(variables) = &self.environment {
            let basic = |(name, _): &(OsString, OsString)| name.to_str().is_some_and(|name| BASIC.contains(&name));
            command.env_clear().envs(std::env::vars_os().filter(basic)).envs(variables);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok((child, input, output)),
            _ => Err(std::io::Error::other("no pipes")),
        }
    }
}

async fn pump(
    own: &ChildServer,
    mut child: Child,
    input: ChildStdin,
    output: ChildStdout,
    messages: &mut mpsc::Receiver<Message>,
    inbox: &Inbox,
    shared: &Shared,
) -> Ended {
    // Both at once: a server may write before it reads.
    let ended = tokio::select! {
        ended = write(input, messages) => ended,
        ended = read(own, output, inbox, shared) => ended,
    };
    match ended {
        Side::Client => {
            // Its input is closed; a server that does not end by itself is killed.
            let _ = tokio::time::timeout(GRACE, child.wait()).await;
            Ended::ByUs
        }
        Side::Server(Some(reason)) => Ended::ByServer(reason),
        Side::Server(None) => Ended::ByServer(exit_reason(&mut child).await),
    }
}

/// Who ended the connection, and why if that is known.
enum Side {
    Client,
    Server(Option<String>),
}

async fn write(mut input: ChildStdin, messages: &mut mpsc::Receiver<Message>) -> Side {
    while let Some(message) = messages.recv().await {
        if write_line(&mut input, &message).await.is_err() {
            return Side::Server(None);
        }
    }
    Side::Client
}

async fn read(own: &ChildServer, output: ChildStdout, inbox: &Inbox, shared: &Shared) -> Side {
    let longest = shared.options.longest_message;
    let mut lines = LineReader::new(BufReader::with_capacity(1 << 16, output), longest);
    while let Some(line) = lines.next().await {
        match line {
            Line::Message(message) => inbox.message(message, None).await,
            Line::Noise { start, .. } => {
                (shared.log)(&format!("the server `{}` printed a line that is no message: {start}", own.name));
            }
            Line::TooLong { bytes } => {
                return Side::Server(Some(format!("it sent a message of {bytes} bytes, more than {longest}")));
            }
        }
    }
    Side::Server(None)
}

async fn exit_reason(child: &mut Child) -> String {
    match tokio::time::timeout(GRACE, child.wait()).await {
        Ok(Ok(status)) => status.to_string(),
        Ok(Err(_)) | Err(_) => "its output is closed".to_owned(),
    }
}
