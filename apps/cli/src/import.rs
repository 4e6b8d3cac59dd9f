//! `polywire import`: configurations of other gateways as a `polywire.toml`. What has no equivalent is listed, not dropped in silence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use polywire::Catalog;
use serde_json::Value as Json;
use yaml_rust2::{Yaml, YamlLoader};

use crate::Verdict;
use crate::input::{Failure, read_text};
use crate::known::note;

const HELP: &str = "\
Examples:
  polywire import litellm config.yaml > polywire.toml
  polywire config check polywire.toml

Exit codes: 0 success, 1 some settings were not imported (they are comments in the output), 2 bad input.";

/// Convert the configuration of another gateway to a `polywire.toml`
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    /// A `LiteLLM` proxy configuration: `model_list`, fallbacks, addresses and names of keys
    Litellm {
        /// The YAML file, or - for standard input
        file: String,
    },
}

/// Names of providers in `LiteLLM` that differ from ours.
const PROVIDERS: [(&str, &str); 7] = [
    ("vertex_ai", "vertex"),
    ("fireworks_ai", "fireworks"),
    ("together_ai", "together"),
    ("ollama_chat", "ollama"),
    ("hosted_vllm", "vllm"),
    ("lm_studio", "lmstudio"),
    ("text-completion-openai", "openai"),
];

/// The beginning of a reference to an environment variable.
const ENVIRONMENT: &str = "os.environ/";
/// Parameters of a model that are imported.
const IMPORTED: [&str; 6] = ["model", "api_key", "api_base", "base_url", "weight", "custom_llm_provider"];

impl Import {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let From::Litellm { file } = &self.from;
        let text = read_text(file)?;
        let documents = YamlLoader::load_from_str(&text)
            .map_err(|error| Failure::new(error, file, "give a configuration of the LiteLLM proxy"))?;
        let document = documents.first().cloned().unwrap_or(Yaml::Null);
        let imported = Imported::of_litellm(&document);
        if imported.routes.is_empty() {
            let what = "there is no `model_list` with models";
            return Err(Failure::new(what, file, "give a configuration of the LiteLLM proxy").into());
        }
        write!(out, "{}", imported.to_toml())?;
        for skipped in &imported.skipped {
            note(&format!("not imported: {skipped}"));
        }
        Ok(if imported.skipped.is_empty() { Verdict::Fine } else { Verdict::Findings })
    }
}

#[derive(Debug, Default)]
struct Imported {
    /// Providers with an address of their own: address, the provider they are like, and the variable of the key.
    providers: Vec<OwnProvider>,
    /// Models by route, in the order of the file, with their weights.
    routes: Vec<(String, Vec<Target>)>,
    skipped: Vec<String>,
}

/// A model and its weight.
type Target = (String, Option<i64>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnProvider {
    id: String,
    like: String,
    url: String,
    key: Option<String>,
}

impl Imported {
    fn of_litellm(document: &Yaml) -> Self {
        let mut imported = Self::default();
        for entry in document["model_list"].as_vec().into_iter().flatten() {
            imported.add_model(entry);
        }
        let settings = [&document["router_settings"], &document["litellm_settings"]];
        let mut fallbacks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in settings.iter().flat_map(|table| table["fallbacks"].as_vec().into_iter().flatten()) {
            for (name, others) in row.as_hash().into_iter().flatten() {
                let names = others.as_vec().into_iter().flatten().filter_map(Yaml::as_str).map(str::to_owned);
                fallbacks.entry(name.as_str().unwrap_or_default().to_owned()).or_default().extend(names);
            }
        }
        imported.add_fallbacks(&fallbacks);
        for (name, table) in document.as_hash().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            for key in table.as_hash().into_iter().flatten().filter_map(|(key, _)| key.as_str()) {
                if key != "fallbacks" {
                    imported.skipped.push(format!("{name}.{key}"));
                }
            }
        }
        imported
    }

    fn add_model(&mut self, entry: &Yaml) {
        let (name, parameters) = (entry["model_name"].as_str().unwrap_or_default(), &entry["litellm_params"]);
        let Some(model) = parameters["model"].as_str().filter(|_| !name.is_empty()) else {
            self.skipped.push(format!("an entry of model_list without model_name or model ({name})"));
            return;
        };
        let named = parameters["custom_llm_provider"].as_str();
        let (prefix, id) =
            model.split_once('/').map_or((named.unwrap_or("openai"), model), |(prefix, id)| (prefix, id));
        let provider = PROVIDERS.iter().find(|(theirs, _)| *theirs == prefix).map_or(prefix, |(_, ours)| ours);
        let Some(row) = Catalog::built_in().provider(provider) else {
            self.skipped.push(format!("model_list: `{name}`: the provider `{prefix}` is not known"));
            return;
        };
        let key = parameters["api_key"].as_str();
        let variable = key.and_then(|key| key.strip_prefix(ENVIRONMENT)).map(str::to_owned);
        if key.is_some() && variable.is_none() {
            self.skipped.push(format!("model_list: `{name}`: its api_key; keys belong into the environment"));
        }
        let url = [&parameters["api_base"], &parameters["base_url"]].into_iter().find_map(Yaml::as_str);
        let is_usual = variable.as_ref().is_none_or(|variable| row.auth.env.contains(variable));
        let url = url.filter(|url| !url.starts_with(ENVIRONMENT)).map(str::to_owned);
        let provider = if url.is_none() && is_usual {
            row.id.clone()
        } else {
            self.own_provider(&row.id, url.unwrap_or_else(|| row.base_url.clone()), variable)
        };
        for key in parameters.as_hash().into_iter().flatten().filter_map(|(key, _)| key.as_str()) {
            if !IMPORTED.contains(&key) {
                self.skipped.push(format!("model_list: `{name}`: {key}"));
            }
        }
        let target = (format!("{provider}/{id}"), parameters["weight"].as_i64());
        match self.routes.iter_mut().find(|(known, _)| known == name) {
            Some((_, targets)) => targets.push(target),
            None => self.routes.push((name.to_owned(), vec![target])),
        }
    }

    fn own_provider(&mut self, like: &str, url: String, key: Option<String>) -> String {
        let same = |own: &&OwnProvider| own.like == like && own.url == url && own.key == key;
        if let Some(own) = self.providers.iter().find(same) {
            return own.id.clone();
        }
        let id = format!("{like}-{}", self.providers.len() + 1);
        self.providers.push(OwnProvider { id: id.clone(), like: like.to_owned(), url, key });
        id
    }

    /// Several deployments of one name share the load; models of fallbacks follow.
    fn add_fallbacks(&mut self, fallbacks: &BTreeMap<String, Vec<String>>) {
        for (_, targets) in self.routes.iter_mut().filter(|(_, targets)| targets.len() > 1) {
            for (_, weight) in targets.iter_mut() {
                *weight = Some(weight.unwrap_or(1));
            }
        }
        let before = self.routes.clone();
        for (name, others) in fallbacks {
            let Some((_, targets)) = self.routes.iter_mut().find(|(known, _)| known == name) else {
                self.skipped.push(format!("fallbacks of `{name}`, which is no model"));
                continue;
            };
            for other in others {
                let found = before.iter().find(|(known, _)| known == other).map(|(_, targets)| targets.clone());
                targets.extend(found.unwrap_or_default().into_iter().map(|(model, _)| (model, None)));
            }
        }
    }

    fn to_toml(&self) -> String {
        let text = |value: &str| Json::from(value).to_string();
        let mut out = String::new();
        for skipped in &self.skipped {
            let _ = writeln!(out, "# not imported: {}", skipped.replace(['\n', '\r'], " "));
        }
        for own in &self.providers {
            let env = own.key.as_deref().map(text).unwrap_or_default();
            let style = if own.key.is_some() { "bearer" } else { "none" };
            let _ = write!(
                out,
                "\n[[provider]]\nid = {}\nlike = {}\nbase-url = {}\nauth = {{ style = \"{style}\", env = [{env}] }}\n",
                text(&own.id),
                text(&own.like),
                text(&own.url)
            );
        }
        for (name, targets) in &self.routes {
            let target = |(model, weight): &Target| match weight {
                Some(weight) => format!("{{ model = {}, weight = {} }}", text(model), (*weight).clamp(0, 1_000_000)),
                None => text(model),
            };
            let targets: Vec<String> = targets.iter().map(target).collect();
            let _ = write!(out, "\n[[serve.route]]\nname = {}\nto = [{}]\n", text(name), targets.join(", "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use yaml_rust2::YamlLoader;

    use super::Imported;

    const CONFIG: &str = r#"
model_list:
  - model_name: gpt
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, rpm: 100 }
  - model_name: gpt
    litellm_params: { model: azure/my-gpt, api_base: "https://x.openai.azure.com/openai/v1", api_key: os.environ/AZURE_KEY, weight: 3 }
  - model_name: claude
    litellm_params: { model: bedrock/anthropic.claude-sonnet-4-5, api_key: sk-literal }
  - model_name: other
    litellm_params: { model: nobody/x }
router_settings:
  fallbacks: [{ gpt: [claude] }]
general_settings:
  master_key: sk-1234
"#;

    #[test]
    fn a_litellm_configuration_becomes_routes_that_are_valid() {
        let document = YamlLoader::load_from_str(CONFIG).expect("YAML").remove(0);
        let imported = Imported::of_litellm(&document);
        let toml = imported.to_toml();
        let config = polywire::Config::read(&toml, &|_| Err("no files".to_owned())).expect("a configuration");
        let gpt = &config.serve.routes[0];
        let to: Vec<_> = gpt.to.iter().map(|target| (target.model.as_str(), target.weight)).collect();
        assert_eq!(
            to,
            [("openai/gpt-4o", Some(1)), ("azure-1/my-gpt", Some(3)), ("bedrock/anthropic.claude-sonnet-4-5", None)]
        );
        assert!(!toml.contains("sk-literal") && !toml.contains("sk-1234"), "keys are not copied: {toml}");
        let skipped = imported.skipped.join("; ");
        for what in ["`gpt`: rpm", "`claude`: its api_key", "the provider `nobody`", "general_settings.master_key"] {
            assert!(skipped.contains(what), "{what}: {skipped}");
        }
    }
}
