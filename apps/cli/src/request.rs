//! Requests on the command line: read in the neutral form or in a protocol, for a model of the catalog.

use std::str::FromStr;

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::wire::{Protocol, Request};
use polywire::{
    Catalog, Change, Kind, LossError, Model, ModelRow, OnLoss, Plan, PlanOptions, Planner, Strict, TranslateError,
    TranslateOptions, Translation, decode_request,
};

use crate::args::no_strict;
use crate::ask::EMULATOR;
use crate::input::{Failure, parse, read_bytes, read_text};
use crate::known::Known;

/// The most names that are suggested for a wrong one.
const SUGGESTED: usize = 3;

/// A request and how to plan it.
#[derive(Args)]
pub(crate) struct RequestArgs {
    /// A request in the neutral JSON form (see `polywire schema request`): a file, or `-` for standard input
    request: String,
    /// The protocol of the request, where it is not in the neutral form
    #[arg(long, value_name = "PROTOCOL")]
    from: Option<String>,
    /// Which tools get the provider's strict flag (`POLYWIRE_NO_STRICT=1` means none)
    #[arg(long, value_enum, default_value_t = StrictArg::Auto)]
    strict: StrictArg,
    #[command(flatten)]
    loss: LossArgs,
}

/// What a loss means.
#[derive(Args)]
pub(crate) struct LossArgs {
    /// Fail instead of losing something: `error` for every kind, or `KIND=error` for model, tools, output, history or parameters
    #[arg(long, value_name = "[KIND=]error|record", value_delimiter = ',')]
    on_loss: Vec<LossArg>,
}

impl LossArgs {
    /// The options with what losses mean; what is said last counts.
    pub(crate) fn apply(&self, options: PlanOptions) -> PlanOptions {
        let said = self.on_loss.iter().flat_map(|arg| arg.kinds.iter().map(|kind| (*kind, arg.meaning)));
        said.fold(options, |options, (kind, meaning)| options.with_on_loss(kind, meaning))
    }
}

/// `error`, `record`, or either for one kind.
#[derive(Clone)]
struct LossArg {
    kinds: Vec<Kind>,
    meaning: OnLoss,
}

/// Names of kinds in earlier versions.
fn alias(kind: &str) -> Option<Kind> {
    (kind == "wishes").then_some(Kind::Parameters)
}

impl FromStr for LossArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, meaning) = text.split_once('=').unwrap_or(("all", text));
        let kinds: Vec<Kind> = Kind::ALL
            .into_iter()
            .filter(|known| kind == "all" || known.to_string() == kind || alias(kind) == Some(*known))
            .collect();
        let meaning = match meaning {
            "error" => OnLoss::Refuse,
            "record" => OnLoss::Record,
            other => return Err(format!("`{other}` is neither `error` nor `record`")),
        };
        if kinds.is_empty() {
            let known = Kind::ALL.map(|kind| kind.to_string()).join(", ");
            return Err(format!("`{kind}` is not a kind of loss; known kinds: {known}, all"));
        }
        Ok(Self { kinds, meaning })
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum StrictArg {
    /// All that can have it, except those that decline
    Auto,
    /// Those that ask for it
    AsAsked,
    /// None
    Off,
}

impl RequestArgs {
    /// The plan, or the losses that it would have and that were not allowed. A target without a model means the request's own.
    pub(crate) fn plan(&self, target: &str) -> Result<Result<Plan, Vec<Change>>> {
        let model =
            |asked: &str| resolve(&if target.contains('/') { target.to_owned() } else { format!("{target}/{asked}") });
        let losses = |error: LossError| error.losses().to_vec();
        let Some(from) = &self.from else {
            let request = self.read()?;
            return Ok(Planner::new(self.options()).plan(&request, &model(&request.model)?).map_err(losses));
        };
        let (body, from) = (read_bytes(&self.request)?, protocol(from)?);
        let bad = |error| Failure::new(error, &self.request, &format!("expected: a request body of {from}"));
        let asked = decode_request(&body, from).map_err(bad)?.value.model;
        let options = TranslateOptions::default().with_plan(self.options());
        match Translation::new(&body, from, &model(&asked)?, &options) {
            Ok(translation) => Ok(Ok(translation.into_plan())),
            Err(TranslateError::Loss(error)) => Ok(Err(losses(error))),
            Err(error) => Err(bad(error).into()),
        }
    }

    fn read(&self) -> Result<Request> {
        let next = "expected: a request in the neutral form (`polywire schema request`), or `--from PROTOCOL`";
        let bad = |error: serde_json::Error| Failure::new(error, &self.request, next);
        let value = parse(&read_text(&self.request)?).map_err(bad)?;
        Ok(serde_json::from_value(value).map_err(bad)?)
    }

    fn options(&self) -> PlanOptions {
        let strict = match self.strict {
            _ if no_strict() => Strict::Off,
            StrictArg::Auto => Strict::Auto,
            StrictArg::AsAsked => Strict::AsAsked,
            StrictArg::Off => Strict::Off,
        };
        self.loss.apply(PlanOptions::default().with_strict(strict))
    }
}

/// The model of a name.
pub(crate) fn resolve(name: &str) -> Result<Model> {
    resolve_in(&Known::load()?.catalog_for([name]), name)
}

/// The model of a name in a catalog.
pub(crate) fn resolve_in(catalog: &Catalog, name: &str) -> Result<Model> {
    let model = resolve_any(catalog, name)?;
    if model.id().is_empty() {
        let provider = &model.provider().id;
        let next = format!("give {provider}/MODEL; `polywire models --provider {provider}` lists them");
        return Err(Failure::new("no model is named", name, &next).into());
    }
    Ok(model)
}

/// The same where a provider is enough.
pub(crate) fn resolve_any(catalog: &Catalog, name: &str) -> Result<Model> {
    catalog.resolve(name).map_err(|error| Failure::new(error, name, &meant(catalog, name)).into())
}

/// What somebody may have meant by a name that leads nowhere.
fn meant(catalog: &Catalog, name: &str) -> String {
    let head = name.split(['/', ':']).next().unwrap_or_default();
    if EMULATOR.trim_end_matches('/') == head {
        return format!("`ask` and `batch` take `{EMULATOR}PROVIDER[/MODEL]`, such as `{EMULATOR}openai`");
    }
    if let Some(provider) = catalog.provider(head.trim()) {
        return format!("`polywire models --provider {}` lists the models", provider.id);
    }
    let called = |row: &&ModelRow| {
        let mut names = [&row.id].into_iter().chain(&row.aliases).chain(&row.dated);
        names.any(|known| known.eq_ignore_ascii_case(name.trim()))
    };
    let mut near: Vec<String> = catalog
        .models()
        .filter(called)
        .map(|row| format!("{}/{}", row.provider, name.trim()))
        .take(SUGGESTED)
        .collect();
    if near.is_empty() {
        let ids: Vec<&str> = catalog.providers().map(|provider| provider.id.as_str()).collect();
        near = similar::get_close_matches(head, &ids, SUGGESTED, 0.7).into_iter().map(str::to_owned).collect();
    }
    match near.as_slice() {
        [] => "give PROVIDER/MODEL, such as `anthropic/claude-sonnet-4-5`".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    }
}

/// The name that was given, or the model of the configuration.
pub(crate) fn named(given: Option<&str>, option: &str) -> Result<String> {
    let default = || Known::load().map(|known| known.config.defaults.model);
    match given {
        Some(name) => Ok(name.to_owned()),
        None => default()?.ok_or_else(|| {
            let next = format!("give {option} PROVIDER/MODEL, or `model` under [defaults] in polywire.toml");
            Failure::new("no model is named", option, &next).into()
        }),
    }
}

/// The protocol of a name.
pub(crate) fn protocol(name: &str) -> Result<Protocol> {
    Protocol::named(name).ok_or_else(|| {
        let names: Vec<&str> = Protocol::ALL.iter().map(|protocol| protocol.name()).collect();
        Failure::new("unknown protocol", name, &format!("known protocols: {}", names.join(", "))).into()
    })
}
