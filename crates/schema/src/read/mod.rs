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
use crate::graph::{Graph, Node, NodeId, Note};
use crate::json::{Bounds, Json, Member};
use crate::keyword::{Kw, KwSet};
use crate::place::{Place, Places, ROOT, Spelled, Step};
use crate::types::Types;
use crate::walk::look_at_subschemas;
use polywire_report::{Action, Change, Effect};
use resolve::{Found, Index, Scope};

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

/// What reading may cost.
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

/// What a reference without a target means.
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
pub(crate) struct Read<'g, 'd> {
    pub(crate) graph: Graph<'g, 'd, 'g>,
    /// Nodes that several references lead to.
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
) -> Result<Read<'g, 'd>, ReadError> {
    let nodes = (texts.len() / JSON_PER_NODE).max(LEAST_NODES);
    let mut reader = Reader {
        arena,
        texts,
        graph: Graph::with_room(nodes, arena),
        shared: foldhash::HashSet::default(),
        places: Places::with_room(nodes * 2),
        spelled: Spelled::default(),
        document,
        remote,
        draft: options.draft.or_else(|| stated_draft(document)),
        unresolved: options.unresolved,
        known: HashMap::with_capacity_and_hasher(nodes, FixedState::default()),
        waiting: Vec::new(),
        index: None,
        found: HashMap::default(),
        tables: HashMap::default(),
        bases: std::iter::once(String::new()).chain(remote.iter().map(|(uri, _)| uri.clone())).collect(),
        entered: HashMap::default(),
        changes: Vec::new(),
        notes: Vec::new(),
        named: Vec::with_capacity(16),
        ids: Vec::new(),
        of_unevaluated: None,
    };
    let scope = Scope::around(document, 0);
    let root = reader.read(document, ROOT, scope)?;
    while let Some((id, json, place, scope)) = reader.waiting.pop() {
        reader.read_into(id, json, place, scope)?;
    }
    let Reader { graph, shared, places, changes, .. } = reader;
    Ok(Read { graph, shared, places, root, changes })
}

/// The draft that a document names.
fn stated_draft(document: &Json<'_>) -> Option<Draft> {
    document.get(Kw::Schema.name()).and_then(Json::as_str).and_then(Draft::named)
}

/// Whether something stands beside a reference that means nothing in the document's own draft, but something to whoever reads it as
/// one of today.
pub(crate) fn has_forgotten_siblings(document: &Json<'_>, draft: Option<Draft>) -> bool {
    let draft = draft.or_else(|| stated_draft(document));
    draft.is_some_and(|draft| draft < Draft::Draft2019) && siblings_assert(document)
}

fn siblings_assert(json: &Json<'_>) -> bool {
    let asserts = |(key, _): &Member<'_>| Kw::of(key).is_some_and(|kw| !kw.annotates() && !kw.is_silent_beside_ref());
    let refers = json.get(Kw::Ref.name()).and_then(Json::as_str).is_some();
    if refers && json.as_obj().unwrap_or_default().iter().any(asserts) {
        return true;
    }
    let mut found = false;
    look_at_subschemas(json, &mut |_, inner| found = found || siblings_assert(inner));
    found
}

/// A schema takes about as many bytes of JSON in the arena.
const JSON_PER_NODE: usize = 120;

/// A text that stands for a schema is no longer, and nested no deeper.
const LONGEST_TEXT: usize = 1 << 16;
const DEEPEST_TEXT: usize = 32;

/// There is room for at least as many schemas.
const LEAST_NODES: usize = 24;

struct Reader<'g, 'd> {
    arena: &'g Arena,
    /// Where what outlives the graph lies.
    texts: &'d Arena,
    graph: Graph<'g, 'd, 'g>,
    shared: foldhash::HashSet<NodeId>,
    places: Places<'d>,
    spelled: Spelled,
    document: &'d Json<'d>,
    remote: &'d [(String, Json<'d>)],
    draft: Option<Draft>,
    unresolved: Unresolved,
    /// Nodes by the address of the JSON they were read from: a schema is read once, however often it is referred to.
    known: HashMap<usize, NodeId, FixedState>,
    /// Targets of references, read after what refers to them so that a long chain needs no stack.
    waiting: Vec<(NodeId, &'d Json<'d>, Place, Scope<'d>)>,
    index: Option<Index<'d>>,
    /// What references lead to, by their words and the resource and base that they stand in.
    found: HashMap<(&'d str, usize, usize), Found<'d>, FixedState>,
    /// Positions of keys, by the address of the members they stand among.
    tables: HashMap<usize, HashMap<&'d str, usize, FixedState>, FixedState>,
    bases: Vec<String>,
    /// The numbers of the base URIs inside the schemas that have an id, by the address of each.
    entered: HashMap<usize, usize, FixedState>,
    changes: Vec<Change>,
    /// Lists of the nodes that are being read, each behind that of the node around it.
    notes: Vec<Note<'d>>,
    named: Vec<(&'d str, NodeId)>,
    ids: Vec<NodeId>,
    /// Whether anything speaks of what is not evaluated, once somebody asked.
    of_unevaluated: Option<bool>,
}

impl<'g, 'd> Reader<'g, 'd> {
    fn read(&mut self, json: &'d Json<'d>, place: Place, scope: Scope<'d>) -> Result<NodeId, ReadError> {
        let id = match self.known.entry(std::ptr::from_ref(json) as usize) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(new) => *new.insert(self.graph.reserve()),
        };
        self.read_into(id, json, place, scope)?;
        Ok(id)
    }

    fn read_into(&mut self, id: NodeId, json: &'d Json<'d>, place: Place, scope: Scope<'d>) -> Result<(), ReadError> {
        if let Some(inner) = json.as_str().filter(|_| place != ROOT).and_then(|text| self.schema_in(text)) {
            let says = "JSON text stands for the schema that it holds";
            self.change("READ-MALFORMED", place, "", Action::Rewritten, Effect::Same, says);
            return self.read_into(id, inner, place, scope);
        }
        let node = match json {
            Json::Bool(true) => Node { place: Some(place), ..Node::default() },
            Json::Bool(false) => Node { place: Some(place), types: Some(Types::NONE), ..Node::default() },
            Json::Obj(members) => Node { source: Some(json), ..self.read_members(json, members, place, scope)? },
            Json::Null | Json::Num(_) | Json::Str(_) | Json::Arr(_) if place == ROOT => {
                let says = format!("a schema is an object or a boolean, not {}", kind(json));
                return Err(ReadError::new(ReadErrorKind::NotASchema, String::new(), says));
            }
            Json::Null | Json::Num(_) | Json::Str(_) | Json::Arr(_) => self.read_other(json, place),
        };
        self.graph.set(id, node);
        Ok(())
    }

    /// The schema that a text holds, as some send one within another. A text may stand in a text, so each is small.
    fn schema_in(&self, text: &'d str) -> Option<&'d Json<'d>> {
        if text.len() > LONGEST_TEXT {
            return None;
        }
        let json = Json::from_text(text, Limits::default().with_depth(DEEPEST_TEXT).bounds(), self.texts).ok()?;
        matches!(json, Json::Obj(_)).then(|| self.texts.keep(json))
    }

    /// Whether something may stand for a schema.
    fn is_schema(&self, json: &'d Json<'d>) -> bool {
        let stands = |text: &'d str| types::type_named(text).is_some() || self.schema_in(text).is_some();
        matches!(json, Json::Obj(_) | Json::Bool(_)) || json.as_str().is_some_and(stands)
    }

    /// What stands where a schema must: the name of a type for that type, anything else for any value. One slip does not take the
    /// schemas around it away.
    fn read_other(&mut self, json: &Json<'_>, place: Place) -> Node<'g, 'd> {
        let types = json.as_str().and_then(types::type_named);
        let (action, effect, detail) = if types.is_some() {
            (Action::Rewritten, Effect::Same, "the name of a type stands for its schema".to_owned())
        } else {
            let effect = if matches!(json, Json::Null) { Effect::Same } else { Effect::Wider };
            let detail = format!("{} stands where a schema must: any value is accepted", kind(json));
            (Action::Dropped, effect, detail)
        };
        self.change("READ-MALFORMED", place, "", action, effect, detail);
        Node { place: Some(place), types, ..Node::default() }
    }

    fn change(
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
            at: self.spelled.pointer(place, &self.places),
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
        let turned = opposite.filter(|_| self.places.passes(place, &TURNING));
        self.changes.extend(turned.map(|effect| Change { effect, ..change.clone() }));
        self.changes.push(change);
    }

    /// Notes that a keyword is said in another way that means the same.
    fn rewritten(&mut self, code: &str, place: Place, kw: Kw, detail: impl Into<Cow<'static, str>>) {
        self.change(code, place, kw.name(), Action::Rewritten, Effect::Same, detail);
    }

    /// Notes that a keyword's value is not of the kind it must be, and that the keyword is therefore left out.
    fn malformed(&mut self, kw: Kw, value: &Json<'_>, place: Place) {
        // `null` and `[]` in the place of a map or list are what careless serializers write for "nothing".
        let nothing = matches!(value, Json::Null) || matches!(value, Json::Arr(items) if items.is_empty());
        // By the letter, none of no values is valid.
        let effect = if nothing && kw != Kw::Enum { Effect::Same } else { Effect::Wider };
        let detail = format!("`{}` holds {}, which means nothing there", kw.name(), kind(value));
        self.change("READ-MALFORMED", place, kw.name(), Action::Dropped, effect, detail);
    }

    /// Whether anything in the documents speaks of what is not evaluated.
    fn asks_of_unevaluated(&mut self) -> bool {
        let documents = || std::iter::once(self.document).chain(self.remote.iter().map(|(_, document)| document));
        *self.of_unevaluated.get_or_insert_with(|| documents().any(|document| document.has_key_like("unevaluated")))
    }

    /// Notes the keywords that speak of values which the type beside them refuses: they are not printed again.
    fn tell_of_others(&mut self, node: &Node<'_, '_>, asked: KwSet, place: Place) {
        let foreign = node.types.map_or(KwSet::NONE, |types| asked.and(KwSet::foreign_to(types)));
        if foreign.is_empty() {
            return;
        }
        for kw in foreign.iter() {
            let detail = "it speaks of values that the type refuses";
            self.change("READ-FOREIGN", place, kw.name(), Action::Dropped, Effect::Same, detail);
        }
    }

    fn child(&mut self, json: &'d Json<'d>, kw: Kw, place: Place, scope: Scope<'d>) -> Result<NodeId, ReadError> {
        let at = self.places.step(place, Step::Kw(kw));
        self.read(json, at, scope)
    }

    fn children(
        &mut self,
        items: &'d [Json<'d>],
        kw: Kw,
        place: Place,
        scope: Scope<'d>,
    ) -> Result<&'g [NodeId], ReadError> {
        let at = self.places.step(place, Step::Kw(kw));
        let start = self.ids.len();
        for (index, item) in items.iter().enumerate() {
            let at = self.places.step(at, Step::Index(index));
            if kw != Kw::PrefixItems && kw != Kw::Items && !self.is_schema(item) {
                let detail = format!("{} stands where a schema must, and is left out", kind(item));
                self.change("READ-MALFORMED", at, "", Action::Dropped, Effect::Same, detail);
                continue;
            }
            let id = self.read(item, at, scope)?;
            self.ids.push(id);
        }
        Ok(close(&mut self.ids, start, self.arena))
    }

    /// Schemas by name.
    fn map(
        &mut self,
        map: &'d [Member<'d>],
        kw: Kw,
        place: Place,
        scope: Scope<'d>,
    ) -> Result<Named<'g, 'd>, ReadError> {
        let at = self.places.step(place, Step::Kw(kw));
        let start = self.named.len();
        for (key, schema) in map {
            let at = self.places.step(at, Step::Key(key));
            let id = self.read(schema, at, scope)?;
            self.named.push((key, id));
        }
        Ok(close(&mut self.named, start, self.arena))
    }

    fn is_before(&self, draft: Draft) -> bool {
        self.draft.is_some_and(|own| own < draft)
    }
}

/// What lets more through inside these may let less through on the whole, and the other way round.
const TURNING: [Kw; 3] = [Kw::Not, Kw::If, Kw::OneOf];

/// Schemas and what they are called.
type Named<'g, 'd> = &'g [(&'d str, NodeId)];

/// Takes the list that begins at a place off the end of a longer one.
fn close<'g, T: Copy>(items: &mut Vec<T>, start: usize, arena: &'g Arena) -> &'g [T] {
    let list = arena.list(items.get(start..).unwrap_or_default());
    items.truncate(start);
    list
}

fn kind(json: &Json<'_>) -> &'static str {
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
