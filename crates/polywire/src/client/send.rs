//! One exchange over HTTP, and the one loop that repeats it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use polywire_wire::{Assembler, Framing, Headers, Protocol, Response, StreamDecoder};
use reqwest::header::CONTENT_TYPE;

use super::Client;
use super::address::Destination;
use super::error::SendError;
use crate::catalog::Model;
use crate::change::Change;
use crate::plan::Plan;

/// Connections: to this machine without a proxy, and to others.
#[derive(Clone, Debug)]
pub(super) struct Http {
    near: reqwest::Client,
    far: reqwest::Client,
}

impl Http {
    pub(super) fn new() -> Result<Self, SendError> {
        // Who installed another provider of cryptography first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect would take the key elsewhere.
        let builder = || reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let failed = |error: reqwest::Error| SendError::Connection(error.to_string());
        Ok(Self { near: builder().no_proxy().build().map_err(failed)?, far: builder().build().map_err(failed)? })
    }
}

/// An answer as the provider gave it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) response: Response,
    /// The body, or the stream.
    pub(super) raw: Vec<u8>,
    pub(super) changes: Vec<Change>,
    pub(super) retries: usize,
}

impl Client {
    /// Sends a plan until there is an answer, an error that does not pass, or no time left.
    pub(super) async fn send(
        &self,
        plan: &Plan,
        model: &Model,
        stream: bool,
        until: Instant,
    ) -> Result<Received, SendError> {
        let destination = self.destination(plan, model)?;
        let exchange = || self.exchange(plan, &destination, stream);
        let (received, retries) = self.repeat(until, exchange).await?;
        Ok(Received { retries, ..received })
    }

    /// Repeats an exchange until it succeeds, fails for good, or no time is left. Gives how often it was repeated.
    pub(super) async fn repeat<T, F>(&self, until: Instant, exchange: impl Fn() -> F) -> Result<(T, usize), SendError>
    where
        F: Future<Output = Result<T, SendError>>,
    {
        let mut retries = 0;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let time = left.min(self.options.timeout);
            let error = match tokio::time::timeout(time, exchange()).await {
                Ok(Ok(done)) => return Ok((done, retries)),
                Ok(Err(error)) => error,
                Err(_) if left <= self.options.timeout => return Err(SendError::Deadline(self.options.deadline)),
                Err(_) => SendError::Timeout(self.options.timeout),
            };
            let wait = self.wait(&error, retries);
            let left = until.saturating_duration_since(Instant::now());
            if !error.retryable() || retries >= self.options.retries || wait > self.options.longest_wait || wait >= left
            {
                return Err(error);
            }
            retries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// As long as the provider says, or twice as long as before with up to a quarter more, so that many clients do not come at once.
    fn wait(&self, error: &SendError, retries: usize) -> Duration {
        let told = if let SendError::Provider(error) = error { error.retry_after_ms } else { None };
        if let Some(told) = told {
            return Duration::from_millis(told);
        }
        let doubled = self.options.backoff.saturating_mul(1 << retries.min(16));
        let dice = u32::try_from(RandomState::new().hash_one(retries) % 256).unwrap_or_default();
        doubled.saturating_add(doubled / 1024 * dice).min(self.options.longest_wait)
    }

    /// The connections that lead to a place.
    pub(super) fn http(&self, to: &Destination) -> &reqwest::Client {
        if to.near { &self.http.near } else { &self.http.far }
    }

    async fn exchange(&self, plan: &Plan, to: &Destination, stream: bool) -> Result<Received, SendError> {
        let http = self.http(to);
        let request = http.post(to.url.clone()).headers(to.headers.clone()).body(plan.body.get().to_owned());
        let mut answer = request.send().await.map_err(|error| connection(&error))?;
        let status = answer.status().as_u16();
        let headers = answer.headers().clone();
        let kind =
            headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("no content type").to_owned();
        let mut reader = Reader::new(plan, stream && (200..300).contains(&status), self.options.most_bytes);
        loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => reader.push(&bytes).map_err(|error| error.of_kind(&kind))?,
                Ok(None) => break,
                Err(_) => return Err(SendError::Cut(Box::new(reader.partial()))),
            }
        }
        if (200..300).contains(&status) {
            return reader.finish(plan.protocol).map_err(|error| error.of_kind(&kind));
        }
        let pairs = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        Err(SendError::Provider(Box::new(plan.protocol.decode_error(status, Headers(&pairs), &reader.raw))))
    }
}

pub(super) fn connection(error: &reqwest::Error) -> SendError {
    let mut why = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        why = error.to_string();
        cause = error.source();
    }
    SendError::Connection(if why.is_empty() { "no reason is known".to_owned() } else { why })
}

impl SendError {
    /// The error with what the answer said that it was.
    fn of_kind(self, kind: &str) -> Self {
        match self {
            Self::Unreadable { why, .. } => Self::Unreadable { content_type: kind.to_owned(), why },
            Self::Loss(_)
            | Self::MissingKey { .. }
            | Self::Address(_)
            | Self::Connection(_)
            | Self::Timeout(_)
            | Self::Deadline(_)
            | Self::TooLarge(_)
            | Self::Cut(_)
            | Self::Provider(_) => self,
        }
    }
}

/// Reads the bytes of an answer, whole or as a stream, up to a limit.
struct Reader {
    raw: Vec<u8>,
    most: usize,
    stream: Option<(StreamDecoder, Assembler)>,
    /// How many events came.
    events: usize,
    framing: Framing,
}

impl Reader {
    fn new(plan: &Plan, stream: bool, most: usize) -> Self {
        let framing = plan.protocol.framing(&plan.surface);
        let stream = stream.then(|| (plan.protocol.stream_decoder(framing), Assembler::default()));
        Self { raw: Vec::new(), most, stream, events: 0, framing }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), SendError> {
        if self.raw.len() + bytes.len() > self.most {
            return Err(SendError::TooLarge(self.most));
        }
        self.raw.extend_from_slice(bytes);
        if let Some((decoder, assembler)) = &mut self.stream {
            let events = decoder.push(bytes).map_err(|error| unreadable(&error))?;
            self.events += events.len();
            for event in events {
                assembler.push(event);
            }
        }
        Ok(())
    }

    fn partial(&self) -> Response {
        self.stream.as_ref().map(|(_, assembler)| assembler.partial()).unwrap_or_default()
    }

    fn finish(self, protocol: Protocol) -> Result<Received, SendError> {
        let Self { raw, stream, events: came, framing, .. } = self;
        let Some((mut decoder, mut assembler)) = stream else {
            let decoded = crate::translate::decode(&raw, protocol).map_err(|error| unreadable(&error))?;
            let changes = decoded.changes.into_iter().map(Change::from).collect();
            return Ok(Received { response: decoded.value, raw, changes, retries: 0 });
        };
        let events = decoder.finish().map_err(|error| unreadable(&error))?;
        if came + events.len() == 0 && !raw.is_empty() {
            return Err(unreadable(&"there is no event of the protocol in it"));
        }
        if framing != Framing::Aws && std::str::from_utf8(&raw).is_err() {
            return Err(unreadable(&"it is not UTF-8"));
        }
        for event in events {
            assembler.push(event);
        }
        match assembler.finish() {
            Ok(response) => Ok(Received { response, raw, changes: Vec::new(), retries: 0 }),
            Err(cut) => Err(match cut.error {
                Some(error) => SendError::Provider(Box::new(error)),
                None => SendError::Cut(Box::new(cut.response)),
            }),
        }
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> SendError {
    SendError::Unreadable { content_type: String::new(), why: why.to_string() }
}
