//! The image of a fitted schema: the schema of everything that its values can be decoded to. It is built from the lens
//! and the wire's schema together, shape by shape; what cannot be expressed exactly is refused, or bounded from above.

mod keywords;
mod object;
mod union;

use std::collections::HashMap;
use std::fmt;

use polywire_schema::Lens;
use polywire_schema::internals::{Kw, LensId, LensView, Shape};
use serde_json::{Map, Value, json};

use self::keywords::{
    DEFS, any_of, has_only_keywords, is_mixed, is_relocatable, listed, reference_to, without_root_references,
};
use self::object::at_most_one;
use crate::values::shortened;

/// Schemas within schemas beyond this depth are given up.
const MAX_DEPTH: usize = 128;

/// How many schemas are looked at in all.
const MAX_STEPS: usize = 20_000;

/// Why there is no [`image`]: what comes back at one place cannot be said exactly as a schema.
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

/// The schema of everything that values of the wire's schema can be decoded to, in JSON Schema 2020-12, or
/// the obstacle to an exact one. Declared keys are not expected among the entries of undeclared ones.
pub fn image(lens: &Lens, schema: &Value) -> Result<Value, NoImage> {
    image_by(lens.view(), Bound::Exact, schema)
}

/// An upper bound of [`image`]: a schema that accepts everything that can be decoded, and perhaps more.
pub fn image_at_most(lens: &Lens, schema: &Value) -> Value {
    image_by(lens.view(), Bound::AtMost, schema).unwrap_or(Value::Bool(true))
}

fn image_by(lens: LensView<'_>, bound: Bound, schema: &Value) -> Result<Value, NoImage> {
    let schema = match lens.after() {
        Some(next) => image_by(next, bound, schema)?,
        None => schema.clone(),
    };
    if lens.root().is_same() {
        return Ok(schema);
    }
    let schema = without_root_references(schema);
    let mut imager = Imager {
        lens,
        wire: &schema,
        bound,
        made: Map::new(),
        names: HashMap::new(),
        steps_left: MAX_STEPS,
        obstacle: None,
    };
    let top = imager.image(lens.root(), &schema, 0);
    let Imager { made, obstacle, .. } = imager;
    let unsaid = || obstacle.unwrap_or_else(|| NoImage { what: "the whole", schema: shortened(&schema) });
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// Exactly the decoded values.
    Exact,
    /// The decoded values, and perhaps more.
    AtMost,
}

/// The computation of one image.
struct Imager<'l> {
    lens: LensView<'l>,
    wire: &'l Value,
    bound: Bound,
    /// Images of definitions, by name.
    made: Map<String, Value>,
    /// The names of those, by shape and reference: recursion ends at a known name.
    names: HashMap<(LensId, String), String>,
    steps_left: usize,
    /// The innermost part without an image.
    obstacle: Option<NoImage>,
}

impl Imager<'_> {
    fn image(&mut self, id: LensId, schema: &Value, depth: usize) -> Option<Value> {
        let image = self.image_unbounded(id, schema, depth);
        match self.bound {
            Bound::Exact => image,
            Bound::AtMost => Some(image.unwrap_or(Value::Bool(true))),
        }
    }

    fn image_unbounded(&mut self, id: LensId, schema: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.steps_left = self.steps_left.checked_sub(1)?;
        if self.lens.is_identity(id) {
            return is_relocatable(schema).then(|| schema.clone());
        }
        if let Shape::Link(inner) = self.lens.shape(id) {
            return self.image(*inner, schema, depth + 1);
        }
        match schema.as_bool() {
            Some(true) => return self.image_unbounded(id, &json!({}), depth + 1),
            Some(false) => return Some(json!(false)),
            None => {}
        }
        let map = schema.as_object()?;
        if let Some(reference) = map.get("$ref") {
            return self.image_of_reference(id, reference.as_str()?, map, depth);
        }
        // What a union comes back as is the union of what its branches come back as.
        let is_parted = map.contains_key(Kw::AnyOf.name()) || is_mixed(map);
        if !matches!(self.lens.shape(id), Shape::Union(_)) && is_parted {
            let images = self.alternatives(schema, depth)?;
            let images: Option<Vec<Value>> = images.iter().map(|one| self.image(id, one, depth + 1)).collect();
            return images.map(any_of);
        }
        if let Some(values) = listed(map) {
            return Some(self.decode_listed(id, values));
        }
        let image = self.image_by_shape(id, schema, map, depth + 1);
        if image.is_none() && self.obstacle.is_none() {
            self.obstacle = Some(NoImage { what: self.lens.shape(id).name(), schema: shortened(schema) });
        }
        image
    }

    fn decode_listed(&self, id: LensId, values: Vec<Value>) -> Value {
        let back = values.into_iter().filter_map(|value| self.lens.decode(id, value));
        json!({ "enum": back.collect::<Vec<_>>() })
    }

    fn image_of_reference(
        &mut self,
        id: LensId,
        reference: &str,
        map: &Map<String, Value>,
        depth: usize,
    ) -> Option<Value> {
        has_only_keywords(map, &["$ref", DEFS, "$schema"])?;
        let key = (id, reference.to_owned());
        if let Some(name) = self.names.get(&key) {
            return Some(reference_to(name));
        }
        let target = self.target(reference)?.clone();
        let name = format!("image-{}", self.names.len());
        self.names.insert(key, name.clone());
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
        for _ in 0..MAX_DEPTH {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
            schema = self.target(reference).or_else(|| self.made.get(reference.strip_prefix("#/$defs/")?))?.clone();
        }
        None
    }

    fn image_by_shape(&mut self, id: LensId, schema: &Value, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        let kind = map.get("type").and_then(Value::as_str);
        let shape = self.lens.shape(id);
        if kind.zip(only_kind(shape)).is_some_and(|(kind, has_only_keywords)| kind != has_only_keywords) {
            // It cannot be read.
            return Some(json!(false));
        }
        match shape {
            Shape::Same | Shape::Link(_) => None,
            Shape::Nullable(_) | Shape::NullIsAbsent(_) if kind == Some("null") => Some(schema.clone()),
            Shape::Nullable(inner) | Shape::NullIsAbsent(inner) => {
                kind?;
                self.image(*inner, schema, depth)
            }
            Shape::Object(shape) if kind == Some("object") => self.object(shape, map, depth),
            Shape::Array { prefix, rest } if kind == Some("array") => self.array(prefix, *rest, map, depth),
            Shape::Object(_) | Shape::Array { .. } => kind.filter(|_| is_relocatable(schema)).map(|_| schema.clone()),
            Shape::Tuple { fields, rest, object } => {
                let object = self.image(*object, schema, depth)?;
                tuple(fields, rest.as_deref(), &self.resolved(&object)?)
            }
            Shape::Entries(inner) => self.entries(*inner, map, depth),
            Shape::Wrapped(key, inner) => {
                has_only_keywords(
                    map,
                    &["type", Kw::Properties.name(), "required", Kw::AdditionalProperties.name(), DEFS, "$schema"],
                )?;
                let inside = map.get(Kw::Properties.name()).and_then(|properties| properties.get(key));
                let inside = inside.or(map.get(Kw::AdditionalProperties.name())).unwrap_or(&Value::Bool(true));
                self.image(*inner, inside, depth)
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
                let chosen = branches.iter().map(|(name, _)| properties.get(name).cloned());
                // Without a choice the object itself comes back.
                let is_closed = object.get(Kw::AdditionalProperties.name()) == Some(&json!(false));
                let none =
                    if is_closed { json!({"type": "object", "maxProperties": 0}) } else { json!({"type": "object"}) };
                chosen.chain([Some(none)]).collect::<Option<_>>().map(any_of)
            }
        }
    }

    fn array(&mut self, prefix: &[LensId], rest: LensId, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        has_only_keywords(
            map,
            &["type", "items", Kw::PrefixItems.name(), "minItems", "maxItems", Kw::UniqueItems.name(), DEFS, "$schema"],
        )?;
        let mut out = map.clone();
        if self.bound == Bound::AtMost {
            // Two items that differ on the wire may come back alike.
            out.remove(Kw::UniqueItems.name());
        }
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
}

/// The only type of the wire that a shape reads, where there is one.
fn only_kind(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Tuple { .. } | Shape::Wrapped(..) | Shape::Choice { .. } => Some("object"),
        Shape::Entries(_) | Shape::AtMostOne(_) => Some("array"),
        Shape::Text | Shape::Labels(_) => Some("string"),
        Shape::Same
        | Shape::Link(_)
        | Shape::Nullable(_)
        | Shape::NullIsAbsent(_)
        | Shape::Object(_)
        | Shape::Array { .. }
        | Shape::Union(_) => None,
    }
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
        has_only_keywords(list, &["type", "items"])?;
        if least < fields.len() {
            return None;
        }
        out.as_object_mut()?.insert("items".to_owned(), list.get("items").cloned().unwrap_or(json!(true)));
    }
    Some(out)
}
