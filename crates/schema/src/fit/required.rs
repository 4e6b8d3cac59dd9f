//! Keys that an object requires and does not declare.

use super::object::Extra;
use super::{Lowerer, Open};
use crate::dialect::Demand;
use crate::graph::{Node, NodeId, ObjectRules};
use crate::json::Json;
use crate::keyword::Kw;
use crate::report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// The same rules with keys declared that an object requires and does not declare, where it is going to be closed: no value
    /// would be left otherwise.
    pub(super) fn with_required_declared(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &'g ObjectRules<'g, 'd>,
        extra: Extra,
    ) -> &'g ObjectRules<'g, 'd> {
        let closed = extra == Extra::Open && self.open == Open::Close && self.caps.must(Demand::Closed);
        if !closed || rules.required.is_empty() || !rules.rare.patterns.is_empty() {
            return rules;
        }
        let declared = Wanted::of_keys(rules.properties);
        let unknown: Vec<&'d str> = rules.required.iter().copied().filter(|name| !declared.has(name)).collect();
        if unknown.is_empty() {
            return rules;
        }
        let code = self.demand_code(Demand::Closed);
        let detail = format!("required but not declared: {}; each may be any value", unknown.join(", "));
        self.change(&code, node.place, Kw::Properties, Action::Added, Effect::Same, detail);
        let any = self.graph.add(Node { place: node.place, ..Node::default() });
        let unknown: Vec<(&'d str, NodeId)> = unknown.into_iter().map(|name| (name, any)).collect();
        let properties = self.nodes.extended(rules.properties, &unknown);
        self.nodes.keep(ObjectRules { properties, ..*rules })
    }

    /// Names that are required but not declared.
    pub(super) fn put_unknown_required(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &ObjectRules<'g, 'd>,
        carried: bool,
        wanted: &Wanted<'_>,
        gone: &[&str],
        required: &mut Vec<Json<'d>>,
    ) {
        if wanted.is_empty() {
            return;
        }
        let declared = Wanted::of_keys(rules.properties);
        let mut unknown = rules.required.iter().filter(|name| !declared.has(name)).peekable();
        let prune = carried || self.caps.must(Demand::RequiredKnown) || self.caps.must(Demand::Closed);
        if unknown.peek().is_some() && prune {
            let names: Vec<&str> = unknown.map(AsRef::as_ref).collect();
            let code = self.demand_code(Demand::RequiredKnown);
            let detail = format!("required but not declared: {}", names.join(", "));
            self.change(&code, node.place, Kw::Required, Action::Dropped, Effect::Wider, detail);
        } else {
            required.extend(unknown.filter(|name| !gone.contains(*name)).map(|name| Json::Str(name)));
        }
    }
}

/// A set of names: a short list is scanned, a long one hashed.
pub(super) enum Wanted<'n> {
    Few(&'n [&'n str]),
    FewKeys(&'n [(&'n str, NodeId)]),
    Many(foldhash::HashSet<&'n str>),
}

/// So many names are scanned.
const FEW: usize = 16;

impl<'n> Wanted<'n> {
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

    fn is_empty(&self) -> bool {
        match self {
            Self::Few(names) => names.is_empty(),
            Self::FewKeys(properties) => properties.is_empty(),
            Self::Many(names) => names.is_empty(),
        }
    }
}
