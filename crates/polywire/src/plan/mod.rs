//! The plan: everything about a request that is decided before bytes leave. Plain data: it can be printed, kept and replayed.

mod body;
mod bundle;
mod history;
mod options;
mod output;
mod parameters;
mod sent;
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

/// Fits that the default planner remembers.
pub(crate) const REMEMBERED: usize = 4096;

/// A request for one model, decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Plan {
    /// The provider's id.
    pub provider: String,
    /// The model's id, as it is sent.
    pub model: String,
    /// The protocol of the body.
    pub protocol: Protocol,
    /// How this surface and model depart from the protocol.
    pub surface: Surface,
    /// Where the request goes. Secrets are named, not held.
    pub endpoint: Endpoint,
    /// The tools as the model sees them, in the caller's order.
    pub tools: Vec<PlannedTool>,
    /// How the shape of the answer is asked for, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PlannedOutput>,
    /// The body, ready to be sent.
    pub body: Body,
    changes: Vec<Change>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PlannedTool {
    /// The name the caller knows.
    pub name: String,
    /// The name on the wire.
    pub wire_name: String,
    /// The caller's tools that share this entry, where the provider takes fewer tools than there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_by: Vec<String>,
    /// What the tool is to the caller, where that is more than a function; its calls come back as calls of that kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ToolOrigin>,
    /// Whether the provider holds the model to the schema.
    pub strict: bool,
    /// The way between the caller's arguments and those on the wire; none where they travel as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens: Option<Arc<Lens>>,
}

impl PlannedTool {
    /// Whether the model calls this entry for the caller's tool of a name.
    pub fn stands_for(&self, name: &str) -> bool {
        if self.shared_by.is_empty() { self.name == name } else { self.shared_by.iter().any(|own| own == name) }
    }
}

/// How the shape of the answer is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PlannedOutput {
    /// The channel, never `auto`.
    pub strategy: Strategy,
    /// Whether the provider holds the answer to the schema.
    pub strict: bool,
    /// The way between the caller's value and that on the wire; none where it travels as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens: Option<Lens>,
}

impl Plan {
    /// Everything that had to give, in the order in which it was decided.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(crate) fn with_changes(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }

    /// The changes by which something is lost.
    pub fn losses(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.effect.is_loss())
    }

    /// Method, address, headers, body and changes, and nothing else.
    pub fn encoded(&self) -> Encoded<'_> {
        Encoded { endpoint: &self.endpoint, body: &self.body, changes: &self.changes }
    }

    /// The tool of a name on the wire.
    pub fn tool(&self, wire_name: &str) -> Option<&PlannedTool> {
        self.tools.iter().find(|tool| tool.wire_name == wire_name)
    }
}

/// A plan as it is sent: what `polywire encode` prints.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Encoded<'a> {
    /// Where it goes.
    #[serde(flatten)]
    pub endpoint: &'a Endpoint,
    /// What is sent.
    pub body: &'a Body,
    /// Everything that had to give.
    pub changes: &'a [Change],
}

/// Losses that the caller does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossError {
    losses: Vec<Change>,
}

impl LossError {
    /// What would be lost.
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

/// Makes plans, and remembers how schemas were fitted.
#[derive(Debug)]
pub struct Planner {
    options: PlanOptions,
    cache: FitCache,
}

impl Planner {
    /// A planner with a memory of its own.
    pub fn new(options: PlanOptions) -> Self {
        Self { options, cache: FitCache::new(REMEMBERED) }
    }

    /// Decides everything about a request to a model.
    pub fn plan(&self, request: &Request, model: &Model) -> Result<Plan, LossError> {
        plan_with(&self.cache, request, model, &self.options)
    }
}

/// Decides everything about a request to a model, with the default options.
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
    decide(&DEFAULT.cache, request, model, &DEFAULT.options)
}

pub(crate) fn plan_with(
    cache: &FitCache,
    request: &Request,
    model: &Model,
    options: &PlanOptions,
) -> Result<Plan, LossError> {
    let plan = decide(cache, request, model, options);
    let refused = |change: &&Change| change.kind.is_some_and(|kind| options.on_loss(kind) == OnLoss::Refuse);
    let losses: Vec<Change> = plan.losses().filter(refused).cloned().collect();
    if losses.is_empty() { Ok(plan) } else { Err(LossError { losses }) }
}

/// A request on its way to becoming a plan.
struct Draft<'a> {
    model: &'a Model,
    options: &'a PlanOptions,
    cache: &'a FitCache,
    /// As the caller gave it.
    asked: &'a Request,
    /// The caller's tools, or what stands for them.
    tools: Cow<'a, [Tool]>,
    /// As it will be written. Its tools come last.
    request: Request,
    surface: Surface,
    changes: Vec<Change>,
}

impl Draft<'_> {
    fn record(&mut self, change: Change) {
        self.changes.push(change);
    }
}

fn decide(cache: &FitCache, asked: &Request, model: &Model, options: &PlanOptions) -> Plan {
    let mut draft = Draft {
        model,
        options,
        cache,
        asked,
        tools: Cow::Borrowed(&asked.tools),
        request: asked.without_tools(),
        surface: model.wire(),
        changes: model.changes().to_vec(),
    };
    model.id().clone_into(&mut draft.request.model);
    parameters::apply(&mut draft);
    let output = output::apply(&mut draft);
    let fitted = tools::apply(&mut draft, output);
    history::apply(&mut draft, &fitted.tools);
    parameters::apply_instructions(&mut draft);
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
