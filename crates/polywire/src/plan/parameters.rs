//! Adapts request parameters to the model's row: thinking mode and effort, sampling while thinking, the output limit, instructions.
//! Parameters that depend on the protocol alone are handled by the wire crate.

use polywire_wire::{Block, Effort, Message, Quirk, Reasoning, Request, Role, ThinkingMode};

use super::Draft;
use crate::change::{Action, Effect, Kind, change};
use crate::model::{Ability, ModelRow, When};

/// The thinking budget for models that require one if the request has none.
const DEFAULT_THINKING_BUDGET: u64 = 4096;

pub(super) fn adapt_parameters(draft: &mut Draft<'_>) {
    disable_thinking_with_tools(draft);
    convert_budget_to_effort(draft);
    replace_thinking_mode(draft);
    cap_effort_without_thinking(draft);
    cap_max_tokens(draft);
    drop_top_p(draft);
    let row = draft.model.row();
    let mut quirks = Vec::new();
    if row.sampling == When::UnlessThinking && will_think(&draft.request, row) {
        quirks.push(Quirk::NoSampling);
    }
    if row.forced == When::UnlessThinking && must_think(&draft.request, row) {
        quirks.push(Quirk::NoForcedChoice);
    }
    if !row.can(Ability::ParallelCalls) {
        quirks.push(Quirk::NoParallelFlag);
    }
    for quirk in quirks {
        draft.surface = std::mem::take(&mut draft.surface).with(quirk);
    }
}

fn will_think(request: &Request, row: &ModelRow) -> bool {
    let reasoning = request.reasoning.as_ref();
    let mode = reasoning.and_then(|reasoning| reasoning.mode.as_ref());
    let effort = reasoning.and_then(|reasoning| reasoning.effort.as_ref()).or(row.default_effort.as_ref());
    match mode {
        Some(ThinkingMode::Disabled) => false,
        Some(_) => true,
        None => {
            let budget = reasoning.and_then(|reasoning| reasoning.budget_tokens);
            budget.map_or_else(|| effort.is_some_and(|effort| *effort != Effort::None), |budget| budget > 0)
        }
    }
}

/// Adaptive thinking does not count: it is compatible with a forced tool choice.
fn must_think(request: &Request, row: &ModelRow) -> bool {
    let reasoning = request.reasoning.as_ref();
    let adaptive = match reasoning.and_then(|reasoning| reasoning.mode.as_ref()) {
        Some(mode) => *mode == ThinkingMode::Adaptive,
        None => row.thinking.contains(&ThinkingMode::Adaptive),
    };
    will_think(request, row) && !adaptive
}

/// Some surfaces reject requests with both tools and thinking.
fn disable_thinking_with_tools(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let surface = &draft.model.surface().id;
    let incompatible = row.tools_stop_thinking.contains(surface) && !draft.tools.is_empty();
    if !incompatible || !will_think(&draft.request, row) {
        return;
    }
    let reasoning = draft.request.reasoning.get_or_insert_default();
    *reasoning = Reasoning { effort: Some(Effort::None), visible: reasoning.visible, ..Reasoning::default() };
    let detail =
        format!("this model does not support tools with thinking on the surface `{surface}`; thinking is disabled");
    draft.record_change(change(
        Kind::Parameters,
        "tools-stop-thinking",
        "/reasoning/effort",
        (Action::Rewritten, Effect::Wider),
        detail,
    ));
}

/// Converts a budget or a disabled mode for models that only have efforts. The wire crate selects the nearest supported effort.
fn convert_budget_to_effort(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let Some(reasoning) = draft.request.reasoning.as_mut() else { return };
    if row.efforts.is_empty() || !row.thinking.is_empty() || reasoning.effort.is_some() {
        return;
    }
    let disabled = reasoning.mode == Some(ThinkingMode::Disabled);
    let Some(budget) = reasoning.budget_tokens.or_else(|| disabled.then_some(0)) else { return };
    let effort = Effort::of_budget(budget);
    let detail = format!("this model has no thinking budget; effort `{effort}` is sent for {budget} tokens");
    *reasoning = Reasoning { effort: Some(effort), visible: reasoning.visible, ..Reasoning::default() };
    draft.record_change(change(Kind::Parameters, "effort", "/reasoning", (Action::Rewritten, Effect::Wider), detail));
}

/// Replaces a thinking mode that the model does not support by the nearest supported one.
fn replace_thinking_mode(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let Some(reasoning) = draft.request.reasoning.as_mut() else { return };
    let wanted = reasoning.mode.clone().or_else(|| reasoning.budget_tokens.map(|_| ThinkingMode::Enabled));
    let Some(wanted) = wanted.filter(|mode| !row.thinking.is_empty() && !row.thinking.contains(mode)) else { return };
    let has = |mode| row.thinking.contains(&mode);
    let replacement = match wanted {
        ThinkingMode::Enabled | ThinkingMode::BetweenTools if has(ThinkingMode::Adaptive) => {
            reasoning.budget_tokens = None;
            Some(ThinkingMode::Adaptive)
        }
        ThinkingMode::Adaptive | ThinkingMode::BetweenTools if has(ThinkingMode::Enabled) => {
            reasoning.budget_tokens.get_or_insert(DEFAULT_THINKING_BUDGET);
            Some(ThinkingMode::Enabled)
        }
        ThinkingMode::Enabled
        | ThinkingMode::Adaptive
        | ThinkingMode::BetweenTools
        | ThinkingMode::Disabled
        | ThinkingMode::Other(_) => None,
    };
    let detail = match &replacement {
        Some(mode) => format!("this model does not support thinking mode `{wanted}`; `{}` is sent", mode.word()),
        None => format!("this model does not support thinking mode `{wanted}`; its default is used"),
    };
    reasoning.mode = replacement;
    draft.record_change(change(
        Kind::Parameters,
        "thinking-mode",
        "/reasoning/mode",
        (Action::Rewritten, Effect::Wider),
        detail,
    ));
}

/// Some models limit the effort while thinking is disabled.
fn cap_effort_without_thinking(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let Some(reasoning) = draft.request.reasoning.as_mut() else { return };
    let is_disabled = matches!(reasoning.mode, Some(ThinkingMode::Disabled | ThinkingMode::BetweenTools));
    let wanted =
        reasoning.effort.clone().filter(|effort| is_disabled && !row.efforts_without_thinking.contains(effort));
    let (Some(wanted), Some(max)) = (wanted, row.efforts_without_thinking.last()) else { return };
    let detail = format!("without thinking this model supports effort `{max}` at most, not `{wanted}`");
    reasoning.effort = Some(max.clone());
    draft.record_change(change(
        Kind::Parameters,
        "effort",
        "/reasoning/effort",
        (Action::Rewritten, Effect::Wider),
        detail,
    ));
}

/// Some models reject `temperature` together with `top_p`.
fn drop_top_p(draft: &mut Draft<'_>) {
    let both = draft.request.temperature.is_some() && draft.request.top_p.is_some();
    if both && draft.surface.has(Quirk::OneSampling) {
        draft.request.top_p = None;
        let detail = "`top_p` dropped: this model does not accept it together with `temperature`";
        draft.record_change(change(
            Kind::Parameters,
            "one-sampling",
            "/top_p",
            (Action::Dropped, Effect::Wider),
            detail,
        ));
    }
}

/// Moves the system instructions to the first user message for models without them.
pub(super) fn move_instructions(draft: &mut Draft<'_>) {
    if draft.request.system.is_empty() || !draft.surface.has(Quirk::NoInstructions) {
        return;
    }
    let instructions: Vec<Block> = draft.request.system.drain(..).map(Block::Text).collect();
    match draft.request.messages.first_mut() {
        Some(first) if first.role == Role::User => first.content.splice(0..0, instructions).for_each(drop),
        Some(_) | None => draft.request.messages.insert(0, Message { content: instructions, ..Message::user("") }),
    }
    let detail = "this model has no system instructions; they are sent in the first user message";
    draft.record_change(change(Kind::History, "no-instructions", "/system", (Action::Moved, Effect::Same), detail));
}

/// Providers reject a limit above the model's maximum.
fn cap_max_tokens(draft: &mut Draft<'_>) {
    let Some((limit, max)) = draft.request.max_tokens.zip(draft.model.row().output) else { return };
    if limit <= max {
        return;
    }
    draft.request.max_tokens = Some(max);
    let detail = format!("this model's output is limited to {max} tokens, not {limit}");
    draft.record_change(change(
        Kind::Parameters,
        "output-limit",
        "/max_tokens",
        (Action::Rewritten, Effect::Narrower),
        detail,
    ));
}
