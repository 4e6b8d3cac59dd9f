//! Addresses in provider rows: which texts may be a base URL or a path, and the variables within a base URL. A value from the
//! environment is one DNS label or a part of one path segment, so it can neither name another host nor add a path. Pure: who
//! knows the environment passes the values.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};

/// The variables of a base URL: the environment variables that may hold each value, the first one set counting.
pub(crate) type Variables = BTreeMap<String, Vec<String>>;

/// The longest DNS label.
const LABEL: usize = 63;

/// Checks a path that is added to a base URL: one that starts with `/` can never become part of the host.
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
    // What a variable adds must stay left of the part of the name that somebody registered.
    let tail = authority.rsplit_once('}').map(|(_, tail)| tail);
    if tail.is_some_and(|tail| tail.matches('.').count() < 2 || tail.contains(':')) {
        return refused("must end its host with two names of its own after a variable");
    }
    if path.is_empty() { Ok(()) } else { check_path(&parts(path).map(Part::blank).collect::<String>()) }
}

/// The base URL with the values of its variables, or which environment variables are missing or hold no value for it.
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
            None => Err(format!("the environment variable {} is needed", names.join(" or "))),
            Some((_, value)) if is_valid(&value) => Ok(value),
            Some((name, _)) => Err(format!("the environment variable {name} holds no value for an address")),
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

/// The base URL with the names of environment variables, for people: `{env ONE or OTHER}`.
pub(crate) fn shown(url: &str, variables: &Variables) -> String {
    let show = |part: Part<'_>| match part {
        Part::Literal(text) => text.to_owned(),
        Part::Open => "{".to_owned(),
        Part::Variable(name) => shown_env(variables.get(name).map(Vec::as_slice).unwrap_or_default()),
    };
    parts(url).map(show).collect()
}

/// How the value of an environment variable is shown where it is not known yet.
pub(crate) fn shown_env(names: &[String]) -> String {
    format!("{{env {}}}", names.join(" or "))
}

/// Host and path of an address.
pub(crate) fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    Some(rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, "")))
}

/// Whether a segment of a path is `.` or `..`, escaped or not: those lead elsewhere when the address is read.
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

/// A colon is fine after a slash, and projects of a domain have one (`example.com:project`).
fn is_segment(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    !text.is_empty() && !text.bytes().all(|byte| byte == b'.') && text.bytes().all(is_inner)
}

/// A part of a text with names in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'t> {
    Literal(&'t str),
    Variable(&'t str),
    /// A brace without its other half.
    Open,
}

impl<'t> Part<'t> {
    /// What stands in for a part where only the rest is of interest.
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

/// Reads a path of a row, so that a mistake has the line of the path.
pub(crate) fn read_path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let path = String::deserialize(from)?;
    check_path(&path).map_err(Error::custom)?;
    Ok(path)
}

/// The same where there need not be one.
pub(crate) fn read_optional_path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let path = Option::<String>::deserialize(from)?;
    path.as_deref().map(check_path).transpose().map_err(Error::custom)?;
    Ok(path)
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
