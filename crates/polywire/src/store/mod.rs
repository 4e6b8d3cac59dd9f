//! A persistent cache of the providers' model lists. Opening never fails: an unusable file is moved aside, and a location that is not
//! writable is replaced by memory, each with a warning. `lookup` decides which data is fresh enough.

mod file;
mod lookup;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

pub use lookup::{Discovered, LookOptions, Network, RowSource};

use crate::model::{ModelPatch, ModelRow};
use file::FileError;

/// The path of the file in the platform's cache folder.
const FILE: &str = "polywire/models.sqlite3";

/// A problem of the cache that is not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// The stable code.
    pub code: &'static str,
    /// The message.
    pub detail: String,
}

impl Warning {
    pub(crate) fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// A persistent cache of the providers' model lists.
#[derive(Debug)]
pub struct Store {
    /// The database, in the file or in memory; without one nothing is cached.
    connection: Option<Connection>,
    /// The path of the file; `None` in memory.
    path: Option<PathBuf>,
    warnings: Vec<Warning>,
}

/// The key of a cached list: the provider and the URL of its list.
#[derive(Clone, Copy, Debug)]
struct ListKey<'a> {
    provider: &'a str,
    address: &'a str,
}

/// The metadata of a cached list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListMetadata {
    /// Seconds since 1970.
    fetched_at: i64,
    /// `true` for a complete list.
    authoritative: bool,
    /// The fingerprint of the catalog rows that it was merged with.
    fingerprint: String,
}

/// The recovery from a database error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DatabaseRecovery {
    None,
    /// The file was replaced.
    NewFile,
}

impl Store {
    /// The default path of the file on this platform.
    pub fn default_path() -> Option<PathBuf> {
        etcetera::base_strategy::choose_native_strategy().ok().map(|folders| folders.cache_dir().join(FILE))
    }

    /// Opens or creates the store in a file. If that is not possible, the store is in memory and has a warning.
    pub fn open(path: &Path) -> Self {
        let mut store = Self { connection: None, path: None, warnings: Vec::new() };
        store.connect(path, file::open(path));
        store
    }

    /// Creates a store in memory.
    pub fn in_memory() -> Self {
        Self { connection: file::open_in_memory().ok(), path: None, warnings: Vec::new() }
    }

    /// The path of the file; `None` if the store is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns and clears the warnings.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    fn warn(&mut self, code: &'static str, detail: impl Into<String>) {
        self.warnings.push(Warning::new(code, detail));
    }

    /// Uses the opened file, replaces an unusable one, or falls back to memory.
    fn connect(&mut self, path: &Path, opened: Result<Connection, FileError>) {
        let opened = match opened {
            Err(FileError::Replaceable(why)) => file::rebuild(path).map(|(connection, aside)| {
                if let Some(aside) = aside {
                    let (path, aside) = (path.display(), aside.display());
                    let detail =
                        format!("the model cache {path} {why}; it was moved to {aside} and replaced by a new one");
                    self.warn("cache-set-aside", detail);
                }
                connection
            }),
            opened => opened,
        };
        match opened {
            Ok(connection) => {
                self.connection = Some(connection);
                self.path = Some(path.to_owned());
            }
            Err(error) => self.use_memory(path, &error),
        }
    }

    /// Falls back to memory, with the lists that can still be read.
    fn use_memory(&mut self, path: &Path, error: &FileError) {
        self.path = None;
        self.connection = file::open_in_memory().ok();
        let copied = self.connection.as_ref().map_or(0, |memory| file::copy_lists(path, memory));
        let read = if copied > 0 { "; its content is used" } else { "" };
        let path = path.display();
        self.warn(
            "cache-in-memory",
            format!("the model cache {path} {error}{read}; new model lists are only kept in memory"),
        );
    }

    fn read_metadata(&mut self, key: ListKey<'_>) -> Option<ListMetadata> {
        let sql = "SELECT fetched_at, authoritative, fingerprint FROM lists WHERE provider = ?1 AND address = ?2";
        self.get(key, sql, |row| {
            Ok(ListMetadata { fetched_at: row.get(0)?, authoritative: row.get(1)?, fingerprint: row.get(2)? })
        })
    }

    fn read_merged_rows(&mut self, key: ListKey<'_>) -> Option<Vec<Arc<ModelRow>>> {
        let text: String =
            self.get(key, "SELECT merged FROM lists WHERE provider = ?1 AND address = ?2", |row| row.get(0))?;
        self.parse(key, &text)
    }

    /// Reads the provider's list, before it was merged.
    fn read_list(&mut self, key: ListKey<'_>) -> Option<Vec<ModelPatch>> {
        let text: String =
            self.get(key, "SELECT listed FROM lists WHERE provider = ?1 AND address = ?2", |row| row.get(0))?;
        self.parse(key, &text)
    }

    fn parse<T: serde::de::DeserializeOwned>(&mut self, key: ListKey<'_>, text: &str) -> Option<T> {
        match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.warn(
                    "cache-unreadable",
                    format!("the model list of {} in the cache is invalid: {error}", key.provider),
                );
                None
            }
        }
    }

    fn get<T>(
        &mut self,
        key: ListKey<'_>,
        sql: &str,
        read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Option<T> {
        let found = self
            .connection
            .as_ref()?
            .prepare(sql)
            .and_then(|mut statement| statement.query_row([key.provider, key.address], &read).optional());
        match found {
            Ok(found) => found,
            Err(error) => {
                self.recover(&error);
                None
            }
        }
    }

    /// Replaces a corrupt file; other errors are warnings.
    fn recover(&mut self, error: &rusqlite::Error) -> DatabaseRecovery {
        let error = FileError::from_sqlite(error);
        match self.path.take() {
            Some(path) if matches!(error, FileError::Replaceable(_)) => {
                // Some platforms cannot move an open file.
                self.connection = None;
                self.connect(&path, Err(error));
                DatabaseRecovery::NewFile
            }
            path => {
                self.path = path;
                self.warn("cache-unusable", format!("the model cache {error}"));
                DatabaseRecovery::None
            }
        }
    }

    /// Writes a list, unless another process has written a newer one. Lists from the future are overwritten.
    fn write_list(
        &mut self,
        key: ListKey<'_>,
        metadata: &ListMetadata,
        listed: &[ModelPatch],
        merged: &[Arc<ModelRow>],
        now: i64,
    ) {
        let texts = serde_json::to_string(listed).and_then(|listed| Ok((listed, serde_json::to_string(merged)?)));
        // Rows and patches can always be serialized.
        let Ok((listed, merged)) = texts else { return };
        let sql = "INSERT INTO lists (provider, address, fetched_at, authoritative, fingerprint, listed, merged)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (provider, address) DO UPDATE SET fetched_at = excluded.fetched_at,
                authoritative = excluded.authoritative, fingerprint = excluded.fingerprint, listed = excluded.listed,
                merged = excluded.merged
            WHERE excluded.fetched_at >= lists.fetched_at OR lists.fetched_at > ?8";
        let values = params![
            key.provider,
            key.address,
            metadata.fetched_at,
            metadata.authoritative,
            metadata.fingerprint,
            listed,
            merged,
            now.saturating_add(lookup::SKEW)
        ];
        for _ in 0..2 {
            let Some(connection) = &self.connection else { return };
            let Err(error) = connection.execute(sql, values) else { return };
            if self.recover(&error) == DatabaseRecovery::None {
                break;
            }
        }
        self.warn("cache-not-written", format!("the model list of {} was not saved", key.provider));
    }
}
