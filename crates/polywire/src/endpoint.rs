//! Endpoints: method, URL and headers of a request. Secrets are represented by the names of their environment variables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::address::{env_placeholder, with_placeholders};
use crate::catalog::Model;
use crate::provider::{Auth, AuthStyle, Provider};

/// The endpoint of a request. `{env VAR}` is a placeholder for the value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Endpoint {
    /// The HTTP method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
}

impl Endpoint {
    /// The endpoint of a model, for streaming or other requests.
    pub fn of(model: &Model, stream: bool) -> Self {
        let provider = model.provider();
        let url =
            format!("{}{}", with_placeholders(&provider.base_url, &provider.base_url_variables), model.path(stream));
        let mut headers = provider.own_headers();
        headers.insert("content-type".to_owned(), "application/json".to_owned());
        Self { method: "POST".to_owned(), url, headers }
    }

    /// Adds the encoder's headers. Values of existing headers are joined with a comma.
    pub(crate) fn with_headers(mut self, more: Vec<(&'static str, String)>) -> Self {
        for (name, value) in more {
            let joined = self.headers.entry(name.to_owned()).or_default();
            *joined = if joined.is_empty() { value } else { format!("{joined},{value}") };
        }
        self
    }
}

impl Model {
    /// The path of requests below the base URL.
    pub(crate) fn path(&self, stream: bool) -> String {
        let surface = self.surface();
        let path = surface.stream_path.as_ref().filter(|_| stream).unwrap_or(&surface.path);
        path.replace("{model}", &escaped(self.id()))
    }
}

impl Provider {
    /// The headers of every request, names in lower case, with a placeholder for the key.
    pub(crate) fn own_headers(&self) -> BTreeMap<String, String> {
        let own = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
        own.chain(self.auth.placeholder_header()).collect()
    }
}

impl Auth {
    /// The authentication header with a placeholder for the key.
    fn placeholder_header(&self) -> Option<(String, String)> {
        let variable = self.env.get(..1).filter(|names| !names.is_empty())?;
        let (name, before) = self.key_header();
        Some((name, format!("{before}{}", env_placeholder(variable))))
    }

    /// The name of the key's header in lower case, and the prefix of its value.
    pub(crate) fn key_header(&self) -> (String, &'static str) {
        match self.style {
            // `None`: a local server may be configured to require a key; without one the header is omitted.
            // `AwsSigv4`: an API key is sent as a bearer token; without one the client signs the request.
            AuthStyle::None | AuthStyle::Bearer | AuthStyle::AwsSigv4 | AuthStyle::GoogleOauth => {
                ("authorization".to_owned(), "Bearer ")
            }
            AuthStyle::Header => (self.header.as_deref().unwrap_or("authorization").to_lowercase(), ""),
        }
    }
}

/// Replaces an unspecified host.
const LOOPBACK: &str = "127.0.0.1";

/// Completes an address without a scheme, as in server configurations (`0.0.0.0`, `:8080`, `host:8080`), with the scheme of the default
/// URL, or plain HTTP for loopback hosts. Without a scheme the default port is added too.
pub(crate) fn complete_url(address: &str, usual: &str) -> String {
    let (usual_scheme, usual_rest) = usual.split_once("://").unwrap_or(("https", usual));
    let (scheme, rest) = address.split_once("://").map_or((None, address), |(scheme, rest)| (Some(scheme), rest));
    let (authority, path) = rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
    let (host, port) = host_and_port(authority);
    let host = if ["", "0.0.0.0", "[::]"].contains(&host) { LOOPBACK } else { host };
    let is_loopback = [LOOPBACK, "localhost", "[::1]"].contains(&host);
    let usual_port = || host_and_port(usual_rest.split('/').next().unwrap_or_default()).1;
    let port = port.or_else(|| if scheme.is_none() { usual_port() } else { None });
    let scheme = scheme.unwrap_or(if is_loopback { "http" } else { usual_scheme });
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}{path}")
}

/// Splits `host:port`. IPv6 addresses are in brackets.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, Some(port)),
        Some(_) | None => (authority, None),
    }
}

/// Percent-encodes an id as one path segment.
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

#[cfg(test)]
mod tests {
    use super::complete_url;

    #[test]
    fn omitted_parts_of_an_address_are_those_of_the_default_url() {
        let rows = [
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            ("http://0.0.0.0:8080/v1", "http://127.0.0.1:8080/v1"),
            (":8080", "http://127.0.0.1:8080"),
            ("localhost", "http://localhost:11434"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("[::1]", "http://[::1]:11434"),
            ("[::]", "http://127.0.0.1:11434"),
            ("llm.example/api", "http://llm.example:11434/api"),
            ("http://llm.example", "http://llm.example"),
            ("https://llm.example:444/v1", "https://llm.example:444/v1"),
            ("https://me:word@llm.example", "https://me:word@llm.example"),
        ];
        for (given, meant) in rows {
            assert_eq!(complete_url(given, "http://localhost:11434/v1"), meant, "{given}");
        }
        let public = "https://api.example/v1";
        assert_eq!(complete_url("proxy.example/v1", public), "https://proxy.example/v1");
        assert_eq!(complete_url("localhost:4000", public), "http://localhost:4000");
    }
}
