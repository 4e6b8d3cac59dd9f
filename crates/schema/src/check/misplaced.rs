//! Checks the targets of references that no keyword makes a schema: the provider reads a schema there all the same.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{Checker, NodeContext, Requiredness, SchemaPath};
use crate::json::{Json, pointer_tokens};
use crate::keyword::{KeywordValue, Kw};

impl<'j> Checker<'_, 'j> {
    pub(super) fn check_misplaced_targets(&mut self) {
        let mut known: HashSet<usize> = HashSet::default();
        let mut judged: HashSet<&str> = HashSet::default();
        let mut next = 0;
        while let Some((index, reference)) = self.references.next_outside_definitions(next) {
            next = index + 1;
            let Some(pointer) = reference.strip_prefix('#').filter(|pointer| is_misplaced(pointer)) else { continue };
            let mut around = pointer.match_indices('/').filter_map(|(end, _)| pointer.get(..end));
            if around.any(|own| judged.contains(own)) {
                continue;
            }
            let Some(target) = self.references.target(reference) else { continue };
            if !known.insert(std::ptr::from_ref(target) as usize) {
                continue;
            }
            judged.insert(pointer);
            let path_so_far: Vec<String> = pointer_tokens(pointer).map(Cow::into_owned).collect();
            self.check_at(target, &SchemaPath::ROOT, &path_so_far);
            if self.is_done() {
                return;
            }
        }
    }

    fn check_at(&mut self, json: &'j Json<'j>, path: &SchemaPath<'_>, path_so_far: &[String]) {
        match path_so_far.split_first() {
            Some((first, rest)) => self.check_at(json, &path.word(first), rest),
            None => self.check_schema(
                json,
                path,
                NodeContext { root: false, under: None, depth: 0, owner: 0, requiredness: Requiredness::Optional },
            ),
        }
    }
}

/// True of pointers to values that no keyword makes a schema.
fn is_misplaced(pointer: &str) -> bool {
    let mut tokens = pointer_tokens(pointer).peekable();
    while let Some(token) = tokens.next() {
        match Kw::of(&token).map(|kw| kw.info().holds) {
            // The tuple of older drafts is a list under the same word.
            Some(KeywordValue::Schema) => _ = tokens.next_if(|index| index.parse::<usize>().is_ok()),
            Some(KeywordValue::SchemaList | KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap)
                if tokens.next().is_some() => {}
            Some(_) | None => return true,
        }
    }
    false
}
