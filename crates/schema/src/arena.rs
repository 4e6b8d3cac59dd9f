//! Owns the memory of one fitting: what is read, the graph and what is printed lie side by side and are given back in one
//! piece. Nothing in it owns memory of its own, so nothing has to be dropped.

use std::borrow::Cow;

use bumpalo::Bump;

use crate::json::{Json, List, Member};

/// Room for the JSON of one fitting.
#[derive(Debug)]
pub(crate) struct Arena(Bump);

impl Default for Arena {
    fn default() -> Self {
        Self::for_text(0)
    }
}

impl Arena {
    /// An arena for a document of about so many bytes and what becomes of it.
    pub(crate) fn for_text(bytes: usize) -> Self {
        Self(Bump::with_capacity(bytes.saturating_mul(ROOM_PER_BYTE).clamp(SMALLEST, LARGEST)))
    }

    /// A copy of a text.
    pub(crate) fn text(&self, text: &str) -> &str {
        self.0.alloc_str(text)
    }

    /// A value that lives as long as the arena.
    pub(crate) fn keep<T>(&self, value: T) -> &T {
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

    /// Values that are in the arena already, as a list.
    pub(crate) fn items<'a>(&'a self, items: impl ExactSizeIterator<Item = Json<'a>>) -> Json<'a> {
        Json::Arr(List::Borrowed(self.0.alloc_slice_fill_iter(items)))
    }

    /// Members whose values are in the arena already, as an object.
    pub(crate) fn members<'a>(&'a self, members: impl ExactSizeIterator<Item = Member<'a>>) -> Json<'a> {
        Json::Obj(List::Borrowed(self.0.alloc_slice_fill_iter(members)))
    }

    /// A list of these items.
    pub(crate) fn arr<'a, const N: usize>(&'a self, items: [Json<'a>; N]) -> Json<'a> {
        self.items(items.into_iter().map(|item| self.seal(item)))
    }

    /// An object with these members.
    pub(crate) fn obj<'a, const N: usize>(&'a self, members: [(&'a str, Json<'a>); N]) -> Json<'a> {
        self.members(members.into_iter().map(|(key, value)| (key, self.seal(value))))
    }

    /// Moves a value into the arena.
    pub(crate) fn seal<'a>(&'a self, json: Json<'a>) -> Json<'a> {
        match json {
            Json::Str(text) => Json::Str(self.seal_text(text)),
            Json::Arr(List::Owned(mut items)) => self.seal_items(&mut items),
            Json::Obj(List::Owned(mut members)) => self.seal_members(&mut members),
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(List::Borrowed(_)) | Json::Obj(List::Borrowed(_)) => {
                json
            }
        }
    }

    /// Moves the items of a list into the arena; the room they had can be used again.
    pub(crate) fn seal_items<'a>(&'a self, items: &mut Vec<Json<'a>>) -> Json<'a> {
        self.items(items.drain(..).map(|item| self.seal(item)))
    }

    /// Moves the members of an object into the arena; the room they had can be used again.
    pub(crate) fn seal_members<'a>(&'a self, members: &mut Vec<Member<'a>>) -> Json<'a> {
        self.members(members.drain(..).map(|(key, value)| (key, self.seal(value))))
    }

    fn seal_text<'a>(&'a self, text: Cow<'a, str>) -> Cow<'a, str> {
        match text {
            Cow::Borrowed(_) => text,
            Cow::Owned(text) => Cow::Borrowed(self.text(&text)),
        }
    }
}

/// A document takes about as many bytes for each of its text's.
const ROOM_PER_BYTE: usize = 5;

/// The first piece of room is at least so large.
const SMALLEST: usize = 1024;

/// The first piece of room is at most so large; more is taken as it is needed.
const LARGEST: usize = 1 << 20;
