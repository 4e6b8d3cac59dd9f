//! How hard to think and which shape the answer has, in the fields of Anthropic's models: at the top of their own protocol, and passed
//! on to the model by Converse.

use crate::fields::Fields;
use crate::neutral::{Effort, Output, OutputFormat, Reasoning, Request, ThinkingMode};
use crate::protocol::FORMAT_NAME;

/// Takes `thinking` and `output_config` into a request.
pub(super) fn read_thinking(fields: &mut Fields, request: &mut Request) {
    let mut reasoning = Reasoning::default();
    if let Some(mut thinking) = fields.object("thinking") {
        reasoning.mode = thinking.text("type").map(ThinkingMode::from);
        reasoning.budget_tokens = thinking.count("budget_tokens");
        reasoning.visible = match thinking.peek("display") {
            Some("summarized") => Some(true),
            Some("omitted") => Some(false),
            _ => None,
        };
        if reasoning.visible.is_some() {
            thinking.take("display");
        }
        fields.put_rest("thinking", thinking);
    }
    if let Some(mut config) = fields.object("output_config") {
        reasoning.effort = config.text("effort").map(Effort::from);
        if let Some(mut format) = config.object("format") {
            let schema = format.take("schema").filter(|_| format.peek("type") == Some("json_schema"));
            let made = schema.and_then(|schema| OutputFormat::strict(FORMAT_NAME, schema).ok());
            if made.is_some() {
                format.take("type");
            }
            request.output = made.map(Output::Schema);
            config.put_rest("format", format);
        }
        fields.put_rest("output_config", config);
    }
    request.reasoning = Some(reasoning).filter(|reasoning| *reasoning != Reasoning::default());
}
