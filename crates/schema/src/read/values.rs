//! Reconciles `enum` with `type`: values that the type refuses are dropped. Where it refuses all of them, one of the two wins,
//! because nobody means a schema that accepts nothing (READ-ENUM).

use super::SchemaReader;
use crate::arena::Arena;
use crate::graph::{ArrayRules, Logic, Node, RuleSet};
use crate::json::{Json, Num};
use crate::keyword::Kw;
use crate::place::Place;
use crate::types::Types;
use polywire_report::{Action, Effect};

impl<'g, 'd> SchemaReader<'g, 'd> {
    pub(super) fn reconcile_values_with_types(&mut self, node: &mut Node<'g, 'd>, place: Place) {
        let (Some(values), Some(types)) = (node.rules.values(), node.types) else { return };
        let fitting = self.arena.filtered(values, |value| types.intersects(Types::of(value)));
        if fitting.len() == values.len() {
            return;
        }
        let keyword = if node.is_const { Kw::Const } else { Kw::Enum }.name();
        let only_null = fitting.iter().all(|value| matches!(value, Json::Null)) && types != Types::NULL;
        if !only_null {
            let detail = "values that the type refuses are left out";
            self.record_change("READ-ENUM", place, keyword, Action::Dropped, Effect::Same, detail);
            *node = node.with_rules(RuleSet { values: Some(fitting), ..node.rules.all() }, self.arena);
            return;
        }
        let coerced: Option<Vec<&'d Json<'d>>> = values
            .iter()
            .map(|value| coerce_value(value, types, self.texts).map(|value| self.texts.keep(value)))
            .collect();
        if let Some(coerced) = coerced {
            let names: Vec<&str> = types.names().map(|(name, _)| name).collect();
            let detail = format!("no value is of the type; they are taken to be meant as {}", names.join(" or "));
            self.record_change("READ-ENUM", place, keyword, Action::Rewritten, Effect::Wider, detail);
            *node =
                node.with_rules(RuleSet { values: Some(self.arena.list(&coerced)), ..node.rules.all() }, self.arena);
        } else if types.without(Types::NULL) == Types::ARRAY {
            // `{"type": "array", "enum": [...], "items": ...}` is how people list the values of the items.
            let detail = "no value is a list; they are taken to be the values of its items";
            self.record_change("READ-ENUM", place, keyword, Action::Moved, Effect::Wider, detail);
            let array = node.rules.array().copied().unwrap_or_default();
            let listed = RuleSet { values: Some(values), ..RuleSet::default() };
            let logic = array.items.map(|items| Logic { all: self.arena.list(&[items]), ..Logic::default() });
            let item = Node { place: Some(place), ..Node::default() }.with_rules(listed, self.arena);
            let item = logic.map_or(item, |logic| item.with_logic(logic, self.arena));
            let array = ArrayRules { items: Some(self.graph.add(item)), ..array };
            let rules = RuleSet { values: None, array: Some(self.arena.keep(array)), ..node.rules.all() };
            *node = node.with_rules(rules, self.arena);
        } else {
            let detail = "no value is of the type, which is left out";
            self.record_change("READ-ENUM", place, Kw::Type.name(), Action::Dropped, Effect::Wider, detail);
            node.types = None;
        }
    }
}

/// A value as one of these types, where it reads like one.
fn coerce_value<'d>(value: &Json<'d>, types: Types, arena: &'d Arena) -> Option<Json<'d>> {
    if types.intersects(Types::of(value)) {
        return Some(*value);
    }
    match value {
        Json::Num(_) | Json::Bool(_) if types.intersects(Types::STRING) => Some(arena.str(&value.to_string())),
        Json::Str(text) => parse_as_type(text, types),
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) | Json::Obj(_) => None,
    }
}

fn parse_as_type<'d>(text: &str, types: Types) -> Option<Json<'d>> {
    let number = || {
        let whole = text.parse::<i64>().map(Num::from).ok();
        whole.or_else(|| text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Num::Float))
    };
    let read = if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        Json::Bool(text.eq_ignore_ascii_case("true"))
    } else if text == "null" {
        Json::Null
    } else {
        Json::Num(number()?)
    };
    Some(read).filter(|read| types.intersects(Types::of(read)))
}
