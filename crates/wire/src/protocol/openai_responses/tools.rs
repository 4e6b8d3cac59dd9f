//! Tools of `openai-responses`: functions, custom tools, and namespaces of both. A namespace member is decoded as a function with a
//! unique name; its origin stores the namespace.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::OWN;
use super::shapes::ToolShape;
use crate::fields::Fields;
use crate::neutral::{Block, Extra, Function, Other, Request, Tool, ToolOrigin, flat_name};
use crate::protocol::context::{At, Context, REWRITTEN};
use crate::report::{Action, Changes, Effect};

/// The field of a member that stores the fields of its namespace.
const NAMESPACE: &str = "namespace";

/// Reads the tools of a request or of an `additional_tools` item.
pub(super) fn read(list: Vec<Value>, at: &str, tools: &mut Vec<Tool>, changes: &mut Changes) {
    for (index, value) in list.into_iter().enumerate() {
        let at = format!("{at}/{index}");
        if value.get("type").and_then(Value::as_str) == Some("namespace") {
            read_namespace(value, &at, tools, changes);
        } else {
            tools.push(read_tool(value, &at, changes));
        }
    }
}

/// Decodes the members of a namespace; a namespace with an unknown kind of member becomes `Tool::Other`.
fn read_namespace(value: Value, at: &str, tools: &mut Vec<Tool>, changes: &mut Changes) {
    let is_tool = |tool: &Value| {
        matches!(tool.get("type").and_then(Value::as_str), Some("function" | "custom"))
            && tool.get("name").is_some_and(Value::is_string)
    };
    let members = value.get("tools").and_then(Value::as_array);
    let known = members.is_some_and(|members| !members.is_empty() && members.iter().all(is_tool));
    if !known || !value.get("name").is_some_and(Value::is_string) {
        tools.push(Tool::Other(Other { protocol: OWN, value }));
        return;
    }
    let Ok(mut fields) = Fields::of(value) else { return };
    fields.take("type");
    let namespace = fields.text("name").unwrap_or_default();
    let members = fields.list("tools").unwrap_or_default();
    let rest = fields.rest();
    for (index, member) in members.into_iter().enumerate() {
        let Tool::Function(mut function) = read_tool(member, &format!("{at}/tools/{index}"), changes) else { continue };
        let custom = function.origin.as_ref().is_some_and(|origin| origin.custom);
        function.origin = Some(ToolOrigin { custom, ..ToolOrigin::member(&namespace, &function.name) });
        function.name = flat_name(&namespace, &function.name);
        if !rest.is_empty() {
            function.extra.insert(OWN, NAMESPACE, Value::Object(rest.clone()));
        }
        tools.push(Tool::Function(function));
    }
}

fn read_tool(value: Value, at: &str, changes: &mut Changes) -> Tool {
    let named = value.get("name").is_some_and(Value::is_string);
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if !named || !matches!(kind, "function" | "custom") {
        return Tool::Other(Other { protocol: OWN, value });
    }
    let custom = kind == "custom";
    let Ok(mut tool) = Fields::of(value) else { return Tool::Function(Function::default()) };
    tool.take("type");
    let (name, description) = (tool.text("name").unwrap_or_default(), tool.text("description"));
    if custom {
        return Tool::Function(Function {
            name,
            description,
            parameters: Some(ToolOrigin::custom_parameters()),
            origin: Some(ToolOrigin::custom()),
            extra: Extra::of(OWN, tool.rest()),
            ..Function::default()
        });
    }
    let strict = tool.flag("strict");
    if strict.is_none() {
        let what = (Action::Rewritten, Effect::Wider);
        let detail = "a tool without `strict` is read as not strict; the API would make it strict where possible";
        changes.push("strict-left-open", format!("{at}/strict"), what, detail);
    }
    Tool::Function(Function {
        name,
        description,
        parameters: tool.take("parameters"),
        strict: strict.filter(|strict| *strict),
        extra: Extra::of(OWN, tool.rest()),
        ..Function::default()
    })
}

/// Makes the names of namespace members unique, and updates the calls.
pub(super) fn name_members(request: &mut Request, changes: &mut Changes) {
    let is_member = |function: &Function| function.origin.as_ref().is_some_and(|origin| origin.namespace.is_some());
    let mut functions: Vec<(usize, &mut Function)> = Vec::new();
    let mut used: HashSet<String> = HashSet::new();
    for (index, tool) in request.tools.iter_mut().enumerate() {
        let Tool::Function(function) = tool else { continue };
        if is_member(function) {
            functions.push((index, function));
        } else {
            used.insert(function.name.clone());
        }
    }
    if functions.is_empty() {
        return;
    }
    for (index, function) in functions {
        let wanted = function.name.clone();
        let mut number = 1;
        while !used.insert(function.name.clone()) {
            number += 1;
            let start: String = wanted.chars().take(56).collect();
            function.name = format!("{start}_{number}");
        }
        let detail = format!("tool of a namespace renamed to `{}`", function.name);
        changes.push("namespace-tool", format!("/tools/{index}/name"), (Action::Renamed, Effect::Same), detail);
    }
    let tools = &request.tools;
    let named = |origin: &ToolOrigin| {
        let same = |function: &&Function| {
            let tool = function.origin.as_ref();
            tool.is_some_and(|tool| tool.namespace == origin.namespace && tool.member == origin.member)
        };
        tools.iter().filter_map(Tool::as_function).find(same).map(|function| function.name.clone())
    };
    for block in request.messages.iter_mut().flat_map(|message| &mut message.content) {
        if let Block::ToolCall(call) = block
            && let Some(name) = call.origin.as_ref().filter(|origin| origin.namespace.is_some()).and_then(named)
        {
            call.name = name;
        }
    }
}

/// Encodes the tools. Consecutive members of one namespace become one tool.
pub(super) fn write<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<ToolShape<'r>> {
    let tools = At::ROOT.field("tools");
    let mut shapes: Vec<ToolShape<'r>> = Vec::with_capacity(request.tools.len());
    for (index, tool) in request.tools.iter().enumerate() {
        let at = tools.entry(index);
        let function = match tool {
            Tool::Function(function) => function,
            Tool::Other(other) => {
                shapes.extend(ctx.other(&at, other).map(ToolShape::Other));
                continue;
            }
        };
        let namespace = ctx.origin(function.origin.as_ref()).and_then(|origin| origin.namespace.as_deref());
        let (shape, fields) = shape(ctx, &at, function);
        match (namespace, shapes.last_mut()) {
            (Some(name), Some(ToolShape::Namespace { name: last, tools, .. })) if *last == name => tools.push(shape),
            (Some(name), _) => {
                shapes.push(ToolShape::Namespace { r#type: "namespace", name, tools: vec![shape], extra: fields });
            }
            (None, _) => shapes.push(shape),
        }
    }
    shapes
}

/// Encodes a function, and returns the fields of its namespace.
fn shape<'r>(ctx: &mut Context<'_>, at: &At<'_>, function: &'r Function) -> (ToolShape<'r>, Map<String, Value>) {
    ctx.drop_cache_hint(at, function.cache.as_ref());
    let origin = ctx.origin(function.origin.as_ref());
    if origin.is_none() {
        ctx.record_as_function(at, function.origin.as_ref());
    }
    let mut extra = ctx.extra(at, &function.extra).map(Cow::Borrowed);
    let fields = match extra.as_ref().and_then(|extra| extra.get(NAMESPACE)) {
        Some(Value::Object(fields)) => fields.clone(),
        Some(_) | None => Map::new(),
    };
    if let Some(extra) = extra.as_mut().filter(|_| !fields.is_empty()) {
        extra.to_mut().shift_remove(NAMESPACE);
    }
    let name = origin.and_then(|origin| origin.member.as_deref()).unwrap_or(&function.name);
    let description = function.description.as_deref();
    if origin.is_some_and(|origin| origin.custom) {
        return (ToolShape::Custom { r#type: "custom", name, description, extra }, fields);
    }
    // The server would make a tool without the field strict.
    if function.strict == Some(false) {
        ctx.record(
            "strict-off",
            &at.field("strict"),
            REWRITTEN,
            "`strict: false` reads back as a tool without `strict`",
        );
    }
    let strict = ctx.strict(at, function.strict.filter(|strict| *strict)).is_some();
    let parameters = function.schema();
    (ToolShape::Function { r#type: "function", name, description, parameters, strict, extra }, fields)
}
