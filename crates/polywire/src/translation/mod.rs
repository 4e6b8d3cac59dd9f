//! A request's whole way, without IO: the caller's body becomes the provider's request, and what the provider answers becomes an
//! answer in the caller's protocol, names and shapes.

mod echo;
mod echo_merge;
mod failure;
mod headers;
mod options;
mod response;
mod splice;
mod stream;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use polywire_schema::FitCache;
use polywire_wire::{Block, Protocol, Request, Surface};

use crate::catalog::Model;
use crate::change::{Change, of_wire};
use crate::plan::{Body, Encoded, Plan, REMEMBERED, plan_with};
use crate::restore::Contract;
use crate::translate::{TranslateError, decode_request};

pub use echo::{Echo, EchoStore};
pub use failure::{TranslatedError, error_response};
pub use headers::carried_headers;
pub use options::TranslateOptions;
pub use response::TranslatedResponse;
pub use stream::{StreamEnd, TranslatedStream};

use splice::splice;

/// A request of one protocol on its way to a model of any protocol, and the way back of the answer.
///
/// Nothing is sent here. Where both sides speak one protocol, the caller's document is edited in place: bytes that no rule touches
/// stay as they are. A clone is cheap.
///
/// ```
/// use polywire::wire::Protocol;
/// use polywire::{Catalog, TranslateOptions, Translation};
///
/// let body = br#"{"model": "any", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 50}"#;
/// let model = Catalog::built_in().resolve("anthropic/claude-sonnet-4-5")?;
/// let translation = Translation::new(body, Protocol::OpenAiChat, &model, &TranslateOptions::default())?;
///
/// // What goes out. Send it with any HTTP client.
/// let request = translation.request();
/// assert_eq!(request.endpoint.url, "https://api.anthropic.com/v1/messages");
///
/// // What comes back is an answer of the caller's protocol.
/// let answer = br#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
///     "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "usage": {"input_tokens": 8, "output_tokens": 3}}"#;
/// let answer: serde_json::Value = serde_json::from_slice(&translation.response(answer)?.body)?;
/// assert_eq!(answer["choices"][0]["message"]["content"], "Hi.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Translation {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    from: Protocol,
    /// The caller's surface.
    surface: Surface,
    options: TranslateOptions,
    request: Request,
    plan: Plan,
    /// Everything that changed on the way there.
    changes: Vec<Change>,
    /// Whether the caller does not want the usage of a stream.
    hides_usage: bool,
}

impl Translation {
    /// Decodes a request, plans it for a model and encodes it.
    pub fn new(body: &[u8], from: Protocol, model: &Model, options: &TranslateOptions) -> Result<Self, TranslateError> {
        static CACHE: LazyLock<FitCache> = LazyLock::new(|| FitCache::new(REMEMBERED));
        let decoded = decode_request(body, from)?;
        let mut request = decoded.value;
        request.stream = options.stream.unwrap_or(request.stream);
        let is_same = from == model.protocol();
        let model = if is_same { model.for_own_protocol() } else { Cow::Borrowed(model) };
        let hides_usage = !request.wants_stream_usage();
        let mut echoed = Vec::new();
        if !is_same {
            request.forget_stream_options();
            // A caller of the same protocol has its provider's reasoning and signatures itself.
            echoed = options.echo.as_ref().map(|echo| echo.fill(&mut request, &model)).unwrap_or_default();
        }
        let mut plan = plan_with(&CACHE, &request, &model, &options.plan).map_err(TranslateError::Loss)?;
        let mut changes: Vec<Change> = decoded.changes.into_iter().map(of_wire).collect();
        changes.extend(echoed);
        let surface = if is_same {
            plan.body = edited(body, from, &request, options, &plan)?;
            plan.surface.clone().with_envelope(options.surface.envelope)
        } else {
            options.surface.clone()
        };
        changes.extend(plan.changes().iter().cloned());
        let inner = Inner { from, surface, options: options.clone(), request, plan, changes, hides_usage };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What goes out: method, URL, headers and body. Secrets are named in the headers, not held.
    pub fn request(&self) -> Encoded<'_> {
        Encoded { changes: &self.inner.changes, ..self.inner.plan.encoded() }
    }

    /// Every change and loss on the way there.
    pub fn changes(&self) -> &[Change] {
        &self.inner.changes
    }

    /// What was decided about the request.
    pub fn plan(&self) -> &Plan {
        &self.inner.plan
    }

    /// The plan alone, with every change on the way there.
    pub fn into_plan(self) -> Plan {
        let Inner { plan, changes, .. } = &*self.inner;
        plan.clone().with_changes(changes.clone())
    }

    /// The caller's request in the neutral form.
    pub fn decoded(&self) -> &Request {
        &self.inner.request
    }

    /// The caller's protocol.
    pub fn source(&self) -> Protocol {
        self.inner.from
    }

    /// Whether the answer is a stream.
    pub fn is_stream(&self) -> bool {
        self.inner.request.stream
    }
}

impl Inner {
    fn contract(&self) -> Contract<'_> {
        Contract::new(&self.request, &self.plan)
    }

    fn is_same_protocol(&self) -> bool {
        self.from == self.plan.protocol
    }

    /// Keeps reasoning and signatures of an answer that the caller's protocol has no place for.
    fn keep_echo(&self, content: &[Block]) {
        if let Some(echo) = self.options.echo.as_ref().filter(|_| !self.is_same_protocol()) {
            echo.keep(&self.plan.provider, self.plan.protocol, &self.request, content);
        }
    }

    /// Whether what the provider answers is what the caller gets, byte for byte.
    fn passes_on(&self) -> bool {
        self.is_same_protocol()
            && self.surface.envelope == self.plan.surface.envelope
            && !self.contract().changes_answers()
    }
}

/// The caller's document with everything in it that the plan changed.
fn edited(
    body: &[u8],
    from: Protocol,
    request: &Request,
    options: &TranslateOptions,
    plan: &Plan,
) -> Result<Body, TranslateError> {
    let original = std::str::from_utf8(body).map_err(|error| TranslateError::Json(error.to_string()))?;
    let baseline = from.encode_request(request, &options.surface).body;
    let baseline = String::from_utf8(baseline).unwrap_or_default();
    Ok(Body::of(splice(original, &baseline, plan.body.get()).into_owned().into_bytes()))
}
