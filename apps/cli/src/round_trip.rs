//! Round trips of sample values: encoded by the lens, validated by the fitted schema, and decoded.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use polywire::answer::Judge;
use polywire::schema::{FittedTools, Lens, ToolShape};
use polywire_testkit::{as_json_schema, equal};
use serde_json::{Value, json};

use crate::input::{Failure, read_text};
use crate::style::{Style, Tone};
use crate::values::judge_by;

/// The hint for a file without values.
const NEXT: &str = "expected: one JSON value, JSON lines, or a JSON array whose items are the values";

/// Reads values: a single array is a list of values, anything else is one value.
pub(crate) fn read_values(path: &str) -> Result<Vec<Value>> {
    let text = read_text(path)?;
    let read: serde_json::Result<Vec<Value>> = serde_json::Deserializer::from_str(&text).into_iter().collect();
    let mut values = read.map_err(|error| Failure::new(error, path, NEXT))?;
    match values.as_mut_slice() {
        [] => Err(Failure::new("no value", path, NEXT).into()),
        [Value::Array(items)] => Ok(std::mem::take(items)),
        _ => Ok(values),
    }
}

/// The lens of one schema and the validator of its fitted form.
pub(crate) struct RoundTrip<'f> {
    lens: &'f Lens,
    judge: Option<Judge>,
}

/// The result for one value.
pub(crate) struct TripResult {
    value: Value,
    /// `{"wire","back"}` or `{"error"}`.
    pub(crate) result: Value,
}

impl<'f> RoundTrip<'f> {
    pub(crate) fn new(lens: &'f Lens, schema: &Value, shape: ToolShape) -> Self {
        let schema = if shape == ToolShape::GeminiOpenapi { as_json_schema(schema.clone()) } else { schema.clone() };
        Self { lens, judge: judge_by(&schema) }
    }

    pub(crate) fn send(&self, value: Value) -> TripResult {
        let result = match self.there_and_back(&value) {
            Ok((wire, back)) => json!({ "wire": wire, "back": back }),
            Err(error) => json!({ "error": error }),
        };
        TripResult { value, result }
    }

    fn there_and_back(&self, value: &Value) -> Result<(Value, Value), String> {
        let wire = self.lens.encode(value.clone()).map_err(|error| error.to_string())?;
        if let Some(fault) = self.judge.as_ref().and_then(|judge| judge.faults(&wire).into_iter().next()) {
            return Err(format!("the fitted schema rejects it: {} (on the wire, at `{}`)", fault.detail, fault.at));
        }
        let back = self.lens.decode(wire.clone()).map_err(|error| format!("decoding failed: {error}"))?;
        if equal(&back, value) { Ok((wire, back)) } else { Err(format!("it is decoded to {back} (at ``)")) }
    }
}

impl TripResult {
    pub(crate) fn arrived(&self) -> bool {
        self.result.get("error").is_none()
    }

    fn write(&self, out: &mut dyn Write, style: Style) -> Result<()> {
        writeln!(out, "  {}", self.value)?;
        for (member, tone) in [("wire", Tone::Faint), ("back", Tone::Good), ("error", Tone::Bad)] {
            match self.result.get(member) {
                Some(Value::String(error)) if member == "error" => {
                    writeln!(out, "    {} {error}", style.paint(tone, member))?;
                }
                Some(value) => writeln!(out, "    {}  {value}", style.paint(tone, member))?,
                None => {}
            }
        }
        Ok(())
    }
}

/// The calls of a tool list: each value names a tool and holds its arguments.
pub(crate) fn send_calls(fitted: &FittedTools, shape: ToolShape, calls: Vec<Value>) -> Vec<TripResult> {
    let round_trips: BTreeMap<&str, RoundTrip<'_>> = fitted
        .tools
        .iter()
        .filter_map(|tool| Some((tool.original_name.as_str(), RoundTrip::new(tool.lens()?, &tool.schema, shape))))
        .collect();
    let trip = |call: Value| {
        let round_trip = call.get("name").and_then(Value::as_str).and_then(|name| round_trips.get(name));
        match (round_trip, call.get("arguments")) {
            (Some(round_trip), Some(arguments)) => {
                TripResult { result: round_trip.send(arguments.clone()).result, value: call }
            }
            (None, _) => refused(call, "unknown tool name (at `/name`)"),
            (Some(_), None) => refused(call, "missing tool arguments (at `/arguments`)"),
        }
    };
    calls.into_iter().map(trip).collect()
}

fn refused(value: Value, error: &str) -> TripResult {
    TripResult { value, result: json!({ "error": error }) }
}

/// Prints the values and their results.
pub(crate) fn write_results(out: &mut dyn Write, style: Style, results: &[TripResult]) -> Result<()> {
    let arrived = results.iter().filter(|trip| trip.arrived()).count();
    writeln!(out, "{} ({arrived} of {} survive the round trip)", style.paint(Tone::Strong, "values"), results.len())?;
    results.iter().try_for_each(|trip| trip.write(out, style))?;
    writeln!(out)?;
    Ok(())
}
