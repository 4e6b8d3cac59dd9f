//! The tool loop: calls that fail, panic, are slow or run side by side, runs that are bounded, dropped and gone on with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use polywire::tools::{Run, RunEvent, RunStop, Toolbox};
use polywire::wire::{Block, Delta, Event, Message, Request, Role, ToolCall, ToolResult};
use polywire_emulator::Emulator;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::script::{STREAM, Script, chat, say, soon};

/// A stream of calls, or of words where there are none.
fn events(calls: &[(&str, &str, Value)]) -> String {
    let chunk = |delta: &Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!(
            "data: {}\n\n",
            json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]})
        )
    };
    let usage = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    let named = calls.iter().enumerate().map(|(index, (id, name, arguments))| {
        json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
    });
    let (delta, finish) = if calls.is_empty() {
        (json!({"role": "assistant", "content": "Done."}), "stop")
    } else {
        (json!({"role": "assistant", "tool_calls": named.collect::<Vec<_>>()}), "tool_calls")
    };
    format!("{STREAM}{}{}data: {usage}\n\ndata: [DONE]\n\n", chunk(&delta, None), chunk(&json!({}), Some(finish)))
}

/// A server that answers the first requests with these calls, and later ones with words.
async fn server(turns: Vec<Vec<(&'static str, &'static str, Value)>>) -> Script {
    let turns = Arc::new(turns);
    Script::start(move |mut stream, number| {
        let turns = Arc::clone(&turns);
        async move { say(&mut stream, &events(turns.get(number).map(Vec::as_slice).unwrap_or_default())).await }
    })
    .await
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Pair {
    left: i64,
    right: i64,
}

fn toolbox() -> Toolbox {
    let object = || json!({"type": "object"});
    Toolbox::new()
        .tool("add", "Adds two numbers", |pair: Pair| async move { Ok::<_, String>(pair.left + pair.right) })
        .tool("fail", "Fails", |_: Value| async { Err::<(), _>("the disk is full") })
        .json("panic", "Panics", object(), |_| async { panic!("a mistake in the tool") as Result<Value, String> })
        .json("slow", "Takes long", object(), |_| async {
            sleep(Duration::from_mins(1)).await;
            Ok::<_, String>(Value::Null)
        })
        .with_timeout(Duration::from_millis(200))
}

fn run(script: &Script, toolbox: &Toolbox) -> Run {
    script.client(soon()).run(Request::user("Go."), toolbox, &chat())
}

fn texts(results: &[ToolResult]) -> Vec<(String, bool)> {
    results.iter().map(|result| (format!("{:?}", result.content), result.is_error)).collect()
}

/// Failures of any kind are results that the model reads; the run goes on.
#[tokio::test]
async fn failing_tools_are_told_to_the_model() {
    let calls = vec![
        ("c1", "add", json!({"left": 2, "right": 3})),
        ("c2", "fail", json!({})),
        ("c3", "panic", json!({})),
        ("c4", "slow", json!({})),
        ("c5", "add", json!({"left": "two"})),
        ("c6", "nonsense", json!({})),
    ];
    let script = server(vec![calls]).await;
    let outcome = run(&script, &toolbox()).await.expect("an answer");
    assert_eq!((outcome.stop, outcome.response.text().as_str(), outcome.turns.len()), (RunStop::Answered, "Done.", 2));
    let results = texts(&outcome.turns[0].results);
    let expected =
        ["\"5\"", "the disk is full", "failed unexpectedly", "within 200ms", "right", "there is no tool `nonsense`"];
    for (number, (text, says)) in results.iter().zip(expected).enumerate() {
        assert!(text.0.contains(says), "{number}: {text:?}");
        assert_eq!(text.1, number > 0, "{text:?}");
    }
    assert_eq!(results.len(), 6);
    let second = script.request(1);
    assert!(second.contains("the disk is full") && !second.contains("a mistake in the tool"), "{second}");
    assert_eq!(outcome.usage().input_tokens, 20);
    assert_eq!(
        outcome.history.iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::User, Role::Assistant, Role::Tool, Role::Assistant]
    );
}

/// Calls of one turn run side by side, as many as allowed, and their results stand in the order of the calls.
#[tokio::test]
async fn calls_run_side_by_side() {
    let calls: Vec<(&str, &str, Value)> = vec![
        ("a", "wait", json!({"ms": 300})),
        ("b", "wait", json!({"ms": 200})),
        ("c", "wait", json!({"ms": 100})),
        ("d", "wait", json!({"ms": 50})),
    ];
    for (parallel, at_least, at_most) in [(8, 0, 600), (1, 650, 5000)] {
        let script = server(vec![calls.clone()]).await;
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
        let wait = move |arguments: Value| {
            let (now, most) = (Arc::clone(&counted), Arc::clone(&seen));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default())).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, String>(arguments["ms"].clone())
            }
        };
        let toolbox = Toolbox::new().json("wait", "Waits", json!({"type": "object"}), wait).with_max_parallel(parallel);
        let mut run = run(&script, &toolbox);
        let began = Instant::now();
        let mut order = Vec::new();
        while let Some(event) = run.next().await {
            if let RunEvent::Result(result) = event.expect("an event") {
                order.push(result.call_id);
            }
        }
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(at_least) && took < Duration::from_millis(at_most), "{took:?}");
        assert_eq!(most.load(Ordering::SeqCst), parallel.min(4));
        let outcome = run.finish().await.expect("an answer");
        let ids: Vec<&str> = outcome.turns[0].results.iter().map(|result| result.call_id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c", "d"]);
        if parallel > 1 {
            assert_eq!(order, ["d", "c", "b", "a"], "results are shown as they come");
        }
    }
}

/// Counts how often it is dropped.
struct OnDrop(Arc<AtomicUsize>);
impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A run that is dropped ends its calls; its history goes on in another run, which makes the calls that have no result.
#[tokio::test]
async fn a_dropped_run_can_be_gone_on_with() {
    let script = server(vec![vec![("c1", "add", json!({"left": 1, "right": 1})), ("c2", "slow", json!({}))]]).await;
    let ended = Arc::new(AtomicUsize::new(0));
    let started = Arc::new(AtomicUsize::new(0));
    let (counts, starts) = (Arc::clone(&ended), Arc::clone(&started));
    let slow = move |_: Value| {
        let (guard, first) = (OnDrop(Arc::clone(&counts)), starts.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            if first {
                sleep(Duration::from_mins(1)).await;
            }
            drop(guard);
            Ok::<_, String>(json!("at last"))
        }
    };
    let toolbox = toolbox().with_timeout(Duration::from_secs(90)).json("slow", "Slow", json!({"type": "object"}), slow);
    let mut first = run(&script, &toolbox);
    while let Some(event) = first.next().await {
        if matches!(event.expect("an event"), RunEvent::Result(_)) {
            break;
        }
    }
    let history = first.history();
    assert_eq!(history.len(), 3, "the result that came is on record");
    drop(first);
    let began = Instant::now();
    while ended.load(Ordering::SeqCst) == 0 {
        assert!(began.elapsed() < Duration::from_secs(5), "the call goes on");
        sleep(Duration::from_millis(5)).await;
    }
    let request = Request { messages: history, ..Request::default() };
    let outcome = script.client(soon()).run(request, &toolbox, &chat()).await.expect("an answer");
    assert_eq!((outcome.stop, outcome.turns.len(), started.load(Ordering::SeqCst)), (RunStop::Answered, 1, 2));
    let results: Vec<&str> = outcome.history[2].content.iter().filter_map(Block::answers).collect();
    assert_eq!((results, outcome.history.len()), (vec!["c1", "c2"], 4));
}

#[tokio::test]
async fn runs_are_bounded_in_turns_and_tokens() {
    let again = || vec![("c", "add", json!({"left": 1, "right": 1}))];
    let turns = |count| (0..count).map(|_| again()).collect::<Vec<_>>();
    let script = server(turns(50)).await;
    let outcome = run(&script, &toolbox()).max_turns(3).await.expect("an end");
    assert_eq!((outcome.stop, outcome.turns.len(), script.count()), (RunStop::TurnLimit, 3, 3));
    assert_eq!(
        outcome.turns[2].results.len(),
        1,
        "the calls of the last turn were made, so that another run can go on"
    );
    let outcome = run(&script, &toolbox()).max_total_tokens(40).await.expect("an end");
    assert_eq!((outcome.stop, outcome.turns.len()), (RunStop::TokenLimit, 3));
}

/// Tools that the caller keeps are the caller's to call.
#[tokio::test]
async fn calls_of_other_tools_are_left_open() {
    let script = server(vec![vec![("c1", "add", json!({"left": 1, "right": 1})), ("c2", "confirm", json!({}))]]).await;
    let confirm = polywire::wire::Function::new("confirm", "Asks a person", json!({"type": "object"}));
    let request = Request::user("Go.").tool(confirm);
    let outcome = script.client(soon()).run(request, &toolbox(), &chat()).await.expect("an end");
    assert_eq!(outcome.stop, RunStop::OpenCalls);
    let open: Vec<&ToolCall> = outcome.response.calls().filter(|call| call.name == "confirm").collect();
    let mut history = outcome.history.clone();
    history.push(Message::tool([ToolResult::text(open[0].id.clone(), "yes")]));
    let request = Request { messages: history, ..Request::default() };
    let outcome = script.client(soon()).run(request, &toolbox(), &chat()).await.expect("an answer");
    assert_eq!(outcome.stop, RunStop::Answered);
}

/// Half a call is not made, however well it could be completed.
#[tokio::test]
async fn arguments_that_are_cut_are_not_used() {
    let script = Script::start(|mut stream, number| async move {
        let whole = events(&[("c1", "add", json!({"left": 1, "right": 12}))]);
        let cut = whole.replace("12}", "1");
        say(&mut stream, &if number == 0 { cut } else { events(&[]) }).await;
    })
    .await;
    let outcome = run(&script, &toolbox()).await.expect("an answer");
    let result = &outcome.turns[0].results[0];
    assert!(result.is_error && format!("{result:?}").contains("before they are complete"), "{result:?}");
}

#[tokio::test]
async fn errors_keep_what_came_before() {
    let script = Script::start(|mut stream, number| async move {
        if number == 0 {
            say(&mut stream, &events(&[("c1", "add", json!({"left": 1, "right": 1}))])).await;
        } else {
            say(&mut stream, &super::script::answer("400 Bad Request", "", r#"{"error":{"message":"no"}}"#)).await;
        }
    })
    .await;
    let error = run(&script, &toolbox()).await.expect_err("refused");
    assert_eq!((error.turns.len(), error.history.len()), (1, 3));
    assert!(error.to_string().starts_with("turn 2: "), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

/// Every protocol's emulator finishes a run, with text shown as it arrives.
#[tokio::test]
async fn every_protocol_runs_tools() {
    let emulator = Emulator::start(0).await.expect("a port");
    for name in super::MODELS {
        let model = super::model(name);
        let client = super::client(&emulator, &model, "");
        let mut run = client.run(Request::user("Add two numbers."), &toolbox(), &model).max_turns(4);
        let (mut calls, mut text) = (0, String::new());
        while let Some(event) = run.next().await {
            match event.unwrap_or_else(|error| panic!("{name}: {error}")) {
                RunEvent::Call(_) => calls += 1,
                RunEvent::Event(Event::Delta { delta: Delta::Text(more), .. }) => text.push_str(&more),
                _ => {}
            }
        }
        let outcome = run.finish().await.expect("an end");
        assert!(calls > 0 || !text.is_empty(), "{name}: {outcome:?}");
    }
}
