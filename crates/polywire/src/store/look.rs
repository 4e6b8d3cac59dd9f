//! Which knowledge of a provider's models counts: what is kept as it is, what is kept but merged again, or what the provider says now.
//!
//! | kept | network | what counts |
//! |---|---|---|
//! | no list endpoint | any | the static rows, untouched |
//! | fresh, whole, same fingerprint | never, when stale | the kept rows as they are, without merging |
//! | fresh, whole, another fingerprint | never, when stale | the kept list, merged with the static rows again |
//! | stale, in part, or from the future | never | the kept list, merged again |
//! | stale, in part, or from the future | when stale | the provider is asked |
//! | nothing | never | the static rows, untouched |
//! | anything | always | the provider is asked |
//!
//! Where the provider is asked in vain, what is kept counts as if there were no network.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Key, Mark, Store, Warning};
use crate::catalog::Catalog;
use crate::model::{ModelPatch, ModelRow};
use crate::provider::Provider;

/// Seconds that the clocks of two processes or machines may differ by.
pub(super) const SKEW: i64 = 120;

/// Whether providers may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Network {
    /// No.
    Never,
    /// Where what is kept is too old.
    #[default]
    WhenStale,
    /// Whatever is kept.
    Always,
}

/// What counts as fresh.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LookOptions {
    /// How long a list is fresh.
    pub ttl: Duration,
    /// Whether providers may be asked.
    pub network: Network,
    /// What time it is.
    pub now: SystemTime,
}

impl LookOptions {
    /// A day, and providers may be asked when that is over.
    pub fn at(now: SystemTime) -> Self {
        Self { ttl: Duration::from_hours(24), network: Network::default(), now }
    }

    /// The same with another time to live.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The same with another choice of network.
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

/// What is known of a provider's models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discovered {
    /// The rows.
    pub rows: Vec<Arc<ModelRow>>,
    /// Where they are from.
    pub source: RowSource,
    /// How old the list is, where one was kept.
    pub age: Option<Duration>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Where rows are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowSource {
    /// They are those of the catalog: there is no list.
    Static,
    /// They were kept and are as they were.
    Kept,
    /// A list was kept and merged with the catalog again.
    Merged,
    /// The provider was asked.
    Fetched,
}

/// Whether a list is kept that is of use.
enum Look {
    Done(Discovered),
    Ask,
}

impl Store {
    /// What is known of a provider's models without asking it, whatever the options say about the network.
    pub fn recall(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        options: &LookOptions,
    ) -> Discovered {
        let options = options.with_network(Network::Never);
        match self.look(catalog, provider, address, &options) {
            Look::Done(found) => found,
            Look::Ask => self.found(Vec::new(), RowSource::Static, None),
        }
    }

    /// What is known of a provider's models where that is fresh enough under these options; none where the provider is to be asked.
    pub fn fresh(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        options: &LookOptions,
    ) -> Option<Discovered> {
        match self.look(catalog, provider, address, options) {
            Look::Done(found) => Some(found),
            Look::Ask => None,
        }
    }

    /// Saves what a provider said. Part of a list does not take the place of a whole one.
    pub fn save(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        (listed, cut): (&[ModelPatch], Option<&str>),
        options: &LookOptions,
    ) -> Discovered {
        let key = Key { provider: &provider.id, address };
        if let Some(why) = cut {
            self.warn("list-cut", format!("the list of {} is not whole: {why}", provider.title));
            if self.mark(key).is_some_and(|mark| mark.authoritative) {
                return self.recall(catalog, provider, address, options);
            }
        }
        let rows = catalog.merge(&provider.id, listed);
        let now = options.seconds();
        let fingerprint = catalog.fingerprint(&provider.id).to_owned();
        self.keep(key, &Mark { fetched_at: now, authoritative: cut.is_none(), fingerprint }, listed, &rows, now);
        self.found(rows, RowSource::Fetched, Some(Duration::ZERO))
    }

    fn look(&mut self, catalog: &Catalog, provider: &Provider, address: &str, options: &LookOptions) -> Look {
        let untouched = |store: &mut Self| {
            let rows = catalog.merge(&provider.id, &[]);
            Look::Done(store.found(rows, RowSource::Static, None))
        };
        if provider.list.is_none() {
            return untouched(self);
        }
        if options.network == Network::Always {
            return Look::Ask;
        }
        let key = Key { provider: &provider.id, address };
        let Some(mark) = self.mark(key) else {
            return if options.network == Network::Never { untouched(self) } else { Look::Ask };
        };
        let age = options.seconds().saturating_sub(mark.fetched_at);
        if age < -SKEW {
            let detail = format!(
                "the list of {} is from {} seconds in the future; the clock was set back, so its age is not known",
                provider.title,
                age.unsigned_abs()
            );
            self.warn("clock-set-back", detail);
        }
        let old = Duration::from_secs(u64::try_from(age).unwrap_or_default());
        let fresh = age >= -SKEW && old < options.ttl && mark.authoritative;
        if !fresh && options.network != Network::Never {
            return Look::Ask;
        }
        let fingerprint = catalog.fingerprint(&provider.id);
        // Nothing is the same as an empty fingerprint.
        let same = !fingerprint.is_empty() && mark.fingerprint == fingerprint;
        if fresh
            && same
            && let Some(rows) = self.merged(key)
        {
            return Look::Done(self.found(rows, RowSource::Kept, Some(old)));
        }
        let Some(listed) = self.listed(key) else {
            return if options.network == Network::Never { untouched(self) } else { Look::Ask };
        };
        let rows = catalog.merge(&provider.id, &listed);
        if !same {
            let mark = Mark { fingerprint: fingerprint.to_owned(), ..mark };
            self.keep(key, &mark, &listed, &rows, options.seconds());
        }
        Look::Done(self.found(rows, RowSource::Merged, Some(old)))
    }

    fn found(&mut self, rows: Vec<Arc<ModelRow>>, source: RowSource, age: Option<Duration>) -> Discovered {
        Discovered { rows, source, age, warnings: self.take_warnings() }
    }
}

#[cfg(feature = "client")]
impl Store {
    /// What is known of a provider's models, from the provider itself where the options want that and it answers.
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

    /// What is known where the provider could not be asked.
    pub fn not_asked(
        &mut self,
        catalog: &Catalog,
        provider: &Provider,
        address: &str,
        error: &crate::SendError,
        options: &LookOptions,
    ) -> Discovered {
        self.warn("not-asked", format!("{} gave no list: {error}", provider.title));
        self.recall(catalog, provider, address, options)
    }
}
