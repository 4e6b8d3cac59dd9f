//! A `Stream` out of an asynchronous function: the state moves into a future while a step is under way and comes back with the item.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something that yields items one after another.
pub(crate) trait Steps: Send + 'static {
    type Item: Send + 'static;

    /// The next item; none at the end, and from then on.
    fn next(&mut self) -> impl Future<Output = Option<Self::Item>> + Send;
}

type Step<S> = Pin<Box<dyn Future<Output = (Box<S>, Option<<S as Steps>::Item>)> + Send>>;

/// Polls [`Steps`]. A caller that stops polling loses nothing: the step goes on with the next poll.
pub(crate) struct Stepper<S: Steps> {
    idle: Option<Box<S>>,
    busy: Option<Step<S>>,
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

    /// The state, after the step that is under way. None after a step that panicked.
    pub(crate) async fn into_state(mut self) -> Option<Box<S>> {
        if self.busy.is_some() {
            self.next().await;
        }
        self.idle
    }
}
