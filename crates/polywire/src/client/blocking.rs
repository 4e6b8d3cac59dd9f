//! CPU-bound work, such as fitting schemas and validating responses: it runs on a blocking thread, so that deadlines apply to it.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout_at;

use super::error::SendError;

/// A task on a blocking thread. It is abandoned at its deadline or on drop.
#[derive(Debug)]
pub(super) struct BlockingTask<T> {
    task: JoinHandle<T>,
    until: Instant,
    /// The duration in the error message.
    deadline: Duration,
}

impl<T: Send + 'static> BlockingTask<T> {
    pub(super) fn spawn(until: Instant, deadline: Duration, work: impl FnOnce() -> T + Send + 'static) -> Self {
        Self { task: tokio::task::spawn_blocking(work), until, deadline }
    }

    /// Waits for the result. Cancel safe.
    pub(super) async fn join(&mut self) -> Result<T, SendError> {
        match timeout_at(self.until.into(), &mut self.task).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime shuts down.
                Err(_) => Err(SendError::Deadline(self.deadline)),
            },
            Err(_) => Err(SendError::Deadline(self.deadline)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::BlockingTask;
    use crate::client::SendError;

    const DEADLINE: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn work_is_not_waited_for_after_its_deadline() {
        // The work ends when the other end is dropped, which is after the deadline.
        let (end, ended) = mpsc::channel::<()>();
        let mut work = BlockingTask::spawn(Instant::now() + DEADLINE, DEADLINE, move || ended.recv().is_err());
        let done = work.join().await;
        drop(end);
        assert!(matches!(done, Err(SendError::Deadline(DEADLINE))), "{done:?}");
    }

    #[tokio::test]
    async fn work_that_ends_in_time_returns_its_result() {
        let mut work = BlockingTask::spawn(Instant::now() + Duration::from_mins(1), DEADLINE, || 7);
        assert!(matches!(work.join().await, Ok(7)));
    }
}
