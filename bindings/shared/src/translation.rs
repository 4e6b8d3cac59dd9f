//! A request of one protocol to a model of any other, and the way back.

use polywire::wire::{Protocol, Usage};
use polywire::{Catalog, Change, Endpoint, TranslatedStream};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::settings::TranslationSettings;

/// A request on its way to a model, and the way back of the answer.
#[derive(Clone, Debug)]
pub struct Translation(polywire::Translation);

/// A response in the caller's protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranslatedBody {
    /// The body.
    pub body: Vec<u8>,
    /// Every change and loss on the way back.
    pub changes: Vec<Change>,
    /// The tokens.
    pub usage: Option<Usage>,
}

/// An error response in the caller's protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RefusedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A streamed response in the caller's protocol.
#[derive(Debug)]
pub struct TranslationStream(Option<TranslatedStream>);

/// The end of a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndedStream {
    /// The last bytes.
    pub body: Vec<u8>,
    /// Every change and loss on the way back.
    pub changes: Vec<Change>,
    /// The tokens.
    pub usage: Option<Usage>,
    /// The error that the stream ended with, if it did.
    pub error: Option<Error>,
}

/// The protocol of a name.
pub(crate) fn protocol(name: &str) -> Result<Protocol, Error> {
    Protocol::named(name).ok_or_else(|| {
        let known: Vec<&str> = Protocol::ALL.iter().map(|protocol| protocol.name()).collect();
        let message = format!("unknown protocol `{name}`; known protocols: {}", known.join(", "));
        Error::new(ErrorKind::UnknownName, "unknown-protocol", message).at(name)
    })
}

impl Translation {
    /// Plans a request of the protocol `source` for a model.
    pub fn new(body: &[u8], source: &str, model: &str, settings: &TranslationSettings) -> Result<Self, Error> {
        let model = Catalog::built_in().resolve(model)?;
        Ok(Self(polywire::Translation::new(body, protocol(source)?, &model, &settings.options()?)?))
    }

    /// The method, URL and headers of the request. Secrets are named (`{env VAR}`), not held.
    pub fn endpoint(&self) -> &Endpoint {
        self.0.request().endpoint
    }

    /// The JSON text of the request's body.
    pub fn body(&self) -> &str {
        self.0.plan().body.get()
    }

    /// Every change and loss on the way there.
    pub fn changes(&self) -> &[Change] {
        self.0.changes()
    }

    /// Everything that was decided, as plain data.
    pub fn plan(&self) -> Value {
        json!(self.0.plan())
    }

    /// Whether the answer is a stream.
    pub fn is_stream(&self) -> bool {
        self.0.is_stream()
    }

    /// The content type of the translated stream.
    pub fn stream_content_type(&self) -> &'static str {
        self.0.stream_content_type()
    }

    /// Translates a whole response.
    pub fn response(&self, body: &[u8]) -> Result<TranslatedBody, Error> {
        let back = self.0.response(body)?;
        Ok(TranslatedBody { body: back.body, changes: back.changes, usage: back.usage })
    }

    /// Translates an error response.
    pub fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> RefusedResponse {
        let pairs: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let back = self.0.error(status, &pairs, body);
        RefusedResponse { status: back.status, headers: back.headers, body: back.body }
    }

    /// Translates a streamed response.
    pub fn stream(&self) -> TranslationStream {
        TranslationStream(Some(self.0.stream()))
    }
}

impl TranslationStream {
    /// Takes bytes of the provider's stream and gives bytes of the caller's.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        match &mut self.0 {
            Some(stream) => Ok(stream.push(bytes).into_owned()),
            None => Err(ended()),
        }
    }

    /// Ends the stream.
    pub fn finish(&mut self) -> Result<EndedStream, Error> {
        let end = self.0.take().ok_or_else(ended)?.finish();
        Ok(EndedStream { body: end.bytes, changes: end.changes, usage: end.usage, error: end.error.map(Error::from) })
    }
}

fn ended() -> Error {
    Error::input("ended", "the stream has ended")
}
