//! The image of an object: property by property, with list entries for undeclared ones.

use polywire_schema::internals::{Absent, Field, Kw, LensId, ObjectShape, Pattern};
use serde_json::{Map, Value, json};

use super::keywords::{DEFS, any_of, has_only_keywords, listed};
use super::{Bound, Imager};

/// Words that count properties.
const COUNTS: [Kw; 2] = [Kw::MinProperties, Kw::MaxProperties];

/// An object of the wire.
struct ObjectSchema<'s> {
    properties: Option<&'s Map<String, Value>>,
    required: Vec<&'s str>,
    patterns: Option<&'s Map<String, Value>>,
    /// What properties are that are neither declared nor match a pattern.
    more: &'s Value,
}

impl<'s> ObjectSchema<'s> {
    fn of(map: &'s Map<String, Value>) -> Self {
        let named = |kw: Kw| map.get(kw.name()).and_then(Value::as_object);
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        Self {
            properties: named(Kw::Properties),
            required: required.filter_map(Value::as_str).collect(),
            patterns: named(Kw::PatternProperties),
            more: map.get(Kw::AdditionalProperties.name()).unwrap_or(&Value::Bool(true)),
        }
    }

    fn property(&self, name: &str) -> &'s Value {
        self.properties.and_then(|properties| properties.get(name)).unwrap_or(self.more)
    }

    fn is_required(&self, name: &str) -> bool {
        self.required.contains(&name)
    }

    fn is_closed(&self) -> bool {
        self.more == &json!(false)
    }
}

impl Imager<'_> {
    pub(super) fn object(&mut self, shape: &ObjectShape, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        let named =
            [Kw::Properties, Kw::PatternProperties, Kw::AdditionalProperties, Kw::MinProperties, Kw::MaxProperties];
        has_only_keywords(map, &[&["type", "required", DEFS, "$schema"][..], &named.map(Kw::name)].concat())?;
        let wire = ObjectSchema::of(map);
        let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
        let others = if wire.is_closed() { json!(false) } else { self.image(shape.others, wire.more, depth)? };
        if let Some(patterns) = wire.patterns {
            let images = self.patterns(shape, patterns, depth)?;
            out.insert(Kw::PatternProperties.name().to_owned(), images);
        }
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &shape.fields {
            let presence = self.presence(field, &wire, depth)?;
            if presence.required {
                required.push(json!(field.name));
            }
            // What is never there need not be said of a closed object.
            if presence.schema != json!(false) || !wire.is_closed() || shape.rest.is_some() {
                properties.insert(field.name.to_string(), presence.schema);
            }
        }
        let rest = shape.rest.as_ref().map(|rest| rest.wire.as_str());
        let is_field = |key: &str| shape.fields.iter().any(|field| field.wire() == key) || rest == Some(key);
        for (key, own) in wire.properties.into_iter().flatten().filter(|(key, _)| !is_field(key)) {
            if shape.collides_with_renamed(key) || properties.contains_key(key) || rest.is_some() {
                return None;
            }
            properties.insert(key.clone(), self.image(shape.undeclared_shape(key), own, depth)?);
        }
        let undeclared = wire.required.iter().filter(|key| !is_field(key) && !shape.collides_with_renamed(key));
        required.extend(undeclared.map(|key| json!(key)));
        required.sort_by_key(Value::to_string);
        out.insert(Kw::Properties.name().to_owned(), Value::Object(properties));
        out.insert("required".to_owned(), Value::Array(required));
        self.counts(shape, &wire, map, &mut out)?;
        if let Some(rest) = &shape.rest {
            let list = self.resolved(wire.properties?.get(&rest.wire)?)?;
            // The list may be `null` where it need not be there.
            let lists = self.alternatives(&list, depth)?;
            let list = lists.iter().find(|one| one.get("type").is_some_and(|kind| kind == "array"))?.as_object()?;
            has_only_keywords(list, &["type", "items", DEFS, "$schema"])?;
            let entry = self.entry(rest.lens, list, depth)?;
            if wire.is_closed() {
                entry.set_undeclared(&mut out);
            } else {
                entry.add_undeclared(&others, &rest.wire, &mut out)?;
            }
        } else {
            out.insert(Kw::AdditionalProperties.name().to_owned(), others);
        }
        Some(Value::Object(out))
    }

    /// What properties come back as by pattern. A key that matches several has one shape only.
    fn patterns(&mut self, shape: &ObjectShape, patterns: &Map<String, Value>, depth: usize) -> Option<Value> {
        let view = self.lens;
        let keeps = |lens: LensId| view.is_identity(lens);
        let matches = |name: &str| patterns.keys().any(|pattern| Pattern::new(pattern).matches(name));
        let as_it_is = |field: &Field| field.absent == Absent::Kept && field.renamed.is_none() && keeps(field.lens);
        let is_told = |field: &&Field| !as_it_is(field) && (matches(&field.name) || matches(field.wire()));
        // An undeclared key that looks like a renamed one travels under yet another name.
        let is_like =
            |name: &str| patterns.keys().any(|text| first_letter(text).is_none_or(|own| name.starts_with(own)));
        let is_renamed = shape.fields.iter().filter_map(|field| field.renamed.as_deref()).any(is_like);
        if is_renamed || shape.rest.is_some() || shape.fields.iter().any(|field| is_told(&field)) {
            return None;
        }
        let mut images = Map::new();
        for (pattern, own) in patterns {
            let lens = match shape.matching.as_slice() {
                [] => shape.others,
                [(has_only_keywords, lens)] if *has_only_keywords == Pattern::new(pattern) => *lens,
                _ if shape.matching.iter().all(|(_, lens)| keeps(*lens)) => shape.others,
                _ => return None,
            };
            if patterns.len() > 1 && !keeps(lens) {
                return None;
            }
            images.insert(pattern.clone(), self.image(lens, own, depth)?);
        }
        Some(Value::Object(images))
    }

    /// Counts of properties stay where each comes back as one.
    fn counts(
        &self,
        shape: &ObjectShape,
        wire: &ObjectSchema<'_>,
        map: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Option<()> {
        let counted: Vec<Kw> = COUNTS.into_iter().filter(|kw| map.contains_key(kw.name())).collect();
        let is_one = |field: &Field| {
            matches!(field.absent, Absent::Kept | Absent::IsEither) && (field.renamed.is_none() || wire.is_closed())
        };
        if !counted.is_empty() && (shape.rest.is_some() || !shape.fields.iter().all(is_one)) {
            return (self.bound == Bound::AtMost).then_some(());
        }
        out.extend(counted.iter().filter_map(|kw| Some((kw.name().to_owned(), map.get(kw.name())?.clone()))));
        Some(())
    }

    fn presence(&mut self, field: &Field, wire: &ObjectSchema<'_>, depth: usize) -> Option<Presence> {
        let presence = self.field(field, wire.property(field.wire()), wire.is_required(field.wire()), depth);
        match self.bound {
            Bound::Exact => presence,
            Bound::AtMost => Some(presence.unwrap_or(Presence { schema: json!(true), required: false })),
        }
    }

    fn field(&mut self, field: &Field, wire: &Value, required: bool, depth: usize) -> Option<Presence> {
        if wire == &json!(false) && !required {
            // It is never there.
            let is_null = matches!(field.absent, Absent::IsNull | Absent::IsEitherNull);
            let schema = if is_null { json!({"type": "null"}) } else { json!(false) };
            return Some(Presence { schema, required: is_null });
        }
        match field.absent {
            Absent::Kept | Absent::IsEither | Absent::NullEitherIsNull | Absent::Constant => {
                Some(Presence { schema: self.image(field.lens, wire, depth)?, required })
            }
            Absent::EmptyEither => {
                let schema = self.image(field.lens, wire, depth)?;
                Some(Presence { schema: non_empty(schema, self.bound)?, required: false })
            }
            Absent::IsNull | Absent::IsEitherNull => {
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

    /// A map, from the list of its entries.
    pub(super) fn entries(&mut self, inner: LensId, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        has_only_keywords(map, &["type", "items", "minItems", "maxItems", DEFS, "$schema"])?;
        let entry = self.entry(inner, map, depth)?;
        let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
        entry.set_undeclared(&mut out);
        for (from, to) in [("minItems", Kw::MinProperties), ("maxItems", Kw::MaxProperties)] {
            out.extend(map.get(from).map(|bound| (to.name().to_owned(), bound.clone())));
        }
        Some(Value::Object(out))
    }

    fn entry(&mut self, inner: LensId, list: &Map<String, Value>, depth: usize) -> Option<Entry> {
        let entry = self.resolved(list.get("items")?)?;
        let properties = entry.get(Kw::Properties.name())?;
        let mut values = vec![self.image(inner, properties.get("value")?, depth)?];
        let required = entry.get("required").and_then(Value::as_array);
        if !required.is_some_and(|list| list.iter().any(|one| one == "value")) {
            // An entry without a value has `null` for one.
            values.push(self.decode_listed(inner, vec![Value::Null]));
        }
        let key = self.resolved(properties.get("key")?)?.as_object()?.clone();
        Some(Entry { key, value: any_of(values) })
    }
}

/// The letter that every match of a pattern begins with, where that is plain.
fn first_letter(pattern: &str) -> Option<char> {
    let mut letters = pattern.strip_prefix('^').filter(|_| !pattern.contains('|'))?.chars();
    let first = match letters.next()? {
        '[' => letters.next().filter(|inside| !['^', '\\', ']'].contains(inside) && letters.next() == Some(']'))?,
        '\\' => letters.next().filter(char::is_ascii_punctuation)?,
        other => Some(other).filter(|other| other.is_ascii_alphanumeric() || ['_', '-', '/'].contains(other))?,
    };
    (!letters.next().is_some_and(|next| ['*', '?', '{'].contains(&next))).then_some(first)
}

/// The image of an entry of a map.
struct Entry {
    key: Map<String, Value>,
    value: Value,
}

impl Entry {
    fn pattern(&self) -> Option<&str> {
        has_only_keywords(&self.key, &["type", "pattern"]).and_then(|()| self.key.get("pattern")?.as_str())
    }

    /// Says of an object that the properties that it does not declare are such entries.
    fn set_undeclared(self, object: &mut Map<String, Value>) {
        let names: Vec<&String> =
            object.get(Kw::Properties.name()).and_then(Value::as_object).into_iter().flat_map(Map::keys).collect();
        let (others, more) = match self.pattern() {
            Some(text) if !names.iter().any(|name| Pattern::new(text).matches(name)) => {
                (json!(false), Some((Kw::PatternProperties, json!({ text: self.value }))))
            }
            _ if has_only_keywords(&self.key, &["type"]).is_some() => (self.value, None),
            _ if names.is_empty() => (self.value, Some((Kw::PropertyNames, Value::Object(self.key)))),
            _ => {
                let keys = json!({ (Kw::AnyOf.name()): [{ "enum": names }, self.key] });
                (self.value, Some((Kw::PropertyNames, keys)))
            }
        };
        object.insert(Kw::AdditionalProperties.name().to_owned(), others);
        object.extend(more.map(|(kw, value)| (kw.name().to_owned(), value)));
    }

    /// Says the same of an object whose undeclared properties may also come back as they stand, all but the name of the list.
    fn add_undeclared(self, others: &Value, list: &str, object: &mut Map<String, Value>) -> Option<()> {
        let may_be_named = match (self.pattern(), listed(&self.key)) {
            (Some(pattern), _) => Pattern::new(pattern).matches(list),
            (None, Some(names)) => names.iter().any(|name| name == list),
            (None, None) => has_only_keywords(&self.key, &["type"]).map(|()| true)?,
        };
        let by_that_name = if may_be_named { self.value.clone() } else { json!(false) };
        let properties = object.get_mut(Kw::Properties.name())?.as_object_mut()?;
        properties.entry(list).or_insert(by_that_name);
        let either = if others == &json!(true) {
            others.clone()
        } else {
            has_only_keywords(&self.key, &["type"])?;
            any_of(vec![others.clone(), self.value])
        };
        object.insert(Kw::AdditionalProperties.name().to_owned(), either);
        Some(())
    }
}

/// The image of a property.
struct Presence {
    schema: Value,
    required: bool,
}

/// A list that stands for one item or none.
pub(super) struct AtMostOne<'s> {
    pub(super) item: Option<&'s Value>,
    pub(super) may_be_empty: bool,
}

pub(super) fn at_most_one(map: &Map<String, Value>) -> Option<AtMostOne<'_>> {
    has_only_keywords(map, &["type", "items", "minItems", "maxItems"])?;
    let bound = |word: &str| map.get(word).and_then(Value::as_u64);
    let item = map.get("items").filter(|_| bound("maxItems") != Some(0));
    Some(AtMostOne { item, may_be_empty: bound("minItems").unwrap_or(0) == 0 })
}

/// The schema of the values of a list or map that are not empty.
fn non_empty(mut schema: Value, bound: Bound) -> Option<Value> {
    let minimum = match schema.get("type").and_then(Value::as_str) {
        Some("array") => "minItems",
        Some("object") => "minProperties",
        _ => return (bound == Bound::AtMost).then_some(schema),
    };
    schema.as_object_mut()?.entry(minimum).or_insert(json!(1));
    Some(schema)
}
