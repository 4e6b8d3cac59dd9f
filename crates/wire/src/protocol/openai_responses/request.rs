//! Requests of `openai-responses`.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::items::{Side, assistant_item, content, results};
use super::shapes::{Body, Choice, Content, FormatShape, Item, MessageItem, Named, Part, ReasoningShape, TextShape};
use super::{OWN, read, tools};
use crate::error::{DecodeError, Within};
use crate::fields::Fields;
use crate::neutral::{
    Effort, Extra, Message, Output, Reasoning, Request, Role, Text, Tool, ToolChoice, ToolOrigin, flat_name,
};
use crate::protocol::context::{ADDED, At, Context, DROPPED_NOTE, MERGED};
use crate::protocol::format;
use crate::report::{Action, Changes, Effect};

pub(super) fn encode(ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
    let limit = ctx.max_tokens(request);
    let (extra, mut inner) = ctx.split_extra(&request.extra, &["text", "reasoning"]);
    let tools = tools::write(ctx, request);
    let has_tools = !tools.is_empty();
    let parallel = request.parallel_tool_calls.filter(|_| has_tools);
    let stateless = ctx.surface.is_stateless() && !extra.contains_key("store");
    if stateless {
        ctx.record("stateless", &At::ROOT, ADDED, "`store` set to false: this provider stores nothing");
    }
    ctx.record_unsupported("top_k", request.top_k.as_ref());
    ctx.record_unsupported("seed", request.seed.as_ref());
    ctx.record_unsupported("frequency_penalty", request.frequency_penalty.as_ref());
    ctx.record_unsupported("presence_penalty", request.presence_penalty.as_ref());
    ctx.record_unsupported("stop", Some(&request.stop).filter(|stop| !stop.is_empty()));
    let format = format(ctx, request);
    let text = object(inner.shift_remove("text"));
    let body = Body {
        model: &request.model,
        instructions: instructions(ctx, &request.system),
        input: items(ctx, request),
        tools,
        tool_choice: choice(ctx, request, has_tools),
        parallel_tool_calls: ctx.parameter("parallel_tool_calls", parallel),
        text: (format.is_some() || !text.is_empty()).then_some(TextShape { format, extra: text }),
        reasoning: reasoning(ctx, request, object(inner.shift_remove("reasoning"))),
        max_output_tokens: limit,
        temperature: ctx.parameter("temperature", request.temperature),
        top_p: ctx.parameter("top_p", request.top_p),
        stream: request.stream,
        store: stateless.then_some(false),
        metadata: ctx.parameter("metadata", Some(&request.metadata).filter(|map| !map.is_empty())),
        user: ctx.parameter("user", request.user.as_deref()),
        extra,
    };
    super::super::json(&body)
}

fn object(value: Option<Value>) -> Map<String, Value> {
    if let Some(Value::Object(map)) = value { map } else { Map::new() }
}

fn instructions<'r>(ctx: &mut Context<'_>, system: &'r [Text]) -> Option<Cow<'r, str>> {
    let at = At::ROOT.field("system");
    let mut texts = Vec::with_capacity(system.len());
    for (index, text) in system.iter().enumerate() {
        let at = at.entry(index);
        ctx.drop_fields(&at, &text.extra);
        ctx.drop_cache_hint(&at, text.cache.as_ref());
        ctx.drop_signature(&at, text.signature.as_ref());
        texts.push(Cow::Borrowed(text.text.as_str()));
    }
    (!texts.is_empty()).then(|| ctx.join_texts(&at, texts))
}

fn items<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<Item<'r>> {
    let messages = At::ROOT.field("messages");
    let mut items = Vec::with_capacity(request.messages.len());
    let custom = custom_calls(ctx, request);
    let mut before: Option<Role> = None;
    for (index, message) in request.messages.iter().enumerate() {
        let at = messages.entry(index);
        let length = items.len();
        match message.role {
            Role::System | Role::User => {
                let system = ctx.surface.system_role();
                let role = if message.role == Role::User { "user" } else { system };
                let extra = ctx.extra(&at, &message.extra);
                let content = content(ctx, &at, &message.content, "this message");
                items.push(Item::Message(MessageItem {
                    r#type: "message",
                    id: None,
                    role,
                    status: None,
                    content,
                    extra,
                }));
            }
            Role::Assistant | Role::Tool => {
                ctx.drop_fields(&at, &message.extra);
                if before == Some(message.role) {
                    ctx.record("merged-turns", &at, MERGED, "consecutive messages of one role merged");
                }
                if message.role == Role::Tool {
                    results(ctx, &at, &message.content, &custom, &mut items);
                } else {
                    assistant(ctx, &at, message, &mut items);
                }
                if items.len() == length {
                    ctx.record("empty-turn", &at, DROPPED_NOTE, "empty message dropped");
                    continue;
                }
            }
        }
        before = Some(message.role);
    }
    items
}

/// The ids of calls that are written as custom tool calls.
fn custom_calls<'r>(ctx: &Context<'_>, request: &'r Request) -> HashSet<&'r str> {
    let calls = request.messages.iter().flat_map(Message::calls);
    let custom = calls.filter(|call| ctx.origin(call.origin.as_ref()).is_some_and(|origin| origin.custom));
    custom.map(|call| call.id.as_str()).collect()
}

/// The items of an assistant message; consecutive texts become one item, unless one has item fields.
fn assistant<'r>(ctx: &mut Context<'_>, at: &At<'_>, message: &'r Message, items: &mut Vec<Item<'r>>) {
    let at = at.field("content");
    let start = items.len();
    for (index, block) in message.content.iter().enumerate() {
        let Some(item) = assistant_item(ctx, &at.entry(index), block, Side::Request) else { continue };
        let joins = items.len() > start;
        match (items.last_mut(), item) {
            (
                Some(Item::Message(MessageItem { content: Content::Parts(parts), .. })),
                Item::Message(MessageItem { content: Content::Parts(more), extra: None, .. }),
            ) if joins => parts.extend::<Vec<Part<'r>>>(more),
            (_, item) => items.push(item),
        }
    }
}

fn choice<'r>(ctx: &mut Context<'_>, request: &'r Request, has_tools: bool) -> Option<Choice<'r>> {
    let origins = |name: &str| {
        let function = request.tools.iter().filter_map(Tool::as_function).find(|function| function.name == name);
        function.and_then(|function| function.origin.as_ref())
    };
    let origins = Some(origins).filter(|_| ctx.origin(Some(&ToolOrigin::default())).is_some());
    let function = |name: &'r String| {
        let origin = origins.as_ref().and_then(|origins| origins(name));
        let custom = origin.is_some_and(|origin| origin.custom);
        Named {
            r#type: if custom { "custom" } else { "function" },
            name: origin.and_then(|origin| origin.member.as_deref()).unwrap_or(name),
            namespace: origin.and_then(|origin| origin.namespace.as_deref()),
        }
    };
    let allowed = |mode, names: &'r [String]| Choice::Allowed {
        r#type: "allowed_tools",
        mode,
        tools: names.iter().map(function).collect(),
    };
    let choice = match ctx.tool_choice(request, has_tools)? {
        Cow::Borrowed(choice) => choice,
        Cow::Owned(ToolChoice::Required) => return Some(Choice::Mode("required")),
        Cow::Owned(_) => return Some(Choice::Mode("auto")),
    };
    Some(match choice {
        ToolChoice::Auto => Choice::Mode("auto"),
        ToolChoice::None => Choice::Mode("none"),
        ToolChoice::Required => Choice::Mode("required"),
        ToolChoice::Tool(name) => Choice::Function(function(name)),
        ToolChoice::AnyOf(names) => allowed("auto", names),
        ToolChoice::OneOf(names) => allowed("required", names),
    })
}

fn format<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Option<FormatShape<'r>> {
    Some(match ctx.output(request)? {
        Output::Json if ctx.replaces_json_mode() => {
            let schema = Cow::Owned(json!({"type": "object"}));
            FormatShape::JsonSchema { name: "json", description: None, schema, strict: false }
        }
        Output::Json => FormatShape::JsonObject,
        Output::Schema(format) => FormatShape::JsonSchema {
            name: format.name(),
            description: format.description(),
            schema: Cow::Borrowed(format.schema()),
            strict: format.is_strict(),
        },
    })
}

fn reasoning<'r>(ctx: &mut Context<'_>, request: &'r Request, extra: Map<String, Value>) -> Option<ReasoningShape<'r>> {
    let effort = ctx.effort_alone(request);
    let effort = ctx.parameter("reasoning", effort).map(|effort| match effort {
        Cow::Borrowed(effort) => Cow::Borrowed(effort.word()),
        Cow::Owned(effort) => Cow::Owned(effort.into()),
    });
    let visible = request.reasoning.as_ref().and_then(|reasoning| reasoning.visible);
    if visible == Some(false) {
        let at = At::ROOT.field("reasoning");
        ctx.record(
            "no-word",
            &at.field("visible"),
            DROPPED_NOTE,
            "`visible: false` dropped: reasoning is hidden by default",
        );
    }
    let summary = visible.filter(|visible| *visible).map(|_| "auto");
    let has_config = effort.is_some() || summary.is_some() || !extra.is_empty();
    has_config.then_some(ReasoningShape { effort, summary, extra })
}

pub(super) fn decode(body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut request = Request { model: fields.text("model").unwrap_or_default(), ..Request::default() };
    request.system = fields.text("instructions").map(|text| Text { text, ..Text::default() }).into_iter().collect();
    let mut additional = Vec::new();
    match fields.take("input") {
        Some(Value::String(text)) => request.messages.push(Message::user(text)),
        Some(Value::Array(items)) => {
            for (index, mut item) in items.into_iter().enumerate() {
                if let Some(more) = additional_tools(&mut item) {
                    let at = format!("/input/{index}");
                    let detail = "tools of an `additional_tools` item moved to `tools`";
                    changes.push("additional-tools", at.clone(), (Action::Moved, Effect::Same), detail);
                    additional.push((more, format!("{at}/tools")));
                    continue;
                }
                read::turn(item, &mut request.messages).within(index).within("input")?;
            }
        }
        None => {}
        Some(_) => return Err(DecodeError::shape("a string or an array").within("input")),
    }
    tools::read(fields.list("tools").unwrap_or_default(), "/tools", &mut request.tools, changes);
    for (more, at) in additional {
        tools::read(more, &at, &mut request.tools, changes);
    }
    tools::name_members(&mut request, changes);
    request.tool_choice = read_choice(&mut fields);
    request.parallel_tool_calls = fields.flag("parallel_tool_calls");
    if let Some(mut text) = fields.object("text") {
        request.output = read_format(&mut text, changes);
        fields.put_rest("text", text);
    }
    if let Some(mut shape) = fields.object("reasoning") {
        let effort = shape.text("effort").map(Effort::from);
        let visible = (shape.peek("summary") == Some("auto")).then(|| shape.take("summary")).map(|_| true);
        request.reasoning =
            (effort.is_some() || visible.is_some()).then_some(Reasoning { effort, visible, ..Reasoning::default() });
        fields.put_rest("reasoning", shape);
    }
    request.max_tokens = fields.count("max_output_tokens");
    request.temperature = fields.number("temperature");
    request.top_p = fields.number("top_p");
    request.stream = fields.flag("stream").unwrap_or(false);
    request.user = fields.text("user");
    if let Some(labels) = fields.object("metadata") {
        let plain = |value| if let Value::String(text) = value { text } else { value.to_string() };
        request.metadata = labels.rest().into_iter().map(|(name, value)| (name, plain(value))).collect();
    }
    request.extra = Extra::of(OWN, fields.rest());
    Ok(request)
}

/// The tools of an `additional_tools` item, which Codex sends inside the conversation.
fn additional_tools(item: &mut Value) -> Option<Vec<Value>> {
    if item.get("type").and_then(Value::as_str) != Some("additional_tools") {
        return None;
    }
    if let Some(Value::Array(tools)) = item.get_mut("tools").map(Value::take) { Some(tools) } else { None }
}

fn read_choice(fields: &mut Fields) -> Option<ToolChoice> {
    let choice = fields.take("tool_choice")?;
    let name = |tool: &Value| {
        let name = tool.get("name")?.as_str()?;
        let namespace = tool.get("namespace").and_then(Value::as_str);
        Some(namespace.map_or_else(|| name.to_owned(), |namespace| flat_name(namespace, name)))
    };
    let names = || choice.get("tools")?.as_array()?.iter().map(name).collect::<Option<Vec<_>>>();
    let word = |field: &str| choice.get(field).and_then(Value::as_str);
    let known = match (choice.as_str(), word("type"), word("mode")) {
        (Some("auto"), ..) => Some(ToolChoice::Auto),
        (Some("none"), ..) => Some(ToolChoice::None),
        (Some("required"), ..) => Some(ToolChoice::Required),
        (_, Some("function" | "custom"), _) => name(&choice).map(ToolChoice::Tool),
        (_, Some("allowed_tools"), Some("auto")) => names().map(ToolChoice::AnyOf),
        (_, Some("allowed_tools"), Some("required")) => names().map(ToolChoice::OneOf),
        _ => None,
    };
    if known.is_none() {
        fields.put("tool_choice", choice);
    } else if choice.is_object() {
        fields.put_unread("tool_choice", choice, &["/type", "/name", "/namespace", "/mode", "/tools"]);
    }
    known
}

fn read_format(text: &mut Fields, changes: &mut Changes) -> Option<Output> {
    let format = text.take("format")?;
    let known = match format.get("type").and_then(Value::as_str) {
        Some("text") => return None,
        Some("json_object") => Some(Output::Json),
        Some("json_schema") => format::read_named(&format, "/text/format", changes).map(Output::Schema),
        _ => None,
    };
    if known.is_none() {
        text.put("format", format);
    } else {
        text.put_unread("format", format, &["/type", "/name", "/schema", "/strict", "/description"]);
    }
    known
}
