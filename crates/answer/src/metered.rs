//! A value as validators see it, with a meter: where a schema reaches the same part by many ways, listing what is wrong there
//! as often ends when the meter has run out. A part of a spent value looks like nothing at all, and what is then held against it
//! is no error of the value ([`Part::is_of`]).

use std::borrow::Cow;
use std::cell::Cell;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use serde_json::{Map, Number, Value};

/// Parts that may be looked at, whatever the value, and for each of its nodes.
const LOOKS: usize = 1_000_000;
const LOOKS_PER_NODE: usize = 100;
/// Errors that may be listed.
const ERRORS: usize = 10_000;

/// Values of `serde_json` with a meter.
pub(crate) struct Metered;

/// What may still be looked at and listed.
pub(crate) struct Meter {
    looks: Cell<usize>,
    errors: Cell<usize>,
}

impl Meter {
    pub(crate) fn of(value: &Value) -> Self {
        let looks = LOOKS.saturating_add(nodes(value).saturating_mul(LOOKS_PER_NODE));
        Self { looks: Cell::new(looks), errors: Cell::new(ERRORS) }
    }

    fn is_spent(&self) -> bool {
        self.looks.get() == 0 || self.errors.get() == 0
    }
}

fn nodes(value: &Value) -> usize {
    let (mut count, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        count += 1;
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    count
}

/// A part of a value.
#[derive(Clone, Copy)]
pub(crate) struct Part<'v> {
    value: &'v Value,
    meter: Option<&'v Meter>,
}

/// What an error shows of a part that was not looked at.
static UNSEEN: Value = Value::Null;

impl<'v> Part<'v> {
    pub(crate) fn whole(value: &'v Value) -> Self {
        Self { value, meter: None }
    }

    pub(crate) fn metered(value: &'v Value, meter: &'v Meter) -> Self {
        Self { value, meter: Some(meter) }
    }

    /// Whether an error is about a part that was looked at.
    pub(crate) fn is_of(error: &jsonschema::ValidationError<'_>) -> bool {
        !std::ptr::eq(error.instance().as_ref(), &raw const UNSEEN)
    }

    /// The value, unless the meter has run out.
    pub(crate) fn seen(&self) -> Option<&'v Value> {
        (!self.meter.is_some_and(Meter::is_spent)).then_some(self.value)
    }

    fn child(value: &'v Value, meter: Option<&'v Meter>) -> Self {
        if let Some(meter) = meter {
            meter.looks.set(meter.looks.get().saturating_sub(1));
        }
        Self { value, meter }
    }
}

impl Json for Metered {
    type Node<'v> = Part<'v>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, ask: impl FnOnce(Part<'_>) -> T) -> T {
        SerdeJson::with_string_node(buffer, string, |value| ask(Part::whole(value)))
    }
}

impl<'v> Node<'v, Metered> for Part<'v> {
    type Object = Members<'v>;
    type Array = Items<'v>;
    type Number = &'v Number;

    fn as_object(&self) -> Option<Members<'v>> {
        self.seen()?.as_object().map(|members| Members { members, meter: self.meter })
    }

    fn as_array(&self) -> Option<Items<'v>> {
        self.seen()?.as_array().map(|items| Items { items, meter: self.meter })
    }

    fn as_string(&self) -> Option<Cow<'v, str>> {
        self.seen()?.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'v Number> {
        self.seen()?.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.seen()?.as_bool()
    }

    fn is_null(&self) -> bool {
        self.seen().is_some_and(Value::is_null)
    }

    fn json_type(&self) -> JsonType {
        self.value.json_type()
    }

    fn string_length(&self) -> Option<u64> {
        self.seen()?.string_length()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.seen().is_some_and(|value| value.equals_value(expected))
    }

    /// Asked for by every error.
    fn to_value(&self) -> Cow<'v, Value> {
        let value = self.seen().unwrap_or(&UNSEEN);
        if let Some(meter) = self.meter {
            meter.errors.set(meter.errors.get().saturating_sub(1));
        }
        Cow::Borrowed(value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.value.identity()
    }
}

/// The members of an object.
pub(crate) struct Members<'v> {
    members: &'v Map<String, Value>,
    meter: Option<&'v Meter>,
}

impl<'v> Object<'v, Metered> for Members<'v> {
    type Node = Part<'v>;
    type MemberName = &'v str;
    type MembersIter = Walk<'v, serde_json::map::Iter<'v>>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Part<'v>> {
        self.members.get(key).map(|value| Part::child(value, self.meter))
    }

    fn members(&self) -> Self::MembersIter {
        Walk { rest: self.members.iter(), meter: self.meter }
    }
}

/// The items of an array.
pub(crate) struct Items<'v> {
    items: &'v [Value],
    meter: Option<&'v Meter>,
}

impl<'v> Array<'v, Metered> for Items<'v> {
    type Node = Part<'v>;
    type ElementsIter = Walk<'v, std::slice::Iter<'v, Value>>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> Self::ElementsIter {
        Walk { rest: self.items.iter(), meter: self.meter }
    }

    fn is_unique(&self) -> bool {
        self.items.is_unique()
    }
}

/// Children, as long as the meter runs.
pub(crate) struct Walk<'v, I> {
    rest: I,
    meter: Option<&'v Meter>,
}

impl<'v> Iterator for Walk<'v, serde_json::map::Iter<'v>> {
    type Item = (&'v str, Part<'v>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.rest.next().filter(|_| !self.meter.is_some_and(Meter::is_spent))?;
        Some((key.as_str(), Part::child(value, self.meter)))
    }
}

impl<'v> Iterator for Walk<'v, std::slice::Iter<'v, Value>> {
    type Item = Part<'v>;

    fn next(&mut self) -> Option<Part<'v>> {
        let value = self.rest.next().filter(|_| !self.meter.is_some_and(Meter::is_spent))?;
        Some(Part::child(value, self.meter))
    }
}
