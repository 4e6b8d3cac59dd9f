//! Whether the keywords of a node hold what the 2020-12 meta-schema lets them hold.

use super::text::Blanks;
use super::{Checker, Depth, Spot};
use crate::dialect::{Demand, RuleRow};
use crate::json::{Json, Member, are_distinct_texts};
use crate::keyword::{Holds, Kw};
use crate::types::Types;

impl Checker<'_, '_> {
    pub(super) fn judge_form(&mut self, members: &[Member<'_>], spot: &Spot<'_>, lenience: Lenience) {
        for (key, value) in members {
            let Some(kw) = Kw::of(key) else { continue };
            if fits(kw, value, lenience) {
                continue;
            }
            for row in self.rows(Demand::WellFormed) {
                let blanks = Blanks { value: Some(value), kind: wanted(kw), ..Blanks::default() };
                self.violate_in(row, spot, key, &blanks);
            }
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
    // What fits says a name once, whoever takes it twice: it is no JSON Schema otherwise.
    let repeated_names = if depth == Depth::First { Taken::No } else { taken("repeated-names") };
    Some(Lenience { named, quoted_counts: taken("quoted-counts"), repeated_names })
}

/// Whether a keyword holds what it should.
pub(super) fn fits(kw: Kw, value: &Json<'_>, lenience: Lenience) -> bool {
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

fn is_type(name: &Json<'_>, lenience: Lenience) -> bool {
    name.as_str().and_then(lenience.named).is_some()
}

fn is_names(names: &[Json<'_>], lenience: Lenience) -> bool {
    let distinct = || lenience.repeated_names == Taken::Yes || are_distinct_texts(names);
    names.iter().all(|name| name.as_str().is_some()) && distinct()
}
