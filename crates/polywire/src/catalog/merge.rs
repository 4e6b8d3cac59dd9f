//! Merges several sources of a provider's models. Precedence by field: the caller's configuration, then the provider's own list, then
//! the built-in rows. A field that is missing from a source is taken from the next one; it is unknown, not false.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::model_table::ModelTable;
use super::{Catalog, ProviderEntry};
use crate::model::{Confidence, ModelPatch, ModelRow, Origin};

/// The version of the merge algorithm. Rows that another version merged are merged again.
const MERGE_VERSION: u8 = 1;

impl Catalog {
    /// Merges a provider's own list into its rows. A listed name of a row patches that row. A name that differs from one by a tag or a
    /// date becomes a copy of that row, patched. Any other model gets the features that all models of the provider support, patched.
    /// Rows that the list does not name are kept; with an empty list the rows are those of the catalog.
    pub fn merge(&self, provider: &str, listed: &[ModelPatch]) -> Vec<Arc<ModelRow>> {
        let Some((entry, table)) = self.entry_of(provider) else { return Vec::new() };
        let mut rows = table.shared().to_vec();
        let mut patched = BTreeSet::new();
        let mut new = BTreeSet::new();
        let is_id = |patch: &&ModelPatch| {
            let row = table.position_of(&patch.id).and_then(|at| table.shared().get(at));
            row.is_some_and(|row| row.id.eq_ignore_ascii_case(&patch.id))
        };
        // If several names of a model are listed, its id has precedence, then the first one.
        let (ids, names): (Vec<&ModelPatch>, Vec<&ModelPatch>) = listed.iter().partition(is_id);
        for patch in ids.into_iter().chain(names) {
            if let Some((at, row)) = table.position_of(&patch.id).and_then(|at| Some((at, rows.get_mut(at)?))) {
                if patched.insert(at) {
                    overlay(Arc::make_mut(row), patch, Origin::Provider);
                }
            } else if new.insert(patch.id.to_lowercase()) {
                rows.push(Arc::new(self.listed_row(entry, table, patch)));
            }
        }
        rows
    }

    fn entry_of(&self, provider: &str) -> Option<(&ProviderEntry, &ModelTable)> {
        let number = self.position_of(provider)?;
        Some((self.entries.get(number)?, self.tables.get(number)?))
    }

    /// The row of a model that only the provider's list has.
    fn listed_row(&self, entry: &ProviderEntry, table: &ModelTable, patch: &ModelPatch) -> ModelRow {
        let provider = &entry.row;
        let mut row = if let Some((like, _)) = table.find(provider, &patch.id) {
            ModelRow { id: patch.id.clone(), aliases: Vec::new(), dated: Vec::new(), ..ModelRow::clone(&like) }
        } else {
            let family = self.families.get(&provider.unknown).map(|family| family.row(&provider.id, &patch.id));
            let row = family.unwrap_or_else(|| ModelRow::minimal(&provider.id, &patch.id));
            ModelRow { confidence: Confidence::Inferred, ..row }
        };
        overlay(&mut row, patch, Origin::Provider);
        row
    }

    /// Replaces the rows of a provider.
    pub fn put(&mut self, provider: &str, rows: Vec<Arc<ModelRow>>) {
        let table = self.position_of(provider).and_then(|number| self.tables.get_mut(number));
        if let Some(table) = table {
            *table = Arc::new(ModelTable::with_first_names(rows));
        }
    }

    /// The fingerprint of a provider's rows. If it changes, model lists have to be merged again. It is computed once; empty for an
    /// unknown provider.
    pub fn fingerprint(&self, provider: &str) -> &str {
        let Some((ProviderEntry { row, .. }, table)) = self.entry_of(provider) else { return "" };
        table.fingerprint.get_or_init(|| {
            let unknown = self.families.get(&row.unknown).map(|family| family.row(&row.id, ""));
            let names = (&row.id_prefixes, &row.id_suffixes, &row.tag_separator);
            let rows: Vec<&ModelRow> = table.rows().collect();
            // An empty fingerprint never matches.
            let text = serde_json::to_vec(&(MERGE_VERSION, &row.id, names, unknown, rows)).unwrap_or_default();
            let mut out = String::new();
            if !text.is_empty() {
                // Writing into a string cannot fail.
                let _ = write!(out, "{:016x}{:016x}", hash(&text, 0), hash(&text, 1));
            }
            out
        })
    }
}

/// Applies a patch to a row and records its origin.
pub(super) fn overlay(row: &mut ModelRow, patch: &ModelPatch, origin: Origin) {
    patch.apply_to(row);
    if !row.known_from.contains(&origin) {
        row.known_from.push(origin);
    }
}

/// FNV-1a with a seed, the same on every platform.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
