//! Converts values: `encode` from the caller to the wire, `decode` from the wire to the caller.

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

/// Adds a key or an index to the path of an error.
fn at_step<T>(converted: ConversionResult<T>, step: impl fmt::Display) -> ConversionResult<T> {
    converted.map_err(|mut fault| {
        fault.steps.push(step.to_string());
        fault
    })
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
        self.convert_all(value, Direction::Encode)
    }

    /// Decodes a value from the wire.
    pub fn decode(&self, value: Value) -> Result<Value, LensError> {
        self.convert_all(value, Direction::Decode)
    }

    /// [`decode`](Self::decode) for a value that is still arriving: unreadable parts are left out.
    pub fn decode_partial(&self, value: Value) -> Option<Value> {
        self.convert_all(value, Direction::Partial).ok()
    }

    fn convert_all(&self, value: Value, direction: Direction) -> Result<Value, LensError> {
        let own = |value| self.convert_by(self.root, value, direction);
        match (&self.next, direction) {
            (None, _) => own(value),
            (Some(next), Direction::Encode) => next.convert_all(own(value)?, direction),
            (Some(next), Direction::Decode | Direction::Partial) => own(next.convert_all(value, direction)?),
        }
    }

    /// Converts by one shape of this lens.
    pub(super) fn convert_by(&self, root: LensId, value: Value, direction: Direction) -> Result<Value, LensError> {
        let mut conversion = Conversion {
            lens: self,
            direction,
            depth: 0,
            attempts_left: MAX_ATTEMPTS,
            is_verified: false,
            mismatches: 0,
            attempts_open: 0,
        };
        conversion.convert(root, value).map_err(|fault| {
            let mut at = String::new();
            fault.steps.iter().rev().for_each(|step| push_token(&mut at, step));
            LensError { at, reason: fault.reason }
        })
    }
}

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
}

impl Conversion<'_> {
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
            (Shape::Entries(_), _) => fail(if encodes { "a map is an object" } else { "entries are a list" }),
            (Shape::Wrapped(key, inner), value) if encodes => {
                Ok(Value::Object(Map::from_iter([(key.clone(), self.convert(*inner, value)?)])))
            }
            (Shape::Wrapped(key, inner), Value::Object(mut map)) => match map.remove(key) {
                Some(inside) => {
                    self.count_mismatch_unless_empty(&map);
                    at_step(self.convert(*inner, inside), key)
                }
                None => fail("the wrapped value is missing"),
            },
            (Shape::Wrapped(..), _) => fail("a wrapped value is an object"),
            (Shape::AtMostOne(_), Value::Null) if encodes => Ok(Value::Array(Vec::new())),
            (Shape::AtMostOne(inner), value) if encodes => Ok(Value::Array(vec![self.convert(*inner, value)?])),
            (Shape::AtMostOne(inner), Value::Array(list)) => match at_most_one(list)? {
                Some(count_matches) => self.convert(*inner, count_matches),
                None => Ok(Value::Null),
            },
            (Shape::AtMostOne(_), _) => fail("a list of at most one item was expected"),
            (Shape::Text, value) if encodes => Ok(Value::String(value.to_string())),
            (Shape::Text, Value::String(text)) => Ok(decode_text(text)),
            (Shape::Text, _) => fail("JSON text is a string"),
            (Shape::Labels(labels), value) => convert_label(labels, &value, self.direction),
            (Shape::Union(branches), value) if encodes => self.encode_union(branches, value),
            (Shape::Union(branches), value) => self.decode_union(branches, value),
            (Shape::Choice { branches, object }, value) => self.convert_choice(branches, *object, value),
        }
    }

    fn convert_items(&mut self, prefix: &[LensId], rest: LensId, items: Vec<Value>) -> ConversionResult {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let inner = prefix.get(index).unwrap_or(&rest);
            match at_step(self.convert(*inner, item), index) {
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
            if let Some(value) = at_step(self.encode_field(field, value), &field.name)? {
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
            let value = at_step(self.convert(shape.undeclared_shape(&key), value), &key)?;
            let wire = if shape.collides_with_renamed(&key) { format!("{key}_") } else { key };
            if out.contains_key(&wire) {
                return at_step(fail("the key is taken by another property on the wire"), wire);
            }
            out.insert(wire, value);
        }
        Ok(Value::Object(out))
    }

    fn encode_field(&mut self, field: &Field, value: Option<Value>) -> ConversionResult<Option<Value>> {
        let Some(value) = value else {
            return match field.absent {
                Absent::Null | Absent::NullEither | Absent::NullMark | Absent::NullList => Ok(Some(Value::Null)),
                Absent::EmptyList => Ok(Some(Value::Array(Vec::new()))),
                Absent::Kept | Absent::IsEither => Ok(None),
                Absent::IsNull => fail("required: absence on the wire means `null`"),
            };
        };
        match field.absent {
            Absent::IsNull if value.is_null() => Ok(None),
            Absent::Null if value.is_null() => {
                let carried = self.convert(field.lens, value)?;
                if carried.is_null() {
                    return fail("`null` is no value here: absence travels as `null`");
                }
                Ok(Some(carried))
            }
            Absent::NullEither | Absent::IsEither if value.is_null() => {
                fail("`null` cannot be told from absence on the wire")
            }
            Absent::NullMark | Absent::NullList if value.is_null() => Ok(Some(Value::Array(Vec::new()))),
            Absent::NullMark if value.is_array() => fail("a list stands for `null` here"),
            Absent::EmptyList | Absent::NullList => Ok(Some(Value::Array(vec![self.convert(field.lens, value)?]))),
            Absent::NullMark | Absent::Kept | Absent::Null | Absent::NullEither | Absent::IsNull | Absent::IsEither => {
                self.convert(field.lens, value).map(Some)
            }
        }
    }

    fn decode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> ConversionResult {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.swap_remove(field.wire());
            match at_step(self.decode_field(field, value), field.wire()) {
                Ok(Some(value)) => _ = out.insert(field.name.to_string(), value),
                Ok(None) => {}
                Err(_) if self.direction == Direction::Partial => {}
                Err(fault) => return Err(fault),
            }
        }
        if let Some(rest) = &shape.rest {
            match map.swap_remove(&rest.wire) {
                Some(Value::Array(entries)) => {
                    let before = out.len();
                    at_step(self.decode_entries(rest.lens, entries, &mut out), &rest.wire)?;
                    let declared = |key: &String| shape.fields.iter().any(|field| *field.name == **key);
                    if let Some(key) = out.keys().skip(before).find(|key| declared(key)) {
                        let reason = format!("`{key}` is declared and has a place of its own");
                        return at_step(fail(reason), &rest.wire);
                    }
                }
                Some(Value::Null) | None => {}
                Some(_) => return at_step(fail("entries are a list"), &rest.wire),
            }
        }
        if shape.rest.is_some() || self.lens.undeclared == Undeclared::Refused {
            self.count_mismatch_unless_empty(&map);
        }
        let others = if map.is_empty() { &[][..] } else { &shape.fields };
        let renamed: Vec<&Field> = others.iter().filter(|field| field.renamed.is_some()).collect();
        for (mut key, value) in map {
            if let Some(field) = renamed.iter().find(|field| *field.name == *key) {
                if self.direction == Direction::Partial {
                    continue;
                }
                return at_step(fail(format!("`{key}` is declared and travels as `{}`", field.wire())), &key);
            }
            let wire = key.clone();
            if key.ends_with('_') && shape.collides_with_renamed(&key) {
                key.pop();
            }
            let value = at_step(self.convert(shape.undeclared_shape(&key), value), &wire)?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn decode_field(&mut self, field: &Field, value: Option<Value>) -> ConversionResult<Option<Value>> {
        let Some(value) = value else {
            let null = field.absent == Absent::IsNull && self.direction == Direction::Decode;
            return Ok(null.then_some(Value::Null));
        };
        match (field.absent, value) {
            (Absent::Null | Absent::NullEither | Absent::NullMark | Absent::NullList, Value::Null) => Ok(None),
            (Absent::NullMark, Value::Array(list)) if list.is_empty() => Ok(Some(Value::Null)),
            (Absent::NullMark, Value::Array(_)) => fail("only an empty list may stand here: it means `null`"),
            (Absent::NullList, Value::Array(list)) => match at_most_one(list)? {
                Some(count_matches) => self.convert(field.lens, count_matches).map(Some),
                None => Ok(Some(Value::Null)),
            },
            (Absent::EmptyList, Value::Array(list)) => match at_most_one(list)? {
                Some(count_matches) => self.convert(field.lens, count_matches).map(Some),
                None => Ok(None),
            },
            (Absent::EmptyList, _) => fail("a list of at most one item was expected"),
            (_, value) => self.convert(field.lens, value).map(Some),
        }
    }

    fn encode_entries(&mut self, inner: LensId, map: Map<String, Value>) -> ConversionResult<Vec<Value>> {
        let absent = matches!(self.lens.shape(inner), Shape::NullIsAbsent(_));
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            let value = at_step(self.convert(inner, value), &key)?;
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
            let taken = at_step(self.decode_entry(inner, entry, out), index);
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
        let value = at_step(self.convert(inner, value), ENTRY_KEYS.1)?;
        if out.contains_key(&key) {
            return fail(format!("the key `{key}` appears twice"));
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
        let Value::Object(mut map) = self.convert(object, value)? else {
            return fail("a tuple travels as an object");
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
            return fail("a place of the tuple is empty, and a later one is not");
        }
        if whole {
            items.extend(more);
        }
        Ok(Value::Array(items))
    }
}

fn at_most_one(mut list: Vec<Value>) -> ConversionResult<Option<Value>> {
    let count_matches = list.pop();
    if list.is_empty() { Ok(count_matches) } else { fail("more than one item where at most one may be") }
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

fn convert_label(labels: &[(String, Value)], value: &Value, direction: Direction) -> ConversionResult {
    let found = match direction {
        Direction::Encode => {
            labels.iter().find(|(_, own)| are_equal(own, value)).map(|(label, _)| label.clone().into())
        }
        Direction::Decode | Direction::Partial => {
            labels.iter().find(|(label, _)| value.as_str() == Some(label)).map(|(_, own)| own.clone())
        }
    };
    found.map_or_else(|| fail("not one of the listed values"), Ok)
}
