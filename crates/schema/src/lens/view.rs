//! A lens as `polywire-testkit` reads it: shapes and guards by number, nothing to change.

use serde_json::Value;
use smol_str::SmolStr;

use super::apply::Direction;
use super::guard::{Guard, LookDepth};
use super::{GuardId, Lens, LensId, Shape, Undeclared};
use crate::types::Types;

/// Read access to the shapes of one [`Lens`].
#[derive(Clone, Copy, Debug)]
pub struct LensView<'l>(&'l Lens);

/// Read access to one guard of a [`Lens`].
#[derive(Clone, Copy, Debug)]
pub struct GuardView<'l> {
    lens: &'l Lens,
    guard: &'l Guard,
}

impl Lens {
    /// The shapes of this lens, to be read. No promise: they change with the engine.
    #[doc(hidden)]
    pub fn view(&self) -> LensView<'_> {
        LensView(self)
    }
}

impl<'l> LensView<'l> {
    /// The shape of the whole value.
    pub fn root(self) -> LensId {
        self.0.root
    }

    /// The lens between this one and the wire.
    pub fn after(self) -> Option<LensView<'l>> {
        self.0.next.as_deref().map(Self)
    }

    /// The shape of a number; the identity for a number without one.
    pub fn shape(self, id: LensId) -> &'l Shape {
        self.0.shape(id)
    }

    /// True of shapes that change no value.
    pub fn is_identity(self, id: LensId) -> bool {
        id.is_same() || self.0.is_identity_shape(id)
    }

    /// Decodes a value by one shape.
    pub fn decode(self, id: LensId, value: Value) -> Option<Value> {
        self.0.convert_by(id, value, Direction::Decode).ok()
    }

    /// The guard of a number.
    pub fn guard(self, id: GuardId) -> Option<GuardView<'l>> {
        self.0.guard(id).map(|guard| GuardView { lens: self.0, guard })
    }

    /// True unless a quick look shows that the guard refuses the value.
    pub fn admits(self, id: GuardId, value: &Value) -> bool {
        self.0.admits(id, value, LookDepth::Shallow)
    }

    /// True where no object on the wire has undeclared properties.
    pub fn refuses_undeclared(self) -> bool {
        self.0.undeclared == Undeclared::Refused
    }
}

impl<'l> GuardView<'l> {
    /// The types of the values that the guard admits.
    pub fn types(self) -> Types {
        self.guard.types.unwrap_or(Types::ANY)
    }

    /// The properties that an object must have.
    pub fn required(self) -> &'l [SmolStr] {
        &self.guard.required
    }

    /// The declared properties, each with its guard.
    pub fn properties(self) -> &'l [(SmolStr, GuardId)] {
        &self.guard.properties
    }

    /// True where an object has no properties but declared ones.
    pub fn is_closed(self) -> bool {
        let additional = self.guard.additional.and_then(|id| self.lens.guard(id));
        additional.is_some_and(Guard::is_never) && self.guard.pattern_properties.is_empty()
    }
}
