//! The last rewrites, on the printed schema: budgets met.

use std::sync::Arc;

use foldhash::HashMap;

use super::EmittedCounts;
use super::optionals_to_require::max_unions;
use super::union::with_fact;
use crate::arena::Arena;
use crate::check::{LONG_ENUM, Violation, count_optionals, enum_chars, unused_definitions};
use crate::dialect::{Capabilities, Demand, Dialect, Slot};
use crate::json::{Json, Member};
use crate::keyword::{Kw, KwSet, root_definition};
use crate::lens::{Lens, Shape};
use crate::names::UniqueNames;
use crate::types::Types;
use crate::walk::{look_at_subschemas, with_subschemas};
use polywire_report::{Action, Change, Effect};

/// Brings a printed schema under the dialect's budgets where that can be done without changing its meaning, or with a
/// change that says so.
pub(super) fn meet_budgets<'d>(
    mut json: Json<'d>,
    deepest: u64,
    dialect: &Dialect,
    slot: Slot,
    arena: &'d Arena,
    changes: &mut Vec<Change>,
) -> Json<'d> {
    let caps = dialect.caps(slot);
    let code = |demand| caps.code(demand).map_or_else(|| Arc::from(""), Arc::clone);
    let refers = caps.accepts(Kw::Ref) && caps.accepts(Kw::Defs);
    if let Some(limit) = caps.limit(Demand::MaxDepth).filter(|limit| refers && deepest > *limit) {
        let defs = json.get(Kw::Defs.name()).and_then(Json::as_obj).unwrap_or_default();
        let names = UniqueNames::of(defs.iter().map(|(name, _)| (*name).to_owned()));
        let code = code(Demand::MaxDepth);
        json = DefinitionHoist { limit, deep: Vec::new(), names, arena, code, changes }.run(json, defs);
    }
    if let Some(limit) = caps.limit(Demand::MaxItemsSum)
        && sum_of_max_items(&json) > limit
    {
        let code = code(Demand::MaxItemsSum);
        let mut strip = KeywordStrip { arena, code: &code, changes, pointer: String::new() };
        json = strip.run(json, &|json| without_max_items(json, caps, arena)).unwrap_or(json);
    }
    if dialect.fallback().is_none()
        && let Some(cut) = long_enums(&json, caps)
    {
        let demand = if caps.has_demand(Demand::MaxEnumValues) { Demand::MaxEnumValues } else { Demand::MaxEnumChars };
        let code = code(demand);
        let mut strip = KeywordStrip { arena, code: &code, changes, pointer: String::new() };
        json = strip.run(json, &|json| without_long_enum(json, cut, arena)).unwrap_or(json);
    }
    json
}

/// The budgets that no rewrite meets once they are overdrawn. Properties and values may be counted that are not printed in the
/// end, as when two branches turn out to be one, so hope is given up late.
pub(super) fn unfixable_budgets(caps: &Capabilities) -> Budgets {
    let limit = |demand| caps.limit(demand).unwrap_or(u64::MAX);
    let late = |demand| (demand, limit(demand).saturating_add(limit(demand) / 4));
    // Every one that is required and nullable instead is a union.
    let optionals = Demand::MaxOptionals;
    [
        (optionals, limit(optionals).saturating_add(max_unions(caps))),
        late(Demand::MaxProperties),
        late(Demand::MaxEnumValues),
    ]
}

/// What has a budget, and when hope is given up.
pub(super) type Budgets = [(Demand, u64); 3];

/// Budgets that are never overdrawn.
pub(super) const NO_BUDGETS: Budgets =
    [(Demand::MaxOptionals, u64::MAX), (Demand::MaxProperties, u64::MAX), (Demand::MaxEnumValues, u64::MAX)];

/// Whether a printed schema holds so much of what has a budget that another attempt is in vain. A dialect without references
/// may say some of it as text, and any dialect what is nested too deeply, which is not counted.
pub(super) fn is_over<'j>(json: &'j Json<'j>, caps: &Capabilities) -> bool {
    if !caps.accepts(Kw::Ref) {
        return false;
    }
    let mut tally =
        BudgetTally { budgets: unfixable_budgets(caps), printed: EmittedCounts::default(), named: Vec::new() };
    tally.count(json, COUNTED_DEPTH);
    let mut definitions = HashMap::default();
    for kw in [Kw::Defs, Kw::BareDefs] {
        let map = json.get(kw.name()).and_then(Json::as_obj).unwrap_or_default();
        definitions.extend(map.iter().map(|(name, own)| ((kw, *name), own)));
    }
    while let Some(reference) = tally.named.pop() {
        // Each is counted once, and one that nothing names not at all.
        if let Some(own) = root_definition(reference).and_then(|way| definitions.remove(&way)) {
            tally.count(own, COUNTED_DEPTH);
        }
    }
    tally.is_over()
}

/// Schemas within schemas beyond this depth may be said as text: one level may take several steps to print.
const COUNTED_DEPTH: usize = 16;

/// The keywords under which every dialect prints what stands there, if perhaps under others.
const PRINTED_AGAIN: KwSet =
    KwSet::NONE.with(Kw::Properties).with(Kw::AdditionalProperties).with(Kw::Items).with(Kw::AnyOf).with(Kw::OneOf);

/// What stands where every dialect would print it again.
struct BudgetTally<'j> {
    budgets: Budgets,
    printed: EmittedCounts,
    /// References that were met.
    named: Vec<&'j str>,
}

impl<'j> BudgetTally<'j> {
    fn is_over(&self) -> bool {
        self.budgets.iter().any(|(demand, limit)| printed_count(*demand, self.printed) > *limit)
    }

    /// Counts down to a depth; what stands deeper may only name a definition.
    fn count(&mut self, json: &'j Json<'j>, depth: usize) {
        if self.is_over() {
            return;
        }
        let list = |kw: Kw| json.get(kw.name()).and_then(Json::as_arr).unwrap_or_default();
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        if depth > 0 {
            let properties = json.get(Kw::Properties.name()).and_then(Json::as_obj).unwrap_or_default();
            self.printed.properties += number(properties.len());
            self.printed.optionals += count_optionals(properties, json.get(Kw::Required.name()));
            self.printed.enum_values += number(list(Kw::Enum).len());
        }
        self.named.extend([Kw::Ref, Kw::BareRef].iter().filter_map(|kw| json.get(kw.name())?.as_str()));
        look_at_subschemas(json, &mut |kw, child| {
            let counted = PRINTED_AGAIN.has(kw);
            if !matches!(kw, Kw::Defs | Kw::BareDefs) {
                self.count(child, if counted { depth.saturating_sub(1) } else { 0 });
            }
        });
    }
}

/// How much was printed of what a budget is for.
pub(super) fn printed_count(demand: Demand, printed: EmittedCounts) -> u64 {
    if demand == Demand::MaxOptionals {
        printed.optionals
    } else if demand == Demand::MaxEnumValues {
        printed.enum_values
    } else {
        printed.properties
    }
}

/// What the caller's values are, as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootKind {
    /// Nothing but objects.
    Object,
    /// Values of any type, of which only objects are spoken of.
    Spoken,
    /// Values of other types too.
    Any,
}

/// What is sent when no rung is left: an object of any form (R-A7), or the value as JSON text, where the dialect closes objects
/// or the value may be something else.
pub(super) fn fall_back_to_any<'d>(
    violation_left: &Violation,
    caps: &Capabilities,
    root: RootKind,
    arena: &'d Arena,
) -> (Json<'d>, Lens, Vec<Change>) {
    let mut lens = Lens::identity();
    let mut changes = Vec::new();
    let (json, detail) = if caps.has_demand(Demand::Closed) || root == RootKind::Any {
        let text = lens.add(Shape::Text);
        let wrapped = lens.add(Shape::Wrapped("value".to_owned(), text));
        lens = lens.with_root(wrapped);
        let value = arena.obj(&[
            (Kw::Type.name(), Json::Str("string")),
            (Kw::Description.name(), Json::Str("(the whole value, written as JSON text)")),
        ]);
        let mut members = vec![
            (Kw::Type.name(), Json::Str("object")),
            (Kw::Properties.name(), arena.obj(&[("value", value)])),
            (Kw::Required.name(), Json::Arr(&[Json::Str("value")])),
        ];
        if caps.has_demand(Demand::Closed) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(false)));
        } else if caps.has_demand(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(true)));
        }
        (arena.obj(&members), "nothing else would be taken: the value as JSON text")
    } else {
        let mut members = vec![(Kw::Type.name(), Json::Str("object")), (Kw::Properties.name(), Json::EMPTY)];
        if caps.has_demand(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(true)));
        }
        if root == RootKind::Spoken {
            changes.push(Change {
                kind: None,
                code: violation_left.code.as_str().into(),
                at: String::new(),
                keyword: Kw::Type.name().into(),
                action: Action::Added,
                effect: Effect::Narrower,
                detail: "taken to be object, which its keywords speak of".into(),
            });
        }
        (arena.obj(&members), "nothing else would be taken: an object of any form")
    };
    changes.push(Change {
        kind: None,
        code: violation_left.code.as_str().into(),
        at: String::new(),
        keyword: violation_left.keyword.clone().into(),
        action: Action::FellBack,
        effect: Effect::Wider,
        detail: format!("{detail} (at `{}`)", violation_left.at).into(),
    });
    (json, lens, changes)
}

/// Moves objects that are nested too deeply among the definitions, where the count starts anew.
struct DefinitionHoist<'d, 'h> {
    limit: u64,
    deep: Vec<Member<'d>>,
    names: UniqueNames,
    arena: &'d Arena,
    code: Arc<str>,
    changes: &'h mut Vec<Change>,
}

impl<'d> DefinitionHoist<'d, '_> {
    fn run(&mut self, json: Json<'d>, defs: &[Member<'d>]) -> Json<'d> {
        let root = self.arena.without(json, Kw::Defs.name());
        let root = self.descend(root, 0).unwrap_or(root);
        let mut whole = |definition: Json<'d>| self.descend(definition, 0).unwrap_or(definition);
        let mut all: Vec<Member<'d>> = defs.iter().map(|(name, definition)| (*name, whole(*definition))).collect();
        all.append(&mut self.deep);
        if all.is_empty() { root } else { self.arena.with(root, Kw::Defs.name(), self.arena.obj(&all)) }
    }

    /// What becomes of a schema below so many objects, where something does.
    fn descend(&mut self, json: Json<'d>, depth: u64) -> Option<Json<'d>> {
        let below = depth + u64::from(is_of_objects(&json));
        if below > self.limit {
            let name = self.names.unique("deep".to_owned());
            let pointer = format!("#/{}/{name}", Kw::Defs.name());
            let slot = self.deep.len();
            self.deep.push((self.arena.text(&name), json));
            self.changes.push(Change {
                kind: None,
                code: Arc::clone(&self.code).into(),
                at: String::new(),
                keyword: Kw::Defs.name().into(),
                action: Action::Rewritten,
                effect: Effect::Same,
                detail: "an object that is nested too deeply became a definition".into(),
            });
            if let Some(moved) = self.descend(json, 0)
                && let Some((_, place)) = self.deep.get_mut(slot)
            {
                *place = moved;
            }
            return Some(self.arena.obj(&[(Kw::Ref.name(), self.arena.str(&pointer))]));
        }
        with_subschemas(json, self.arena, &mut |_, child| self.descend(child, below))
    }
}

/// Counts objects as `check` does.
pub(super) fn is_of_objects(json: &Json<'_>) -> bool {
    let types = json.get(Kw::Type.name()).and_then(Types::stated);
    json.get(Kw::Properties.name()).is_some() || types.is_some_and(|types| types.has(Types::OBJECT))
}

fn sum_of_max_items(json: &Json<'_>) -> u64 {
    let mut sum = json.get(Kw::MaxItems.name()).and_then(Json::as_count).unwrap_or(0);
    look_at_subschemas(json, &mut |_, child| sum = sum.saturating_add(sum_of_max_items(child)));
    sum
}

/// Drops from a printed schema what a function finds too much in it, and in every schema below.
struct KeywordStrip<'d, 's> {
    arena: &'d Arena,
    code: &'s Arc<str>,
    changes: &'s mut Vec<Change>,
    pointer: String,
}

impl<'d> KeywordStrip<'d, '_> {
    fn run(&mut self, json: Json<'d>, strip: &dyn Fn(Json<'d>) -> Option<(Json<'d>, Dropped)>) -> Option<Json<'d>> {
        let mut own = None;
        if let Some((stripped, dropped)) = strip(json) {
            own = Some(stripped);
            self.changes.push(Change {
                kind: None,
                code: Arc::clone(self.code).into(),
                at: self.pointer.clone(),
                keyword: dropped.kw.name().into(),
                action: dropped.action,
                effect: Effect::Wider,
                detail: dropped.why.into(),
            });
        }
        let below = with_subschemas(own.unwrap_or(json), self.arena, &mut |way, child| {
            let end = self.pointer.len();
            for token in way {
                crate::json::push_token(&mut self.pointer, token);
            }
            let child = self.run(child, strip);
            self.pointer.truncate(end);
            child
        });
        below.or(own)
    }
}

/// A dropped keyword.
struct Dropped {
    kw: Kw,
    action: Action,
    why: &'static str,
}

/// A list that has no greatest length any more, but says it in its description where it may.
pub(super) fn unbounded<'d>(json: Json<'d>, caps: &Capabilities, arena: &'d Arena) -> Option<Json<'d>> {
    let value = json.get(Kw::MaxItems.name())?;
    let rest = arena.without(json, Kw::MaxItems.name());
    let fact = format!("(at most {value} items)");
    Some(if caps.accepts(Kw::Description) { with_fact(rest, &fact, arena) } else { rest })
}

fn without_max_items<'d>(json: Json<'d>, caps: &Capabilities, arena: &'d Arena) -> Option<(Json<'d>, Dropped)> {
    let why = "the lists of this schema are too long together";
    Some((unbounded(json, caps, arena)?, Dropped { kw: Kw::MaxItems, action: Action::Described, why }))
}

fn without_long_enum<'d>(json: Json<'d>, cut: EnumCut, arena: &'d Arena) -> Option<(Json<'d>, Dropped)> {
    json.get(Kw::Enum.name()).and_then(Json::as_arr).filter(|values| cut.takes(values))?;
    let why = "the enums of this schema have too many values or letters";
    Some((arena.without(json, Kw::Enum.name()), Dropped { kw: Kw::Enum, action: Action::Dropped, why }))
}

/// Which enums have to go where no rung of the ladder is left that takes them all.
#[derive(Clone, Copy)]
struct EnumCut {
    /// Those of at least so many values, because all have too many together.
    values: usize,
    /// Those of many values with more characters, each for itself.
    chars: u64,
}

impl EnumCut {
    fn takes(self, values: &[Json<'_>]) -> bool {
        values.len() >= self.values || (values.len() > LONG_ENUM && enum_chars(values) > self.chars)
    }
}

/// What an enum needs to go for, where one has to.
fn long_enums(json: &Json<'_>, caps: &Capabilities) -> Option<EnumCut> {
    let most = caps.limit(Demand::MaxEnumValues).unwrap_or(u64::MAX);
    let mut cut = EnumCut { values: usize::MAX, chars: caps.limit(Demand::MaxEnumChars).unwrap_or(u64::MAX) };
    let mut enums = Vec::new();
    each_enum(json, &mut enums);
    let long = enums.iter().any(|values| cut.takes(values));
    let mut sizes: Vec<usize> = enums.iter().filter(|values| !cut.takes(values)).map(|values| values.len()).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut total: usize = sizes.iter().sum();
    for size in sizes {
        if u64::try_from(total).is_ok_and(|total| total <= most) {
            break;
        }
        total -= size;
        cut.values = size;
    }
    (long || cut.values < usize::MAX).then_some(cut)
}

fn each_enum<'j>(json: &'j Json<'j>, enums: &mut Vec<&'j [Json<'j>]>) {
    enums.extend(json.get(Kw::Enum.name()).and_then(Json::as_arr));
    look_at_subschemas(json, &mut |_, child| each_enum(child, enums));
}

pub(super) fn drop_unused_definitions<'d>(json: Json<'d>, arena: &'d Arena) -> Json<'d> {
    let definition_keywords = [Kw::Defs, Kw::BareDefs];
    if definition_keywords.iter().all(|word| json.get(word.name()).is_none()) {
        return json;
    }
    let unused: foldhash::HashSet<(Kw, &str)> = unused_definitions(arena.keep(json)).into_iter().collect();
    if unused.is_empty() {
        return json;
    }
    let mut rest = json;
    for word in definition_keywords {
        if let Some(Json::Obj(map)) = json.get(word.name()) {
            let used = arena.filtered(map, |(name, _)| !unused.contains(&(word, *name)));
            rest = arena.with(rest, word.name(), Json::Obj(used));
        }
    }
    rest
}
