//! The tool channel of structured output: one tool whose arguments are the answer, under one fixed name on both sides.

use crate::neutral::{Block, Function, Output, Request, Response, StopReason, Tool, ToolChoice};

/// The name of the tool whose arguments are the answer.
pub const OUTPUT_TOOL: &str = "respond";

/// What the tool is for, where the format does not say it.
const PURPOSE: &str = "Gives the final answer.";

impl Request {
    /// Asks for the output format by a tool that must be called, instead of natively. Whether there was a schema to ask for.
    /// Beside other tools the model must call some tool; alone, it must call this one.
    pub fn ask_by_tool(&mut self) -> bool {
        let Some(Output::Schema(format)) = &self.output else { return false };
        let description = format.description().unwrap_or(PURPOSE).to_owned();
        let alone = self.tools.is_empty();
        self.tools.push(Tool::Function(Function {
            name: OUTPUT_TOOL.to_owned(),
            description: Some(description),
            parameters: Some(format.schema().clone()),
            strict: format.is_strict().then_some(true),
            ..Function::default()
        }));
        self.tool_choice = Some(if alone { ToolChoice::Tool(OUTPUT_TOOL.to_owned()) } else { ToolChoice::Required });
        self.output = None;
        true
    }
}

impl Response {
    /// Puts the arguments of the tool in the place of the text. Whether the tool was called; without it, and for the calls
    /// of other tools, nothing changes.
    pub fn answer_from_tool(&mut self) -> bool {
        let is_answer = |block: &Block| block.as_call().is_some_and(|call| call.name == OUTPUT_TOOL);
        let Some(answer) = self.content.iter().find(|block| is_answer(block)).and_then(Block::as_call) else {
            return false;
        };
        let answer = Block::text(answer.arguments.clone());
        let stays = |block: &Block| !is_answer(block) && !matches!(block, Block::Text(_));
        // It stands where the first call stood, so that a stream need not wait to know its place.
        let before = self.content.iter().take_while(|block| block.as_call().is_none());
        let place = before.filter(|block| stays(block)).count();
        self.content.retain(stays);
        self.content.insert(place, answer);
        if self.stop == StopReason::ToolUse && self.calls().next().is_none() {
            self.stop = StopReason::EndTurn;
        }
        true
    }
}
