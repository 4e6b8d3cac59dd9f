//! The HTTP transport: the trait for the caller's own HTTP stack, and the implementation over `reqwest`.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use reqwest::Url;

use super::error::SendError;
use super::mask::Mask;
use super::steps::{Stepper, Steps};
use super::url::is_loopback;

/// A streamed response body.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// The future of a response head and its body.
pub type TransportFuture = Pin<Box<dyn Future<Output = Result<http::Response<ByteStream>, TransportError>> + Send>>;

/// Sends HTTP requests. Implement it for a test double, a `tower` service, or a client with its own middleware.
///
/// [`Client`](super::Client) does everything else: planning, keys, retries, timeouts, limits, decoding. An implementation must send the
/// request to the host of its URI and must not follow redirects, which would send keys to another host. A response with an error status
/// is a response, not an error. Dropping the future or the body must cancel the request.
///
/// ```
/// use polywire::client::{Client, Transport, TransportFuture, one_chunk};
///
/// struct Teapot;
///
/// impl Transport for Teapot {
///     fn send(&self, _request: http::Request<bytes::Bytes>) -> TransportFuture {
///         let response = http::Response::builder().status(418).body(one_chunk("short and stout"));
///         Box::pin(async { response.map_err(polywire::client::TransportError::new) })
///     }
/// }
///
/// let client = Client::builder().transport(Teapot).build();
/// assert!(client.is_ok());
/// ```
pub trait Transport: Send + Sync {
    /// Sends a request and waits for the response head.
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture;
}

/// A body of one chunk.
pub fn one_chunk(body: impl Into<Bytes>) -> ByteStream {
    struct Once(Option<Bytes>);
    impl Steps for Once {
        type Item = Result<Bytes, TransportError>;

        async fn next(&mut self) -> Option<Self::Item> {
            self.0.take().map(Ok)
        }
    }
    Box::pin(SteppedBody(Stepper::new(Once(Some(body.into())))))
}

/// The error of a request without a response, or of an interrupted body.
#[derive(Clone, Debug)]
pub struct TransportError {
    /// The message of the innermost cause.
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl TransportError {
    /// Wraps an error of an HTTP stack.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error: Box<dyn Error + Send + Sync> = error.into();
        let message = chain(error.as_ref()).last().map(ToString::to_string).unwrap_or_default();
        Self { message, source: Some(Arc::from(error)) }
    }

    fn of_reqwest(error: reqwest::Error) -> Self {
        // The URL may contain a password.
        Self::new(error.without_url())
    }

    /// Masks keys. A source that contains one is dropped, because it cannot be changed.
    pub(super) fn masked(self, mask: &Mask) -> Self {
        let repeats =
            |error: &(dyn Error + 'static)| mask.is_in(&error.to_string()) || mask.is_in(&format!("{error:?}"));
        let source = self.source.filter(|source| !chain(source.as_ref()).any(repeats));
        Self { message: mask.text(&self.message).into_owned(), source }
    }
}

/// An error and its sources.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    // An error may be its own source.
    std::iter::successors(Some(error), |error| <dyn Error>::source(*error)).take(64)
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { "unknown error" } else { &self.message })
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn Error + 'static))
    }
}

impl PartialEq for TransportError {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

/// The transport over `reqwest`. Loopback connections never use a proxy.
#[derive(Clone, Debug)]
pub(super) struct ReqwestTransport {
    loopback: reqwest::Client,
    remote: reqwest::Client,
}

impl ReqwestTransport {
    pub(super) fn new(connect_timeout: Duration) -> Result<Self, SendError> {
        // An error means that a crypto provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            // A redirect would send the key to another host.
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(connect_timeout)
        };
        let failed = |error| SendError::Connection(TransportError::of_reqwest(error));
        let loopback = builder().no_proxy().build().map_err(failed)?;
        Ok(Self { loopback, remote: builder().build().map_err(failed)? })
    }

    /// Uses the caller's client for every host.
    pub(super) fn from_client(client: reqwest::Client) -> Self {
        Self { loopback: client.clone(), remote: client }
    }
}

impl Transport for ReqwestTransport {
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture {
        let this = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let url = Url::parse(&head.uri.to_string()).map_err(TransportError::new)?;
            let client = if is_loopback(&url) { &this.loopback } else { &this.remote };
            let origin = url.origin();
            let sent = client.request(head.method, url).headers(head.headers).body(body).send().await;
            let received = sent.map_err(TransportError::of_reqwest)?;
            if received.url().origin() != origin {
                return Err(TransportError::new("the HTTP client followed a redirect to another host"));
            }
            let mut response = http::Response::new(());
            *response.status_mut() = received.status();
            *response.headers_mut() = received.headers().clone();
            Ok(response.map(|()| Box::pin(SteppedBody(Stepper::new(Chunks(received)))) as ByteStream))
        })
    }
}

struct Chunks(reqwest::Response);

impl Steps for Chunks {
    type Item = Result<Bytes, TransportError>;

    async fn next(&mut self) -> Option<Self::Item> {
        self.0.chunk().await.map_err(TransportError::of_reqwest).transpose()
    }
}

struct SteppedBody<S: Steps>(Stepper<S>);

impl<S: Steps> Stream for SteppedBody<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Option<Self::Item>> {
        self.get_mut().0.poll_next(cx)
    }
}
