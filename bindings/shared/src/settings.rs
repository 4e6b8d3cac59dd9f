//! Settings as the caller's options: objects that deserialize, with an error for what is unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use polywire::answer::{BareText, CoerceOptions, Defaults, Options, ReadOptions, Several};
use polywire::schema::{AmbiguousNull, Draft, FitOptions, Open, Slot, Spill, StrictMode, Unresolved};
use polywire::wire::{Stamp, Strategy};
use polywire::{CallOptions, ClientOptions, Kind, OnLoss, PlainHttp, PlanOptions, Prompt, Strict, TranslateOptions};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;

/// Reads settings from the caller's options; `null` and `{}` are the defaults.
pub fn settings<T: DeserializeOwned + Default>(options: Value) -> Result<T, Error> {
    if options.is_null() {
        return Ok(T::default());
    }
    T::deserialize(options).map_err(|error| Error::input("unknown-option", error.to_string()))
}

/// Options of a fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FitSettings {
    /// `auto`, `require` or `off`.
    pub strict: Option<StrictSetting>,
    /// What becomes of open objects: `close` or `carry`.
    pub open: Option<OpenSetting>,
    /// What `null` means for a property that may be absent or null: `default`, `absent` or `null`.
    pub null: Option<NullSetting>,
    /// `tool` or `output`.
    pub slot: Option<Slot>,
    /// Whether descriptions say what was dropped.
    pub spill: Option<bool>,
    /// What a reference without a target means: `any` or `refuse`.
    pub unresolved: Option<UnresolvedSetting>,
    /// The draft of the schema, such as `2020-12` or `openapi-3.0`.
    pub draft: Option<DraftSetting>,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident -> $target:ty { $($word:literal $variant:ident => $value:expr,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        pub enum $name { $(
            #[doc = concat!("`", $word, "`")]
            #[serde(rename = $word)]
            $variant,
        )* }

        impl $name {
            fn value(self) -> $target {
                match self { $(Self::$variant => $value,)* }
            }
        }
    )* };
}

words! {
    /// The strict mode of a fit.
    StrictSetting -> StrictMode {
        "auto" Auto => StrictMode::Auto,
        "require" Require => StrictMode::Require,
        "off" Off => StrictMode::Off,
    }
    /// What becomes of open objects.
    OpenSetting -> Open {
        "close" Close => Open::Close,
        "carry" Carry => Open::Carry,
    }
    /// What an ambiguous `null` means.
    NullSetting -> AmbiguousNull {
        "default" Default => AmbiguousNull::ByDefault,
        "absent" Absent => AmbiguousNull::Absent,
        "null" Null => AmbiguousNull::Null,
    }
    /// What a reference without a target means.
    UnresolvedSetting -> Unresolved {
        "any" Any => Unresolved::Any,
        "refuse" Refuse => Unresolved::Refuse,
    }
    /// A draft of JSON Schema.
    DraftSetting -> Draft {
        "03" Draft03 => Draft::Draft03,
        "04" Draft04 => Draft::Draft04,
        "06" Draft06 => Draft::Draft06,
        "07" Draft07 => Draft::Draft07,
        "2019-09" Draft2019 => Draft::Draft2019,
        "2020-12" Draft2020 => Draft::Draft2020,
        "openapi-3.0" OpenApi30 => Draft::OpenApi30,
    }
    /// The use of the strict flag in a plan.
    PlanStrict -> Strict {
        "auto" Auto => Strict::Auto,
        "as-asked" AsAsked => Strict::AsAsked,
        "off" Off => Strict::Off,
    }
    /// The use of the prompt for the output schema.
    PlanPrompt -> Prompt {
        "when-needed" WhenNeeded => Prompt::WhenNeeded,
        "always" Always => Prompt::Always,
    }
    /// What a loss means.
    LossSetting -> OnLoss {
        "record" Record => OnLoss::Record,
        "error" Error => OnLoss::Refuse,
    }
    /// Which of several values of a text counts.
    SeveralSetting -> Several {
        "first" First => Several::First,
        "last" Last => Several::Last,
        "all" All => Several::All,
    }
}

impl FitSettings {
    /// The options of the library.
    pub fn options(&self) -> FitOptions {
        FitOptions::default()
            .with_strict(self.strict.map(StrictSetting::value).unwrap_or_default())
            .with_open(self.open.map(OpenSetting::value).unwrap_or_default())
            .with_ambiguous_null(self.null.map(NullSetting::value).unwrap_or_default())
            .with_slot(self.slot.unwrap_or_default())
            .with_spill(if self.spill == Some(false) { Spill::Off } else { Spill::On })
            .with_unresolved(self.unresolved.map(UnresolvedSetting::value).unwrap_or_default())
            .with_draft(self.draft.map(DraftSetting::value))
    }
}

/// Options of reading a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is an option with a name of its own")]
pub struct ParseSettings {
    /// Reads the text as one that is still arriving.
    pub partial: bool,
    /// Fills absent properties with the defaults of the schema.
    pub defaults: bool,
    /// Which of several values counts: `first`, `last` or `all`.
    pub several: Option<SeveralSetting>,
    /// Text without JSON is a string.
    pub bare_text: Option<bool>,
    /// The most nested lists and objects.
    pub max_depth: Option<usize>,
    /// The most steps of reading and validation together.
    pub max_steps: Option<u64>,
}

impl ParseSettings {
    /// The options of the library.
    pub fn options(&self) -> ReadOptions {
        let mut salvage = if self.partial { Options::partial() } else { Options::default() };
        if let Some(several) = self.several {
            salvage = salvage.with_several(several.value());
        }
        if let Some(is_text) = self.bare_text {
            salvage = salvage.with_bare_text(if is_text { BareText::Text } else { BareText::Refuse });
        }
        if let Some(depth) = self.max_depth {
            salvage = salvage.with_max_depth(depth);
        }
        let defaults = if self.defaults { Defaults::Apply } else { Defaults::Leave };
        let options =
            ReadOptions::default().with_salvage(salvage).with_coerce(CoerceOptions::default().with_defaults(defaults));
        match self.max_steps {
            Some(steps) => options.with_max_steps(steps),
            None => options,
        }
    }
}

/// Options of planning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PlanSettings {
    /// `auto`, `as-asked` or `off`.
    pub strict: Option<PlanStrict>,
    /// `when-needed` or `always`.
    pub prompt: Option<PlanPrompt>,
    /// `record` or `error` for the kinds `model`, `tools`, `output`, `history`, `parameters`, or for `all`.
    pub on_loss: BTreeMap<String, LossSetting>,
}

impl PlanSettings {
    /// The options of the library.
    pub fn options(&self) -> Result<PlanOptions, Error> {
        let mut options = PlanOptions::default()
            .with_strict(self.strict.map(PlanStrict::value).unwrap_or_default())
            .with_prompt(self.prompt.map(PlanPrompt::value).unwrap_or_default());
        // `all` first, so that a kind of its own counts more.
        let all = self.on_loss.iter().filter(|(kind, _)| *kind == "all");
        for (name, meaning) in all.chain(self.on_loss.iter().filter(|(kind, _)| *kind != "all")) {
            let kinds: Vec<Kind> =
                Kind::ALL.into_iter().filter(|kind| name == "all" || kind.to_string() == *name).collect();
            if kinds.is_empty() {
                let known = Kind::ALL.map(|kind| kind.to_string()).join(", ");
                let message = format!("`{name}` is not a kind of loss; known kinds: {known}, all");
                return Err(Error::input("unknown-option", message).at("/on_loss"));
            }
            for kind in kinds {
                options = options.with_on_loss(kind, meaning.value());
            }
        }
        Ok(options)
    }
}

/// Options of a translation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TranslationSettings {
    /// Whether the answer is a stream; otherwise the request decides.
    pub stream: Option<bool>,
    /// The Unix time in seconds that answers of another protocol get.
    pub created: Option<u64>,
    /// The seed of ids that answers of another protocol get.
    pub seed: Option<String>,
    /// Options of planning.
    pub plan: PlanSettings,
}

impl TranslationSettings {
    /// The options of the library.
    pub fn options(&self) -> Result<TranslateOptions, Error> {
        let options = TranslateOptions::default().with_plan(self.plan.options()?);
        let options = match (&self.created, &self.seed) {
            (None, None) => options,
            (created, seed) => {
                options.with_stamp(Stamp::new(created.unwrap_or_default(), seed.clone().unwrap_or_default()))
            }
        };
        Ok(match self.stream {
            Some(stream) => options.with_stream(stream),
            None => options,
        })
    }
}

/// Options of a client. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Keys by provider, instead of those of the environment.
    pub keys: BTreeMap<String, String>,
    /// Base URLs by provider.
    pub base_urls: BTreeMap<String, String>,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// The text of a `polywire.toml`, whose providers and models are known too.
    pub config: Option<String>,
    /// How often a value is asked for until it is valid.
    pub attempts: Option<usize>,
    /// How often a failed request is sent again.
    pub retries: Option<usize>,
    /// The limit on waiting for a response, and between its parts.
    pub timeout: Option<f64>,
    /// The limit on everything together.
    pub deadline: Option<f64>,
    /// The limit on the connection.
    pub connect_timeout: Option<f64>,
    /// The most requests at a time.
    pub max_concurrency: Option<usize>,
    /// The most bytes of a response.
    pub max_response_bytes: Option<usize>,
    /// Allows unencrypted HTTP to other machines.
    pub plain_http: bool,
    /// Options of planning.
    pub plan: PlanSettings,
}

impl ClientSettings {
    pub(crate) fn options(&self) -> Result<ClientOptions, Error> {
        let mut options = ClientOptions::default().with_plan(self.plan.options()?);
        if let Some(attempts) = self.attempts {
            options = options.with_attempts(attempts);
        }
        if let Some(retries) = self.retries {
            options = options.with_retries(retries);
        }
        if let Some(time) = seconds("timeout", self.timeout)? {
            options = options.with_timeout(time);
        }
        if let Some(time) = seconds("deadline", self.deadline)? {
            options = options.with_deadline(time);
        }
        if let Some(time) = seconds("connect_timeout", self.connect_timeout)? {
            options = options.with_connect_timeout(time);
        }
        if let Some(limit) = self.max_concurrency {
            options = options.with_max_concurrency(limit);
        }
        if let Some(limit) = self.max_response_bytes {
            options = options.with_max_response_bytes(limit);
        }
        if self.plain_http {
            options = options.with_plain_http(PlainHttp::Anywhere);
        }
        Ok(options)
    }
}

/// Options of one question.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AskSettings {
    /// Instructions for the model.
    pub system: Option<String>,
    /// How the value is requested: `auto`, `native`, `tool` or `prompted`.
    pub strategy: Option<Strategy>,
    /// The name of the schema for the model.
    pub name: Option<String>,
    /// A description of the schema for the model.
    pub description: Option<String>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The temperature.
    pub temperature: Option<f64>,
    /// The limit on everything together, in seconds.
    pub deadline: Option<f64>,
    /// Headers of the request.
    pub headers: BTreeMap<String, String>,
    /// The W3C trace parent of the request's span.
    pub trace_parent: Option<String>,
}

impl AskSettings {
    pub(crate) fn call(&self) -> Result<CallOptions, Error> {
        let mut options = CallOptions::new();
        if let Some(time) = seconds("deadline", self.deadline)? {
            options = options.with_deadline(time);
        }
        if let Some(tokens) = self.max_tokens {
            options = options.with_max_tokens(tokens);
        }
        if let Some(temperature) = self.temperature {
            options = options.with_temperature(temperature);
        }
        if let Some(parent) = &self.trace_parent {
            options = options.with_trace_parent(parent.clone());
        }
        for (name, value) in &self.headers {
            options = options.with_header(name, value.as_str());
        }
        Ok(options)
    }
}

/// Options of a tool loop.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RunSettings {
    /// The most turns.
    pub max_turns: Option<usize>,
    /// The most tokens of all turns together.
    pub max_total_tokens: Option<u64>,
    /// The limit on one call of a tool, in seconds.
    pub tool_timeout: Option<f64>,
    /// The most calls at a time.
    pub max_parallel: Option<usize>,
    /// Options of the question.
    pub ask: AskSettings,
}

pub(crate) fn seconds(name: &str, time: Option<f64>) -> Result<Option<Duration>, Error> {
    let Some(time) = time else { return Ok(None) };
    match Duration::try_from_secs_f64(time) {
        Ok(time) => Ok(Some(time)),
        Err(error) => Err(Error::input("wrong-time", format!("{name}: {error}")).at(format!("/{name}"))),
    }
}
