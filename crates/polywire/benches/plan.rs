//! What a plan costs: 40 tools fitted for the first time and again, beside writing the same body with `serde_json`; and what
//! reading the rows costs at the start. The tools are real ones where `../shared` is beside the repository, else made up.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark fails loudly and prints what it finds"
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use divan::Bencher;
use polywire::wire::{Function, Message, Request, Tool};
use polywire::{Catalog, Model, PlanOptions, Planner};
use serde_json::{Value, json};

const TARGETS: [&str; 4] =
    ["openai/gpt-5", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro", "bedrock/anthropic.claude-sonnet-4-5"];

static REQUEST: LazyLock<Request> = LazyLock::new(|| {
    let tools = shared_tools().unwrap_or_else(|| (0..40).map(made_up).collect());
    Request { tools, ..Request::new("", vec![Message::user("Hello")]) }
});

fn shared_tools() -> Option<Vec<Tool>> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "corpus", "mcp-tools.jsonl"].iter().collect();
    let text = std::fs::read_to_string(path).ok()?;
    let lines = text.lines().step_by(9).take(40);
    let tools = lines.map(|line| serde_json::from_str::<Value>(line).expect("a tool a line"));
    Some(tools.map(|tool| function(tool["name"].as_str().unwrap_or_default(), tool["inputSchema"].clone())).collect())
}

fn made_up(number: usize) -> Tool {
    let fields = (0..6).map(|field| (format!("field_{field}"), json!({"type": ["string", "null"], "maxLength": 90})));
    let fields: serde_json::Map<String, Value> = fields.collect();
    function(&format!("tool.{number}"), json!({"type": "object", "properties": fields, "required": ["field_0"]}))
}

fn function(name: &str, parameters: Value) -> Tool {
    Tool::Function(Function { name: name.to_owned(), parameters: Some(parameters), ..Function::default() })
}

fn model(name: &str) -> Model {
    Catalog::built_in().resolve(name).expect("a model")
}

fn main() {
    for name in TARGETS {
        let model = model(name);
        let planner = Planner::new(PlanOptions::default());
        let cold = time(|| drop(Planner::new(PlanOptions::default()).plan(&REQUEST, &model)));
        let warm = time(|| drop(planner.plan(&REQUEST, &model)));
        let plan = planner.plan(&REQUEST, &model).expect("a plan");
        let body: Value = serde_json::from_str(plan.body.get()).expect("a body");
        let write = time(|| drop(serde_json::to_vec(&body)));
        let ratio = warm.as_secs_f64() / write.as_secs_f64();
        println!(
            "{name}: cold {cold:?}, warm {warm:?}, {ratio:.1} times writing its body of {} bytes",
            plan.body.get().len()
        );
    }
    divan::main();
}

/// The median of some runs.
fn time(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..31)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

#[divan::bench(args = TARGETS)]
fn cold(bencher: Bencher<'_, '_>, name: &str) {
    let model = model(name);
    bencher.bench_local(|| Planner::new(PlanOptions::default()).plan(black_box(&REQUEST), &model));
}

#[divan::bench(args = TARGETS)]
fn warm(bencher: Bencher<'_, '_>, name: &str) {
    let (model, planner) = (model(name), Planner::new(PlanOptions::default()));
    bencher.bench_local(|| planner.plan(black_box(&REQUEST), &model));
}

#[divan::bench]
fn read_the_rows() -> Catalog {
    let providers = include_str!("../data/providers.toml");
    let models = include_str!("../data/models.toml");
    Catalog::from_toml(black_box(providers), black_box(models)).expect("rows")
}
