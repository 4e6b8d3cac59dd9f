//! Tools that answer by a callback: the bridge from functions of another language, which may answer later and from any thread.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::run::{ToolFuture, ToolHandler};
use crate::runtime::lock;

/// The place for the result of one call. Cheap to clone.
#[derive(Clone)]
pub struct Reply(Arc<Mutex<Open>>);

struct Open {
    sender: Option<oneshot::Sender<Result<Value, String>>>,
    on_cancel: Option<Box<dyn FnOnce() + Send>>,
    is_cancelled: bool,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = lock(&self.0);
        f.debug_struct("Reply").field("is_open", &open.sender.is_some()).finish_non_exhaustive()
    }
}

impl Reply {
    /// Gives the result, or the message of an error for the model. Only the first one counts.
    pub fn resolve(&self, result: Result<Value, String>) {
        let sender = {
            let mut open = lock(&self.0);
            open.on_cancel = None;
            open.sender.take()
        };
        // Nobody waits for the result of a cancelled call.
        let _ = sender.map(|sender| sender.send(result));
    }

    /// Sets what runs if the call is cancelled before its result; at once if it was.
    pub fn on_cancel(&self, run: impl FnOnce() + Send + 'static) {
        let mut open = lock(&self.0);
        if open.is_cancelled {
            drop(open);
            run();
        } else if open.sender.is_some() {
            open.on_cancel = Some(Box::new(run));
        }
    }

    fn cancel(&self) {
        let run = {
            let mut open = lock(&self.0);
            open.is_cancelled = open.sender.take().is_some();
            open.on_cancel.take()
        };
        if let Some(run) = run {
            run();
        }
    }
}

/// Cancels the call when the wait for its result is dropped.
struct Waiting(Reply);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A handler that starts a function on a thread that may block. The function answers with the [`Reply`], then or later.
pub fn callback_tool(start: impl Fn(Value, Reply) + Send + Sync + 'static) -> ToolHandler {
    let start = Arc::new(start);
    Arc::new(move |arguments| -> ToolFuture {
        let start = Arc::clone(&start);
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            let open = Open { sender: Some(sender), on_cancel: None, is_cancelled: false };
            let reply = Reply(Arc::new(Mutex::new(open)));
            let waiting = Waiting(reply.clone());
            tokio::task::spawn_blocking(move || start(arguments, reply));
            let result = receiver.await;
            drop(waiting);
            result.unwrap_or_else(|_| Err("the tool gave no result".to_owned()))
        })
    })
}
