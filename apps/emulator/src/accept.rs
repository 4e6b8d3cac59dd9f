//! Requests that the provider takes, and their answers as bytes.

use polywire::Model;
use polywire::wire::{Event, FaultKind, Protocol, Request, WireError, events_of};
use serde_json::Value;

use crate::body::ResponseBody;
use crate::fields::modernize;
use crate::judge::Judged;
use crate::misbehave::{BodyFault, Injection, Requested};
use crate::receive::EmulatorOptions;
use crate::reply::reply;
use crate::respond::{HttpResponse, error_response, http_response, requested_error};
use crate::route::Route;
use crate::tokens::input_tokens;

/// Characters of a text in one event of a stream.
const PIECE: usize = 12;

/// The header of an answer whose made-up value its schema does not accept, because the emulator found none that it does.
const NONCONFORMING_HEADER: &str = "x-polywire-nonconforming";

/// A request that the provider takes.
pub(crate) struct Accepted {
    request: Request,
    model: Model,
    requested: Vec<Requested>,
    input_tokens: u64,
    usage: StreamUsage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamUsage {
    Included,
    Omitted,
}

/// The request as the first surface that takes it sees it, or why the first one does not.
pub(crate) fn accepted(
    options: &EmulatorOptions,
    routes: &[Route<'_>],
    body: &Value,
    misbehave: &str,
    betas: &str,
) -> Result<Accepted, Box<WireError>> {
    let mut refusal = None;
    for route in routes {
        match accept(options, route, body, misbehave, betas) {
            Ok(accepted) => return Ok(accepted),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    let none = || Box::new(WireError::new(FaultKind::NotFound, "there is no such surface"));
    Err(refusal.unwrap_or_else(none))
}

fn accept(
    options: &EmulatorOptions,
    route: &Route<'_>,
    body: &Value,
    misbehave: &str,
    betas: &str,
) -> Result<Accepted, Box<WireError>> {
    let invalid = |what: &dyn std::fmt::Display| Box::new(WireError::new(FaultKind::InvalidRequest, what.to_string()));
    let protocol = route.surface.protocol;
    let mut body = body.clone();
    modernize(&mut body, protocol, betas)?;
    let mut request = protocol.decode_request(body.clone()).map_err(|error| invalid(&error))?.value;
    if let Some(model) = &route.model {
        request.model.clone_from(model);
    }
    request.stream |= route.is_stream;
    let (id, suffixes) = request.model.split_once('+').unwrap_or((&request.model, ""));
    let names = suffixes.split('+').chain(misbehave.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let requested =
        names.map(|name| Requested::parse(name).ok_or_else(|| invalid(&format!("`{name}` is no misbehaviour"))));
    let requested = requested.collect::<Result<Vec<_>, _>>()?;
    let name = format!("{}:{}/{id}", route.provider.id, route.surface.id);
    let model = options.catalog.resolve(&name);
    let model = model.map_err(|error| Box::new(WireError::new(FaultKind::NotFound, error.to_string())))?;
    Judged { body: &body, request: &request, model: &model, dialects: &options.dialects }.judge()?;
    // Chat streams have the usage only where the request asks for it.
    let asks_usage = body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
    let is_omitted = protocol == Protocol::OpenAiChat && !asks_usage;
    let usage = if is_omitted { StreamUsage::Omitted } else { StreamUsage::Included };
    Ok(Accepted { input_tokens: input_tokens(&body), request, model, requested, usage })
}

impl Accepted {
    /// The answer: by the seed that was given, else by that of the request or its hash.
    pub(crate) fn answer(&self, seed: Option<u64>, hash: u64, before: usize) -> HttpResponse {
        let applying = self.requested.iter().filter(|requested| requested.applies(&self.request, before));
        let injections: Vec<&Injection> = applying.map(|requested| &requested.row.injection).collect();
        let (protocol, surface) = (self.model.protocol(), self.model.wire());
        if let Some(error) = requested_error(&injections) {
            return error_response(protocol, &surface, &error);
        }
        let body_fault = injections
            .iter()
            .find_map(|injection| if let Injection::Body(body_fault) = injection { Some(*body_fault) } else { None });
        let seed = seed.or_else(|| self.request.seed.map(i64::cast_unsigned)).unwrap_or(hash);
        let reply = reply(&self.request, self.input_tokens, seed, &injections);
        let (kind, pieces) = if self.request.stream {
            let mut encoder = protocol.stream_encoder(&surface);
            let events = events_of(&reply.response, PIECE);
            let sent =
                events.iter().filter(|event| self.usage == StreamUsage::Included || !matches!(event, Event::Usage(_)));
            let mut pieces: Vec<Vec<u8>> = sent.map(|event| encoder.push(event)).collect();
            if let Some(first) = pieces.first_mut().filter(|_| protocol == Protocol::AnthropicMessages) {
                set_input_tokens(first, self.input_tokens);
            }
            (protocol.framing(&surface).content_type(), pieces)
        } else {
            ("application/json", vec![protocol.encode_response(&reply.response, &surface).body])
        };
        let kind = if body_fault == Some(BodyFault::Page) { "text/html" } else { kind };
        let mut headers = vec![("content-type", kind.to_owned())];
        if !reply.conforms {
            headers.push((NONCONFORMING_HEADER, "the schema has a keyword that the emulator cannot meet".to_owned()));
        }
        http_response(200, &headers, ResponseBody::new(pieces, body_fault))
    }
}

/// Puts the input tokens into `message_start`, where clients look for them first.
fn set_input_tokens(frame: &mut Vec<u8>, count: u64) {
    let Some(text) = std::str::from_utf8(frame).ok() else { return };
    let Some((head, rest)) = text.split_once("data: ") else { return };
    let Some((data, tail)) = rest.split_once('\n') else { return };
    let Ok(mut event) = serde_json::from_str::<Value>(data) else { return };
    if let Some(tokens) = event.pointer_mut("/message/usage/input_tokens") {
        *tokens = count.into();
        *frame = format!("{head}data: {event}\n{tail}").into_bytes();
    }
}
