//! The value mapping of a fitted schema: what each rewrite did to the shape of values, and how values are converted to the wire
//! and back. It knows neither dialects nor schemas.

mod apply;
mod branches;
mod format;
mod guard;
mod overlap;
mod source_pointer;
mod undecidable;
pub(crate) mod view;
mod wire_object;
mod wire_types;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

pub use apply::{DecodeRepair, LensError};
pub(crate) use guard::{Guard, GuardVerdict, RareConstraints, SizeKind};
pub use guard::{GuardId, Pattern};
pub(crate) use overlap::Ambiguities;
pub(crate) use undecidable::GuessedBranches;

/// The value mapping of a fitted schema: [`encode`](Lens::encode) to the wire, [`decode`](Lens::decode) back. It can be written
/// as JSON, kept, and used in another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lens {
    shapes: Vec<Shape>,
    guards: Vec<Guard>,
    root: LensId,
    #[serde(default, skip_serializing_if = "Undeclared::is_default")]
    undeclared: Undeclared,
    /// The lens between this one and the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Box<Lens>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Undeclared {
    /// Undeclared properties are allowed where the caller's schema allows them.
    #[default]
    AsAsked,
    /// They never are.
    Refused,
}

impl Undeclared {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_default(&self) -> bool {
        *self == Self::AsAsked
    }
}

/// The index of a shape in a [`Lens`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LensId(u32);

/// How a value is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Unchanged.
    Same,
    /// An alias: recursive shapes are referred to before they are known.
    Link(LensId),
    /// `null` unchanged, anything else by a shape.
    Nullable(LensId),
    /// The value of an entry: `null` as its absence, anything else by a shape.
    NullIsAbsent(LensId),
    /// An object, field by field.
    Object(Box<ObjectShape>),
    /// An array, item by item.
    Array {
        /// The shapes of the first items.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prefix: Vec<LensId>,
        /// The shape of the other items.
        rest: LensId,
    },
    /// A tuple as an object with one field for each item, and the rest in a list.
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
    /// An object with the value under this key.
    Wrapped(String, LensId),
    /// `null` as an empty list, anything else as a list of one.
    AtMostOne(LensId),
    /// JSON text.
    Text,
    /// Enum values as strings.
    Labels(Vec<(String, Value)>),
    /// By the branch that matches.
    Union(Vec<Branch>),
    /// An object with one key, which names the branch.
    Choice {
        /// The key and the guard of each branch.
        branches: Vec<(String, GuardId)>,
        /// The shape of the object.
        object: LensId,
    },
}

/// The carriers that change the type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireKind {
    /// JSON text.
    Text,
    /// A string for an enum value.
    Label,
    /// A list of entries.
    Entries,
}

/// The encoding of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectShape {
    /// The declared properties.
    pub fields: Vec<Field>,
    /// Undeclared properties as a list of entries.
    pub rest: Option<Rest>,
    /// The shapes of undeclared properties that stay in place, by the first matching pattern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<(Pattern, LensId)>,
    /// The shape of those that match none.
    pub others: LensId,
}

impl Shape {
    /// Its name in messages.
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

    /// True where the shape changes values whatever its inner shapes are.
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

    /// Calls `visit` with each shape that this one is made of.
    pub fn each_inner(&self, visit: &mut dyn FnMut(LensId)) {
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
    /// The shape of an undeclared property.
    pub fn undeclared_shape(&self, key: &str) -> LensId {
        self.matching.iter().find(|(pattern, _)| pattern.matches(key)).map_or(self.others, |(_, lens)| *lens)
    }

    /// True of undeclared keys that are the new name of a property with any number of underscores behind it. Such keys are encoded
    /// with one underscore more.
    pub fn collides_with_renamed(&self, key: &str) -> bool {
        self.fields
            .iter()
            .filter_map(|field| field.renamed.as_deref())
            .any(|wire| key.strip_prefix(wire).is_some_and(|more| more.bytes().all(|byte| byte == b'_')))
    }
}

/// A branch of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The guard of the caller's values.
    pub guard: GuardId,
    /// The shape of its values.
    pub lens: LensId,
}

/// A declared property.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The caller's name.
    pub name: SmolStr,
    /// Its name on the wire, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<SmolStr>,
    /// The shape of its values.
    pub lens: LensId,
    /// The encoding of its absence.
    pub absent: Absent,
    /// What absence is encoded as, where [`Absent::Constant`] says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<Box<Value>>,
}

impl Field {
    /// Its name on the wire.
    pub fn wire(&self) -> &str {
        self.renamed.as_deref().unwrap_or(&self.name)
    }
}

/// The encoding of an absent property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// Absent.
    Kept,
    /// `null`.
    Null,
    /// `null`, as `null` itself is: `null` on the wire is decoded as absence.
    NullEither,
    /// `null`, as `null` itself is: `null` on the wire is decoded as `null`.
    NullEitherIsNull,
    /// Never absent: absence encodes `null`.
    IsNull,
    /// Absent, as `null` is: absence on the wire is decoded as absence.
    IsEither,
    /// Absent, as `null` is: absence on the wire is decoded as `null`.
    IsEitherNull,
    /// An empty list, and a value as a list of one.
    EmptyList,
    /// An empty list, as an empty value is: an empty list on the wire is decoded as absence.
    EmptyEither,
    /// The only value that the property has.
    Constant,
    /// `null`, and `null` as an empty list.
    NullMark,
    /// `null`, `null` as an empty list, and a value as a list of one.
    NullList,
}

/// The list of entries that encodes undeclared properties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// The key of the list on the wire.
    pub wire: String,
    /// The shape of the values of entries.
    pub lens: LensId,
    /// True where the list is sent even if empty.
    pub always: bool,
}

/// The limit of aliases in a row.
const DEEPEST_LINKS: usize = 16;

/// Pairs of a thing and what uses it.
#[derive(Default)]
struct Dependents(Vec<(usize, usize)>);

impl Dependents {
    fn add(&mut self, used: usize, by: usize) {
        self.0.push((used, by));
    }

    /// The things that are in `open`, or use one of them, transitively.
    fn all_dependents(mut self, mut open: Vec<usize>, count: usize) -> Vec<bool> {
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

const MAX_SHAPES_VISITED: usize = 64;

impl Absent {
    /// True where absence has a value on the wire.
    pub fn is_encoded(self) -> bool {
        match self {
            Self::Kept | Self::IsNull | Self::IsEither | Self::IsEitherNull => false,
            Self::Null
            | Self::NullEither
            | Self::NullEitherIsNull
            | Self::EmptyList
            | Self::EmptyEither
            | Self::Constant
            | Self::NullMark
            | Self::NullList => true,
        }
    }
}

impl LensId {
    /// The identity.
    pub(crate) const SAME: Self = Self(0);

    /// True of the identity only; [`Lens::is_identity_shape`] also finds shapes that turned out to change nothing.
    pub fn is_same(self) -> bool {
        self == Self::SAME
    }
}

impl Lens {
    /// True where every value is encoded as itself.
    pub fn is_identity(&self) -> bool {
        self.root.is_same() && self.next.is_none()
    }

    pub(crate) fn then(mut self, next: Self) -> Self {
        self.next = Some(Box::new(next));
        self
    }

    pub(crate) fn identity() -> Self {
        Self { shapes: Vec::new(), guards: Vec::new(), root: LensId::SAME, undeclared: Undeclared::AsAsked, next: None }
    }

    /// Shapes that change nothing become the identity.
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

    /// The carrier of a value, where it changes the type.
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

    /// True where a value that is no list may be encoded as one.
    pub(crate) fn may_become_list(&self, id: LensId) -> bool {
        self.may_become_list_below(id, DEEPEST_LINKS)
    }

    fn may_become_list_below(&self, id: LensId, depth: usize) -> bool {
        // What is too far away, as in a loop, may be anything.
        let Some(depth) = depth.checked_sub(1) else { return true };
        match self.shape(id) {
            Shape::Entries(_) | Shape::AtMostOne(_) => true,
            Shape::Link(inner) => inner.is_same() || self.may_become_list_below(*inner, depth),
            Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => self.may_become_list_below(*inner, depth),
            Shape::Union(branches) => branches.iter().any(|branch| self.may_become_list_below(branch.lens, depth)),
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

    /// A shape to be set by [`set_link`](Self::set_link).
    pub(crate) fn reserve(&mut self) -> LensId {
        self.push(Shape::Link(LensId::SAME))
    }

    /// Sets a reserved shape.
    pub(crate) fn set_link(&mut self, id: LensId, known: LensId) {
        if let Some(shape) = self.shapes.get_mut(id.0 as usize) {
            *shape = Shape::Link(known);
        }
    }

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

    /// Replaces shapes that change nothing by the identity. Of recursive shapes that is known only when all are there.
    pub(crate) fn simplified(mut self) -> Self {
        // Without links there are no loops, and what changes nothing was never added.
        if !self.shapes.iter().any(|shape| matches!(shape, Shape::Link(_))) {
            return self;
        }
        let mut uses = Dependents::default();
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
        let changes = uses.all_dependents(moving, self.shapes.len());
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

    /// An early answer before [`simplified`](Self::simplified): some shapes that change values are not found.
    pub(crate) fn is_known_to_change(&self, id: LensId) -> bool {
        if id.is_same() {
            return false;
        }
        let (mut open, mut left) = (vec![id], MAX_SHAPES_VISITED);
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

    /// Equality without following links, which may not be set yet.
    pub(crate) fn are_equal_shapes(&self, a: LensId, b: LensId) -> bool {
        let (own, other) = (self.shape(a), self.shape(b));
        // Where a link leads may not be known yet.
        a == b || (own == other && !matches!(own, Shape::Link(_)))
    }

    /// Valid after [`simplified`](Self::simplified).
    pub(crate) fn is_identity_shape(&self, id: LensId) -> bool {
        matches!(self.shape(id), Shape::Same)
    }

    pub(crate) fn wire_name<'n>(&'n self, id: LensId, name: &'n str) -> &'n str {
        let Shape::Object(object) = self.shape(id) else { return name };
        object.fields.iter().find(|field| *field.name == *name).map_or(name, Field::wire)
    }

    fn shape(&self, id: LensId) -> &Shape {
        self.shapes.get(id.0 as usize).unwrap_or(&Shape::Same)
    }
}
