//! Streams from asynchronous functions: the state moves into the future of a step and is returned with the item.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A state machine that yields items asynchronously.
pub(crate) trait Steps: Send + 'static {
    type Item: Send + 'static;

    /// The next item; `None` at the end and in every later call.
    fn next(&mut self) -> impl Future<Output = Option<Self::Item>> + Send;
}

type StepFuture<S> = Pin<Box<dyn Future<Output = (Box<S>, Option<<S as Steps>::Item>)> + Send>>;

/// Polls [`Steps`]. Cancel safe: a step that was not polled to its end continues with the next poll.
pub(crate) struct Stepper<S: Steps> {
    idle: Option<Box<S>>,
    busy: Option<StepFuture<S>>,
}

impl<S: Steps> Stepper<S> {
    pub(crate) fn new(state: S) -> Self {
        Self { idle: Some(Box::new(state)), busy: None }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        if let Some(mut state) = self.idle.take() {
            self.busy = Some(Box::pin(async move {
                let item = state.next().await;
                (state, item)
            }));
        }
        let Some(busy) = &mut self.busy else { return Poll::Ready(None) };
        let Poll::Ready((state, item)) = busy.as_mut().poll(cx) else { return Poll::Pending };
        self.busy = None;
        self.idle = Some(state);
        Poll::Ready(item)
    }

    pub(crate) async fn next(&mut self) -> Option<S::Item> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Finishes the current step and returns the state; `None` after a panic.
    pub(crate) async fn into_state(mut self) -> Option<Box<S>> {
        if self.busy.is_some() {
            self.next().await;
        }
        self.idle
    }
}
