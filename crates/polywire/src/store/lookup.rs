//! Selects the source of a provider's models: cached rows, a cached list that is merged again, or a list from the provider.
//!
//! | cache | network | source |
//! |---|---|---|
//! | no list endpoint | any | the catalog's rows |
//! | fresh, complete, same fingerprint | never, when stale | the cached rows, without merging |
//! | fresh, complete, another fingerprint | never, when stale | the cached list, merged with the catalog again |
//! | stale, incomplete, or from the future | never | the cached list, merged again |
//! | stale, incomplete, or from the future | when stale | fetched from the provider |
//! | empty | never | the catalog's rows |
//! | any | always | fetched from the provider |
//!
//! If fetching fails, the source is selected as with [`Network::Never`].

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{ListKey, ListMetadata, Store, Warning};
use crate::catalog::Catalog;
use crate::model::{ModelPatch, ModelRow};
use crate::provider::Provider;

/// The accepted difference between the clocks of two machines, in seconds.
pub(super) const SKEW: i64 = 120;

/// The use of the network for model lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Network {
    /// Lists are not fetched.
    Never,
    /// Lists are fetched if the cached one is stale.
    #[default]
    WhenStale,
    /// Lists are always fetched.
    Always,
}

/// Options of a lookup.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LookOptions {
    /// The time to live of a cached list.
    pub ttl: Duration,
    /// The use of the network.
    pub network: Network,
    /// The current time.
    pub now: SystemTime,
}

impl LookOptions {
    /// Creates options with a time to live of one day and [`Network::WhenStale`].
    pub fn at(now: SystemTime) -> Self {
        Self { ttl: Duration::from_hours(24), network: Network::default(), now }
    }

    /// Sets the time to live.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the use of the network.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    fn seconds(&self) -> i64 {
        let since = self.now.duration_since(UNIX_EPOCH).map(|time| time.as_secs());
        since.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX))
    }
}

/// The models of a provider and their source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discovered {
    /// The rows.
    pub rows: Vec<Arc<ModelRow>>,
    /// The source of the rows.
    pub source: RowSource,
    /// The age of the list; `None` without a list.
    pub age: Option<Duration>,
    /// The warnings of the cache.
    pub warnings: Vec<Warning>,
}

/// The source of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowSource {
    /// The catalog; there is no list.
    Static,
    /// Cached rows.
    Kept,
    /// A cached list that was merged with the catalog again.
    Merged,
    /// A list that was fetched from the provider.
    Fetched,
}

/// The result of a cache lookup.
enum Lookup {
    Found(Discovered),
    MustFetch,
}

impl Store {
    /// The models of a provider without network access, regardless of [`LookOptions::network`].
    pub fn recall(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        options: &LookOptions,
    ) -> Discovered {
        let options = options.with_network(Network::Never);
        match self.look_up(catalog, provider, address, &options) {
            Lookup::Found(found) => found,
            Lookup::MustFetch => self.discovered(Vec::new(), RowSource::Static, None),
        }
    }

    /// The models of a provider if they are fresh enough; `None` if its list should be fetched.
    pub fn fresh(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        options: &LookOptions,
    ) -> Option<Discovered> {
        match self.look_up(catalog, provider, address, options) {
            Lookup::Found(found) => Some(found),
            Lookup::MustFetch => None,
        }
    }

    /// Saves a fetched list. An incomplete list does not replace a complete one.
    pub fn save(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        (listed, cut): (&[ModelPatch], Option<&str>),
        options: &LookOptions,
    ) -> Discovered {
        let key = ListKey { provider: &provider.id, address };
        if let Some(why) = cut {
            self.warn("list-cut", format!("the model list of {} is incomplete: {why}", provider.title));
            if self.read_metadata(key).is_some_and(|metadata| metadata.authoritative) {
                return self.recall(catalog, provider, address, options);
            }
        }
        let rows = catalog.merge(&provider.id, listed);
        let now = options.seconds();
        let fingerprint = catalog.fingerprint(&provider.id).to_owned();
        self.write_list(
            key,
            &ListMetadata { fetched_at: now, authoritative: cut.is_none(), fingerprint },
            listed,
            &rows,
            now,
        );
        self.discovered(rows, RowSource::Fetched, Some(Duration::ZERO))
    }

    fn look_up(&mut self, catalog: &Catalog, provider: &Provider, address: &str, options: &LookOptions) -> Lookup {
        let from_catalog = |store: &mut Self| {
            let rows = catalog.merge(&provider.id, &[]);
            Lookup::Found(store.discovered(rows, RowSource::Static, None))
        };
        if provider.list.is_none() {
            return from_catalog(self);
        }
        if options.network == Network::Always {
            return Lookup::MustFetch;
        }
        let key = ListKey { provider: &provider.id, address };
        let Some(metadata) = self.read_metadata(key) else {
            return if options.network == Network::Never { from_catalog(self) } else { Lookup::MustFetch };
        };
        let age = options.seconds().saturating_sub(metadata.fetched_at);
        if age < -SKEW {
            let detail = format!(
                "the model list of {} is from {} seconds in the future: the clock was set back, so its age is unknown",
                provider.title,
                age.unsigned_abs()
            );
            self.warn("clock-set-back", detail);
        }
        let age_duration = Duration::from_secs(u64::try_from(age).unwrap_or_default());
        let is_fresh = age >= -SKEW && age_duration < options.ttl && metadata.authoritative;
        if !is_fresh && options.network != Network::Never {
            return Lookup::MustFetch;
        }
        let fingerprint = catalog.fingerprint(&provider.id);
        // An empty fingerprint never matches.
        let is_same_catalog = !fingerprint.is_empty() && metadata.fingerprint == fingerprint;
        if is_fresh
            && is_same_catalog
            && let Some(rows) = self.read_merged_rows(key)
        {
            return Lookup::Found(self.discovered(rows, RowSource::Kept, Some(age_duration)));
        }
        let Some(listed) = self.read_list(key) else {
            return if options.network == Network::Never { from_catalog(self) } else { Lookup::MustFetch };
        };
        let rows = catalog.merge(&provider.id, &listed);
        if !is_same_catalog {
            let metadata = ListMetadata { fingerprint: fingerprint.to_owned(), ..metadata };
            self.write_list(key, &metadata, &listed, &rows, options.seconds());
        }
        Lookup::Found(self.discovered(rows, RowSource::Merged, Some(age_duration)))
    }

    fn discovered(&mut self, rows: Vec<Arc<ModelRow>>, source: RowSource, age: Option<Duration>) -> Discovered {
        Discovered { rows, source, age, warnings: self.take_warnings() }
    }
}

#[cfg(feature = "client")]
impl Store {
    /// The models of a provider. Its list is fetched if the options require it.
    pub async fn discover(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        client: &crate::Client,
        options: &LookOptions,
    ) -> Discovered {
        let address = match client.list_address(provider) {
            Ok(address) => address.unwrap_or_default(),
            Err(error) => return self.not_asked(catalog, provider, "", &error, options),
        };
        if let Some(found) = self.fresh(catalog, provider, &address, options) {
            return found;
        }
        match client.list_models(provider).await {
            Ok(listing) => self.save(catalog, provider, &address, (&listing.models, listing.cut.as_deref()), options),
            Err(error) => self.not_asked(catalog, provider, &address, &error, options),
        }
    }

    /// The models of a provider after its list could not be fetched.
    pub fn not_asked(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        error: &crate::SendError,
        options: &LookOptions,
    ) -> Discovered {
        self.warn("not-asked", format!("the model list of {} could not be fetched: {error}", provider.title));
        self.recall(catalog, provider, address, options)
    }
}
