//! Whether the provider takes a request: its fields, its history, what its model can do, and the dialects of its schemas. Only what
//! is certain is refused.

use std::borrow::Cow;

use polywire::schema::{Dialect, Severity, Slot, ToolEntry, ToolList, Violation, check, check_tools, target};
use polywire::wire::{
    FaultKind, Function, Output, OutputFormat, Protocol, Quirk, Request, Tool, ToolChoice, WireError,
};
use polywire::{Ability, Model};
use serde_json::{Value, json};

use crate::{fields, history};

/// A request, as it came and as it was decoded, and whom it is for.
pub(crate) struct Judged<'r> {
    pub(crate) body: &'r Value,
    pub(crate) request: &'r Request,
    pub(crate) model: &'r Model,
    /// Dialects of the configuration.
    pub(crate) dialects: &'r [Dialect],
}

impl Judged<'_> {
    /// The first reason to refuse the request.
    pub(crate) fn judge(&self) -> Result<(), Box<WireError>> {
        let (request, model) = (self.request, self.model);
        fields::judge(self.body, &model.provider().id, model.protocol())?;
        if request.messages.is_empty() {
            return Err(refusal("messages: at least one message is required", "messages"));
        }
        stateful_fields(request, model.protocol())?;
        abilities(request, model)?;
        self.tools()?;
        match &request.output {
            Some(Output::Schema(format)) => self.output(format)?,
            Some(Output::Json) | None => {}
        }
        history::judge(self.body, model)
    }

    /// The dialect that a list of ids names. The configuration's own come first.
    fn dialect(&self, ids: &str) -> Option<Cow<'static, Dialect>> {
        let own = |id: &str| self.dialects.iter().find(|dialect| dialect.id() == id);
        let found = ids.split(',').map(str::trim).map(|id| match own(id) {
            Some(dialect) => Some(Cow::Owned(dialect.clone())),
            None => target(id).ok(),
        });
        Dialect::meet_of(found.collect::<Option<Vec<_>>>()?).ok()
    }

    fn tools(&self) -> Result<(), Box<WireError>> {
        let functions = self.request.tools.iter().filter_map(Tool::as_function);
        let dialects = &self.model.surface().dialects;
        let entry = |function: &Function| {
            let schema = function.parameters.clone().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
            let mut entry = ToolEntry::new(function.name.clone(), schema);
            entry.description.clone_from(&function.description);
            // A surface without a dialect for strict tools ignores the flag.
            entry.strict = Some(function.strict.unwrap_or(false) && dialects.tool_strict.is_some());
            entry
        };
        let list: ToolList = functions.map(entry).collect();
        let is_strict = list.tools.iter().any(|tool| tool.strict == Some(true));
        let dialect = dialects.tool_strict.as_ref().filter(|_| is_strict).or(dialects.tool.as_ref());
        let Some(dialect) = dialect.and_then(|ids| self.dialect(ids)) else { return Ok(()) };
        let roots: Vec<&Value> = list.tools.iter().map(|tool| &tool.schema).collect();
        first(check_tools(&list, &dialect), &roots, "tools")
    }

    fn output(&self, format: &OutputFormat) -> Result<(), Box<WireError>> {
        let dialects = &self.model.surface().dialects;
        let strict = dialects.output_strict.as_ref().filter(|_| format.is_strict());
        let dialect = strict.or(dialects.output.as_ref()).or(dialects.output_strict.as_ref());
        let Some(dialect) = dialect.and_then(|ids| self.dialect(ids)) else {
            return Err(refusal("a response schema is not supported here", "response_format"));
        };
        let found = check(format.schema(), &dialect, Slot::Output);
        let found = found.map_err(|error| refusal(&error.to_string(), "response_format"))?;
        first(found, &[format.schema()], "response_format")
    }
}

/// A field that refers to what a provider keeps between requests, and the error of one that has lost it.
struct StatefulField {
    protocol: Protocol,
    field: &'static str,
    code: &'static str,
    message: &'static str,
}

/// The emulator keeps nothing: clients that find this out send the whole conversation.
const STATEFUL_FIELDS: [StatefulField; 2] = [
    StatefulField {
        protocol: Protocol::AnthropicMessages,
        field: "thread",
        code: "thread_unsupported_request",
        message: "threads are not supported here; send the whole conversation",
    },
    StatefulField {
        protocol: Protocol::OpenAiResponses,
        field: "previous_response_id",
        code: "previous_response_not_found",
        message: "the previous response was not found",
    },
];

fn stateful_fields(request: &Request, protocol: Protocol) -> Result<(), Box<WireError>> {
    let refers = |row: &&StatefulField| row.protocol == protocol && request.extra.field(protocol, row.field).is_some();
    let Some(row) = STATEFUL_FIELDS.iter().find(refers) else { return Ok(()) };
    let details = Some(json!({"unsupported": [row.field]}));
    Err(Box::new(WireError { code: Some(row.code.to_owned()), details, ..*refusal(row.message, row.field) }))
}

/// Refuses what the model's row rules out.
fn abilities(request: &Request, model: &Model) -> Result<(), Box<WireError>> {
    let (tools, schema) = (!request.tools.is_empty(), matches!(request.output, Some(Output::Schema(_))));
    let forced = matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::OneOf(_)));
    let can = |ability| model.row().can(ability);
    let unsupported = [
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
    unsupported
        .into_iter()
        .find(|(broken, ..)| *broken)
        .map_or(Ok(()), |(_, param, message)| Err(refusal(message, param)))
}

/// A rule that is certain for the root of a schema only. Every recorded rejection (`object schema missing properties`) has the
/// context `()`, and nested open objects were seen to pass.
const CERTAIN_AT_ROOT: &str = "OAI-NS-06";

/// The first violation that is certain to be refused.
fn first(violations: Vec<Violation>, roots: &[&Value], param: &str) -> Result<(), Box<WireError>> {
    let has_open_root = roots.iter().any(|schema| schema.get("properties").is_none());
    let is_certain = |violation: &Violation| violation.code != CERTAIN_AT_ROOT || has_open_root;
    let mut refusals = violations.into_iter().filter(|violation| violation.severity == Severity::Rejected);
    let certain = refusals.find(is_certain);
    let Some(violation) = certain else { return Ok(()) };
    let error = refusal(&violation.says, param);
    Err(Box::new(WireError { details: Some(details(&violation)), ..*error }))
}

fn details(violation: &Violation) -> Value {
    json!({"rule": violation.code, "at": violation.at})
}

pub(crate) fn refusal(message: &str, param: &str) -> Box<WireError> {
    Box::new(WireError { param: Some(param.to_owned()), ..WireError::new(FaultKind::InvalidRequest, message) })
}
