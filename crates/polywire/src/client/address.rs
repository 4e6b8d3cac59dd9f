//! Where a plan goes in truth: the address, the headers and the envelope with what the environment holds.

use std::collections::BTreeMap;
use std::time::SystemTime;

use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::credentials::Credential;
use super::environment::{Environment, process_variable};
use super::error::SendError;
use super::mask::Mask;
use super::sign::{Signed, SigningKey, escape_colons};
use super::{Client, Secret, url};
use crate::address;
use crate::catalog::Model;
use crate::plan::Plan;
use crate::provider::{AuthStyle, Provider, SignatureRow};

/// A place to send to.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) method: Method,
    pub(super) url: Url,
    /// What is sent.
    pub(super) body: String,
    headers: HeaderMap,
    /// What every request is signed with, and for which service.
    signer: Option<(SigningKey, String)>,
    /// Whether it is this machine.
    is_loopback: bool,
    /// Hides what was sent in secret in what comes back.
    pub(super) mask: Mask,
}

/// How a request says who sends it.
enum Access {
    /// Not at all.
    Open,
    With(Credential),
}

impl Destination {
    /// The headers of a request at a time.
    pub(super) fn headers(&self, now: SystemTime) -> Result<HeaderMap, SendError> {
        let mut headers = self.headers.clone();
        if let Some((key, service)) = &self.signer {
            let signed = Signed { method: &self.method, url: &self.url, body: self.body.as_bytes() };
            for (name, value) in key.sign(service, signed, now) {
                insert(&mut headers, name, value.expose(), Show::Never)?;
            }
        }
        Ok(headers)
    }
}

impl Client {
    /// Where a plan for a model goes, for whole answers or streams.
    pub(super) fn destination(&self, plan: &Plan, model: &Model, stream: bool) -> Result<Destination, SendError> {
        let provider = model.provider();
        let place = self.place(provider, &self.base(provider)?, &model.path(stream), &plan.endpoint.headers)?;
        let body = self.body(plan.body.get(), &model.surface().envelope_env, place.is_loopback)?;
        Ok(Destination { method: Method::POST, body, ..place })
    }

    /// Where a path below an address of a provider is, with the headers that are sent to it; to be fetched, without a body.
    pub(super) fn place(
        &self,
        provider: &Provider,
        below: &str,
        path: &str,
        template: &BTreeMap<String, String>,
    ) -> Result<Destination, SendError> {
        let refused = |why: String| {
            // What stands before an `@` of the base is a secret too.
            let shown = below.rsplit_once('@').map_or(below, |(_, rest)| rest);
            SendError::Address(format!("`{shown}{path}`: {why}").replace(char::is_control, "\u{fffd}"))
        };
        let base = self.base(provider)?;
        let mut url = url::join(below, path).map_err(refused)?;
        url::check(&url, &base, self.options().plain_http).map_err(refused)?;
        let is_loopback = url::is_loopback(&url);
        let mut headers = HeaderMap::new();
        let mut mask = Mask::default();
        mask.hide(url.password().unwrap_or_default(), "", "");
        let (key_name, before_key) = provider.auth.key_header();
        for (name, value) in template.iter().filter(|(name, _)| **name != key_name) {
            insert(&mut headers, name, value, Show::Freely)?;
        }
        let mut signer = None;
        match self.access(provider)? {
            Access::Open => {}
            Access::With(Credential::Key(key)) => {
                mask.hide(key.expose(), &key_name, before_key);
                insert(&mut headers, &key_name, &format!("{before_key}{}", key.expose()), Show::Never)?;
            }
            Access::With(Credential::Bearer(token)) => {
                mask.hide(token.expose(), "authorization", "Bearer ");
                insert(&mut headers, "authorization", &format!("Bearer {}", token.expose()), Show::Never)?;
            }
            Access::With(Credential::Signing(key)) => {
                escape_colons(&mut url);
                mask.hide(key.secret.expose(), "", "");
                let session = key.session.as_ref().map(Secret::expose).unwrap_or_default();
                mask.hide(session, "x-amz-security-token", "");
                let service = provider.auth.signature.as_ref().map(|row| row.service.clone());
                signer = Some((key, service.unwrap_or_default()));
            }
        }
        if let Some(trace_parent) = self.call.checked_trace_parent()? {
            insert(&mut headers, "traceparent", trace_parent, Show::Freely)?;
        }
        let own = self.settings.headers.iter().chain(&self.call.headers);
        for ((_, name), value) in own.filter(|((of, _), _)| of.as_ref().is_none_or(|of| *of == provider.id)) {
            mask.hide(value.expose(), name, "");
            insert(&mut headers, name, value.expose(), Show::Never)?;
        }
        Ok(Destination { method: Method::GET, url, body: String::new(), headers, signer, is_loopback, mask })
    }

    /// The provider's address: the caller's, the environment's, or the row's.
    pub(super) fn base(&self, provider: &Provider) -> Result<String, SendError> {
        match self.settings.base_urls.get(&provider.id) {
            Some(url) => Ok(url.expose().to_owned()),
            None => provider.address_in(&|name| self.variable(name)),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.settings.environment.get(name)
    }

    /// What the provider is shown: the call's credential, the client's, or the environment's.
    fn access(&self, provider: &Provider) -> Result<Access, SendError> {
        let given = self.call.credentials.get(&provider.id).or_else(|| self.settings.keys.get(&provider.id));
        if let Some(credential) = given {
            return Ok(Access::With(credential.clone()));
        }
        let signature = provider.auth.signature.as_ref();
        let variables = match provider.auth.style {
            // The others are parts of a signature or of a login.
            AuthStyle::AwsSigv4 | AuthStyle::GoogleOauth => provider.auth.env.get(..1).unwrap_or_default(),
            AuthStyle::None | AuthStyle::Bearer | AuthStyle::Header => provider.auth.env.as_slice(),
        };
        if let Some(key) = variables.iter().find_map(|name| self.variable(name)) {
            return Ok(Access::With(Credential::Key(Secret::new(key))));
        }
        if let Some(token) = provider.auth.bearer_env.iter().find_map(|name| self.variable(name)) {
            return Ok(Access::With(Credential::Bearer(Secret::new(token))));
        }
        if let Some(key) = signature.map(|row| signing_key(row, &self.settings.environment)).transpose()?.flatten() {
            return Ok(Access::With(Credential::Signing(key)));
        }
        if provider.auth.style == AuthStyle::None {
            return Ok(Access::Open);
        }
        let parts = signature.map(|row| format!("{} and {}", row.id_env, row.secret_env));
        let variables = variables.iter().chain(&provider.auth.bearer_env).cloned().chain(parts).collect();
        Err(SendError::MissingKey { provider: provider.id.clone(), variables })
    }

    /// The body with the fields of its envelope that the environment holds, in the place of what stands for them. Only fields of the
    /// outermost object count, so nothing in a prompt is taken for one. A server on this machine does not need them.
    fn body(&self, body: &str, fields: &BTreeMap<String, Vec<String>>, is_loopback: bool) -> Result<String, SendError> {
        if fields.is_empty() {
            return Ok(body.to_owned());
        }
        let unread =
            |error: serde_json::Error| SendError::Address(format!("the envelope cannot be filled in: {error}"));
        let Members(mut members) = serde_json::from_str(body).map_err(unread)?;
        for (name, variables) in fields {
            let shown = Value::from(address::shown_env(variables)).to_string();
            let field = members.iter_mut().find(|(member, value)| member == name && value.get() == shown);
            let Some((_, value)) = field else { continue };
            match variables.iter().find_map(|name| self.variable(name)) {
                Some(found) => *value = serde_json::value::to_raw_value(&found).map_err(unread)?,
                None if is_loopback => {}
                None => {
                    let names = variables.join(" or ");
                    return Err(SendError::Address(format!("the environment variable {names} is needed")));
                }
            }
        }
        serde_json::to_string(&Members(members)).map_err(unread)
    }
}

/// The members of an object in their order, unread.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfObject;
        impl<'de> Visitor<'de> for OfObject {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(OfObject)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The key that the environment holds for signatures.
fn signing_key(row: &SignatureRow, environment: &Environment) -> Result<Option<SigningKey>, SendError> {
    let keys = environment.get(&row.id_env).zip(environment.get(&row.secret_env));
    let Some((id, secret)) = keys else { return Ok(None) };
    let Some(region) = row.region_env.iter().find_map(|name| environment.get(name)) else {
        return Err(SendError::Address(format!("a signature needs a region; set {}", row.region_env.join(" or "))));
    };
    let session = environment.get(&row.session_env).map(Secret::new);
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
    /// The provider's address: that of this process's environment, or the row's.
    pub fn address(&self) -> Result<String, SendError> {
        self.address_in(&process_variable)
    }

    fn address_in(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, SendError> {
        let first = |names: &[String]| names.iter().find_map(|name| variable(name));
        if let Some(address) = first(&self.base_url_env) {
            return Ok(self.address_from_env(&address));
        }
        if let Some(origin) = first(&self.origin_env) {
            return Ok(self.address_from_origin(&origin));
        }
        let filled = address::fill(&self.base_url, &self.base_url_variables, &variable);
        filled.map_err(|why| match self.origin_env.as_slice() {
            [] => SendError::Address(why),
            names => SendError::Address(format!("{why}, or {}", names.join(" or "))),
        })
    }

    /// Whether requests stay on this machine.
    pub fn is_local(&self) -> bool {
        self.address().is_ok_and(|address| Url::parse(&address).is_ok_and(|url| url::is_loopback(&url)))
    }

    /// Whether the environment holds a key, or none is needed.
    pub fn has_key(&self) -> bool {
        self.auth.style == AuthStyle::None || !self.key_variables().is_empty()
    }

    /// The environment variables that hold something to sign in with.
    pub fn key_variables(&self) -> Vec<String> {
        let names = self.auth.env.iter().chain(&self.auth.bearer_env);
        names.filter(|name| process_variable(name).is_some()).cloned().collect()
    }
}
