//! Emits the root: in place where the dialect accepts it, else wrapped in an object.

use super::budget::RootKind;
use super::{Lowered, Lowerer, Position};
use crate::dialect::Demand;
use crate::graph::{Node, NodeId, Union};
use crate::keyword::Kw;
use crate::lens::{Lens, LensId, Shape};
use crate::types::Types;
use polywire_report::{Action, Change, Effect};

/// The key of a wrapped root.
const VALUE: &str = "value";

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    pub(super) fn lower_root(&mut self) -> Lowered<'d> {
        let root = self.read.root;
        if !self.caps.has_demand(Demand::RootObject) {
            let checkpoint = self.checkpoint();
            self.root_in_place = true;
            self.open_nodes.push(root);
            self.defining = Some(root);
            let lowered = self.lower(root, Position::Root);
            self.open_nodes.pop();
            if self.leaves_room_for_definitions(&lowered) {
                return self.null_here(lowered);
            }
            self.rollback(checkpoint);
            return self.lower_wrapped(Demand::UnionAlone);
        }
        let checkpoint = self.checkpoint();
        let flat = self.flatten(root);
        let node = self.graph[flat];
        let node = self.without_negations(node, Position::Root);
        let mut pending_facts = std::mem::take(&mut self.pending_facts);
        self.root_facts.append(&mut pending_facts);
        let node = self.lone_branch(node);
        let node = self.plain_root(node);
        let node = self.object_root(node);
        if self.stands_in_place(node)
            && let Some(lowered) = self.lower_in_place(node)
        {
            self.note_flattened(root, flat);
            return lowered;
        }
        self.rollback(checkpoint);
        self.root_facts.clear();
        self.root_wants.clear();
        self.lower_wrapped(Demand::RootObject)
    }

    /// Sentences for the description of the root, with the wire names of properties.
    pub(super) fn root_descriptions(&mut self, lens: LensId) -> Vec<String> {
        let mut facts = std::mem::take(&mut self.root_facts);
        for (count, groups) in std::mem::take(&mut self.root_wants) {
            let called = |name| self.lens.wire_name(lens, name);
            let wire = |names: Vec<&'d str>| names.into_iter().map(called).collect::<Vec<_>>().join(" and ");
            let groups: Vec<String> = groups.into_iter().map(wire).collect();
            facts.push(format!("({count} of these must be given: {})", groups.join(", or ")));
        }
        facts
    }

    /// Records that the reference and the `allOf` of the root are no more.
    fn note_flattened(&mut self, root: NodeId, flat: NodeId) {
        let node = self.graph[root];
        let code = self.demand_code(Demand::RootObject);
        if self.follow(root).is_some() {
            self.change(&code, node.place, Kw::Ref, Action::Inlined, Effect::Same, "replaced by what it refers to");
        }
        self.note_merged(node, flat);
    }

    /// What the caller's values are, as a whole.
    pub(super) fn root_kind(&mut self) -> RootKind {
        let flat = self.flatten(self.read.root);
        let node = self.graph[flat];
        let spoken = node.types.is_none() && node.rules.object().is_some() && node.unions().is_empty();
        if self.types_of(self.read.root) == Types::OBJECT {
            RootKind::Object
        } else if spoken {
            RootKind::Spoken
        } else {
            RootKind::Any
        }
    }

    fn leaves_room_for_definitions(&self, root: &Lowered<'d>) -> bool {
        let alone =
            self.caps.has_demand(Demand::UnionAlone) && !self.caps.beside_union.has(self.reference_keywords.defs);
        !alone || self.definitions.is_empty() || root.json.get(Kw::AnyOf.name()).is_none()
    }

    /// The root in an object of its own, because of a demand.
    fn lower_wrapped(&mut self, demand: Demand) -> Lowered<'d> {
        self.root_in_place = false;
        self.enter_object();
        let lowered = self.lower(self.read.root, Position::Other);
        self.objects -= 1;
        let inner = self.null_here(lowered);
        let code = self.demand_code(demand);
        let detail = format!("the value travels under the key `{VALUE}`");
        self.change(&code, None, Kw::Type, Action::Wrapped, Effect::Same, detail);
        let json = self.closed_object(self.arena.obj(&[(VALUE, inner.json)]), &[VALUE]);
        let lens = self.lens.add(Shape::Wrapped(VALUE.to_owned(), inner.lens));
        Lowered { json, lens, null: false }
    }

    /// The root as one plain object, unless it can only be said as something else: an `allOf` that the dialect takes was
    /// flattened, but the branches of a union may have taken another shape.
    fn lower_in_place(&mut self, node: &'g Node<'g, 'd>) -> Option<Lowered<'d>> {
        let checkpoint = self.checkpoint();
        self.root_in_place = true;
        self.open_nodes.push(self.read.root);
        let lowered = self.lower_merged_plain(node, Position::Root);
        self.open_nodes.pop();
        let object = lowered.json.get(Kw::Type.name()).is_some_and(|name| name.as_str() == Some("object"));
        if !object && self.exceeded_budget().is_none() {
            self.rollback(checkpoint);
            return None;
        }
        if self.root_lens.is_same() {
            // Definitions that are printed later may still refer to it.
            self.root_lens = lowered.lens;
        } else {
            self.lens.set_link(self.root_lens, lowered.lens);
        }
        Some(lowered)
    }

    /// The shape of the root, reserved where something refers to it before it is emitted.
    pub(super) fn shape_of_root(&mut self) -> LensId {
        if self.root_lens.is_same() && self.caps.has_demand(Demand::RootObject) {
            self.root_lens = self.lens.reserve();
        }
        self.root_lens
    }

    /// The root without a union that only says which keys are required together: the properties stay as they are, and the
    /// description says the rest.
    fn plain_root(&mut self, node: &'g Node<'g, 'd>) -> &'g Node<'g, 'd> {
        let refused = self.caps.root_refused.has(Kw::AnyOf) || self.caps.root_refused.has(Kw::OneOf);
        let declares = node.rules.object().is_some_and(|rules| !rules.properties.is_empty());
        if node.unions().is_empty() || !refused || !declares {
            return node;
        }
        let only_required = |lowerer: &mut Self, union: &Union| {
            union.branches.iter().all(|branch| {
                let flat = lowerer.flatten(*branch);
                let node = lowerer.graph[flat];
                let mut parts = node.rules.object().into_iter().flat_map(|rules| rules.properties);
                node.asks_only_required() && parts.all(|(_, id)| lowerer.graph[*id].is_any())
            })
        };
        let unions = node.unions();
        if !unions.iter().all(|union| only_required(self, union)) {
            return node;
        }
        let plain = node.without_unions(self.nodes);
        for union in unions {
            let kw = if union.exactly_one { Kw::OneOf } else { Kw::AnyOf };
            let mut groups = Vec::new();
            for branch in union.branches {
                let flat = self.flatten(*branch);
                let names = self.graph[flat].rules.object().map_or(&[][..], |rules| rules.required);
                groups.push(names.to_vec());
            }
            groups.retain(|group| !group.is_empty());
            let count = if union.exactly_one { "exactly one" } else { "at least one" };
            self.root_wants.push((count, groups));
            let code = self.demand_code(Demand::RootPlain);
            self.change(&code, node.place, kw, Action::Described, Effect::Wider, "moved into the description");
        }
        self.nodes.keep(plain)
    }

    /// The root merged with the only branch of its union that takes objects, where it may not have a union.
    fn lone_branch(&mut self, node: &'g Node<'g, 'd>) -> &'g Node<'g, 'd> {
        let refused = [Kw::AnyOf, Kw::OneOf].iter().any(|kw| self.caps.root_refused.has(*kw));
        let [union] = node.unions() else { return node };
        if !refused || node.says_unevaluated() || node.types.is_some_and(|types| types != Types::OBJECT) {
            return node;
        }
        let whole = self.graph.add(*node);
        let takes = |lowerer: &mut Self, id: NodeId| lowerer.types_of(id).intersects(Types::OBJECT);
        let mut live = union.branches.iter().copied().filter(|id| takes(self, *id));
        let (Some(only), None) = (live.next(), live.next()) else { return node };
        if self.types_of(whole) != Types::OBJECT || self.graph[only].says_unevaluated() {
            return node;
        }
        let base = self.graph.add(node.without_unions(self.nodes));
        let both = self.intersection_of(base, only);
        let flat = self.flatten(both);
        let kw = if union.exactly_one { Kw::OneOf } else { Kw::AnyOf };
        let code = self.demand_code(Demand::RootPlain);
        let detail = "only one branch takes objects: merged with it";
        self.change(&code, node.place, kw, Action::Merged, Effect::Same, detail);
        self.record_lost_annotations(node, &[only], flat);
        for branch in union.branches.iter().filter(|branch| **branch != only) {
            let dead = self.graph[*branch];
            for note in dead.annotations {
                self.drop_note(dead.place, note.key, "its branch takes no object");
            }
        }
        self.nodes.keep(Node { place: node.place, source: node.source, ..*self.graph[flat] })
    }

    /// The root with the type that its union has, or its keywords speak of, so that it may stand as it is.
    fn object_root(&mut self, node: &'g Node<'g, 'd>) -> &'g Node<'g, 'd> {
        if node.types.is_some() || node.unions().is_empty() || node.rules.values().is_some() {
            return node;
        }
        let whole = self.graph.add(*node);
        let types = self.types_of(whole);
        let (effect, detail) = if types == Types::OBJECT {
            (Effect::Same, "every branch is an object")
        } else if types.intersects(Types::OBJECT) && node.rules.object().is_some() {
            (Effect::Narrower, "taken to be object, which its keywords speak of")
        } else {
            return node;
        };
        let code = self.demand_code(Demand::RootObject);
        self.change(&code, node.place, Kw::Type, Action::Added, effect, detail);
        self.nodes.keep(Node { types: Some(Types::OBJECT), ..*node })
    }

    fn stands_in_place(&mut self, node: &'g Node<'g, 'd>) -> bool {
        let id = self.graph.add(*node);
        let types = self.types_of(id);
        let union_refused = self.caps.root_refused.has(Kw::AnyOf) && self.caps.accepts(Kw::AnyOf);
        let any_of = self.caps.root_refused.has(Kw::AnyOf) || self.caps.has_demand(Demand::Typed);
        let has_union = !node.unions().is_empty();
        let spoken =
            node.types.is_none() && node.rules.object().is_some() && node.rules.values().is_none() && !has_union;
        // An empty schema at the root is a tool without arguments.
        let silent = node.is_any() && node.annotations.is_empty();
        let refused_values = node.rules.values().is_some();
        let natural_union = has_union && !any_of && types == Types::OBJECT && node.types == Some(Types::OBJECT);
        let joined_union = has_union && !self.caps.accepts(Kw::AnyOf) && types == Types::OBJECT;
        let needs_all = node.rules.logic().is_some_and(|logic| logic.conditions.len() > 1 || logic.unions.len() > 1);
        (types == Types::OBJECT || spoken || silent)
            && !(needs_all && self.caps.accepts(Kw::AllOf) && self.caps.root_refused.has(Kw::AllOf))
            && !refused_values
            && (!has_union
                || (natural_union && !union_refused && self.unions_are_free(node, Position::Root))
                || joined_union)
    }
}

/// A change to what was printed of the caller's schema, as one to the caller's schema: where values travel in other shapes nobody
/// knows, and the place around that is named.
pub(super) fn rebase(change: &mut Change, lens: &Lens) {
    let (at, exactly) = lens.caller_place(&change.at);
    if !exactly {
        change.detail = format!("{} (at `{}` of what was fitted)", change.detail, change.at).into();
    }
    change.at = at;
}

impl Node<'_, '_> {
    fn asks_only_required(&self) -> bool {
        let bare = self.rules.values().is_none()
            && self.rules.formats().is_empty()
            && self.rules.number().is_none()
            && self.rules.text().is_none()
            && self.rules.array().is_none()
            && self.rules.logic().is_none();
        bare && self.types.is_none_or(|types| types == Types::OBJECT)
            && self
                .rules
                .object()
                .is_some_and(|rules| !rules.required.is_empty() && rules.additional.is_none() && rules.rare.is_empty())
    }
}
