//! Work on the shared runtime, announced to JavaScript when it has an outcome.

use std::future::Future;

use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};
use napi_derive::napi;
use polywire_bindings as bindings;
use polywire_bindings::Error;

use crate::text::thrown;

/// Called on the thread of JavaScript when there is an outcome.
pub(crate) type Done = ThreadsafeFunction<(), (), (), Status, false>;

/// Work whose outcome is JSON text, or nothing.
#[napi]
pub struct Operation(bindings::Operation<Option<String>>);

/// Starts work.
pub(crate) fn start(
    work: impl Future<Output = std::result::Result<Option<String>, Error>> + Send + 'static,
    done: Done,
) -> Operation {
    let announce = move || {
        // A status other than `Ok` means that this JavaScript is over.
        let _ = done.call((), ThreadsafeFunctionCallMode::NonBlocking);
    };
    Operation(bindings::spawn(work, announce))
}

#[napi]
impl Operation {
    /// The outcome, once it was announced.
    #[napi]
    pub fn take(&self) -> Result<Option<String>> {
        self.0.take().unwrap_or_else(|| Err(Error::cancelled())).map_err(thrown)
    }

    /// Cancels the work.
    #[napi]
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
