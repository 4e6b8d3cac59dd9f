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

/// Says that a fault is below a key or an index.
fn below<T>(passed: Passed<T>, step: impl fmt::Display) -> Passed<T> {
    passed.map_err(|mut fault| {
        fault.steps.push(step.to_string());
        fault
    })
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
        self.pass(value, Way::Encode)
    }

    /// A value from the wire as the caller knows it.
    pub fn decode(&self, value: Value) -> Result<Value, LensError> {
        self.pass(value, Way::Decode)
    }

    /// [`decode`](Self::decode) for a value whose end has not arrived: what cannot be read yet is left out.
    pub fn decode_partial(&self, value: Value) -> Option<Value> {
        self.pass(value, Way::Partial).ok()
    }

    fn pass(&self, value: Value, way: Way) -> Result<Value, LensError> {
        let own = |value| self.pass_from(self.root, value, way);
        match (&self.next, way) {
            (None, _) => own(value),
            (Some(next), Way::Encode) => next.pass(own(value)?, way),
            (Some(next), Way::Decode | Way::Partial) => own(next.pass(value, way)?),
        }
    }

    /// Through one shape of this lens, and what is within.
    pub(super) fn pass_from(&self, root: LensId, value: Value, way: Way) -> Result<Value, LensError> {
        let mut passage =
            Passage { lens: self, way, depth: 0, tries_left: MOST_TRIES, vouched: false, doubts: 0, trying: 0 };
        passage.through(root, value).map_err(|fault| {
            let mut at = String::new();
            fault.steps.iter().rev().for_each(|step| push_token(&mut at, step));
            LensError { at, reason: fault.reason }
        })
    }
}

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
}

impl Passage<'_> {
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
            (Shape::Entries(_), _) => fail(if encodes { "a map is an object" } else { "entries are a list" }),
            (Shape::Wrapped(key, inner), value) if encodes => {
                Ok(Value::Object(Map::from_iter([(key.clone(), self.through(*inner, value)?)])))
            }
            (Shape::Wrapped(key, inner), Value::Object(mut map)) => match map.remove(key) {
                Some(inside) => {
                    self.doubt_unless_empty(&map);
                    below(self.through(*inner, inside), key)
                }
                None => fail("the wrapped value is missing"),
            },
            (Shape::Wrapped(..), _) => fail("a wrapped value is an object"),
            (Shape::AtMostOne(_), Value::Null) if encodes => Ok(Value::Array(Vec::new())),
            (Shape::AtMostOne(inner), value) if encodes => Ok(Value::Array(vec![self.through(*inner, value)?])),
            (Shape::AtMostOne(inner), Value::Array(list)) => match at_most_one(list)? {
                Some(only) => self.through(*inner, only),
                None => Ok(Value::Null),
            },
            (Shape::AtMostOne(_), _) => fail("a list of at most one item was expected"),
            (Shape::Text, value) if encodes => Ok(Value::String(value.to_string())),
            (Shape::Text, Value::String(text)) => Ok(read_text(text)),
            (Shape::Text, _) => fail("JSON text is a string"),
            (Shape::Labels(labels), value) => labelled(labels, &value, self.way),
            (Shape::Union(branches), value) if encodes => self.encode_union(branches, value),
            (Shape::Union(branches), value) => self.decode_union(branches, value),
            (Shape::Choice { branches, object }, value) => self.choice(branches, *object, value),
        }
    }

    fn items(&mut self, prefix: &[LensId], rest: LensId, items: Vec<Value>) -> Passed {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let inner = prefix.get(index).unwrap_or(&rest);
            match below(self.through(*inner, item), index) {
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
            if let Some(value) = below(self.encode_field(field, value), &field.name)? {
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
            let value = below(self.through(shape.other(&key), value), &key)?;
            let wire = if shape.takes(&key) { format!("{key}_") } else { key };
            if out.contains_key(&wire) {
                return below(fail("the key is taken by another property on the wire"), wire);
            }
            out.insert(wire, value);
        }
        Ok(Value::Object(out))
    }

    fn encode_field(&mut self, field: &Field, value: Option<Value>) -> Passed<Option<Value>> {
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
                let carried = self.through(field.lens, value)?;
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
            Absent::EmptyList | Absent::NullList => Ok(Some(Value::Array(vec![self.through(field.lens, value)?]))),
            Absent::NullMark | Absent::Kept | Absent::Null | Absent::NullEither | Absent::IsNull | Absent::IsEither => {
                self.through(field.lens, value).map(Some)
            }
        }
    }

    fn decode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> Passed {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.swap_remove(field.wire());
            match below(self.decode_field(field, value), field.wire()) {
                Ok(Some(value)) => _ = out.insert(field.name.to_string(), value),
                Ok(None) => {}
                Err(_) if self.way == Way::Partial => {}
                Err(fault) => return Err(fault),
            }
        }
        if let Some(rest) = &shape.rest {
            match map.swap_remove(&rest.wire) {
                Some(Value::Array(entries)) => {
                    let before = out.len();
                    below(self.take_entries(rest.lens, entries, &mut out), &rest.wire)?;
                    let declared = |key: &String| shape.fields.iter().any(|field| *field.name == **key);
                    if let Some(key) = out.keys().skip(before).find(|key| declared(key)) {
                        let reason = format!("`{key}` is declared and has a place of its own");
                        return below(fail(reason), &rest.wire);
                    }
                }
                Some(Value::Null) | None => {}
                Some(_) => return below(fail("entries are a list"), &rest.wire),
            }
        }
        if shape.rest.is_some() || self.lens.undeclared == Undeclared::Refused {
            self.doubt_unless_empty(&map);
        }
        let others = if map.is_empty() { &[][..] } else { &shape.fields };
        let renamed: Vec<&Field> = others.iter().filter(|field| field.renamed.is_some()).collect();
        for (mut key, value) in map {
            if let Some(field) = renamed.iter().find(|field| *field.name == *key) {
                if self.way == Way::Partial {
                    continue;
                }
                return below(fail(format!("`{key}` is declared and travels as `{}`", field.wire())), &key);
            }
            let wire = key.clone();
            if key.ends_with('_') && shape.takes(&key) {
                key.pop();
            }
            let value = below(self.through(shape.other(&key), value), &wire)?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn decode_field(&mut self, field: &Field, value: Option<Value>) -> Passed<Option<Value>> {
        let Some(value) = value else {
            let null = field.absent == Absent::IsNull && self.way == Way::Decode;
            return Ok(null.then_some(Value::Null));
        };
        match (field.absent, value) {
            (Absent::Null | Absent::NullEither | Absent::NullMark | Absent::NullList, Value::Null) => Ok(None),
            (Absent::NullMark, Value::Array(list)) if list.is_empty() => Ok(Some(Value::Null)),
            (Absent::NullMark, Value::Array(_)) => fail("only an empty list may stand here: it means `null`"),
            (Absent::NullList, Value::Array(list)) => match at_most_one(list)? {
                Some(only) => self.through(field.lens, only).map(Some),
                None => Ok(Some(Value::Null)),
            },
            (Absent::EmptyList, Value::Array(list)) => match at_most_one(list)? {
                Some(only) => self.through(field.lens, only).map(Some),
                None => Ok(None),
            },
            (Absent::EmptyList, _) => fail("a list of at most one item was expected"),
            (_, value) => self.through(field.lens, value).map(Some),
        }
    }

    fn entries_of(&mut self, inner: LensId, map: Map<String, Value>) -> Passed<Vec<Value>> {
        let absent = matches!(self.lens.shape(inner), Shape::NullIsAbsent(_));
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            let value = below(self.through(inner, value), &key)?;
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
            let taken = below(self.take_entry(inner, entry, out), index);
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
        let value = below(self.through(inner, value), ENTRY.1)?;
        if out.contains_key(&key) {
            return fail(format!("the key `{key}` appears twice"));
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
        let Value::Object(mut map) = self.through(object, value)? else {
            return fail("a tuple travels as an object");
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
            return fail("a place of the tuple is empty, and a later one is not");
        }
        if whole {
            items.extend(more);
        }
        Ok(Value::Array(items))
    }
}

/// What a list of at most one item holds.
fn at_most_one(mut list: Vec<Value>) -> Passed<Option<Value>> {
    let only = list.pop();
    if list.is_empty() { Ok(only) } else { fail("more than one item where at most one may be") }
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

fn labelled(labels: &[(String, Value)], value: &Value, way: Way) -> Passed {
    let found = match way {
        Way::Encode => labels.iter().find(|(_, own)| same(own, value)).map(|(label, _)| label.clone().into()),
        Way::Decode | Way::Partial => {
            labels.iter().find(|(label, _)| value.as_str() == Some(label)).map(|(_, own)| own.clone())
        }
    };
    found.map_or_else(|| fail("not one of the listed values"), Ok)
}
