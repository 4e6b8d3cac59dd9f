//! Schemas that stand where no schema does: a reference makes one of what it leads to, and the provider reads it there.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{Checker, Spot, Stand, Way};
use crate::json::{Json, pointer_tokens};
use crate::keyword::{Holds, Kw};

impl<'j> Checker<'_, 'j> {
    /// Judges what references lead to outside of all places for schemas, and what is referred to from there.
    pub(super) fn judge_strays(&mut self) {
        let mut known: HashSet<usize> = HashSet::default();
        let mut judged: HashSet<&str> = HashSet::default();
        let mut next = 0;
        while let Some((index, reference)) = self.links.next_undefined(next) {
            next = index + 1;
            let Some(pointer) = reference.strip_prefix('#').filter(|pointer| is_stray(pointer)) else { continue };
            let mut around = pointer.match_indices('/').filter_map(|(end, _)| pointer.get(..end));
            if around.any(|own| judged.contains(own)) {
                continue;
            }
            let Some(target) = self.links.target(reference) else { continue };
            if !known.insert(std::ptr::from_ref(target) as usize) {
                continue;
            }
            judged.insert(pointer);
            let way: Vec<String> = pointer_tokens(pointer).map(Cow::into_owned).collect();
            self.judge_below(target, &Spot::ROOT, &way);
            if self.done() {
                return;
            }
        }
    }

    fn judge_below(&mut self, json: &'j Json<'j>, spot: &Spot<'_>, way: &[String]) {
        match way.split_first() {
            Some((first, rest)) => self.judge_below(json, &spot.word(first), rest),
            None => self.schema(json, spot, Stand { root: false, under: None, depth: 0, owner: 0, way: Way::Soft }),
        }
    }
}

/// Whether a pointer leads to a place that no keyword makes one for a schema.
fn is_stray(pointer: &str) -> bool {
    let mut tokens = pointer_tokens(pointer).peekable();
    while let Some(token) = tokens.next() {
        match Kw::of(&token).map(|kw| kw.row().holds) {
            // The tuple of older drafts is a list under the same word.
            Some(Holds::Schema) => _ = tokens.next_if(|index| index.parse::<usize>().is_ok()),
            Some(Holds::SchemaList | Holds::SchemaMap | Holds::SchemaOrNamesMap) if tokens.next().is_some() => {}
            Some(_) | None => return true,
        }
    }
    false
}
