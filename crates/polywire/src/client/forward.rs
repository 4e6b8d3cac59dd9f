//! Forwards a request and returns the provider's response bytes as they arrive, for a gateway that translates them for its own caller.
//! Keys are masked in the bytes.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use polywire_wire::Protocol;

use super::address::Destination;
use super::error::SendError;
use super::exchange::HttpResponse;
use super::mask::Mask;
use super::tries::{ProviderPermit, RetryState, TimeoutKind, instant_after};
use super::{Client, TransportError};
use crate::catalog::Model;
use crate::provider::Provider;
use crate::translation::Translation;

/// A provider's response whose body is read as it arrives. Dropping it cancels the request.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    response: HttpResponse,
    permit: ProviderPermit,
    mask: Mask,
    /// The end of the last chunk, while it may be the beginning of a key.
    held: BytesMut,
    received: usize,
    /// The number of requests that failed before this one.
    pub retries: usize,
}

/// A request to a provider that is neither planned nor translated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RawRequest {
    /// The method.
    pub method: Method,
    /// The path below the provider's base URL, with its query.
    pub path: String,
    /// The headers, without credentials.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl RawRequest {
    /// Creates a request without headers.
    pub fn new(method: Method, path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self { method, path: path.into(), headers: HeaderMap::new(), body: body.into() }
    }

    /// Sets the headers.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }
}

/// Options of a forwarded request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ForwardOptions {
    /// The maximum number of retries.
    pub retries: usize,
    /// Additional headers. Values of existing headers are joined with a comma; credentials are not replaced.
    pub headers: HeaderMap,
}

impl ForwardOptions {
    /// Sets the maximum number of retries.
    #[must_use]
    pub fn with_retries(mut self, retries: usize) -> Self {
        self.retries = retries;
        self
    }

    /// Adds headers.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }
}

/// The error of a forwarded request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ForwardError {
    /// The error.
    pub error: SendError,
    /// The provider's response, if it is an error response.
    pub refusal: Option<Refusal>,
    /// The number of requests that failed before the last one.
    pub retries: usize,
}

/// An error response of a provider. Keys are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl std::fmt::Display for ForwardError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ForwardError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<SendError> for ForwardError {
    fn from(error: SendError) -> Self {
        Self { error, refusal: None, retries: 0 }
    }
}

impl Client {
    /// Sends a translated request and returns the response once its head has arrived with a success status. A failed request is sent
    /// again at most [`ForwardOptions::retries`] times; nothing is retried after the head.
    pub async fn forward(
        &self,
        translation: &Translation,
        model: &Model,
        options: &ForwardOptions,
    ) -> Result<Upstream, ForwardError> {
        let plan = translation.plan();
        let client = self.with_fetched_credential(&model.provider().id).await?;
        let mut destination = client.destination(plan, model, translation.is_stream())?;
        destination.join_headers(&options.headers)?;
        client.forward_to(&destination, model.provider(), plan.protocol, options.retries).await
    }

    /// Sends a request to a provider as it is, with the provider's credentials.
    pub async fn forward_raw(
        &self,
        provider: &Provider,
        protocol: Protocol,
        request: RawRequest,
    ) -> Result<Upstream, ForwardError> {
        let client = self.with_fetched_credential(&provider.id).await?;
        let base = client.base(provider)?;
        let mut destination = client.prepare_get(provider, &base, &request.path, &provider.own_headers())?;
        destination.method = request.method;
        destination.body = request.body;
        destination.add_missing_headers(&request.headers);
        client.forward_to(&destination, provider, protocol, 0).await
    }

    async fn forward_to(
        &self,
        destination: &Destination,
        provider: &Provider,
        protocol: Protocol,
        retries: usize,
    ) -> Result<Upstream, ForwardError> {
        let until = instant_after(self.deadline());
        let mut tries = RetryState::new(&provider.id, until).with_max_retries(retries);
        loop {
            let (error, refusal) = match self.open(destination, &tries).await {
                Ok(mut upstream) if upstream.response.status.is_success() => {
                    upstream.retries = tries.retries;
                    return Ok(upstream);
                }
                Ok(upstream) => match upstream.into_refusal().await {
                    Ok(refusal) => (refusal.decode(protocol), Some(refusal)),
                    Err(error) => (error, None),
                },
                Err(error) => (error, None),
            };
            let error = destination.mask.error(error);
            let failed = tries.retries;
            let waited = tries.wait_for_retry(self, error).await;
            waited.map_err(|error| ForwardError { error, refusal, retries: failed })?;
        }
    }

    async fn open(&self, to: &Destination, tries: &RetryState) -> Result<Upstream, SendError> {
        let permit = tries.acquire(self).await?;
        let max_bytes = self.options().max_response_bytes;
        let sent = HttpResponse::send(self.shared.transport.as_ref(), to, max_bytes);
        let response = permit.within(self, TimeoutKind::FirstByte, sent).await?;
        Ok(Upstream {
            client: self.clone(),
            response,
            permit,
            mask: to.mask.clone(),
            held: BytesMut::new(),
            received: 0,
            retries: 0,
        })
    }
}

impl Upstream {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.response.headers
    }

    /// The next bytes of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, SendError>> {
        loop {
            let read = async { Ok(self.response.chunk().await) };
            let chunk = match self.permit.within(&self.client, TimeoutKind::NextChunk, read).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(None) => {
                    let rest = self.held.split().freeze();
                    return (!rest.is_empty()).then_some(Ok(rest));
                }
                Ok(Some(Err(error))) => return Some(Err(self.interrupted(error))),
                Err(error) => return Some(Err(error)),
            };
            self.received = self.received.saturating_add(chunk.len());
            let limit = self.client.options().max_response_bytes;
            if self.received > limit {
                return Some(Err(SendError::TooLarge(limit)));
            }
            let masked = self.masked(chunk);
            if !masked.is_empty() {
                return Some(Ok(masked));
            }
        }
    }

    /// The rest of the body.
    pub async fn bytes(mut self) -> Result<Bytes, SendError> {
        let Some(first) = self.chunk().await else { return Ok(Bytes::new()) };
        let first = first?;
        let Some(second) = self.chunk().await else { return Ok(first) };
        let mut all = BytesMut::from(first);
        all.extend_from_slice(&second?);
        while let Some(chunk) = self.chunk().await {
            all.extend_from_slice(&chunk?);
        }
        Ok(all.freeze())
    }

    /// Masks keys in a chunk. The end of a chunk is held back while it may be the beginning of a key.
    fn masked(&mut self, chunk: Bytes) -> Bytes {
        let chunk = if self.held.is_empty() {
            chunk
        } else {
            self.held.extend_from_slice(&chunk);
            self.held.split().freeze()
        };
        let mut masked = match self.mask.bytes(&chunk) {
            std::borrow::Cow::Borrowed(_) => chunk,
            std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
        };
        let held = masked.split_off(self.mask.open_end_of_bytes(&masked));
        self.held.extend_from_slice(&held);
        masked
    }

    async fn into_refusal(self) -> Result<Refusal, SendError> {
        let (status, headers) = (self.response.status, self.response.headers.clone());
        let body = self.bytes().await?;
        Ok(Refusal { status, headers, body })
    }

    fn interrupted(&self, error: TransportError) -> SendError {
        tracing::debug!(error = %error.masked(&self.mask), "the response body was interrupted");
        SendError::Cut(Box::default())
    }
}

impl Refusal {
    /// The headers as text.
    pub fn header_pairs(&self) -> Vec<(&str, &str)> {
        self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
    }

    fn decode(&self, protocol: Protocol) -> SendError {
        HttpResponse::decode_error(self.status, &self.headers, protocol, &self.body)
    }
}
