//! Whether the keywords of a node hold what the 2020-12 meta-schema lets them hold.

use super::text::Blanks;
use super::{Checker, Spot};
use crate::dialect::{Demand, RuleRow};
use crate::json::{Json, Member, are_distinct_texts};
use crate::keyword::{Holds, Kw};
use crate::types::Types;

impl Checker<'_, '_> {
    pub(super) fn judge_form(&mut self, members: &[Member<'_>], spot: &Spot<'_>, case: Case) {
        for (key, value) in members {
            let Some(kw) = Kw::of(key) else { continue };
            if fits(kw, value, case) {
                continue;
            }
            for row in self.rows(Demand::WellFormed) {
                let blanks = Blanks { value: Some(value), kind: wanted(kw), ..Blanks::default() };
                self.violate_in(row, spot, key, &blanks);
            }
        }
    }
}

/// How type names may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    Any,
}

/// How type names may be written, where anything is asked of the form at all.
pub(super) fn case_of(rules: &[RuleRow]) -> Option<Case> {
    let mut rows = rules.iter().filter(|row| row.demand == Demand::WellFormed).peekable();
    rows.peek()?;
    let any = rows.all(|row| row.allow.iter().any(|name| name == "upper-case-types"));
    Some(if any { Case::Any } else { Case::Lower })
}

/// Whether a keyword holds what it should.
pub(super) fn fits(kw: Kw, value: &Json<'_>, case: Case) -> bool {
    match kw.row().holds {
        // Values that are schemas themselves are judged as such when the walk reaches them.
        Holds::Schema if kw == Kw::Items => !matches!(value, Json::Arr(_)),
        Holds::Schema | Holds::Data | Holds::SchemaOrNamesMap => true,
        Holds::SchemaList => matches!(value, Json::Arr(items) if !items.is_empty()),
        Holds::SchemaMap => matches!(value, Json::Obj(_)),
        Holds::TypeNames => match value {
            Json::Str(_) => is_type(value, case),
            Json::Arr(names) => {
                !names.is_empty() && names.iter().all(|name| is_type(name, case)) && are_distinct_texts(names)
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_) => false,
        },
        Holds::Names => matches!(value, Json::Arr(names) if is_names(names)),
        Holds::NamesMap => {
            value.as_obj().is_some_and(|map| map.iter().all(|(_, names)| names.as_arr().is_some_and(is_names)))
        }
        Holds::Count => {
            // Where type names may be in capitals, the parser takes a count in quotes too.
            let quoted = || case == Case::Any && value.as_str().is_some_and(|text| text.parse::<u64>().is_ok());
            value.as_count().is_some() || quoted()
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

/// What a keyword should hold.
fn wanted(kw: Kw) -> &'static str {
    match kw.row().holds {
        // As it stands between quotes.
        Holds::Schema => "object', 'boolean",
        Holds::SchemaMap | Holds::NamesMap | Holds::SchemaOrNamesMap | Holds::Data => "object",
        Holds::SchemaList | Holds::Names | Holds::Values => "array",
        Holds::Count => "integer",
        Holds::Number => "number",
        Holds::Flag => "boolean",
        Holds::TypeNames | Holds::Text => "string",
    }
}

fn is_type(name: &Json<'_>, case: Case) -> bool {
    let named = match case {
        Case::Lower => Types::spelled,
        Case::Any => Types::named,
    };
    name.as_str().and_then(named).is_some()
}

fn is_names(names: &[Json<'_>]) -> bool {
    names.iter().all(|name| name.as_str().is_some()) && are_distinct_texts(names)
}
