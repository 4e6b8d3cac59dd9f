//! What polywire itself costs beside the exchange that it serves: plan, write, read and restore of a request with 40 tools, warm and
//! cold, as a share of the round trip of the same bytes to the emulator on loopback, in one run. The tools are real ones where
//! `../shared` is beside the repository, else made up.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark fails loudly and prints what it finds"
)]

use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use polywire::wire::{Message, Request};
use polywire::{Catalog, Plan, PlanOptions, Planner, decode, restore};
use polywire_emulator::Emulator;

#[path = "../../../crates/polywire/benches/tools/mod.rs"]
mod tools;

const TARGETS: [&str; 4] =
    ["openai/gpt-5", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro", "bedrock/anthropic.claude-sonnet-4-5"];

/// How often each is measured; the median counts.
const TIMES: usize = 31;

type Body = Full<hyper::body::Bytes>;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let emulator = Emulator::start(0).await.expect("a port");
    let address = emulator.url().replace("http://", "");
    let request = Request { tools: tools::tools(), ..Request::new("", vec![Message::user("Hello")]) };
    for name in TARGETS {
        let model = Catalog::built_in().resolve(name).expect("a model");
        let planner = Planner::new(PlanOptions::default());
        let plan = planner.plan(&request, &model).expect("a plan");
        let stream = tokio::net::TcpStream::connect(&address).await.expect("a connection");
        let (mut sender, connection) = handshake::<_, Body>(TokioIo::new(stream)).await.expect("a connection");
        tokio::spawn(connection);
        let path = path(&emulator, &plan);
        let answer = exchange(&mut sender, &path, &plan).await;
        let mut trips = Vec::new();
        for _ in 0..TIMES {
            let start = Instant::now();
            exchange(&mut sender, &path, &plan).await;
            trips.push(start.elapsed());
        }
        let trip = median(trips);
        let cold = time(|| drop(Planner::new(PlanOptions::default()).plan(&request, &model)));
        let warm = time(|| drop(planner.plan(&request, &model)));
        let back = time(|| {
            let read = decode(&answer, plan.protocol).expect("an answer");
            drop(restore(read.value, &plan));
        });
        let share = 100.0 * (warm + back).as_secs_f64() / trip.as_secs_f64();
        println!(
            "{name}: {} bytes, round trip {trip:?}, cold plan {cold:?}, warm plan {warm:?}, way back {back:?}: {share:.1} %",
            plan.body.get().len()
        );
    }
}

/// Sends the plan's bytes and takes the answer's, and nothing else.
async fn exchange(sender: &mut SendRequest<Body>, path: &str, plan: &Plan) -> Vec<u8> {
    let body = Body::from(plan.body.get().to_owned());
    let request = hyper::Request::post(path).header("host", "localhost").header("content-type", "application/json");
    sender.ready().await.expect("a connection");
    let answer = sender.send_request(request.body(body).expect("a request")).await.expect("an answer");
    assert_eq!(answer.status(), 200, "the plan is refused");
    answer.into_body().collect().await.expect("an answer").to_bytes().to_vec()
}

/// Where the emulator takes what the plan would send to the provider.
fn path(emulator: &Emulator, plan: &Plan) -> String {
    let provider = Catalog::built_in().providers().find(|row| row.id == plan.provider).expect("a provider");
    let base = emulator.base_url(provider).replace(&emulator.url(), "");
    let own = plan.endpoint.url.strip_prefix(&provider.base_url).expect("the provider's address");
    format!("{base}{own}")
}

fn time(mut run: impl FnMut()) -> Duration {
    let measured = (0..TIMES).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    median(measured.collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
