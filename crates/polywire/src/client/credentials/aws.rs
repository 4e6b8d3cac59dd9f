//! AWS credentials, found as the AWS tools find them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::meta::region::ProvideRegion;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials as AwsKey;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_smithy_http_client::{Builder, tls};
use tokio::sync::Mutex;

use super::{Credential, CredentialFuture, Credentials, Secret, SigningKey, TransportError};

/// Temporary keys are replaced this long before they expire.
const RENEW_BEFORE_EXPIRY: Duration = Duration::from_mins(5);

/// The TLS stack of requests for roles, SSO and instance metadata, which is that of the client.
const RING: tls::Provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);

/// AWS credentials of the environment, of a profile with SSO or roles, or of the machine. Temporary keys are renewed.
#[derive(Clone, Debug)]
pub struct AwsCredentials(Arc<Source>);

#[derive(Debug)]
struct Source {
    provider: SharedCredentialsProvider,
    region: String,
    cached: Mutex<Option<AwsKey>>,
}

impl AwsCredentials {
    /// Finds credentials and the region in the order of the AWS tools: environment variables, the default profile, web identity, container,
    /// instance.
    pub async fn find() -> Result<Self, TransportError> {
        let http = Builder::new().tls_provider(RING).build_https();
        let found = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
        let provider = found.credentials_provider();
        let provider = provider.ok_or_else(|| TransportError::new("the AWS configuration has no credentials"))?;
        Self::new(provider, found.region().cloned())
    }

    /// Uses a profile of `~/.aws/config` and `~/.aws/credentials`.
    pub async fn from_profile(name: &str) -> Result<Self, TransportError> {
        Self::of_profile(name, EnvConfigFiles::default()).await
    }

    /// Uses a profile of a credentials file, which may also have the region.
    pub async fn from_file(path: impl AsRef<Path>, profile: &str) -> Result<Self, TransportError> {
        let files = EnvConfigFiles::builder().with_file(EnvConfigFileKind::Credentials, path.as_ref()).build();
        Self::of_profile(profile, files).await
    }

    async fn of_profile(name: &str, files: EnvConfigFiles) -> Result<Self, TransportError> {
        let http = Builder::new().tls_provider(RING).build_https();
        let config = ProviderConfig::without_region().with_http_client(http);
        let config = config.with_behavior_version(Some(BehaviorVersion::latest()));
        let region = ProfileFileRegionProvider::builder().configure(&config).profile_name(name);
        let region = region.profile_files(files.clone()).build().region().await;
        let config = config.with_region(region.clone());
        let provider = ProfileFileCredentialsProvider::builder().configure(&config).profile_name(name);
        Self::new(provider.profile_files(files).build(), region)
    }

    fn new(provider: impl ProvideCredentials + 'static, region: Option<Region>) -> Result<Self, TransportError> {
        let region = region.ok_or_else(|| TransportError::new("the AWS configuration has no region"))?;
        let provider = SharedCredentialsProvider::new(provider);
        Ok(Self(Arc::new(Source { provider, region: region.to_string(), cached: Mutex::default() })))
    }
}

impl Source {
    async fn signing_key(&self) -> Result<SigningKey, TransportError> {
        let mut cached = self.cached.lock().await;
        let is_fresh = |key: &AwsKey| key.expiry().is_none_or(|end| end > SystemTime::now() + RENEW_BEFORE_EXPIRY);
        let key = match cached.as_ref().filter(|key| is_fresh(key)) {
            Some(key) => key,
            None => cached.insert(self.provider.provide_credentials().await.map_err(TransportError::new)?),
        };
        let signing = SigningKey::new(key.access_key_id(), Secret::new(key.secret_access_key()), &self.region);
        Ok(SigningKey { session: key.session_token().map(Secret::new), ..signing })
    }
}

impl Credentials for AwsCredentials {
    fn credential(&self) -> CredentialFuture {
        let source = Arc::clone(&self.0);
        Box::pin(async move { source.signing_key().await.map(Credential::Signing) })
    }
}
