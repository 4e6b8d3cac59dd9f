//! Prints answers: the value or the text, the attempts, and with `--explain` every byte.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use polywire::answer::Repair;
use polywire::wire::{Response, ToolCall};
use polywire::{AskError, Asked, Attempt, Completion, Plan};
use serde_json::{Value, json};

use crate::changes::write_changes;
use crate::encode::{channel, write_plan};
use crate::style::{Style, Tone};

/// A value as JSON.
pub(super) fn value_json(asked: &Asked<Value>) -> Value {
    json!({
        "value": asked.value,
        "model": model(asked.attempts.last().map(|attempt| &attempt.plan)),
        "strategy": asked.strategy,
        "attempts": attempts_json(&asked.attempts),
        "repairs": asked.repairs(),
        "changes": asked.changes,
        "usage": asked.usage(),
        "cost_usd": asked.cost().usd(),
    })
}

/// An answer of text or tool calls as JSON.
pub(super) fn completion_json(done: &Completion) -> Value {
    json!({"response": done.response, "model": model(Some(&done.plan)), "changes": done.changes, "cost_usd": done.cost.usd(), "retries": done.retries})
}

/// Tool calls as JSON.
pub(super) fn calls_json(response: &Response) -> Value {
    json!({"calls": response.calls().map(call_json).collect::<Vec<_>>(), "response": response})
}

/// A failed request for a value as JSON.
pub(super) fn error_json(error: &AskError) -> Value {
    json!({"error": error.to_string(), "attempts": attempts_json(&error.attempts)})
}

fn model(plan: Option<&Plan>) -> Option<String> {
    plan.map(|plan| format!("{}/{}", plan.provider, plan.model))
}

fn attempts_json(attempts: &[Attempt]) -> Vec<Value> {
    let attempt_json = |attempt: &Attempt| {
        let faults: Vec<String> =
            attempt.faults.iter().map(|fault| format!("{}: {}", fault.at, fault.detail)).collect();
        json!({
            "model": model(Some(&attempt.plan)),
            "response": attempt.response,
            "repairs": attempt.repairs,
            "faults": faults,
            "retries": attempt.retries,
        })
    };
    attempts.iter().map(attempt_json).collect()
}

fn call_json(call: &ToolCall) -> Value {
    let arguments = call.value().unwrap_or_else(|_| Value::String(call.arguments.clone()));
    json!({"id": call.id, "name": call.name, "arguments": arguments})
}

/// Prints a value.
pub(super) fn write_value(out: &mut dyn Write, style: Style, asked: &Asked<Value>) -> Result<()> {
    writeln!(out, "{}\n", style.text(&format!("{:#}", asked.value)))?;
    let times = asked.attempts.len();
    let plural = if times == 1 { "" } else { "s" };
    let usage = asked.usage();
    let how = channel(asked.strategy);
    let valid = style.paint(Tone::Good, "valid");
    let (read, wrote) = (usage.input_tokens, usage.output_tokens);
    let cost = asked.cost().usd().map_or_else(String::new, |usd| format!(", about ${usd:.6} by the list price"));
    writeln!(out, "{valid}, {how}, {times} attempt{plural}, {read} input tokens, {wrote} output tokens{cost}")?;
    write_repairs(out, style, asked.repairs())?;
    writeln!(out)?;
    write_changes(out, style, &asked.changes)
}

/// Prints text and tool calls.
pub(super) fn write_response(out: &mut dyn Write, style: Style, response: &Response) -> Result<()> {
    let text = response.text();
    if !text.is_empty() {
        writeln!(out, "{}", style.text(&text))?;
    }
    for call in response.calls() {
        let arguments = call.value().map_or_else(|_| call.arguments.clone(), |value| format!("{value:#}"));
        writeln!(out, "{} {}", style.paint(Tone::Strong, style.text(&call.name)), style.text(&arguments))?;
    }
    if let Some(words) = &response.refusal {
        writeln!(out, "{} {}", style.paint(Tone::Bad, "refused:"), style.text(words))?;
    }
    Ok(())
}

/// Prints the plan, the request and the response of one exchange.
pub(super) fn write_exchange(
    out: &mut dyn Write,
    style: Style,
    number: usize,
    plan: &Plan,
    raw: Option<&str>,
) -> Result<()> {
    writeln!(out, "{}", style.paint(Tone::Strong, format!("attempt {number}")))?;
    write_sent(out, style, plan)?;
    writeln!(out, "{}\n{}", style.paint(Tone::Strong, "response"), style.text(raw.unwrap_or_default()))?;
    Ok(())
}

/// Prints the plan and the request body.
pub(super) fn write_sent(out: &mut dyn Write, style: Style, plan: &Plan) -> Result<()> {
    write_plan(out, style, plan)?;
    let head = format!("request: {} {}", plan.endpoint.method, plan.endpoint.url);
    writeln!(out, "\n{}\n{}", style.paint(Tone::Strong, head), style.text(plan.body.get()))?;
    Ok(())
}

/// Names the emulated providers, because their plans show the real addresses.
pub(super) fn write_emulated(out: &mut dyn Write, emulated: &BTreeSet<String>) -> Result<()> {
    if !emulated.is_empty() {
        let names: Vec<&str> = emulated.iter().map(String::as_str).collect();
        writeln!(out, "emulated in this process: {}\n", names.join(", "))?;
    }
    Ok(())
}

/// Prints every attempt with its repairs and validation errors.
pub(super) fn write_attempts(out: &mut dyn Write, style: Style, attempts: &[Attempt]) -> Result<()> {
    for (number, attempt) in attempts.iter().enumerate() {
        write_exchange(out, style, number + 1, &attempt.plan, attempt.raw.as_deref())?;
        write_repairs(out, style, &attempt.repairs)?;
        if let Some(why) = &attempt.not_restored {
            writeln!(out, "  not restored: {}", style.text(why))?;
        }
        for fault in &attempt.faults {
            writeln!(out, "  invalid at {}: {}", style.text(place(&fault.at)), style.text(&fault.detail))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_repairs(out: &mut dyn Write, style: Style, repairs: &[Repair]) -> Result<()> {
    for repair in repairs {
        writeln!(out, "  repaired at {}: {}", style.text(place(&repair.at)), repair.kind.meaning())?;
    }
    Ok(())
}

/// A JSON Pointer as it is printed: `/` for the whole value.
fn place(at: &str) -> &str {
    if at.is_empty() { "/" } else { at }
}
