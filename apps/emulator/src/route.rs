//! Which provider and surface a path belongs to: the paths of the rows are the routes.

use polywire::{Catalog, Provider, SurfaceRow};

/// A surface that serves a path.
#[derive(Clone, Debug)]
pub(crate) struct Route<'c> {
    pub(crate) provider: &'c Provider,
    pub(crate) surface: &'c SurfaceRow,
    /// The model's id, where the path says it.
    pub(crate) model: Option<String>,
    /// Whether the path is one of streams alone.
    pub(crate) streams: bool,
}

/// The surfaces that serve a path, all of one provider. A path may begin with the id of a provider; without one, the first
/// provider that has such a path is meant.
pub(crate) fn routes<'c>(catalog: &'c Catalog, path: &str) -> Vec<Route<'c>> {
    let named = path.strip_prefix('/').and_then(|rest| rest.find('/').and_then(|end| rest.split_at_checked(end)));
    let by_name = named.and_then(|(id, rest)| {
        let provider = catalog.providers().find(|provider| provider.is_called(id))?;
        Some(of_provider(provider, rest)).filter(|routes| !routes.is_empty())
    });
    let unnamed = || catalog.providers().map(|provider| of_provider(provider, path)).find(|routes| !routes.is_empty());
    by_name.or_else(unnamed).unwrap_or_default()
}

/// The path of a provider's address, with something in the place of what the environment would say.
pub(crate) fn base_path(provider: &Provider) -> String {
    let mut path = String::new();
    let mut rest = base_template(provider);
    while let Some((literal, hole)) = rest.split_once('{') {
        path.push_str(literal);
        path.push_str("emulated");
        rest = hole.split_once('}').map_or("", |(_, rest)| rest);
    }
    path.push_str(rest);
    path
}

pub(crate) fn base_template(provider: &Provider) -> &str {
    let address = provider.base_url.split_once("://").map_or(provider.base_url.as_str(), |(_, rest)| rest);
    address.find('/').and_then(|start| address.get(start..)).unwrap_or_default()
}

fn of_provider<'c>(provider: &'c Provider, path: &str) -> Vec<Route<'c>> {
    let bases = || provider.also_at.iter().map(String::as_str).chain([base_template(provider)]);
    let found = provider.surfaces.iter().filter_map(|surface| {
        let templates = [(Some(&surface.path), false), (surface.stream_path.as_ref(), true)];
        templates.into_iter().find_map(|(template, streams)| {
            let template = template?.split('?').next().unwrap_or_default();
            let mut model = None;
            let served = bases().any(|base| matches(&format!("{base}{template}"), path, &mut model));
            served.then_some(Route { provider, surface, model, streams })
        })
    });
    found.collect()
}

/// Whether a path is one of a template, in which `{…}` stands for a piece without a slash.
fn matches(template: &str, path: &str, model: &mut Option<String>) -> bool {
    let Some((literal, rest)) = template.split_once('{') else { return template == path };
    let (Some(path), Some((hole, rest))) = (path.strip_prefix(literal), rest.split_once('}')) else { return false };
    let next = rest.split('{').next().unwrap_or_default();
    let end = if next.is_empty() { path.find('/').unwrap_or(path.len()) } else { path.find(next).unwrap_or(0) };
    let Some((value, path)) = path.split_at_checked(end) else { return false };
    if value.is_empty() || value.contains('/') {
        return false;
    }
    if hole == "model" {
        *model = Some(unescaped(value));
    }
    matches(rest, path, model)
}

/// A piece of a path as it was before it was escaped.
pub(crate) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
