//! What holds for every model of the catalog, whatever is asked of it: the row is obeyed, plans are the same twice, and an answer
//! in the shape of the wire comes back in the caller's.

use polywire::wire::{
    Block, Document, Effort, Image, Message, Output, OutputFormat, Quirk, Reasoning, Request, Response, Role,
    Signature, Source, StopReason, Strategy, Surface, Thinking, ThinkingMode, Tool, ToolCall, ToolChoice, ToolResult,
};
use polywire::{Ability, Catalog, Modality, Model, OUTPUT_TOOL, Plan, When, plan, restore};
use serde_json::{Value, json};

use crate::{function, question};

const STRATEGIES: [Strategy; 4] = [Strategy::Auto, Strategy::Native, Strategy::Tool, Strategy::Prompted];

/// Every model on every surface on which it is served, and an unknown one on each.
fn models() -> Vec<Model> {
    let catalog = Catalog::built_in();
    let mut found = Vec::new();
    for provider in catalog.providers() {
        for surface in &provider.surfaces {
            let own = catalog.models().filter(|row| row.provider == provider.id).map(|row| row.id.as_str());
            let names = own.chain(["nobody-knows"]).map(|id| format!("{}:{}/{id}", provider.id, surface.id));
            found.extend(names.filter_map(|name| catalog.resolve(&name).ok()));
        }
    }
    found
}

fn report() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 80},
            "score": {"type": ["number", "null"]},
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
            "kind": {"oneOf": [{"const": "a"}, {"const": "b"}]}
        },
        "required": ["title", "kind"],
        "additionalProperties": false
    })
}

/// A conversation with everything in it, begun elsewhere.
fn conversation() -> Vec<Message> {
    let signature = Some(Signature { from: polywire::wire::Protocol::Gemini, data: "c2ln".to_owned() });
    let thought = Thinking { text: "hm".to_owned(), signature, ..Thinking::default() };
    let image = Image { source: Source::base64("image/png", "aGk="), ..Image::default() };
    let paper = Document { source: Source::base64("application/pdf", "aGk="), ..Document::default() };
    let asked = vec![Block::text("Look."), Block::Image(image), Block::Document(paper)];
    let call = |id: &str, name: &str| Block::ToolCall(ToolCall::new(id, name, r#"{"title":"t","kind":"a"}"#));
    let called = vec![Block::Thinking(thought), call("id with spaces", "make report"), call("", "gone/tool")];
    vec![
        Message::new(Role::User, asked),
        Message::new(Role::Assistant, called),
        Message::tool([ToolResult::text("id with spaces", "done")]),
        Message::user("And now?"),
    ]
}

fn requests(strategy: Strategy) -> Vec<Request> {
    let format = OutputFormat::strict("report", report()).unwrap().with_strategy(strategy);
    let output = Some(Output::Schema(format));
    let tools = || vec![function("make report", report()), function("make.report", report())];
    let enabled = Reasoning { mode: Some(ThinkingMode::Enabled), budget_tokens: Some(2048), ..Reasoning::default() };
    let eager = Reasoning { effort: Some(Effort::Max), ..Reasoning::default() };
    vec![
        Request { output: output.clone(), temperature: Some(0.3), ..question(Vec::new()) },
        Request {
            messages: conversation(),
            output: output.clone(),
            temperature: Some(0.3),
            top_k: Some(3),
            max_tokens: Some(4_000_000),
            tool_choice: Some(ToolChoice::Required),
            parallel_tool_calls: Some(true),
            reasoning: Some(enabled),
            ..question(tools())
        },
        Request {
            output,
            reasoning: Some(eager),
            tool_choice: Some(ToolChoice::Tool("make.report".to_owned())),
            stop: vec!["END".to_owned()],
            seed: Some(7),
            stream: true,
            ..question(tools())
        },
        Request { output: Some(Output::Json), messages: conversation(), ..question(tools()) },
    ]
}

#[test]
fn every_row_is_obeyed() {
    let models = models();
    assert!(models.len() >= 220, "{}", models.len());
    for model in &models {
        for strategy in STRATEGIES {
            for request in requests(strategy) {
                let plan = plan(&request, model);
                let place = format!("{}:{} {strategy:?}", model.name(), model.surface().id);
                obeys(&plan, model, &request, &place);
            }
        }
    }
}

fn obeys(plan: &Plan, model: &Model, asked: &Request, place: &str) {
    let row = model.row();
    let body: Value = serde_json::from_str(plan.body.get()).unwrap_or_default();
    let sent =
        model.protocol().decode_request(body.clone()).unwrap_or_else(|error| panic!("{place}: {error} in {body}"));
    let sent = sent.value;
    let forced = matches!(sent.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::OneOf(_)));
    assert!(!forced || row.forced != When::Never, "{place}: forced");
    let thinking =
        sent.reasoning.as_ref().and_then(|reasoning| reasoning.mode.as_ref()) == Some(&ThinkingMode::Enabled);
    assert!(!forced || row.forced == When::Always || !thinking, "{place}: forced while thinking");
    if row.sampling == When::Never {
        assert_eq!((sent.temperature, sent.top_k), (None, None), "{place}: sampling");
    }
    if let (Some(limit), Some(most)) = (sent.max_tokens, row.output) {
        assert!(limit <= most, "{place}: {limit} tokens");
    }
    if !row.thinking.is_empty()
        && let Some(mode) = sent.reasoning.as_ref().and_then(|reasoning| reasoning.mode.as_ref())
    {
        assert!(row.thinking.contains(mode), "{place}: thinks {mode}");
    }
    if let Some(effort) = sent.reasoning.as_ref().and_then(|reasoning| reasoning.effort.as_ref()) {
        assert!(row.efforts.is_empty() || row.efforts.contains(effort), "{place}: effort {effort}");
    }
    let functions = sent.tools.iter().filter_map(Tool::as_function).count();
    assert!(functions == 0 || row.can(Ability::Tools), "{place}: tools");
    let held = matches!(sent.output, Some(Output::Schema(_)));
    let free = model.surface().wire.has(Quirk::NoFreeJson) && asked.output == Some(Output::Json);
    assert!(!held || free || row.can(Ability::NativeOutput), "{place}: a schema of the answer");
    assert!(!held || free || functions == 0 || row.can(Ability::ToolsWithOutput), "{place}: tools with a schema");
    let blocks = || sent.messages.iter().flat_map(|message| &message.content);
    assert!(row.reads(Modality::Image) || !blocks().any(|block| matches!(block, Block::Image(_))), "{place}: images");
    assert_eq!(plan.output.is_some(), matches!(asked.output, Some(Output::Schema(_))), "{place}");
    let names: Vec<&str> = sent.tools.iter().filter_map(Tool::as_function).map(|tool| tool.name.as_str()).collect();
    for call in sent.messages.iter().flat_map(Message::calls) {
        assert!(!call.name.contains([' ', '/']), "{place}: `{}` in the history", call.name);
    }
    if let Some(ToolChoice::Tool(name)) = &sent.tool_choice {
        assert!(names.contains(&name.as_str()), "{place}: `{name}` is forced among {names:?}");
    }
}

#[test]
fn plans_are_the_same_twice_and_survive_being_kept() {
    for model in models() {
        for request in requests(Strategy::Auto) {
            let (first, second) = (plan(&request, &model), plan(&request, &model));
            let kept = serde_json::to_string(&first).unwrap();
            assert_eq!(kept, serde_json::to_string(&second).unwrap(), "{}", model.name());
            let again: Plan = serde_json::from_str(&kept).unwrap_or_else(|error| panic!("{}: {error}", model.name()));
            assert_eq!(serde_json::to_string(&again).unwrap(), kept, "{}", model.name());
        }
    }
}

/// R-E1 and R-C3: whatever the channel, an answer that travelled in the wire's shape is the caller's value again.
#[test]
fn r_e1_an_answer_comes_back_by_every_channel() {
    let value = json!({"title": "t", "tags": {"x": "1"}, "kind": "b"});
    for model in models() {
        for strategy in STRATEGIES {
            let [alone, ..] = requests(strategy).try_into().map(|all: [Request; 4]| all).unwrap();
            let plan = plan(&alone, &model);
            let output = plan.output.as_ref().expect("a shape was asked for");
            let lens = output.lens.as_ref();
            let wire = lens.map_or_else(|| Ok(value.clone()), |lens| lens.encode(value.clone()));
            let text = wire.unwrap_or_else(|error| panic!("{}: {error}", model.name())).to_string();
            let (block, stop) = if output.strategy == Strategy::Tool {
                (Block::ToolCall(ToolCall::new("c1", OUTPUT_TOOL, text)), StopReason::ToolUse)
            } else {
                (Block::text(text), StopReason::EndTurn)
            };
            let answer = Response { content: vec![block], stop, model: "m".to_owned(), ..Response::default() };
            let body = model.protocol().encode_response(&answer, &Surface::default()).value();
            let decoded = model.protocol().decode_response(body).unwrap().value;
            let restored = restore(decoded, &plan);
            assert_eq!(restored.output.as_ref(), Some(&value), "{} {:?}", model.name(), output.strategy);
            assert_eq!(restored.response.calls().count(), 0, "{}", model.name());
        }
    }
}
