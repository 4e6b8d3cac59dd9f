//! Names of models in requests to the models that serve them: routes, `provider/model`, aliases, and bare names.

use std::hash::{BuildHasher as _, RandomState};

use polywire::catalog::{ServeOnLoss, ServeRoute, ServeSticky, ServeStrict, ServeTarget};
use polywire::wire::Protocol;
use polywire::{Catalog, Model};

use crate::settings::Settings;

/// Routes and the catalog that their models are from.
#[derive(Debug)]
pub(crate) struct Routes {
    catalog: Catalog,
    configured: Vec<ServeRoute>,
    /// The ids of providers that requests can be sent to, in the order of the catalog.
    providers: Vec<String>,
}

/// The models for a request.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// In the order of preference.
    pub(crate) models: Vec<Model>,
    /// The name of the route, if one matched.
    pub(crate) route: Option<String>,
    pub(crate) strict: Option<ServeStrict>,
    pub(crate) on_loss: Option<ServeOnLoss>,
}

/// What keeps a caller at one model.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Affinity<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) conversation: &'a [u8],
}

impl Routes {
    /// Creates the routes. A route to a model that cannot be resolved is an error.
    pub(crate) fn new(catalog: Catalog, settings: &Settings, providers: Vec<String>) -> Result<Self, String> {
        let created = Self { catalog, configured: settings.routes.clone(), providers };
        for route in &created.configured {
            if route.to.is_empty() {
                return Err(format!("the route `{}` has no models", route.name));
            }
            for target in &route.to {
                let found = created.named(&target.model);
                found.map_err(|why| format!("the route `{}`: {why}", route.name))?;
            }
        }
        Ok(created)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(crate) fn providers(&self) -> &[String] {
        &self.providers
    }

    /// The names of routes without a pattern.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.configured.iter().map(|route| route.name.as_str()).filter(|name| !name.contains('*'))
    }

    /// The models for a name. Each is on a surface of the caller's protocol, where its provider has one.
    pub(crate) fn resolve(&self, name: &str, protocol: Protocol, affinity: Affinity<'_>) -> Result<Resolved, String> {
        let place = |text: &str| {
            let model = self.named(text)?;
            // A surface that is named is the one that is meant.
            let has_surface = text.split('/').next().is_some_and(|head| head.contains(':'));
            Ok::<Model, String>(if has_surface { model } else { model.preferring(protocol) })
        };
        let Some(route) = self.configured.iter().find(|route| route.matches(name)) else {
            return Ok(Resolved { models: vec![place(name)?], route: None, strict: None, on_loss: None });
        };
        let order = order(route, affinity);
        let models = order.into_iter().map(|target| place(&target.model)).collect::<Result<_, _>>()?;
        Ok(Resolved { models, route: Some(route.name.clone()), strict: route.strict, on_loss: route.on_loss })
    }

    /// A model by `provider/model`, or by its bare name at the first configured provider whose catalog has it.
    fn named(&self, name: &str) -> Result<Model, String> {
        let name = name.trim();
        let (head, _) = name.split_once('/').unwrap_or((name, ""));
        let provider = head.split(':').next().unwrap_or_default();
        if name.contains('/') && self.catalog.provider(provider).is_some() {
            return self.catalog.resolve(name).map_err(|error| error.to_string());
        }
        if name.is_empty() {
            return Err("the request names no model".to_owned());
        }
        let found = self.providers.iter().find(|provider| self.catalog.has_model(provider, name));
        match found {
            Some(provider) => self.catalog.resolve(&format!("{provider}/{name}")).map_err(|error| error.to_string()),
            None => Err(format!(
                "no provider with a key has a model `{name}`; use `provider/model` or a route (configured: {})",
                self.providers.join(", ")
            )),
        }
    }
}

/// The targets of a route: the first is drawn by weight, the others follow in their order.
fn order<'r>(route: &'r ServeRoute, affinity: Affinity<'_>) -> Vec<&'r ServeTarget> {
    let mut targets: Vec<&ServeTarget> = route.to.iter().collect();
    let total: u64 = targets.iter().filter_map(|target| target.weight).map(u64::from).sum();
    if total == 0 {
        return targets;
    }
    let draw = match (route.sticky, affinity.key) {
        (ServeSticky::Key, Some(key)) => stable_hash(key.as_bytes()),
        (ServeSticky::Conversation, _) if !affinity.conversation.is_empty() => stable_hash(affinity.conversation),
        _ => RandomState::new().hash_one(0),
    } % total;
    let mut passed = 0;
    let drawn = targets.iter().position(|target| {
        passed += u64::from(target.weight.unwrap_or_default());
        draw < passed
    });
    if let Some(drawn) = drawn {
        let first = targets.remove(drawn);
        targets.insert(0, first);
    }
    targets
}

/// A hash that is the same in every process, so that replicas agree.
fn stable_hash(bytes: &[u8]) -> u64 {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use polywire::Catalog;
    use polywire::catalog::{Serve, ServeRoute};
    use polywire::wire::Protocol;

    use super::{Affinity, Routes};
    use crate::settings::Settings;

    fn routes(rows: &[&str], providers: &[&str]) -> Result<Routes, String> {
        let mut serve = Serve::default();
        serve.routes = rows.iter().map(|row| ServeRoute::parse(row).expect("a route")).collect();
        let providers = providers.iter().map(|id| (*id).to_owned()).collect();
        Routes::new(Catalog::built_in().clone(), &Settings::from(serve), providers)
    }

    fn resolved(routes: &Routes, name: &str, protocol: Protocol) -> Result<Vec<String>, String> {
        let found = routes.resolve(name, protocol, Affinity::default())?;
        let full = |model: &polywire::Model| format!("{}:{}/{}", model.provider().id, model.surface().id, model.id());
        Ok(found.models.iter().map(full).collect())
    }

    /// R-G2: names, aliases, bare names and routes; the caller's protocol where the provider has it.
    #[test]
    fn r_g2_names_lead_to_models() {
        let routes = routes(
            &["claude-*=openai/gpt-4.1,anthropic/claude-sonnet-4-5", "fast=groq/llama-3.3-70b-versatile"],
            &["openai", "anthropic"],
        )
        .expect("routes");
        let (chat, messages) = (Protocol::OpenAiChat, Protocol::AnthropicMessages);
        assert_eq!(resolved(&routes, "gpt-4o", chat), Ok(vec!["openai:chat/gpt-4o".to_owned()]));
        assert_eq!(resolved(&routes, "gpt-4o", messages), Ok(vec!["openai:responses/gpt-4o".to_owned()]));
        assert_eq!(
            resolved(&routes, "openai:chat/gpt-4o", Protocol::OpenAiResponses),
            Ok(vec!["openai:chat/gpt-4o".to_owned()])
        );
        let both = ["openai:responses/gpt-4.1", "anthropic:messages/claude-sonnet-4-5"].map(str::to_owned).to_vec();
        assert_eq!(resolved(&routes, "claude-opus-4-1", messages), Ok(both));
        assert!(
            resolved(&routes, "gemini-2.5-pro", chat).is_err_and(|why| why.contains("configured: openai, anthropic"))
        );
        assert!(resolved(&routes, "", chat).is_err());
    }

    #[test]
    fn a_route_to_an_unknown_provider_is_refused_at_the_start() {
        let error = routes(&["a=nobody/x"], &["openai"]).expect_err("an error");
        assert!(error.contains("the route `a`"), "{error}");
    }

    #[test]
    fn weights_draw_and_affinity_keeps() {
        let mut serve = Serve::default();
        let text = "name = \"m\"\nsticky = \"key\"\nto = [{ model = \"openai/gpt-4o\", weight = 1 }, { model = \"anthropic/claude-sonnet-4-5\", weight = 1 }]";
        let config = polywire::Config::read(&format!("[[serve.route]]\n{text}\n"), &|_| Err("no files".to_owned()));
        serve.routes = config.expect("a configuration").serve.routes;
        let routes = Routes::new(Catalog::built_in().clone(), &Settings::from(serve), Vec::new()).expect("routes");
        let first = |key: &str| {
            let affinity = Affinity { key: Some(key), conversation: b"" };
            routes.resolve("m", Protocol::OpenAiChat, affinity).expect("models").models[0].name()
        };
        let drawn: std::collections::BTreeSet<String> = (0..64).map(|number| first(&number.to_string())).collect();
        assert_eq!(drawn.len(), 2, "both are drawn");
        assert!((0..8).all(|_| first("same") == first("same")));
    }
}
