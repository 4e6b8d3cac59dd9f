//! Token usage in the `OpenAI` protocols: the same fields under two sets of names.

use serde_json::{Map, Value, json};

use super::Protocol;
use super::context::{At, Context};
use crate::fields::Fields;
use crate::neutral::{Extra, Usage};

/// The field names.
pub(super) struct Names {
    pub(super) input: &'static str,
    pub(super) output: &'static str,
    pub(super) input_details: &'static str,
    pub(super) output_details: &'static str,
}

const CACHED: &str = "cached_tokens";
const WRITTEN: &str = "cache_write_tokens";
const REASONING: &str = "reasoning_tokens";

pub(super) fn write(ctx: &mut Context<'_>, names: &Names, usage: &Usage) -> Map<String, Value> {
    let mut extra = ctx.extra(&At::ROOT.field("usage"), &usage.extra).cloned().unwrap_or_default();
    let mut details = |name: &str, counts: &[(&str, u64)]| {
        let kept = extra.shift_remove(name);
        let mut details = if let Some(Value::Object(kept)) = kept { kept } else { Map::new() };
        details.extend(counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))));
        Value::Object(details)
    };
    let read = details(names.input_details, &[(CACHED, usage.cache_read_tokens), (WRITTEN, usage.cache_write_tokens)]);
    let written = details(names.output_details, &[(REASONING, usage.reasoning_tokens)]);
    let total = usage.input_tokens.saturating_add(usage.output_tokens);
    let counts = [
        (names.input, json!(usage.input_tokens)),
        (names.input_details, read),
        (names.output, json!(usage.output_tokens)),
        (names.output_details, written),
        ("total_tokens", json!(total)),
    ];
    counts.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(extra).collect()
}

pub(super) fn read(protocol: Protocol, names: &Names, mut usage: Fields) -> Usage {
    let mut input = usage.object(names.input_details).unwrap_or_default();
    let mut output = usage.object(names.output_details).unwrap_or_default();
    let read = Usage {
        input_tokens: usage.count(names.input).unwrap_or(0),
        output_tokens: usage.count(names.output).unwrap_or(0),
        cache_read_tokens: input.count(CACHED).unwrap_or(0),
        cache_write_tokens: input.count(WRITTEN).unwrap_or(0),
        reasoning_tokens: output.count(REASONING).unwrap_or(0),
        extra: Extra::default(),
    };
    usage.count("total_tokens");
    usage.put_rest(names.input_details, input);
    usage.put_rest(names.output_details, output);
    Usage { extra: Extra::of(protocol, usage.rest()), ..read }
}
