//! Checks the values of keywords against the 2020-12 meta-schema.

use super::messages::{LONGEST_VALUE, Placeholders, python_repr};
use super::{CheckMode, Checker, SchemaPath};
use crate::dialect::{Demand, RuleRow};
use crate::json::{Json, Member, are_distinct_texts, cut};
use crate::keyword::{KeywordValue, Kw};
use crate::types::Types;

impl<'c> Checker<'c, '_> {
    pub(super) fn check_well_formed(&mut self, members: &[Member<'_>], path: &SchemaPath<'_>, leniency: Leniency) {
        for (key, value) in members {
            let Some(kw) = Kw::of(key) else { continue };
            if is_well_formed(kw, value, leniency) {
                continue;
            }
            let validator_message = jsonschema_error(kw, value);
            for row in self.rows_for_malformed(MalformedValue::of(kw, value)) {
                let placeholders = Placeholders {
                    value: Some(value),
                    validator_message: &validator_message,
                    ..Placeholders::default()
                };
                self.report_rule_in_keyword(row, path, key, &placeholders);
            }
        }
    }

    /// The rows that name this kind of malformed value, or else those that name none.
    pub(super) fn rows_for_malformed(&self, malformed: MalformedValue) -> impl Iterator<Item = &'c RuleRow> + use<'c> {
        let speaks = move |row: &RuleRow| row.refuse.iter().any(|name| name == malformed.name());
        let known = self.rows(Demand::WellFormed).any(speaks);
        self.rows(Demand::WellFormed).filter(move |row| if known { speaks(row) } else { row.refuse.is_empty() })
    }
}

/// The kinds of malformed values for which providers have different messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MalformedValue {
    /// A list in the place of one value.
    List,
    /// An unknown type name.
    TypeName,
    /// No schema where one is needed.
    Schema,
    /// Anything else.
    Other,
}

impl MalformedValue {
    /// The kinds that rows may name.
    pub(crate) const NAMED: [Self; 3] = [Self::List, Self::TypeName, Self::Schema];

    fn of(kw: Kw, value: &Json<'_>) -> Self {
        match (kw.info().holds, value) {
            (KeywordValue::TypeNames, Json::Str(_)) => Self::TypeName,
            (
                KeywordValue::SchemaList
                | KeywordValue::Names
                | KeywordValue::Values
                | KeywordValue::Data
                | KeywordValue::TypeNames,
                _,
            ) => Self::Other,
            (_, Json::Arr(_)) => Self::List,
            _ => Self::Other,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::TypeName => "type-name",
            Self::Schema => "schema",
            Self::Other => "other",
        }
    }
}

/// What a provider accepts beyond the meta-schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leniency {
    /// Reads type names: some providers accept upper case.
    named: fn(&str) -> Option<Types>,
    /// Counts in quotes.
    quoted_counts: Tolerated,
    /// Repeated names in `required`.
    repeated_names: Tolerated,
    /// Any value of keywords that only other drafts know.
    other_drafts: Tolerated,
    /// `null` for no properties and nothing required, at the root.
    root_nulls: Tolerated,
}

impl Leniency {
    fn tolerates(self, kw: Kw, value: &Json<'_>) -> bool {
        let passed_over = self.other_drafts == Tolerated::Yes && !kw.is_in_2020_12();
        let nothing = matches!(value, Json::Null) && matches!(kw, Kw::Properties | Kw::Required);
        passed_over || (self.root_nulls == Tolerated::Yes && nothing)
    }

    /// The leniency below the root.
    pub(super) fn below(self) -> Self {
        Self { root_nulls: Tolerated::No, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tolerated {
    No,
    Yes,
}

/// `None` where the dialect has no rule about form.
pub(super) fn leniency_of(rules: &[RuleRow], mode: CheckMode) -> Option<Leniency> {
    let rows = || rules.iter().filter(|row| row.demand == Demand::WellFormed);
    let allowed = |word: &str| rows().all(|row| row.allow.iter().any(|name| name == word));
    rows().next()?;
    let named = if allowed("upper-case-types") { Types::named } else { Types::spelled };
    let taken = |word: &str| if allowed(word) { Tolerated::Yes } else { Tolerated::No };
    // What fits says a name once, whoever takes it twice, and nothing by `null`: it is no JSON Schema otherwise.
    let tolerated_in_messages = |word: &str| if mode == CheckMode::Exists { Tolerated::No } else { taken(word) };
    Some(Leniency {
        named,
        quoted_counts: taken("quoted-counts"),
        repeated_names: tolerated_in_messages("repeated-names"),
        other_drafts: taken("other-drafts"),
        root_nulls: tolerated_in_messages("root-nulls"),
    })
}

pub(super) fn is_well_formed(kw: Kw, value: &Json<'_>, leniency: Leniency) -> bool {
    matches_meta_schema(kw, value, leniency) || leniency.tolerates(kw, value)
}

fn matches_meta_schema(kw: Kw, value: &Json<'_>, leniency: Leniency) -> bool {
    match kw.info().holds {
        // Values that are schemas themselves are judged as such when the walk reaches them.
        KeywordValue::Schema if kw == Kw::Items => !matches!(value, Json::Arr(_)),
        KeywordValue::Schema | KeywordValue::Data | KeywordValue::SchemaOrNamesMap => true,
        KeywordValue::SchemaList => matches!(value, Json::Arr(items) if !items.is_empty()),
        KeywordValue::SchemaMap => matches!(value, Json::Obj(_)),
        KeywordValue::TypeNames => match value {
            Json::Str(_) => is_type(value, leniency),
            Json::Arr(names) => {
                !names.is_empty() && names.iter().all(|name| is_type(name, leniency)) && are_distinct_texts(names)
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_) => false,
        },
        KeywordValue::Names => matches!(value, Json::Arr(names) if is_name_list(names, leniency)),
        KeywordValue::NamesMap => {
            let named = |names: &[Json<'_>]| is_name_list(names, leniency);
            value.as_obj().is_some_and(|map| map.iter().all(|(_, names)| names.as_arr().is_some_and(named)))
        }
        KeywordValue::Count => {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            value.as_count().is_some()
                || (leniency.quoted_counts == Tolerated::Yes && value.as_str().is_some_and(digits))
        }
        KeywordValue::Number => {
            let positive = kw != Kw::MultipleOf || value.as_f64().is_some_and(|number| number > 0.0);
            matches!(value, Json::Num(_)) && positive
        }
        KeywordValue::Flag => matches!(value, Json::Bool(_)),
        KeywordValue::Text => matches!(value, Json::Str(_)),
        KeywordValue::Values => matches!(value, Json::Arr(_)),
    }
}

/// The message of Python's `jsonschema` about a malformed value.
fn jsonschema_error(kw: Kw, value: &Json<'_>) -> String {
    let shown = cut(python_repr(value), LONGEST_VALUE);
    let is_not = |kind: &str| format!("{shown} is not of type '{kind}'");
    match (kw.info().holds, value) {
        (KeywordValue::TypeNames, _) => format!("{shown} is not valid under any of the given schemas"),
        (KeywordValue::SchemaList, Json::Arr([])) => format!("{shown} should be non-empty"),
        (KeywordValue::Names, Json::Arr(names)) => match names.iter().find(|name| name.as_str().is_none()) {
            Some(name) => format!("{} is not of type 'string'", cut(python_repr(name), LONGEST_VALUE)),
            None => format!("{shown} has non-unique elements"),
        },
        (KeywordValue::NamesMap, Json::Obj(map)) => {
            let bad = map.iter().find(|(_, names)| names.as_arr().is_none_or(|names| !are_distinct_texts(names)));
            bad.map_or_else(|| is_not("object"), |(_, names)| jsonschema_error(Kw::Required, names))
        }
        (KeywordValue::Count, Json::Num(number)) if number.as_i64().is_some() => {
            format!("{shown} is less than the minimum of 0")
        }
        (KeywordValue::Number, Json::Num(_)) => format!("{shown} is less than or equal to the minimum of 0"),
        (KeywordValue::Schema, _) => not_a_schema_error(value),
        (KeywordValue::SchemaMap | KeywordValue::NamesMap | KeywordValue::SchemaOrNamesMap | KeywordValue::Data, _) => {
            is_not("object")
        }
        (KeywordValue::SchemaList | KeywordValue::Names | KeywordValue::Values, _) => is_not("array"),
        (KeywordValue::Count, _) => is_not("integer"),
        (KeywordValue::Number, _) => is_not("number"),
        (KeywordValue::Flag, _) => is_not("boolean"),
        (KeywordValue::Text, _) => is_not("string"),
    }
}

/// The same about a value that is no schema.
pub(super) fn not_a_schema_error(value: &Json<'_>) -> String {
    format!("{} is not of type 'object', 'boolean'", cut(python_repr(value), LONGEST_VALUE))
}

fn is_type(name: &Json<'_>, leniency: Leniency) -> bool {
    name.as_str().and_then(leniency.named).is_some()
}

fn is_name_list(names: &[Json<'_>], leniency: Leniency) -> bool {
    let distinct = || leniency.repeated_names == Tolerated::Yes || are_distinct_texts(names);
    names.iter().all(|name| name.as_str().is_some()) && distinct()
}
