//! The merge rewrite: a node with a reference or `allOf` becomes one node, a real intersection.

use std::borrow::Cow;
use std::hash::Hash;

use super::Lowerer;
use super::pending_change::PendingChange;
use crate::arena::Arena;
use crate::graph::{
    AnnotationKey, ArrayRules, Bound, BoundSide, Logic, Node, NodeId, NumberRules, ObjectRules, RareRules, RuleSet,
    TextRules,
};
use crate::json::{FEW, Json};
use crate::keyword::Kw;
use crate::pattern;
use crate::place::Place;
use crate::types::Types;
use polywire_report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// The node with its reference and its `allOf` merged into it.
    pub(super) fn flatten(&mut self, id: NodeId) -> NodeId {
        let node = self.graph[id];
        if node.target.is_none() && node.rules.logic().is_none_or(|logic| logic.all.is_empty()) {
            return id;
        }
        if let Some(flat) = self.flat.get(&id) {
            self.inexact_merges += usize::from(self.inexact.contains(&id));
            return *flat;
        }
        let before = self.inexact_merges;
        if node.is_alias() {
            // A chain of bare references is walked, not climbed: it may be longer than the stack.
            let flat = match self.follow(id) {
                Some(target) => self.flatten(target),
                None => self.any(),
            };
            self.keep_flat(id, flat, before);
            return flat;
        }
        if self.flattening.contains(&id) || self.flattening.len() > MAX_CHAIN {
            // A schema that refers to itself without anything between adds no condition.
            return self.any();
        }
        self.flattening.push(id);
        let mut own = *node;
        let target = own.target.take();
        let all = own.rules.logic().map_or(&[][..], |logic| logic.all);
        if let Some(logic) = own.rules.logic() {
            own = own.with_logic(Logic { all: &[], ..*logic }, self.nodes);
        }
        let single = target.is_none() && all.len() == 1;
        let place = own.place;
        let mut parts = Vec::with_capacity(all.len() + 1);
        for part in target.into_iter().chain(all.iter().copied()) {
            let flat = self.flatten(part);
            let asked = self.graph[flat];
            let alone = own.is_bare() && usize::from(target.is_some()) + all.len() == 1;
            if asked.says_unevaluated() && !alone && !self.is_base(part) {
                self.record_scope(asked, place);
            }
            parts.push(*asked);
        }
        if let Some(([base], branches)) = parts.split_at_mut_checked(1)
            && branches.iter().any(Node::says_unevaluated)
            && all.first().is_some_and(|first| self.is_base(*first))
        {
            for branch in branches {
                *base = base.drop_shadowed_unevaluated(branch, self.nodes);
            }
        }
        let merged = self.meet_all(parts);
        if let Some(entry) = &merged {
            own = own.drop_shadowed_unevaluated(entry, self.nodes);
        }
        let merged = match merged {
            // R-A13: the keys of a lone entry win; R-A12: the siblings of a reference win.
            Some(entry) if single => self.meet(entry, own),
            Some(entry) if target.is_some() => self.meet_siblings(own, entry),
            Some(entry) => self.meet(own, entry),
            None => own,
        };
        let merged = self.graph.add(Node { place, ..merged });
        self.flattening.pop();
        self.keep_flat(id, merged, before);
        merged
    }

    fn is_base(&self, id: NodeId) -> bool {
        self.bases.values().any(|base| *base == id)
    }

    /// Whether the first of these parts is what stood beside a union, or begins with it, and speaks of what the branches do not
    /// evaluate: it sees them only when it is merged with them.
    pub(super) fn must_see_branches(&self, parts: &[NodeId]) -> bool {
        let below = |id: &NodeId| self.graph[*id].rules.logic().and_then(|logic| logic.all.first().copied());
        let mut first = std::iter::successors(parts.first().copied(), below).take(MAX_CHAIN);
        first.any(|id| self.graph[id].says_unevaluated() && self.is_base(id))
    }

    /// Records that what a part says of what it does not evaluate itself also sees, once merged, what stands beside it.
    fn record_scope(&mut self, part: &Node<'g, 'd>, place: Option<Place>) {
        for (kw, says) in part.unevaluated() {
            if says {
                self.record_inexact_merge(
                    Kw::AllOf,
                    place,
                    kw,
                    Action::Merged,
                    "what stands beside it counts as evaluated",
                );
            }
        }
    }

    /// Remembers what a node is merged to, and whether that is less than it asked.
    fn keep_flat(&mut self, id: NodeId, flat: NodeId, before: usize) {
        self.flat.insert(id, flat);
        if self.inexact_merges > before {
            self.inexact.insert(id);
        }
    }

    /// Records what merging lost. It holds wherever the merged node is used, so no rollback discards it.
    fn record_inexact_merge(&mut self, cause: Kw, place: Option<Place>, kw: Kw, action: Action, detail: &'static str) {
        let code = self.refusal_code(cause);
        let (keyword, detail) = (AnnotationKey::Kw(kw), Cow::Borrowed(detail));
        self.inexact_merges += 1;
        self.merges.push(PendingChange { place, code, keyword, action, effect: Effect::Wider, detail });
    }

    /// What all of several nodes ask. Neighbours are merged first, so that the work does not grow with the square of their
    /// number.
    fn meet_all(&mut self, mut parts: Vec<Node<'g, 'd>>) -> Option<Node<'g, 'd>> {
        while parts.len() > 1 {
            let mut halves = Vec::with_capacity(parts.len().div_ceil(2));
            let mut rest = parts.into_iter();
            while let Some(first) = rest.next() {
                halves.push(match rest.next() {
                    Some(second) => self.meet(first, second),
                    None => first,
                });
            }
            parts = halves;
        }
        parts.pop()
    }

    /// A node that asks nothing.
    pub(super) fn any(&mut self) -> NodeId {
        self.graph.add(Node::default())
    }

    /// Merged lazily, so that cycles are no concern.
    pub(super) fn intersection_of(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if a == b || self.graph[b].is_any() {
            return a;
        }
        if self.graph[a].is_any() && self.graph[a].annotations.is_empty() {
            return b;
        }
        if let Some(id) = self.pairs.get(&(a, b)) {
            return *id;
        }
        let place = self.graph[a].place;
        if self.graph.len() > self.nodes_limit || !self.work.spend(1) {
            // Recursive schemas merged with each other can go on for ever.
            if self.unmerged.insert(place) {
                self.record_inexact_merge(Kw::AllOf, place, Kw::AllOf, Action::Dropped, "too many schemas to merge");
            }
            self.inexact_merges += 1;
            return a;
        }
        let logic = Logic { all: self.nodes.list(&[a, b]), ..Logic::default() };
        let id = self.graph.add(Node { place, ..Node::default() }.with_logic(logic, self.nodes));
        self.pairs.insert((a, b), id);
        id
    }

    /// What a reference means with siblings beside it. Siblings that close an object they declare nothing of are meant for the
    /// target's properties (R-A12), although they say that none of them may be there.
    fn meet_siblings(&mut self, mut own: Node<'g, 'd>, mut target: Node<'g, 'd>) -> Node<'g, 'd> {
        let closing =
            own.rules.object().and_then(|rules| rules.additional).filter(|id| self.graph[*id].types().is_none());
        let declares =
            own.rules.object().is_some_and(|rules| !rules.properties.is_empty() || !rules.rare.patterns.is_empty());
        if let (Some(closing), false) = (closing, declares)
            && let (Some(siblings), Some(rules)) = (own.rules.object(), target.rules.object())
        {
            let objects = [(&mut own, siblings, None), (&mut target, rules, Some(closing))];
            for (node, rules, additional) in objects {
                let object = self.nodes.keep(ObjectRules { additional, ..*rules });
                *node = node.with_rules(RuleSet { object: Some(object), ..node.rules.all() }, self.nodes);
            }
            let detail = "closes the properties of what it refers to";
            self.record_inexact_merge(Kw::Ref, own.place, Kw::AdditionalProperties, Action::Merged, detail);
        }
        self.meet(own, target)
    }

    fn meet(&mut self, mut a: Node<'g, 'd>, b: Node<'g, 'd>) -> Node<'g, 'd> {
        self.work.spend(a.weight() + b.weight());
        a.types = match (a.types, b.types) {
            (Some(x), Some(y)) => Some(x.and(y)),
            (x, y) => x.or(y),
        };
        let arena = self.nodes;
        let (mut own, other) = (a.rules.all(), b.rules.all());
        own.values = match (own.values, other.values) {
            (Some(x), Some(y)) => Some(arena.filtered(x, |value| y.iter().any(|other| other.same(value)))),
            (x, y) => x.or(y),
        };
        own.formats = self.joined(own.formats, other.formats, |own| *own);
        own.number = join_rules(own.number, other.number, |x, y| arena.keep(meet_numbers(x, y, arena)));
        own.text = join_rules(own.text, other.text, |x, y| {
            let patterns = self.joined(x.patterns, y.patterns, |own| *own);
            arena.keep(TextRules { min: x.min.max(y.min), max: least(x.max, y.max), patterns })
        });
        own.array = join_rules(own.array, other.array, |x, y| arena.keep(self.meet_arrays(x, y)));
        let place = a.place;
        own.object = join_rules(own.object, other.object, |x, y| arena.keep(self.meet_objects(x, y, place)));
        own.logic = join_rules(own.logic, other.logic, |x, y| {
            arena.keep(Logic {
                all: self.joined(x.all, y.all, |own| *own),
                unions: self.joined(x.unions, y.unions, |own| *own),
                nots: self.joined(x.nots, y.nots, |own| *own),
                conditions: self.joined(x.conditions, y.conditions, |own| (own.when, own.then)),
            })
        });
        a.rules = own.store_in(arena);
        a.annotations = self.joined(a.annotations, b.annotations, |own| own.key);
        if let Some(types) = a.types {
            a.restrict(types, arena);
        }
        a
    }

    /// A list, and what is not in it yet of another: a schema that is merged with itself over and over must not grow.
    fn joined<T: Copy, K: Eq + Hash>(&self, own: &'g [T], more: &'g [T], key: impl Fn(&T) -> K) -> &'g [T] {
        joined(own, more, key, self.nodes)
    }

    fn meet_arrays(&mut self, a: &ArrayRules<'g>, b: &ArrayRules<'g>) -> ArrayRules<'g> {
        let count = a.prefix.len().max(b.prefix.len());
        let mut prefix = Vec::with_capacity(count);
        for index in 0..count {
            let x = a.prefix.get(index).copied().or(a.items);
            let y = b.prefix.get(index).copied().or(b.items);
            prefix.push(match (x, y) {
                (Some(x), Some(y)) => self.intersection_of(x, y),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => self.any(),
            });
        }
        let items = match (a.items, b.items) {
            (Some(x), Some(y)) => Some(self.intersection_of(x, y)),
            (x, y) => x.or(y),
        };
        let contains = self.joined(a.contains, b.contains, |own| own.node);
        ArrayRules {
            prefix: self.nodes.list(&prefix),
            items,
            min: a.min.max(b.min),
            max: least(a.max, b.max),
            unique: a.unique || b.unique,
            contains,
            unevaluated: a.unevaluated.or(b.unevaluated),
        }
    }

    fn meet_objects(
        &mut self,
        a: &ObjectRules<'g, 'd>,
        b: &ObjectRules<'g, 'd>,
        place: Option<Place>,
    ) -> ObjectRules<'g, 'd> {
        let find = |rules: &ObjectRules<'g, 'd>| -> foldhash::HashMap<&'d str, NodeId> {
            rules.properties.iter().copied().collect()
        };
        let (in_a, in_b) = (find(a), find(b));
        let mut properties = Vec::with_capacity(a.properties.len() + b.properties.len());
        for (key, id) in a.properties {
            let id = match in_b.get(key) {
                Some(other) => {
                    let id = self.intersection_of(*id, *other);
                    self.declared_by_both(id, key, [a, b])
                }
                None => self.undeclared(*id, key, b),
            };
            properties.push((*key, id));
        }
        for (key, id) in b.properties {
            if !in_a.contains_key(key) {
                properties.push((*key, self.undeclared(*id, key, a)));
            }
        }
        let mut patterns = Vec::new();
        for (own, other) in [(a, b), (b, a)] {
            for (key, id) in own.rare.patterns {
                let same = other.rare.patterns.iter().find(|(pattern, _)| pattern == key);
                if let Some((_, theirs)) = same {
                    if !patterns.iter().any(|(pattern, _)| pattern == key) {
                        patterns.push((*key, self.intersection_of(*id, *theirs)));
                    }
                    continue;
                }
                match other.additional {
                    // Only what the other side declares is left, of which the pattern was asked above.
                    Some(rest) if other.rare.patterns.is_empty() && self.is_never(rest) => {}
                    Some(rest) if other.rare.patterns.is_empty() && !self.matches_any(key, other.properties) => {
                        patterns.push((*key, self.intersection_of(*id, rest)));
                    }
                    rest => {
                        if rest.is_some() {
                            let detail = "`patternProperties` and the keys of the other side cannot be told apart";
                            self.record_inexact_merge(Kw::AllOf, place, Kw::AllOf, Action::Merged, detail);
                        }
                        patterns.push((*key, *id));
                    }
                }
            }
        }
        let additional = match (a.additional, b.additional) {
            (Some(x), Some(y)) => Some(self.intersection_of(x, y)),
            (x, y) => x.or(y),
        };
        let rare = RareRules {
            patterns: self.nodes.list(&patterns),
            names: self.joined(a.rare.names, b.rare.names, |own| *own),
            min: a.rare.min.max(b.rare.min),
            max: least(a.rare.max, b.rare.max),
            needs: self.joined(a.rare.needs, b.rare.needs, |own| *own),
            dependents: self.joined(a.rare.dependents, b.rare.dependents, |own| *own),
        };
        ObjectRules {
            properties: self.nodes.list(&properties),
            required: self.joined(a.required, b.required, |own| *own),
            additional,
            unevaluated: a.unevaluated.or(b.unevaluated),
            rare: rare.store_in(self.nodes),
        }
    }

    /// A property that both sides declare: a pattern of one side that the other leaves no other key for goes, but holds for it.
    fn declared_by_both(&mut self, mut id: NodeId, key: &str, sides: [&ObjectRules<'g, 'd>; 2]) -> NodeId {
        let [a, b] = sides;
        for (own, other) in [(a, b), (b, a)] {
            let shut = other.rare.patterns.is_empty() && other.additional.is_some_and(|rest| self.is_never(rest));
            if shut && let Some(asked) = self.matched(key, own) {
                id = self.intersection_of(id, asked);
            }
        }
        id
    }

    /// A property under rules that do not declare it: their patterns and their `additionalProperties` hold for it too.
    fn undeclared(&mut self, id: NodeId, key: &str, rules: &ObjectRules<'g, 'd>) -> NodeId {
        match self.matched(key, rules).or(rules.additional) {
            Some(rest) => self.intersection_of(id, rest),
            None => id,
        }
    }

    /// What is asked of a property by the patterns that it matches.
    pub(super) fn matched(&mut self, key: &str, rules: &ObjectRules<'g, 'd>) -> Option<NodeId> {
        let mut all = None;
        for (pattern, schema) in rules.rare.patterns {
            if self.matches(pattern, key) {
                all = Some(all.map_or(*schema, |own| self.intersection_of(own, *schema)));
            }
        }
        all
    }
}

impl Lowerer<'_, '_, '_> {
    /// Unsupported patterns may match.
    pub(super) fn matches(&mut self, pattern: &str, text: &str) -> bool {
        self.matcher(pattern).is_none_or(|matcher| matcher.is_match(text))
    }

    fn matches_any(&mut self, pattern: &str, properties: &[(&str, NodeId)]) -> bool {
        properties.iter().any(|(key, _)| self.matches(pattern, key))
    }

    /// A pattern to be run, where that can be done. Compiling a pattern costs more than all else, so it is done once.
    pub(super) fn matcher(&mut self, pattern: &str) -> Option<&regex::Regex> {
        if !self.matchers.contains_key(pattern) {
            self.matchers.insert(pattern.to_owned(), pattern::matcher(pattern));
        }
        self.matchers.get(pattern)?.as_ref()
    }
}

/// References and `allOf` within one another beyond this depth ask nothing more.
pub(super) const MAX_CHAIN: usize = 200;

fn join_rules<'d, T>(a: Option<&'d T>, b: Option<&'d T>, meet: impl FnOnce(&'d T, &'d T) -> &'d T) -> Option<&'d T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(meet(a, b)),
        (a, b) => a.or(b),
    }
}

/// One list of both, each thing once.
fn joined<'g, T: Copy, K: Eq + Hash>(own: &'g [T], more: &'g [T], key: impl Fn(&T) -> K, arena: &'g Arena) -> &'g [T] {
    if own.is_empty() || more.is_empty() {
        return if own.is_empty() { more } else { own };
    }
    let mut all = own.to_vec();
    if own.len() + more.len() <= FEW {
        for item in more {
            if !all.iter().any(|other| key(other) == key(item)) {
                all.push(*item);
            }
        }
    } else {
        let mut known: foldhash::HashSet<K> = own.iter().map(&key).collect();
        all.extend(more.iter().filter(|item| known.insert(key(item))));
    }
    if all.len() == own.len() { own } else { arena.list(&all) }
}

fn meet_numbers<'g, 'd>(a: &NumberRules<'g, 'd>, b: &NumberRules<'g, 'd>, arena: &'g Arena) -> NumberRules<'g, 'd> {
    let pick = |x: Option<Bound>, y: Option<Bound>, side| match (x, y) {
        (Some(x), Some(y)) => Some(x.tighter(y, side)),
        (x, y) => x.or(y),
    };
    let multiples = joined(a.multiples, b.multiples, |own| own.as_f64().map(f64::to_bits), arena);
    // A multiple of 6 is a multiple of 3.
    let coarser = |x: &Json<'_>, y: &Json<'_>| match (x.as_count(), y.as_count()) {
        (Some(x), Some(y)) => x != y && y != 0 && x % y == 0,
        _ => false,
    };
    let says_more = |own: &&Json<'_>| multiples.len() > FEW || !multiples.iter().any(|other| coarser(other, own));
    NumberRules {
        min: pick(a.min, b.min, BoundSide::Lower),
        max: pick(a.max, b.max, BoundSide::Upper),
        multiples: arena.filtered(multiples, says_more),
    }
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl<'g> Node<'g, '_> {
    /// Drops `unevaluated…` keywords where a part evaluates everything.
    fn drop_shadowed_unevaluated(self, part: &Self, arena: &'g Arena) -> Self {
        let [objects, lists] = part.unevaluated().map(|(_, says)| says);
        if !(objects || lists) || !self.says_unevaluated() {
            return self;
        }
        let mut rules = self.rules.all();
        if let Some(own) = rules.object.filter(|_| objects) {
            rules.object = Some(arena.keep(ObjectRules { unevaluated: None, ..*own }));
        }
        if let Some(own) = rules.array.filter(|_| lists) {
            rules.array = Some(arena.keep(ArrayRules { unevaluated: None, ..*own }));
        }
        self.with_rules(rules, arena)
    }

    /// The `unevaluated…` keywords, each with its presence.
    pub(super) fn unevaluated(&self) -> [(Kw, bool); 2] {
        let objects = self.rules.object().is_some_and(|rules| rules.unevaluated.is_some());
        let lists = self.rules.array().is_some_and(|rules| rules.unevaluated.is_some());
        [(Kw::UnevaluatedProperties, objects), (Kw::UnevaluatedItems, lists)]
    }

    pub(super) fn says_unevaluated(&self) -> bool {
        self.unevaluated().into_iter().any(|(_, says)| says)
    }

    pub(super) fn evaluates_beside(&self) -> bool {
        let logic = self
            .rules
            .logic()
            .is_some_and(|logic| !logic.all.is_empty() || !logic.unions.is_empty() || !logic.conditions.is_empty());
        logic || self.rules.object().is_some_and(|rules| !rules.rare.dependents.is_empty())
    }
}

impl ObjectRules<'_, '_> {
    /// What is asked of properties that are not declared. Those that are not evaluated are the same where nothing beside declares
    /// more.
    pub(super) fn of_others(&self, node: &Node<'_, '_>) -> Option<NodeId> {
        self.additional.or(self.unevaluated.filter(|_| !node.evaluates_beside()))
    }

    /// Whether what is not evaluated is something else than what is not declared.
    pub(super) fn says_unevaluated(&self, node: &Node<'_, '_>) -> bool {
        self.unevaluated.is_some() && (self.additional.is_some() || node.evaluates_beside())
    }
}

/// The types that the rules of an untyped node apply to.
pub(super) fn spoken_types(node: &Node<'_, '_>) -> Types {
    let mut types = Types::NONE;
    if node.rules.object().is_some() {
        types = types.or(Types::OBJECT);
    }
    if node.rules.array().is_some() {
        types = types.or(Types::ARRAY);
    }
    if node.rules.text().is_some() || (!node.rules.formats().is_empty() && node.rules.number().is_none()) {
        types = types.or(Types::STRING);
    }
    if node.rules.number().is_some() {
        types = types.or(Types::NUMBER);
    }
    types
}
