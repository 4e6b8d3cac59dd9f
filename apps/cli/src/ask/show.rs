//! What is shown of an answer: the value or the words, how they came, and on request every byte.

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

/// An answer in words or calls as JSON.
pub(super) fn completion_json(done: &Completion) -> Value {
    json!({"response": done.response, "model": model(Some(&done.plan)), "changes": done.changes, "cost_usd": done.cost.usd(), "retries": done.retries})
}

/// Calls as JSON.
pub(super) fn calls_json(response: &Response) -> Value {
    json!({"calls": response.calls().map(call_json).collect::<Vec<_>>(), "response": response})
}

/// Why there is no value, as JSON.
pub(super) fn error_json(error: &AskError) -> Value {
    json!({"error": error.to_string(), "attempts": attempts_json(&error.attempts)})
}

fn model(plan: Option<&Plan>) -> Option<String> {
    plan.map(|plan| format!("{}/{}", plan.provider, plan.model))
}

fn attempts_json(attempts: &[Attempt]) -> Vec<Value> {
    let told = |attempt: &Attempt| {
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
    attempts.iter().map(told).collect()
}

fn call_json(call: &ToolCall) -> Value {
    let arguments = call.value().unwrap_or_else(|_| Value::String(call.arguments.clone()));
    json!({"id": call.id, "name": call.name, "arguments": arguments})
}

/// A value for people.
pub(super) fn write_value(out: &mut dyn Write, style: Style, asked: &Asked<Value>) -> Result<()> {
    writeln!(out, "{}\n", style.text(&format!("{:#}", asked.value)))?;
    let times = asked.attempts.len();
    let plural = if times == 1 { "" } else { "s" };
    let usage = asked.usage();
    let how = channel(asked.strategy);
    let valid = style.paint(Tone::Good, "valid");
    let (read, wrote) = (usage.input_tokens, usage.output_tokens);
    let cost = asked.cost().usd().map_or_else(String::new, |usd| format!(", about ${usd:.6} by the list price"));
    writeln!(out, "{valid}, asked for {how}, {times} attempt{plural}, {read} tokens in and {wrote} out{cost}")?;
    write_repairs(out, style, asked.repairs())?;
    writeln!(out)?;
    write_changes(out, style, &asked.changes)
}

/// Words and calls for people.
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

/// Everything about an exchange: what was decided, what was sent, what came.
pub(super) fn write_exchange(
    out: &mut dyn Write,
    style: Style,
    number: usize,
    plan: &Plan,
    raw: Option<&str>,
) -> Result<()> {
    writeln!(out, "{}", style.paint(Tone::Strong, format!("attempt {number}")))?;
    write_sent(out, style, plan)?;
    writeln!(out, "{}\n{}", style.paint(Tone::Strong, "answered"), style.text(raw.unwrap_or_default()))?;
    Ok(())
}

/// What was decided and sent.
pub(super) fn write_sent(out: &mut dyn Write, style: Style, plan: &Plan) -> Result<()> {
    write_plan(out, style, plan)?;
    let head = format!("sent by {} to {}", plan.endpoint.method, plan.endpoint.url);
    writeln!(out, "\n{}\n{}", style.paint(Tone::Strong, head), style.text(plan.body.get()))?;
    Ok(())
}

/// Which providers are not the real ones, whatever their plans say.
pub(super) fn write_emulated(out: &mut dyn Write, emulated: &BTreeSet<String>) -> Result<()> {
    if !emulated.is_empty() {
        let names: Vec<&str> = emulated.iter().map(String::as_str).collect();
        writeln!(out, "emulated on this machine: {}\n", names.join(", "))?;
    }
    Ok(())
}

/// Every attempt, with what was repaired and what is wrong.
pub(super) fn write_attempts(out: &mut dyn Write, style: Style, attempts: &[Attempt]) -> Result<()> {
    for (number, attempt) in attempts.iter().enumerate() {
        write_exchange(out, style, number + 1, &attempt.plan, attempt.raw.as_deref())?;
        write_repairs(out, style, &attempt.repairs)?;
        if let Some(why) = &attempt.not_restored {
            writeln!(out, "  not brought back: {}", style.text(why))?;
        }
        for fault in &attempt.faults {
            writeln!(out, "  wrong at {}: {}", style.text(place(&fault.at)), style.text(&fault.detail))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_repairs(out: &mut dyn Write, style: Style, repairs: &[Repair]) -> Result<()> {
    for repair in repairs {
        writeln!(out, "  repaired {}: {}", style.text(place(&repair.at)), repair.kind.meaning())?;
    }
    Ok(())
}

/// A place in a value, for people: the whole value has an empty pointer.
fn place(at: &str) -> &str {
    if at.is_empty() { "/" } else { at }
}
