//! Google Cloud credentials, found as the Google tools find them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use gcp_auth::{CustomServiceAccount, TokenProvider};

use super::{Credential, CredentialFuture, Credentials, Secret, TransportError};

/// The scope of every Google Cloud API.
const SCOPES: &[&str] = &["https://www.googleapis.com/auth/cloud-platform"];

/// Google Cloud credentials of a service account, of `gcloud` or of the machine. Tokens are renewed when they expire.
#[derive(Clone)]
pub struct GcpCredentials(Arc<dyn TokenProvider>);

impl GcpCredentials {
    /// Finds credentials in the order of the Google tools: the file that `GOOGLE_APPLICATION_CREDENTIALS` names, the application default
    /// credentials of `gcloud`, the metadata server, the `gcloud` command.
    pub async fn find() -> Result<Self, TransportError> {
        gcp_auth::provider().await.map(Self).map_err(TransportError::new)
    }

    /// Uses the key file of a service account.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TransportError> {
        CustomServiceAccount::from_file(path).map(|account| Self(Arc::new(account))).map_err(TransportError::new)
    }
}

impl fmt::Debug for GcpCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcpCredentials").finish_non_exhaustive()
    }
}

impl Credentials for GcpCredentials {
    fn credential(&self) -> CredentialFuture {
        let provider = Arc::clone(&self.0);
        Box::pin(async move {
            let token = provider.token(SCOPES).await.map_err(TransportError::new)?;
            Ok(Credential::Bearer(Secret::new(token.as_str())))
        })
    }
}
