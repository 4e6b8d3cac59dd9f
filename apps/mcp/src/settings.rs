//! What the proxy was told to do, and the dialect for a client.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polywire::schema::{Dialect, FitCache, FitOptions, dialect, target};
use serde::Deserialize;

use crate::catalog::{CachedCatalog, Catalog, ServerList};

/// Options of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// For whom tools are fitted.
    pub audience: Audience,
    /// How tools are fitted.
    pub fit: FitOptions,
    /// What becomes of a tool whose schema cannot be read.
    pub broken: BrokenTools,
    /// Whether structured results are checked against the `outputSchema` of their tool.
    pub results: Results,
    /// How long a server may take for a request; none is the default.
    pub timeout: Option<Duration>,
    /// The longest message, in bytes.
    pub longest_message: usize,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            audience: Audience::Auto,
            fit: FitOptions::default(),
            broken: BrokenTools::Permissive,
            results: Results::Passed,
            timeout: None,
            longest_message: 128 << 20,
        }
    }
}

/// For whom tools are fitted.
#[derive(Clone, Debug)]
pub enum Audience {
    /// For the client, by the name in its handshake; for `portable` where the client is not known.
    Auto,
    /// For a dialect.
    Dialect(Box<Cow<'static, Dialect>>),
}

/// What becomes of a tool whose schema cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenTools {
    /// It is listed with a schema that accepts any object.
    Permissive,
    /// It is not listed.
    LeftOut,
}

/// What becomes of structured results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// They pass.
    Passed,
    /// Those that their schema refuses become errors.
    Checked,
}

/// Fitted tools that are kept, by content.
const CACHED_TOOLS: usize = 4_096;

/// Whole lists that are kept, by content.
const CACHED_CATALOGS: usize = 8;

/// What all sessions of a proxy share.
pub(crate) struct Shared {
    pub(crate) options: ProxyOptions,
    pub(crate) cache: FitCache,
    /// Lists of tools that came before, the one that was used last first.
    catalogs: Mutex<VecDeque<CachedCatalog>>,
    /// Tells the user what happens, on standard error.
    pub(crate) log: fn(&str),
}

impl Shared {
    pub(crate) fn new(options: ProxyOptions, log: fn(&str)) -> Arc<Self> {
        Arc::new(Self { options, cache: FitCache::new(CACHED_TOOLS), catalogs: Mutex::default(), log })
    }

    /// The fitted tools of these lists. Lists that came before cost the comparison with them.
    pub(crate) fn catalog(&self, lists: Vec<ServerList>, dialect: &Dialect) -> Arc<Catalog> {
        let locked = || self.catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &CachedCatalog| known.dialect == dialect.id() && known.lists == lists;
        {
            let mut known = locked();
            if let Some(found) = known.iter().position(is_known).and_then(|place| known.remove(place)) {
                let catalog = Arc::clone(&found.catalog);
                known.push_front(found);
                return catalog;
            }
        }
        // Fitted outside of the lock: other clients do not wait.
        let catalog = Arc::new(Catalog::fit(&lists, dialect, self));
        let mut known = locked();
        known.push_front(CachedCatalog { dialect: dialect.id().to_owned(), lists, catalog: Arc::clone(&catalog) });
        known.truncate(CACHED_CATALOGS);
        catalog
    }

    /// The dialect for a client of this name.
    pub(crate) fn dialect(&self, client: Option<&str>) -> Cow<'static, Dialect> {
        match &self.options.audience {
            Audience::Dialect(dialect) => (**dialect).clone(),
            Audience::Auto => {
                let known = client.and_then(dialect_of_client).and_then(|ids| target(&ids).ok());
                known.unwrap_or_else(|| Cow::Borrowed(portable()))
            }
        }
    }
}

/// The dialect that every provider takes.
fn portable() -> &'static Dialect {
    #[expect(clippy::expect_used, reason = "a dialect that is built in, as a test shows")]
    dialect("portable").expect("a built-in dialect")
}

#[derive(Deserialize)]
struct Clients {
    client: Vec<ClientRow>,
}

#[derive(Deserialize)]
struct ClientRow {
    name: String,
    dialect: String,
}

fn dialect_of_client(name: &str) -> Option<String> {
    let rows: Clients = toml::from_str(include_str!("../data/clients.toml")).ok()?;
    let name = name.to_ascii_lowercase();
    rows.client.into_iter().find(|row| name.contains(&row.name)).map(|row| row.dialect)
}

#[cfg(test)]
mod tests {
    use polywire::schema::target;

    use super::dialect_of_client;

    #[test]
    fn clients_are_known_by_their_names() {
        let rows = [
            ("claude-code", Some("anthropic")),
            ("Codex-mcp-client", Some("openai-responses")),
            ("gemini-cli-mcp-client", Some("gemini")),
            ("Visual Studio Code", Some("openai,anthropic,gemini")),
            ("somebody", None),
        ];
        for (client, dialect) in rows {
            assert_eq!(dialect_of_client(client).as_deref(), dialect, "{client}");
        }
        for (client, _) in rows {
            assert!(dialect_of_client(client).is_none_or(|ids| target(&ids).is_ok()), "{client}");
        }
    }
}
