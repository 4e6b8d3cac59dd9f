//! The set of JSON types a value may have. Numbers are two atoms, whole and fractional, so that `integer` is a part of
//! `number` and intersection is exact.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{Json, Num};

/// A set of JSON types. It is stored as the list of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Vec<&'static str>", from = "Vec<String>")]
pub struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    /// The type `null`.
    pub const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    const FRACTION: Self = Self(8);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(12);
    /// The type `string`.
    pub const STRING: Self = Self(16);
    /// The type `array`.
    pub const ARRAY: Self = Self(32);
    /// The type `object`.
    pub const OBJECT: Self = Self(64);
    /// Every type.
    pub const ANY: Self = Self(127);

    /// The named types, in the order in which they are printed.
    const NAMED: [(&'static str, Self); 7] = [
        ("string", Self::STRING),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("boolean", Self::BOOLEAN),
        ("object", Self::OBJECT),
        ("array", Self::ARRAY),
        ("null", Self::NULL),
    ];

    /// The type of that name, also in upper case as the Google APIs write it.
    pub fn named(name: &str) -> Option<Self> {
        Self::spelled(name).or_else(|| Self::named_in_any_case(name))
    }

    /// The type of just that name.
    pub(crate) fn spelled(name: &str) -> Option<Self> {
        match name {
            "string" => Some(Self::STRING),
            "object" => Some(Self::OBJECT),
            "integer" => Some(Self::INTEGER),
            "array" => Some(Self::ARRAY),
            "boolean" => Some(Self::BOOLEAN),
            "number" => Some(Self::NUMBER),
            "null" => Some(Self::NULL),
            _ => None,
        }
    }

    /// The types that the keyword `type` names, where it is well formed.
    pub(crate) fn stated(value: &Json<'_>) -> Option<Self> {
        match value {
            Json::Str(name) => Self::named(name),
            Json::Arr(names) => {
                names.iter().try_fold(Self::NONE, |types, name| Some(types.or(Self::named(name.as_str()?)?)))
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_) => None,
        }
    }

    fn named_in_any_case(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, types)| *types)
    }

    /// The type of a value.
    pub(crate) fn of(value: &Json<'_>) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Num(Num::Float(float)) if float.fract() != 0.0 => Self::FRACTION,
            Json::Num(_) => Self::INTEGER,
            Json::Str(_) => Self::STRING,
            Json::Arr(_) => Self::ARRAY,
            Json::Obj(_) => Self::OBJECT,
        }
    }

    /// [`Types::of`] for a value of another library.
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() != 0.0) => Self::FRACTION,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The type that a `format` applies to.
    pub(crate) fn of_format(format: &str) -> Self {
        match format {
            "int32" | "int64" => Self::INTEGER,
            "float" | "double" => Self::NUMBER,
            _ => Self::STRING,
        }
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True where the two sets share a type.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The names that spell this set; a lone fractional atom is spelled `number`.
    pub(crate) fn names(self) -> impl Iterator<Item = (&'static str, Self)> {
        Self::NAMED.into_iter().filter(move |(name, types)| match *name {
            "number" => self.intersects(Self::FRACTION),
            "integer" => self.and(Self::NUMBER) == Self::INTEGER,
            _ => self.has(*types),
        })
    }

    /// The name, where the set is spelled by just one.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::STRING => Some("string"),
            Self::OBJECT => Some("object"),
            Self::ARRAY => Some("array"),
            Self::INTEGER => Some("integer"),
            Self::NUMBER | Self::FRACTION => Some("number"),
            Self::BOOLEAN => Some("boolean"),
            Self::NULL => Some("null"),
            _ => None,
        }
    }

    /// How many names spell this set.
    pub(crate) fn count(self) -> usize {
        if self.name().is_some() { 1 } else { self.names().count() }
    }
}

impl From<Types> for Vec<&'static str> {
    fn from(types: Types) -> Self {
        types.names().map(|(name, _)| name).collect()
    }
}

impl From<Vec<String>> for Types {
    fn from(names: Vec<String>) -> Self {
        names.iter().filter_map(|name| Self::named(name)).fold(Self::NONE, Self::or)
    }
}
