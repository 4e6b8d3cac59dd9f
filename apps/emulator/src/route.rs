//! The provider and the surfaces of a path, by the paths in the catalog.

use polywire::{Catalog, Provider, SurfaceRow};

/// A surface that serves a path.
#[derive(Clone, Debug)]
pub(crate) struct Route<'c> {
    pub(crate) provider: &'c Provider,
    pub(crate) surface: &'c SurfaceRow,
    /// The model's id, where it is in the path.
    pub(crate) model: Option<String>,
    /// Whether the path always answers with a stream.
    pub(crate) is_stream: bool,
}

/// The surfaces that serve a path, all of one provider. A path may begin with the id of a provider; without one it belongs to the
/// first provider that has it.
pub(crate) fn routes<'c>(catalog: &'c Catalog, path: &str) -> Vec<Route<'c>> {
    let named = path.strip_prefix('/').and_then(|rest| rest.find('/').and_then(|end| rest.split_at_checked(end)));
    let by_name = named.and_then(|(id, rest)| {
        let provider = catalog.providers().find(|provider| provider.is_called(id))?;
        Some(of_provider(provider, rest)).filter(|routes| !routes.is_empty())
    });
    let unnamed = || catalog.providers().map(|provider| of_provider(provider, path)).find(|routes| !routes.is_empty());
    by_name.or_else(unnamed).unwrap_or_default()
}

/// The path of a provider's base URL, with `emulated` in the place of its variables.
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
        templates.into_iter().find_map(|(template, is_stream)| {
            let template = template?.split('?').next().unwrap_or_default();
            let mut model = None;
            let served = bases().any(|base| matches(&format!("{base}{template}"), path, &mut model));
            served.then_some(Route { provider, surface, model, is_stream })
        })
    });
    found.collect()
}

/// Whether a path matches a template, in which `{…}` matches anything but a slash.
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
        *model = Some(percent_decoded(value));
    }
    matches(rest, path, model)
}

/// A text without its percent encoding.
pub(crate) fn percent_decoded(text: &str) -> String {
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
