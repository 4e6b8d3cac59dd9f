//! Enum values, matched despite their spelling.

use serde_json::Value;

use super::{Coercer, How, Id, Kind, Plan, RepairKind, Shape};
use crate::fold::fold;
use crate::shape::ShapeId;

impl Coercer<'_> {
    pub(super) fn choose(&mut self, id: Id, wanted: &Shape) -> Plan {
        match self.tree.kind(id) {
            Kind::Text(text) => match wanted.choices.pick(text, self.budget) {
                Ok(Some((choice, None))) => Plan { how: How::Put(Box::new(choice.value.clone())), ..Plan::keep() },
                Ok(Some((choice, Some(kind)))) => Plan::put(choice.value.clone(), kind),
                Ok(None) | Err(_) => Plan::unmet(),
            },
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => self.choose_scalar(id, wanted),
            Kind::Object(_) | Kind::List(_) => {
                let object = matches!(self.tree.kind(id), Kind::Object(_));
                let kind = if object { RepairKind::Unwrapped } else { RepairKind::FromList };
                let only = self.tree.children(id).next().filter(|_| self.tree.count(id) == 1);
                let inner = only.map(|inner| (inner, kind));
                let scalar =
                    inner.filter(|(inner, _)| !matches!(self.tree.kind(*inner), Kind::List(_) | Kind::Object(_)));
                match scalar {
                    Some((inner, kind)) => self.through(inner, wanted, kind),
                    None => Plan::unmet(),
                }
            }
        }
    }

    fn choose_scalar(&self, id: Id, wanted: &Shape) -> Plan {
        if self.budget.spend(1 + wanted.choices.len() / 8).is_err() {
            return Plan::unmet();
        }
        let value = self.tree.value(id);
        if wanted.choices.iter().any(|choice| same_scalar(&choice.value, &value)) {
            return Plan::keep();
        }
        let folded = fold(&self.raw(id));
        let named = wanted.choices.iter().find(|choice| choice.value.is_string() && fold(&choice.name) == folded);
        named.map_or_else(Plan::unmet, |choice| Plan::put(choice.value.clone(), RepairKind::Stringified))
    }

    /// A key as the schema for names spells it.
    pub(super) fn spelled(&self, key: &str, names: ShapeId) -> Option<String> {
        let shape = self.shapes.get(names).filter(|shape| !shape.choices.is_empty())?;
        let (choice, _) = shape.choices.pick(key, self.budget).ok()??;
        choice.value.as_str().map(ToOwned::to_owned)
    }
}

fn same_scalar(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        _ => one == two,
    }
}
