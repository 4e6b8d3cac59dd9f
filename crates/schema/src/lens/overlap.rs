//! Finds branches of a union that can have the same wire value and decode it differently, by comparing the shapes and guards of
//! two branches. Where there are none, it does not matter which branch decodes a value.

use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use foldhash::HashMap;
use serde_json::{Map, Value, json};

use super::apply::Direction;
use super::guard::{LookDepth, are_equal};
use super::wire_object::WireObject;
use super::wire_types::WireTypes;
use super::{Branch, Guard, GuardId, Lens, LensId, Shape, SizeKind};
use crate::step_budget::StepBudget;
use crate::types::Types;

/// Shapes within shapes beyond this depth are not compared.
const MAX_DEPTH: usize = 48;

/// The limit of compared pairs for one list of unions.
const MAX_STEPS: usize = 100_000;

const MAX_LISTED_VALUES: usize = 256;

/// Longer lists of values are not compared pair by pair.
const MAX_PAIRED_VALUES: usize = 16;

/// How the wire values of two shapes overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Overlap {
    /// No wire value has both shapes.
    Disjoint,
    /// Every wire value of both shapes decodes to the same value.
    Equivalent,
    /// A wire value of both shapes may decode to different values.
    Ambiguous,
}

/// A shape with the guard of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GuardedShape {
    Null,
    Of(LensId, Option<GuardId>),
    /// A list of entries with such values.
    Entries(LensId, Option<GuardId>),
}

impl Hash for GuardedShape {
    /// As one word: lookups dominate the cost of a comparison.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let packed = |id: LensId, guard: Option<GuardId>| {
            u64::from(id.0) << 32 | guard.map_or(u64::from(u32::MAX), |guard| guard.index() as u64)
        };
        state.write_u64(match *self {
            Self::Null => u64::MAX,
            Self::Of(id, guard) => packed(id, guard),
            Self::Entries(id, guard) => !packed(id, guard),
        });
    }
}

/// Two branches of a union that may be confused on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousBranches {
    /// The index of the union in the caller's list.
    pub(crate) union: usize,
    /// The indices of the branches. The first should get a tag: branches without a lens keep their shape if possible.
    pub(crate) branches: [usize; 2],
}

/// The result of [`Lens::find_ambiguities`].
#[derive(Debug)]
pub(crate) struct Ambiguities {
    pub(crate) pairs: Vec<AmbiguousBranches>,
    /// The unions whose comparison exceeded the step limit.
    pub(crate) undecided: Vec<usize>,
}

impl Lens {
    /// Compares the branches of these unions; unions that the root does not reach are left out.
    pub(crate) fn find_ambiguities(&self, unions: &[LensId], work: &StepBudget) -> Ambiguities {
        let mut comparer = Comparer::new(self, work);
        let (mut pairs, mut undecided) = (Vec::new(), Vec::new());
        for (union, id) in unions.iter().enumerate() {
            let Shape::Union(branches) = self.shape(*id) else { continue };
            for (second, own) in branches.iter().enumerate() {
                for (first, other) in branches.iter().enumerate().take(second) {
                    let (a, b) =
                        (GuardedShape::Of(other.lens, Some(other.guard)), GuardedShape::Of(own.lens, Some(own.guard)));
                    if own.lens != other.lens && comparer.overlap(a, b) == Overlap::Ambiguous {
                        let leave =
                            !self.accepts_any_object(*own) && (own.lens.is_same() || self.accepts_any_object(*other));
                        let branches = if leave { [first, second] } else { [second, first] };
                        pairs.push(AmbiguousBranches { union, branches });
                    }
                }
            }
            if comparer.steps_left == 0 || work.is_spent() {
                undecided.push(union);
            }
        }
        if !pairs.is_empty() {
            let used = self.reachable_shapes();
            let is_used = |id: &LensId| used.get(id.0 as usize).copied().unwrap_or(false);
            pairs.retain(|pair| unions.get(pair.union).is_some_and(is_used));
        }
        Ambiguities { pairs, undecided }
    }

    /// True where any object of another branch's wire shape could be a value of this branch.
    fn accepts_any_object(&self, branch: Branch) -> bool {
        branch.lens.is_same() && self.admits(branch.guard, &json!({ "option": {} }), LookDepth::Shallow)
    }

    fn reachable_shapes(&self) -> Vec<bool> {
        let mut used = vec![false; self.shapes.len()];
        let mut open = vec![self.root];
        while let Some(id) = open.pop() {
            if let Some(seen) = used.get_mut(id.0 as usize)
                && !std::mem::replace(seen, true)
            {
                self.shape(id).each_inner(&mut |inner| open.push(inner));
            }
        }
        used
    }
}

pub(super) struct Comparer<'l> {
    pub(super) lens: &'l Lens,
    known: HashMap<(GuardedShape, GuardedShape), PairState>,
    /// The pairs whose result depends on a pair that is still being compared.
    provisional: Vec<(GuardedShape, GuardedShape)>,
    /// The depth of the outermost open pair that the current result depends on.
    depends_on: usize,
    /// The wire objects of shapes, by shape.
    pub(super) wire_objects: HashMap<GuardedShape, Rc<WireObject<'l>>>,
    pub(super) wire_types: WireTypes,
    pub(super) steps_left: usize,
    pub(super) work: &'l StepBudget,
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
enum PairState {
    /// The result, and the depth of the outermost open pair that it depends on.
    Known(Overlap, usize),
    /// Being compared, at this depth; results inside it may assume that it is equivalent.
    Open { depth: usize, is_assumed: bool },
}

/// The result depends on no open pair.
const UNCONDITIONAL: usize = usize::MAX;

/// A list on the wire.
#[derive(Clone, Copy)]
enum WireList<'l> {
    /// Items by index, then all others.
    Items(&'l [LensId], LensId),
    /// The entries of a map.
    Entries(GuardedShape),
    /// One value or none.
    AtMostOne(GuardedShape),
}

impl<'l> Comparer<'l> {
    pub(super) fn new(lens: &'l Lens, work: &'l StepBudget) -> Self {
        Self {
            lens,
            known: HashMap::default(),
            provisional: Vec::new(),
            depends_on: UNCONDITIONAL,
            wire_objects: HashMap::default(),
            wire_types: WireTypes::default(),
            steps_left: MAX_STEPS,
            work,
            depth: 0,
        }
    }

    /// Known pairs are kept.
    pub(super) fn reset_steps(&mut self) {
        self.steps_left = MAX_STEPS;
    }

    pub(super) fn overlap(&mut self, a: GuardedShape, b: GuardedShape) -> Overlap {
        let (a, b) = (self.resolve_link(a), self.resolve_link(b));
        if self.stated_types(a).and(self.stated_types(b)).is_none() {
            return Overlap::Disjoint;
        }
        if a == b || !self.work.spend(1) {
            return Overlap::Equivalent;
        }
        let pair = if a < b { (a, b) } else { (b, a) };
        let new = match self.known.entry(pair) {
            Entry::Occupied(mut known) => {
                let (overlap, depends_on) = match known.get_mut() {
                    PairState::Known(overlap, depends_on) => (*overlap, *depends_on),
                    // A pair within itself adds nothing to what is found on the way there.
                    PairState::Open { depth, is_assumed } => {
                        *is_assumed = true;
                        (Overlap::Equivalent, *depth)
                    }
                };
                self.depends_on = self.depends_on.min(depends_on);
                return overlap;
            }
            Entry::Vacant(new) => new,
        };
        let Some(left) = self.steps_left.checked_sub(1) else { return Overlap::Equivalent };
        self.steps_left = left;
        if self.depth == MAX_DEPTH {
            // What is too far away to be compared is taken to differ.
            return if self.is_same(a) && self.is_same(b) { Overlap::Equivalent } else { Overlap::Ambiguous };
        }
        new.insert(PairState::Open { depth: self.depth, is_assumed: false });
        let (start, around) = (self.provisional.len(), std::mem::replace(&mut self.depends_on, UNCONDITIONAL));
        self.depth += 1;
        let overlap = self.compute_overlap(a, b);
        self.depth -= 1;
        // What never meets does not do so either where more is known than that the pairs around may be alike.
        let sure = overlap == Overlap::Disjoint || self.depends_on >= self.depth;
        let depends_on = if sure { UNCONDITIONAL } else { self.depends_on };
        let was = self.known.insert(pair, PairState::Known(overlap, depends_on));
        if overlap == Overlap::Disjoint && matches!(was, Some(PairState::Open { is_assumed: true, .. })) {
            // What was found as if this pair could meet is not known after all. Within a clash it stays, as to forget it there takes
            // some schemas many times as long: where the clash is mended, all is compared again.
            for pair in self.provisional.drain(start..) {
                self.known.remove(&pair);
            }
        } else if self.depends_on >= self.depth {
            for pair in self.provisional.drain(start..) {
                if let Some(PairState::Known(_, depends_on)) = self.known.get_mut(&pair) {
                    *depends_on = UNCONDITIONAL;
                }
            }
        }
        if !sure {
            self.provisional.push(pair);
        }
        self.depends_on = around.min(depends_on);
        overlap
    }

    /// A cheap first answer: the types of the guard, for values without a lens.
    fn stated_types(&self, guarded: GuardedShape) -> Types {
        let GuardedShape::Of(LensId::SAME, _) = guarded else { return Types::ANY };
        self.guard(guarded).and_then(|guard| guard.types).unwrap_or(Types::ANY)
    }

    pub(super) fn resolve_link(&self, guarded: GuardedShape) -> GuardedShape {
        let GuardedShape::Of(mut id, guard) = guarded else { return guarded };
        for _ in 0..super::DEEPEST_LINKS {
            let Shape::Link(inner) = self.lens.shape(id) else { break };
            id = *inner;
        }
        GuardedShape::Of(if self.lens.is_identity_shape(id) { LensId::SAME } else { id }, guard)
    }

    fn is_same(&self, guarded: GuardedShape) -> bool {
        match guarded {
            GuardedShape::Null => true,
            GuardedShape::Of(id, _) => self.lens.is_identity_shape(id),
            GuardedShape::Entries(..) => false,
        }
    }

    fn compute_overlap(&mut self, a: GuardedShape, b: GuardedShape) -> Overlap {
        if let (GuardedShape::Of(x, _), GuardedShape::Of(y, _)) = (a, b)
            && x == y
            && !x.is_same()
        {
            return Overlap::Equivalent;
        }
        for (own, other) in [(a, b), (b, a)] {
            if let Some(parts) = self.alternatives(own) {
                return self.max_overlap(parts.into_iter().map(|part| (part, other)));
            }
        }
        let shared = self.types(a).and(self.types(b));
        if shared.is_none() {
            return Overlap::Disjoint;
        }
        if let (Some(x), Some(y)) = (self.constants(a), self.constants(b))
            && !x.iter().any(|own| y.iter().any(|other| are_equal(own, other)))
        {
            return Overlap::Disjoint;
        }
        for (own, other) in [(a, b), (b, a)] {
            if let Some(listed) = self.listed_values(own) {
                return self.overlap_by_value(&listed, other);
            }
        }
        let mut overlap = self.overlap_by_type(a, b, shared);
        for (own, other) in [(a, b), (b, a)] {
            let unions = self.guard(own).filter(|_| self.is_same(own)).into_iter().flat_map(Guard::all_unions);
            for union in unions {
                let branches = union.iter().map(|branch| (GuardedShape::Of(LensId::SAME, Some(*branch)), other));
                overlap = overlap.min(self.max_overlap(branches));
            }
        }
        overlap
    }

    pub(super) fn max_overlap(&mut self, pairs: impl IntoIterator<Item = (GuardedShape, GuardedShape)>) -> Overlap {
        let mut most = Overlap::Disjoint;
        for (a, b) in pairs {
            most = most.max(self.overlap(a, b));
            if most == Overlap::Ambiguous {
                break;
            }
        }
        most
    }

    pub(super) fn guard(&self, guarded: GuardedShape) -> Option<&'l Guard> {
        match guarded {
            GuardedShape::Null | GuardedShape::Entries(..) => None,
            GuardedShape::Of(_, guard) => self.lens.guard(guard?),
        }
    }

    /// The branches of a union, or `null` and the rest.
    pub(super) fn alternatives(&self, guarded: GuardedShape) -> Option<Vec<GuardedShape>> {
        let GuardedShape::Of(id, guard) = guarded else { return None };
        let shape = self.lens.shape(id);
        if let Shape::Union(branches) = shape {
            return Some(branches.iter().map(|own| GuardedShape::Of(own.lens, Some(own.guard))).collect());
        }
        let (Shape::Nullable(inner) | Shape::NullIsAbsent(inner)) = shape else { return None };
        Some(vec![GuardedShape::Null, GuardedShape::Of(*inner, guard)])
    }

    /// The values of a short enum without a lens.
    fn constants(&self, guarded: GuardedShape) -> Option<&'l [Value]> {
        let GuardedShape::Of(LensId::SAME, _) = guarded else { return None };
        self.guard(guarded)?.values.as_deref().filter(|values| values.len() <= MAX_PAIRED_VALUES)
    }

    /// The values of an enum as pairs: on the wire, and decoded.
    fn listed_values(&self, guarded: GuardedShape) -> Option<Vec<(Value, Value)>> {
        let id = match guarded {
            GuardedShape::Null => return Some(vec![(Value::Null, Value::Null)]),
            GuardedShape::Entries(..) => return None,
            GuardedShape::Of(id, _) => id,
        };
        let shape = self.lens.shape(id);
        let pairs: Vec<(Value, Value)> = if let Shape::Labels(labels) = shape {
            labels.iter().map(|(label, own)| (label.clone().into(), own.clone())).collect()
        } else {
            let values = self.guard(guarded).filter(|_| *shape == Shape::Same)?.values.as_ref()?;
            values.iter().map(|own| (own.clone(), own.clone())).collect()
        };
        (pairs.len() <= MAX_LISTED_VALUES).then_some(pairs)
    }

    fn overlap_by_value(&mut self, listed: &[(Value, Value)], other: GuardedShape) -> Overlap {
        let steps = listed.len() / 8;
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.work.spend(steps);
        let mut most = Overlap::Disjoint;
        for (wire, own) in listed {
            let Some(back) = self.decode_as(other, wire) else { continue };
            if !are_equal(&back, own) {
                return Overlap::Ambiguous;
            }
            most = Overlap::Equivalent;
        }
        most
    }

    fn decode_as(&self, guarded: GuardedShape, wire: &Value) -> Option<Value> {
        match guarded {
            GuardedShape::Null => wire.is_null().then_some(Value::Null),
            // No value is listed that is a list of entries: whatever it means, it is something else.
            GuardedShape::Entries(..) => wire.is_array().then(|| Value::Object(Map::new())),
            GuardedShape::Of(id, guard) => {
                let back = self.lens.convert_by(id, wire.clone(), Direction::Decode).ok()?;
                guard.is_none_or(|guard| self.lens.admits(guard, &back, LookDepth::Deep)).then_some(back)
            }
        }
    }

    fn overlap_by_type(&mut self, a: GuardedShape, b: GuardedShape, shared: Types) -> Overlap {
        let mut most = Overlap::Disjoint;
        if shared.intersects(Types::NULL.or(Types::BOOLEAN))
            || shared.intersects(Types::NUMBER) && self.number_ranges_overlap(a, b)
        {
            most = Overlap::Equivalent;
        }
        if shared.intersects(Types::STRING) {
            let is_text = |guarded: GuardedShape| matches!(guarded, GuardedShape::Of(id, _) if matches!(self.lens.shape(id), Shape::Text));
            most = most.max(if is_text(a) == is_text(b) { Overlap::Equivalent } else { Overlap::Ambiguous });
        }
        if shared.intersects(Types::ARRAY) && most < Overlap::Ambiguous {
            most = most.max(self.overlap_lists(a, b));
        }
        if shared.intersects(Types::OBJECT) && most < Overlap::Ambiguous {
            let (x, y) = (self.wire_object(a), self.wire_object(b));
            most = most.max(self.overlap_objects(&x, &y));
        }
        most
    }

    fn number_ranges_overlap(&self, a: GuardedShape, b: GuardedShape) -> bool {
        let (Some(x), Some(y)) = (self.guard(a), self.guard(b)) else { return true };
        let below = |max: Option<(f64, bool)>, min: Option<(f64, bool)>| match (max, min) {
            (Some((max, max_out)), Some((min, min_out))) => max < min || (max <= min && (max_out || min_out)),
            _ => false,
        };
        !below(x.max, y.min) && !below(y.max, x.min)
    }

    fn wire_list(&self, guarded: GuardedShape) -> WireList<'l> {
        let id = match guarded {
            GuardedShape::Null => LensId::SAME,
            GuardedShape::Entries(inner, guard) => return WireList::Entries(GuardedShape::Of(inner, guard)),
            GuardedShape::Of(id, _) => id,
        };
        match self.lens.shape(id) {
            Shape::Array { prefix, rest } => WireList::Items(prefix, *rest),
            Shape::Entries(inner) => {
                WireList::Entries(GuardedShape::Of(*inner, self.guard(guarded).and_then(|guard| guard.additional)))
            }
            Shape::AtMostOne(inner) => WireList::AtMostOne(match guarded {
                GuardedShape::Of(_, guard) => GuardedShape::Of(*inner, guard),
                GuardedShape::Null | GuardedShape::Entries(..) => GuardedShape::Of(*inner, None),
            }),
            Shape::Same
            | Shape::Link(_)
            | Shape::Nullable(_)
            | Shape::NullIsAbsent(_)
            | Shape::Object(_)
            | Shape::Tuple { .. }
            | Shape::Wrapped(..)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Union(_)
            | Shape::Choice { .. } => WireList::Items(&[], LensId::SAME),
        }
    }

    fn sizes(&self, guarded: GuardedShape, what: SizeKind) -> (u64, u64) {
        let sizes = self.guard(guarded).map_or(&[][..], |guard| &guard.sizes);
        let own = sizes.iter().find(|(kind, ..)| *kind == what);
        own.map_or((0, u64::MAX), |(_, min, max)| (*min, max.unwrap_or(u64::MAX)))
    }

    fn overlap_lists(&mut self, a: GuardedShape, b: GuardedShape) -> Overlap {
        match (self.wire_list(a), self.wire_list(b)) {
            (WireList::Items(x, x_rest), WireList::Items(y, y_rest)) => {
                self.overlap_items((a, x, x_rest), (b, y, y_rest))
            }
            (WireList::Entries(x), WireList::Entries(y)) | (WireList::AtMostOne(x), WireList::AtMostOne(y)) => {
                self.overlap(x, y).max(Overlap::Equivalent)
            }
            (WireList::Items(prefix, rest), WireList::Entries(_)) => {
                self.overlap_items_and_entries((a, prefix, rest), b)
            }
            (WireList::Entries(_), WireList::Items(prefix, rest)) => {
                self.overlap_items_and_entries((b, prefix, rest), a)
            }
            (WireList::AtMostOne(_), _) | (_, WireList::AtMostOne(_)) => Overlap::Ambiguous,
        }
    }

    fn item(&self, (guarded, prefix, rest): (GuardedShape, &[LensId], LensId), index: usize) -> GuardedShape {
        let asked = self.guard(guarded).and_then(|guard| guard.prefix.get(index).copied().or(guard.items));
        GuardedShape::Of(prefix.get(index).copied().unwrap_or(rest), asked)
    }

    fn overlap_items(&mut self, a: (GuardedShape, &[LensId], LensId), b: (GuardedShape, &[LensId], LensId)) -> Overlap {
        let ((a_min, a_max), (b_min, b_max)) = (self.sizes(a.0, SizeKind::Array), self.sizes(b.0, SizeKind::Array));
        let (least, greatest) = (a_min.max(b_min), a_max.min(b_max));
        if least > greatest {
            return Overlap::Disjoint;
        }
        let places = |guarded: GuardedShape, prefix: &[LensId]| {
            self.guard(guarded).map_or(0, |guard| guard.prefix.len()).max(prefix.len())
        };
        let places = places(a.0, a.1).max(places(b.0, b.1));
        let mut most = Overlap::Equivalent;
        for (index, count) in (0..=places).zip(1..) {
            if count > greatest {
                break;
            }
            match self.overlap(self.item(a, index), self.item(b, index)) {
                Overlap::Disjoint if count <= least => return Overlap::Disjoint,
                Overlap::Disjoint => break,
                own @ (Overlap::Equivalent | Overlap::Ambiguous) => most = most.max(own),
            }
        }
        most
    }

    fn overlap_items_and_entries(
        &mut self,
        items: (GuardedShape, &[LensId], LensId),
        entries: GuardedShape,
    ) -> Overlap {
        let least = self.sizes(items.0, SizeKind::Array).0.max(self.sizes(entries, SizeKind::Object).0);
        // An empty list has no items that could tell.
        let first = self.item(items, 0);
        let objects = self.types(first).intersects(Types::OBJECT);
        if least == 0 || objects { Overlap::Ambiguous } else { Overlap::Disjoint }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Comparer, Guard, GuardId, GuardedShape, Lens, LensId, Overlap};
    use crate::step_budget::StepBudget;
    use crate::types::Types;

    fn object(properties: &[(&str, GuardId)]) -> Guard {
        Guard {
            types: Some(Types::OBJECT),
            required: properties.iter().map(|(key, _)| (*key).into()).collect(),
            properties: properties.iter().map(|(key, id)| ((*key).into(), *id)).collect(),
            ..Guard::default()
        }
    }

    #[test]
    fn what_was_found_on_an_assumption_that_failed_is_not_known() {
        let mut lens = Lens::identity();
        let [a, b, c, d] = [(); 4].map(|()| lens.add_guard(Guard::default()));
        let [tag_a, tag_b] =
            ["a", "b"].map(|tag| lens.add_guard(Guard { values: Some(vec![json!(tag)]), ..Guard::default() }));
        for (id, guard) in [
            (a, object(&[("next", c), ("tag", tag_a)])),
            (b, object(&[("next", d), ("tag", tag_b)])),
            (c, object(&[("up", a)])),
            (d, object(&[("up", b)])),
        ] {
            lens.set_guard(id, guard);
        }
        let guarded = |id| GuardedShape::Of(LensId::SAME, Some(id));
        let work = StepBudget::for_nodes(0);
        let mut comparer = Comparer::new(&lens, &work);
        assert_eq!(comparer.overlap(guarded(a), guarded(b)), Overlap::Disjoint);
        // On the way there it was compared as if the pair around it could meet.
        assert_eq!(comparer.overlap(guarded(c), guarded(d)), Overlap::Disjoint);
    }

    /// Recursive tagged objects whose tag is compared last.
    #[test]
    fn objects_that_hold_each_other_are_told_apart_in_few_steps() {
        let mut lens = Lens::identity();
        let mut inner = || lens.add_guard(Guard::default());
        let objects = [(); 8].map(|()| (inner(), inner()));
        for (number, (object_id, child)) in objects.into_iter().enumerate() {
            let tag = lens.add_guard(Guard { values: Some(vec![json!(number)]), ..Guard::default() });
            lens.set_guard(object_id, object(&[("child", child), ("kind", tag)]));
            let any = objects.map(|(object_id, _)| object_id).to_vec();
            lens.set_guard(child, Guard { unions: vec![any], ..Guard::default() });
        }
        let work = StepBudget::for_nodes(0);
        let mut comparer = Comparer::new(&lens, &work);
        let before = comparer.steps_left;
        for (a, _) in objects {
            for (b, _) in objects.into_iter().filter(|(b, _)| *b != a) {
                let guarded = |id| GuardedShape::Of(LensId::SAME, Some(id));
                assert_eq!(comparer.overlap(guarded(a), guarded(b)), Overlap::Disjoint);
            }
        }
        let steps = before - comparer.steps_left;
        assert!(steps < 2_000, "{steps}");
    }
}
