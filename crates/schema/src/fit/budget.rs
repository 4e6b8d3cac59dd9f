//! The last rewrites, on the printed schema: budgets met, loops given a way out.

use std::borrow::Cow;
use std::sync::Arc;

use super::Printed;
use crate::arena::Arena;
use crate::check::{Subject, Violation, check_json};
use crate::dialect::{Caps, Demand, Dialect, Slot};
use crate::json::{Json, Member, pointer_tokens};
use crate::keyword::{Holds, Kw};
use crate::lens::{Lens, Shape};
use crate::report::{Action, Change, Effect};

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
    let code = |demand| {
        dialect
            .rule_rows(slot)
            .iter()
            .find(|row| row.demand == demand)
            .map_or_else(|| Arc::from(""), |row| Arc::clone(&row.code))
    };
    let refers = caps.accepts(Kw::Ref) && caps.accepts(Kw::Defs);
    if let Some(limit) = caps.limit(Demand::MaxDepth).filter(|limit| refers && deepest > *limit) {
        let mut hoist = Hoist { limit, deep: Vec::new(), arena, code: code(Demand::MaxDepth), changes };
        hoist.run(&mut json);
    }
    if let Some(limit) = caps.limit(Demand::MaxItemsSum)
        && sum_of_max_items(&json) > limit
    {
        strip_max_items(&mut json, &mut String::new(), &code(Demand::MaxItemsSum), caps, changes);
    }
    if dialect.fallback().is_none() {
        trim_enums(&mut json, caps, &code(Demand::MaxEnumValues), changes);
    }
    json
}

/// The budgets that no rewrite meets once they are overdrawn. Properties may be counted that are not printed in the end, as
/// when two branches turn out to be one, so hope is given up late.
pub(super) fn unmendable(caps: &Caps) -> Vec<(Demand, u64)> {
    let optionals = caps.limit(Demand::MaxOptionals).map(|limit| (Demand::MaxOptionals, limit));
    let properties = caps.limit(Demand::MaxProperties).map(|limit| (Demand::MaxProperties, limit + limit / 4));
    optionals.into_iter().chain(properties).collect()
}

/// Whether a printed schema holds so much of what has a budget that another attempt is in vain. A dialect without references
/// may say some of it as text.
pub(super) fn is_over(json: &Json<'_>, caps: &Caps) -> bool {
    if !caps.accepts(Kw::Ref) {
        return false;
    }
    let mut printed = Printed::default();
    count(json, &mut printed);
    let over = |demand| caps.limit(demand).is_some_and(|limit| printed_of(demand, printed) > limit);
    over(Demand::MaxOptionals) || over(Demand::MaxProperties)
}

/// Counts what stands where every dialect would print it again.
fn count(json: &Json<'_>, printed: &mut Printed) {
    for (key, value) in json.as_obj().unwrap_or_default() {
        match (Kw::of(key), value) {
            (Some(Kw::Properties), Json::Obj(properties)) => {
                let required = json.get(Kw::Required.name()).and_then(Json::as_arr).map_or(0, <[_]>::len);
                let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
                printed.properties += number(properties.len());
                printed.optionals += number(properties.len().saturating_sub(required));
                properties.iter().for_each(|(_, property)| count(property, printed));
            }
            (Some(Kw::Defs | Kw::OpenDefs), Json::Obj(map)) => map.iter().for_each(|(_, own)| count(own, printed)),
            (Some(Kw::AnyOf), Json::Arr(branches)) => branches.iter().for_each(|branch| count(branch, printed)),
            (Some(Kw::Items), items) => count(items, printed),
            _ => {}
        }
    }
}

/// How much was printed of what a budget is for.
pub(super) fn printed_of(demand: Demand, printed: Printed) -> u64 {
    if demand == Demand::MaxOptionals { printed.optionals } else { printed.properties }
}

/// What the caller's values are, as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootKind {
    /// Nothing but objects, or nothing else is spoken of.
    Object,
    /// Values of other types too.
    Any,
}

/// What is sent when no rung is left: an object of any form (R-A7), or the value as JSON text, where the dialect closes objects
/// or the value may be something else.
pub(super) fn last_resort<'d>(stuck: &Violation, caps: &Caps, root: RootKind) -> (Json<'d>, Lens, Change) {
    let mut lens = Lens::identity();
    let (json, detail) = if caps.must(Demand::Closed) || root == RootKind::Any {
        let text = lens.add(Shape::Text);
        let wrapped = lens.add(Shape::Wrapped("value".to_owned(), text));
        lens = lens.with_root(wrapped);
        let value = Json::obj(vec![
            (Kw::Type.name(), Json::str("string")),
            (Kw::Description.name(), Json::str("(the whole value as JSON text)")),
        ]);
        let mut members = vec![
            (Kw::Type.name(), Json::str("object")),
            (Kw::Properties.name(), Json::obj(vec![("value", value)])),
            (Kw::Required.name(), Json::arr(vec![Json::str("value")])),
        ];
        if caps.must(Demand::Closed) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(false)));
        } else if caps.must(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(true)));
        }
        (Json::obj(members), "nothing else would be taken: the value as JSON text")
    } else {
        let mut members = vec![(Kw::Type.name(), Json::str("object")), (Kw::Properties.name(), Json::obj(Vec::new()))];
        if caps.must(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name(), Json::Bool(true)));
        }
        (Json::obj(members), "nothing else would be taken: an object of any form")
    };
    let change = Change {
        code: stuck.code.as_str().into(),
        at: String::new(),
        keyword: stuck.keyword.clone().into(),
        action: Action::FellBack,
        effect: Effect::Wider,
        detail: format!("{detail} (at `{}`)", stuck.at).into(),
    };
    (json, lens, change)
}

/// Moves objects that are nested too deeply among the definitions, where the count starts anew.
struct Hoist<'d, 'h> {
    limit: u64,
    deep: Vec<Member<'d>>,
    arena: &'d Arena,
    code: Arc<str>,
    changes: &'h mut Vec<Change>,
}

impl<'d> Hoist<'d, '_> {
    fn run(&mut self, json: &mut Json<'d>) {
        let Some(members) = json.members_mut() else { return };
        let mut taken: Vec<String> = Vec::new();
        let index = members.iter().position(|(key, _)| *key == Kw::Defs.name());
        let mut defs = match index.map(|index| members.remove(index).1) {
            Some(Json::Obj(map)) => map.into_vec(),
            Some(Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Arr(_)) | None => Vec::new(),
        };
        taken.extend(defs.iter().map(|(name, _)| (*name).to_owned()));
        self.descend(json, 0, &taken);
        for (_, definition) in &mut defs {
            self.descend(definition, 0, &taken);
        }
        defs.append(&mut self.deep);
        if let (Some(members), false) = (json.members_mut(), defs.is_empty()) {
            members.push((Kw::Defs.name(), Json::obj(defs)));
        }
    }

    fn descend(&mut self, json: &mut Json<'d>, depth: u64, taken: &[String]) {
        let object = json.get(Kw::Properties.name()).is_some() || names_object(json);
        let below = depth + u64::from(object);
        if below > self.limit {
            let mut count = self.deep.len() + 1;
            let mut name = format!("deep_{count}");
            while taken.contains(&name) || self.deep.iter().any(|(own, _)| *own == name) {
                count += 1;
                name = format!("deep_{count}");
            }
            let pointer = format!("#/{}/{name}", Kw::Defs.name());
            let reference = Json::obj(vec![(Kw::Ref.name(), Json::str(pointer))]);
            let mut moved = std::mem::replace(json, reference);
            let slot = self.deep.len();
            self.deep.push((self.arena.text(&name), Json::Null));
            self.changes.push(Change {
                code: Arc::clone(&self.code),
                at: String::new(),
                keyword: Kw::Defs.name().into(),
                action: Action::Rewritten,
                effect: Effect::Same,
                detail: "an object that is nested too deeply became a definition".into(),
            });
            self.descend(&mut moved, 0, taken);
            if let Some((_, place)) = self.deep.get_mut(slot) {
                *place = moved;
            }
            return;
        }
        each_subschema(json, &mut |_, child| self.descend(child, below, taken));
    }
}

fn names_object(json: &Json<'_>) -> bool {
    match json.get(Kw::Type.name()) {
        Some(Json::Str(name)) => name == "object",
        Some(Json::Arr(names)) => names.iter().any(|name| name.as_str() == Some("object")),
        _ => false,
    }
}

/// Calls a function for every subschema of a printed schema, with the way to it.
fn each_subschema<'d>(json: &mut Json<'d>, visit: &mut dyn FnMut(&[&str], &mut Json<'d>)) {
    let Some(members) = json.members_mut() else { return };
    for (key, value) in members {
        let Some(kw) = Kw::of(key) else { continue };
        match (kw.row().holds, value) {
            (Holds::Schema, child @ Json::Obj(_)) => visit(&[kw.name()], child),
            (Holds::SchemaList, Json::Arr(items)) => {
                for (index, item) in items.to_mut().iter_mut().enumerate() {
                    visit(&[kw.name(), &index.to_string()], item);
                }
            }
            (Holds::SchemaMap, Json::Obj(map)) => {
                for (name, item) in map.to_mut() {
                    visit(&[kw.name(), name], item);
                }
            }
            _ => {}
        }
    }
}

/// Calls a function for every subschema of a printed schema, to be looked at only.
fn look_at_subschemas(json: &Json<'_>, visit: &mut dyn FnMut(&Json<'_>)) {
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

fn strip_max_items(json: &mut Json<'_>, pointer: &mut String, code: &Arc<str>, caps: &Caps, changes: &mut Vec<Change>) {
    if let Some(members) = json.members_mut()
        && let Some(index) = members.iter().position(|(key, _)| *key == Kw::MaxItems.name())
    {
        let (_, value) = members.remove(index);
        let fact = format!("({}: {value})", Kw::MaxItems.name());
        if caps.accepts(Kw::Description) {
            match members.iter_mut().find(|(key, _)| *key == Kw::Description.name()) {
                Some((_, text)) => *text = Json::str(format!("{} {fact}", text.as_str().unwrap_or_default())),
                None => members.push((Kw::Description.name(), Json::str(fact))),
            }
        }
        changes.push(Change {
            code: Arc::clone(code),
            at: pointer.clone(),
            keyword: Kw::MaxItems.name().into(),
            action: Action::Described,
            effect: Effect::Wider,
            detail: "the lists of this schema are too long together".into(),
        });
    }
    each_subschema(json, &mut |way, child| {
        let end = pointer.len();
        for token in way {
            crate::json::push_token(pointer, token);
        }
        strip_max_items(child, pointer, code, caps, changes);
        pointer.truncate(end);
    });
}

/// Takes the longest enums out where no rung of the ladder is left that takes them.
fn trim_enums(json: &mut Json<'_>, caps: &Caps, code: &Arc<str>, changes: &mut Vec<Change>) {
    let most = caps.limit(Demand::MaxEnumValues).unwrap_or(u64::MAX);
    let longest = caps.limit(Demand::MaxEnumChars).unwrap_or(u64::MAX);
    let mut sizes = Vec::new();
    enum_sizes(json, &mut sizes);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut total: usize = sizes.iter().map(|(count, _)| *count).sum();
    let mut cut = usize::MAX;
    for (count, chars) in sizes {
        let fits = |count: usize, most: u64| u64::try_from(count).is_ok_and(|count| count <= most);
        if fits(total, most) && (count <= 250 || fits(chars, longest)) {
            break;
        }
        total -= count;
        cut = count;
    }
    if cut < usize::MAX {
        drop_enums(json, cut, &mut String::new(), code, changes);
    }
}

fn enum_sizes(json: &Json<'_>, sizes: &mut Vec<(usize, usize)>) {
    if let Some(values) = json.get(Kw::Enum.name()).and_then(Json::as_arr) {
        let chars = values.iter().filter_map(Json::as_str).map(|text| text.chars().count()).sum();
        sizes.push((values.len(), chars));
    }
    look_at_subschemas(json, &mut |child| enum_sizes(child, sizes));
}

fn drop_enums(json: &mut Json<'_>, cut: usize, pointer: &mut String, code: &Arc<str>, changes: &mut Vec<Change>) {
    let long = json.get(Kw::Enum.name()).and_then(Json::as_arr).is_some_and(|values| values.len() >= cut);
    if let (Some(members), true) = (json.members_mut(), long) {
        members.retain(|(key, _)| *key != Kw::Enum.name());
        changes.push(Change {
            code: Arc::clone(code),
            at: pointer.clone(),
            keyword: Kw::Enum.name().into(),
            action: Action::Dropped,
            effect: Effect::Wider,
            detail: "the enums of this schema have too many values together".into(),
        });
    }
    each_subschema(json, &mut |way, child| {
        let end = pointer.len();
        for token in way {
            crate::json::push_token(pointer, token);
        }
        drop_enums(child, cut, pointer, code, changes);
        pointer.truncate(end);
    });
}

/// Takes out the definitions that nothing refers to any more, where a dialect minds them.
pub(super) fn drop_unused(json: &mut Json<'_>, dialect: &Dialect, slot: Slot) {
    if !dialect.caps(slot).must(Demand::DefsUsed) {
        return;
    }
    let name_of = |violation: Violation| pointer_tokens(&violation.at).last().map(Cow::into_owned);
    let unused: foldhash::HashSet<String> =
        violations_of(json, dialect, slot, Demand::DefsUsed).filter_map(name_of).collect();
    let Some(members) = json.members_mut() else { return };
    for (word, definitions) in members {
        if let (Some(Kw::Defs | Kw::OpenDefs), Json::Obj(map)) = (Kw::of(word), definitions) {
            map.to_mut().retain(|(name, _)| !unused.contains(*name));
        }
    }
}

fn violations_of(json: &Json<'_>, dialect: &Dialect, slot: Slot, demand: Demand) -> impl Iterator<Item = Violation> {
    check_json(json, dialect, slot, &Subject::default()).into_iter().filter(move |violation| {
        dialect.rule_rows(slot).iter().any(|row| row.demand == demand && *row.code == *violation.code)
    })
}

/// Gives every loop of required properties a way out, by making one of them optional.
pub(super) fn soften_loops(json: &mut Json<'_>, dialect: &Dialect, slot: Slot, changes: &mut Vec<Change>) {
    if !dialect.caps(slot).must(Demand::CycleOptional) {
        return;
    }
    for _ in 0..64 {
        let broken = violations_of(json, dialect, slot, Demand::CycleOptional)
            .find(|violation| violation.keyword == Kw::Ref.name());
        let Some(violation) = broken else { return };
        let mut tokens: Vec<String> = pointer_tokens(&violation.at).map(Cow::into_owned).collect();
        let mut softened = false;
        while let Some(name) = tokens.pop() {
            if name == Kw::Items.name()
                && let Some(members) = at(json, &tokens).and_then(Json::members_mut)
                && let Some(index) = members.iter().position(|(key, _)| *key == Kw::MinItems.name())
            {
                members.remove(index);
                softened = true;
                break;
            }
            if tokens.last().map(String::as_str) != Some(Kw::Properties.name()) {
                continue;
            }
            let object = tokens.get(..tokens.len() - 1).unwrap_or_default();
            if let Some(node) = at(json, object)
                && drop_required(node, &name)
            {
                softened = true;
                break;
            }
        }
        if !softened {
            return;
        }
        changes.push(Change {
            code: violation.code.into(),
            at: violation.at,
            keyword: Kw::Required.name().into(),
            action: Action::Rewritten,
            effect: Effect::Wider,
            detail: "made optional, so that the loop has a way out".into(),
        });
    }
}

fn at<'j, 'd>(json: &'j mut Json<'d>, tokens: &[String]) -> Option<&'j mut Json<'d>> {
    let mut json = json;
    for token in tokens {
        json = match json {
            Json::Obj(members) => &mut members.to_mut().iter_mut().find(|(key, _)| key == token)?.1,
            Json::Arr(items) => items.to_mut().get_mut(token.parse::<usize>().ok()?)?,
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => return None,
        };
    }
    Some(json)
}

fn drop_required(node: &mut Json<'_>, name: &str) -> bool {
    let Some(members) = node.members_mut() else { return false };
    let required = members.iter_mut().find(|(key, _)| *key == Kw::Required.name());
    let Some(required) = required.and_then(|(_, names)| names.items_mut()) else { return false };
    let before = required.len();
    required.retain(|own| own.as_str() != Some(name));
    required.len() < before
}
