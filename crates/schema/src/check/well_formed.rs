//! Whether the keywords of a node hold what the 2020-12 meta-schema lets them hold.

use super::text::{Blanks, LONGEST_VALUE, python};
use super::{Checker, Depth, Spot};
use crate::dialect::{Demand, RuleRow};
use crate::json::{Json, Member, are_distinct_texts, cut};
use crate::keyword::{Holds, Kw};
use crate::types::Types;

impl<'c> Checker<'c, '_> {
    pub(super) fn judge_form(&mut self, members: &[Member<'_>], spot: &Spot<'_>, lenience: Lenience) {
        for (key, value) in members {
            let Some(kw) = Kw::of(key) else { continue };
            if fits(kw, value, lenience) {
                continue;
            }
            let wrong = wrong(kw, value);
            for row in self.rows_about(Misfit::of(kw, value)) {
                let blanks = Blanks { value: Some(value), wrong: &wrong, ..Blanks::default() };
                self.violate_in(row, spot, key, &blanks);
            }
        }
    }

    /// The rows about a misfit: those that name it, or else those that name none.
    pub(super) fn rows_about(&self, misfit: Misfit) -> impl Iterator<Item = &'c RuleRow> + use<'c> {
        let speaks = move |row: &RuleRow| row.refuse.iter().any(|name| name == misfit.name());
        let known = self.rows(Demand::WellFormed).any(speaks);
        self.rows(Demand::WellFormed).filter(move |row| if known { speaks(row) } else { row.refuse.is_empty() })
    }
}

/// How a value is not what should stand there, as far as providers speak of it in different words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// A list where there may be one thing.
    List,
    /// A name that is no type.
    TypeName,
    /// Something else where a schema must stand.
    Schema,
    /// Anything else.
    Other,
}

impl Misfit {
    /// Those that a row may name.
    pub(crate) const NAMED: [Self; 3] = [Self::List, Self::TypeName, Self::Schema];

    fn of(kw: Kw, value: &Json<'_>) -> Self {
        match (kw.row().holds, value) {
            (Holds::TypeNames, Json::Str(_)) => Self::TypeName,
            (Holds::SchemaList | Holds::Names | Holds::Values | Holds::Data | Holds::TypeNames, _) => Self::Other,
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

/// What is taken besides what the meta-schema says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lenience {
    /// The types by the names that are taken: some take them in capitals.
    named: fn(&str) -> Option<Types>,
    /// Counts in quotes.
    quoted_counts: Taken,
    /// Names that stand twice in a list of required ones.
    repeated_names: Taken,
    /// Whatever keywords hold that only other drafts know.
    other_drafts: Taken,
    /// `null` for no properties and nothing required, at the root.
    root_nulls: Taken,
}

impl Lenience {
    /// Whether what a keyword should not hold is not looked at.
    fn lets_by(self, kw: Kw, value: &Json<'_>) -> bool {
        let passed_over = self.other_drafts == Taken::Yes && !kw.is_of_2020();
        let nothing = matches!(value, Json::Null) && matches!(kw, Kw::Properties | Kw::Required);
        passed_over || (self.root_nulls == Taken::Yes && nothing)
    }

    /// The same below the root.
    pub(super) fn below(self) -> Self {
        Self { root_nulls: Taken::No, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    No,
    Yes,
}

/// What is taken of the form, where anything is asked of it at all.
pub(super) fn lenience_of(rules: &[RuleRow], depth: Depth) -> Option<Lenience> {
    let rows = || rules.iter().filter(|row| row.demand == Demand::WellFormed);
    let allowed = |word: &str| rows().all(|row| row.allow.iter().any(|name| name == word));
    rows().next()?;
    let named = if allowed("upper-case-types") { Types::named } else { Types::spelled };
    let taken = |word: &str| if allowed(word) { Taken::Yes } else { Taken::No };
    // What fits says a name once, whoever takes it twice, and nothing by `null`: it is no JSON Schema otherwise.
    let taken_if_told = |word: &str| if depth == Depth::First { Taken::No } else { taken(word) };
    Some(Lenience {
        named,
        quoted_counts: taken("quoted-counts"),
        repeated_names: taken_if_told("repeated-names"),
        other_drafts: taken("other-drafts"),
        root_nulls: taken_if_told("root-nulls"),
    })
}

/// Whether a keyword holds what it should.
pub(super) fn fits(kw: Kw, value: &Json<'_>, lenience: Lenience) -> bool {
    holds_it(kw, value, lenience) || lenience.lets_by(kw, value)
}

/// Whether a keyword holds what its draft says.
fn holds_it(kw: Kw, value: &Json<'_>, lenience: Lenience) -> bool {
    match kw.row().holds {
        // Values that are schemas themselves are judged as such when the walk reaches them.
        Holds::Schema if kw == Kw::Items => !matches!(value, Json::Arr(_)),
        Holds::Schema | Holds::Data | Holds::SchemaOrNamesMap => true,
        Holds::SchemaList => matches!(value, Json::Arr(items) if !items.is_empty()),
        Holds::SchemaMap => matches!(value, Json::Obj(_)),
        Holds::TypeNames => match value {
            Json::Str(_) => is_type(value, lenience),
            Json::Arr(names) => {
                !names.is_empty() && names.iter().all(|name| is_type(name, lenience)) && are_distinct_texts(names)
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_) => false,
        },
        Holds::Names => matches!(value, Json::Arr(names) if is_names(names, lenience)),
        Holds::NamesMap => {
            let named = |names: &[Json<'_>]| is_names(names, lenience);
            value.as_obj().is_some_and(|map| map.iter().all(|(_, names)| names.as_arr().is_some_and(named)))
        }
        Holds::Count => {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            value.as_count().is_some() || (lenience.quoted_counts == Taken::Yes && value.as_str().is_some_and(digits))
        }
        Holds::Number => {
            let positive = kw != Kw::MultipleOf || value.as_f64().is_some_and(|number| number > 0.0);
            matches!(value, Json::Num(_)) && positive
        }
        Holds::Flag => matches!(value, Json::Bool(_)),
        Holds::Text => matches!(value, Json::Str(_)),
        Holds::Values => matches!(value, Json::Arr(_)),
    }
}

/// What Python's `jsonschema` says of a value that a keyword may not hold.
fn wrong(kw: Kw, value: &Json<'_>) -> String {
    let shown = cut(python(value), LONGEST_VALUE);
    let is_not = |kind: &str| format!("{shown} is not of type '{kind}'");
    match (kw.row().holds, value) {
        (Holds::TypeNames, _) => format!("{shown} is not valid under any of the given schemas"),
        (Holds::SchemaList, Json::Arr([])) => format!("{shown} should be non-empty"),
        (Holds::Names, Json::Arr(names)) => match names.iter().find(|name| name.as_str().is_none()) {
            Some(name) => format!("{} is not of type 'string'", cut(python(name), LONGEST_VALUE)),
            None => format!("{shown} has non-unique elements"),
        },
        (Holds::NamesMap, Json::Obj(map)) => {
            let bad = map.iter().find(|(_, names)| names.as_arr().is_none_or(|names| !are_distinct_texts(names)));
            bad.map_or_else(|| is_not("object"), |(_, names)| wrong(Kw::Required, names))
        }
        (Holds::Count, Json::Num(number)) if number.as_i64().is_some() => {
            format!("{shown} is less than the minimum of 0")
        }
        (Holds::Number, Json::Num(_)) => format!("{shown} is less than or equal to the minimum of 0"),
        (Holds::Schema, _) => no_schema(value),
        (Holds::SchemaMap | Holds::NamesMap | Holds::SchemaOrNamesMap | Holds::Data, _) => is_not("object"),
        (Holds::SchemaList | Holds::Names | Holds::Values, _) => is_not("array"),
        (Holds::Count, _) => is_not("integer"),
        (Holds::Number, _) => is_not("number"),
        (Holds::Flag, _) => is_not("boolean"),
        (Holds::Text, _) => is_not("string"),
    }
}

/// The same of a value that is no schema.
pub(super) fn no_schema(value: &Json<'_>) -> String {
    format!("{} is not of type 'object', 'boolean'", cut(python(value), LONGEST_VALUE))
}

fn is_type(name: &Json<'_>, lenience: Lenience) -> bool {
    name.as_str().and_then(lenience.named).is_some()
}

fn is_names(names: &[Json<'_>], lenience: Lenience) -> bool {
    let distinct = || lenience.repeated_names == Taken::Yes || are_distinct_texts(names);
    names.iter().all(|name| name.as_str().is_some()) && distinct()
}
