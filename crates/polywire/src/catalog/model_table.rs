//! The models of one provider and their lookup by id.

use std::sync::{Arc, OnceLock};

use foldhash::HashMap;

use super::CatalogError;
use crate::model::ModelRow;
use crate::provider::Provider;

/// The models of one provider.
#[derive(Debug, Default)]
pub(super) struct ModelTable {
    rows: Vec<Arc<ModelRow>>,
    /// By name in lower case: the index of the row and the id in requests.
    index: HashMap<String, (usize, String)>,
    pub(super) fingerprint: OnceLock<String>,
}

impl ModelTable {
    /// Creates a table in which names must be unique.
    pub(super) fn with_unique_names(rows: Vec<ModelRow>) -> Result<Self, CatalogError> {
        let mut table = Self { rows: rows.into_iter().map(Arc::new).collect(), ..Self::default() };
        for (number, row) in table.rows.iter().enumerate() {
            for (name, id) in ids(row).chain(aliases(row)) {
                if table.index.insert(name.to_lowercase(), (number, id.clone())).is_some() {
                    return Err(CatalogError(format!(
                        "model `{}/{}`: the name `{name}` is taken",
                        row.provider, row.id
                    )));
                }
            }
        }
        Ok(table)
    }

    /// Creates a table of rows from several sources. A duplicate name belongs to the first row; ids have precedence over aliases.
    pub(super) fn with_first_names(rows: Vec<Arc<ModelRow>>) -> Self {
        let mut index: HashMap<String, (usize, String)> = HashMap::default();
        let numbered = || rows.iter().enumerate();
        let own = numbered().map(|(number, row)| (number, &row.id, &row.id));
        let dated = numbered().flat_map(|(number, row)| ids(row).map(move |(name, id)| (number, name, id)));
        let aliases = numbered().flat_map(|(number, row)| aliases(row).map(move |(name, id)| (number, name, id)));
        for (number, name, id) in own.chain(dated).chain(aliases) {
            index.entry(name.to_lowercase()).or_insert_with(|| (number, id.clone()));
        }
        Self { rows, index, fingerprint: OnceLock::new() }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &ModelRow> {
        self.rows.iter().map(AsRef::as_ref)
    }

    pub(super) fn shared(&self) -> &[Arc<ModelRow>] {
        &self.rows
    }

    /// The index of the row with exactly this name.
    pub(super) fn position_of(&self, name: &str) -> Option<usize> {
        self.index.get(&name.to_lowercase()).map(|(number, _)| *number)
    }

    /// The row of an id and the id in requests. Prefixes, suffixes and tags of the provider's row and dates are ignored.
    pub(super) fn find(&self, provider: &Provider, id: &str) -> Option<(Arc<ModelRow>, String)> {
        let id = id.to_lowercase();
        let look = |id: &str| {
            let (number, sent) = self.index.get(id)?;
            Some((Arc::clone(self.rows.get(*number)?), sent.clone()))
        };
        let whole = look(&id).or_else(|| provider.id_prefixes.iter().find_map(|prefix| look(&format!("{prefix}{id}"))));
        if whole.is_some() {
            return whole;
        }
        let bare = provider.id_prefixes.iter().find_map(|prefix| id.strip_prefix(prefix.as_str())).unwrap_or(&id);
        let trimmed = provider.id_suffixes.iter().find_map(|suffix| bare.strip_suffix(suffix.as_str()));
        let untagged = provider.tag_separator.as_deref().and_then(|mark| bare.split_once(mark)).map(|(id, _)| id);
        let names = [Some(bare), trimmed, untagged].into_iter().flatten();
        let row = names.flat_map(|name| [Some(name), without_date(name)]).flatten().find_map(look)?.0;
        Some((row, id))
    }
}

/// The names that are valid in requests.
fn ids(row: &ModelRow) -> impl Iterator<Item = (&String, &String)> {
    [&row.id].into_iter().chain(&row.dated).map(|id| (id, id))
}

/// The aliases, with the id that is sent instead.
fn aliases(row: &ModelRow) -> impl Iterator<Item = (&String, &String)> {
    row.aliases.iter().map(|alias| (alias, &row.id))
}

/// An id without its final date, in one of the formats `-2025-08-07`, `-20250807`, `@20250807`.
fn without_date(id: &str) -> Option<&str> {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let (head, last) = id.rsplit_once(['-', '@'])?;
    if digits(last, 8) {
        return Some(head);
    }
    let (head, month) = head.rsplit_once('-')?;
    let (head, year) = head.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(head)
}
