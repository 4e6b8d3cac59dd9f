//! Streams, back in the caller's protocol as they arrive.

use std::borrow::Cow;
use std::sync::Arc;

use polywire_wire::{
    Event, FaultKind, Framing, Stamper, StreamDecoder, StreamEncoder, StreamTap, Tapped, Usage, WireError,
};

use super::echo::EchoRecorder;
use super::failure::wire_error;
use super::{Inner, Translation};
use crate::change::{Change, of_wire};
use crate::restore::RestoreEvents;

/// A stream on its way back: the provider's bytes in, the caller's bytes out.
#[derive(Debug)]
pub struct TranslatedStream {
    inner: Arc<Inner>,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    /// The caller gets the provider's bytes, which are only looked at.
    Pass(Box<StreamTap>),
    Rewrite(Box<Rewrite>),
}

#[derive(Debug)]
struct Rewrite {
    decoder: StreamDecoder,
    restore: RestoreEvents,
    stamper: Stamper,
    encoder: StreamEncoder,
    /// Buffers for events, empty between calls.
    decoded: Vec<Event>,
    restored: Vec<Event>,
    echo: Option<EchoRecorder>,
    usage: Option<Usage>,
    is_stopped: bool,
    error: Option<WireError>,
}

/// Room for an event of any protocol with a few words of text, so that the buffer rarely grows.
const LONG_EVENT: usize = 512;

/// How a stream ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamEnd {
    /// The last bytes. A stream that broke off ends with an error event of the caller's protocol.
    pub bytes: Vec<u8>,
    /// Every change and loss on the way back.
    pub changes: Vec<Change>,
    /// What the answer cost, where the provider says so.
    pub usage: Option<Usage>,
    /// Why the answer is not complete.
    pub error: Option<WireError>,
}

impl Translation {
    /// Begins to bring a stream back.
    pub fn stream(&self) -> TranslatedStream {
        let inner = Arc::clone(&self.inner);
        let (from, plan) = (inner.from, &inner.plan);
        let framing = plan.protocol.framing(&plan.surface);
        let mode = if inner.passes_on() {
            Mode::Pass(Box::new(plan.protocol.stream_tap(framing)))
        } else {
            Mode::Rewrite(Box::new(Rewrite {
                decoder: plan.protocol.stream_decoder(framing),
                restore: RestoreEvents::default(),
                stamper: Stamper::new(from, inner.options.stamp.clone()),
                encoder: from.stream_encoder(&inner.surface),
                decoded: Vec::new(),
                restored: Vec::new(),
                echo: inner
                    .options
                    .echo
                    .as_ref()
                    .filter(|_| !inner.is_same_protocol())
                    .map(|_| EchoRecorder::default()),
                usage: None,
                is_stopped: false,
                error: None,
            }))
        };
        TranslatedStream { inner, mode }
    }

    /// The content type of the stream that the caller gets.
    pub fn stream_content_type(&self) -> &'static str {
        self.inner.from.framing(&self.inner.surface).content_type()
    }
}

impl TranslatedStream {
    /// Takes the next bytes of the provider and gives the next bytes of the caller.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match &mut self.mode {
            Mode::Pass(tap) => {
                tap.push(bytes);
                Cow::Borrowed(bytes)
            }
            Mode::Rewrite(rewrite) => {
                let mut out = Vec::with_capacity(bytes.len().max(LONG_EVENT));
                rewrite.push(bytes, &self.inner, &mut out);
                Cow::Owned(out)
            }
        }
    }

    /// The provider's stream is over.
    pub fn finish(self) -> StreamEnd {
        let mut bytes = Vec::new();
        let (usage, error, changes) = match self.mode {
            Mode::Pass(tap) => {
                let Tapped { usage, is_complete, error, .. } = tap.finish();
                if is_complete || error.is_some() {
                    (usage, error, Vec::new())
                } else {
                    let error = broken_off();
                    // What was cut may be half a frame.
                    if self.inner.from.framing(&self.inner.surface) == Framing::Sse {
                        bytes.extend_from_slice(b"\n\n");
                    }
                    self.inner.from.stream_encoder(&self.inner.surface).write(&Event::Error(error.clone()), &mut bytes);
                    (usage, Some(error), Vec::new())
                }
            }
            Mode::Rewrite(mut rewrite) => {
                rewrite.finish(&self.inner, &mut bytes);
                let changes = rewrite.restore.changes().iter().cloned();
                let changes = changes.chain(rewrite.encoder.changes().iter().cloned().map(of_wire)).collect();
                (rewrite.usage, rewrite.error, changes)
            }
        };
        StreamEnd { bytes, changes, usage, error }
    }
}

impl Rewrite {
    fn push(&mut self, bytes: &[u8], inner: &Inner, out: &mut Vec<u8>) {
        if self.error.is_some() {
            return;
        }
        let mut decoded = std::mem::take(&mut self.decoded);
        let result = self.decoder.push_into(bytes, &mut decoded);
        decoded.drain(..).for_each(|event| self.take(event, inner, out));
        self.decoded = decoded;
        if let Err(error) = result {
            self.fail(unreadable(&error), inner, out);
        }
    }

    fn finish(&mut self, inner: &Inner, out: &mut Vec<u8>) {
        if self.error.is_some() {
            return;
        }
        match self.decoder.finish() {
            Ok(events) => events.into_iter().for_each(|event| self.take(event, inner, out)),
            Err(error) => self.fail(unreadable(&error), inner, out),
        }
        if !self.is_stopped && self.error.is_none() {
            self.fail(broken_off(), inner, out);
        }
        if let Some(content) = self.echo.take().filter(|_| self.error.is_none()).and_then(EchoRecorder::finish) {
            inner.keep_echo(&content);
        }
    }

    fn fail(&mut self, error: WireError, inner: &Inner, out: &mut Vec<u8>) {
        self.take(Event::Error(error), inner, out);
    }

    fn take(&mut self, event: Event, inner: &Inner, out: &mut Vec<u8>) {
        if let Event::Usage(usage) = &event {
            self.usage = Some(usage.clone());
            if inner.hides_usage {
                return;
            }
        } else if let Event::Error(error) = &event {
            self.error = Some(error.clone());
        }
        self.is_stopped |= matches!(event, Event::Stop { .. });
        self.restore.push_into(event, inner.contract(), &mut self.restored);
        for mut event in self.restored.drain(..) {
            self.stamper.event(&mut event);
            if let Some(echo) = &mut self.echo {
                echo.observe(&event);
            }
            self.encoder.write(&event, out);
        }
    }
}

fn broken_off() -> WireError {
    wire_error(FaultKind::Server, "the provider's stream ended before the answer was complete")
}

fn unreadable(error: &dyn std::fmt::Display) -> WireError {
    wire_error(FaultKind::Server, &format!("the provider's stream cannot be read: {error}"))
}
