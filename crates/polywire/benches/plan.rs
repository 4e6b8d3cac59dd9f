//! What a plan costs: 40 tools fitted for the first time and again, beside writing the same body with `serde_json`; and what
//! reading the rows costs at the start. The tools are real ones where `../shared` is beside the repository, else made up.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark fails loudly and prints what it finds"
)]

use std::hint::black_box;
use std::sync::LazyLock;

use divan::Bencher;
use polywire::wire::{Message, Request};
use polywire::{Catalog, Model, PlanOptions, Planner};
use serde_json::Value;

mod median;
mod tools;

use median::time;

const TARGETS: [&str; 4] =
    ["openai/gpt-5", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro", "bedrock/anthropic.claude-sonnet-4-5"];

static REQUEST: LazyLock<Request> =
    LazyLock::new(|| Request { tools: tools::tools(), ..Request::new("", vec![Message::user("Hello")]) });

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
