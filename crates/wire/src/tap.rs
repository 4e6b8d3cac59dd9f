//! Observes a stream that is forwarded unchanged: usage, errors and completeness. Only the few frames that contain these are parsed,
//! and only at the end, which costs far less than decoding the stream.

use memchr::memmem;

use crate::assemble::Assembler;
use crate::fault::WireError;
use crate::frame::{Frame, Framer, Framing};
use crate::neutral::Usage;
use crate::protocol::Protocol;

/// Observes a stream that is forwarded unchanged.
#[derive(Debug)]
pub struct StreamTap {
    protocol: Protocol,
    framer: Framer,
    /// The first frame, which has fields that later frames omit.
    first: Option<KeptFrame>,
    /// For each landmark of the protocol, the last frame that contains it.
    marks: Vec<Landmark>,
    framing: Framing,
    count: usize,
    is_broken: bool,
}

#[derive(Debug)]
struct Landmark {
    name: &'static str,
    /// The name as a JSON string. Quotes inside a JSON string are escaped, so message text cannot contain it.
    quoted: memmem::Finder<'static>,
    kept: Option<KeptFrame>,
}

#[derive(Clone, Debug, Default)]
struct KeptFrame {
    number: usize,
    event: String,
    data: Vec<u8>,
}

impl KeptFrame {
    fn replace(&mut self, number: usize, frame: Frame<'_>) {
        self.number = number;
        self.event.clear();
        self.event.push_str(frame.event);
        self.data.clear();
        self.data.extend_from_slice(frame.data);
    }
}

/// The observations of a [`StreamTap`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tapped {
    /// Token usage, if the stream reported it.
    pub usage: Option<Usage>,
    /// True if the response ended properly.
    pub is_complete: bool,
    /// The error with which the provider ended the stream.
    pub error: Option<WireError>,
}

impl StreamTap {
    pub(crate) fn new(protocol: Protocol, framing: Framing, landmarks: &[&'static str]) -> Self {
        let mark = |name: &&'static str| {
            let quoted = memmem::Finder::new(&format!("\"{name}\"")).into_owned();
            Landmark { name, quoted, kept: None }
        };
        let marks = landmarks.iter().map(mark).collect();
        Self { protocol, framer: Framer::new(framing), first: None, marks, framing, count: 0, is_broken: false }
    }

    /// Observes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { framer, first, marks, framing, count, .. } = self;
        let seen = framer.push(bytes, |frame| {
            keep_landmark_frame(frame, first, marks, *framing, count);
            Ok(())
        });
        self.is_broken |= seen.is_err();
    }

    /// Ends the observation.
    pub fn finish(mut self) -> Tapped {
        let Self { framer, first, marks, framing, count, .. } = &mut self;
        let seen = framer.finish(|frame| {
            keep_landmark_frame(frame, first, marks, *framing, count);
            Ok(())
        });
        let mut frames: Vec<KeptFrame> =
            self.first.into_iter().chain(self.marks.into_iter().filter_map(|mark| mark.kept)).collect();
        frames.sort_by_key(|kept| kept.number);
        frames.dedup_by_key(|kept| kept.number);
        let mut reader = self.protocol.stream_reader();
        let (mut events, mut assembler) = (Vec::new(), Assembler::default());
        let mut is_read = !self.is_broken && seen.is_ok();
        for kept in &frames {
            is_read &= reader.frame(Frame { event: &kept.event, data: &kept.data }, &mut events).is_ok();
        }
        for event in events {
            assembler.push(event);
        }
        match assembler.finish() {
            Ok(response) => Tapped { usage: response.usage, is_complete: is_read, error: None },
            Err(cut) => Tapped { usage: cut.response.usage, is_complete: false, error: cut.error },
        }
    }
}

fn keep_landmark_frame(
    frame: Frame<'_>,
    first: &mut Option<KeptFrame>,
    marks: &mut [Landmark],
    framing: Framing,
    count: &mut usize,
) {
    if first.is_none() {
        first.get_or_insert_default().replace(*count, frame);
    }
    // An AWS message always has an event name; other frames may have their name in the data only.
    let searches_data = framing != Framing::Aws;
    for mark in marks {
        if frame.event == mark.name || (searches_data && mark.quoted.find(frame.data).is_some()) {
            mark.kept.get_or_insert_default().replace(*count, frame);
        }
    }
    *count += 1;
}
