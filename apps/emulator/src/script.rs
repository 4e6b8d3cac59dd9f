//! Steps that a prompt asks for, so that an agent whose requests nobody can edit can still be led: lines such as
//! `emulate: call Bash {"command": "ls"}` in what the user says. One step is one turn of the model.

use polywire::wire::{Block, Message, Request, ResultBlock, Role};
use serde_json::Value;

/// What a line of the prompt starts with.
const MARK: &str = "emulate:";

/// One turn of the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Call a tool, with these arguments or with made-up ones.
    Call { name: String, arguments: Option<Value> },
    /// Answer with this text.
    Say(String),
    /// Answer with the text of the last tool result.
    Repeat,
    /// Answer in the format that the request asks for, without another tool call.
    Answer,
}

/// The step of this turn. `None` where no prompt has steps; after the last step the model answers.
pub(crate) fn step(request: &Request) -> Option<Step> {
    let mut turns = 0;
    for message in request.messages.iter().rev() {
        match message.role {
            Role::Assistant => turns += 1,
            Role::User => {
                let steps = steps(message);
                if !steps.is_empty() {
                    return Some(steps.into_iter().nth(turns).unwrap_or(Step::Answer));
                }
            }
            Role::System | Role::Tool => {}
        }
    }
    None
}

fn steps(message: &Message) -> Vec<Step> {
    let texts =
        message.content.iter().filter_map(|block| if let Block::Text(text) = block { Some(&text.text) } else { None });
    texts.flat_map(|text| text.lines()).filter_map(read).collect()
}

fn read(line: &str) -> Option<Step> {
    let step = line.trim().strip_prefix(MARK)?.trim();
    let (word, rest) = step.split_once(char::is_whitespace).unwrap_or((step, ""));
    let rest = rest.trim();
    match word {
        "call" => {
            let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let arguments = serde_json::from_str(arguments.trim()).ok();
            Some(Step::Call { name: name.to_owned(), arguments }).filter(|_| !name.is_empty())
        }
        "say" => Some(Step::Say(rest.to_owned())),
        "repeat" => Some(Step::Repeat),
        "answer" => Some(Step::Answer),
        _ => None,
    }
}

/// The text of the last tool result.
pub(crate) fn last_result(request: &Request) -> String {
    let mut blocks = request.messages.iter().rev().flat_map(|message| message.content.iter().rev());
    let Some(result) = blocks.find_map(Block::as_result) else { return "there is no tool result".to_owned() };
    let text = |block: &ResultBlock| match block {
        ResultBlock::Text(text) => text.text.clone(),
        ResultBlock::Json { value } => value.to_string(),
        ResultBlock::Image(_) | ResultBlock::Document(_) | ResultBlock::Other(_) | _ => String::new(),
    };
    result.content.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use polywire::wire::{Message, Request, ToolResult};
    use serde_json::json;

    use super::{Step, last_result, step};

    #[test]
    fn a_prompt_leads_turn_by_turn() {
        let prompt = "Please.\n  emulate: call Bash {\"command\": \"ls\"}\nemulate: repeat";
        let mut request =
            Request::new("", vec![Message::user("Earlier."), Message::assistant("Yes."), Message::user(prompt)]);
        let call = Step::Call { name: "Bash".to_owned(), arguments: Some(json!({"command": "ls"})) };
        assert_eq!(step(&request), Some(call));
        request.messages.push(Message::assistant("(a call)"));
        request.messages.push(Message::tool([ToolResult::text("c1", "a.txt")]));
        assert_eq!((step(&request), last_result(&request).as_str()), (Some(Step::Repeat), "a.txt"));
        request.messages.push(Message::assistant("a.txt"));
        assert_eq!(step(&request), Some(Step::Answer));
        assert_eq!(step(&Request::new("", vec![Message::user("emulate nothing")])), None);
    }
}
