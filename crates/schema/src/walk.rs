//! Owns the step from a schema that stands in JSON to those within it, to look at them or to put others in their place. What
//! reading and judging a document ask on the way (scopes, places, depth) they ask themselves.

use crate::arena::Arena;
use crate::json::Json;
use crate::keyword::{Holds, Kw};

/// The same schema with what a function makes of some of its subschemas, given the way to them; nothing where all stay.
pub(crate) fn with_subschemas<'d>(
    json: Json<'d>,
    arena: &'d Arena,
    made: &mut dyn FnMut(&[&str], Json<'d>) -> Option<Json<'d>>,
) -> Option<Json<'d>> {
    let Json::Obj(members) = json else { return None };
    let replaced = arena.replaced(members, |_, (key, value)| {
        let kw = Kw::of(key)?;
        let value = match (kw.row().holds, *value) {
            (Holds::Schema, child @ Json::Obj(_)) => made(&[kw.name()], child)?,
            (Holds::SchemaList, Json::Arr(items)) => {
                Json::Arr(arena.replaced(items, |index, item| made(&[kw.name(), &index.to_string()], *item))?)
            }
            (Holds::SchemaMap, Json::Obj(map)) => {
                Json::Obj(arena.replaced(map, |_, (name, item)| Some((*name, made(&[kw.name(), name], *item)?)))?)
            }
            _ => return None,
        };
        Some((*key, value))
    });
    replaced.map(Json::Obj)
}

/// Calls a function for every subschema of a printed schema and the keyword under which it stands, to be looked at only.
pub(crate) fn look_at_subschemas<'j>(json: &Json<'j>, visit: &mut dyn FnMut(Kw, &'j Json<'j>)) {
    for (key, value) in json.as_obj().unwrap_or_default() {
        let Some(kw) = Kw::of(key) else { continue };
        match (kw.row().holds, value) {
            (Holds::Schema, child) => visit(kw, child),
            (Holds::SchemaList, Json::Arr(items)) => items.iter().for_each(|item| visit(kw, item)),
            (Holds::SchemaMap, Json::Obj(map)) => map.iter().for_each(|(_, item)| visit(kw, item)),
            _ => {}
        }
    }
}
