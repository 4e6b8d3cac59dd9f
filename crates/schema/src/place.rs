//! Places in the caller's schema, stored as steps; pointers are written only for what is reported.

use std::fmt::Write;
use std::num::NonZeroU32;

use crate::json::push_token;
use crate::keyword::{COUNT, Kw, TABLE};

/// A place in the caller's schema: its number among the places, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(NonZeroU32);

/// The place of the root.
pub(crate) const ROOT: Place = Place(NonZeroU32::MIN);

/// Counted from one, so that `Option` of it takes no more space.
pub(crate) fn nth(count: usize) -> NonZeroU32 {
    u32::try_from(count).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX)
}

/// The index of a number that is counted from one.
pub(crate) fn index(number: NonZeroU32) -> usize {
    number.get() as usize - 1
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlaceStep<'d> {
    Kw(Kw),
    Key(&'d &'d str),
    Index(usize),
}

/// A step and the place that it starts from, packed.
#[derive(Clone, Copy, Debug)]
struct PackedStep<'d> {
    from: Place,
    /// The number of a keyword, or behind those an index, where there is no key.
    number: u32,
    key: Option<&'d &'d str>,
}

impl<'d> PackedStep<'d> {
    fn new(from: Place, step: PlaceStep<'d>) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        match step {
            PlaceStep::Kw(kw) => Self { from, number: number(kw as usize), key: None },
            PlaceStep::Index(index) => Self { from, number: number(index.saturating_add(COUNT)), key: None },
            PlaceStep::Key(key) => Self { from, number: 0, key: Some(key) },
        }
    }

    fn step(&self) -> PlaceStep<'d> {
        let number = self.number as usize;
        match (self.key, TABLE.get(number)) {
            (Some(key), _) => PlaceStep::Key(key),
            (None, Some(row)) => PlaceStep::Kw(row.kw),
            (None, None) => PlaceStep::Index(number - COUNT),
        }
    }
}

impl<'d> PlaceStep<'d> {
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
pub(crate) struct Places<'d>(Vec<PackedStep<'d>>);

impl<'d> Places<'d> {
    pub(crate) fn with_capacity(places: usize) -> Self {
        let mut steps = Vec::with_capacity(places);
        steps.push(PackedStep::new(ROOT, PlaceStep::Index(0)));
        Self(steps)
    }

    pub(crate) fn step(&mut self, parent: Place, step: PlaceStep<'d>) -> Place {
        self.0.push(PackedStep::new(parent, step));
        Place(nth(self.0.len()))
    }

    /// The place around a place, and the step from there; nothing at the root.
    fn last_step(&self, place: Place) -> Option<(Place, PlaceStep<'d>)> {
        self.0.get(index(place.0)).filter(|_| place != ROOT).map(|kept| (kept.from, kept.step()))
    }

    /// True of places below one of these keywords.
    pub(crate) fn is_below(&self, place: Place, words: &[Kw]) -> bool {
        let mut at = place;
        while let Some((parent, step)) = self.last_step(at) {
            if matches!(step, PlaceStep::Kw(kw) if words.contains(&kw)) {
                return true;
            }
            at = parent;
        }
        false
    }

    /// The name of the definition at a path, where it is one.
    pub(crate) fn definition_name(&self, place: Place) -> Option<&'d str> {
        let (parent, step) = self.last_step(place)?;
        let (_, holder) = self.last_step(parent)?;
        let is_map = holder.word().is_some_and(|word| matches!(Kw::of(word), Some(Kw::Defs | Kw::Definitions)));
        step.word().filter(|_| is_map)
    }

    /// The last key or keyword of a path: the name of a definition or property.
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

/// Writes pointers, reusing the common prefix with the previous one: neighbours are often written in turn.
#[derive(Debug, Default)]
pub(crate) struct PointerWriter {
    text: String,
    places: Vec<(Place, usize)>,
}

impl PointerWriter {
    pub(crate) fn with_capacity() -> Self {
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

    /// Truncates to the last common place, then appends. A place is created after the one around it, so its
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
