//! Which definition refers to which: references that lead nowhere, loops, and definitions that nothing uses.

use std::borrow::Cow;
use std::cell::OnceCell;

use foldhash::HashMap;

use super::keys::Keys;
use super::node::Seen;
use super::text::Blanks;
use super::{Checker, Depth, Spot, Stand, Way};
use crate::dialect::Demand;
use crate::json::{Json, Member, pointer_tokens};
use crate::keyword::{Kw, within_definitions};

/// The references of a document.
pub(super) struct Links<'j> {
    document: &'j Json<'j>,
    /// Definitions at the root, by keyword and name; the number is the owner's.
    definitions: HashMap<(Kw, &'j str), usize>,
    edges: Vec<Edge<'j>>,
    /// Schemas by their anchor, found when the first reference asks for one.
    anchors: OnceCell<HashMap<&'j str, &'j Json<'j>>>,
    pub(super) keys: Keys<'j>,
}

/// A reference from one owner to another.
struct Edge<'j> {
    from: usize,
    to: usize,
    way: Way,
    reference: &'j str,
    /// The schema that refers.
    members: &'j [Member<'j>],
    by: By,
}

/// What stands on the way to a reference and could be made a way out of a loop, as far as that may have to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    Nothing,
    Map,
    List,
    Property,
}

impl<'j> Links<'j> {
    pub(super) fn new(document: &'j Json<'j>) -> Self {
        let mut definitions = HashMap::default();
        for (key, value) in document.as_obj().unwrap_or_default() {
            if let (Some(kw @ (Kw::Defs | Kw::Definitions | Kw::OpenDefs)), Json::Obj(map)) = (Kw::of(key), value) {
                for (name, _) in *map {
                    let number = definitions.len() + 1;
                    definitions.entry((kw, *name)).or_insert(number);
                }
            }
        }
        Self { document, definitions, edges: Vec::new(), anchors: OnceCell::new(), keys: Keys::default() }
    }

    /// The number of a definition at the root. Definitions that stand deeper belong to the document.
    pub(super) fn owner(&self, kw: Kw, name: &str) -> usize {
        self.definitions.get(&(kw, name)).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, seen: &Seen<'j>, stand: Stand, by: By) {
        let Some(reference) = seen.reference() else { return };
        // A reference that leads nowhere closes no loop; one into the document itself may.
        let to = self.definition(reference).or_else(|| self.resolves(reference).then_some(0));
        if let Some(to) = to {
            let (from, way, members) = (stand.owner, stand.way, seen.members);
            self.edges.push(Edge { from, to, way, reference, members, by });
        }
    }

    /// The next reference from an index on that leads somewhere, but to no definition at the root, and its index.
    pub(super) fn next_undefined(&self, from: usize) -> Option<(usize, &'j str)> {
        let mut edges = self.edges.iter().enumerate().skip(from);
        edges.find(|(_, edge)| edge.to == 0).map(|(index, edge)| (index, edge.reference))
    }

    pub(super) fn resolves(&self, reference: &str) -> bool {
        self.definition(reference).is_some() || self.target(reference).is_some()
    }

    /// What a reference leads to.
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

    /// Whether a reference points at a definition at the root.
    pub(super) fn defines(&self, reference: &str) -> bool {
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

    /// An edge of every loop over the edges that `counts` keeps: one that passes a property, or else a list or a map, if any does,
    /// and of several the last, so that without them no loop is left but for few. A loop that has such an edge in common with
    /// another one needs none of its own. At most so many are looked for.
    fn looping_edges(&self, counts: impl Fn(&Edge<'_>) -> bool, most: usize) -> Vec<&Edge<'j>> {
        let size = self.definitions.len() + 1;
        let mut out: Vec<Vec<&Edge<'j>>> = vec![Vec::new(); size];
        for edge in self.edges.iter().filter(|edge| counts(edge)) {
            if let Some(list) = out.get_mut(edge.from) {
                list.push(edge);
            }
        }
        let edge_of = |at: usize, next: usize| out.get(at)?.get(next).copied();
        let mut state = vec![State::New; size];
        let mut found = Vec::new();
        for start in 0..size {
            if state.get(start) != Some(&State::New) {
                continue;
            }
            let mut way: Vec<(usize, usize)> = vec![(start, 0)];
            // How many owners stand before the last edge on the way that was found.
            let mut broken: Vec<usize> = Vec::new();
            while let Some((at, next)) = way.pop() {
                while broken.pop_if(|before| *before >= way.len()).is_some() {}
                let edge = edge_of(at, next);
                if let Some(mark) = state.get_mut(at) {
                    *mark = if edge.is_some() { State::Open { before: way.len() } } else { State::Done };
                }
                let Some(edge) = edge else { continue };
                way.push((at, next + 1));
                match state.get(edge.to) {
                    Some(State::New) => way.push((edge.to, 0)),
                    Some(State::Open { before }) if broken.last().is_none_or(|last| last < before) => {
                        let edges = way.iter().enumerate().skip(*before);
                        let edges =
                            edges.filter_map(|(index, (owner, next))| Some((index, edge_of(*owner, next - 1)?)));
                        let mut last = edges.rev();
                        // None is better than one that passes a property, so that a long way need not be walked back.
                        let mut best = last.next().unwrap_or((way.len() - 1, edge));
                        while best.1.by < By::Property
                            && let Some(other) = last.next()
                        {
                            best = if other.1.by > best.1.by { other } else { best };
                        }
                        let (index, best) = best;
                        found.push(best);
                        if found.len() >= most {
                            return found;
                        }
                        broken.push(index);
                    }
                    Some(State::Open { .. } | State::Done) | None => {}
                }
            }
        }
        found
    }

    /// The definitions at the root that nothing refers to, seen from the document itself, in their order.
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

/// How far the search for a loop has come with an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    /// It stands on the way, behind so many others.
    Open {
        before: usize,
    },
    Done,
}

impl Checker<'_, '_> {
    pub(super) fn judge_links(&mut self) {
        for demand in [Demand::NoCycle, Demand::CycleOptional] {
            if !self.caps.must(demand) {
                continue;
            }
            let most = if self.depth == Depth::All { usize::MAX } else { 1 };
            let closing = self.links.looping_edges(|edge| edge.way == Way::Hard || demand == Demand::NoCycle, most);
            let closing: Vec<_> = closing.into_iter().map(|edge| (edge.reference, edge.members)).collect();
            let mut ways = HashMap::default();
            if self.told() && !closing.is_empty() {
                ways.extend(closing.iter().map(|(_, members)| (members.as_ptr(), None)));
                find_ways(self.document, &mut Vec::new(), &mut ways);
            }
            for (key, members) in closing {
                let way = ways.get(&members.as_ptr()).and_then(Option::as_deref);
                let tokens: &[String] = way.unwrap_or_default();
                for row in self.rows(demand) {
                    self.violate_at(row, tokens, Kw::Ref.name(), &Blanks { key, ..Blanks::default() });
                }
            }
        }
        if self.caps.must(Demand::DefsUsed) {
            self.judge_use();
        }
    }

    fn judge_use(&mut self) {
        let unused = self.links.unused();
        for row in self.rows(Demand::DefsUsed) {
            for (kw, name) in &unused {
                let at = Spot::ROOT.kw(*kw);
                self.violate(row, &at.word(name), kw.name(), &Blanks { key: name, ..Blanks::default() });
                if self.depth != Depth::All {
                    return;
                }
            }
        }
    }
}

/// The ways from the document to members that stand in it, by the address of these.
fn find_ways<'j>(
    json: &'j Json<'j>,
    way: &mut Vec<Cow<'j, str>>,
    ways: &mut HashMap<*const Member<'j>, Option<Vec<String>>>,
) {
    let mut step = |token: Cow<'j, str>, inner: &'j Json<'j>| {
        way.push(token);
        find_ways(inner, way, ways);
        way.pop();
    };
    match json {
        Json::Obj(members) => {
            members.iter().for_each(|(key, inner)| step(Cow::Borrowed(key), inner));
            if let Some(found @ None) = ways.get_mut(&members.as_ptr()) {
                *found = Some(way.iter().map(ToString::to_string).collect());
            }
        }
        Json::Arr(items) => {
            items.iter().enumerate().for_each(|(index, item)| step(Cow::Owned(index.to_string()), item));
        }
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}

/// The schemas that have an anchor; of several with the same one, the first.
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
