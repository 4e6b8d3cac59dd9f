//! Builds the URL of a request and checks that the request may be sent there. No other module does either.

use reqwest::Url;

use super::PlainHttp;
use crate::address::has_dot_segment;

/// Joins a base URL and a path. The path is set on the parsed base URL, so it can never become part of the host.
pub(super) fn join(base: &str, path: &str) -> Result<Url, String> {
    let is_bad = |letter: char| letter.is_control() || letter.is_whitespace() || matches!(letter, '\\' | '#');
    if let Some(found) = base.chars().chain(path.chars()).find(|letter| is_bad(*letter)) {
        return Err(format!("an address must not contain `{}`", found.escape_default()));
    }
    if base.contains('?') {
        return Err("a base address must not contain `?`".to_owned());
    }
    if !path.starts_with('/') || path.starts_with("//") {
        return Err("a path must start with one `/`".to_owned());
    }
    if has_dot_segment(path) || base.split_once("://").is_some_and(|(_, rest)| has_dot_segment(rest)) {
        return Err("an address must not contain `.` or `..` segments".to_owned());
    }
    let mut url = Url::parse(base).map_err(|error| error.to_string())?;
    if !url.has_host() {
        return Err("the base address has no host".to_owned());
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    url.set_query(query);
    Ok(url)
}

/// Checks that a request with the provider's key may be sent to a URL: it must have the scheme, host, port and user info of the base URL,
/// and use HTTPS unless it is a loopback address or the caller allows plain HTTP.
pub(super) fn check(url: &Url, base: &str, plain_http: PlainHttp) -> Result<(), String> {
    let base = Url::parse(base).map_err(|error| error.to_string())?;
    let login = |url: &Url| (url.username().to_owned(), url.password().map(str::to_owned));
    if url.origin() != base.origin() || !url.origin().is_tuple() || login(url) != login(&base) {
        return Err("it is not at the provider's own address".to_owned());
    }
    let plain = is_loopback(url) || plain_http == PlainHttp::Anywhere;
    if url.scheme() != "https" && !(plain && url.scheme() == "http") {
        return Err("only https, or http to this machine, unless `plain-http` allows more".to_owned());
    }
    Ok(())
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
