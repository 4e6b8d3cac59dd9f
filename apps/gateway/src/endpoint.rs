//! Paths to endpoints, in every spelling that clients use. Pure: no catalog, no IO.

use http::Method;
use percent_encoding::percent_decode_str;
use polywire::wire::{Envelope, Protocol};

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// An answer of a model.
    Generate(Generate),
    /// The number of tokens of a request.
    CountTokens { protocol: Protocol, model: Option<String> },
    /// A conversation as one opaque item.
    Compact,
    /// A stored response.
    StoredResponse { id: String },
    /// The list of models, or one of them.
    Models { protocol: Protocol, model: Option<String> },
    /// Embeddings; `verb` is the end of a path with a model in it.
    Embed { protocol: Protocol, model: Option<String>, verb: &'static str },
    /// A path that is not translated.
    Other,
}

/// A request for an answer of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generate {
    pub(crate) protocol: Protocol,
    /// The model, where it is in the path.
    pub(crate) model: Option<String>,
    /// Whether the answer is streamed, where the path says so.
    pub(crate) stream: Option<bool>,
    pub(crate) envelope: Envelope,
}

impl Generate {
    fn of(protocol: Protocol) -> Self {
        Self { protocol, model: None, stream: None, envelope: Envelope::Plain }
    }
}

/// The first segment of paths that have a version.
const VERSIONS: [&str; 4] = ["/v1/", "/v1beta/", "/v1alpha/", "/v1beta1/"];

/// A path with a model and a verb: `…/models/MODEL:VERB`.
enum Verb {
    Generate(Protocol, bool),
    CountTokens,
    Embed(&'static str),
}

const VERBS: [(&str, Verb); 7] = [
    ("generateContent", Verb::Generate(Protocol::Gemini, false)),
    ("streamGenerateContent", Verb::Generate(Protocol::Gemini, true)),
    ("rawPredict", Verb::Generate(Protocol::AnthropicMessages, false)),
    ("streamRawPredict", Verb::Generate(Protocol::AnthropicMessages, true)),
    ("countTokens", Verb::CountTokens),
    ("embedContent", Verb::Embed("embedContent")),
    ("batchEmbedContents", Verb::Embed("batchEmbedContents")),
];

impl Endpoint {
    /// The endpoint of a method and a path without its query. `is_anthropic` tells the owner of paths that two vendors share.
    pub(crate) fn of(method: &Method, path: &str, is_anthropic: bool) -> Self {
        let path = path.trim_end_matches('/');
        if let Some(endpoint) = Self::with_verb(path) {
            return endpoint;
        }
        let version = VERSIONS.iter().find(|version| path.starts_with(**version));
        let rest = version.and_then(|version| path.get(version.len() - 1..)).unwrap_or(path);
        let is_gemini = version.is_some_and(|version| *version != "/v1/");
        let list_protocol = match (is_gemini, is_anthropic) {
            (true, _) => Protocol::Gemini,
            (false, true) => Protocol::AnthropicMessages,
            (false, false) => Protocol::OpenAiChat,
        };
        let is_post = method == Method::POST;
        match rest {
            "/chat/completions" if is_post => Self::Generate(Generate::of(Protocol::OpenAiChat)),
            "/responses" if is_post || method == Method::GET => Self::Generate(Generate::of(Protocol::OpenAiResponses)),
            "/responses/compact" if is_post => Self::Compact,
            "/responses/input_tokens" if is_post => {
                Self::CountTokens { protocol: Protocol::OpenAiResponses, model: None }
            }
            "/messages" if is_post => Self::Generate(Generate::of(Protocol::AnthropicMessages)),
            "/messages/count_tokens" if is_post => {
                Self::CountTokens { protocol: Protocol::AnthropicMessages, model: None }
            }
            "/embeddings" if is_post => Self::Embed { protocol: Protocol::OpenAiChat, model: None, verb: "" },
            "/models" if method == Method::GET => Self::Models { protocol: list_protocol, model: None },
            _ => Self::with_id(method, rest, list_protocol),
        }
    }

    /// A path that ends with an id.
    fn with_id(method: &Method, rest: &str, list_protocol: Protocol) -> Self {
        if let Some(id) = rest.strip_prefix("/models/").filter(|_| method == Method::GET) {
            return Self::Models { protocol: list_protocol, model: Some(decoded(id)) };
        }
        let is_read = method == Method::GET || method == Method::DELETE;
        match rest.strip_prefix("/responses/").filter(|id| is_read && !id.contains('/')) {
            Some(id) => Self::StoredResponse { id: decoded(id) },
            None => Self::Other,
        }
    }

    fn with_verb(path: &str) -> Option<Self> {
        let (head, verb) = path.rsplit_once(':')?;
        let (_, verb) = VERBS.iter().find(|(name, _)| *name == verb)?;
        if head.ends_with("/v1internal") {
            let Verb::Generate(protocol, stream) = verb else { return None };
            let envelope = Envelope::CodeAssist;
            return Some(Self::Generate(Generate { stream: Some(*stream), envelope, ..Generate::of(*protocol) }));
        }
        let (_, model) = head.split_once("/models/").or_else(|| head.split_once("/tunedModels/"))?;
        let model = Some(decoded(model)).filter(|model| !model.is_empty());
        Some(match verb {
            Verb::Generate(protocol, stream) => {
                let envelope = match protocol {
                    Protocol::AnthropicMessages => Envelope::ModelInUrl,
                    Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Gemini | Protocol::BedrockConverse => {
                        Envelope::Plain
                    }
                };
                Self::Generate(Generate { protocol: *protocol, model, stream: Some(*stream), envelope })
            }
            Verb::CountTokens => Self::CountTokens { protocol: Protocol::Gemini, model },
            Verb::Embed(verb) => Self::Embed { protocol: Protocol::Gemini, model, verb },
        })
    }

    /// The protocol of errors.
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::Generate(Generate { protocol, .. })
            | Self::CountTokens { protocol, .. }
            | Self::Models { protocol, .. }
            | Self::Embed { protocol, .. } => *protocol,
            Self::Compact | Self::StoredResponse { .. } => Protocol::OpenAiResponses,
            Self::Other => Protocol::OpenAiChat,
        }
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Generate};
    use http::Method;
    use polywire::wire::{Envelope, Protocol};

    fn post(path: &str) -> Endpoint {
        Endpoint::of(&Method::POST, path, false)
    }

    /// R-G1: the paths of every client.
    #[test]
    fn r_g1_every_spelling_of_a_path_is_known() {
        let generate = |protocol, model: &str, stream: Option<bool>| {
            let model = Some(model.to_owned()).filter(|model| !model.is_empty());
            Endpoint::Generate(Generate { protocol, model, stream, envelope: Envelope::Plain })
        };
        let chat = generate(Protocol::OpenAiChat, "", None);
        assert_eq!([post("/v1/chat/completions"), post("/chat/completions/")], [chat.clone(), chat]);
        assert_eq!(post("/responses"), generate(Protocol::OpenAiResponses, "", None));
        assert_eq!(post("/v1/messages"), generate(Protocol::AnthropicMessages, "", None));
        let gemini = generate(Protocol::Gemini, "gemini-2.5-pro", Some(true));
        for path in [
            "/v1/models/gemini-2.5-pro:streamGenerateContent",
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
            "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:streamGenerateContent",
            "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent",
        ] {
            assert_eq!(post(path), gemini, "{path}");
        }
        let slash = generate(Protocol::Gemini, "openai/gpt-4o", Some(false));
        assert_eq!(post("/v1beta/models/openai%2Fgpt-4o:generateContent"), slash);
        assert_eq!(post("/v1beta/models/openai/gpt-4o:generateContent"), slash);
        let Endpoint::Generate(code_assist) = post("/v1internal:streamGenerateContent") else { panic!("no endpoint") };
        assert_eq!((code_assist.stream, code_assist.envelope), (Some(true), Envelope::CodeAssist));
    }

    #[test]
    fn lists_and_counts_and_the_rest() {
        let get = |path: &str, is_anthropic| Endpoint::of(&Method::GET, path, is_anthropic);
        let list = |protocol, model: Option<&str>| Endpoint::Models { protocol, model: model.map(str::to_owned) };
        assert_eq!(get("/v1/models", false), list(Protocol::OpenAiChat, None));
        assert_eq!(get("/v1/models", true), list(Protocol::AnthropicMessages, None));
        assert_eq!(get("/v1beta/models", true), list(Protocol::Gemini, None));
        assert_eq!(get("/models/openai%2Fgpt-4o", false), list(Protocol::OpenAiChat, Some("openai/gpt-4o")));
        let count = Endpoint::CountTokens { protocol: Protocol::AnthropicMessages, model: None };
        assert_eq!(post("/v1/messages/count_tokens"), count);
        assert_eq!(post("/v1/responses/compact"), Endpoint::Compact);
        assert_eq!(get("/v1/responses/resp_1", false), Endpoint::StoredResponse { id: "resp_1".to_owned() });
        assert_eq!(
            [post("/v1/files"), post("/"), post(""), post("/models/:"), get("/x:y", false)],
            [const { Endpoint::Other }; 5]
        );
    }
}
