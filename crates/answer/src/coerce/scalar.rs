//! Lossless conversions between numbers, booleans, null and strings.

use serde_json::{Number, Value};

use super::{Coercer, Cost, How, Id, Kind, Kinds, Plan, RepairKind, Types};
use crate::salvage::{FoundNumber, number};

impl Coercer<'_> {
    pub(super) fn as_scalar(&mut self, id: Id, types: Types) -> Plan {
        let kind = self.tree.kind(id).clone();
        let plan = match types {
            Types::STRING => to_text(&kind),
            Types::BOOLEAN => to_boolean(&kind),
            Types::INTEGER => to_number(&kind, true),
            Types::NUMBER => to_number(&kind, false),
            Types::NULL => to_null(&kind),
            _ => None,
        };
        if let Some(plan) = plan {
            return plan;
        }
        // A scalar alone in an object or list is meant.
        let (inner, repair) = match &kind {
            Kind::Object(_) => (self.only_member(id), RepairKind::Unwrapped),
            Kind::List(children) if children.count == 1 => (self.tree.children(id).next(), RepairKind::FromList),
            Kind::List(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
                (None, RepairKind::FromList)
            }
        };
        let inner =
            inner.filter(|inner| !matches!(self.tree.kind(*inner), Kind::List(_) | Kind::Object(_) | Kind::Null));
        let Some(inner) = inner.filter(|_| types != Types::STRING) else { return Plan::unmet() };
        if super::types_of(self.tree.kind(inner)).has(types) {
            return Plan::put(self.tree.value(inner), repair);
        }
        let mut plan = self.as_scalar(inner, types);
        plan.cost = plan.cost.plus(Cost::of(repair));
        plan.repairs.push(repair);
        plan
    }
}

fn to_text(kind: &Kind) -> Option<Plan> {
    let repair = RepairKind::Stringified;
    let written = !matches!(kind, Kind::Null);
    written.then(|| Plan { cost: Cost::of(repair), how: How::Raw, repairs: Kinds::One(repair) })
}

fn to_boolean(kind: &Kind) -> Option<Plan> {
    match kind {
        Kind::Number(number) => match number.as_f64() {
            Some(1.0) => Some(Plan::put(Value::Bool(true), RepairKind::ToBoolean)),
            Some(0.0) => Some(Plan::put(Value::Bool(false), RepairKind::ToBoolean)),
            _ => None,
        },
        Kind::Text(text) => {
            let word = text.trim().trim_matches(['"', '\'', '`', '*', '.', '!']).to_ascii_lowercase();
            match word.as_str() {
                "true" | "yes" | "y" | "on" | "1" => return Some(Plan::put(Value::Bool(true), RepairKind::ToBoolean)),
                "false" | "no" | "n" | "off" | "0" => {
                    return Some(Plan::put(Value::Bool(false), RepairKind::ToBoolean));
                }
                _ => {}
            }
            let says = |wanted: &str| {
                text.split(|char: char| !char.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(wanted))
            };
            match (says("true"), says("false")) {
                (true, false) => Some(Plan::put(Value::Bool(true), RepairKind::InProse)),
                (false, true) => Some(Plan::put(Value::Bool(false), RepairKind::InProse)),
                (true, true) | (false, false) => None,
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Object(_) => None,
    }
}

fn to_null(kind: &Kind) -> Option<Plan> {
    let Kind::Text(text) = kind else { return None };
    let word = text.trim();
    let null = ["null", "none", "nil", "n/a", ""].iter().any(|wanted| word.eq_ignore_ascii_case(wanted));
    null.then(|| Plan::put(Value::Null, RepairKind::ToNull))
}

fn to_number(kind: &Kind, integer: bool) -> Option<Plan> {
    match kind {
        Kind::Number(number) if integer => {
            let whole = as_integer(number)?;
            Some(Plan::put(Value::Number(whole), RepairKind::ToInteger))
        }
        Kind::Number(number) => Some(Plan::put(Value::Number(number.clone()), RepairKind::ToNumber)),
        Kind::Text(text) => {
            let fits = |number: Number| if integer { as_integer(&number) } else { Some(number) };
            if let Some(number) = text_number(text.trim()).and_then(fits) {
                return Some(Plan::put(Value::Number(number), RepairKind::ToNumber));
            }
            let number = only_number(text).and_then(fits)?;
            Some(Plan::put(Value::Number(number), RepairKind::InProse))
        }
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Object(_) => None,
    }
}

/// The integer that a number is.
pub(super) fn as_integer(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    let exact = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "integers of this size are exact in both types")]
    exact.then(|| Number::from(float as i64))
}

/// The number that a text says: digits, with groups, a currency, or as a fraction.
pub(crate) fn text_number(text: &str) -> Option<Number> {
    let text = text.trim_matches(['"', '\'', '`', '*']).trim();
    let bare =
        text.trim_start_matches(['$', '€', '£', '¥', '₹', '#']).trim_end_matches(['$', '€', '£', '¥', '₹', '%']).trim();
    if let Some((over, under)) = bare.split_once('/') {
        let (over, under) = (plain_number(over.trim())?.as_f64()?, plain_number(under.trim())?.as_f64()?);
        return Number::from_f64(over / under);
    }
    plain_number(bare)
}

fn plain_number(text: &str) -> Option<Number> {
    match number(text)? {
        FoundNumber::Exact(number) | FoundNumber::Mended(number) => Some(number),
        FoundNumber::Rounded(_) | FoundNumber::TooLarge => None,
    }
}

/// The only number in a text.
fn only_number(text: &str) -> Option<Number> {
    let mut found = None;
    for word in text.split(|char: char| char.is_whitespace() || matches!(char, '(' | ')' | ':' | '=')) {
        let word = word.trim_matches(['"', '\'', '`', '*', '!', '?', ';']).trim_end_matches(['.', ',']);
        if !word.contains(|char: char| char.is_ascii_digit()) {
            continue;
        }
        let number = text_number(word);
        if found.is_some() || number.is_none() {
            return None;
        }
        found = number;
    }
    found
}
