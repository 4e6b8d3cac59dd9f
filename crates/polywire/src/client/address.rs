//! Where a plan goes in truth: the address and the headers with what the environment holds.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::error::SendError;
use super::{Client, Secret};
use crate::catalog::Model;
use crate::plan::Plan;
use crate::provider::{AuthStyle, Provider};

/// A place to send to.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// Whether it is this machine.
    pub(super) near: bool,
}

impl Client {
    pub(super) fn destination(&self, plan: &Plan, model: &Model) -> Result<Destination, SendError> {
        let provider = model.provider();
        let path = plan.endpoint.url.strip_prefix(&provider.base_url).unwrap_or_default();
        let address = format!("{}{path}", self.base(provider)?);
        let url = Url::parse(&address).map_err(|error| SendError::Address(format!("`{address}`: {error}")))?;
        let near = is_loopback(&url);
        if url.scheme() != "https" && !(near && url.scheme() == "http") {
            return Err(SendError::Address(format!("`{address}`: only https, or http to this machine")));
        }
        let key = self.key(provider)?;
        let mut headers = HeaderMap::new();
        let ours: BTreeMap<&String, &String> = plan.endpoint.headers.iter().chain(&self.headers).collect();
        for (name, value) in ours {
            let (text, secret) = match value.find('{') {
                None => (value.clone(), false),
                Some(hole) => match &key {
                    Some(key) => (format!("{}{}", value.get(..hole).unwrap_or_default(), key.expose()), true),
                    None => continue,
                },
            };
            let bad = || SendError::Address(format!("the header `{name}` cannot be sent"));
            let mut value = HeaderValue::from_str(&text).map_err(|_| bad())?;
            value.set_sensitive(secret);
            headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value);
        }
        Ok(Destination { url, headers, near })
    }

    /// The provider's address: the caller's, the environment's, or the row's.
    fn base(&self, provider: &Provider) -> Result<String, SendError> {
        if let Some(address) = self.addresses.get(&provider.id) {
            return Ok(address.clone());
        }
        if let Some(address) = provider.base_url_env.iter().find_map(|name| variable(name)) {
            return Ok(provider.address_from_env(&address));
        }
        filled(&provider.base_url)
    }

    /// The provider's key: the caller's or the environment's.
    fn key(&self, provider: &Provider) -> Result<Option<Secret>, SendError> {
        let given = self.keys.get(&provider.id).cloned();
        let variables = match provider.auth.style {
            // The others are parts of a signature or of a login, which is not made here.
            AuthStyle::AwsSigv4 | AuthStyle::GoogleOauth => provider.auth.env.get(..1).unwrap_or_default(),
            AuthStyle::None | AuthStyle::Bearer | AuthStyle::Header => provider.auth.env.as_slice(),
        };
        let found = || variables.iter().find_map(|name| variable(name)).map(Secret::new);
        match given.or_else(found) {
            None if provider.auth.style != AuthStyle::None => {
                Err(SendError::MissingKey { provider: provider.id.clone(), variables: variables.to_vec() })
            }
            key => Ok(key),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// A template with the values of its variables.
fn filled(template: &str) -> Result<String, SendError> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((literal, hole)) = rest.split_once("{env ") {
        let (name, tail) = hole.split_once('}').unwrap_or((hole, ""));
        out.push_str(literal);
        let missing = || SendError::Address(format!("the address needs the environment variable {name}"));
        out.push_str(variable(name).ok_or_else(missing)?.trim_end_matches('/'));
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
