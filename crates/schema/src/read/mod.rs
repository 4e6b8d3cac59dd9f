//! Owns reading: a JSON document of any draft becomes a [`Graph`] in the terms of draft 2020-12. Forms of older drafts, of
//! `OpenAPI` 3.0 and of careless generators are understood here and nowhere else.

mod keywords;
mod resolve;
mod types;
mod values;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;
use serde_json::Value;

pub(crate) use resolve::remote_references;

use crate::arena::Arena;
use crate::error::{ReadError, ReadErrorKind};
use crate::graph::{Annotation, Graph, Node, NodeId};
use crate::json::{Bounds, Json, Member};
use crate::keyword::{Kw, KwSet};
use crate::place::{Place, PlaceStep, Places, PointerWriter, ROOT};
use crate::types::Types;
use crate::walk::look_at_subschemas;
use polywire_report::{Action, Change, Effect};
use resolve::{NameIndex, Scope, TargetResult};

/// The draft in which a schema is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Draft {
    /// Draft 3.
    Draft03,
    /// Draft 4.
    Draft04,
    /// Draft 6.
    Draft06,
    /// Draft 7.
    Draft07,
    /// Draft 2019-09.
    Draft2019,
    /// Draft 2020-12.
    Draft2020,
    /// The schema object of `OpenAPI` 3.0.
    OpenApi30,
}

impl Draft {
    /// The draft that a `$schema` names.
    fn named(uri: &str) -> Option<Self> {
        const NAMES: [(&str, Draft); 6] = [
            ("draft-03", Draft::Draft03),
            ("draft-04", Draft::Draft04),
            ("draft-06", Draft::Draft06),
            ("draft-07", Draft::Draft07),
            ("2019-09", Draft::Draft2019),
            ("2020-12", Draft::Draft2020),
        ];
        NAMES.iter().find(|(name, _)| uri.contains(name)).map(|(_, draft)| *draft)
    }
}

/// Bounds on the size of a document.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Levels of JSON nesting.
    pub depth: usize,
    /// Values in the document.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 512, values: 4_000_000 }
    }
}

impl Limits {
    /// Sets how deeply the document may be nested.
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets how many values the document may have.
    #[must_use]
    pub fn with_values(mut self, values: usize) -> Self {
        self.values = values;
        self
    }

    pub(crate) fn bounds(self) -> Bounds {
        Bounds { depth: self.depth, values: self.values }
    }
}

/// Fetches schemas that a document refers to by URI. Without one, such a reference accepts anything and a change says so.
pub trait Resolver: Send + Sync {
    /// The document at that URI.
    fn resolve(&self, uri: &str) -> Option<Value>;
}

/// How a document is to be read.
#[derive(Clone, Default)]
pub(crate) struct ReadOptions {
    pub(crate) draft: Option<Draft>,
    pub(crate) unresolved: Unresolved,
}

/// The meaning of a dangling reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unresolved {
    /// It accepts anything, and a change says so.
    #[default]
    Any,
    /// It is an error.
    Refuse,
}

/// A schema that was read.
pub(crate) struct ReadGraph<'g, 'd> {
    pub(crate) graph: Graph<'g, 'd, 'g>,
    /// Nodes that several references lead to, or one from elsewhere.
    pub(crate) shared: foldhash::HashSet<NodeId>,
    pub(crate) places: Places<'d>,
    pub(crate) root: NodeId,
    pub(crate) changes: Vec<Change>,
}

/// Reads a document that lies in an arena, or beside it, into another one. `remote` holds the documents that its references
/// name by URI.
pub(crate) fn read<'g, 'd>(
    document: &'d Json<'d>,
    texts: &'d Arena,
    arena: &'g Arena,
    remote: &'d [(String, Json<'d>)],
    options: &ReadOptions,
) -> Result<ReadGraph<'g, 'd>, ReadError> {
    let nodes = (texts.len() / JSON_BYTES_PER_NODE).max(MIN_NODE_CAPACITY);
    let mut reader = SchemaReader {
        arena,
        texts,
        graph: Graph::with_capacity(nodes, arena),
        shared: foldhash::HashSet::default(),
        places: Places::with_capacity(nodes * 2),
        pointers: PointerWriter::default(),
        document,
        remote,
        draft: options.draft.or_else(|| stated_draft(document)),
        unresolved: options.unresolved,
        known: HashMap::with_capacity_and_hasher(nodes, FixedState::default()),
        pending: Vec::new(),
        index: None,
        found: HashMap::default(),
        tables: HashMap::default(),
        bases: std::iter::once(String::new()).chain(remote.iter().map(|(uri, _)| uri.clone())).collect(),
        entered: HashMap::default(),
        changes: Vec::new(),
        annotations: Vec::new(),
        named: Vec::with_capacity(16),
        ids: Vec::new(),
        has_unevaluated: None,
    };
    let scope = Scope::around(document, 0);
    let root = reader.read(document, ROOT, scope)?;
    while let Some((id, json, place, scope)) = reader.pending.pop() {
        reader.read_into(id, json, place, scope)?;
    }
    let SchemaReader { graph, shared, places, changes, .. } = reader;
    Ok(ReadGraph { graph, shared, places, root, changes })
}

/// The draft that a document names.
fn stated_draft(document: &Json<'_>) -> Option<Draft> {
    document.get(Kw::Schema.name()).and_then(Json::as_str).and_then(Draft::named)
}

/// True where a reference has siblings that mean nothing in the document's own draft, but something to a reader of the current
/// draft.
pub(crate) fn has_dropped_ref_siblings(document: &Json<'_>, draft: Option<Draft>) -> bool {
    let draft = draft.or_else(|| stated_draft(document));
    draft.is_some_and(|draft| draft < Draft::Draft2019) && has_asserting_siblings(document)
}

/// True where a keyword means something else in the document's own draft than it does to a reader of the current one: `nullable`
/// without a stated draft, and `integer` up to draft 4.
pub(crate) fn has_draft_dependent_keywords(document: &Json<'_>, draft: Option<Draft>) -> bool {
    match draft.or_else(|| stated_draft(document)) {
        Some(draft) => draft < Draft::Draft06,
        None => has_nullable(document),
    }
}

/// True for the codes of changes that record such a meaning.
pub(crate) fn is_draft_dependent(code: &str) -> bool {
    matches!(code, "READ-NULLABLE" | "READ-INTEGER")
}

fn has_nullable(json: &Json<'_>) -> bool {
    if json.get(Kw::Nullable.name()).and_then(Json::as_bool) == Some(true) {
        return true;
    }
    let mut found = false;
    look_at_subschemas(json, &mut |_, inner| found = found || has_nullable(inner));
    found
}

fn has_asserting_siblings(json: &Json<'_>) -> bool {
    let asserts =
        |(key, _): &Member<'_>| Kw::of(key).is_some_and(|kw| !kw.is_annotation() && !kw.is_ignored_beside_ref());
    let refers = json.get(Kw::Ref.name()).and_then(Json::as_str).is_some();
    if refers && json.as_obj().unwrap_or_default().iter().any(asserts) {
        return true;
    }
    let mut found = false;
    look_at_subschemas(json, &mut |_, inner| found = found || has_asserting_siblings(inner));
    found
}

/// A schema takes about as many bytes of JSON in the arena.
const JSON_BYTES_PER_NODE: usize = 120;

/// Bounds on schemas that are given as JSON text.
const MAX_TEXT_BYTES: usize = 1 << 16;
const MAX_TEXT_DEPTH: usize = 32;

const MIN_NODE_CAPACITY: usize = 24;

struct SchemaReader<'g, 'd> {
    arena: &'g Arena,
    /// The arena of everything that outlives the graph.
    texts: &'d Arena,
    graph: Graph<'g, 'd, 'g>,
    shared: foldhash::HashSet<NodeId>,
    places: Places<'d>,
    pointers: PointerWriter,
    document: &'d Json<'d>,
    remote: &'d [(String, Json<'d>)],
    draft: Option<Draft>,
    unresolved: Unresolved,
    /// Nodes by the address of the JSON they were read from: a schema is read once, however often it is referred to.
    known: HashMap<usize, NodeId, FixedState>,
    /// Targets of references, read after what refers to them so that a long chain needs no stack.
    pending: Vec<(NodeId, &'d Json<'d>, Place, Scope<'d>)>,
    index: Option<NameIndex<'d>>,
    /// Resolved references, by their text, resource and base.
    found: HashMap<(&'d str, usize, usize), TargetResult<'d>, FixedState>,
    /// Positions of keys, by the address of the members that hold them.
    tables: HashMap<usize, HashMap<&'d str, usize, FixedState>, FixedState>,
    bases: Vec<String>,
    /// The numbers of the base URIs inside the schemas that have an id, by the address of each.
    entered: HashMap<usize, usize, FixedState>,
    changes: Vec<Change>,
    /// Lists of the nodes that are being read, each behind that of the node around it.
    annotations: Vec<Annotation<'d>>,
    named: Vec<(&'d str, NodeId)>,
    ids: Vec<NodeId>,
    /// The cached answer of `has_unevaluated_keyword`.
    has_unevaluated: Option<bool>,
}

impl<'g, 'd> SchemaReader<'g, 'd> {
    fn read(&mut self, json: &'d Json<'d>, place: Place, scope: Scope<'d>) -> Result<NodeId, ReadError> {
        let id = match self.known.entry(std::ptr::from_ref(json) as usize) {
            Entry::Occupied(known) => {
                let id = *known.get();
                self.shared.insert(id);
                return Ok(id);
            }
            Entry::Vacant(new) => *new.insert(self.graph.reserve()),
        };
        self.read_into(id, json, place, scope)?;
        Ok(id)
    }

    fn read_into(&mut self, id: NodeId, json: &'d Json<'d>, place: Place, scope: Scope<'d>) -> Result<(), ReadError> {
        if let Some(inner) = json.as_str().filter(|_| place != ROOT).and_then(|text| self.parse_schema_text(text)) {
            let says = "JSON text stands for the schema that it holds";
            self.record_change("READ-MALFORMED", place, "", Action::Rewritten, Effect::Same, says);
            return self.read_into(id, inner, place, scope);
        }
        let node = match json {
            Json::Bool(true) => Node { place: Some(place), ..Node::default() },
            Json::Bool(false) => Node { place: Some(place), types: Some(Types::NONE), ..Node::default() },
            Json::Obj(members) => Node { source: Some(json), ..self.read_members(json, members, place, scope)? },
            Json::Null | Json::Num(_) | Json::Str(_) | Json::Arr(_) if place == ROOT => {
                let says = format!("a schema is an object or a boolean, not {}", json_kind(json));
                return Err(ReadError::new(ReadErrorKind::NotASchema, String::new(), says));
            }
            Json::Null | Json::Num(_) | Json::Str(_) | Json::Arr(_) => self.read_non_schema(json, place),
        };
        self.graph.set(id, node);
        Ok(())
    }

    /// Some callers send a schema as JSON text. Texts may be nested, so each must be small.
    fn parse_schema_text(&self, text: &'d str) -> Option<&'d Json<'d>> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        let json = Json::from_text(text, Limits::default().with_depth(MAX_TEXT_DEPTH).bounds(), self.texts).ok()?;
        matches!(json, Json::Obj(_)).then(|| self.texts.keep(json))
    }

    fn is_schema(&self, json: &'d Json<'d>) -> bool {
        let is_schema_text =
            |text: &'d str| types::type_named(text).is_some() || self.parse_schema_text(text).is_some();
        matches!(json, Json::Obj(_) | Json::Bool(_)) || json.as_str().is_some_and(is_schema_text)
    }

    /// A value that is no schema: a type name stands for that type, anything else accepts any value. One mistake must not disable
    /// the schemas around it.
    fn read_non_schema(&mut self, json: &Json<'_>, place: Place) -> Node<'g, 'd> {
        let types = json.as_str().and_then(types::type_named);
        let (action, effect, detail) = if types.is_some() {
            (Action::Rewritten, Effect::Same, "the name of a type stands for its schema".to_owned())
        } else {
            let effect = if matches!(json, Json::Null) { Effect::Same } else { Effect::Wider };
            let detail = format!("{} stands where a schema must: any value is accepted", json_kind(json));
            (Action::Dropped, effect, detail)
        };
        self.record_change("READ-MALFORMED", place, "", action, effect, detail);
        Node { place: Some(place), types, ..Node::default() }
    }

    fn record_change(
        &mut self,
        code: &str,
        place: Place,
        keyword: &'static str,
        action: Action,
        effect: Effect,
        detail: impl Into<Cow<'static, str>>,
    ) {
        let change = Change {
            kind: None,
            code: code.into(),
            at: self.pointers.pointer(place, &self.places),
            keyword: keyword.into(),
            action,
            effect,
            detail: detail.into(),
        };
        let opposite = match effect {
            Effect::Wider => Some(Effect::Narrower),
            Effect::Narrower => Some(Effect::Wider),
            Effect::Same | Effect::Note => None,
        };
        let turned = opposite.filter(|_| self.places.is_below(place, &EFFECT_REVERSING));
        self.changes.extend(turned.map(|effect| Change { effect, ..change.clone() }));
        self.changes.push(change);
    }

    fn record_rewrite(&mut self, code: &str, place: Place, kw: Kw, detail: impl Into<Cow<'static, str>>) {
        self.record_change(code, place, kw.name(), Action::Rewritten, Effect::Same, detail);
    }

    /// Notes that a keyword's value is not of the kind it must be, and that the keyword is therefore left out.
    fn record_malformed(&mut self, kw: Kw, value: &Json<'_>, place: Place) {
        // `null` and `[]` in the place of a map or list are what careless serializers write for "nothing".
        let nothing = matches!(value, Json::Null) || matches!(value, Json::Arr(items) if items.is_empty());
        // By the letter, none of no values is valid.
        let effect = if nothing && kw != Kw::Enum { Effect::Same } else { Effect::Wider };
        let detail = format!("`{}` holds {}, which means nothing there", kw.name(), json_kind(value));
        self.record_change("READ-MALFORMED", place, kw.name(), Action::Dropped, effect, detail);
    }

    fn has_unevaluated_keyword(&mut self) -> bool {
        let documents = || std::iter::once(self.document).chain(self.remote.iter().map(|(_, document)| document));
        *self
            .has_unevaluated
            .get_or_insert_with(|| documents().any(|document| document.has_key_starting("unevaluated")))
    }

    /// Records keywords for types that the node excludes (READ-FOREIGN).
    fn record_foreign_keywords(&mut self, node: &Node<'_, '_>, asked: KwSet, place: Place) {
        let foreign = node.types.map_or(KwSet::NONE, |types| asked.and(KwSet::foreign_to(types)));
        if foreign.is_empty() {
            return;
        }
        for kw in foreign.iter() {
            let detail = "it speaks of values that the type refuses";
            self.record_change("READ-FOREIGN", place, kw.name(), Action::Dropped, Effect::Same, detail);
        }
    }

    fn read_child(&mut self, json: &'d Json<'d>, kw: Kw, place: Place, scope: Scope<'d>) -> Result<NodeId, ReadError> {
        let at = self.places.step(place, PlaceStep::Kw(kw));
        self.read(json, at, scope)
    }

    fn read_children(
        &mut self,
        items: &'d [Json<'d>],
        kw: Kw,
        place: Place,
        scope: Scope<'d>,
    ) -> Result<&'g [NodeId], ReadError> {
        let at = self.places.step(place, PlaceStep::Kw(kw));
        let start = self.ids.len();
        for (index, item) in items.iter().enumerate() {
            let at = self.places.step(at, PlaceStep::Index(index));
            if kw != Kw::PrefixItems && kw != Kw::Items && !self.is_schema(item) {
                let detail = format!("{} stands where a schema must, and is left out", json_kind(item));
                self.record_change("READ-MALFORMED", at, "", Action::Dropped, Effect::Same, detail);
                continue;
            }
            let id = self.read(item, at, scope)?;
            self.ids.push(id);
        }
        Ok(drain_to_arena(&mut self.ids, start, self.arena))
    }

    /// Schemas by name.
    fn map(
        &mut self,
        map: &'d [Member<'d>],
        kw: Kw,
        place: Place,
        scope: Scope<'d>,
    ) -> Result<Named<'g, 'd>, ReadError> {
        let at = self.places.step(place, PlaceStep::Kw(kw));
        let start = self.named.len();
        for (key, schema) in map {
            let at = self.places.step(at, PlaceStep::Key(key));
            let id = self.read(schema, at, scope)?;
            self.named.push((key, id));
        }
        Ok(drain_to_arena(&mut self.named, start, self.arena))
    }

    fn is_before(&self, draft: Draft) -> bool {
        self.draft.is_some_and(|own| own < draft)
    }
}

/// Widening inside these may narrow the whole, and the other way round.
const EFFECT_REVERSING: [Kw; 3] = [Kw::Not, Kw::If, Kw::OneOf];

/// Schemas by name.
type Named<'g, 'd> = &'g [(&'d str, NodeId)];

/// Takes the list that begins at a place off the end of a longer one.
fn drain_to_arena<'g, T: Copy>(items: &mut Vec<T>, start: usize, arena: &'g Arena) -> &'g [T] {
    let list = arena.list(items.get(start..).unwrap_or_default());
    items.truncate(start);
    list
}

fn json_kind(json: &Json<'_>) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Num(_) => "a number",
        Json::Str(_) => "a string",
        Json::Arr([]) => "an empty array",
        Json::Arr(_) => "an array",
        Json::Obj(_) => "an object",
    }
}
