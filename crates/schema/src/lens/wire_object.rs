//! An object on the wire, as comparisons see it: its keys, their possible values and what these mean.

use std::rc::Rc;

use super::branches::property_guard;
use super::overlap::{Comparer, GuardedShape, Overlap};
use super::{Absent, Guard, GuardId, LensId, ObjectShape, Shape, Undeclared};
use crate::types::Types;

/// A name for the list of undeclared properties that no property can have.
const REST: &str = "\u{0}rest";

/// An object on the wire.
pub(super) struct WireObject<'l> {
    pub(super) kind: WireObjectKind,
    pub(super) keys: Vec<WireKey<'l>>,
    /// The shapes of undeclared properties; empty where there are none.
    pub(super) others: Vec<GuardedShape>,
}

/// What an object on the wire encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireObjectKind {
    Object,
    Tuple,
    Wrapped,
    Choice,
}

/// A declared key.
pub(super) struct WireKey<'l> {
    pub(super) wire: &'l str,
    pub(super) name: &'l str,
    guarded: GuardedShape,
    absent: Absent,
    required: bool,
}

/// What the lack of a value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingValue {
    Absent,
    Null,
}

/// A possible value under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireForm {
    Missing(MissingValue),
    Null(MissingValue),
    EmptyList(MissingValue),
    /// A list of one such value.
    ListOf(GuardedShape),
    Value(GuardedShape),
}

impl WireForm {
    pub(super) fn missing() -> Self {
        Self::Missing(MissingValue::Absent)
    }

    /// The possible values under an undeclared key.
    fn undeclared(others: &[GuardedShape]) -> impl Iterator<Item = Self> {
        std::iter::once(Self::missing()).chain(others.iter().map(|guarded| Self::Value(*guarded)))
    }
}

impl WireKey<'_> {
    fn forms(&self) -> impl Iterator<Item = WireForm> + use<> {
        let value = WireForm::Value(self.guarded);
        let forms = match self.absent {
            Absent::Constant => [Some(value), None, None],
            Absent::Kept if self.required => [Some(value), None, None],
            Absent::Kept | Absent::IsEither => [Some(WireForm::missing()), Some(value), None],
            Absent::IsNull | Absent::IsEitherNull => [Some(WireForm::Missing(MissingValue::Null)), Some(value), None],
            Absent::NullEitherIsNull => [Some(WireForm::Null(MissingValue::Null)), Some(value), None],
            Absent::Null | Absent::NullEither => [Some(WireForm::Null(MissingValue::Absent)), Some(value), None],
            Absent::NullMark => {
                [Some(WireForm::Null(MissingValue::Absent)), Some(WireForm::EmptyList(MissingValue::Null)), Some(value)]
            }
            Absent::NullList => {
                let list = WireForm::ListOf(self.guarded);
                [Some(WireForm::Null(MissingValue::Absent)), Some(WireForm::EmptyList(MissingValue::Null)), Some(list)]
            }
            Absent::EmptyEither => [Some(WireForm::EmptyList(MissingValue::Absent)), Some(value), None],
            Absent::EmptyList => {
                [Some(WireForm::EmptyList(MissingValue::Absent)), Some(WireForm::ListOf(self.guarded)), None]
            }
        };
        forms.into_iter().flatten()
    }
}

impl<'l> WireObject<'l> {
    /// Two objects usually list a key at the same index.
    pub(super) fn key(&self, index: usize, wire: &str) -> Option<&WireKey<'l>> {
        let here = self.keys.get(index).filter(|own| own.wire == wire);
        here.or_else(|| self.keys.iter().find(|own| own.wire == wire))
    }
}

impl<'l> Comparer<'l> {
    /// The wire object of a shape, built once.
    pub(super) fn wire_object(&mut self, guarded: GuardedShape) -> Rc<WireObject<'l>> {
        if let Some(known) = self.wire_objects.get(&guarded) {
            return Rc::clone(known);
        }
        let wire_object = Rc::new(self.build_wire_object(guarded));
        self.wire_objects.insert(guarded, Rc::clone(&wire_object));
        wire_object
    }

    fn build_wire_object(&self, guarded: GuardedShape) -> WireObject<'l> {
        let guard = self.guard(guarded);
        let GuardedShape::Of(id, own) = guarded else {
            return WireObject { kind: WireObjectKind::Object, keys: Vec::new(), others: Vec::new() };
        };
        match self.lens.shape(id) {
            Shape::Object(shape) => self.shaped_object(shape, guard),
            Shape::Wrapped(key, inner) => {
                let guarded = GuardedShape::Of(*inner, own);
                let key = WireKey { wire: key, name: key, guarded, absent: Absent::Kept, required: true };
                WireObject { kind: WireObjectKind::Wrapped, keys: vec![key], others: Vec::new() }
            }
            Shape::Tuple { fields, rest, object } => {
                let place = |index: usize| guard.and_then(|guard| guard.prefix.get(index).copied());
                let least = guard.map_or(0, Guard::min_items);
                let names = fields.iter().enumerate().map(|(index, name)| (name.as_str(), place(index)));
                let mut keys = self.synthetic_keys(*object, names.chain(rest.iter().map(|name| (name.as_str(), None))));
                for (key, _) in keys.iter_mut().zip(0..least) {
                    key.required = true;
                }
                WireObject { kind: WireObjectKind::Tuple, keys, others: Vec::new() }
            }
            Shape::Choice { branches, object } => {
                let names = branches.iter().map(|(name, guard)| (name.as_str(), Some(*guard)));
                WireObject {
                    kind: WireObjectKind::Choice,
                    keys: self.synthetic_keys(*object, names),
                    others: Vec::new(),
                }
            }
            Shape::Same
            | Shape::Link(_)
            | Shape::Nullable(_)
            | Shape::NullIsAbsent(_)
            | Shape::Array { .. }
            | Shape::Entries(_)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Union(_) => self.plain_object(guard),
        }
    }

    /// The keys of an object that only the wire has.
    fn synthetic_keys(
        &self,
        object: LensId,
        names: impl Iterator<Item = (&'l str, Option<GuardId>)>,
    ) -> Vec<WireKey<'l>> {
        let fields = if let Shape::Object(shape) = self.lens.shape(object) { shape.fields.as_slice() } else { &[] };
        let key = |(name, guard): (&'l str, _)| match fields.iter().find(|field| *field.name == *name) {
            Some(field) => WireKey {
                wire: field.wire(),
                name,
                guarded: GuardedShape::Of(field.lens, guard),
                absent: field.absent,
                required: false,
            },
            None => WireKey {
                wire: name,
                name,
                guarded: GuardedShape::Of(LensId::SAME, guard),
                absent: Absent::Kept,
                required: false,
            },
        };
        names.map(key).collect()
    }

    /// An object without a lens.
    fn plain_object(&self, guard: Option<&'l Guard>) -> WireObject<'l> {
        let mut keys = Vec::new();
        for (name, own) in guard.map_or(&[][..], |guard| &guard.properties) {
            let guarded = GuardedShape::Of(LensId::SAME, Some(*own));
            keys.push(WireKey { wire: name, name, guarded, absent: Absent::Kept, required: false });
        }
        let others = self.undeclared(LensId::SAME, guard);
        WireObject { kind: WireObjectKind::Object, keys: with_required(keys, guard, &others), others }
    }

    fn shaped_object(&self, shape: &'l ObjectShape, guard: Option<&'l Guard>) -> WireObject<'l> {
        let mut keys = Vec::with_capacity(shape.fields.len() + 1);
        for (index, field) in shape.fields.iter().enumerate() {
            let asked = guard.and_then(|guard| property_guard(guard, index, &field.name));
            let guarded = GuardedShape::Of(field.lens, asked);
            keys.push(WireKey {
                wire: field.wire(),
                name: &field.name,
                guarded,
                absent: field.absent,
                required: false,
            });
        }
        if let Some(rest) = &shape.rest {
            let mut keys = with_required(keys, guard, &[]);
            let guarded = GuardedShape::Entries(rest.lens, guard.and_then(|guard| guard.additional));
            keys.push(WireKey { wire: &rest.wire, name: REST, guarded, absent: Absent::Kept, required: rest.always });
            return WireObject { kind: WireObjectKind::Object, keys, others: Vec::new() };
        }
        let mut others = self.undeclared(shape.others, guard);
        if self.lens.undeclared == Undeclared::AsAsked {
            others.extend(shape.matching.iter().map(|(_, lens)| GuardedShape::Of(*lens, None)));
        }
        WireObject { kind: WireObjectKind::Object, keys: with_required(keys, guard, &others), others }
    }

    /// The shapes of undeclared properties.
    fn undeclared(&self, lens: LensId, guard: Option<&Guard>) -> Vec<GuardedShape> {
        if self.lens.undeclared == Undeclared::Refused {
            return Vec::new();
        }
        let Some(guard) = guard else { return vec![GuardedShape::Of(lens, None)] };
        let mut others = Vec::new();
        let never = guard.additional.and_then(|own| self.lens.guard(own)).is_some_and(Guard::is_never);
        if !never {
            others.push(GuardedShape::Of(lens, guard.additional));
        }
        if !guard.pattern_properties.is_empty() {
            others.push(GuardedShape::Of(LensId::SAME, None));
        }
        others
    }

    pub(super) fn overlap_objects(&mut self, a: &WireObject<'l>, b: &WireObject<'l>) -> Overlap {
        let steps = (a.keys.len() + b.keys.len()) / 4;
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.work.spend(steps);
        let mut most = Overlap::Equivalent;
        for (index, key) in a.keys.iter().enumerate() {
            let own = self.overlap_key(key, b.key(index, key.wire), &b.others);
            if own == Overlap::Disjoint {
                return own;
            }
            most = most.max(own);
        }
        for (_, key) in b.keys.iter().enumerate().filter(|(index, key)| a.key(*index, key.wire).is_none()) {
            let own = self.overlap_key(key, None, &a.others);
            if own == Overlap::Disjoint {
                return own;
            }
            most = most.max(own);
        }
        if a.kind != b.kind {
            return Overlap::Ambiguous;
        }
        if most < Overlap::Ambiguous {
            let pairs = a.others.iter().flat_map(|x| b.others.iter().map(move |y| (*x, *y)));
            most = most.max(self.max_overlap(pairs));
        }
        most
    }

    /// Without `other`, the key is an undeclared property of the other object.
    fn overlap_key(&mut self, key: &WireKey<'l>, other: Option<&WireKey<'l>>, others: &[GuardedShape]) -> Overlap {
        let renamed = key.name != other.map_or(key.wire, |other| other.name);
        match other {
            Some(other) => self.overlap_all_forms(key, other.forms(), renamed),
            None => self.overlap_all_forms(key, WireForm::undeclared(others), renamed),
        }
    }

    fn overlap_all_forms(
        &mut self,
        key: &WireKey<'l>,
        forms: impl Iterator<Item = WireForm>,
        renamed: bool,
    ) -> Overlap {
        let mut most = Overlap::Disjoint;
        for theirs in forms {
            for own in key.forms() {
                let overlap = self.overlap_forms(own, theirs);
                let moved = renamed && own != WireForm::missing() && overlap == Overlap::Equivalent;
                let overlap = if moved { Overlap::Ambiguous } else { overlap };
                most = most.max(overlap);
            }
        }
        most
    }

    fn overlap_forms(&mut self, a: WireForm, b: WireForm) -> Overlap {
        match (a, b) {
            (WireForm::Value(x), WireForm::Value(y)) | (WireForm::ListOf(x), WireForm::ListOf(y)) => self.overlap(x, y),
            (WireForm::Missing(x), WireForm::Missing(y))
            | (WireForm::Null(x), WireForm::Null(y))
            | (WireForm::EmptyList(x), WireForm::EmptyList(y)) => {
                if x == y {
                    Overlap::Equivalent
                } else {
                    Overlap::Ambiguous
                }
            }
            (WireForm::Value(guarded), sign) | (sign, WireForm::Value(guarded)) => {
                let kind = match sign {
                    WireForm::Null(_) => Types::NULL,
                    WireForm::EmptyList(_) | WireForm::ListOf(_) => Types::ARRAY,
                    WireForm::Missing(_) | WireForm::Value(_) => return Overlap::Disjoint,
                };
                if self.types(guarded).intersects(kind) { Overlap::Ambiguous } else { Overlap::Disjoint }
            }
            _ => Overlap::Disjoint,
        }
    }
}

/// Marks required keys, and adds those that are required but not declared.
fn with_required<'l>(
    mut keys: Vec<WireKey<'l>>,
    guard: Option<&'l Guard>,
    others: &[GuardedShape],
) -> Vec<WireKey<'l>> {
    let mut next = 0;
    for name in guard.map_or(&[][..], |guard| &guard.required) {
        // Names are usually required in the order in which they are declared.
        let behind = keys.iter().skip(next).position(|key| key.name == *name).map(|index| index + next);
        let found = behind.or_else(|| keys.iter().take(next).position(|key| key.name == *name));
        if let Some(key) = found.and_then(|index| keys.get_mut(index)) {
            key.required = true;
            next = found.map_or(next, |index| index + 1);
        } else if let [guarded] = others {
            // Which of several kinds it is, is not asked.
            keys.push(WireKey { wire: name, name, guarded: *guarded, absent: Absent::Kept, required: true });
        }
    }
    keys
}
