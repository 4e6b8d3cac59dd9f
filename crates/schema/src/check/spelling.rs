//! Documents for providers that read their words in `snake_case` too: judged as what such a provider reads, told in the
//! document's own words.

use crate::arena::Arena;
use crate::json::{Json, pointer_tokens, push_token};
use crate::keyword::{Kw, KwSet};
use crate::walk::with_subschemas;

/// The same schema with the words in `snake_case` that are read spelled as keywords; nothing where there are none.
pub(super) fn plain<'d>(json: Json<'d>, read: KwSet, arena: &'d Arena) -> Option<Json<'d>> {
    let Json::Obj(members) = json else { return None };
    // What becomes of a word that stands there in both spellings is not known, so neither is taken for the other.
    let alone = |kw: &Kw| read.has(*kw) && json.get(kw.name()).is_none();
    let renamed = arena.replaced(members, |_, (key, value)| {
        let kw = Kw::of_snake_case(key).filter(alone)?;
        Some((kw.name(), *value))
    });
    let own = renamed.map(Json::Obj);
    with_subschemas(own.unwrap_or(json), arena, &mut |_, child| plain(child, read, arena)).or(own)
}

/// A place as the document spells it.
pub(super) fn spelled_in(document: &Json<'_>, at: &str) -> String {
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
