//! What a request parameters for beside words and tools, and a model's row refuses: modes and efforts of thinking, sampling while
//! thinking, more tokens than the model writes, instructions. What only the wire knows is left to the wire.

use polywire_wire::{Block, Effort, Message, Quirk, Reasoning, Request, Role, ThinkingMode};

use super::Draft;
use crate::change::{Action, Effect, Kind, change};
use crate::model::{Ability, ModelRow, When};

/// A budget for thinking where the caller gave none and the model needs one.
const THINKING_BUDGET: u64 = 4096;

pub(super) fn apply(draft: &mut Draft<'_>) {
    apply_effort(draft);
    apply_budget(draft);
    apply_mode(draft);
    apply_effort_without_thinking(draft);
    apply_limit(draft);
    apply_sampling(draft);
    let row = draft.model.row();
    let mut quirks = Vec::new();
    if row.sampling == When::UnlessThinking && thinks(&draft.request, row) {
        quirks.push(Quirk::NoSampling);
    }
    if row.forced == When::UnlessThinking && thinks_by_force(&draft.request, row) {
        quirks.push(Quirk::NoForcedChoice);
    }
    if !row.can(Ability::ParallelCalls) {
        quirks.push(Quirk::NoParallelFlag);
    }
    for quirk in quirks {
        draft.surface = std::mem::take(&mut draft.surface).with(quirk);
    }
}

/// Whether the model will think.
fn thinks(request: &Request, row: &ModelRow) -> bool {
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

/// Whether the model will think whatever it is asked to do: thinking that it chooses itself gives way to a forced tool.
fn thinks_by_force(request: &Request, row: &ModelRow) -> bool {
    let reasoning = request.reasoning.as_ref();
    let adaptive = match reasoning.and_then(|reasoning| reasoning.mode.as_ref()) {
        Some(mode) => *mode == ThinkingMode::Adaptive,
        None => row.thinking.contains(&ThinkingMode::Adaptive),
    };
    thinks(request, row) && !adaptive
}

/// On some surfaces tools and thinking do not go together.
fn apply_effort(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let surface = &draft.model.surface().id;
    let apart = row.tools_stop_thinking.contains(surface) && !draft.tools.is_empty();
    if !apart || !thinks(&draft.request, row) {
        return;
    }
    let reasoning = draft.request.reasoning.get_or_insert_default();
    *reasoning = Reasoning { effort: Some(Effort::None), visible: reasoning.visible, ..Reasoning::default() };
    let detail = format!("on the surface `{surface}` this model takes tools only while it does not think");
    draft.record(change(
        Kind::Parameters,
        "tools-stop-thinking",
        "/reasoning/effort",
        (Action::Rewritten, Effect::Wider),
        detail,
    ));
}

/// A budget or "not at all", said to a model that has efforts only. The wire finds the nearest effort that the model has.
fn apply_budget(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let Some(reasoning) = draft.request.reasoning.as_mut() else { return };
    if row.efforts.is_empty() || !row.thinking.is_empty() || reasoning.effort.is_some() {
        return;
    }
    let disabled = reasoning.mode == Some(ThinkingMode::Disabled);
    let Some(budget) = reasoning.budget_tokens.or_else(|| disabled.then_some(0)) else { return };
    let effort = Effort::of_budget(budget);
    let detail = format!("this model has efforts, not budgets; {budget} tokens are said as `{effort}`");
    *reasoning = Reasoning { effort: Some(effort), visible: reasoning.visible, ..Reasoning::default() };
    draft.record(change(Kind::Parameters, "effort", "/reasoning", (Action::Rewritten, Effect::Wider), detail));
}

/// A mode of thinking that the model does not have becomes the nearest one that it has.
fn apply_mode(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let Some(reasoning) = draft.request.reasoning.as_mut() else { return };
    let wanted = reasoning.mode.clone().or_else(|| reasoning.budget_tokens.map(|_| ThinkingMode::Enabled));
    let Some(wanted) = wanted.filter(|mode| !row.thinking.is_empty() && !row.thinking.contains(mode)) else { return };
    let has = |mode| row.thinking.contains(&mode);
    let given = match wanted {
        ThinkingMode::Enabled | ThinkingMode::BetweenTools if has(ThinkingMode::Adaptive) => {
            reasoning.budget_tokens = None;
            Some(ThinkingMode::Adaptive)
        }
        ThinkingMode::Adaptive | ThinkingMode::BetweenTools if has(ThinkingMode::Enabled) => {
            reasoning.budget_tokens.get_or_insert(THINKING_BUDGET);
            Some(ThinkingMode::Enabled)
        }
        ThinkingMode::Enabled
        | ThinkingMode::Adaptive
        | ThinkingMode::BetweenTools
        | ThinkingMode::Disabled
        | ThinkingMode::Other(_) => None,
    };
    let instead = given.as_ref().map_or("as the model does by itself", ThinkingMode::word);
    let detail = format!("this model does not think `{wanted}`; it thinks {instead}");
    reasoning.mode = given;
    draft.record(change(
        Kind::Parameters,
        "thinking-mode",
        "/reasoning/mode",
        (Action::Rewritten, Effect::Wider),
        detail,
    ));
}

/// While thinking is switched off, some models take no more than some effort.
fn apply_effort_without_thinking(draft: &mut Draft<'_>) {
    let row = draft.model.row();
    let Some(reasoning) = draft.request.reasoning.as_mut() else { return };
    let calm = matches!(reasoning.mode, Some(ThinkingMode::Disabled | ThinkingMode::BetweenTools));
    let wanted = reasoning.effort.clone().filter(|effort| calm && !row.efforts_without_thinking.contains(effort));
    let (Some(wanted), Some(most)) = (wanted, row.efforts_without_thinking.last()) else { return };
    let detail = format!("without thinking this model takes effort `{most}` at most, not `{wanted}`");
    reasoning.effort = Some(most.clone());
    draft.record(change(Kind::Parameters, "effort", "/reasoning/effort", (Action::Rewritten, Effect::Wider), detail));
}

/// Where temperature and `top_p` do not go together, the temperature goes.
fn apply_sampling(draft: &mut Draft<'_>) {
    let both = draft.request.temperature.is_some() && draft.request.top_p.is_some();
    if both && draft.surface.has(Quirk::OneSampling) {
        draft.request.top_p = None;
        let detail = "this model takes either a temperature or `top_p`; the temperature is sent";
        draft.record(change(Kind::Parameters, "one-sampling", "/top_p", (Action::Dropped, Effect::Wider), detail));
    }
}

/// Where there are no instructions, they are the first words of the user.
pub(super) fn apply_instructions(draft: &mut Draft<'_>) {
    if draft.request.system.is_empty() || !draft.surface.has(Quirk::NoInstructions) {
        return;
    }
    let words: Vec<Block> = draft.request.system.drain(..).map(Block::Text).collect();
    match draft.request.messages.first_mut() {
        Some(first) if first.role == Role::User => first.content.splice(0..0, words).for_each(drop),
        Some(_) | None => draft.request.messages.insert(0, Message { content: words, ..Message::user("") }),
    }
    let detail = "this model takes no instructions; they are the first words of the user";
    draft.record(change(Kind::History, "no-instructions", "/system", (Action::Moved, Effect::Same), detail));
}

/// A limit above what the model writes at most would be refused.
fn apply_limit(draft: &mut Draft<'_>) {
    let Some((limit, most)) = draft.request.max_tokens.zip(draft.model.row().output) else { return };
    if limit <= most {
        return;
    }
    draft.request.max_tokens = Some(most);
    let detail = format!("this model writes at most {most} tokens, not {limit}");
    draft.record(change(
        Kind::Parameters,
        "output-limit",
        "/max_tokens",
        (Action::Rewritten, Effect::Narrower),
        detail,
    ));
}
