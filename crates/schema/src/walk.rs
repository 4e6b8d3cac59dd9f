//! Visits or replaces the direct subschemas of a schema in JSON. Scopes, places and depth are the concern of those who read or
//! check a document.

use crate::arena::Arena;
use crate::json::Json;
use crate::keyword::{KeywordValue, Kw};

/// Replaces the subschemas for which the function returns another one; `None` where all stay.
pub(crate) fn with_subschemas<'d>(
    json: Json<'d>,
    arena: &'d Arena,
    made: &mut dyn FnMut(&[&str], Json<'d>) -> Option<Json<'d>>,
) -> Option<Json<'d>> {
    let Json::Obj(members) = json else { return None };
    let replaced = arena.replaced(members, |_, (key, value)| {
        let kw = Kw::of(key)?;
        let value = match (kw.info().holds, *value) {
            (KeywordValue::Schema, child @ Json::Obj(_)) => made(&[kw.name()], child)?,
            (KeywordValue::SchemaList, Json::Arr(items)) => {
                Json::Arr(arena.replaced(items, |index, item| made(&[kw.name(), &index.to_string()], *item))?)
            }
            (KeywordValue::SchemaMap, Json::Obj(map)) => {
                Json::Obj(arena.replaced(map, |_, (name, item)| Some((*name, made(&[kw.name(), name], *item)?)))?)
            }
            _ => return None,
        };
        Some((*key, value))
    });
    replaced.map(Json::Obj)
}

/// Calls a function for every subschema and its keyword.
pub(crate) fn look_at_subschemas<'j>(json: &Json<'j>, visit: &mut dyn FnMut(Kw, &'j Json<'j>)) {
    for (key, value) in json.as_obj().unwrap_or_default() {
        let Some(kw) = Kw::of(key) else { continue };
        match (kw.info().holds, value) {
            (KeywordValue::Schema, child) => visit(kw, child),
            (KeywordValue::SchemaList, Json::Arr(items)) => items.iter().for_each(|item| visit(kw, item)),
            (KeywordValue::SchemaMap, Json::Obj(map)) => map.iter().for_each(|(_, item)| visit(kw, item)),
            _ => {}
        }
    }
}
