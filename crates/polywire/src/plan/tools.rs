//! Fits the tools of a request: schemas in the model's dialect, valid names, the strict flag where the whole request allows it, and
//! the output tool if structured output is requested through a tool.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use polywire_schema::{Dialect, FitOptions, FittedTool, StrictMode, ToolRef};
use polywire_wire::{Function, OUTPUT_TOOL, OutputFormat, Quirk, RawSchema, Strategy, Tool, ToolChoice};
use serde_json::{Value, json};

use super::output::{OutputChannel, add_instruction, not_enforced};
use super::shared_entries::{FunctionSource, merge_excess_tools};
use super::{Draft, PlannedOutput, PlannedTool, Strict};
use crate::change::{Action, Effect, Kind, change, of_schema};
use crate::model::Ability;
use crate::provider::Budget;

/// The fitted tools and the structured output.
pub(super) struct FittedTools {
    pub(super) tools: Vec<PlannedTool>,
    pub(super) output: Option<PlannedOutput>,
}

pub(super) fn fit_tools(draft: &mut Draft<'_>, channel: OutputChannel) -> FittedTools {
    if !draft.tools.is_empty() && !draft.model.row().can(Ability::Tools) {
        draft.tools = Cow::default();
        draft.request.tool_choice = None;
        draft.request.parallel_tool_calls = None;
        let what = (Action::Dropped, Effect::Narrower);
        draft.record_change(change(Kind::Tools, "no-tools", "/tools", what, "this model does not support tools"));
    }
    let (leading, output) = match channel {
        OutputChannel::Unstructured => (None, None),
        OutputChannel::Prompted => {
            (None, Some(PlannedOutput { strategy: Strategy::Prompted, strict: false, lens: None }))
        }
        OutputChannel::Native { fitted, format, budget } => {
            let lens = Some(fitted.lens()).filter(|lens| !lens.is_identity()).cloned();
            let planned = PlannedOutput { strategy: Strategy::Native, strict: fitted.strict(), lens };
            // With a shared budget the output schema counts as one more strict tool.
            let is_counted = budget == Budget::Shared && fitted.strict() && !draft.tools.is_empty();
            (is_counted.then(|| LeadingSchema::BudgetOnly(format)), Some(planned))
        }
        OutputChannel::Tool(format) => (Some(LeadingSchema::OutputTool(format)), None),
    };
    fit_functions(draft, leading, output)
}

/// An output schema that is fitted before the caller's tools, in the same list.
enum LeadingSchema {
    /// The parameters of the output tool.
    OutputTool(OutputFormat),
    /// A native output schema, which only counts towards the limits.
    BudgetOnly(OutputFormat),
}

impl LeadingSchema {
    fn format(&self) -> &OutputFormat {
        match self {
            Self::OutputTool(format) | Self::BudgetOnly(format) => format,
        }
    }
}

fn fit_functions(draft: &mut Draft<'_>, leading: Option<LeadingSchema>, output: Option<PlannedOutput>) -> FittedTools {
    let mut fitted_tools = FittedTools { tools: Vec::new(), output };
    let Some((dialect, flag)) = tool_dialect(draft) else { return fitted_tools };
    let reserved = usize::from(matches!(leading, Some(LeadingSchema::OutputTool(_))));
    // Without any strict tool the provider applies the limit of the other dialect, so the smaller one is kept.
    let slots = draft.model.slots();
    let limit = slots.tool.iter().chain(&slots.tool_strict).filter_map(|dialect| dialect.most_tools()).min();
    let sources = merge_excess_tools(draft, limit, reserved);
    if sources.is_empty() && leading.is_none() {
        draft.request.tools.extend(draft.tools.iter().cloned());
        return fitted_tools;
    }
    let none = no_arguments();
    let format = leading.as_ref().map(LeadingSchema::format).map(|format| (format, output_tool_description(format)));
    let output_tool = format.as_ref().map(|(format, description)| output_tool_ref(format, description));
    let functions = draft.tools.iter().filter_map(Tool::as_function);
    let functions = functions.map(|function| function_ref(function, &none, draft.options.strict));
    let list: Vec<ToolRef<'_>> = output_tool.into_iter().chain(functions).collect();
    let mode = if draft.options.strict == Strict::Off { StrictMode::Off } else { StrictMode::Auto };
    let fitted = draft.cache.fit_list(&list, dialect, &FitOptions::default().with_strict(mode));
    draft.changes.extend(fitted.changes.iter().map(|change| of_schema(Kind::Tools, "/tools", change)));
    let mut results = fitted.tools.iter();
    let output_tool = leading.as_ref().and_then(|_| results.next());
    add_tools(draft, &sources, results, flag, &mut fitted_tools.tools);
    if let Some((LeadingSchema::OutputTool(format), output_tool)) = leading.zip(output_tool) {
        fitted_tools.output = Some(add_output_tool(draft, &format, output_tool, flag));
    }
    rename_tool_choice(draft, &fitted_tools.tools);
    fitted_tools
}

/// The provider's support for `strict` on tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StrictFlag {
    Supported,
    Unsupported,
}

fn tool_dialect<'a>(draft: &Draft<'a>) -> Option<(&'a Dialect, StrictFlag)> {
    let slots = draft.model.slots();
    let flag = if slots.tool_strict.is_some() { StrictFlag::Supported } else { StrictFlag::Unsupported };
    let strict = slots.tool_strict.as_ref();
    let strict = strict.filter(|_| draft.model.row().can(Ability::Strict) && draft.options.strict != Strict::Off);
    Some((strict.or(slots.tool.as_ref())?.as_ref(), flag))
}

/// A tool for the fitter. Pointers in its changes start at the tool; `record_schema_changes` adds the tool's index.
fn function_ref<'a>(function: &'a Function, none: &'a Value, strict: Strict) -> ToolRef<'a> {
    let strict = match strict {
        Strict::Auto => function.strict,
        Strict::AsAsked => Some(function.strict.unwrap_or(false)),
        Strict::Off => Some(false),
    };
    let tool = ToolRef::new(&function.name, function.parameters.as_ref().unwrap_or(none));
    tool.with_description(function.description.as_deref()).with_strict(strict).with_place("/parameters")
}

/// The schema for tools without parameters.
pub(super) fn no_arguments() -> Value {
    json!({"type": "object"})
}

fn output_tool_ref<'a>(format: &'a OutputFormat, description: &'a str) -> ToolRef<'a> {
    let tool = ToolRef::new(OUTPUT_TOOL, format.schema());
    tool.with_description(Some(description)).with_strict(Some(format.is_strict())).with_place("/schema")
}

fn output_tool_description(format: &OutputFormat) -> String {
    let about = format.description().map(|text| format!(" {text}")).unwrap_or_default();
    format!("Gives the final answer, `{}`.{about}", format.name())
}

/// Adds the fitted tools to the request and the plan, and records their changes.
fn add_tools<'f>(
    draft: &mut Draft<'_>,
    sources: &[FunctionSource],
    results: impl Iterator<Item = &'f FittedTool>,
    flag: StrictFlag,
    planned: &mut Vec<PlannedTool>,
) {
    let mut results = sources.iter().zip(results);
    for tool in draft.tools.iter() {
        let function = match tool {
            Tool::Function(function) => function,
            Tool::Other(_) => {
                draft.request.tools.push(tool.clone());
                continue;
            }
        };
        let Some((source, fitted)) = results.next() else { continue };
        source.record_schema_changes(&fitted.changes, &mut draft.changes);
        if function.strict == Some(true) && !fitted.strict && flag == StrictFlag::Supported {
            let detail = format!("the provider does not enforce the parameters schema of `{}`", function.name);
            let at = match source {
                FunctionSource::Single(index) => format!("/tools/{index}/strict"),
                FunctionSource::Shared(_) => "/tools".to_owned(),
            };
            draft.changes.push(change(Kind::Tools, "not-enforced", &at, (Action::Dropped, Effect::Wider), detail));
        }
        let kind = function.origin.clone();
        planned.push(PlannedTool { origin: kind.clone(), ..planned_tool(fitted, source) });
        let (cache, extra) = (function.cache.clone(), function.extra.clone());
        let sent = Function { cache, extra, origin: kind, ..fitted_function(fitted, flag) };
        draft.request.tools.push(Tool::Function(sent));
    }
}

fn planned_tool(fitted: &FittedTool, source: &FunctionSource) -> PlannedTool {
    PlannedTool {
        name: fitted.original_name.clone(),
        wire_name: fitted.name.clone(),
        shared_by: source.shared_names(),
        origin: None,
        strict: fitted.strict,
        lens: fitted.shared_lens().filter(|lens| !lens.is_identity()),
    }
}

fn fitted_function(fitted: &FittedTool, flag: StrictFlag) -> Function {
    Function {
        name: fitted.name.clone(),
        description: fitted.description.clone(),
        written: Some(RawSchema::from(Arc::clone(fitted.schema_text()))),
        strict: (flag == StrictFlag::Supported).then_some(fitted.strict),
        ..Function::default()
    }
}

/// Adds the output tool and forces the model to call it where the provider supports that.
fn add_output_tool(
    draft: &mut Draft<'_>,
    format: &OutputFormat,
    fitted: &FittedTool,
    flag: StrictFlag,
) -> PlannedOutput {
    let place = |change: &_| of_schema(Kind::Output, "/output", change);
    draft.changes.extend(fitted.changes.iter().map(place));
    if format.is_strict() && !fitted.strict {
        draft.record_change(not_enforced("the provider does not enforce the schema of the output tool"));
    }
    let lens = fitted.lens().filter(|lens| !lens.is_identity()).cloned();
    let planned = PlannedOutput { strategy: Strategy::Tool, strict: fitted.strict, lens };
    let is_only_tool = draft.request.tools.is_empty();
    draft.request.tools.push(Tool::Function(fitted_function(fitted, flag)));
    if draft.surface.has(Quirk::NoForcedChoice) {
        add_instruction(
            draft,
            format!("When you have the final answer, give it by calling the tool `{OUTPUT_TOOL}`, not as text."),
        );
        draft.record_change(change(
            Kind::Output,
            "not-forced",
            "/output/strategy",
            (Action::Dropped, Effect::Wider),
            "this model does not support a forced tool choice; the instructions ask for the call",
        ));
        return planned;
    }
    let choice = match draft.request.tool_choice.take() {
        Some(ToolChoice::None) => ToolChoice::Tool(OUTPUT_TOOL.to_owned()),
        None | Some(ToolChoice::Auto | ToolChoice::Required) if is_only_tool => {
            ToolChoice::Tool(OUTPUT_TOOL.to_owned())
        }
        None | Some(ToolChoice::Auto | ToolChoice::Required) => ToolChoice::Required,
        // The caller forces a tool for this turn; the output follows in a later one.
        Some(named @ ToolChoice::Tool(_)) => named,
        Some(ToolChoice::AnyOf(mut names) | ToolChoice::OneOf(mut names)) => {
            names.push(OUTPUT_TOOL.to_owned());
            ToolChoice::OneOf(names)
        }
    };
    if is_only_tool && draft.request.parallel_tool_calls.is_none() && !draft.surface.has(Quirk::NoParallelFlag) {
        draft.request.parallel_tool_calls = Some(false);
    }
    draft.request.tool_choice = Some(choice);
    draft.record_change(change(
        Kind::Output,
        "output-tool",
        "/output",
        (Action::Rewritten, Effect::Same),
        format!("structured output is requested through the tool `{OUTPUT_TOOL}`"),
    ));
    planned
}

/// Replaces the caller's tool names in `tool_choice` with wire names.
fn rename_tool_choice(draft: &mut Draft<'_>, tools: &[PlannedTool]) {
    let rename = |name: &mut String| {
        if let Some(tool) = tools.iter().find(|tool| tool.stands_for(name)) {
            tool.wire_name.clone_into(name);
        }
    };
    match &mut draft.request.tool_choice {
        Some(ToolChoice::Tool(name)) => {
            // The output tool is the planner's own; a caller's tool with that name has been renamed.
            let is_callers = matches!(&draft.original.tool_choice, Some(ToolChoice::Tool(own)) if own == name);
            if is_callers || *name != OUTPUT_TOOL {
                rename(name);
            }
        }
        Some(ToolChoice::AnyOf(names) | ToolChoice::OneOf(names)) => {
            names.iter_mut().for_each(rename);
            // Tools in a shared entry have the same wire name.
            let mut seen = BTreeSet::new();
            names.retain(|name| seen.insert(name.clone()));
        }
        None | Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => {}
    }
}
