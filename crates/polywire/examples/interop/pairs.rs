//! Every pair of protocols through `Translation`: what goes out to the provider, and the answer, stream and error that the caller
//! gets back, for the official SDKs of both sides to judge.

use std::error::Error;

use polywire::wire::{
    Block, Effort, FaultKind, Function, Image, Message, OUTPUT_TOOL, Output, OutputFormat, Protocol, Reasoning,
    Request, Response, Role, Source, Stamp, StopReason, Strategy, Surface, Thinking, Tool, ToolCall, Usage, WireError,
    events_of,
};
use polywire::{Catalog, Plan, TranslateOptions, Translation};
use serde_json::{Value, json};

use crate::{PIECE, hex};

const MODELS: [(Protocol, &str); 5] = [
    (Protocol::OpenAiChat, "openai:chat/gpt-4o"),
    (Protocol::OpenAiResponses, "openai/gpt-5"),
    (Protocol::AnthropicMessages, "anthropic/claude-sonnet-4-5"),
    (Protocol::Gemini, "google/gemini-2.5-flash"),
    (Protocol::BedrockConverse, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
];

/// A request, and the answer to it in the caller's shapes.
struct Scenario {
    name: &'static str,
    request: Request,
    answer: Response,
}

/// Every pair × every scenario × whole and streamed, as lines for the SDKs.
pub(crate) fn lines() -> Result<Vec<Value>, Box<dyn Error>> {
    let mut lines = Vec::new();
    for scenario in scenarios()? {
        for (from, _) in MODELS {
            for (to, model) in MODELS {
                if from == to || (scenario.request.output.is_some() && from == Protocol::BedrockConverse) {
                    continue;
                }
                let name = format!("pair/{}/{from}-to-{to}", scenario.name);
                let said = pair(&scenario, from, model).map_err(|error| format!("{name}: {error}"))?;
                lines.extend(said.into_iter().map(|(to, said)| json!({"name": name, "to": to.name(), "said": said})));
            }
        }
    }
    Ok(lines)
}

fn pair(scenario: &Scenario, from: Protocol, model: &str) -> Result<Vec<(Protocol, Value)>, Box<dyn Error>> {
    let mut said = Vec::new();
    for stream in [false, true] {
        let request = Request { stream, ..scenario.request.clone() };
        let body = from.encode_request(&request, &Surface::default()).body;
        let options = TranslateOptions::default().with_stamp(Stamp::new(1_700_000_000, "1")).with_stream(stream);
        let translation = Translation::new(&body, from, &Catalog::built_in().resolve(model)?, &options)?;
        let plan = translation.plan();
        said.push((plan.protocol, json!({"kind": "request", "model": model, "body": translation.request().body})));
        let upstream = on_the_wire(&scenario.answer, plan)?;
        let bytes = if stream {
            let mut encoder = plan.protocol.stream_encoder(&plan.surface);
            let sent: Vec<u8> = events_of(&upstream, PIECE).iter().flat_map(|event| encoder.push(event)).collect();
            let mut stream = translation.stream();
            let mut bytes = stream.push(&sent).into_owned();
            bytes.extend(stream.finish().bytes);
            bytes
        } else {
            translation.response(&plan.protocol.encode_response(&upstream, &plan.surface).body)?.body
        };
        let kind = if stream { "stream" } else { "response" };
        // Gemini calls without an id get one that is made up; everything else must be what the model said.
        let ids = |answer: &Response| answer.calls().map(|call| call.id.clone()).collect::<Vec<_>>();
        let mut expected = scenario.answer.clone();
        let back = if stream {
            polywire::decode_stream(&bytes, from)?.map_err(|cut| cut.to_string())?
        } else {
            polywire::decode(&bytes, from)?.value
        };
        if plan.protocol == Protocol::Gemini {
            let made_up = ids(&back);
            for (block, id) in expected.content.iter_mut().filter(|block| block.as_call().is_some()).zip(made_up) {
                if let Block::ToolCall(call) = block {
                    call.id = id;
                }
            }
        }
        said.push((from, json!({"kind": kind, "hex": hex(&bytes), "answer": expected})));
        if !stream {
            said.push((from, error(&translation)));
        }
    }
    Ok(said)
}

/// The answer as the model gives it: in the names and shapes that it was asked for.
fn on_the_wire(answer: &Response, plan: &Plan) -> Result<Response, Box<dyn Error>> {
    let mut answer = answer.clone();
    for block in &mut answer.content {
        if let Block::ToolCall(call) = block {
            let tool = plan.tools.iter().find(|tool| tool.name == call.name).ok_or("a tool that is not planned")?;
            call.name.clone_from(&tool.wire_name);
            if let Some(lens) = &tool.lens {
                call.arguments = lens.encode(call.value()?)?.to_string();
            }
        } else if let (Block::Text(text), Some(output)) = (&mut *block, &plan.output) {
            if let Some(lens) = &output.lens {
                text.text = lens.encode(serde_json::from_str(&text.text)?)?.to_string();
            }
            if output.strategy == Strategy::Tool {
                *block = Block::ToolCall(ToolCall::new("call_out", OUTPUT_TOOL, std::mem::take(&mut text.text)));
                answer.stop = StopReason::ToolUse;
            }
        }
    }
    Ok(answer)
}

fn error(translation: &Translation) -> Value {
    let error = WireError {
        status: 429,
        kind: FaultKind::RateLimit,
        code: None,
        message: "Slow down.".to_owned(),
        param: None,
        retry_after_ms: None,
        request_id: None,
        details: None,
    };
    let plan = translation.plan();
    let sent = plan.protocol.encode_error(&error, &plan.surface);
    let headers: Vec<(&str, &str)> = sent.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let back = translation.error(sent.status, &headers, &sent.body);
    let headers: Value = back.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    json!({"kind": "error", "status": back.status, "headers": headers, "hex": hex(&back.body), "error": error})
}

fn scenarios() -> Result<Vec<Scenario>, Box<dyn Error>> {
    let value = json!({"labels": {"a": "1"}, "pay": {"by": "iban", "iban": "CH1"}, "at": [1.5, 2.5]});
    let tool = Function {
        name: "place_order".to_owned(),
        description: Some("Places an order".to_owned()),
        parameters: Some(order()?),
        strict: Some(true),
        ..Function::default()
    };
    let format = OutputFormat::strict("order", order()?)?;
    let image = Block::Image(Image { source: Source::base64("image/png", PIXEL), ..Image::default() });
    let thought = Block::Thinking(Thinking { text: "Let me see.".to_owned(), ..Thinking::default() });
    let call = Block::ToolCall(ToolCall::new("call_1", "place_order", value.to_string()));
    let calls = vec![Block::text("I order."), call];
    let plain = vec![Block::text("Good morning.")];
    Ok(vec![
        Scenario { name: "text", request: question(), answer: answer(plain.clone(), StopReason::EndTurn) },
        Scenario {
            name: "tools",
            request: Request { tools: vec![Tool::Function(tool)], ..question() },
            answer: answer(calls, StopReason::ToolUse),
        },
        Scenario {
            name: "structured",
            request: Request { output: Some(Output::Schema(format)), ..question() },
            answer: answer(vec![Block::text(value.to_string())], StopReason::EndTurn),
        },
        Scenario {
            name: "images",
            request: Request {
                messages: vec![Message::new(Role::User, vec![Block::text("What is this?"), image])],
                ..question()
            },
            answer: answer(plain, StopReason::EndTurn),
        },
        Scenario {
            name: "thinking",
            request: Request {
                reasoning: Some(Reasoning { effort: Some(Effort::Low), ..Reasoning::default() }),
                max_tokens: Some(9000),
                ..question()
            },
            answer: answer(vec![thought, Block::text("Yes.")], StopReason::EndTurn),
        },
    ])
}

fn question() -> Request {
    let mut request = Request::new("asked-for", vec![Message::user("Good morning?")]);
    request.max_tokens = Some(500);
    request
}

fn answer(content: Vec<Block>, stop: StopReason) -> Response {
    let usage = Some(Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() });
    Response { id: "answer-1".to_owned(), model: "m".to_owned(), content, stop, usage, ..Response::default() }
}

/// A map, an optional, tagged branches and a tuple: what travels in another shape on most providers.
fn order() -> Result<Value, serde_json::Error> {
    serde_json::from_str(include_str!("../../../../corpus/translation/order.json"))
}

/// An image of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
