//! Whether the provider would take a request: the dialects of its schemas, the rules for its history, what its model can do.

use polywire::schema::{Severity, Slot, ToolEntry, ToolList, Violation, check, check_tools, target};
use polywire::wire::{
    FaultKind, Function, Output, OutputFormat, Protocol, Quirk, Request, Tool, ToolChoice, WireError,
};
use polywire::{Ability, Model};
use serde_json::{Value, json};

/// The first reason to refuse a request, if there is one.
pub(crate) fn judge(request: &Request, model: &Model) -> Result<(), Box<WireError>> {
    if request.messages.is_empty() {
        return Err(refused("at least one message is required", "messages"));
    }
    kept(request, model.protocol())?;
    abilities(request, model)?;
    tools(request, model)?;
    match &request.output {
        Some(Output::Schema(format)) => output(format, model)?,
        Some(Output::Json) | None => {}
    }
    history(request, model)
}

/// A field that refers to what a provider keeps between requests, and how one that has lost it answers.
struct Kept {
    protocol: Protocol,
    field: &'static str,
    code: &'static str,
    says: &'static str,
}

/// The emulator keeps nothing: clients that find this out send the whole conversation.
const KEPT: [Kept; 2] = [
    Kept {
        protocol: Protocol::AnthropicMessages,
        field: "thread",
        code: "thread_unsupported_request",
        says: "threads are not supported here; send the whole conversation",
    },
    Kept {
        protocol: Protocol::OpenAiResponses,
        field: "previous_response_id",
        code: "previous_response_not_found",
        says: "the previous response was not found",
    },
];

fn kept(request: &Request, protocol: Protocol) -> Result<(), Box<WireError>> {
    let refers = |row: &&Kept| row.protocol == protocol && request.extra.field(protocol, row.field).is_some();
    let Some(row) = KEPT.iter().find(refers) else { return Ok(()) };
    let details = Some(json!({"unsupported": [row.field]}));
    Err(Box::new(WireError { code: Some(row.code.to_owned()), details, ..*refused(row.says, row.field) }))
}

/// What the row of the model rules out.
fn abilities(request: &Request, model: &Model) -> Result<(), Box<WireError>> {
    let (tools, schema) = (!request.tools.is_empty(), matches!(request.output, Some(Output::Schema(_))));
    let forced = matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::OneOf(_)));
    let can = |ability| model.row().can(ability);
    let wishes = [
        (tools && !can(Ability::Tools), "tools", "tools are not supported by this model"),
        (schema && !can(Ability::NativeOutput), "response_format", "a response schema is not supported by this model"),
        (
            tools && schema && !can(Ability::ToolsWithOutput),
            "response_format",
            "tools and a response schema cannot be used together with this model",
        ),
        (
            forced && model.wire().has(Quirk::NoForcedChoice),
            "tool_choice",
            "this model does not support forcing a tool",
        ),
    ];
    wishes.into_iter().find(|(broken, ..)| *broken).map_or(Ok(()), |(_, param, says)| Err(refused(says, param)))
}

fn tools(request: &Request, model: &Model) -> Result<(), Box<WireError>> {
    let functions = request.tools.iter().filter_map(Tool::as_function);
    let dialects = &model.surface().dialects;
    let entry = |function: &Function| {
        let schema = function.parameters.clone().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        let mut entry = ToolEntry::new(function.name.clone(), schema);
        entry.description.clone_from(&function.description);
        // Where nothing is known of strict tools the flag is passed over.
        entry.strict = Some(function.strict.unwrap_or(false) && dialects.tool_strict.is_some());
        entry
    };
    let list: ToolList = functions.map(entry).collect();
    let strict = list.tools.iter().any(|tool| tool.strict == Some(true));
    let dialect = dialects.tool_strict.as_ref().filter(|_| strict).or(dialects.tool.as_ref());
    let Some(dialect) = dialect.and_then(|ids| target(ids).ok()) else { return Ok(()) };
    first(check_tools(&list, &dialect), "tools")
}

fn output(format: &OutputFormat, model: &Model) -> Result<(), Box<WireError>> {
    let dialects = &model.surface().dialects;
    let strict = dialects.output_strict.as_ref().filter(|_| format.is_strict());
    let dialect = strict.or(dialects.output.as_ref()).or(dialects.output_strict.as_ref());
    let Some(dialect) = dialect.and_then(|ids| target(ids).ok()) else {
        return Err(refused("a response schema is not supported here", "response_format"));
    };
    let found = check(format.schema(), &dialect, Slot::Output);
    let found = found.map_err(|error| refused(&error.to_string(), "response_format"))?;
    first(found, "response_format")
}

/// A conversation that would have to be repaired is refused.
fn history(request: &Request, model: &Model) -> Result<(), Box<WireError>> {
    let mut repaired = request.clone();
    let repairs = model.protocol().repair_history(&mut repaired, &model.wire());
    match repairs.first() {
        Some(repair) => Err(refused(&repair.detail, repair.at.trim_start_matches('/'))),
        None => Ok(()),
    }
}

fn first(violations: Vec<Violation>, param: &str) -> Result<(), Box<WireError>> {
    let refusal = violations.into_iter().find(|violation| violation.severity == Severity::Rejected);
    let Some(violation) = refusal else { return Ok(()) };
    let error = refused(&violation.says, param);
    Err(Box::new(WireError { details: Some(details(&violation)), ..*error }))
}

fn details(violation: &Violation) -> Value {
    json!({"rule": violation.code, "at": violation.at})
}

fn refused(says: &str, param: &str) -> Box<WireError> {
    Box::new(WireError { param: Some(param.to_owned()), ..WireError::new(FaultKind::InvalidRequest, says) })
}
