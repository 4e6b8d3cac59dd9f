//! Who sends a request: the gateway key in any of the headers that clients use.

use std::sync::Arc;

use http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;
use polywire::wire::{FaultKind, WireError};

use crate::inbound::header;
use crate::key::{Key, KeyLimits, KeyRole};
use crate::state::{Access, Shared};

/// Who sends a request.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// No key is needed.
    Anonymous,
    Key(Arc<Key>),
}

/// Headers with a key, and what stands before it.
const KEY_HEADERS: [(&str, &str); 4] =
    [("authorization", "Bearer "), ("x-api-key", ""), ("x-goog-api-key", ""), ("api-key", "")];

impl Caller {
    pub(crate) async fn of(shared: &Shared, headers: &HeaderMap, uri: &Uri) -> Result<Self, WireError> {
        check_origin(shared, headers).map_err(|error| *error)?;
        for text in presented(headers, uri) {
            if let Some(key) = shared.key(&text).await {
                return Ok(Self::Key(key));
            }
        }
        let require_keys = shared.active().settings.require_keys;
        let is_required = require_keys.unwrap_or_else(|| shared.has_keys()) || shared.access == Access::KeysOnly;
        if is_required {
            let message = "a gateway key is required; `polywire keys create` creates one";
            return Err(WireError::new(FaultKind::Authentication, message));
        }
        Ok(Self::Anonymous)
    }

    /// The id of the key; empty without one.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Anonymous => "",
            Self::Key(key) => &key.id,
        }
    }

    pub(crate) fn limits(&self) -> Option<&KeyLimits> {
        match self {
            Self::Anonymous => None,
            Self::Key(key) => Some(&key.limits),
        }
    }

    /// Whether the caller may see what others do: with an admin key, or on this machine while there are no keys.
    pub(crate) fn is_admin(&self, shared: &Shared) -> bool {
        match self {
            Self::Anonymous => !shared.has_keys() && shared.access == Access::Loopback,
            Self::Key(key) => key.role == KeyRole::Admin,
        }
    }
}

/// The keys that a request presents.
fn presented(headers: &HeaderMap, uri: &Uri) -> Vec<String> {
    let of_header = |(name, before): &(&str, &str)| {
        let value = header(headers, name)?;
        let is_prefixed = value.get(..before.len()).is_some_and(|head| head.eq_ignore_ascii_case(before));
        is_prefixed.then(|| value.get(before.len()..).unwrap_or_default().trim().to_owned())
    };
    let query = uri.query().into_iter().flat_map(|query| query.split('&'));
    let of_query = query.filter_map(|pair| pair.strip_prefix("key="));
    let of_query = of_query.map(|key| percent_decode_str(key).decode_utf8_lossy().into_owned());
    KEY_HEADERS.iter().filter_map(of_header).chain(of_query).filter(|text| !text.is_empty()).collect()
}

/// A page of another site must not use a gateway that needs no key: its requests have an `Origin`, or, after DNS rebinding, a `Host`
/// that is not this machine.
fn check_origin(shared: &Shared, headers: &HeaderMap) -> Result<(), Box<WireError>> {
    let host = header(headers, "host").unwrap_or_default();
    if let Some(origin) = header(headers, "origin") {
        let is_own = origin.split_once("://").is_some_and(|(_, rest)| rest == host);
        let is_allowed = shared.active().settings.cors_origins.iter().any(|allowed| allowed == origin);
        if !is_own && !is_allowed {
            let message = "requests of this origin are not allowed; `cors-origins` in [serve] allows them";
            return Err(Box::new(WireError::new(FaultKind::Permission, message)));
        }
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let is_local = name.is_empty()
        || name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if shared.access == Access::Loopback && !shared.has_keys() && !is_local {
        let message = "the gateway serves this machine only; with gateway keys any `Host` is accepted";
        return Err(Box::new(WireError::new(FaultKind::Permission, message)));
    }
    Ok(())
}
