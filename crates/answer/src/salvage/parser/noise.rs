//! Skips white space, comments, fences and ellipses between the parts of a value.

use super::{Expect, Parser, Shape};
use crate::options::{Ellipsis, Options};
use crate::repair::RepairKind;
use crate::salvage::source::Source;

impl Parser {
    /// Behind white space, comments and escaped line breaks.
    pub(super) fn skip(&mut self, source: &Source<'_>, from: usize, options: &Options) -> usize {
        let mut place = from;
        loop {
            place = source.skip_space(place);
            let end = match source.at(place) {
                b'/' if source.is_comment(place) => comment_end(source, place),
                b'#' if !self.frames.is_empty() => hash_end(source, place),
                b'\\' if matches!(source.at(place + 1), b'n' | b'r' | b't') && !self.frames.is_empty() => place + 2,
                b'`' if source.is_fence(place) && self.fence_is_space(source, place) => fence_end(source, place),
                b'.' if options.ellipsis == Ellipsis::Drop && self.is_ellipsis(source, place) => place + 3,
                0xe2 if options.ellipsis == Ellipsis::Drop && source.starts_with(place, "…") => place + 3,
                _ => return place,
            };
            if source.is_open() && source.is_end(end) {
                source.at(end);
                return place;
            }
            let kind = match source.at(place) {
                b'/' | b'#' => RepairKind::Comment,
                b'\\' => RepairKind::Escape,
                b'`' => RepairKind::Fence,
                _ => RepairKind::Ellipsis,
            };
            // In an open text the same place may be passed again; one note is enough.
            if self.noted.last().is_none_or(|last| last.span.start != place) {
                self.note(kind, None, place..end);
            }
            place = end;
        }
    }

    pub(super) fn is_ellipsis(&self, source: &Source<'_>, place: usize) -> bool {
        !self.frames.is_empty() && source.starts_with(place, "...") && {
            let next = source.peek_space(place + 3);
            matches!(source.at(next), b',' | b']' | b'}' | b')' | b'/') || source.is_end(next)
        }
    }

    /// Whether a fence at a place is noise; before a value it may be a text in backticks.
    pub(super) fn fence_is_space(&self, source: &Source<'_>, place: usize) -> bool {
        match self.frames.last() {
            None => false,
            Some(frame) if frame.shape == Shape::Object => frame.expect != Expect::Value,
            Some(_) => {
                let next = source.peek_space(fence_end(source, place));
                matches!(source.at(next), b'{' | b'[' | b']') || source.is_end(next)
            }
        }
    }
}

/// Behind a comment. One that is not closed goes to the end.
pub(crate) fn comment_end(source: &Source<'_>, place: usize) -> usize {
    let rest = source.slice(place, source.len());
    let (mark, behind) = if source.at(place + 1) == b'*' { ("*/", 2) } else { ("\n", 0) };
    rest.get(2..).and_then(|rest| rest.find(mark)).map_or(source.len(), |found| place + 2 + found + behind)
}

/// Behind a comment of the kind that scripts have: it ends with the line, or before a closing bracket.
pub(crate) fn hash_end(source: &Source<'_>, place: usize) -> usize {
    let rest = source.slice(place, source.len());
    rest.find(['\n', '}', ']']).map_or(source.len(), |found| place + found)
}

/// Behind a fence and the language that it names.
pub(crate) fn fence_end(source: &Source<'_>, place: usize) -> usize {
    let mut at = place;
    while source.at(at) == b'`' {
        at += 1;
    }
    let word = at;
    while at < word + 16 && source.at(at).is_ascii_alphanumeric() {
        at += 1;
    }
    at
}

/// Behind a regular expression between slashes, if one stands here.
pub(super) fn regex_end(source: &Source<'_>, place: usize) -> Option<usize> {
    let rest = source.slice(place + 1, source.len());
    let line = rest.split(['\n']).next().unwrap_or_default();
    let mut escaped = false;
    for (offset, byte) in line.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'/' => {
                let mut end = place + 1 + offset + 1;
                while source.at(end).is_ascii_alphabetic() {
                    end += 1;
                }
                let next = source.peek_space(end);
                let delimited = matches!(source.at(next), b',' | b'}' | b']') || source.is_end(next);
                return delimited.then_some(end);
            }
            _ => {}
        }
    }
    if line.len() == rest.len() {
        // The line may go on, and the expression end there.
        source.at(source.len());
    }
    None
}
