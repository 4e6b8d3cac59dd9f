//! The names of types: JSON Schema's own, and those that people and generators write instead.

use super::keywords::NodeBuilder;
use super::resolve::Scope;
use super::{Draft, SchemaReader};
use crate::error::ReadError;
use crate::graph::Node;
use crate::json::Json;
use crate::keyword::Kw;
use crate::place::{PlaceStep, ROOT};
use crate::types::Types;
use polywire_report::{Action, Effect};

/// Names that generators write for a type that JSON Schema spells otherwise.
const OTHER_TYPE_NAMES: &[(&str, Types)] = &[
    ("int", Types::INTEGER),
    ("long", Types::INTEGER),
    ("float", Types::NUMBER),
    ("double", Types::NUMBER),
    ("bool", Types::BOOLEAN),
    ("decimal", Types::NUMBER),
    ("str", Types::STRING),
    ("text", Types::STRING),
    ("dict", Types::OBJECT),
    ("list", Types::ARRAY),
    ("none", Types::NULL),
    ("any", Types::ANY),
    ("mixed", Types::ANY),
    ("unknown", Types::ANY),
];

/// Names of types that are formats of strings.
const TYPES_BY_FORMAT: &[(&str, &str)] = &[
    ("date", "date"),
    ("datetime", "date-time"),
    ("date-time", "date-time"),
    ("time", "time"),
    ("uuid", "uuid"),
    ("email", "email"),
    ("uri", "uri"),
    ("url", "uri"),
];

/// The type of a name, also where that is none of JSON Schema's.
pub(super) fn type_named(name: &str) -> Option<Types> {
    let other = || OTHER_TYPE_NAMES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|row| row.1);
    Types::named(name).or_else(other)
}

impl<'g, 'd> SchemaReader<'g, 'd> {
    pub(super) fn read_type(
        &mut self,
        value: &'d Json<'d>,
        builder: &mut NodeBuilder<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let place = builder.node.place.unwrap_or(ROOT);
        let names = match value {
            Json::Str(_) => std::slice::from_ref(value),
            Json::Arr(names) if !names.is_empty() => names,
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) | Json::Obj(_) => return Ok(false),
        };
        // Types by a plain name, all of them, and the types of items.
        let (mut plain, mut types, mut items) = (Types::NONE, Types::NONE, Types::NONE);
        let (mut schemas, mut formats, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_str() else {
                // Draft 3 lets a schema stand among the type names.
                if matches!(name, Json::Obj(_)) {
                    let at = self.places.step(place, PlaceStep::Kw(Kw::Type));
                    let at = self.places.step(at, PlaceStep::Index(index));
                    schemas.push(self.read(name, at, scope)?);
                    continue;
                }
                return Ok(false);
            };
            if let Some(own) = Types::named(name) {
                if Types::spelled(name).is_none() {
                    self.record_rewrite("READ-TYPE", place, Kw::Type, format!("`{name}` is written in small letters"));
                }
                plain = plain.or(own);
            } else if let Some((_, format)) = TYPES_BY_FORMAT.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
                let detail = format!("`{name}` is taken for the format `{format}` of strings");
                self.record_rewrite("READ-TYPE", place, Kw::Type, detail);
                types = types.or(Types::STRING);
                formats.push(*format);
            } else if let Some(of) = name.strip_suffix("[]").and_then(type_named) {
                let detail = format!("`{name}` is taken for an array of such items");
                self.record_rewrite("READ-TYPE", place, Kw::Type, detail);
                (types, items) = (types.or(Types::ARRAY), items.or(of));
            } else if let Some(own) = type_named(name) {
                let detail = format!("`{name}` is taken for the type it stands for");
                self.record_rewrite("READ-TYPE", place, Kw::Type, detail);
                plain = plain.or(own);
            } else {
                unknown.push(name);
            }
        }
        types = types.or(plain);
        if self.is_before(Draft::Draft06) && types.and(Types::NUMBER) == Types::INTEGER {
            let detail = "`1.0` is an integer since draft 6, and is none in this one";
            self.record_change("READ-INTEGER", place, Kw::Type.name(), Action::Noted, Effect::Wider, detail);
        }
        for name in unknown {
            // No value is of a type that nobody knows, but its writer meant something.
            let (effect, what) = if (types.is_none() || types == Types::ANY) && schemas.is_empty() {
                types = Types::ANY;
                (Effect::Wider, "any value is accepted")
            } else {
                (Effect::Narrower, "the others stand")
            };
            let detail = format!("`{name}` is not a type; {what}");
            self.record_change("READ-TYPE", place, Kw::Type.name(), Action::Dropped, effect, detail);
        }
        if plain == Types::ANY && schemas.is_empty() && matches!(value, Json::Arr(_)) {
            self.record_rewrite("READ-TYPE", place, Kw::Type, "every type is named, which asks nothing");
        }
        // What is said of some strings or arrays is not said of those that stand for themselves.
        if !items.is_none() && items != Types::ANY && !plain.intersects(Types::ARRAY) {
            let items = self.graph.add(Node { place: Some(place), types: Some(items), ..Node::default() });
            builder.array.get_or_insert_default().items.get_or_insert(items);
        }
        if let [format] = formats.as_slice()
            && !plain.intersects(Types::STRING)
        {
            builder.formats = self.arena.extended(builder.formats, &[*format]);
        }
        if !schemas.is_empty() {
            self.record_rewrite(
                "READ-TYPE",
                place,
                Kw::Type,
                "schemas among the names of types are branches of a union",
            );
        } else if matches!(value, Json::Arr(_)) && (names.len() == 1 || names.len() > types.count()) {
            self.record_rewrite("READ-TYPE", place, Kw::Type, "the same is said in fewer words");
        }
        if schemas.is_empty() {
            builder.node.types = Some(types).filter(|types| *types != Types::ANY);
        } else {
            if !types.is_none() {
                schemas.push(self.graph.add(Node { place: builder.node.place, types: Some(types), ..Node::default() }));
            }
            builder.add_union(false, self.arena.list(&schemas), self.arena);
        }
        Ok(true)
    }
}
