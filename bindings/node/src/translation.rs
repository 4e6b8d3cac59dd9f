//! Requests of one protocol to models of any other.

use napi::Result;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use polywire_bindings as bindings;
use serde_json::{Map, Value, json};

use crate::text::{read_settings, record, thrown, written};

/// A request on its way to a model.
#[napi]
pub struct Translation(bindings::Translation);

/// A translated body.
#[napi(object)]
pub struct TranslatedBody {
    /// The bytes.
    pub body: Buffer,
    /// Changes, usage and error as JSON.
    pub notes: String,
}

/// A translated error response.
#[napi(object)]
pub struct TranslatedError {
    /// The HTTP status.
    pub status: u16,
    /// The headers as a JSON object.
    pub headers: String,
    /// The bytes.
    pub body: Buffer,
}

#[napi]
impl Translation {
    /// Plans a request.
    #[napi(constructor)]
    pub fn new(body: &[u8], source: String, model: String, settings: String) -> Result<Self> {
        let made =
            read_settings(&settings).and_then(|settings| bindings::Translation::new(body, &source, &model, &settings));
        Ok(Self(made.map_err(thrown)?))
    }

    /// The HTTP method.
    #[napi(getter)]
    pub fn method(&self) -> &str {
        &self.0.endpoint().method
    }

    /// The URL.
    #[napi(getter)]
    pub fn url(&self) -> &str {
        &self.0.endpoint().url
    }

    /// The headers as a JSON object.
    #[napi(getter)]
    pub fn headers(&self) -> Result<String> {
        written(&self.0.endpoint().headers)
    }

    /// The body.
    #[napi(getter)]
    pub fn body(&self) -> Buffer {
        self.0.body().as_bytes().into()
    }

    /// Every change and loss on the way there.
    #[napi(getter)]
    pub fn changes(&self) -> Result<String> {
        written(self.0.changes())
    }

    /// Everything that was decided.
    #[napi(getter)]
    pub fn plan(&self) -> Result<String> {
        written(self.0.plan())
    }

    /// Whether the answer is a stream.
    #[napi(getter)]
    pub fn is_stream(&self) -> bool {
        self.0.is_stream()
    }

    /// The content type of the translated stream.
    #[napi(getter)]
    pub fn stream_content_type(&self) -> &'static str {
        self.0.stream_content_type()
    }

    /// Translates a whole response.
    #[napi]
    pub fn response(&self, body: &[u8]) -> Result<TranslatedBody> {
        let back = self.0.response(body).map_err(thrown)?;
        let notes = written(json!({"changes": back.changes, "usage": back.usage}))?;
        Ok(TranslatedBody { body: back.body.into(), notes })
    }

    /// Translates an error response. Names and values of headers take turns.
    #[napi]
    pub fn error(&self, status: u16, headers: Vec<String>, body: &[u8]) -> Result<TranslatedError> {
        let (pairs, _) = headers.as_chunks();
        let pairs: Vec<(String, String)> = pairs.iter().map(|[name, value]| (name.clone(), value.clone())).collect();
        let back = self.0.error(status, &pairs, body);
        let headers = written(object(&back.headers))?;
        Ok(TranslatedError { status: back.status, headers, body: back.body.into() })
    }

    /// Translates a streamed response.
    #[napi]
    pub fn stream(&self) -> TranslationStream {
        TranslationStream(self.0.stream())
    }
}

fn object(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

/// A streamed response on its way back.
#[napi]
pub struct TranslationStream(bindings::TranslationStream);

#[napi]
impl TranslationStream {
    /// Takes bytes of the provider and gives bytes of the caller.
    #[napi]
    pub fn push(&mut self, bytes: &[u8]) -> Result<Buffer> {
        Ok(self.0.push(bytes).map_err(thrown)?.into())
    }

    /// Ends the stream.
    #[napi]
    pub fn finish(&mut self) -> Result<TranslatedBody> {
        let end = self.0.finish().map_err(thrown)?;
        let mut notes = json!({"changes": end.changes, "usage": end.usage});
        if let (Some(error), Some(notes)) = (end.error, notes.as_object_mut()) {
            notes.insert("error".to_owned(), record(error));
        }
        Ok(TranslatedBody { body: end.body.into(), notes: written(notes)? })
    }
}
