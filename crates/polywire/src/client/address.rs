//! Where a plan goes in truth: the address and the headers with what the environment holds.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::error::SendError;
use super::sign::{SigningKey, settle_path};
use super::{Client, PlainHttp, Secret};
use crate::catalog::Model;
use crate::plan::Plan;
use crate::provider::{AuthStyle, Provider, SignatureRow};

/// A place to send to.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) url: Url,
    /// What is sent.
    pub(super) body: String,
    headers: HeaderMap,
    /// What every request is signed with, and for which service.
    signer: Option<(SigningKey, String)>,
    /// Whether it is this machine.
    pub(super) near: bool,
}

/// How a request says who sends it.
enum Access {
    /// In the header of the row, where there is one.
    Key(Option<Secret>),
    /// As a bearer, whatever the row says of keys.
    Bearer(Secret),
    Signature(SigningKey, String),
}

impl Destination {
    /// The headers of a request at a time.
    pub(super) fn headers(&self, now: SystemTime) -> Result<HeaderMap, SendError> {
        let mut headers = self.headers.clone();
        if let Some((key, service)) = &self.signer {
            for (name, value) in key.sign(service, &self.url, self.body.as_bytes(), now) {
                insert(&mut headers, name, value.expose(), Show::Never)?;
            }
        }
        Ok(headers)
    }
}

impl Client {
    pub(super) fn destination(&self, plan: &Plan, model: &Model) -> Result<Destination, SendError> {
        let provider = model.provider();
        let path = plan.endpoint.url.strip_prefix(&provider.base_url).unwrap_or_default();
        let address = format!("{}{path}", self.base(provider)?);
        let place = self.place(provider, &address, &plan.endpoint.headers)?;
        Ok(Destination { body: body(plan, place.near)?, ..place })
    }

    /// Where an address of a provider is, with the headers that are sent to it and without a body.
    pub(super) fn place(
        &self,
        provider: &Provider,
        address: &str,
        template: &BTreeMap<String, String>,
    ) -> Result<Destination, SendError> {
        // What stands before an `@` is a secret too.
        let refused = |why: &dyn fmt::Display| {
            let shown = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
            SendError::Address(format!("`{shown}`: {why}"))
        };
        let mut url = Url::parse(address).map_err(|error| refused(&error))?;
        let near = is_loopback(&url);
        let plain = near || self.options.plain_http == PlainHttp::Anywhere;
        if url.scheme() != "https" && !(plain && url.scheme() == "http") {
            return Err(refused(&"only https, or http to this machine, unless `plain-http` allows more"));
        }
        let mut headers = HeaderMap::new();
        let (key, signer) = match self.access(provider)? {
            Access::Key(key) => (key, None),
            Access::Bearer(token) => {
                insert(&mut headers, "authorization", &format!("Bearer {}", token.expose()), Show::Never)?;
                (None, None)
            }
            Access::Signature(key, service) => {
                settle_path(&mut url);
                (None, Some((key, service)))
            }
        };
        let own = self.headers.iter().filter(|((of, _), _)| of.as_ref().is_none_or(|of| *of == provider.id));
        let own = own.map(|((_, name), value)| (name, value));
        for (name, value) in template {
            let (text, show) = match value.find('{') {
                None => (value.clone(), Show::Freely),
                Some(hole) => match &key {
                    Some(key) => (format!("{}{}", value.get(..hole).unwrap_or_default(), key.expose()), Show::Never),
                    None => continue,
                },
            };
            insert(&mut headers, name, &text, show)?;
        }
        for (name, value) in own {
            insert(&mut headers, name, value.expose(), Show::Never)?;
        }
        Ok(Destination { url, body: String::new(), headers, signer, near })
    }

    /// The provider's address: the caller's, the environment's, or the row's.
    pub(super) fn base(&self, provider: &Provider) -> Result<String, SendError> {
        let own = self.addresses.get(&provider.id);
        own.map_or_else(|| provider.address(), |address| Ok(address.expose().to_owned()))
    }

    /// What the provider is shown: the caller's key, or the environment's.
    fn access(&self, provider: &Provider) -> Result<Access, SendError> {
        if let Some(key) = self.keys.get(&provider.id) {
            return Ok(Access::Key(Some(key.clone())));
        }
        let signature = provider.auth.signature.as_ref();
        let service = || signature.map(|row| row.service.clone()).unwrap_or_default();
        if let Some(key) = self.signing_keys.get(&provider.id) {
            return Ok(Access::Signature(key.clone(), service()));
        }
        let variables = match provider.auth.style {
            // The others are parts of a signature or of a login.
            AuthStyle::AwsSigv4 | AuthStyle::GoogleOauth => provider.auth.env.get(..1).unwrap_or_default(),
            AuthStyle::None | AuthStyle::Bearer | AuthStyle::Header => provider.auth.env.as_slice(),
        };
        if let Some(key) = variables.iter().find_map(|name| variable(name)) {
            return Ok(Access::Key(Some(Secret::new(key))));
        }
        if let Some(token) = provider.auth.bearer_env.iter().find_map(|name| variable(name)) {
            return Ok(Access::Bearer(Secret::new(token)));
        }
        if let Some(key) = signature.map(signing_key).transpose()?.flatten() {
            return Ok(Access::Signature(key, service()));
        }
        if provider.auth.style == AuthStyle::None {
            return Ok(Access::Key(None));
        }
        let parts = signature.map(|row| format!("{} and {}", row.id_env, row.secret_env));
        let variables = variables.iter().chain(&provider.auth.bearer_env).cloned().chain(parts).collect();
        Err(SendError::MissingKey { provider: provider.id.clone(), variables })
    }
}

/// The body with what the environment holds for its envelope, whose fields stand at the end. On this machine nobody asks for them.
fn body(plan: &Plan, near: bool) -> Result<String, SendError> {
    let mut body = plan.body.get().to_owned();
    for (name, template) in &plan.surface.envelope_fields {
        let Some(text) = template.as_str().filter(|text| text.contains("{env ")) else { continue };
        let said = format!("{}:{template}", Value::from(name.as_str()));
        let Some(start) = body.rfind(&said) else { continue };
        match filled(text) {
            Ok(value) => {
                let value = format!("{}:{}", Value::from(name.as_str()), Value::from(value));
                body.replace_range(start..start + said.len(), &value);
            }
            Err(_) if near => {}
            Err(error) => return Err(error),
        }
    }
    Ok(body)
}

/// The key that the environment holds for signatures.
fn signing_key(row: &SignatureRow) -> Result<Option<SigningKey>, SendError> {
    let Some((id, secret)) = variable(&row.id_env).zip(variable(&row.secret_env)) else { return Ok(None) };
    let Some(region) = row.region_env.iter().find_map(|name| variable(name)) else {
        return Err(SendError::Address(format!("a signature needs a region; set {}", row.region_env.join(" or "))));
    };
    let session = variable(&row.session_env).map(Secret::new);
    Ok(Some(SigningKey { session, ..SigningKey::new(id, Secret::new(secret), region) }))
}

/// Whether a header may be shown by those who show headers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Freely,
    Never,
}

fn insert(headers: &mut HeaderMap, name: &str, text: &str, show: Show) -> Result<(), SendError> {
    let bad = || SendError::Address(format!("the header `{name}` cannot be sent"));
    let mut value = HeaderValue::from_str(text).map_err(|_| bad())?;
    value.set_sensitive(show == Show::Never);
    headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value);
    Ok(())
}

impl Provider {
    /// The provider's address: the environment's, or the row's.
    pub fn address(&self) -> Result<String, SendError> {
        match self.base_url_env.iter().find_map(|name| variable(name)) {
            Some(address) => Ok(self.address_from_env(&address)),
            None => filled(&self.base_url),
        }
    }

    /// Whether requests stay on this machine.
    pub fn is_local(&self) -> bool {
        self.address().is_ok_and(|address| Url::parse(&address).is_ok_and(|url| is_loopback(&url)))
    }

    /// Whether the environment holds a key, or none is needed.
    pub fn has_key(&self) -> bool {
        self.auth.style == AuthStyle::None || !self.key_variables().is_empty()
    }

    /// The environment variables that hold something to sign in with.
    pub fn key_variables(&self) -> Vec<String> {
        let names = self.auth.env.iter().chain(&self.auth.bearer_env);
        names.filter(|name| variable(name).is_some()).cloned().collect()
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// A template with the values of its variables: `{env ONE or OTHER}` is the first one that is there.
fn filled(template: &str) -> Result<String, SendError> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((literal, hole)) = rest.split_once("{env ") {
        let (names, tail) = hole.split_once('}').unwrap_or((hole, ""));
        out.push_str(literal);
        let missing = || SendError::Address(format!("the environment variable {names} is needed"));
        let value = names.split(" or ").find_map(variable).ok_or_else(missing)?;
        out.push_str(value.trim_end_matches('/'));
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
