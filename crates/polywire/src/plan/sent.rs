//! Decodes the fitted schemas from a plan's body. This works for a deserialized plan too.

use polywire_wire::{OUTPUT_TOOL, Output, Request, Tool};
use serde_json::Value;

use super::Plan;

impl Plan {
    /// The fitted parameters of a tool, by its wire name.
    pub(crate) fn sent_parameters(&self, wire_name: &str) -> Option<Value> {
        parameters(self.sent_request()?, wire_name)
    }

    /// The fitted output schema.
    pub(crate) fn sent_output(&self) -> Option<Value> {
        let sent = self.sent_request()?;
        match &sent.output {
            Some(Output::Schema(format)) => Some(format.schema().clone()),
            Some(Output::Json) | None => parameters(sent, OUTPUT_TOOL),
        }
    }

    fn sent_request(&self) -> Option<Request> {
        let body = serde_json::from_str(self.body.get()).ok()?;
        Some(self.protocol.decode_request(body).ok()?.value)
    }
}

fn parameters(sent: Request, wire_name: &str) -> Option<Value> {
    sent.tools.into_iter().find_map(|tool| match tool {
        Tool::Function(function) if function.name == wire_name => function.parameters,
        Tool::Function(_) | Tool::Other(_) => None,
    })
}
