//! Where a request goes: method, address and headers. Secrets are named by the variable that holds them, never held.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::catalog::Model;
use crate::provider::{Auth, AuthStyle, Provider};

/// Where a request goes. `{env VAR}` stands for the value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Endpoint {
    /// The HTTP method.
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
}

impl Endpoint {
    /// The endpoint of a model, for whole answers or streams.
    pub fn of(model: &Model, stream: bool) -> Self {
        let (provider, surface) = (model.provider(), model.surface());
        let path = surface.stream_path.as_ref().filter(|_| stream).unwrap_or(&surface.path);
        let url = format!("{}{}", provider.base_url, path.replace("{model}", &escaped(model.id())));
        let mut headers = provider.own_headers();
        headers.insert("content-type".to_owned(), "application/json".to_owned());
        Self { method: "POST".to_owned(), url, headers }
    }

    /// The same with what an encoder says beside the body; a header that is there already says both.
    pub(crate) fn with_headers(mut self, more: Vec<(&'static str, String)>) -> Self {
        for (name, value) in more {
            let said = self.headers.entry(name.to_owned()).or_default();
            *said = if said.is_empty() { value } else { format!("{said},{value}") };
        }
        self
    }
}

impl Provider {
    /// The headers of every request, names in lower case, with the secret named.
    pub(crate) fn own_headers(&self) -> BTreeMap<String, String> {
        let own = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
        own.chain(self.auth.header()).collect()
    }
}

impl Auth {
    /// The header that says who sends, with the secret named.
    fn header(&self) -> Option<(String, String)> {
        let variable = self.env.first()?;
        let bearer = |secret: String| ("authorization".to_owned(), format!("Bearer {secret}"));
        match self.style {
            AuthStyle::None => None,
            // A key for the service is a bearer; without one the request is signed when it is sent.
            AuthStyle::Bearer | AuthStyle::AwsSigv4 => Some(bearer(format!("{{env {variable}}}"))),
            AuthStyle::Header => {
                let name = self.header.as_deref().unwrap_or("authorization");
                Some((name.to_lowercase(), format!("{{env {variable}}}")))
            }
            AuthStyle::GoogleOauth => Some(bearer(format!("{{token of {variable}}}"))),
        }
    }
}

/// An id as one piece of a path.
fn escaped(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
