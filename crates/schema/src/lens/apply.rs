//! A value through the lens: `encode` from the caller to the wire, `decode` from the wire to the caller.

use std::fmt;

use serde_json::{Map, Value};

use super::guard::same;
use super::{Absent, Branch, Field, Lens, LensId, ObjectShape, Rest, Shape};
use crate::json::push_token;

/// The key and the value of an entry.
const ENTRY: (&str, &str) = ("key", "value");

/// Why a value does not go through the lens, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LensError {
    at: String,
    reason: String,
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

/// Which way a value goes, and how much of it has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
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
        let own = |value| {
            if self.root.is_same() {
                return Ok(value);
            }
            Passage { lens: self, way, at: Vec::new() }.through(self.root, value)
        };
        match (&self.next, way) {
            (None, _) => own(value),
            (Some(next), Way::Encode) => next.pass(own(value)?, way),
            (Some(next), Way::Decode | Way::Partial) => own(next.pass(value, way)?),
        }
    }
}

/// A value on its way.
struct Passage<'l> {
    lens: &'l Lens,
    way: Way,
    at: Vec<String>,
}

impl Passage<'_> {
    fn through(&mut self, id: LensId, value: Value) -> Result<Value, LensError> {
        match self.lens.shape(id) {
            Shape::Same => Ok(value),
            Shape::Link(inner) => self.through(*inner, value),
            Shape::Nullable(inner) => {
                if value.is_null() {
                    Ok(value)
                } else {
                    self.through(*inner, value)
                }
            }
            Shape::Object(shape) => match (value, self.way) {
                (Value::Object(map), Way::Encode) => self.encode_object(shape, map),
                (Value::Object(map), Way::Decode | Way::Partial) => self.decode_object(shape, map),
                (other, _) => Ok(other),
            },
            Shape::Array(inner) => match value {
                Value::Array(items) => self.items(*inner, items),
                other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                    Ok(other)
                }
            },
            Shape::Tuple { fields, rest, object } => self.tuple(fields, rest.as_deref(), *object, value),
            Shape::Entries(inner) => match (value, self.way) {
                (Value::Object(map), Way::Encode) => self.entries_of(*inner, map).map(Value::Array),
                (Value::Array(entries), Way::Decode | Way::Partial) => {
                    let mut map = Map::new();
                    self.take_entries(*inner, entries, &mut map)?;
                    Ok(Value::Object(map))
                }
                (_, Way::Encode) => self.fail("a map is an object"),
                (_, Way::Decode | Way::Partial) => self.fail("entries are a list"),
            },
            Shape::Wrapped(key, inner) => match (value, self.way) {
                (value, Way::Encode) => {
                    let inner = self.through(*inner, value)?;
                    Ok(Value::Object(Map::from_iter([(key.clone(), inner)])))
                }
                (Value::Object(mut map), Way::Decode | Way::Partial) => match map.shift_remove(key) {
                    Some(inside) => self.below(key, |passage| passage.through(*inner, inside)),
                    None => self.fail("the wrapped value is missing"),
                },
                (_, Way::Decode | Way::Partial) => self.fail("a wrapped value is an object"),
            },
            Shape::AtMostOne(inner) => self.at_most_one(*inner, value),
            Shape::Text => match (value, self.way) {
                (value, Way::Encode) => Ok(Value::String(value.to_string())),
                (Value::String(text), Way::Decode | Way::Partial) => {
                    serde_json::from_str(&text).or_else(|error| self.fail(&format!("not JSON text: {error}")))
                }
                (_, Way::Decode | Way::Partial) => self.fail("JSON text is a string"),
            },
            Shape::Labels(labels) => {
                let found = match self.way {
                    Way::Encode => {
                        labels.iter().find(|(_, own)| same(own, &value)).map(|(label, _)| label.clone().into())
                    }
                    Way::Decode | Way::Partial => {
                        labels.iter().find(|(label, _)| value.as_str() == Some(label)).map(|(_, own)| own.clone())
                    }
                };
                found.map_or_else(|| self.fail("not one of the listed values"), Ok)
            }
            Shape::Union(branches) => self.union(branches, value),
            Shape::Choice { branches, object } => self.choice(branches, *object, value),
        }
    }

    fn items(&mut self, inner: LensId, items: Vec<Value>) -> Result<Value, LensError> {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match self.below(&index.to_string(), |passage| passage.through(inner, item)) {
                Ok(item) => out.push(item),
                Err(_) if self.way == Way::Partial => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Value::Array(out))
    }

    fn encode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> Result<Value, LensError> {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.shift_remove(&field.name);
            let sent = self.below(&field.name, |passage| passage.encode_field(field, value))?;
            if let Some(value) = sent {
                out.insert(field.wire().to_owned(), value);
            }
        }
        match &shape.rest {
            Some(rest) => self.encode_rest(rest, map, &mut out)?,
            None => {
                for (key, value) in map {
                    let value = self.below(&key, |passage| passage.through(shape.others, value))?;
                    if out.insert(key.clone(), value).is_some() {
                        return self
                            .below(&key, |passage| passage.fail("the key is taken by another property on the wire"));
                    }
                }
            }
        }
        Ok(Value::Object(out))
    }

    fn encode_field(&mut self, field: &Field, value: Option<Value>) -> Result<Option<Value>, LensError> {
        let Some(value) = value else {
            return Ok(match field.absent {
                Absent::Null | Absent::NullEither | Absent::NullMark | Absent::NullList => Some(Value::Null),
                Absent::EmptyList => Some(Value::Array(Vec::new())),
                Absent::Kept | Absent::IsNull | Absent::IsEither => None,
            });
        };
        match field.absent {
            Absent::IsNull if value.is_null() => Ok(None),
            Absent::Null if value.is_null() => {
                let carried = self.through(field.lens, value)?;
                if carried.is_null() {
                    return self.fail("`null` is no value here: absence travels as `null`");
                }
                Ok(Some(carried))
            }
            Absent::NullEither | Absent::IsEither if value.is_null() => {
                self.fail("`null` cannot be told from absence on the wire")
            }
            Absent::NullMark | Absent::NullList if value.is_null() => Ok(Some(Value::Array(Vec::new()))),
            Absent::EmptyList | Absent::NullList => Ok(Some(Value::Array(vec![self.through(field.lens, value)?]))),
            Absent::NullMark | Absent::Kept | Absent::Null | Absent::NullEither | Absent::IsNull | Absent::IsEither => {
                self.through(field.lens, value).map(Some)
            }
        }
    }

    fn encode_rest(
        &mut self,
        rest: &Rest,
        map: Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), LensError> {
        let entries = self.entries_of(rest.lens, map)?;
        if rest.always || !entries.is_empty() {
            out.insert(rest.wire.clone(), Value::Array(entries));
        }
        Ok(())
    }

    fn decode_object(&mut self, shape: &ObjectShape, mut map: Map<String, Value>) -> Result<Value, LensError> {
        let mut out = Map::with_capacity(map.len());
        for field in &shape.fields {
            let value = map.shift_remove(field.wire());
            match self.below(field.wire(), |passage| passage.decode_field(field, value)) {
                Ok(Some(value)) => {
                    out.insert(field.name.clone(), value);
                }
                Ok(None) => {}
                Err(_) if self.way == Way::Partial => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(rest) = &shape.rest {
            match map.shift_remove(&rest.wire) {
                Some(Value::Array(entries)) => {
                    self.below(&rest.wire, |passage| passage.take_entries(rest.lens, entries, &mut out))?;
                }
                Some(Value::Null) | None => {}
                Some(_) => return self.below(&rest.wire, |passage| passage.fail("entries are a list")),
            }
        }
        for (key, value) in map {
            let value = self.below(&key, |passage| passage.through(shape.others, value))?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn decode_field(&mut self, field: &Field, value: Option<Value>) -> Result<Option<Value>, LensError> {
        let Some(value) = value else {
            let null = field.absent == Absent::IsNull && self.way == Way::Decode;
            return Ok(null.then_some(Value::Null));
        };
        match (field.absent, value) {
            (Absent::Null | Absent::NullEither | Absent::NullMark | Absent::NullList, Value::Null) => Ok(None),
            (Absent::NullMark | Absent::NullList, Value::Array(list)) if list.is_empty() => Ok(Some(Value::Null)),
            (Absent::NullList, Value::Array(mut list)) => match (list.pop(), list.is_empty()) {
                (Some(only), true) => self.through(field.lens, only).map(Some),
                (_, _) => self.fail("more than one item where at most one may be"),
            },
            (Absent::EmptyList, Value::Array(mut list)) => match (list.pop(), list.is_empty()) {
                (None, _) => Ok(None),
                (Some(only), true) => self.through(field.lens, only).map(Some),
                (Some(_), false) => self.fail("more than one item where at most one may be"),
            },
            (Absent::EmptyList, _) => self.fail("a list of at most one item was expected"),
            (_, value) => self.through(field.lens, value).map(Some),
        }
    }

    fn entries_of(&mut self, inner: LensId, map: Map<String, Value>) -> Result<Vec<Value>, LensError> {
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            let value = self.below(&key, |passage| passage.through(inner, value))?;
            let entry = [(ENTRY.0.to_owned(), Value::String(key)), (ENTRY.1.to_owned(), value)];
            entries.push(Value::Object(Map::from_iter(entry)));
        }
        Ok(entries)
    }

    fn take_entries(
        &mut self,
        inner: LensId,
        entries: Vec<Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), LensError> {
        for (index, entry) in entries.into_iter().enumerate() {
            let taken = self.below(&index.to_string(), |passage| {
                let Value::Object(mut entry) = entry else { return passage.fail("an entry is an object") };
                let Some(Value::String(key)) = entry.shift_remove(ENTRY.0) else {
                    return passage.fail("an entry has a key");
                };
                let value = entry.shift_remove(ENTRY.1).unwrap_or(Value::Null);
                let value = passage.below(ENTRY.1, |passage| passage.through(inner, value))?;
                if out.contains_key(&key) {
                    return passage.fail(&format!("the key `{key}` appears twice"));
                }
                out.insert(key, value);
                Ok(())
            });
            if self.way != Way::Partial {
                taken?;
            }
        }
        Ok(())
    }

    fn tuple(
        &mut self,
        fields: &[String],
        rest: Option<&str>,
        object: LensId,
        value: Value,
    ) -> Result<Value, LensError> {
        if self.way == Way::Encode {
            let Value::Array(items) = value else { return self.fail("a tuple is an array") };
            let mut items = items.into_iter();
            let mut map: Map<String, Value> = fields.iter().cloned().zip(items.by_ref()).collect();
            let more: Vec<Value> = items.collect();
            match rest {
                Some(rest) if !more.is_empty() => _ = map.insert(rest.to_owned(), Value::Array(more)),
                None if !more.is_empty() => return self.fail("more items than the tuple has places"),
                Some(_) | None => {}
            }
            return self.through(object, Value::Object(map));
        }
        let Value::Object(mut map) = self.through(object, value)? else {
            return self.fail("a tuple travels as an object");
        };
        let mut items = Vec::with_capacity(map.len());
        for field in fields {
            match map.shift_remove(field) {
                Some(item) => items.push(item),
                None => break,
            }
        }
        if let Some(Value::Array(more)) = rest.and_then(|rest| map.shift_remove(rest)) {
            items.extend(more);
        }
        Ok(Value::Array(items))
    }

    fn at_most_one(&mut self, inner: LensId, value: Value) -> Result<Value, LensError> {
        match (value, self.way) {
            (Value::Null, Way::Encode) => Ok(Value::Array(Vec::new())),
            (value, Way::Encode) => Ok(Value::Array(vec![self.through(inner, value)?])),
            (Value::Array(mut list), Way::Decode | Way::Partial) => match (list.pop(), list.is_empty()) {
                (None, _) => Ok(Value::Null),
                (Some(only), true) => self.through(inner, only),
                (Some(_), false) => self.fail("more than one item where at most one may be"),
            },
            (_, Way::Decode | Way::Partial) => self.fail("a list of at most one item was expected"),
        }
    }

    fn union(&mut self, branches: &[Branch], value: Value) -> Result<Value, LensError> {
        if self.way == Way::Encode {
            let right = branches.iter().find(|branch| self.lens.admits(branch.guard, &value));
            return match right {
                Some(branch) => self.through(branch.lens, value),
                None => self.fail("no branch of the union fits"),
            };
        }
        // What comes back must be what the caller's branch accepts; failing that, whatever can be read.
        let mut readable = None;
        let mut reason = None;
        for branch in branches {
            match self.through(branch.lens, value.clone()) {
                Ok(back) if self.lens.admits(branch.guard, &back) => return Ok(back),
                Ok(back) => readable = readable.or(Some(back)),
                Err(error) => reason = reason.or(Some(error)),
            }
        }
        match (readable, reason) {
            (Some(back), _) => Ok(back),
            (None, Some(error)) => Err(error),
            (None, None) => self.fail("no branch of the union fits"),
        }
    }

    fn choice(
        &mut self,
        branches: &[(String, super::GuardId)],
        object: LensId,
        value: Value,
    ) -> Result<Value, LensError> {
        if self.way == Way::Encode {
            let right = branches.iter().find(|(_, guard)| self.lens.admits(*guard, &value));
            let Some((name, _)) = right else { return self.fail("no branch of the union fits") };
            return self.through(object, Value::Object(Map::from_iter([(name.clone(), value)])));
        }
        let Value::Object(map) = self.through(object, value)? else {
            return self.fail("a choice travels as an object");
        };
        let mut chosen = map.into_iter().filter(|(key, _)| branches.iter().any(|(name, _)| name == key));
        match (chosen.next(), chosen.next()) {
            (Some((_, value)), None) => Ok(value),
            (Some(_), Some(_)) => self.fail("more than one choice was made"),
            (None, _) => self.fail("no choice was made"),
        }
    }

    fn below<T>(&mut self, token: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        self.at.push(token.to_owned());
        let done = work(self);
        self.at.pop();
        done
    }

    fn fail<T>(&self, reason: &str) -> Result<T, LensError> {
        let mut at = String::new();
        for token in &self.at {
            push_token(&mut at, token);
        }
        Err(LensError { at, reason: reason.to_owned() })
    }
}
