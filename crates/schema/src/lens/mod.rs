//! Owns the value mapping that belongs to a fitted schema: what each rewrite did to the shape of values, and how a value goes
//! to the wire and back. Rewrites add to it as they go; it knows neither dialects nor schemas.

mod alike;
mod apply;
mod choose;
mod doubt;
mod format;
mod frame;
mod guard;
mod place;
pub(crate) mod view;
mod wire_types;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

pub(crate) use alike::Found;
pub use apply::{DecodeRepair, LensError};
pub(crate) use doubt::Guesses;
pub(crate) use guard::{Guard, More, Sized, Verdict};
pub use guard::{GuardId, Pattern};

/// The value mapping of a fitted schema: [`encode`](Lens::encode) to the wire, [`decode`](Lens::decode) back. It can be written
/// as JSON, kept, and used in another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lens {
    shapes: Vec<Shape>,
    guards: Vec<Guard>,
    root: LensId,
    #[serde(default, skip_serializing_if = "Undeclared::are_as_asked")]
    undeclared: Undeclared,
    /// What values go through after this, on their way to the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Box<Lens>>,
}

/// Whether an object on the wire may have properties that are not declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Undeclared {
    /// It may where the caller's schema says so.
    #[default]
    AsAsked,
    /// It never may.
    Refused,
}

impl Undeclared {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn are_as_asked(&self) -> bool {
        *self == Self::AsAsked
    }
}

/// A shape of a [`Lens`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LensId(u32);

/// How the value at one place travels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// As it is.
    Same,
    /// Another shape, by number: the way to a shape that was not known yet.
    Link(LensId),
    /// `null` as it is, anything else in a shape.
    Nullable(LensId),
    /// The value of an entry: `null` by its absence, anything else in a shape.
    NullIsAbsent(LensId),
    /// An object, field by field.
    Object(Box<ObjectShape>),
    /// An array whose first items travel in shapes of their own, and the rest in one.
    Array {
        /// The shapes of the first items.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prefix: Vec<LensId>,
        /// The shape of the other items.
        rest: LensId,
    },
    /// A tuple as an object with one field for each place, and the rest in a list.
    Tuple {
        /// The keys of the first items.
        fields: Vec<String>,
        /// The key of the list of the other items.
        rest: Option<String>,
        /// The shape of the object.
        object: LensId,
    },
    /// A map as a list of entries.
    Entries(LensId),
    /// Inside an object under this key.
    Wrapped(String, LensId),
    /// `null` as an empty list, anything else as a list of one.
    AtMostOne(LensId),
    /// As JSON text in a string.
    Text,
    /// One of these values, each under a label.
    Labels(Vec<(String, Value)>),
    /// The first branch that fits.
    Union(Vec<Branch>),
    /// An object with one of these keys, by branch.
    Choice {
        /// The key and the guard of each branch.
        branches: Vec<(String, GuardId)>,
        /// The shape of the object.
        object: LensId,
    },
}

/// What a value of another kind becomes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireKind {
    /// A string that holds JSON.
    Text,
    /// A string that stands for a value.
    Label,
    /// A list of entries.
    Entries,
}

/// An object whose properties travel in shapes of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectShape {
    /// The declared properties.
    pub fields: Vec<Field>,
    /// Properties that are not declared, as a list of entries.
    pub rest: Option<Rest>,
    /// The shapes of properties that are not declared and stay in place, by the first pattern that the key matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<(Pattern, LensId)>,
    /// The shape of those that match none.
    pub others: LensId,
}

impl Shape {
    /// What it is called, in words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Same => "the same",
            Self::Link(_) => "a link",
            Self::Nullable(_) => "null or another shape",
            Self::NullIsAbsent(_) => "null by absence",
            Self::Object(_) => "an object",
            Self::Array { .. } => "an array",
            Self::Tuple { .. } => "a tuple",
            Self::Entries(_) => "a list of entries",
            Self::Wrapped(..) => "a wrapped value",
            Self::AtMostOne(_) => "a list of at most one",
            Self::Text => "JSON text",
            Self::Labels(_) => "labels",
            Self::Union(_) => "a union",
            Self::Choice { .. } => "a choice",
        }
    }

    /// Whether values change whatever the shapes inside are.
    fn changes_values(&self) -> bool {
        match self {
            Self::Same | Self::Link(_) | Self::Nullable(_) | Self::Array { .. } | Self::Union(_) => false,
            Self::Object(object) => {
                let kept = |field: &Field| field.absent == Absent::Kept && field.renamed.is_none();
                object.rest.is_some() || !object.fields.iter().all(kept)
            }
            Self::NullIsAbsent(_)
            | Self::Tuple { .. }
            | Self::Entries(_)
            | Self::Wrapped(..)
            | Self::AtMostOne(_)
            | Self::Text
            | Self::Labels(_)
            | Self::Choice { .. } => true,
        }
    }

    fn each_inner(&self, visit: &mut dyn FnMut(LensId)) {
        match self {
            Self::Same | Self::Text | Self::Labels(_) => {}
            Self::Link(inner)
            | Self::Nullable(inner)
            | Self::NullIsAbsent(inner)
            | Self::Entries(inner)
            | Self::Wrapped(_, inner)
            | Self::AtMostOne(inner)
            | Self::Tuple { object: inner, .. }
            | Self::Choice { object: inner, .. } => visit(*inner),
            Self::Object(object) => {
                object.fields.iter().for_each(|field| visit(field.lens));
                visit(object.others);
                object.matching.iter().for_each(|(_, lens)| visit(*lens));
                object.rest.iter().for_each(|rest| visit(rest.lens));
            }
            Self::Array { prefix, rest } => prefix.iter().chain([rest]).for_each(|inner| visit(*inner)),
            Self::Union(branches) => branches.iter().for_each(|branch| visit(branch.lens)),
        }
    }
}

impl ObjectShape {
    /// The shape of a property that is not declared.
    pub fn other(&self, key: &str) -> LensId {
        self.matching.iter().find(|(pattern, _)| pattern.matches(key)).map_or(self.others, |(_, lens)| *lens)
    }

    /// Whether an undeclared key could be taken for a renamed property: it is the new name of one, with any number of
    /// underscores behind it. Such keys travel with one underscore more.
    pub fn takes(&self, key: &str) -> bool {
        self.fields
            .iter()
            .filter_map(|field| field.renamed.as_deref())
            .any(|wire| key.strip_prefix(wire).is_some_and(|more| more.bytes().all(|byte| byte == b'_')))
    }
}

/// A branch of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// What the caller's value must be.
    pub guard: GuardId,
    /// The shape of its values.
    pub lens: LensId,
}

/// A declared property.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The caller's name.
    pub name: SmolStr,
    /// What it is called on the wire, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<SmolStr>,
    /// The shape of its values.
    pub lens: LensId,
    /// The encoding of its absence.
    pub absent: Absent,
}

impl Field {
    /// Its name on the wire.
    pub fn wire(&self) -> &str {
        self.renamed.as_deref().unwrap_or(&self.name)
    }
}

/// What the absence of a property becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// It stays absent.
    Kept,
    /// It travels as `null`.
    Null,
    /// It travels as `null`, as `null` itself does: `null` on the wire is read as absence.
    NullEither,
    /// The same, but `null` on the wire is read as `null`.
    NullEitherIsNull,
    /// `null` travels as absence.
    IsNull,
    /// It stays absent, as `null` becomes: absence on the wire is read as absence.
    IsEither,
    /// The same, but absence on the wire is read as `null`.
    IsEitherNull,
    /// It travels as an empty list, and a value as a list of one.
    EmptyList,
    /// It travels as `null`, and `null` as an empty list.
    NullMark,
    /// It travels as `null`, `null` as an empty list, and a value as a list of one.
    NullList,
}

/// What happens to properties that are not declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// The key of the list on the wire.
    pub wire: String,
    /// The shape of the values of entries.
    pub lens: LensId,
    /// Whether the list is there even when it is empty.
    pub always: bool,
}

/// How many shapes are followed that stand for others.
const DEEPEST_LINKS: usize = 16;

/// What is used by what.
#[derive(Default)]
struct Uses(Vec<(usize, usize)>);

impl Uses {
    fn add(&mut self, used: usize, by: usize) {
        self.0.push((used, by));
    }

    /// Which of so many things these are, or use one of them, however far below.
    fn all_above(mut self, mut open: Vec<usize>, count: usize) -> Vec<bool> {
        self.0.sort_unstable();
        let mut above = vec![false; count];
        while let Some(index) = open.pop() {
            if let Some(seen) = above.get_mut(index)
                && !std::mem::replace(seen, true)
            {
                let here = self.0.iter().skip(self.0.partition_point(|(used, _)| *used < index));
                open.extend(here.take_while(|(used, _)| *used == index).map(|(_, user)| *user));
            }
        }
        above
    }
}

/// So many shapes are looked at to see whether one changes values.
const MOST_LOOKS: usize = 64;

impl Absent {
    /// Whether something travels where the caller's object has nothing.
    pub fn has_a_mark(self) -> bool {
        match self {
            Self::Kept | Self::IsNull | Self::IsEither | Self::IsEitherNull => false,
            Self::Null
            | Self::NullEither
            | Self::NullEitherIsNull
            | Self::EmptyList
            | Self::NullMark
            | Self::NullList => true,
        }
    }
}

impl LensId {
    /// The shape of what travels as it is.
    pub(crate) const SAME: Self = Self(0);

    /// True of the identity only; [`Lens::keeps`] also finds shapes that turned out to change nothing.
    pub fn is_same(self) -> bool {
        self == Self::SAME
    }
}

impl Lens {
    /// Whether every value travels as it is.
    pub fn is_identity(&self) -> bool {
        self.root.is_same() && self.next.is_none()
    }

    /// This lens, and another one after it.
    pub(crate) fn then(mut self, next: Self) -> Self {
        self.next = Some(Box::new(next));
        self
    }

    pub(crate) fn identity() -> Self {
        Self { shapes: Vec::new(), guards: Vec::new(), root: LensId::SAME, undeclared: Undeclared::AsAsked, next: None }
    }

    /// Adds a shape. One that changes nothing is the identity.
    pub(crate) fn add(&mut self, shape: Shape) -> LensId {
        let mut same = !shape.changes_values();
        shape.each_inner(&mut |inner| same &= inner.is_same());
        if same { LensId::SAME } else { self.push(shape) }
    }

    fn push(&mut self, shape: Shape) -> LensId {
        if self.shapes.is_empty() {
            // What travels as it is has the first number.
            self.shapes.push(Shape::Same);
        }
        let id = LensId(u32::try_from(self.shapes.len()).unwrap_or(0));
        self.shapes.push(shape);
        id
    }

    /// What a value becomes on the wire, where that looks like something else.
    pub(crate) fn kind_on_wire(&self, id: LensId) -> Option<WireKind> {
        match self.shape(id) {
            Shape::Text => Some(WireKind::Text),
            Shape::Labels(_) => Some(WireKind::Label),
            Shape::Entries(_) => Some(WireKind::Entries),
            Shape::Nullable(inner) => self.kind_on_wire(*inner),
            Shape::Same
            | Shape::Link(_)
            | Shape::NullIsAbsent(_)
            | Shape::Object(_)
            | Shape::Array { .. }
            | Shape::Tuple { .. }
            | Shape::Wrapped(..)
            | Shape::AtMostOne(_)
            | Shape::Union(_)
            | Shape::Choice { .. } => None,
        }
    }

    /// Whether something that is no list may travel as one.
    pub(crate) fn makes_lists(&self, id: LensId) -> bool {
        self.makes_lists_below(id, DEEPEST_LINKS)
    }

    fn makes_lists_below(&self, id: LensId, depth: usize) -> bool {
        // What is too far away, as in a loop, may be anything.
        let Some(depth) = depth.checked_sub(1) else { return true };
        match self.shape(id) {
            Shape::Entries(_) | Shape::AtMostOne(_) => true,
            Shape::Link(inner) => inner.is_same() || self.makes_lists_below(*inner, depth),
            Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => self.makes_lists_below(*inner, depth),
            Shape::Union(branches) => branches.iter().any(|branch| self.makes_lists_below(branch.lens, depth)),
            Shape::Same
            | Shape::Object(_)
            | Shape::Array { .. }
            | Shape::Tuple { .. }
            | Shape::Wrapped(..)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Choice { .. } => false,
        }
    }

    /// A shape that is not known yet.
    pub(crate) fn reserve(&mut self) -> LensId {
        self.push(Shape::Link(LensId::SAME))
    }

    /// Says what a reserved shape is.
    pub(crate) fn settle(&mut self, id: LensId, known: LensId) {
        if let Some(shape) = self.shapes.get_mut(id.0 as usize) {
            *shape = Shape::Link(known);
        }
    }

    /// Adds a guard, or the place for one that is set later.
    pub(crate) fn add_guard(&mut self, guard: Guard) -> GuardId {
        let id = GuardId::at(self.guards.len());
        self.guards.push(guard);
        id
    }

    pub(crate) fn set_guard(&mut self, id: GuardId, guard: Guard) {
        if let Some(place) = self.guards.get_mut(id.index()) {
            *place = guard;
        }
    }

    pub(crate) fn with_root(mut self, root: LensId) -> Self {
        self.root = root;
        self
    }

    pub(crate) fn with_undeclared(mut self, undeclared: Undeclared) -> Self {
        self.undeclared = undeclared;
        self
    }

    /// Finds the shapes that change nothing, which is known of a loop only when all of it is there, and makes them the identity.
    pub(crate) fn settled(mut self) -> Self {
        // Without links there are no loops, and what changes nothing was never added.
        if !self.shapes.iter().any(|shape| matches!(shape, Shape::Link(_))) {
            return self;
        }
        let mut uses = Uses::default();
        let mut moving: Vec<usize> = Vec::new();
        for (index, shape) in self.shapes.iter().enumerate() {
            if shape.changes_values() {
                moving.push(index);
            }
            shape.each_inner(&mut |inner| {
                if !inner.is_same() {
                    uses.add(inner.0 as usize, index);
                }
            });
        }
        let changes = uses.all_above(moving, self.shapes.len());
        for (shape, changes) in self.shapes.iter_mut().zip(&changes) {
            if !changes {
                *shape = Shape::Same;
            }
        }
        if !changes.get(self.root.0 as usize).copied().unwrap_or(false) {
            self.root = LensId::SAME;
        }
        self
    }

    /// Whether a shape is known to change values although the lens is not settled yet; not all that do are known.
    pub(crate) fn surely_changes(&self, id: LensId) -> bool {
        if id.is_same() {
            return false;
        }
        let (mut open, mut left) = (vec![id], MOST_LOOKS);
        while let Some(id) = open.pop().filter(|_| left > 0) {
            left -= 1;
            let shape = self.shape(id);
            if shape.changes_values() {
                return true;
            }
            shape.each_inner(&mut |inner| open.push(inner));
        }
        false
    }

    /// Whether values travel alike in two shapes, as far as a look at these tells.
    pub(crate) fn are_alike(&self, a: LensId, b: LensId) -> bool {
        let (own, other) = (self.shape(a), self.shape(b));
        // Where a link leads may not be known yet.
        a == b || (own == other && !matches!(own, Shape::Link(_)))
    }

    /// Whether a shape of a settled lens changes nothing.
    pub(crate) fn keeps(&self, id: LensId) -> bool {
        matches!(self.shape(id), Shape::Same)
    }

    /// What a property is called on the wire, in the shape of an object.
    pub(crate) fn wire_name<'n>(&'n self, id: LensId, name: &'n str) -> &'n str {
        let Shape::Object(object) = self.shape(id) else { return name };
        object.fields.iter().find(|field| *field.name == *name).map_or(name, Field::wire)
    }

    fn shape(&self, id: LensId) -> &Shape {
        self.shapes.get(id.0 as usize).unwrap_or(&Shape::Same)
    }
}
