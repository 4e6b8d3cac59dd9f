//! The requirements by their names.

use polywire_wire::{
    Action, Assembler, Block, Effect, Effort, Envelope, Extra, Framing, Image, Message, Output, OutputError,
    OutputFormat, Protocol, Quirk, Reasoning, Request, Response, ResultBlock, Role, Source, Strategy, Surface, Text,
    Thinking, Tool, ToolCall, ToolChoice, ToolResult, ToolResultReference, events_of,
};
use serde_json::{Value, json};

fn chat(request: &Request) -> Value {
    Protocol::OpenAiChat.encode_request(request, &Surface::default()).value()
}

fn said(text: &str) -> Text {
    Text { text: text.to_owned(), ..Text::default() }
}

/// R-B1: model, limit, tools, choice, temperature, stream, labels as text, a format that is strict by default.
#[test]
fn r_b1_a_chat_request_says_every_wish() {
    let tool = Tool::Function(polywire_wire::Function { name: "f".to_owned(), ..Default::default() });
    let format = OutputFormat::strict("place", json!({"type": "object"})).unwrap();
    let request = Request {
        tools: vec![tool],
        tool_choice: Some(ToolChoice::Tool("f".to_owned())),
        temperature: Some(0.5),
        stream: true,
        metadata: [("run".to_owned(), "7".to_owned())].into(),
        output: Some(Output::Schema(format)),
        ..Request::new("m", vec![Message::user("go")])
    };
    let surface = Surface { max_tokens: Some(99), ..Surface::default() }.with(Quirk::LegacyMaxTokens);
    let encoded = Protocol::OpenAiChat.encode_request(&request, &surface);
    let wanted = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "place", "schema": {"type": "object"}, "strict": true}},
        "max_tokens": 99,
        "temperature": 0.5,
        "stream": true,
        "stream_options": {"include_usage": true},
        "metadata": {"run": "7"},
    });
    assert_eq!(encoded.value(), wanted);
    assert_eq!(encoded.changes.len(), 1, "only the limit was added: {:?}", encoded.changes);
}

/// R-B2: instructions first; texts joined by a new line; a list where there is more than text.
#[test]
fn r_b2_texts_are_joined_and_media_make_a_list() {
    let image =
        Image { source: Source::base64("image/png", "AAAA"), detail: Some("low".to_owned()), ..Image::default() };
    let request = Request {
        system: vec![said("Be brief.")],
        ..Request::new(
            "m",
            vec![
                Message::new(Role::User, vec![Block::text("a"), Block::text("b")]),
                Message::new(Role::User, vec![Block::text("see"), Block::Image(image)]),
            ],
        )
    };
    let wanted = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a\nb"},
        {"role": "user", "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        ]},
    ]);
    assert_eq!(chat(&request)["messages"], wanted);
}

/// R-B3: thoughts stand in `reasoning_content`; a turn of thoughts alone has empty content.
#[test]
fn r_b3_a_turn_of_thoughts_has_empty_content() {
    let thought = Block::Thinking(Thinking { text: "hm".to_owned(), ..Thinking::default() });
    let request = Request::new("m", vec![Message::new(Role::Assistant, vec![thought])]);
    assert_eq!(chat(&request)["messages"], json!([{"role": "assistant", "content": "", "reasoning_content": "hm"}]));
}

/// R-B4: media of a result follow as a user's turn with a marker; a stored result says its beginning, length and place.
#[test]
fn r_b4_media_of_results_follow_and_stored_results_are_told() {
    let image = Image { source: Source::url("https://example.com/a.png"), ..Image::default() };
    let content = vec![ResultBlock::text("shot"), ResultBlock::Image(image)];
    let result = ToolResult { call_id: "a".to_owned(), content, ..ToolResult::default() };
    let stored = ToolResultReference {
        call_id: "b".to_owned(),
        preview: "line 1".to_owned(),
        bytes: 90_000,
        path: "/tmp/out.txt".to_owned(),
        extra: Extra::default(),
    };
    let blocks = vec![Block::ToolResult(result), Block::ToolResultReference(stored)];
    let body = chat(&Request::new("m", vec![Message::new(Role::Tool, blocks)]));
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["tool", "tool", "user"]);
    let told = body["messages"][1]["content"].as_str().unwrap();
    assert!(told.starts_with("line 1") && told.contains("90000") && told.contains("/tmp/out.txt"), "{told}");
    assert_eq!(body["messages"][2]["content"][1]["type"], "image_url");
}

/// Some servers count their calls anew each turn: a result belongs to the last call before it that has its id.
#[test]
fn an_id_that_is_given_twice_names_each_result_by_its_own_call() {
    let round = |name: &str| {
        let call = Block::ToolCall(ToolCall::new("call_0", name, "{}"));
        [Message::new(Role::Assistant, vec![call]), Message::tool([ToolResult::text("call_0", "done")])]
    };
    let messages: Vec<Message> = [round("first"), round("second")].concat();
    let request = Request::new("", messages);
    let body = Protocol::Gemini.encode_request(&request, &Surface::default()).value();
    let part = |turn: usize, kind: &str| body["contents"][turn]["parts"][0][kind]["name"].clone();
    let named = [0, 2].map(|turn| [part(turn, "functionCall"), part(turn + 1, "functionResponse")]);
    assert_eq!(named, [["first"; 2], ["second"; 2]]);
    assert_eq!(Protocol::Gemini.decode_request(body).unwrap().value, request);
}

/// A result without an id belongs to the first open call of its name, and an id that was given again to the later call.
#[test]
fn results_without_ids_pass_over_calls_whose_id_was_given_again() {
    let call =
        |name: &str| json!({"role": "model", "parts": [{"functionCall": {"id": "a", "name": name, "args": {}}}]});
    let result = |id: Option<&str>, name: &str| {
        let mut answer = json!({"name": name, "response": {"output": name}});
        if let Some(id) = id {
            answer["id"] = json!(id);
        }
        json!({"role": "user", "parts": [{"functionResponse": answer}]})
    };
    let contents = json!([call("f"), result(Some("a"), "f"), call("g"), result(None, "f"), result(None, "g")]);
    let request = Protocol::Gemini.decode_request(json!({ "contents": contents })).unwrap().value;
    let answers: Vec<&str> =
        request.messages.iter().flat_map(|turn| &turn.content).filter_map(Block::answers).collect();
    assert_eq!((answers[0], answers[2]), ("a", "a"));
    assert_ne!(answers[1], "a");
}

/// R-B7: one request, every protocol; what a protocol cannot say is told with place and effect.
#[test]
fn r_b7_what_cannot_be_said_is_told() {
    let request = Request {
        seed: Some(7),
        reasoning: Some(Reasoning { effort: Some(Effort::Max), ..Reasoning::default() }),
        ..Request::new("m", vec![Message::user("go")])
    };
    let anthropic = Protocol::AnthropicMessages.encode_request(&request, &Surface::default());
    let seed = anthropic.changes.iter().find(|change| change.at == "/seed").unwrap();
    assert_eq!((seed.action, seed.effect), (Action::Dropped, Effect::Wider));
    let surface = Surface { efforts: vec![Effort::Low, Effort::High], ..Surface::default() };
    let chat = Protocol::OpenAiChat.encode_request(&request, &surface);
    assert_eq!(chat.value()["reasoning_effort"], "high");
    assert_eq!(chat.changes.iter().map(|change| change.at.as_str()).collect::<Vec<_>>(), ["/reasoning/effort"]);
}

/// R-C1: a name and a schema or an error; strict by default; round trip through JSON.
#[test]
fn r_c1_an_output_format_is_checked_when_it_is_made() {
    assert_eq!(OutputFormat::strict("  ", json!({})), Err(OutputError::NoName));
    assert_eq!(OutputFormat::best_effort("x", json!([])), Err(OutputError::NotASchema));
    let read: OutputFormat = serde_json::from_value(json!({"name": " x ", "schema": {}})).unwrap();
    assert_eq!((read.name(), read.is_strict(), read.strategy()), ("x", true, Strategy::Auto));
    let format = OutputFormat::best_effort("x", json!({})).unwrap().with_strategy(Strategy::Tool);
    assert_eq!(serde_json::from_value::<OutputFormat>(serde_json::to_value(&format).unwrap()).unwrap(), format);
    assert!(serde_json::from_value::<OutputFormat>(json!({"name": "", "schema": {}})).is_err());
}

/// R-C2: the native channel of every protocol and slot.
#[test]
fn r_c2_every_protocol_has_its_native_channel() {
    let format = OutputFormat::strict("output", json!({"type": "object"})).unwrap();
    let request = Request { output: Some(Output::Schema(format)), ..Request::new("m", vec![Message::user("go")]) };
    let plain = Surface::default();
    for (protocol, surface, place) in [
        (Protocol::OpenAiChat, plain.clone(), "/response_format/json_schema/schema"),
        (Protocol::OpenAiResponses, plain.clone(), "/text/format/schema"),
        (Protocol::AnthropicMessages, plain.clone(), "/output_config/format/schema"),
        (Protocol::Gemini, plain.clone(), "/generationConfig/responseJsonSchema"),
        (Protocol::Gemini, plain.clone().with(Quirk::OpenApiSlots), "/generationConfig/responseSchema"),
        (Protocol::Gemini, plain.with(Quirk::ResponseFormat), "/generationConfig/responseFormat/0/text/schema"),
    ] {
        let body = protocol.encode_request(&request, &surface).value();
        assert_eq!(body.pointer(place), Some(&json!({"type": "object"})), "{protocol}: {body}");
    }
    let body = Protocol::BedrockConverse.encode_request(&request, &Surface::default()).value();
    assert_eq!(
        body.pointer("/outputConfig/textFormat/structure/jsonSchema/schema"),
        Some(&json!("{\"type\":\"object\"}"))
    );
}

/// R-C3: one forced tool with a fixed name; its arguments replace the prose; other calls and plain text pass untouched.
#[test]
fn r_c3_the_answer_of_the_output_tool_replaces_the_prose() {
    let format = OutputFormat::strict("place", json!({"type": "object"})).unwrap();
    let mut request = Request { output: Some(Output::Schema(format)), ..Request::new("m", vec![Message::user("go")]) };
    assert!(request.ask_by_tool());
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool(polywire_wire::OUTPUT_TOOL.to_owned())));
    let call = |name: &str| Block::ToolCall(ToolCall::new("a", name, "{\"x\":1}"));
    let stop = polywire_wire::StopReason::ToolUse;
    let answer = |content| Response { content, stop: stop.clone(), ..Response::default() };
    let mut response = answer(vec![Block::text("Sure!"), call("other"), call(polywire_wire::OUTPUT_TOOL)]);
    assert!(response.answer_from_tool());
    assert_eq!(response, answer(vec![Block::text("{\"x\":1}"), call("other")]));
    let mut plain = answer(vec![Block::text("Sure!")]);
    assert!(!plain.answer_from_tool());
    assert_eq!(plain, answer(vec![Block::text("Sure!")]));
}

/// R-E5: a call that was cut is never complete, neither by a cut stream nor by the limit of tokens.
#[test]
fn r_e5_a_cut_call_never_looks_complete() {
    let call = Block::ToolCall(ToolCall::new("a", "f", "{\"x\":1}"));
    let response = Response { content: vec![call], stop: polywire_wire::StopReason::ToolUse, ..Response::default() };
    let surface = Surface::default();
    for protocol in Protocol::ALL {
        let mut encoder = protocol.stream_encoder(&surface);
        let bytes: Vec<u8> = events_of(&response, 2).iter().flat_map(|event| encoder.push(event)).collect();
        for end in 0..bytes.len() {
            let mut decoder = protocol.stream_decoder(protocol.framing(&surface));
            let mut assembler = Assembler::default();
            decoder.push(&bytes[..end]).unwrap().into_iter().for_each(|event| assembler.push(event));
            let Err(cut) = assembler.finish() else { continue };
            for call in cut.response.calls() {
                assert_eq!(call.arguments, "{\"x\":1}", "{protocol}: half a call after {end} bytes");
            }
        }
    }
}

/// The versions of `anthropic-messages`: the newer one has no sampling.
#[test]
fn anthropic_versions_differ_in_sampling() {
    let request =
        Request { temperature: Some(1.0), max_tokens: Some(9), ..Request::new("m", vec![Message::user("go")]) };
    let encode =
        |version| Protocol::AnthropicMessages.encode_request(&request, &Surface::default().with_version(version));
    assert_eq!(encode("2023-06-01").value()["temperature"], 1.0);
    let newer = encode("2026-10-21");
    assert_eq!((newer.value().get("temperature"), newer.changes.len()), (None, 1));
}

/// The envelopes of `anthropic-messages`: the model in the URL, the version in the body, streams in AWS frames.
#[test]
fn anthropic_envelopes_move_the_model_and_frame_the_stream() {
    let request = Request { max_tokens: Some(9), stream: true, ..Request::new("m", vec![Message::user("go")]) };
    let vertex = Surface::default().with_envelope(Envelope::ModelInUrl);
    let body = Protocol::AnthropicMessages.encode_request(&request, &vertex).value();
    assert_eq!((body.get("model"), &body["stream"]), (None, &json!(true)));
    assert_eq!(body["anthropic_version"], "vertex-2023-10-16");
    let invoke = Surface::default().with_envelope(Envelope::Invoke);
    let body = Protocol::AnthropicMessages.encode_request(&request, &invoke).value();
    assert_eq!((body.get("stream"), &body["anthropic_version"]), (None, &json!("bedrock-2023-05-31")));
    let response = Response { id: "i".to_owned(), content: vec![Block::text("hello")], ..Response::default() };
    let mut encoder = Protocol::AnthropicMessages.stream_encoder(&invoke);
    let bytes: Vec<u8> = events_of(&response, 2).iter().flat_map(|event| encoder.push(event)).collect();
    assert_eq!(Protocol::AnthropicMessages.framing(&invoke), Framing::Aws);
    let mut decoder = Protocol::AnthropicMessages.stream_decoder(Framing::Aws);
    let mut assembler = Assembler::default();
    decoder.push(&bytes).unwrap().into_iter().for_each(|event| assembler.push(event));
    assert_eq!(assembler.finish().unwrap(), response);
}

/// The envelope of Cloud Code Assist: model and project outside, the request inside.
#[test]
fn code_assist_wraps_requests_and_answers() {
    let mut surface = Surface::default().with_envelope(Envelope::CodeAssist);
    surface.envelope_fields.insert("project".to_owned(), json!("p"));
    let request = Request::new("m", vec![Message::user("go")]);
    let body = Protocol::Gemini.encode_request(&request, &surface).value();
    let inner = json!({"contents": [{"role": "user", "parts": [{"text": "go"}]}]});
    assert_eq!(body, json!({"model": "m", "request": inner, "project": "p"}));
    let response = Response { content: vec![Block::text("hi")], ..Response::default() };
    let body = Protocol::Gemini.encode_response(&response, &surface).value();
    assert_eq!(body["response"]["candidates"][0]["content"]["parts"], json!([{"text": "hi"}]));
    assert_eq!(Protocol::Gemini.decode_response(body).unwrap().value, response);
}

/// A broken frame is refused by name: a wrong checksum, half a message, a frame that is too long.
#[test]
fn broken_frames_are_refused_by_name() {
    let response = Response { content: vec![Block::text("hello")], ..Response::default() };
    let mut encoder = Protocol::BedrockConverse.stream_encoder(&Surface::default());
    let mut bytes: Vec<u8> = events_of(&response, 9).iter().flat_map(|event| encoder.push(event)).collect();
    let decoder = || Protocol::BedrockConverse.stream_decoder(Framing::Aws);
    let mut half = decoder();
    half.push(&bytes[..bytes.len() - 1]).unwrap();
    assert!(half.finish().unwrap_err().to_string().contains("inside a message"));
    let mut long = decoder().with_longest_frame(20);
    assert!(long.push(&bytes).unwrap_err().to_string().contains("longer than 20 bytes"));
    bytes[14] ^= 1;
    assert!(decoder().push(&bytes).unwrap_err().to_string().contains("checksum"));
}

/// Efforts that do not exist are the nearest ones, with the place and the effect; words that nobody knows are told.
#[test]
fn efforts_that_do_not_exist_are_the_nearest() {
    let asked = |effort: Effort| Request {
        reasoning: Some(Reasoning { effort: Some(effort), ..Reasoning::default() }),
        max_tokens: Some(9000),
        ..Request::new("m", vec![Message::user("go")])
    };
    let rows = [
        (Protocol::AnthropicMessages, Effort::Minimal, "/output_config/effort", "low"),
        (Protocol::BedrockConverse, Effort::Minimal, "/outputConfig/effort", "low"),
        (Protocol::BedrockConverse, Effort::None, "/additionalModelRequestFields/thinking/type", "disabled"),
        (Protocol::AnthropicMessages, Effort::None, "/thinking/type", "disabled"),
        (Protocol::Gemini, Effort::XHigh, "/generationConfig/thinkingConfig/thinkingLevel", "HIGH"),
        (Protocol::Gemini, Effort::Max, "/generationConfig/thinkingConfig/thinkingLevel", "HIGH"),
    ];
    for (protocol, effort, place, wanted) in rows {
        let encoded = protocol.encode_request(&asked(effort.clone()), &Surface::default());
        assert_eq!(encoded.value().pointer(place), Some(&json!(wanted)), "{protocol}: {effort}");
        let told = encoded.changes.iter().any(|change| change.code == "effort" && change.at.starts_with("/reasoning"));
        assert!(told, "{protocol}: {effort}: {:?}", encoded.changes);
    }
    let surface = Surface { efforts: vec![Effort::Low, Effort::High], ..Surface::default() };
    for protocol in Protocol::ALL {
        for effort in [Effort::Max, Effort::Other("ultra".to_owned())] {
            let encoded = protocol.encode_request(&asked(effort.clone()), &surface);
            let change = encoded.changes.iter().find(|change| change.at == "/reasoning/effort");
            assert_eq!(change.map(|change| change.effect), Some(Effect::Wider), "{protocol}: {effort}");
        }
    }
}

/// Features that an envelope says in its body are said in a header without one.
#[test]
fn features_go_to_the_header_without_an_envelope() {
    let own = Protocol::AnthropicMessages;
    let mut request = Request { max_tokens: Some(9), ..Request::new("m", vec![Message::user("go")]) };
    request.extra.insert(own, "anthropic_beta", json!(["one-1", "two-2"]));
    let plain = own.encode_request(&request, &Surface::default());
    assert_eq!(plain.headers, [("anthropic-beta", "one-1,two-2".to_owned())]);
    assert_eq!(plain.value().get("anthropic_beta"), None);
    assert_eq!(plain.changes[0].at, "/extra/anthropic-messages/anthropic_beta");
    let invoke = own.encode_request(&request, &Surface::default().with_envelope(Envelope::Invoke));
    assert_eq!((invoke.headers.len(), invoke.value()["anthropic_beta"].clone()), (0, json!(["one-1", "two-2"])));
    // What cannot stand in a header is told and not sent.
    request.extra.insert(own, "anthropic_beta", json!(["one\r\nx-evil: 1"]));
    let refused = own.encode_request(&request, &Surface::default());
    assert_eq!((refused.headers.len(), refused.changes[0].action), (0, Action::Dropped));
}

/// A format without a name reaches every protocol, and the name that was made up is on record.
#[test]
fn a_format_without_a_name_is_kept_and_named_on_record() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let messages = json!([{"role": "user", "content": "go"}]);
    let cases = [
        (
            Protocol::OpenAiChat,
            json!({"messages": messages, "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}),
            ("format-name", "/response_format/json_schema/name"),
        ),
        (
            Protocol::OpenAiResponses,
            json!({"input": "go", "text": {"format": {"type": "json_schema", "name": "", "schema": schema}}}),
            ("format-name", "/text/format/name"),
        ),
        (
            Protocol::AnthropicMessages,
            json!({"messages": messages, "output_format": {"type": "json_schema", "schema": schema}}),
            ("output-format", "/output_format"),
        ),
        (
            Protocol::BedrockConverse,
            json!({"messages": [{"role": "user", "content": [{"text": "go"}]}], "outputConfig": {"textFormat":
                {"type": "json_schema", "structure": {"jsonSchema": {"name": "", "schema": schema.to_string()}}}}}),
            ("format-name", "/outputConfig/textFormat/structure/jsonSchema/name"),
        ),
        (
            Protocol::Gemini,
            json!({"contents": [{"parts": [{"text": "go"}]}], "generationConfig": {"responseSchema": schema}}),
            ("response-mime-type", "/generationConfig/responseMimeType"),
        ),
    ];
    for (from, body, expected) in cases {
        let decoded = from.decode_request(body).unwrap();
        let found: Vec<_> = decoded.changes.iter().map(|change| (&*change.code, change.at.as_str())).collect();
        assert_eq!(found, [expected], "{from}");
        for to in Protocol::ALL {
            let body = to.encode_request(&decoded.value, &Surface::default()).value();
            let there = to.decode_request(body).unwrap().value;
            let Some(Output::Schema(format)) = there.output else { panic!("{from} to {to}: the format is lost") };
            assert_eq!(format.schema(), &schema, "{from} to {to}");
        }
    }
}

/// Google refuses unknown names: they do not reach it, and each one is on record by its name and place.
#[test]
fn unknown_fields_inside_gemini_parts_are_dropped_one_by_one_on_record() {
    let body = json!({
        "contents": [
            {"role": "user", "id": "t1", "parts": [{"text": "go", "cache": true, "videoMetadata": {"fps": 1}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "call_id": "c"}, "index": 0}]},
            {"role": "user", "parts": [{
                "functionResponse": {"name": "f", "call_id": "c", "response": {"output": "1"}, "scheduling": "SILENT"},
                "thoughtSignature": "s", "note": "n",
            }]},
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA==", "name": "x"}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "strict": true}]}],
    });
    let request = Protocol::Gemini.decode_request(body).unwrap().value;
    let encoded = Protocol::Gemini.encode_request(&request, &Surface::default());
    let dropped = encoded.changes.iter().filter(|change| change.code == "unknown-field");
    let dropped: Vec<&str> = dropped.map(|change| change.at.as_str()).collect();
    let expected = [
        "/tools/0/extra/gemini/strict",
        "/messages/0/extra/gemini/id",
        "/messages/0/content/0/extra/gemini/cache",
        "/messages/1/content/0/extra/gemini/index",
        "/messages/1/content/0/extra/gemini/call_id",
        "/messages/2/content/0/extra/gemini/call_id",
        "/messages/2/content/0/extra/gemini/note",
        "/messages/3/content/0/extra/gemini/name",
    ];
    assert_eq!(dropped, expected);
    assert!(encoded.changes.iter().all(|change| change.detail.starts_with('`')), "{:?}", encoded.changes);
    let expected = json!([
        {"role": "user", "parts": [{"text": "go", "videoMetadata": {"fps": 1}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{
            "functionResponse": {"name": "f", "response": {"output": "1"}, "scheduling": "SILENT"},
            "thoughtSignature": "s",
        }]},
        {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
    ]);
    assert_eq!(encoded.value()["contents"], expected);
    assert_eq!(encoded.value()["tools"], json!([{"functionDeclarations": [{"name": "f"}]}]));
}

/// A field that another protocol has no counterpart for is named, never counted.
#[test]
fn fields_for_another_protocol_are_dropped_by_name() {
    let body = json!({"messages": [{"role": "user", "content": "go", "name": "ann"}], "logit_bias": {}, "n": 2});
    let request = Protocol::OpenAiChat.decode_request(body).unwrap().value;
    let changes = Protocol::AnthropicMessages.encode_request(&request, &Surface::default()).changes;
    let named: Vec<_> = changes.iter().filter(|change| change.code == "foreign-fields").collect();
    let places: Vec<&str> = named.iter().map(|change| change.at.as_str()).collect();
    assert_eq!(places, ["/extra/openai-chat/logit_bias", "/extra/openai-chat/n", "/messages/0/extra/openai-chat/name"]);
    assert!(named.iter().zip(["`logit_bias`", "`n`", "`name`"]).all(|(change, name)| change.detail.contains(name)));
}

/// Codex to anybody and back: custom tools and namespaces travel as functions, and their calls come back as what they were.
#[test]
fn custom_tools_and_namespaces_travel_as_functions_and_come_back() {
    let own = Protocol::OpenAiResponses;
    let body = json!({"input": "go", "tools": [
        {"type": "custom", "name": "patch", "format": {"type": "text"}},
        {"type": "namespace", "name": "shop", "description": "A shop.", "tools": [
            {"type": "function", "name": "order", "parameters": {"type": "object"}, "strict": false},
            {"type": "custom", "name": "note"},
        ]},
        {"type": "function", "name": "shop__order", "parameters": {"type": "object"}, "strict": false},
    ], "tool_choice": {"type": "function", "namespace": "shop", "name": "note"}});
    let request = own.decode_request(body.clone()).unwrap().value;
    let names: Vec<&str> = request.tools.iter().filter_map(Tool::as_function).map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["patch", "shop__order_2", "shop__note", "shop__order"], "legal and unique");
    assert_eq!(own.encode_request(&request, &Surface::default()).value()["tools"], body["tools"], "the same protocol");

    let functions = Surface::default().with(Quirk::FunctionsOnly);
    for (to, surface) in
        Protocol::ALL.into_iter().zip([&functions, &functions].into_iter().chain([&Surface::default(); 3]))
    {
        let encoded = to.encode_request(&request, surface);
        let moved = encoded.changes.iter().filter(|change| change.code == "tool-origin").count();
        assert_eq!(moved, 3, "{to}: {:?}", encoded.changes);
        let there = to.decode_request(encoded.value()).unwrap().value;
        let found: Vec<_> = there.tools.iter().filter_map(Tool::as_function).map(|one| one.name.as_str()).collect();
        assert_eq!(found, names, "{to}");

        // The provider calls functions; the caller gets its own kinds of calls, whole and streamed.
        let call = |name: &str, arguments: &str| Block::ToolCall(ToolCall::new("c1", name, arguments));
        let blocks = vec![
            call("patch", "{\"input\":\"a\\n\"}"),
            call("shop__order_2", "{}"),
            call("shop__note", "{\"input\":\"b\"}"),
        ];
        let answer = Response { content: blocks, stop: polywire_wire::StopReason::ToolUse, ..Response::default() };
        let mut back = to.decode_response(to.encode_response(&answer, surface).value()).unwrap().value;
        for block in &mut back.content {
            if let Block::ToolCall(call) = block {
                call.restore_origin(&request.tools);
            }
        }
        let items = own.encode_response(&back, &Surface::default()).value()["output"].clone();
        let said =
            |item: &Value| json!([item["type"], item["namespace"], item["name"], item["input"], item["arguments"]]);
        let expected = json!([
            ["custom_tool_call", null, "patch", "a\n", null],
            ["function_call", "shop", "order", null, "{}"],
            ["custom_tool_call", "shop", "note", "b", null],
        ]);
        assert_eq!(items.as_array().unwrap().iter().map(said).collect::<Value>(), expected, "{to}");
        let mut writer = own.stream_encoder(&Surface::default());
        let bytes: Vec<u8> = events_of(&back, 2).iter().flat_map(|event| writer.push(event)).collect();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(text.matches("event: response.custom_tool_call_input.done").count(), 2, "{text}");
        let mut decoder = own.stream_decoder(Framing::Sse);
        let mut assembler = Assembler::default();
        decoder.push(&bytes).unwrap().into_iter().for_each(|event| assembler.push(event));
        let streamed = assembler.finish().unwrap();
        let calls = |response: &Response| -> Vec<_> {
            response.calls().map(|call| (call.origin.clone(), call.arguments.clone())).collect()
        };
        assert_eq!(calls(&streamed), calls(&back), "{to}");
    }
}

/// Chat streams carry usage only where the caller asked for it, so the wish must be readable.
#[test]
fn whether_a_chat_stream_carries_usage_is_kept() {
    let wants = |options: Value| {
        let body = json!({"messages": [{"role": "user", "content": "go"}], "stream": true, "stream_options": options});
        let request = Protocol::OpenAiChat.decode_request(body).unwrap().value;
        let again = Protocol::OpenAiChat.decode_request(chat(&request)).unwrap().value;
        assert_eq!(again, request);
        request.wants_stream_usage()
    };
    assert!(wants(json!({"include_usage": true})));
    assert!(!wants(json!({"include_usage": false})));
    assert!(!wants(json!({"include_obfuscation": false})));
    assert!(!wants(Value::Null));
}

/// A quirk is read in one place, so that what it does can be found.
#[test]
fn every_quirk_is_read_in_one_place() {
    fn sources(folder: &std::path::Path, out: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, out);
            } else {
                out.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut text = String::new();
    sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut text);
    let (_, variants) = text.split_once("pub enum Quirk {").unwrap();
    let variants = variants.split_once("\n}").unwrap().0.lines().map(str::trim);
    let name = |line: &str| line.strip_suffix(',').filter(|name| !name.starts_with("///")).map(str::to_owned);
    // These two are read where a request is planned.
    let planned = ["OneSampling", "NoInstructions"];
    for quirk in variants.filter_map(name) {
        let read = format!("Quirk::{quirk}");
        let reads = text.match_indices(&read);
        let whole = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
        let count = reads.filter(|(at, found)| whole(text.get(at + found.len()..).unwrap_or_default())).count();
        let expected = usize::from(!planned.contains(&quirk.as_str()));
        assert_eq!(count, expected, "`{quirk}` is read in {count} places");
    }
}
