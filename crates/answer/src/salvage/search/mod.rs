//! The cheapest explanation of a broken value, found by a bounded best-first search.
//!
//! A state is a place in the text and what is open there. Every step that JSON allows is free; every edit (a quote that is part of
//! its string, a closer that is missing, a comma too many) has a cost. States are expanded cheapest first, and states with the same
//! future are merged, as in the search for shortest repairs of an error-correcting parser. On text without faults only one path is
//! followed. A schema makes a reading that does not fit it dearer, so it decides between readings that the text alone leaves open.

mod build;
mod cost;
mod guide;
mod structure;
mod text;
mod word;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::{FixedState, RandomState};

use super::find::Mended;
use super::parser::Noted;
use super::source::{End, Quote, Source};
use crate::options::Options;
use crate::repair::RepairKind;
use crate::shape::Shapes;
use guide::{Guide, SetId};

/// A reading of the text.
pub(crate) struct Explained {
    pub(crate) mended: Mended,
    pub(crate) end: usize,
    /// How much dearer it is than the cheapest.
    pub(crate) extra: u32,
}

/// States that one search may expand: at least, and for each byte. All searches of a text share [`MAX_STATES`].
const MIN_STATES: usize = 4_000;
const STATES_PER_BYTE: usize = 12;
pub(crate) const MAX_STATES: usize = 120_000;
/// States that are kept for one that may be expanded, which bounds the memory.
const KEPT_PER_STATE: usize = 4;
/// A state so far behind the furthest one is given up: a fault shows before.
const WINDOW: usize = 1_536;
/// Alternatives that are returned beside the cheapest reading.
const MAX_ALTERNATIVES: usize = 3;
const MAX_MERGES: usize = 4_096;

/// The readings of the value that starts at a place, the cheapest first. None if the search became too long.
pub(crate) fn explain(
    text: &str,
    place: usize,
    options: &Options,
    shapes: Option<&Shapes>,
    states_left: &mut usize,
) -> Vec<Explained> {
    if let Some(escaped) = Unescaped::of(text, place) {
        let mut readings = explain_plain(&escaped.text, 0, options, shapes, states_left);
        for reading in &mut readings {
            escaped.map_back(reading);
        }
        return readings;
    }
    explain_plain(text, place, options, shapes, states_left)
}

fn explain_plain(
    text: &str,
    place: usize,
    options: &Options,
    shapes: Option<&Shapes>,
    states_left: &mut usize,
) -> Vec<Explained> {
    let mut search = Search {
        source: Source::new(text, End::Final),
        options,
        guide: Guide::new(shapes),
        frames: Vec::new(),
        keys: Vec::new(),
        events: Vec::new(),
        buckets: Vec::new(),
        level: 0,
        seen: HashMap::default(),
        merges: Vec::new(),
        goals: Vec::new(),
        furthest: place,
    };
    let states = (MIN_STATES + (text.len() - place) * STATES_PER_BYTE).min(*states_left);
    *states_left -= states - search.run(place, states);
    search.readings()
}

/// What the search does next in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Value,
    Key,
    Colon,
    /// Behind a member or an item.
    After,
    /// Behind the whole value.
    End,
    Text(TextScan),
    Bare(BareScan),
}

/// How a string is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Style {
    Once,
    Twice,
    Thrice,
    Escaped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Key,
    Value,
    /// A part of the string before it.
    Join,
}

/// A string whose end is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TextScan {
    /// The place of the opening quote, and what is behind it.
    start: usize,
    from: usize,
    quote: Quote,
    style: Style,
    role: Role,
    /// Quotes that were passed as parts of the string.
    inner: u8,
}

/// A value without quotes whose end is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BareScan {
    start: usize,
}

/// The kind of the value that was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    None,
    Text,
    List,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct State {
    place: usize,
    mode: Mode,
    frame: FrameId,
    event: EventId,
    cost: u32,
    /// What the next value may be.
    child: SetId,
    /// A comma was read and nothing behind it.
    comma: bool,
    last: Last,
    habits: u8,
}

/// A liberty that a writer takes all the time, so that it is paid for once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Quotes = 1,
    BareKeys = 2,
    Literals = 4,
    BareWords = 8,
    NoCommas = 16,
    Colons = 32,
}

impl State {
    fn charge(&mut self, habit: Habit, cost: u32) {
        let is_known = self.habits & habit as u8 != 0;
        self.habits |= habit as u8;
        self.cost += if is_known { cost / cost::REPEATED } else { cost };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EventId(u32);

const NONE: u32 = u32::MAX;

/// The kind of a list or object that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Container {
    Object,
    List,
    /// A list in braces.
    Set,
    Paren,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "two facts that have nothing to do with each other")]
struct Frame {
    parent: FrameId,
    container: Container,
    shapes: SetId,
    /// The keys that were read, as a chain.
    keys: u32,
    /// A key was read that the schema declares further out. That is paid for once.
    has_foreign: bool,
    /// Its opener is missing, so its closer is, too.
    is_implied: bool,
    hash: u64,
    depth: usize,
}

#[derive(Clone, Debug)]
struct KeyNode {
    key: String,
    before: u32,
}

/// How a string was written.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a string may lack its quote and be complete")]
struct Written {
    quote: Quote,
    style: Style,
    inner: u8,
    lacks_quote: bool,
    complete: bool,
}

/// A step of a reading.
#[derive(Clone, Copy, Debug)]
enum Event {
    Open(Container, usize),
    Close {
        next: usize,
        complete: bool,
    },
    Key {
        raw: (usize, usize),
        span: (usize, usize),
        written: Option<Written>,
    },
    Text {
        raw: (usize, usize),
        span: (usize, usize),
        written: Written,
        join: bool,
    },
    Word {
        start: usize,
        end: usize,
        cut: bool,
    },
    /// A string without quotes, or without the first one.
    Words {
        start: usize,
        end: usize,
        lost_quote: bool,
    },
    Missing(usize),
    /// The key that waits for a value is left out.
    DropKey(usize, usize),
    /// The list that was closed last goes on.
    Reopen(usize),
    /// The text that was read last is the key of an object that begins there.
    Rekey(usize),
    Comma,
    Note(RepairKind, usize, usize),
}

struct EventNode {
    before: EventId,
    event: Event,
}

struct Search<'t> {
    source: Source<'t>,
    options: &'t Options,
    guide: Guide<'t>,
    frames: Vec<Frame>,
    keys: Vec<KeyNode>,
    events: Vec<EventNode>,
    /// States by cost.
    buckets: Vec<Vec<State>>,
    level: usize,
    /// The cost and last event of the cheapest state with a future.
    seen: HashMap<u64, (u32, EventId), RandomState>,
    /// States that were dropped for a cheaper one: the event of the kept one, their own, and the difference.
    merges: Vec<(EventId, EventId, u32)>,
    goals: Vec<State>,
    furthest: usize,
}

impl Search<'_> {
    /// Searches from a place, and returns how many states are left.
    fn run(&mut self, place: usize, states: usize) -> usize {
        let child = self.guide.root();
        self.push(State {
            place,
            mode: Mode::Value,
            frame: FrameId(NONE),
            event: EventId(NONE),
            cost: 0,
            child,
            comma: false,
            last: Last::None,
            habits: 0,
        });
        let mut left = states;
        // What remains when the value was found is for its alternatives.
        let mut reserve = 0;
        while let Some(state) = self.next() {
            if left == 0 || self.seen.len() > KEPT_PER_STATE * states {
                break;
            }
            left -= 1;
            if let Some(goal) = self.goals.first() {
                let slack = if self.guide.is_blind() || goal.cost == 0 { 0 } else { cost::SLACK };
                if state.cost > goal.cost + slack {
                    break;
                }
            }
            self.furthest = self.furthest.max(state.place);
            self.expand(state);
            if self.goals.len() == 1 && reserve == 0 {
                reserve = left.saturating_sub(MIN_STATES);
                left -= reserve;
            }
        }
        left + reserve
    }

    fn next(&mut self) -> Option<State> {
        loop {
            let bucket = self.buckets.get_mut(self.level)?;
            let Some(state) = bucket.pop() else {
                self.level += 1;
                continue;
            };
            let is_stale = self.seen.get(&self.future(&state)).is_some_and(|known| known.0 < state.cost);
            if !is_stale && state.place + WINDOW >= self.furthest {
                return Some(state);
            }
        }
    }

    /// A number that states with the same future share.
    fn future(&self, state: &State) -> u64 {
        let frame = self.frame(state.frame).map_or(0, |frame| frame.hash);
        FixedState::default().hash_one((state.place, state.mode, frame, state.child, state.comma))
    }

    fn push(&mut self, state: State) {
        let level = state.cost as usize;
        if level >= cost::MAX {
            return;
        }
        let future = self.future(&state);
        let merge = match self.seen.entry(future) {
            Entry::Vacant(entry) => {
                entry.insert((state.cost, state.event));
                None
            }
            Entry::Occupied(mut entry) => {
                let (known, event) = *entry.get();
                if known <= state.cost {
                    if event != state.event && self.merges.len() < MAX_MERGES && state.cost - known <= cost::SLACK {
                        self.merges.push((event, state.event, state.cost - known));
                    }
                    return;
                }
                entry.insert((state.cost, state.event));
                Some((state.event, event, known - state.cost))
            }
        };
        self.merges.extend(merge.filter(|merge| merge.2 <= cost::SLACK && self.merges.len() < MAX_MERGES));
        if self.buckets.len() <= level {
            self.buckets.resize_with(level + 1, Vec::new);
        }
        if let Some(bucket) = self.buckets.get_mut(level) {
            bucket.push(state);
        }
    }

    fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.0 as usize)
    }

    fn container(&self, state: &State) -> Option<Container> {
        self.frame(state.frame).map(|frame| frame.container)
    }

    /// Adds an event to what a state has read.
    fn add(&mut self, state: &mut State, event: Event) {
        let id = EventId(u32::try_from(self.events.len()).unwrap_or(NONE));
        self.events.push(EventNode { before: state.event, event });
        state.event = id;
    }

    fn note(&mut self, state: &mut State, kind: RepairKind, span: Range<usize>, cost: u32) {
        self.add(state, Event::Note(kind, span.start, span.end));
        state.cost += cost;
    }

    /// The events of a path, the last one first.
    fn path(&self, last: EventId) -> Vec<EventId> {
        let mut path = Vec::new();
        let mut at = last;
        while let Some(node) = self.events.get(at.0 as usize) {
            path.push(at);
            at = node.before;
        }
        path
    }

    fn readings(&self) -> Vec<Explained> {
        let Some(best) = self.goals.first() else { return Vec::new() };
        let path = self.path(best.event);
        let mut paths: Vec<(u32, usize, Vec<EventId>)> = Vec::new();
        for goal in self.goals.iter().skip(1) {
            paths.push((goal.cost - best.cost, goal.place, self.path(goal.event)));
        }
        let positions: HashMap<u32, usize, RandomState> =
            path.iter().enumerate().map(|(position, event)| (event.0, position)).collect();
        let mut merges: Vec<(u32, usize, EventId)> = self
            .merges
            .iter()
            .filter_map(|(kept, other, extra)| Some((*extra, *positions.get(&kept.0)?, *other)))
            .collect();
        merges.sort_by_key(|(extra, position, _)| (*extra, *position));
        for (extra, position, other) in merges.into_iter().take(4 * MAX_ALTERNATIVES) {
            let mut joined = path.get(..position).unwrap_or_default().to_vec();
            joined.extend(self.path(other));
            paths.push((extra, best.place, joined));
        }
        paths.sort_by_key(|(extra, _, _)| *extra);
        let Some(mended) = self.build(&path) else { return Vec::new() };
        let value = mended.tree.value(mended.root);
        let mut values = vec![value];
        let mut readings = vec![Explained { mended, end: best.place, extra: 0 }];
        for (extra, end, path) in paths {
            if readings.len() > MAX_ALTERNATIVES {
                break;
            }
            let Some(mended) = self.build(&path) else { continue };
            let value = mended.tree.value(mended.root);
            if !values.contains(&value) {
                values.push(value);
                readings.push(Explained { mended, end, extra });
            }
        }
        readings
    }
}

/// A text whose quotes are escaped though no string is around them.
struct Unescaped {
    text: String,
    /// The place in the original of each byte.
    places: Vec<usize>,
}

impl Unescaped {
    fn of(text: &str, place: usize) -> Option<Self> {
        let rest = text.get(place..)?;
        let head = rest.trim_start_matches(['{', '[', ' ', '\n', '\r', '\t']);
        let begins_escaped = head.starts_with("\\n") || head.starts_with("\\t") || head.starts_with("\\r\\n");
        let first_quote = rest.find('"').and_then(|quote| rest.get(..quote));
        let is_escaped =
            first_quote.is_some_and(|before| before.ends_with('\\') && !before.contains(['\'', '“', '‘', '`']));
        if !(is_escaped || begins_escaped) {
            return None;
        }
        let mut plain = String::with_capacity(rest.len());
        let mut places = Vec::with_capacity(rest.len() + 1);
        let mut chars = rest.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let escaped = if char == '\\' { chars.peek().map(|(_, next)| *next) } else { None };
            let meant = match escaped {
                Some('"' | '\\' | '/') => escaped,
                Some('n') => Some('\n'),
                Some('t') => Some('\t'),
                Some('r') => Some('\r'),
                _ => None,
            };
            if meant.is_some() {
                chars.next();
            }
            plain.push(meant.unwrap_or(char));
            places.resize(plain.len(), place + at);
        }
        places.push(text.len());
        Some(Self { text: plain, places })
    }

    fn map_back(&self, reading: &mut Explained) {
        let map = |place: usize| self.places.get(place).or(self.places.last()).copied().unwrap_or_default();
        reading.mended.tree.map_spans(&map);
        for noted in &mut reading.mended.noted {
            noted.span = map(noted.span.start)..map(noted.span.end);
        }
        reading.end = map(reading.end);
        let whole = map(0)..reading.end;
        reading.mended.noted.push(Noted { kind: RepairKind::Escape, node: None, span: whole });
    }
}
