//! Answers in pieces: the events are the answer, partial values lead to the whole one, and models stand in for each other.

use polywire::wire::{Assembler, Function, Message, OutputFormat, Request, Strategy, Tool};
use polywire::{Action, AskErrorKind, Catalog, Client, ClientOptions, Effect, Model, Secret, SendError};
use polywire_emulator::{EMULATE_HEADER, Emulator};
use serde_json::{Value, json};

use super::{MODELS, client, model, order};

/// Requests whose answers are words, a value by each channel, and a call.
fn requests() -> Vec<(&'static str, Request)> {
    let words = Request::new("", vec![Message::user("An order, please.")]);
    let by = |strategy| {
        let format = OutputFormat::strict("order", order()).expect("a format").with_strategy(strategy);
        Request { output: Some(polywire::wire::Output::Schema(format)), ..words.clone() }
    };
    let tool = Function { name: "shop.order".to_owned(), parameters: Some(order()), ..Function::default() };
    let mut plain = tool.clone();
    plain.parameters = Some(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
    );
    let with = |tool: Function| Request { tools: vec![Tool::Function(tool)], ..words.clone() };
    vec![
        ("words", words.clone()),
        ("native", by(Strategy::Native)),
        ("tool", by(Strategy::Tool)),
        ("prompted", by(Strategy::Prompted)),
        ("call", with(tool)),
        ("plain call", with(plain)),
    ]
}

/// R-E5: what the events come to is what the caller gets at the end, whatever the misbehaviour.
#[tokio::test]
async fn events_put_together_are_the_answer() {
    let emulator = Emulator::start(0).await.expect("a port");
    for name in MODELS {
        let model = model(name);
        for trouble in ["", "twice", "fenced", "wrong", "truncated", "refusal"] {
            let client = client(&emulator, &model, trouble);
            for (what, request) in requests() {
                let mut answer = client.stream(&request, &model);
                let mut assembler = Assembler::default();
                while let Some(Ok(event)) = answer.next().await {
                    assembler.push(event);
                }
                let done = answer.finish().await.unwrap_or_else(|error| panic!("{name} {what} {trouble}: {error}"));
                let put_together = assembler.finish().expect("a whole answer");
                // Repairs need the whole answer; what streamed by has left unrepaired.
                let is_repaired = done.changes.iter().any(|change| change.action == Action::Repaired);
                assert!(put_together == done.response || is_repaired, "{name} {what} {trouble}");
            }
        }
    }
}

/// Whether a value is what may have come of another so far: texts begin it, lists and objects have no more in them.
fn leads_to(partial: &Value, whole: &Value) -> bool {
    match (partial, whole) {
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| leads_to(part, whole))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| leads_to(part, whole)))
        }
        (part, whole) => part == whole,
    }
}

/// Every row of the catalog × strategy: a validated value, whole and as a stream, and partial values that lead to it.
#[tokio::test]
async fn every_row_by_every_strategy() {
    let emulator = Emulator::start(0).await.expect("a port");
    let (mut failed, mut rows) = (Vec::new(), 0);
    for model in first_models() {
        let client = client(&emulator, &model, "");
        for strategy in [Strategy::Native, Strategy::Tool, Strategy::Prompted] {
            rows += 1;
            let name = format!("{} on {} by {strategy:?}", model.name(), model.surface().id);
            let request = Request::new("", vec![Message::user("An order, please.")]);
            let format = OutputFormat::strict("order", order()).expect("a format").with_strategy(strategy);
            match client.ask_format(request.clone(), format.clone(), &model).await {
                // Where the provider holds nobody to what was lost, a second attempt may be needed.
                Ok(asked) if asked.changes.iter().any(|change| change.effect == Effect::Wider) => {}
                Ok(asked) if asked.attempts.len() == 1 => {}
                Ok(asked) => {
                    let first = asked.attempts.first().map(|attempt| (&attempt.raw, &attempt.repairs, &attempt.faults));
                    failed.push(format!("{name}: {} attempts, {first:?}", asked.attempts.len()));
                }
                Err(error) => failed.push(format!("{name}: {error}")),
            }
            let mut asking = client.ask_format_stream(request, format, &model);
            let mut partials = Vec::new();
            while let Some(Ok(partial)) = asking.next().await {
                partials.push((partial.attempt, partial.value));
            }
            match asking.finish().await {
                Ok(asked) => {
                    let last = asked.attempts.len();
                    let of_last = partials.iter().filter(|(attempt, _)| *attempt == last).map(|(_, partial)| partial);
                    let stray = of_last.clone().find(|partial| !leads_to(partial, &asked.value));
                    failed.extend(stray.map(|stray| format!("{name}: {stray} does not lead to {}", asked.value)));
                    if of_last.count() == 0 {
                        failed.push(format!("{name}: no partial value"));
                    }
                }
                Err(error) => failed.push(format!("{name} in pieces: {error}")),
            }
        }
    }
    assert!(rows >= 75, "{rows} rows");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What arrives slowly is seen to grow.
#[tokio::test]
async fn partial_values_grow() {
    let emulator = Emulator::start(0).await.expect("a port");
    let mut tasks = tokio::task::JoinSet::new();
    for name in MODELS {
        let model = model(name);
        let client = client(&emulator, &model, "slow");
        tasks.spawn(async move {
            let request = Request::new("", vec![Message::user("An order, please.")]);
            let format = OutputFormat::strict("order", order()).expect("a format");
            let mut asking = client.ask_format_stream(request, format, &model);
            let mut lengths = Vec::new();
            while let Some(Ok(partial)) = asking.next().await {
                lengths.push(partial.value.to_string().len());
            }
            let asked = asking.finish().await.expect("an order");
            assert!(lengths.len() > 2, "{name}: {lengths:?}");
            assert!(lengths.first() < lengths.last(), "{name}: {lengths:?}");
            assert!(lengths.last() <= Some(&asked.value.to_string().len()), "{name}: {lengths:?}");
        });
    }
    tasks.join_all().await;
}

/// A model a provider and surface.
fn first_models() -> Vec<Model> {
    let catalog = Catalog::built_in();
    let mut found = Vec::new();
    for provider in catalog.providers() {
        for surface in &provider.surfaces {
            let served = |row: &&polywire::ModelRow| {
                row.provider == provider.id && (row.surfaces.is_empty() || row.surfaces.contains(&surface.id))
            };
            let id = catalog.models().find(served).map_or("emulated", |row| row.id.as_str());
            found.push(model(&format!("{}:{}/{id}", provider.id, surface.id)));
        }
    }
    found
}

/// Values that are asked for again begin again, with the number of the attempt.
#[tokio::test]
async fn partial_values_say_which_attempt_they_are_of() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Town {
        name: String,
    }
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Draft {
        name: Option<String>,
    }
    let emulator = Emulator::start(0).await.expect("a port");
    let model = model(MODELS[1]);
    let client = client(&emulator, &model, "wrong-1");
    let mut asking = client.ask_stream::<Town>(Request::new("", vec![Message::user("A town.")]), &model);
    let mut seen = Vec::new();
    while let Some(Ok(partial)) = asking.next().await {
        let draft: Draft = partial.read().expect("a draft");
        seen.push((partial.attempt, draft.name));
    }
    let asked = asking.finish().await.expect("a town");
    assert_eq!(asked.attempts.len(), 2);
    assert!(seen.is_sorted_by_key(|(attempt, _)| *attempt), "{seen:?}");
    let last = seen.last().and_then(|(attempt, name)| Some((*attempt, name.as_deref()?)));
    assert!(last.is_some_and(|(attempt, name)| attempt == 2 && asked.value.name.starts_with(name)), "{seen:?}");
}

/// A client to whom some providers make trouble.
fn troubled(emulator: &Emulator, models: &[Model], trouble: &[&str]) -> Client {
    let options = ClientOptions::default().with_retries(0).with_attempts(2);
    let mut client = Client::with_options(options).expect("a client");
    for (model, trouble) in models.iter().zip(trouble) {
        let provider = model.provider();
        client = client.with_base_url(&provider.id, &emulator.base_url(provider));
        client = client.with_key(&provider.id, Secret::new("emulated"));
        client = client.with_header_for(&provider.id, EMULATE_HEADER, trouble);
    }
    client
}

/// Which errors lead to the next model is a table too.
#[tokio::test]
async fn models_stand_in_for_each_other() {
    let emulator = Emulator::start(0).await.expect("a port");
    let rows = [
        ("500", true),
        ("529", true),
        ("401", true),
        ("cut", true),
        ("page", true),
        ("garbled", true),
        ("wrong", true),
        ("empty", true),
        ("truncated", false),
        ("refusal", false),
    ];
    let models = [model("openai:chat/gpt-4o"), model("anthropic/claude-sonnet-4-5")];
    for (trouble, should_fall_back) in rows {
        let client = troubled(&emulator, &models, &[trouble, ""]);
        let request = Request::new("", vec![Message::user("An order, please.")]);
        let asked = client.ask_value(request, &order(), &models).await;
        match (asked, should_fall_back) {
            (Ok(asked), true) => {
                let last = asked.attempts.last().expect("an attempt");
                assert_eq!(last.plan.provider, "anthropic", "{trouble}");
                assert!(asked.changes.iter().any(|change| change.code == "fell-over"), "{trouble}");
            }
            (Err(error), false) => {
                assert!(matches!(error.kind, AskErrorKind::Refused(_) | AskErrorKind::Truncated), "{trouble}: {error}");
                assert_eq!(error.attempts.len(), 1, "{trouble}");
            }
            (other, _) => panic!("{trouble}: {other:?}"),
        }
    }
}

/// A conversation with calls goes on with the next model, for all pairs; nothing of it is lost.
#[tokio::test]
async fn the_conversation_goes_along() {
    let emulator = Emulator::start(0).await.expect("a port");
    for from in MODELS {
        for to in MODELS {
            let models = [model(from), model(to)];
            if models[0].provider().id == models[1].provider().id {
                continue;
            }
            let mut request = Request::new("", vec![Message::user("Place the order.")]);
            let tool = Function { name: "shop.order".to_owned(), parameters: Some(order()), ..Function::default() };
            request.tools = vec![Tool::Function(tool)];
            let done = client(&emulator, &models[0], "").complete(&request, &models[0]).await.expect("a call");
            let results = done.response.calls().map(|call| polywire::wire::ToolResult::text(call.id.clone(), "done"));
            let results: Vec<_> = results.collect();
            request.messages.push(Message::new(polywire::wire::Role::Assistant, done.response.content));
            request.messages.push(Message::tool(results));
            let fallen = troubled(&emulator, &models, &["503", ""]).complete(&request, &models).await;
            let fallen = fallen.unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
            assert_eq!(fallen.plan.provider, models[1].provider().id, "{from} to {to}");
            assert!(!fallen.response.text().is_empty(), "{from} to {to}");
        }
    }
}

/// When nobody answers, the error has every model's.
#[tokio::test]
async fn the_error_of_all_models_has_each() {
    let emulator = Emulator::start(0).await.expect("a port");
    let models = [model("openai:chat/gpt-4o"), model("anthropic/claude-sonnet-4-5")];
    let client = troubled(&emulator, &models, &["500", "529"]);
    let request = Request::new("", vec![Message::user("Hello")]);
    let error = client.complete(&request, &models).await.expect_err("nobody");
    let SendError::AllModelsFailed(failed) = &error else { panic!("{error}") };
    let names: Vec<&str> = failed.iter().map(|failed| failed.model.as_str()).collect();
    assert_eq!(names, ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"]);
    let error = client.ask_value(request, &order(), &models).await.expect_err("nobody");
    assert_eq!(error.failed.len(), 1);
    assert!(matches!(error.kind, AskErrorKind::Send(SendError::Provider(_))), "{error}");
}

/// A value whose end is missing is not taken for a whole one, even where the model says that it is done.
#[tokio::test]
async fn half_a_value_is_asked_for_again() {
    let half = r#"{"id":"x","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"{\"names\": [\"Ada\", \"Gra"},"finish_reason":"stop"}]}"#;
    let whole = half.replace("\\\"Gra", "\\\"Grace\\\"]}");
    let script = super::script::Script::start(move |mut stream, number| {
        let body = if number == 0 { half.to_owned() } else { whole.clone() };
        async move {
            let told = super::script::answer("200 OK", "content-type: application/json\r\n", &body);
            super::script::say(&mut stream, &told).await;
        }
    })
    .await;
    let schema = json!({"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}, "required": ["names"]});
    let request = Request::new("", vec![Message::user("Names.")]);
    let asked = script.client(super::script::soon()).ask_value(request, &schema, &super::script::chat()).await;
    let asked = asked.expect("the second time");
    assert_eq!((asked.value, asked.attempts.len()), (json!({"names": ["Ada", "Grace"]}), 2));
}

/// A value that cannot be brought back is told of in the words of the wire, which is all that the model ever saw.
#[tokio::test]
async fn what_cannot_be_brought_back_is_told_in_the_words_of_the_wire() {
    let entries = r#"{\"labels\": [{\"key\": \"b\", \"value\": \"1\"}, {\"key\": \"a\", \"value\": \"2\"}]}"#;
    let once = super::script::WORDS.replace("Hello", entries);
    let broken = super::script::WORDS.replace("Hello", r#"{\"labels\": [[\"b\"]]}"#);
    let script = super::script::Script::start(move |mut stream, number| {
        let body = if number == 0 { broken.clone() } else { once.clone() };
        async move {
            let told = super::script::answer("200 OK", "content-type: application/json\r\n", &body);
            super::script::say(&mut stream, &told).await;
        }
    })
    .await;
    let labels = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"labels": labels}, "required": ["labels"]});
    let request = Request::new("", vec![Message::user("Labels.")]);
    let asked = script.client(super::script::soon()).ask_value(request, &schema, &super::script::chat()).await;
    let asked = asked.expect("the second time");
    assert_eq!((asked.value, asked.attempts.len()), (json!({"labels": {"b": "1", "a": "2"}}), 2));
    let again = script.request(1);
    let why = asked.attempts[0].not_restored.clone().expect("a reason");
    assert!(again.contains("/labels") && !again.contains("not of type"), "{why}: {again}");
}

/// A request to AWS is signed, the key stays here, and colons of ids stand as bytes.
#[tokio::test]
async fn requests_are_signed() {
    let script = super::script::Script::start(|mut stream, _| async move {
        let body =
            r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hello"}]}},"stopReason":"end_turn"}"#;
        let told = super::script::answer("200 OK", "content-type: application/json\r\n", body);
        super::script::say(&mut stream, &told).await;
    })
    .await;
    let key = polywire::SigningKey::new("AKIDEXAMPLE", Secret::new("very-secret"), "eu-west-1");
    let client = Client::new().expect("a client").with_signing_key("bedrock", key.with_session(Secret::new("passing")));
    let client = client.with_base_url("bedrock", script.url.trim_end_matches("/v1"));
    let model = model("bedrock:converse/anthropic.claude-sonnet-4-5-20250929-v1:0");
    let done = client.complete(&Request::new("", vec![Message::user("Hello")]), &model).await.expect("words");
    assert_eq!(done.response.text(), "Hello");
    let sent = script.request(0);
    assert!(sent.starts_with("POST /model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse HTTP/1.1"), "{sent}");
    assert!(sent.contains("authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{sent}");
    assert!(
        sent.contains(
            "/eu-west-1/bedrock/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
        ),
        "{sent}"
    );
    assert!(sent.contains("x-amz-security-token: passing"), "{sent}");
    assert!(!sent.contains("very-secret") && !format!("{client:?} {done:?}").contains("very-secret"));
}

/// Partial values of a long answer cost time in proportion to its length, not to its square.
#[tokio::test]
async fn long_values_are_shown_in_linear_time() {
    async fn time(items: usize) -> (std::time::Duration, usize) {
        let script = super::script::Script::start(move |mut stream, _| async move {
            super::script::say(&mut stream, super::script::STREAM).await;
            let texts = (0..items).map(|number| format!("\\\"item number {number:08}\\\","));
            let texts = ["{\\\"names\\\": [".to_owned()].into_iter().chain(texts).chain(["\\\"last\\\"]}".to_owned()]);
            for text in texts {
                let event = super::script::FIRST_EVENT.replace("\"Hel\"", &format!("\"{text}\""));
                super::script::say(&mut stream, &event).await;
            }
            let end = super::script::FIRST_EVENT.replace("\"Hel\"", "\"\"").replace("null}]", "\"stop\"}]");
            super::script::say(&mut stream, &format!("{end}data: [DONE]\n\n")).await;
        })
        .await;
        let schema = json!({"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}, "required": ["names"]});
        let format = OutputFormat::strict("names", schema).expect("a format");
        let request = Request::new("", vec![Message::user("Names.")]);
        let client = script.client(ClientOptions::default());
        let began = std::time::Instant::now();
        let mut asking = client.ask_format_stream(request, format, &super::script::chat());
        let mut partials = 0;
        while asking.next().await.is_some() {
            partials += 1;
        }
        let asked = asking.finish().await.expect("names");
        assert_eq!(asked.value["names"].as_array().map(Vec::len), Some(items + 1));
        (began.elapsed(), partials)
    }
    let (short, few) = time(2_000).await;
    let (long, many) = time(16_000).await;
    assert!(long < short * 8 * 4, "{short:?} for {few} partial values, {long:?} for {many}");
}
