//! AWS Signature Version 4. The steps are those of
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use ring::{digest, hmac};

use super::Secret;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The characters that are percent-encoded in a query: all but RFC 3986's unreserved ones.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The characters that are percent-encoded in a path.
const PATH: &AsciiSet = &QUERY.remove(b'/');

/// The signed parts of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignedRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) url: &'a Url,
    pub(super) body: &'a [u8],
}

/// An AWS access key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SigningKey {
    /// The access key id, which is sent.
    pub id: String,
    /// The secret access key.
    pub secret: Secret,
    /// The session token of temporary credentials.
    pub session: Option<Secret>,
    /// The region of the service.
    pub region: String,
}

impl SigningKey {
    /// Creates a key for a region, without a session token.
    pub fn new(id: impl Into<String>, secret: Secret, region: impl Into<String>) -> Self {
        Self { id: id.into(), secret, session: None, region: region.into() }
    }

    /// Sets the session token.
    #[must_use]
    pub fn with_session(mut self, token: Secret) -> Self {
        self.session = Some(token);
        self
    }

    /// The headers of a signed request.
    pub(super) fn sign(
        &self,
        service: &str,
        request: SignedRequest<'_>,
        now: SystemTime,
    ) -> Vec<(&'static str, Secret)> {
        let SignedRequest { method, url, body } = request;
        let time = stamp(now);
        let day = time.get(..8).unwrap_or_default();
        let content = hex(digest::digest(&digest::SHA256, body).as_ref());
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        // Canonical headers are sorted by name.
        let mut headers = vec![("host", host), ("x-amz-content-sha256", content.clone()), ("x-amz-date", time.clone())];
        headers.extend(self.session.as_ref().map(|token| ("x-amz-security-token", token.expose().to_owned())));
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let lines =
            headers.iter().map(|(name, value)| format!("{name}:{}", value.trim())).collect::<Vec<_>>().join("\n");
        let (path, query) = (utf8_percent_encode(url.path(), PATH).to_string(), canonical_query(url));
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n\n{names}\n{content}");
        let scope = format!("{day}/{}/{service}/aws4_request", self.region);
        let digest = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let text = format!("{ALGORITHM}\n{time}\n{scope}\n{digest}");
        let first = format!("AWS4{}", self.secret.expose()).into_bytes();
        let key = [day, &self.region, service, "aws4_request"].iter().fold(first, |key, part| mac(&key, part));
        let signature = hex(&mac(&key, &text));
        let credential = format!("{}/{scope}", self.id);
        let authorization =
            format!("{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}");
        let sent = headers.into_iter().filter(|(name, _)| *name != "host");
        let sent = sent.map(|(name, value)| (name, Secret::new(value)));
        sent.chain([("authorization", Secret::new(authorization))]).collect()
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing into a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn canonical_query(url: &Url) -> String {
    let escaped = |text: &str| utf8_percent_encode(text, QUERY).to_string();
    let pairs = url.query_pairs().map(|(name, value)| format!("{}={}", escaped(&name), escaped(&value)));
    let mut pairs: Vec<String> = pairs.collect();
    pairs.sort();
    pairs.join("&")
}

/// Escapes the colons of a path, as the service does before it checks the signature.
pub(super) fn escape_colons(url: &mut Url) {
    let path = url.path().replace(':', "%3A");
    url.set_path(&path);
}

/// A time such as `20130524T000000Z`.
fn stamp(now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years start in March, so that the leap day is their last day; an era has 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
#[path = "sign_tests.rs"]
mod tests;
