//! Owns places: where in the caller's schema a node was read, kept as steps and spelled out only for what is told.

use std::fmt::Write;
use std::num::NonZeroU32;

use crate::json::push_token;
use crate::keyword::{COUNT, Kw, TABLE};

/// A place in the caller's schema: its number among the places, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(NonZeroU32);

/// The place of the root.
pub(crate) const ROOT: Place = Place(NonZeroU32::MIN);

/// The number of the last of so many things that are counted from one, so that having none takes no room.
pub(crate) fn nth(count: usize) -> NonZeroU32 {
    u32::try_from(count).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX)
}

/// Where a thing with that number stands in a list.
pub(crate) fn index(number: NonZeroU32) -> usize {
    number.get() as usize - 1
}

/// One step of the way to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'d> {
    Kw(Kw),
    Key(&'d &'d str),
    Index(usize),
}

/// The same beside the place that it leads from, in as little room as can be.
#[derive(Clone, Copy, Debug)]
struct Kept<'d> {
    from: Place,
    /// The number of a keyword, or behind those an index, where there is no key.
    number: u32,
    key: Option<&'d &'d str>,
}

impl<'d> Kept<'d> {
    fn new(from: Place, step: Step<'d>) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        match step {
            Step::Kw(kw) => Self { from, number: number(kw as usize), key: None },
            Step::Index(index) => Self { from, number: number(index.saturating_add(COUNT)), key: None },
            Step::Key(key) => Self { from, number: 0, key: Some(key) },
        }
    }

    fn step(&self) -> Step<'d> {
        let number = self.number as usize;
        match (self.key, TABLE.get(number)) {
            (Some(key), _) => Step::Key(key),
            (None, Some(row)) => Step::Kw(row.kw),
            (None, None) => Step::Index(number - COUNT),
        }
    }
}

impl<'d> Step<'d> {
    fn word(self) -> Option<&'d str> {
        match self {
            Self::Kw(kw) => Some(kw.name()),
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }

    fn spell(&self, pointer: &mut String) {
        match self {
            Self::Kw(kw) => {
                pointer.push('/');
                pointer.push_str(kw.name());
            }
            Self::Key(key) => push_token(pointer, key),
            // Writing to a text cannot fail.
            Self::Index(index) => drop(write!(pointer, "/{index}")),
        }
    }

    /// About how many bytes the step takes.
    fn room(&self) -> usize {
        self.word().map_or(4, str::len)
    }
}

/// The places of a schema: each is a step from the one around it.
#[derive(Debug)]
pub(crate) struct Places<'d>(Vec<Kept<'d>>);

impl<'d> Places<'d> {
    /// The place of the root, and room for so many.
    pub(crate) fn with_room(places: usize) -> Self {
        let mut steps = Vec::with_capacity(places);
        steps.push(Kept::new(ROOT, Step::Index(0)));
        Self(steps)
    }

    pub(crate) fn step(&mut self, parent: Place, step: Step<'d>) -> Place {
        self.0.push(Kept::new(parent, step));
        Place(nth(self.0.len()))
    }

    /// The place around a place, and the step from there; nothing at the root.
    fn last_step(&self, place: Place) -> Option<(Place, Step<'d>)> {
        self.0.get(index(place.0)).filter(|_| place != ROOT).map(|kept| (kept.from, kept.step()))
    }

    /// Whether one of these keywords stands on the way to a place.
    pub(crate) fn passes(&self, place: Place, words: &[Kw]) -> bool {
        let mut at = place;
        while let Some((parent, step)) = self.last_step(at) {
            if matches!(step, Step::Kw(kw) if words.contains(&kw)) {
                return true;
            }
            at = parent;
        }
        false
    }

    /// The last word on the way to a place: the name of a definition or property.
    pub(crate) fn name(&self, place: Place) -> Option<&'d str> {
        let mut at = place;
        loop {
            let (parent, step) = self.last_step(at)?;
            if let Some(word) = step.word() {
                return Some(word);
            }
            at = parent;
        }
    }
}

/// The way to a place, spelled out, and how long it is at each place on it: neighbours are often asked for in turn.
#[derive(Debug, Default)]
pub(crate) struct Spelled {
    text: String,
    places: Vec<(Place, usize)>,
}

impl Spelled {
    /// With room for what most places need.
    pub(crate) fn with_room() -> Self {
        Self { text: String::with_capacity(128), places: Vec::with_capacity(16) }
    }

    /// The JSON Pointer of a place.
    pub(crate) fn pointer(&mut self, place: Place, places: &Places<'_>) -> String {
        let Some((parent, step)) = places.last_step(place) else { return String::new() };
        self.go_to(parent, places);
        let mut pointer = String::with_capacity(self.text.len() + 1 + step.room());
        pointer.push_str(&self.text);
        step.spell(&mut pointer);
        pointer
    }

    /// Goes to a place, back over what lies behind the last common one. A place is made after the one around it, so its
    /// number is greater.
    fn go_to(&mut self, place: Place, places: &Places<'_>) {
        while self.places.pop_if(|(own, _)| *own > place).is_some() {}
        if let Some((_, length)) = self.places.last().filter(|(own, _)| *own == place) {
            self.text.truncate(*length);
            return;
        }
        match places.last_step(place) {
            Some((parent, step)) => {
                self.go_to(parent, places);
                step.spell(&mut self.text);
            }
            None => self.text.clear(),
        }
        self.places.push((place, self.text.len()));
    }
}
