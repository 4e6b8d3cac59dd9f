//! Lists of models from the catalog, page by page, in the provider's form.

use hyper::HeaderMap;
use polywire::wire::{Effort, FaultKind, ThinkingMode, WireError};
use polywire::{Ability, Catalog, ListStyle, Modality, ModelRow, Provider, When};
use serde_json::{Value, json};

use crate::route::{base_template, percent_decoded};

/// A list of models, or one of them.
pub(crate) struct ModelList<'c> {
    pub(crate) provider: &'c Provider,
    style: ListStyle,
    /// The model, where the path names one.
    model: Option<String>,
}

/// The list of a path. A path may begin with the id of a provider. Of several providers with the same path it belongs to the one
/// whose headers came along, else to the first.
pub(crate) fn model_list<'c>(catalog: &'c Catalog, path: &str, headers: &HeaderMap) -> Option<ModelList<'c>> {
    let named = path.strip_prefix('/').and_then(|rest| rest.find('/').and_then(|end| rest.split_at_checked(end)));
    let by_name = named.and_then(|(id, rest)| of_provider(catalog.provider(id)?, rest));
    // Headers tell providers of one path apart, such as `anthropic-version`.
    let known_by = |provider: &Provider| {
        let there = provider.headers.keys().all(|name| headers.contains_key(name.as_str()));
        let key = provider.auth.header.iter().filter(|name| headers.contains_key(name.as_str())).count();
        if there { provider.headers.len() + key } else { 0 }
    };
    // The sort is stable: of equals the first one stays first.
    let mut fitting: Vec<_> = catalog.providers().filter_map(|provider| of_provider(provider, path)).collect();
    fitting.sort_by_key(|list| std::cmp::Reverse(known_by(list.provider)));
    by_name.or_else(|| fitting.into_iter().next())
}

fn of_provider<'c>(provider: &'c Provider, path: &str) -> Option<ModelList<'c>> {
    let style = provider.list.as_ref()?.style;
    let mut bases = provider.also_at.iter().map(String::as_str).chain([base_template(provider)]);
    bases.find_map(|base| {
        let rest = path.strip_prefix(provider.list_url(base)?.as_str())?;
        let model = match rest.strip_prefix('/') {
            None if rest.is_empty() => None,
            Some(id) if !id.is_empty() => Some(percent_decoded(id)),
            None | Some(_) => return None,
        };
        Some(ModelList { provider, style, model })
    })
}

impl ModelList<'_> {
    /// The body of the answer.
    pub(crate) fn body(&self, catalog: &Catalog, query: &str) -> Result<Value, Box<WireError>> {
        if let Some(id) = &self.model {
            let name = format!("{}/{id}", self.provider.id);
            let known = catalog
                .resolve(&name)
                .ok()
                .filter(|model| model.changes().iter().all(|change| change.code != "unknown-model"));
            let missing = || Box::new(WireError::new(FaultKind::NotFound, format!("there is no model `{id}`")));
            let model = known.ok_or_else(missing)?;
            return Ok(entry(self.style, self.provider, model.id(), model.row()));
        }
        let mut entries = self.entries(catalog);
        let parameter = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| percent_decoded(value))
        };
        let number =
            |name: &str| parameter(name).and_then(|text| text.parse::<usize>().ok()).filter(|number| *number > 0);
        Ok(match self.style {
            ListStyle::Anthropic => {
                let id = |entry: &Value| entry.get("id").cloned().unwrap_or_default();
                let after =
                    parameter("after_id").and_then(|last| entries.iter().position(|entry| id(entry) == json!(last)));
                entries.drain(..after.map_or(0, |at| at + 1));
                let more = entries.len() > number("limit").unwrap_or(20);
                entries.truncate(number("limit").unwrap_or(20));
                json!({"first_id": entries.first().map(id), "last_id": entries.last().map(id), "has_more": more, "data": entries})
            }
            ListStyle::Gemini => {
                let start = number("pageToken").unwrap_or_default().min(entries.len());
                entries.drain(..start);
                let size = number("pageSize").unwrap_or(50).min(1000);
                let next = (entries.len() > size).then(|| (start + size).to_string());
                entries.truncate(size);
                let mut body = json!({"models": entries});
                if let (Some(next), Some(members)) = (next, body.as_object_mut()) {
                    members.insert("nextPageToken".to_owned(), json!(next));
                }
                body
            }
            ListStyle::Ollama => json!({"models": entries}),
            ListStyle::Openai | ListStyle::Lmstudio | ListStyle::Openrouter | _ => {
                let mut body = json!({"object": "list", "data": entries});
                // Codex says its version and reads `models`; an empty list leaves it with the models that it knows.
                if let (Some(_), Some(members)) = (parameter("client_version"), body.as_object_mut()) {
                    members.insert("models".to_owned(), json!([]));
                }
                body
            }
        })
    }

    /// Every id of every model. A provider without models in the catalog, such as a local server, gets one that is made up.
    fn entries(&self, catalog: &Catalog) -> Vec<Value> {
        let ids = |row: &ModelRow| [&row.id].into_iter().chain(&row.dated).cloned().collect::<Vec<_>>();
        let rows = catalog.models_of(&self.provider.id).flat_map(|row| ids(row).into_iter().map(move |id| (id, row)));
        let mut entries: Vec<Value> = rows.map(|(id, row)| entry(self.style, self.provider, &id, row)).collect();
        if entries.is_empty() {
            let unknown = catalog.resolve(&format!("{}/emulated", self.provider.id));
            entries.extend(unknown.map(|model| entry(self.style, self.provider, "emulated", model.row())));
        }
        entries
    }
}

fn entry(style: ListStyle, provider: &Provider, id: &str, row: &ModelRow) -> Value {
    match style {
        ListStyle::Anthropic => anthropic(id, row),
        ListStyle::Gemini => json!({
            "name": format!("models/{id}"),
            "displayName": id,
            "inputTokenLimit": row.context,
            "outputTokenLimit": row.output,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
            "thinking": !row.thinking.is_empty(),
        }),
        ListStyle::Ollama => {
            let id = if id.contains(':') { id.to_owned() } else { format!("{id}:latest") };
            let can =
                [("completion", true), ("tools", row.can(Ability::Tools)), ("vision", row.reads(Modality::Image))];
            json!({"name": id, "model": id, "size": 0, "details": {"format": "gguf"}, "capabilities": names_of(&can)})
        }
        ListStyle::Lmstudio => {
            let kind = if row.reads(Modality::Image) { "vlm" } else { "llm" };
            let can = names_of(&[("tool_use", row.can(Ability::Tools))]);
            json!({"id": id, "object": "model", "type": kind, "state": "loaded", "max_context_length": row.context, "capabilities": can})
        }
        ListStyle::Openrouter => openrouter(id, row),
        ListStyle::Openai | _ => json!({"id": id, "object": "model", "created": 0, "owned_by": provider.id}),
    }
}

fn names_of(flags: &[(&'static str, bool)]) -> Vec<&'static str> {
    flags.iter().filter(|(_, yes)| *yes).map(|(word, _)| *word).collect()
}

fn anthropic(id: &str, row: &ModelRow) -> Value {
    let supported = |yes: bool| json!({"supported": yes});
    let modes = [ThinkingMode::Adaptive, ThinkingMode::Enabled, ThinkingMode::Disabled, ThinkingMode::BetweenTools];
    let modes = modes.iter().map(|mode| (mode.word().to_owned(), supported(row.thinking.contains(mode))));
    let levels = [Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];
    let levels = levels.iter().map(|level| (level.word().to_owned(), supported(row.efforts.contains(level))));
    let whole = ("supported".to_owned(), json!(!row.efforts.is_empty()));
    json!({
        "type": "model",
        "id": id,
        "display_name": id,
        "created_at": "1970-01-01T00:00:00Z",
        "max_input_tokens": row.context,
        "max_tokens": row.output,
        "capabilities": {
            "structured_outputs": supported(row.can(Ability::NativeOutput)),
            "image_input": supported(row.reads(Modality::Image)),
            "pdf_input": supported(row.reads(Modality::Pdf)),
            "thinking": {"supported": !row.thinking.is_empty(), "types": modes.collect::<serde_json::Map<_, _>>()},
            "effort": levels.chain([whole]).collect::<serde_json::Map<_, _>>(),
        },
    })
}

fn openrouter(id: &str, row: &ModelRow) -> Value {
    let inputs = [
        ("text", row.reads(Modality::Text)),
        ("image", row.reads(Modality::Image)),
        ("audio", row.reads(Modality::Audio)),
        ("video", row.reads(Modality::Video)),
        ("file", row.reads(Modality::Pdf)),
    ];
    let parameters = [
        ("max_tokens", true),
        ("tools", row.can(Ability::Tools)),
        ("tool_choice", row.forced != When::Never),
        ("structured_outputs", row.can(Ability::NativeOutput)),
        ("response_format", row.can(Ability::JsonMode)),
        ("temperature", row.sampling != When::Never),
    ];
    json!({
        "id": id,
        "name": id,
        "created": 0,
        "context_length": row.context,
        "architecture": {"input_modalities": names_of(&inputs), "output_modalities": ["text"]},
        "top_provider": {"context_length": row.context, "max_completion_tokens": row.output},
        "supported_parameters": names_of(&parameters),
    })
}
