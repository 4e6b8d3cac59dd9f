//! The memory of a fit: a document, its graph, and the output of an attempt each have an arena and are freed
//! at once. Nothing in an arena owns memory, so nothing has to be dropped.

use bumpalo::Bump;

use crate::json::{FEW, Json, Member};

/// Holds JSON or nodes. One list of members may occur in several places of an emitted schema; references never do.
#[derive(Debug)]
pub(crate) struct Arena(Bump);

impl Default for Arena {
    fn default() -> Self {
        Self::for_text(0)
    }
}

impl Arena {
    /// An arena for a document of so many bytes.
    pub(crate) fn for_text(bytes: usize) -> Self {
        Self::with_capacity(bytes.saturating_mul(ROOM_PER_BYTE))
    }

    /// An arena for the graph of the JSON in another arena.
    pub(crate) fn for_graph_of(document: &Self) -> Self {
        Self::with_capacity(document.len() + document.len() / 4)
    }

    /// An arena for the output of so many nodes.
    pub(crate) fn for_nodes(nodes: usize) -> Self {
        Self::with_capacity(nodes.saturating_mul(ROOM_PER_NODE))
    }

    fn with_capacity(bytes: usize) -> Self {
        Self(Bump::with_capacity(bytes.clamp(SMALLEST, LARGEST)))
    }

    /// How many bytes lie in the arena.
    pub(crate) fn len(&self) -> usize {
        self.0.allocated_bytes() - self.0.chunk_capacity()
    }

    /// A copy of a text.
    pub(crate) fn text(&self, text: &str) -> &str {
        self.0.alloc_str(text)
    }

    /// A value that lives as long as the arena.
    pub(crate) fn keep<T: Copy>(&self, value: T) -> &T {
        self.0.alloc(value)
    }

    /// A copy of a list.
    pub(crate) fn list<T: Copy>(&self, items: &[T]) -> &[T] {
        if items.is_empty() { &[] } else { self.0.alloc_slice_copy(items) }
    }

    /// A list with more items behind its own.
    pub(crate) fn extended<'a, T: Copy>(&'a self, own: &'a [T], more: &[T]) -> &'a [T] {
        match (own, more) {
            (own, []) => own,
            ([], more) => self.list(more),
            (own, more) => self.list(&[own, more].concat()),
        }
    }

    /// The items of a list that are to stay.
    pub(crate) fn filtered<'a, T: Copy>(&'a self, own: &'a [T], stays: impl Fn(&T) -> bool) -> &'a [T] {
        if own.iter().all(&stays) {
            return own;
        }
        let kept: Vec<T> = own.iter().filter(|item| stays(item)).copied().collect();
        self.list(&kept)
    }

    /// A list in which a function makes others of some items; nothing where all stay.
    pub(crate) fn replaced<'a, T: Copy>(
        &'a self,
        own: &[T],
        mut made: impl FnMut(usize, &T) -> Option<T>,
    ) -> Option<&'a [T]> {
        let mut copy: Option<&'a mut [T]> = None;
        for (index, item) in own.iter().enumerate() {
            let Some(new) = made(index, item) else { continue };
            if let Some(slot) = copy.get_or_insert_with(|| self.0.alloc_slice_copy(own)).get_mut(index) {
                *slot = new;
            }
        }
        copy.map(|copy| &*copy)
    }

    /// A text as JSON.
    pub(crate) fn str(&self, text: &str) -> Json<'_> {
        Json::Str(self.text(text))
    }

    /// A list of these items.
    pub(crate) fn arr<'a>(&'a self, items: &[Json<'a>]) -> Json<'a> {
        Json::Arr(self.list(items))
    }

    /// A list of these items: the given one where it has the same, so that what stays as it is takes no room.
    pub(crate) fn arr_like<'a>(&'a self, items: &[Json<'a>], given: Option<&Json<'a>>) -> Json<'a> {
        let same = |own: &[Json<'a>]| {
            own.len() == items.len() && own.iter().zip(items).all(|(own, item)| own.is_identical(item))
        };
        let given = given.and_then(Json::as_arr).filter(|own| same(own));
        given.map_or_else(|| self.arr(items), Json::Arr)
    }

    /// A list of these texts.
    pub(crate) fn texts<'a>(&'a self, texts: impl ExactSizeIterator<Item = &'a str>) -> Json<'a> {
        Json::Arr(self.0.alloc_slice_fill_iter(texts.map(Json::Str)))
    }

    /// An object with these members.
    pub(crate) fn obj<'a>(&'a self, members: &[Member<'a>]) -> Json<'a> {
        Json::Obj(self.list(members))
    }

    /// An object with these members: the given one where it has the same in any order, so that what stays as it is takes no
    /// room.
    pub(crate) fn obj_like<'a>(&'a self, members: &[Member<'a>], given: Option<&Json<'a>>) -> Json<'a> {
        let is = |(key, value): &Member<'a>, (other, new): &Member<'a>| key == other && value.is_identical(new);
        let stays = |(index, own): (usize, &Member<'a>)| {
            members.get(index).is_some_and(|member| is(own, member))
                || (members.len() <= FEW && members.iter().any(|member| is(own, member)))
        };
        let same = |own: &[Member<'a>]| own.len() == members.len() && own.iter().enumerate().all(stays);
        let given = given.and_then(Json::as_obj).filter(|own| same(own));
        given.map_or_else(|| self.obj(members), Json::Obj)
    }

    /// The same object with that member set, in its place or behind all others.
    pub(crate) fn with<'a>(&'a self, json: Json<'a>, key: &'a str, value: Json<'a>) -> Json<'a> {
        let Json::Obj(own) = json else { return json };
        let Some(index) = own.iter().position(|(other, _)| *other == key) else {
            return Json::Obj(self.extended(own, &[(key, value)]));
        };
        let copy = self.0.alloc_slice_copy(own);
        if let Some((_, old)) = copy.get_mut(index) {
            *old = value;
        }
        Json::Obj(copy)
    }

    /// The same object without that member.
    pub(crate) fn without<'a>(&'a self, json: Json<'a>, key: &str) -> Json<'a> {
        let Json::Obj(own) = json else { return json };
        Json::Obj(self.filtered(own, |(other, _)| *other != key))
    }
}

/// A document takes about as many bytes for each of its text's.
const ROOM_PER_BYTE: usize = 3;

/// About the size of an emitted node.
const ROOM_PER_NODE: usize = 128;

/// The first piece of room is at least so large.
const SMALLEST: usize = 1024;

/// The first piece of room is at most so large; more is taken as it is needed.
const LARGEST: usize = 1 << 20;
