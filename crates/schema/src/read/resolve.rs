//! What a reference leads to: pointers, anchors, ids, and documents that the caller's resolver brought.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::keywords::Sketch;
use super::{Draft, Reader, Unresolved};
use crate::error::{ReadError, ReadErrorKind};
use crate::json::{Json, Member, pointer_tokens};
use crate::keyword::{Holds, Kw};
use crate::place::{Place, ROOT, Step};
use crate::report::{Action, Effect};

/// The resource that a schema stands in: what `#` means there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'d> {
    pub(super) resource: &'d Json<'d>,
    pub(super) place: Place,
    /// The number of its base URI.
    pub(super) base: usize,
}

/// A schema and where it stands.
pub(super) type Found<'d> = Option<(&'d Json<'d>, Place)>;

/// Where things with a name stand in a document. Built when the first reference asks for one.
#[derive(Debug, Default)]
pub(super) struct Index<'d> {
    ids: HashMap<String, &'d Json<'d>, FixedState>,
    anchors: HashMap<&'d str, &'d Json<'d>, FixedState>,
    definitions: HashMap<&'d str, &'d Json<'d>, FixedState>,
}

/// Objects with fewer members are searched, those with more are indexed.
const INDEXED_FROM: usize = 32;

/// The URIs of other documents that a document refers to.
pub(crate) fn remote_references(document: &Json<'_>) -> Vec<String> {
    let mut found = Vec::new();
    collect_references(document, &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect_references(json: &Json<'_>, found: &mut Vec<String>) {
    match json {
        Json::Obj(members) => {
            for (key, value) in *members {
                match (Kw::of(key), value.as_str()) {
                    (Some(Kw::Ref | Kw::DynamicRef), Some(uri)) if uri.contains("://") => {
                        found.push(uri.split('#').next().unwrap_or(uri).to_owned());
                    }
                    _ => collect_references(value, found),
                }
            }
        }
        Json::Arr(items) => items.iter().for_each(|item| collect_references(item, found)),
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}

impl<'g, 'd> Reader<'g, 'd> {
    /// The scope inside a schema, which may begin a resource of its own.
    pub(super) fn enter(&mut self, members: &'d [Member<'d>], place: Place, scope: Scope<'d>) -> Scope<'d> {
        let id = members.iter().find_map(|(key, value)| value.as_str().filter(|_| self.names_itself_by(Kw::of(key))));
        let Some(id) = id.filter(|id| !id.starts_with('#')) else { return scope };
        let base = join(self.bases.get(scope.base).map_or("", String::as_str), id.trim_end_matches('#'));
        self.bases.push(base);
        let base = self.bases.len() - 1;
        // A draft-4 `id` is often no more than a name: `#` keeps meaning the whole document unless it says otherwise.
        let own = members.iter().any(|(key, _)| matches!(Kw::of(key), Some(Kw::Id)));
        let holds = members.iter().any(|(key, _)| matches!(Kw::of(key), Some(Kw::Defs | Kw::Definitions)));
        if own
            && holds
            && place != ROOT
            && let Some(resource) = self.schema_of(members)
        {
            return Scope { resource, place, base };
        }
        Scope { base, ..scope }
    }

    /// Whether a keyword gives a schema its name: `id` up to draft 4, `$id` after it, either where no draft is stated.
    fn names_itself_by(&self, kw: Option<Kw>) -> bool {
        match kw {
            Some(Kw::Id) => !self.is_before(Draft::Draft06),
            Some(Kw::LegacyId) => self.draft.is_none() || self.is_before(Draft::Draft06),
            _ => false,
        }
    }

    pub(super) fn reference(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        sketch: &mut Sketch<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let node = &mut sketch.node;
        let Some(reference) = value.as_str() else { return Ok(false) };
        let place = node.place.unwrap_or(ROOT);
        let found = if kw == Kw::RecursiveRef { Some((self.document, ROOT)) } else { self.find(reference, scope) };
        if let Some((target, at)) = found.filter(|(target, _)| matches!(target, Json::Obj(_) | Json::Bool(_))) {
            let address = std::ptr::from_ref(target) as usize;
            let id = if let Some(id) = self.known.get(&address).copied() {
                self.shared.insert(id);
                id
            } else {
                let id = self.graph.reserve();
                self.known.insert(address, id);
                let scope = self.scope_of(target, scope);
                self.waiting.push((id, target, at, scope));
                id
            };
            // A reference beside another one (a dynamic one, say) is one more condition.
            if node.target.is_some() {
                let logic = sketch.logic.get_or_insert_default();
                logic.all = self.arena.extended(logic.all, &[id]);
            } else {
                node.target = Some(id);
            }
            return Ok(true);
        }
        let detail = format!("`{reference}` leads nowhere");
        if self.unresolved == Unresolved::Refuse {
            return Err(ReadError::new(ReadErrorKind::Unresolved, self.spelled.pointer(place, &self.places), detail));
        }
        let detail = format!("{detail}; any value is accepted");
        self.change("READ-REF", place, kw.name(), Action::Dropped, Effect::Wider, detail);
        Ok(true)
    }

    /// Targets in a remote document have that document as their resource.
    fn scope_of(&self, target: &'d Json<'d>, scope: Scope<'d>) -> Scope<'d> {
        for (_, document) in self.remote {
            if std::ptr::eq(document, target) {
                return Scope { resource: document, place: ROOT, base: scope.base };
            }
        }
        scope
    }

    /// What a reference leads to. Most are said many times.
    fn find(&mut self, reference: &'d str, scope: Scope<'d>) -> Found<'d> {
        let said = (reference, std::ptr::from_ref(scope.resource) as usize, scope.base);
        if let Some(found) = self.found.get(&said) {
            return *found;
        }
        let found = self.look_for(reference, scope);
        self.found.insert(said, found);
        found
    }

    fn look_for(&mut self, reference: &str, scope: Scope<'d>) -> Found<'d> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        // Some generators forget the `#` before a pointer.
        let (uri, fragment) = if uri.starts_with('/') && fragment.is_empty() { ("", uri) } else { (uri, fragment) };
        let (resource, place) =
            if uri.is_empty() { (scope.resource, scope.place) } else { (self.resource(uri, scope)?, ROOT) };
        if fragment.is_empty() {
            return Some((resource, place));
        }
        if !fragment.starts_with('/') {
            let anchor = self.index().anchors.get(fragment).copied();
            return anchor.map(|target| (target, self.place_of_word(fragment)));
        }
        self.point(resource, place, fragment)
            .or_else(|| self.point(self.document, ROOT, fragment))
            .or_else(|| self.nearby(fragment))
    }

    fn point(&mut self, from: &'d Json<'d>, place: Place, pointer: &str) -> Found<'d> {
        let (mut json, mut at) = (from, place);
        for token in pointer_tokens(pointer) {
            let (next, step) = match json {
                Json::Obj(members) => {
                    let (key, value) = members.get(self.position(members, &token)?)?;
                    (value, Step::Key(key))
                }
                Json::Arr(items) => {
                    let index = token.parse().ok()?;
                    (items.get(index)?, Step::Index(index))
                }
                Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => return None,
            };
            json = next;
            at = self.places.step(at, step);
        }
        Some((json, at))
    }

    /// Where a key stands among members. A long list, of definitions say, is indexed once.
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

    /// A definition of that name anywhere: `$defs` that stand deeper than the reference believes.
    fn nearby(&mut self, pointer: &str) -> Found<'d> {
        let mut tokens: Vec<_> = pointer_tokens(pointer).collect();
        let name = tokens.pop()?;
        let map = tokens.pop()?;
        matches!(Kw::of(&map), Some(Kw::Defs | Kw::Definitions)).then_some(())?;
        let target = self.index().definitions.get(name.as_ref()).copied()?;
        Some((target, self.place_of_word(&name)))
    }

    fn place_of_word(&mut self, word: &str) -> Place {
        let at = self.places.step(ROOT, Step::Kw(Kw::Defs));
        self.places.step(at, Step::Key(self.texts.keep(self.texts.text(word))))
    }

    fn resource(&mut self, uri: &str, scope: Scope<'d>) -> Option<&'d Json<'d>> {
        let joined = join(self.bases.get(scope.base).map_or("", String::as_str), uri);
        let remote = self.remote;
        let ids = &self.index().ids;
        let own = ids.get(&joined).or_else(|| ids.get(uri)).copied();
        own.or_else(|| remote.iter().find(|(own, _)| *own == joined || own == uri).map(|(_, document)| document))
    }

    /// The JSON value whose members these are.
    fn schema_of(&mut self, members: &'d [Member<'d>]) -> Option<&'d Json<'d>> {
        let id = members.iter().find(|(key, _)| Kw::of(key) == Some(Kw::Id))?.1.as_str()?.to_owned();
        let base = self.bases.last().cloned().unwrap_or(id);
        let found = self.index().ids.get(&base).copied()?;
        found.as_obj().is_some_and(|own| std::ptr::eq(own, members)).then_some(found)
    }

    fn index(&mut self) -> &Index<'d> {
        let document = self.document;
        self.index.get_or_insert_with(|| {
            let mut index = Index::default();
            fill(&mut index, document, "");
            index
        })
    }
}

fn fill<'d>(index: &mut Index<'d>, json: &'d Json<'d>, base: &str) {
    match json {
        Json::Obj(members) => {
            let mut own = Cow::Borrowed(base);
            for (key, value) in *members {
                let Some(text) = value.as_str() else { continue };
                match Kw::of(key) {
                    Some(Kw::Id | Kw::LegacyId) if text.starts_with('#') => {
                        index.anchors.entry(text.trim_start_matches('#')).or_insert(json);
                    }
                    Some(Kw::Id | Kw::LegacyId) => {
                        own = Cow::Owned(join(base, text.trim_end_matches('#')));
                        index.ids.entry(own.clone().into_owned()).or_insert(json);
                    }
                    Some(Kw::Anchor | Kw::DynamicAnchor) => {
                        index.anchors.entry(text).or_insert(json);
                    }
                    _ => {}
                }
            }
            for (key, value) in *members {
                let kw = Kw::of(key);
                if let (Some(Kw::Defs | Kw::Definitions), Json::Obj(map)) = (kw, value) {
                    for (name, schema) in *map {
                        index.definitions.entry(name).or_insert(schema);
                    }
                }
                let data = kw.is_some_and(|kw| matches!(kw.row().holds, Holds::Data | Holds::Values));
                if !data {
                    fill(index, value, &own);
                }
            }
        }
        Json::Arr(items) => items.iter().for_each(|item| fill(index, item, base)),
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}

/// A URI seen from a base: enough of RFC 3986 for the ids that schemas have.
fn join(base: &str, reference: &str) -> String {
    if reference.contains("://") || reference.starts_with("urn:") || base.is_empty() {
        return reference.to_owned();
    }
    let authority = base.find("://").map_or(0, |scheme| {
        let after = scheme + 3;
        base.get(after..).and_then(|rest| rest.find('/')).map_or(base.len(), |slash| after + slash)
    });
    let kept = if reference.starts_with('/') {
        base.get(..authority)
    } else {
        base.get(..base.rfind('/').map_or(0, |slash| slash + 1))
    };
    format!("{}{reference}", kept.unwrap_or_default())
}
