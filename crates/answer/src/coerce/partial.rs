//! Incomplete values: which parts may be shown, and when.

use serde_json::{Map, Value, json};

use super::{Coercer, From, How, Id, Kind};
use crate::shape::{Arrival, ShapeId};

/// What an arriving value gives: shown, or withheld.
enum Shown {
    Value(Value),
    Withheld,
}

impl Coercer<'_> {
    /// Carries out the best plan for a node, showing only what may be shown by now.
    pub(crate) fn build_partial(&mut self, root: Id) -> Option<Value> {
        match self.show(root, self.shapes.root) {
            Shown::Value(value) => Some(value),
            Shown::Withheld => None,
        }
    }

    fn show(&mut self, id: Id, shape: ShapeId) -> Shown {
        let arrival = self.shapes.get(shape).map(|shape| shape.arrival).unwrap_or_default();
        let complete = self.tree.get(id).is_some_and(|node| node.complete);
        let numeric = matches!(self.tree.kind(id), Kind::Number(_));
        if !complete && (arrival.has(Arrival::DONE) || numeric) {
            return Shown::Withheld;
        }
        let plan = self.plan(id, shape);
        if plan.cost.unmet > 0 && matches!(plan.how, How::Keep) {
            return Shown::Withheld;
        }
        match &plan.how {
            How::Keep => Shown::Value(self.tree.value(id)),
            How::Put(value) => Shown::Value(Value::clone(value)),
            How::Raw => Shown::Value(Value::String(self.raw(id))),
            How::Alone => Shown::Value(Value::Array(vec![self.tree.value(id)])),
            How::Through(inner, shape) => self.show(*inner, *shape),
            How::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (item, shape) in items {
                    if let Shown::Value(value) = self.show(*item, *shape) {
                        list.push(value);
                    }
                }
                Shown::Value(Value::Array(list))
            }
            How::Object(members) => self.show_members(shape, members),
        }
    }

    fn show_members(&mut self, shape: ShapeId, members: &[super::Member]) -> Shown {
        let mut map = Map::with_capacity(members.len());
        for member in members {
            let key = self.key(member).to_owned();
            let field = self.shapes.get(shape).and_then(|shape| shape.named(&key));
            let (of_field, required) = field.map_or((None, false), |field| (Some(field.shape), field.required));
            let arrival = of_field.and_then(|id| self.shapes.get(id)).map(|shape| shape.arrival).unwrap_or_default();
            let (value, state) = match &member.from {
                From::Plan(id, shape) => {
                    let complete = self.tree.get(*id).is_some_and(|node| node.complete);
                    let state = if complete { "Complete" } else { "Incomplete" };
                    match self.show(*id, *shape) {
                        Shown::Value(value) => (Some(value), state),
                        Shown::Withheld => (None, state),
                    }
                }
                From::Node(id) => (Some(self.tree.value(*id)), "Complete"),
                From::Value(value) => (Some(Value::clone(value)), "Pending"),
                From::Nothing => continue,
            };
            let empty = value.as_ref().is_none_or(Value::is_null);
            if empty && arrival.has(Arrival::NOT_NULL) && !of_field.is_some_and(|id| self.shapes.takes_null(id)) {
                return Shown::Withheld;
            }
            let value = match value {
                Some(value) => value,
                None if required => Value::Null,
                None => continue,
            };
            // A complete value needs no word about its state.
            let stated = arrival.has(Arrival::WITH_STATE) && state != "Complete";
            let value = if stated { json!({"value": value, "state": state}) } else { value };
            map.insert(key, value);
        }
        Shown::Value(Value::Object(map))
    }
}
