//! Credentials that are fetched on demand: temporary keys and expiring tokens.

#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "gcp")]
mod gcp;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

#[cfg(feature = "aws")]
pub use aws::AwsCredentials;
#[cfg(feature = "gcp")]
pub use gcp::GcpCredentials;

use super::error::SendError;
use super::{Client, Secret, SigningKey, TransportError};

/// A credential for a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// An API key, sent in the header of the provider's row.
    Key(Secret),
    /// A token, sent as `authorization: Bearer`.
    Bearer(Secret),
    /// A key for signed requests.
    Signing(SigningKey),
}

/// The future of a credential.
pub type CredentialFuture = Pin<Box<dyn Future<Output = Result<Credential, TransportError>> + Send>>;

/// A source of credentials. It is called before every request, so it should cache valid credentials.
pub trait Credentials: Send + Sync {
    /// Fetches a credential that is valid now.
    fn credential(&self) -> CredentialFuture;
}

/// Sources of credentials by provider.
pub(super) type Sources = BTreeMap<String, Arc<dyn Credentials>>;

impl Client {
    /// Returns a client with a fetched credential, unless the provider has no source or the call has its own credential.
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
