//! Structured output: native, by a tool, or by the prompt. The caller or the model's row chooses; if the model does not support that
//! channel for this request, the next one is used and the change is recorded with its reason.

use polywire_schema::{FitOptions, Fitted, Slot, StrictMode};
use polywire_wire::{Output, OutputFormat, Quirk, Strategy, Text};

use super::{Draft, Prompt, Strict};
use crate::change::{Action, Change, Effect, Kind, change, of_schema};
use crate::model::Ability;
use crate::provider::Budget;

/// The channel of the structured output.
pub(super) enum OutputChannel {
    /// No schema was requested.
    Unstructured,
    /// The request has the fitted schema in the protocol's own field.
    Native { fitted: std::sync::Arc<Fitted>, format: OutputFormat, budget: Budget },
    /// The schema is the parameters of a tool, which is fitted with the caller's tools.
    Tool(OutputFormat),
    /// The schema is in the prompt.
    Prompted,
}

pub(super) fn choose_channel(draft: &mut Draft<'_>) -> OutputChannel {
    match draft.request.output.clone() {
        None => OutputChannel::Unstructured,
        Some(Output::Json) => {
            request_json_mode(draft);
            OutputChannel::Unstructured
        }
        Some(Output::Schema(format)) => choose_schema_channel(draft, format),
    }
}

/// The prompt asks for JSON too: some surfaces reject JSON mode without the word "JSON" in the prompt, and others have no JSON mode.
fn request_json_mode(draft: &mut Draft<'_>) {
    if !draft.model.row().can(Ability::JsonMode) && !draft.surface.has(Quirk::NoFreeJson) {
        draft.request.output = None;
        let what = (Action::Rewritten, Effect::Wider);
        draft.record_change(change(
            Kind::Output,
            "no-json-mode",
            "/output",
            what,
            "this model has no JSON mode; the prompt asks for JSON",
        ));
    }
    add_instruction(draft, "Answer with one JSON object and nothing else.".to_owned());
}

fn choose_schema_channel(draft: &mut Draft<'_>, format: OutputFormat) -> OutputChannel {
    let requested = match format.strategy() {
        Strategy::Native | Strategy::Tool | Strategy::Prompted => format.strategy(),
        Strategy::Auto | _ => draft.model.strategy(),
    };
    if draft.options.prompt == Prompt::Always && requested != Strategy::Prompted {
        add_instruction(draft, schema_instruction(&format));
    }
    let native = (requested == Strategy::Native).then(|| fit_native(draft, &format));
    let reason = match native {
        Some(Ok(fitted)) => return use_native(draft, &format, fitted),
        Some(Err(reason)) => reason,
        None => "",
    };
    let row = draft.model.row();
    let forced = !draft.surface.has(Quirk::NoForcedChoice);
    let tool = row.can(Ability::Tools) && (forced || requested == Strategy::Tool) && requested != Strategy::Prompted;
    let strategy = if tool { Strategy::Tool } else { Strategy::Prompted };
    if strategy != requested {
        let reason = if reason.is_empty() { "this model does not support tools" } else { reason };
        let channel = if tool { "a tool" } else { "the prompt" };
        let detail = format!("{reason}; structured output is requested through {channel}");
        draft.record_change(change(
            Kind::Output,
            "strategy",
            "/output/strategy",
            (Action::Rewritten, Effect::Note),
            detail,
        ));
    }
    if tool {
        draft.request.output = None;
        return OutputChannel::Tool(format);
    }
    use_prompt(draft, &format)
}

/// Fits the schema for native structured output. The error is the reason why that is not possible.
fn fit_native(draft: &mut Draft<'_>, format: &OutputFormat) -> Result<std::sync::Arc<Fitted>, &'static str> {
    let (row, slots) = (draft.model.row(), draft.model.slots());
    if !row.can(Ability::NativeOutput) {
        return Err("this model has no native structured output");
    }
    if !draft.tools.is_empty() && !row.can(Ability::ToolsWithOutput) {
        return Err("this model does not support tools together with native structured output");
    }
    let strict = slots.output_strict.as_ref().filter(|_| row.can(Ability::Strict));
    let wants_strict = format.is_strict() && draft.options.strict != Strict::Off;
    let dialect = strict.filter(|_| wants_strict || slots.output.is_none()).or(slots.output.as_ref());
    let Some(dialect) = dialect else { return Err("this surface has no native structured output") };
    let mode = if wants_strict || slots.output.is_none() { StrictMode::Auto } else { StrictMode::Off };
    let options = FitOptions::default().with_slot(Slot::Output).with_strict(mode);
    let Ok(fitted) = draft.cache.fit(format.schema(), dialect, &options) else {
        return Err("the schema is not valid");
    };
    if dialect.strict() && !fitted.strict() && slots.output.is_none() {
        return Err("the schema cannot be expressed in the strict dialect of this surface");
    }
    Ok(fitted)
}

fn use_native(draft: &mut Draft<'_>, format: &OutputFormat, fitted: std::sync::Arc<Fitted>) -> OutputChannel {
    let place = |change: &_| of_schema(Kind::Output, "/output/schema", change);
    draft.changes.extend(fitted.changes.iter().map(place));
    let flag = draft.model.slots().output_strict.is_some();
    let is_strict = fitted.strict() || !flag;
    if format.is_strict() && !is_strict {
        draft.record_change(not_enforced("the provider does not enforce the output schema"));
    }
    let schema = fitted.schema.clone();
    let rewritten = if is_strict && format.is_strict() {
        OutputFormat::strict(format.name(), schema)
    } else {
        OutputFormat::best_effort(format.name(), schema)
    };
    let rewritten = rewritten.unwrap_or_else(|_| format.clone()).with_strategy(Strategy::Native);
    let rewritten = rewritten.with_description(format.description().map(str::to_owned));
    draft.request.output = Some(Output::Schema(rewritten));
    OutputChannel::Native { fitted, format: format.clone(), budget: draft.model.surface().budget }
}

fn use_prompt(draft: &mut Draft<'_>, format: &OutputFormat) -> OutputChannel {
    let row = draft.model.row();
    let free = row.can(Ability::JsonMode) && (draft.tools.is_empty() || row.can(Ability::ToolsWithOutput));
    // JSON mode only returns objects.
    let object = format.schema().get("type").and_then(serde_json::Value::as_str) == Some("object");
    draft.request.output = (free && object).then_some(Output::Json);
    if draft.options.prompt != Prompt::Always || format.strategy() == Strategy::Prompted {
        add_instruction(draft, schema_instruction(format));
    }
    if format.is_strict() {
        draft.record_change(not_enforced("the provider does not enforce an output schema in the prompt"));
    }
    OutputChannel::Prompted
}

/// The loss of an output schema's enforcement by the provider (R-C7).
pub(super) fn not_enforced(detail: &'static str) -> Change {
    change(Kind::Output, "not-enforced", "/output/strict", (Action::Dropped, Effect::Wider), detail)
}

fn schema_instruction(format: &OutputFormat) -> String {
    let about = format.description().map(|text| format!(" ({text})")).unwrap_or_default();
    format!(
        "Answer with one JSON value that conforms to the JSON Schema `{}`{about} below, and with nothing else: no prose, \
         no code fence.\n{}",
        format.name(),
        format.schema()
    )
}

/// Adds an instruction about the output after the caller's own.
pub(super) fn add_instruction(draft: &mut Draft<'_>, text: String) {
    draft.request.system.push(Text { text, ..Text::default() });
    let what = (Action::Added, Effect::Same);
    draft.record_change(change(
        Kind::Output,
        "prompt",
        "/system",
        what,
        "an instruction about the output format is added to the system prompt",
    ));
}
