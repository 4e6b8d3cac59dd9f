//! Whether a provider takes a conversation, by rules of the emulator's own: one row a protocol, with the provider's words. What
//! polywire would repair is no argument here, so that a repair that is missing or wrong is seen.
//!
//! The rows have what providers document or were seen to refuse (`facts`: ANT-MSG, GEM-FN, OAI-RESP; recorded rejections). What is
//! inferred or disputed is let through.

mod pairing;
mod read;
mod rules;

use polywire::Model;
use polywire::wire::{Protocol, WireError};
use serde_json::Value;

use crate::judge::refusal;
use read::{Arguments, Part, Speaker, Turn, turns};
use rules::{Blank, Calls, Last, Order, Pairing, Rules, Thoughts};

/// Refuses a conversation that the provider refuses.
pub(crate) fn judge(body: &Value, model: &Model) -> Result<(), Box<WireError>> {
    let rules = Rules::of_model(model);
    let turns = turns(body, rules.protocol);
    for turn in &turns {
        rules.parts(turn, turn.index + 1 == turns.len())?;
    }
    pairing::judge(&turns, &rules)?;
    rules.order(&turns)?;
    rules.last(&turns)?;
    rules.calls(&turns, body)?;
    if rules.protocol == Protocol::OpenAiResponses {
        turns.iter().try_for_each(|turn| responses_item(turn, body))?;
    }
    Ok(())
}

impl Rules {
    /// The place of a turn, as the provider writes it.
    fn place(&self, index: usize) -> String {
        match self.protocol {
            Protocol::OpenAiChat => format!("messages[{index}]"),
            Protocol::OpenAiResponses => format!("input[{index}]"),
            Protocol::Gemini => format!("contents[{index}]"),
            Protocol::AnthropicMessages | Protocol::BedrockConverse => format!("messages.{index}"),
        }
    }

    /// What each turn must be by itself.
    fn parts(&self, turn: &Turn, is_last: bool) -> Result<(), Box<WireError>> {
        let place = self.place(turn.index);
        self.content(turn, is_last, &place)?;
        for (at, part) in turn.parts.iter().enumerate() {
            match part {
                Part::Text(text) if self.blank == Blank::Refused && text.trim().is_empty() => {
                    let message = if self.protocol == Protocol::BedrockConverse {
                        format!(
                            "The text field in the ContentBlock object at {place}.content.{at} is blank. Add text to the text field, and try again."
                        )
                    } else if text.is_empty() {
                        "messages: text content blocks must be non-empty".to_owned()
                    } else {
                        "messages: text content blocks must contain non-whitespace text".to_owned()
                    };
                    return Err(refusal(&message, &place));
                }
                Part::Call(call) => self.call(call, &place, at)?,
                Part::Thought { is_signed: false } if self.thoughts == Thoughts::Signed => {
                    return Err(refusal(&format!("{place}.content.{at}.thinking.signature: Field required"), &place));
                }
                Part::Blank => {
                    let message = format!(
                        "{place}.parts[{at}].data: required oneof field 'data' must have one initialized field"
                    );
                    return Err(refusal(&message, &place));
                }
                Part::WrongResult { is_list } => {
                    let field = format!("{place}.parts[{at}].function_response");
                    let message = if *is_list {
                        format!(
                            "Invalid JSON payload received. Unknown name \"response\" at '{field}': Proto field is not repeating, cannot start list."
                        )
                    } else {
                        format!("Invalid value at '{field}.response' (type.googleapis.com/google.protobuf.Struct)")
                    };
                    return Err(refusal(&message, &place));
                }
                Part::Text(_)
                | Part::Result { .. }
                | Part::Thought { .. }
                | Part::ServerCall { .. }
                | Part::ServerResult { .. }
                | Part::Other => {}
            }
        }
        Ok(())
    }

    fn content(&self, turn: &Turn, is_last: bool, place: &str) -> Result<(), Box<WireError>> {
        let is_empty = match self.protocol {
            Protocol::OpenAiChat => turn.speaker == Speaker::Model && turn.parts.is_empty(),
            Protocol::OpenAiResponses => false,
            Protocol::AnthropicMessages => turn.parts.is_empty() && !(is_last && turn.speaker == Speaker::Model),
            Protocol::Gemini | Protocol::BedrockConverse => turn.parts.is_empty(),
        };
        let message = match self.protocol {
            Protocol::OpenAiChat => "Invalid value for 'content': expected a string, got null.".to_owned(),
            Protocol::Gemini => format!("{place}.parts: contents.parts must not be empty."),
            Protocol::BedrockConverse => format!(
                "The content field in the Message object at {place} is empty. Add a ContentBlock object to the content field and try again."
            ),
            Protocol::AnthropicMessages | Protocol::OpenAiResponses => {
                format!(
                    "{place}: all messages must have non-empty content except for the optional final assistant message"
                )
            }
        };
        if is_empty { Err(refusal(&message, place)) } else { Ok(()) }
    }

    fn call(&self, call: &read::Call, place: &str, at: usize) -> Result<(), Box<WireError>> {
        if call.arguments == Arguments::NotAnObject {
            let message = if self.protocol == Protocol::Gemini {
                format!(
                    "Invalid value at '{place}.parts[{at}].function_call.args' (type.googleapis.com/google.protobuf.Struct)"
                )
            } else {
                format!("{place}.content.{at}.tool_use.input: Input should be a valid dictionary")
            };
            return Err(refusal(&message, place));
        }
        let Some(ids) = self.ids else { return Ok(()) };
        let id = call.id.as_str();
        let is_allowed =
            |letter: char| ids.marks == "*" || letter.is_ascii_alphanumeric() || ids.marks.contains(letter);
        let length = id.chars().count();
        let message = match self.protocol {
            _ if ids.exact.is_some_and(|exact| exact != length)
                || (ids.exact.is_some() && !id.chars().all(is_allowed)) =>
            {
                format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of {}.", ids.longest)
            }
            Protocol::OpenAiChat | Protocol::OpenAiResponses if length > ids.longest => format!(
                "Invalid '{place}.call_id': string too long. Expected a string with maximum length {}, but got a string with length {length} instead.",
                ids.longest
            ),
            Protocol::AnthropicMessages if id.is_empty() || !id.chars().all(is_allowed) => {
                format!("{place}.content.{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            }
            Protocol::BedrockConverse if id.is_empty() || length > ids.longest || !id.chars().all(is_allowed) => {
                format!(
                    "Value '{id}' at '{place}.content.{at}.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"
                )
            }
            Protocol::OpenAiChat
            | Protocol::OpenAiResponses
            | Protocol::AnthropicMessages
            | Protocol::Gemini
            | Protocol::BedrockConverse => return Ok(()),
        };
        Err(refusal(&message, place))
    }

    fn order(&self, turns: &[Turn]) -> Result<(), Box<WireError>> {
        if self.order != Order::Alternate {
            return Ok(());
        }
        // Tool results are the user's turn, or stand between the turns of the model.
        let spoken: Vec<&Turn> =
            turns.iter().filter(|turn| matches!(turn.speaker, Speaker::User | Speaker::Model)).collect();
        if self.protocol == Protocol::BedrockConverse
            && spoken.first().is_some_and(|turn| turn.speaker == Speaker::Model)
        {
            return Err(refusal(
                "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
                "messages",
            ));
        }
        let repeats = spoken.windows(2).find_map(|pair| match pair {
            [before, after] => {
                let has_tools_between = turns
                    .iter()
                    .any(|turn| turn.speaker == Speaker::Tool && turn.index > before.index && turn.index < after.index);
                (before.speaker == after.speaker && !has_tools_between).then_some(after.index)
            }
            _ => None,
        });
        let message = "After the optional system message, conversation roles must alternate user and assistant roles";
        repeats.map_or(Ok(()), |index| Err(refusal(message, &self.place(index))))
    }

    fn last(&self, turns: &[Turn]) -> Result<(), Box<WireError>> {
        let Some(last) = turns.iter().rev().find(|turn| turn.speaker != Speaker::System) else { return Ok(()) };
        if last.speaker != Speaker::Model {
            return Ok(());
        }
        let place = self.place(last.index);
        let ends_in_space = matches!(last.parts.last(), Some(Part::Text(text)) if text.ends_with(char::is_whitespace));
        match self.last {
            Last::NotModel if self.protocol == Protocol::Gemini => Err(refusal(
                "Please ensure that the conversation ends with a user turn or a function response.",
                &place,
            )),
            Last::NotModel => Err(refusal(
                "This model does not support assistant message prefill. The conversation must end with a user message.",
                &place,
            )),
            Last::Trimmed if ends_in_space => {
                Err(refusal("messages: final assistant content cannot end with trailing whitespace", &place))
            }
            Last::Anyone | Last::Trimmed => Ok(()),
        }
    }

    fn calls(&self, turns: &[Turn], body: &Value) -> Result<(), Box<WireError>> {
        let uses_tools = turns.iter().any(|turn| turn.calls().next().is_some() || turn.results().next().is_some());
        let is_declared =
            body.pointer("/toolConfig/tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
        match self.calls {
            Calls::Declared if uses_tools && !is_declared => Err(refusal(
                "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
                "toolConfig",
            )),
            Calls::Signed => {
                // Only the steps since the user last spoke are verified.
                let is_question = |turn: &&Turn| turn.speaker == Speaker::User && turn.results().next().is_none();
                let mut steps = turns.iter().rev().take_while(|turn| !is_question(turn));
                let unsigned = steps.find(|turn| turn.calls().next().is_some_and(|call| !call.is_signed));
                let message = "Function call is missing a thought_signature in functionCall parts.";
                unsigned.map_or(Ok(()), |turn| Err(refusal(message, &self.place(turn.index))))
            }
            Calls::Free | Calls::Declared => Ok(()),
        }
    }
}

/// Ids of items have the prefix of their type (OAI-RESP-22), and an item that is not stored cannot be referred to (OAI-RESP-25).
fn responses_item(turn: &Turn, body: &Value) -> Result<(), Box<WireError>> {
    let Some(item) = body.get("input").and_then(|input| input.get(turn.index)) else { return Ok(()) };
    let (kind, id) = (item.get("type").and_then(Value::as_str), item.get("id").and_then(Value::as_str));
    let Some(id) = id else { return Ok(()) };
    let place = format!("input[{}]", turn.index);
    let prefix = match kind {
        Some("function_call") => "fc",
        Some("reasoning") => "rs",
        Some("message") if turn.speaker == Speaker::Model => "msg",
        _ => return Ok(()),
    };
    if !id.starts_with(prefix) {
        return Err(refusal(
            &format!("Invalid '{place}.id': '{id}'. Expected an ID that begins with '{prefix}'."),
            &place,
        ));
    }
    let is_stored = body.get("store") != Some(&Value::Bool(false));
    let is_unsigned = matches!(turn.parts.first(), Some(Part::Thought { is_signed: false }));
    if is_unsigned && !is_stored {
        let message = format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
        );
        return Err(refusal(&message, &place));
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
