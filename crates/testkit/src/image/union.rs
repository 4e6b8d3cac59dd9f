//! The image of a union: alternative by alternative, each by the branch that decodes it.

use polywire_schema::internals::{Absent, Branch, GuardId, GuardView, Kw, LensId, LensView, ObjectShape, Shape, Types};
use serde_json::{Map, Value, json};
use smol_str::SmolStr;

use super::keywords::{DEFS, any_of, has_only_keywords, listed, types};
use super::{Bound, Imager, MAX_DEPTH};
use crate::sample::sample;

/// Values that are made up to see that a branch of the wire is read as the branch it was made for.
const SAMPLES: u64 = 16;

impl Imager<'_> {
    /// Alternative by alternative, each by the branch that reads it: the only one that can, or one that reads all made-up values.
    pub(super) fn union(&mut self, id: LensId, branches: &[Branch], schema: &Value, depth: usize) -> Option<Value> {
        let wire = self.alternatives(schema, depth)?;
        let mut images = Vec::new();
        for (index, own) in wire.iter().enumerate() {
            let resolved = self.resolved(own)?;
            if let Some(values) = listed(resolved.as_object()?) {
                images.push(self.decode_listed(id, values));
                continue;
            }
            let readers = match self.bound {
                Bound::Exact => self.readers(id, branches, own, &resolved, (index, wire.len()))?,
                // What no branch was made for is read by any that can.
                Bound::AtMost => branches.to_vec(),
            };
            let mut readings =
                readers.iter().map(|branch| self.image(branch.lens, own, depth)).collect::<Option<Vec<_>>>()?;
            readings.dedup();
            images.push(match self.bound {
                Bound::Exact => readings.pop().filter(|_| readings.is_empty())?,
                Bound::AtMost => any_of(readings),
            });
        }
        Some(any_of(images))
    }

    /// The branches that read an alternative: those that read all made-up values as the union does, and of these the best.
    fn readers(
        &self,
        id: LensId,
        branches: &[Branch],
        own: &Value,
        resolved: &Value,
        (index, count): (usize, usize),
    ) -> Option<Vec<Branch>> {
        let read = WireAlternative { wire: resolved, kinds: Types::named(resolved.get("type")?.as_str()?)? };
        let made = self.samples_of(own)?;
        let back = |root: LensId, value: &Value| self.lens.decode(root, value.clone());
        let reads =
            |branch: &Branch, keys: KeyTest| Reader(self.lens).reads(branch.lens, branch.guard, &read, keys, MAX_DEPTH);
        let mut readers: Vec<Branch> = branches.iter().filter(|branch| reads(branch, KeyTest::Any)).copied().collect();
        readers.retain(|branch| made.iter().all(|value| back(id, value) == back(branch.lens, value)));
        // Where no branch has the keys that it looks for, any may be the one.
        if readers.iter().any(|branch| reads(branch, KeyTest::LookedFor)) {
            readers.retain(|branch| reads(branch, KeyTest::LookedFor));
        }
        // They stand in the same order where there is one for each. What comes back as it is needs no other reader.
        let twin = branches.get(index).filter(|twin| count == branches.len() && readers.contains(twin));
        let plain = || readers.iter().find(|branch| self.lens.is_identity(branch.lens));
        Some(twin.or_else(plain).map_or(readers.clone(), |best| vec![*best]))
    }

    /// Values made up of a part of the wire's schema.
    fn samples_of(&self, schema: &Value) -> Option<Vec<Value>> {
        let mut rooted = self.resolved(schema)?;
        if let (Some(map), Some(defs)) = (rooted.as_object_mut(), self.wire.get(DEFS)) {
            map.insert(DEFS.to_owned(), defs.clone());
        }
        Some((0..SAMPLES).filter_map(|seed| sample(&rooted, seed)).collect())
    }

    /// The branches of a union, each of one type or a list of values; a reference to a single one stays a reference.
    pub(super) fn alternatives(&mut self, schema: &Value, depth: usize) -> Option<Vec<Value>> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.steps_left = self.steps_left.checked_sub(1)?;
        if schema.as_bool() == Some(true) {
            return self.alternatives(&json!({}), depth + 1);
        }
        let map = schema.as_object()?;
        if let Some(reference) = map.get("$ref") {
            has_only_keywords(map, &["$ref", DEFS, "$schema"])?;
            let target = self.target(reference.as_str()?)?.clone();
            let inside = self.alternatives(&target, depth + 1)?;
            return Some(if inside.len() == 1 { vec![schema.clone()] } else { inside });
        }
        if let Some(branches) = map.get(Kw::AnyOf.name()) {
            has_only_keywords(map, &[Kw::AnyOf.name(), DEFS, "$schema"])?;
            let mut all = Vec::new();
            for branch in branches.as_array()? {
                all.extend(self.alternatives(branch, depth + 1)?);
            }
            return Some(all);
        }
        if let Some(values) = listed(map) {
            let (null, values): (Vec<Value>, Vec<Value>) = values.into_iter().partition(Value::is_null);
            let null = null.first().map(|_| json!({"type": "null"}));
            let values = (!values.is_empty()).then(|| json!({ "enum": values }));
            return Some(values.into_iter().chain(null).collect());
        }
        let Some(kinds) = types(map) else { return Some(vec![schema.clone()]) };
        let of_kind = |kind: &str| {
            let speaks_of_it =
                |word: &str, kind: Types| Kw::of(word).is_none_or(|kw| kw.info().applies_to.intersects(kind));
            let own = map.iter().filter(|(word, _)| Types::named(kind).is_none_or(|kind| speaks_of_it(word, kind)));
            let mut own: Map<String, Value> = own.map(|(word, value)| (word.clone(), value.clone())).collect();
            own.insert("type".to_owned(), json!(kind));
            Value::Object(own)
        };
        Some(kinds.into_iter().map(of_kind).collect())
    }
}

/// What is asked of the keys of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyTest {
    Any,
    /// Those that a shape looks for, and no others where it wants none.
    LookedFor,
}

/// An alternative of the wire that a branch may read.
struct WireAlternative<'s> {
    wire: &'s Value,
    kinds: Types,
}

impl WireAlternative<'_> {
    fn properties(&self) -> Option<&Map<String, Value>> {
        self.wire.get(Kw::Properties.name()).and_then(Value::as_object)
    }

    fn required(&self) -> impl Iterator<Item = &str> {
        self.wire.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether an object may have a property.
    fn may_have(&self, name: &str) -> bool {
        let is_declared = self.properties().is_some_and(|properties| properties.contains_key(name));
        let is_open = self.wire.get(Kw::AdditionalProperties.name()) != Some(&json!(false))
            || self.wire.get(Kw::PatternProperties.name()).is_some();
        is_declared || is_open
    }

    /// The values of a property that is always there.
    fn values(&self, name: &str) -> Option<Vec<Value>> {
        let own = self.properties()?.get(name)?.as_object()?;
        self.required().any(|one| one == name).then(|| listed(own)).flatten()
    }
}

/// The shapes that may read an alternative.
struct Reader<'l>(LensView<'l>);

impl Reader<'_> {
    /// Whether a shape may be what reads a value of the wire.
    fn reads(&self, id: LensId, guard: GuardId, read: &WireAlternative<'_>, keys: KeyTest, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return true };
        let own = match self.0.shape(id) {
            Shape::Same => self.0.guard(guard).map_or(Types::ANY, GuardView::types),
            Shape::Link(inner) => return self.reads(*inner, guard, read, keys, depth),
            Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => {
                return read.kinds.intersects(Types::NULL) || self.reads(*inner, guard, read, keys, depth);
            }
            Shape::Union(branches) => {
                return branches.iter().any(|branch| self.reads(branch.lens, branch.guard, read, keys, depth));
            }
            Shape::Object(_) | Shape::Tuple { .. } | Shape::Wrapped(..) | Shape::Choice { .. } => Types::OBJECT,
            Shape::Array { .. } | Shape::Entries(_) | Shape::AtMostOne(_) => Types::ARRAY,
            Shape::Text | Shape::Labels(_) => Types::STRING,
        };
        let is_object = read.kinds == Types::OBJECT;
        own.intersects(read.kinds) && (keys == KeyTest::Any || !is_object || self.reads_keys(id, guard, read))
    }

    /// Whether objects of the wire may have the keys that a shape looks for, and no others where it wants none.
    fn reads_keys(&self, id: LensId, guard: GuardId, read: &WireAlternative<'_>) -> bool {
        let Some(guard) = self.0.guard(guard) else { return true };
        match self.0.shape(id) {
            Shape::Same => self.reads_guarded(guard, read),
            Shape::Object(shape) => self.reads_object(shape, guard, read),
            Shape::Wrapped(key, _) => read.may_have(key) && read.required().all(|name| name == key),
            Shape::Choice { branches, .. } => branches.iter().any(|(name, _)| read.may_have(name)),
            Shape::Tuple { fields, rest, .. } => {
                read.required().all(|name| fields.iter().any(|field| field == name) || rest.as_deref() == Some(name))
            }
            Shape::Link(_)
            | Shape::Nullable(_)
            | Shape::NullIsAbsent(_)
            | Shape::Array { .. }
            | Shape::Entries(_)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_)
            | Shape::Union(_) => true,
        }
    }

    fn reads_guarded(&self, guard: GuardView<'_>, read: &WireAlternative<'_>) -> bool {
        let declares = |name: &str| guard.properties().iter().any(|(own, _)| own == name);
        let told = |(name, own): &(SmolStr, GuardId)| {
            read.values(name).is_none_or(|values| values.iter().any(|value| self.0.admits(*own, value)))
        };
        guard.required().iter().all(|name| read.may_have(name))
            && (!guard.is_closed() || read.required().all(declares))
            && guard.properties().iter().all(told)
    }

    fn reads_object(&self, shape: &ObjectShape, guard: GuardView<'_>, read: &WireAlternative<'_>) -> bool {
        let needs = |absent: Absent, name: &str| {
            absent.is_encoded() || (absent == Absent::Kept && guard.required().iter().any(|own| own == name))
        };
        let is_closed = guard.is_closed() || shape.rest.is_some() || self.0.refuses_undeclared();
        let is_known = |name: &str| {
            shape.fields.iter().any(|field| field.wire() == name)
                || shape.rest.as_ref().is_some_and(|rest| rest.wire == name)
        };
        let told = |name: &str, wire: &str| {
            let own = guard.properties().iter().find(|(own, _)| own == name);
            let values = own.and_then(|(_, own)| Some((own, read.values(wire)?)));
            values.is_none_or(|(own, values)| values.iter().any(|value| self.0.admits(*own, value)))
        };
        shape.fields.iter().all(|field| {
            let is_kept = field.absent == Absent::Kept && self.0.is_identity(field.lens);
            (!needs(field.absent, &field.name) || read.may_have(field.wire()))
                && (!is_kept || told(&field.name, field.wire()))
        }) && (!is_closed || read.required().all(is_known))
    }
}
