//! The right branch of a union: by shape where that is enough, by looking into the value where several branches look right.

use serde_json::{Map, Value};

use super::apply::{Passage, Passed, Way, above, fail};
use super::guard::{Reach, Verdict};
use super::{Absent, Branch, Guard, GuardId, Lens, LensId, ObjectShape, Shape, Undeclared};

/// Shapes within shapes beyond this depth are taken to fit.
const DEEPEST: usize = 32;

/// So many shapes are looked at to find whether one leads back.
const MOST_STEPS: usize = 64;

impl Passage<'_> {
    /// The caller's value, by the first branch that accepts it. The whole value is looked at once: within a branch that was
    /// chosen so, the outside of a value is enough where only one branch looks right.
    pub(super) fn encode_union(&mut self, branches: &[Branch], value: Value) -> Passed {
        let (lens, vouched) = (self.lens, self.vouched);
        let near = |branch: &&Branch| lens.admits(branch.guard, &value, Reach::Near);
        let right = match only(branches.iter().filter(near)) {
            Only::One(branch) if vouched => Some(branch),
            Only::None => None,
            Only::One(_) | Only::Several => lens.right_branch(branches, &value),
        };
        let Some(branch) = right else { return fail("no branch of the union fits") };
        self.vouched = true;
        let passed = self.through(branch.lens, value);
        self.vouched = vouched;
        passed
    }

    /// A value from the wire, by the branch whose wire shape it has; where several may be meant, by the first that gives what
    /// the caller's branch accepts, or may accept. Failing that, whatever can be read.
    pub(super) fn decode_union(&mut self, branches: &[Branch], value: Value) -> Passed {
        let (lens, way) = (self.lens, self.way);
        let fits = |branch: &&Branch| lens.may_be(branch.lens, branch.guard, &value, way, DEEPEST);
        if let Only::One(branch) = only(branches.iter().filter(fits)) {
            let back = self.through(branch.lens, value)?;
            self.doubt_unless_admitted(branch.guard, &back);
            return Ok(back);
        }
        let looks_right: Vec<&Branch> = branches.iter().filter(fits).collect();
        if !looks_right.is_empty() && looks_right.iter().all(|branch| branch.lens.is_same()) {
            return Ok(value);
        }
        let any_looks_right = !looks_right.is_empty();
        let mut tried = if any_looks_right { looks_right } else { branches.iter().collect() };
        tried.sort_by_key(|branch| lens.chance_of(branch.lens, DEEPEST));
        let (mut likely, mut readable, mut fault) = (None, None, None);
        let repairs = self.repair_count();
        for branch in tried {
            let Some(left) = self.tries_left.checked_sub(1) else { break };
            self.tries_left = left;
            let doubts = self.doubts;
            self.trying += 1;
            let passed = self.through(branch.lens, value.clone());
            self.trying -= 1;
            let taken = self.take_repairs(repairs);
            match passed {
                Ok(back) => {
                    let (sure, verdict) = (self.doubts == doubts, lens.verdict(branch.guard, &back));
                    if sure && verdict == Verdict::Yes {
                        return Ok(back);
                    }
                    let best = if sure && verdict != Verdict::No { &mut likely } else { &mut readable };
                    keep_best(best, verdict, (back, taken));
                }
                Err(error) => fault = fault.or(Some(error)),
            }
            self.doubts = doubts;
        }
        if let Some((_, (back, repairs))) = likely {
            self.put_repairs(repairs);
            return Ok(back);
        }
        self.doubts += 1;
        match (readable, fault) {
            // What looks right and cannot be read is not taken for something else that does not fit.
            (Some((Verdict::No, _)) | None, Some(fault)) if any_looks_right && way == Way::Decode => Err(fault),
            (Some((_, (back, repairs))), _) => {
                self.put_repairs(repairs);
                Ok(back)
            }
            (None, Some(fault)) => Err(fault),
            (None, None) => fail("no branch of the union fits"),
        }
    }

    /// Within a branch that is tried, what only looks right must be right: the branch around it may ask less.
    fn doubt_unless_admitted(&mut self, guard: GuardId, back: &Value) {
        if self.trying == 0 || self.tries_left == 0 {
            return;
        }
        self.tries_left -= 1;
        if !self.lens.admits(guard, back, Reach::Far) {
            self.doubts += 1;
        }
    }

    /// An object that was made up for the wire, or is closed there, has no more keys than it was given.
    pub(super) fn doubt_unless_empty(&mut self, left: &Map<String, Value>) {
        self.doubts += usize::from(!left.is_empty());
    }

    pub(super) fn choice(&mut self, branches: &[(String, GuardId)], object: LensId, value: Value) -> Passed {
        if self.way == Way::Encode {
            let lens = self.lens;
            let right = lens.right_one(branches, |(_, guard)| *guard, &value);
            let Some((name, _)) = right else { return fail("no branch of the union fits") };
            let passed = self.through(object, Value::Object(Map::from_iter([(name.clone(), value)])));
            // The key is none of the caller's.
            return above(passed, |_| None);
        }
        let map = match self.through(object, value)? {
            Value::Object(map) => map,
            plain => {
                self.repair("no choice was made; the value is read as it is");
                return Ok(plain);
            }
        };
        let chosen = |key: &String| branches.iter().any(|(name, _)| name == key);
        let count = map.keys().filter(|key| chosen(key)).count();
        if count == 0 {
            if self.way == Way::Partial {
                return fail("the choice has not arrived");
            }
            self.repair("no choice was made; the value is read as it is");
            return Ok(Value::Object(map));
        }
        if count > 1 {
            self.repair("several choices were made: the last one is read");
        }
        map.into_iter().rfind(|(key, _)| chosen(key)).map_or_else(|| fail("no choice was made"), |(_, value)| Ok(value))
    }
}

/// Keeps the value that most likely is right, the first of several.
fn keep_best<T>(best: &mut Option<(Verdict, T)>, verdict: Verdict, value: T) {
    if best.as_ref().is_none_or(|(most, _)| verdict > *most) {
        *best = Some((verdict, value));
    }
}

/// How easily a value has a shape by chance. A shape that was made for a union is hardly there by chance: it comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Chance {
    Hardly,
    Perhaps,
    Always,
}

/// How many there are.
enum Only<T> {
    None,
    One(T),
    Several,
}

fn only<T>(mut of: impl Iterator<Item = T>) -> Only<T> {
    match (of.next(), of.next()) {
        (None, _) => Only::None,
        (Some(one), None) => Only::One(one),
        (Some(_), Some(_)) => Only::Several,
    }
}

impl Lens {
    /// The branch that most likely accepts a value, the first of several.
    fn right_one<'b, B>(&self, branches: &'b [B], guard: impl Fn(&B) -> GuardId, value: &Value) -> Option<&'b B> {
        let mut best = (Verdict::No, None);
        for branch in branches {
            let verdict = self.verdict(guard(branch), value);
            if verdict > best.0 {
                best = (verdict, Some(branch));
            }
            if verdict == Verdict::Yes {
                break;
            }
        }
        best.1
    }

    /// The same of a union. A branch that leads back to the union without a step into the value says no more than the others do:
    /// one of these is taken where it surely accepts the value.
    fn right_branch<'b>(&self, branches: &'b [Branch], value: &Value) -> Option<&'b Branch> {
        let right = self.right_one(branches, |branch| branch.guard, value)?;
        if !self.leads_back(right.lens, branches) {
            return Some(right);
        }
        let sure = |branch: &&Branch| self.verdict(branch.guard, value) == Verdict::Yes;
        let mut others = branches.iter().filter(|branch| !self.leads_back(branch.lens, branches));
        others.find(sure).or(Some(right))
    }

    /// Whether a shape may be a union again that stands around it, for the same value.
    fn leads_back(&self, id: LensId, union: &[Branch]) -> bool {
        let (mut open, mut left) = (vec![id], MOST_STEPS);
        while let Some(id) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match self.shape(id) {
                Shape::Union(own) if std::ptr::eq(own.as_slice(), union) => return true,
                Shape::Union(own) => open.extend(own.iter().map(|branch| branch.lens)),
                Shape::Link(inner) | Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => open.push(*inner),
                Shape::Same
                | Shape::Object(_)
                | Shape::Array { .. }
                | Shape::Tuple { .. }
                | Shape::Entries(_)
                | Shape::Wrapped(..)
                | Shape::AtMostOne(_)
                | Shape::Text
                | Shape::Labels(_)
                | Shape::Choice { .. } => {}
            }
        }
        false
    }

    fn chance_of(&self, id: LensId, depth: usize) -> Chance {
        let Some(depth) = depth.checked_sub(1) else { return Chance::Perhaps };
        match self.shape(id) {
            Shape::Same => Chance::Always,
            Shape::Link(inner) | Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => self.chance_of(*inner, depth),
            Shape::Wrapped(..) | Shape::Tuple { .. } | Shape::Choice { .. } => Chance::Hardly,
            Shape::Object(_)
            | Shape::Array { .. }
            | Shape::Entries(_)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Union(_) => Chance::Perhaps,
        }
    }

    /// Whether a value from the wire can be what a shape makes of a value that a guard admits, as far as its outside tells.
    fn may_be(&self, id: LensId, guard: GuardId, value: &Value, way: Way, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return true };
        match (self.shape(id), value) {
            (Shape::Same, value) => {
                way == Way::Partial || self.admits(guard, value, Reach::Near) && self.may_be_closed(guard, value)
            }
            (Shape::Link(inner), value) => self.may_be(*inner, guard, value, way, depth),
            (Shape::Nullable(inner) | Shape::NullIsAbsent(inner), value) => {
                value.is_null() || self.may_be(*inner, guard, value, way, depth)
            }
            (Shape::Object(shape), Value::Object(map)) => self.may_be_object(shape, guard, map, way, depth),
            (Shape::Array { .. }, Value::Array(_)) | (Shape::Text, Value::String(_)) => true,
            // What is no object, or no list, travels as it is.
            (Shape::Object(_) | Shape::Array { .. }, value) => match way {
                Way::Partial => self.guard(guard).is_none_or(|own| own.takes_type_of(value)),
                Way::Encode | Way::Decode => self.admits(guard, value, Reach::Near),
            },
            (Shape::Tuple { fields, rest, object }, Value::Object(map)) => {
                let least = self.guard(guard).map_or(0, Guard::least_items);
                let here = |(field, _): (&String, u64)| way == Way::Partial || map.contains_key(field);
                map.keys().all(|key| fields.contains(key) || rest.as_ref() == Some(key))
                    && fields.iter().zip(0..least).all(here)
                    && (way == Way::Partial || self.is_whole(*object, map))
            }
            (Shape::Entries(_), Value::Array(entries)) => {
                entries.first().is_none_or(|entry| entry.get("key").is_some_and(Value::is_string))
            }
            (Shape::Wrapped(key, _), Value::Object(map)) => map.len() == 1 && map.contains_key(key),
            (Shape::AtMostOne(_), Value::Array(list)) => list.len() < 2,
            (Shape::Labels(labels), Value::String(text)) => labels.iter().any(|(label, _)| label == text),
            (Shape::Union(branches), value) => {
                branches.iter().any(|branch| self.may_be(branch.lens, branch.guard, value, way, depth))
            }
            (Shape::Choice { branches, .. }, Value::Object(map)) => {
                branches.iter().any(|(name, _)| map.contains_key(name))
            }
            (
                Shape::Tuple { .. }
                | Shape::Entries(_)
                | Shape::Wrapped(..)
                | Shape::AtMostOne(_)
                | Shape::Text
                | Shape::Labels(_)
                | Shape::Choice { .. },
                _,
            ) => false,
        }
    }

    /// Whether an object has the keys that are there on the wire whatever the caller's value is.
    fn is_whole(&self, id: LensId, map: &Map<String, Value>) -> bool {
        let Shape::Object(shape) = self.shape(id) else { return true };
        shape.fields.iter().all(|field| !field.absent.has_a_mark() || map.contains_key(field.wire()))
    }

    fn may_be_object(
        &self,
        shape: &ObjectShape,
        guard: GuardId,
        map: &Map<String, Value>,
        way: Way,
        depth: usize,
    ) -> bool {
        let Some(guard) = self.guard(guard) else { return true };
        let mut known = 0;
        for (index, field) in shape.fields.iter().enumerate() {
            let Some(value) = map.get(field.wire()) else {
                let kept = field.absent == Absent::Kept && guard.required.iter().any(|name| **name == *field.name);
                let needed = kept || field.absent.has_a_mark();
                if needed && way != Way::Partial {
                    return false;
                }
                continue;
            };
            known += 1;
            // The outside of the property is enough: its own properties are not looked at.
            let says = property_of(guard, index, &field.name).filter(|_| field.absent == Absent::Kept && depth > 0);
            if says.is_some_and(|own| !self.may_be(field.lens, own, value, way, 1)) {
                return false;
            }
        }
        let rest = shape.rest.as_ref().is_some_and(|rest| map.contains_key(&rest.wire));
        if !rest && way != Way::Partial && shape.rest.as_ref().is_some_and(|rest| rest.always) {
            return false;
        }
        let closed = guard.additional.and_then(|own| self.guard(own)).is_some_and(Guard::is_never);
        let asked = closed && guard.pattern_properties.is_empty();
        let refused = asked || shape.rest.is_some() || self.undeclared == Undeclared::Refused;
        !refused || known + usize::from(rest) == map.len()
    }

    /// Whether an object that travels as it is has no properties that none may have on the wire.
    fn may_be_closed(&self, guard: GuardId, value: &Value) -> bool {
        let (Undeclared::Refused, Value::Object(map), Some(guard)) = (self.undeclared, value, self.guard(guard)) else {
            return true;
        };
        let declares = |(index, key): (usize, &String)| property_of(guard, index, key).is_some();
        guard.properties.is_empty() || map.keys().enumerate().all(declares)
    }
}

/// What a guard asks of a property; it usually stands where the property stands among the fields.
pub(super) fn property_of(guard: &Guard, index: usize, name: &str) -> Option<GuardId> {
    let here = guard.properties.get(index).filter(|(own, _)| own == name);
    here.or_else(|| guard.properties.iter().find(|(own, _)| own == name)).map(|(_, id)| *id)
}
