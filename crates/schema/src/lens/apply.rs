//! A value through the lens: `encode` from the caller to the wire, `decode` from the wire to the caller.

use std::borrow::Cow;
use std::fmt;
use std::thread;

use serde_json::{Map, Value};

use super::guard::same;
use super::{Absent, Field, Lens, LensId, ObjectShape, Shape, Undeclared};
use crate::arena::Arena;
use crate::json::{Bounds, Json, push_token};

/// The key and the value of an entry.
const ENTRY: (&str, &str) = ("key", "value");

/// Shapes within shapes beyond this depth are not followed.
const DEEPEST: usize = 8_000;

/// Beyond this depth a value goes on its way on a stack of its own.
const SHALLOW: usize = 100;

/// A stack that `DEEPEST` shapes fit into.
const DEEP_STACK: usize = 64 << 20;

/// How often a value of a union may be tried as another branch before the first one that looks right is taken.
const MOST_TRIES: usize = 4_096;

/// Why a value does not go through the lens, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LensError {
    at: String,
    reason: Cow<'static, str>,
}

impl LensError {
    /// JSON Pointer of the place in the value.
    pub fn at(&self) -> &str {
        &self.at
    }
}

impl fmt::Display for LensError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at `{}`)", self.reason, self.at)
    }
}

impl std::error::Error for LensError {}

/// A liberty that decoding took: the value was not written as the lens writes it, and its meaning is clear all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeRepair {
    /// JSON Pointer of the place in the wire value.
    pub at: String,
    /// What was read instead.
    pub detail: Cow<'static, str>,
}

/// A [`DecodeRepair`] on its way up, like [`Fault`].
struct PendingRepair {
    detail: Cow<'static, str>,
    steps: Vec<String>,
}

/// A [`LensError`] on its way up: the steps to the place are added as it passes them, innermost first.
#[derive(Debug)]
pub(super) struct Fault {
    reason: Cow<'static, str>,
    steps: Vec<String>,
}

pub(super) type Passed<T = Value> = Result<T, Box<Fault>>;

pub(super) fn fail<T>(reason: impl Into<Cow<'static, str>>) -> Passed<T> {
    Err(Box::new(Fault { reason: reason.into(), steps: Vec::new() }))
}

fn pointer(steps: &[String]) -> String {
    let mut at = String::new();
    steps.iter().rev().for_each(|step| push_token(&mut at, step));
    at
}

/// Says where a fault is that stands below a key which only the wire has.
pub(super) fn above<T>(passed: Passed<T>, step: impl FnOnce(&str) -> Option<String>) -> Passed<T> {
    passed.map_err(|mut fault| {
        let outer = fault.steps.pop();
        fault.steps.extend(outer.and_then(|outer| step(&outer)));
        fault
    })
}

/// Which way a value goes, and how much of it has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Encode,
    Decode,
    /// From the wire, where the end of the value has not arrived yet: what cannot be read is left out.
    Partial,
}

impl Lens {
    /// The caller's value as it travels: for history, examples and tests.
    pub fn encode(&self, value: Value) -> Result<Value, LensError> {
        self.pass(value, Way::Encode, &mut Vec::new())
    }

    /// A value from the wire as the caller knows it.
    pub fn decode(&self, value: Value) -> Result<Value, LensError> {
        self.decode_repaired(value).map(|(value, _)| value)
    }

    /// [`decode`](Self::decode), with every liberty that was taken: two items where the lens writes at most one, a key that is
    /// given twice, a plain value where it should be wrapped.
    pub fn decode_repaired(&self, value: Value) -> Result<(Value, Vec<DecodeRepair>), LensError> {
        let mut repairs = Vec::new();
        let value = self.pass(value, Way::Decode, &mut repairs)?;
        Ok((value, repairs))
    }

    /// [`decode`](Self::decode) for a value whose end has not arrived: what cannot be read yet is left out.
    pub fn decode_partial(&self, value: Value) -> Option<Value> {
        self.pass(value, Way::Partial, &mut Vec::new()).ok()
    }

    fn pass(&self, value: Value, way: Way, repairs: &mut Vec<DecodeRepair>) -> Result<Value, LensError> {
        match (&self.next, way) {
            (None, _) => self.pass_recording(self.root, value, way, repairs),
            (Some(next), Way::Encode) => {
                let value = self.pass_recording(self.root, value, way, repairs)?;
                next.pass(value, way, repairs)
            }
            (Some(next), Way::Decode | Way::Partial) => {
                let value = next.pass(value, way, repairs)?;
                self.pass_recording(self.root, value, way, repairs)
            }
        }
    }

    /// Through one shape of this lens, and what is within.
    pub(super) fn pass_from(&self, root: LensId, value: Value, way: Way) -> Result<Value, LensError> {
        self.pass_recording(root, value, way, &mut Vec::new())
    }

    fn pass_recording(
        &self,
        root: LensId,
        value: Value,
        way: Way,
        repairs: &mut Vec<DecodeRepair>,
    ) -> Result<Value, LensError> {
        let mut passage = Passage {
            lens: self,
            way,
            depth: 0,
            tries_left: MOST_TRIES,
            vouched: false,
            doubts: 0,
            trying: 0,
            repairs: Vec::new(),
        };
        let passed = passage.through(root, value);
        repairs.extend(
            passage.repairs.into_iter().map(|own| DecodeRepair { at: pointer(&own.steps), detail: own.detail }),
        );
        passed.map_err(|fault| LensError { at: pointer(&fault.steps), reason: fault.reason })
    }
}

/// Repairs of a reading that may be taken later.
#[derive(Default)]
pub(super) struct TakenRepairs(Vec<PendingRepair>);

/// A value on its way.
pub(super) struct Passage<'l> {
    pub(super) lens: &'l Lens,
    pub(super) way: Way,
    depth: usize,
    pub(super) tries_left: usize,
    /// Whether a branch was chosen, further up, by looking at all of the value.
    pub(super) vouched: bool,
    /// Unions in which no branch was right and one was taken all the same.
    pub(super) doubts: usize,
    /// Branches around the value that are tried and not chosen yet.
    pub(super) trying: usize,
    repairs: Vec<PendingRepair>,
}

impl Passage<'_> {
    /// Records a liberty. A branch that is read without one is the better reading.
    pub(super) fn repair(&mut self, detail: impl Into<Cow<'static, str>>) {
        self.doubts += 1;
        self.repairs.push(PendingRepair { detail: detail.into(), steps: Vec::new() });
    }

    pub(super) fn repair_count(&self) -> usize {
        self.repairs.len()
    }

    /// Takes out the repairs since a count: those of a reading that is not chosen yet.
    pub(super) fn take_repairs(&mut self, count: usize) -> TakenRepairs {
        TakenRepairs(self.repairs.split_off(count))
    }

    pub(super) fn put_repairs(&mut self, taken: TakenRepairs) {
        self.repairs.extend(taken.0);
    }

    /// Goes below a key or an index, which is part of the place of whatever is found there.
    fn below<T>(&mut self, step: impl fmt::Display, pass: impl FnOnce(&mut Self) -> Passed<T>) -> Passed<T> {
        let before = self.repairs.len();
        let passed = pass(self);
        for repair in self.repairs.iter_mut().skip(before) {
            repair.steps.push(step.to_string());
        }
        passed.map_err(|mut fault| {
            fault.steps.push(step.to_string());
            fault
        })
    }

    pub(super) fn through(&mut self, id: LensId, value: Value) -> Passed {
        if id.is_same() {
            return Ok(value);
        }
        if self.depth == DEEPEST {
            return fail("the value is nested too deeply");
        }
        self.depth += 1;
        let passed =
            if self.depth == SHALLOW { self.go_deep(id, value) } else { self.shaped(self.lens.shape(id), value) };
        self.depth -= 1;
        passed
    }

    /// Goes on in a thread that has room for what is nested deeply.
    fn go_deep(&mut self, id: LensId, value: Value) -> Passed {
        let (lens, deep) = (self.lens, &mut *self);
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(DEEP_STACK);
            let started = thread.spawn_scoped(scope, move || deep.shaped(lens.shape(id), value));
            match started.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(passed)) => passed,
                Ok(Err(_)) | Err(_) => fail("the value is nested too deeply for this machine"),
            }
        })
    }

    fn shaped(&mut self, shape: &Shape, value: Value) -> Passed {
        let encodes = self.way == Way::Encode;
        match (shape, value) {
            (Shape::Same, value) => Ok(value),
            (Shape::Nullable(_) | Shape::NullIsAbsent(_), Value::Null) => Ok(Value::Null),
            (Shape::Link(inner) | Shape::Nullable(inner) | Shape::NullIsAbsent(inner), value) => {
                self.through(*inner, value)
            }
            (Shape::Object(shape), Value::Object(map)) if encodes => self.encode_object(shape, map),
            (Shape::Object(shape), Value::Object(map)) => self.decode_object(shape, map),
            (Shape::Array { prefix, rest }, Value::Array(items)) => self.items(prefix, *rest, items),
            (Shape::Object(_) | Shape::Array { .. }, other) => Ok(other),
            (Shape::Tuple { fields, rest, object }, value) => self.tuple(fields, rest.as_deref(), *object, value),
            (Shape::Entries(inner), Value::Object(map)) if encodes => self.entries_of(*inner, map).map(Value::Array),
            (Shape::Entries(inner), Value::Array(entries)) if !encodes => {
                let mut map = Map::new();
                self.take_entries(*inner, entries, &mut map)?;
                Ok(Value::Object(map))
            }
            (Shape::Entries(inner), Value::Object(map)) => {
                self.repair("an object instead of a list of entries");
                let mut out = Map::with_capacity(map.len());
                for (key, value) in map {
                    let value = self.below(&key, |own| own.through(*inner, value))?;
                    out.insert(key, value);
                }
                Ok(Value::Object(out))
            }
            (Shape::Entries(_), _) => fail(if encodes { "a map is an object" } else { "entries are a list" }),
            (Shape::Wrapped(key, inner), value) if encodes => {
                Ok(Value::Object(Map::from_iter([(key.clone(), self.through(*inner, value)?)])))
            }
            (Shape::Wrapped(key, inner), Value::Object(mut map)) => match map.remove(key) {
                Some(inside) => {
                    self.doubt_unless_empty(&map);
                    self.below(key, |own| own.through(*inner, inside))
                }
                None => self.unwrapped(*inner, Value::Object(map)),
            },
            (Shape::Wrapped(_, inner), value) => self.unwrapped(*inner, value),
            (Shape::AtMostOne(_), Value::Null) if encodes => Ok(Value::Array(Vec::new())),
            (Shape::AtMostOne(inner), value) if encodes => Ok(Value::Array(vec![self.through(*inner, value)?])),
            (Shape::AtMostOne(inner), value) => Ok(self.at_most_one(*inner, value)?.unwrap_or(Value::Null)),
            (Shape::Text, value) if encodes => Ok(Value::String(value.to_string())),
            (Shape::Text, Value::String(text)) => Ok(read_text(text)),
            (Shape::Text, value) => {
                self.repair("the value is not written as JSON text; it is read as it is");
                Ok(value)
            }
            (Shape::Labels(labels), value) => self.labelled(labels, value),
            (Shape::Union(branches), value) if encodes => self.encode_union(branches, value),
            (Shape::Union(branches), value) => self.decode_union(branches, value),
            (Shape::Choice { branches, object }, value) => self.choice(branches, *object, value),
        }
    }

    fn items(&mut self, prefix: &[LensId], rest: LensId, items: Vec<Value>) -> Passed {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let inner = prefix.get(index).unwrap_or(&rest);
            match self.below(index, |own| own.through(*inner, item)) {
                Ok(item) => out.push(item),
                Err(_) if self.way == Way::Partial => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(Value::Array(out))
    }

    fn encode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> Passed {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.swap_remove(&*field.name);
            if let Some(value) = self.below(&field.name, |own| own.encode_field(field, value))? {
                out.insert(field.wire().to_owned(), value);
            }
        }
        if let Some(rest) = &shape.rest {
            let entries = self.entries_of(rest.lens, map)?;
            if rest.always || !entries.is_empty() {
                out.insert(rest.wire.clone(), Value::Array(entries));
            }
            return Ok(Value::Object(out));
        }
        for (key, value) in map {
            let value = self.below(&key, |own| own.through(shape.other(&key), value))?;
            let wire = if shape.takes(&key) { format!("{key}_") } else { key };
            if out.contains_key(&wire) {
                return self.below(wire, |_| fail("the key is taken by another property on the wire"));
            }
            out.insert(wire, value);
        }
        Ok(Value::Object(out))
    }

    fn encode_field(&mut self, field: &Field, value: Option<Value>) -> Passed<Option<Value>> {
        let Some(value) = value else {
            return match field.absent {
                Absent::Null | Absent::NullEither | Absent::NullEitherIsNull | Absent::NullMark | Absent::NullList => {
                    Ok(Some(Value::Null))
                }
                Absent::EmptyList => Ok(Some(Value::Array(Vec::new()))),
                Absent::Kept | Absent::IsEither | Absent::IsEitherNull => Ok(None),
                Absent::IsNull => fail("required: absence on the wire means `null`"),
            };
        };
        match field.absent {
            Absent::IsNull if value.is_null() => Ok(None),
            Absent::NullEither | Absent::NullEitherIsNull if value.is_null() => Ok(Some(Value::Null)),
            Absent::IsEither | Absent::IsEitherNull if value.is_null() => Ok(None),
            Absent::NullMark | Absent::NullList if value.is_null() => Ok(Some(Value::Array(Vec::new()))),
            Absent::NullMark if value.is_array() => fail("a list stands for `null` here"),
            Absent::EmptyList | Absent::NullList => Ok(Some(Value::Array(vec![self.through(field.lens, value)?]))),
            Absent::NullMark
            | Absent::Kept
            | Absent::Null
            | Absent::NullEither
            | Absent::NullEitherIsNull
            | Absent::IsNull
            | Absent::IsEither
            | Absent::IsEitherNull => self.through(field.lens, value).map(Some),
        }
    }

    fn decode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> Passed {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.swap_remove(field.wire());
            match self.below(field.wire(), |own| own.decode_field(field, value)) {
                Ok(Some(value)) => _ = out.insert(field.name.to_string(), value),
                Ok(None) => {}
                Err(_) if self.way == Way::Partial => {}
                Err(fault) => return Err(fault),
            }
        }
        if let Some(rest) = &shape.rest {
            match map.swap_remove(&rest.wire) {
                Some(Value::Array(entries)) => {
                    let mut others = Map::new();
                    self.below(&rest.wire, |own| {
                        own.take_entries(rest.lens, entries, &mut others)?;
                        let declared = |key: &str| shape.fields.iter().any(|field| *field.name == *key);
                        let taken: Vec<String> = others.keys().filter(|key| declared(key)).cloned().collect();
                        for key in taken {
                            own.repair(format!("`{key}` is a declared property; the entry of that name is left out"));
                            others.shift_remove(&key);
                        }
                        Ok(())
                    })?;
                    out.append(&mut others);
                }
                Some(Value::Null) | None => {}
                Some(_) => return self.below(&rest.wire, |_| fail("entries are a list")),
            }
        }
        if shape.rest.is_some() || self.lens.undeclared == Undeclared::Refused {
            self.doubt_unless_empty(&map);
        }
        let others = if map.is_empty() { &[][..] } else { &shape.fields };
        let renamed: Vec<&Field> = others.iter().filter(|field| field.renamed.is_some()).collect();
        for (mut key, value) in map {
            if let Some(field) = renamed.iter().find(|field| *field.name == *key) {
                self.repair(format!("`{key}` is called `{}` on the wire; the other key is left out", field.wire()));
                continue;
            }
            let wire = key.clone();
            if key.ends_with('_') && shape.takes(&key) {
                key.pop();
            }
            let value = self.below(&wire, |own| own.through(shape.other(&key), value))?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn decode_field(&mut self, field: &Field, value: Option<Value>) -> Passed<Option<Value>> {
        let Some(value) = value else {
            let null = matches!(field.absent, Absent::IsNull | Absent::IsEitherNull) && self.way == Way::Decode;
            return Ok(null.then_some(Value::Null));
        };
        match (field.absent, value) {
            (Absent::Null | Absent::NullEither | Absent::NullMark | Absent::NullList, Value::Null) => Ok(None),
            (Absent::NullEitherIsNull, Value::Null) => Ok(Some(Value::Null)),
            (Absent::NullMark, Value::Array(list)) => {
                if !list.is_empty() {
                    self.repair("a list means `null` here, and should be empty");
                }
                Ok(Some(Value::Null))
            }
            (Absent::NullList, value) => self.at_most_one(field.lens, value).map(|own| own.or(Some(Value::Null))),
            (Absent::EmptyList, Value::Null) => {
                self.repair("`null` where an empty list means absence");
                Ok(None)
            }
            (Absent::EmptyList, value) => self.at_most_one(field.lens, value),
            (_, value) => self.through(field.lens, value).map(Some),
        }
    }

    /// What a list of at most one item holds: the last one, where a model wrote several, or the plain value, where it wrote no list.
    fn at_most_one(&mut self, inner: LensId, value: Value) -> Passed<Option<Value>> {
        let Value::Array(mut list) = value else {
            self.repair("a plain value where a list of at most one item was expected");
            return self.through(inner, value).map(Some);
        };
        let Some(last) = list.pop() else { return Ok(None) };
        if !list.is_empty() && self.way == Way::Decode {
            self.repair("several items where at most one may be: the last one is read");
        }
        self.below(list.len(), |own| own.through(inner, last)).map(Some)
    }

    /// A value that should have been wrapped in an object.
    fn unwrapped(&mut self, inner: LensId, value: Value) -> Passed {
        if self.way == Way::Partial {
            return fail("the wrapped value has not arrived");
        }
        self.repair("the value is not wrapped in an object; it is read as it is");
        self.through(inner, value)
    }

    fn labelled(&mut self, labels: &[(String, Value)], value: Value) -> Passed {
        if self.way == Way::Encode {
            let found = labels.iter().find(|(_, own)| same(own, &value));
            return found.map_or_else(|| fail("not one of the listed values"), |(label, _)| Ok(label.clone().into()));
        }
        if let Some((_, own)) = labels.iter().find(|(label, _)| value.as_str() == Some(label)) {
            return Ok(own.clone());
        }
        if self.way == Way::Partial {
            return fail("the label has not arrived");
        }
        self.repair("no label of a listed value; it is read as it is");
        Ok(value)
    }

    fn entries_of(&mut self, inner: LensId, map: Map<String, Value>) -> Passed<Vec<Value>> {
        let absent = matches!(self.lens.shape(inner), Shape::NullIsAbsent(_));
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            let value = self.below(&key, |own| own.through(inner, value))?;
            let mut entry = Map::from_iter([(ENTRY.0.to_owned(), Value::String(key))]);
            if !(absent && value.is_null()) {
                entry.insert(ENTRY.1.to_owned(), value);
            }
            entries.push(Value::Object(entry));
        }
        Ok(entries)
    }

    fn take_entries(&mut self, inner: LensId, entries: Vec<Value>, out: &mut Map<String, Value>) -> Passed<()> {
        for (index, entry) in entries.into_iter().enumerate() {
            let taken = self.below(index, |own| own.take_entry(inner, entry, out));
            if self.way != Way::Partial {
                taken?;
            }
        }
        Ok(())
    }

    fn take_entry(&mut self, inner: LensId, entry: Value, out: &mut Map<String, Value>) -> Passed<()> {
        let Value::Object(mut entry) = entry else { return fail("an entry is an object") };
        let Some(Value::String(key)) = entry.swap_remove(ENTRY.0) else { return fail("an entry has a key") };
        let value = entry.swap_remove(ENTRY.1).unwrap_or(Value::Null);
        self.doubt_unless_empty(&entry);
        let value = self.below(ENTRY.1, |own| own.through(inner, value))?;
        if out.contains_key(&key) {
            self.repair(format!("the key `{key}` is given again: the last entry is read"));
        }
        out.insert(key, value);
        Ok(())
    }

    fn tuple(&mut self, fields: &[String], rest: Option<&str>, object: LensId, value: Value) -> Passed {
        if self.way == Way::Encode {
            let Value::Array(items) = value else { return fail("a tuple is an array") };
            let mut items = items.into_iter();
            let mut map: Map<String, Value> = fields.iter().cloned().zip(items.by_ref()).collect();
            let more: Vec<Value> = items.collect();
            match rest {
                Some(rest) if !more.is_empty() => _ = map.insert(rest.to_owned(), Value::Array(more)),
                None if !more.is_empty() => return fail("more items than the tuple has places"),
                Some(_) | None => {}
            }
            let place = |field: &str| fields.iter().position(|own| own == field).map(|index| index.to_string());
            return above(self.through(object, Value::Object(map)), place);
        }
        let mut map = match self.through(object, value)? {
            Value::Object(map) => map,
            Value::Array(items) => {
                self.repair("a list where a tuple travels as an object");
                return Ok(Value::Array(items));
            }
            _ => return fail("a tuple travels as an object"),
        };
        let mut items: Vec<Value> = fields.iter().map_while(|field| map.swap_remove(field)).collect();
        let whole = items.len() == fields.len();
        let more = match rest.and_then(|rest| map.swap_remove(rest)) {
            Some(Value::Array(more)) => more,
            Some(_) | None => Vec::new(),
        };
        self.doubt_unless_empty(&map);
        let behind = !more.is_empty() || fields.iter().skip(items.len()).any(|field| map.contains_key(field));
        if !whole && behind && self.way == Way::Decode {
            self.repair("a place of the tuple is empty: what stands behind it is left out");
        }
        if whole {
            items.extend(more);
        }
        Ok(Value::Array(items))
    }
}

/// The value that a text writes. A text that is no JSON is what it says: models write plain text where any value may stand.
fn read_text(text: String) -> Value {
    let bounds = Bounds { depth: DEEPEST, values: usize::MAX };
    let arena = Arena::for_text(text.len());
    match Json::from_text(&text, bounds, &arena) {
        Ok(json) => json.to_value(),
        Err(_) => Value::String(text),
    }
}
