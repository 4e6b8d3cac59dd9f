//! Documents for providers that read keywords in `snake_case` too: checked as such a provider reads them, reported as
//! written.

use crate::arena::Arena;
use crate::json::{Json, pointer_tokens, push_token};
use crate::keyword::{Kw, KwSet};
use crate::walk::with_subschemas;

/// The schema with its `snake_case` keywords renamed; `None` where there are none.
pub(super) fn with_keyword_names<'d>(json: Json<'d>, read: KwSet, arena: &'d Arena) -> Option<Json<'d>> {
    let Json::Obj(members) = json else { return None };
    // What becomes of a word that stands there in both spellings is not known, so neither is taken for the other.
    let alone = |kw: &Kw| read.has(*kw) && json.get(kw.name()).is_none();
    let renamed = arena.replaced(members, |_, (key, value)| {
        let kw = Kw::of_snake_case(key).filter(alone)?;
        Some((kw.name(), *value))
    });
    let own = renamed.map(Json::Obj);
    with_subschemas(own.unwrap_or(json), arena, &mut |_, child| with_keyword_names(child, read, arena)).or(own)
}

/// A pointer in the document's own spelling.
pub(super) fn spelled_as_written(document: &Json<'_>, at: &str) -> String {
    let mut spelled = String::new();
    let mut here = Some(document);
    for token in pointer_tokens(at) {
        let stands = |key: &str| Kw::of_snake_case(key).is_some_and(|kw| kw.name() == token);
        let (key, below) = match here {
            Some(Json::Obj(members)) => {
                let own = members.iter().find(|(key, _)| *key == token);
                own.or_else(|| members.iter().find(|(key, _)| stands(key))).map(|(key, value)| (*key, value)).unzip()
            }
            Some(Json::Arr(items)) => (None, token.parse().ok().and_then(|index: usize| items.get(index))),
            _ => (None, None),
        };
        push_token(&mut spelled, key.unwrap_or(&token));
        here = below;
    }
    spelled
}
