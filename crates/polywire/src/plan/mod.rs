//! Planning: converts a request to the body, endpoint and schemas for one model. A [`Plan`] is plain data that can be serialized.

mod body;
mod history;
mod options;
mod output;
mod parameters;
mod sent;
mod shared_entries;
mod tools;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use polywire_schema::{FitCache, Lens};
use polywire_wire::{Protocol, Request, Strategy, Surface, Tool, ToolOrigin};
use serde::{Deserialize, Serialize};

pub use body::Body;
pub use options::{OnLoss, PlanOptions, Prompt, Strict};

use crate::catalog::Model;
use crate::change::{Change, of_wire};
use crate::endpoint::Endpoint;

/// The number of fitted schemas in a planner's cache.
pub(crate) const REMEMBERED: usize = 4096;

/// A request encoded for one model, with the data to restore its response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Plan {
    /// The provider's id.
    pub provider: String,
    /// The model id in the request.
    pub model: String,
    /// The protocol of the body.
    pub protocol: Protocol,
    /// The deviations of this surface and model from the protocol.
    pub surface: Surface,
    /// The endpoint of the request. It has the names of secrets, not their values.
    pub endpoint: Endpoint,
    /// The tools of the request, in the caller's order.
    pub tools: Vec<PlannedTool>,
    /// The structured output, if a schema was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PlannedOutput>,
    /// The encoded request body.
    pub body: Body,
    changes: Vec<Change>,
}

/// A tool of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PlannedTool {
    /// The caller's name.
    pub name: String,
    /// The name on the wire.
    pub wire_name: String,
    /// The names of the caller's tools in this shared entry, if the provider accepts fewer tools than the request has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_by: Vec<String>,
    /// The caller's kind of tool, if it is not a function. Calls are restored to that kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ToolOrigin>,
    /// `true` if the provider enforces the schema.
    pub strict: bool,
    /// The mapping between the caller's arguments and the fitted schema; `None` if they are identical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens: Option<Arc<Lens>>,
}

impl PlannedTool {
    /// Returns `true` if calls of this entry are calls of the caller's tool `name`.
    pub fn stands_for(&self, name: &str) -> bool {
        if self.shared_by.is_empty() { self.name == name } else { self.shared_by.iter().any(|own| own == name) }
    }
}

/// The structured output of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PlannedOutput {
    /// The strategy, never [`Strategy::Auto`].
    pub strategy: Strategy,
    /// `true` if the provider enforces the schema.
    pub strict: bool,
    /// The mapping between the caller's value and the fitted schema; `None` if they are identical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens: Option<Lens>,
}

impl Plan {
    /// Every change and loss, in the order of the planning steps.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(crate) fn with_changes(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }

    /// The changes that are losses.
    pub fn losses(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.effect.is_loss())
    }

    /// The method, URL, headers, body and changes.
    pub fn encoded(&self) -> Encoded<'_> {
        Encoded { endpoint: &self.endpoint, body: &self.body, changes: &self.changes }
    }

    /// The tool with this wire name.
    pub fn tool(&self, wire_name: &str) -> Option<&PlannedTool> {
        self.tools.iter().find(|tool| tool.wire_name == wire_name)
    }
}

/// The encoded part of a plan, as printed by `polywire encode`.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Encoded<'a> {
    /// The endpoint of the request.
    #[serde(flatten)]
    pub endpoint: &'a Endpoint,
    /// The encoded request body.
    pub body: &'a Body,
    /// Every change and loss.
    pub changes: &'a [Change],
}

/// The error of a plan with losses that [`PlanOptions`] refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossError {
    losses: Vec<Change>,
}

impl LossError {
    /// The refused losses.
    pub fn losses(&self) -> &[Change] {
        &self.losses
    }
}

impl fmt::Display for LossError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} losses are not allowed", self.losses.len())?;
        match self.losses.first() {
            Some(first) => write!(f, ", the first: {} (at `{}`)", first.detail, first.at),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LossError {}

/// Plans requests and caches fitted schemas.
#[derive(Debug)]
pub struct Planner {
    options: PlanOptions,
    cache: FitCache,
}

impl Planner {
    /// Creates a planner with an empty cache.
    pub fn new(options: PlanOptions) -> Self {
        Self { options, cache: FitCache::new(REMEMBERED) }
    }

    /// Plans a request to a model.
    pub fn plan(&self, request: &Request, model: &Model) -> Result<Plan, LossError> {
        plan_with(&self.cache, request, model, &self.options)
    }
}

/// Plans a request to a model with the default options.
///
/// ```
/// use polywire::wire::{Function, Message, Request, Tool};
/// use polywire::{Catalog, plan};
/// use serde_json::json;
///
/// let mut request = Request::new("", vec![Message::user("What is the weather in Bern?")]);
/// let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
/// request.tools =
///     vec![Tool::Function(Function { name: "get.weather".into(), parameters: Some(parameters), ..Function::default() })];
/// let model = Catalog::built_in().resolve("openai:chat/gpt-4o").unwrap();
/// let plan = plan(&request, &model);
/// assert_eq!((plan.tools[0].wire_name.as_str(), plan.tools[0].strict), ("get_weather", true));
/// assert!(plan.changes().iter().any(|change| change.at == "/tools/0/name"));
/// ```
pub fn plan(request: &Request, model: &Model) -> Plan {
    static DEFAULT: LazyLock<Planner> = LazyLock::new(|| Planner::new(PlanOptions::default()));
    build_plan(&DEFAULT.cache, request, model, &DEFAULT.options)
}

pub(crate) fn plan_with(
    cache: &FitCache,
    request: &Request,
    model: &Model,
    options: &PlanOptions,
) -> Result<Plan, LossError> {
    let plan = build_plan(cache, request, model, options);
    let refused = |change: &&Change| change.kind.is_some_and(|kind| options.on_loss(kind) == OnLoss::Refuse);
    let losses: Vec<Change> = plan.losses().filter(refused).cloned().collect();
    if losses.is_empty() { Ok(plan) } else { Err(LossError { losses }) }
}

/// The state of planning.
struct Draft<'a> {
    model: &'a Model,
    options: &'a PlanOptions,
    cache: &'a FitCache,
    /// The caller's request.
    original: &'a Request,
    /// The caller's tools, or those with shared entries.
    tools: Cow<'a, [Tool]>,
    /// The request to encode. Its tools are added last.
    request: Request,
    surface: Surface,
    changes: Vec<Change>,
}

impl Draft<'_> {
    fn record_change(&mut self, change: Change) {
        self.changes.push(change);
    }
}

fn build_plan(cache: &FitCache, original: &Request, model: &Model, options: &PlanOptions) -> Plan {
    let mut draft = Draft {
        model,
        options,
        cache,
        original,
        tools: Cow::Borrowed(&original.tools),
        request: original.without_tools(),
        surface: model.wire(),
        changes: model.changes().to_vec(),
    };
    model.id().clone_into(&mut draft.request.model);
    parameters::adapt_parameters(&mut draft);
    let channel = output::choose_channel(&mut draft);
    let fitted = tools::fit_tools(&mut draft, channel);
    history::rewrite_calls(&mut draft, &fitted.tools);
    parameters::move_instructions(&mut draft);
    let Draft { mut request, surface, mut changes, .. } = draft;
    changes.extend(model.protocol().repair_history(&mut request, &surface).into_iter().map(of_wire));
    let encoded = model.protocol().encode_request(&request, &surface);
    changes.extend(encoded.changes.into_iter().map(of_wire));
    let endpoint = Endpoint::of(model, request.stream).with_headers(encoded.headers);
    Plan {
        provider: model.provider().id.clone(),
        model: model.id().to_owned(),
        protocol: model.protocol(),
        endpoint,
        surface,
        tools: fitted.tools,
        output: fitted.output,
        body: Body::of(encoded.body),
        changes,
    }
}
