//! Objects: matches keys to fields, fills absent fields, removes wrappers.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde_json::Value;

use super::{Coercer, Cost, Defaults, From, How, Id, Key, Kind, Kinds, Member, Plan, RepairKind, Shape, Stage, Types};
use crate::calls::{ARGUMENTS, TOOL_NAMES};
use crate::keyword;
use crate::shape::{Field, Others};
use crate::validate::bytes_up_to;

impl Coercer<'_> {
    pub(super) fn object(&mut self, id: Id, wanted: &Shape) -> Plan {
        let direct = self.members(id, wanted);
        if direct.cost.is_free() || wanted.fields.is_empty() {
            return direct;
        }
        let mut best = direct;
        if let Some(inner) = self.only_member(id) {
            if matches!(self.tree.kind(inner), Kind::Object(_) | Kind::Text(_)) && !self.names_field(inner, wanted) {
                best = best.better(self.through(inner, wanted, RepairKind::Unwrapped));
            }
        } else if let Some(inner) = self.echoed(id) {
            best = best.better(self.through(inner, wanted, RepairKind::Unwrapped));
        }
        if let Some(field) = implied_field(wanted).filter(|_| best.cost.unmet > 0) {
            best = best.better(self.wrap(id, field));
        }
        best
    }

    /// Whether a member stands under the name of a field.
    fn names_field(&self, id: Id, wanted: &Shape) -> bool {
        self.tree.get(id).and_then(|node| node.key.as_deref()).is_some_and(|key| wanted.field(key).is_some())
    }

    /// The values inside an echo of the schema, or of a tool call.
    fn echoed(&self, id: Id) -> Option<Id> {
        let key_of = |child: &Id| self.tree.get(*child).and_then(|node| node.key.as_deref());
        let named = |name: &str| self.tree.children(id).find(|child| key_of(child) == Some(name));
        if let (Some(inner), Some(_)) = (named(keyword::PROPERTIES), named(keyword::TYPE)) {
            // An echo without values has none to take out.
            let is_schema = |child: Id| self.tree.children(child).any(|child| key_of(&child) == Some(keyword::TYPE));
            return Some(inner).filter(|inner| !self.tree.children(*inner).all(is_schema));
        }
        let is_object = |id: &Id| matches!(self.tree.kind(*id), Kind::Object(_));
        if let Some(inner) = named("function").filter(is_object) {
            return Some(inner);
        }
        TOOL_NAMES.iter().find_map(|name| named(name))?;
        ARGUMENTS.iter().find_map(|name| named(name))
    }

    fn members(&mut self, id: Id, wanted: &Shape) -> Plan {
        let mut cost = Cost::default();
        let mut members: Vec<Member> = Vec::new();
        let mut seen: HashSet<usize, RandomState> = HashSet::default();
        let children: Vec<Id> = self.tree.children(id).collect();
        for child in children {
            let key = self.tree.get(child).and_then(|node| node.key.as_deref()).unwrap_or_default();
            // A key that differs by white space is another one where others are allowed.
            // So is one that a pattern of the schema names.
            let is_other = wanted.pattern_count() > 0 && wanted.pattern(key).is_some()
                || wanted.others != Others::Refused && key.trim() != key;
            let field = wanted.field(key).filter(|(index, exact)| *exact || !(is_other || seen.contains(index)));
            let member = match field {
                Some((index, exact)) => {
                    seen.insert(index);
                    wanted.fields.get(index).map(|field| self.matched(child, field, exact))
                }
                None => None,
            };
            let member = member.unwrap_or_else(|| self.unmatched(child, wanted));
            cost = cost.plus(self.member_cost(&member));
            members.push(member);
        }
        if self.budget.spend(1 + wanted.fields.len() / 4 + members.len()).is_err() {
            return Plan::unmet();
        }
        for (index, field) in wanted.fields.iter().enumerate() {
            if seen.contains(&index) {
                continue;
            }
            match self.absent(field) {
                Ok(Some(member)) => {
                    cost = cost.plus(self.member_cost(&member));
                    members.push(member);
                }
                Ok(None) => {}
                Err(()) => cost = cost.plus(Cost::UNMET),
            }
        }
        Plan { cost, how: How::Object(members), repairs: Kinds::None }
    }

    fn member_cost(&mut self, member: &Member) -> Cost {
        let own = match member.from {
            From::Plan(id, shape) => self.plan(id, shape).cost,
            From::Node(_) | From::Value(_) | From::Nothing => Cost::default(),
        };
        member.repair.map_or(own, |kind| own.plus(Cost::of(kind)))
    }

    fn matched(&mut self, child: Id, field: &Field, exact: bool) -> Member {
        let key = Key::Named(field.name.clone());
        let node = self.tree.get(child);
        let null = node.is_some_and(|node| matches!(node.kind, Kind::Null));
        let written = node.is_some_and(|node| node.complete);
        let list = !written && self.shapes.takes(field.shape, Types::ARRAY, 1);
        if null && !list && !field.required && !self.shapes.takes_null(field.shape) {
            return Member { key, from: From::Nothing, repair: Some(RepairKind::NullAbsent) };
        }
        let repair = (!exact).then_some(RepairKind::KeySpelling);
        Member { key, from: From::Plan(child, field.shape), repair }
    }

    fn unmatched(&mut self, child: Id, wanted: &Shape) -> Member {
        let own = self.tree.get(child).and_then(|node| node.key.as_deref()).unwrap_or_default();
        let spelled = wanted.names.and_then(|names| self.spelled(own, names)).filter(|name| name != own);
        // A budget that is spent ends the reading: the shape found then does not matter.
        let _ = self.budget.spend(1 + wanted.pattern_count() * 10);
        let shape = wanted.pattern(spelled.as_deref().unwrap_or(own));
        let (key, repair) = match spelled {
            Some(name) => (Key::Named(name.into()), Some(RepairKind::KeySpelling)),
            None => (Key::Own(child), None),
        };
        if let Some(shape) = shape {
            return Member { key, from: From::Plan(child, shape), repair };
        }
        match wanted.others {
            Others::Any => Member { key, from: From::Node(child), repair },
            Others::Shaped(shape) => Member { key, from: From::Plan(child, shape), repair },
            Others::Refused => Member { key, from: From::Nothing, repair: Some(RepairKind::Dropped) },
        }
    }

    /// What stands in for a field that is not there: nothing, something, or nothing will do.
    fn absent(&mut self, field: &Field) -> Result<Option<Member>, ()> {
        let key = Key::Named(field.name.clone());
        let default = self.shapes.get(field.shape).and_then(|shape| shape.default.clone());
        if let (Some(default), Defaults::Apply) = (default, self.options.defaults) {
            // Every place gets a copy.
            self.budget.spend(1 + bytes_up_to(&default, usize::MAX) / 4).map_err(|_| ())?;
            return Ok(Some(Member { key, from: From::Value(default), repair: Some(RepairKind::DefaultApplied) }));
        }
        let nullable = self.shapes.takes_null(field.shape);
        if self.stage == Stage::Whole {
            // Nothing is invented: what the schema requires and the text lacks is a fault.
            return if field.required { Err(()) } else { Ok(None) };
        }
        let empty = |value: Value, kind: RepairKind| {
            Ok(Some(Member {
                key: Key::Named(field.name.clone()),
                from: From::Value(Arc::new(value)),
                repair: Some(kind),
            }))
        };
        match field.required {
            _ if nullable => empty(Value::Null, RepairKind::NullAbsent),
            true if self.shapes.takes(field.shape, Types::ARRAY, 2) => {
                empty(Value::Array(Vec::new()), RepairKind::EmptyApplied)
            }
            true => empty(Value::Null, RepairKind::NullAbsent),
            false => Ok(None),
        }
    }

    pub(super) fn as_object(&mut self, id: Id, wanted: &Shape) -> Plan {
        let mut best = Plan::unmet();
        if let Some(opened) = self.opened(id).filter(|opened| matches!(self.tree.kind(opened.inner), Kind::Object(_))) {
            best = best.better(self.through_text(&opened, wanted));
        }
        let only = if self.tree.count(id) == 1 { self.tree.children(id).next() } else { None };
        if let Some(inner) = only.filter(|_| matches!(self.tree.kind(id), Kind::List(_))) {
            best = best.better(self.through(inner, wanted, RepairKind::FromList));
        }
        let empty = matches!(self.tree.kind(id), Kind::Null);
        // A string that stands under a key is what it says, not a part of an object that nobody wrote.
        let is_member = self.tree.get(id).is_some_and(|node| node.key.is_some());
        let is_text = is_member && matches!(self.tree.kind(id), Kind::Text(_));
        if let Some(field) = implied_field(wanted).filter(|_| !empty && !is_text && best.cost.unmet > 0) {
            best = best.better(self.wrap(id, field));
        }
        best
    }

    fn wrap(&mut self, id: Id, field: &Field) -> Plan {
        let container = matches!(self.tree.kind(id), Kind::List(_) | Kind::Object(_));
        let is_blank = matches!(self.tree.kind(id), Kind::Text(text) if text.trim().is_empty());
        if is_blank {
            // An empty text is no value.
            return Plan::unmet();
        }
        if container && !self.shapes.takes(field.shape, Types::CONTAINER, 8) {
            return Plan::unmet();
        }
        if self.try_plan(id, field.shape).is_none() {
            return Plan::unmet();
        }
        let member = Member { key: Key::Named(field.name.clone()), from: From::Plan(id, field.shape), repair: None };
        let cost = self.member_cost(&member).plus(Cost::of(RepairKind::Wrapped));
        Plan { cost, how: How::Object(vec![member]), repairs: Kinds::One(RepairKind::Wrapped) }
    }
}

/// The field that a value alone must be meant for.
fn implied_field(wanted: &Shape) -> Option<&Field> {
    match wanted.fields.as_slice() {
        [field] => Some(field),
        _ => None,
    }
}
