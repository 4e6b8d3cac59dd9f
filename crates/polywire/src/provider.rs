//! Provider rows: who hosts which protocol, where, and how they depart from it. Plain data; nothing here knows a name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use polywire_schema::{Dialect, target};
use polywire_wire::{Protocol, Surface};
use serde::{Deserialize, Serialize};

/// Someone who hosts one or several protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Provider {
    /// Its id, the part before the slash in `provider/model`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Other ids for the same.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Where the row is from.
    pub source: String,
    /// The day on which the row was checked.
    pub checked_on: String,
    /// The address that paths are added to; `{env VAR}` stands for the value of a variable.
    pub base_url: String,
    /// Environment variables that hold another address.
    #[serde(default)]
    pub base_url_env: Vec<String>,
    /// The path that such an address leaves out, as the provider's own clients have it.
    #[serde(default)]
    pub base_url_env_path: String,
    /// Other paths of the address at which the same surfaces are served.
    #[serde(default)]
    pub also_at: Vec<String>,
    /// How requests say who sends them.
    pub auth: Auth,
    /// Its name in telemetry (`gen_ai.provider.name`), where that is not its id.
    #[serde(default)]
    pub telemetry: Option<String>,
    /// Headers that every request has.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Where the provider lists its models.
    #[serde(default)]
    pub list: Option<ListEndpoint>,
    /// The family that an unknown model is taken for.
    pub unknown: String,
    /// What may stand before an id without making it another model.
    #[serde(default)]
    pub id_prefixes: Vec<String>,
    /// What may stand after an id without making it another model.
    #[serde(default)]
    pub id_suffixes: Vec<String>,
    /// What parts an id from a tag that does not make it another model.
    #[serde(default)]
    pub tag_separator: Option<String>,
    /// Its surfaces; the first is the default.
    #[serde(rename = "surface")]
    pub surfaces: Vec<SurfaceRow>,
}

/// How requests say who sends them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Auth {
    /// In which way.
    pub style: AuthStyle,
    /// The header, where the style leaves that open.
    #[serde(default)]
    pub header: Option<String>,
    /// The environment variables that hold what is needed, the first one found counting.
    pub env: Vec<String>,
    /// What a signature is made with and for, where the style is one.
    #[serde(default)]
    pub signature: Option<SignatureRow>,
}

/// What a signature is made with and for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SignatureRow {
    /// The service that it is for.
    pub service: String,
    /// The variable that holds the id of the key.
    pub id_env: String,
    /// The variable that holds the key.
    pub secret_env: String,
    /// The variable that holds the token of a session, which need not be there.
    pub session_env: String,
    /// The variables that hold the region, the first one found counting.
    pub region_env: Vec<String>,
}

/// A way to say who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuthStyle {
    /// Nothing is needed; a key that is there goes as a bearer.
    None,
    /// `Authorization: Bearer …`
    Bearer,
    /// A header of its own.
    Header,
    /// A signature over the request, or a bearer where a key for the service is there.
    AwsSigv4,
    /// A short-lived token made from credentials.
    GoogleOauth,
}

/// Where a provider lists its models, and in which form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ListEndpoint {
    /// The form of the list.
    pub style: ListStyle,
    /// The path, after the base address.
    pub path: String,
}

/// The form of a list of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ListStyle {
    /// `{data: [{id}]}`
    Openai,
    /// `{data: [{id, capabilities}], has_more}`
    Anthropic,
    /// `{models: [{name, inputTokenLimit}], nextPageToken}`
    Gemini,
    /// `{models: [{name, details}]}`
    Ollama,
    /// `{data: [{id, max_context_length}]}`
    Lmstudio,
    /// `{data: [{id, context_length, supported_parameters}]}`
    Openrouter,
}

/// One protocol as one provider serves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SurfaceRow {
    /// Its id, unique in the provider.
    pub id: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The path, after the base address; `{model}` stands for the model's id.
    pub path: String,
    /// The path of streams, where it is another.
    #[serde(default)]
    pub stream_path: Option<String>,
    /// The dialects of its slots.
    pub dialects: Dialects,
    /// How it departs from the protocol.
    #[serde(default)]
    pub wire: Surface,
    /// Whether the answer's schema counts against what the tools may cost together.
    #[serde(default)]
    pub budget: Budget,
    /// The family that an unknown model is taken for here, where it is not the provider's.
    #[serde(default)]
    pub unknown: Option<String>,
}

/// The dialect of every slot for schemas. A slot without one does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Dialects {
    /// Tools with the strict flag.
    pub tool_strict: Option<String>,
    /// Tools without it.
    pub tool: Option<String>,
    /// Answers that are held to their schema.
    pub output_strict: Option<String>,
    /// Answers that should follow their schema, or on whose slot there is no flag.
    pub output: Option<String>,
}

/// Whether the answer's schema counts against what the tools may cost together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Budget {
    /// It does not.
    #[default]
    Apart,
    /// It does.
    Shared,
}

/// The dialects of a surface, found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) tool_strict: Option<Cow<'static, Dialect>>,
    pub(crate) tool: Option<Cow<'static, Dialect>>,
    pub(crate) output_strict: Option<Cow<'static, Dialect>>,
    pub(crate) output: Option<Cow<'static, Dialect>>,
}

impl Dialects {
    /// Looks the dialects up; an id that is none is an error in the row.
    pub(crate) fn find(&self) -> Result<Slots, String> {
        let find =
            |ids: &Option<String>| ids.as_deref().map(|ids| target(ids).map_err(|error| error.to_string())).transpose();
        Ok(Slots {
            tool_strict: find(&self.tool_strict)?,
            tool: find(&self.tool)?,
            output_strict: find(&self.output_strict)?,
            output: find(&self.output)?,
        })
    }
}

impl Provider {
    /// Whether this is an id or an alias of the provider, whatever its case.
    pub fn is_called(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name) || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// The address that one from the environment means.
    pub fn address_from_env(&self, address: &str) -> String {
        let (address, path) = (address.trim_end_matches('/'), self.base_url_env_path.as_str());
        if address.ends_with(path) { address.to_owned() } else { format!("{address}{path}") }
    }

    /// The surface of an id.
    pub fn surface(&self, id: &str) -> Option<&SurfaceRow> {
        self.surfaces.iter().find(|surface| surface.id.eq_ignore_ascii_case(id))
    }
}
