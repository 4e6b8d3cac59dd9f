//! From the steps of a reading to its value, with the repairs that it took.

use super::{Container, Event, EventId, Search, Style, Written};
use crate::options::MissingValue;
use crate::repair::{MAX_REPAIRS, RepairKind};
use crate::salvage::find::Mended;
use crate::salvage::parser::Noted;
use crate::salvage::source::Quote;
use crate::salvage::strings::dedent;
use crate::salvage::words::{Word, classify};
use crate::tree::{Children, Id, Kind, Node, Tree};

struct Builder {
    tree: Tree,
    root: Option<Id>,
    open: Vec<(Id, Container, usize)>,
    key: Option<String>,
    last: Option<Id>,
    noted: Vec<Noted>,
}

impl Builder {
    fn attach(&mut self, mut node: Node) -> Option<Id> {
        let Some((parent, _, _)) = self.open.last() else {
            if self.root.is_some() {
                return None;
            }
            let id = self.tree.push(node);
            self.root = Some(id);
            self.last = Some(id);
            return Some(id);
        };
        let is_object = matches!(self.tree.kind(*parent), Kind::Object(_));
        node.key = self.key.take();
        if is_object != node.key.is_some() {
            return None;
        }
        let id = self.tree.append(*parent, node);
        self.last = Some(id);
        Some(id)
    }

    fn note(&mut self, kind: RepairKind, node: Option<Id>, span: (usize, usize)) {
        if self.noted.len() < MAX_REPAIRS || kind == RepairKind::Truncated {
            self.noted.push(Noted { kind, node, span: span.0..span.1 });
        }
    }

    fn container(&self) -> Option<Id> {
        self.open.last().map(|open| open.0)
    }
}

impl Search<'_> {
    /// The value of a path, whose last event comes first.
    pub(super) fn build(&self, path: &[EventId]) -> Option<Mended> {
        let mut builder =
            Builder { tree: Tree::default(), root: None, open: Vec::new(), key: None, last: None, noted: Vec::new() };
        for id in path.iter().rev() {
            let event = self.events.get(id.0 as usize)?.event;
            self.apply(&mut builder, event)?;
        }
        let root = builder.root.filter(|_| builder.open.is_empty())?;
        Some(Mended { tree: builder.tree, root, noted: builder.noted })
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn apply(&self, builder: &mut Builder, event: Event) -> Option<()> {
        match event {
            Event::Open(container, place) => {
                let kind = match container {
                    Container::Object => Kind::Object(Children::default()),
                    Container::List | Container::Set | Container::Paren => Kind::List(Children::default()),
                };
                let mut node = Node::new(kind, place..place + 1);
                node.complete = false;
                let id = builder.attach(node)?;
                builder.open.push((id, container, 0));
            }
            Event::Close { next, complete } => {
                let (id, container, commas) = builder.open.pop()?;
                builder.key = None;
                if container == Container::Paren && commas == 0 && builder.tree.count(id) == 1 {
                    builder.tree.unwrap_only(id);
                }
                if let Some(node) = builder.tree.get_mut(id) {
                    node.complete = complete;
                    node.span.end = next;
                }
                builder.last = Some(id);
            }
            Event::Comma => {
                if let Some(open) = builder.open.last_mut() {
                    open.2 += 1;
                }
            }
            Event::Key { raw, span, written } => {
                let text = self.source.slice(raw.0, raw.1);
                let at = builder.container();
                let key = if let Some(written) = written {
                    let (key, repairs) = decode(text, written);
                    for kind in repairs {
                        builder.note(kind, at, span);
                    }
                    if written.complete { key } else { key.trim_end().to_owned() }
                } else {
                    builder.note(RepairKind::Bare, at, span);
                    text.to_owned()
                };
                builder.key = Some(key);
            }
            Event::Text { raw, span, written, join } => {
                let (text, repairs) = decode(self.source.slice(raw.0, raw.1), written);
                let id = if join {
                    let id = builder.last?;
                    if let Some(Node { kind: Kind::Text(before), span: whole, .. }) = builder.tree.get_mut(id) {
                        before.push_str(&text);
                        whole.end = span.1;
                    }
                    builder.note(RepairKind::Joined, Some(id), span);
                    id
                } else {
                    let mut node = Node::new(Kind::Text(text), span.0..span.1);
                    node.complete = written.complete;
                    builder.attach(node)?
                };
                for kind in repairs {
                    builder.note(kind, Some(id), span);
                }
                if !written.complete {
                    builder.note(RepairKind::Truncated, Some(id), span);
                }
            }
            Event::Word { start, end, cut } => {
                let word = self.source.slice(start, end);
                let mut read = classify(word, self.options, cut);
                if word == "-" {
                    // A minus that no digit follows.
                    read = Word { kind: Kind::Number(0.into()), repair: Some(RepairKind::MissingValue) };
                }
                let mut node = Node::new(read.kind, start..end).bare();
                node.complete = !cut;
                let id = builder.attach(node)?;
                if let Some(kind) = read.repair {
                    builder.note(kind, Some(id), (start, end));
                }
            }
            Event::Words { start, end, lost_quote } => {
                let text = self.source.slice(start, end).to_owned();
                let id = builder.attach(Node::new(Kind::Text(text), start..end).bare())?;
                let kind = if lost_quote { RepairKind::Quote } else { RepairKind::Bare };
                builder.note(kind, Some(id), (start, end));
            }
            Event::Missing(place) => {
                let kind = match self.options.missing_value {
                    MissingValue::Null | MissingValue::Drop => Kind::Null,
                    MissingValue::Empty => Kind::Text(String::new()),
                };
                let mut node = Node::new(kind, place..place);
                node.complete = false;
                let id = builder.attach(node)?;
                builder.note(RepairKind::MissingValue, Some(id), (place, place));
            }
            Event::DropKey(start, end) => {
                builder.key = None;
                builder.note(RepairKind::Dropped, builder.container(), (start, end));
            }
            Event::Reopen(place) => {
                let id = builder.last.filter(|id| matches!(builder.tree.kind(*id), Kind::List(_)))?;
                builder.note(RepairKind::Joined, Some(id), (place, place + 1));
                builder.open.push((id, Container::List, 0));
            }
            Event::Rekey(place) => {
                let id = builder.last?;
                let key = builder.tree.text_to_object(id)?;
                builder.note(RepairKind::Bracket, Some(id), (place, place));
                builder.open.push((id, Container::Object, 0));
                builder.key = Some(key);
            }
            Event::Note(kind, start, end) => builder.note(kind, builder.container(), (start, end)),
        }
        Some(())
    }
}

/// The string that is written, and what reading it took.
pub(super) fn decode(raw: &str, written: Written) -> (String, Vec<RepairKind>) {
    let mut repairs = Vec::new();
    let mut note = |kind: RepairKind| {
        if !repairs.contains(&kind) {
            repairs.push(kind);
        }
    };
    if written.quote != Quote::Double || written.style != Style::Once || written.lacks_quote {
        note(RepairKind::Quote);
    }
    if written.inner > 0 {
        note(RepairKind::InnerQuote);
    }
    let once;
    let raw = if written.style == Style::Escaped {
        once = raw.replace("\\\\", "\\").replace("\\\"", "\"");
        &once
    } else {
        raw
    };
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.char_indices();
    let mut last_escape = 0;
    while let Some((place, char)) = chars.next() {
        if char != '\\' {
            if char < ' ' {
                note(RepairKind::Control);
            }
            text.push(char);
            continue;
        }
        let rest = raw.get(place + 1..).unwrap_or_default();
        let mut skip = 1;
        match rest.chars().next() {
            Some(char @ ('"' | '\\' | '/')) => text.push(char),
            Some(char @ ('\'' | '`' | '\n')) => {
                note(RepairKind::Escape);
                text.push(char);
            }
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => match unicode(rest) {
                Some((char, length)) => {
                    text.push(char);
                    skip = length;
                }
                // The text ends inside the escape.
                None if !written.complete && rest.len() < 5 => skip = rest.len(),
                None => {
                    note(RepairKind::Escape);
                    text.push_str("\\u");
                }
            },
            None => skip = 0,
            Some(_) => {
                // A backslash that escapes nothing is a backslash: paths and patterns are full of them.
                note(RepairKind::Escape);
                text.push('\\');
                skip = 0;
            }
        }
        for _ in 0..skip {
            chars.next();
        }
        last_escape = text.len();
    }
    let tail = text.get(last_escape..).unwrap_or_default();
    if written.style == Style::Thrice {
        if text.ends_with('\n') {
            text.pop();
        }
        text = dedent(&text);
    } else if written.complete && tail.ends_with('\n') {
        let kept = last_escape + tail.trim_end().len();
        text.truncate(kept);
        note(RepairKind::Trimmed);
    }
    (text, repairs)
}

/// The character of an escape that begins with `u`, and the characters that it takes.
fn unicode(rest: &str) -> Option<(char, usize)> {
    let hex = |from: usize| {
        let digits = rest.get(from..from + 4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let high = hex(1)?;
    if (0xd800..0xdc00).contains(&high) {
        let low = rest.get(5..7).filter(|mark| *mark == "\\u").and_then(|_| hex(7));
        return Some(match low {
            Some(low @ 0xdc00..0xe000) => {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11)
            }
            _ => (char::REPLACEMENT_CHARACTER, 5),
        });
    }
    Some((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 5))
}
