//! Where a request goes: method, address and headers. Secrets are named by the variable that holds them, never held.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::address::{shown, shown_env};
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
        let provider = model.provider();
        let url = format!("{}{}", shown(&provider.base_url, &provider.base_url_variables), model.path(stream));
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

impl Model {
    /// The path of requests, after the base address, for whole answers or streams.
    pub(crate) fn path(&self, stream: bool) -> String {
        let surface = self.surface();
        let path = surface.stream_path.as_ref().filter(|_| stream).unwrap_or(&surface.path);
        path.replace("{model}", &escaped(self.id()))
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
        let variable = self.env.get(..1).filter(|names| !names.is_empty())?;
        let (name, before) = self.key_header();
        Some((name, format!("{before}{}", shown_env(variable))))
    }

    /// The header that holds the key, its name in lower case, and what stands before the key in it.
    pub(crate) fn key_header(&self) -> (String, &'static str) {
        match self.style {
            // A server that asks for no key may have been told to; without one in the environment the header is left out.
            // A key for the service is a bearer; without one the request is signed when it is sent.
            AuthStyle::None | AuthStyle::Bearer | AuthStyle::AwsSigv4 | AuthStyle::GoogleOauth => {
                ("authorization".to_owned(), "Bearer ")
            }
            AuthStyle::Header => (self.header.as_deref().unwrap_or("authorization").to_lowercase(), ""),
        }
    }
}

/// This machine, for those who name all of its addresses or none.
const HERE: &str = "127.0.0.1";

/// An address with the scheme that it may leave out, as servers are often told theirs (`0.0.0.0`, `:8080`, `host:8080`): that of a
/// usual address, plain HTTP on this machine. Without a scheme the port is the usual one too.
pub(crate) fn spelled_out(address: &str, usual: &str) -> String {
    let (usual_scheme, usual_rest) = usual.split_once("://").unwrap_or(("https", usual));
    let (scheme, rest) = address.split_once("://").map_or((None, address), |(scheme, rest)| (Some(scheme), rest));
    let (authority, path) = rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
    let (host, port) = host_and_port(authority);
    let host = if ["", "0.0.0.0", "[::]"].contains(&host) { HERE } else { host };
    let near = [HERE, "localhost", "[::1]"].contains(&host);
    let usual_port = || host_and_port(usual_rest.split('/').next().unwrap_or_default()).1;
    let port = port.or_else(|| if scheme.is_none() { usual_port() } else { None });
    let scheme = scheme.unwrap_or(if near { "http" } else { usual_scheme });
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}{path}")
}

/// The two parts of `host:port`. An address of version 6 stands in brackets.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, Some(port)),
        Some(_) | None => (authority, None),
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

#[cfg(test)]
mod tests {
    use super::spelled_out;

    #[test]
    fn what_an_address_leaves_out_is_as_usual() {
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
            assert_eq!(spelled_out(given, "http://localhost:11434/v1"), meant, "{given}");
        }
        let public = "https://api.example/v1";
        assert_eq!(spelled_out("proxy.example/v1", public), "https://proxy.example/v1");
        assert_eq!(spelled_out("localhost:4000", public), "http://localhost:4000");
    }
}
