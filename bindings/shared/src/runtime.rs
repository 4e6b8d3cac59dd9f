//! One runtime for everything that waits, and operations on it that can be waited for and cancelled from any thread.

use std::future::Future;
use std::pin::Pin;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;

use crate::error::Error;

/// Threads that wait for sockets; work that needs a processor runs on threads of its own.
const THREADS: usize = 2;

/// How long a shutdown waits for work that cannot be cancelled.
const SHUTDOWN: Duration = Duration::from_secs(2);

static SHARED: Mutex<State> = Mutex::new(State::Fresh);

enum State {
    Fresh,
    /// With the process that started it: threads do not survive a fork.
    Running(u32, Runtime),
    Ended,
}

/// The runtime, which the first call starts.
pub(crate) fn handle() -> Result<Handle, Error> {
    let mut state = lock(&SHARED);
    if matches!(&*state, State::Running(starter, _) if *starter != process::id()) {
        // The threads of the parent are not there, so its runtime cannot be ended.
        std::mem::forget(std::mem::replace(&mut *state, State::Fresh));
    }
    match &*state {
        State::Running(_, runtime) => Ok(runtime.handle().clone()),
        State::Ended => Err(Error::cancelled()),
        State::Fresh => {
            let built =
                Builder::new_multi_thread().worker_threads(THREADS).thread_name("polywire").enable_all().build();
            let runtime = built.map_err(|error| Error::input("no-threads", error.to_string()))?;
            let handle = runtime.handle().clone();
            *state = State::Running(process::id(), runtime);
            Ok(handle)
        }
    }
}

/// Cancels everything that runs and ends the runtime. Later calls are refused. Call it before the language's own runtime ends.
pub fn shutdown() {
    let before = std::mem::replace(&mut *lock(&SHARED), State::Ended);
    if let State::Running(starter, runtime) = before {
        if starter == process::id() {
            runtime.shutdown_timeout(SHUTDOWN);
        } else {
            std::mem::forget(runtime);
        }
    }
}

/// Work on the shared runtime. Dropping it cancels the work.
#[derive(Debug)]
pub struct Operation<T> {
    outcome: Arc<Outcome<T>>,
    abort: Option<AbortHandle>,
}

#[derive(Debug)]
struct Outcome<T> {
    slot: Mutex<Slot<T>>,
    settled: Condvar,
}

#[derive(Debug)]
enum Slot<T> {
    Open,
    Settled(Result<T, Error>),
    Taken,
}

/// Starts work on the shared runtime. `on_done` is called once, from any thread, when there is an outcome, a cancellation included.
pub fn spawn<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
    on_done: impl FnOnce() + Send + 'static,
) -> Operation<T> {
    let outcome = Arc::new(Outcome { slot: Mutex::new(Slot::Open), settled: Condvar::new() });
    let mut settle = Settle { outcome: Arc::clone(&outcome), on_done: Some(Box::new(on_done)) };
    let abort = match handle() {
        Ok(handle) => {
            let task = handle.spawn(async move {
                let done = Caught(Box::pin(work)).await;
                settle.with(done);
            });
            Some(task.abort_handle())
        }
        Err(error) => {
            settle.with(Err(error));
            None
        }
    };
    Operation { outcome, abort }
}

/// Waits for work on the shared runtime. Not from inside of it.
pub fn block_on<T: Send + 'static>(work: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<T, Error> {
    let operation = spawn(work, || {});
    operation.wait(None);
    operation.take().unwrap_or_else(|| Err(Error::cancelled()))
}

impl<T> Operation<T> {
    /// Cancels the work: its request ends, and the outcome is a cancellation unless there was one before.
    pub fn cancel(&self) {
        if let Some(abort) = &self.abort {
            abort.abort();
        }
    }

    /// Waits for the outcome, for so long or without a limit, and says if there is one.
    pub fn wait(&self, limit: Option<Duration>) -> bool {
        let slot = lock(&self.outcome.slot);
        let is_open = |slot: &mut Slot<T>| matches!(slot, Slot::Open);
        match limit {
            None => {
                drop(self.outcome.settled.wait_while(slot, is_open).unwrap_or_else(PoisonError::into_inner));
                true
            }
            Some(limit) => {
                let (slot, _) = self
                    .outcome
                    .settled
                    .wait_timeout_while(slot, limit, is_open)
                    .unwrap_or_else(PoisonError::into_inner);
                !matches!(&*slot, Slot::Open)
            }
        }
    }

    /// The outcome, if there is one and nobody took it.
    pub fn take(&self) -> Option<Result<T, Error>> {
        let mut slot = lock(&self.outcome.slot);
        if matches!(&*slot, Slot::Open) {
            return None;
        }
        match std::mem::replace(&mut *slot, Slot::Taken) {
            Slot::Settled(outcome) => Some(outcome),
            Slot::Open | Slot::Taken => None,
        }
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Sets the outcome; as a cancellation where the work was dropped before it had one.
struct Settle<T> {
    outcome: Arc<Outcome<T>>,
    on_done: Option<Box<dyn FnOnce() + Send>>,
}

impl<T> Settle<T> {
    fn with(&mut self, outcome: Result<T, Error>) {
        let Some(on_done) = self.on_done.take() else { return };
        *lock(&self.outcome.slot) = Slot::Settled(outcome);
        self.outcome.settled.notify_all();
        on_done();
    }
}

impl<T> Drop for Settle<T> {
    fn drop(&mut self) {
        self.with(Err(Error::cancelled()));
    }
}

/// Work whose panic is an error. Cancelling it drops it.
struct Caught<F>(Pin<Box<F>>);

impl<T, F: Future<Output = Result<T, Error>>> Future for Caught<F> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = std::panic::AssertUnwindSafe(|| self.0.as_mut().poll(context));
        std::panic::catch_unwind(poll)
            .unwrap_or_else(|_| Poll::Ready(Err(Error::input("panic", "polywire has a bug: the operation panicked"))))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
