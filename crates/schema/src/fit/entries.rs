//! Maps: objects whose keys are not known beforehand, kept where a dialect has words for them, or carried as lists of entries.

use std::sync::Arc;

use super::object::UndeclaredProperties;
use super::{Lowered, Lowerer, Position};
use crate::dialect::Demand;
use crate::graph::{Node, NodeId, ObjectRules};
use crate::json::Json;
use crate::keyword::Kw;
use crate::lens::{LensId, Shape};
use crate::pattern::features_among;
use crate::types::Types;
use polywire_report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Whether a reference leads to a map that will be printed as a list of entries.
    pub(super) fn becomes_entries(&mut self, id: NodeId) -> bool {
        if self.graph[id].target.is_none() {
            return false;
        }
        let flat = self.flatten(id);
        let node = self.graph[flat];
        let rules = self.object_rules(node);
        let map = matches!(self.extra(node, rules), UndeclaredProperties::Of(_)) || !rules.rare.patterns.is_empty();
        let natural = !self.caps.has_demand(Demand::Closed) && self.map_is_natural(rules);
        map && !natural && rules.properties.is_empty()
    }

    /// An object that cannot be said as an object: a map becomes a list of entries, a free-form object JSON text.
    pub(super) fn carried_object(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Option<Lowered<'d>> {
        let rules = self.object_rules(node);
        if pos == Position::Root || !rules.properties.iter().all(|(_, id)| self.is_never(*id)) {
            return None;
        }
        let extra = self.extra(node, rules);
        let closes = self.caps.has_demand(Demand::Closed);
        let map = matches!(extra, UndeclaredProperties::Of(_)) || !rules.rare.patterns.is_empty();
        if closes && !map && extra == UndeclaredProperties::Open {
            let code = self.demand_code(Demand::Closed);
            let id = self.graph.add(*node);
            return Some(self.lower_as_text(id, &code, "an object of any form"));
        }
        let shapeless = self.caps.has_demand(Demand::NotFreeForm);
        if shapeless && !map && !(extra == UndeclaredProperties::Closed && self.caps.accepts(Kw::AdditionalProperties))
        {
            let code = self.demand_code(Demand::NotFreeForm);
            let id = self.graph.add(*node);
            return Some(self.lower_as_text(id, &code, "an object of any form"));
        }
        let natural = !closes && !shapeless && self.caps.accepts(Kw::AdditionalProperties);
        if !map || (natural && self.map_is_natural(rules)) {
            return None;
        }
        if let Some(text) = self.too_deep(node) {
            return Some(text);
        }
        self.record_lines(node, rules);
        let code = self.map_code();
        let (json, lens) = self.entries(rules, extra, &code, node);
        let mut builder = self.builder();
        let Json::Obj(members) = json else { return None };
        builder.members.extend_from_slice(members);
        let may_bound = json.get(Kw::Items.name()).is_none_or(|items| self.may_bound(items));
        for (kw, entries, count) in [
            (Kw::MinProperties, Kw::MinItems, (rules.rare.min > 0).then_some(rules.rare.min)),
            (Kw::MaxProperties, Kw::MaxItems, rules.rare.max),
        ] {
            match count {
                Some(count) if self.caps.accepts_count(entries, count) && (entries != Kw::MaxItems || may_bound) => {
                    let code = self.refusal_code(kw);
                    let detail = format!("said by `{}`", entries.name());
                    self.change(&code, node.place, kw, Action::Rewritten, Effect::Same, detail);
                    builder.put(entries, Json::Num(count.into()));
                }
                Some(count) => self.spill(kw, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts),
                None => {}
            }
        }
        if !rules.required.is_empty() {
            let detail = "required keys of a map cannot be said of its entries";
            self.change(&code, node.place, Kw::Required, Action::Dropped, Effect::Wider, detail);
        }
        for (kw, said) in [
            (Kw::DependentRequired, !rules.rare.needs.is_empty()),
            (Kw::DependentSchemas, !rules.rare.dependents.is_empty()),
            (Kw::UnevaluatedProperties, rules.says_unevaluated(node)),
        ] {
            if said {
                self.drop_rule(node, kw);
            }
        }
        builder.facts.push("(a list of entries, each with a key and a value)".to_owned());
        builder.lens = self.lens.add(Shape::Entries(lens));
        Some(self.finish(node, builder))
    }

    /// Whether the patterns of a map may stay, or are just one that `additionalProperties` can stand for.
    pub(super) fn map_is_natural(&self, rules: &ObjectRules<'g, 'd>) -> bool {
        let patterns = rules.rare.patterns;
        let reads = |(pattern, _): &(&str, NodeId)| features_among(pattern, self.caps.key_refused).is_empty();
        patterns.is_empty() || (self.caps.accepts(Kw::PatternProperties) && patterns.iter().all(reads))
    }

    pub(super) fn map_code(&self) -> Arc<str> {
        if self.caps.has_demand(Demand::Closed) {
            self.demand_code(Demand::Closed)
        } else if self.caps.accepts(Kw::PatternProperties) && self.caps.accepts(Kw::AdditionalProperties) {
            // Only what the patterns say can be why it is carried.
            self.demand_code(Demand::Patterns)
        } else {
            self.refusal_code(Kw::AdditionalProperties)
        }
    }

    /// A list of entries for what a map holds, and how their values travel.
    pub(super) fn entries(
        &mut self,
        rules: &ObjectRules<'g, 'd>,
        extra: UndeclaredProperties,
        code: &Arc<str>,
        node: &'g Node<'g, 'd>,
    ) -> (Json<'d>, LensId) {
        let mut kinds: Vec<NodeId> = rules.rare.patterns.iter().map(|(_, id)| *id).collect();
        // Keys that are excluded cannot be told from others in a list.
        let told_apart = !rules.rare.patterns.is_empty() || !rules.properties.is_empty();
        let mut effect = if told_apart { Effect::Wider } else { Effect::Same };
        match extra {
            UndeclaredProperties::Of(id) => kinds.push(id),
            UndeclaredProperties::Open => kinds.push(self.any()),
            UndeclaredProperties::Closed => {}
        }
        kinds.dedup();
        let key_pattern = match rules.rare.patterns {
            [(pattern, _)] if extra == UndeclaredProperties::Closed && self.takes_pattern(pattern) => Some(*pattern),
            _ => None,
        };
        if key_pattern.is_some() && rules.properties.is_empty() {
            effect = Effect::Same;
        }
        let named = if key_pattern.is_none() { self.schema_of_keys(rules) } else { None };
        if !rules.rare.names.is_empty() && named.is_none() {
            effect = Effect::Wider;
        }
        let detail = "carried as a list of entries";
        self.change(code, node.place, Kw::AdditionalProperties, Action::Carried, effect, detail);
        let value = match kinds.as_slice() {
            [one] => *one,
            several => {
                let branches = self.nodes.list(several);
                self.graph.add(self.union_of(branches, node.place))
            }
        };
        self.enter_object();
        let lowered = self.lower(value, Position::Property);
        self.objects -= 1;
        let may_lack = lowered.null && !self.caps.has_demand(Demand::AllRequired);
        let lowered = if may_lack {
            Lowered { lens: self.lens.add(Shape::NullIsAbsent(lowered.lens)), ..lowered }
        } else {
            self.null_here(lowered)
        };
        let of_string = (Kw::Type.name(), Json::Str("string"));
        let key = match (key_pattern, named) {
            (Some(pattern), _) => self.arena.obj(&[of_string, (Kw::Pattern.name(), self.arena.str(pattern))]),
            (None, Some(named)) => named,
            (None, None) => self.arena.obj(&[of_string]),
        };
        let needed: &[&str] = if may_lack { &["key"] } else { &["key", "value"] };
        let item = self.closed_object(self.arena.obj(&[("key", key), ("value", lowered.json)]), needed);
        let list = [(Kw::Type.name(), Json::Str("array")), (Kw::Items.name(), item)];
        (self.arena.obj(&list), lowered.lens)
    }

    /// What the keys of a map must be, where that can be said of the key of an entry.
    fn schema_of_keys(&mut self, rules: &ObjectRules<'g, 'd>) -> Option<Json<'d>> {
        let [names] = rules.rare.names else { return None };
        let text = self.graph.add(Node { types: Some(Types::STRING), ..Node::default() });
        let key = self.intersection_of(*names, text);
        let checkpoint = self.checkpoint();
        let said = self.lower_exactly(key);
        let of_strings = |json: &Json<'_>| json.get(Kw::Type.name()).and_then(Json::as_str) == Some("string");
        let said = said.filter(of_strings);
        if said.is_none() {
            self.rollback(checkpoint);
        }
        said
    }

    fn takes_pattern(&self, pattern: &str) -> bool {
        self.caps.accepts(Kw::Pattern) && features_among(pattern, self.caps.pattern_refused).is_empty()
    }
}
