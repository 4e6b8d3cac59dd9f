//! Hostile schemas and texts stay cheap: what fitting, checking and reading take is metered, and fails above the bounds that the
//! documentation promises.

use std::time::Duration;

use polywire_answer::{ReadOptions, Schema, Stream, read_with};
use polywire_schema::{Dialect, FitOptions, check_text, dialects, fit_text};
use serde_json::{Map, Value, json};

use crate::answer_families::FAMILIES as ANSWERS;
use crate::families::{FAMILIES, largest};
use crate::meter::{Cost, measured};

/// A schema, or a text with its schema, of up to so many bytes may take this, and a larger one as many times more as it is larger.
const BYTES: usize = 100_000;
const TIME: Duration = Duration::from_secs(2);
const MEMORY: usize = 300_000_000;

/// The dialects for which every family is tried at full size: one of each kind.
const KINDS: [&str; 6] = ["anthropic-strict", "cca", "gemini-openapi", "openai", "openai-strict", "portable"];

/// Puts the schema into recursive unions, intersections or shared definitions, which the second byte chooses.
pub fn cost(data: &[u8]) -> Result<(), String> {
    let Some((dialect, options, text)) = crate::chosen(data) else { return Ok(()) };
    let Ok(schema) = serde_json::from_str::<Value>(text) else { return Ok(()) };
    let grown = amplified(&schema, data.get(1).copied().unwrap_or_default());
    bounded(&grown.to_string(), dialect, &options)
}

/// Tries every family of costly input.
pub fn families() -> Result<(), String> {
    fitted_families()?;
    ANSWERS.iter().try_for_each(|(name, of)| {
        let (schema, text) = of(BYTES);
        let length = schema.to_string().len() + text.len();
        let ((), cost) = measured(|| read_both_ways(&text, &schema));
        within(cost, length).map_err(|fault| format!("{name}: reading {fault} for {length} bytes"))
    })
}

/// Reads a text by a schema, whole and as it arrives.
fn read_both_ways(text: &str, schema: &Value) {
    let Ok(schema) = Schema::new(schema) else { return };
    drop(read_with(text, Some(&schema), &ReadOptions::default()));
    let mut stream = Stream::new();
    text.split_inclusive([',', ' ']).for_each(|chunk| stream.push(chunk));
}

/// Fits every family, at full size for some dialects and smaller for all.
fn fitted_families() -> Result<(), String> {
    for family in FAMILIES {
        let (full, small) = (largest(family, BYTES).1.to_string(), largest(family, BYTES / 20).1.to_string());
        for dialect in dialects() {
            let text = if KINDS.contains(&dialect.id()) { &full } else { &small };
            bounded(text, dialect, &FitOptions::default()).map_err(|fault| format!("{}: {fault}", family.name))?;
        }
    }
    Ok(())
}

fn bounded(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<(), String> {
    let ((), cost) = measured(|| {
        drop(fit_text(text, dialect, options));
        drop(check_text(text, dialect, options.slot));
    });
    within(cost, text.len()).map_err(|fault| format!("{}: {fault} for {} bytes", dialect.id(), text.len()))
}

fn within(Cost { time, bytes }: Cost, length: usize) -> Result<(), String> {
    let scale = u32::try_from(length.div_ceil(BYTES)).unwrap_or(u32::MAX).max(1);
    if time > TIME * scale {
        return Err(format!("took {time:?} of processor time"));
    }
    if bytes > MEMORY.saturating_mul(scale as usize) {
        return Err(format!("took {} MB of memory", bytes / 1_000_000));
    }
    Ok(())
}

fn amplified(leaf: &Value, how: u8) -> Value {
    let count = usize::from(how / 4 % 8) + 2;
    let reference = |index: usize| json!({"$ref": format!("#/$defs/d{}", index % count)});
    let part = |index: usize| match how % 4 {
        0 => {
            let others = (0..count).filter(|other| *other != index).map(reference);
            json!({"anyOf": others.chain([leaf.clone()]).collect::<Vec<_>>()})
        }
        1 => {
            let unions =
                (0..count).map(|own| json!({"anyOf": [reference(index), {"properties": {format!("k{own}"): leaf}}]}));
            json!({"allOf": unions.collect::<Vec<_>>()})
        }
        2 => json!({"allOf": [reference(index + 1), reference(index + 1), leaf], "unevaluatedProperties": false}),
        _ => json!({"oneOf": [reference(index + 1), leaf, {"type": "array", "items": reference(index + 2)}]}),
    };
    let definitions: Map<String, Value> = (0..count).map(|index| (format!("d{index}"), part(index))).collect();
    json!({"type": "object", "properties": {"x": reference(0), "y": leaf}, "$defs": definitions})
}
