//! Stores that go away or lose their data: budgets and rates hold, and nobody pays for what was refused.

use std::time::{Duration, Instant};

use polywire_gateway::{Gateway, KeyRole, KeyStore};
use serde_json::{Value, json};

use crate::servers::{Postgres, Redis};
use crate::{ask, ask_model, get, limits, replica, usage};

/// Waits until every replica knows of all of them.
async fn wait_for_replicas(replicas: &[&Gateway]) {
    for gateway in replicas {
        let until = Instant::now() + Duration::from_secs(30);
        while get(gateway, "/ready", "").await.get("replicas") != Some(&json!(replicas.len())) {
            assert!(Instant::now() < until, "the replicas do not know each other");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Asks until the status is this one. Counters are settled shortly after an answer.
async fn wait_for_status(gateway: &Gateway, key: &str, wanted: u16) {
    for _ in 0..200 {
        if ask(gateway, key).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no status {wanted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r_g5_budgets_survive_a_redis_that_restarts_empty() {
    let (postgres, mut redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let (_, key) = store.create("poor", KeyRole::User, limits(r#"{"usd-total": 0.0000001}"#)).await.expect("a key");
    let (first, second) = (replica(&postgres, &redis, "").await, replica(&postgres, &redis, "").await);
    assert_eq!(ask(&first, &key).await, 200);
    wait_for_status(&first, &key, 402).await;
    redis.stop();
    redis.restart();
    let fresh = replica(&postgres, &redis, "").await;
    for gateway in [&first, &second, &fresh] {
        for _ in 0..3 {
            assert_eq!(ask(gateway, &key).await, 402);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_g5_a_minute_s_limit_is_not_granted_again_without_redis() {
    let (postgres, mut redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let limit = 120;
    let lines = format!(r#"{{"requests-per-minute": {limit}}}"#);
    let (_, key) = store.create("k", KeyRole::User, limits(&lines)).await.expect("a key");
    let (first, second) = (replica(&postgres, &redis, "").await, replica(&postgres, &redis, "").await);
    wait_for_replicas(&[&first, &second]).await;
    let started = Instant::now();
    let mut answered = 0_u32;
    let mut round = async |count: u32| {
        for _ in 0..count {
            let both = tokio::join!(ask(&first, &key), ask(&second, &key));
            for status in [both.0, both.1] {
                assert!(status == 200 || status == 429, "{status}");
                answered += u32::from(status == 200);
            }
        }
        // While the requests were sent, the limit allowed some more.
        let allowed = f64::from(limit) * (1.0 + started.elapsed().as_secs_f64() / 60.0);
        assert!(f64::from(answered) <= allowed * 1.02 + 2.0, "{answered} of {allowed}");
        answered
    };
    round(limit / 4).await;
    redis.stop();
    let answered = round(limit).await;
    assert!(f64::from(answered) >= f64::from(limit) * 0.9, "{answered} of {limit}: each replica has its share");
    redis.restart();
    round(limit / 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_g4_a_request_that_concurrency_refuses_uses_no_rate() {
    let (postgres, redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let lines = r#"{"requests-per-minute": 2, "concurrency": 1}"#;
    let (_, key) = store.create("k", KeyRole::User, limits(lines)).await.expect("a key");
    let gateway = replica(&postgres, &redis, "").await;
    let body = json!({"model": "openai:chat/gpt-4o+endless", "stream": true, "messages": [{"role": "user", "content": "Hello?"}]});
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let request = client.post(format!("{}/v1/chat/completions", gateway.url())).bearer_auth(&key);
    let mut open = request.body(body.to_string()).send().await.expect("a stream");
    assert!(open.chunk().await.expect("a chunk").is_some());
    for _ in 0..5 {
        let (status, text) = ask_model(&gateway, &key, "gpt-4o").await;
        assert!(status == 429 && text.contains("concurrent"), "{status}: {text}");
    }
    drop(open);
    for _ in 0..500 {
        let (status, text) = ask_model(&gateway, &key, "gpt-4o").await;
        if status == 200 {
            return;
        }
        assert!(text.contains("concurrent"), "the rate is used up: {text}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the stream did not end");
}

/// The sum of a column over the usage of a key.
fn sum(rows: &Value, name: &str) -> i64 {
    rows["usage"].as_array().expect("rows").iter().filter_map(|row| row[name].as_i64()).sum()
}

/// What is refused because it cannot be recorded is not recorded and charged later.
#[tokio::test(flavor = "multi_thread")]
async fn r_g4_what_was_refused_is_not_charged_later() {
    let (mut postgres, redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let (_, key) = store.create("k", KeyRole::Admin, limits(r#"{"usd-total": 1.0}"#)).await.expect("a key");
    let gateway = replica(&postgres, &redis, "on-store-failure = \"refuse\"").await;
    assert_eq!(ask(&gateway, &key).await, 200);
    let spent = async || get(&gateway, "/keys", &key).await["keys"][0]["spent_usd"]["total"].as_f64();
    let (before, cost) = (spent().await, sum(&usage(&gateway, &key).await, "cost_nanos"));
    assert!(cost > 0 && before.is_some_and(|usd| usd > 0.0));
    postgres.stop();
    let stream = json!({"model": "gpt-4o", "stream": true, "messages": [{"role": "user", "content": "Hello?"}]});
    assert_eq!(ask(&gateway, &key).await, 503);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let request = client.post(format!("{}/v1/chat/completions", gateway.url())).bearer_auth(&key);
    assert_eq!(request.body(stream.to_string()).send().await.expect("a response").status().as_u16(), 503);
    postgres.restart();
    // The rows of the refused requests arrive without a further request, and cost nothing.
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let rows = usage(&gateway, &key).await;
        if rows["usage"].is_array() && sum(&rows, "requests") == 3 {
            assert_eq!((sum(&rows, "failures"), sum(&rows, "cost_nanos")), (2, cost), "{rows}");
            break;
        }
        assert!(Instant::now() < until, "{rows}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(spent().await, before);
    assert_eq!(ask(&gateway, &key).await, 200);
}

/// Postgres takes no zero bytes. A model name with one must not hold up the rows after it.
#[tokio::test(flavor = "multi_thread")]
async fn r_g4_no_name_holds_up_the_ledger() {
    let (postgres, redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let (_, key) = store.create("k", KeyRole::User, limits("{}")).await.expect("a key");
    let gateway = replica(&postgres, &redis, "on-store-failure = \"refuse\"").await;
    for model in ["no\0such", "openai:chat/gpt-4o\0", &"x".repeat(100_000)] {
        let (status, text) = ask_model(&gateway, &key, model).await;
        assert!(status != 503, "{status}: {text}");
    }
    assert_eq!(ask(&gateway, &key).await, 200);
    assert_eq!(sum(&usage(&gateway, &key).await, "requests"), 4);
}
