//! How bytes travel: the trait that a caller's own HTTP stack implements, and the implementation over `reqwest`.

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

/// The body of a response as it arrives.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// The head of a response, or why there is none.
pub type TransportFuture = Pin<Box<dyn Future<Output = Result<http::Response<ByteStream>, TransportError>> + Send>>;

/// Sends one HTTP request: a test double, a `tower` service, a client with its own middleware.
///
/// The client keeps everything else: planning, keys, retries, timeouts, limits, decoding. An implementation must send the request to the
/// host that its URI names and must not follow redirects, which would take keys elsewhere. A response with an error status is a response,
/// not an error. Dropping the future or the body must end the exchange.
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
    /// Sends a request and waits for the head of its response.
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture;
}

/// A body that arrives in one piece.
pub fn one_chunk(body: impl Into<Bytes>) -> ByteStream {
    struct Once(Option<Bytes>);
    impl Steps for Once {
        type Item = Result<Bytes, TransportError>;

        async fn next(&mut self) -> Option<Self::Item> {
            self.0.take().map(Ok)
        }
    }
    Box::pin(Body(Stepper::new(Once(Some(body.into())))))
}

/// Why no response came, or why its body broke off.
#[derive(Clone, Debug)]
pub struct TransportError {
    /// The innermost cause in words.
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl TransportError {
    /// An error of an HTTP stack.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error: Box<dyn Error + Send + Sync> = error.into();
        let message = chain(error.as_ref()).last().map(ToString::to_string).unwrap_or_default();
        Self { message, source: Some(Arc::from(error)) }
    }

    fn of_reqwest(error: reqwest::Error) -> Self {
        // A base URL may hold a password.
        Self::new(error.without_url())
    }

    /// The error without keys. A source that repeats one is left out, because it cannot be changed.
    pub(super) fn masked(self, mask: &Mask) -> Self {
        let repeats =
            |error: &(dyn Error + 'static)| mask.is_in(&error.to_string()) || mask.is_in(&format!("{error:?}"));
        let source = self.source.filter(|source| !chain(source.as_ref()).any(repeats));
        Self { message: mask.text(&self.message).into_owned(), source }
    }
}

/// An error and its sources.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    // A chain that does not end is an error's mistake, not ours.
    std::iter::successors(Some(error), |error| <dyn Error>::source(*error)).take(64)
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { "no reason is known" } else { &self.message })
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

/// `reqwest`: connections to this machine, never through a proxy, and to others.
#[derive(Clone, Debug)]
pub(super) struct Http {
    loopback: reqwest::Client,
    remote: reqwest::Client,
}

impl Http {
    pub(super) fn new(connect_timeout: Duration) -> Result<Self, SendError> {
        // Who installed another provider of cryptography first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            // A redirect would take the key elsewhere.
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(connect_timeout)
        };
        let failed = |error| SendError::Connection(TransportError::of_reqwest(error));
        let loopback = builder().no_proxy().build().map_err(failed)?;
        Ok(Self { loopback, remote: builder().build().map_err(failed)? })
    }

    /// The caller's own client, for every host.
    pub(super) fn of(client: reqwest::Client) -> Self {
        Self { loopback: client.clone(), remote: client }
    }
}

impl Transport for Http {
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture {
        let this = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let url = Url::parse(&head.uri.to_string()).map_err(TransportError::new)?;
            let client = if is_loopback(&url) { &this.loopback } else { &this.remote };
            let origin = url.origin();
            let sent = client.request(head.method, url).headers(head.headers).body(body).send().await;
            let answer = sent.map_err(TransportError::of_reqwest)?;
            if answer.url().origin() != origin {
                return Err(TransportError::new("the HTTP client followed a redirect to another host"));
            }
            let mut response = http::Response::new(());
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.headers().clone();
            Ok(response.map(|()| Box::pin(Body(Stepper::new(Chunks(answer)))) as ByteStream))
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

struct Body<S: Steps>(Stepper<S>);

impl<S: Steps> Stream for Body<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Option<Self::Item>> {
        self.get_mut().0.poll_next(cx)
    }
}
