//! Choices that follow from a number, and the children of a value, to choose among them. The fuzz targets take this file in by its
//! path.

use serde_json::Value;

/// The xorshift generator: enough to wander with, and the same everywhere.
pub(crate) struct Chance(u64);

impl Chance {
    /// Its choices follow from the number.
    pub(crate) fn new(number: u64) -> Self {
        Self(number.wrapping_mul(2).wrapping_add(1))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        let count = count.max(1) as u64;
        usize::try_from(self.number() % count).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of the children of a value.
    pub(crate) fn child<'v>(&mut self, value: &'v Value) -> Option<&'v Value> {
        match value {
            Value::Object(members) => members.values().nth(self.below(members.len())),
            Value::Array(items) => items.get(self.below(items.len())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    /// One of the children of a value, to be changed.
    pub(crate) fn child_mut<'v>(&mut self, value: &'v mut Value) -> Option<&'v mut Value> {
        match value {
            Value::Object(members) => {
                let index = self.below(members.len());
                members.values_mut().nth(index)
            }
            Value::Array(items) => {
                let index = self.below(items.len());
                items.get_mut(index)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }
}

pub(crate) fn has_children(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
