//! What stands around a value: prose, fences, reasoning, another encoding.

use super::Fault;
use super::words::quoted;
use crate::sample::dice::Dice;

const BEFORE: &[&str] = &[
    "Here is the JSON you asked for:\n\n",
    "Sure! ",
    "Of course. I've filled in every field:\n",
    "The user's request (see above) maps to the following call:\n",
    "Answer: ",
];
const AFTER: &[&str] = &[
    "\n\nLet me know if you need anything else!",
    "\n\nNote: I used the defaults where nothing was given, e.g. for \"units\".",
    "\nI hope this helps :)",
    "",
];
const DRAFTS: &[&str] = &[
    "<think>\nThe schema wants an object, so I need the keys first.\n</think>\n",
    "<think>Maybe {\"draft\": true}? No, that lacks the rest.</think>\n\n",
    "<thinking>It's [1, 2] or so; \"let's see\".</thinking>",
    "<reasoning>I should fill in a value for each key.</reasoning>\n",
];

/// Puts something around the text. What follows the value is left out where the text is cut.
pub(super) fn apply(text: &str, fault: Fault, is_cut: bool, dice: &mut Dice) -> Option<String> {
    let after = if is_cut { "" } else { *dice.pick(AFTER)? };
    Some(match fault {
        Fault::Prose => format!("{}{text}{after}", dice.pick(BEFORE)?),
        Fault::Fence => {
            let language = *dice.pick(&["json", "", "JSON", "jsonc"])?;
            let before = if dice.one_in(2) { *dice.pick(BEFORE)? } else { "" };
            let end = if is_cut { "" } else { "\n```" };
            format!("{before}```{language}\n{text}{end}{after}")
        }
        Fault::Thinking => format!("{}{text}", dice.pick(DRAFTS)?),
        Fault::EscapedWhole => {
            let json = quoted(text);
            // As the arguments of a call are often logged: the quotes are escaped, but no string is around them.
            json.get(1..json.len() - 1)?.to_owned()
        }
        Fault::Encoded => quoted(text),
        _ => return None,
    })
}
