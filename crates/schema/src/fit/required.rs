//! Keys that an object requires and does not declare.

use super::object::UndeclaredProperties;
use super::{Lowerer, Open};
use crate::dialect::Demand;
use crate::graph::{Node, NodeId, ObjectRules};
use crate::json::Json;
use crate::keyword::Kw;
use polywire_report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// The same rules with keys declared that an object requires and does not declare, where it is going to be closed: no value
    /// would be left otherwise.
    pub(super) fn with_required_declared(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &'g ObjectRules<'g, 'd>,
        extra: UndeclaredProperties,
        unknown: &mut Vec<&'d str>,
    ) -> &'g ObjectRules<'g, 'd> {
        let closed = self.open == Open::Close && self.caps.has_demand(Demand::Closed);
        // A key that must be given is declared rather than forgotten.
        let known = self.caps.has_demand(Demand::RequiredKnown) && !self.caps.has_demand(Demand::Closed);
        if extra != UndeclaredProperties::Open
            || !(closed || known)
            || unknown.is_empty()
            || !rules.rare.patterns.is_empty()
        {
            return rules;
        }
        let code = self.demand_code(if closed { Demand::Closed } else { Demand::RequiredKnown });
        let detail = format!("required but not declared: {}; each may be any value", unknown.join(", "));
        self.change(&code, node.place, Kw::Properties, Action::Added, Effect::Same, detail);
        let any = self.graph.add(Node { place: node.place, ..Node::default() });
        let more: Vec<(&'d str, NodeId)> = unknown.drain(..).map(|name| (name, any)).collect();
        let properties = self.nodes.extended(rules.properties, &more);
        self.nodes.keep(ObjectRules { properties, ..*rules })
    }

    /// Names that are required and not declared.
    pub(super) fn put_unknown_required(
        &mut self,
        node: &'g Node<'g, 'd>,
        carried: bool,
        unknown: &[&'d str],
        gone: &[&str],
        required: &mut Vec<Json<'d>>,
    ) {
        let prune = carried || self.caps.has_demand(Demand::RequiredKnown) || self.caps.has_demand(Demand::Closed);
        if prune && !unknown.is_empty() {
            let code = self.demand_code(Demand::RequiredKnown);
            let detail = format!("required but not declared: {}", unknown.join(", "));
            self.change(&code, node.place, Kw::Required, Action::Dropped, Effect::Wider, detail);
        } else {
            required.extend(unknown.iter().filter(|name| !gone.contains(*name)).map(|name| Json::Str(name)));
        }
    }
}

/// The names that an object requires and does not declare.
pub(super) fn undeclared<'d>(rules: &ObjectRules<'_, 'd>) -> Vec<&'d str> {
    if rules.required.is_empty() {
        return Vec::new();
    }
    let declared = RequiredNames::of_keys(rules.properties);
    rules.required.iter().copied().filter(|name| !declared.has(name)).collect()
}

/// A set of names: a short list is scanned, a long one hashed.
pub(super) enum RequiredNames<'n> {
    Few(&'n [&'n str]),
    FewKeys(&'n [(&'n str, NodeId)]),
    Many(foldhash::HashSet<&'n str>),
}

/// So many names are scanned.
const FEW: usize = 16;

impl<'n> RequiredNames<'n> {
    pub(super) fn new(names: &'n [&'n str]) -> Self {
        if names.len() < FEW { Self::Few(names) } else { Self::Many(names.iter().copied().collect()) }
    }

    pub(super) fn of_keys(properties: &'n [(&'n str, NodeId)]) -> Self {
        if properties.len() < FEW {
            Self::FewKeys(properties)
        } else {
            Self::Many(properties.iter().map(|(key, _)| *key).collect())
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Few(names) => names.contains(&name),
            Self::FewKeys(properties) => properties.iter().any(|(key, _)| *key == name),
            Self::Many(names) => names.contains(name),
        }
    }
}
