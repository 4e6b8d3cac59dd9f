//! Keys in a store, for the command line. A running gateway sees changes within seconds.

use crate::clock::unix_seconds;
use crate::key::{Key, KeyLimits, KeyRole};
use crate::store::Store;

/// The keys of a store.
#[derive(Debug)]
pub struct KeyStore {
    store: Store,
}

impl KeyStore {
    /// Opens the store at a place, as in the setting `store`.
    pub async fn open(place: &str) -> anyhow::Result<Self> {
        Ok(Self { store: Store::open(place).await? })
    }

    /// All keys, revoked ones too.
    pub async fn list(&self) -> anyhow::Result<Vec<Key>> {
        Ok(self.store.keys().await?)
    }

    /// Creates a key and returns its text, which is not stored.
    pub async fn create(&self, name: &str, role: KeyRole, limits: KeyLimits) -> anyhow::Result<(Key, String)> {
        let created = Key::create(name, role, limits, unix_seconds());
        let (key, text) = created.ok_or_else(|| anyhow::anyhow!("the system has no random numbers"))?;
        self.store.put_key(key.clone()).await?;
        Ok((key, text))
    }

    /// Revokes a key; `None` if there is no such key.
    pub async fn revoke(&self, id: &str) -> anyhow::Result<Option<Key>> {
        let found = self.store.keys().await?.into_iter().find(|key| key.id == id);
        let Some(mut key) = found else { return Ok(None) };
        key.revoked_at = key.revoked_at.or(Some(unix_seconds()));
        self.store.put_key(key.clone()).await?;
        Ok(Some(key))
    }
}
