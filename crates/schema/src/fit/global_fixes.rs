//! Fixes violations that only the whole emitted schema shows: lists of objects with `maxItems` where that is refused, and
//! cycles of required properties. All fixes of a round are applied in one walk.

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

pub(super) fn apply_global_fixes<'d>(
    json: Json<'d>,
    dialect: &Dialect,
    slot: Slot,
    arena: &'d Arena,
    changes: &mut Vec<Change>,
) -> Json<'d> {
    let mut fixer = GlobalFixer { dialect, caps: dialect.caps(slot), slot, arena, changes };
    let json = fixer.drop_object_list_bounds(json);
    fixer.break_required_cycles(json)
}

struct GlobalFixer<'d, 'm> {
    dialect: &'m Dialect,
    caps: &'m Capabilities,
    slot: Slot,
    arena: &'d Arena,
    changes: &'m mut Vec<Change>,
}

impl<'d> GlobalFixer<'d, '_> {
    /// Drops `maxItems` from lists whose items refer to objects.
    fn drop_object_list_bounds(&mut self, json: Json<'d>) -> Json<'d> {
        let mut fixes = SchemaFixes::default();
        for violation in self.violations_of_demand(&json, Demand::ObjectListsUnbounded) {
            fixes.add(&tokens_of(&violation), SchemaFix::Unbounded);
            self.record_change(violation, Kw::MaxItems, Action::Described, "moved into the description");
        }
        fixes.apply(json, self.caps, self.arena)
    }

    /// Ends every cycle of required properties by making one optional, or else something on the path nullable.
    fn break_required_cycles(&mut self, mut json: Json<'d>) -> Json<'d> {
        // What is left of loops that have edges in common shows when these are broken.
        for _ in 0..MAX_ROUNDS {
            let whole = self.arena.keep(json);
            let (mut fixes, mut known) = (SchemaFixes::default(), CycleFacts::default());
            let mut broken: HashSet<Vec<String>> = HashSet::default();
            for violation in self.violations_of_demand(whole, Demand::CycleOptional) {
                let tokens = tokens_of(&violation);
                let passes = |end| tokens.get(..end).is_some_and(|path| broken.contains(path));
                if violation.keyword != Kw::Ref.name() || (1..=tokens.len()).any(passes) {
                    continue;
                }
                let Some(CycleExit { place, path, fix }) = find_cycle_exit(whole, &tokens, &mut known) else {
                    continue;
                };
                let (kw, detail) = match fix {
                    SchemaFix::NullValues | SchemaFix::OrNull => {
                        (Kw::Type, "`null` is let by, so that the loop has a way out")
                    }
                    SchemaFix::Optional(_) | SchemaFix::Empty | SchemaFix::Unbounded => {
                        (Kw::Required, "made optional, so that the loop has a way out")
                    }
                };
                fixes.add(place, fix);
                broken.insert(path.to_vec());
                self.record_change(violation, kw, Action::Rewritten, detail);
            }
            if broken.is_empty() {
                break;
            }
            json = fixes.apply(json, self.caps, self.arena);
        }
        json
    }

    fn violations_of_demand(&self, json: &Json<'_>, demand: Demand) -> Vec<Violation> {
        if !self.caps.has_demand(demand) {
            return Vec::new();
        }
        let rows = self.dialect.rule_rows(self.slot).iter().filter(|row| row.demand == demand);
        let codes: Vec<&str> = rows.map(|row| &*row.code).collect();
        let mut found = check_json(json, self.dialect, self.slot, &Subject::default());
        found.retain(|violation| codes.contains(&violation.code.as_str()));
        found
    }

    fn record_change(&mut self, violation: Violation, kw: Kw, action: Action, detail: &'static str) {
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
const MAX_ROUNDS: usize = 256;

fn tokens_of(violation: &Violation) -> Vec<String> {
    pointer_tokens(&violation.at).map(Cow::into_owned).collect()
}

/// A fix of one schema.
enum SchemaFix {
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

/// The fixes of a schema and of those within.
#[derive(Default)]
struct SchemaFixes {
    own: Vec<SchemaFix>,
    below: HashMap<String, SchemaFixes>,
}

impl SchemaFixes {
    fn add(&mut self, place: &[String], fix: SchemaFix) {
        let at = place.iter().fold(self, |at, token| at.below.entry(token.clone()).or_default());
        at.own.push(fix);
    }

    fn apply<'d>(&self, json: Json<'d>, caps: &Capabilities, arena: &'d Arena) -> Json<'d> {
        let apply_global_fixes =
            |token: &str, inner: &Json<'d>| Some(self.below.get(token)?.apply(*inner, caps, arena));
        let below = match json {
            Json::Obj(members) if !self.below.is_empty() => {
                arena.replaced(members, |_, (key, inner)| Some((*key, apply_global_fixes(key, inner)?))).map(Json::Obj)
            }
            Json::Arr(items) if !self.below.is_empty() => {
                arena.replaced(items, |index, inner| apply_global_fixes(&index.to_string(), inner)).map(Json::Arr)
            }
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Arr(_) | Json::Obj(_) => None,
        };
        let mut json = below.unwrap_or(json);
        let mut optional: HashSet<&str> = HashSet::default();
        for fix in &self.own {
            json = match fix {
                SchemaFix::Optional(name) => {
                    optional.insert(name);
                    json
                }
                SchemaFix::Empty => arena.without(json, Kw::MinItems.name()),
                SchemaFix::NullValues => match json.get(Kw::AdditionalProperties.name()) {
                    Some(values) => arena.with(json, Kw::AdditionalProperties.name(), or_null(*values, arena)),
                    None => json,
                },
                SchemaFix::OrNull => or_null(json, arena),
                SchemaFix::Unbounded => unbounded(json, caps, arena).unwrap_or(json),
            };
        }
        let required = json.get(Kw::Required.name()).and_then(Json::as_arr).filter(|_| !optional.is_empty());
        required.map_or(json, |required| {
            let rest = arena.filtered(required, |own| own.as_str().is_none_or(|name| !optional.contains(name)));
            arena.with(json, Kw::Required.name(), Json::Arr(rest))
        })
    }
}

/// Facts about a schema, cached while its cycles are searched.
#[derive(Default)]
struct CycleFacts<'d> {
    keys: KeyIndex<'d>,
    /// The names that an object requires, by the address of their list.
    required: HashMap<usize, HashSet<&'d str>>,
}

impl<'d> CycleFacts<'d> {
    fn requires(&mut self, object: &'d Json<'d>, name: &str) -> bool {
        let Some(required) = object.get(Kw::Required.name()).and_then(Json::as_arr) else { return false };
        let names = self.required.entry(required.as_ptr() as usize);
        names.or_insert_with(|| required.iter().filter_map(Json::as_str).collect()).contains(name)
    }
}

/// A fix that ends a cycle.
struct CycleExit<'t> {
    /// The schema to fix.
    place: &'t [String],
    /// What becomes optional or nullable.
    path: &'t [String],
    fix: SchemaFix,
}

/// The nearest list or property on the way to a reference that can be made optional, or map with values that can be let be `null`;
/// where there is none, what is referred to may be `null`.
fn find_cycle_exit<'d, 't>(
    whole: &'d Json<'d>,
    tokens: &'t [String],
    known: &mut CycleFacts<'d>,
) -> Option<CycleExit<'t>> {
    let mut nodes = vec![whole];
    for token in tokens {
        nodes.push(known.keys.step(nodes.last()?, token)?);
    }
    let keywords = keywords_along(tokens);
    for (end, name) in tokens.iter().enumerate().rev() {
        let path = tokens.get(..=end)?;
        let out = |place: usize, fix| Some(CycleExit { place: tokens.get(..place)?, path, fix });
        let kw = keywords.get(end).copied().flatten();
        let under = end.checked_sub(1).and_then(|above| Some((above, keywords.get(above).copied().flatten()?)));
        if let Some((object, Kw::Properties)) = under
            && known.requires(nodes.get(object)?, name)
        {
            return out(object, SchemaFix::Optional(name.clone()));
        }
        let holder = nodes.get(end)?;
        if kw == Some(Kw::Items) && holder.get(Kw::MinItems.name()).is_some() {
            return out(end, SchemaFix::Empty);
        }
        if kw == Some(Kw::AdditionalProperties) && holder.get(Kw::AdditionalProperties.name()).is_some() {
            return out(end, SchemaFix::NullValues);
        }
    }
    // A branch of a union has `null` beside it.
    let union = tokens.len().checked_sub(2).filter(|end| keywords.get(*end) == Some(&Some(Kw::AnyOf)));
    Some(CycleExit { place: tokens.get(..union.unwrap_or(tokens.len()))?, path: tokens, fix: SchemaFix::OrNull })
}
