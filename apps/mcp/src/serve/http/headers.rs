//! What a request of the stateless era repeats in its headers has to be what its body says.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::{bad_request, header, json_response};
use crate::bridge::{envelope_fault, version_of};
use crate::json::get;
use crate::message::{Id, Kind, Message};
use crate::param_headers::decoded;

/// JSON-RPC: a header differs from the body.
const HEADER_MISMATCH: i64 = -32020;

/// The members of parameters that are repeated as `Mcp-Name`.
const NAMED: [(&str, &str); 3] = [("tools/call", "/name"), ("prompts/get", "/name"), ("resources/read", "/uri")];

/// The message with the headers that repeat its arguments, or the refusal.
pub(super) fn checked(headers: &HeaderMap, message: Message) -> Result<Message, Box<Response>> {
    let Kind::Request { id, method } = message.kind().clone() else { return Ok(message) };
    let value = message.value();
    let params = get(&value, "/params");
    let is_equal = |name: &str, wanted: &str| {
        let given = header(headers, name).and_then(decoded);
        given.as_deref() == Some(wanted)
    };
    let mismatch = |name: &str| {
        let text = format!("the header {name} is not what the body says");
        Box::new(bad_request(&Message::error(&id, HEADER_MISMATCH, &text)))
    };
    if let Some(version) = version_of(params)
        && !is_equal("mcp-protocol-version", version)
    {
        return Err(mismatch("MCP-Protocol-Version"));
    }
    if let Some(fault) = envelope_fault(&id, &message) {
        return Err(Box::new(bad_request(&fault)));
    }
    if !is_equal("mcp-method", &method) {
        return Err(mismatch("Mcp-Method"));
    }
    let name = NAMED.iter().find(|(own, _)| *own == method).and_then(|(_, at)| get(params, at).as_str());
    if name.is_some_and(|name| !is_equal("mcp-name", name)) {
        return Err(mismatch("Mcp-Name"));
    }
    if method == "initialize" {
        return Err(Box::new(removed(&id, &method)));
    }
    let given = headers.iter().filter(|(name, _)| name.as_str().starts_with("mcp-param-"));
    let given = given.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    let given = given.collect();
    Ok(message.with_headers(Some(given)))
}

fn removed(id: &Id, method: &str) -> Response {
    let error = Message::error(id, -32601, &format!("revision 2026-07-28 has no method `{method}`"));
    json_response(StatusCode::NOT_FOUND, error, None)
}
