//! History repair: changes a conversation so that it follows the rules of a protocol. The rules are data, the repairs know no protocol.

mod arguments;
mod content;
mod ids;
mod items;
mod pairing;
mod rules;
mod server_tools;
mod turns;
mod unnamed_results;

use crate::neutral::Request;
use crate::protocol::Protocol;
use crate::report::{Change, Changes};
use crate::surface::Surface;

pub(crate) use ids::synthetic_call_id;
use rules::Rules;

/// The text of the assistant message between tool results and a user message, if the surface needs one.
pub(crate) fn bridge(protocol: Protocol, surface: &Surface) -> Option<&'static str> {
    (Rules::of(protocol, surface).after_results == rules::AfterResults::Assistant).then_some(turns::BRIDGE_TEXT)
}

/// Repairs the conversation and returns every change. A valid conversation is not changed.
pub(crate) fn repair(request: &mut Request, protocol: Protocol, surface: &Surface) -> Vec<Change> {
    let rules = Rules::of(protocol, surface);
    let mut changes = Changes::default();
    // The order matters: dropped reasoning leaves empty messages, and empty messages separate calls from results.
    content::repair(request, &rules, &mut changes);
    server_tools::repair(&mut request.messages, &rules, &mut changes);
    items::repair(&mut request.messages, &rules, &mut changes);
    arguments::repair(&mut request.messages, &mut changes);
    unnamed_results::repair(&mut request.messages, &mut changes);
    ids::repair(&mut request.messages, &rules, &mut changes);
    pairing::repair(&mut request.messages, &rules, &mut changes);
    content::sign_calls(&mut request.messages, &rules, &mut changes);
    turns::repair(request, &rules, &mut changes);
    changes.into_vec()
}
