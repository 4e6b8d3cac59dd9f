//! The caller's request and its plan, which together define how a response is restored.

use std::sync::LazyLock;

use polywire_schema::Lens;
use polywire_wire::{Output, Request, Strategy, Tool};
use serde_json::Value;

use crate::plan::{Plan, PlannedTool};

/// A request and its plan.
#[derive(Clone, Copy, Debug)]
pub struct Contract<'a> {
    /// The caller's request.
    pub request: &'a Request,
    /// The plan of the request.
    pub plan: &'a Plan,
}

impl<'a> Contract<'a> {
    /// Creates a contract from a request and its plan.
    pub fn new(request: &'a Request, plan: &'a Plan) -> Self {
        Self { request, plan }
    }

    /// Returns `true` if restoring may change tool names, values or blocks of a response.
    pub(crate) fn changes_answers(self) -> bool {
        let renamed = |tool: &PlannedTool| tool.name != tool.wire_name || needs_decoding(tool);
        self.plan.tools.iter().any(renamed) || self.has_output_tool() || self.output_lens().is_some()
    }

    /// Returns `true` if the structured output is the arguments of the output tool.
    pub(super) fn has_output_tool(self) -> bool {
        self.plan.output.as_ref().is_some_and(|output| output.strategy == Strategy::Tool)
    }

    pub(super) fn output_lens(self) -> Option<&'a Lens> {
        self.plan.output.as_ref()?.lens.as_ref()
    }

    /// The caller's output schema.
    pub(super) fn output_schema(self) -> Option<&'a Value> {
        match self.request.output.as_ref()? {
            Output::Schema(format) => Some(format.schema()),
            Output::Json => None,
        }
    }

    /// The parameters schema of a caller's tool.
    pub(super) fn parameters(self, name: &str) -> Option<&'a Value> {
        let functions = self.request.tools.iter().filter_map(Tool::as_function);
        functions.into_iter().find(|function| function.name == name)?.parameters.as_ref()
    }
}

/// A contract without the request, for example of a stored plan: names and values are restored but not validated.
impl<'a> From<&'a Plan> for Contract<'a> {
    fn from(plan: &'a Plan) -> Self {
        static UNKNOWN: LazyLock<Request> = LazyLock::new(Request::default);
        Self { request: &UNKNOWN, plan }
    }
}

/// Returns `true` if the arguments of a tool have another schema on the wire or are in a shared entry.
pub(super) fn needs_decoding(tool: &PlannedTool) -> bool {
    tool.lens.is_some() || !tool.shared_by.is_empty()
}
