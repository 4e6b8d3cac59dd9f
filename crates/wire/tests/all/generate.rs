//! Made-up neutral values: plain ones that every protocol can say, and wild ones that none can say wholly.

use polywire_wire::{
    Audio, Block, Cache, Document, Effort, Extra, FaultKind, Function, Image, Message, Other, Output, OutputFormat,
    Protocol, Reasoning, RedactedThinking, Request, Response, ResultBlock, Role, Signature, Source, StopReason, Text,
    Thinking, Tool, ToolCall, ToolChoice, ToolResult, ToolResultReference, Usage, WireError,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-zA-Z0-9 .,!?]{1,24}".prop_map(|text| format!("t{text}t")), 1 => "\\PC{1,12}", 1 => Just("\"{}\n\\é𝄞\u{2028}".to_owned())]
}

fn maybe_empty() -> impl Strategy<Value = String> {
    prop_oneof![8 => text(), 1 => Just(String::new()), 1 => Just("  \n".to_owned())]
}

pub(crate) fn id() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9_-]{1,20}"
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,12}"
}

/// A field that no protocol has a word for.
fn own_fields(protocol: Protocol) -> impl Strategy<Value = Extra> {
    let fields = option::weighted(0.15, ("x_[a-c]", json_value()));
    fields.prop_map(move |field| Extra::of(protocol, field.into_iter().collect::<Map<_, _>>()))
}

fn any_protocol() -> impl Strategy<Value = Protocol> {
    proptest::sample::select(Protocol::ALL.to_vec())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
        (-1000..1000_i32).prop_map(|number| json!(f64::from(number) / 8.0)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

pub(crate) fn json_object() -> impl Strategy<Value = Value> {
    vec((name(), json_value()), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn signature(protocol: Protocol) -> impl Strategy<Value = Option<Signature>> {
    let from = prop_oneof![6 => Just(protocol), 1 => any_protocol()];
    option::weighted(0.5, (from, "[a-zA-Z0-9+/]{4,16}").prop_map(|(from, data)| Signature { from, data }))
}

fn cache() -> impl Strategy<Value = Option<Cache>> {
    let ttl = prop_oneof![Just(None), Just(Some("5m".to_owned())), Just(Some("1h".to_owned()))];
    option::weighted(0.1, ttl.prop_map(|ttl| Cache { ttl }))
}

pub(crate) fn base64() -> impl Strategy<Value = String> {
    "([a-zA-Z0-9+/]{4}){1,6}"
}

fn source(media: &'static [&'static str]) -> impl Strategy<Value = Source> {
    prop_oneof![
        4 => (proptest::sample::select(media.to_vec()), base64()).prop_map(|(kind, data)| Source::base64(kind, data)),
        1 => "https://example\\.com/[a-z]{1,8}".prop_map(Source::url),
        1 => id().prop_map(|id| Source::File { id }),
        1 => text().prop_map(|text| Source::Text { text }),
    ]
}

const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];
const SOUNDS: &[&str] = &["audio/wav", "audio/mp3"];

fn text_block(protocol: Protocol) -> impl Strategy<Value = Text> {
    (maybe_empty(), cache(), own_fields(protocol), option::weighted(0.1, signature(protocol)))
        .prop_map(|(text, cache, extra, signature)| Text { text, cache, extra, signature: signature.flatten() })
}

fn image(protocol: Protocol) -> impl Strategy<Value = Image> {
    let detail = option::weighted(0.3, prop_oneof![Just("low".to_owned()), Just("high".to_owned())]);
    (source(IMAGES), detail, cache(), own_fields(protocol)).prop_map(|(source, detail, cache, extra)| Image {
        source,
        detail,
        cache,
        extra,
    })
}

fn document(protocol: Protocol) -> impl Strategy<Value = Document> {
    (source(&["application/pdf"]), option::of(name()), cache(), own_fields(protocol))
        .prop_map(|(source, name, cache, extra)| Document { source, name, cache, extra })
}

fn other(protocol: Protocol) -> impl Strategy<Value = Other> {
    let from = prop_oneof![2 => Just(protocol), 1 => any_protocol()];
    from.prop_map(|protocol| Other { protocol, value: json!({"type": "made_up", "made": {"up": [1, 2]}}) })
}

fn call(protocol: Protocol) -> impl Strategy<Value = ToolCall> {
    let arguments = prop_oneof![
        8 => json_object().prop_map(|value| value.to_string()),
        1 => Just(String::new()),
        1 => Just("{\"cut\": tru".to_owned()),
        1 => json_value().prop_map(|value| value.to_string()),
    ];
    (id(), name(), arguments, signature(protocol), cache(), own_fields(protocol)).prop_map(
        |(id, name, arguments, signature, cache, extra)| ToolCall {
            id,
            name,
            arguments,
            signature,
            cache,
            extra,
            origin: None,
        },
    )
}

fn result(protocol: Protocol) -> impl Strategy<Value = ToolResult> {
    let block = prop_oneof![
        6 => text_block(protocol).prop_map(ResultBlock::Text),
        2 => json_value().prop_map(|value| ResultBlock::Json { value }),
        1 => image(protocol).prop_map(ResultBlock::Image),
        1 => document(protocol).prop_map(ResultBlock::Document),
        1 => other(protocol).prop_map(ResultBlock::Other),
    ];
    (id(), vec(block, 0..3), proptest::bool::weighted(0.2), cache(), own_fields(protocol))
        .prop_map(|(call_id, content, is_error, cache, extra)| ToolResult { call_id, content, is_error, cache, extra })
}

fn said_by_model(protocol: Protocol) -> impl Strategy<Value = Block> {
    prop_oneof![
        4 => text_block(protocol).prop_map(Block::Text),
        2 => (maybe_empty(), signature(protocol), own_fields(protocol))
            .prop_map(|(text, signature, extra)| Block::Thinking(Thinking { text, signature, extra })),
        3 => call(protocol).prop_map(Block::ToolCall),
        1 => (signature(protocol)).prop_filter_map("no data", |signature| signature)
            .prop_map(|signature| Block::RedactedThinking(RedactedThinking { signature })),
        1 => other(protocol).prop_map(Block::Other),
        1 => image(protocol).prop_map(Block::Image),
    ]
}

fn message(protocol: Protocol) -> impl Strategy<Value = Message> {
    let user = prop_oneof![
        5 => text_block(protocol).prop_map(Block::Text),
        2 => image(protocol).prop_map(Block::Image),
        1 => document(protocol).prop_map(Block::Document),
        1 => (source(SOUNDS), own_fields(protocol)).prop_map(|(source, extra)| Block::Audio(Audio { source, extra })),
        1 => other(protocol).prop_map(Block::Other),
    ];
    let reference = (id(), text(), any::<u32>(), name()).prop_map(|(call_id, preview, bytes, path)| {
        Block::ToolResultReference(ToolResultReference {
            call_id,
            preview,
            bytes: bytes.into(),
            path,
            extra: Extra::default(),
        })
    });
    let tool = prop_oneof![9 => result(protocol).prop_map(Block::ToolResult), 1 => reference];
    let system = text_block(protocol).prop_map(Block::Text);
    (
        prop_oneof![
            4 => vec(user, 0..4).prop_map(|content| (Role::User, content)),
            4 => vec(said_by_model(protocol), 0..4).prop_map(|content| (Role::Assistant, content)),
            2 => vec(tool, 1..4).prop_map(|content| (Role::Tool, content)),
            1 => vec(system, 1..3).prop_map(|content| (Role::System, content)),
        ],
        own_fields(protocol),
    )
        .prop_map(|((role, content), extra)| Message { role, content, extra })
}

fn tool(protocol: Protocol) -> impl Strategy<Value = Tool> {
    let function = (
        name(),
        option::of(text()),
        option::of(Just(json!({"type": "object"}))),
        option::of(any::<bool>()),
        cache(),
        own_fields(protocol),
    )
        .prop_map(|(name, description, parameters, strict, cache, extra)| {
            Tool::Function(Function { name, description, parameters, strict, cache, extra, ..Function::default() })
        });
    prop_oneof![8 => function, 1 => other(protocol).prop_map(Tool::Other)]
}

fn choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        name().prop_map(ToolChoice::Tool),
        vec(name(), 1..3).prop_map(ToolChoice::AnyOf),
        vec(name(), 2..4).prop_map(ToolChoice::OneOf),
    ]
}

fn output() -> impl Strategy<Value = Output> {
    let schema = (name(), any::<bool>(), option::of(text())).prop_map(|(name, strict, description)| {
        let schema = json!({"type": "object", "x": {"type": "string"}});
        let made = if strict { OutputFormat::strict(&name, schema) } else { OutputFormat::best_effort(&name, schema) };
        Output::Schema(made.unwrap().with_description(description))
    });
    prop_oneof![Just(Output::Json), schema]
}

fn reasoning() -> impl Strategy<Value = Reasoning> {
    let effort = option::of(proptest::sample::select(vec![
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::XHigh,
        Effort::Max,
    ]));
    let mode = option::of(prop_oneof![
        Just(polywire_wire::ThinkingMode::Adaptive),
        Just(polywire_wire::ThinkingMode::Enabled),
        Just(polywire_wire::ThinkingMode::Disabled),
    ]);
    (effort, option::of(1024..60_000_u64), mode, option::of(any::<bool>()))
        .prop_map(|(effort, budget_tokens, mode, visible)| Reasoning { effort, budget_tokens, mode, visible })
}

pub(crate) fn eighth() -> impl Strategy<Value = f64> {
    (0..16_i32).prop_map(|number| f64::from(number) / 8.0)
}

/// Anything that a request may be.
pub(crate) fn wild_request(protocol: Protocol) -> impl Strategy<Value = Request> {
    let head = (name(), vec(text_block(protocol), 0..3), vec(message(protocol), 0..6), vec(tool(protocol), 0..3));
    let wishes = (option::of(choice()), option::of(any::<bool>()), option::of(output()), option::of(1..9999_u64));
    let sampling = (
        option::of(eighth()),
        option::of(eighth()),
        option::of(1..99_u64),
        option::of(eighth()),
        option::of(eighth()),
        option::of(any::<i32>()),
    );
    let rest = (
        vec(text(), 0..3),
        option::of(reasoning()),
        any::<bool>(),
        option::of((name(), text())),
        option::of(name()),
        own_fields(protocol),
    );
    (head, wishes, sampling, rest).prop_map(|(head, wishes, sampling, rest)| Request {
        model: head.0,
        system: head.1,
        messages: head.2,
        tools: head.3,
        tool_choice: wishes.0,
        parallel_tool_calls: wishes.1,
        output: wishes.2,
        max_tokens: wishes.3,
        temperature: sampling.0,
        top_p: sampling.1,
        top_k: sampling.2,
        frequency_penalty: sampling.3,
        presence_penalty: sampling.4,
        seed: sampling.5.map(i64::from),
        stop: rest.0,
        reasoning: rest.1,
        stream: rest.2,
        metadata: rest.3.into_iter().collect(),
        user: rest.4,
        extra: rest.5,
    })
}

/// What every protocol can say: a conversation with tools, in its proper order.
pub(crate) fn plain_request() -> impl Strategy<Value = Request> {
    let round = (text(), option::of(text()), vec((name(), json_object()), 0..3), text());
    let tool = (name(), text()).prop_map(|(name, description)| {
        let parameters = Some(json!({"type": "object"}));
        Tool::Function(Function { name, description: Some(description), parameters, ..Function::default() })
    });
    (vec(round, 1..4), vec(tool, 1..3), option::of(text()), 16..9999_u64, any::<bool>()).prop_map(
        |(rounds, tools, system, limit, stream)| {
            let mut messages = Vec::new();
            for (at, (question, prose, calls, answer)) in rounds.into_iter().enumerate() {
                messages.push(Message::user(question));
                let id = |index: usize| format!("id-{at}-{index}");
                let made: Vec<_> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, (name, arguments))| ToolCall::new(id(index), name, arguments.to_string()))
                    .collect();
                let results: Vec<_> = (0..made.len()).map(|index| ToolResult::text(id(index), &answer)).collect();
                if !made.is_empty() {
                    let prose = prose.map(Block::text);
                    messages.push(Message::new(
                        Role::Assistant,
                        prose.into_iter().chain(made.into_iter().map(Block::ToolCall)).collect(),
                    ));
                    messages.push(Message::tool(results));
                }
                messages.push(Message::assistant(answer));
            }
            messages.push(Message::user("and now?"));
            let system = system.into_iter().map(|text| Text { text, ..Text::default() }).collect();
            Request { system, tools, max_tokens: Some(limit), stream, ..Request::new("model", messages) }
        },
    )
}

/// Anything that an answer may be.
pub(crate) fn wild_response(protocol: Protocol) -> impl Strategy<Value = Response> {
    let stop = proptest::sample::select(vec![
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::StopSequence,
        StopReason::ToolUse,
        StopReason::Refusal,
        StopReason::ContentFilter,
        StopReason::ContextLength,
        StopReason::Pause,
        StopReason::Malformed,
        StopReason::Other("NEW_WORD".to_owned()),
    ]);
    let usage = (0..999_u64, 0..999_u64, 0..999_u64, 0..999_u64, 0..999_u64).prop_map(
        |(input, read, write, output, thought)| Usage {
            input_tokens: input + read + write,
            output_tokens: output + thought,
            cache_read_tokens: read,
            cache_write_tokens: write,
            reasoning_tokens: thought,
            extra: Extra::default(),
        },
    );
    let ends = (stop, option::weighted(0.2, text()), option::weighted(0.2, text()), option::of(usage));
    (name(), name(), vec(said_by_model(protocol), 0..5), ends, own_fields(protocol)).prop_map(
        |(id, model, content, (stop, stop_sequence, refusal, usage), extra)| Response {
            id,
            model,
            content,
            stop,
            stop_sequence,
            refusal,
            usage,
            extra,
        },
    )
}

/// What every protocol can answer: text, calls and a usage.
pub(crate) fn plain_response() -> impl Strategy<Value = Response> {
    (option::of(text()), vec((name(), json_object()), 0..3), 1..99_u64).prop_map(|(prose, calls, tokens)| {
        let calls = calls.into_iter().enumerate().map(|(index, (name, arguments))| {
            Block::ToolCall(ToolCall::new(format!("id-{index}"), name, arguments.to_string()))
        });
        let content: Vec<Block> = prose.map(Block::text).into_iter().chain(calls).collect();
        let called = content.iter().any(|block| block.as_call().is_some());
        let stop = if called { StopReason::ToolUse } else { StopReason::EndTurn };
        let usage = Usage { input_tokens: tokens, output_tokens: tokens * 2, ..Usage::default() };
        Response {
            id: "id".to_owned(),
            model: "model".to_owned(),
            content,
            stop,
            usage: Some(usage),
            ..Response::default()
        }
    })
}

/// Errors as providers answer them.
pub(crate) fn fault() -> impl Strategy<Value = WireError> {
    let kind = proptest::sample::select(vec![
        FaultKind::InvalidRequest,
        FaultKind::Authentication,
        FaultKind::Billing,
        FaultKind::Permission,
        FaultKind::NotFound,
        FaultKind::TooLarge,
        FaultKind::ContextLength,
        FaultKind::ContentFilter,
        FaultKind::RateLimit,
        FaultKind::Overloaded,
        FaultKind::Timeout,
        FaultKind::Server,
    ]);
    let code = option::of(Just("quota_of_acme".to_owned()));
    (kind, text(), code, option::of(1..90_000_u64), option::of(id())).prop_map(
        |(kind, message, code, wait, request_id)| WireError {
            code,
            retry_after_ms: wait,
            request_id,
            ..WireError::new(kind, message)
        },
    )
}

/// What every protocol can say, and one thing more, so that no change can hide another.
pub(crate) fn request_with_one_more(protocol: Protocol) -> impl Strategy<Value = Request> {
    (plain_request(), wild_request(protocol), 0..16_usize).prop_map(|(mut request, wild, which)| {
        match which {
            0 => request.system = wild.system.into_iter().take(1).collect(),
            1 => request.tool_choice = wild.tool_choice,
            2 => request.parallel_tool_calls = wild.parallel_tool_calls,
            3 => request.output = wild.output,
            4 => request.reasoning = wild.reasoning,
            5 => (request.temperature, request.top_p) = (wild.temperature, wild.top_p),
            6 => (request.top_k, request.seed) = (wild.top_k, wild.seed),
            7 => {
                (request.frequency_penalty, request.presence_penalty) = (wild.frequency_penalty, wild.presence_penalty);
            }
            8 => request.stop = wild.stop,
            9 => (request.metadata, request.user) = (wild.metadata, wild.user),
            10 => request.extra = wild.extra,
            11 => request.tools.extend(wild.tools.into_iter().take(1)),
            _ => {
                let one = wild.messages.into_iter().next().map(|mut message| {
                    message.content.truncate(1);
                    message
                });
                request.messages.extend(one);
            }
        }
        request
    })
}
