//! How the shape of the answer is asked for: the protocol's own field, a tool, or words. The model's row picks once; a request that
//! cannot have what was picked gets the next channel, and a change says why.

use polywire_schema::{FitOptions, Fitted, Slot, StrictMode};
use polywire_wire::{Output, OutputFormat, Quirk, Strategy, Text};

use super::{Draft, Prompt, Strict};
use crate::change::{Action, Change, Effect, Kind, change, of_schema};
use crate::model::Ability;
use crate::provider::Budget;

/// What is left to do about the answer when tools are fitted.
pub(super) enum Asked {
    /// No shape was asked for, or nothing is left to do.
    Nothing,
    /// The protocol's own field has the fitted schema.
    Native { fitted: std::sync::Arc<Fitted>, format: OutputFormat, budget: Budget },
    /// A tool stands for it.
    Tool(OutputFormat),
    /// The prompt says it.
    Prompted,
}

pub(super) fn apply(draft: &mut Draft<'_>) -> Asked {
    match draft.request.output.clone() {
        None => Asked::Nothing,
        Some(Output::Json) => {
            free_json(draft);
            Asked::Nothing
        }
        Some(Output::Schema(format)) => by_schema(draft, format),
    }
}

/// Free JSON needs the word in the prompt on some surfaces, and more than the word where there is no such mode.
fn free_json(draft: &mut Draft<'_>) {
    if !draft.model.row().can(Ability::JsonMode) && !draft.surface.has(Quirk::NoFreeJson) {
        draft.request.output = None;
        let what = (Action::Rewritten, Effect::Wider);
        draft.record(change(
            Kind::Output,
            "no-json-mode",
            "/output",
            what,
            "this model has no JSON mode; the prompt asks for JSON",
        ));
    }
    say(draft, "Answer with one JSON object and nothing else.".to_owned());
}

fn by_schema(draft: &mut Draft<'_>, format: OutputFormat) -> Asked {
    let asked = match format.strategy() {
        Strategy::Native | Strategy::Tool | Strategy::Prompted => format.strategy(),
        Strategy::Auto | _ => draft.model.strategy(),
    };
    if draft.options.prompt == Prompt::Always && asked != Strategy::Prompted {
        say(draft, instruction(&format));
    }
    let native = (asked == Strategy::Native).then(|| native(draft, &format));
    let why = match native {
        Some(Ok(fitted)) => return by_field(draft, &format, fitted),
        Some(Err(why)) => why,
        None => "",
    };
    let row = draft.model.row();
    let forced = !draft.surface.has(Quirk::NoForcedChoice);
    let tool = row.can(Ability::Tools) && (forced || asked == Strategy::Tool) && asked != Strategy::Prompted;
    let strategy = if tool { Strategy::Tool } else { Strategy::Prompted };
    if strategy != asked {
        let why = if why.is_empty() { "this model calls no tools" } else { why };
        let detail = format!("{why}; the answer is asked for {}", if tool { "by a tool" } else { "in the prompt" });
        draft.record(change(Kind::Output, "strategy", "/output/strategy", (Action::Rewritten, Effect::Note), detail));
    }
    if tool {
        draft.request.output = None;
        return Asked::Tool(format);
    }
    by_prompt(draft, &format)
}

/// The fitted schema for the protocol's own field, or why there is none.
fn native(draft: &mut Draft<'_>, format: &OutputFormat) -> Result<std::sync::Arc<Fitted>, &'static str> {
    let (row, slots) = (draft.model.row(), draft.model.slots());
    if !row.can(Ability::NativeOutput) {
        return Err("this model takes no schema of the answer");
    }
    if !draft.tools.is_empty() && !row.can(Ability::ToolsWithOutput) {
        return Err("this model does not take tools and a schema of the answer together");
    }
    let strict = slots.output_strict.as_ref().filter(|_| row.can(Ability::Strict));
    let held = format.is_strict() && draft.options.strict != Strict::Off;
    let dialect = strict.filter(|_| held || slots.output.is_none()).or(slots.output.as_ref());
    let Some(dialect) = dialect else { return Err("this surface takes no schema of the answer") };
    let mode = if held || slots.output.is_none() { StrictMode::Auto } else { StrictMode::Off };
    let options = FitOptions::default().with_slot(Slot::Output).with_strict(mode);
    let Ok(fitted) = draft.cache.fit(format.schema(), dialect, &options) else {
        return Err("the schema cannot be read");
    };
    if dialect.strict() && !fitted.strict() && slots.output.is_none() {
        return Err("the schema cannot be said so that this surface takes it");
    }
    Ok(fitted)
}

fn by_field(draft: &mut Draft<'_>, format: &OutputFormat, fitted: std::sync::Arc<Fitted>) -> Asked {
    let place = |change: &_| of_schema(Kind::Output, "/output/schema", change);
    draft.changes.extend(fitted.changes.iter().map(place));
    let flag = draft.model.slots().output_strict.is_some();
    let kept = fitted.strict() || !flag;
    if format.is_strict() && !kept {
        draft.record(not_held("the provider does not hold the answer to its schema"));
    }
    let schema = fitted.schema.clone();
    let rewritten = if kept && format.is_strict() {
        OutputFormat::strict(format.name(), schema)
    } else {
        OutputFormat::best_effort(format.name(), schema)
    };
    let rewritten = rewritten.unwrap_or_else(|_| format.clone()).with_strategy(Strategy::Native);
    let rewritten = rewritten.with_description(format.description().map(str::to_owned));
    draft.request.output = Some(Output::Schema(rewritten));
    Asked::Native { fitted, format: format.clone(), budget: draft.model.surface().budget }
}

fn by_prompt(draft: &mut Draft<'_>, format: &OutputFormat) -> Asked {
    let row = draft.model.row();
    let free = row.can(Ability::JsonMode) && (draft.tools.is_empty() || row.can(Ability::ToolsWithOutput));
    // Free JSON is always an object.
    let object = format.schema().get("type").and_then(serde_json::Value::as_str) == Some("object");
    draft.request.output = (free && object).then_some(Output::Json);
    if draft.options.prompt != Prompt::Always || format.strategy() == Strategy::Prompted {
        say(draft, instruction(format));
    }
    if format.is_strict() {
        draft.record(not_held("nothing but the prompt holds the answer to its schema"));
    }
    Asked::Prompted
}

/// The loss of the promise that the answer follows its schema (R-C7).
pub(super) fn not_held(detail: &'static str) -> Change {
    change(Kind::Output, "not-enforced", "/output/strict", (Action::Dropped, Effect::Wider), detail)
}

/// The schema in words.
fn instruction(format: &OutputFormat) -> String {
    let about = format.description().map(|text| format!(" ({text})")).unwrap_or_default();
    format!(
        "Answer with one JSON value that conforms to the JSON Schema `{}`{about} below, and with nothing else: no prose, \
         no code fence.\n{}",
        format.name(),
        format.schema()
    )
}

/// Adds an instruction after the caller's own.
pub(super) fn say(draft: &mut Draft<'_>, text: String) {
    draft.request.system.push(Text { text, ..Text::default() });
    let what = (Action::Added, Effect::Same);
    draft.record(change(Kind::Output, "prompt", "/system", what, "the instructions say which form the answer has"));
}
