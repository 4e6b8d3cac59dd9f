//! Counts over all nodes of a document, compared with the budgets at the end.

use std::sync::LazyLock;

use foldhash::HashSet;
use serde_json::Value;

use super::messages::Placeholders;
use super::rules::{NodeKeywords, requires_all_in_order};
use super::{Checker, SchemaPath, Violation};
use crate::arena::Arena;
use crate::dialect::{Capabilities, Demand, Dialect, Slot};
use crate::json::{Json, Member};
use crate::keyword::{Kw, KwSet};
use crate::read::Limits;

const DEFINITIONS: KwSet = KwSet::NONE.with(Kw::Defs).with(Kw::Definitions).with(Kw::BareDefs);

/// Counts over a document.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    properties: u64,
    enum_values: u64,
    name_chars: u64,
    optionals: u64,
    unions: u64,
    max_items: u64,
}

/// Which of the expensive counts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountScope {
    /// Those with a budget in the dialect.
    Budgets,
    /// Optional properties too.
    Optionals,
}

/// One tool's share of the budgets of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) optionals: u64,
    pub(crate) unions: u64,
    pub(crate) chars: u64,
}

/// A dialect without rules.
static NO_RULES: LazyLock<Dialect> = LazyLock::new(Dialect::empty);

pub(crate) fn count_schema(schema: &Value) -> Counts {
    let arena = Arena::default();
    let Ok(json) = Json::from_value(schema, Limits::default().bounds(), &arena) else { return Counts::default() };
    Counts { chars: printed_chars(&json), ..count_json(&json) }
}

/// [`count_schema`] without the characters.
pub(crate) fn count_json(json: &Json<'_>) -> Counts {
    let mut checker = Checker::new(json, &NO_RULES, Slot::Tool, super::Subject::default(), super::CheckMode::Exists);
    checker.counting = CountScope::Optionals;
    checker.run();
    Counts { optionals: checker.totals.optionals, unions: checker.totals.unions, chars: 0 }
}

pub(crate) fn unused_definitions<'j>(json: &'j Json<'j>) -> Vec<(Kw, &'j str)> {
    let mut checker = Checker::new(json, &NO_RULES, Slot::Tool, super::Subject::default(), super::CheckMode::Exists);
    checker.run();
    checker.references.unused()
}

impl Totals {
    pub(super) fn add(&mut self, node: &NodeKeywords<'_>, caps: &Capabilities, counting: CountScope) {
        let properties = node.properties();
        if !properties.is_empty() {
            self.properties += length(properties.len());
            if counting == CountScope::Optionals || caps.has_demand(Demand::MaxOptionals) {
                self.optionals += count_optionals(properties, node.get(Kw::Required));
            }
        }
        if caps.has_demand(Demand::MaxNameChars) {
            self.add_name_chars(node);
        }
        if let Some(values) = node.get(Kw::Enum).and_then(Json::as_arr) {
            self.enum_values += length(values.len());
        }
        if node.keywords.has(Kw::AnyOf) || matches!(node.get(Kw::Type), Some(Json::Arr(_))) {
            self.unions += 1;
        }
        self.max_items = self.max_items.saturating_add(node.get(Kw::MaxItems).and_then(Json::as_count).unwrap_or(0));
    }

    fn add_name_chars(&mut self, node: &NodeKeywords<'_>) {
        self.name_chars += names(node.properties());
        if !node.keywords.and(DEFINITIONS).is_empty() {
            let maps = node.members.iter().filter(|(key, _)| Kw::of(key).is_some_and(|kw| DEFINITIONS.has(kw)));
            self.name_chars += maps.filter_map(|(_, map)| map.as_obj()).map(names).sum::<u64>();
        }
        if let Some(values) = node.get(Kw::Enum).and_then(Json::as_arr) {
            self.name_chars += enum_chars(values);
        }
        self.name_chars += node.get(Kw::Const).map_or(0, |value| enum_chars(std::slice::from_ref(value)));
    }
}

/// The violation of an exceeded budget, before there is a document.
pub(crate) fn budget_violation(dialect: &Dialect, slot: Slot, demand: Demand, count: u64) -> Option<Violation> {
    let mut checker = Checker::new(&Json::Null, dialect, slot, super::Subject::default(), super::CheckMode::First);
    let (_, keyword, _) = BUDGETS.iter().find(|(own, ..)| *own == demand)?;
    checker.check_budget(demand, *keyword, count);
    checker.violations.pop()
}

impl Checker<'_, '_> {
    pub(super) fn check_totals(&mut self) {
        for (demand, keyword, count) in BUDGETS {
            let Some(limit) = self.caps.limit(*demand) else { continue };
            let count = count(&self.totals, self.document);
            if count > limit {
                self.check_budget(*demand, *keyword, count);
            }
        }
    }

    fn check_budget(&mut self, demand: Demand, keyword: Option<Kw>, count: u64) {
        let keyword = keyword.map_or("", Kw::name);
        for row in self.rows(demand).filter(|row| row.limit.is_some_and(|limit| count > limit)) {
            self.report_rule(row, &SchemaPath::ROOT, keyword, &Placeholders { count, ..Placeholders::default() });
        }
    }
}

type TotalReader = fn(&Totals, &Json<'_>) -> u64;

/// The budgets of one schema, the keyword each is about, and what is counted.
const BUDGETS: &[(Demand, Option<Kw>, TotalReader)] = &[
    (Demand::MaxProperties, Some(Kw::Properties), |totals, _| totals.properties),
    (Demand::MaxEnumValues, Some(Kw::Enum), |totals, _| totals.enum_values),
    (Demand::MaxNameChars, Some(Kw::Properties), |totals, _| totals.name_chars),
    (Demand::MaxOptionals, Some(Kw::Required), |totals, _| totals.optionals),
    (Demand::MaxUnions, Some(Kw::AnyOf), |totals, _| totals.unions),
    (Demand::MaxItemsSum, Some(Kw::MaxItems), |totals, _| totals.max_items),
    (Demand::MaxChars, None, |_, document| printed_chars(document)),
];

/// Enums of more values may have a budget of characters of their own.
pub(crate) const LONG_ENUM: usize = 250;

pub(crate) fn count_optionals(properties: &[Member<'_>], required: Option<&Json<'_>>) -> u64 {
    let required = required.and_then(Json::as_arr).unwrap_or_default();
    if required.is_empty() {
        return length(properties.len());
    }
    if requires_all_in_order(properties, required) {
        return 0;
    }
    let names: HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    length(properties.iter().filter(|(key, _)| !names.contains(key)).count())
}

fn names(map: &[Member<'_>]) -> u64 {
    map.iter().map(|(key, _)| char_count(key)).sum()
}

pub(crate) fn enum_chars(values: &[Json<'_>]) -> u64 {
    values.iter().map(|value| value.as_str().map_or(1, char_count)).sum()
}

fn printed_chars(json: &Json<'_>) -> u64 {
    let mut text = String::new();
    json.write(&mut text);
    char_count(&text)
}

fn char_count(text: &str) -> u64 {
    // Counting letters is dear and almost every name is ASCII.
    length(if text.is_ascii() { text.len() } else { text.chars().count() })
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
