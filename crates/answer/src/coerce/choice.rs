//! Values that the schema lists: the one that is meant, however it is spelled.

use serde_json::Value;

use super::scalar::text_number;
use super::{Coercer, How, Id, Kind, Plan, RepairKind, Shape};
use crate::fold::{distance, fold, fold_text};
use crate::shape::{Choice, ShapeId};

impl Coercer<'_> {
    pub(super) fn choose(&mut self, id: Id, wanted: &Shape) -> Plan {
        match self.tree.kind(id) {
            Kind::Text(text) => match pick(text, &wanted.choices) {
                Some((choice, None)) => Plan { how: How::Put(choice.value.clone()), ..Plan::keep() },
                Some((choice, Some(kind))) => Plan::put(choice.value.clone(), kind),
                None => Plan::unmet(),
            },
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => self.choose_scalar(id, wanted),
            Kind::Object(_) | Kind::List(_) => {
                let object = matches!(self.tree.kind(id), Kind::Object(_));
                let kind = if object { RepairKind::Unwrapped } else { RepairKind::FromList };
                let only = self.tree.children(id).next().filter(|_| self.tree.count(id) == 1);
                let inner = only.map(|inner| (inner, kind));
                let scalar =
                    inner.filter(|(inner, _)| !matches!(self.tree.kind(*inner), Kind::List(_) | Kind::Object(_)));
                match scalar {
                    Some((inner, kind)) => self.through(inner, wanted, kind),
                    None => Plan::unmet(),
                }
            }
        }
    }

    fn choose_scalar(&self, id: Id, wanted: &Shape) -> Plan {
        let value = self.tree.value(id);
        if wanted.choices.iter().any(|choice| same_scalar(&choice.value, &value)) {
            return Plan::keep();
        }
        let raw = self.raw(id);
        let named = wanted.choices.iter().find(|choice| choice.value.is_string() && fold(&choice.name) == fold(&raw));
        named.map_or_else(Plan::unmet, |choice| Plan::put(choice.value.clone(), RepairKind::Stringified))
    }

    /// A key as the schema for names spells it.
    pub(super) fn spelled(&self, key: &str, names: ShapeId) -> Option<String> {
        let shape = self.shapes.get(names).filter(|shape| !shape.choices.is_empty())?;
        let (choice, _) = pick(key, &shape.choices)?;
        choice.value.as_str().map(ToOwned::to_owned)
    }
}

fn same_scalar(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        _ => one == two,
    }
}

/// The choice that a text means: the same, then folded, then close to only one, then named inside of it more than others.
fn pick<'c>(text: &str, choices: &'c [Choice]) -> Option<(&'c Choice, Option<RepairKind>)> {
    if let Some(choice) = choices.iter().find(|choice| choice.value.is_string() && choice.name == text) {
        let repair = (choice.value.as_str() != Some(text)).then_some(RepairKind::EnumSpelling);
        return Some((choice, repair));
    }
    if let Some(choice) = choices.iter().find(|choice| !choice.value.is_string() && says(text, &choice.value)) {
        return Some((choice, Some(RepairKind::ToNumber)));
    }
    let named = || choices.iter().filter(|choice| choice.value.is_string());
    let folded = fold(text);
    if let Some(choice) = only(named().filter(|choice| fold(&choice.name) == folded)) {
        return Some((choice, Some(RepairKind::EnumSpelling)));
    }
    let described = named().filter(|choice| {
        let described = choice.described.as_deref().unwrap_or_default();
        !described.is_empty() && (folded == fold(&format!("{}{described}", choice.name)) || folded == fold(described))
    });
    if let Some(choice) = only(described) {
        return Some((choice, Some(RepairKind::EnumSpelling)));
    }
    if let Some(choice) = in_prose(text, choices) {
        return Some((choice, Some(RepairKind::InProse)));
    }
    let limit = match folded.chars().count() {
        0..4 => return None,
        4..8 => 1,
        _ => 2,
    };
    let close = named().filter(|choice| distance(&fold(&choice.name), &folded, limit).is_some());
    only(close).map(|choice| (choice, Some(RepairKind::EnumDistance)))
}

fn only<'c>(mut choices: impl Iterator<Item = &'c Choice>) -> Option<&'c Choice> {
    let first = choices.next()?;
    choices.all(|other| other.value == first.value).then_some(first)
}

/// Whether a text says a number, boolean or null.
fn says(text: &str, value: &Value) -> bool {
    match value {
        Value::Number(wanted) => text_number(text).is_some_and(|number| number.as_f64() == wanted.as_f64()),
        Value::Bool(wanted) => text.trim().eq_ignore_ascii_case(if *wanted { "true" } else { "false" }),
        Value::Null => text.trim().eq_ignore_ascii_case("null"),
        Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The choice whose name stands in a text more often than any other. As written first, then without case and accents.
fn in_prose<'c>(text: &str, choices: &'c [Choice]) -> Option<&'c Choice> {
    let exact = most_named(text, choices, ToOwned::to_owned);
    exact.or_else(|| most_named(&fold_text(text), choices, fold_text)).or_else(|| {
        let spaced = |text: &str| fold_text(text).replace(|char: char| !char.is_alphanumeric(), " ");
        most_named(&spaced(text), choices, spaced)
    })
}

fn most_named<'c>(text: &str, choices: &'c [Choice], fold: impl Fn(&str) -> String) -> Option<&'c Choice> {
    let mut named: Vec<(String, &Choice)> = choices
        .iter()
        .filter(|choice| choice.value.is_string())
        .map(|choice| (fold(&choice.name), choice))
        .filter(|(name, _)| !name.trim().is_empty())
        .collect();
    // A longer name hides the shorter ones inside of it.
    named.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let mut covered = text.to_owned();
    let mut counts: Vec<(usize, &Choice)> = Vec::new();
    for (name, choice) in named {
        let places: Vec<usize> = covered
            .match_indices(&name)
            .map(|(place, _)| place)
            .filter(|place| is_whole(&covered, *place, name.len()))
            .collect();
        if places.is_empty() {
            continue;
        }
        counts.push((places.len(), choice));
        covered = covered.replace(&name, &"\u{1}".repeat(name.len()));
    }
    let most = counts.iter().map(|(count, _)| *count).max()?;
    let mut best = counts.iter().filter(|(count, _)| *count == most);
    let (_, choice) = best.next()?;
    best.next().is_none().then_some(*choice)
}

/// Whether a name in a text is no part of a longer word.
fn is_whole(text: &str, place: usize, length: usize) -> bool {
    let before = text.get(..place).and_then(|before| before.chars().next_back());
    let after = text.get(place + length..).and_then(|after| after.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}
