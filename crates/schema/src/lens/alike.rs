//! Branches of a union that can look the same on the wire and mean different values: found by laying the shapes of two branches,
//! and what is asked of their values, over each other. Where none do, it does not matter which branch a value is read by.

use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use foldhash::HashMap;
use serde_json::{Map, Value, json};

use super::apply::Way;
use super::frame::Frame;
use super::guard::{Reach, same};
use super::wire_types::WireTypes;
use super::{Branch, Guard, GuardId, Lens, LensId, Shape, Sized};
use crate::types::Types;
use crate::work::Work;

/// Shapes within shapes beyond this depth are not compared.
const DEEPEST: usize = 48;

/// How many pairs of shapes are compared for the unions that are asked about together.
const MOST_STEPS: usize = 100_000;

/// More listed values than this are not looked at one by one.
const MOST_VALUES: usize = 256;

/// So many listed values are compared with as many others, each with each.
const FEW_VALUES: usize = 16;

/// How two shapes meet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meeting {
    /// No value of the wire has both shapes.
    Never,
    /// A value that has both means the same in both.
    Alike,
    /// A value may have both shapes and mean something else in each.
    Clash,
}

/// A shape, and what is asked of the values that travel in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Null,
    Of(LensId, Option<GuardId>),
    /// Entries of such values.
    Entries(LensId, Option<GuardId>),
}

impl Hash for Side {
    /// In one piece: sides are looked up more often than anything else is done with them.
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

/// Two branches of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lookalikes {
    /// The number of the union in the list that was asked about.
    pub(crate) union: usize,
    /// The numbers of the branches, first the one that had better look different: what travels as it is stays so, if that
    /// helps.
    pub(crate) branches: [usize; 2],
}

/// What a search for look-alikes found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) pairs: Vec<Lookalikes>,
    /// The numbers of the unions whose branches were not all compared, because that would have been too much.
    pub(crate) undecided: Vec<usize>,
}

impl Lens {
    /// The branches of these unions that can be taken for each other, as far as the unions are in use.
    pub(crate) fn lookalikes(&self, unions: &[LensId], work: &Work) -> Found {
        let mut comparer = Comparer::new(self, work);
        let (mut pairs, mut undecided) = (Vec::new(), Vec::new());
        for (union, id) in unions.iter().enumerate() {
            let Shape::Union(branches) = self.shape(*id) else { continue };
            for (second, own) in branches.iter().enumerate() {
                for (first, other) in branches.iter().enumerate().take(second) {
                    let (a, b) = (Side::Of(other.lens, Some(other.guard)), Side::Of(own.lens, Some(own.guard)));
                    if own.lens != other.lens && comparer.meet(a, b) == Meeting::Clash {
                        let leave = !self.is_open(*own) && (own.lens.is_same() || self.is_open(*other));
                        let branches = if leave { [first, second] } else { [second, first] };
                        pairs.push(Lookalikes { union, branches });
                    }
                }
            }
            if comparer.steps_left == 0 || work.is_spent() {
                undecided.push(union);
            }
        }
        if !pairs.is_empty() {
            let used = self.used();
            let is_used = |id: &LensId| used.get(id.0 as usize).copied().unwrap_or(false);
            pairs.retain(|pair| unions.get(pair.union).is_some_and(is_used));
        }
        Found { pairs, undecided }
    }

    /// Whether a branch travels as it is and takes objects of any kind: whatever another branch becomes could be one.
    fn is_open(&self, branch: Branch) -> bool {
        branch.lens.is_same() && self.admits(branch.guard, &json!({ "option": {} }), Reach::Near)
    }

    /// Which shapes the root leads to.
    fn used(&self) -> Vec<bool> {
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
    known: HashMap<(Side, Side), Known>,
    /// The pairs that became known and are not sure, because they lean on one that is being compared.
    trail: Vec<(Side, Side)>,
    /// The depth of the outermost pair, of those being compared, that what is found now was made to depend on.
    leans: usize,
    /// The objects that shapes make on the wire.
    pub(super) framed: HashMap<Side, Rc<Frame<'l>>>,
    pub(super) wire_types: WireTypes,
    pub(super) steps_left: usize,
    pub(super) work: &'l Work,
    depth: usize,
}

/// What is known of a pair.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// How it meets, and the depth of the outermost open pair that this leans on; none where it is sure.
    Meets(Meeting, usize),
    /// It is being compared, at that depth, and something may have been found as if its sides were alike.
    Open { depth: usize, leant_on: bool },
}

/// What is sure leans on no open pair.
const SURE: usize = usize::MAX;

/// A list on the wire.
#[derive(Clone, Copy)]
enum List<'l> {
    /// Its items, in shapes of their own.
    Items(&'l [LensId], LensId),
    /// The entries of a map, of which each has such a value.
    Entries(Side),
    /// One value or none.
    AtMostOne(Side),
}

impl<'l> Comparer<'l> {
    pub(super) fn new(lens: &'l Lens, work: &'l Work) -> Self {
        Self {
            lens,
            known: HashMap::default(),
            trail: Vec::new(),
            leans: SURE,
            framed: HashMap::default(),
            wire_types: WireTypes::default(),
            steps_left: MOST_STEPS,
            work,
            depth: 0,
        }
    }

    /// Gives the comparer as many steps as it had when it was new. What it knows it keeps.
    pub(super) fn rest(&mut self) {
        self.steps_left = MOST_STEPS;
    }

    pub(super) fn meet(&mut self, a: Side, b: Side) -> Meeting {
        let (a, b) = (self.settled(a), self.settled(b));
        if self.stated_types(a).and(self.stated_types(b)).is_none() {
            return Meeting::Never;
        }
        if a == b || !self.work.spend(1) {
            return Meeting::Alike;
        }
        let pair = if a < b { (a, b) } else { (b, a) };
        let new = match self.known.entry(pair) {
            Entry::Occupied(mut known) => {
                let (meeting, leans) = match known.get_mut() {
                    Known::Meets(meeting, leans) => (*meeting, *leans),
                    // A pair within itself adds nothing to what is found on the way there.
                    Known::Open { depth, leant_on } => {
                        *leant_on = true;
                        (Meeting::Alike, *depth)
                    }
                };
                self.leans = self.leans.min(leans);
                return meeting;
            }
            Entry::Vacant(new) => new,
        };
        let Some(left) = self.steps_left.checked_sub(1) else { return Meeting::Alike };
        self.steps_left = left;
        if self.depth == DEEPEST {
            // What is too far away to be compared is taken to differ.
            return if self.is_same(a) && self.is_same(b) { Meeting::Alike } else { Meeting::Clash };
        }
        new.insert(Known::Open { depth: self.depth, leant_on: false });
        let (start, around) = (self.trail.len(), std::mem::replace(&mut self.leans, SURE));
        self.depth += 1;
        let meeting = self.laid_over(a, b);
        self.depth -= 1;
        // What never meets does not do so either where more is known than that the pairs around may be alike.
        let sure = meeting == Meeting::Never || self.leans >= self.depth;
        let leans = if sure { SURE } else { self.leans };
        let was = self.known.insert(pair, Known::Meets(meeting, leans));
        if meeting == Meeting::Never && matches!(was, Some(Known::Open { leant_on: true, .. })) {
            // What was found as if this pair could meet is not known after all. Within a clash it stays, as to forget it there takes
            // some schemas many times as long: where the clash is mended, all is compared again.
            for pair in self.trail.drain(start..) {
                self.known.remove(&pair);
            }
        } else if self.leans >= self.depth {
            for pair in self.trail.drain(start..) {
                if let Some(Known::Meets(_, leans)) = self.known.get_mut(&pair) {
                    *leans = SURE;
                }
            }
        }
        if !sure {
            self.trail.push(pair);
        }
        self.leans = around.min(leans);
        meeting
    }

    /// The types that are stated for what travels as it is: no search, and seldom all that is known.
    fn stated_types(&self, side: Side) -> Types {
        let Side::Of(LensId::SAME, _) = side else { return Types::ANY };
        self.guard(side).and_then(|guard| guard.types).unwrap_or(Types::ANY)
    }

    /// The shape that a link leads to.
    pub(super) fn settled(&self, side: Side) -> Side {
        let Side::Of(mut id, guard) = side else { return side };
        for _ in 0..super::DEEPEST_LINKS {
            let Shape::Link(inner) = self.lens.shape(id) else { break };
            id = *inner;
        }
        Side::Of(if self.lens.keeps(id) { LensId::SAME } else { id }, guard)
    }

    fn is_same(&self, side: Side) -> bool {
        match side {
            Side::Null => true,
            Side::Of(id, _) => self.lens.keeps(id),
            Side::Entries(..) => false,
        }
    }

    fn laid_over(&mut self, a: Side, b: Side) -> Meeting {
        if let (Side::Of(x, _), Side::Of(y, _)) = (a, b)
            && x == y
            && !x.is_same()
        {
            return Meeting::Alike;
        }
        for (own, other) in [(a, b), (b, a)] {
            if let Some(parts) = self.parts(own) {
                return self.most(parts.into_iter().map(|part| (part, other)));
            }
        }
        let shared = self.types(a).and(self.types(b));
        if shared.is_none() {
            return Meeting::Never;
        }
        if let (Some(x), Some(y)) = (self.constants(a), self.constants(b))
            && !x.iter().any(|own| y.iter().any(|other| same(own, other)))
        {
            return Meeting::Never;
        }
        for (own, other) in [(a, b), (b, a)] {
            if let Some(listed) = self.listed(own) {
                return self.by_value(&listed, other);
            }
        }
        let mut meeting = self.by_type(a, b, shared);
        for (own, other) in [(a, b), (b, a)] {
            let unions = self.guard(own).filter(|_| self.is_same(own)).into_iter().flat_map(Guard::all_unions);
            for union in unions {
                let branches = union.iter().map(|branch| (Side::Of(LensId::SAME, Some(*branch)), other));
                meeting = meeting.min(self.most(branches));
            }
        }
        meeting
    }

    pub(super) fn most(&mut self, pairs: impl IntoIterator<Item = (Side, Side)>) -> Meeting {
        let mut most = Meeting::Never;
        for (a, b) in pairs {
            most = most.max(self.meet(a, b));
            if most == Meeting::Clash {
                break;
            }
        }
        most
    }

    pub(super) fn guard(&self, side: Side) -> Option<&'l Guard> {
        match side {
            Side::Null | Side::Entries(..) => None,
            Side::Of(_, guard) => self.lens.guard(guard?),
        }
    }

    /// The shapes of which a shape is one.
    pub(super) fn parts(&self, side: Side) -> Option<Vec<Side>> {
        let Side::Of(id, guard) = side else { return None };
        let shape = self.lens.shape(id);
        if let Shape::Union(branches) = shape {
            return Some(branches.iter().map(|own| Side::Of(own.lens, Some(own.guard))).collect());
        }
        let (Shape::Nullable(inner) | Shape::NullIsAbsent(inner)) = shape else { return None };
        Some(vec![Side::Null, Side::Of(*inner, guard)])
    }

    /// The few values that are listed for what travels as it is, where they are.
    fn constants(&self, side: Side) -> Option<&'l [Value]> {
        let Side::Of(LensId::SAME, _) = side else { return None };
        self.guard(side)?.values.as_deref().filter(|values| values.len() <= FEW_VALUES)
    }

    /// What a shape makes of the values that are listed for it, where they are: on the wire, and for the caller.
    fn listed(&self, side: Side) -> Option<Vec<(Value, Value)>> {
        let id = match side {
            Side::Null => return Some(vec![(Value::Null, Value::Null)]),
            Side::Entries(..) => return None,
            Side::Of(id, _) => id,
        };
        let shape = self.lens.shape(id);
        let pairs: Vec<(Value, Value)> = if let Shape::Labels(labels) = shape {
            labels.iter().map(|(label, own)| (label.clone().into(), own.clone())).collect()
        } else {
            let values = self.guard(side).filter(|_| *shape == Shape::Same)?.values.as_ref()?;
            values.iter().map(|own| (own.clone(), own.clone())).collect()
        };
        (pairs.len() <= MOST_VALUES).then_some(pairs)
    }

    fn by_value(&mut self, listed: &[(Value, Value)], other: Side) -> Meeting {
        let steps = listed.len() / 8;
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.work.spend(steps);
        let mut most = Meeting::Never;
        for (wire, own) in listed {
            let Some(back) = self.read_as(other, wire) else { continue };
            if !same(&back, own) {
                return Meeting::Clash;
            }
            most = Meeting::Alike;
        }
        most
    }

    /// What a value of the wire means in a shape that it can have.
    fn read_as(&self, side: Side, wire: &Value) -> Option<Value> {
        match side {
            Side::Null => wire.is_null().then_some(Value::Null),
            // No value is listed that is a list of entries: whatever it means, it is something else.
            Side::Entries(..) => wire.is_array().then(|| Value::Object(Map::new())),
            Side::Of(id, guard) => {
                let back = self.lens.pass_from(id, wire.clone(), Way::Decode).ok()?;
                guard.is_none_or(|guard| self.lens.admits(guard, &back, Reach::Far)).then_some(back)
            }
        }
    }

    fn by_type(&mut self, a: Side, b: Side, shared: Types) -> Meeting {
        let mut most = Meeting::Never;
        if shared.meets(Types::NULL.or(Types::BOOLEAN)) || shared.meets(Types::NUMBER) && self.numbers_meet(a, b) {
            most = Meeting::Alike;
        }
        if shared.meets(Types::STRING) {
            let is_text = |side: Side| matches!(side, Side::Of(id, _) if matches!(self.lens.shape(id), Shape::Text));
            most = most.max(if is_text(a) == is_text(b) { Meeting::Alike } else { Meeting::Clash });
        }
        if shared.meets(Types::ARRAY) && most < Meeting::Clash {
            most = most.max(self.lists(a, b));
        }
        if shared.meets(Types::OBJECT) && most < Meeting::Clash {
            let (x, y) = (self.frame(a), self.frame(b));
            most = most.max(self.frames(&x, &y));
        }
        most
    }

    fn numbers_meet(&self, a: Side, b: Side) -> bool {
        let (Some(x), Some(y)) = (self.guard(a), self.guard(b)) else { return true };
        let below = |max: Option<(f64, bool)>, min: Option<(f64, bool)>| match (max, min) {
            (Some((max, max_out)), Some((min, min_out))) => max < min || (max <= min && (max_out || min_out)),
            _ => false,
        };
        !below(x.max, y.min) && !below(y.max, x.min)
    }

    fn list(&self, side: Side) -> List<'l> {
        let id = match side {
            Side::Null => LensId::SAME,
            Side::Entries(inner, guard) => return List::Entries(Side::Of(inner, guard)),
            Side::Of(id, _) => id,
        };
        match self.lens.shape(id) {
            Shape::Array { prefix, rest } => List::Items(prefix, *rest),
            Shape::Entries(inner) => {
                List::Entries(Side::Of(*inner, self.guard(side).and_then(|guard| guard.additional)))
            }
            Shape::AtMostOne(inner) => List::AtMostOne(match side {
                Side::Of(_, guard) => Side::Of(*inner, guard),
                Side::Null | Side::Entries(..) => Side::Of(*inner, None),
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
            | Shape::Choice { .. } => List::Items(&[], LensId::SAME),
        }
    }

    /// The least and the greatest number of items, or of entries.
    fn sizes(&self, side: Side, what: Sized) -> (u64, u64) {
        let sizes = self.guard(side).map_or(&[][..], |guard| &guard.sizes);
        let own = sizes.iter().find(|(kind, ..)| *kind == what);
        own.map_or((0, u64::MAX), |(_, min, max)| (*min, max.unwrap_or(u64::MAX)))
    }

    fn lists(&mut self, a: Side, b: Side) -> Meeting {
        match (self.list(a), self.list(b)) {
            (List::Items(x, x_rest), List::Items(y, y_rest)) => self.items((a, x, x_rest), (b, y, y_rest)),
            (List::Entries(x), List::Entries(y)) | (List::AtMostOne(x), List::AtMostOne(y)) => {
                self.meet(x, y).max(Meeting::Alike)
            }
            (List::Items(prefix, rest), List::Entries(_)) => self.items_and_entries((a, prefix, rest), b),
            (List::Entries(_), List::Items(prefix, rest)) => self.items_and_entries((b, prefix, rest), a),
            (List::AtMostOne(_), _) | (_, List::AtMostOne(_)) => Meeting::Clash,
        }
    }

    fn item(&self, (side, prefix, rest): (Side, &[LensId], LensId), index: usize) -> Side {
        let asked = self.guard(side).and_then(|guard| guard.prefix.get(index).copied().or(guard.items));
        Side::Of(prefix.get(index).copied().unwrap_or(rest), asked)
    }

    fn items(&mut self, a: (Side, &[LensId], LensId), b: (Side, &[LensId], LensId)) -> Meeting {
        let ((a_min, a_max), (b_min, b_max)) = (self.sizes(a.0, Sized::Array), self.sizes(b.0, Sized::Array));
        let (least, greatest) = (a_min.max(b_min), a_max.min(b_max));
        if least > greatest {
            return Meeting::Never;
        }
        let places =
            |side: Side, prefix: &[LensId]| self.guard(side).map_or(0, |guard| guard.prefix.len()).max(prefix.len());
        let places = places(a.0, a.1).max(places(b.0, b.1));
        let mut most = Meeting::Alike;
        for (index, count) in (0..=places).zip(1..) {
            if count > greatest {
                break;
            }
            match self.meet(self.item(a, index), self.item(b, index)) {
                Meeting::Never if count <= least => return Meeting::Never,
                Meeting::Never => break,
                own @ (Meeting::Alike | Meeting::Clash) => most = most.max(own),
            }
        }
        most
    }

    fn items_and_entries(&mut self, items: (Side, &[LensId], LensId), entries: Side) -> Meeting {
        let least = self.sizes(items.0, Sized::Array).0.max(self.sizes(entries, Sized::Object).0);
        // An empty list has no items that could tell.
        let first = self.item(items, 0);
        let objects = self.types(first).meets(Types::OBJECT);
        if least == 0 || objects { Meeting::Clash } else { Meeting::Never }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Comparer, Guard, GuardId, Lens, LensId, Meeting, Side};
    use crate::types::Types;
    use crate::work::Work;

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
        let side = |id| Side::Of(LensId::SAME, Some(id));
        let work = Work::for_nodes(0);
        let mut comparer = Comparer::new(&lens, &work);
        assert_eq!(comparer.meet(side(a), side(b)), Meeting::Never);
        // On the way there it was compared as if the pair around it could meet.
        assert_eq!(comparer.meet(side(c), side(d)), Meeting::Never);
    }

    /// Tagged objects that hold any of themselves, where the tag is looked at last.
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
        let work = Work::for_nodes(0);
        let mut comparer = Comparer::new(&lens, &work);
        let before = comparer.steps_left;
        for (a, _) in objects {
            for (b, _) in objects.into_iter().filter(|(b, _)| *b != a) {
                let side = |id| Side::Of(LensId::SAME, Some(id));
                assert_eq!(comparer.meet(side(a), side(b)), Meeting::Never);
            }
        }
        let steps = before - comparer.steps_left;
        assert!(steps < 2_000, "{steps}");
    }
}
