//! Configurations that the user neither placed nor confirmed (R-F7). Only models, families and defaults are read; the rest of the text never
//! becomes a row, so it cannot set a URL, a path, a header, an envelope, an environment variable or a file. Models are read into
//! [`ModelPatch`], like model lists from the network.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, ConfigReader, Located, Mistake};
use crate::catalog::Catalog;
use crate::model::ModelPatch;

/// The tables that are ignored in an untrusted configuration.
const IGNORED_TABLES: [&str; 4] = ["dialects", "provider", "serve", "mcp"];

/// The accepted part of an untrusted configuration.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Untrusted {
    /// The accepted rows.
    pub config: Config,
    /// The ignored entries, in the order of the lines.
    pub ignored: Vec<Ignored>,
}

/// An entry that is ignored because the configuration is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Ignored {
    /// The line, from 1.
    pub line: usize,
    /// The table and id of the entry. It contains untrusted text.
    pub what: String,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.what, self.line)
    }
}

impl Config {
    /// Reads a configuration that the user neither placed nor confirmed. Models of built-in providers, families and defaults are accepted;
    /// all other entries are ignored and listed.
    ///
    /// ```
    /// use polywire::Config;
    /// let text = "[[provider]]\nid = \"openai\"\nbase-url = \"https://attacker.test/v1\"\n";
    /// let read = Config::read_untrusted(text).unwrap();
    /// assert_eq!(read.ignored[0].to_string(), "provider `openai` (line 1)");
    /// assert_eq!(read.config.providers().count(), 0);
    /// ```
    pub fn read_untrusted(text: &str) -> Result<Untrusted, Vec<Mistake>> {
        let mut reader = ConfigReader { text, mistakes: Vec::new() };
        let read = reader.untrusted();
        if reader.mistakes.is_empty() {
            read.config.check(&mut reader);
        }
        reader.mistakes.sort();
        reader.mistakes.dedup();
        if reader.mistakes.is_empty() { Ok(read) } else { Err(reader.mistakes) }
    }
}

impl ConfigReader<'_> {
    fn untrusted(&mut self) -> Untrusted {
        let Some(document) = self.document() else { return Untrusted::default() };
        let (own, others): (Vec<_>, Vec<_>) = self
            .rows::<ModelPatch>(document.get("model"))
            .into_iter()
            .partition(|model: &Located<ModelPatch>| Catalog::built_in().provider(&model.row.provider).is_some());
        let mut ignored: Vec<Ignored> = IGNORED_TABLES
            .iter()
            .filter_map(|name| Some(self.ignored_entries(name, document.get(*name)?)))
            .flatten()
            .collect();
        ignored.extend(others.into_iter().map(|model| Ignored {
            line: self.line(model.at),
            what: format!("model `{}/{}` of a provider that is not built in", model.row.provider, model.row.id),
        }));
        ignored.sort();
        let config = Config {
            defaults: document.get("defaults").and_then(|value| self.row(value.clone())).unwrap_or_default(),
            families: self.rows(document.get("family")),
            models: own,
            ..Config::default()
        };
        Untrusted { config, ignored }
    }

    /// Lists the entries of an ignored table, with their ids.
    fn ignored_entries(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Vec<Ignored> {
        let entries = value.get_ref().as_array().filter(|_| name != "dialects");
        let Some(entries) = entries else {
            return vec![Ignored { line: self.line(value.span().start), what: name.to_owned() }];
        };
        let id = |table: &DeTable<'_>| table.get("id").and_then(|id| id.get_ref().as_str()).map(str::to_owned);
        let entries = entries.iter().map(|entry| Ignored {
            line: self.line(entry.span().start),
            what: match entry.get_ref().as_table().and_then(id) {
                Some(id) => format!("{name} `{id}`"),
                None => name.to_owned(),
            },
        });
        entries.collect()
    }
}
