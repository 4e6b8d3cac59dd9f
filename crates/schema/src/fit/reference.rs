//! The reference rewrite: kept, inlined, or, where a cycle is not accepted, carried as JSON text.

use foldhash::HashMap;

use super::budget::is_of_objects;
use super::emit::described;
use super::pending_change::PendingChange;
use super::{Lowered, Lowerer, Position, Progress, ReferenceMode};
use crate::dialect::{Demand, RootRef};
use crate::graph::{Annotation, AnnotationKey, Node, NodeId};
use crate::json::{Json, Member};
use crate::keyword::{KeywordRole, Kw, root_definition};
use crate::lens::LensId;
use crate::walk::look_at_subschemas;
use polywire_report::{Action, Effect};

/// A schema that is printed among the definitions.
pub(super) struct EmittedDefinition<'d> {
    pub(super) node: NodeId,
    pub(super) name: &'d str,
    /// The pointer to it.
    pointer: &'d str,
    pub(super) lens: LensId,
    pub(super) json: Option<Json<'d>>,
    inexact: bool,
}

/// About how many bytes a value takes that is not counted.
const VALUE_BYTES: usize = 8;

/// The ends of chains of so many references are not remembered.
const SHORT_CHAIN: usize = 8;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    pub(super) fn lower_reference(&mut self, id: NodeId, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let Some(target) = self.follow(id) else {
            let detail = "references that only lead to each other ask nothing";
            self.change(&super::own_code(), node.place, Kw::Ref, Action::Dropped, Effect::Wider, detail);
            return self.lower_merged_plain(self.nodes.keep(Node { target: None, ..*node }), pos);
        };
        let bare = node.is_bare() && node.rules.logic().is_none();
        if self.refs == ReferenceMode::Inline || pos == Position::Root {
            return self.inline(id, node, target, pos);
        }
        let notes_fit = node.annotations.iter().all(|note| match note.key {
            AnnotationKey::Kw(kw) => {
                self.caps.beside_ref.has(kw) || !self.caps.accepts(kw) && kw.info().role == KeywordRole::Remark
            }
            AnnotationKey::Unknown(_) => !self.caps.unknown,
        });
        if bare && notes_fit {
            return self.refer(target, Some(node));
        }
        let beside_ok = self.caps.beside_ref.has(Kw::Properties);
        // Some dialects take anything beside a reference.
        if !bare
            && beside_ok
            // What is not evaluated depends on what is referred to.
            && !node.says_unevaluated()
            && self.caps.accepts(Kw::AllOf)
            && let Some(referred) = self.refer_beside(target, node, pos)
        {
            return referred;
        }
        if bare && (self.is_recursive(target) || self.may_not_repeat()) {
            let beside = self.caps.beside_union;
            let wrap = self.caps.accepts(Kw::AnyOf) && beside.has(Kw::Description);
            let referred = self.refer(target, None);
            let hints = |note: &Annotation<'d>| matches!(note.key, AnnotationKey::Kw(kw) if kw.info().role == KeywordRole::Hint);
            if wrap && node.annotations.iter().any(hints) {
                let mut members = self.builder().members;
                self.notes_beside(node, referred.lens, beside, &mut members);
                if members.is_empty() {
                    return referred;
                }
                let code = self.demand_code(Demand::RefAlone);
                let detail = "a reference stands alone: in a union of one, beside its description";
                self.change(&code, node.place, Kw::Ref, Action::Rewritten, Effect::Same, detail);
                members.push((Kw::AnyOf.name(), self.arena.arr(&[referred.json])));
                return Lowered { json: self.build(members, None), ..referred };
            }
            for note in node.annotations {
                self.drop_note(node.place, note.key, "a reference stands alone");
            }
            return referred;
        }
        self.inline(id, node, target, pos)
    }

    /// The schema that a reference means in the end.
    pub(super) fn follow(&mut self, id: NodeId) -> Option<NodeId> {
        let mut at = self.graph[id].target?;
        let mut passed = Vec::new();
        let end = loop {
            let node = self.graph[at];
            let next = node.target.filter(|_| node.is_alias());
            match (self.ends.get(&at), next) {
                (Some(end), _) => break *end,
                (None, None) => break Some(at),
                (None, Some(_)) if passed.len() > self.graph.len() => break None,
                (None, Some(next)) => {
                    passed.push(at);
                    at = next;
                }
            }
        };
        if passed.len() > SHORT_CHAIN {
            self.ends.extend(passed.into_iter().map(|id| (id, end)));
        }
        end
    }

    /// A reference to a definition.
    pub(super) fn refer(&mut self, target: NodeId, beside: Option<&'g Node<'g, 'd>>) -> Lowered<'d> {
        if self.refs == ReferenceMode::Acyclic && self.open_nodes.contains(&target) {
            let code = self.demand_code(Demand::NoCycle);
            return self.lower_as_text(target, &code, "the schema contains itself");
        }
        let (pointer, lens) = if target == self.read.root && self.root_in_place && self.caps.root_ref == RootRef::Taken
        {
            ("#", self.shape_of_root())
        } else {
            let (index, new) = self.define(target);
            if new && self.refs == ReferenceMode::Acyclic {
                self.open_nodes.push(target);
                let lowered = self.lower_definition(target, Position::Other);
                self.open_nodes.pop();
                self.settle(index, lowered);
            } else if new {
                self.pending_definitions.push(index);
            }
            self.definitions.get(index).map(|own| (own.pointer, own.lens)).unwrap_or_default()
        };
        let mut builder = self.builder();
        builder.put(self.reference_keywords.reference, Json::Str(pointer));
        if let Some(node) = beside {
            self.note_reference(node, pointer);
            self.notes_beside(node, lens, self.caps.beside_ref, &mut builder.members);
        }
        // It is an object of its own each time, as loops are found by where their references lie.
        Lowered { json: self.build(builder.members, None), lens, null: false }
    }

    /// Records a rewritten reference, unless only the definition has moved.
    fn note_reference(&mut self, node: &'g Node<'g, 'd>, pointer: &str) {
        let Some(written) = node.written(Kw::Ref).and_then(Json::as_str).filter(|written| *written != pointer) else {
            return;
        };
        let defined = root_definition(written).is_some_and(|(map, _)| map != Kw::BareDefs);
        if !defined || self.reference_keywords.reference != Kw::Ref {
            let code = self.demand_code(Demand::RefToDefs);
            let detail = format!("said by `{}`: `{pointer}`", self.reference_keywords.reference.name());
            self.change(&code, node.place, Kw::Ref, Action::Rewritten, Effect::Same, detail);
        }
    }

    fn refer_beside(&mut self, target: NodeId, node: &'g Node<'g, 'd>, pos: Position) -> Option<Lowered<'d>> {
        let checkpoint = self.checkpoint();
        let referred = self.refer(target, None);
        let mut own = *node;
        own.target = None;
        let own = self.lower_merged_plain(self.nodes.keep(own), pos);
        // What stands beside it asks of the value what it is, not what it travels as; it may be a reference itself by now.
        let asks = |(key, _): &Member<'_>| Kw::of(key).is_some_and(|kw| !kw.is_annotation());
        let silent = !own.json.as_obj().unwrap_or_default().iter().any(asks);
        let plain = own.json.get(self.reference_keywords.reference.name()).is_none()
            && self.keeps_values(own.lens)
            && !own.null
            && (silent || self.keeps_values(referred.lens));
        let (Json::Obj(members), Json::Obj(more), true) = (referred.json, own.json, plain) else {
            self.rollback(checkpoint);
            return None;
        };
        if let Some(pointer) = referred.json.get(self.reference_keywords.reference.name()).and_then(Json::as_str) {
            self.note_reference(node, pointer);
        }
        Some(Lowered { json: Json::Obj(self.arena.extended(members, more)), lens: referred.lens, null: false })
    }

    /// Lowers everything that was referred to and is not lowered yet.
    pub(super) fn lower_queue(&mut self) {
        while let Some(index) = self.pending_definitions.pop() {
            let Some(target) = self.definitions.get(index).map(|own| own.node) else { continue };
            self.open_nodes.push(target);
            let before = self.progress();
            let lowered = self.lower_definition(target, Position::Other);
            let inexact = !self.is_exact_since(before);
            self.open_nodes.pop();
            self.settle(index, lowered);
            if let Some(own) = self.definitions.get_mut(index) {
                own.inexact = inexact;
            }
        }
    }

    /// Whether a definition that something relies on, or one behind it, accepts something else than the caller's schema. Behind
    /// the root stands everything.
    pub(super) fn has_violated_assumptions(&mut self) -> bool {
        if self.assumptions.meanings.is_empty() || !self.definitions.iter().any(|own| own.inexact) {
            return false;
        }
        let reference = self.reference_keywords.reference.name();
        let named: HashMap<&str, &EmittedDefinition<'d>> =
            self.definitions.iter().map(|own| (own.pointer, own)).collect();
        let mut seen = foldhash::HashSet::default();
        let mut open = std::mem::take(&mut self.assumptions.meanings);
        while let Some(pointer) = open.pop() {
            let Some(own) = named.get(pointer) else { return true };
            if own.inexact {
                return true;
            }
            if let Some(json) = &own.json {
                json.each_text(reference, &mut |next| {
                    if seen.insert(next) {
                        open.push(next);
                    }
                });
            }
        }
        false
    }

    pub(super) fn is_exact_since(&self, before: Progress) -> bool {
        let exact = |edit: &PendingChange<'d>| matches!(edit.effect, Effect::Same | Effect::Note);
        self.inexact_merges == before.inexact_merges && self.changes.iter().skip(before.changes).all(exact)
    }

    fn lower_definition(&mut self, target: NodeId, pos: Position) -> Lowered<'d> {
        let node = self.graph[target];
        // A definition that is itself a reference with something beside it is merged, never referred to again.
        let flat = if node.target.is_some() { self.flatten(target) } else { target };
        if flat == target {
            return self.lower_unopened(target, pos);
        }
        self.record_lost_annotations(node, node.target.as_slice(), flat);
        self.lower(flat, pos)
    }

    /// Lowers a node that stands on the list of opened ones because it is being defined.
    fn lower_unopened(&mut self, target: NodeId, pos: Position) -> Lowered<'d> {
        let merged = self.graph[target].rules.logic().is_some_and(|logic| !logic.all.is_empty());
        if !merged || (self.can_emit(Kw::AllOf, pos) && !self.wants_type(pos)) {
            self.defining = Some(target);
            return self.lower(target, pos);
        }
        let flat = self.flatten(target);
        self.note_merged(self.graph[target], flat);
        self.lower(flat, pos)
    }

    fn settle(&mut self, index: usize, lowered: Lowered<'d>) {
        let lowered = self.null_here(lowered);
        if let Some(own) = self.definitions.get_mut(index) {
            own.json = Some(lowered.json);
            let lens = own.lens;
            self.lens.set_link(lens, lowered.lens);
            self.assumptions.violated |= self.assumptions.shapes.contains(&lens) && self.lens.is_known_to_change(lens);
        }
    }

    /// The number of a definition, and whether it is new.
    fn define(&mut self, node: NodeId) -> (usize, bool) {
        if let Some(index) = self.defined.get(&node) {
            return (*index, false);
        }
        let word = self.graph[node].place.and_then(|place| self.read.places.name(place)).unwrap_or("root");
        let mut name: String = word
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' })
            .collect();
        name.truncate(64);
        if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            name.insert(0, '_');
        }
        let name = self.arena.text(&self.names.unique(name));
        let pointer = self.arena.text(&format!("#/{}/{name}", self.reference_keywords.defs.name()));
        let index = self.definitions.len();
        let lens = self.lens.reserve();
        self.definitions.push(EmittedDefinition { node, name, pointer, lens, json: None, inexact: false });
        self.defined.insert(node, index);
        (index, true)
    }

    /// Puts the target in the place of the reference; what stands beside the reference wins.
    fn inline(&mut self, id: NodeId, node: &'g Node<'g, 'd>, target: NodeId, pos: Position) -> Lowered<'d> {
        let code = if self.refs == ReferenceMode::Inline {
            self.refusal_code(self.reference_keywords.reference)
        } else {
            self.demand_code(Demand::RefAlone)
        };
        self.change(&code, node.place, Kw::Ref, Action::Inlined, Effect::Same, "replaced by what it refers to");
        if node.is_alias() {
            return self.inline_target(target, pos);
        }
        if pos != Position::Root
            && node.is_bare()
            && node.rules.logic().is_none()
            && let Some(noted) = self.inline_noted(node, target, pos)
        {
            return noted;
        }
        if self.may_not_repeat() {
            return self.lower_as_text(id, &code, "too large to repeat");
        }
        // A reference that only says something of its target is that target: it may have been made up just now, and again within.
        let known_as =
            if node.is_bare() && node.rules.logic().is_none() && pos != Position::Root { target } else { id };
        if self.open_nodes.contains(&known_as) {
            return self.lower_loop(if self.refs == ReferenceMode::Keep { known_as } else { id });
        }
        let flat = self.flatten(id);
        self.record_lost_annotations(node, &[target], flat);
        let merged = self.graph[flat];
        self.open_nodes.push(known_as);
        let lowered = self.repeat(|own| own.lower_merged(flat, merged, pos));
        self.open_nodes.pop();
        self.close_loop(known_as, lowered)
    }

    /// The target with nothing but another description: the print of the target serves, if its own description is just
    /// what its writer wrote.
    fn inline_noted(&mut self, node: &'g Node<'g, 'd>, target: NodeId, pos: Position) -> Option<Lowered<'d>> {
        let only = |key: &AnnotationKey<'_>| *key == AnnotationKey::Kw(Kw::Description);
        let refers = self.graph[target].target.is_some();
        if !node.annotations.iter().all(|note| only(&note.key))
            || refers
            || self.has_generated_description.contains(&target)
        {
            return None;
        }
        let description = node.note(Kw::Description)?;
        let written = self.graph[target].note(Kw::Description);
        let checkpoint = self.checkpoint();
        let lowered = self.inline_target(target, pos);
        let members = lowered.json.as_obj().unwrap_or_default();
        let alone = members.iter().any(|(key, _)| matches!(Kw::of(key), Some(Kw::AnyOf | Kw::Ref | Kw::BareRef)));
        let own = lowered.json.get(Kw::Description.name());
        if alone || members.is_empty() || own.is_some_and(|own| written != Some(own)) {
            self.rollback(checkpoint);
            self.has_generated_description.insert(target);
            return None;
        }
        if own.is_some_and(|own| own != description) {
            let detail = "what it refers to has another one, which gives way";
            self.drop_note(node.place, AnnotationKey::Kw(Kw::Description), detail);
        }
        let json = if own.is_some() {
            self.arena.with(lowered.json, Kw::Description.name(), *description)
        } else if self.caps.accepts(Kw::Description) {
            described(lowered.json, *description, self.arena)
        } else {
            lowered.json
        };
        Some(Lowered { json, ..lowered })
    }

    fn inline_target(&mut self, target: NodeId, pos: Position) -> Lowered<'d> {
        if self.open_nodes.contains(&target) {
            return self.lower_loop(target);
        }
        let room = self.caps.limit(Demand::MaxDepth).map(|limit| limit.saturating_sub(self.objects));
        // What is printed for any place may lack the type that a branch must have.
        let typed = pos == Position::Branch && !self.caps.has_demand(Demand::Typed) && self.wants_type(pos);
        if pos != Position::Root
            && !typed
            && let Some(known) = self.inlined.get(&target)
            && room.is_none_or(|room| height(&known.lowered.json) <= room)
        {
            if self.repeated + known.size > self.repeated_limit {
                let code = self.refusal_code(self.reference_keywords.reference);
                return self.lower_as_text(target, &code, "too large to repeat");
            }
            self.repeated += known.size;
            let lowered = known.lowered;
            self.inexact_merges += usize::from(!known.exact);
            return lowered;
        }
        self.open_nodes.push(target);
        let (before, progress) = (self.repeated, self.progress());
        let lowered = self.repeat(|own| own.lower_definition(target, if typed { pos } else { Position::Other }));
        let size = self.repeated - before;
        self.open_nodes.pop();
        let lowered = self.close_loop(target, lowered);
        if typed || !self.read.shared.contains(&target) {
            return lowered;
        }
        let exact = self.is_exact_since(progress);
        self.inlined.insert(target, super::InlinedTarget { lowered, size, exact });
        self.repeatable.push(target);
        lowered
    }

    /// Prints what may be printed again elsewhere, at the expense of what repetition may add.
    pub(super) fn repeat(&mut self, print: impl FnOnce(&mut Self) -> Lowered<'d>) -> Lowered<'d> {
        self.repeating += 1;
        let lowered = print(self);
        self.repeating -= 1;
        lowered
    }

    pub(super) fn may_not_repeat(&self) -> bool {
        self.repeated >= self.repeated_limit
    }

    /// Counts the keywords of one node that is printed within something repeated.
    pub(super) fn spend(&mut self, members: &[Member<'d>]) {
        if self.repeating == 0 {
            return;
        }
        let of_value = |json: &Json<'_>| match json {
            Json::Str(text) => text.len(),
            Json::Arr(items) => items.len() * VALUE_BYTES,
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_) => VALUE_BYTES,
        };
        let bytes: usize = members.iter().map(|(key, value)| key.len() + 4 + of_value(value)).sum();
        self.repeated += bytes;
    }

    /// The schema at the end of a cycle.
    pub(super) fn lower_loop(&mut self, id: NodeId) -> Lowered<'d> {
        if self.refs == ReferenceMode::Keep {
            let (index, _) = self.define(id);
            let found = self.definitions.get(index).map(|own| (own.pointer, own.lens));
            let (pointer, lens) = found.unwrap_or_default();
            let json = self.arena.obj(&[(self.reference_keywords.reference.name(), Json::Str(pointer))]);
            return Lowered { json, lens, null: false };
        }
        let demand = if self.refs == ReferenceMode::Inline {
            self.refusal_code(self.reference_keywords.reference)
        } else {
            self.demand_code(Demand::NoCycle)
        };
        self.lower_as_text(id, &demand, "the schema contains itself")
    }

    /// A schema that turned out to contain itself becomes a definition.
    pub(super) fn close_loop(&mut self, id: NodeId, lowered: Lowered<'d>) -> Lowered<'d> {
        let Some(index) = self.defined.get(&id).copied().filter(|_| self.refs == ReferenceMode::Keep) else {
            return lowered;
        };
        let waiting = self.definitions.get(index).is_some_and(|own| own.json.is_none())
            && !self.pending_definitions.contains(&index);
        if !waiting {
            return lowered;
        }
        self.settle(index, lowered);
        self.lower_loop(id)
    }

    fn is_recursive(&mut self, start: NodeId) -> bool {
        if let Some(known) = self.recursive.get(&start) {
            return *known;
        }
        self.searched.1 += 1;
        let (seen, search) = (&mut self.searched.0, self.searched.1);
        let mut open = vec![start];
        let mut found = false;
        while let Some(id) = open.pop() {
            self.graph.each_child(id, &mut |child| {
                found |= child == start;
                if seen.insert(child, search) != Some(search) {
                    open.push(child);
                }
            });
            if found {
                break;
            }
        }
        self.recursive.insert(start, found);
        found
    }
}

fn height(json: &Json<'_>) -> u64 {
    let mut below = 0;
    look_at_subschemas(json, &mut |_, child| below = below.max(height(child)));
    below + u64::from(is_of_objects(json))
}
