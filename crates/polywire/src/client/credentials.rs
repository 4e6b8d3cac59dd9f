//! Credentials that are fetched when they are needed: temporary keys, tokens that expire.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::error::SendError;
use super::{Client, Secret, SigningKey, TransportError};

/// What a provider is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A key, in the header that the provider's row names.
    Key(Secret),
    /// A token, as `authorization: Bearer`.
    Bearer(Secret),
    /// A key that signs requests.
    Signing(SigningKey),
}

/// A credential, or why there is none.
pub type CredentialFuture = Pin<Box<dyn Future<Output = Result<Credential, TransportError>> + Send>>;

/// Fetches credentials. It is asked before every request, so it should keep what is still valid.
pub trait Credentials: Send + Sync {
    /// The credential of now.
    fn credential(&self) -> CredentialFuture;
}

/// Sources of credentials by provider.
pub(super) type Sources = BTreeMap<String, Arc<dyn Credentials>>;

impl Client {
    /// The client with a credential from the provider's source, where it has one and the call does not bring its own.
    pub(super) async fn with_fetched_credential(&self, provider: &str) -> Result<Self, SendError> {
        let source = self.settings.credentials.get(provider);
        let Some(source) = source.filter(|_| !self.call.credentials.contains_key(provider)) else {
            return Ok(self.clone());
        };
        let failed = |source| SendError::Credentials { provider: provider.to_owned(), source };
        let credential = source.credential().await.map_err(failed)?;
        let mut client = self.clone();
        Arc::make_mut(&mut client.call).credentials.insert(provider.to_owned(), credential);
        Ok(client)
    }
}
