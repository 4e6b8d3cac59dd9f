//! Provider rows: who hosts which protocol, where, and how they depart from it. Plain data; nothing here knows a name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use polywire_schema::{Dialect, target};
use polywire_wire::{Protocol, Surface};
use serde::{Deserialize, Serialize};

use crate::address::{self, check_base_url, check_path};
use crate::catalog::CatalogError;
use crate::endpoint::spelled_out;

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
    /// The address that paths are added to; a name in braces is one of the variables.
    pub base_url: String,
    /// The variables of the base address: the environment variables that may hold each value, the first one set counting. A value
    /// is one label of the host or a part of one segment of the path.
    #[serde(default)]
    pub base_url_variables: BTreeMap<String, Vec<String>>,
    /// Environment variables that hold another address.
    #[serde(default)]
    pub base_url_env: Vec<String>,
    /// The path that such an address leaves out, as the provider's own clients have it.
    #[serde(default)]
    pub base_url_env_path: String,
    /// The path that such an address may end with although the paths of the surfaces begin with it; it is taken off.
    #[serde(default)]
    pub base_url_env_suffix: String,
    /// Environment variables that hold an address to which the path of the base address is added.
    #[serde(default)]
    pub origin_env: Vec<String>,
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

/// What somebody says of a provider; what is not said is as it was, or as it is with the provider that it is like.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct ProviderPatch {
    pub(crate) id: String,
    /// A provider that it is like.
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
    /// The row: what is said here, else what is said of the other. Neither the address nor the key of another is taken along to
    /// a provider of another name.
    pub(crate) fn over(&self, base: Option<&Provider>) -> Result<Provider, CatalogError> {
        let fault = |what: String| CatalogError(format!("provider `{}`: {what}", self.id));
        let named = |name: &str| fault(format!("it needs `{name}`"));
        if self.id.trim().is_empty() || self.id.contains(['/', ':']) {
            return Err(fault("its `id` must be a word without `/` and `:`".to_owned()));
        }
        let same = base.filter(|base| base.id == self.id);
        let mut surfaces = base.map(|base| base.surfaces.clone()).unwrap_or_default();
        for surface in &self.surface {
            match surfaces.iter_mut().find(|old| old.id == surface.id) {
                Some(old) => *old = surface.clone(),
                None => surfaces.push(surface.clone()),
            }
        }
        macro_rules! said {
            ($from:expr, $field:ident) => {
                self.$field.clone().or_else(|| $from.map(|base| base.$field.clone()))
            };
        }
        Ok(Provider {
            id: self.id.clone(),
            title: said!(same, title).unwrap_or_else(|| self.id.clone()),
            aliases: said!(same, aliases).unwrap_or_default(),
            source: said!(base, source).unwrap_or_else(|| "configuration".to_owned()),
            checked_on: said!(base, checked_on).unwrap_or_default(),
            base_url: said!(same, base_url).ok_or_else(|| named("base-url"))?,
            base_url_variables: said!(same, base_url_variables).unwrap_or_default(),
            base_url_env: said!(same, base_url_env).unwrap_or_default(),
            base_url_env_path: said!(same, base_url_env_path).unwrap_or_default(),
            base_url_env_suffix: said!(same, base_url_env_suffix).unwrap_or_default(),
            origin_env: said!(same, origin_env).unwrap_or_default(),
            also_at: said!(same, also_at).unwrap_or_default(),
            auth: said!(same, auth).ok_or_else(|| named("auth"))?,
            telemetry: self.telemetry.clone().or_else(|| same.and_then(|base| base.telemetry.clone())),
            headers: said!(base, headers).unwrap_or_default(),
            list: self.list.clone().or_else(|| base.and_then(|base| base.list.clone())),
            unknown: said!(base, unknown).ok_or_else(|| named("unknown"))?,
            id_prefixes: said!(base, id_prefixes).unwrap_or_default(),
            id_suffixes: said!(base, id_suffixes).unwrap_or_default(),
            tag_separator: self.tag_separator.clone().or_else(|| base.and_then(|base| base.tag_separator.clone())),
            surfaces,
        })
    }
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
    /// Variables that hold a token which goes as a bearer, whatever the style, where there is no key.
    #[serde(default)]
    pub bearer_env: Vec<String>,
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
    /// The path, after the place.
    #[serde(deserialize_with = "address::read_path")]
    pub path: String,
    /// What the path comes after.
    #[serde(default)]
    pub after: ListPlace,
}

/// What the path of a list comes after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ListPlace {
    /// The base address, as the paths of surfaces do.
    #[default]
    Base,
    /// The base address without its path.
    Host,
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
    #[serde(deserialize_with = "address::read_path")]
    pub path: String,
    /// The path of streams, where it is another.
    #[serde(default, deserialize_with = "address::read_optional_path")]
    pub stream_path: Option<String>,
    /// The dialects of its slots.
    pub dialects: Dialects,
    /// How it departs from the protocol.
    #[serde(default)]
    pub wire: Surface,
    /// Fields of the envelope whose values the environment holds: the variables of each, the first one set counting.
    #[serde(default)]
    pub envelope_env: BTreeMap<String, Vec<String>>,
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
    /// Looks the dialects up, those of the caller's own first; an id that is none is an error in the row.
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

/// The dialect that a comma-separated list of ids names, where some are the caller's own.
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

    /// Whether the addresses and headers of the row are well formed. The paths of surfaces and lists were checked when they were
    /// read.
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

    /// Whether every dialect that the surfaces name exists.
    pub(crate) fn check_dialects(&self, own: &[Dialect]) -> Result<(), CatalogError> {
        let mut surfaces = self.surfaces.iter();
        surfaces.try_for_each(|row| row.dialects.find(own).map(drop).map_err(|error| self.fault(&error)))
    }

    /// Whether this is an id or an alias of the provider, whatever its case.
    pub fn is_called(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name) || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// The address that one from the environment means: what it leaves out is as in the row.
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
        let address = spelled_out(address, &self.base_url);
        let path = self.base_url_env_path.as_str();
        if address.ends_with(path) { address } else { format!("{address}{path}") }
    }

    /// The address that one from the environment means which leaves out the path of the base address.
    #[cfg(feature = "client")]
    pub(crate) fn address_from_origin(&self, origin: &str) -> String {
        let origin = spelled_out(origin.trim().trim_end_matches('/'), &self.base_url);
        format!("{origin}{}", self.base_path())
    }

    /// The address of the list of models, where there is one, for what the base address is in truth.
    pub fn list_url(&self, base: &str) -> Option<String> {
        self.list_place(base).map(|(place, path)| format!("{place}{path}"))
    }

    /// What the path of the list is added to, and the path.
    pub(crate) fn list_place<'a>(&'a self, base: &'a str) -> Option<(&'a str, &'a str)> {
        let list = self.list.as_ref()?;
        let base = base.trim_end_matches('/');
        let place = match list.after {
            ListPlace::Base => base,
            ListPlace::Host => base.strip_suffix(self.base_path()).unwrap_or(base),
        };
        Some((place, &list.path))
    }

    /// The path of the base address.
    fn base_path(&self) -> &str {
        address::split(&self.base_url).map(|(_, path)| path).unwrap_or_default()
    }

    /// Every environment variable that requests to the provider may read: for keys, signatures, addresses and envelopes.
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

    /// The surface of an id.
    pub fn surface(&self, id: &str) -> Option<&SurfaceRow> {
        self.surfaces.iter().find(|surface| surface.id.eq_ignore_ascii_case(id))
    }
}
