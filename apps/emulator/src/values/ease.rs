//! Schemas made easier to sample, never wider: bounds become a small window, and a pattern that the sampler cannot generate becomes
//! a text that matches it.

use polywire_testkit::sample;
use serde_json::{Map, Value, json};

use super::spelling::rewrite;
use super::validator;

/// Numbers nobody has to explain. Where the bounds allow it, numbers are made from this range.
const SMALL: (f64, f64) = (1.0, 9.0);

/// Texts that common patterns match: addresses, dates, ids, numbers, versions.
const TEXTS: &[&str] = &[
    "ada@example.com",
    "123e4567-e89b-42d3-a456-426614174000",
    "2024-05-17T09:30:00Z",
    "2024-05-17T09:30:00.000Z",
    "2024-05-17",
    "09:30:00",
    "09:30",
    "P1D",
    "https://example.com/a",
    "example.com",
    "192.0.2.7",
    "192.0.2.0/24",
    "2001:db8::7",
    "+14155550100",
    "7",
    "0.5",
    "1.2.3",
    "YWJj",
    "a1b2c3d4e5f6a7b8c9d0e1f2",
    "word",
    "Word1",
    "Passw0rd!",
    "word-2",
    "/a/b",
    "A",
    "AB",
    "ABC",
    "en-US",
    "#a1b2c3",
];

/// Seeds that are tried for a text of a pattern without its lookarounds.
const TRIES: u64 = 64;

/// The schema with bounds and patterns that the sampler can meet.
pub(crate) fn ease(schema: &Value, seed: u64) -> Value {
    rewrite(schema, &|map| {
        let mut map = map.clone();
        ease_number(&mut map);
        ease_pattern(&mut map, seed);
        map
    })
}

fn ease_number(map: &mut Map<String, Value>) {
    let is_number = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    let kinds = map.get("type");
    if !kinds.is_some_and(|kind| is_number(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_number))) {
        return;
    }
    let number = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
    let step = number("multipleOf").filter(|step| *step > 0.0);
    let grain = step.unwrap_or(1.0);
    // A bound that excludes itself moves inwards by the grain, which is right for whole numbers and safe for others.
    let low =
        [number("minimum"), number("exclusiveMinimum").map(|at| at + grain)].into_iter().flatten().reduce(f64::max);
    let high =
        [number("maximum"), number("exclusiveMaximum").map(|at| at - grain)].into_iter().flatten().reduce(f64::min);
    let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
    let window = match step {
        Some(step) => (step.max(low), (step * SMALL.1).min(high)),
        None => (SMALL.0.max(low), SMALL.1.min(high)),
    };
    let window = if window.0 <= window.1 {
        window
    } else if low > high {
        // Only numbers between two neighbours are left: the sampler finds them by itself.
        return;
    } else if low.is_finite() && low >= SMALL.0 {
        (low, high.min(low + grain * SMALL.1))
    } else {
        (low.max(high - grain * SMALL.1), high)
    };
    for (keyword, bound) in [("minimum", window.0), ("maximum", window.1)] {
        // The sampler refuses whole numbers near the limit of a double, so one is listed instead.
        if bound.abs() >= 9e15 {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a made-up number may be any in the window, and the validator judges it"
            )]
            map.insert("enum".to_owned(), json!([window.0 as i64, window.1 as i64]));
            return;
        }
        map.insert(keyword.to_owned(), json!(bound));
    }
    map.remove("exclusiveMinimum");
    map.remove("exclusiveMaximum");
}

fn ease_pattern(map: &mut Map<String, Value>, seed: u64) {
    let Some(pattern) = map.get("pattern").and_then(Value::as_str).map(str::to_owned) else { return };
    let keywords = ["pattern", "format", "minLength", "maxLength"];
    let mut rules: Map<String, Value> =
        keywords.iter().filter_map(|keyword| Some(((*keyword).to_owned(), map.get(*keyword)?.clone()))).collect();
    rules.insert("type".to_owned(), json!("string"));
    let rules = Value::Object(rules);
    let Some(validator) = validator(&rules) else { return };
    if sample(&rules, seed).is_some_and(|text| validator.is_valid(&text)) {
        return;
    }
    let listed = TEXTS.iter().map(|text| json!(text)).find(|text| validator.is_valid(text));
    let text = listed.or_else(|| {
        let bare = json!({"type": "string", "pattern": without_lookarounds(&pattern)});
        (0..TRIES).find_map(|step| sample(&bare, seed.wrapping_add(step)).filter(|text| validator.is_valid(text)))
    });
    match text {
        Some(text) => map.insert("enum".to_owned(), json!([text])),
        None => map.remove("pattern"),
    };
}

/// The pattern without its groups of the form `(?=…)`, `(?!…)`, `(?<=…)` and `(?<!…)`.
fn without_lookarounds(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some(end) = lookaround(rest) {
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        let length = if first == '\\' { rest.chars().take(2).map(char::len_utf8).sum() } else { first.len_utf8() };
        let (head, tail) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(head);
        rest = tail;
    }
    out
}

/// The length of the lookaround that a text starts with.
fn lookaround(text: &str) -> Option<usize> {
    if !["(?=", "(?!", "(?<=", "(?<!"].iter().any(|opening| text.starts_with(opening)) {
        return None;
    }
    let (mut depth, mut in_class, mut is_escaped) = (0_usize, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ']' => in_class = false,
            '[' => in_class = true,
            '(' if !in_class => depth += 1,
            ')' if !in_class => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
