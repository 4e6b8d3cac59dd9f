//! History repair: a conversation made acceptable to a protocol's rules. The rules are data, the repairs know no protocol.

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

/// What the assistant says between results and the user where the surface asks for it, if it does.
pub(crate) fn bridge(protocol: Protocol, surface: &Surface) -> Option<&'static str> {
    (Rules::of(protocol, surface).after_results == rules::AfterResults::Assistant).then_some(turns::BRIDGE_TEXT)
}

/// Makes the conversation one that the protocol accepts, and says what it did. One that is acceptable is not touched.
pub(crate) fn repair(request: &mut Request, protocol: Protocol, surface: &Surface) -> Vec<Change> {
    let rules = Rules::of(protocol, surface);
    let mut changes = Changes::default();
    // Each step may leave something for the next: thoughts that go leave turns empty, empty turns part calls from results.
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
