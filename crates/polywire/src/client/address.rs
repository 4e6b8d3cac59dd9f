//! The URL, headers and body of an HTTP request, with credentials and the values of environment variables.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
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
use super::sign::{SignedRequest, SigningKey, escape_colons};
use super::{Client, Secret, url};
use crate::address;
use crate::catalog::Model;
use crate::plan::Plan;
use crate::provider::{AuthStyle, Provider, SignatureRow};

/// A prepared HTTP request.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) method: Method,
    pub(super) url: Url,
    /// The body.
    pub(super) body: Bytes,
    headers: HeaderMap,
    /// The signing key and the service that it signs for.
    signer: Option<(SigningKey, String)>,
    is_loopback: bool,
    /// Masks the secrets of this request in the response.
    pub(super) mask: Mask,
}

/// The authentication of a request.
enum Authentication {
    Anonymous,
    With(Credential),
}

impl Destination {
    /// The headers of a request, signed for the time `now`.
    pub(super) fn headers(&self, now: SystemTime) -> Result<HeaderMap, SendError> {
        let mut headers = self.headers.clone();
        if let Some((key, service)) = &self.signer {
            let signed = SignedRequest { method: &self.method, url: &self.url, body: &self.body };
            for (name, value) in key.sign(service, signed, now) {
                insert_header(&mut headers, name, value.expose(), HeaderVisibility::Sensitive)?;
            }
        }
        Ok(headers)
    }

    /// Adds headers, and joins values of headers that the request has. Sensitive values stay as they are.
    pub(super) fn join_headers(&mut self, more: &HeaderMap) -> Result<(), SendError> {
        for (name, value) in more {
            let joined = match self.headers.get(name) {
                Some(own) if own.is_sensitive() || own == value => continue,
                Some(own) => [own.as_bytes(), b",", value.as_bytes()].concat(),
                None => value.as_bytes().to_vec(),
            };
            let bad = |_| SendError::Address(format!("the header `{name}` is invalid"));
            self.headers.insert(name.clone(), HeaderValue::from_bytes(&joined).map_err(bad)?);
        }
        Ok(())
    }

    /// Adds headers that the request does not have yet.
    pub(super) fn add_missing_headers(&mut self, more: &HeaderMap) {
        for (name, value) in more {
            if !self.headers.contains_key(name) {
                self.headers.insert(name.clone(), value.clone());
            }
        }
    }
}

impl Client {
    /// Prepares the POST request of a plan.
    pub(super) fn destination(&self, plan: &Plan, model: &Model, stream: bool) -> Result<Destination, SendError> {
        let provider = model.provider();
        let destination =
            self.prepare_get(provider, &self.base(provider)?, &model.path(stream), &plan.endpoint.headers)?;
        let body = self.fill_envelope(plan.body.get(), &model.surface().envelope_env, destination.is_loopback)?;
        Ok(Destination { method: Method::POST, body: Bytes::from(body), ..destination })
    }

    /// Prepares a GET request for a path below a provider's URL.
    pub(super) fn prepare_get(
        &self,
        provider: &Provider,
        below: &str,
        path: &str,
        template: &BTreeMap<String, String>,
    ) -> Result<Destination, SendError> {
        let refused = |why: String| {
            // The user info of the base URL is secret.
            let shown = below.rsplit_once('@').map_or(below, |(_, rest)| rest);
            SendError::Address(format!("`{shown}{path}`: {why}").replace(char::is_control, "\u{fffd}"))
        };
        let base = self.base(provider)?;
        let mut url = url::join(below, path).map_err(refused)?;
        url::check(&url, &base, self.options().plain_http).map_err(refused)?;
        let is_loopback = url::is_loopback(&url);
        let mut headers = HeaderMap::new();
        let mut mask = Mask::default();
        mask.add_secret(url.password().unwrap_or_default(), "", "");
        let (key_name, before_key) = provider.auth.key_header();
        for (name, value) in template.iter().filter(|(name, _)| **name != key_name) {
            insert_header(&mut headers, name, value, HeaderVisibility::Public)?;
        }
        let mut signer = None;
        match self.authentication(provider)? {
            Authentication::Anonymous => {}
            Authentication::With(Credential::Key(key)) => {
                mask.add_secret(key.expose(), &key_name, before_key);
                insert_header(
                    &mut headers,
                    &key_name,
                    &format!("{before_key}{}", key.expose()),
                    HeaderVisibility::Sensitive,
                )?;
            }
            Authentication::With(Credential::Bearer(token)) => {
                mask.add_secret(token.expose(), "authorization", "Bearer ");
                insert_header(
                    &mut headers,
                    "authorization",
                    &format!("Bearer {}", token.expose()),
                    HeaderVisibility::Sensitive,
                )?;
            }
            Authentication::With(Credential::Signing(key)) => {
                escape_colons(&mut url);
                mask.add_secret(key.secret.expose(), "", "");
                let session = key.session.as_ref().map(Secret::expose).unwrap_or_default();
                mask.add_secret(session, "x-amz-security-token", "");
                let service = provider.auth.signature.as_ref().map(|row| row.service.clone());
                signer = Some((key, service.unwrap_or_default()));
            }
        }
        if let Some(trace_parent) = self.call.checked_trace_parent()? {
            insert_header(&mut headers, "traceparent", trace_parent, HeaderVisibility::Public)?;
        }
        let own = self.settings.headers.iter().chain(&self.call.headers);
        for ((_, name), value) in own.filter(|((of, _), _)| of.as_ref().is_none_or(|of| *of == provider.id)) {
            mask.add_secret(value.expose(), name, "");
            insert_header(&mut headers, name, value.expose(), HeaderVisibility::Sensitive)?;
        }
        Ok(Destination { method: Method::GET, url, body: Bytes::new(), headers, signer, is_loopback, mask })
    }

    /// The provider's base URL: the caller's, that of the environment, or that of the row.
    pub(super) fn base(&self, provider: &Provider) -> Result<String, SendError> {
        match self.settings.base_urls.get(&provider.id) {
            Some(url) => Ok(url.expose().to_owned()),
            None => provider.address_in(&|name| self.variable(name)),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.settings.environment.get(name)
    }

    /// The credential of the call, the client, or the environment, in this order.
    fn authentication(&self, provider: &Provider) -> Result<Authentication, SendError> {
        let given = self.call.credentials.get(&provider.id).or_else(|| self.settings.keys.get(&provider.id));
        if let Some(credential) = given {
            return Ok(Authentication::With(credential.clone()));
        }
        let signature = provider.auth.signature.as_ref();
        let variables = match provider.auth.style {
            // The other variables are parts of a signature or a login.
            AuthStyle::AwsSigv4 | AuthStyle::GoogleOauth => provider.auth.env.get(..1).unwrap_or_default(),
            AuthStyle::None | AuthStyle::Bearer | AuthStyle::Header => provider.auth.env.as_slice(),
        };
        if let Some(key) = variables.iter().find_map(|name| self.variable(name)) {
            return Ok(Authentication::With(Credential::Key(Secret::new(key))));
        }
        if let Some(token) = provider.auth.bearer_env.iter().find_map(|name| self.variable(name)) {
            return Ok(Authentication::With(Credential::Bearer(Secret::new(token))));
        }
        if let Some(key) = signature.map(|row| signing_key(row, &self.settings.environment)).transpose()?.flatten() {
            return Ok(Authentication::With(Credential::Signing(key)));
        }
        if provider.auth.style == AuthStyle::None {
            return Ok(Authentication::Anonymous);
        }
        let parts = signature.map(|row| format!("{} and {}", row.id_env, row.secret_env));
        let variables = variables.iter().chain(&provider.auth.bearer_env).cloned().chain(parts).collect();
        Err(SendError::MissingKey { provider: provider.id.clone(), variables })
    }

    /// Returns `true` if requests to the provider can be sent: there is a credential, or none is required and the environment or the
    /// client has its URL.
    pub fn is_configured(&self, provider: &Provider) -> bool {
        let has_url = || {
            let mut names = provider.base_url_env.iter().chain(&provider.origin_env);
            self.settings.base_urls.contains_key(&provider.id) || names.any(|name| self.variable(name).is_some())
        };
        let has_credential = match self.authentication(provider) {
            Ok(Authentication::With(_)) => true,
            Ok(Authentication::Anonymous) => has_url(),
            Err(_) => self.settings.credentials.contains_key(&provider.id),
        };
        has_credential && self.base(provider).is_ok()
    }

    /// Replaces the placeholders of envelope fields with the values of environment variables. Only members of the outermost object are
    /// replaced, so a prompt cannot contain a placeholder. Loopback servers do not require the values.
    fn fill_envelope(
        &self,
        body: &str,
        fields: &BTreeMap<String, Vec<String>>,
        is_loopback: bool,
    ) -> Result<String, SendError> {
        if fields.is_empty() {
            return Ok(body.to_owned());
        }
        let invalid =
            |error: serde_json::Error| SendError::Address(format!("the envelope cannot be filled in: {error}"));
        let Members(mut members) = serde_json::from_str(body).map_err(invalid)?;
        for (name, variables) in fields {
            let shown = Value::from(address::env_placeholder(variables)).to_string();
            let field = members.iter_mut().find(|(member, value)| member == name && value.get() == shown);
            let Some((_, value)) = field else { continue };
            match variables.iter().find_map(|name| self.variable(name)) {
                Some(found) => *value = serde_json::value::to_raw_value(&found).map_err(invalid)?,
                None if is_loopback => {}
                None => {
                    let names = variables.join(" or ");
                    return Err(SendError::Address(format!("the environment variable {names} is not set")));
                }
            }
        }
        serde_json::to_string(&Members(members)).map_err(invalid)
    }
}

/// The unparsed members of an object, in their order.
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

/// Reads the signing key from the environment.
fn signing_key(row: &SignatureRow, environment: &Environment) -> Result<Option<SigningKey>, SendError> {
    let keys = environment.get(&row.id_env).zip(environment.get(&row.secret_env));
    let Some((id, secret)) = keys else { return Ok(None) };
    let Some(region) = row.region_env.iter().find_map(|name| environment.get(name)) else {
        return Err(SendError::Address(format!(
            "signed requests require a region; set {}",
            row.region_env.join(" or ")
        )));
    };
    let session = environment.get(&row.session_env).map(Secret::new);
    Ok(Some(SigningKey { session, ..SigningKey::new(id, Secret::new(secret), region) }))
}

/// Sensitive headers are hidden in debug output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderVisibility {
    Public,
    Sensitive,
}

fn insert_header(
    headers: &mut HeaderMap,
    name: &str,
    text: &str,
    visibility: HeaderVisibility,
) -> Result<(), SendError> {
    let bad = || SendError::Address(format!("the header `{name}` is invalid"));
    let mut value = HeaderValue::from_str(text).map_err(|_| bad())?;
    value.set_sensitive(visibility == HeaderVisibility::Sensitive);
    headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value);
    Ok(())
}

impl Provider {
    /// The provider's base URL: that of this process's environment, or that of the row.
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

    /// Returns `true` if the base URL is a loopback address.
    pub fn is_local(&self) -> bool {
        self.address().is_ok_and(|address| Url::parse(&address).is_ok_and(|url| url::is_loopback(&url)))
    }

    /// Returns `true` if this process's environment has a key or the provider requires none.
    pub fn has_key(&self) -> bool {
        self.auth.style == AuthStyle::None || !self.key_variables().is_empty()
    }

    /// The environment variables of this process that hold credentials.
    pub fn key_variables(&self) -> Vec<String> {
        let names = self.auth.env.iter().chain(&self.auth.bearer_env);
        names.filter(|name| process_variable(name).is_some()).cloned().collect()
    }
}
