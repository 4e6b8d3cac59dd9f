//! What a stream says before its end and a protocol says at its end: writers keep it until then.

use crate::neutral::{Event, Response};

/// Keeps a refusal, a usage or why the answer stops; gives whether it does.
pub(super) fn hear(said: &mut Response, event: &Event) -> bool {
    match event {
        Event::Refusal { text } => said.refusal.get_or_insert_default().push_str(text),
        Event::Usage(usage) => said.usage = Some(usage.clone()),
        Event::Stop { reason, sequence, extra } => {
            said.stop = reason.clone();
            said.stop_sequence.clone_from(sequence);
            said.extra.merge(extra.clone());
            return true;
        }
        Event::Start { .. }
        | Event::Open { .. }
        | Event::Delta { .. }
        | Event::Close { .. }
        | Event::End
        | Event::Error(_)
        | Event::Other { .. } => {}
    }
    false
}
