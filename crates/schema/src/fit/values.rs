//! Emits enums and constants: typed, split by type, or as labels where the dialect accepts only strings.

use super::annotations::Facts;
use super::emit::SchemaBuilder;
use super::{Lowered, Lowerer, Position};
use crate::dialect::Demand;
use crate::graph::{Node, RuleSet};
use crate::json::Json;
use crate::keyword::Kw;
use crate::lens::{GuardVerdict, Shape};
use crate::names::UniqueNames;
use crate::types::Types;
use polywire_report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    pub(super) fn lower_values(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let (values, sure) = self.values_left(node);
        if values.is_empty() {
            return self.lower_never(node);
        }
        let kw = if node.is_const && values.len() == 1 { Kw::Const } else { Kw::Enum };
        if !sure {
            let detail = "whether a listed value meets the other rules cannot be told";
            self.change(&super::own_code(), node.place, kw, Action::Dropped, Effect::Wider, detail);
        }
        let listed = node.written(Kw::Type).is_some() && node.types.is_some_and(|own| own.count() > 1);
        if listed && (self.splits_values() || kinds_of(&values).len() == 1) {
            let code = self.demand_code(Demand::EnumTyped);
            let detail = "said by the types of the listed values";
            self.change(&code, node.place, Kw::Type, Action::Rewritten, Effect::Same, detail);
        }
        let null = values.iter().any(|value| matches!(value, Json::Null));
        let others: Vec<&'d Json<'d>> = values.iter().copied().filter(|value| !matches!(value, Json::Null)).collect();
        if !self.caps.accepts(Kw::Enum) && !self.caps.accepts(kw) {
            return self.values_as_types(node, &values, pos);
        }
        if !self.splits_values() {
            let mut builder = self.builder();
            self.put_value_types(node, &values, &mut builder);
            self.put_values(node, kw, &values, &mut builder);
            return self.finish(node, builder);
        }
        if others.is_empty() {
            return if self.caps.has_demand(Demand::NoNull) {
                self.labelled(node, &values)
            } else {
                let mut builder = self.builder();
                builder.put(Kw::Type, Json::Str("null"));
                self.finish(node, builder)
            };
        }
        let lowered = self.lower_kinds(node, &others, kw, pos);
        if null { self.with_null(lowered) } else { lowered }
    }

    fn splits_values(&self) -> bool {
        [
            Demand::Closed,
            Demand::UnionTyped,
            Demand::EnumTyped,
            Demand::EnumStrings,
            Demand::EnumOneType,
            Demand::EnumScalars,
            Demand::OneType,
            Demand::Typed,
        ]
        .into_iter()
        .any(|demand| self.caps.has_demand(demand))
    }

    fn lower_kinds(&mut self, node: &'g Node<'g, 'd>, values: &[&'d Json<'d>], kw: Kw, pos: Position) -> Lowered<'d> {
        let blank = |value: &&Json<'_>| value.as_str() == Some("");
        let composite = |value: &&Json<'_>| matches!(value, Json::Arr(_) | Json::Obj(_));
        let strings_only =
            self.caps.has_demand(Demand::EnumStrings) && values.iter().any(|value| value.as_str().is_none());
        let unsayable = (self.caps.has_demand(Demand::EnumNotBlank) && values.iter().any(blank))
            || (values.iter().any(composite)
                && [Demand::EnumScalars, Demand::EnumTyped, Demand::Closed, Demand::UnionTyped]
                    .into_iter()
                    .any(|demand| self.caps.has_demand(demand)));
        if strings_only || unsayable {
            return self.labelled(node, values);
        }
        let kinds = kinds_of(values);
        let types = kinds.iter().fold(Types::NONE, |types, (kind, _)| types.or(*kind));
        let together = kinds.len() == 1
            || !(self.caps.has_demand(Demand::EnumTyped)
                || self.caps.has_demand(Demand::EnumOneType)
                || self.caps.has_demand(Demand::OneType));
        if together && kinds.len() == 1 {
            // Both booleans are the type itself.
            let mut builder = self.builder();
            if let Some(name) = types.name().filter(|_| !self.asks_more_than_type(types)) {
                if node.types.is_none() {
                    self.note_type(node);
                }
                builder.put(Kw::Type, Json::Str(name));
            }
            if !(types == Types::BOOLEAN && values.len() == 2) {
                self.put_values(node, kw, values, &mut builder);
            }
            return self.finish(node, builder);
        }
        if together && !self.caps.has_demand(Demand::EnumFits) {
            let mut builder = self.builder();
            self.put_value_types(node, values, &mut builder);
            self.put_values(node, kw, values, &mut builder);
            return self.finish(node, builder);
        }
        if !self.can_emit(Kw::AnyOf, pos) {
            return self.labelled(node, values);
        }
        let mut branches = Vec::new();
        for (kind, own) in kinds {
            let rules = RuleSet { values: Some(self.nodes.list(&own)), ..RuleSet::default() };
            let branch = Node { types: Some(kind), ..Node::default() };
            branches.push(self.graph.add(branch.with_rules(rules, self.nodes)));
        }
        let code = self.demand_code(Demand::EnumOneType);
        self.change(&code, node.place, Kw::Enum, Action::Rewritten, Effect::Same, "split by type");
        let about = Node { place: node.place, annotations: node.annotations, ..Node::default() };
        self.lower_any_of(&branches, false, self.nodes.keep(about))
    }

    fn put_value_types(&mut self, node: &'g Node<'g, 'd>, values: &[&'d Json<'d>], builder: &mut SchemaBuilder<'d>) {
        let types = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
        if self.asks_more_than_type(types) {
            return;
        }
        if node.types.is_none() {
            self.note_type(node);
        }
        let stated = node.types.filter(|own| own.count() == types.count()).unwrap_or(types);
        let name = stated.name().map_or_else(|| self.type_names(stated, node), Json::Str);
        builder.put(Kw::Type, name);
    }

    /// Records that the type of listed values is written out (R-A15).
    fn note_type(&mut self, node: &'g Node<'g, 'd>) {
        let code = self.demand_code(Demand::EnumTyped);
        self.change(&code, node.place, Kw::Type, Action::Added, Effect::Same, "the type of the listed values");
    }

    /// Whether the dialect asks more of a typed array or object than a list of values can say, and takes it untyped.
    fn asks_more_than_type(&self, types: Types) -> bool {
        let of_objects = self.caps.has_demand(Demand::HasProperties) || self.caps.has_demand(Demand::SaysOpen);
        let asks_more = (types.intersects(Types::OBJECT) && of_objects)
            || (types.intersects(Types::ARRAY) && self.caps.has_demand(Demand::HasItems));
        asks_more && !self.caps.has_demand(Demand::Typed)
    }

    fn put_values(&mut self, node: &'g Node<'g, 'd>, kw: Kw, values: &[&'d Json<'d>], builder: &mut SchemaBuilder<'d>) {
        if let (Kw::Const, [value], true) = (kw, values, self.caps.accepts(Kw::Const)) {
            builder.put(Kw::Const, **value);
            return;
        }
        if kw == Kw::Const {
            let code = self.refusal_code(Kw::Const);
            self.change(&code, node.place, Kw::Const, Action::Rewritten, Effect::Same, "an enum of one");
        }
        self.printed.enum_values += values.len() as u64;
        builder.put(Kw::Enum, self.listed(values, node));
    }

    /// Values as one list.
    fn listed(&self, values: &[&'d Json<'d>], node: &Node<'g, 'd>) -> Json<'d> {
        let values: Vec<Json<'d>> = values.iter().map(|value| **value).collect();
        self.arena.arr_like(&values, node.written(Kw::Enum))
    }

    /// Carries values as labels, which are strings.
    fn labelled(&mut self, node: &'g Node<'g, 'd>, values: &[&'d Json<'d>]) -> Lowered<'d> {
        let mut labels: Vec<(String, serde_json::Value)> = Vec::with_capacity(values.len());
        let texts = values.iter().filter_map(|value| value.as_str()).filter(|text| !text.is_empty());
        let mut names = UniqueNames::of(texts.map(str::to_owned));
        for value in values {
            let label = match value.as_str() {
                Some("") => names.unique("(empty)".to_owned()),
                Some(text) => text.to_owned(),
                None => names.unique(value.to_string()),
            };
            labels.push((label, value.to_value()));
        }
        let code = [Demand::EnumStrings, Demand::EnumNotBlank, Demand::EnumScalars, Demand::NoNull]
            .into_iter()
            .find(|demand| self.caps.has_demand(*demand))
            .map_or_else(|| self.demand_code(Demand::EnumTyped), |demand| self.demand_code(demand));
        self.change(&code, node.place, Kw::Enum, Action::Carried, Effect::Same, "each value travels as a label");
        let mut builder = self.builder();
        builder.put(Kw::Type, Json::Str("string"));
        if self.caps.accepts(Kw::Enum) {
            self.printed.enum_values += labels.len() as u64;
            builder.put(Kw::Enum, self.arena.texts(labels.iter().map(|(label, _)| self.arena.text(label))));
        }
        builder.lens = self.lens.add(Shape::Labels(labels));
        self.finish(node, builder)
    }

    /// A dialect without enums: the types stay, the values go into the description.
    fn values_as_types(&mut self, node: &'g Node<'g, 'd>, values: &[&'d Json<'d>], pos: Position) -> Lowered<'d> {
        let types = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
        let mut plain = node.with_rules(RuleSet { values: None, ..node.rules.all() }, self.nodes);
        plain.types = Some(types);
        let mut facts = Facts::default();
        self.spill(Kw::Enum, &self.listed(values, node), node.place, Effect::Wider, &mut facts);
        let mut lowered = self.lower_merged_plain(self.nodes.keep(plain), pos);
        for (key, value) in &facts.kept {
            lowered.json = self.arena.with(lowered.json, key, *value);
        }
        self.with_facts(lowered, &facts.texts())
    }

    /// The listed values that meet the other rules of their node, and whether all of them do for sure.
    pub(super) fn values_left(&mut self, node: &'g Node<'g, 'd>) -> (Vec<&'d Json<'d>>, bool) {
        let values = node.rules.values().into_iter().flatten().copied();
        if node.has_no_rules_beside_values() && node.rules.logic().is_none() {
            return (values.collect(), true);
        }
        let guard = self.rules_guard(node);
        let mut sure = true;
        let meets = |value: &&'d Json<'d>| {
            let verdict = self.lens.verdict_within(guard, &value.to_value(), self.work);
            sure &= matches!(verdict, GuardVerdict::Yes | GuardVerdict::No);
            verdict != GuardVerdict::No
        };
        (values.filter(meets).collect(), sure)
    }
}

/// Values by type, in the order in which types first appear.
fn kinds_of<'v>(values: &[&'v Json<'v>]) -> Vec<(Types, Vec<&'v Json<'v>>)> {
    let mut kinds: Vec<(Types, Vec<&'v Json<'v>>)> = Vec::new();
    for value in values {
        let kind = Types::of(value);
        let numeric = kind.intersects(Types::NUMBER);
        let is_same_kind = |(own, _): &&mut (Types, Vec<_>)| *own == kind || (numeric && own.intersects(Types::NUMBER));
        if let Some((own, list)) = kinds.iter_mut().find(is_same_kind) {
            *own = own.or(kind);
            list.push(value);
        } else {
            let mut list = Vec::with_capacity(values.len());
            list.push(*value);
            kinds.push((kind, list));
        }
    }
    // A fractional value makes its kind `number`.
    for (kind, _) in &mut kinds {
        *kind = kind.names().fold(Types::NONE, |all, (_, one)| all.or(one));
    }
    kinds
}
