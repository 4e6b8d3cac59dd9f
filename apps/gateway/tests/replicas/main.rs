//! R-G5: two replicas on one Postgres and one Redis, which these tests start. Debian: `postgresql` and `redis-server`.
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests may fail loudly")]

mod outages;
mod servers;

use polywire::Config;
use polywire_gateway::{Gateway, GatewayOptions, KeyLimits, KeyRole, KeyStore};
use serde_json::{Value, json};

use servers::{Postgres, Redis};

async fn replica(postgres: &Postgres, redis: &Redis, lines: &str) -> Gateway {
    let text = format!(
        "[serve]\nlisten = \"127.0.0.1:0\"\nlog = \"off\"\nstore = {:?}\ncounters = {:?}\n{lines}",
        postgres.url(),
        redis.url()
    );
    let config = Config::read(&text, &|_| Err("no files".to_owned())).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    Gateway::start(GatewayOptions::default().with_serve(config.serve)).await.expect("a gateway")
}

async fn ask(gateway: &Gateway, key: &str) -> u16 {
    ask_model(gateway, key, "gpt-4o").await.0
}

/// The status and body of an answer.
async fn ask_model(gateway: &Gateway, key: &str, model: &str) -> (u16, String) {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello?"}]});
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let request = client.post(format!("{}/v1/chat/completions", gateway.url())).bearer_auth(key);
    let response = request.body(body.to_string()).send().await.expect("a response");
    (response.status().as_u16(), response.text().await.expect("a body"))
}

async fn get(gateway: &Gateway, path: &str, key: &str) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let response = client.get(format!("{}{path}", gateway.url())).bearer_auth(key).send().await.expect("a response");
    serde_json::from_str(&response.text().await.expect("a body")).expect("JSON")
}

async fn usage(gateway: &Gateway, key: &str) -> Value {
    get(gateway, "/usage", key).await
}

fn limits(text: &str) -> KeyLimits {
    serde_json::from_str(text).expect("limits")
}

#[tokio::test(flavor = "multi_thread")]
async fn r_g5_two_replicas_hold_one_limit_and_one_ledger() {
    let (postgres, redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let limit = 200;
    let (_, key) = store
        .create("shared", KeyRole::User, limits(&format!(r#"{{"requests-per-minute": {limit}}}"#)))
        .await
        .expect("a key");
    let (first, second) = tokio::join!(replica(&postgres, &redis, ""), replica(&postgres, &redis, ""));
    let started = std::time::Instant::now();
    let mut answered = 0_u32;
    for _ in 0..limit {
        let both = tokio::join!(ask(&first, &key), ask(&second, &key));
        for status in [both.0, both.1] {
            match status {
                200 => answered += 1,
                429 => {}
                other => panic!("status {other}"),
            }
        }
    }
    // While the requests were sent, the limit allowed some more.
    let refilled = f64::from(limit) * started.elapsed().as_secs_f64() / 60.0;
    let allowed = f64::from(limit) + refilled;
    assert!(f64::from(answered) <= allowed * 1.02 + 1.0, "{answered} of {allowed}");
    // On a busy machine the requests come too slowly to use what is refilled meanwhile.
    assert!(f64::from(answered) >= f64::from(limit) * 0.98, "{answered} of {limit} at least");
    let rows = usage(&second, &key).await;
    let counted =
        |name: &str| rows["usage"].as_array().expect("rows").iter().filter_map(|row| row[name].as_u64()).sum::<u64>();
    assert_eq!(counted("requests") - counted("failures"), u64::from(answered), "{rows}");

    // A budget is one for both.
    let (_, poor) = store.create("poor", KeyRole::User, limits(r#"{"usd-total": 0.0000001}"#)).await.expect("a key");
    assert_eq!(ask(&first, &poor).await, 200);
    let mut status = 0;
    for _ in 0..100 {
        status = ask(&second, &poor).await;
        if status == 402 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(status, 402, "the other replica knows that the budget is spent");
    first.stop().await;
    second.stop().await;
}

/// A store that is gone: requests are served or refused by policy, and nothing is counted twice.
#[tokio::test(flavor = "multi_thread")]
async fn r_g5_a_store_that_is_gone_refuses_or_serves_by_policy() {
    let (mut postgres, mut redis) = (Postgres::start(), Redis::start());
    let store = KeyStore::open(&postgres.url()).await.expect("a store");
    let (_, key) = store.create("k", KeyRole::User, limits(r#"{"requests-per-minute": 1000}"#)).await.expect("a key");
    let serving = replica(&postgres, &redis, "").await;
    let refusing = replica(&postgres, &redis, "on-store-failure = \"refuse\"").await;
    assert_eq!((ask(&serving, &key).await, ask(&refusing, &key).await), (200, 200));
    redis.stop();
    postgres.stop();
    assert_eq!(ask(&serving, &key).await, 200, "served while the stores are gone");
    let refused = ask(&refusing, &key).await;
    assert!(refused == 503 || refused == 429, "{refused}");
    postgres.restart();
    redis.restart();
    // The next row takes the waiting ones along.
    let mut requests = 0;
    for _ in 0..200 {
        assert_eq!(ask(&serving, &key).await, 200);
        let rows = usage(&serving, &key).await;
        let answered = rows["usage"].as_array().map(|rows| {
            rows.iter().filter_map(|row| Some(row["requests"].as_u64()? - row["failures"].as_u64()?)).sum::<u64>()
        });
        requests += 1;
        // The first of each replica, the one without stores, and those since.
        if answered == Some(3 + requests) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the ledger did not catch up");
}
