//! Chooses the branch of a union: by shape if only one matches, else by evaluating guards.

use serde_json::{Map, Value};

use super::apply::{Conversion, ConversionResult, Direction, fail, with_outer_step};
use super::guard::{GuardVerdict, LookDepth};
use super::{Absent, Branch, Guard, GuardId, Lens, LensId, ObjectShape, Shape, Undeclared};

/// Deeper shapes are assumed to match.
const MAX_DEPTH: usize = 32;

/// The limit of shapes visited to find a cycle.
const MAX_STEPS: usize = 64;

impl Conversion<'_> {
    /// Encodes by the first branch that accepts the value. The whole value is evaluated once: inside a branch that was chosen so,
    /// a shallow look is enough if it leaves one branch.
    pub(super) fn encode_union(&mut self, branches: &[Branch], value: Value) -> ConversionResult {
        let (lens, is_verified) = (self.lens, self.is_verified);
        let near = |branch: &&Branch| lens.admits(branch.guard, &value, LookDepth::Shallow);
        let right = match count_matches(branches.iter().filter(near)) {
            MatchCount::One(branch) if is_verified => Some(branch),
            MatchCount::None => None,
            MatchCount::One(_) | MatchCount::Several => lens.best_branch(branches, &value),
        };
        let Some(branch) = right else { return fail("no branch of the union fits") };
        self.is_verified = true;
        let converted = self.convert(branch.lens, value);
        self.is_verified = is_verified;
        converted
    }

    /// Decodes by the branch whose wire shape the value has; of several, by the first whose guard accepts, or may accept, the
    /// decoded value. Otherwise by any branch that can decode it.
    pub(super) fn decode_union(&mut self, branches: &[Branch], value: Value) -> ConversionResult {
        let (lens, direction) = (self.lens, self.direction);
        let fits = |branch: &&Branch| lens.may_match(branch.lens, branch.guard, &value, direction, MAX_DEPTH);
        if let MatchCount::One(branch) = count_matches(branches.iter().filter(fits)) {
            let back = self.convert(branch.lens, value)?;
            self.count_mismatch_unless_admitted(branch.guard, &back);
            return Ok(back);
        }
        let looks_right: Vec<&Branch> = branches.iter().filter(fits).collect();
        if !looks_right.is_empty() && looks_right.iter().all(|branch| branch.lens.is_same()) {
            return Ok(value);
        }
        let any_looks_right = !looks_right.is_empty();
        let mut tried = if any_looks_right { looks_right } else { branches.iter().collect() };
        tried.sort_by_key(|branch| lens.match_chance(branch.lens, MAX_DEPTH));
        let (mut likely, mut readable, mut fault) = (None, None, None);
        let repairs = self.repair_count();
        for branch in tried {
            let Some(left) = self.attempts_left.checked_sub(1) else { break };
            self.attempts_left = left;
            let mismatches = self.mismatches;
            self.attempts_open += 1;
            let converted = self.convert(branch.lens, value.clone());
            self.attempts_open -= 1;
            let taken = self.take_repairs(repairs);
            match converted {
                Ok(back) => {
                    let (sure, verdict) = (self.mismatches == mismatches, lens.verdict(branch.guard, &back));
                    if sure && verdict == GuardVerdict::Yes {
                        return Ok(back);
                    }
                    let best = if sure && verdict != GuardVerdict::No { &mut likely } else { &mut readable };
                    keep_best(best, verdict, (back, taken));
                }
                Err(error) => fault = fault.or(Some(error)),
            }
            self.mismatches = mismatches;
        }
        if let Some((_, (back, repairs))) = likely {
            self.put_repairs(repairs);
            return Ok(back);
        }
        self.mismatches += 1;
        match (readable, fault) {
            // What looks right and cannot be read is not taken for something else that does not fit.
            (Some((GuardVerdict::No, _)) | None, Some(fault)) if any_looks_right && direction == Direction::Decode => {
                Err(fault)
            }
            (Some((_, (back, repairs))), _) => {
                self.put_repairs(repairs);
                Ok(back)
            }
            (None, Some(fault)) => Err(fault),
            (None, None) => fail("no branch of the union fits"),
        }
    }

    /// While an outer branch is being tried, a shallow match is not enough: the outer guard may ask less.
    fn count_mismatch_unless_admitted(&mut self, guard: GuardId, back: &Value) {
        if self.attempts_open == 0 || self.attempts_left == 0 {
            return;
        }
        self.attempts_left -= 1;
        if !self.lens.admits(guard, back, LookDepth::Deep) {
            self.mismatches += 1;
        }
    }

    /// Closed and synthetic wire objects have no other keys.
    pub(super) fn count_mismatch_unless_empty(&mut self, left: &Map<String, Value>) {
        self.mismatches += usize::from(!left.is_empty());
    }

    pub(super) fn convert_choice(
        &mut self,
        branches: &[(String, GuardId)],
        object: LensId,
        value: Value,
    ) -> ConversionResult {
        if self.direction == Direction::Encode {
            let lens = self.lens;
            let right = lens.best_match(branches, |(_, guard)| *guard, &value);
            let Some((name, _)) = right else { return fail("no branch of the union fits") };
            let converted = self.convert(object, Value::Object(Map::from_iter([(name.clone(), value)])));
            // The key is none of the caller's.
            return with_outer_step(converted, |_| None);
        }
        let map = match self.convert(object, value)? {
            Value::Object(map) => map,
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                self.repair("no choice was made; the value is read as it is");
                return Ok(plain);
            }
        };
        let is_choice = |key: &String| branches.iter().any(|(name, _)| name == key);
        let count = map.keys().filter(|key| is_choice(key)).count();
        if count == 0 {
            if self.direction == Direction::Partial {
                return fail("the choice has not arrived");
            }
            self.repair("no choice was made; the value is read as it is");
            return Ok(Value::Object(map));
        }
        if count > 1 {
            self.repair("several choices were made: the last one is read");
        }
        let chosen = map.into_iter().rfind(|(key, _)| is_choice(key));
        chosen.map_or_else(|| fail("no choice was made"), |(_, value)| Ok(value))
    }
}

/// Of equal verdicts, the first is kept.
fn keep_best<T>(best: &mut Option<(GuardVerdict, T)>, verdict: GuardVerdict, value: T) {
    if best.as_ref().is_none_or(|(most, _)| verdict > *most) {
        *best = Some((verdict, value));
    }
}

/// The chance that an unrelated value has a shape. Synthetic shapes are unlikely by chance, so they are tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchChance {
    Low,
    Medium,
    Certain,
}

enum MatchCount<T> {
    None,
    One(T),
    Several,
}

fn count_matches<T>(mut of: impl Iterator<Item = T>) -> MatchCount<T> {
    match (of.next(), of.next()) {
        (None, _) => MatchCount::None,
        (Some(one), None) => MatchCount::One(one),
        (Some(_), Some(_)) => MatchCount::Several,
    }
}

impl Lens {
    /// The branch with the best verdict, the first of several.
    fn best_match<'b, B>(&self, branches: &'b [B], guard: impl Fn(&B) -> GuardId, value: &Value) -> Option<&'b B> {
        let mut best = (GuardVerdict::No, None);
        for branch in branches {
            let verdict = self.verdict(guard(branch), value);
            if verdict > best.0 {
                best = (verdict, Some(branch));
            }
            if verdict == GuardVerdict::Yes {
                break;
            }
        }
        best.1
    }

    /// The best match of a union. A branch that contains the union itself adds nothing, so any other that surely accepts the value
    /// is preferred.
    fn best_branch<'b>(&self, branches: &'b [Branch], value: &Value) -> Option<&'b Branch> {
        let right = self.best_match(branches, |branch| branch.guard, value)?;
        if !self.is_cyclic_branch(right.lens, branches) {
            return Some(right);
        }
        let sure = |branch: &&Branch| self.verdict(branch.guard, value) == GuardVerdict::Yes;
        let mut others = branches.iter().filter(|branch| !self.is_cyclic_branch(branch.lens, branches));
        others.find(sure).or(Some(right))
    }

    /// True where a shape contains the union for the same value.
    fn is_cyclic_branch(&self, id: LensId, union: &[Branch]) -> bool {
        let (mut open, mut left) = (vec![id], MAX_STEPS);
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

    fn match_chance(&self, id: LensId, depth: usize) -> MatchChance {
        let Some(depth) = depth.checked_sub(1) else { return MatchChance::Medium };
        match self.shape(id) {
            Shape::Same => MatchChance::Certain,
            Shape::Link(inner) | Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => {
                self.match_chance(*inner, depth)
            }
            Shape::Wrapped(..) | Shape::Tuple { .. } | Shape::Choice { .. } => MatchChance::Low,
            Shape::Object(_)
            | Shape::Array { .. }
            | Shape::Entries(_)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Union(_) => MatchChance::Medium,
        }
    }

    /// A shallow test: can the wire value be an encoding by this shape of a value that the guard admits?
    fn may_match(&self, id: LensId, guard: GuardId, value: &Value, direction: Direction, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return true };
        match (self.shape(id), value) {
            (Shape::Same, value) => {
                direction == Direction::Partial
                    || self.admits(guard, value, LookDepth::Shallow) && self.has_only_declared_keys(guard, value)
            }
            (Shape::Link(inner), value) => self.may_match(*inner, guard, value, direction, depth),
            (Shape::Nullable(inner) | Shape::NullIsAbsent(inner), value) => {
                value.is_null() || self.may_match(*inner, guard, value, direction, depth)
            }
            (Shape::Object(shape), Value::Object(map)) => self.may_match_object(shape, guard, map, direction, depth),
            (Shape::Array { .. }, Value::Array(_)) | (Shape::Text, Value::String(_)) => true,
            // What is no object, or no list, travels as it is.
            (Shape::Object(_) | Shape::Array { .. }, value) => match direction {
                Direction::Partial => self.guard(guard).is_none_or(|own| own.admits_type_of(value)),
                Direction::Encode | Direction::Decode => self.admits(guard, value, LookDepth::Shallow),
            },
            (Shape::Tuple { fields, rest, object }, Value::Object(map)) => {
                let least = self.guard(guard).map_or(0, Guard::min_items);
                let here = |(field, _): (&String, u64)| direction == Direction::Partial || map.contains_key(field);
                map.keys().all(|key| fields.contains(key) || rest.as_ref() == Some(key))
                    && fields.iter().zip(0..least).all(here)
                    && (direction == Direction::Partial || self.has_all_marked_fields(*object, map))
            }
            (Shape::Entries(_), Value::Array(entries)) => {
                entries.first().is_none_or(|entry| entry.get("key").is_some_and(Value::is_string))
            }
            (Shape::Wrapped(key, _), Value::Object(map)) => map.len() == 1 && map.contains_key(key),
            (Shape::AtMostOne(_), Value::Array(list)) => list.len() < 2,
            (Shape::Labels(labels), Value::String(text)) => labels.iter().any(|(label, _)| label == text),
            (Shape::Union(branches), value) => {
                branches.iter().any(|branch| self.may_match(branch.lens, branch.guard, value, direction, depth))
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

    fn has_all_marked_fields(&self, id: LensId, map: &Map<String, Value>) -> bool {
        let Shape::Object(shape) = self.shape(id) else { return true };
        shape.fields.iter().all(|field| !field.absent.is_encoded() || map.contains_key(field.wire()))
    }

    fn may_match_object(
        &self,
        shape: &ObjectShape,
        guard: GuardId,
        map: &Map<String, Value>,
        direction: Direction,
        depth: usize,
    ) -> bool {
        let Some(guard) = self.guard(guard) else { return true };
        let mut known = 0;
        for (index, field) in shape.fields.iter().enumerate() {
            let Some(value) = map.get(field.wire()) else {
                let kept = field.absent == Absent::Kept && guard.required.iter().any(|name| **name == *field.name);
                let needed = kept || field.absent.is_encoded();
                if needed && direction != Direction::Partial {
                    return false;
                }
                continue;
            };
            known += 1;
            // The outside of the property is enough: its own properties are not looked at.
            let says = property_guard(guard, index, &field.name).filter(|_| field.absent == Absent::Kept && depth > 0);
            if says.is_some_and(|own| !self.may_match(field.lens, own, value, direction, 1)) {
                return false;
            }
        }
        let rest = shape.rest.as_ref().is_some_and(|rest| map.contains_key(&rest.wire));
        if !rest && direction != Direction::Partial && shape.rest.as_ref().is_some_and(|rest| rest.always) {
            return false;
        }
        let closed = guard.additional.and_then(|own| self.guard(own)).is_some_and(Guard::is_never);
        let asked = closed && guard.pattern_properties.is_empty();
        let refused = asked || shape.rest.is_some() || self.undeclared == Undeclared::Refused;
        !refused || known + usize::from(rest) == map.len()
    }

    fn has_only_declared_keys(&self, guard: GuardId, value: &Value) -> bool {
        let (Undeclared::Refused, Value::Object(map), Some(guard)) = (self.undeclared, value, self.guard(guard)) else {
            return true;
        };
        let declares = |(index, key): (usize, &String)| property_guard(guard, index, key).is_some();
        guard.properties.is_empty() || map.keys().enumerate().all(declares)
    }
}

/// Guards and fields usually list properties in the same order.
pub(super) fn property_guard(guard: &Guard, index: usize, name: &str) -> Option<GuardId> {
    let here = guard.properties.get(index).filter(|(own, _)| own == name);
    here.or_else(|| guard.properties.iter().find(|(own, _)| own == name)).map(|(_, id)| *id)
}
