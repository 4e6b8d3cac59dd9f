//! The graph of references between definitions: dangling references, cycles, unused definitions.

use std::borrow::Cow;
use std::cell::OnceCell;

use foldhash::HashMap;

use super::key_index::KeyIndex;
use super::messages::Placeholders;
use super::rules::NodeKeywords;
use super::{CheckMode, Checker, NodeContext, Requiredness, SchemaPath};
use crate::dialect::Demand;
use crate::json::{Json, Member, pointer_tokens};
use crate::keyword::{Kw, within_definitions};

/// The references of a document.
pub(super) struct ReferenceGraph<'j> {
    document: &'j Json<'j>,
    /// Definitions at the root, by keyword and name; the number is the owner's.
    definitions: HashMap<(Kw, &'j str), usize>,
    edges: Vec<ReferenceEdge<'j>>,
    /// Schemas by anchor, collected when the first reference needs one.
    anchors: OnceCell<HashMap<&'j str, &'j Json<'j>>>,
    pub(super) keys: KeyIndex<'j>,
}

/// A reference from one owner to another.
struct ReferenceEdge<'j> {
    from: usize,
    to: usize,
    requiredness: Requiredness,
    reference: &'j str,
    /// The schema that holds the reference.
    members: &'j [Member<'j>],
    breaker: CycleBreaker,
}

/// What could be changed on the path to a reference to end a cycle, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CycleBreaker {
    Nothing,
    Map,
    List,
    Property,
}

impl<'j> ReferenceGraph<'j> {
    pub(super) fn new(document: &'j Json<'j>) -> Self {
        let mut definitions = HashMap::default();
        for (key, value) in document.as_obj().unwrap_or_default() {
            if let (Some(kw @ (Kw::Defs | Kw::Definitions | Kw::BareDefs)), Json::Obj(map)) = (Kw::of(key), value) {
                for (name, _) in *map {
                    let number = definitions.len() + 1;
                    definitions.entry((kw, *name)).or_insert(number);
                }
            }
        }
        Self { document, definitions, edges: Vec::new(), anchors: OnceCell::new(), keys: KeyIndex::default() }
    }

    /// The number of a definition at the root. Nested definitions belong to the document.
    pub(super) fn owner(&self, kw: Kw, name: &str) -> usize {
        self.definitions.get(&(kw, name)).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, node: &NodeKeywords<'j>, context: NodeContext, breaker: CycleBreaker) {
        let Some(reference) = node.reference() else { return };
        // A reference that leads nowhere closes no loop; one into the document itself may.
        let to = self.definition(reference).or_else(|| self.resolves(reference).then_some(0));
        if let Some(to) = to {
            let (from, requiredness, members) = (context.owner, context.requiredness, node.members);
            self.edges.push(ReferenceEdge { from, to, requiredness, reference, members, breaker });
        }
    }

    /// The next reference, from an index on, that resolves outside the definitions at the root.
    pub(super) fn next_outside_definitions(&self, from: usize) -> Option<(usize, &'j str)> {
        let mut edges = self.edges.iter().enumerate().skip(from);
        edges.find(|(_, edge)| edge.to == 0).map(|(index, edge)| (index, edge.reference))
    }

    pub(super) fn resolves(&self, reference: &str) -> bool {
        self.definition(reference).is_some() || self.target(reference).is_some()
    }

    pub(super) fn target(&self, reference: &str) -> Option<&'j Json<'j>> {
        let pointer = reference.strip_prefix('#')?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let find = || {
                let mut anchors = HashMap::default();
                collect_anchors(self.document, &mut anchors);
                anchors
            };
            return self.anchors.get_or_init(find).get(pointer).copied();
        }
        pointer_tokens(pointer).try_fold(self.document, |json, token| self.keys.step(json, &token))
    }

    pub(super) fn is_definition(&self, reference: &str) -> bool {
        self.definition(reference).is_some()
    }

    fn definition(&self, reference: &str) -> Option<usize> {
        let (kw, name) = within_definitions(reference)?;
        if let Some(number) = self.definitions.get(&(kw, name)) {
            return Some(*number);
        }
        let mut tokens = pointer_tokens(reference).skip(1);
        let name = tokens.next()?;
        if tokens.next().is_some() {
            return None;
        }
        self.definitions.get(&(kw, name.as_ref())).copied()
    }

    /// One edge of every cycle over the edges that `counts` keeps: the last that passes a property, or else a list or a map. Cycles
    /// that share such an edge need only one, so that few cycles are left without these edges. At most `most` are searched.
    fn find_cycle_edges(
        &self,
        count_schema: impl Fn(&ReferenceEdge<'_>) -> bool,
        most: usize,
    ) -> Vec<&ReferenceEdge<'j>> {
        let size = self.definitions.len() + 1;
        let mut out: Vec<Vec<&ReferenceEdge<'j>>> = vec![Vec::new(); size];
        for edge in self.edges.iter().filter(|edge| count_schema(edge)) {
            if let Some(list) = out.get_mut(edge.from) {
                list.push(edge);
            }
        }
        let edge_of = |at: usize, next: usize| out.get(at)?.get(next).copied();
        let mut state = vec![VisitState::Unvisited; size];
        let mut found = Vec::new();
        for start in 0..size {
            if state.get(start) != Some(&VisitState::Unvisited) {
                continue;
            }
            let mut path_so_far: Vec<(usize, usize)> = vec![(start, 0)];
            // How many owners stand before the last edge on the way that was found.
            let mut broken: Vec<usize> = Vec::new();
            while let Some((at, next)) = path_so_far.pop() {
                while broken.pop_if(|before| *before >= path_so_far.len()).is_some() {}
                let edge = edge_of(at, next);
                if let Some(mark) = state.get_mut(at) {
                    *mark = if edge.is_some() {
                        VisitState::OnPath { before: path_so_far.len() }
                    } else {
                        VisitState::Finished
                    };
                }
                let Some(edge) = edge else { continue };
                path_so_far.push((at, next + 1));
                match state.get(edge.to) {
                    Some(VisitState::Unvisited) => path_so_far.push((edge.to, 0)),
                    Some(VisitState::OnPath { before }) if broken.last().is_none_or(|last| last < before) => {
                        let edges = path_so_far.iter().enumerate().skip(*before);
                        let edges =
                            edges.filter_map(|(index, (owner, next))| Some((index, edge_of(*owner, next - 1)?)));
                        let mut last = edges.rev();
                        // None is better than one that passes a property, so that a long way need not be walked back.
                        let mut best = last.next().unwrap_or((path_so_far.len() - 1, edge));
                        while best.1.breaker < CycleBreaker::Property
                            && let Some(other) = last.next()
                        {
                            best = if other.1.breaker > best.1.breaker { other } else { best };
                        }
                        let (index, best) = best;
                        found.push(best);
                        if found.len() >= most {
                            return found;
                        }
                        broken.push(index);
                    }
                    Some(VisitState::OnPath { .. } | VisitState::Finished) | None => {}
                }
            }
        }
        found
    }

    /// The definitions at the root that the document does not reach, in their order.
    pub(super) fn unused(&self) -> Vec<(Kw, &'j str)> {
        let size = self.definitions.len() + 1;
        let mut targets = vec![Vec::new(); size];
        for edge in &self.edges {
            if let Some(list) = targets.get_mut(edge.from) {
                list.push(edge.to);
            }
        }
        let mut used = vec![false; size];
        let mut open = vec![0];
        while let Some(owner) = open.pop() {
            if used.get_mut(owner).is_none_or(|mark| std::mem::replace(mark, true)) {
                continue;
            }
            open.append(targets.get_mut(owner).unwrap_or(&mut Vec::new()));
        }
        let mut unused: Vec<_> =
            self.definitions.iter().filter(|(_, number)| used.get(**number) == Some(&false)).collect();
        unused.sort_unstable_by_key(|(_, number)| **number);
        unused.into_iter().map(|(definition, _)| *definition).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VisitState {
    Unvisited,
    /// On the current path, at this position.
    OnPath {
        before: usize,
    },
    Finished,
}

impl Checker<'_, '_> {
    pub(super) fn check_references(&mut self) {
        for demand in [Demand::NoCycle, Demand::CycleOptional] {
            if !self.caps.has_demand(demand) {
                continue;
            }
            let most = if self.mode == CheckMode::All { usize::MAX } else { 1 };
            let closing = self.references.find_cycle_edges(
                |edge| edge.requiredness == Requiredness::Required || demand == Demand::NoCycle,
                most,
            );
            let closing: Vec<_> = closing.into_iter().map(|edge| (edge.reference, edge.members)).collect();
            let mut paths = HashMap::default();
            if self.needs_messages() && !closing.is_empty() {
                paths.extend(closing.iter().map(|(_, members)| (members.as_ptr(), None)));
                collect_paths(self.document, &mut Vec::new(), &mut paths);
            }
            for (key, members) in closing {
                let path_so_far = paths.get(&members.as_ptr()).and_then(Option::as_deref);
                let tokens: &[String] = path_so_far.unwrap_or_default();
                for row in self.rows(demand) {
                    self.report_rule_at(row, tokens, Kw::Ref.name(), &Placeholders { key, ..Placeholders::default() });
                }
            }
        }
        if self.caps.has_demand(Demand::DefsUsed) {
            self.check_definitions_used();
        }
    }

    fn check_definitions_used(&mut self) {
        let unused = self.references.unused();
        for row in self.rows(Demand::DefsUsed) {
            for (kw, name) in &unused {
                let at = SchemaPath::ROOT.kw(*kw);
                self.report_rule(
                    row,
                    &at.word(name),
                    kw.name(),
                    &Placeholders { key: name, ..Placeholders::default() },
                );
                if self.mode != CheckMode::All {
                    return;
                }
            }
        }
    }
}

/// Collects the paths to members, by their address.
fn collect_paths<'j>(
    json: &'j Json<'j>,
    path_so_far: &mut Vec<Cow<'j, str>>,
    paths: &mut HashMap<*const Member<'j>, Option<Vec<String>>>,
) {
    let mut step = |token: Cow<'j, str>, inner: &'j Json<'j>| {
        path_so_far.push(token);
        collect_paths(inner, path_so_far, paths);
        path_so_far.pop();
    };
    match json {
        Json::Obj(members) => {
            members.iter().for_each(|(key, inner)| step(Cow::Borrowed(key), inner));
            if let Some(found @ None) = paths.get_mut(&members.as_ptr()) {
                *found = Some(path_so_far.iter().map(ToString::to_string).collect());
            }
        }
        Json::Arr(items) => {
            items.iter().enumerate().for_each(|(index, item)| step(Cow::Owned(index.to_string()), item));
        }
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}

/// Of several schemas with one anchor, the first counts.
fn collect_anchors<'j>(json: &'j Json<'j>, anchors: &mut HashMap<&'j str, &'j Json<'j>>) {
    match json {
        Json::Obj(members) => {
            let own = members.iter().filter(|(key, _)| matches!(Kw::of(key), Some(Kw::Anchor | Kw::DynamicAnchor)));
            for name in own.filter_map(|(_, value)| value.as_str()) {
                anchors.entry(name).or_insert(json);
            }
            members.iter().for_each(|(_, value)| collect_anchors(value, anchors));
        }
        Json::Arr(items) => items.iter().for_each(|item| collect_anchors(item, anchors)),
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}
