//! Shared entries, for requests with more tools than the provider accepts. The excess tools are merged into functions whose parameters are
//! a union of the members' parameters; a call of a shared entry is restored as a call of the member.

use polywire_schema::{SharedEntry, ToolEntry};
use polywire_wire::{Function, Tool, ToolChoice};

use super::Draft;
use crate::change::{Action, Change, Effect, Kind, change, of_schema};

/// The preferred number of tools per shared entry; more if they would not fit otherwise.
const TOOLS_PER_ENTRY: usize = 8;

/// The caller's tools behind one function of the request.
pub(super) enum FunctionSource {
    /// The index of the caller's tool.
    Single(usize),
    /// The indices and names of the caller's tools in a shared entry.
    Shared(Vec<(usize, String)>),
}

impl FunctionSource {
    pub(super) fn shared_names(&self) -> Vec<String> {
        match self {
            Self::Single(_) => Vec::new(),
            Self::Shared(members) => members.iter().map(|(_, name)| name.clone()).collect(),
        }
    }

    /// Records the fitter's changes with pointers into the caller's request. The fitter's pointers start at the tool.
    pub(super) fn record_schema_changes(&self, changes: &[polywire_schema::Change], recorded: &mut Vec<Change>) {
        match self {
            Self::Single(index) => {
                let place = format!("/tools/{index}");
                recorded.extend(changes.iter().map(|change| of_schema(Kind::Tools, &place, change)));
            }
            Self::Shared(members) => recorded.extend(changes.iter().map(|change| {
                let place = change.at.strip_prefix("/parameters").and_then(SharedEntry::place);
                let place = place.and_then(|(number, rest)| Some((members.get(number)?.0, rest)));
                let at = place.map_or("/tools".to_owned(), |(index, rest)| format!("/tools/{index}/parameters{rest}"));
                Change { at, ..of_schema(Kind::Tools, "", change) }
            })),
        }
    }
}

/// Merges tools into shared entries until the tools and the `reserved` entries are within the limit. The limit comes with the code of
/// its rule. Returns the source of each function.
pub(super) fn merge_excess_tools(
    draft: &mut Draft<'_>,
    limit: Option<(u64, &str)>,
    reserved: usize,
) -> Vec<FunctionSource> {
    let own = draft.tools.iter().enumerate().filter(|(_, tool)| tool.as_function().is_some());
    let own: Vec<FunctionSource> = own.map(|(index, _)| FunctionSource::Single(index)).collect();
    let functions = own.len();
    let Some((limit, code)) = limit else { return own };
    let others = draft.tools.len() - functions + reserved;
    let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(others).max(1);
    if functions <= room {
        return own;
    }
    let over = functions - room;
    // A shared entry of n tools saves n - 1 entries.
    let sharing = if over > room * (TOOLS_PER_ENTRY - 1) { functions.div_ceil(room) } else { TOOLS_PER_ENTRY };
    let entries = over.div_ceil(sharing - 1).min(room);
    let tools = std::mem::take(&mut draft.tools).into_owned();
    let unshared = select_unshared(&tools, draft.request.tool_choice.as_ref(), room - entries);
    let (mut sources, mut sent) = (Vec::new(), Vec::new());
    let mut excess: Vec<(usize, Function)> = Vec::new();
    for (index, (tool, is_unshared)) in tools.into_iter().zip(unshared).enumerate() {
        match tool {
            Tool::Function(function) if !is_unshared => excess.push((index, function)),
            tool @ Tool::Function(_) => {
                sources.push(FunctionSource::Single(index));
                sent.push(tool);
            }
            tool @ Tool::Other(_) => sent.push(tool),
        }
    }
    let sharing = excess.len().div_ceil(entries.max(1));
    for (number, members) in excess.chunks_mut(sharing.max(1)).enumerate() {
        let name = format!("more_tools_{}", number + 1);
        for (index, member) in members.iter() {
            let detail =
                format!("`{}` is sent in the shared tool `{name}`: the provider accepts {limit} tools", member.name);
            draft.record_change(change(
                Kind::Tools,
                code,
                format!("/tools/{index}"),
                (Action::Moved, Effect::Same),
                detail,
            ));
        }
        sources.push(FunctionSource::Shared(
            members.iter().map(|(index, member)| (*index, member.name.clone())).collect(),
        ));
        sent.push(Tool::Function(shared_function(name, members)));
    }
    draft.tools = sent.into();
    sources
}

/// Selects the tools that keep their own entry: those in `tool_choice`, then the first ones.
fn select_unshared(tools: &[Tool], choice: Option<&ToolChoice>, mut room: usize) -> Vec<bool> {
    let named = |name: &str| match choice {
        Some(ToolChoice::Tool(own)) => own == name,
        Some(ToolChoice::AnyOf(names) | ToolChoice::OneOf(names)) => names.iter().any(|own| own == name),
        None | Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => false,
    };
    let mut unshared = vec![false; tools.len()];
    for pass in [true, false] {
        for (tool, is_unshared) in tools.iter().zip(&mut unshared) {
            let Some(function) = tool.as_function() else { continue };
            if room > 0 && !*is_unshared && named(&function.name) == pass {
                *is_unshared = true;
                room -= 1;
            }
        }
    }
    unshared
}

fn shared_function(name: String, members: &mut [(usize, Function)]) -> Function {
    let names: Vec<String> = members.iter().map(|(_, member)| format!("`{}`", member.name)).collect();
    let description = format!("Calls one of these tools with its own arguments: {}.", names.join(", "));
    let declined = members.iter().any(|(_, member)| member.strict == Some(false));
    let requested = members.iter().any(|(_, member)| member.strict == Some(true));
    let cache = members.iter_mut().rev().find_map(|(_, member)| member.cache.take());
    let parameters = SharedEntry::schema(members.iter_mut().map(|(_, member)| member_entry(member)));
    let strict = if declined { Some(false) } else { requested.then_some(true) };
    Function {
        name,
        description: Some(description),
        parameters: Some(parameters),
        strict,
        cache,
        ..Function::default()
    }
}

fn member_entry(member: &mut Function) -> ToolEntry {
    let schema = member.parameters.take().unwrap_or_else(super::tools::no_arguments);
    let mut entry = ToolEntry::new(member.name.as_str(), schema);
    entry.description = member.description.take();
    entry
}
