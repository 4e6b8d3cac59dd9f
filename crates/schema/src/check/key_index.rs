//! An index of the keys of large objects, built once for each.

use std::cell::RefCell;

use foldhash::HashMap;

use crate::json::{Json, Member};

/// Objects with fewer members are searched, those with more are indexed.
const INDEXED_FROM: usize = 32;

/// Positions of keys, by the address of the members that hold them.
#[derive(Debug, Default)]
pub(crate) struct KeyIndex<'j>(RefCell<HashMap<usize, HashMap<&'j str, usize>>>);

impl<'j> KeyIndex<'j> {
    pub(crate) fn position(&self, members: &'j [Member<'j>], key: &str) -> Option<usize> {
        if members.len() < INDEXED_FROM {
            return members.iter().position(|(own, _)| *own == key);
        }
        let mut tables = self.0.borrow_mut();
        let table = tables
            .entry(members.as_ptr() as usize)
            .or_insert_with(|| members.iter().enumerate().map(|(index, (own, _))| (*own, index)).collect());
        table.get(key).copied()
    }

    /// Follows one token of a JSON Pointer.
    pub(crate) fn step(&self, json: &'j Json<'j>, token: &str) -> Option<&'j Json<'j>> {
        match json {
            Json::Obj(members) => members.get(self.position(members, token)?).map(|(_, value)| value),
            Json::Arr(items) => items.get(token.parse::<usize>().ok()?),
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => None,
        }
    }
}
