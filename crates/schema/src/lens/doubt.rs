//! Branches that only a validator could tell apart: both ask of one value what a guard cannot, and not the same. Which of them is
//! right for the caller's value is then a guess.

use foldhash::HashSet;

use super::alike::{Comparer, Meeting, Side};
use super::guard::{Guard, GuardId, More};
use super::{Lens, LensId, Shape, format};

/// How many guards are looked at in one branch.
const MOST_GUARDS: usize = 2_000;

/// What is asked and cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Doubt {
    at: At,
    what: What,
}

/// The way to a part of the value, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct At(u64);

impl At {
    const WHOLE: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The part within, by what leads there.
    fn within(self, mark: u8, step: &[u8]) -> Self {
        let add = |at: u64, byte: &u8| (at ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(step.iter().chain(&[mark]).fold(self.0, add))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum What {
    Format(String),
    /// Another rule, in words.
    Rule(String),
    /// More than a guard holds.
    Unasked(GuardId),
    /// What was asked further up is asked again.
    Again(GuardId),
}

impl What {
    fn is_decided(&self) -> bool {
        match self {
            Self::Format(name) => format::is_decided(name),
            Self::Again(_) => true,
            Self::Rule(_) | Self::Unasked(_) => false,
        }
    }
}

impl Lens {
    /// The branches of a union that may be taken for a value that only a later one accepts, by their numbers.
    pub(crate) fn guessed(&self, id: LensId) -> Vec<usize> {
        let branches: Vec<(LensId, GuardId)> = match self.shape(id) {
            Shape::Union(branches) => branches.iter().map(|own| (own.lens, own.guard)).collect(),
            // Each under a key of its own.
            Shape::Choice { branches, .. } => {
                (1..).map(LensId).zip(branches).map(|(key, (_, guard))| (key, *guard)).collect()
            }
            Shape::Same
            | Shape::Link(_)
            | Shape::Nullable(_)
            | Shape::NullIsAbsent(_)
            | Shape::Object(_)
            | Shape::Array { .. }
            | Shape::Tuple { .. }
            | Shape::Entries(_)
            | Shape::Wrapped(..)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_) => return Vec::new(),
        };
        let doubts: Vec<HashSet<Doubt>> = branches.iter().map(|(_, guard)| self.doubts(*guard)).collect();
        let doubtful = |own: &HashSet<Doubt>| own.iter().any(|doubt| !matches!(doubt.what, What::Again(_)));
        if doubts.iter().filter(|own| doubtful(own)).count() < 2 {
            return Vec::new();
        }
        let mut comparer = Comparer::new(self);
        let mut guessed = Vec::new();
        for (second, ((lens, guard), own)) in branches.iter().zip(&doubts).enumerate() {
            let mistaken = |((other_lens, other), theirs): (&(LensId, GuardId), &HashSet<Doubt>)| {
                let decided = own.iter().chain(theirs).all(|doubt| doubt.what.is_decided());
                other_lens != lens
                    && doubtful(own)
                    && doubtful(theirs)
                    && !decided
                    && !theirs.is_subset(own)
                    && comparer.meet(Side::Of(LensId::SAME, Some(*other)), Side::Of(LensId::SAME, Some(*guard)))
                        != Meeting::Never
            };
            if branches.iter().zip(&doubts).take(second).any(mistaken) {
                guessed.push(second);
            }
        }
        guessed
    }

    /// Whether some guard may ask what cannot be told.
    pub(crate) fn may_doubt(&self) -> bool {
        self.guards.iter().any(|guard| {
            let keys = guard.pattern_properties.iter().map(|(pattern, _)| pattern);
            let rules = |more: &More| more.unique || !more.formats.is_empty() || !more.multiples.is_empty();
            guard.unasked.is_some()
                || guard.more.as_deref().is_some_and(rules)
                || guard.patterns.iter().chain(keys).any(|pattern| pattern.unusable().is_some())
        })
    }

    fn doubts(&self, guard: GuardId) -> HashSet<Doubt> {
        let mut search = Search { lens: self, seen: HashSet::default(), left: MOST_GUARDS, found: HashSet::default() };
        search.look(guard, At::WHOLE);
        search.found
    }
}

struct Search<'l> {
    lens: &'l Lens,
    seen: HashSet<GuardId>,
    left: usize,
    found: HashSet<Doubt>,
}

impl Search<'_> {
    fn add(&mut self, at: At, what: What) {
        self.found.insert(Doubt { at, what });
    }

    fn look(&mut self, id: GuardId, at: At) {
        let Some(guard) = self.lens.guard(id) else { return };
        let Some(left) = self.left.checked_sub(1) else { return self.add(at, What::Unasked(id)) };
        self.left = left;
        if !self.seen.insert(id) {
            return self.add(at, What::Again(id));
        }
        if guard.unasked.is_some() {
            self.add(at, What::Unasked(id));
        }
        for pattern in guard.patterns.iter().filter_map(|pattern| pattern.unusable()) {
            self.add(at, What::Rule(pattern.to_owned()));
        }
        if guard.pattern_properties.iter().any(|(pattern, _)| pattern.unusable().is_some()) {
            self.add(at, What::Unasked(id));
        }
        if let Some(more) = &guard.more {
            for format in more.formats.iter().filter(|format| format::is_known(format)) {
                self.add(at, What::Format(format.clone()));
            }
            for step in more.multiples.iter().filter(|step| step.fract() != 0.0) {
                self.add(at, What::Rule(format!("a multiple of {step}")));
            }
            if more.unique {
                self.add(at, What::Rule("unique".to_owned()));
            }
        }
        self.look_inside(id, guard, at);
    }

    fn look_inside(&mut self, id: GuardId, guard: &Guard, at: At) {
        for (key, own) in &guard.properties {
            self.look(*own, at.within(b'k', key.as_bytes()));
        }
        for (index, own) in guard.prefix.iter().enumerate() {
            self.look(*own, at.within(b'n', &index.to_le_bytes()));
        }
        guard.items.iter().for_each(|own| self.look(*own, at.within(b'*', &[])));
        guard.additional.iter().for_each(|own| self.look(*own, at.within(b'?', &[])));
        // What holds only of some values is the same doubt only within the same guard.
        let within = at.within(b'(', &id.index().to_le_bytes());
        let more = guard.more.iter().flat_map(|more| {
            let conditions = more.conditions.iter().flat_map(|(when, then, other)| [Some(*when), *then, *other]);
            let contains = more.contains.iter().map(|(own, ..)| *own);
            let dependents = more.dependents.iter().map(|(_, own)| *own);
            contains.chain(dependents).chain(more.names.iter().copied()).chain(conditions.flatten())
        });
        let matching = guard.pattern_properties.iter().map(|(_, own)| *own);
        let branches = guard.all_unions().flatten().chain(&guard.nots).copied();
        for own in branches.chain(matching).chain(more) {
            self.look(own, within);
        }
    }
}
