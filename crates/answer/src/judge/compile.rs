//! From a schema to its graph: references resolved, every subschema compiled once.
//!
//! Nothing here recurses: subschemas wait in a list, however deep the schema is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use jsonschema::{Draft, Registry, ValidationError};
use referencing::{Resolved, Resolver};
use serde_json::{Map, Value};

use super::graph::{Apply, Graph, Members, Node, NodeId, Rule, Slot};
use super::leaf::{Leaf, LeafOptions, PatternBytes};
use super::{Formats, address};
use crate::keyword;
use crate::schema::SchemaError;
use crate::tree::push_step;

/// What a schema without an identifier is called.
const UNNAMED: &str = "json-schema:///";
/// Nodes beyond those of the document: only dynamic references need any, one for each scope that leads to a subschema.
const SCOPED_NODES: usize = 10_000;

/// How deep a schema may be nested: its meta-schema is judged by recursion.
const MAX_DEPTH: usize = 512;

/// Refuses a schema that is nested too deeply to be copied or judged.
pub(super) fn check_depth(schema: &Value) -> Result<(), SchemaError> {
    if depth_exceeds(schema, MAX_DEPTH) {
        return Err(SchemaError::new(format!("the schema is nested more than {MAX_DEPTH} levels deep")));
    }
    Ok(())
}

/// Compiles a schema that its meta-schema accepts.
pub(super) fn compile(document: &Value, formats: Formats) -> Result<Graph, SchemaError> {
    let draft = Draft::default().detect(document);
    validate_by_meta_schema(document, draft).map_err(|error| SchemaError::of(&error))?;
    compile_valid(document, draft, formats).map_err(|fault| {
        let around = fault.schema.and_then(|schema| pointer_to(schema, document)).unwrap_or_default();
        SchemaError::at_place(format!("{around}{}", fault.at), fault.detail)
    })
}

/// What is wrong with a schema, found while it is compiled.
struct CompileFault {
    /// The address of the subschema in which it is wrong, where that is known.
    schema: Option<usize>,
    /// The place in that subschema, or in the document.
    at: String,
    detail: String,
}

impl From<ValidationError<'_>> for CompileFault {
    fn from(error: ValidationError<'_>) -> Self {
        Self { schema: None, at: error.instance_path().to_string(), detail: error.to_string() }
    }
}

impl From<referencing::Error> for CompileFault {
    fn from(error: referencing::Error) -> Self {
        ValidationError::from(error).into()
    }
}

/// The JSON Pointer of a member of the value at another one.
fn step(around: &str, key: &str) -> String {
    let mut pointer = format!("{around}/");
    push_step(&mut pointer, key);
    pointer
}

/// The JSON Pointer of the value at an address.
fn pointer_to(wanted: usize, document: &Value) -> Option<String> {
    let mut open = vec![(document, String::new())];
    while let Some((value, at)) = open.pop() {
        if address(value) == wanted {
            return Some(at);
        }
        match value {
            Value::Object(members) => {
                open.extend(members.iter().map(|(key, member)| (member, step(&at, key))));
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (item, format!("{at}/{index}"))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    None
}

fn depth_exceeds(document: &Value, limit: usize) -> bool {
    let mut open = vec![(document, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        match value {
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

fn validate_by_meta_schema(document: &Value, draft: Draft) -> Result<(), ValidationError<'_>> {
    if document.is_boolean() {
        return Ok(());
    }
    match draft {
        Draft::Draft4 => jsonschema::draft4::meta::validate(document),
        Draft::Draft6 => jsonschema::draft6::meta::validate(document),
        Draft::Draft7 => jsonschema::draft7::meta::validate(document),
        Draft::Draft201909 => jsonschema::draft201909::meta::validate(document),
        Draft::Draft202012 | _ => jsonschema::draft202012::meta::validate(document),
    }
}

fn compile_valid(document: &Value, draft: Draft, formats: Formats) -> Compiled<Graph> {
    let resource = draft.create_resource_ref(document);
    let name = resource.id().unwrap_or(UNNAMED).trim_end_matches('#');
    let registry = Registry::new().draft(draft).add(name, resource)?.prepare()?;
    let base = jsonschema::uri::from_str(name)?;
    let resolver = registry.resolver(base);
    let facts = Facts::of(document);
    let mut compiler = Compiler {
        formats,
        pattern_bytes: PatternBytes::for_patterns(facts.patterns.len()),
        scoping: facts.scoping,
        max_nodes: facts.values.saturating_add(SCOPED_NODES),
        ids: HashMap::default(),
        leaves: HashMap::default(),
        open: Vec::new(),
        nodes: Vec::new(),
        is_cut: false,
    };
    compiler.id(document, &resolver, draft)?;
    while let Some(open) = compiler.open.pop() {
        let node = compiler.node(&open)?;
        if let Some(place) = compiler.nodes.get_mut(open.id.0 as usize) {
            *place = node;
        }
    }
    let mut graph = Graph { nodes: compiler.nodes, is_cut: compiler.is_cut };
    graph.mark_shared();
    Ok(graph)
}

/// What a look over the whole document shows.
struct Facts<'r> {
    values: usize,
    /// Each pattern once.
    patterns: HashSet<&'r str, RandomState>,
    scoping: Scoping,
}

/// Whether where a reference leads depends on the resources that lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scoping {
    Static,
    Dynamic,
}

impl<'r> Facts<'r> {
    fn of(document: &'r Value) -> Self {
        let mut facts = Self { values: 0, patterns: HashSet::default(), scoping: Scoping::Static };
        let mut open = vec![document];
        while let Some(value) = open.pop() {
            facts.values += 1;
            match value {
                Value::Object(members) => {
                    for (key, member) in members {
                        facts.see(key, member);
                        open.push(member);
                    }
                }
                Value::Array(items) => open.extend(items),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        facts
    }

    fn see(&mut self, key: &str, member: &'r Value) {
        match key {
            keyword::PATTERN => self.patterns.extend(member.as_str()),
            keyword::PATTERNS => {
                self.patterns.extend(member.as_object().into_iter().flatten().map(|(key, _)| key.as_str()));
            }
            keyword::DYNAMIC_REF | keyword::DYNAMIC_ANCHOR | keyword::RECURSIVE_REF | keyword::RECURSIVE_ANCHOR => {
                self.scoping = Scoping::Dynamic;
            }
            // Another document, which can only be a meta-schema, may have dynamic references.
            keyword::REF if member.as_str().is_some_and(|reference| !reference.starts_with('#')) => {
                self.scoping = Scoping::Dynamic;
            }
            _ => {}
        }
    }
}

/// A subschema that waits.
struct Open<'r> {
    id: NodeId,
    schema: &'r Value,
    resolver: Resolver<'r>,
    draft: Draft,
}

struct Compiler<'r> {
    formats: Formats,
    pattern_bytes: PatternBytes,
    scoping: Scoping,
    max_nodes: usize,
    /// Nodes by the address of their subschema and, where references are dynamic, by the resources that lead to it.
    ids: HashMap<(usize, String), NodeId, RandomState>,
    leaves: HashMap<(Draft, String), Arc<Leaf>, RandomState>,
    open: Vec<Open<'r>>,
    nodes: Vec<Node>,
    is_cut: bool,
}

type Compiled<T> = Result<T, CompileFault>;

impl<'r> Compiler<'r> {
    /// The node of a subschema, which is compiled later.
    fn id(&mut self, schema: &'r Value, resolver: &Resolver<'r>, draft: Draft) -> Compiled<NodeId> {
        let draft = draft.detect(schema);
        let resolver = resolver.in_subresource(draft.create_resource_ref(schema))?;
        Ok(self.id_in(schema, resolver, draft))
    }

    fn id_in(&mut self, schema: &'r Value, resolver: Resolver<'r>, draft: Draft) -> NodeId {
        let key = (address(schema), if self.scoping == Scoping::Dynamic { scope(&resolver) } else { String::new() });
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        if self.nodes.len() >= self.max_nodes {
            self.is_cut = true;
            return id;
        }
        self.nodes.push(Node::default());
        self.ids.insert(key, id);
        self.open.push(Open { id, schema, resolver, draft });
        id
    }

    fn node(&mut self, open: &Open<'r>) -> Compiled<Node> {
        let mut node = Node { address: address(open.schema), ..Node::default() };
        match open.schema {
            Value::Bool(value) => node.constant = Some(*value),
            Value::Object(schema) => self.keywords(schema, open, &mut node)?,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let detail = format!("{} is no schema", open.schema);
                return Err(CompileFault { schema: Some(address(open.schema)), at: String::new(), detail });
            }
        }
        Ok(node)
    }

    fn keywords(&mut self, schema: &'r Map<String, Value>, open: &Open<'r>, node: &mut Node) -> Compiled<()> {
        if is_before_2019(open.draft)
            && let Some(reference) = schema.get(keyword::REF)
        {
            // Drafts 4 to 7 ignore what stands beside a reference.
            let target = self.reference(reference, open)?;
            node.push(keyword::REF, target.map(|target| Apply::All(vec![target])));
            return Ok(());
        }
        let mut assertions = Map::new();
        for (key, value) in schema {
            if let Some(name) = keyword::ASSERTIONS.iter().find(|name| *name == key) {
                assertions.insert(key.clone(), value.clone());
                node.order.push(Slot::Leaf(name));
                continue;
            }
            if key == keyword::DEPENDENCIES {
                let required = value.as_object().into_iter().flatten().filter(|(_, value)| value.is_array());
                let required: Map<String, Value> = required.map(|(key, value)| (key.clone(), value.clone())).collect();
                if !required.is_empty() {
                    assertions.insert(key.clone(), Value::Object(required));
                    node.order.push(Slot::Leaf(keyword::DEPENDENCIES));
                }
            }
            if let Some((name, apply)) = self.rule(key, value, schema, open)? {
                node.push(name, Some(apply));
            }
        }
        if !assertions.is_empty() {
            node.leaf = Some(self.leaf(&assertions, open, |at| at)?);
        }
        Ok(())
    }

    /// A leaf of a subschema; `place` says where in the subschema what stands at a place in the leaf does.
    fn leaf(
        &mut self,
        assertions: &Map<String, Value>,
        open: &Open<'r>,
        place: impl FnOnce(String) -> String,
    ) -> Compiled<Arc<Leaf>> {
        let key = (open.draft, Value::Object(assertions.clone()).to_string());
        if let Some(leaf) = self.leaves.get(&key) {
            return Ok(leaf.clone());
        }
        let mut pattern_bytes = self.pattern_bytes.share();
        let leaf = loop {
            let options = LeafOptions { formats: self.formats, pattern_bytes };
            let error = match Leaf::new(assertions.clone(), open.draft, options) {
                Ok(leaf) => break Arc::new(leaf),
                Err(error) => error,
            };
            let Some(more) = self.pattern_bytes.more_than(pattern_bytes) else {
                let fault = CompileFault::from(error);
                return Err(CompileFault { schema: Some(address(open.schema)), at: place(fault.at), ..fault });
            };
            pattern_bytes = more;
        };
        self.leaves.insert(key, leaf.clone());
        Ok(leaf)
    }

    /// The rule that a keyword makes, by the draft of its schema.
    fn rule(
        &mut self,
        key: &str,
        value: &'r Value,
        schema: &'r Map<String, Value>,
        open: &Open<'r>,
    ) -> Compiled<Option<(&'static str, Apply)>> {
        let draft = open.draft;
        let rule = match key {
            keyword::REF => (keyword::REF, self.reference(value, open)?.map(|id| Apply::All(vec![id]))),
            keyword::DYNAMIC_REF if is_since_2020(draft) => {
                (keyword::DYNAMIC_REF, self.reference(value, open)?.map(|id| Apply::All(vec![id])))
            }
            keyword::RECURSIVE_REF if draft == Draft::Draft201909 => {
                let resolved = open.resolver.lookup_recursive_ref()?;
                (keyword::RECURSIVE_REF, Some(Apply::All(vec![self.target(resolved)])))
            }
            keyword::ALL_OF => (keyword::ALL_OF, Some(Apply::All(self.each(value, open)?))),
            keyword::ANY_OF => (keyword::ANY_OF, Some(Apply::Any(self.each(value, open)?))),
            keyword::ONE_OF => (keyword::ONE_OF, Some(Apply::One(self.each(value, open)?))),
            keyword::NOT => (keyword::NOT, Some(Apply::Not(self.child(value, open)?))),
            keyword::IF if !matches!(draft, Draft::Draft4 | Draft::Draft6) => {
                let mut part = |name: &str| schema.get(name).map(|part| self.child(part, open)).transpose();
                let (then, otherwise) = (part(keyword::THEN)?, part(keyword::ELSE)?);
                (keyword::IF, Some(Apply::If { test: self.child(value, open)?, then, otherwise }))
            }
            keyword::PROPERTIES | keyword::PATTERNS | keyword::ADDITIONAL => {
                return self.members(key, value, schema, open);
            }
            keyword::PROPERTY_NAMES if draft != Draft::Draft4 => {
                (keyword::PROPERTY_NAMES, Some(Apply::Names(self.child(value, open)?)))
            }
            keyword::DEPENDENCIES => (keyword::DEPENDENCIES, self.dependent(value, open)?),
            keyword::DEPENDENT_SCHEMAS if !is_before_2019(draft) => {
                (keyword::DEPENDENT_SCHEMAS, self.dependent(value, open)?)
            }
            keyword::UNEVALUATED_PROPERTIES if !is_before_2019(draft) => {
                let others = self.child(value, open)?;
                (keyword::UNEVALUATED_PROPERTIES, Some(Apply::UnevaluatedProperties(others)))
            }
            _ => return self.array_rule(key, value, schema, open),
        };
        Ok(rule.1.map(|apply| (rule.0, apply)))
    }

    /// The rule that a keyword for lists makes.
    fn array_rule(
        &mut self,
        key: &str,
        value: &'r Value,
        schema: &'r Map<String, Value>,
        open: &Open<'r>,
    ) -> Compiled<Option<(&'static str, Apply)>> {
        let draft = open.draft;
        let rule = match (key, value) {
            (keyword::ITEMS, Value::Array(_)) => (keyword::ITEMS, Apply::Tuple(self.each(value, open)?)),
            (keyword::ITEMS, Value::Object(_) | Value::Bool(false)) => {
                let before = schema.get(keyword::PREFIX_ITEMS).filter(|_| is_since_2020(draft));
                let from = before.and_then(Value::as_array).map_or(0, Vec::len);
                (keyword::ITEMS, Apply::Items { from, each: self.child(value, open)? })
            }
            (keyword::PREFIX_ITEMS, Value::Array(_)) if is_since_2020(draft) => {
                (keyword::PREFIX_ITEMS, Apply::Tuple(self.each(value, open)?))
            }
            (keyword::ADDITIONAL_ITEMS, Value::Object(_) | Value::Bool(false)) => {
                let Some(Value::Array(tuple)) = schema.get(keyword::ITEMS) else { return Ok(None) };
                (keyword::ADDITIONAL_ITEMS, Apply::Items { from: tuple.len(), each: self.child(value, open)? })
            }
            (keyword::CONTAINS, _) if !matches!(draft, Draft::Draft4 | Draft::Unknown) => {
                let count = |name: &str| {
                    let count = schema.get(name).filter(|_| !is_before_2019(draft)).and_then(Value::as_f64);
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a meta-schema allows whole numbers from 0 on"
                    )]
                    count.map(|count| count as usize)
                };
                let (min, max) = (count(keyword::MIN_CONTAINS).unwrap_or(1), count(keyword::MAX_CONTAINS));
                let item = self.child(value, open)?;
                (keyword::CONTAINS, Apply::Contains { item, min, max, evaluates: is_since_2020(draft) })
            }
            (keyword::UNEVALUATED_ITEMS, _) if !is_before_2019(draft) => {
                (keyword::UNEVALUATED_ITEMS, Apply::UnevaluatedItems(self.child(value, open)?))
            }
            _ => return Ok(None),
        };
        Ok(Some(rule))
    }

    /// `properties` and `patternProperties` are one rule where `additionalProperties` depends on them.
    fn members(
        &mut self,
        key: &str,
        value: &'r Value,
        schema: &'r Map<String, Value>,
        open: &Open<'r>,
    ) -> Compiled<Option<(&'static str, Apply)>> {
        let closes = schema.get(keyword::ADDITIONAL).is_some_and(|others| others != &Value::Bool(true));
        let mut members = Members::default();
        let name = match key {
            keyword::ADDITIONAL if closes => {
                for (name, part) in schema.get(keyword::PROPERTIES).and_then(Value::as_object).into_iter().flatten() {
                    members.named.insert(name.clone(), self.child(part, open)?);
                }
                members.patterns = self.patterns(schema.get(keyword::PATTERNS), open)?;
                members.others = Some(self.child(value, open)?);
                keyword::ADDITIONAL
            }
            keyword::PROPERTIES if !closes => {
                for (name, part) in value.as_object().into_iter().flatten() {
                    members.named.insert(name.clone(), self.child(part, open)?);
                }
                keyword::PROPERTIES
            }
            keyword::PATTERNS if !closes => {
                members.patterns = self.patterns(Some(value), open)?;
                keyword::PATTERNS
            }
            // `true` refuses nothing, but it evaluates every member.
            keyword::ADDITIONAL => {
                members.others = Some(self.child(value, open)?);
                keyword::ADDITIONAL
            }
            _ => return Ok(None),
        };
        Ok(Some((name, Apply::Members(Box::new(members)))))
    }

    fn patterns(&mut self, patterns: Option<&'r Value>, open: &Open<'r>) -> Compiled<Vec<(Arc<Leaf>, NodeId)>> {
        let mut compiled = Vec::new();
        for (pattern, part) in patterns.and_then(Value::as_object).into_iter().flatten() {
            let place = |_| step(&step("", keyword::PATTERNS), pattern);
            let leaf = self.leaf(&Leaf::of_pattern(pattern), open, place)?;
            compiled.push((leaf, self.child(part, open)?));
        }
        Ok(compiled)
    }

    fn dependent(&mut self, value: &'r Value, open: &Open<'r>) -> Compiled<Option<Apply>> {
        let mut pairs = Vec::new();
        for (key, part) in value.as_object().into_iter().flatten().filter(|(_, part)| !part.is_array()) {
            pairs.push((key.clone(), self.child(part, open)?));
        }
        Ok((!pairs.is_empty()).then_some(Apply::Dependent(pairs)))
    }

    fn child(&mut self, schema: &'r Value, open: &Open<'r>) -> Compiled<NodeId> {
        self.id(schema, &open.resolver, open.draft)
    }

    fn each(&mut self, schemas: &'r Value, open: &Open<'r>) -> Compiled<Vec<NodeId>> {
        schemas.as_array().into_iter().flatten().map(|schema| self.child(schema, open)).collect()
    }

    /// The target of a reference; `None` where it leads to the schema that it stands in.
    fn reference(&mut self, reference: &Value, open: &Open<'r>) -> Compiled<Option<NodeId>> {
        let Some(reference) = reference.as_str().filter(|reference| !reference.is_empty()) else { return Ok(None) };
        let resolved = open.resolver.lookup(reference)?;
        if std::ptr::eq(resolved.contents(), open.schema) {
            return Ok(None);
        }
        Ok(Some(self.target(resolved)))
    }

    fn target(&mut self, target: Resolved<'r>) -> NodeId {
        let (schema, resolver, draft) = target.into_inner();
        let draft = draft.detect(schema);
        self.id_in(schema, resolver, draft)
    }
}

impl Node {
    fn push(&mut self, keyword: &'static str, apply: Option<Apply>) {
        if let Some(apply) = apply {
            self.order.push(Slot::Rule(self.rules.len()));
            self.rules.push(Rule { keyword, apply });
        }
    }
}

/// The resources that lead to a subschema, each once: the outermost one decides where a dynamic reference leads.
fn scope(resolver: &Resolver<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    let scope = resolver.dynamic_scope();
    let mut outermost: Vec<&str> = scope.iter().map(jsonschema::Uri::as_str).collect();
    outermost.reverse();
    for name in outermost {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names.push(resolver.base_uri().as_str().to_owned());
    names.join("\n")
}

fn is_before_2019(draft: Draft) -> bool {
    matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
}

fn is_since_2020(draft: Draft) -> bool {
    !is_before_2019(draft) && draft != Draft::Draft201909
}
