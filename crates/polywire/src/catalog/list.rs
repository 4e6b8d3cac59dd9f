//! Reads the responses of model list endpoints. Does no IO. Each format has a table with the JSON Pointers of its facts; a fact that is
//! missing from an entry is unknown, not false.

use std::fmt;

use polywire_wire::{Effort, ThinkingMode};
use serde_json::Value;

use crate::model::{Ability, Modality, ModelPatch, When};
use crate::provider::{ListStyle, Provider};

/// Entries with a longer id are skipped.
const MAX_ID_BYTES: usize = 512;

/// One page of a model list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPage {
    /// The chat models of the page.
    pub models: Vec<ModelPatch>,
    /// The name and value of the query parameter for the next page.
    pub next: Option<(&'static str, String)>,
    /// The number of skipped entries: embedding and image models, entries without an id.
    pub passed_over: usize,
}

/// The error of a response that is not a model list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError(String);

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ListError {}

/// The format of a model list. Fields are JSON Pointers; the first that exists is used.
struct ListFormat {
    entries: &'static [&'static str],
    id: &'static [&'static str],
    /// The prefix of every id, which is removed.
    prefix: &'static str,
    context: &'static [&'static str],
    output: &'static [&'static str],
    aliases: &'static str,
    /// The date of the model's deprecation.
    deprecation: &'static [&'static str],
    /// Tests that are false for entries that are not chat models.
    is_chat_model: &'static [(&'static str, FieldTest)],
    facts: &'static [(&'static str, FieldTest, ListedFact)],
    /// Objects with a member for each mode or effort, each with `supported`.
    thinking: &'static str,
    efforts: &'static str,
    /// The query parameter for the page size.
    size: Option<(&'static str, &'static str)>,
    next: Option<Pagination>,
}

/// A test of a field. It has no result for a value of another type.
#[derive(Clone, Copy)]
enum FieldTest {
    /// The field is `true`.
    IsTrue,
    /// The field is a list that contains this string.
    Contains(&'static str),
    /// The field is one of these strings.
    IsOneOf(&'static [&'static str]),
}

/// The meaning of a test's result.
#[derive(Clone, Copy)]
enum ListedFact {
    /// The first list is added if the test is true; the second, with dependent abilities, is removed if it is false.
    Can(&'static [Ability], &'static [Ability]),
    Reads(Modality),
    /// False: tools cannot be forced. The flag is too coarse to grant it.
    Forced,
    /// False: sampling parameters are not accepted. The flag is too coarse to grant them.
    Sampling,
}

/// The pagination of a list.
struct Pagination {
    /// A field that must be `true` if there is a next page.
    more: Option<&'static str>,
    token: &'static str,
    parameter: &'static str,
}

const TOOLS: ListedFact =
    ListedFact::Can(&[Ability::Tools], &[Ability::Tools, Ability::ParallelCalls, Ability::ToolsWithOutput]);
const OUTPUT: ListedFact =
    ListedFact::Can(&[Ability::NativeOutput], &[Ability::NativeOutput, Ability::ToolsWithOutput]);
const IMAGES: ListedFact = ListedFact::Reads(Modality::Image);

/// `{data: [{id}]}`, with the extensions of compatible providers. Some omit the envelope.
const OPENAI: ListFormat = ListFormat {
    entries: &["/data", "/models", ""],
    id: &["/id"],
    prefix: "",
    context: &["/context_window", "/context_length", "/max_model_len", "/max_context_length", "/meta/n_ctx_train"],
    output: &["/max_completion_tokens", "/max_output_tokens"],
    aliases: "/aliases",
    deprecation: &["/deprecation"],
    is_chat_model: &[
        ("/active", FieldTest::IsTrue),
        ("/capabilities/completion_chat", FieldTest::IsTrue),
        ("/supports_chat", FieldTest::IsTrue),
        ("/type", FieldTest::IsOneOf(&["base", "chat", "code", "language", "llm", "model"])),
    ],
    facts: &[
        ("/capabilities/function_calling", FieldTest::IsTrue, TOOLS),
        ("/capabilities/vision", FieldTest::IsTrue, IMAGES),
        ("/capabilities/audio", FieldTest::IsTrue, ListedFact::Reads(Modality::Audio)),
        ("/supports_tools", FieldTest::IsTrue, TOOLS),
        ("/supports_image_input", FieldTest::IsTrue, IMAGES),
        ("/supports_image_in", FieldTest::IsTrue, IMAGES),
    ],
    thinking: "",
    efforts: "",
    size: None,
    next: None,
};

const ANTHROPIC: ListFormat = ListFormat {
    entries: &["/data"],
    id: &["/id"],
    context: &["/max_input_tokens"],
    output: &["/max_tokens"],
    aliases: "",
    deprecation: &[],
    is_chat_model: &[("/type", FieldTest::IsOneOf(&["model"]))],
    facts: &[
        (
            "/capabilities/structured_outputs/supported",
            FieldTest::IsTrue,
            ListedFact::Can(&[Ability::Strict, Ability::NativeOutput], &[Ability::Strict, Ability::NativeOutput]),
        ),
        ("/capabilities/image_input/supported", FieldTest::IsTrue, IMAGES),
        ("/capabilities/pdf_input/supported", FieldTest::IsTrue, ListedFact::Reads(Modality::Pdf)),
    ],
    thinking: "/capabilities/thinking/types",
    efforts: "/capabilities/effort",
    size: Some(("limit", "1000")),
    next: Some(Pagination { more: Some("/has_more"), token: "/last_id", parameter: "after_id" }),
    ..OPENAI
};

const GEMINI: ListFormat = ListFormat {
    entries: &["/models"],
    id: &["/name"],
    prefix: "models/",
    context: &["/inputTokenLimit"],
    output: &["/outputTokenLimit"],
    aliases: "",
    deprecation: &[],
    is_chat_model: &[("/supportedGenerationMethods", FieldTest::Contains("generateContent"))],
    facts: &[],
    size: Some(("pageSize", "1000")),
    next: Some(Pagination { more: None, token: "/nextPageToken", parameter: "pageToken" }),
    ..OPENAI
};

const OLLAMA: ListFormat = ListFormat {
    entries: &["/models"],
    id: &["/model", "/name"],
    context: &["/details/context_length", "/context_length"],
    output: &[],
    aliases: "",
    deprecation: &[],
    is_chat_model: &[("/capabilities", FieldTest::Contains("completion"))],
    facts: &[
        ("/capabilities", FieldTest::Contains("tools"), TOOLS),
        ("/capabilities", FieldTest::Contains("vision"), IMAGES),
    ],
    ..OPENAI
};

/// The older format with `data` and `id`, and the newer one with `models` and `key`.
const LMSTUDIO: ListFormat = ListFormat {
    entries: &["/data", "/models"],
    id: &["/id", "/key"],
    context: &["/loaded_context_length", "/max_context_length"],
    output: &[],
    aliases: "",
    deprecation: &[],
    is_chat_model: &[("/type", FieldTest::IsOneOf(&["llm", "vlm"]))],
    facts: &[
        ("/type", FieldTest::IsOneOf(&["vlm"]), IMAGES),
        ("/capabilities", FieldTest::Contains("tool_use"), TOOLS),
        ("/capabilities/trained_for_tool_use", FieldTest::IsTrue, TOOLS),
        ("/capabilities/vision", FieldTest::IsTrue, IMAGES),
    ],
    ..OPENAI
};

const OPENROUTER: ListFormat = ListFormat {
    entries: &["/data"],
    id: &["/id"],
    context: &["/context_length"],
    output: &["/top_provider/max_completion_tokens"],
    aliases: "",
    deprecation: &["/expiration_date"],
    is_chat_model: &[("/architecture/output_modalities", FieldTest::Contains("text"))],
    facts: &[
        ("/architecture/input_modalities", FieldTest::Contains("image"), IMAGES),
        ("/architecture/input_modalities", FieldTest::Contains("audio"), ListedFact::Reads(Modality::Audio)),
        ("/architecture/input_modalities", FieldTest::Contains("video"), ListedFact::Reads(Modality::Video)),
        ("/architecture/input_modalities", FieldTest::Contains("file"), ListedFact::Reads(Modality::Pdf)),
        ("/supported_parameters", FieldTest::Contains("tools"), TOOLS),
        ("/supported_parameters", FieldTest::Contains("structured_outputs"), OUTPUT),
        (
            "/supported_parameters",
            FieldTest::Contains("response_format"),
            ListedFact::Can(&[Ability::JsonMode], &[Ability::JsonMode]),
        ),
        ("/supported_parameters", FieldTest::Contains("tool_choice"), ListedFact::Forced),
        ("/supported_parameters", FieldTest::Contains("temperature"), ListedFact::Sampling),
    ],
    ..OPENAI
};

impl ListStyle {
    fn format(self) -> &'static ListFormat {
        match self {
            Self::Openai => &OPENAI,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::Ollama => &OLLAMA,
            Self::Lmstudio => &LMSTUDIO,
            Self::Openrouter => &OPENROUTER,
        }
    }

    /// The query parameter for the largest page size.
    pub fn page_size(self) -> Option<(&'static str, &'static str)> {
        self.format().size
    }
}

/// Reads a page of a provider's model list.
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
    let body: Value =
        serde_json::from_slice(body).map_err(|error| ListError(format!("the response is not JSON: {error}")))?;
    let format = style.format();
    let entries = format.entries.iter().find_map(|at| body.pointer(at).and_then(Value::as_array));
    let none = || ListError(format!("there is no list of models at `{}`", format.entries.join("` or `")));
    let entries = entries.ok_or_else(none)?;
    let models: Vec<ModelPatch> = entries.iter().filter_map(|entry| format.read(provider, entry)).collect();
    let passed_over = entries.len() - models.len();
    Ok(ListPage { next: format.next(&body), models, passed_over })
}

impl ListFormat {
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
        let is_valid = !id.is_empty() && id.len() <= MAX_ID_BYTES && !id.chars().any(char::is_control);
        if !is_valid || self.is_chat_model.iter().any(|(at, test)| test.evaluate(entry.pointer(at)) == Some(false)) {
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
            deprecated: at(self.deprecation)
                .and_then(Value::as_str)
                .map(|day| format!("the provider deprecates the model on {day}")),
            thinking: self.thinking(entry),
            efforts: self.efforts(entry),
            ..ModelPatch::new(&provider.id, id)
        };
        for (at, test, fact) in self.facts {
            if let Some(is_true) = test.evaluate(entry.pointer(at)) {
                fact.apply(is_true, &mut patch);
            }
        }
        Some(patch)
    }

    /// The thinking modes, if the entry lists all of the protocol's modes.
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

/// The members of an object with their `supported` flags.
fn supported<'e>(entry: &'e Value, at: &str) -> Option<Vec<(&'e str, bool)>> {
    let members = entry.pointer(at).filter(|_| !at.is_empty())?.as_object()?;
    let flags = members.iter().filter_map(|(name, member)| Some((name.as_str(), member.get("supported")?.as_bool()?)));
    Some(flags.collect())
}

impl FieldTest {
    fn evaluate(self, place: Option<&Value>) -> Option<bool> {
        match self {
            Self::IsTrue => place?.as_bool(),
            Self::Contains(word) => Some(place?.as_array()?.iter().any(|value| value.as_str() == Some(word))),
            Self::IsOneOf(words) => place?.as_str().map(|value| words.contains(&value)),
        }
    }
}

impl ListedFact {
    fn apply(self, is_true: bool, patch: &mut ModelPatch) {
        match (self, is_true) {
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
