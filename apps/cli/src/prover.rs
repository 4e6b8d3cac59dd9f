//! Proofs in a process of their own: one that takes too long or too much memory, or that breaks down, is ended, and the next
//! question goes to a new one. A thread could not be stopped.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
#[cfg(feature = "prove")]
use std::panic;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(feature = "prove")]
use anyhow::Result;
use polywire::schema::{FittedText, ToolShape};
#[cfg(feature = "prove")]
use polywire_testkit::prove::decide;
use polywire_testkit::prove::{Proof, Question, Reason, Undecided};

#[cfg(feature = "prove")]
use crate::Verdict;

/// The hidden command that answers questions.
pub(crate) const COMMAND: &str = "prove-questions";

/// How much memory a proof may take, in kilobytes. Canonical forms may grow with every union.
const MOST_KILOBYTES: u64 = 2 << 20;

/// How often a proof is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How many times its timeout a proof may take by the clock on the wall, on a machine that has other things to do.
const MOST_WAITING: u32 = 100;

/// The unit in which the kernel tells processor time: the same on every architecture that Rust has a standard library for.
const TICK: Duration = Duration::from_millis(10);

/// The stack of a proof: canonical forms are built by recursion.
#[cfg(feature = "prove")]
const STACK_BYTES: usize = 256 << 20;

/// Has proofs made, one at a time.
pub(crate) struct Prover {
    timeout: Duration,
    worker: Option<Worker>,
}

impl Prover {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { timeout, worker: None }
    }

    /// Compares what the caller asked for with what may come back, as far as that can be told in time.
    pub(crate) fn prove(&mut self, fitted: &FittedText, asked: &str, shape: ToolShape) -> Proof {
        self.ask(&Question::of(fitted, asked, shape)).unwrap_or_else(Proof::undecided)
    }

    fn ask(&mut self, question: &Question) -> Result<Proof, Undecided> {
        let broken = |error: io::Error| Reason::Fault.because(error.to_string());
        let mut worker = self.worker.take().map_or_else(Worker::start, Ok).map_err(broken)?;
        worker.questions.write_all(format!("{}\n", serde_json::json!(question)).as_bytes()).map_err(broken)?;
        let answer = worker.wait(self.timeout)?;
        // Whoever gave no answer is not asked again.
        self.worker = Some(worker);
        let unreadable = |error: serde_json::Error| Reason::Fault.because(error.to_string());
        serde_json::from_str::<Result<Proof, Undecided>>(&answer).map_err(unreadable)?
    }
}

/// A process that answers questions.
struct Worker {
    process: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let ends = process.stdin.take().zip(process.stdout.take());
        let (questions, stdout) = ends.ok_or_else(|| io::Error::other("a process without ends"))?;
        let (send, answers) = mpsc::channel();
        thread::Builder::new().spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(io::Result::ok);
            lines.all(|line| send.send(line).is_ok())
        })?;
        Ok(Self { process, questions, answers })
    }

    fn wait(&self, timeout: Duration) -> Result<String, Undecided> {
        let begun = (Instant::now(), self.worked());
        let taken = || match (begun.1, self.worked()) {
            (Some(before), Some(now)) => now.saturating_sub(before).max(begun.0.elapsed() / MOST_WAITING),
            (Some(_), None) | (None, _) => begun.0.elapsed(),
        };
        loop {
            let left = timeout.saturating_sub(taken());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(Reason::Fault.because("the judge broke down")),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(Reason::Time.because(format!("more than {} ms", timeout.as_millis())));
                }
                Err(RecvTimeoutError::Timeout) if self.kilobytes().is_some_and(|taken| taken > MOST_KILOBYTES) => {
                    return Err(Reason::Memory.because(format!("more than {} MB", MOST_KILOBYTES >> 10)));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// How much processor time the process has taken for itself, where the system tells. Unlike the clock on the wall it does not
    /// depend on what else the machine does, and so neither does the verdict. What the system does in its name is left out: that
    /// grows when others take the memory.
    fn worked(&self) -> Option<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).ok()?;
        // The name of the command stands in brackets and may hold anything. See proc_pid_stat(5): utime.
        let ticks = stat.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse::<u32>().ok()?;
        Some(TICK * ticks)
    }

    /// How much memory the process takes, where the system tells.
    fn kilobytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?.trim().parse().ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Answers questions until there are no more: the other end of a [`Prover`].
#[cfg(feature = "prove")]
pub(crate) fn answer(out: &mut dyn Write) -> Result<Verdict> {
    // What broke is told in the answer.
    panic::set_hook(Box::new(|_| {}));
    for line in io::stdin().lock().lines() {
        let question = serde_json::from_str::<Question>(&line?)?;
        let proof = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || decide(&question))?.join();
        let proof = proof.unwrap_or_else(|_| Err(Reason::Fault.because("the judge broke down")));
        writeln!(out, "{}", serde_json::json!(proof))?;
        out.flush()?;
    }
    Ok(Verdict::Fine)
}
