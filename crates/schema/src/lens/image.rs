//! A fitted schema as the caller sees it: the schema of everything that its values may come back as. It is built from the lens
//! and the wire's schema together, shape by shape; what cannot be said exactly is not said at all.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::apply::Way;
use super::guard::{GuardId, Pattern};
use super::{Absent, Branch, Field, Lens, LensId, ObjectShape, Shape};
use crate::keyword::Kw;
use crate::sample::sample;
use crate::types::Types;

/// Schemas within schemas beyond this depth are given up.
const DEEPEST: usize = 128;

/// How many schemas are looked at in all.
const MOST_STEPS: usize = 20_000;

/// Values that are made up to see that a branch of the wire is read as the branch it was made for.
const TRIED: u64 = 16;

/// How much of a schema is shown that has no image.
const MOST_SHOWN: usize = 200;

/// Words that accept everything.
const SILENT: [&str; 8] =
    ["title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"];

/// The definition of a schema that refers to itself as a whole.
const WHOLE: &str = "image-of-all";

/// Where definitions stand.
const DEFS: &str = "$defs";

/// Why there is no [`image`](Lens::image): what comes back at one place cannot be said exactly as a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoImage {
    what: &'static str,
    schema: String,
}

impl fmt::Display for NoImage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "what comes back through {} of {} cannot be said as a schema", self.what, self.schema)
    }
}

impl std::error::Error for NoImage {}

impl Lens {
    /// The schema of everything that a value of the wire's schema may come back as, in the words of JSON Schema 2020-12, or
    /// what stands in the way of saying that exactly. A key that the schema declares is not expected among the entries of undeclared ones.
    pub fn image(&self, schema: &Value) -> Result<Value, NoImage> {
        let schema = match &self.next {
            Some(next) => next.image(schema)?,
            None => schema.clone(),
        };
        if self.root.is_same() {
            return Ok(schema);
        }
        let schema = without_root_references(schema);
        let mut imager = Imager {
            lens: self,
            wire: &schema,
            made: Map::new(),
            names: HashMap::new(),
            steps_left: MOST_STEPS,
            stuck: None,
        };
        let top = imager.image(self.root, &schema, 0);
        let Imager { made, stuck, .. } = imager;
        let unsaid = || stuck.unwrap_or_else(|| NoImage { what: "the whole", schema: shortened(&schema) });
        let mut top = top.ok_or_else(unsaid)?;
        let mut defs = schema.get(DEFS).and_then(Value::as_object).cloned().unwrap_or_default();
        defs.extend(made);
        if let Some(map) = top.as_object_mut() {
            map.remove(DEFS);
            if !defs.is_empty() {
                map.insert(DEFS.to_owned(), Value::Object(defs));
            }
        }
        Ok(top)
    }
}

impl Lens {
    /// Whether a shape may be what reads a value of these types from the wire: more than it does, never less.
    fn reads(&self, id: LensId, guard: GuardId, kinds: Types, depth: usize) -> bool {
        if depth > DEEPEST {
            return true;
        }
        let wire = match self.shape(id) {
            Shape::Same => self.guard(guard).and_then(|guard| guard.types).unwrap_or(Types::ANY),
            Shape::Link(inner) => return self.reads(*inner, guard, kinds, depth + 1),
            Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => {
                return kinds.meets(Types::NULL) || self.reads(*inner, guard, kinds, depth + 1);
            }
            Shape::Union(branches) => {
                return branches.iter().any(|branch| self.reads(branch.lens, branch.guard, kinds, depth + 1));
            }
            Shape::Object(_) | Shape::Tuple { .. } | Shape::Wrapped(..) | Shape::Choice { .. } => Types::OBJECT,
            Shape::Array { .. } | Shape::Entries(_) | Shape::AtMostOne(_) => Types::ARRAY,
            Shape::Text | Shape::Labels(_) => Types::STRING,
        };
        wire.meets(kinds)
    }
}

/// The image of one schema under way.
struct Imager<'l> {
    lens: &'l Lens,
    wire: &'l Value,
    /// Images of definitions, by name.
    made: Map<String, Value>,
    /// The names of those, by shape and reference: a loop ends where it began.
    names: HashMap<(u32, String), String>,
    steps_left: usize,
    /// The innermost place that has no image.
    stuck: Option<NoImage>,
}

impl Imager<'_> {
    fn image(&mut self, id: LensId, schema: &Value, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        self.steps_left = self.steps_left.checked_sub(1)?;
        if id.is_same() || self.lens.keeps(id) {
            return keeps_its_place(schema).then(|| schema.clone());
        }
        if let Shape::Link(inner) = self.lens.shape(id) {
            return self.image(*inner, schema, depth + 1);
        }
        if schema.as_bool() == Some(false) {
            return Some(json!(false));
        }
        let map = schema.as_object()?;
        if let Some(reference) = map.get("$ref") {
            return self.image_of_reference(id, reference.as_str()?, map, depth);
        }
        // What a union comes back as is the union of what its branches come back as.
        if !matches!(self.lens.shape(id), Shape::Union(_)) && (map.contains_key(Kw::AnyOf.name()) || is_mixed(map)) {
            let images = self.alternatives(schema, depth)?;
            let images: Option<Vec<Value>> = images.iter().map(|one| self.image(id, one, depth + 1)).collect();
            return images.map(any_of);
        }
        if let Some(values) = listed(map) {
            return Some(self.decoded(id, values));
        }
        let image = self.shaped(id, schema, map, depth + 1);
        if image.is_none() && self.stuck.is_none() {
            self.stuck = Some(NoImage { what: self.lens.shape(id).name(), schema: shortened(schema) });
        }
        image
    }

    /// What listed values come back as.
    fn decoded(&self, id: LensId, values: Vec<Value>) -> Value {
        let back = values.into_iter().filter_map(|value| self.lens.pass_from(id, value, Way::Decode).ok());
        json!({ "enum": back.collect::<Vec<_>>() })
    }

    fn image_of_reference(
        &mut self,
        id: LensId,
        reference: &str,
        map: &Map<String, Value>,
        depth: usize,
    ) -> Option<Value> {
        only(map, &["$ref", DEFS, "$schema"])?;
        let key = (id.0, reference.to_owned());
        if let Some(name) = self.names.get(&key) {
            return Some(reference_to(name));
        }
        let name = format!("image-{}", self.names.len());
        self.names.insert(key, name.clone());
        let target = self.target(reference)?.clone();
        let image = self.image(id, &target, depth + 1)?;
        self.made.insert(name.clone(), image);
        Some(reference_to(&name))
    }

    fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix("#/$defs/")?;
        (!pointer.contains('/')).then(|| self.wire.pointer(&format!("/$defs/{pointer}"))).flatten()
    }

    /// A schema that is no reference, or what the reference leads to.
    fn resolved(&self, schema: &Value) -> Option<Value> {
        let mut schema = schema.clone();
        for _ in 0..DEEPEST {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
            schema = self.target(reference).or_else(|| self.made.get(reference.strip_prefix("#/$defs/")?))?.clone();
        }
        None
    }

    fn shaped(&mut self, id: LensId, schema: &Value, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        let kind = map.get("type").and_then(Value::as_str);
        match self.lens.shape(id) {
            Shape::Same | Shape::Link(_) => None,
            Shape::Nullable(_) | Shape::NullIsAbsent(_) if kind == Some("null") => Some(schema.clone()),
            Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => {
                kind?;
                self.image(*inner, schema, depth)
            }
            Shape::Object(shape) if kind == Some("object") => self.object(shape, map, depth),
            Shape::Array { prefix, rest } if kind == Some("array") => self.array(prefix, *rest, map, depth),
            Shape::Object(_) | Shape::Array { .. } => kind.filter(|_| keeps_its_place(schema)).map(|_| schema.clone()),
            Shape::Tuple { fields, rest, object } => {
                let object = self.image(*object, schema, depth)?;
                tuple(fields, rest.as_deref(), &self.resolved(&object)?)
            }
            Shape::Entries(inner) => self.entries(*inner, map, depth),
            Shape::Wrapped(key, inner) => {
                only(
                    map,
                    &["type", Kw::Properties.name(), "required", Kw::AdditionalProperties.name(), DEFS, "$schema"],
                )?;
                self.image(*inner, map.get(Kw::Properties.name())?.get(key)?, depth)
            }
            Shape::AtMostOne(inner) => {
                let list = at_most_one(map)?;
                let mut images: Vec<Value> =
                    list.item.map(|item| self.image(*inner, item, depth)).into_iter().collect::<Option<_>>()?;
                images.extend(list.may_be_empty.then(|| json!({"type": "null"})));
                Some(any_of(images))
            }
            Shape::Text => (kind == Some("string")).then(|| json!(true)),
            Shape::Labels(labels) => {
                let labels: Vec<&Value> = labels.iter().map(|(_, value)| value).collect();
                (kind == Some("string")).then(|| json!({ "enum": labels }))
            }
            Shape::Union(branches) => self.union(id, branches, schema, depth),
            Shape::Choice { branches, object } => {
                let object = self.image(*object, schema, depth)?;
                let object = self.resolved(&object)?;
                let properties = object.get(Kw::Properties.name())?;
                branches.iter().map(|(name, _)| properties.get(name).cloned()).collect::<Option<_>>().map(any_of)
            }
        }
    }

    fn object(&mut self, shape: &ObjectShape, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        only(map, &["type", Kw::Properties.name(), "required", Kw::AdditionalProperties.name(), DEFS, "$schema"])?;
        if !shape.matching.is_empty() {
            return None;
        }
        let empty = Map::new();
        let wire = map.get(Kw::Properties.name()).map_or(Some(&empty), Value::as_object)?;
        let more = map.get(Kw::AdditionalProperties.name()).unwrap_or(&Value::Bool(true));
        let is_required = |name: &str| {
            map.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|one| one == name))
        };
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &shape.fields {
            let own = wire.get(field.wire()).unwrap_or(more);
            let presence = self.field(field, own, is_required(field.wire()), depth)?;
            if presence.required {
                required.push(json!(field.name));
            }
            // What is never there need not be said of a closed object.
            if presence.schema != json!(false) || more != &json!(false) || shape.rest.is_some() {
                properties.insert(field.name.clone(), presence.schema);
            }
        }
        let rest = shape.rest.as_ref().map(|rest| rest.wire.as_str());
        let is_field = |key: &str| shape.fields.iter().any(|field| field.wire() == key) || rest == Some(key);
        for (key, own) in wire.iter().filter(|(key, _)| !is_field(key)) {
            if shape.takes(key) || properties.contains_key(key) {
                return None;
            }
            properties.insert(key.clone(), self.image(shape.other(key), own, depth)?);
            required.extend(is_required(key).then(|| json!(key)));
        }
        required.sort_by_key(Value::to_string);
        let mut out = json!({ "type": "object", (Kw::Properties.name()): properties, "required": required });
        let map = out.as_object_mut()?;
        if let Some(rest) = &shape.rest {
            let list = self.resolved(wire.get(&rest.wire)?)?;
            // The list may be `null` where it need not be there.
            let lists = self.alternatives(&list, depth)?;
            let list = lists.iter().find(|one| one.get("type").is_some_and(|kind| kind == "array"))?.as_object()?;
            only(list, &["type", "items", DEFS, "$schema"])?;
            if more != &json!(false) {
                return None;
            }
            self.entry(rest.lens, list, depth)?.put_into(map);
        } else {
            let others = self.image(shape.others, more, depth)?;
            map.insert(Kw::AdditionalProperties.name().to_owned(), others);
        }
        Some(out)
    }

    fn field(&mut self, field: &Field, wire: &Value, required: bool, depth: usize) -> Option<Presence> {
        if wire == &json!(false) && !required {
            // It is never there.
            let is_null = field.absent == Absent::IsNull;
            let schema = if is_null { json!({"type": "null"}) } else { json!(false) };
            return Some(Presence { schema, required: is_null });
        }
        match field.absent {
            Absent::Kept | Absent::IsEither => {
                Some(Presence { schema: self.image(field.lens, wire, depth)?, required })
            }
            Absent::IsNull => {
                let mut images = vec![self.image(field.lens, wire, depth)?];
                images.extend((!required).then(|| json!({"type": "null"})));
                Some(Presence { schema: any_of(images), required: true })
            }
            Absent::Null | Absent::NullEither | Absent::EmptyList | Absent::NullMark | Absent::NullList => {
                let lists = field.absent != Absent::Null && field.absent != Absent::NullEither;
                let mut presence = Presence { schema: Value::Null, required };
                let mut images = Vec::new();
                for one in self.alternatives(wire, depth)? {
                    let resolved = self.resolved(&one)?;
                    match resolved.get("type").and_then(Value::as_str) {
                        Some("null") if field.absent != Absent::EmptyList => presence.required = false,
                        Some("array") if lists => {
                            let list = at_most_one(resolved.as_object()?)?;
                            if field.absent == Absent::EmptyList {
                                presence.required &= !list.may_be_empty;
                            } else {
                                images.extend(list.may_be_empty.then(|| json!({"type": "null"})));
                            }
                            if let Some(item) = list.item.filter(|_| field.absent != Absent::NullMark) {
                                images.push(self.image(field.lens, item, depth)?);
                            }
                        }
                        _ if field.absent == Absent::EmptyList || field.absent == Absent::NullList => return None,
                        _ => images.push(self.image(field.lens, &one, depth)?),
                    }
                }
                presence.schema = any_of(images);
                Some(presence)
            }
        }
    }

    fn array(&mut self, prefix: &[LensId], rest: LensId, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        only(
            map,
            &["type", "items", Kw::PrefixItems.name(), "minItems", "maxItems", Kw::UniqueItems.name(), DEFS, "$schema"],
        )?;
        let mut out = map.clone();
        if let Some(places) = map.get(Kw::PrefixItems.name()) {
            let shapes = prefix.iter().chain(std::iter::repeat(&rest));
            let places = places.as_array()?.iter().zip(shapes);
            let places: Option<Vec<Value>> = places.map(|(own, shape)| self.image(*shape, own, depth)).collect();
            out.insert(Kw::PrefixItems.name().to_owned(), Value::Array(places?));
        } else if !prefix.is_empty() {
            return None;
        }
        out.insert("items".to_owned(), self.image(rest, map.get("items").unwrap_or(&Value::Bool(true)), depth)?);
        Some(Value::Object(out))
    }

    /// A map, from the list of its entries.
    fn entries(&mut self, inner: LensId, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        only(map, &["type", "items", "minItems", "maxItems", DEFS, "$schema"])?;
        let entry = self.entry(inner, map, depth)?;
        let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
        entry.put_into(&mut out);
        for (from, to) in [("minItems", "minProperties"), ("maxItems", "maxProperties")] {
            out.extend(map.get(from).map(|bound| (to.to_owned(), bound.clone())));
        }
        Some(Value::Object(out))
    }

    /// What an entry of a list comes back as.
    fn entry(&mut self, inner: LensId, list: &Map<String, Value>, depth: usize) -> Option<Entry> {
        let entry = self.resolved(list.get("items")?)?;
        let properties = entry.get(Kw::Properties.name())?;
        let mut values = vec![self.image(inner, properties.get("value")?, depth)?];
        let required = entry.get("required").and_then(Value::as_array);
        if !required.is_some_and(|list| list.iter().any(|one| one == "value")) {
            values.push(json!({"type": "null"}));
        }
        let key = self.resolved(properties.get("key")?)?.as_object()?.clone();
        Some(Entry { key, value: any_of(values) })
    }

    /// Alternative by alternative, each by the branch that reads it: the only one that can, or one that reads all made-up values.
    fn union(&mut self, id: LensId, branches: &[Branch], schema: &Value, depth: usize) -> Option<Value> {
        let wire = self.alternatives(schema, depth)?;
        let mut images = Vec::new();
        for (index, own) in wire.iter().enumerate() {
            let resolved = self.resolved(own)?;
            if let Some(values) = listed(resolved.as_object()?) {
                images.push(self.decoded(id, values));
                continue;
            }
            let kinds = Types::named(resolved.get("type")?.as_str()?)?;
            let may_read = |branch: &&Branch| self.lens.reads(branch.lens, branch.guard, kinds, depth);
            let mut readers: Vec<Branch> = branches.iter().filter(may_read).copied().collect();
            let made = self.made_of(own)?;
            let back = |root: LensId, value: &Value| self.lens.pass_from(root, value.clone(), Way::Decode).ok();
            readers.retain(|branch| made.iter().all(|value| back(id, value) == back(branch.lens, value)));
            // They stand in the same order where there is one for each. What comes back as it is needs no other reader.
            let twin = branches.get(index).filter(|twin| wire.len() == branches.len() && readers.contains(twin));
            let plain = || readers.iter().find(|branch| branch.lens.is_same() || self.lens.keeps(branch.lens));
            if let Some(best) = twin.or_else(plain).copied() {
                readers = vec![best];
            }
            let mut readings =
                readers.iter().map(|branch| self.image(branch.lens, own, depth)).collect::<Option<Vec<_>>>()?;
            readings.dedup();
            images.push(readings.pop().filter(|_| readings.is_empty())?);
        }
        Some(any_of(images))
    }

    /// Values made up of a part of the wire's schema.
    fn made_of(&self, schema: &Value) -> Option<Vec<Value>> {
        let mut rooted = self.resolved(schema)?;
        if let (Some(map), Some(defs)) = (rooted.as_object_mut(), self.wire.get(DEFS)) {
            map.insert(DEFS.to_owned(), defs.clone());
        }
        Some((0..TRIED).filter_map(|seed| sample(&rooted, seed)).collect())
    }

    /// The branches of a union, each of one type or a list of values; a reference to a single one stays a reference.
    fn alternatives(&mut self, schema: &Value, depth: usize) -> Option<Vec<Value>> {
        if depth > DEEPEST {
            return None;
        }
        self.steps_left = self.steps_left.checked_sub(1)?;
        let map = schema.as_object()?;
        if let Some(reference) = map.get("$ref") {
            only(map, &["$ref", DEFS, "$schema"])?;
            let target = self.target(reference.as_str()?)?.clone();
            let inside = self.alternatives(&target, depth + 1)?;
            return Some(if inside.len() == 1 { vec![schema.clone()] } else { inside });
        }
        if let Some(branches) = map.get(Kw::AnyOf.name()) {
            only(map, &[Kw::AnyOf.name(), DEFS, "$schema"])?;
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
        let Value::Array(kinds) = map.get("type")? else { return Some(vec![schema.clone()]) };
        let of_kind = |kind: &Value| {
            let mut own = map.clone();
            own.insert("type".to_owned(), kind.clone());
            Value::Object(own)
        };
        Some(kinds.iter().map(of_kind).collect())
    }
}

/// How an entry of a map comes back.
struct Entry {
    key: Map<String, Value>,
    value: Value,
}

impl Entry {
    /// Says of an object that the properties that it does not declare are such entries.
    fn put_into(self, object: &mut Map<String, Value>) {
        let names: Vec<&String> =
            object.get(Kw::Properties.name()).and_then(Value::as_object).into_iter().flat_map(Map::keys).collect();
        let pattern = only(&self.key, &["type", "pattern"]).and_then(|()| self.key.get("pattern")?.as_str());
        let (others, more) = match pattern {
            Some(text) if !names.iter().any(|name| Pattern::new(text).matches(name)) => {
                (json!(false), Some((Kw::PatternProperties, json!({ text: self.value }))))
            }
            _ if only(&self.key, &["type"]).is_some() => (self.value, None),
            _ if names.is_empty() => (self.value, Some((Kw::PropertyNames, Value::Object(self.key)))),
            _ => {
                let keys = json!({ (Kw::AnyOf.name()): [{ "enum": names }, self.key] });
                (self.value, Some((Kw::PropertyNames, keys)))
            }
        };
        object.insert(Kw::AdditionalProperties.name().to_owned(), others);
        object.extend(more.map(|(kw, value)| (kw.name().to_owned(), value)));
    }
}

/// How a property of the caller's comes back.
struct Presence {
    schema: Value,
    required: bool,
}

/// A list that stands for one item or none.
struct AtMostOne<'s> {
    item: Option<&'s Value>,
    may_be_empty: bool,
}

fn at_most_one(map: &Map<String, Value>) -> Option<AtMostOne<'_>> {
    only(map, &["type", "items", "minItems", "maxItems"])?;
    let bound = |word: &str| map.get(word).and_then(Value::as_u64);
    let item = map.get("items").filter(|_| bound("maxItems") != Some(0));
    Some(AtMostOne { item, may_be_empty: bound("minItems").unwrap_or(0) == 0 })
}

/// A tuple, from the object with a field for each place.
fn tuple(fields: &[String], rest: Option<&str>, object: &Value) -> Option<Value> {
    let properties = object.get(Kw::Properties.name())?;
    let required = object.get("required").and_then(Value::as_array)?;
    let is_required = |name: &str| required.iter().any(|one| one == name);
    let places: Option<Vec<&Value>> = fields.iter().map(|field| properties.get(field)).collect();
    let least = fields.iter().take_while(|field| is_required(field)).count();
    let mut out = json!({ "type": "array", (Kw::PrefixItems.name()): places?, "minItems": least, "items": false });
    if let Some(rest) = rest {
        let list = properties.get(rest)?.as_object()?;
        only(list, &["type", "items"])?;
        if least < fields.len() {
            return None;
        }
        out.as_object_mut()?.insert("items".to_owned(), list.get("items").cloned().unwrap_or(json!(true)));
    }
    Some(out)
}

/// Whether a schema says nothing but these words.
fn only(map: &Map<String, Value>, words: &[&str]) -> Option<()> {
    map.keys().all(|key| words.contains(&key.as_str()) || SILENT.contains(&key.as_str())).then_some(())
}

/// The values of a schema that lists them.
fn listed(map: &Map<String, Value>) -> Option<Vec<Value>> {
    only(map, &["type", "enum", "const"])?;
    match (map.get("enum"), map.get("const")) {
        (Some(Value::Array(values)), None) => Some(values.clone()),
        (None, Some(value)) => Some(vec![value.clone()]),
        _ => None,
    }
}

fn is_mixed(map: &Map<String, Value>) -> bool {
    map.get("type").is_some_and(Value::is_array) && listed(map).is_none()
}

/// Whether a schema means the same in another document with the same definitions.
fn keeps_its_place(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => reference.starts_with("#/$defs/"),
            ("$id" | "$anchor" | "$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            _ => keeps_its_place(value),
        }),
        Value::Array(items) => items.iter().all(keeps_its_place),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// A schema that refers to itself as a whole, with a definition to refer to.
fn without_root_references(schema: Value) -> Value {
    let mut moved = schema;
    if !move_references(&mut moved) {
        return moved;
    }
    let mut defs = moved.as_object_mut().and_then(|map| map.remove(DEFS)).unwrap_or_else(|| json!({}));
    defs.as_object_mut().into_iter().for_each(|defs| _ = defs.insert(WHOLE.to_owned(), moved.take()));
    let mut out = reference_to(WHOLE);
    out.as_object_mut().into_iter().for_each(|out| _ = out.insert(DEFS.to_owned(), defs.take()));
    out
}

/// Whether there were references to the whole, which now lead to its definition.
fn move_references(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut moved = false;
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "$ref" if value == "#" => {
                        *value = json!(format!("#/$defs/{WHOLE}"));
                        moved = true;
                    }
                    "enum" | "const" => {}
                    _ => moved |= move_references(value),
                }
            }
            moved
        }
        Value::Array(items) => items.iter_mut().fold(false, |moved, item| move_references(item) | moved),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn shortened(schema: &Value) -> String {
    let text = schema.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn any_of(mut branches: Vec<Value>) -> Value {
    match branches.len() {
        0 => json!(false),
        1 => branches.remove(0),
        _ => json!({ (Kw::AnyOf.name()): branches }),
    }
}

fn reference_to(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}
