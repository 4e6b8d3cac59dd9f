//! An object on the wire as far as it can be told from another: its keys, what may stand under each, and what that means.

use std::rc::Rc;

use super::alike::{Comparer, Meeting, Side};
use super::choose::property_of;
use super::{Absent, Guard, GuardId, LensId, ObjectShape, Shape, Undeclared};
use crate::types::Types;

/// The name of what stands under the key of undeclared properties: no property is called so, as it is no string of JSON.
const REST: &str = "\u{0}rest";

/// An object on the wire.
pub(super) struct Frame<'l> {
    pub(super) kind: Kind,
    pub(super) keys: Vec<Key<'l>>,
    /// What properties may be that are not declared; nothing where there may be none.
    pub(super) others: Vec<Side>,
}

/// What an object on the wire stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Tuple,
    Wrapped,
    Choice,
}

/// A key that is declared.
pub(super) struct Key<'l> {
    pub(super) wire: &'l str,
    pub(super) name: &'l str,
    side: Side,
    absent: Absent,
    required: bool,
}

/// What stands for no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Absent,
    Null,
}

/// What may be found under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Missing(Meaning),
    Null(Meaning),
    EmptyList(Meaning),
    /// A list of one such value.
    ListOf(Side),
    Value(Side),
}

impl Form {
    pub(super) fn missing() -> Self {
        Self::Missing(Meaning::Absent)
    }

    /// What may be found under a key that is not declared.
    fn undeclared(others: &[Side]) -> impl Iterator<Item = Self> {
        std::iter::once(Self::missing()).chain(others.iter().map(|side| Self::Value(*side)))
    }
}

impl Key<'_> {
    fn forms(&self) -> impl Iterator<Item = Form> + use<> {
        let value = Form::Value(self.side);
        let forms = match self.absent {
            Absent::Kept if self.required => [Some(value), None, None],
            Absent::Kept | Absent::IsEither => [Some(Form::missing()), Some(value), None],
            Absent::IsNull | Absent::IsEitherNull => [Some(Form::Missing(Meaning::Null)), Some(value), None],
            Absent::NullEitherIsNull => [Some(Form::Null(Meaning::Null)), Some(value), None],
            Absent::Null | Absent::NullEither => [Some(Form::Null(Meaning::Absent)), Some(value), None],
            Absent::NullMark => [Some(Form::Null(Meaning::Absent)), Some(Form::EmptyList(Meaning::Null)), Some(value)],
            Absent::NullList => {
                let list = Form::ListOf(self.side);
                [Some(Form::Null(Meaning::Absent)), Some(Form::EmptyList(Meaning::Null)), Some(list)]
            }
            Absent::EmptyList => [Some(Form::EmptyList(Meaning::Absent)), Some(Form::ListOf(self.side)), None],
        };
        forms.into_iter().flatten()
    }
}

impl<'l> Frame<'l> {
    /// The key of that name, which usually stands in the same place.
    pub(super) fn key(&self, index: usize, wire: &str) -> Option<&Key<'l>> {
        let here = self.keys.get(index).filter(|own| own.wire == wire);
        here.or_else(|| self.keys.iter().find(|own| own.wire == wire))
    }
}

impl<'l> Comparer<'l> {
    /// The object that a shape makes on the wire.
    pub(super) fn frame(&mut self, side: Side) -> Rc<Frame<'l>> {
        if let Some(known) = self.framed.get(&side) {
            return Rc::clone(known);
        }
        let frame = Rc::new(self.framed_anew(side));
        self.framed.insert(side, Rc::clone(&frame));
        frame
    }

    fn framed_anew(&self, side: Side) -> Frame<'l> {
        let guard = self.guard(side);
        let Side::Of(id, own) = side else { return Frame { kind: Kind::Object, keys: Vec::new(), others: Vec::new() } };
        match self.lens.shape(id) {
            Shape::Object(shape) => self.shaped(shape, guard),
            Shape::Wrapped(key, inner) => {
                let side = Side::Of(*inner, own);
                let key = Key { wire: key, name: key, side, absent: Absent::Kept, required: true };
                Frame { kind: Kind::Wrapped, keys: vec![key], others: Vec::new() }
            }
            Shape::Tuple { fields, rest, object } => {
                let place = |index: usize| guard.and_then(|guard| guard.prefix.get(index).copied());
                let least = guard.map_or(0, Guard::least_items);
                let names = fields.iter().enumerate().map(|(index, name)| (name.as_str(), place(index)));
                let mut keys = self.made(*object, names.chain(rest.iter().map(|name| (name.as_str(), None))));
                for (key, _) in keys.iter_mut().zip(0..least) {
                    key.required = true;
                }
                Frame { kind: Kind::Tuple, keys, others: Vec::new() }
            }
            Shape::Choice { branches, object } => {
                let names = branches.iter().map(|(name, guard)| (name.as_str(), Some(*guard)));
                Frame { kind: Kind::Choice, keys: self.made(*object, names), others: Vec::new() }
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
            | Shape::Union(_) => self.natural(guard),
        }
    }

    /// The keys of an object that was made up for the wire.
    fn made(&self, object: LensId, names: impl Iterator<Item = (&'l str, Option<GuardId>)>) -> Vec<Key<'l>> {
        let fields = if let Shape::Object(shape) = self.lens.shape(object) { shape.fields.as_slice() } else { &[] };
        let key = |(name, guard): (&'l str, _)| match fields.iter().find(|field| *field.name == *name) {
            Some(field) => Key {
                wire: field.wire(),
                name,
                side: Side::Of(field.lens, guard),
                absent: field.absent,
                required: false,
            },
            None => {
                Key { wire: name, name, side: Side::Of(LensId::SAME, guard), absent: Absent::Kept, required: false }
            }
        };
        names.map(key).collect()
    }

    /// An object that travels as it is.
    fn natural(&self, guard: Option<&'l Guard>) -> Frame<'l> {
        let mut keys = Vec::new();
        for (name, own) in guard.map_or(&[][..], |guard| &guard.properties) {
            let side = Side::Of(LensId::SAME, Some(*own));
            keys.push(Key { wire: name, name, side, absent: Absent::Kept, required: false });
        }
        let others = self.undeclared(LensId::SAME, guard);
        Frame { kind: Kind::Object, keys: with_required(keys, guard, &others), others }
    }

    fn shaped(&self, shape: &'l ObjectShape, guard: Option<&'l Guard>) -> Frame<'l> {
        let mut keys = Vec::with_capacity(shape.fields.len() + 1);
        for (index, field) in shape.fields.iter().enumerate() {
            let asked = guard.and_then(|guard| property_of(guard, index, &field.name));
            let side = Side::Of(field.lens, asked);
            keys.push(Key { wire: field.wire(), name: &field.name, side, absent: field.absent, required: false });
        }
        if let Some(rest) = &shape.rest {
            let mut keys = with_required(keys, guard, &[]);
            let side = Side::Entries(rest.lens, guard.and_then(|guard| guard.additional));
            keys.push(Key { wire: &rest.wire, name: REST, side, absent: Absent::Kept, required: rest.always });
            return Frame { kind: Kind::Object, keys, others: Vec::new() };
        }
        let mut others = self.undeclared(shape.others, guard);
        if self.lens.undeclared == Undeclared::AsAsked {
            others.extend(shape.matching.iter().map(|(_, lens)| Side::Of(*lens, None)));
        }
        Frame { kind: Kind::Object, keys: with_required(keys, guard, &others), others }
    }

    /// What properties may be that are not declared.
    fn undeclared(&self, lens: LensId, guard: Option<&Guard>) -> Vec<Side> {
        if self.lens.undeclared == Undeclared::Refused {
            return Vec::new();
        }
        let Some(guard) = guard else { return vec![Side::Of(lens, None)] };
        let mut others = Vec::new();
        let never = guard.additional.and_then(|own| self.lens.guard(own)).is_some_and(Guard::is_never);
        if !never {
            others.push(Side::Of(lens, guard.additional));
        }
        if !guard.pattern_properties.is_empty() {
            others.push(Side::Of(LensId::SAME, None));
        }
        others
    }

    /// How two objects meet on the wire: key by key.
    pub(super) fn frames(&mut self, a: &Frame<'l>, b: &Frame<'l>) -> Meeting {
        let steps = (a.keys.len() + b.keys.len()) / 4;
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.work.spend(steps);
        let mut most = Meeting::Alike;
        for (index, key) in a.keys.iter().enumerate() {
            let own = self.key_meets(key, b.key(index, key.wire), &b.others);
            if own == Meeting::Never {
                return own;
            }
            most = most.max(own);
        }
        for (_, key) in b.keys.iter().enumerate().filter(|(index, key)| a.key(*index, key.wire).is_none()) {
            let own = self.key_meets(key, None, &a.others);
            if own == Meeting::Never {
                return own;
            }
            most = most.max(own);
        }
        if a.kind != b.kind {
            return Meeting::Clash;
        }
        if most < Meeting::Clash {
            let pairs = a.others.iter().flat_map(|x| b.others.iter().map(move |y| (*x, *y)));
            most = most.max(self.most(pairs));
        }
        most
    }

    /// How the values under one key meet; without another key of that name, it is a property that is not declared.
    fn key_meets(&mut self, key: &Key<'l>, other: Option<&Key<'l>>, others: &[Side]) -> Meeting {
        let renamed = key.name != other.map_or(key.wire, |other| other.name);
        match other {
            Some(other) => self.all_forms_meet(key, other.forms(), renamed),
            None => self.all_forms_meet(key, Form::undeclared(others), renamed),
        }
    }

    fn all_forms_meet(&mut self, key: &Key<'l>, forms: impl Iterator<Item = Form>, renamed: bool) -> Meeting {
        let mut most = Meeting::Never;
        for theirs in forms {
            for own in key.forms() {
                let meeting = self.forms_meet(own, theirs);
                let moved = renamed && own != Form::missing() && meeting == Meeting::Alike;
                let meeting = if moved { Meeting::Clash } else { meeting };
                most = most.max(meeting);
            }
        }
        most
    }

    fn forms_meet(&mut self, a: Form, b: Form) -> Meeting {
        match (a, b) {
            (Form::Value(x), Form::Value(y)) | (Form::ListOf(x), Form::ListOf(y)) => self.meet(x, y),
            (Form::Missing(x), Form::Missing(y))
            | (Form::Null(x), Form::Null(y))
            | (Form::EmptyList(x), Form::EmptyList(y)) => {
                if x == y {
                    Meeting::Alike
                } else {
                    Meeting::Clash
                }
            }
            (Form::Value(side), sign) | (sign, Form::Value(side)) => {
                let kind = match sign {
                    Form::Null(_) => Types::NULL,
                    Form::EmptyList(_) | Form::ListOf(_) => Types::ARRAY,
                    Form::Missing(_) | Form::Value(_) => return Meeting::Never,
                };
                if self.types(side).meets(kind) { Meeting::Clash } else { Meeting::Never }
            }
            _ => Meeting::Never,
        }
    }
}

/// Keys, of which those that are required are said to be so, and those that are required but not declared are added.
fn with_required<'l>(mut keys: Vec<Key<'l>>, guard: Option<&'l Guard>, others: &[Side]) -> Vec<Key<'l>> {
    let mut next = 0;
    for name in guard.map_or(&[][..], |guard| &guard.required) {
        // Names are usually required in the order in which they are declared.
        let behind = keys.iter().skip(next).position(|key| key.name == *name).map(|index| index + next);
        let found = behind.or_else(|| keys.iter().take(next).position(|key| key.name == *name));
        if let Some(key) = found.and_then(|index| keys.get_mut(index)) {
            key.required = true;
            next = found.map_or(next, |index| index + 1);
        } else if let [side] = others {
            // Which of several kinds it is, is not asked.
            keys.push(Key { wire: name, name, side: *side, absent: Absent::Kept, required: true });
        }
    }
    keys
}
