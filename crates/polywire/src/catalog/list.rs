//! What providers say of their own models: the bodies of list endpoints, read without IO. One table a form says where in an entry
//! which fact stands; a fact that an entry does not state is not stated here either.

use std::fmt;

use polywire_wire::{Effort, ThinkingMode};
use serde_json::Value;

use crate::model::{Ability, Modality, ModelPatch, When};
use crate::provider::{ListStyle, Provider};

/// The longest id that is taken for one.
const LONGEST_ID: usize = 512;

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPage {
    /// What is said of the models that answer requests.
    pub models: Vec<ModelPatch>,
    /// The name and the value of the parameter that asks for the next page.
    pub next: Option<(&'static str, String)>,
    /// How many entries are no models that answer: embeddings, images, entries without an id.
    pub passed_over: usize,
}

/// Why a body is no list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError(String);

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ListError {}

/// Where in the entries of a list which fact stands. Places are JSON Pointers, the first that is there counts.
struct Form {
    entries: &'static [&'static str],
    id: &'static [&'static str],
    /// What stands before every id.
    prefix: &'static str,
    context: &'static [&'static str],
    output: &'static [&'static str],
    aliases: &'static str,
    /// A day or a word that says that the model is on its way out.
    ends: &'static [&'static str],
    /// What an entry may not deny if it is to be a model that answers.
    answers: &'static [(&'static str, Test)],
    facts: &'static [(&'static str, Test, Fact)],
    /// Objects with a member a mode or an effort, each with `supported`.
    thinking: &'static str,
    efforts: &'static str,
    /// The parameter for the size of a page.
    size: Option<(&'static str, &'static str)>,
    next: Option<Next>,
}

/// How a place answers yes or no. A place of another kind answers nothing.
#[derive(Clone, Copy)]
enum Test {
    /// It is `true`.
    Yes,
    /// It is a list that has this word.
    Has(&'static str),
    /// It is one of these words.
    Is(&'static [&'static str]),
}

/// What a yes or a no means.
#[derive(Clone, Copy)]
enum Fact {
    /// Yes: these it can do. No: these and what needs them it cannot.
    Can(&'static [Ability], &'static [Ability]),
    Reads(Modality),
    /// No: a tool cannot be forced. A yes is too coarse to be one.
    Forced,
    /// No: temperature and its kin are not taken. A yes is too coarse to be one.
    Sampling,
}

/// How the next page is asked for.
struct Next {
    /// Only if this is `true`, where it is named.
    more: Option<&'static str>,
    token: &'static str,
    parameter: &'static str,
}

const TOOLS: Fact = Fact::Can(&[Ability::Tools], &[Ability::Tools, Ability::ParallelCalls, Ability::ToolsWithOutput]);
const OUTPUT: Fact = Fact::Can(&[Ability::NativeOutput], &[Ability::NativeOutput, Ability::ToolsWithOutput]);
const IMAGES: Fact = Fact::Reads(Modality::Image);

/// `{data: [{id}]}`, with the additions of those who speak the same protocol. Some leave out the envelope.
const OPENAI: Form = Form {
    entries: &["/data", "/models", ""],
    id: &["/id"],
    prefix: "",
    context: &["/context_window", "/context_length", "/max_model_len", "/max_context_length", "/meta/n_ctx_train"],
    output: &["/max_completion_tokens", "/max_output_tokens"],
    aliases: "/aliases",
    ends: &["/deprecation"],
    answers: &[
        ("/active", Test::Yes),
        ("/capabilities/completion_chat", Test::Yes),
        ("/supports_chat", Test::Yes),
        ("/type", Test::Is(&["base", "chat", "code", "language", "llm", "model"])),
    ],
    facts: &[
        ("/capabilities/function_calling", Test::Yes, TOOLS),
        ("/capabilities/vision", Test::Yes, IMAGES),
        ("/capabilities/audio", Test::Yes, Fact::Reads(Modality::Audio)),
        ("/supports_tools", Test::Yes, TOOLS),
        ("/supports_image_input", Test::Yes, IMAGES),
        ("/supports_image_in", Test::Yes, IMAGES),
    ],
    thinking: "",
    efforts: "",
    size: None,
    next: None,
};

const ANTHROPIC: Form = Form {
    entries: &["/data"],
    id: &["/id"],
    context: &["/max_input_tokens"],
    output: &["/max_tokens"],
    aliases: "",
    ends: &[],
    answers: &[("/type", Test::Is(&["model"]))],
    facts: &[
        (
            "/capabilities/structured_outputs/supported",
            Test::Yes,
            Fact::Can(&[Ability::Strict, Ability::NativeOutput], &[Ability::Strict, Ability::NativeOutput]),
        ),
        ("/capabilities/image_input/supported", Test::Yes, IMAGES),
        ("/capabilities/pdf_input/supported", Test::Yes, Fact::Reads(Modality::Pdf)),
    ],
    thinking: "/capabilities/thinking/types",
    efforts: "/capabilities/effort",
    size: Some(("limit", "1000")),
    next: Some(Next { more: Some("/has_more"), token: "/last_id", parameter: "after_id" }),
    ..OPENAI
};

const GEMINI: Form = Form {
    entries: &["/models"],
    id: &["/name"],
    prefix: "models/",
    context: &["/inputTokenLimit"],
    output: &["/outputTokenLimit"],
    aliases: "",
    ends: &[],
    answers: &[("/supportedGenerationMethods", Test::Has("generateContent"))],
    facts: &[],
    size: Some(("pageSize", "1000")),
    next: Some(Next { more: None, token: "/nextPageToken", parameter: "pageToken" }),
    ..OPENAI
};

const OLLAMA: Form = Form {
    entries: &["/models"],
    id: &["/model", "/name"],
    context: &["/details/context_length", "/context_length"],
    output: &[],
    aliases: "",
    ends: &[],
    answers: &[("/capabilities", Test::Has("completion"))],
    facts: &[("/capabilities", Test::Has("tools"), TOOLS), ("/capabilities", Test::Has("vision"), IMAGES)],
    ..OPENAI
};

/// The older form with `data` and `id`, and the newer one with `models` and `key`.
const LMSTUDIO: Form = Form {
    entries: &["/data", "/models"],
    id: &["/id", "/key"],
    context: &["/loaded_context_length", "/max_context_length"],
    output: &[],
    aliases: "",
    ends: &[],
    answers: &[("/type", Test::Is(&["llm", "vlm"]))],
    facts: &[
        ("/type", Test::Is(&["vlm"]), IMAGES),
        ("/capabilities", Test::Has("tool_use"), TOOLS),
        ("/capabilities/trained_for_tool_use", Test::Yes, TOOLS),
        ("/capabilities/vision", Test::Yes, IMAGES),
    ],
    ..OPENAI
};

const OPENROUTER: Form = Form {
    entries: &["/data"],
    id: &["/id"],
    context: &["/context_length"],
    output: &["/top_provider/max_completion_tokens"],
    aliases: "",
    ends: &["/expiration_date"],
    answers: &[("/architecture/output_modalities", Test::Has("text"))],
    facts: &[
        ("/architecture/input_modalities", Test::Has("image"), IMAGES),
        ("/architecture/input_modalities", Test::Has("audio"), Fact::Reads(Modality::Audio)),
        ("/architecture/input_modalities", Test::Has("video"), Fact::Reads(Modality::Video)),
        ("/architecture/input_modalities", Test::Has("file"), Fact::Reads(Modality::Pdf)),
        ("/supported_parameters", Test::Has("tools"), TOOLS),
        ("/supported_parameters", Test::Has("structured_outputs"), OUTPUT),
        ("/supported_parameters", Test::Has("response_format"), Fact::Can(&[Ability::JsonMode], &[Ability::JsonMode])),
        ("/supported_parameters", Test::Has("tool_choice"), Fact::Forced),
        ("/supported_parameters", Test::Has("temperature"), Fact::Sampling),
    ],
    ..OPENAI
};

impl ListStyle {
    fn form(self) -> &'static Form {
        match self {
            Self::Openai => &OPENAI,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::Ollama => &OLLAMA,
            Self::Lmstudio => &LMSTUDIO,
            Self::Openrouter => &OPENROUTER,
        }
    }

    /// The parameter that asks for large pages.
    pub fn page_size(self) -> Option<(&'static str, &'static str)> {
        self.form().size
    }
}

/// Reads a page of a provider's list.
///
/// ```
/// use polywire::{Catalog, ListStyle, read_list};
/// let provider = Catalog::built_in().provider("groq").unwrap();
/// let body = br#"{"data": [{"id": "llama-9", "context_window": 131072}, {"id": "hum-1", "active": false}]}"#;
/// let page = read_list(provider, ListStyle::Openai, body).unwrap();
/// assert_eq!((page.models[0].id.as_str(), page.models[0].context), ("llama-9", Some(131072)));
/// assert_eq!((page.models.len(), page.passed_over), (1, 1));
/// ```
pub fn read_list(provider: &Provider, style: ListStyle, body: &[u8]) -> Result<ListPage, ListError> {
    let body: Value = serde_json::from_slice(body).map_err(|error| ListError(format!("it is no JSON: {error}")))?;
    let form = style.form();
    let entries = form.entries.iter().find_map(|at| body.pointer(at).and_then(Value::as_array));
    let none = || ListError(format!("there is no list of models at `{}`", form.entries.join("` or `")));
    let entries = entries.ok_or_else(none)?;
    let models: Vec<ModelPatch> = entries.iter().filter_map(|entry| form.read(provider, entry)).collect();
    let passed_over = entries.len() - models.len();
    Ok(ListPage { next: form.next(&body), models, passed_over })
}

impl Form {
    fn next(&self, body: &Value) -> Option<(&'static str, String)> {
        let next = self.next.as_ref()?;
        let more = next.more.is_none_or(|more| body.pointer(more).and_then(Value::as_bool) == Some(true));
        let token = body.pointer(next.token).and_then(Value::as_str).filter(|token| more && !token.is_empty())?;
        Some((next.parameter, token.to_owned()))
    }

    fn read(&self, provider: &Provider, entry: &Value) -> Option<ModelPatch> {
        let at = |places: &[&str]| places.iter().find_map(|at| entry.pointer(at).filter(|value| !value.is_null()));
        let id = at(self.id)?.as_str()?;
        let id = id.strip_prefix(self.prefix).unwrap_or(id).trim();
        let sound = !id.is_empty() && id.len() <= LONGEST_ID && !id.chars().any(char::is_control);
        if !sound || self.answers.iter().any(|(at, test)| test.of(entry.pointer(at)) == Some(false)) {
            return None;
        }
        let number = |places| at(places).and_then(Value::as_u64).filter(|number| *number > 0);
        let words = |at: &str| {
            let list = entry.pointer(at).filter(|_| !at.is_empty()).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut patch = ModelPatch {
            context: number(self.context),
            output: number(self.output),
            aliases: words(self.aliases),
            deprecated: at(self.ends).and_then(Value::as_str).map(|day| format!("the provider ends it on {day}")),
            thinking: self.thinking(entry),
            efforts: self.efforts(entry),
            ..ModelPatch::new(&provider.id, id)
        };
        for (at, test, fact) in self.facts {
            if let Some(yes) = test.of(entry.pointer(at)) {
                fact.record(yes, &mut patch);
            }
        }
        Some(patch)
    }

    /// The modes of thinking, where the entry speaks of all that it could be asked about.
    fn thinking(&self, entry: &Value) -> Option<Vec<ThinkingMode>> {
        let modes = supported(entry, self.thinking)?;
        let known = [ThinkingMode::Adaptive, ThinkingMode::Enabled, ThinkingMode::Disabled];
        let all = known.iter().all(|mode| modes.iter().any(|(name, _)| *name == mode.word()));
        let known = known.into_iter().chain([ThinkingMode::BetweenTools]);
        let taken = known.filter(|mode| modes.contains(&(mode.word(), true)));
        all.then(|| taken.collect())
    }

    fn efforts(&self, entry: &Value) -> Option<Vec<Effort>> {
        let levels = supported(entry, self.efforts)?;
        let known =
            [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];
        let taken: Vec<Effort> = known.into_iter().filter(|effort| levels.contains(&(effort.word(), true))).collect();
        (!taken.is_empty()).then_some(taken)
    }
}

/// The members of an object that say whether they are supported.
fn supported<'e>(entry: &'e Value, at: &str) -> Option<Vec<(&'e str, bool)>> {
    let members = entry.pointer(at).filter(|_| !at.is_empty())?.as_object()?;
    let said = members.iter().filter_map(|(name, member)| Some((name.as_str(), member.get("supported")?.as_bool()?)));
    Some(said.collect())
}

impl Test {
    fn of(self, place: Option<&Value>) -> Option<bool> {
        match self {
            Self::Yes => place?.as_bool(),
            Self::Has(word) => Some(place?.as_array()?.iter().any(|value| value.as_str() == Some(word))),
            Self::Is(words) => place?.as_str().map(|value| words.contains(&value)),
        }
    }
}

impl Fact {
    fn record(self, yes: bool, patch: &mut ModelPatch) {
        match (self, yes) {
            (Self::Can(given, _), true) => patch.also.extend(given),
            (Self::Can(_, taken), false) => patch.not.extend(taken),
            (Self::Reads(modality), true) => patch.also_reads.push(modality),
            (Self::Reads(modality), false) => patch.not_reads.push(modality),
            (Self::Forced, false) => patch.forced = Some(When::Never),
            (Self::Sampling, false) => patch.sampling = Some(When::Never),
            (Self::Forced | Self::Sampling, true) => {}
        }
    }
}
