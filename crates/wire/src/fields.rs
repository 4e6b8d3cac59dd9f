//! A JSON object whose fields are removed as they are read. Fields that remain are provider-specific.

use serde_json::{Map, Value};

use crate::error::{DecodeError, Within};

/// The fields of an object that have not been read.
#[derive(Default)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn of(value: Value) -> Result<Self, DecodeError> {
        if let Value::Object(map) = value { Ok(Self(map)) } else { Err(DecodeError::shape("an object")) }
    }

    /// Removes a field; `null` counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Removes a field if `convert` accepts its value; otherwise the field stays.
    fn take_if<T>(&mut self, name: &str, convert: impl FnOnce(Value) -> Result<T, Value>) -> Option<T> {
        let slot = self.0.get_mut(name)?;
        match convert(slot.take()) {
            Ok(value) => {
                self.0.shift_remove(name);
                Some(value)
            }
            Err(Value::Null) => {
                self.0.shift_remove(name);
                None
            }
            Err(other) => {
                *slot = other;
                None
            }
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.take_if(name, |value| if let Value::String(text) = value { Ok(text) } else { Err(value) })
    }

    pub(crate) fn count(&mut self, name: &str) -> Option<u64> {
        self.take_if(name, |value| value.as_u64().ok_or(value))
    }

    pub(crate) fn integer(&mut self, name: &str) -> Option<i64> {
        self.take_if(name, |value| value.as_i64().ok_or(value))
    }

    pub(crate) fn number(&mut self, name: &str) -> Option<f64> {
        self.take_if(name, |value| value.as_f64().ok_or(value))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        self.take_if(name, |value| value.as_bool().ok_or(value))
    }

    pub(crate) fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        self.take_if(name, |value| if let Value::Array(list) = value { Ok(list) } else { Err(value) })
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<Self> {
        self.take_if(name, |value| if let Value::Object(map) = value { Ok(Self(map)) } else { Err(value) })
    }

    /// Removes an array, or a single object as an array of one: Google's `ProtoJSON` parsers accept both.
    pub(crate) fn list_or_one(&mut self, name: &str) -> Option<Vec<Value>> {
        self.take_if(name, |value| match value {
            Value::Array(list) => Ok(list),
            Value::Object(_) => Ok(vec![value]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(value),
        })
    }

    /// A string under a name or its `snake_case` form.
    pub(crate) fn peek_proto(&self, name: &str) -> Option<&str> {
        self.peek(name).or_else(|| self.peek(&snake(name)))
    }

    /// Removes an array of strings; any other array stays.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let texts = self.0.get(name).and_then(Value::as_array).is_some_and(|list| list.iter().all(Value::is_string));
        let text = |one| if let Value::String(text) = one { Some(text) } else { None };
        texts.then(|| self.list(name).unwrap_or_default().into_iter().filter_map(text).collect())
    }

    pub(crate) fn required_list(&mut self, name: &str) -> Result<Vec<Value>, DecodeError> {
        self.list(name).ok_or_else(|| DecodeError::shape("an array").within(name))
    }

    pub(crate) fn required_text(&mut self, name: &str) -> Result<String, DecodeError> {
        self.text(name).ok_or_else(|| DecodeError::shape("a string").within(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    pub(crate) fn peek(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(crate) fn is_object(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(Value::is_object)
    }

    /// True if the field `name` is an object with the field `inner`.
    pub(crate) fn object_has(&self, name: &str, inner: &str) -> bool {
        self.0.get(name).and_then(|object| object.get(inner)).is_some()
    }

    /// True if there are no fields but these, and all are strings.
    pub(crate) fn only_texts(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(name, value)| names.contains(&name.as_str()) && value.is_string())
    }

    /// Renames `snake_case` fields to these camelCase names: the `ProtoJSON` specification allows both forms in JSON of a protocol
    /// buffer. Unknown names stay, and so does a name that is present in both forms.
    pub(crate) fn proto(mut self, names: &[&str]) -> Self {
        if self.0.keys().any(|name| name.contains('_')) {
            for name in names {
                let snake = snake(name);
                if !self.0.contains_key(*name)
                    && let Some(value) = self.0.shift_remove(&snake)
                {
                    self.put(name, value);
                }
            }
        }
        self
    }

    pub(crate) fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Puts back the unread fields of an object.
    pub(crate) fn put_rest(&mut self, name: &str, rest: Self) {
        let rest = rest.rest();
        if !rest.is_empty() {
            self.put(name, Value::Object(rest));
        }
    }

    /// Puts back a value without the fields at these JSON Pointers, which were read.
    pub(crate) fn put_unread(&mut self, name: &str, mut value: Value, read: &[&str]) {
        for place in read {
            let Some((outer, field)) = place.rsplit_once('/') else { continue };
            if let Some(Value::Object(object)) = value.pointer_mut(outer) {
                object.shift_remove(field);
            }
        }
        prune(&mut value);
        if value.as_object().is_some_and(|rest| !rest.is_empty()) {
            self.put(name, value);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The unread fields.
    pub(crate) fn rest_with_nulls(self) -> Map<String, Value> {
        self.0
    }

    /// The unread fields without nulls.
    pub(crate) fn rest(mut self) -> Map<String, Value> {
        self.0.retain(|_, value| !value.is_null());
        self.0
    }
}

/// Removes nulls and empty objects, except inside arrays.
fn prune(value: &mut Value) {
    if let Value::Object(object) = value {
        object.values_mut().for_each(prune);
        object.retain(|_, value| !value.is_null() && value.as_object().is_none_or(|inner| !inner.is_empty()));
    }
}

/// Reads every array entry; errors carry its index.
pub(crate) fn read_each<T>(
    name: &str,
    list: Vec<Value>,
    mut read: impl FnMut(usize, Value) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let entries = list.into_iter().enumerate();
    entries.map(|(index, value)| read(index, value).within(index).within(name)).collect()
}

/// True if `name` is one of `names` or its `snake_case` form.
pub(crate) fn is_proto_name(name: &str, names: &[&str]) -> bool {
    names.contains(&name) || (name.contains('_') && names.iter().any(|known| snake(known) == name))
}

fn snake(camel: &str) -> String {
    let mut name = String::with_capacity(camel.len() + 2);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
