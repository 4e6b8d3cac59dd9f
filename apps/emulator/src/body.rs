//! Response bodies: whole, cut off, slow or endless.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::misbehave::BodyFault;

/// Chunks of a slow body, and the time between two.
const SLOW_CHUNKS: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// What an endless body repeats.
const FILLER: Bytes = Bytes::from_static(&[b' '; 65536]);

/// A response body in pieces.
pub(crate) struct ResponseBody {
    pieces: VecDeque<Bytes>,
    end: End,
    pause: Option<Pin<Box<Sleep>>>,
    is_slow: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Clean,
    Cut,
    Never,
}

/// The connection is to be dropped.
#[derive(Debug)]
pub(crate) struct CutOff;

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is cut on demand")
    }
}

impl std::error::Error for CutOff {}

impl From<Infallible> for CutOff {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl ResponseBody {
    /// A body in pieces, with the fault that was requested.
    pub(crate) fn new(pieces: Vec<Vec<u8>>, body_fault: Option<BodyFault>) -> Self {
        let mut pieces: VecDeque<Bytes> = pieces.into_iter().map(Bytes::from).collect();
        let mut end = End::Clean;
        match body_fault {
            Some(BodyFault::Cut) => {
                let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
                pieces = VecDeque::from([Bytes::copy_from_slice(whole.get(..whole.len() / 2).unwrap_or_default())]);
                end = End::Cut;
            }
            Some(BodyFault::Slow) => {
                let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
                pieces = whole.chunks(whole.len().div_ceil(SLOW_CHUNKS).max(1)).map(Bytes::copy_from_slice).collect();
            }
            Some(BodyFault::Endless) => end = End::Never,
            Some(BodyFault::Garbled) => pieces.push_front(Bytes::from_static(b"\xff\xfe\x80")),
            Some(BodyFault::Page) => {
                pieces = VecDeque::from([Bytes::from_static(b"<html><body>Bad gateway</body></html>")]);
            }
            None => {}
        }
        Self { pieces, end, pause: None, is_slow: body_fault == Some(BodyFault::Slow) }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        if let Some(pause) = &mut self.pause {
            if pause.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.pause = None;
        }
        if let Some(piece) = self.pieces.pop_front() {
            // What is cut off must have left before the connection is dropped.
            if self.is_slow || (self.end == End::Cut && self.pieces.is_empty()) {
                self.pause = Some(Box::pin(sleep(PAUSE)));
            }
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match self.end {
            End::Clean => Poll::Ready(None),
            End::Cut => Poll::Ready(Some(Err(CutOff))),
            End::Never => Poll::Ready(Some(Ok(Frame::data(FILLER)))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.end {
            End::Clean => SizeHint::with_exact(self.pieces.iter().map(|piece| piece.len() as u64).sum()),
            End::Cut | End::Never => SizeHint::default(),
        }
    }
}
