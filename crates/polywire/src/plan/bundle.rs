//! More tools than a provider takes: those that have no room of their own share an entry, which has their arguments as a choice. The
//! fitter sees a tool like any other, and what the model calls comes back as the tool that was meant.

use polywire_schema::{SharedEntry, ToolEntry};
use polywire_wire::{Function, Tool, ToolChoice};

use super::Draft;
use crate::change::{Action, Change, Effect, Kind, change, of_schema};

/// Tools that share an entry, unless there are so many that more must.
const SHARING: usize = 8;

/// Where the functions that are sent come from, one for each.
pub(super) enum Origin {
    /// The caller's tool at this place.
    Own(usize),
    /// The caller's tools at these places, together.
    Shared(Vec<(usize, String)>),
}

impl Origin {
    pub(super) fn members(&self) -> Vec<String> {
        match self {
            Self::Own(_) => Vec::new(),
            Self::Shared(members) => members.iter().map(|(_, name)| name.clone()).collect(),
        }
    }

    /// The fitter's changes, told at the caller's place. The fitter's places start at the tool.
    pub(super) fn told(&self, changes: &[polywire_schema::Change], told: &mut Vec<Change>) {
        match self {
            Self::Own(index) => {
                let place = format!("/tools/{index}");
                told.extend(changes.iter().map(|change| of_schema(Kind::Tools, &place, change)));
            }
            Self::Shared(members) => told.extend(changes.iter().map(|change| {
                let place = change.at.strip_prefix("/parameters").and_then(SharedEntry::place);
                let place = place.and_then(|(number, rest)| Some((members.get(number)?.0, rest)));
                let at = place.map_or("/tools".to_owned(), |(index, rest)| format!("/tools/{index}/parameters{rest}"));
                Change { at, ..of_schema(Kind::Tools, "", change) }
            })),
        }
    }
}

/// Makes room for what the request must have beside the caller's tools, and says where each function comes from.
pub(super) fn apply(draft: &mut Draft<'_>, most: Option<(u64, &str)>, beside: usize) -> Vec<Origin> {
    let own = draft.tools.iter().enumerate().filter(|(_, tool)| tool.as_function().is_some());
    let own: Vec<Origin> = own.map(|(index, _)| Origin::Own(index)).collect();
    let functions = own.len();
    let Some((most, code)) = most else { return own };
    let others = draft.tools.len() - functions + beside;
    let room = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(others).max(1);
    if functions <= room {
        return own;
    }
    let over = functions - room;
    // Every shared entry takes the place of one tool; so many that all of them fit.
    let sharing = if over > room * (SHARING - 1) { functions.div_ceil(room) } else { SHARING };
    let entries = over.div_ceil(sharing - 1).min(room);
    let tools = std::mem::take(&mut draft.tools).into_owned();
    let alone = alone(&tools, draft.request.tool_choice.as_ref(), room - entries);
    let (mut origins, mut sent) = (Vec::new(), Vec::new());
    let mut together: Vec<(usize, Function)> = Vec::new();
    for (index, (tool, alone)) in tools.into_iter().zip(alone).enumerate() {
        match tool {
            Tool::Function(function) if !alone => together.push((index, function)),
            tool @ Tool::Function(_) => {
                origins.push(Origin::Own(index));
                sent.push(tool);
            }
            tool @ Tool::Other(_) => sent.push(tool),
        }
    }
    let sharing = together.len().div_ceil(entries.max(1));
    for (number, members) in together.chunks_mut(sharing.max(1)).enumerate() {
        let name = format!("more_tools_{}", number + 1);
        for (index, member) in members.iter() {
            let detail =
                format!("`{}` shares the entry `{name}`, because the provider takes {most} tools", member.name);
            draft.record(change(Kind::Tools, code, &format!("/tools/{index}"), (Action::Moved, Effect::Same), detail));
        }
        origins.push(Origin::Shared(members.iter().map(|(index, member)| (*index, member.name.clone())).collect()));
        sent.push(Tool::Function(entry(name, members)));
    }
    draft.tools = sent.into();
    origins
}

/// Which tools have an entry of their own: those that the choice names, then the first ones.
fn alone(tools: &[Tool], choice: Option<&ToolChoice>, mut room: usize) -> Vec<bool> {
    let named = |name: &str| match choice {
        Some(ToolChoice::Tool(own)) => own == name,
        Some(ToolChoice::AnyOf(names) | ToolChoice::OneOf(names)) => names.iter().any(|own| own == name),
        None | Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => false,
    };
    let mut alone = vec![false; tools.len()];
    for pass in [true, false] {
        for (tool, alone) in tools.iter().zip(&mut alone) {
            let Some(function) = tool.as_function() else { continue };
            if room > 0 && !*alone && named(&function.name) == pass {
                *alone = true;
                room -= 1;
            }
        }
    }
    alone
}

/// One function for several.
fn entry(name: String, members: &mut [(usize, Function)]) -> Function {
    let names: Vec<String> = members.iter().map(|(_, member)| format!("`{}`", member.name)).collect();
    let description = format!("Calls one of these tools with its own arguments: {}.", names.join(", "));
    let declined = members.iter().any(|(_, member)| member.strict == Some(false));
    let asked = members.iter().any(|(_, member)| member.strict == Some(true));
    let cache = members.iter_mut().rev().find_map(|(_, member)| member.cache.take());
    let parameters = SharedEntry::schema(members.iter_mut().map(|(_, member)| arguments_of(member)));
    let strict = if declined { Some(false) } else { asked.then_some(true) };
    Function {
        name,
        description: Some(description),
        parameters: Some(parameters),
        strict,
        cache,
        ..Function::default()
    }
}

fn arguments_of(member: &mut Function) -> ToolEntry {
    let schema = member.parameters.take().unwrap_or_else(super::tools::no_arguments);
    let mut entry = ToolEntry::new(member.name.as_str(), schema);
    entry.description = member.description.take();
    entry
}
