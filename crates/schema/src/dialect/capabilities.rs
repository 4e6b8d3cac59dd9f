//! The rows of a dialect as `fit` needs them: what is accepted, what is demanded, and the limits.

use std::sync::Arc;

use regex::Regex;

use super::Dialect;
use super::rows::{Demand, RuleRow, Severity, Slot, Visibility};
use crate::keyword::{Kw, KwSet, TABLE};
use crate::pattern::{Feature, Features};
use crate::spelling::Spelling;

/// The capabilities of one slot of a dialect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capabilities {
    /// Keywords that no row refuses.
    pub(crate) accepted: KwSet,
    /// True where unknown keys are accepted.
    pub(crate) unknown: bool,
    /// Keywords that have no effect, though the provider lets them by and the model reads them.
    pub(crate) ignored: KwSet,
    /// Keywords that the root refuses.
    pub(crate) root_refused: KwSet,
    /// Keywords that make `type` unnecessary.
    pub(crate) typed_by: KwSet,
    /// The same in a schema of undeclared properties.
    pub(crate) others_typed_by: KwSet,
    /// Keywords that end a cycle, beside optional properties, `null` and empty lists.
    pub(crate) cycle_exits: KwSet,
    /// Keywords that are accepted beside a union.
    pub(crate) beside_union: KwSet,
    /// Keywords that are accepted beside a reference.
    pub(crate) beside_ref: KwSet,
    pub(crate) root_ref: RootRef,
    /// The formats accepted; all of them where none is named.
    pub(crate) formats: Option<Vec<String>>,
    /// Features of patterns that are refused.
    pub(crate) pattern_refused: Features,
    /// The same for patterns of keys; providers are not known to require anchors there.
    pub(crate) key_refused: Features,
    /// The charset of keys, at the root and everywhere, each with the code of its row.
    pub(crate) root_keys: Vec<(Arc<str>, Regex)>,
    pub(crate) keys: Vec<(Arc<str>, Regex)>,
    /// How long a key may be, at the root and everywhere else.
    pub(crate) longest_root_key: usize,
    pub(crate) longest_key: usize,
    demands: u128,
    up_to: Vec<(Kw, u64)>,
    limits: Vec<(Demand, u64)>,
    /// The code of the first row with a demand, by the number of the demand.
    codes: Vec<Option<Arc<str>>>,
}

/// Demands that require a keyword on every object.
const REQUIRED_ON_OBJECTS: &[(Demand, Kw)] =
    &[(Demand::Closed, Kw::AdditionalProperties), (Demand::SaysOpen, Kw::AdditionalProperties)];

/// The position of the object that has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyDepth {
    Root,
    Below,
}

/// Whether a reference to the whole document is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RootRef {
    #[default]
    Taken,
    Refused,
}

impl Capabilities {
    pub(crate) fn of(dialect: &Dialect, slot: Slot) -> Self {
        let everything: KwSet = TABLE.iter().map(|row| row.kw).collect();
        let mut caps = Self {
            accepted: TABLE.iter().map(|row| row.kw).filter(|kw| dialect.refusal(*kw, slot).is_none()).collect(),
            ignored: TABLE
                .iter()
                .map(|row| row.kw)
                .filter(|kw| {
                    dialect
                        .refusal(*kw, slot)
                        .is_some_and(|row| row.severity == Severity::Ignored && row.visibility == Visibility::Visible)
                })
                .collect(),
            unknown: dialect.refusal_of_unknown(slot).is_none(),
            typed_by: everything,
            others_typed_by: everything,
            cycle_exits: everything,
            beside_union: everything,
            beside_ref: everything,
            ..Self::default()
        };
        for row in TABLE {
            if let Some(limit) = dialect.refusal(row.kw, slot).and_then(|refusal| refusal.up_to) {
                caps.up_to.push((row.kw, limit));
            }
        }
        for rule in dialect.rule_rows(slot) {
            caps.apply_rule(rule);
        }
        caps.longest_root_key = Spelling(&|key| caps.accepts_key(key, KeyDepth::Root)).limit();
        caps.longest_key = Spelling(&|key| caps.accepts_key(key, KeyDepth::Below)).limit();
        caps
    }

    pub(crate) fn accepts_key(&self, key: &str, depth: KeyDepth) -> bool {
        let rules = self.keys.iter().chain(self.root_keys.iter().filter(|_| depth == KeyDepth::Root));
        rules.into_iter().all(|(_, rule)| rule.is_match(key))
    }

    pub(crate) fn has_demand(&self, demand: Demand) -> bool {
        self.demands & (1 << (demand as u8)) != 0
    }

    /// Keywords of `OpenAPI` slots without meaning here, even if accepted: `nullable` where `null` is a type, and `ref` where any
    /// key is accepted.
    pub(super) fn meaningless_keywords(&self) -> KwSet {
        let mut meant = KwSet::NONE;
        if self.has_demand(Demand::NoNull) {
            meant.insert(Kw::Nullable);
        }
        if !self.unknown {
            meant = meant.with(Kw::BareRef).with(Kw::BareDefs);
        }
        KwSet::NONE.with(Kw::Nullable).with(Kw::BareRef).with(Kw::BareDefs).without(meant.and(self.accepted))
    }

    /// The keyword that every object must have and none may have, with its demand: no object fits.
    pub(super) fn contradictory_keyword(&self) -> Option<(Demand, Kw)> {
        let torn = REQUIRED_ON_OBJECTS.iter().find(|(demand, kw)| self.has_demand(*demand) && !self.accepts(*kw));
        torn.copied().filter(|_| self.has_demand(Demand::RootObject))
    }

    pub(super) fn remove_accepted(&mut self, words: KwSet) {
        self.accepted = self.accepted.without(words);
    }

    pub(crate) fn accepts(&self, kw: Kw) -> bool {
        self.accepted.has(kw)
    }

    pub(crate) fn accepts_count(&self, kw: Kw, count: u64) -> bool {
        self.accepts(kw) || self.up_to.iter().any(|(own, limit)| *own == kw && count <= *limit)
    }

    pub(crate) fn limit(&self, demand: Demand) -> Option<u64> {
        self.limits.iter().find(|(own, _)| *own == demand).map(|(_, limit)| *limit)
    }

    /// The code of the first row with a demand.
    pub(crate) fn code(&self, demand: Demand) -> Option<&Arc<str>> {
        self.codes.get(demand as usize)?.as_ref()
    }

    fn apply_rule(&mut self, rule: &RuleRow) {
        let place = rule.demand as usize;
        if self.codes.len() <= place {
            self.codes.resize(place + 1, None);
        }
        if let Some(code) = self.codes.get_mut(place) {
            code.get_or_insert_with(|| Arc::clone(&rule.code));
        }
        self.demands |= 1 << (rule.demand as u8);
        if let Some(limit) = rule.limit {
            match self.limits.iter_mut().find(|(own, _)| *own == rule.demand) {
                Some((_, own)) => *own = limit.min(*own),
                None => self.limits.push((rule.demand, limit)),
            }
        }
        if let Some(pattern) = rule.pattern.as_deref().and_then(|text| Regex::new(text).ok()) {
            if rule.demand == Demand::RootKeys {
                self.root_keys.push((Arc::clone(&rule.code), pattern));
            } else if rule.demand == Demand::Keys {
                self.keys.push((Arc::clone(&rule.code), pattern));
            }
        }
        if rule.demand == Demand::RootPlain {
            self.root_refused = self.root_refused.or(rule.refused);
        } else if rule.demand == Demand::Typed {
            self.typed_by = self.typed_by.and(rule.allowed);
        } else if rule.demand == Demand::OthersTyped {
            self.others_typed_by = self.others_typed_by.and(rule.allowed);
        } else if rule.demand == Demand::CycleOptional {
            self.cycle_exits = self.cycle_exits.and(rule.allowed);
        } else if rule.demand == Demand::UnionAlone {
            self.beside_union = self.beside_union.and(rule.allowed);
        } else if rule.demand == Demand::RefAlone {
            self.beside_ref = self.beside_ref.and(rule.allowed);
        } else if rule.demand == Demand::RefToDefs {
            if !rule.allow.iter().any(|place| place == "#") {
                self.root_ref = RootRef::Refused;
            }
        } else if rule.demand == Demand::Formats {
            let both = match self.formats.take() {
                Some(own) => own.into_iter().filter(|format| rule.allow.contains(format)).collect(),
                None => rule.allow.clone(),
            };
            self.formats = Some(both);
        } else if rule.demand == Demand::Patterns {
            for feature in rule.refuse.iter().filter_map(|name| Feature::named(name)) {
                self.pattern_refused.insert(feature);
                if feature != Feature::Unanchored {
                    self.key_refused.insert(feature);
                }
            }
        }
    }
}
