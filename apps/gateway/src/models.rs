//! The list of models, in the shape of each vendor.

use http::Uri;
use polywire::catalog::ModelRow;
use polywire::wire::{FaultKind, Protocol};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::reply::{self, HttpResponse};
use crate::state::Shared;

/// A model or route that requests may name.
struct Listed<'r> {
    name: String,
    row: Option<&'r ModelRow>,
}

/// The list of models, or one of them.
pub(crate) fn list(
    shared: &Shared,
    caller: &Caller,
    protocol: Protocol,
    model: Option<&str>,
    uri: &Uri,
) -> HttpResponse {
    let active = shared.active();
    let routes = &active.routes;
    let of_routes = routes.names().map(|name| Listed { name: name.to_owned(), row: None });
    let of_providers = routes.providers().iter().flat_map(|provider| {
        let rows = routes.catalog().models_of(provider).filter(|row| row.deprecated.is_none());
        rows.map(|row| Listed { name: format!("{}/{}", row.provider, row.id), row: Some(row) })
    });
    let is_allowed = |listed: &Listed<'_>| caller.limits().is_none_or(|limits| limits.allows(&listed.name));
    let listed: Vec<Listed<'_>> = of_routes.chain(of_providers).filter(is_allowed).collect();
    if let Some(name) = model {
        let name = name.strip_prefix("models/").unwrap_or(name);
        let is_named = |listed: &&Listed<'_>| {
            listed.name.eq_ignore_ascii_case(name) || listed.row.is_some_and(|row| row.id.eq_ignore_ascii_case(name))
        };
        return match listed.iter().find(is_named) {
            Some(listed) => reply::json(&entry(listed, protocol)),
            None => reply::error(protocol, FaultKind::NotFound, &format!("no model `{name}`")),
        };
    }
    let is_codex = uri.query().is_some_and(|query| query.contains("client_version="));
    let entries: Vec<Value> = listed.iter().map(|listed| entry(listed, protocol)).collect();
    reply::json(&match protocol {
        Protocol::Gemini => json!({"models": entries}),
        Protocol::AnthropicMessages => {
            let (first, last) =
                (entries.first().and_then(|entry| entry.get("id")), entries.last().and_then(|entry| entry.get("id")));
            json!({"data": entries, "has_more": false, "first_id": first, "last_id": last})
        }
        // Codex reads `models`, whose entries have a form of its own; with an empty list it uses the models that it knows.
        _ if is_codex => json!({"object": "list", "data": entries, "models": []}),
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::BedrockConverse => {
            json!({"object": "list", "data": entries})
        }
    })
}

fn entry(listed: &Listed<'_>, protocol: Protocol) -> Value {
    let (context, output) = (listed.row.and_then(|row| row.context), listed.row.and_then(|row| row.output));
    let name = &listed.name;
    match protocol {
        Protocol::Gemini => json!({
            "name": format!("models/{name}"), "displayName": name, "inputTokenLimit": context, "outputTokenLimit": output,
            "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
        }),
        Protocol::AnthropicMessages => json!({
            "type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z",
            "max_input_tokens": context, "max_tokens": output,
        }),
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::BedrockConverse => {
            let owner = name.split('/').next().filter(|_| name.contains('/')).unwrap_or("polywire");
            json!({"id": name, "object": "model", "created": 0, "owned_by": owner, "context_window": context})
        }
    }
}
