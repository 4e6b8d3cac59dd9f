//! What providers said of their models, kept in a file between runs. Opening never fails: a file that is no use is set aside, a
//! place that cannot be written is replaced by memory, each with a warning. Which of it counts is for [`look`] to decide.

mod file;
mod look;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

pub use look::{Discovered, LookOptions, Network, RowSource};

use crate::model::{ModelPatch, ModelRow};
use file::Trouble;

/// The name of the file in the platform's folder for caches.
const FILE: &str = "polywire/models.sqlite3";

/// Something about the cache that the caller should know. Nothing failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// A stable name.
    pub code: &'static str,
    /// The same in words.
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

/// What providers said of their models, between runs.
#[derive(Debug)]
pub struct Store {
    /// The file, or memory. Without either nothing is remembered.
    connection: Option<Connection>,
    /// The file, where there is one.
    path: Option<PathBuf>,
    warnings: Vec<Warning>,
}

/// Whose list: the provider, and the address at which it was asked.
#[derive(Clone, Copy, Debug)]
struct Key<'a> {
    provider: &'a str,
    address: &'a str,
}

/// What is known of a list without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    /// Seconds since 1970.
    fetched_at: i64,
    /// Whether it is the whole list.
    authoritative: bool,
    /// That of the static rows it was merged with.
    fingerprint: String,
}

/// What was done about a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remedy {
    None,
    /// A new file was begun.
    Begun,
}

impl Store {
    /// Where the file is on this platform.
    pub fn default_path() -> Option<PathBuf> {
        etcetera::base_strategy::choose_native_strategy().ok().map(|folders| folders.cache_dir().join(FILE))
    }

    /// The store in a file, which is made if need be. What is in the way of that is a warning, and the store is in memory.
    pub fn open(path: &Path) -> Self {
        let mut store = Self { connection: None, path: None, warnings: Vec::new() };
        store.settle(path, file::open(path));
        store
    }

    /// A store that ends with the process.
    pub fn in_memory() -> Self {
        Self { connection: file::memory().ok(), path: None, warnings: Vec::new() }
    }

    /// The file, unless the store is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What the caller should know and was not told yet.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    fn warn(&mut self, code: &'static str, detail: impl Into<String>) {
        self.warnings.push(Warning::new(code, detail));
    }

    /// Goes on with a file that was opened, with a new one where it is no use, or in memory.
    fn settle(&mut self, path: &Path, opened: Result<Connection, Trouble>) {
        let opened = match opened {
            Err(Trouble::Useless(why)) => file::rebuild(path).map(|(connection, aside)| {
                if let Some(aside) = aside {
                    let (path, aside) = (path.display(), aside.display());
                    let detail = format!("the model cache {path} {why}; it is now {aside}, and a new one is begun");
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
            Err(trouble) => self.degrade(path, &trouble),
        }
    }

    /// Goes on in memory, with what can still be read.
    fn degrade(&mut self, path: &Path, trouble: &Trouble) {
        self.path = None;
        self.connection = file::memory().ok();
        let kept = self.connection.as_ref().map_or(0, |memory| file::copy(path, memory));
        let read = if kept > 0 { "; what it holds is used" } else { "" };
        let path = path.display();
        self.warn(
            "cache-in-memory",
            format!("the model cache {path} {trouble}{read}, and what is learned now is forgotten at the end"),
        );
    }

    /// What is known of a list.
    fn mark(&mut self, key: Key<'_>) -> Option<Mark> {
        let sql = "SELECT fetched_at, authoritative, fingerprint FROM lists WHERE provider = ?1 AND address = ?2";
        self.get(key, sql, |row| {
            Ok(Mark { fetched_at: row.get(0)?, authoritative: row.get(1)?, fingerprint: row.get(2)? })
        })
    }

    /// The merged rows.
    fn merged(&mut self, key: Key<'_>) -> Option<Vec<Arc<ModelRow>>> {
        let text: String =
            self.get(key, "SELECT merged FROM lists WHERE provider = ?1 AND address = ?2", |row| row.get(0))?;
        self.parsed(key, &text)
    }

    /// The list as the provider gave it.
    fn listed(&mut self, key: Key<'_>) -> Option<Vec<ModelPatch>> {
        let text: String =
            self.get(key, "SELECT listed FROM lists WHERE provider = ?1 AND address = ?2", |row| row.get(0))?;
        self.parsed(key, &text)
    }

    fn parsed<T: serde::de::DeserializeOwned>(&mut self, key: Key<'_>, text: &str) -> Option<T> {
        match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.warn(
                    "cache-unreadable",
                    format!("what the model cache holds of {} is no use: {error}", key.provider),
                );
                None
            }
        }
    }

    fn get<T>(
        &mut self,
        key: Key<'_>,
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
                self.failed(&error);
                None
            }
        }
    }

    /// A file that turns out to be broken is set aside too; anything else is told.
    fn failed(&mut self, error: &rusqlite::Error) -> Remedy {
        let trouble = Trouble::of(error);
        match self.path.take() {
            Some(path) if matches!(trouble, Trouble::Useless(_)) => {
                // A file that is held open cannot be moved everywhere.
                self.connection = None;
                self.settle(&path, Err(trouble));
                Remedy::Begun
            }
            path => {
                self.path = path;
                self.warn("cache-unusable", format!("the model cache {trouble}"));
                Remedy::None
            }
        }
    }

    /// Keeps a list. A newer one that somebody else kept meanwhile stays, unless it is from the future.
    fn keep(&mut self, key: Key<'_>, mark: &Mark, listed: &[ModelPatch], merged: &[Arc<ModelRow>], now: i64) {
        let texts = serde_json::to_string(listed).and_then(|listed| Ok((listed, serde_json::to_string(merged)?)));
        // Rows and patches are made of what JSON has.
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
            mark.fetched_at,
            mark.authoritative,
            mark.fingerprint,
            listed,
            merged,
            now.saturating_add(look::SKEW)
        ];
        for _ in 0..2 {
            let Some(connection) = &self.connection else { return };
            let Err(error) = connection.execute(sql, values) else { return };
            if self.failed(&error) == Remedy::None {
                break;
            }
        }
        self.warn("cache-not-written", format!("what was learned of {} is not kept", key.provider));
    }
}
