//! Requests there and answers back through `Translation`: every pair of protocols, whole and streamed.

use polywire::wire::{
    Block, Effort, Event, Extra, FaultKind, Image, Message, OUTPUT_TOOL, Output, OutputFormat, Protocol, Reasoning,
    Request, Response, Role, Source, Stamp, StopReason, Surface, Thinking, Tool, ToolCall, ToolResult, Usage,
    WireError, events_of,
};
use polywire::wire::{Function, Strategy};
use polywire::{
    Action, Kind, OnLoss, PlanOptions, TranslateError, TranslateOptions, Translation, decode, decode_events,
    decode_stream,
};
use serde_json::{Value, json};

use crate::model;

/// A model of each protocol.
const MODELS: [(Protocol, &str); 5] = [
    (Protocol::OpenAiChat, "openai:chat/gpt-4o"),
    (Protocol::OpenAiResponses, "openai:responses/gpt-4o"),
    (Protocol::AnthropicMessages, "anthropic/claude-sonnet-4-5"),
    (Protocol::Gemini, "google/gemini-2.5-flash"),
    (Protocol::BedrockConverse, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
];

/// A tool whose arguments travel in another shape on every provider: a map, an optional, a union of tagged objects, a tuple.
fn order() -> Value {
    serde_json::from_str(include_str!("../../../../corpus/translation/order.json")).expect("a schema")
}

fn order_value() -> Value {
    json!({"labels": {"a": "1", "b": "2"}, "pay": {"by": "iban", "iban": "CH1"}, "at": [1.5, 2.0]})
}

fn question() -> Request {
    let mut request = Request::new("asked-for", vec![Message::user("Hello?")]);
    request.max_tokens = Some(500);
    request
}

fn with_tools(strict: bool) -> Request {
    let tool = |name: &str| {
        Tool::Function(Function {
            name: name.to_owned(),
            description: Some("Orders".to_owned()),
            parameters: Some(order()),
            strict: Some(strict),
            ..Function::default()
        })
    };
    Request { tools: vec![tool("place_order"), tool("undo")], ..question() }
}

fn with_output() -> Request {
    let format = OutputFormat::strict("order", order()).expect("a format");
    Request { output: Some(Output::Schema(format)), ..question() }
}

/// The request as a caller of the protocol sends it.
fn body(request: &Request, from: Protocol) -> Vec<u8> {
    from.encode_request(request, &Surface::default()).body
}

fn options(stream: bool) -> TranslateOptions {
    TranslateOptions::default().with_stamp(Stamp::new(1_700_000_000, "seed")).with_stream(stream)
}

#[track_caller]
fn translated(request: &Request, from: Protocol, to: &str, stream: bool) -> Translation {
    let request = Request { stream, ..request.clone() };
    Translation::new(&body(&request, from), from, &model(to), &options(stream))
        .unwrap_or_else(|error| panic!("{from} to {to}: {error}"))
}

fn answer(content: Vec<Block>, stop: StopReason) -> Response {
    let usage = Some(Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() });
    Response { id: "up-1".to_owned(), model: "m".to_owned(), content, stop, usage, ..Response::default() }
}

/// What the caller reads: the whole answer, or the stream with its bytes cut into pieces.
#[track_caller]
fn returned(translation: &Translation, answer: &Response, stream: bool) -> (Response, Vec<polywire::Change>) {
    let (from, plan) = (translation.source(), translation.plan());
    let label = format!("{from} from {}, stream: {stream}", plan.protocol);
    if !stream {
        let encoded = plan.protocol.encode_response(answer, &plan.surface);
        let back = translation.response(&encoded.body).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(back.usage.as_ref().map(|usage| usage.output_tokens), Some(7), "{label}");
        let decoded = decode(&back.body, from).unwrap_or_else(|error| panic!("{label}: {error}"));
        return (decoded.value, back.changes);
    }
    let mut encoder = plan.protocol.stream_encoder(&plan.surface);
    let bytes: Vec<u8> = events_of(answer, 5).iter().flat_map(|event| encoder.push(event)).collect();
    let mut whole: Option<Vec<u8>> = None;
    for size in [bytes.len(), 7, 1] {
        let mut stream = translation.stream();
        let mut out = Vec::new();
        for piece in bytes.chunks(size.max(1)) {
            out.extend_from_slice(&stream.push(piece));
        }
        let end = stream.finish();
        assert_eq!(end.error, None, "{label}");
        assert_eq!(end.usage.as_ref().map(|usage| usage.output_tokens), Some(7), "{label}");
        out.extend_from_slice(&end.bytes);
        let known = whole.get_or_insert_with(|| out.clone());
        assert_eq!(*known, out, "{label}: how bytes are cut does not matter");
        if size == 1 {
            let response = decode_stream(&out, from).unwrap_or_else(|error| panic!("{label}: {error}"));
            let text = String::from_utf8_lossy(&out);
            return (response.unwrap_or_else(|cut| panic!("{label}: {cut}: {text}")), end.changes);
        }
    }
    unreachable!("the last size returns")
}

/// Every pair of protocols, whole and streamed.
fn each_pair(mut check: impl FnMut(Protocol, &str, bool)) {
    for (from, _) in MODELS {
        for (_, to) in MODELS {
            for stream in [false, true] {
                check(from, to, stream);
            }
        }
    }
}

#[test]
fn r_f1_text_comes_back_by_every_pair() {
    each_pair(|from, to, stream| {
        let translation = translated(&question(), from, to, stream);
        let (response, _) =
            returned(&translation, &answer(vec![Block::text("Good morning.")], StopReason::EndTurn), stream);
        assert_eq!((response.text().as_str(), &response.stop), ("Good morning.", &StopReason::EndTurn), "{from} {to}");
    });
}

/// R-F1, R-F3: arguments in the fitted shape go out, and come back in the caller's.
#[test]
fn r_f1_calls_come_back_through_the_lens_by_every_pair() {
    each_pair(|from, to, stream| {
        let translation = translated(&with_tools(true), from, to, stream);
        let label = format!("{from} {to} {stream}");
        let tool = &translation.plan().tools[0];
        let wire =
            tool.lens.as_ref().map_or(Ok(order_value()), |lens| lens.encode(order_value())).expect("a wire value");
        assert!(tool.lens.is_some() || !tool.strict, "{label}: the tool travels in another shape");
        let call = |id: &str, name: &str| Block::ToolCall(ToolCall::new(id, name, wire.to_string()));
        let content =
            vec![Block::text("Two."), call("c1", &tool.wire_name), call("c2", &translation.plan().tools[1].wire_name)];
        let (response, changes) = returned(&translation, &answer(content, StopReason::ToolUse), stream);
        let calls: Vec<(&str, Value)> =
            response.calls().map(|call| (call.name.as_str(), call.value().expect("JSON"))).collect();
        assert_eq!(calls, [("place_order", order_value()), ("undo", order_value())], "{label}");
        assert_eq!(response.stop, StopReason::ToolUse, "{label}");
        assert!(response.calls().all(|call| from == Protocol::Gemini || !call.id.is_empty()), "{label}: ids");
        let losses: Vec<_> = changes.iter().filter(|change| change.effect.is_loss()).collect();
        assert!(losses.is_empty(), "{label}: {losses:?}");
    });
}

#[test]
fn r_f1_structured_output_comes_back_by_every_pair() {
    each_pair(|from, to, stream| {
        let translation = translated(&with_output(), from, to, stream);
        let label = format!("{from} {to} {stream}");
        let Some(output) = &translation.plan().output else {
            // Bedrock's Converse has no field for a schema: its callers cannot ask for one.
            assert_eq!(from, Protocol::BedrockConverse, "{label}");
            return;
        };
        let wire =
            output.lens.as_ref().map_or(Ok(order_value()), |lens| lens.encode(order_value())).expect("a wire value");
        let text = wire.to_string();
        let (block, stop) = if output.strategy == Strategy::Tool {
            (Block::ToolCall(ToolCall::new("c1", OUTPUT_TOOL, text)), StopReason::ToolUse)
        } else {
            (Block::text(text), StopReason::EndTurn)
        };
        let (response, _) = returned(&translation, &answer(vec![block], stop), stream);
        let value: Value = serde_json::from_str(&response.text()).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!((value, &response.stop), (order_value(), &StopReason::EndTurn), "{label}");
    });
}

#[test]
fn r_f1_images_reach_every_protocol() {
    let image = Block::Image(Image { source: Source::base64("image/png", "aWk="), ..Image::default() });
    let turn = Message::new(Role::User, vec![Block::text("What is this?"), image]);
    let request = Request { messages: vec![turn], ..question() };
    each_pair(|from, to, stream| {
        let translation = translated(&request, from, to, stream);
        let body = translation.request().body.get();
        assert!(body.contains("aWk="), "{from} {to}: {body}");
        let (response, _) = returned(&translation, &answer(vec![Block::text("A dot.")], StopReason::EndTurn), stream);
        assert_eq!(response.text(), "A dot.", "{from} {to}");
    });
}

#[test]
fn r_f1_thinking_comes_back_where_the_protocol_has_a_place_for_it() {
    let request = Request {
        reasoning: Some(Reasoning { effort: Some(Effort::Low), ..Reasoning::default() }),
        max_tokens: Some(9000),
        ..question()
    };
    let thought = Block::Thinking(Thinking { text: "Hm.".to_owned(), ..Thinking::default() });
    each_pair(|from, to, stream| {
        let translation = translated(&request, from, to, stream);
        let content = vec![thought.clone(), Block::text("Yes.")];
        let (response, _) = returned(&translation, &answer(content, StopReason::EndTurn), stream);
        let thoughts: Vec<&str> = response
            .content
            .iter()
            .filter_map(|block| if let Block::Thinking(thinking) = block { Some(thinking.text.as_str()) } else { None })
            .collect();
        assert_eq!((thoughts.as_slice(), response.text().as_str()), (&["Hm."][..], "Yes."), "{from} {to} {stream}");
    });
}

#[test]
fn r_f1_errors_come_back_in_the_callers_protocol() {
    let error = WireError {
        status: 429,
        kind: FaultKind::RateLimit,
        code: None,
        message: "Slow down.".to_owned(),
        param: None,
        retry_after_ms: Some(2000),
        request_id: None,
        details: None,
    };
    each_pair(|from, to, _| {
        let translation = translated(&question(), from, to, false);
        let plan = translation.plan();
        let sent = plan.protocol.encode_error(&error, &plan.surface);
        let mut headers: Vec<(&str, &str)> = sent.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("x-ratelimit-remaining-requests", "0"));
        let back = translation.error(sent.status, &headers, &sent.body);
        let pairs: Vec<(&str, &str)> =
            back.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let read = from.decode_error(back.status, polywire::wire::Headers(&pairs), &back.body);
        assert_eq!((&read.kind, read.message.as_str()), (&FaultKind::RateLimit, "Slow down."), "{from} {to}");
        assert_eq!(read.retry_after_ms, Some(2000), "{from} {to}");
        assert!(pairs.contains(&("x-ratelimit-remaining-requests", "0")), "{from} {to}");
    });
}

/// R-F1: a stream that breaks off ends in an error of the caller's protocol, after everything that arrived.
#[test]
fn r_f1_a_stream_that_breaks_off_says_so() {
    each_pair(|from, to, stream| {
        if !stream {
            return;
        }
        let translation = translated(&question(), from, to, true);
        let plan = translation.plan();
        let mut encoder = plan.protocol.stream_encoder(&plan.surface);
        let events = events_of(&answer(vec![Block::text("Good morning.")], StopReason::EndTurn), 5);
        let cut = events.iter().position(|event| matches!(event, Event::Close { .. })).expect("a block ends");
        let bytes: Vec<u8> = events[..cut].iter().flat_map(|event| encoder.push(event)).collect();
        let mut stream = translation.stream();
        let mut out = stream.push(&bytes).into_owned();
        let end = stream.finish();
        assert!(end.error.is_some(), "{from} {to}");
        out.extend_from_slice(&end.bytes);
        let events = decode_events(&out, from).unwrap_or_else(|error| panic!("{from} {to}: {error}"));
        assert!(events.iter().any(|event| matches!(event, Event::Error(_))), "{from} {to}: {events:?}");
        let cut = decode_stream(&out, from).unwrap().expect_err("an answer that was cut");
        assert!(cut.error.is_some(), "{from} {to}");
    });
}

/// R-F3: what a model breaks is repaired on the way back, and every repair is on record.
#[test]
fn r_f3_broken_arguments_are_repaired_on_record() {
    let translation = translated(&with_tools(false), Protocol::OpenAiChat, "anthropic/claude-sonnet-4-5", false);
    let tool = &translation.plan().tools[1];
    let wire = tool.lens.as_ref().map_or(Ok(order_value()), |lens| lens.encode(order_value())).unwrap();
    let broken = format!("```json\n{wire},\n```");
    let call = |text: &str| Block::ToolCall(ToolCall::new("c1", &tool.wire_name, text));
    let body = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": tool.wire_name, "arguments": broken}}]}, "finish_reason": "tool_calls"}]});
    let chat = translated(&with_tools(false), Protocol::AnthropicMessages, "openai:chat/gpt-4o", false);
    let back = chat.response(body.to_string().as_bytes()).unwrap();
    let response = decode(&back.body, Protocol::AnthropicMessages).unwrap().value;
    assert_eq!(response.calls().next().unwrap().value().unwrap(), order_value());
    assert!(back.changes.iter().any(|change| change.action == Action::Repaired), "{:?}", back.changes);

    let wrong = json!({"labels": 3, "pay": {"by": "cash"}});
    let (_, changes) = returned(&translation, &answer(vec![call(&wrong.to_string())], StopReason::ToolUse), false);
    let invalid: Vec<&str> = changes.iter().map(|change| change.code.as_str()).collect();
    assert!(invalid.contains(&"invalid-arguments") || invalid.contains(&"not-restored"), "{invalid:?}");
}

/// R-F4: a loss that the caller refuses is an error in the caller's protocol.
#[test]
fn r_f4_a_refused_loss_is_an_error_of_the_callers_protocol() {
    let audio = json!({"model": "m", "messages": [{"role": "user", "content": [
        {"type": "input_audio", "input_audio": {"data": "aWk=", "format": "wav"}}]}]});
    let refuse = PlanOptions::default().with_on_loss(Kind::History, OnLoss::Refuse);
    let options = TranslateOptions::default().with_plan(refuse);
    let to = model("anthropic/claude-sonnet-4-5");
    let error = Translation::new(audio.to_string().as_bytes(), Protocol::OpenAiChat, &to, &options).unwrap_err();
    assert!(matches!(error, TranslateError::Loss(_)), "{error}");
    let back = error.to_response(Protocol::OpenAiChat);
    let body: Value = serde_json::from_slice(&back.body).unwrap();
    assert_eq!((back.status, &body["error"]["type"]), (400, &json!("invalid_request_error")));
}

/// Chat streams have their usage only where the caller asks for it.
#[test]
fn usage_is_streamed_to_those_who_ask() {
    for (asked, expected) in [(None, false), (Some(true), true), (Some(false), false)] {
        let mut body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
        if let Some(asked) = asked {
            body["stream_options"] = json!({"include_usage": asked});
        }
        let to = model("anthropic/claude-sonnet-4-5");
        let translation =
            Translation::new(body.to_string().as_bytes(), Protocol::OpenAiChat, &to, &TranslateOptions::default())
                .unwrap();
        let mentions = |change: &polywire::Change| change.detail.contains("stream_options");
        assert!(!translation.changes().iter().any(mentions), "{:?}", translation.changes());
        let mut encoder = Protocol::AnthropicMessages.stream_encoder(&Surface::default());
        let events = events_of(&answer(vec![Block::text("Hi.")], StopReason::EndTurn), 5);
        let bytes: Vec<u8> = events.iter().flat_map(|event| encoder.push(event)).collect();
        let mut stream = translation.stream();
        let out = String::from_utf8(stream.push(&bytes).into_owned()).unwrap();
        assert_eq!(out.contains("\"usage\""), expected, "{asked:?}");
        assert!(stream.finish().usage.is_some());
    }
}

/// A history with another provider's calls goes to every provider.
#[test]
fn r_e4_a_conversation_moves_to_every_provider() {
    let call = ToolCall::new("call_1", "place_order", order_value().to_string());
    let request = Request {
        messages: vec![
            Message::user("Order."),
            Message::new(Role::Assistant, vec![Block::ToolCall(call)]),
            Message::tool([ToolResult::text("call_1", "done")]),
        ],
        extra: Extra::default(),
        ..with_tools(true)
    };
    each_pair(|from, to, stream| {
        let translation = translated(&request, from, to, stream);
        let body = serde_json::from_str(translation.request().body.get()).unwrap();
        let sent = translation.plan().protocol.decode_request(body).unwrap().value;
        let calls: Vec<&ToolCall> = sent.messages.iter().flat_map(Message::calls).collect();
        let tool = &translation.plan().tools[0];
        let wire = tool.lens.as_ref().map_or(Ok(order_value()), |lens| lens.encode(order_value())).unwrap();
        assert_eq!(calls.len(), 1, "{from} {to}");
        assert_eq!((&calls[0].name, calls[0].value().unwrap()), (&tool.wire_name, wire), "{from} {to}");
    });
}
