//! The last rewrites, on the printed schema: budgets met, loops given a way out.

use std::borrow::Cow;
use std::sync::Arc;

use super::Printed;
use super::names::Names;
use super::null::or_null;
use super::trade::room_for_unions;
use super::union::with_fact;
use crate::arena::Arena;
use crate::check::{LONG_ENUM, Subject, Violation, check_json, enum_chars, optionals, unused_definitions};
use crate::dialect::{Caps, Demand, Dialect, Slot};
use crate::json::{Json, Member, pointer_tokens};
use crate::keyword::{Holds, Kw, keywords_along};
use crate::lens::{Lens, Shape};
use crate::report::{Action, Change, Effect};
use crate::types::Types;

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
        let names = Names::of(defs.iter().map(|(name, _)| (*name).to_owned()));
        let code = code(Demand::MaxDepth);
        json = Hoist { limit, deep: Vec::new(), names, arena, code, changes }.run(json, defs);
    }
    if let Some(limit) = caps.limit(Demand::MaxItemsSum)
        && sum_of_max_items(&json) > limit
    {
        let code = code(Demand::MaxItemsSum);
        let mut strip = Strip { arena, code: &code, changes, pointer: String::new() };
        json = strip.run(json, &|json| without_max_items(json, caps, arena)).unwrap_or(json);
    }
    if dialect.fallback().is_none()
        && let Some(cut) = long_enums(&json, caps)
    {
        let demand = if caps.must(Demand::MaxEnumValues) { Demand::MaxEnumValues } else { Demand::MaxEnumChars };
        let code = code(demand);
        let mut strip = Strip { arena, code: &code, changes, pointer: String::new() };
        json = strip.run(json, &|json| without_long_enum(json, cut, arena)).unwrap_or(json);
    }
    json
}

/// The budgets that no rewrite meets once they are overdrawn. Properties and values may be counted that are not printed in the
/// end, as when two branches turn out to be one, so hope is given up late.
pub(super) fn unmendable(caps: &Caps) -> Vec<(Demand, u64)> {
    let optionals = caps.limit(Demand::MaxOptionals);
    let optionals = optionals.map(|limit| (Demand::MaxOptionals, limit.saturating_add(room_for_unions(caps))));
    let late = |demand| caps.limit(demand).map(|limit| (demand, limit + limit / 4));
    optionals.into_iter().chain([Demand::MaxProperties, Demand::MaxEnumValues].into_iter().filter_map(late)).collect()
}

/// Whether a printed schema holds so much of what has a budget that another attempt is in vain. A dialect without references
/// may say some of it as text, and any dialect what is nested too deeply, which is not counted.
pub(super) fn is_over(json: &Json<'_>, caps: &Caps) -> bool {
    if !caps.accepts(Kw::Ref) {
        return false;
    }
    let mut printed = Printed::default();
    count(json, COUNTED_DEPTH, &mut printed);
    unmendable(caps).iter().any(|(demand, limit)| overdrawn(*demand, *limit, printed).is_some())
}

/// Schemas within schemas beyond this depth may be said as text: one level may take several steps to print.
const COUNTED_DEPTH: usize = 16;

/// Counts what stands where every dialect would print it again.
fn count(json: &Json<'_>, depth: usize, printed: &mut Printed) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    for (key, value) in json.as_obj().unwrap_or_default() {
        match (Kw::of(key), value) {
            (Some(Kw::Properties), Json::Obj(properties)) => {
                printed.properties += number(properties.len());
                printed.optionals += optionals(properties, json.get(Kw::Required.name()));
                printed.tradable.unions += number(properties.iter().filter(|(_, own)| may_be_union(own)).count());
                properties.iter().for_each(|(_, property)| count(property, depth, printed));
            }
            (Some(Kw::Defs | Kw::OpenDefs), Json::Obj(map)) => {
                map.iter().for_each(|(_, own)| count(own, depth, printed));
            }
            (Some(Kw::Enum), Json::Arr(values)) => printed.enum_values += number(values.len()),
            (Some(Kw::AnyOf), Json::Arr(branches)) => branches.iter().for_each(|branch| count(branch, depth, printed)),
            (Some(Kw::Items), items) => count(items, depth, printed),
            _ => {}
        }
    }
}

/// Whether a printed schema may be a union when it is printed again.
fn may_be_union(json: &Json<'_>) -> bool {
    let plain = json.get(Kw::Type.name()).is_some_and(|own| own.as_str().is_some());
    !plain || [Kw::AnyOf, Kw::OneOf, Kw::AllOf].iter().any(|kw| json.get(kw.name()).is_some())
}

/// How much was printed of what a budget is for, where that is too much.
pub(super) fn overdrawn(demand: Demand, limit: u64, printed: Printed) -> Option<u64> {
    let (count, free) = if demand == Demand::MaxOptionals {
        (printed.optionals, printed.tradable.unions)
    } else if demand == Demand::MaxEnumValues {
        (printed.enum_values, 0)
    } else {
        (printed.properties, 0)
    };
    (count > limit.saturating_add(free)).then_some(count)
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
pub(super) fn last_resort<'d>(
    stuck: &Violation,
    caps: &Caps,
    root: RootKind,
    arena: &'d Arena,
) -> (Json<'d>, Lens, Vec<Change>) {
    let mut lens = Lens::identity();
    let mut changes = Vec::new();
    let (json, detail) = if caps.must(Demand::Closed) || root == RootKind::Any {
        let text = lens.add(Shape::Text);
        let wrapped = lens.add(Shape::Wrapped("value".to_owned(), text));
        lens = lens.with_root(wrapped);
        let value = arena.obj(&[
            (Kw::Type.name(), Json::Str("string")),
            (Kw::Description.name(), Json::Str("(the whole value as JSON text)")),
        ]);
        let mut members = vec![
            (Kw::Type.name(), Json::Str("object")),
            (Kw::Properties.name(), arena.obj(&[("value", value)])),
            (Kw::Required.name(), Json::Arr(&[Json::Str("value")])),
        ];
        if caps.must(Demand::Closed) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(false)));
        } else if caps.must(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(true)));
        }
        (arena.obj(&members), "nothing else would be taken: the value as JSON text")
    } else {
        let mut members = vec![(Kw::Type.name(), Json::Str("object")), (Kw::Properties.name(), Json::EMPTY)];
        if caps.must(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(true)));
        }
        if root == RootKind::Spoken {
            changes.push(Change {
                code: stuck.code.as_str().into(),
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
        code: stuck.code.as_str().into(),
        at: String::new(),
        keyword: stuck.keyword.clone().into(),
        action: Action::FellBack,
        effect: Effect::Wider,
        detail: format!("{detail} (at `{}`)", stuck.at).into(),
    });
    (json, lens, changes)
}

/// Moves objects that are nested too deeply among the definitions, where the count starts anew.
struct Hoist<'d, 'h> {
    limit: u64,
    deep: Vec<Member<'d>>,
    names: Names,
    arena: &'d Arena,
    code: Arc<str>,
    changes: &'h mut Vec<Change>,
}

impl<'d> Hoist<'d, '_> {
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
                code: Arc::clone(&self.code),
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

/// Whether a printed schema speaks of objects, as `check` counts them.
pub(super) fn is_of_objects(json: &Json<'_>) -> bool {
    let types = json.get(Kw::Type.name()).and_then(Types::stated);
    json.get(Kw::Properties.name()).is_some() || types.is_some_and(|types| types.has(Types::OBJECT))
}

/// The same schema with what a function makes of some of its subschemas, given the way to them; nothing where all stay.
fn with_subschemas<'d>(
    json: Json<'d>,
    arena: &'d Arena,
    made: &mut dyn FnMut(&[&str], Json<'d>) -> Option<Json<'d>>,
) -> Option<Json<'d>> {
    let Json::Obj(members) = json else { return None };
    let replaced = arena.replaced(members, |_, (key, value)| {
        let kw = Kw::of(key)?;
        let value = match (kw.row().holds, *value) {
            (Holds::Schema, child @ Json::Obj(_)) => made(&[kw.name()], child)?,
            (Holds::SchemaList, Json::Arr(items)) => {
                Json::Arr(arena.replaced(items, |index, item| made(&[kw.name(), &index.to_string()], *item))?)
            }
            (Holds::SchemaMap, Json::Obj(map)) => {
                Json::Obj(arena.replaced(map, |_, (name, item)| Some((*name, made(&[kw.name(), name], *item)?)))?)
            }
            _ => return None,
        };
        Some((*key, value))
    });
    replaced.map(Json::Obj)
}

/// Calls a function for every subschema of a printed schema, to be looked at only.
pub(super) fn look_at_subschemas<'j>(json: &Json<'j>, visit: &mut dyn FnMut(&'j Json<'j>)) {
    for (key, value) in json.as_obj().unwrap_or_default() {
        let Some(kw) = Kw::of(key) else { continue };
        match (kw.row().holds, value) {
            (Holds::Schema, child) => visit(child),
            (Holds::SchemaList, Json::Arr(items)) => items.iter().for_each(&mut *visit),
            (Holds::SchemaMap, Json::Obj(map)) => map.iter().for_each(|(_, item)| visit(item)),
            _ => {}
        }
    }
}

fn sum_of_max_items(json: &Json<'_>) -> u64 {
    let mut sum = json.get(Kw::MaxItems.name()).and_then(Json::as_count).unwrap_or(0);
    look_at_subschemas(json, &mut |child| sum = sum.saturating_add(sum_of_max_items(child)));
    sum
}

/// Drops from a printed schema what a function finds too much in it, and in every schema below.
struct Strip<'d, 's> {
    arena: &'d Arena,
    code: &'s Arc<str>,
    changes: &'s mut Vec<Change>,
    pointer: String,
}

impl<'d> Strip<'d, '_> {
    fn run(&mut self, json: Json<'d>, strip: &dyn Fn(Json<'d>) -> Option<(Json<'d>, Dropped)>) -> Option<Json<'d>> {
        let mut own = None;
        if let Some((stripped, dropped)) = strip(json) {
            own = Some(stripped);
            self.changes.push(Change {
                code: Arc::clone(self.code),
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

/// A keyword that goes.
struct Dropped {
    kw: Kw,
    action: Action,
    why: &'static str,
}

fn without_max_items<'d>(json: Json<'d>, caps: &Caps, arena: &'d Arena) -> Option<(Json<'d>, Dropped)> {
    let value = json.get(Kw::MaxItems.name())?;
    let rest = arena.without(json, Kw::MaxItems.name());
    let fact = format!("({}: {value})", Kw::MaxItems.name());
    let rest = if caps.accepts(Kw::Description) { with_fact(rest, &fact, arena) } else { rest };
    let why = "the lists of this schema are too long together";
    Some((rest, Dropped { kw: Kw::MaxItems, action: Action::Described, why }))
}

fn without_long_enum<'d>(json: Json<'d>, cut: Cut, arena: &'d Arena) -> Option<(Json<'d>, Dropped)> {
    json.get(Kw::Enum.name()).and_then(Json::as_arr).filter(|values| cut.takes(values))?;
    let why = "the enums of this schema have too many values or letters";
    Some((arena.without(json, Kw::Enum.name()), Dropped { kw: Kw::Enum, action: Action::Dropped, why }))
}

/// Which enums have to go where no rung of the ladder is left that takes them all.
#[derive(Clone, Copy)]
struct Cut {
    /// Those of at least so many values, because all have too many together.
    values: usize,
    /// Those of many values with more characters, each for itself.
    chars: u64,
}

impl Cut {
    fn takes(self, values: &[Json<'_>]) -> bool {
        values.len() >= self.values || (values.len() > LONG_ENUM && enum_chars(values) > self.chars)
    }
}

/// What an enum needs to go for, where one has to.
fn long_enums(json: &Json<'_>, caps: &Caps) -> Option<Cut> {
    let most = caps.limit(Demand::MaxEnumValues).unwrap_or(u64::MAX);
    let mut cut = Cut { values: usize::MAX, chars: caps.limit(Demand::MaxEnumChars).unwrap_or(u64::MAX) };
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
    look_at_subschemas(json, &mut |child| each_enum(child, enums));
}

/// Takes out the definitions that nothing refers to any more.
pub(super) fn drop_unused<'d>(json: Json<'d>, arena: &'d Arena) -> Json<'d> {
    let unused = unused_definitions(arena.keep(json));
    if unused.is_empty() {
        return json;
    }
    let unused: foldhash::HashSet<(Kw, &str)> = unused.into_iter().collect();
    let mut rest = json;
    for word in [Kw::Defs, Kw::OpenDefs] {
        if let Some(Json::Obj(map)) = json.get(word.name()) {
            let used = arena.filtered(map, |(name, _)| !unused.contains(&(word, *name)));
            rest = arena.with(rest, word.name(), Json::Obj(used));
        }
    }
    rest
}

fn violations_of(json: &Json<'_>, dialect: &Dialect, slot: Slot, demand: Demand) -> impl Iterator<Item = Violation> {
    check_json(json, dialect, slot, &Subject::default()).into_iter().filter(move |violation| {
        dialect.rule_rows(slot).iter().any(|row| row.demand == demand && *row.code == *violation.code)
    })
}

/// Takes the greatest length from lists of objects where that is known by what their items refer to.
pub(super) fn unbound_object_lists<'d>(
    mut json: Json<'d>,
    dialect: &Dialect,
    slot: Slot,
    arena: &'d Arena,
    changes: &mut Vec<Change>,
) -> Json<'d> {
    let caps = dialect.caps(slot);
    if !caps.must(Demand::ObjectListsUnbounded) {
        return json;
    }
    let bounded: Vec<Violation> = violations_of(&json, dialect, slot, Demand::ObjectListsUnbounded).collect();
    for violation in bounded {
        let tokens: Vec<String> = pointer_tokens(&violation.at).map(Cow::into_owned).collect();
        let unbound = |list| Some(without_max_items(list, caps, arena)?.0);
        let Some(whole) = changed_at(json, &tokens, arena, &unbound) else { continue };
        json = whole;
        changes.push(Change {
            code: violation.code.into(),
            at: violation.at,
            keyword: Kw::MaxItems.name().into(),
            action: Action::Described,
            effect: Effect::Wider,
            detail: "moved into the description".into(),
        });
    }
    json
}

/// Gives every loop of required properties a way out, by making one of them optional, or the values of a map nullable.
pub(super) fn soften_loops<'d>(
    json: Json<'d>,
    dialect: &Dialect,
    slot: Slot,
    arena: &'d Arena,
    changes: &mut Vec<Change>,
) -> Json<'d> {
    let mut json = json;
    if !dialect.caps(slot).must(Demand::CycleOptional) {
        return json;
    }
    // Each round takes one edge from the loops that are left.
    for _ in 0..MOST_LOOPS {
        let broken = violations_of(&json, dialect, slot, Demand::CycleOptional)
            .find(|violation| violation.keyword == Kw::Ref.name());
        let Some(violation) = broken else { break };
        let Some(Softened { whole, kw, detail }) = softened(json, &violation, arena) else { break };
        json = whole;
        changes.push(Change {
            code: violation.code.into(),
            at: violation.at,
            keyword: kw.name().into(),
            action: Action::Rewritten,
            effect: Effect::Wider,
            detail: detail.into(),
        });
    }
    json
}

/// No more loops are given a way out: each costs a look at the whole schema.
const MOST_LOOPS: usize = 1024;

/// A schema with a way out of a loop.
struct Softened<'d> {
    whole: Json<'d>,
    kw: Kw,
    detail: &'static str,
}

/// The same schema with the nearest list or property on the way to a reference made optional, or the nearest map with values
/// that may be `null`.
fn softened<'d>(json: Json<'d>, violation: &Violation, arena: &'d Arena) -> Option<Softened<'d>> {
    let optional =
        |whole| Softened { whole, kw: Kw::Required, detail: "made optional, so that the loop has a way out" };
    let mut tokens: Vec<String> = pointer_tokens(&violation.at).map(Cow::into_owned).collect();
    let mut keywords = keywords_along(&tokens);
    while let (Some(name), Some(kw)) = (tokens.pop(), keywords.pop()) {
        let declared = tokens.split_last().filter(|_| keywords.last() == Some(&Some(Kw::Properties)));
        if let Some((_, object)) = declared
            && let Some(whole) = changed_at(json, object, arena, &|node| without_required(node, &name, arena))
        {
            return Some(optional(whole));
        }
        let emptied = |node: Json<'d>| node.get(Kw::MinItems.name()).map(|_| arena.without(node, Kw::MinItems.name()));
        if kw == Some(Kw::Items)
            && let Some(whole) = changed_at(json, &tokens, arena, &emptied)
        {
            return Some(optional(whole));
        }
        let map = |node: Json<'d>| {
            let values = node.get(Kw::AdditionalProperties.name())?;
            Some(arena.with(node, Kw::AdditionalProperties.name(), or_null(*values, arena)))
        };
        if kw == Some(Kw::AdditionalProperties)
            && let Some(whole) = changed_at(json, &tokens, arena, &map)
        {
            let detail = "`null` is let by, so that the loop has a way out";
            return Some(Softened { whole, kw: Kw::Type, detail });
        }
    }
    None
}

/// The same value with what a function makes of the part at that place.
fn changed_at<'d>(
    json: Json<'d>,
    tokens: &[String],
    arena: &'d Arena,
    change: &dyn Fn(Json<'d>) -> Option<Json<'d>>,
) -> Option<Json<'d>> {
    let Some((token, below)) = tokens.split_first() else { return change(json) };
    match json {
        Json::Obj(members) => {
            let (key, value) = members.iter().find(|(key, _)| key == token)?;
            Some(arena.with(json, key, changed_at(*value, below, arena, change)?))
        }
        Json::Arr(items) => {
            let mut items = items.to_vec();
            let item = items.get_mut(token.parse::<usize>().ok()?)?;
            *item = changed_at(*item, below, arena, change)?;
            Some(arena.arr(&items))
        }
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => None,
    }
}

fn without_required<'d>(node: Json<'d>, name: &str, arena: &'d Arena) -> Option<Json<'d>> {
    let required = node.get(Kw::Required.name())?.as_arr()?;
    let rest = arena.filtered(required, |own| own.as_str() != Some(name));
    (rest.len() < required.len()).then(|| arena.with(node, Kw::Required.name(), Json::Arr(rest)))
}
