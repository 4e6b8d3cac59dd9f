//! What a schema wants, seen by someone who has a value to fit into it: types, fields, choices, branches.
//!
//! References are followed and `allOf` is flattened here, so that nobody else needs to know them. Constraints are left to
//! the validator.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::choices::Choices;
use crate::fold::fold;
use crate::keyword;

/// The index of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShapeId(u32);

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ANY: Self = Self(127);
    /// An integer is a number, too.
    pub(crate) const INTEGER_OR_NUMBER: Self = Self(4 | 8);
    pub(crate) const SCALAR: Self = Self(2 | 4 | 8 | 16);
    pub(crate) const CONTAINER: Self = Self(32 | 64);
    const NONE: Self = Self(0);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn of(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }
}

/// A field of an object.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Shared, because a plan names it once for each object.
    pub(crate) name: Arc<str>,
    /// The name that the model was shown.
    pub(crate) shown: String,
    pub(crate) shape: ShapeId,
    pub(crate) required: bool,
}

/// What becomes of keys that no field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Any,
    Refused,
    Shaped(ShapeId),
}

/// When a value that is still arriving may be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival(u8);

impl Arrival {
    /// Only when it is complete.
    pub(crate) const DONE: Self = Self(1);
    /// Its parent waits for it.
    pub(crate) const NOT_NULL: Self = Self(2);
    /// With a word about whether it is complete.
    pub(crate) const WITH_STATE: Self = Self(4);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a schema wants at one place.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) id: ShapeId,
    pub(crate) types: Types,
    pub(crate) choices: Choices,
    pub(crate) fields: Vec<Field>,
    by_name: HashMap<String, usize, RandomState>,
    /// Fields by folded name; `None` where several share it.
    by_fold: HashMap<String, Option<usize>, RandomState>,
    /// Fields by their own name, where some were shown under another one.
    renamed: HashMap<Arc<str>, usize, RandomState>,
    patterns: Vec<(Regex, ShapeId)>,
    pub(crate) others: Others,
    pub(crate) names: Option<ShapeId>,
    pub(crate) items: Option<ShapeId>,
    pub(crate) first_items: Vec<ShapeId>,
    pub(crate) branches: Vec<ShapeId>,
    pub(crate) default: Option<Arc<Value>>,
    pub(crate) arrival: Arrival,
    pub(crate) asserts: Vec<String>,
}

impl Shape {
    pub(crate) fn field(&self, key: &str) -> Option<(usize, bool)> {
        if let Some(index) = self.by_name.get(key) {
            return Some((*index, true));
        }
        self.by_fold.get(&fold(key)).copied().flatten().map(|index| (index, false))
    }

    /// The field of a name, which is its own and not the one that was shown.
    pub(crate) fn named(&self, name: &str) -> Option<&Field> {
        let index = if self.renamed.is_empty() { self.by_name.get(name) } else { self.renamed.get(name) };
        self.fields.get(*index?)
    }

    pub(crate) fn pattern_count(&self) -> usize {
        self.patterns.len()
    }

    pub(crate) fn pattern(&self, key: &str) -> Option<ShapeId> {
        self.patterns.iter().find(|(pattern, _)| pattern.is_match(key)).map(|(_, shape)| *shape)
    }

    pub(crate) fn item(&self, index: usize) -> Option<ShapeId> {
        self.first_items.get(index).copied().or(self.items)
    }
}

/// All shapes of a schema.
#[derive(Debug)]
pub(crate) struct Shapes {
    all: Vec<Shape>,
    pub(crate) root: ShapeId,
    /// Some names of the schema are not those that the model was shown.
    pub(crate) aliased: bool,
    /// How many assertions stand beside it.
    pub(crate) assertions: usize,
}

/// How many schemas are joined at one place, and how many places there are.
const MAX_PARTS: usize = 64;
const MAX_SHAPES: usize = 100_000;
/// Bytes for one compiled pattern; where there are many, each gets less.
const MAX_PATTERN_BYTES: usize = 10 << 20;
const MIN_PATTERN_BYTES: usize = 16 << 10;

impl Shapes {
    pub(crate) fn of(schema: &Value) -> Self {
        let mut reader = Reader {
            document: schema,
            ids: HashMap::default(),
            open: Vec::new(),
            shapes: Vec::new(),
            aliased: false,
            assertions: 0,
            patterns: 0,
        };
        let root = reader.id(schema);
        while let Some((id, schema)) = reader.open.pop() {
            let shape = Shape { id, ..reader.shape(schema) };
            if let Some(place) = reader.shapes.get_mut(id.0 as usize) {
                *place = shape;
            }
        }
        Self { all: reader.shapes, root, aliased: reader.aliased, assertions: reader.assertions }
    }

    pub(crate) fn get(&self, id: ShapeId) -> Option<&Shape> {
        self.all.get(id.0 as usize)
    }

    /// Whether null is allowed at a place, here or in a branch.
    pub(crate) fn takes_null(&self, id: ShapeId) -> bool {
        self.takes(id, Types::NULL, 8)
    }

    /// Whether something other than a list or object is allowed at a place.
    pub(crate) fn takes_scalar(&self, id: ShapeId) -> bool {
        let listed = |id: ShapeId| self.get(id).is_some_and(|shape| !shape.choices.is_empty());
        let branches = self.get(id).map(|shape| shape.branches.as_slice()).unwrap_or_default();
        listed(id) || branches.iter().any(|branch| listed(*branch)) || self.takes(id, Types::SCALAR, 8)
    }

    pub(crate) fn takes(&self, id: ShapeId, types: Types, depth: usize) -> bool {
        let Some(shape) = self.get(id).filter(|_| depth > 0) else { return false };
        if !shape.branches.is_empty() {
            return shape.branches.iter().any(|branch| self.takes(*branch, types, depth - 1));
        }
        if !shape.choices.is_empty() && types == Types::NULL {
            return shape.choices.has_null();
        }
        shape.types.has(types)
    }
}

struct Reader<'s> {
    document: &'s Value,
    ids: HashMap<usize, ShapeId, RandomState>,
    open: Vec<(ShapeId, &'s Value)>,
    shapes: Vec<Shape>,
    aliased: bool,
    assertions: usize,
    /// How many patterns were compiled: all of them share the memory for them.
    patterns: usize,
}

impl<'s> Reader<'s> {
    /// The id of the shape of a schema, which is read later.
    fn id(&mut self, schema: &'s Value) -> ShapeId {
        let address = std::ptr::from_ref(schema) as usize;
        if let Some(id) = self.ids.get(&address) {
            return *id;
        }
        if self.shapes.len() >= MAX_SHAPES {
            return ShapeId(u32::MAX);
        }
        let id = ShapeId(u32::try_from(self.shapes.len()).unwrap_or(u32::MAX));
        self.shapes.push(any());
        self.ids.insert(address, id);
        self.open.push((id, schema));
        id
    }

    /// A schema, what it refers to, and what `allOf` adds to it.
    fn parts(&self, schema: &'s Value) -> Vec<&'s Map<String, Value>> {
        let mut parts: Vec<&'s Map<String, Value>> = Vec::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let Some(object) = schema.as_object() else { continue };
            if parts.len() >= MAX_PARTS || parts.iter().any(|part| std::ptr::eq(*part, object)) {
                continue;
            }
            parts.push(object);
            let reference =
                object.get(keyword::REF).and_then(Value::as_str).and_then(|reference| self.resolve(reference));
            open.extend(object.get(keyword::ALL_OF).and_then(Value::as_array).into_iter().flatten().rev());
            open.extend(reference);
        }
        parts
    }

    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let pointer = reference.strip_prefix('#')?;
        self.document.pointer(&pointer.replace("%24", "$").replace("%20", " "))
    }

    fn shape(&mut self, schema: &'s Value) -> Shape {
        let mut shape = any();
        if schema == &Value::Bool(false) {
            shape.types = Types::NONE;
        }
        let parts = self.parts(schema);
        let mut typed = false;
        let mut required: HashSet<&str, RandomState> = HashSet::default();
        let mut known: HashSet<&'s str, RandomState> = HashSet::default();
        for part in &parts {
            typed |= self.read_part(part, &mut shape, &mut known, typed);
            required.extend(
                part.get(keyword::REQUIRED).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str),
            );
        }
        if !typed {
            shape.types = implied(&shape);
        }
        if parts.iter().any(|part| part.get(keyword::NULLABLE) == Some(&Value::Bool(true))) {
            shape.types = shape.types.with(Types::NULL);
        }
        for field in &mut shape.fields {
            field.required = required.contains(&*field.name);
        }
        if typed && !shape.fields.is_empty() {
            // Branches beside fields only say which fields go together.
            shape.branches.clear();
        }
        index(&mut shape);
        shape
    }

    /// Reads the keywords of one part; says whether it names types.
    fn read_part(
        &mut self,
        part: &'s Map<String, Value>,
        shape: &mut Shape,
        known: &mut HashSet<&'s str, RandomState>,
        typed: bool,
    ) -> bool {
        let named = match part.get(keyword::TYPE) {
            Some(Value::String(name)) => Some(Types::of(name)),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                Some(names.fold(Types::NONE, |types, name| types.with(Types::of(name))))
            }
            _ => None,
        };
        if let Some(types) = named.filter(|_| !typed) {
            shape.types = types;
        }
        self.read_object(part, shape, known);
        if let Some(items) = part.get(keyword::ITEMS) {
            if let Some(items) = items.as_array() {
                shape.first_items = items.iter().map(|item| self.id(item)).collect();
            } else {
                shape.items = Some(self.id(items));
            }
        }
        if let Some(items) = part.get(keyword::PREFIX_ITEMS).and_then(Value::as_array) {
            shape.first_items = items.iter().map(|item| self.id(item)).collect();
        }
        for name in [keyword::ANY_OF, keyword::ONE_OF] {
            let branches = part.get(name).and_then(Value::as_array).into_iter().flatten();
            if shape.branches.is_empty() {
                shape.branches = branches.map(|branch| self.id(branch)).collect();
            }
        }
        if shape.choices.is_empty() {
            let (choices, is_aliased) = Choices::of(part);
            self.aliased |= is_aliased;
            shape.choices = choices;
        }
        if let Some(default) = part.get(keyword::DEFAULT) {
            shape.default = Some(Arc::new(default.clone()));
        }
        let words = part.get(keyword::STREAM).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for word in words {
            shape.arrival.0 |= match word {
                "done" => Arrival::DONE.0,
                "not_null" => Arrival::NOT_NULL.0,
                "with_state" => Arrival::WITH_STATE.0,
                _ => 0,
            };
        }
        let asserts =
            part.get(keyword::ASSERT).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        shape.asserts.extend(asserts.map(ToOwned::to_owned));
        self.assertions += shape.asserts.len();
        named.is_some()
    }

    fn read_object(
        &mut self,
        part: &'s Map<String, Value>,
        shape: &mut Shape,
        known: &mut HashSet<&'s str, RandomState>,
    ) {
        for (name, schema) in part.get(keyword::PROPERTIES).and_then(Value::as_object).into_iter().flatten() {
            if !known.insert(name) {
                continue;
            }
            let alias = schema.get(keyword::ALIAS).and_then(Value::as_str);
            self.aliased |= alias.is_some_and(|alias| alias != name);
            let shown = alias.unwrap_or(name).to_owned();
            let shape_id = self.id(schema);
            shape.fields.push(Field { name: name.as_str().into(), shown, shape: shape_id, required: false });
        }
        for (pattern, schema) in part.get(keyword::PATTERNS).and_then(Value::as_object).into_iter().flatten() {
            self.patterns += 1;
            let bytes = (MAX_PATTERN_BYTES / self.patterns).max(MIN_PATTERN_BYTES);
            // The validator judges a pattern that is too large for this.
            if let Ok(pattern) = RegexBuilder::new(pattern).size_limit(bytes).dfa_size_limit(bytes).build() {
                let id = self.id(schema);
                shape.patterns.push((pattern, id));
            }
        }
        match part.get(keyword::ADDITIONAL) {
            Some(Value::Bool(false)) => shape.others = Others::Refused,
            Some(schema @ Value::Object(_)) => shape.others = Others::Shaped(self.id(schema)),
            _ => {}
        }
        if let Some(names) = part.get(keyword::PROPERTY_NAMES) {
            shape.names = Some(self.id(names));
        }
    }
}

fn any() -> Shape {
    Shape {
        id: ShapeId(u32::MAX),
        types: Types::ANY,
        choices: Choices::default(),
        fields: Vec::new(),
        by_name: HashMap::default(),
        by_fold: HashMap::default(),
        renamed: HashMap::default(),
        patterns: Vec::new(),
        others: Others::Any,
        names: None,
        items: None,
        first_items: Vec::new(),
        branches: Vec::new(),
        default: None,
        arrival: Arrival::default(),
        asserts: Vec::new(),
    }
}

/// The types that a schema means when it names none.
fn implied(shape: &Shape) -> Types {
    let object = !shape.fields.is_empty() || !shape.patterns.is_empty() || shape.others != Others::Any;
    let list = shape.items.is_some() || !shape.first_items.is_empty();
    match (object, list) {
        (true, false) => Types::OBJECT,
        (false, true) => Types::ARRAY,
        (true, true) => Types::OBJECT.with(Types::ARRAY),
        (false, false) => Types::ANY,
    }
}

fn index(shape: &mut Shape) {
    if shape.fields.iter().any(|field| *field.name != *field.shown) {
        shape.renamed = shape.fields.iter().enumerate().map(|(index, field)| (field.name.clone(), index)).collect();
    }
    for (index, field) in shape.fields.iter().enumerate() {
        shape.by_name.insert(field.shown.clone(), index);
        shape.by_fold.entry(fold(&field.shown)).and_modify(|known| *known = None).or_insert(Some(index));
    }
}
