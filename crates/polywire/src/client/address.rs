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
        self.place(provider, &address, &plan.endpoint.headers)
    }

    /// Where an address of a provider is, with what is sent to it.
    pub(super) fn place(
        &self,
        provider: &Provider,
        address: &str,
        template: &BTreeMap<String, String>,
    ) -> Result<Destination, SendError> {
        let url = Url::parse(address).map_err(|error| SendError::Address(format!("`{address}`: {error}")))?;
        let near = is_loopback(&url);
        if url.scheme() != "https" && !(near && url.scheme() == "http") {
            return Err(SendError::Address(format!("`{address}`: only https, or http to this machine")));
        }
        let key = self.key(provider)?;
        let mut headers = HeaderMap::new();
        let ours: BTreeMap<&String, &String> = template.iter().chain(&self.headers).collect();
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
    pub(super) fn base(&self, provider: &Provider) -> Result<String, SendError> {
        self.addresses.get(&provider.id).map_or_else(|| provider.address(), |address| Ok(address.clone()))
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

impl Provider {
    /// The provider's address: the environment's, or the row's.
    pub fn address(&self) -> Result<String, SendError> {
        match self.base_url_env.iter().find_map(|name| variable(name)) {
            Some(address) => Ok(self.address_from_env(&address)),
            None => filled(&self.base_url),
        }
    }

    /// Whether the environment holds a key, or none is needed.
    pub fn has_key(&self) -> bool {
        self.auth.style == AuthStyle::None || self.auth.env.iter().any(|name| variable(name).is_some())
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
