//! Work for the processor, such as fitting schemas and validating answers: done on a thread of its own, so that deadlines count for it too.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout_at;

use super::error::SendError;

/// Work that goes on. It is not waited for after its deadline, or when this is dropped.
#[derive(Debug)]
pub(super) struct Work<T> {
    task: JoinHandle<T>,
    until: Instant,
    /// The whole time, for the error.
    deadline: Duration,
}

impl<T: Send + 'static> Work<T> {
    pub(super) fn begin(until: Instant, deadline: Duration, work: impl FnOnce() -> T + Send + 'static) -> Self {
        Self { task: tokio::task::spawn_blocking(work), until, deadline }
    }

    /// What came of it. Waiting may be given up and begun again.
    pub(super) async fn done(&mut self) -> Result<T, SendError> {
        match timeout_at(self.until.into(), &mut self.task).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends.
                Err(_) => Err(SendError::Deadline(self.deadline)),
            },
            Err(_) => Err(SendError::Deadline(self.deadline)),
        }
    }
}
