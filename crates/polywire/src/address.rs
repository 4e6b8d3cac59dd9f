//! Base URLs and paths in provider rows: validation, and the variables of a base URL. A value from the environment is one DNS label or a
//! part of one path segment, so it can neither change the registered domain nor add a path. Does not read the environment itself.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};

/// The variables of a base URL, each with the environment variables for its value; the first one that is set is used.
pub(crate) type Variables = BTreeMap<String, Vec<String>>;

/// The maximum length of a DNS label.
const LABEL: usize = 63;

/// Checks a path that is appended to a base URL. It must start with `/`, so that it cannot become part of the host.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    let refused = |why: &str| Err(format!("the path `{}` {why}", path.escape_debug()));
    if !path.starts_with('/') {
        return refused("must start with `/`");
    }
    if path.starts_with("//") {
        return refused("must not start with `//`");
    }
    if let Some(found) = path.chars().find(|letter| !letter.is_ascii_graphic() || matches!(letter, '\\' | '#')) {
        return refused(&format!("must not contain `{}`", found.escape_default()));
    }
    if has_dot_segment(path) {
        return refused("must not contain `.` or `..` segments");
    }
    if parts(path).any(|part| matches!(part, Part::Open | Part::Variable(_)) && part != Part::Variable("model")) {
        return refused("may have `{model}` and no other braces");
    }
    Ok(())
}

/// Checks a base URL and its variables: scheme, host, an optional port and an optional path, and nothing else.
pub(crate) fn check_base_url(url: &str, variables: &Variables) -> Result<(), String> {
    let refused = |why: &str| Err(format!("the base URL `{}` {why}", url.escape_debug()));
    let Some((authority, path)) = split(url) else { return refused("must start with `https://` or `http://`") };
    for part in parts(url) {
        match part {
            Part::Literal(_) => {}
            Part::Open => return refused("has an unmatched brace"),
            Part::Variable(name) if variables.contains_key(name) => {}
            Part::Variable(name) => return refused(&format!("names `{{{name}}}`, which `base-url-variables` lacks")),
        }
    }
    let is_host = |letter: char| letter.is_ascii_alphanumeric() || "-._:[]".contains(letter);
    let literals =
        || parts(authority).filter_map(|part| if let Part::Literal(text) = part { Some(text) } else { None });
    if let Some(found) = literals().flat_map(str::chars).find(|letter| !is_host(*letter)) {
        return refused(&format!("must not have `{}` in its host", found.escape_default()));
    }
    if authority.is_empty() || authority.starts_with(':') {
        return refused("has no host");
    }
    // The value of a variable must not change the registered domain.
    let tail = authority.rsplit_once('}').map(|(_, tail)| tail);
    if tail.is_some_and(|tail| tail.matches('.').count() < 2 || tail.contains(':')) {
        return refused("must end its host with two names of its own after a variable");
    }
    if path.is_empty() { Ok(()) } else { check_path(&parts(path).map(Part::blank).collect::<String>()) }
}

/// Replaces the variables of a base URL. The error names the environment variables that are not set or invalid.
pub(crate) fn fill(
    url: &str,
    variables: &Variables,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let (authority, path) = split(url).unwrap_or((url, ""));
    let value = |name: &str, is_valid: fn(&str) -> bool| {
        let names = variables.get(name).map(Vec::as_slice).unwrap_or_default();
        let found = names.iter().find_map(|name| Some((name, lookup(name)?)));
        match found {
            None => Err(format!("the environment variable {} is not set", names.join(" or "))),
            Some((_, value)) if is_valid(&value) => Ok(value),
            Some((name, _)) => Err(format!("the value of the environment variable {name} is not allowed in a URL")),
        }
    };
    let filled = |text: &str, is_valid: fn(&str) -> bool| -> Result<String, String> {
        let fill = |part: Part<'_>| match part {
            Part::Literal(text) => Ok(text.to_owned()),
            Part::Open => Ok("{".to_owned()),
            Part::Variable(name) => value(name, is_valid),
        };
        parts(text).map(fill).collect()
    };
    let scheme = url.split_once("://").map_or("https", |(scheme, _)| scheme);
    Ok(format!("{scheme}://{}{}", filled(authority, is_label)?, filled(path, is_segment)?))
}

/// Replaces the variables of a base URL with placeholders such as `{env ONE or OTHER}`.
pub(crate) fn with_placeholders(url: &str, variables: &Variables) -> String {
    let show = |part: Part<'_>| match part {
        Part::Literal(text) => text.to_owned(),
        Part::Open => "{".to_owned(),
        Part::Variable(name) => env_placeholder(variables.get(name).map(Vec::as_slice).unwrap_or_default()),
    };
    parts(url).map(show).collect()
}

/// The placeholder for the value of an environment variable.
pub(crate) fn env_placeholder(names: &[String]) -> String {
    format!("{{env {}}}", names.join(" or "))
}

/// Splits a URL into authority and path.
pub(crate) fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    Some(rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, "")))
}

/// Returns `true` if a path segment is `.` or `..`, percent-encoded or not: URL parsers resolve them to another path.
pub(crate) fn has_dot_segment(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LABEL).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_inner)
}

/// A colon is allowed, because ids of domain-scoped projects have one (`example.com:project`).
fn is_segment(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    !text.is_empty() && !text.bytes().all(|byte| byte == b'.') && text.bytes().all(is_inner)
}

/// A part of a text with variables in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'t> {
    Literal(&'t str),
    Variable(&'t str),
    /// An unmatched brace.
    Open,
}

impl<'t> Part<'t> {
    /// A valid replacement for a variable, to check the rest of the text.
    fn blank(self) -> &'t str {
        match self {
            Self::Literal(text) => text,
            Self::Variable(_) | Self::Open => "x",
        }
    }
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = rest.find(['{', '}']).unwrap_or(rest.len());
        let (literal, tail) = rest.split_at_checked(at)?;
        if !literal.is_empty() {
            rest = tail;
            return Some(Part::Literal(literal));
        }
        let named = tail.strip_prefix('{').and_then(|tail| tail.split_once('}'));
        let (part, tail) = match named {
            Some((name, tail)) if !name.contains('{') => (Part::Variable(name), tail),
            Some(_) | None => (Part::Open, tail.get(1..).unwrap_or_default()),
        };
        rest = tail;
        Some(part)
    })
}

/// Deserializes and checks a path, so that the error has its line.
pub(crate) fn read_path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let path = String::deserialize(from)?;
    check_path(&path).map_err(Error::custom)?;
    Ok(path)
}

/// Deserializes and checks an optional path.
pub(crate) fn read_optional_path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let path = Option::<String>::deserialize(from)?;
    path.as_deref().map(check_path).transpose().map_err(Error::custom)?;
    Ok(path)
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
