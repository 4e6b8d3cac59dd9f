//! What a value costs on its way through a lens, beside cloning it. `cargo bench -p polywire-schema --bench lens` prints the
//! ratios, the best of several rounds in one run.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark fails loudly and prints what it finds"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use polywire_schema::{FitOptions, Fitted, dialect, fit};
use serde_json::{Value, json};

const ROUNDS: usize = 15;

fn main() {
    let schema = json!({
        "type": "object",
        "properties": {
            "people": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "email": {"type": "string"},
                    "age": {"type": "integer"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "contact": {"anyOf": [
                        {"type": "object", "properties": {"phone": {"type": "string"}}, "required": ["phone"], "additionalProperties": false},
                        {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}
                    ]}
                },
                "required": ["name"],
                "additionalProperties": false
            }}
        },
        "required": ["people"],
        "additionalProperties": false
    });
    let people: Vec<Value> = (0..6_000)
        .map(|index| {
            json!({
                "name": format!("Person number {index}"),
                "age": index % 90,
                "labels": {"team": "north", "level": format!("{}", index % 7)},
                "contact": if index % 2 == 0 { json!({"phone": "555 0100"}) } else { json!({"city": "Bern"}) }
            })
        })
        .collect();
    let value = json!({ "people": people });
    let bytes = value.to_string().len();
    println!("a value of {:.2} MB", bytes as f64 / 1e6);
    for id in ["mcp", "openai-strict", "anthropic-strict", "gemini-openapi", "cca"] {
        let fitted = fit(&schema, dialect(id).expect("a dialect"), &FitOptions::default()).expect("a fit");
        report(id, &fitted, &value, bytes);
    }
}

fn report(id: &str, fitted: &Fitted, value: &Value, bytes: usize) {
    let wire = fitted.encode(value.clone()).expect("on the wire");
    let clone = best(|| (), |()| black_box(value.clone()));
    let clone_wire = best(|| (), |()| black_box(wire.clone()));
    let encode = best(|| value.clone(), |value| black_box(fitted.encode(value).expect("on the wire")));
    let decode = best(|| wire.clone(), |wire| black_box(fitted.decode(wire).expect("back")));
    let speed = |time: Duration| bytes as f64 / time.as_secs_f64().max(1e-9) / 1e6;
    let ratio = |time: Duration, clone: Duration| time.as_secs_f64() / clone.as_secs_f64();
    println!(
        "{id:18} identity {:5} encode {:8.0} MB/s, {:.2} clones; decode {:8.0} MB/s, {:.2} clones",
        fitted.lens().is_identity(),
        speed(encode),
        ratio(encode, clone),
        speed(decode),
        ratio(decode, clone_wire)
    );
}

/// The shortest of several rounds; what is prepared and what is dropped is not counted.
fn best<I, O>(prepare: impl Fn() -> I, work: impl Fn(I) -> O) -> Duration {
    let round = |_| {
        let input = prepare();
        let start = Instant::now();
        let output = work(input);
        let time = start.elapsed();
        drop(output);
        time
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}
