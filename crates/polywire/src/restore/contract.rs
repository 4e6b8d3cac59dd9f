//! What an answer is brought back by: the caller's request, and the plan that was made of it.

use std::sync::LazyLock;

use polywire_schema::Lens;
use polywire_wire::{Output, Request, Strategy, Tool};
use serde_json::Value;

use crate::plan::{Plan, PlannedTool};

/// A request and the plan that was made of it.
#[derive(Clone, Copy, Debug)]
pub struct Contract<'a> {
    /// What the caller asked for.
    pub request: &'a Request,
    /// What was sent.
    pub plan: &'a Plan,
}

impl<'a> Contract<'a> {
    /// The contract of a request and its plan.
    pub fn new(request: &'a Request, plan: &'a Plan) -> Self {
        Self { request, plan }
    }

    /// Whether an answer may come back in other names, shapes or blocks than the provider gave it.
    pub(crate) fn changes_answers(self) -> bool {
        let renamed = |tool: &PlannedTool| tool.name != tool.wire_name || is_carried(tool);
        self.plan.tools.iter().any(renamed) || self.answers_by_tool() || self.output_lens().is_some()
    }

    /// Whether the answer comes as the arguments of a tool.
    pub(super) fn answers_by_tool(self) -> bool {
        self.plan.output.as_ref().is_some_and(|output| output.strategy == Strategy::Tool)
    }

    pub(super) fn output_lens(self) -> Option<&'a Lens> {
        self.plan.output.as_ref()?.lens.as_ref()
    }

    /// The schema that the caller wants the answer to have.
    pub(super) fn output_schema(self) -> Option<&'a Value> {
        match self.request.output.as_ref()? {
            Output::Schema(format) => Some(format.schema()),
            Output::Json => None,
        }
    }

    /// The schema of the arguments of a tool of the caller's.
    pub(super) fn parameters(self, name: &str) -> Option<&'a Value> {
        let functions = self.request.tools.iter().filter_map(Tool::as_function);
        functions.into_iter().find(|function| function.name == name)?.parameters.as_ref()
    }
}

/// A plan alone, as one that was stored: names and shapes come back, and nothing is validated.
impl<'a> From<&'a Plan> for Contract<'a> {
    fn from(plan: &'a Plan) -> Self {
        static UNKNOWN: LazyLock<Request> = LazyLock::new(Request::default);
        Self { request: &UNKNOWN, plan }
    }
}

/// Whether the arguments of a tool travel in another shape, or under another tool's name.
pub(super) fn is_carried(tool: &PlannedTool) -> bool {
    tool.lens.is_some() || !tool.shared_by.is_empty()
}
