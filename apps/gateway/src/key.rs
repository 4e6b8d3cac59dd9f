//! Gateway keys: what a caller may use. A key is shown once; only its hash is stored.

use polywire::catalog::ServeOnLoss;
use polywire::catalog::ServeRoute;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

/// The beginning of every key, by which people and scanners recognize it.
const PREFIX: &str = "pwk_";

/// A gateway key without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Key {
    /// The public id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The SHA-256 of the key, in hexadecimal digits.
    pub hash: String,
    /// What the key may do beside sending requests.
    #[serde(default)]
    pub role: KeyRole,
    /// What the key may use.
    #[serde(flatten)]
    pub limits: KeyLimits,
    /// The time of its creation, in Unix seconds.
    pub created_at: u64,
    /// The time of its revocation, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<u64>,
}

/// What a key may do beside sending requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KeyRole {
    /// Nothing.
    #[default]
    User,
    /// See the requests and usage of all keys, and manage keys.
    Admin,
}

/// What a key may use. Missing limits do not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct KeyLimits {
    /// Patterns of model names in requests, with `*` for any text; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// The budget per day (UTC) in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_day: Option<f64>,
    /// The budget per calendar month (UTC) in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_month: Option<f64>,
    /// The budget of the key in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_total: Option<f64>,
    /// Requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u32>,
    /// Concurrent requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// `true` if requests with losses are refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refuse_losses: bool,
}

impl KeyLimits {
    /// Returns `true` if a model name is allowed.
    pub fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|pattern| ServeRoute::new(pattern, []).matches(model))
    }

    pub(crate) fn on_loss(&self) -> Option<ServeOnLoss> {
        self.refuse_losses.then_some(ServeOnLoss::Error)
    }
}

impl Key {
    /// Creates a key. The text is the secret, which is not stored.
    pub fn create(name: &str, role: KeyRole, limits: KeyLimits, now: u64) -> Option<(Self, String)> {
        let id = random_hex::<8>()?;
        let text = format!("{PREFIX}{id}_{}", random_hex::<24>()?);
        let hash = hash_of(&text);
        let key = Self { id, name: name.to_owned(), hash, role, limits, created_at: now, revoked_at: None };
        Some((key, text))
    }

    /// The id in the text of a key.
    pub(crate) fn id_of(text: &str) -> Option<&str> {
        text.strip_prefix(PREFIX)?.split_once('_').map(|(id, _)| id)
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.hash.as_bytes().ct_eq(hash_of(text).as_bytes()).into()
    }
}

fn hash_of(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

/// Random bytes in hexadecimal digits; `None` if the system has none.
pub(crate) fn random_hex<const N: usize>() -> Option<String> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value)).map_or('0', |digit| char::from(*digit));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::{Key, KeyLimits, KeyRole};

    #[test]
    fn a_key_is_recognized_by_its_hash_alone() {
        let (key, text) = Key::create("ci", KeyRole::User, KeyLimits::default(), 1).expect("a key");
        assert_eq!(Key::id_of(&text), Some(key.id.as_str()));
        assert!(key.is(&text) && !key.is(&format!("{text}0")) && !key.is(&key.hash));
        let stored = serde_json::to_string(&key).expect("JSON");
        let secret = text.rsplit('_').next().expect("a secret");
        assert!(!stored.contains(secret) && !format!("{key:?}").contains(secret));
        assert_eq!(serde_json::from_str::<Key>(&stored).expect("a key"), key);
    }

    #[test]
    fn models_are_allowed_by_patterns() {
        let limits = KeyLimits { models: vec!["gpt-*".to_owned(), "openai/*".to_owned()], ..KeyLimits::default() };
        assert!(limits.allows("gpt-5") && limits.allows("openai/o3") && !limits.allows("claude-sonnet-4-5"));
        assert!(KeyLimits::default().allows("anything"));
    }
}
