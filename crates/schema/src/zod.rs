//! Reads serialized Zod schemas (R-A5): what `JSON.stringify` leaves of an instance of Zod 3 or Zod 4, as the JSON
//! Schema of its input.
//!
//! Functions and regular expressions do not survive `JSON.stringify`. What is lost makes the result wider: an object
//! whose shape is gone is any object, and what is not known is `{}`. The shapes read here are those of Zod
//! 3.20 to 3.25 and 4.0 to 4.6.

mod build;
mod text;

use build::{ANYTHING, NOTHING, nullable, of_type, with};

use crate::arena::Arena;
use crate::json::{Json, Member};
use crate::keyword::Kw;
use crate::types::Types;

/// The plain schema that a serialized Zod instance stands for; `None` where the value is not one.
pub(crate) fn plain<'a>(schema: &'a Json<'a>, arena: &'a Arena) -> Option<Json<'a>> {
    ZodInstance::of(schema, arena).map(|instance| instance.plain(DEEPEST))
}

pub(crate) fn may_define(key: &str) -> bool {
    matches!(key, "def" | "_def" | "_zod")
}

/// Instances nested deeper than this become `{}`.
const DEEPEST: usize = 256;

/// The kind of an instance, for both versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ZodKind {
    String,
    Number,
    BigInt,
    Boolean,
    Date,
    Null,
    /// `undefined`, `void`: a key that is left out.
    Absent,
    Any,
    /// `never`, `nan`: no JSON value.
    Never,
    Literal,
    Enum,
    Object,
    Array,
    Tuple,
    Record,
    Map,
    Set,
    Union,
    Intersection,
    Optional,
    Nullable,
    Default,
    Catch,
    Required,
    /// Takes what its inner schema takes.
    Wrapper,
    Pipe,
    Transform,
    Template,
    Success,
    /// `lazy`, `file`, `custom`, `function`, `symbol`: nothing that JSON Schema can say is left.
    Opaque,
}

impl ZodKind {
    /// `name` is the type of Zod 4, or the type name of Zod 3 without its `Zod`, in lower case.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "number" => Self::Number,
            "bigint" => Self::BigInt,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            "null" => Self::Null,
            "undefined" | "void" => Self::Absent,
            "any" | "unknown" => Self::Any,
            "never" | "nan" => Self::Never,
            "literal" => Self::Literal,
            "nativeenum" => Self::Enum,
            "object" => Self::Object,
            "array" => Self::Array,
            "tuple" => Self::Tuple,
            "record" => Self::Record,
            "map" => Self::Map,
            "set" => Self::Set,
            "union" | "discriminatedunion" => Self::Union,
            "intersection" => Self::Intersection,
            "optional" => Self::Optional,
            "prefault" => Self::Default,
            "catch" => Self::Catch,
            "nonoptional" => Self::Required,
            "readonly" | "branded" | "effects" | "promise" => Self::Wrapper,
            "pipe" | "pipeline" => Self::Pipe,
            "transform" => Self::Transform,
            "template_literal" => Self::Template,
            "success" => Self::Success,
            "lazy" | "file" | "custom" | "function" | "symbol" => Self::Opaque,
            _ if name == Kw::Enum.name() => Self::Enum,
            _ if name == Kw::Default.name() => Self::Default,
            _ if name == Kw::Nullable.name() => Self::Nullable,
            _ => return None,
        })
    }

    /// The member without which a definition of Zod 4 is not of this kind.
    fn mark(self) -> Option<&'static str> {
        match self {
            Self::Literal => Some("values"),
            Self::Enum => Some("entries"),
            Self::Object => Some("shape"),
            Self::Array => Some("element"),
            Self::Tuple => Some(Kw::Items.name()),
            Self::Record | Self::Map | Self::Set => Some("valueType"),
            Self::Union => Some("options"),
            Self::Intersection => Some("left"),
            Self::Pipe => Some("in"),
            Self::Template => Some("parts"),
            Self::Optional
            | Self::Nullable
            | Self::Default
            | Self::Catch
            | Self::Required
            | Self::Wrapper
            | Self::Success => Some("innerType"),
            Self::String
            | Self::Number
            | Self::BigInt
            | Self::Boolean
            | Self::Date
            | Self::Null
            | Self::Absent
            | Self::Any
            | Self::Never
            | Self::Transform
            | Self::Opaque => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ZodVersion {
    V3,
    V4,
}

/// A serialized instance.
struct ZodInstance<'a> {
    whole: &'a Json<'a>,
    definition: &'a Json<'a>,
    kind: ZodKind,
    version: ZodVersion,
    arena: &'a Arena,
}

impl<'a> ZodInstance<'a> {
    fn of(whole: &'a Json<'a>, arena: &'a Arena) -> Option<Self> {
        let members = whole.as_obj()?;
        let has_definition = members.iter().any(|(key, _)| may_define(key));
        if has_definition {
            Self::version_3(whole, members, arena).or_else(|| Self::version_4(whole, members, arena))
        } else {
            None
        }
    }

    fn version_3(whole: &'a Json<'a>, members: &[Member<'a>], arena: &'a Arena) -> Option<Self> {
        let definition = whole.get("_def")?;
        let name = definition.get("typeName")?.as_str()?.strip_prefix("Zod")?;
        // A key that is a keyword says that somebody wrote a JSON Schema.
        if members.iter().any(|(key, _)| Kw::of(key).is_some_and(|kw| kw != Kw::Description)) {
            return None;
        }
        let kind = ZodKind::named(&name.to_ascii_lowercase()).unwrap_or(ZodKind::Opaque);
        Some(Self { whole, definition, kind, version: ZodVersion::V3, arena })
    }

    fn version_4(whole: &'a Json<'a>, members: &[Member<'a>], arena: &'a Arena) -> Option<Self> {
        let internals = whole.get("_zod").and_then(|internals| internals.get("def"));
        let definition = internals.or_else(|| whole.get("def")).or_else(|| whole.get("_def"))?;
        let name = definition.get(Kw::Type.name())?.as_str()?;
        let kind = ZodKind::named(name)?;
        let complete = kind.mark().is_none_or(|mark| definition.get(mark).is_some());
        // Before 4.1 the type stands in the definition only, but then the vendor is named.
        let vendor = whole.get("~standard").and_then(|standard| standard.get("vendor")).and_then(Json::as_str);
        let named = match whole.get(Kw::Type.name()) {
            Some(outer) => outer.as_str() == Some(name),
            None => internals.is_some() || vendor == Some("zod"),
        };
        // These are keywords and members of an instance alike. Any other says that somebody wrote a JSON Schema.
        let own = members.iter().all(|(key, value)| match Kw::of(key) {
            None | Some(Kw::Type | Kw::Format | Kw::MinLength | Kw::MaxLength | Kw::Description) => true,
            Some(kw) => kw == Kw::Enum && value.as_obj().is_some(),
        });
        (complete && named && own).then_some(Self { whole, definition, kind, version: ZodVersion::V4, arena })
    }

    fn get(&self, name: &str) -> Option<&'a Json<'a>> {
        self.definition.get(name)
    }

    /// The schema that this one wraps, under any of the names that it goes by.
    fn inner(&self) -> Option<&'a Json<'a>> {
        ["innerType", "schema", Kw::Type.name()].into_iter().find_map(|name| self.get(name))
    }

    /// What a pipe takes in: its first schema, or the second where the first is a function.
    fn intake(&self) -> Option<&'a Json<'a>> {
        let first = self.get("in")?;
        let function = ZodInstance::of(first, self.arena).is_some_and(|first| first.kind == ZodKind::Transform);
        if function { self.get("out") } else { Some(first) }
    }

    /// The definitions of the checks that survived. A format of Zod 4 is its own first check.
    fn checks(&self) -> impl Iterator<Item = &'a Json<'a>> + use<'a> {
        let own = self.get("check").is_some().then_some(self.definition);
        let listed = self.get("checks").and_then(Json::as_arr).unwrap_or_default();
        own.into_iter().chain(listed.iter().map(|check| {
            let internals = check.get("_zod").unwrap_or(check);
            internals.get("def").unwrap_or(check)
        }))
    }

    fn plain(&self, depth: usize) -> Json<'a> {
        let Some(depth) = depth.checked_sub(1) else { return ANYTHING };
        let arena = self.arena;
        let mut out = match self.kind {
            ZodKind::String => self.string(),
            ZodKind::Number | ZodKind::BigInt => self.number(),
            ZodKind::Boolean | ZodKind::Success => of_type(arena, Types::BOOLEAN),
            ZodKind::Date => with(arena, of_type(arena, Types::STRING), Kw::Format, Json::Str("date-time")),
            ZodKind::Null => of_type(arena, Types::NULL),
            ZodKind::Template => of_type(arena, Types::STRING),
            ZodKind::Absent | ZodKind::Never => NOTHING,
            ZodKind::Any | ZodKind::Transform | ZodKind::Opaque => ANYTHING,
            ZodKind::Literal => self.literal(),
            ZodKind::Enum => self.enumeration(),
            ZodKind::Object => self.object(depth),
            ZodKind::Array | ZodKind::Set => self.list(depth),
            ZodKind::Tuple => self.tuple(depth),
            ZodKind::Record => self.record(depth),
            ZodKind::Map => self.map(depth),
            ZodKind::Union => self.union(depth),
            ZodKind::Intersection => self.intersection(depth),
            ZodKind::Nullable => nullable(arena, self.child(self.inner(), depth)),
            ZodKind::Default => match self.get("defaultValue") {
                Some(value) => with(arena, self.child(self.inner(), depth), Kw::Default, *value),
                None => self.child(self.inner(), depth),
            },
            ZodKind::Optional | ZodKind::Catch | ZodKind::Required | ZodKind::Wrapper => {
                self.child(self.inner(), depth)
            }
            ZodKind::Pipe => self.child(self.intake(), depth),
        };
        let described = self.get(Kw::Description.name()).or_else(|| self.whole.get(Kw::Description.name()));
        if let Some(text @ Json::Str(_)) = described {
            out = with(arena, out, Kw::Description, *text);
        }
        out
    }

    fn omittable(&self, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let ask = |schema: Option<&'a Json<'a>>| self.nested(schema).is_some_and(|instance| instance.omittable(depth));
        match self.kind {
            ZodKind::Optional | ZodKind::Default | ZodKind::Absent | ZodKind::Transform => true,
            ZodKind::Any => self.version == ZodVersion::V3,
            ZodKind::Catch => self.version == ZodVersion::V3 || ask(self.inner()),
            // The value of `z.literal(undefined)` is not written.
            ZodKind::Literal => self.version == ZodVersion::V3 && self.get("value").is_none(),
            ZodKind::Nullable | ZodKind::Wrapper => ask(self.inner()),
            ZodKind::Pipe => ask(self.intake()),
            ZodKind::Union => self.options().any(|option| ask(Some(option))),
            ZodKind::Intersection => ask(self.get("left")) && ask(self.get("right")),
            ZodKind::String
            | ZodKind::Number
            | ZodKind::BigInt
            | ZodKind::Boolean
            | ZodKind::Date
            | ZodKind::Null
            | ZodKind::Never
            | ZodKind::Enum
            | ZodKind::Object
            | ZodKind::Array
            | ZodKind::Tuple
            | ZodKind::Record
            | ZodKind::Map
            | ZodKind::Set
            | ZodKind::Required
            | ZodKind::Template
            | ZodKind::Success
            | ZodKind::Opaque => false,
        }
    }
}

#[cfg(test)]
#[path = "zod_tests.rs"]
mod tests;
