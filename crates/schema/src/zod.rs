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
    Instance::of(schema, arena).map(|instance| instance.plain(DEEPEST))
}

pub(crate) fn may_define(key: &str) -> bool {
    matches!(key, "def" | "_def" | "_zod")
}

/// Instances nested deeper than this become `{}`.
const DEEPEST: usize = 256;

/// The kind of an instance, for both versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
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

impl Kind {
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
enum Version {
    V3,
    V4,
}

/// A serialized instance.
struct Instance<'a> {
    whole: &'a Json<'a>,
    definition: &'a Json<'a>,
    kind: Kind,
    version: Version,
    arena: &'a Arena,
}

impl<'a> Instance<'a> {
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
        let kind = Kind::named(&name.to_ascii_lowercase()).unwrap_or(Kind::Opaque);
        Some(Self { whole, definition, kind, version: Version::V3, arena })
    }

    fn version_4(whole: &'a Json<'a>, members: &[Member<'a>], arena: &'a Arena) -> Option<Self> {
        let internals = whole.get("_zod").and_then(|internals| internals.get("def"));
        let definition = internals.or_else(|| whole.get("def")).or_else(|| whole.get("_def"))?;
        let name = definition.get(Kw::Type.name())?.as_str()?;
        let kind = Kind::named(name)?;
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
        (complete && named && own).then_some(Self { whole, definition, kind, version: Version::V4, arena })
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
        let function = Instance::of(first, self.arena).is_some_and(|first| first.kind == Kind::Transform);
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
            Kind::String => self.string(),
            Kind::Number | Kind::BigInt => self.number(),
            Kind::Boolean | Kind::Success => of_type(arena, Types::BOOLEAN),
            Kind::Date => with(arena, of_type(arena, Types::STRING), Kw::Format, Json::Str("date-time")),
            Kind::Null => of_type(arena, Types::NULL),
            Kind::Template => of_type(arena, Types::STRING),
            Kind::Absent | Kind::Never => NOTHING,
            Kind::Any | Kind::Transform | Kind::Opaque => ANYTHING,
            Kind::Literal => self.literal(),
            Kind::Enum => self.enumeration(),
            Kind::Object => self.object(depth),
            Kind::Array | Kind::Set => self.list(depth),
            Kind::Tuple => self.tuple(depth),
            Kind::Record => self.record(depth),
            Kind::Map => self.map(depth),
            Kind::Union => self.union(depth),
            Kind::Intersection => self.intersection(depth),
            Kind::Nullable => nullable(arena, self.child(self.inner(), depth)),
            Kind::Default => match self.get("defaultValue") {
                Some(value) => with(arena, self.child(self.inner(), depth), Kw::Default, *value),
                None => self.child(self.inner(), depth),
            },
            Kind::Optional | Kind::Catch | Kind::Required | Kind::Wrapper => self.child(self.inner(), depth),
            Kind::Pipe => self.child(self.intake(), depth),
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
            Kind::Optional | Kind::Default | Kind::Absent | Kind::Transform => true,
            Kind::Any => self.version == Version::V3,
            Kind::Catch => self.version == Version::V3 || ask(self.inner()),
            // The value of `z.literal(undefined)` is not written.
            Kind::Literal => self.version == Version::V3 && self.get("value").is_none(),
            Kind::Nullable | Kind::Wrapper => ask(self.inner()),
            Kind::Pipe => ask(self.intake()),
            Kind::Union => self.options().any(|option| ask(Some(option))),
            Kind::Intersection => ask(self.get("left")) && ask(self.get("right")),
            Kind::String
            | Kind::Number
            | Kind::BigInt
            | Kind::Boolean
            | Kind::Date
            | Kind::Null
            | Kind::Never
            | Kind::Enum
            | Kind::Object
            | Kind::Array
            | Kind::Tuple
            | Kind::Record
            | Kind::Map
            | Kind::Set
            | Kind::Required
            | Kind::Template
            | Kind::Success
            | Kind::Opaque => false,
        }
    }
}

#[cfg(test)]
#[path = "zod_tests.rs"]
mod tests;
