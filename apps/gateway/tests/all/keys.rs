//! R-G4, R-G8: keys, limits, budgets, the ledger, and who may see what.

use serde_json::{Value, json};

use crate::{Answer, chat, gateway, get, get_with, http, post, post_with, read};
use polywire_gateway::Gateway;

async fn create(gateway: &Gateway, admin: &str, body: &Value) -> String {
    let headers = [("authorization", format!("Bearer {admin}"))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let created = post_with(gateway, "/keys", &headers, body).await;
    assert_eq!(created.status, 200, "{}", created.text);
    created.json()["key"].as_str().expect("a key").to_owned()
}

async fn ask(gateway: &Gateway, key: &str, model: &str) -> Answer {
    post_with(gateway, "/v1/chat/completions", &[("authorization", &format!("Bearer {key}"))], &chat(model)).await
}

/// A gateway with an admin key and another one.
async fn with_key(limits: Value) -> (Gateway, String, String) {
    let gateway = gateway("").await;
    let admin = create(&gateway, "", &json!({"name": "admin", "role": "admin"})).await;
    let key = create(&gateway, &admin, &json!({"name": "user", "limits": limits})).await;
    (gateway, admin, key)
}

#[tokio::test]
async fn r_g8_without_keys_this_machine_is_served_and_afterwards_only_keys() {
    let gateway = gateway("").await;
    assert_eq!(post(&gateway, "/v1/chat/completions", &chat("gpt-4o")).await.status, 200);
    let admin = create(&gateway, "", &json!({"name": "admin", "role": "admin"})).await;
    let refused = post(&gateway, "/v1/chat/completions", &chat("gpt-4o")).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &refused.json()["error"]["code"]));
    for header in ["authorization", "x-api-key", "x-goog-api-key", "api-key"] {
        let value = if header == "authorization" { format!("Bearer {admin}") } else { admin.clone() };
        let answer = post_with(&gateway, "/v1/chat/completions", &[(header, &value)], &chat("gpt-4o")).await;
        assert_eq!(answer.status, 200, "{header}");
    }
    let query = format!("/v1beta/models/gemini-2.5-flash:generateContent?key={admin}");
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]});
    assert_eq!(post(&gateway, &query, &contents).await.status, 200);
    assert_eq!(ask(&gateway, &format!("{admin}0"), "gpt-4o").await.status, 401);
}

#[tokio::test]
async fn r_g4_models_and_rates_of_a_key() {
    let (gateway, _, key) = with_key(json!({"models": ["gpt-*"], "requests-per-minute": 3})).await;
    let forbidden = ask(&gateway, &key, "claude-sonnet-4-5").await;
    assert_eq!(forbidden.status, 403, "{}", forbidden.text);
    for number in 0..5 {
        let answer = ask(&gateway, &key, "gpt-4o").await;
        assert_eq!(answer.status, if number < 3 { 200 } else { 429 }, "{number}: {}", answer.text);
        assert_eq!(answer.header("retry-after").is_empty(), number < 3);
    }
}

/// R-G4: every protocol and every stream is counted, and a budget ends.
#[tokio::test]
async fn r_g4_every_protocol_is_counted_and_a_budget_ends() {
    let (gateway, admin, key) = with_key(json!({})).await;
    let bearer = format!("Bearer {key}");
    let mut expected = 0;
    for stream in [false, true] {
        for (path, body) in [
            (
                "/v1/chat/completions",
                json!({"model": "gpt-4o", "stream": stream, "messages": [{"role": "user", "content": "Hello?"}]}),
            ),
            ("/v1/responses", json!({"model": "gpt-4o", "stream": stream, "input": "Hello?"})),
            (
                "/v1/messages",
                json!({"model": "claude-sonnet-4-5", "stream": stream, "max_tokens": 99, "messages": [{"role": "user", "content": "Hello?"}]}),
            ),
            ("/v1/embeddings", json!({"model": "openai/text-embedding-3-small", "input": "Hello?"})),
        ] {
            assert_eq!(post_with(&gateway, path, &[("authorization", &bearer)], &body).await.status, 200, "{path}");
            expected += 1;
        }
    }
    let usage = get_with(&gateway, "/usage", &[("authorization", &bearer)]).await.json();
    let rows = usage["usage"].as_array().expect("rows");
    assert_eq!(rows.iter().filter_map(|row| row["requests"].as_i64()).sum::<i64>(), expected);
    assert!(rows.iter().all(|row| row["input_tokens"].as_i64().is_some_and(|tokens| tokens > 0)), "{usage}");
    let keys = get_with(&gateway, "/keys", &[("authorization", &format!("Bearer {admin}"))]).await.json();
    let spent = keys["keys"].as_array().expect("keys").iter().find(|row| row["name"] == "user").expect("the key");
    assert!(spent["spent_usd"]["total"].as_f64().is_some_and(|usd| usd > 0.0), "{spent}");

    let poor = create(&gateway, &admin, &json!({"name": "poor", "limits": {"usd-total": 0.000_000_1}})).await;
    assert_eq!(ask(&gateway, &poor, "gpt-4o").await.status, 200);
    let ended = ask(&gateway, &poor, "gpt-4o").await;
    assert_eq!(
        (ended.status, ended.json()["error"]["message"].as_str().is_some_and(|text| text.contains("budget"))),
        (402, true),
        "{}",
        ended.text
    );
}

#[tokio::test]
async fn r_g8_a_key_sees_its_own_requests_and_admins_see_all() {
    let (gateway, admin, key) = with_key(json!({})).await;
    let answer = ask(&gateway, &admin, "gpt-4o").await;
    let path = format!("/requests/{}", answer.header("x-polywire-request-id"));
    let with = |key: &str| format!("Bearer {key}");
    assert_eq!(get_with(&gateway, &path, &[("authorization", &with(&admin))]).await.status, 200);
    assert_eq!(get_with(&gateway, &path, &[("authorization", &with(&key))]).await.status, 404);
    assert_eq!(get(&gateway, &path).await.status, 401);
    assert_eq!(get_with(&gateway, "/keys", &[("authorization", &with(&key))]).await.status, 403);
    let keys = get_with(&gateway, "/keys", &[("authorization", &with(&admin))]).await;
    let id =
        keys.json()["keys"].as_array().expect("keys").iter().find(|row| row["name"] == "user").expect("the key")["id"]
            .clone();
    assert!(!keys.text.contains("hash"), "{}", keys.text);
    let revoke = format!("/keys/{}/revoke", id.as_str().expect("an id"));
    assert_eq!(post_with(&gateway, &revoke, &[("authorization", &with(&admin))], &json!({})).await.status, 200);
    assert_eq!(ask(&gateway, &key, "gpt-4o").await.status, 401);
}

/// R-G8: a page of another site cannot use a gateway that needs no key.
#[tokio::test]
async fn r_g8_other_origins_and_hosts_are_refused() {
    let gateway = gateway("cors-origins = [\"https://app.example\"]").await;
    let path = "/v1/chat/completions";
    let other = post_with(&gateway, path, &[("origin", "https://attacker.example")], &chat("gpt-4o")).await;
    assert_eq!(other.status, 403, "{}", other.text);
    assert_eq!(post_with(&gateway, path, &[("origin", &gateway.url())], &chat("gpt-4o")).await.status, 200);
    assert_eq!(post_with(&gateway, path, &[("host", "attacker.example")], &chat("gpt-4o")).await.status, 403);
    let allowed = post_with(&gateway, path, &[("origin", "https://app.example")], &chat("gpt-4o")).await;
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, "https://app.example"));
    let preflight = http().request(reqwest::Method::OPTIONS, format!("{}{path}", gateway.url()));
    let preflight =
        preflight.header("origin", "https://app.example").header("access-control-request-headers", "x-api-key");
    let preflight = read(preflight.send().await.expect("a response")).await;
    assert_eq!((preflight.status, preflight.header("access-control-allow-headers")), (204, "x-api-key"));
}

#[tokio::test]
async fn r_g8_bodies_are_bounded() {
    let gateway = gateway("[serve.limits]\nbody-bytes = 1000").await;
    let large = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "x".repeat(2_000)}]});
    assert_eq!(post(&gateway, "/v1/chat/completions", &large).await.status, 413);
}

/// R-G4: a restart knows what was spent, and keys stay valid.
#[tokio::test]
async fn r_g4_a_restart_forgets_nothing() {
    let folder = std::env::temp_dir().join(format!("polywire-gateway-{}", std::process::id()));
    let store = folder.join("ledger.sqlite3").display().to_string();
    let first = gateway(&format!("store = {store:?}")).await;
    let admin =
        create(&first, "", &json!({"name": "admin", "role": "admin", "limits": {"usd-per-day": 0.000_000_1}})).await;
    assert_eq!(ask(&first, &admin, "gpt-4o").await.status, 200);
    first.stop().await;
    let second = gateway(&format!("store = {store:?}")).await;
    assert_eq!(ask(&second, &admin, "gpt-4o").await.status, 402, "the budget of the day is spent");
    let response = http().get(format!("{}/usage", second.url())).bearer_auth(&admin).send().await.expect("a response");
    assert_eq!(read(response).await.json()["usage"][0]["requests"], 1);
    second.stop().await;
    std::fs::remove_dir_all(folder).expect("removed");
}
