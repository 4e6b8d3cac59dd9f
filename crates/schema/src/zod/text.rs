//! Builds the plain schema of a Zod string: its formats, and what it must contain.

use super::ZodInstance;
use super::build::{ANYTHING, add, check_name, of_type, with};
use crate::arena::Arena;
use crate::json::Json;
use crate::keyword::Kw;
use crate::types::Types;

/// The names of string formats, of both versions, that JSON Schema can say. Where the versions differ the pattern takes
/// what either takes. `time` is no `format`: Zod's has no offset, which RFC 3339 demands.
const STRING_FORMATS: &[(&str, Kw, &str)] = &[
    ("email", Kw::Format, "email"),
    ("url", Kw::Format, "uri"),
    ("uuid", Kw::Format, "uuid"),
    ("guid", Kw::Format, "uuid"),
    ("datetime", Kw::Format, "date-time"),
    ("date", Kw::Format, "date"),
    ("duration", Kw::Format, "duration"),
    ("ipv4", Kw::Format, "ipv4"),
    ("ipv6", Kw::Format, "ipv6"),
    ("hostname", Kw::Format, "hostname"),
    ("base64", Kw::ContentEncoding, "base64"),
    ("base64url", Kw::ContentEncoding, "base64url"),
    ("time", Kw::Pattern, r"^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$"),
    ("cuid", Kw::Pattern, r"^[cC][^\s-]{6,}$"),
    ("cuid2", Kw::Pattern, "^[0-9a-z]+$"),
    ("ulid", Kw::Pattern, "^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}$"),
    ("xid", Kw::Pattern, "^[0-9a-vA-V]{20}$"),
    ("ksuid", Kw::Pattern, "^[A-Za-z0-9]{27}$"),
    ("nanoid", Kw::Pattern, "^[a-zA-Z0-9_-]+$"),
    ("jwt", Kw::Pattern, r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$"),
    ("e164", Kw::Pattern, r"^\+[1-9]\d{6,14}$"),
    ("hex", Kw::Pattern, "^[0-9a-fA-F]*$"),
    ("lowercase", Kw::Pattern, "^[^A-Z]*$"),
    ("uppercase", Kw::Pattern, "^[^a-z]*$"),
];

impl<'a> ZodInstance<'a> {
    pub(super) fn string(&self) -> Json<'a> {
        let arena = self.arena;
        let mut out = self.sizes(of_type(arena, Types::STRING), Kw::MinLength, Kw::MaxLength);
        for check in self.checks() {
            let text = |name: &str| check.get("value").or_else(|| check.get(name)).and_then(Json::as_str);
            let pattern = match check_name(check) {
                "includes" => text("includes").map(literal_pattern),
                "startsWith" | "starts_with" => text("prefix").map(|text| format!("^{}", literal_pattern(text))),
                "endsWith" | "ends_with" => text("suffix").map(|text| format!("{}$", literal_pattern(text))),
                "regex" => kept_pattern(check).map(str::to_owned),
                "ip" => {
                    out = with_ip_version(arena, out, check);
                    None
                }
                // Without an offset, or without seconds, it is no `date-time`.
                "datetime" if is_lax(check) => None,
                name => {
                    if let Some((_, kw, value)) = STRING_FORMATS.iter().find(|(own, ..)| *own == name) {
                        out = add(arena, out, *kw, Json::Str(value));
                    }
                    None
                }
            };
            if let Some(pattern) = pattern {
                out = add(arena, out, Kw::Pattern, arena.str(&pattern));
            }
        }
        out
    }
}

/// The text as a pattern that matches just it.
fn literal_pattern(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for char in text.chars() {
        if r"^$\.*+?()[]{}|/".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// A regular expression, where a custom serializer kept it: `/source/`, or the source. Flags would change its meaning.
fn kept_pattern<'a>(check: &Json<'a>) -> Option<&'a str> {
    let text = check.get("regex").or_else(|| check.get(Kw::Pattern.name()))?.as_str()?;
    match text.strip_prefix('/') {
        Some(rest) => rest.strip_suffix('/').or_else(|| rest.strip_suffix("/u")),
        None => Some(text),
    }
}

fn is_lax(check: &Json<'_>) -> bool {
    let local = check.get("local").and_then(Json::as_bool) == Some(true);
    local || check.get("precision").and_then(Json::as_f64) == Some(-1.0)
}

/// Zod 3 names the version of an address in the check; without one it takes both.
fn with_ip_version<'a>(arena: &'a Arena, schema: Json<'a>, check: &Json<'a>) -> Json<'a> {
    let format = |name: &'static str| with(arena, ANYTHING, Kw::Format, Json::Str(name));
    match check.get("version").and_then(Json::as_str) {
        Some("v4") => add(arena, schema, Kw::Format, Json::Str("ipv4")),
        Some("v6") => add(arena, schema, Kw::Format, Json::Str("ipv6")),
        Some(_) | None => add(arena, schema, Kw::AnyOf, arena.arr(&[format("ipv4"), format("ipv6")])),
    }
}
