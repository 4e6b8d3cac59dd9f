//! What several sources say of the models of one provider, made one. Precedence, field by field: the caller's configuration, then
//! the provider's own list, then the rows that come with the crate. What a source does not say is the next one's to say; an
//! absent answer is never a no.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::stock::Stock;
use super::{Catalog, Host};
use crate::model::{Confidence, ModelPatch, ModelRow, Origin};

/// The way of merging. What was merged in another way is merged again.
const MERGE: u8 = 1;

impl Catalog {
    /// The models of a provider with what its own list says put over them. A name that a row has changes that row; a name that
    /// differs from one in a tag, a date or the like becomes a row of its own with what that row says; of any other model
    /// only what the provider's models have in common is known beside the list. Rows that the list does not name stay. With an
    /// empty list the rows are those of the catalog, untouched.
    pub fn merge(&self, provider: &str, listed: &[ModelPatch]) -> Vec<Arc<ModelRow>> {
        let Some((host, stock)) = self.place(provider) else { return Vec::new() };
        let mut rows = stock.shared().to_vec();
        let mut told = BTreeSet::new();
        let mut new = BTreeSet::new();
        let is_id = |patch: &&ModelPatch| {
            let row = stock.exactly(&patch.id).and_then(|at| stock.shared().get(at));
            row.is_some_and(|row| row.id.eq_ignore_ascii_case(&patch.id))
        };
        // Where several names of a model are listed, its id speaks for it, else the first one.
        let (ids, names): (Vec<&ModelPatch>, Vec<&ModelPatch>) = listed.iter().partition(is_id);
        for patch in ids.into_iter().chain(names) {
            if let Some((at, row)) = stock.exactly(&patch.id).and_then(|at| Some((at, rows.get_mut(at)?))) {
                if told.insert(at) {
                    overlay(Arc::make_mut(row), patch, Origin::Provider);
                }
            } else if new.insert(patch.id.to_lowercase()) {
                rows.push(Arc::new(self.listed_row(host, stock, patch)));
            }
        }
        rows
    }

    fn place(&self, provider: &str) -> Option<(&Host, &Stock)> {
        let number = self.number(provider)?;
        Some((self.hosts.get(number)?, self.stocks.get(number)?))
    }

    /// The row of a model that only the provider's list names.
    fn listed_row(&self, host: &Host, stock: &Stock, patch: &ModelPatch) -> ModelRow {
        let provider = &host.row;
        let mut row = if let Some((like, _)) = stock.find(provider, &patch.id) {
            ModelRow { id: patch.id.clone(), aliases: Vec::new(), dated: Vec::new(), ..ModelRow::clone(&like) }
        } else {
            let family = self.families.get(&provider.unknown).map(|family| family.row(&provider.id, &patch.id));
            let row = family.unwrap_or_else(|| ModelRow::careful(&provider.id, &patch.id));
            ModelRow { confidence: Confidence::Inferred, ..row }
        };
        overlay(&mut row, patch, Origin::Provider);
        row
    }

    /// Puts these rows in the place of a provider's.
    pub fn put(&mut self, provider: &str, rows: Vec<Arc<ModelRow>>) {
        let stock = self.number(provider).and_then(|number| self.stocks.get_mut(number));
        if let Some(stock) = stock {
            *stock = Arc::new(Stock::lenient(rows));
        }
    }

    /// The fingerprint of what this catalog says of a provider's models: with another one, what was merged is to be merged
    /// again. It is made once. Empty where there is no such provider.
    pub fn fingerprint(&self, provider: &str) -> &str {
        let Some((Host { row, .. }, stock)) = self.place(provider) else { return "" };
        stock.fingerprint.get_or_init(|| {
            let unknown = self.families.get(&row.unknown).map(|family| family.row(&row.id, ""));
            let names = (&row.id_prefixes, &row.id_suffixes, &row.tag_separator);
            let rows: Vec<&ModelRow> = stock.rows().collect();
            // Without a text there is no fingerprint, and that never matches.
            let text = serde_json::to_vec(&(MERGE, &row.id, names, unknown, rows)).unwrap_or_default();
            let mut out = String::new();
            if !text.is_empty() {
                // Writing into a string cannot fail.
                let _ = write!(out, "{:016x}{:016x}", hash(&text, 0), hash(&text, 1));
            }
            out
        })
    }
}

/// Puts a patch over a row, with a word on where it is from.
pub(super) fn overlay(row: &mut ModelRow, patch: &ModelPatch, origin: Origin) {
    patch.over(row);
    if !row.known_from.contains(&origin) {
        row.known_from.push(origin);
    }
}

/// FNV-1a from one of several beginnings, the same on every machine.
fn hash(bytes: &[u8], beginning: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ beginning.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
