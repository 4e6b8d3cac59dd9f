//! A text that is still arriving: the value so far, what of it is complete, and what changed.
//!
//! Every byte is read once. Asking for the whole value copies it; asking for what changed costs what changed.

use serde_json::Value;

use crate::options::Options;
use crate::salvage::{End, Outcome, Parser, Place, Salvaged, Source, THINKING, is_bracket_in_prose, salvage};
use crate::tree::{Id, Kind, push_step};

/// Reads a text as it arrives.
///
/// ```
/// use polywire_answer::{Stream, Event, OpenText};
/// use serde_json::json;
///
/// let mut stream = Stream::new();
/// stream.push("Here you are: {\"city\": \"Bern\", \"note\": \"it is");
/// assert_eq!(stream.value(OpenText::Show), Some(json!({"city": "Bern", "note": "it is"})));
/// assert_eq!(stream.value(OpenText::Hide), Some(json!({"city": "Bern"})));
/// assert!(stream.is_complete("/city") && !stream.is_complete("/note"));
/// assert_eq!(stream.events()[0], Event::Completed { at: "/city".into(), value: Some(json!("Bern")) });
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    text: String,
    options: Options,
    parser: Option<Parser>,
    /// Where the search for the value goes on.
    place: usize,
    state: State,
    /// What is read is no bracket in a sentence.
    sure: bool,
    prose: Prose,
    /// How many completed nodes were told.
    told: usize,
    /// How much of the open text was told, and where it starts.
    told_text: (usize, usize),
    /// The parent of what was told last, and its place.
    above: Option<(Id, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Searching,
    /// Inside a block of thinking.
    Thinking,
    Reading,
    Done,
    TooDeep,
}

/// Whether words stand before what is read. They stay there, so they are looked for once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prose {
    None,
    Before,
}

/// Bytes that the places of the events of one call may take.
const MAX_PLACE_BYTES: usize = 16 << 20;

/// Whether a text that is not complete is part of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenText {
    /// As far as it has arrived.
    Show,
    /// Only complete texts are.
    Hide,
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A text went on.
    Text {
        /// The JSON Pointer of the text.
        at: String,
        /// What was added to it.
        added: String,
    },
    /// A value is complete.
    Completed {
        /// The JSON Pointer of the value.
        at: String,
        /// The value; a list or object is not repeated, its parts were told before.
        value: Option<Value>,
    },
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// A stream with [`Options::partial`].
    pub fn new() -> Self {
        Self::with_options(Options::partial())
    }

    /// A stream with options.
    pub fn with_options(options: Options) -> Self {
        Self {
            text: String::new(),
            options,
            parser: None,
            place: 0,
            state: State::Searching,
            sure: false,
            prose: Prose::None,
            told: 0,
            told_text: (0, 0),
            above: None,
        }
    }

    /// Takes the next piece of the text.
    pub fn push(&mut self, chunk: &str) {
        self.text.push_str(chunk);
        self.advance(End::Open);
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ends the text and reads it as a whole: the value as [`salvage`] gives it.
    pub fn finish(self, options: &Options) -> Option<Salvaged> {
        salvage(&self.text, options)
    }

    fn advance(&mut self, end: End) {
        loop {
            match self.state {
                State::Searching => {
                    if !self.search() {
                        return;
                    }
                }
                State::Thinking => {
                    if !self.leave_thinking() {
                        return;
                    }
                }
                State::Done | State::TooDeep => return,
                State::Reading => {
                    let Some(parser) = &mut self.parser else { return };
                    match parser.run(&Source::new(&self.text, end), &self.options) {
                        Outcome::More => return,
                        Outcome::TooDeep => self.state = State::TooDeep,
                        Outcome::Done(next) => self.settle(next),
                    }
                }
            }
        }
    }

    /// A value was read; it counts unless it was a bracket in a sentence.
    fn settle(&mut self, next: usize) {
        if !self.sure && self.is_bracket() {
            self.parser = None;
            self.told = 0;
            self.above = None;
            self.place = next.max(self.place + 1);
            self.state = State::Searching;
        } else {
            self.sure = true;
            self.state = State::Done;
        }
    }

    /// Whether what was read so far may turn out to be a bracket in a sentence.
    fn is_doubtful(&self) -> bool {
        let root = self.parser.as_ref().and_then(|parser| Some((parser, parser.root?)));
        root.is_none_or(|(parser, root)| parser.tree.count(root) == 0) || self.is_bracket()
    }

    /// Whether what was read is a bracket in a sentence.
    fn is_bracket(&self) -> bool {
        const FEW: usize = 16;
        let Some(parser) = &self.parser else { return false };
        let few = parser.root.is_some_and(|root| parser.tree.count(root) <= FEW);
        few && is_bracket_in_prose(parser, self.prose == Prose::Before)
    }

    /// Looks for the start of the value; says whether something was found.
    fn search(&mut self) -> bool {
        let rest = self.text.as_bytes().get(self.place..).unwrap_or_default();
        let Some(offset) = rest.iter().position(|byte| matches!(byte, b'{' | b'[' | b'<')) else {
            self.place = self.text.len();
            return false;
        };
        self.place += offset;
        let here = self.text.get(self.place..).unwrap_or_default();
        if !here.starts_with('<') {
            if self.text.get(..self.place).is_some_and(|before| self.prose == Prose::None && !before.trim().is_empty())
            {
                self.prose = Prose::Before;
            }
            self.parser = Some(Parser::new(self.place, Place::Top));
            self.state = State::Reading;
            return true;
        }
        if THINKING.iter().any(|tag| is_tag(here, tag)) {
            self.state = State::Thinking;
        } else if THINKING.iter().any(|tag| format!("<{tag}>").starts_with(here)) {
            return false;
        } else {
            self.place += 1;
        }
        true
    }

    fn leave_thinking(&mut self) -> bool {
        let rest = self.text.get(self.place..).unwrap_or_default();
        let found = rest.find("</").filter(|offset| rest.get(*offset..).is_some_and(|tag| tag.contains('>')));
        let Some(offset) = found else {
            // The tag may be cut in two.
            let seen = rest.rfind('<').unwrap_or(rest.len());
            self.place += rest.find("</").unwrap_or(seen);
            return false;
        };
        let tag = rest.get(offset + 2..).unwrap_or_default();
        let ends = THINKING.iter().any(|name| is_tag(tag, name));
        self.place += offset + 2;
        if ends {
            self.state = State::Searching;
        }
        true
    }

    /// Whether the whole value has arrived.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The value so far. Copies all of it.
    pub fn value(&self, open: OpenText) -> Option<Value> {
        let Some(parser) = &self.parser else { return self.scalar() };
        let ahead = parser.catch_up(&Source::new(&self.text, End::Open), &self.options);
        let parser = ahead.as_ref().unwrap_or(parser);
        let root = parser.root?;
        let mut value = parser.tree.value(root);
        if let (OpenText::Show, Some((Some(parent), key, text))) = (open, parser.open_text()) {
            match (value.pointer_mut(&parser.tree.pointer(parent)), key) {
                (Some(Value::Array(items)), _) => items.push(text.into()),
                (Some(Value::Object(members)), Some(key)) => {
                    members.insert(key.to_owned(), text.into());
                }
                _ => {}
            }
        }
        Some(value)
    }

    /// A text without list or object may be a value by itself, if it is short.
    fn scalar(&self) -> Option<Value> {
        const SHORT: usize = 4096;
        if self.state == State::TooDeep || self.text.len() > SHORT {
            return None;
        }
        salvage(&self.text, &self.options).map(|salvaged| salvaged.value)
    }

    /// Whether the value at a JSON Pointer has arrived to its end.
    pub fn is_complete(&self, at: &str) -> bool {
        self.find(at).is_some_and(|(parser, id)| parser.is_complete(id))
    }

    /// The value at a JSON Pointer, as far as it has arrived.
    pub fn get(&self, at: &str) -> Option<Value> {
        self.find(at).map(|(parser, id)| parser.tree.value(id))
    }

    fn find(&self, at: &str) -> Option<(&Parser, Id)> {
        let parser = self.parser.as_ref()?;
        let mut id = parser.root?;
        for step in at.split('/').skip(1) {
            let key = step.replace("~1", "/").replace("~0", "~");
            id = match parser.tree.kind(id) {
                Kind::List(_) => parser.tree.children(id).nth(key.parse().ok()?)?,
                Kind::Object(_) => {
                    let named =
                        |child: &Id| parser.tree.get(*child).and_then(|node| node.key.as_deref()) == Some(&*key);
                    parser.tree.children(id).filter(named).last()?
                }
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => return None,
            };
        }
        Some((parser, id))
    }

    /// What changed since this was last asked, in order: texts that went on, and values that were completed. Where the places of all that
    /// changed would take more than 16 MB, the next call has the rest.
    pub fn events(&mut self) -> Vec<Event> {
        self.sure = self.sure || !self.is_doubtful();
        let Some(parser) = self.parser.as_ref().filter(|_| self.sure) else { return Vec::new() };
        let mut events = Vec::new();
        let mut place_bytes = 0;
        for id in parser.completed.get(self.told..).unwrap_or_default() {
            if place_bytes > MAX_PLACE_BYTES {
                return events;
            }
            let value = match parser.tree.kind(*id) {
                Kind::List(_) | Kind::Object(_) => None,
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => Some(parser.tree.value(*id)),
            };
            let at = parser.tree.pointer_near(*id, &mut self.above);
            place_bytes += at.len();
            events.push(Event::Completed { at, value });
            self.told += 1;
        }
        if let Some((parent, key, text)) = parser.open_text() {
            let start = parser.open_start();
            let known = if self.told_text.0 == start { self.told_text.1 } else { 0 };
            if let Some(added) = text.get(known..).filter(|added| !added.is_empty()) {
                let mut at = parent.map(|parent| parser.tree.pointer(parent)).unwrap_or_default();
                at.push('/');
                match key {
                    Some(key) => push_step(&mut at, key),
                    None => at.push_str(&parent.map_or(0, |parent| parser.tree.count(parent)).to_string()),
                }
                events.push(Event::Text { at, added: added.to_owned() });
                self.told_text = (start, text.len());
            }
        }
        events
    }
}

/// Whether a text starts with a tag, whose opening marks may be gone already.
fn is_tag(text: &str, name: &str) -> bool {
    let text = text.strip_prefix('<').unwrap_or(text);
    text.strip_prefix(name).is_some_and(|rest| rest.starts_with('>'))
}
