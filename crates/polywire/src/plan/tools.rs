//! Tools for one model: schemas in the dialect of its slot, names that the provider takes, the strict flag where the request as a
//! whole allows it, and the tool by which an answer is asked for.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use polywire_schema::{Dialect, FitOptions, FittedTool, StrictMode, ToolRef};
use polywire_wire::{Function, OUTPUT_TOOL, OutputFormat, Quirk, RawSchema, Strategy, Tool, ToolChoice};
use serde_json::{Value, json};

use super::bundle::{self, Origin};
use super::output::{Asked, not_held, say};
use super::{Draft, PlannedOutput, PlannedTool, Strict};
use crate::change::{Action, Effect, Kind, change, of_schema};
use crate::model::Ability;
use crate::provider::Budget;

/// Tools and the answer, fitted.
pub(super) struct FittedTools {
    pub(super) tools: Vec<PlannedTool>,
    pub(super) output: Option<PlannedOutput>,
}

pub(super) fn apply(draft: &mut Draft<'_>, asked: Asked) -> FittedTools {
    if !draft.tools.is_empty() && !draft.model.row().can(Ability::Tools) {
        draft.tools = Cow::default();
        draft.request.tool_choice = None;
        draft.request.parallel_tool_calls = None;
        let what = (Action::Dropped, Effect::Narrower);
        draft.record(change(Kind::Tools, "no-tools", "/tools", what, "this model calls no tools"));
    }
    let (first, output) = match asked {
        Asked::Nothing => (None, None),
        Asked::Prompted => (None, Some(PlannedOutput { strategy: Strategy::Prompted, strict: false, lens: None })),
        Asked::Native { fitted, format, budget } => {
            let lens = Some(fitted.lens()).filter(|lens| !lens.is_identity()).cloned();
            let planned = PlannedOutput { strategy: Strategy::Native, strict: fitted.strict(), lens };
            // It counts like one more strict tool where answer and tools share what they may cost.
            let counts = budget == Budget::Shared && fitted.strict() && !draft.tools.is_empty();
            (counts.then(|| First::Cost(format)), Some(planned))
        }
        Asked::Tool(format) => (Some(First::Tool(format)), None),
    };
    fit(draft, first, output)
}

/// What stands before the caller's tools while they are fitted.
enum First {
    /// The tool by which the answer is asked for.
    Tool(OutputFormat),
    /// A schema that only counts.
    Cost(OutputFormat),
}

impl First {
    fn format(&self) -> &OutputFormat {
        match self {
            Self::Tool(format) | Self::Cost(format) => format,
        }
    }
}

fn fit(draft: &mut Draft<'_>, first: Option<First>, output: Option<PlannedOutput>) -> FittedTools {
    let mut fitted_tools = FittedTools { tools: Vec::new(), output };
    let Some((dialect, flag)) = dialect(draft) else { return fitted_tools };
    let beside = usize::from(matches!(first, Some(First::Tool(_))));
    // A request that ends up without strict tools is judged by the other dialect.
    let slots = draft.model.slots();
    let most = slots.tool.iter().chain(&slots.tool_strict).filter_map(|dialect| dialect.most_tools()).min();
    let origins = bundle::apply(draft, most, beside);
    if origins.is_empty() && first.is_none() {
        draft.request.tools.extend(draft.tools.iter().cloned());
        return fitted_tools;
    }
    let none = no_arguments();
    let answer = first.as_ref().map(First::format).map(|format| (format, about(format)));
    let answer = answer.as_ref().map(|(format, about)| answer_tool(format, about));
    let own = draft.tools.iter().filter_map(Tool::as_function);
    let own = own.map(|function| own_tool(function, &none, draft.options.strict));
    let list: Vec<ToolRef<'_>> = answer.into_iter().chain(own).collect();
    let mode = if draft.options.strict == Strict::Off { StrictMode::Off } else { StrictMode::Auto };
    let fitted = draft.cache.fit_list(&list, dialect, &FitOptions::default().with_strict(mode));
    draft.changes.extend(fitted.changes.iter().map(|change| of_schema(Kind::Tools, "/tools", change)));
    let mut results = fitted.tools.iter();
    let answer = first.as_ref().and_then(|_| results.next());
    take_tools(draft, &origins, results, flag, &mut fitted_tools.tools);
    if let Some((First::Tool(format), answer)) = first.zip(answer) {
        fitted_tools.output = Some(ask_by_tool(draft, &format, answer, flag));
    }
    choose(draft, &fitted_tools.tools);
    fitted_tools
}

/// Whether the provider has the strict flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flag {
    Said,
    Unknown,
}

/// The dialect of the slot for tools, and whether the flag is said there.
fn dialect<'a>(draft: &Draft<'a>) -> Option<(&'a Dialect, Flag)> {
    let slots = draft.model.slots();
    let flag = if slots.tool_strict.is_some() { Flag::Said } else { Flag::Unknown };
    let strict = slots.tool_strict.as_ref();
    let strict = strict.filter(|_| draft.model.row().can(Ability::Strict) && draft.options.strict != Strict::Off);
    Some((strict.or(slots.tool.as_ref())?.as_ref(), flag))
}

/// A tool for the fitter. Places are told from the tool on; where the tool stands is added later.
fn own_tool<'a>(function: &'a Function, none: &'a Value, strict: Strict) -> ToolRef<'a> {
    let strict = match strict {
        Strict::Auto => function.strict,
        Strict::AsAsked => Some(function.strict.unwrap_or(false)),
        Strict::Off => Some(false),
    };
    let tool = ToolRef::new(&function.name, function.parameters.as_ref().unwrap_or(none));
    tool.with_description(function.description.as_deref()).with_strict(strict).with_place("/parameters")
}

/// The schema of a tool without arguments.
pub(super) fn no_arguments() -> Value {
    json!({"type": "object"})
}

fn answer_tool<'a>(format: &'a OutputFormat, about: &'a str) -> ToolRef<'a> {
    let tool = ToolRef::new(OUTPUT_TOOL, format.schema());
    tool.with_description(Some(about)).with_strict(Some(format.is_strict())).with_place("/schema")
}

/// What the tool for the answer says of itself.
fn about(format: &OutputFormat) -> String {
    let about = format.description().map(|text| format!(" {text}")).unwrap_or_default();
    format!("Gives the final answer, `{}`.{about}", format.name())
}

/// The tools as they are sent, and what had to give for each.
fn take_tools<'f>(
    draft: &mut Draft<'_>,
    origins: &[Origin],
    results: impl Iterator<Item = &'f FittedTool>,
    flag: Flag,
    planned: &mut Vec<PlannedTool>,
) {
    let mut results = origins.iter().zip(results);
    for tool in draft.tools.iter() {
        let function = match tool {
            Tool::Function(function) => function,
            Tool::Other(_) => {
                draft.request.tools.push(tool.clone());
                continue;
            }
        };
        let Some((origin, fitted)) = results.next() else { continue };
        origin.told(&fitted.changes, &mut draft.changes);
        if function.strict == Some(true) && !fitted.strict && flag == Flag::Said {
            let detail = format!("the provider does not hold calls of `{}` to their schema", function.name);
            let at = match origin {
                Origin::Own(index) => format!("/tools/{index}/strict"),
                Origin::Shared(_) => "/tools".to_owned(),
            };
            draft.changes.push(change(Kind::Tools, "not-enforced", &at, (Action::Dropped, Effect::Wider), detail));
        }
        let kind = function.origin.clone();
        planned.push(PlannedTool { origin: kind.clone(), ..planned_tool(fitted, origin) });
        let (cache, extra) = (function.cache.clone(), function.extra.clone());
        let sent = Function { cache, extra, origin: kind, ..written(fitted, flag) };
        draft.request.tools.push(Tool::Function(sent));
    }
}

fn planned_tool(fitted: &FittedTool, origin: &Origin) -> PlannedTool {
    PlannedTool {
        name: fitted.original_name.clone(),
        wire_name: fitted.name.clone(),
        shared_by: origin.members(),
        origin: None,
        strict: fitted.strict,
        lens: fitted.shared_lens().filter(|lens| !lens.is_identity()),
    }
}

/// A tool as it is sent.
fn written(fitted: &FittedTool, flag: Flag) -> Function {
    Function {
        name: fitted.name.clone(),
        description: fitted.description.clone(),
        written: Some(RawSchema::from(Arc::clone(fitted.schema_text()))),
        strict: (flag == Flag::Said).then_some(fitted.strict),
        ..Function::default()
    }
}

/// Adds the tool by which the answer is asked for, and has the model call it as far as it can be made to.
fn ask_by_tool(draft: &mut Draft<'_>, format: &OutputFormat, fitted: &FittedTool, flag: Flag) -> PlannedOutput {
    let place = |change: &_| of_schema(Kind::Output, "/output", change);
    draft.changes.extend(fitted.changes.iter().map(place));
    if format.is_strict() && !fitted.strict {
        draft.record(not_held("the provider does not hold the tool for the answer to its schema"));
    }
    let lens = fitted.lens().filter(|lens| !lens.is_identity()).cloned();
    let planned = PlannedOutput { strategy: Strategy::Tool, strict: fitted.strict, lens };
    let alone = draft.request.tools.is_empty();
    draft.request.tools.push(Tool::Function(written(fitted, flag)));
    if draft.surface.has(Quirk::NoForcedChoice) {
        say(
            draft,
            format!("When you have the final answer, give it by calling the tool `{OUTPUT_TOOL}`, not as text."),
        );
        draft.record(change(
            Kind::Output,
            "not-forced",
            "/output/strategy",
            (Action::Dropped, Effect::Wider),
            "no tool can be forced here; the instructions ask for the call",
        ));
        return planned;
    }
    let choice = match draft.request.tool_choice.take() {
        Some(ToolChoice::None) => ToolChoice::Tool(OUTPUT_TOOL.to_owned()),
        None | Some(ToolChoice::Auto | ToolChoice::Required) if alone => ToolChoice::Tool(OUTPUT_TOOL.to_owned()),
        None | Some(ToolChoice::Auto | ToolChoice::Required) => ToolChoice::Required,
        // A caller who names tools means this turn; the answer comes in a later one.
        Some(named @ ToolChoice::Tool(_)) => named,
        Some(ToolChoice::AnyOf(mut names) | ToolChoice::OneOf(mut names)) => {
            names.push(OUTPUT_TOOL.to_owned());
            ToolChoice::OneOf(names)
        }
    };
    if alone && draft.request.parallel_tool_calls.is_none() && !draft.surface.has(Quirk::NoParallelFlag) {
        draft.request.parallel_tool_calls = Some(false);
    }
    draft.request.tool_choice = Some(choice);
    draft.record(change(
        Kind::Output,
        "output-tool",
        "/output",
        (Action::Rewritten, Effect::Same),
        format!("the answer is asked for by a call of the tool `{OUTPUT_TOOL}`"),
    ));
    planned
}

/// The names in the choice of tools, as the provider knows them.
fn choose(draft: &mut Draft<'_>, tools: &[PlannedTool]) {
    let rename = |name: &mut String| {
        if let Some(tool) = tools.iter().find(|tool| tool.stands_for(name)) {
            tool.wire_name.clone_into(name);
        }
    };
    match &mut draft.request.tool_choice {
        Some(ToolChoice::Tool(name)) => {
            // The tool for the answer is the planner's own; a caller's tool of that name has another one by now.
            let callers = matches!(&draft.asked.tool_choice, Some(ToolChoice::Tool(asked)) if asked == name);
            if callers || *name != OUTPUT_TOOL {
                rename(name);
            }
        }
        Some(ToolChoice::AnyOf(names) | ToolChoice::OneOf(names)) => {
            names.iter_mut().for_each(rename);
            // Tools that share an entry have one name.
            let mut seen = BTreeSet::new();
            names.retain(|name| seen.insert(name.clone()));
        }
        None | Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => {}
    }
}
