//! Resolves references: pointers, anchors, ids, and documents from the caller's resolver.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::keywords::NodeBuilder;
use super::{Draft, SchemaReader, Unresolved};
use crate::error::{ReadError, ReadErrorKind};
use crate::json::{Json, Member, pointer_tokens, unescaped};
use crate::keyword::{KeywordValue, Kw, keywords_along};
use crate::place::{Place, PlaceStep, ROOT};
use polywire_report::{Action, Effect};

/// The resource around a schema: the target of `#`, and the base of relative references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'d> {
    pub(super) resource: &'d Json<'d>,
    /// Where the resource begins.
    pub(super) place: Place,
    /// The number of the base URI.
    pub(super) base: usize,
    /// The number of the base URI where the resource begins.
    resource_base: usize,
    /// The document that contains the resource.
    document: &'d Json<'d>,
}

impl<'d> Scope<'d> {
    /// The scope around a whole document that is known by the URI of that number.
    pub(super) fn around(document: &'d Json<'d>, base: usize) -> Self {
        Self { resource: document, place: ROOT, base, resource_base: base, document }
    }

    /// The scope where the resource begins.
    fn at_resource_root(self) -> Self {
        Self { base: self.resource_base, ..self }
    }
}

/// The target of a reference, with its place and scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'d> {
    json: &'d Json<'d>,
    place: Place,
    scope: Scope<'d>,
    by: FoundBy,
}

/// How a target was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundBy {
    /// The reference resolves to it.
    Reference,
    /// The reference dangles, and this is the likely target.
    Guess,
}

impl<'d> Target<'d> {
    fn new(json: &'d Json<'d>, place: Place, scope: Scope<'d>) -> Self {
        Self { json, place, scope, by: FoundBy::Reference }
    }

    fn as_guess(self) -> Self {
        Self { by: FoundBy::Guess, ..self }
    }
}

pub(super) type TargetResult<'d> = Option<Target<'d>>;

/// Ids, anchors and definitions of the documents, built when the first reference needs them.
#[derive(Debug, Default)]
pub(super) struct NameIndex<'d> {
    ids: HashMap<String, Target<'d>, FixedState>,
    /// By the address of their resource.
    anchors: HashMap<(usize, &'d str), Target<'d>, FixedState>,
    /// By the address of their document, like the definitions.
    any_anchors: HashMap<(usize, &'d str), Target<'d>, FixedState>,
    definitions: HashMap<(usize, &'d str), Target<'d>, FixedState>,
}

/// How a value is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexedAs {
    /// A schema, or something with schemas in it.
    Schema,
    /// A map from names to schemas: no key is a keyword.
    Map,
}

/// Objects with fewer members are searched, those with more are indexed.
const INDEXED_FROM: usize = 32;

/// The URIs of other documents that a document at a URI refers to.
pub(crate) fn remote_references(document: &Json<'_>, base: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect_references(document, base, &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect_references(json: &Json<'_>, base: &str, found: &mut Vec<String>) {
    match json {
        Json::Obj(members) => {
            let id = json.get(Kw::Id.name()).and_then(Json::as_str).filter(|id| !id.starts_with('#'));
            let base = id.map_or(Cow::Borrowed(base), |id| Cow::Owned(resolve_uri(base, id.trim_end_matches('#'))));
            for (key, value) in *members {
                match (Kw::of(key), value.as_str()) {
                    (Some(Kw::Ref | Kw::DynamicRef), Some(reference)) => {
                        let uri = reference.split('#').next().unwrap_or(reference);
                        let pointer = uri.is_empty() || (uri.starts_with('/') && base.is_empty());
                        let uri = if pointer { String::new() } else { resolve_uri(&base, uri) };
                        found.extend(Some(uri).filter(|uri| uri.contains("://")));
                    }
                    _ => collect_references(value, &base, found),
                }
            }
        }
        Json::Arr(items) => items.iter().for_each(|item| collect_references(item, base, found)),
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}

impl<'g, 'd> SchemaReader<'g, 'd> {
    /// A schema with an id begins a resource of its own.
    pub(super) fn enter_scope(&mut self, json: &'d Json<'d>, place: Place, scope: Scope<'d>) -> Scope<'d> {
        let members = json.as_obj().unwrap_or_default();
        let Some(id) = self.schema_id(members).filter(|id| !id.starts_with('#')) else { return scope };
        let address = std::ptr::from_ref(json) as usize;
        let base = if let Some(base) = self.entered.get(&address) {
            *base
        } else {
            self.bases.push(resolve_uri(self.base(scope), id.trim_end_matches('#')));
            self.entered.insert(address, self.bases.len() - 1);
            self.bases.len() - 1
        };
        if std::ptr::eq(json, scope.resource) {
            return Scope { base, resource_base: base, ..scope };
        }
        // An `id` is often no more than a name: `#` keeps meaning what it means outside unless the schema says otherwise.
        let holds = |(key, _): &Member<'_>| matches!(Kw::of(key), Some(Kw::Defs | Kw::Definitions));
        let begins = |(key, _): &Member<'_>| Kw::of(key) == Some(Kw::Id);
        if members.iter().any(begins) || (self.is_before(Draft::Draft06) && members.iter().any(holds)) {
            return Scope { resource: json, place, base, resource_base: base, document: scope.document };
        }
        Scope { base, ..scope }
    }

    /// The name that members give themselves. A long list is not searched for every pointer that passes it.
    fn schema_id(&mut self, members: &'d [Member<'d>]) -> Option<&'d str> {
        let mut words = [Kw::Id, Kw::LegacyId].into_iter().filter(|kw| self.is_id_keyword(Some(*kw)));
        let words = [words.next(), words.next()];
        if members.len() < INDEXED_FROM {
            let named = |key: &str| words.iter().flatten().any(|kw| kw.name() == key);
            return members.iter().find_map(|(key, value)| value.as_str().filter(|_| named(key)));
        }
        let mut places = words.map(|kw| self.position(members, kw?.name()));
        places.sort_unstable();
        places.into_iter().flatten().find_map(|place| members.get(place)?.1.as_str())
    }

    /// The base URI of a scope.
    fn base(&self, scope: Scope<'d>) -> &str {
        self.bases.get(scope.base).map_or("", String::as_str)
    }

    /// `id` up to draft 4, `$id` after it, either where no draft is stated.
    fn is_id_keyword(&self, kw: Option<Kw>) -> bool {
        match kw {
            Some(Kw::Id) => !self.is_before(Draft::Draft06),
            Some(Kw::LegacyId) => self.draft.is_none() || self.is_before(Draft::Draft06),
            _ => false,
        }
    }

    pub(super) fn read_reference(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        builder: &mut NodeBuilder<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let node = &mut builder.node;
        let Some(reference) = value.as_str() else { return Ok(false) };
        let place = node.place.unwrap_or(ROOT);
        let found = if kw == Kw::RecursiveRef {
            Some(self.resolve_recursive(scope))
        } else if kw == Kw::DynamicRef {
            self.resolve_dynamic(reference, scope, place)
        } else {
            self.resolve_cached(reference, scope, place)
        };
        // A caller who refuses what leads nowhere does not want it guessed either.
        let taken = |target: &Target<'_>| target.by == FoundBy::Reference || self.unresolved == Unresolved::Any;
        let found = found.filter(|target| self.is_schema(target.json) && taken(target));
        if let Some(target) = found {
            let address = std::ptr::from_ref(target.json) as usize;
            let id = if let Some(id) = self.known.get(&address).copied() {
                self.shared.insert(id);
                id
            } else {
                let id = self.graph.reserve();
                self.known.insert(address, id);
                self.pending.push((id, target.json, target.place, target.scope));
                id
            };
            if target.by == FoundBy::Guess {
                let taken = self.pointers.pointer(target.place, &self.places);
                let detail = format!("`{reference}` leads nowhere; what stands at `{taken}` is taken to be meant");
                self.record_change("READ-REF", place, kw.name(), Action::Rewritten, Effect::Note, detail);
            }
            // A reference beside another one (a dynamic one, say) is one more condition.
            if node.target.is_some() {
                let logic = builder.logic.get_or_insert_default();
                logic.all = self.arena.extended(logic.all, &[id]);
            } else {
                node.target = Some(id);
            }
            return Ok(true);
        }
        let detail = format!("`{reference}` leads nowhere");
        if self.unresolved == Unresolved::Refuse {
            return Err(ReadError::new(ReadErrorKind::Unresolved, self.pointers.pointer(place, &self.places), detail));
        }
        let detail = format!("{detail}; any value is accepted");
        self.record_change("READ-REF", place, kw.name(), Action::Dropped, Effect::Wider, detail);
        Ok(true)
    }

    /// `$recursiveRef`: the resource, or the whole document where both have `$recursiveAnchor`.
    fn resolve_recursive(&mut self, scope: Scope<'d>) -> Target<'d> {
        let extended = |json: &Json<'_>| json.get(Kw::RecursiveAnchor.name()).and_then(Json::as_bool) == Some(true);
        if extended(scope.resource) && extended(self.document) {
            let scope = self.document_scope(self.document);
            return Target::new(self.document, ROOT, scope);
        }
        Target::new(scope.resource, scope.place, scope.at_resource_root())
    }

    /// `$dynamicRef`: the plain target, or the schema of the whole document with the same `$dynamicAnchor`.
    fn resolve_dynamic(&mut self, reference: &'d str, scope: Scope<'d>, from: Place) -> TargetResult<'d> {
        let found = self.resolve_cached(reference, scope, from)?;
        let name = |json: &'d Json<'d>| json.get(Kw::DynamicAnchor.name()).and_then(Json::as_str);
        let Some(own) = name(found.json).filter(|name| reference.rsplit_once('#').is_some_and(|(_, own)| own == *name))
        else {
            return Some(found);
        };
        let whole = std::ptr::from_ref(self.document) as usize;
        let outer = self.index().anchors.get(&(whole, own)).copied();
        Some(outer.filter(|outer| name(outer.json) == Some(own)).unwrap_or(found))
    }

    /// The scope inside a document.
    fn document_scope(&mut self, document: &'d Json<'d>) -> Scope<'d> {
        // The URIs of the documents that were fetched stand first among the bases, behind that of the caller's own.
        let base = self.remote.iter().position(|(_, own)| std::ptr::eq(own, document)).map_or(0, |index| index + 1);
        self.enter_scope(document, ROOT, Scope::around(document, base))
    }

    /// Most references occur often. Guesses depend on the place of the reference, so they are not cached.
    fn resolve_cached(&mut self, reference: &'d str, scope: Scope<'d>, from: Place) -> TargetResult<'d> {
        let said = (reference, std::ptr::from_ref(scope.resource) as usize, scope.base);
        if let Some(found) = self.found.get(&said) {
            return *found;
        }
        let found = self.resolve_reference(reference, scope, from);
        if found.is_none_or(|target| target.by == FoundBy::Reference) {
            self.found.insert(said, found);
        }
        found
    }

    fn resolve_reference(&mut self, reference: &str, scope: Scope<'d>, from: Place) -> TargetResult<'d> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if uri.starts_with('/') && fragment.is_empty() {
            let named = if self.base(scope).is_empty() { None } else { self.find_resource(uri, scope) };
            if let Some(scope) = named {
                return Some(Target::new(scope.resource, scope.place, scope));
            }
            // Some generators forget the `#` before a pointer.
            return self.resolve_reference(&format!("#{uri}"), scope, from).map(Target::as_guess);
        }
        let scope = if uri.is_empty() { scope.at_resource_root() } else { self.find_resource(uri, scope)? };
        if fragment.is_empty() {
            return Some(Target::new(scope.resource, scope.place, scope));
        }
        if !fragment.starts_with('/') {
            return self.resolve_anchor(fragment, scope);
        }
        if let Some(found) = self.resolve_pointer(scope, fragment) {
            return Some(found);
        }
        let whole = self.document_scope(scope.document);
        self.resolve_pointer(whole, fragment)
            .or_else(|| self.find_nearby_definition(fragment, whole, from))
            .map(Target::as_guess)
    }

    fn resolve_pointer(&mut self, from: Scope<'d>, pointer: &str) -> TargetResult<'d> {
        let start = Target::new(from.resource, from.place, from);
        pointer_tokens(pointer).try_fold(start, |at, token| self.step_into(at, &token))
    }

    fn step_into(&mut self, at: Target<'d>, token: &str) -> TargetResult<'d> {
        // What the pointer passes may begin a resource of its own.
        let scope = self.enter_scope(at.json, at.place, at.scope);
        let (json, step) = match at.json {
            Json::Obj(members) => {
                let (key, value) = members.get(self.position(members, token)?)?;
                (value, PlaceStep::Key(key))
            }
            Json::Arr(items) => {
                let index = token.parse().ok()?;
                (items.get(index)?, PlaceStep::Index(index))
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => return None,
        };
        Some(Target::new(json, self.places.step(at.place, step), scope))
    }

    /// The schema with an anchor: in the resource, or else anywhere in the document.
    fn resolve_anchor(&mut self, name: &str, scope: Scope<'d>) -> TargetResult<'d> {
        let resource = std::ptr::from_ref(scope.resource) as usize;
        let document = std::ptr::from_ref(scope.document) as usize;
        let NameIndex { anchors, any_anchors, .. } = self.index();
        let guess = || any_anchors.get(&(document, name)).map(|target| target.as_guess());
        anchors.get(&(resource, name)).copied().or_else(guess)
    }

    /// Large objects, such as definitions, are indexed once.
    fn position(&mut self, members: &'d [Member<'d>], token: &str) -> Option<usize> {
        if members.len() < INDEXED_FROM {
            return members.iter().position(|(key, _)| *key == token);
        }
        let address = members.as_ptr() as usize;
        let table = self
            .tables
            .entry(address)
            .or_insert_with(|| members.iter().enumerate().map(|(index, (key, _))| (*key, index)).collect());
        table.get(token).copied()
    }

    /// A definition of that name in `$defs` that stand deeper than the reference believes: in the nearest schema around it that has
    /// one, or else anywhere in the document.
    fn find_nearby_definition(&mut self, pointer: &str, whole: Scope<'d>, from: Place) -> TargetResult<'d> {
        let mut tokens: Vec<_> = pointer_tokens(pointer).collect();
        let name = tokens.pop()?;
        let map = tokens.pop()?;
        matches!(Kw::of(&map), Some(Kw::Defs | Kw::Definitions)).then_some(())?;
        let document = std::ptr::from_ref(whole.document) as usize;
        self.around(&map, &name, whole, from).or_else(|| self.index().definitions.get(&(document, &*name)).copied())
    }

    /// A definition in the nearest schema around a place, in a map of either name.
    fn around(&mut self, map: &str, name: &str, whole: Scope<'d>, from: Place) -> TargetResult<'d> {
        let way = self.pointers.pointer(from, &self.places);
        let tokens: Vec<String> = way.split('/').skip(1).map(|token| unescaped(token).into_owned()).collect();
        let mut at = Target::new(whole.resource, whole.place, whole);
        let mut found = self.defined_in(at, map, name);
        for (token, kw) in tokens.iter().zip(keywords_along(&tokens)) {
            let Some(inner) = self.step_into(at, token) else { break };
            at = inner;
            // What stands in a map of schemas has their names for keys.
            let names = kw
                .is_some_and(|kw| matches!(kw.info().holds, KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap));
            if !names {
                found = self.defined_in(at, map, name).or(found);
            }
        }
        found
    }

    fn defined_in(&mut self, at: Target<'d>, map: &str, name: &str) -> TargetResult<'d> {
        let maps = [map, Kw::Defs.name(), Kw::Definitions.name()];
        maps.into_iter().find_map(|map| self.step_into(at, map).and_then(|held| self.step_into(held, name)))
    }

    /// The scope inside the resource that a URI names: a part of a document that has it for its id, or a document that was fetched.
    fn find_resource(&mut self, uri: &str, scope: Scope<'d>) -> Option<Scope<'d>> {
        let joined = resolve_uri(self.base(scope), uri);
        let ids = &self.index().ids;
        if let Some(own) = ids.get(&joined).or_else(|| ids.get(uri)).copied() {
            let Scope { base, .. } = self.enter_scope(own.json, own.place, own.scope);
            return Some(Scope { resource: own.json, place: own.place, base, resource_base: base, ..own.scope });
        }
        let remote = self.remote.iter().find(|(own, _)| *own == joined || own == uri);
        remote.map(|(_, document)| self.document_scope(document))
    }

    fn index(&mut self) -> &NameIndex<'d> {
        if self.index.is_none() {
            let mut index = NameIndex::default();
            let remote = self.remote.iter().map(|(_, document)| document);
            for document in std::iter::once(self.document).chain(remote) {
                let scope = self.document_scope(document);
                self.add_to_index(&mut index, document, ROOT, scope, IndexedAs::Schema);
            }
            self.index = Some(index);
        }
        self.index.get_or_insert_default()
    }

    fn add_to_index(
        &mut self,
        index: &mut NameIndex<'d>,
        json: &'d Json<'d>,
        place: Place,
        scope: Scope<'d>,
        indexed_as: IndexedAs,
    ) {
        match json {
            Json::Obj(members) if indexed_as == IndexedAs::Map => {
                for (key, value) in *members {
                    let at = self.places.step(place, PlaceStep::Key(key));
                    self.add_to_index(index, value, at, scope, IndexedAs::Schema);
                }
            }
            Json::Obj(members) => {
                let own = Target::new(json, place, scope);
                let scope = self.enter_scope(json, place, scope);
                let resource = std::ptr::from_ref(scope.resource) as usize;
                let document = std::ptr::from_ref(scope.document) as usize;
                for (key, value) in *members {
                    let kw = Kw::of(key);
                    if let Some(text) = value.as_str() {
                        let names = self.is_id_keyword(kw);
                        let local = text.strip_prefix('#').filter(|_| names);
                        let anchor = matches!(kw, Some(Kw::Anchor | Kw::DynamicAnchor)).then_some(text);
                        if let Some(anchor) = local.or(anchor) {
                            index.anchors.entry((resource, anchor)).or_insert(own);
                            index.any_anchors.entry((document, anchor)).or_insert(own);
                        } else if names {
                            index.ids.entry(self.base(scope).to_owned()).or_insert(own);
                        }
                        continue;
                    }
                    let holds = kw.map(|kw| kw.info().holds);
                    if matches!(holds, Some(KeywordValue::Data | KeywordValue::Values))
                        || !matches!(value, Json::Obj(_) | Json::Arr(_))
                    {
                        continue;
                    }
                    let at = self.places.step(place, PlaceStep::Key(key));
                    let map = matches!(holds, Some(KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap));
                    if let (Some(Kw::Defs | Kw::Definitions), Json::Obj(map)) = (kw, value) {
                        for (name, schema) in *map {
                            let own = Target::new(schema, self.places.step(at, PlaceStep::Key(name)), scope);
                            index.definitions.entry((document, *name)).or_insert(own);
                        }
                    }
                    self.add_to_index(index, value, at, scope, if map { IndexedAs::Map } else { IndexedAs::Schema });
                }
            }
            Json::Arr(items) => {
                for (number, item) in items.iter().enumerate() {
                    let at = self.places.step(place, PlaceStep::Index(number));
                    self.add_to_index(index, item, at, scope, IndexedAs::Schema);
                }
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
        }
    }
}

/// A URI seen from a base: enough of RFC 3986 for the ids that schemas have.
fn resolve_uri(base: &str, reference: &str) -> String {
    if reference.contains("://") || reference.starts_with("urn:") || base.is_empty() {
        return normalize_uri(reference);
    }
    let scheme = base.find("://").map_or(0, |end| end + 1);
    let authority = base.find("://").map_or(0, |scheme| {
        let after = scheme + 3;
        base.get(after..).and_then(|rest| rest.find('/')).map_or(base.len(), |slash| after + slash)
    });
    let kept = if reference.starts_with("//") {
        base.get(..scheme)
    } else if reference.starts_with('/') {
        base.get(..authority)
    } else {
        base.get(..base.rfind('/').map_or(0, |slash| slash + 1))
    };
    normalize_uri(&format!("{}{reference}", kept.unwrap_or_default()))
}

/// A URI whose path has no steps to itself or back, and whose scheme is in small letters.
fn normalize_uri(uri: &str) -> String {
    let (scheme, rest) = uri.split_once("://").unwrap_or(("", uri));
    if !rest.contains("/.") && !rest.starts_with('.') && !scheme.contains(|letter: char| letter.is_ascii_uppercase()) {
        return uri.to_owned();
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in rest.split('/') {
        // The authority stays, and so does the slash at the beginning.
        let first = steps.len() == 1 && (!scheme.is_empty() || steps == [""]);
        match step {
            "." => {}
            ".." if first => {}
            ".." => _ = steps.pop(),
            _ => steps.push(step),
        }
    }
    if rest.ends_with("/.") || rest.ends_with("/..") || rest == "." || rest == ".." {
        steps.push("");
    }
    let mark = if scheme.is_empty() { "" } else { "://" };
    format!("{}{mark}{}", scheme.to_ascii_lowercase(), steps.join("/"))
}
