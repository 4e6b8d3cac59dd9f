//! Provider rows: protocols, URLs, authentication and deviations. Plain data; no code depends on the name of a provider.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use polywire_schema::{Dialect, target};
use polywire_wire::{Protocol, Surface};
use serde::{Deserialize, Serialize};

use crate::address::{self, check_base_url, check_path};
use crate::catalog::CatalogError;
use crate::endpoint::complete_url;

/// A host of one or several protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Provider {
    /// The id, which precedes the slash in `provider/model`.
    pub id: String,
    /// The display name.
    pub title: String,
    /// Other ids of the same provider.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The source of the row.
    pub source: String,
    /// The date on which the row was checked.
    pub checked_on: String,
    /// The base URL, to which paths are appended. A name in braces is one of the variables.
    pub base_url: String,
    /// The variables of the base URL, each with the environment variables for its value; the first one that is set is used. A value is
    /// one label of the host or a part of one segment of the path.
    #[serde(default)]
    pub base_url_variables: BTreeMap<String, Vec<String>>,
    /// The environment variables for another base URL.
    #[serde(default)]
    pub base_url_env: Vec<String>,
    /// The path that such a URL omits, as in the provider's own clients.
    #[serde(default)]
    pub base_url_env_path: String,
    /// The final path that is removed from such a URL because the paths of the surfaces start with it.
    #[serde(default)]
    pub base_url_env_suffix: String,
    /// The environment variables for a URL to which the path of the base URL is appended.
    #[serde(default)]
    pub origin_env: Vec<String>,
    /// Other paths at which the same surfaces are served.
    #[serde(default)]
    pub also_at: Vec<String>,
    /// The authentication of requests.
    pub auth: Auth,
    /// The name in telemetry (`gen_ai.provider.name`), if it is not the id.
    #[serde(default)]
    pub telemetry: Option<String>,
    /// The headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The model list endpoint.
    #[serde(default)]
    pub list: Option<ListEndpoint>,
    /// The family of unknown models.
    pub unknown: String,
    /// Prefixes of an id that do not change the model.
    #[serde(default)]
    pub id_prefixes: Vec<String>,
    /// Suffixes of an id that do not change the model.
    #[serde(default)]
    pub id_suffixes: Vec<String>,
    /// The separator between an id and a tag that does not change the model.
    #[serde(default)]
    pub tag_separator: Option<String>,
    /// The surfaces; the first is the default.
    #[serde(rename = "surface")]
    pub surfaces: Vec<SurfaceRow>,
}

/// A provider in a configuration. Missing fields are inherited from the existing row or the provider in `like`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct ProviderPatch {
    pub(crate) id: String,
    /// The provider whose fields are inherited.
    pub(crate) like: Option<String>,
    title: Option<String>,
    aliases: Option<Vec<String>>,
    source: Option<String>,
    checked_on: Option<String>,
    base_url: Option<String>,
    base_url_variables: Option<BTreeMap<String, Vec<String>>>,
    base_url_env: Option<Vec<String>>,
    base_url_env_path: Option<String>,
    base_url_env_suffix: Option<String>,
    origin_env: Option<Vec<String>>,
    also_at: Option<Vec<String>>,
    auth: Option<Auth>,
    telemetry: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    list: Option<ListEndpoint>,
    unknown: Option<String>,
    id_prefixes: Option<Vec<String>>,
    id_suffixes: Option<Vec<String>>,
    tag_separator: Option<String>,
    surface: Vec<SurfaceRow>,
}

impl ProviderPatch {
    /// Builds the row. The URL and the key of a provider with another id are not inherited.
    pub(crate) fn apply_to(&self, base: Option<&Provider>) -> Result<Provider, CatalogError> {
        let fault = |what: String| CatalogError(format!("provider `{}`: {what}", self.id));
        let missing = |name: &str| fault(format!("`{name}` is missing"));
        if self.id.trim().is_empty() || self.id.contains(['/', ':']) {
            return Err(fault("`id` must not be empty or contain `/` or `:`".to_owned()));
        }
        let same = base.filter(|base| base.id == self.id);
        let mut surfaces = base.map(|base| base.surfaces.clone()).unwrap_or_default();
        for surface in &self.surface {
            match surfaces.iter_mut().find(|old| old.id == surface.id) {
                Some(old) => *old = surface.clone(),
                None => surfaces.push(surface.clone()),
            }
        }
        macro_rules! inherited {
            ($from:expr, $field:ident) => {
                self.$field.clone().or_else(|| $from.map(|base| base.$field.clone()))
            };
        }
        Ok(Provider {
            id: self.id.clone(),
            title: inherited!(same, title).unwrap_or_else(|| self.id.clone()),
            aliases: inherited!(same, aliases).unwrap_or_default(),
            source: inherited!(base, source).unwrap_or_else(|| "configuration".to_owned()),
            checked_on: inherited!(base, checked_on).unwrap_or_default(),
            base_url: inherited!(same, base_url).ok_or_else(|| missing("base-url"))?,
            base_url_variables: inherited!(same, base_url_variables).unwrap_or_default(),
            base_url_env: inherited!(same, base_url_env).unwrap_or_default(),
            base_url_env_path: inherited!(same, base_url_env_path).unwrap_or_default(),
            base_url_env_suffix: inherited!(same, base_url_env_suffix).unwrap_or_default(),
            origin_env: inherited!(same, origin_env).unwrap_or_default(),
            also_at: inherited!(same, also_at).unwrap_or_default(),
            auth: inherited!(same, auth).ok_or_else(|| missing("auth"))?,
            telemetry: self.telemetry.clone().or_else(|| same.and_then(|base| base.telemetry.clone())),
            headers: inherited!(base, headers).unwrap_or_default(),
            list: self.list.clone().or_else(|| base.and_then(|base| base.list.clone())),
            unknown: inherited!(base, unknown).ok_or_else(|| missing("unknown"))?,
            id_prefixes: inherited!(base, id_prefixes).unwrap_or_default(),
            id_suffixes: inherited!(base, id_suffixes).unwrap_or_default(),
            tag_separator: self.tag_separator.clone().or_else(|| base.and_then(|base| base.tag_separator.clone())),
            surfaces,
        })
    }
}

/// The authentication of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Auth {
    /// The style.
    pub style: AuthStyle,
    /// The header, for [`AuthStyle::Header`].
    #[serde(default)]
    pub header: Option<String>,
    /// The environment variables for the credentials; the first one that is set is used.
    pub env: Vec<String>,
    /// The environment variables for a bearer token, which is used without a key, regardless of the style.
    #[serde(default)]
    pub bearer_env: Vec<String>,
    /// The parameters of signatures, for [`AuthStyle::AwsSigv4`].
    #[serde(default)]
    pub signature: Option<SignatureRow>,
}

/// The parameters of signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SignatureRow {
    /// The service name in the signature.
    pub service: String,
    /// The environment variable for the access key id.
    pub id_env: String,
    /// The environment variable for the secret access key.
    pub secret_env: String,
    /// The environment variable for the optional session token.
    pub session_env: String,
    /// The environment variables for the region; the first one that is set is used.
    pub region_env: Vec<String>,
}

/// A style of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuthStyle {
    /// None is required; a key is sent as a bearer token.
    None,
    /// `Authorization: Bearer …`
    Bearer,
    /// The key in the header [`Auth::header`].
    Header,
    /// AWS Signature Version 4, or a bearer token if an API key is set.
    AwsSigv4,
    /// A short-lived Google OAuth token.
    GoogleOauth,
}

/// A model list endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ListEndpoint {
    /// The format of the list.
    pub style: ListStyle,
    /// The path.
    #[serde(deserialize_with = "address::read_path")]
    pub path: String,
    /// The URL to which the path is appended.
    #[serde(default)]
    pub after: ListPlace,
}

/// The URL to which the path of a list is appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ListPlace {
    /// The base URL, as for the paths of surfaces.
    #[default]
    Base,
    /// The base URL without its path.
    Host,
}

/// The format of a model list.
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

/// A protocol as served by a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SurfaceRow {
    /// The id, unique in the provider.
    pub id: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The path below the base URL. `{model}` is replaced by the model id.
    #[serde(deserialize_with = "address::read_path")]
    pub path: String,
    /// The path of streaming requests, if it differs.
    #[serde(default, deserialize_with = "address::read_optional_path")]
    pub stream_path: Option<String>,
    /// The dialects of its slots.
    pub dialects: Dialects,
    /// The deviations from the protocol.
    #[serde(default)]
    pub wire: Surface,
    /// Envelope fields, each with the environment variables for its value; the first one that is set is used.
    #[serde(default)]
    pub envelope_env: BTreeMap<String, Vec<String>>,
    /// The relation of the output schema to the limits of the tools.
    #[serde(default)]
    pub budget: Budget,
    /// The family of unknown models on this surface, if it differs from the provider's.
    #[serde(default)]
    pub unknown: Option<String>,
}

/// The dialect of every schema slot. A slot without a dialect is not supported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Dialects {
    /// Strict tools.
    pub tool_strict: Option<String>,
    /// Tools without the strict flag.
    pub tool: Option<String>,
    /// Strict structured output.
    pub output_strict: Option<String>,
    /// Structured output without the strict flag, or on surfaces without that flag.
    pub output: Option<String>,
}

/// The relation of the output schema to the limits of the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Budget {
    /// The output schema has limits of its own.
    #[default]
    Apart,
    /// The output schema counts towards the limits of the tools.
    Shared,
}

/// The loaded dialects of a surface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) tool_strict: Option<Cow<'static, Dialect>>,
    pub(crate) tool: Option<Cow<'static, Dialect>>,
    pub(crate) output_strict: Option<Cow<'static, Dialect>>,
    pub(crate) output: Option<Cow<'static, Dialect>>,
}

impl Dialects {
    /// Loads the dialects. The caller's own have precedence; an unknown id is an error.
    pub(crate) fn find(&self, own: &[Dialect]) -> Result<Slots, String> {
        let find = |ids: &Option<String>| ids.as_deref().map(|ids| target_with(ids, own)).transpose();
        Ok(Slots {
            tool_strict: find(&self.tool_strict)?,
            tool: find(&self.tool)?,
            output_strict: find(&self.output_strict)?,
            output: find(&self.output)?,
        })
    }
}

/// The dialect for a comma-separated list of ids, which may include the caller's own.
pub(crate) fn target_with(ids: &str, own: &[Dialect]) -> Result<Cow<'static, Dialect>, String> {
    let ours = |id: &str| own.iter().find(|dialect| dialect.id() == id);
    if ids.split(',').all(|id| ours(id.trim()).is_none()) {
        return target(ids).map_err(|error| error.to_string());
    }
    let mut found = Vec::new();
    for id in ids.split(',').map(str::trim) {
        found.push(match ours(id) {
            Some(dialect) => Cow::Owned(dialect.clone()),
            None => target(id).map_err(|error| error.to_string())?,
        });
    }
    Dialect::meet_of(found).map_err(|error| error.to_string())
}

impl Provider {
    pub(crate) fn fault(&self, what: &str) -> CatalogError {
        CatalogError(format!("provider `{}`: {what}", self.id))
    }

    /// Checks the URLs and headers of the row. The paths of surfaces and lists are checked when they are read.
    pub(crate) fn check_addresses(&self) -> Result<(), CatalogError> {
        let of_env = [&self.base_url_env_path, &self.base_url_env_suffix].into_iter().filter(|path| !path.is_empty());
        let paths = self.also_at.iter().chain(of_env).map(|path| check_path(path));
        let checked = paths.chain([check_base_url(&self.base_url, &self.base_url_variables)]);
        checked.collect::<Result<Vec<()>, String>>().map_err(|why| self.fault(&why))?;
        match self.headers.iter().find(|(_, value)| value.contains(char::is_control)) {
            Some((name, _)) => {
                Err(self.fault(&format!("the header `{}` has a control character", name.escape_debug())))
            }
            None => Ok(()),
        }
    }

    /// Checks that all dialects of the surfaces exist.
    pub(crate) fn check_dialects(&self, own: &[Dialect]) -> Result<(), CatalogError> {
        let mut surfaces = self.surfaces.iter();
        surfaces.try_for_each(|row| row.dialects.find(own).map(drop).map_err(|error| self.fault(&error)))
    }

    /// Returns `true` if `name` is the id or an alias of the provider, ignoring case.
    pub fn is_called(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name) || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// Completes a base URL from the environment with the omitted parts of the row.
    ///
    /// ```
    /// let ollama = polywire::Catalog::built_in().provider("ollama").unwrap();
    /// assert_eq!(ollama.address_from_env("0.0.0.0"), "http://127.0.0.1:11434/v1");
    /// assert_eq!(ollama.address_from_env("https://llm.example"), "https://llm.example/v1");
    /// let gemini_cli = polywire::Catalog::built_in().provider("gemini-cli").unwrap();
    /// assert_eq!(gemini_cli.address_from_env("https://llm.example/v1internal"), "https://llm.example");
    /// ```
    pub fn address_from_env(&self, address: &str) -> String {
        let address = address.trim().trim_end_matches('/');
        let address = address.strip_suffix(&self.base_url_env_suffix).unwrap_or(address);
        let address = complete_url(address, &self.base_url);
        let path = self.base_url_env_path.as_str();
        if address.ends_with(path) { address } else { format!("{address}{path}") }
    }

    /// Completes an origin from the environment with the path of the base URL.
    #[cfg(feature = "client")]
    pub(crate) fn address_from_origin(&self, origin: &str) -> String {
        let origin = complete_url(origin.trim().trim_end_matches('/'), &self.base_url);
        format!("{origin}{}", self.base_path())
    }

    /// The URL of the model list for a base URL, if the provider has a list.
    pub fn list_url(&self, base: &str) -> Option<String> {
        self.list_place(base).map(|(place, path)| format!("{place}{path}"))
    }

    /// The URL to which the path of the list is appended, and the path.
    pub(crate) fn list_place<'a>(&'a self, base: &'a str) -> Option<(&'a str, &'a str)> {
        let list = self.list.as_ref()?;
        let base = base.trim_end_matches('/');
        let place = match list.after {
            ListPlace::Base => base,
            ListPlace::Host => base.strip_suffix(self.base_path()).unwrap_or(base),
        };
        Some((place, &list.path))
    }

    /// The path of the base URL.
    fn base_path(&self) -> &str {
        address::split(&self.base_url).map(|(_, path)| path).unwrap_or_default()
    }

    /// Every environment variable that is read for requests to the provider: for keys, signatures, URLs and envelopes.
    ///
    /// ```
    /// let vertex = polywire::Catalog::built_in().provider("vertex").unwrap();
    /// assert!(vertex.environment().contains("GOOGLE_CLOUD_PROJECT"));
    /// ```
    pub fn environment(&self) -> BTreeSet<&str> {
        let signature = self
            .auth
            .signature
            .iter()
            .flat_map(|row| [&row.id_env, &row.secret_env, &row.session_env].into_iter().chain(&row.region_env));
        let envelopes = self.surfaces.iter().flat_map(|surface| surface.envelope_env.values().flatten());
        let addresses = self.base_url_variables.values().flatten().chain(&self.base_url_env).chain(&self.origin_env);
        let keys = self.auth.env.iter().chain(&self.auth.bearer_env);
        keys.chain(signature).chain(addresses).chain(envelopes).map(String::as_str).collect()
    }

    /// The surface with this id.
    pub fn surface(&self, id: &str) -> Option<&SurfaceRow> {
        self.surfaces.iter().find(|surface| surface.id.eq_ignore_ascii_case(id))
    }
}
