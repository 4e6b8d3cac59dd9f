//! Structured output by tool call: one tool with a fixed name, whose arguments are the output.

use crate::neutral::{Block, Function, Output, Request, Response, StopReason, Tool, ToolChoice};

/// The name of the tool whose arguments are the structured output.
pub const OUTPUT_TOOL: &str = "respond";

/// The description of the tool if the format has none. The model sees it.
const PURPOSE: &str = "Gives the final answer.";

impl Request {
    /// Replaces the output schema by a tool with that schema, and forces a tool call: this tool, or any tool if there are others.
    /// Returns false if the request has no output schema.
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
    /// Replaces the text of the response by the arguments of the output tool. Calls of other tools stay. Returns false, and changes
    /// nothing, if the tool was not called.
    pub fn answer_from_tool(&mut self) -> bool {
        let is_answer = |block: &Block| block.as_call().is_some_and(|call| call.name == OUTPUT_TOOL);
        let Some(answer) = self.content.iter().find(|block| is_answer(block)).and_then(Block::as_call) else {
            return false;
        };
        let answer = Block::text(answer.arguments.clone());
        let stays = |block: &Block| !is_answer(block) && !matches!(block, Block::Text(_));
        // The text takes the position of the first call, so that a stream knows its index at once.
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
