//! Assertions beside the schema (`x-assert`): `name, {{ this.age >= 18 and this.name|length > 0 }}`.
//!
//! Comparisons, `and`, `or`, `not`, paths, `|length`, `|lower`, `|upper` and `|regex_match(...)`. An expression that
//! uses anything else is ignored.

use regex::Regex;
use serde_json::Value;

use crate::budget::{Budget, Exhausted};
use crate::paths::{Paths, Step};
use crate::shape::{Others, Shape, ShapeId, Shapes};
use crate::validate::{Fault, MAX_FAULTS, bytes_up_to};

/// How deep values and expressions may be nested.
const MAX_DEPTH: usize = 64;

/// The assertions that a value does not satisfy.
pub(crate) fn broken(value: &Value, shapes: &Shapes, budget: &Budget) -> Result<Vec<Fault>, Exhausted> {
    let mut faults = Vec::new();
    if shapes.assertions == 0 {
        return Ok(faults);
    }
    let mut paths = Paths::default();
    let mut open = vec![(Paths::WHOLE, value, shapes.root, 0)];
    while let Some((at, value, id, depth)) = open.pop().filter(|_| faults.len() < MAX_FAULTS) {
        budget.spend(1)?;
        let Some(shape) = shapes.get(id).filter(|_| depth < MAX_DEPTH) else { continue };
        for assertion in &shape.asserts {
            // An expression copies the parts of the value that it compares.
            budget.spend(assertion.len() + bytes_up_to(value, usize::MAX) / 16)?;
            if holds(assertion, value) == Some(false) {
                faults.push(Fault::assertion(paths.pointer(at), assertion, value));
            }
        }
        for (step, child, shape) in children(value, shape) {
            open.push((paths.step(at, step), child, shape, depth + 1));
        }
    }
    Ok(faults)
}

fn children<'v>(value: &'v Value, shape: &Shape) -> Vec<(Step<'v>, &'v Value, ShapeId)> {
    match value {
        Value::Array(items) => {
            let listed = items
                .iter()
                .enumerate()
                .filter_map(|(index, item)| Some((Step::Index(index), item, shape.item(index)?)));
            listed.collect()
        }
        Value::Object(members) => {
            let of = |key: &str| {
                shape.named(key).map(|field| field.shape).or(match shape.others {
                    Others::Shaped(shape) => Some(shape),
                    Others::Any | Others::Refused => None,
                })
            };
            members.iter().filter_map(|(key, member)| Some((Step::Key(key), member, of(key)?))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Whether an assertion holds, if it can be judged.
fn holds(assertion: &str, this: &Value) -> Option<bool> {
    let start = assertion.find("{{")? + 2;
    let end = assertion.rfind("}}")?;
    let mut reader = Reader { rest: assertion.get(start..end)?.trim(), this, depth: 0 };
    let value = reader.either()?;
    reader.rest.trim().is_empty().then(|| truth(&value))
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

struct Reader<'e> {
    rest: &'e str,
    this: &'e Value,
    depth: usize,
}

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix(token) else { return false };
        let word = token.chars().all(char::is_alphabetic);
        if word && after.starts_with(|char: char| char.is_alphanumeric() || char == '_') {
            return false;
        }
        self.rest = after;
        true
    }

    fn either(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut value = self.both()?;
        while self.takes("or") {
            let other = self.both()?;
            value = Value::Bool(truth(&value) || truth(&other));
        }
        self.depth -= 1;
        Some(value)
    }

    fn both(&mut self) -> Option<Value> {
        let mut value = self.comparison()?;
        while self.takes("and") {
            let other = self.comparison()?;
            value = Value::Bool(truth(&value) && truth(&other));
        }
        Some(value)
    }

    fn comparison(&mut self) -> Option<Value> {
        if self.takes("not") {
            return self.comparison().map(|value| Value::Bool(!truth(&value)));
        }
        let one = self.filtered()?;
        for operator in ["==", "!=", "<=", ">=", "<", ">", "in"] {
            if self.takes(operator) {
                let two = self.filtered()?;
                return compare(operator, &one, &two).map(Value::Bool);
            }
        }
        Some(one)
    }

    fn filtered(&mut self) -> Option<Value> {
        let mut value = self.primary()?;
        while self.takes("|") {
            value = self.filter(&value)?;
        }
        Some(value)
    }

    fn filter(&mut self, value: &Value) -> Option<Value> {
        let text = value.as_str();
        if self.takes("length") || self.takes("count") {
            let length = match value {
                Value::String(text) => text.chars().count(),
                Value::Array(items) => items.len(),
                Value::Object(members) => members.len(),
                Value::Null | Value::Bool(_) | Value::Number(_) => return None,
            };
            return Some(length.into());
        }
        if self.takes("lower") {
            return Some(text?.to_lowercase().into());
        }
        if self.takes("upper") {
            return Some(text?.to_uppercase().into());
        }
        if self.takes("regex_match") && self.takes("(") {
            let pattern = self.primary()?;
            let pattern = Regex::new(pattern.as_str()?).ok()?;
            return self.takes(")").then(|| Value::Bool(text.is_some_and(|text| pattern.is_match(text))));
        }
        None
    }

    fn primary(&mut self) -> Option<Value> {
        if self.takes("(") {
            let value = self.either()?;
            return self.takes(")").then_some(value);
        }
        for (word, value) in
            [("true", true.into()), ("false", false.into()), ("none", Value::Null), ("null", Value::Null)]
        {
            if self.takes(word) {
                return Some(value);
            }
        }
        if self.takes("this") {
            return self.path();
        }
        let rest = self.rest.trim_start();
        if let Some(quote) = rest.chars().next().filter(|char| matches!(char, '"' | '\'')) {
            let inner = rest.get(1..)?;
            let end = inner.find(quote)?;
            self.rest = inner.get(end + 1..)?;
            return Some(inner.get(..end)?.into());
        }
        let end = rest.find(|char: char| !(char.is_ascii_digit() || matches!(char, '-' | '.'))).unwrap_or(rest.len());
        let number = serde_json::from_str(rest.get(..end)?).ok()?;
        self.rest = rest.get(end..)?;
        Some(Value::Number(number))
    }

    fn path(&mut self) -> Option<Value> {
        let mut at = self.this;
        while let Some(after) = self.rest.strip_prefix('.') {
            let end = after.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(after.len());
            at = at.get(after.get(..end)?)?;
            self.rest = after.get(end..)?;
        }
        Some(at.clone())
    }
}

fn compare(operator: &str, one: &Value, two: &Value) -> Option<bool> {
    let order = match (one, two) {
        (Value::Number(one), Value::Number(two)) => one.as_f64()?.partial_cmp(&two.as_f64()?),
        (Value::String(one), Value::String(two)) => Some(one.cmp(two)),
        _ => None,
    };
    Some(match operator {
        "==" => order.map_or(one == two, std::cmp::Ordering::is_eq),
        "!=" => order.map_or(one != two, std::cmp::Ordering::is_ne),
        "<" => order?.is_lt(),
        "<=" => order?.is_le(),
        ">" => order?.is_gt(),
        ">=" => order?.is_ge(),
        _ => match two {
            Value::String(text) => text.contains(one.as_str()?),
            Value::Array(items) => items.contains(one),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        },
    })
}
