//! A value through the lens: `encode` from the caller to the wire, `decode` from the wire to the caller.

use std::borrow::Cow;
use std::fmt;
use std::thread;

use serde_json::{Map, Value};

use super::guard::are_equal;
use super::{Absent, Field, Lens, LensId, ObjectShape, Shape, Undeclared};
use crate::arena::Arena;
use crate::json::{Bounds, Json, push_token};

/// The key and the value of an entry.
const ENTRY_KEYS: (&str, &str) = ("key", "value");

/// Shapes within shapes beyond this depth are not followed.
const MAX_DEPTH: usize = 8_000;

/// From this depth on, a value is converted on a stack of its own.
const DEEP_STACK_FROM: usize = 100;

/// A stack for `MAX_DEPTH` nested shapes.
const DEEP_STACK_BYTES: usize = 64 << 20;

/// The limit of branches that are tried for one value; after it, the first plausible branch is taken.
const MAX_ATTEMPTS: usize = 4_096;

/// Why and where a value cannot be converted.
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

/// A deviation that decoding tolerated: the value is not written as the lens writes it, but its meaning is clear.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeRepair {
    /// JSON Pointer of the place in the wire value.
    pub at: String,
    /// What was read instead.
    pub detail: Cow<'static, str>,
}

/// A [`DecodeRepair`] under construction, like [`ConversionError`].
struct PendingRepair {
    detail: Cow<'static, str>,
    steps: Vec<String>,
}

/// A [`LensError`] under construction: callers add their step of the path, innermost first.
#[derive(Debug)]
pub(super) struct ConversionError {
    reason: Cow<'static, str>,
    steps: Vec<String>,
}

pub(super) type ConversionResult<T = Value> = Result<T, Box<ConversionError>>;

pub(super) fn fail<T>(reason: impl Into<Cow<'static, str>>) -> ConversionResult<T> {
    Err(Box::new(ConversionError { reason: reason.into(), steps: Vec::new() }))
}

fn pointer(steps: &[String]) -> String {
    let mut at = String::new();
    steps.iter().rev().for_each(|step| push_token(&mut at, step));
    at
}

/// Replaces the outermost step, a key that only the wire has.
pub(super) fn with_outer_step<T>(
    converted: ConversionResult<T>,
    step: impl FnOnce(&str) -> Option<String>,
) -> ConversionResult<T> {
    converted.map_err(|mut fault| {
        let outer = fault.steps.pop();
        fault.steps.extend(outer.and_then(|outer| step(&outer)));
        fault
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
    /// Decoding of a value that is still arriving: unreadable parts are left out.
    Partial,
}

impl Lens {
    /// Encodes the caller's value: for history, examples and tests.
    pub fn encode(&self, value: Value) -> Result<Value, LensError> {
        self.convert_all(value, Direction::Encode, &mut Vec::new())
    }

    /// Decodes a value from the wire.
    pub fn decode(&self, value: Value) -> Result<Value, LensError> {
        self.decode_repaired(value).map(|(value, _)| value)
    }

    /// [`decode`](Self::decode), with a record of every deviation that was tolerated: two items where the lens writes at most one, a
    /// key that is given twice, a plain value that should be wrapped.
    pub fn decode_repaired(&self, value: Value) -> Result<(Value, Vec<DecodeRepair>), LensError> {
        let mut repairs = Vec::new();
        let value = self.convert_all(value, Direction::Decode, &mut repairs)?;
        Ok((value, repairs))
    }

    /// [`decode`](Self::decode) for a value that is still arriving: unreadable parts are left out.
    pub fn decode_partial(&self, value: Value) -> Option<Value> {
        self.convert_all(value, Direction::Partial, &mut Vec::new()).ok()
    }

    fn convert_all(
        &self,
        value: Value,
        direction: Direction,
        repairs: &mut Vec<DecodeRepair>,
    ) -> Result<Value, LensError> {
        match (&self.next, direction) {
            (None, _) => self.convert_recording(self.root, value, direction, repairs),
            (Some(next), Direction::Encode) => {
                let value = self.convert_recording(self.root, value, direction, repairs)?;
                next.convert_all(value, direction, repairs)
            }
            (Some(next), Direction::Decode | Direction::Partial) => {
                let value = next.convert_all(value, direction, repairs)?;
                self.convert_recording(self.root, value, direction, repairs)
            }
        }
    }

    /// Converts by one shape of this lens.
    pub(super) fn convert_by(&self, root: LensId, value: Value, direction: Direction) -> Result<Value, LensError> {
        self.convert_recording(root, value, direction, &mut Vec::new())
    }

    fn convert_recording(
        &self,
        root: LensId,
        value: Value,
        direction: Direction,
        repairs: &mut Vec<DecodeRepair>,
    ) -> Result<Value, LensError> {
        let mut conversion = Conversion {
            lens: self,
            direction,
            depth: 0,
            attempts_left: MAX_ATTEMPTS,
            is_verified: false,
            mismatches: 0,
            attempts_open: 0,
            repairs: Vec::new(),
        };
        let converted = conversion.convert(root, value);
        repairs.extend(
            conversion.repairs.into_iter().map(|own| DecodeRepair { at: pointer(&own.steps), detail: own.detail }),
        );
        converted.map_err(|fault| LensError { at: pointer(&fault.steps), reason: fault.reason })
    }
}

/// The repairs of a branch that is not chosen yet.
#[derive(Default)]
pub(super) struct TakenRepairs(Vec<PendingRepair>);

/// The conversion of one value.
pub(super) struct Conversion<'l> {
    pub(super) lens: &'l Lens,
    pub(super) direction: Direction,
    depth: usize,
    pub(super) attempts_left: usize,
    /// True inside a branch that was chosen by evaluating the guard on the whole value.
    pub(super) is_verified: bool,
    /// The number of unions whose value matches no branch.
    pub(super) mismatches: usize,
    /// The number of enclosing branches that are being tried.
    pub(super) attempts_open: usize,
    repairs: Vec<PendingRepair>,
}

impl Conversion<'_> {
    /// Records a deviation. A branch that decodes without one is preferred.
    pub(super) fn repair(&mut self, detail: impl Into<Cow<'static, str>>) {
        self.mismatches += 1;
        self.repairs.push(PendingRepair { detail: detail.into(), steps: Vec::new() });
    }

    pub(super) fn repair_count(&self) -> usize {
        self.repairs.len()
    }

    /// Removes and returns the repairs since a count.
    pub(super) fn take_repairs(&mut self, count: usize) -> TakenRepairs {
        TakenRepairs(self.repairs.split_off(count))
    }

    pub(super) fn put_repairs(&mut self, taken: TakenRepairs) {
        self.repairs.extend(taken.0);
    }

    /// Converts below a key or an index, and adds it to the path of errors and repairs.
    fn at_step<T>(
        &mut self,
        step: impl fmt::Display,
        convert: impl FnOnce(&mut Self) -> ConversionResult<T>,
    ) -> ConversionResult<T> {
        let before = self.repairs.len();
        let converted = convert(self);
        for repair in self.repairs.iter_mut().skip(before) {
            repair.steps.push(step.to_string());
        }
        converted.map_err(|mut fault| {
            fault.steps.push(step.to_string());
            fault
        })
    }

    pub(super) fn convert(&mut self, id: LensId, value: Value) -> ConversionResult {
        if id.is_same() {
            return Ok(value);
        }
        if self.depth == MAX_DEPTH {
            return fail("the value is nested too deeply");
        }
        self.depth += 1;
        let converted = if self.depth == DEEP_STACK_FROM {
            self.convert_on_deep_stack(id, value)
        } else {
            self.convert_shape(self.lens.shape(id), value)
        };
        self.depth -= 1;
        converted
    }

    /// Deep nesting needs more stack than the caller's thread may have.
    fn convert_on_deep_stack(&mut self, id: LensId, value: Value) -> ConversionResult {
        let (lens, deep) = (self.lens, &mut *self);
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(DEEP_STACK_BYTES);
            let started = thread.spawn_scoped(scope, move || deep.convert_shape(lens.shape(id), value));
            match started.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(converted)) => converted,
                Ok(Err(_)) | Err(_) => fail("the value is nested too deeply for this machine"),
            }
        })
    }

    fn convert_shape(&mut self, shape: &Shape, value: Value) -> ConversionResult {
        let encodes = self.direction == Direction::Encode;
        match (shape, value) {
            (Shape::Same, value) => Ok(value),
            (Shape::Nullable(_) | Shape::NullIsAbsent(_), Value::Null) => Ok(Value::Null),
            (Shape::Link(inner) | Shape::Nullable(inner) | Shape::NullIsAbsent(inner), value) => {
                self.convert(*inner, value)
            }
            (Shape::Object(shape), Value::Object(map)) if encodes => self.encode_object(shape, map),
            (Shape::Object(shape), Value::Object(map)) => self.decode_object(shape, map),
            (Shape::Array { prefix, rest }, Value::Array(items)) => self.convert_items(prefix, *rest, items),
            (Shape::Object(_) | Shape::Array { .. }, other) => Ok(other),
            (Shape::Tuple { fields, rest, object }, value) => {
                self.convert_tuple(fields, rest.as_deref(), *object, value)
            }
            (Shape::Entries(inner), Value::Object(map)) if encodes => {
                self.encode_entries(*inner, map).map(Value::Array)
            }
            (Shape::Entries(inner), Value::Array(entries)) if !encodes => {
                let mut map = Map::new();
                self.decode_entries(*inner, entries, &mut map)?;
                Ok(Value::Object(map))
            }
            (Shape::Entries(inner), Value::Object(map)) => {
                self.repair("an object instead of a list of entries");
                let mut out = Map::with_capacity(map.len());
                for (key, value) in map {
                    let value = self.at_step(&key, |own| own.convert(*inner, value))?;
                    out.insert(key, value);
                }
                Ok(Value::Object(out))
            }
            (Shape::Entries(_), _) => fail(if encodes { "a map is an object" } else { "entries are a list" }),
            (Shape::Wrapped(key, inner), value) if encodes => {
                Ok(Value::Object(Map::from_iter([(key.clone(), self.convert(*inner, value)?)])))
            }
            (Shape::Wrapped(key, inner), Value::Object(mut map)) => match map.remove(key) {
                Some(inside) => {
                    self.count_mismatch_unless_empty(&map);
                    self.at_step(key, |own| own.convert(*inner, inside))
                }
                None => self.decode_unwrapped(*inner, Value::Object(map)),
            },
            (Shape::Wrapped(_, inner), value) => self.decode_unwrapped(*inner, value),
            (Shape::AtMostOne(_), Value::Null) if encodes => Ok(Value::Array(Vec::new())),
            (Shape::AtMostOne(inner), value) if encodes => Ok(Value::Array(vec![self.convert(*inner, value)?])),
            (Shape::AtMostOne(inner), value) => Ok(self.decode_at_most_one(*inner, value)?.unwrap_or(Value::Null)),
            (Shape::Text, value) if encodes => Ok(Value::String(value.to_string())),
            (Shape::Text, Value::String(text)) => Ok(decode_text(text)),
            (Shape::Text, value) => {
                self.repair("the value is not written as JSON text; it is read as it is");
                Ok(value)
            }
            (Shape::Labels(labels), value) => self.convert_label(labels, value),
            (Shape::Union(branches), value) if encodes => self.encode_union(branches, value),
            (Shape::Union(branches), value) => self.decode_union(branches, value),
            (Shape::Choice { branches, object }, value) => self.convert_choice(branches, *object, value),
        }
    }

    fn convert_items(&mut self, prefix: &[LensId], rest: LensId, items: Vec<Value>) -> ConversionResult {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let inner = prefix.get(index).unwrap_or(&rest);
            match self.at_step(index, |own| own.convert(*inner, item)) {
                Ok(item) => out.push(item),
                Err(_) if self.direction == Direction::Partial => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(Value::Array(out))
    }

    fn encode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> ConversionResult {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.swap_remove(&*field.name);
            if let Some(value) = self.at_step(&field.name, |own| own.encode_field(field, value))? {
                out.insert(field.wire().to_owned(), value);
            }
        }
        if let Some(rest) = &shape.rest {
            let entries = self.encode_entries(rest.lens, map)?;
            if rest.always || !entries.is_empty() {
                out.insert(rest.wire.clone(), Value::Array(entries));
            }
            return Ok(Value::Object(out));
        }
        for (key, value) in map {
            let value = self.at_step(&key, |own| own.convert(shape.undeclared_shape(&key), value))?;
            let wire = if shape.collides_with_renamed(&key) { format!("{key}_") } else { key };
            if out.contains_key(&wire) {
                return self.at_step(wire, |_| fail("the key is taken by another property on the wire"));
            }
            out.insert(wire, value);
        }
        Ok(Value::Object(out))
    }

    fn encode_field(&mut self, field: &Field, value: Option<Value>) -> ConversionResult<Option<Value>> {
        let Some(value) = value else {
            return match field.absent {
                Absent::Null | Absent::NullEither | Absent::NullEitherIsNull | Absent::NullMark | Absent::NullList => {
                    Ok(Some(Value::Null))
                }
                Absent::EmptyList | Absent::EmptyEither => Ok(Some(Value::Array(Vec::new()))),
                Absent::Constant => {
                    let constant = field.constant.as_deref().cloned().unwrap_or_default();
                    self.convert(field.lens, constant).map(Some)
                }
                Absent::Kept | Absent::IsEither | Absent::IsEitherNull => Ok(None),
                Absent::IsNull => fail("required: absence on the wire means `null`"),
            };
        };
        match field.absent {
            Absent::IsNull | Absent::IsEither | Absent::IsEitherNull if value.is_null() => Ok(None),
            Absent::NullEither | Absent::NullEitherIsNull if value.is_null() => Ok(Some(Value::Null)),
            Absent::NullMark | Absent::NullList if value.is_null() => Ok(Some(Value::Array(Vec::new()))),
            Absent::Null => {
                let sent = self.convert(field.lens, value)?;
                if sent.is_null() { fail("`null` is no value here: absence travels as `null`") } else { Ok(Some(sent)) }
            }
            Absent::NullMark if value.is_array() => fail("a list stands for `null` here"),
            Absent::EmptyList | Absent::NullList => Ok(Some(Value::Array(vec![self.convert(field.lens, value)?]))),
            Absent::NullMark
            | Absent::EmptyEither
            | Absent::Constant
            | Absent::Kept
            | Absent::NullEither
            | Absent::NullEitherIsNull
            | Absent::IsNull
            | Absent::IsEither
            | Absent::IsEitherNull => self.convert(field.lens, value).map(Some),
        }
    }

    fn decode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> ConversionResult {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.swap_remove(field.wire());
            match self.at_step(field.wire(), |own| own.decode_field(field, value)) {
                Ok(Some(value)) => _ = out.insert(field.name.to_string(), value),
                Ok(None) => {}
                Err(_) if self.direction == Direction::Partial => {}
                Err(fault) => return Err(fault),
            }
        }
        if let Some(rest) = &shape.rest {
            match map.swap_remove(&rest.wire) {
                Some(Value::Array(entries)) => {
                    let mut others = Map::new();
                    self.at_step(&rest.wire, |own| {
                        own.decode_entries(rest.lens, entries, &mut others)?;
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
                Some(_) => return self.at_step(&rest.wire, |_| fail("entries are a list")),
            }
        }
        if shape.rest.is_some() || self.lens.undeclared == Undeclared::Refused {
            self.count_mismatch_unless_empty(&map);
        }
        let others = if map.is_empty() { &[][..] } else { &shape.fields };
        let renamed: Vec<&Field> = others.iter().filter(|field| field.renamed.is_some()).collect();
        for (mut key, value) in map {
            if let Some(field) = renamed.iter().find(|field| *field.name == *key) {
                self.repair(format!("`{key}` is called `{}` on the wire; the other key is left out", field.wire()));
                continue;
            }
            let wire = key.clone();
            if key.ends_with('_') && shape.collides_with_renamed(&key) {
                key.pop();
            }
            let value = self.at_step(&wire, |own| own.convert(shape.undeclared_shape(&key), value))?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn decode_field(&mut self, field: &Field, value: Option<Value>) -> ConversionResult<Option<Value>> {
        let Some(value) = value else {
            let null =
                matches!(field.absent, Absent::IsNull | Absent::IsEitherNull) && self.direction == Direction::Decode;
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
            (Absent::NullList, value) => {
                self.decode_at_most_one(field.lens, value).map(|own| own.or(Some(Value::Null)))
            }
            (Absent::EmptyEither, Value::Array(list)) if list.is_empty() => Ok(None),
            (Absent::EmptyList | Absent::EmptyEither, Value::Null) => {
                self.repair("`null` where an empty list means absence");
                Ok(None)
            }
            (Absent::EmptyList, value) => self.decode_at_most_one(field.lens, value),
            (_, value) => self.convert(field.lens, value).map(Some),
        }
    }

    /// Decodes a list of at most one item. Of several items the last one is read; a plain value is read as the item.
    fn decode_at_most_one(&mut self, inner: LensId, value: Value) -> ConversionResult<Option<Value>> {
        let Value::Array(mut items) = value else {
            self.repair("a plain value where a list of at most one item was expected");
            return self.convert(inner, value).map(Some);
        };
        let Some(item) = items.pop() else { return Ok(None) };
        if !items.is_empty() && self.direction == Direction::Decode {
            self.repair("several items where at most one may be: the last one is read");
        }
        self.at_step(items.len(), |own| own.convert(inner, item)).map(Some)
    }

    /// A value that should have been wrapped in an object.
    fn decode_unwrapped(&mut self, inner: LensId, value: Value) -> ConversionResult {
        if self.direction == Direction::Partial {
            return fail("the wrapped value has not arrived");
        }
        self.repair("the value is not wrapped in an object; it is read as it is");
        self.convert(inner, value)
    }

    fn convert_label(&mut self, labels: &[(String, Value)], value: Value) -> ConversionResult {
        if self.direction == Direction::Encode {
            let found = labels.iter().find(|(_, own)| are_equal(own, &value));
            return found.map_or_else(|| fail("not one of the listed values"), |(label, _)| Ok(label.clone().into()));
        }
        if let Some((_, own)) = labels.iter().find(|(label, _)| value.as_str() == Some(label)) {
            return Ok(own.clone());
        }
        if self.direction == Direction::Partial {
            return fail("the label has not arrived");
        }
        self.repair("no label of a listed value; it is read as it is");
        Ok(value)
    }

    fn encode_entries(&mut self, inner: LensId, map: Map<String, Value>) -> ConversionResult<Vec<Value>> {
        let absent = matches!(self.lens.shape(inner), Shape::NullIsAbsent(_));
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            let value = self.at_step(&key, |own| own.convert(inner, value))?;
            let mut entry = Map::from_iter([(ENTRY_KEYS.0.to_owned(), Value::String(key))]);
            if !(absent && value.is_null()) {
                entry.insert(ENTRY_KEYS.1.to_owned(), value);
            }
            entries.push(Value::Object(entry));
        }
        Ok(entries)
    }

    fn decode_entries(
        &mut self,
        inner: LensId,
        entries: Vec<Value>,
        out: &mut Map<String, Value>,
    ) -> ConversionResult<()> {
        for (index, entry) in entries.into_iter().enumerate() {
            let taken = self.at_step(index, |own| own.decode_entry(inner, entry, out));
            if self.direction != Direction::Partial {
                taken?;
            }
        }
        Ok(())
    }

    fn decode_entry(&mut self, inner: LensId, entry: Value, out: &mut Map<String, Value>) -> ConversionResult<()> {
        let Value::Object(mut entry) = entry else { return fail("an entry is an object") };
        let Some(Value::String(key)) = entry.swap_remove(ENTRY_KEYS.0) else { return fail("an entry has a key") };
        let value = entry.swap_remove(ENTRY_KEYS.1).unwrap_or(Value::Null);
        self.count_mismatch_unless_empty(&entry);
        let value = self.at_step(ENTRY_KEYS.1, |own| own.convert(inner, value))?;
        if out.contains_key(&key) {
            self.repair(format!("the key `{key}` is given again: the last entry is read"));
        }
        out.insert(key, value);
        Ok(())
    }

    fn convert_tuple(
        &mut self,
        fields: &[String],
        rest: Option<&str>,
        object: LensId,
        value: Value,
    ) -> ConversionResult {
        if self.direction == Direction::Encode {
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
            return with_outer_step(self.convert(object, Value::Object(map)), place);
        }
        let mut map = match self.convert(object, value)? {
            Value::Object(map) => map,
            Value::Array(items) => {
                self.repair("a list where a tuple travels as an object");
                return Ok(Value::Array(items));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return fail("a tuple travels as an object");
            }
        };
        let mut items: Vec<Value> = fields.iter().map_while(|field| map.swap_remove(field)).collect();
        let whole = items.len() == fields.len();
        let more = match rest.and_then(|rest| map.swap_remove(rest)) {
            Some(Value::Array(more)) => more,
            Some(_) | None => Vec::new(),
        };
        self.count_mismatch_unless_empty(&map);
        let behind = !more.is_empty() || fields.iter().skip(items.len()).any(|field| map.contains_key(field));
        if !whole && behind && self.direction == Direction::Decode {
            self.repair("a place of the tuple is empty: what stands behind it is left out");
        }
        if whole {
            items.extend(more);
        }
        Ok(Value::Array(items))
    }
}

/// Text that is no JSON is the string itself: models write plain text where any value is allowed.
fn decode_text(text: String) -> Value {
    let bounds = Bounds { depth: MAX_DEPTH, values: usize::MAX };
    let arena = Arena::for_text(text.len());
    match Json::from_text(&text, bounds, &arena) {
        Ok(json) => json.to_value(),
        Err(_) => Value::String(text),
    }
}
