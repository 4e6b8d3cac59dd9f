//! Mends what `check` finds in a printed schema and only the whole of it shows: lists of objects that have a greatest length
//! although they may not, and loops without a way out. What is found together is mended in one walk.

use std::borrow::Cow;

use foldhash::{HashMap, HashSet};

use super::budget::unbounded;
use super::null::or_null;
use crate::arena::Arena;
use crate::check::{KeyIndex, Subject, Violation, check_json};
use crate::dialect::{Capabilities, Demand, Dialect, Slot};
use crate::json::{Json, pointer_tokens};
use crate::keyword::{Kw, keywords_along};
use polywire_report::{Action, Change, Effect};

/// The same schema with all of that mended, as far as the dialect asks for it.
pub(super) fn mended<'d>(
    json: Json<'d>,
    dialect: &Dialect,
    slot: Slot,
    arena: &'d Arena,
    changes: &mut Vec<Change>,
) -> Json<'d> {
    let mut mender = Mender { dialect, caps: dialect.caps(slot), slot, arena, changes };
    let json = mender.unbound_object_lists(json);
    mender.soften_loops(json)
}

struct Mender<'d, 'm> {
    dialect: &'m Dialect,
    caps: &'m Capabilities,
    slot: Slot,
    arena: &'d Arena,
    changes: &'m mut Vec<Change>,
}

impl<'d> Mender<'d, '_> {
    /// Takes the greatest length from lists of objects where that is known by what their items refer to.
    fn unbound_object_lists(&mut self, json: Json<'d>) -> Json<'d> {
        let mut mends = Mends::default();
        for violation in self.violations_of(&json, Demand::ObjectListsUnbounded) {
            mends.add(&tokens_of(&violation), Mend::Unbounded);
            self.tell(violation, Kw::MaxItems, Action::Described, "moved into the description");
        }
        mends.applied(json, self.caps, self.arena)
    }

    /// Gives every loop of required properties a way out, by making one of them optional, or else something on the way nullable.
    fn soften_loops(&mut self, mut json: Json<'d>) -> Json<'d> {
        // What is left of loops that have edges in common shows when these are broken.
        for _ in 0..MOST_ROUNDS {
            let whole = self.arena.keep(json);
            let (mut mends, mut known) = (Mends::default(), Known::default());
            let mut softened: HashSet<Vec<String>> = HashSet::default();
            for violation in self.violations_of(whole, Demand::CycleOptional) {
                let tokens = tokens_of(&violation);
                let passes = |end| tokens.get(..end).is_some_and(|way| softened.contains(way));
                if violation.keyword != Kw::Ref.name() || (1..=tokens.len()).any(passes) {
                    continue;
                }
                let Some(WayOut { place, way, mend }) = way_out(whole, &tokens, &mut known) else { continue };
                let (kw, detail) = match mend {
                    Mend::NullValues | Mend::OrNull => (Kw::Type, "`null` is let by, so that the loop has a way out"),
                    Mend::Optional(_) | Mend::Empty | Mend::Unbounded => {
                        (Kw::Required, "made optional, so that the loop has a way out")
                    }
                };
                mends.add(place, mend);
                softened.insert(way.to_vec());
                self.tell(violation, kw, Action::Rewritten, detail);
            }
            if softened.is_empty() {
                break;
            }
            json = mends.applied(json, self.caps, self.arena);
        }
        json
    }

    /// What breaks a demand, if the dialect has it.
    fn violations_of(&self, json: &Json<'_>, demand: Demand) -> Vec<Violation> {
        if !self.caps.has_demand(demand) {
            return Vec::new();
        }
        let rows = self.dialect.rule_rows(self.slot).iter().filter(|row| row.demand == demand);
        let codes: Vec<&str> = rows.map(|row| &*row.code).collect();
        let mut found = check_json(json, self.dialect, self.slot, &Subject::default());
        found.retain(|violation| codes.contains(&violation.code.as_str()));
        found
    }

    fn tell(&mut self, violation: Violation, kw: Kw, action: Action, detail: &'static str) {
        self.changes.push(Change {
            kind: None,
            code: violation.code.into(),
            at: violation.at,
            keyword: kw.name().into(),
            action,
            effect: Effect::Wider,
            detail: detail.into(),
        });
    }
}

/// Each round costs a look at the whole schema, and few are needed.
const MOST_ROUNDS: usize = 256;

fn tokens_of(violation: &Violation) -> Vec<String> {
    pointer_tokens(&violation.at).map(Cow::into_owned).collect()
}

/// What is done to one schema.
enum Mend {
    /// A property may be left out.
    Optional(String),
    /// A list may be empty.
    Empty,
    /// The values of a map may be `null`.
    NullValues,
    /// The value may be `null`.
    OrNull,
    /// A list has no greatest length.
    Unbounded,
}

/// What is done to a schema and to those within.
#[derive(Default)]
struct Mends {
    own: Vec<Mend>,
    below: HashMap<String, Mends>,
}

impl Mends {
    fn add(&mut self, place: &[String], mend: Mend) {
        let at = place.iter().fold(self, |at, token| at.below.entry(token.clone()).or_default());
        at.own.push(mend);
    }

    fn applied<'d>(&self, json: Json<'d>, caps: &Capabilities, arena: &'d Arena) -> Json<'d> {
        let mended = |token: &str, inner: &Json<'d>| Some(self.below.get(token)?.applied(*inner, caps, arena));
        let below = match json {
            Json::Obj(members) if !self.below.is_empty() => {
                arena.replaced(members, |_, (key, inner)| Some((*key, mended(key, inner)?))).map(Json::Obj)
            }
            Json::Arr(items) if !self.below.is_empty() => {
                arena.replaced(items, |index, inner| mended(&index.to_string(), inner)).map(Json::Arr)
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Arr(_) | Json::Obj(_) => None,
        };
        let mut json = below.unwrap_or(json);
        let mut optional: HashSet<&str> = HashSet::default();
        for mend in &self.own {
            json = match mend {
                Mend::Optional(name) => {
                    optional.insert(name);
                    json
                }
                Mend::Empty => arena.without(json, Kw::MinItems.name()),
                Mend::NullValues => match json.get(Kw::AdditionalProperties.name()) {
                    Some(values) => arena.with(json, Kw::AdditionalProperties.name(), or_null(*values, arena)),
                    None => json,
                },
                Mend::OrNull => or_null(json, arena),
                Mend::Unbounded => unbounded(json, caps, arena).unwrap_or(json),
            };
        }
        let required = json.get(Kw::Required.name()).and_then(Json::as_arr).filter(|_| !optional.is_empty());
        required.map_or(json, |required| {
            let rest = arena.filtered(required, |own| own.as_str().is_none_or(|name| !optional.contains(name)));
            arena.with(json, Kw::Required.name(), Json::Arr(rest))
        })
    }
}

/// What is asked about a schema again and again while its loops are looked at.
#[derive(Default)]
struct Known<'d> {
    keys: KeyIndex<'d>,
    /// The names that an object requires, by the address of their list.
    required: HashMap<usize, HashSet<&'d str>>,
}

impl<'d> Known<'d> {
    fn requires(&mut self, object: &'d Json<'d>, name: &str) -> bool {
        let Some(required) = object.get(Kw::Required.name()).and_then(Json::as_arr) else { return false };
        let names = self.required.entry(required.as_ptr() as usize);
        names.or_insert_with(|| required.iter().filter_map(Json::as_str).collect()).contains(name)
    }
}

/// A way out of a loop.
struct WayOut<'t> {
    /// The schema that is mended.
    place: &'t [String],
    /// What may be left out or `null` then.
    way: &'t [String],
    mend: Mend,
}

/// The nearest list or property on the way to a reference that can be made optional, or map with values that can be let be `null`;
/// where there is none, what is referred to may be `null`.
fn way_out<'d, 't>(whole: &'d Json<'d>, tokens: &'t [String], known: &mut Known<'d>) -> Option<WayOut<'t>> {
    let mut nodes = vec![whole];
    for token in tokens {
        nodes.push(known.keys.step(nodes.last()?, token)?);
    }
    let keywords = keywords_along(tokens);
    for (end, name) in tokens.iter().enumerate().rev() {
        let way = tokens.get(..=end)?;
        let out = |place: usize, mend| Some(WayOut { place: tokens.get(..place)?, way, mend });
        let kw = keywords.get(end).copied().flatten();
        let under = end.checked_sub(1).and_then(|above| Some((above, keywords.get(above).copied().flatten()?)));
        if let Some((object, Kw::Properties)) = under
            && known.requires(nodes.get(object)?, name)
        {
            return out(object, Mend::Optional(name.clone()));
        }
        let holder = nodes.get(end)?;
        if kw == Some(Kw::Items) && holder.get(Kw::MinItems.name()).is_some() {
            return out(end, Mend::Empty);
        }
        if kw == Some(Kw::AdditionalProperties) && holder.get(Kw::AdditionalProperties.name()).is_some() {
            return out(end, Mend::NullValues);
        }
    }
    // A branch of a union has `null` beside it.
    let union = tokens.len().checked_sub(2).filter(|end| keywords.get(*end) == Some(&Some(Kw::AnyOf)));
    Some(WayOut { place: tokens.get(..union.unwrap_or(tokens.len()))?, way: tokens, mend: Mend::OrNull })
}
