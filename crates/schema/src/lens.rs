//! Owns the value mapping that belongs to a fitted schema: what each rewrite did to the shape of values. Rewrites add to it
//! as they go; it knows neither dialects nor schemas.

use serde_json::Value;

/// The value mapping of a fitted schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Lens {
    shapes: Vec<Shape>,
    root: LensId,
}

/// A shape of a [`Lens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LensId(u32);

/// How the value at one place travels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// As it is.
    Same,
    /// Another shape, by number: the way to a shape that was not known yet.
    Link(LensId),
    /// An object, field by field; what is not declared travels in `rest`.
    Object { fields: Vec<Field>, rest: Option<Rest> },
    /// An array whose items travel in a shape.
    Array(LensId),
    /// A tuple as an object with one field for each place, and the rest in a list.
    Tuple { fields: Vec<(String, LensId)>, rest: Option<(String, LensId)>, object: LensId },
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
    Union(Vec<LensId>),
    /// An object with one of these keys, by branch.
    Choice(Vec<(String, LensId)>),
}

/// A declared property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) wire: String,
    pub(crate) lens: LensId,
    pub(crate) absent: Absent,
}

/// What the absence of a property becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It stays absent.
    Kept,
    /// It travels as `null`.
    Null,
    /// It travels as `null`, and so does `null` itself.
    NullEither,
    /// `null` travels as absence.
    IsNull,
    /// Both absence and `null` travel as absence.
    IsEither,
    /// It travels as an empty list.
    EmptyList,
}

/// What happens to properties that are not declared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rest {
    pub(crate) wire: String,
    pub(crate) lens: LensId,
}

impl LensId {
    /// The shape of what travels as it is.
    pub(crate) const SAME: Self = Self(0);

    pub(crate) fn is_same(self) -> bool {
        self == Self::SAME
    }
}

impl Lens {
    /// Whether every value travels as it is.
    pub fn is_identity(&self) -> bool {
        self.root.is_same()
    }

    pub(crate) fn identity() -> Self {
        Self { shapes: vec![Shape::Same], root: LensId::SAME }
    }

    /// Adds a shape. One that changes nothing is the identity.
    pub(crate) fn add(&mut self, shape: Shape) -> LensId {
        let same = match &shape {
            Shape::Same => true,
            Shape::Link(inner) | Shape::Array(inner) => inner.is_same(),
            Shape::Object { fields, rest } => {
                rest.is_none()
                    && fields
                        .iter()
                        .all(|field| field.lens.is_same() && field.absent == Absent::Kept && field.name == field.wire)
            }
            Shape::Union(branches) => branches.iter().all(|branch| branch.is_same()),
            Shape::Tuple { .. }
            | Shape::Entries(_)
            | Shape::Wrapped(..)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Choice(_) => false,
        };
        if same {
            return LensId::SAME;
        }
        let id = LensId(u32::try_from(self.shapes.len()).unwrap_or(0));
        self.shapes.push(shape);
        id
    }

    /// Whether a value travels as JSON text.
    pub(crate) fn is_text(&self, id: LensId) -> bool {
        self.shapes.get(id.0 as usize) == Some(&Shape::Text)
    }

    /// A shape that is not known yet.
    pub(crate) fn reserve(&mut self) -> LensId {
        let id = LensId(u32::try_from(self.shapes.len()).unwrap_or(0));
        self.shapes.push(Shape::Link(LensId::SAME));
        id
    }

    /// Says what a reserved shape is.
    pub(crate) fn settle(&mut self, id: LensId, known: LensId) {
        if let Some(shape) = self.shapes.get_mut(id.0 as usize) {
            *shape = Shape::Link(known);
        }
    }

    pub(crate) fn with_root(mut self, root: LensId) -> Self {
        self.root = root;
        self
    }
}
