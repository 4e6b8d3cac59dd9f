//! The last rewrites, on the printed schema: budgets met, loops given a way out.

use std::borrow::Cow;
use std::sync::Arc;

use super::Printed;
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
        let mut hoist = Hoist { limit, deep: Vec::new(), code: code(Demand::MaxDepth), changes };
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

/// Whether a printed schema holds so much of what has a budget that another attempt is in vain.
pub(super) fn is_far_over(json: &Json<'_>, caps: &Caps) -> bool {
    let mut printed = Printed::default();
    count(json, &mut printed);
    unmendable(caps).into_iter().any(|(demand, limit)| printed_of(demand, printed) > limit * 2)
}

fn count(json: &Json<'_>, printed: &mut Printed) {
    match json {
        Json::Obj(members) => {
            if let Some(properties) = json.get(Kw::Properties.name()).and_then(Json::as_obj) {
                let required = json.get(Kw::Required.name()).and_then(Json::as_arr).map_or(0, <[_]>::len);
                let declared = properties.len();
                printed.properties += u64::try_from(declared).unwrap_or(u64::MAX);
                printed.optionals += u64::try_from(declared.saturating_sub(required)).unwrap_or(u64::MAX);
            }
            for (_, value) in members {
                count(value, printed);
            }
        }
        Json::Arr(items) => {
            for item in items {
                count(item, printed);
            }
        }
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => {}
    }
}

/// How much was printed of what a budget is for.
pub(super) fn printed_of(demand: Demand, printed: Printed) -> u64 {
    if demand == Demand::MaxOptionals { printed.optionals } else { printed.properties }
}

/// What is sent when no rung is left: a dialect that closes objects gets the value as JSON text, any other an object of any
/// form (R-A7).
pub(super) fn last_resort<'d>(stuck: &Violation, caps: &Caps) -> (Json<'d>, Lens, Change) {
    let mut lens = Lens::identity();
    let (json, detail) = if caps.must(Demand::Closed) {
        let text = lens.add(Shape::Text);
        let wrapped = lens.add(Shape::Wrapped("value".to_owned(), text));
        lens = lens.with_root(wrapped);
        let value = Json::Obj(vec![
            (Kw::Type.name().into(), Json::str("string")),
            (Kw::Description.name().into(), Json::str("(the whole value as JSON text)")),
        ]);
        let json = Json::Obj(vec![
            (Kw::Type.name().into(), Json::str("object")),
            (Kw::Properties.name().into(), Json::Obj(vec![("value".into(), value)])),
            (Kw::Required.name().into(), Json::Arr(vec![Json::str("value")])),
            (Kw::AdditionalProperties.name().into(), Json::Bool(false)),
        ]);
        (json, "nothing else would be taken: the value as JSON text")
    } else {
        let mut members =
            vec![(Kw::Type.name().into(), Json::str("object")), (Kw::Properties.name().into(), Json::Obj(Vec::new()))];
        if caps.must(Demand::SaysOpen) {
            members.push((Kw::AdditionalProperties.name().into(), Json::Bool(true)));
        }
        (Json::Obj(members), "nothing else would be taken: an object of any form")
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
    code: Arc<str>,
    changes: &'h mut Vec<Change>,
}

impl<'d> Hoist<'d, '_> {
    fn run(&mut self, json: &mut Json<'d>) {
        let Json::Obj(members) = json else { return };
        let mut taken: Vec<String> = Vec::new();
        let mut defs = match members.iter().position(|(key, _)| key == Kw::Defs.name()) {
            Some(index) => match members.remove(index).1 {
                Json::Obj(map) => map,
                Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Arr(_) => Vec::new(),
            },
            None => Vec::new(),
        };
        taken.extend(defs.iter().map(|(name, _)| name.clone().into_owned()));
        self.descend(json, 0, &taken);
        for (_, definition) in &mut defs {
            self.descend(definition, 0, &taken);
        }
        defs.append(&mut self.deep);
        if let (Json::Obj(members), false) = (json, defs.is_empty()) {
            members.push((Kw::Defs.name().into(), Json::Obj(defs)));
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
            let reference = Json::Obj(vec![(Kw::Ref.name().into(), Json::str(pointer))]);
            let mut moved = std::mem::replace(json, reference);
            let slot = self.deep.len();
            self.deep.push((Cow::Owned(name), Json::Null));
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
    let Json::Obj(members) = json else { return };
    for (key, value) in members {
        let Some(kw) = Kw::of(key) else { continue };
        match (kw.row().holds, value) {
            (Holds::Schema, child @ Json::Obj(_)) => visit(&[kw.name()], child),
            (Holds::SchemaList, Json::Arr(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    visit(&[kw.name(), &index.to_string()], item);
                }
            }
            (Holds::SchemaMap, Json::Obj(map)) => {
                for (name, item) in map {
                    visit(&[kw.name(), name], item);
                }
            }
            _ => {}
        }
    }
}

fn sum_of_max_items(json: &Json<'_>) -> u64 {
    let own = json.get(Kw::MaxItems.name()).and_then(Json::as_count).unwrap_or(0);
    let Json::Obj(members) = json else { return 0 };
    let mut sum = own;
    for (key, value) in members {
        let Some(kw) = Kw::of(key) else { continue };
        let below = match (kw.row().holds, value) {
            (Holds::Schema, child) => sum_of_max_items(child),
            (Holds::SchemaList, Json::Arr(items)) => items.iter().map(sum_of_max_items).fold(0, u64::saturating_add),
            (Holds::SchemaMap, Json::Obj(map)) => {
                map.iter().map(|(_, item)| sum_of_max_items(item)).fold(0, u64::saturating_add)
            }
            _ => 0,
        };
        sum = sum.saturating_add(below);
    }
    sum
}

fn strip_max_items(json: &mut Json<'_>, pointer: &mut String, code: &Arc<str>, caps: &Caps, changes: &mut Vec<Change>) {
    if let Json::Obj(members) = json
        && let Some(index) = members.iter().position(|(key, _)| key == Kw::MaxItems.name())
    {
        let (_, value) = members.remove(index);
        let fact = format!("({}: {value})", Kw::MaxItems.name());
        if caps.accepts(Kw::Description) {
            match members.iter_mut().find(|(key, _)| key == Kw::Description.name()) {
                Some((_, text)) => *text = Json::str(format!("{} {fact}", text.as_str().unwrap_or_default())),
                None => members.push((Kw::Description.name().into(), Json::str(fact))),
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

fn enum_sizes(json: &mut Json<'_>, sizes: &mut Vec<(usize, usize)>) {
    if let Some(values) = json.get(Kw::Enum.name()).and_then(Json::as_arr) {
        let chars = values.iter().filter_map(Json::as_str).map(|text| text.chars().count()).sum();
        sizes.push((values.len(), chars));
    }
    each_subschema(json, &mut |_, child| enum_sizes(child, sizes));
}

fn drop_enums(json: &mut Json<'_>, cut: usize, pointer: &mut String, code: &Arc<str>, changes: &mut Vec<Change>) {
    let long = json.get(Kw::Enum.name()).and_then(Json::as_arr).is_some_and(|values| values.len() >= cut);
    if let (Json::Obj(members), true) = (&mut *json, long) {
        members.retain(|(key, _)| key != Kw::Enum.name());
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
    let Json::Obj(members) = json else { return };
    for (word, definitions) in members {
        if let (Some(Kw::Defs | Kw::OpenDefs), Json::Obj(map)) = (Kw::of(word), definitions) {
            map.retain(|(name, _)| !unused.contains(name.as_ref()));
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
                && let Some(Json::Obj(members)) = at(json, &tokens)
                && let Some(index) = members.iter().position(|(key, _)| key == Kw::MinItems.name())
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
            Json::Obj(members) => &mut members.iter_mut().find(|(key, _)| key == token)?.1,
            Json::Arr(items) => items.get_mut(token.parse::<usize>().ok()?)?,
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => return None,
        };
    }
    Some(json)
}

fn drop_required(node: &mut Json<'_>, name: &str) -> bool {
    let Json::Obj(members) = node else { return false };
    let Some((_, Json::Arr(required))) = members.iter_mut().find(|(key, _)| key == Kw::Required.name()) else {
        return false;
    };
    let before = required.len();
    required.retain(|own| own.as_str() != Some(name));
    required.len() < before
}
