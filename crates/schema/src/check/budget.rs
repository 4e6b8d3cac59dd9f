//! What a document costs: counts over all its nodes, judged against the budgets at the end.

use std::sync::LazyLock;

use foldhash::HashSet;
use serde_json::Value;

use super::node::{Seen, run_in_step};
use super::text::Blanks;
use super::{Checker, Spot, Violation};
use crate::arena::Arena;
use crate::dialect::{Caps, Demand, Dialect, Slot};
use crate::json::{Json, Member};
use crate::keyword::{Kw, KwSet};
use crate::read::Limits;

/// The words for definitions.
const DEFINITIONS: KwSet = KwSet::NONE.with(Kw::Defs).with(Kw::Definitions).with(Kw::OpenDefs);

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

/// Which of the counts that are dear are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// Those that a budget of the dialect asks for.
    Budgets,
    /// Properties that are not required too.
    Optionals,
}

/// What one tool adds to the budgets of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) optionals: u64,
    pub(crate) unions: u64,
    pub(crate) chars: u64,
}

/// A dialect without rules.
static NOTHING: LazyLock<Dialect> = LazyLock::new(Dialect::empty);

/// Counts what a schema adds to the budgets of a request.
pub(crate) fn counts(schema: &Value) -> Counts {
    let arena = Arena::default();
    let Ok(json) = Json::from_value(schema, Limits::default().bounds(), &arena) else { return Counts::default() };
    Counts { chars: printed(&json), ..counts_of(&json) }
}

/// The same of a schema whose characters nobody asks for.
pub(crate) fn counts_of(json: &Json<'_>) -> Counts {
    let mut checker = Checker::new(json, &NOTHING, Slot::Tool, super::Subject::default(), super::Depth::First);
    checker.counting = Counting::Optionals;
    checker.run();
    Counts { optionals: checker.totals.optionals, unions: checker.totals.unions, chars: 0 }
}

/// The definitions at the root that nothing refers to.
pub(crate) fn unused_definitions<'j>(json: &'j Json<'j>) -> Vec<(Kw, &'j str)> {
    let mut checker = Checker::new(json, &NOTHING, Slot::Tool, super::Subject::default(), super::Depth::First);
    checker.run();
    checker.links.unused()
}

impl Totals {
    pub(super) fn add(&mut self, seen: &Seen<'_>, caps: &Caps, counting: Counting) {
        let properties = seen.properties();
        if !properties.is_empty() {
            self.properties += length(properties.len());
            if counting == Counting::Optionals || caps.must(Demand::MaxOptionals) {
                self.optionals += optionals(properties, seen.get(Kw::Required));
            }
        }
        if caps.must(Demand::MaxNameChars) {
            self.add_letters(seen);
        }
        if let Some(values) = seen.get(Kw::Enum).and_then(Json::as_arr) {
            self.enum_values += length(values.len());
        }
        if seen.keywords.has(Kw::AnyOf) || matches!(seen.get(Kw::Type), Some(Json::Arr(_))) {
            self.unions += 1;
        }
        self.max_items = self.max_items.saturating_add(seen.get(Kw::MaxItems).and_then(Json::as_count).unwrap_or(0));
    }

    fn add_letters(&mut self, seen: &Seen<'_>) {
        self.name_chars += names(seen.properties());
        if !seen.keywords.and(DEFINITIONS).is_empty() {
            let maps = seen.members.iter().filter(|(key, _)| Kw::of(key).is_some_and(|kw| DEFINITIONS.has(kw)));
            self.name_chars += maps.filter_map(|(_, map)| map.as_obj()).map(names).sum::<u64>();
        }
        if let Some(values) = seen.get(Kw::Enum).and_then(Json::as_arr) {
            self.name_chars += enum_chars(values);
        }
        self.name_chars += seen.get(Kw::Const).map_or(0, |value| enum_chars(std::slice::from_ref(value)));
    }
}

/// The verdict on a budget that is overdrawn, before there is a document.
pub(crate) fn overdrawn(dialect: &Dialect, slot: Slot, demand: Demand, count: u64) -> Option<Violation> {
    let mut checker = Checker::new(&Json::Null, dialect, slot, super::Subject::default(), super::Depth::One);
    let (_, keyword, _) = BUDGETS.iter().find(|(own, ..)| *own == demand)?;
    checker.judge_budget(demand, *keyword, count);
    checker.violations.pop()
}

impl Checker<'_, '_> {
    pub(super) fn judge_totals(&mut self) {
        for (demand, keyword, count) in BUDGETS {
            let Some(limit) = self.caps.limit(*demand) else { continue };
            let count = count(&self.totals, self.document);
            if count > limit {
                self.judge_budget(*demand, *keyword, count);
            }
        }
    }

    fn judge_budget(&mut self, demand: Demand, keyword: Option<Kw>, count: u64) {
        let keyword = keyword.map_or("", Kw::name);
        for row in self.rows(demand).filter(|row| row.limit.is_some_and(|limit| count > limit)) {
            self.violate(row, &Spot::ROOT, keyword, &Blanks { count, ..Blanks::default() });
        }
    }
}

/// Reads one count.
type Count = fn(&Totals, &Json<'_>) -> u64;

/// The budgets of one schema, the keyword each is about, and what is counted.
const BUDGETS: &[(Demand, Option<Kw>, Count)] = &[
    (Demand::MaxProperties, Some(Kw::Properties), |totals, _| totals.properties),
    (Demand::MaxEnumValues, Some(Kw::Enum), |totals, _| totals.enum_values),
    (Demand::MaxNameChars, Some(Kw::Properties), |totals, _| totals.name_chars),
    (Demand::MaxOptionals, Some(Kw::Required), |totals, _| totals.optionals),
    (Demand::MaxUnions, Some(Kw::AnyOf), |totals, _| totals.unions),
    (Demand::MaxItemsSum, Some(Kw::MaxItems), |totals, _| totals.max_items),
    (Demand::MaxChars, None, |_, document| printed(document)),
];

/// Enums of more values may have a budget of characters of their own.
pub(crate) const LONG_ENUM: usize = 250;

/// How many of an object's properties are not required.
pub(crate) fn optionals(properties: &[Member<'_>], required: Option<&Json<'_>>) -> u64 {
    let required = required.and_then(Json::as_arr).unwrap_or_default();
    if required.is_empty() {
        return length(properties.len());
    }
    if run_in_step(properties, required) {
        return 0;
    }
    let names: HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    length(properties.iter().filter(|(key, _)| !names.contains(key)).count())
}

/// The characters of the names in a map.
fn names(map: &[Member<'_>]) -> u64 {
    map.iter().map(|(key, _)| letters(key)).sum()
}

/// The characters of an enum's values.
pub(crate) fn enum_chars(values: &[Json<'_>]) -> u64 {
    values.iter().map(|value| value.as_str().map_or(1, letters)).sum()
}

fn printed(json: &Json<'_>) -> u64 {
    let mut text = String::new();
    json.write(&mut text);
    letters(&text)
}

fn letters(text: &str) -> u64 {
    // Counting letters is dear and almost every name is ASCII.
    length(if text.is_ascii() { text.len() } else { text.chars().count() })
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
