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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::Work;
    use crate::client::SendError;

    const DEADLINE: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn work_is_not_waited_for_after_its_deadline() {
        // The work ends when the other end is dropped, which is after the deadline.
        let (end, ended) = mpsc::channel::<()>();
        let mut work = Work::begin(Instant::now() + DEADLINE, DEADLINE, move || ended.recv().is_err());
        let done = work.done().await;
        drop(end);
        assert!(matches!(done, Err(SendError::Deadline(DEADLINE))), "{done:?}");
    }

    #[tokio::test]
    async fn work_that_ends_in_time_gives_what_came_of_it() {
        let mut work = Work::begin(Instant::now() + Duration::from_mins(1), DEADLINE, || 7);
        assert!(matches!(work.done().await, Ok(7)));
    }
}
