//! Plans: what is decided, and what is told of it.

use polywire::wire::{
    Block, Effort, Message, Output, OutputFormat, Reasoning, Request, Role, Strategy, ThinkingMode, ToolCall,
    ToolChoice, ToolResult,
};
use polywire::{Effect, Kind, OUTPUT_TOOL, OnLoss, Plan, PlanOptions, Planner, Prompt, Strict, plan};
use serde_json::{Value, json};

use crate::{function, model, question};

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"]
    })
}

fn asking(strategy: Strategy) -> Output {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
        "additionalProperties": false
    });
    Output::Schema(OutputFormat::strict("person", schema).unwrap().with_strategy(strategy))
}

fn body(plan: &Plan) -> Value {
    serde_json::from_str(plan.body.get()).expect("a body")
}

#[track_caller]
fn has(plan: &Plan, code: &str) -> bool {
    plan.changes().iter().any(|change| change.code == code)
}

#[test]
fn tools_are_fitted_named_and_strict_where_they_can_be() {
    let plan = plan(&question(vec![function("get.weather", weather())]), &model("openai:chat/gpt-4o"));
    let tool = &body(&plan)["tools"][0]["function"];
    assert_eq!((&tool["name"], &tool["strict"]), (&json!("get_weather"), &json!(true)));
    assert_eq!(tool["parameters"]["required"], json!(["city", "days"]));
    assert!(plan.tools[0].lens.is_some());
    let places: Vec<&str> = plan.changes().iter().map(|change| change.at.as_str()).collect();
    assert!(places.contains(&"/tools/0/name"), "{places:?}");
    assert!(places.iter().any(|at| at.starts_with("/tools/0/parameters")), "{places:?}");
}

#[test]
fn the_history_is_said_in_the_fitted_shape_and_under_the_names_of_the_wire() {
    let call = ToolCall::new("c1", "get.weather", r#"{"city":"Bern"}"#);
    let gone = ToolCall::new("c2", "old tool", "{}");
    let calls = Message::new(Role::Assistant, vec![Block::ToolCall(call), Block::ToolCall(gone)]);
    let results = Message::tool([ToolResult::text("c1", "sunny"), ToolResult::text("c2", "ok")]);
    let mut request = question(vec![function("get.weather", weather())]);
    request.messages.extend([calls, results]);
    let plan = plan(&request, &model("openai:chat/gpt-4o"));
    let calls = &body(&plan)["messages"][1]["tool_calls"];
    assert_eq!(calls[0]["function"]["name"], "get_weather");
    let arguments: Value = serde_json::from_str(calls[0]["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Bern", "days": null}));
    assert_eq!(calls[1]["function"]["name"], "old_tool");
    assert!(has(&plan, "carried"));
}

#[test]
fn a_choice_names_the_tool_as_the_provider_knows_it() {
    let mut request = question(vec![function("get.weather", weather())]);
    request.tool_choice = Some(ToolChoice::Tool("get.weather".to_owned()));
    let plan = plan(&request, &model("openai:chat/gpt-4o"));
    assert_eq!(body(&plan)["tool_choice"]["function"]["name"], "get_weather");
}

#[test]
fn strict_is_kept_off_tools_that_did_not_ask_when_only_those_count() {
    let request = question(vec![function("f", weather())]);
    let gpt = model("openai:chat/gpt-4o");
    let off = Planner::new(PlanOptions::default().with_strict(Strict::AsAsked)).plan(&request, &gpt).unwrap();
    assert_eq!(body(&off)["tools"][0]["function"]["strict"], false);
    assert_eq!(body(&off)["tools"][0]["function"]["parameters"]["required"], json!(["city"]));
}

/// R-C2: the native channel.
#[test]
fn r_c2_a_model_with_a_field_for_it_is_asked_natively() {
    let request = Request { output: Some(asking(Strategy::Auto)), ..question(Vec::new()) };
    let plan = plan(&request, &model("openai:chat/gpt-4o"));
    let format = &body(&plan)["response_format"]["json_schema"];
    assert_eq!((&format["name"], &format["strict"]), (&json!("person"), &json!(true)));
    let output = plan.output.as_ref().unwrap();
    assert_eq!((output.strategy, output.strict), (Strategy::Native, true));
}

/// R-C3: the tool channel, forced where the model can be forced.
#[test]
fn r_c3_the_tool_for_the_answer_is_forced_alone_and_required_among_others() {
    let alone = Request { output: Some(asking(Strategy::Tool)), ..question(Vec::new()) };
    let gpt = model("openai:chat/gpt-4o");
    let body_alone = body(&plan(&alone, &gpt));
    assert_eq!(body_alone["tool_choice"]["function"]["name"], OUTPUT_TOOL);
    assert_eq!(body_alone["parallel_tool_calls"], false);
    assert!(body_alone.get("response_format").is_none());
    let among = Request { output: Some(asking(Strategy::Tool)), ..question(vec![function("f", weather())]) };
    assert_eq!(body(&plan(&among, &gpt))["tool_choice"], "required");
}

/// R-C3: a model that refuses forcing is asked in words.
#[test]
fn r_c3_no_tool_is_forced_where_the_model_refuses() {
    let request = Request { output: Some(asking(Strategy::Tool)), max_tokens: Some(100), ..question(Vec::new()) };
    let plan = plan(&request, &model("anthropic/claude-opus-5-5"));
    let body = body(&plan);
    assert!(body.get("tool_choice").is_none_or(|choice| choice["type"] == "auto"), "{body}");
    assert!(body["system"].to_string().contains(OUTPUT_TOOL), "{body}");
    assert!(has(&plan, "not-forced"));
}

#[test]
fn a_callers_tool_of_the_reserved_name_gives_way() {
    let tools = vec![function(OUTPUT_TOOL, weather())];
    let plan = plan(&Request { output: Some(asking(Strategy::Tool)), ..question(tools) }, &model("openai:chat/gpt-4o"));
    assert_eq!((plan.tools[0].name.as_str(), plan.tools[0].wire_name.as_str()), (OUTPUT_TOOL, "respond_2"));
}

/// R-C4 and R-C7: the prompted channel, and a warning that nothing is enforced.
#[test]
fn r_c4_a_model_without_a_channel_is_asked_in_words() {
    let request = Request { output: Some(asking(Strategy::Auto)), ..question(Vec::new()) };
    let plan = plan(&request, &model("deepseek/deepseek-reasoner"));
    let body = body(&plan);
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("JSON Schema `person`"));
    assert_eq!(body["response_format"]["type"], "json_object");
    let loss = plan.losses().find(|change| change.code == "not-enforced").expect("R-C7: a warning");
    assert_eq!((loss.kind, loss.effect), (Some(Kind::Output), Effect::Wider));
}

#[test]
fn r_c4_the_prompt_rides_along_on_request() {
    let request = Request { output: Some(asking(Strategy::Native)), ..question(Vec::new()) };
    let planner = Planner::new(PlanOptions::default().with_prompt(Prompt::Always));
    let plan = planner.plan(&request, &model("openai:chat/gpt-4o")).unwrap();
    assert_eq!(plan.output.as_ref().unwrap().strategy, Strategy::Native);
    assert!(body(&plan)["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
}

#[test]
fn tools_and_a_schema_that_do_not_go_together_are_told() {
    let request = Request { output: Some(asking(Strategy::Auto)), ..question(vec![function("f", weather())]) };
    for name in ["cerebras/gpt-oss-120b", "groq/openai/gpt-oss-120b", "fireworks/kimi-k2-instruct"] {
        let plan = plan(&request, &model(name));
        assert_eq!(plan.output.as_ref().unwrap().strategy, Strategy::Tool, "{name}");
        assert!(has(&plan, "strategy"), "{name}");
        assert!(body(&plan).get("response_format").is_none(), "{name}");
    }
}

/// Twenty strict tools a request, counted with the answer.
#[test]
fn the_strict_budget_of_a_request_is_kept_and_deterministic() {
    let tools = (0..30).map(|number| function(&format!("tool_{number}"), weather())).collect();
    let request = Request { output: Some(asking(Strategy::Native)), max_tokens: Some(100), ..question(tools) };
    let claude = model("anthropic/claude-sonnet-4-5");
    let plan = plan(&request, &claude);
    let strict: Vec<&str> = plan.tools.iter().filter(|tool| tool.strict).map(|tool| tool.name.as_str()).collect();
    assert!(!strict.is_empty() && strict.len() < 20, "{strict:?}");
    assert_eq!(strict[0], "tool_0", "the first ones stay");
    assert_eq!(plan.body.get(), polywire::plan(&request, &claude).body.get());
}

/// R-E3: 20 strict tools, 24 optional parameters, 16 unions in a request; the first ones stay, and a later one that costs nothing.
#[test]
fn each_strict_budget_is_spent_in_the_order_of_the_list() {
    let claude = model("anthropic/claude-sonnet-4-5");
    let strict = |schema: &Value, count: usize| {
        let cheap = function("plain", json!({"type": "object", "properties": {}, "additionalProperties": false}));
        let costly = (0..count).map(|number| function(&format!("tool_{number}"), schema.clone()));
        let plan = plan(&question(costly.chain([cheap]).collect()), &claude);
        let names: Vec<_> = plan.tools.iter().filter(|tool| tool.strict).map(|tool| tool.name.clone()).collect();
        assert_eq!(
            plan.changes().iter().filter(|change| change.detail.contains("not strict")).count(),
            count + 1 - names.len()
        );
        names
    };
    let fields =
        |field: Value| (0..5).map(|number| (format!("f{number}"), field.clone())).collect::<serde_json::Map<_, _>>();
    let required = json!(["f0", "f1", "f2", "f3", "f4"]);
    let optional =
        json!({"type": "object", "properties": fields(json!({"type": "string"})), "additionalProperties": false});
    assert_eq!(strict(&optional, 9), ["tool_0", "tool_1", "tool_2", "tool_3", "plain"]);
    let union =
        json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {}, "additionalProperties": false}]});
    let unions =
        json!({"type": "object", "properties": fields(union), "required": required, "additionalProperties": false});
    assert_eq!(strict(&unions, 9), ["tool_0", "tool_1", "tool_2", "plain"]);
    let bound = json!({"type": "object", "properties": fields(json!({"type": "string"})), "required": required, "additionalProperties": false});
    let kept = strict(&bound, 30);
    assert_eq!((kept.len(), kept[0].as_str(), kept[19].as_str()), (20, "tool_0", "tool_19"));
}

#[test]
fn a_loss_of_a_refused_kind_is_an_error_that_lists_it() {
    let request = Request { output: Some(asking(Strategy::Auto)), ..question(Vec::new()) };
    let careful = Planner::new(PlanOptions::default().with_on_loss(Kind::Output, OnLoss::Refuse));
    let error = careful.plan(&request, &model("deepseek/deepseek-reasoner")).expect_err("a loss");
    assert_eq!(error.losses()[0].code, "not-enforced");
    assert!(careful.plan(&request, &model("openai:chat/gpt-4o")).is_ok());
    let other = Planner::new(PlanOptions::default().with_on_loss(Kind::Parameters, OnLoss::Refuse));
    assert!(other.plan(&request, &model("deepseek/deepseek-reasoner")).is_ok());
}

#[test]
fn wishes_that_the_row_refuses_are_told() {
    let reasoning = Some(Reasoning { effort: Some(Effort::High), ..Reasoning::default() });
    let request = Request {
        temperature: Some(0.2),
        max_tokens: Some(1_000_000),
        reasoning: reasoning.clone(),
        ..question(Vec::new())
    };
    let thinking = plan(&request, &model("openai:chat/gpt-5.1"));
    assert!(body(&thinking).get("temperature").is_none());
    assert_eq!(body(&thinking)["max_completion_tokens"], 128_000);
    assert!(has(&thinking, "output-limit"));
    let idle = plan(&Request { reasoning: None, ..request.clone() }, &model("openai:chat/gpt-5.1"));
    assert_eq!(body(&idle)["temperature"], 0.2);
    let tools = Request { reasoning, ..question(vec![function("f", weather())]) };
    let chat = plan(&tools, &model("openai:chat/gpt-5.5"));
    assert_eq!(body(&chat)["reasoning_effort"], "none");
    assert!(has(&chat, "tools-stop-thinking"));
}

#[test]
fn a_mode_of_thinking_becomes_the_nearest_one() {
    let reasoning = Reasoning { mode: Some(ThinkingMode::Enabled), budget_tokens: Some(2000), ..Reasoning::default() };
    let request = Request { reasoning: Some(reasoning), max_tokens: Some(8000), ..question(Vec::new()) };
    let plan = plan(&request, &model("anthropic/claude-opus-5"));
    assert_eq!(body(&plan)["thinking"]["type"], "adaptive");
    assert!(has(&plan, "thinking-mode"));
}

/// The budgets are the rows' to say: what one model takes, another takes less or more of.
#[test]
fn a_budget_of_thinking_is_what_the_model_takes() {
    let sent = |name: &str, tokens: u64, limit: Option<u64>| {
        let reasoning = Reasoning { budget_tokens: Some(tokens), ..Reasoning::default() };
        let request = Request { reasoning: Some(reasoning), max_tokens: limit, ..question(Vec::new()) };
        let plan = plan(&request, &model(name));
        let body = body(&plan);
        let places = [
            "/thinking/budget_tokens",
            "/additionalModelRequestFields/thinking/budget_tokens",
            "/generationConfig/thinkingConfig/thinkingBudget",
            "/request/generationConfig/thinkingConfig/thinkingBudget",
        ];
        let sent = places.iter().find_map(|place| body.pointer(place)).and_then(Value::as_u64);
        assert_eq!(sent != Some(tokens), has(&plan, "thinking-budget"), "{name}: {body:#}");
        sent
    };
    assert_eq!(sent("anthropic/claude-sonnet-4-5", 10, Some(9000)), Some(1024));
    assert_eq!(sent("anthropic/claude-sonnet-4-5", 9000, Some(9000)), Some(8999));
    assert_eq!(sent("anthropic/claude-sonnet-4-5", 5000, Some(9000)), Some(5000));
    assert_eq!(sent("bedrock/anthropic.claude-sonnet-4-5", 9000, Some(9000)), Some(8999));
    assert_eq!(sent("google/gemini-2.5-pro", 0, None), Some(128));
    assert_eq!(sent("google/gemini-2.5-pro", 99_000, None), Some(32_768));
    assert_eq!(sent("google/gemini-2.5-flash", 0, None), Some(0));
    assert_eq!(sent("google/gemini-2.5-flash", 99_000, None), Some(24_576));
    assert_eq!(sent("google/gemini-2.5-flash-lite", 5, None), Some(512));
    assert_eq!(sent("cca/claude-sonnet-4-5-thinking", 9000, Some(5000)), Some(4999));
}

#[test]
fn a_plan_can_be_kept_and_holds_no_secret() {
    let plan = plan(&question(vec![function("get.weather", weather())]), &model("anthropic/claude-sonnet-4-5"));
    let kept = serde_json::to_string(&plan).unwrap();
    let again: Plan = serde_json::from_str(&kept).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), kept);
    assert_eq!(plan.endpoint.headers["x-api-key"], "{env ANTHROPIC_API_KEY}");
    assert_eq!(plan.endpoint.url, "https://api.anthropic.com/v1/messages");
}

#[test]
fn a_model_that_calls_no_tools_gets_none() {
    let plan = plan(&question(vec![function("f", weather())]), &model("google/gemma-3-27b-it"));
    assert!(body(&plan).get("tools").is_none());
    assert!(plan.losses().any(|change| change.code == "no-tools"));
}

#[test]
fn features_of_an_envelope_are_a_header_of_the_owner_and_stay_in_the_body_elsewhere() {
    let mut request = question(Vec::new());
    request.extra.insert(polywire::wire::Protocol::AnthropicMessages, "anthropic_beta", json!(["one-1", "two-2"]));
    let plan = plan(&request, &model("anthropic/claude-sonnet-4-5"));
    assert_eq!(plan.endpoint.headers.get("anthropic-beta").map(String::as_str), Some("one-1,two-2"));
    assert_eq!(body(&plan).get("anthropic_beta"), None);
    assert!(has(&plan, "feature-header"));
}
