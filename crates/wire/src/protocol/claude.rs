//! Reasoning and output format fields of Anthropic models: top-level fields in their own protocol, model-specific fields in Converse.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::context::{ADDED, At, Context, DROPPED_NOTE, DROPPED_WIDER, MOVED, REWRITTEN};
use super::format;
use crate::fields::Fields;
use crate::neutral::{Effort, Output, Reasoning, Request, ThinkingMode};
use crate::report::Changes;

/// The `thinking` object.
#[derive(Serialize)]
pub(super) struct ThinkingShape<'a> {
    r#type: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<&'static str>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Builds the `thinking` object. `default_mode` applies if the request has neither mode nor budget.
pub(super) fn thinking<'r>(
    ctx: &mut Context<'_>,
    reasoning: &'r Reasoning,
    default_mode: Option<ThinkingMode>,
    limit: u64,
    extra: Map<String, Value>,
) -> Option<ThinkingShape<'r>> {
    let at = At::ROOT.field("reasoning");
    let mut mode = if let Some(mode) = &reasoning.mode {
        Cow::Borrowed(mode)
    } else {
        let mode = match (&reasoning.effort, reasoning.budget_tokens) {
            (Some(Effort::None), _) | (_, Some(0)) => Some(ThinkingMode::Disabled),
            (_, Some(_)) => Some(ThinkingMode::Enabled),
            (_, None) => default_mode,
        };
        let Some(mode) = mode else {
            if reasoning.visible.is_some() {
                ctx.record(
                    "no-word",
                    &at.field("visible"),
                    DROPPED_WIDER,
                    "`visible` dropped: it can only be sent with a thinking mode",
                );
            }
            return None;
        };
        ctx.record(
            "thinking-mode",
            &at.field("mode"),
            ADDED,
            format!("thinking mode set to `{mode}`: the request has none"),
        );
        Cow::Owned(mode)
    };
    let budget_tokens = budget(ctx, reasoning, &mode, limit);
    if *mode == ThinkingMode::Enabled && budget_tokens.is_none() {
        mode = Cow::Owned(ThinkingMode::Disabled);
    }
    let visible = reasoning.visible.filter(|_| {
        let is_enabled = *mode != ThinkingMode::Disabled;
        if !is_enabled {
            ctx.record("no-word", &at.field("visible"), DROPPED_NOTE, "`visible` dropped: thinking is disabled");
        }
        is_enabled
    });
    let display = visible.map(|visible| if visible { "summarized" } else { "omitted" });
    let kind = match mode {
        Cow::Borrowed(mode) => Cow::Borrowed(mode.word()),
        Cow::Owned(mode) => Cow::Owned(mode.into()),
    };
    Some(ThinkingShape { r#type: kind, budget_tokens, display, extra })
}

/// The thinking budget of the mode `enabled`; `None` if the token limit leaves no room.
fn budget(ctx: &mut Context<'_>, reasoning: &Reasoning, mode: &ThinkingMode, limit: u64) -> Option<u64> {
    let at = At::ROOT.field("reasoning");
    if *mode != ThinkingMode::Enabled {
        if reasoning.budget_tokens.is_some() {
            ctx.record(
                "no-word",
                &at.field("budget_tokens"),
                DROPPED_WIDER,
                "thinking budget dropped: only the mode `enabled` has one",
            );
        }
        return None;
    }
    if let Some(wanted) = reasoning.budget_tokens {
        return ctx.budget(wanted, Some(limit));
    }
    let wanted = match reasoning.effort {
        Some(Effort::None | Effort::Minimal | Effort::Low) => 2048,
        Some(Effort::Medium) | None => 8192,
        Some(Effort::High) => 16_384,
        Some(Effort::XHigh | Effort::Max | Effort::Other(_)) => 32_768,
    };
    let Some(budget) = ctx.budgets().nearest(wanted, Some(limit)) else { return ctx.budget(wanted, Some(limit)) };
    ctx.record(
        "thinking-budget",
        &at.field("budget_tokens"),
        ADDED,
        format!("thinking budget set to {budget} tokens: the request has none"),
    );
    Some(budget)
}

/// The effort; `none` is not an effort here but the mode `disabled`.
pub(super) fn effort<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Option<Cow<'r, str>> {
    let effort = ctx.effort(request)?;
    if *effort == Effort::None {
        let at = At::ROOT.field("reasoning");
        ctx.record("effort", &at.field("effort"), REWRITTEN, "effort `none` is sent as disabled thinking");
        return None;
    }
    Some(match ctx.parameter("reasoning", Some(effort))? {
        Cow::Borrowed(effort) => Cow::Borrowed(effort.word()),
        Cow::Owned(effort) => Cow::Owned(effort.into()),
    })
}

/// Decodes `thinking`, `output_config` and the older `output_format`; `at` is the JSON Pointer of `fields`.
pub(super) fn read_thinking(fields: &mut Fields, request: &mut Request, at: &str, changes: &mut Changes) {
    let mut reasoning = Reasoning::default();
    if let Some(mut thinking) = fields.object("thinking") {
        reasoning.mode = thinking.text("type").map(ThinkingMode::from);
        reasoning.budget_tokens = thinking.count("budget_tokens");
        reasoning.visible = match thinking.peek("display") {
            Some("summarized") => Some(true),
            Some("omitted") => Some(false),
            _ => None,
        };
        if reasoning.visible.is_some() {
            thinking.take("display");
        }
        fields.put_rest("thinking", thinking);
    }
    if let Some(mut config) = fields.object("output_config") {
        reasoning.effort = config.text("effort").map(Effort::from);
        request.output = format::take_unnamed(&mut config, "format").map(Output::Schema);
        fields.put_rest("output_config", config);
    }
    // The beta `structured-outputs-2025-11-13` had the format at the top level. LiteLLM sends it, seen 2026-11.
    let older = request.output.is_none().then(|| format::take_unnamed(fields, "output_format")).flatten();
    if let Some(format) = older {
        let detail = "`output_format` of the older beta is read as `output_config.format`";
        changes.push("output-format", format!("{at}/output_format"), MOVED, detail);
        request.output = Some(Output::Schema(format));
    }
    request.reasoning = Some(reasoning).filter(|reasoning| *reasoning != Reasoning::default());
}
