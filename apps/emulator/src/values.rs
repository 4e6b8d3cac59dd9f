//! Made-up values that conform to the schema that was sent, from a seed.
//!
//! The schema's keywords decide and nothing else: descriptions are not read, and the validator that judges the values is the
//! `jsonschema` crate. A keyword that the sampler cannot meet, such as a pattern with a lookahead, is first replaced by a text
//! that meets it ([`ease`]). [`Made::is_valid`] says whether that worked.

mod ease;
mod spelling;

use jsonschema::Validator;
use polywire_testkit::sample;
use serde_json::{Map, Value, json};

pub(crate) use ease::ease;
pub(crate) use spelling::as_json_schema;

/// Seeds that are tried for a valid value.
const TRIES: u64 = 32;

/// Schemas that are nested deeper get no value of their own in [`skeleton`].
const DEEPEST: usize = 24;

/// A made-up value.
pub(crate) struct Made {
    pub(crate) value: Value,
    /// Whether the schema accepts it. A schema that no validator can be built for, such as one with a remote reference, counts as met.
    pub(crate) is_valid: bool,
}

/// Makes a value for a schema as any provider spells it.
pub(crate) fn make(schema: &Value, seed: u64) -> Made {
    let schema = as_json_schema(schema);
    let validator = validator(&schema);
    let is_valid = |value: &Value| validator.as_ref().is_none_or(|validator| validator.is_valid(value));
    let eased = ease(&schema, seed);
    let attempt = |schema: &Value, step: u64| sample(schema, seed.wrapping_add(step)).filter(|value| is_valid(value));
    let found = (0..TRIES)
        .find_map(|step| attempt(&eased, step))
        .or_else(|| (0..TRIES).find_map(|step| attempt(&schema, step)));
    if let Some(value) = found {
        let distinct = Some(without_repeats(value.clone())).filter(|value| is_valid(value));
        return Made { value: distinct.unwrap_or(value), is_valid: true };
    }
    let value = sample(&eased, seed).unwrap_or_else(|| skeleton(&eased, &eased, 0));
    let is_valid = is_valid(&value);
    Made { value, is_valid }
}

/// The value without items that start like an earlier item of their list. The first member is what tells items apart in most data,
/// such as an id, a name or a key, and no schema can ask for that.
fn without_repeats(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut firsts: Vec<(String, Value)> = Vec::new();
            let is_new = |item: &Value| {
                let Some((name, first)) = item.as_object().and_then(|members| members.iter().next()) else {
                    return true;
                };
                let first = (name.clone(), first.clone());
                let is_new = !firsts.contains(&first);
                firsts.push(first);
                is_new
            };
            Value::Array(items.into_iter().filter(is_new).map(without_repeats).collect())
        }
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, without_repeats(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// A validator with formats as assertions.
pub(super) fn validator(schema: &Value) -> Option<Validator> {
    jsonschema::options().should_validate_formats(true).build(schema).ok()
}

/// The smallest value of the right shape: required members only, and the first of every choice.
fn skeleton(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else { return Value::Null };
    if let Some(value) = map.get("const").or_else(|| map.get("enum").and_then(|values| values.get(0))) {
        return value.clone();
    }
    let target = map.get("$ref").and_then(Value::as_str).and_then(|text| root.pointer(text.strip_prefix('#')?));
    let branch = ["anyOf", "oneOf", "allOf"].iter().find_map(|keyword| map.get(*keyword)?.get(0));
    if let Some(inner) = target.or(branch) {
        return skeleton(inner, root, depth + 1);
    }
    let kind = map.get("type");
    let kind = kind.and_then(Value::as_str).or_else(|| kind.and_then(|kinds| kinds.get(0)?.as_str()));
    match kind.unwrap_or(if map.contains_key("properties") { "object" } else { "string" }) {
        "null" => Value::Null,
        "boolean" => json!(true),
        "integer" | "number" => map.get("minimum").or_else(|| map.get("maximum")).cloned().unwrap_or_else(|| json!(1)),
        "array" => {
            let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(64);
            let item = |_| map.get("items").map_or(Value::Null, |items| skeleton(items, root, depth + 1));
            (0..least).map(item).collect()
        }
        "object" => {
            let required =
                map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let member = |name: &str| {
                let schema = map.get("properties").and_then(|properties| properties.get(name));
                (name.to_owned(), schema.map_or(json!("x"), |schema| skeleton(schema, root, depth + 1)))
            };
            Value::Object(required.map(member).collect::<Map<_, _>>())
        }
        _ => json!("x"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::make;

    #[track_caller]
    fn valid(schema: &Value) -> Value {
        let made: Vec<_> = (0..40).map(|seed| make(schema, seed)).collect();
        assert!(made.iter().all(|made| made.is_valid), "{schema}");
        made.into_iter().next().expect("a value").value
    }

    /// Zod writes `.int()` with the bounds of a double's whole numbers.
    #[test]
    fn integers_within_the_bounds_of_zod_are_made() {
        let int =
            json!({"type": "integer", "minimum": -9_007_199_254_740_991_i64, "maximum": 9_007_199_254_740_991_i64});
        let value = valid(
            &json!({"type": "object", "properties": {"n": int}, "required": ["n"], "additionalProperties": false}),
        );
        assert!(value["n"].is_i64(), "{value}");
        valid(&json!({"type": "integer", "minimum": 9_007_199_254_740_000_i64}));
        valid(&json!({"type": "integer", "maximum": -9_007_199_254_740_000_i64}));
        valid(&json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1}));
        valid(&json!({"type": "integer", "multipleOf": 7, "minimum": 10}));
        valid(&json!({"type": "integer", "exclusiveMinimum": 8, "maximum": 9}));
    }

    #[test]
    fn patterns_with_lookarounds_are_met() {
        let email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
        valid(
            &json!({"type": "object", "properties": {"mail": {"type": "string", "format": "email", "pattern": email}}, "required": ["mail"]}),
        );
        let decimal = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$";
        valid(&json!({"anyOf": [{"type": "number"}, {"type": "string", "pattern": decimal}]}));
        valid(&json!({"type": "string", "pattern": r"^(?=.*\d)(?=.*[a-z])[a-z0-9]{4,12}$"}));
    }

    /// A wrong text is better than `{}` for the whole value, and it is marked.
    #[test]
    fn a_pattern_that_cannot_be_met_keeps_the_shape() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)(?=y)z$"}, "n": {"type": "integer"}}, "required": ["a", "n"]});
        let made = make(&schema, 1);
        assert!(!made.is_valid && made.value["a"].is_string() && made.value["n"].is_i64(), "{}", made.value);
    }

    #[test]
    fn schemas_in_the_spelling_of_openapi_are_met() {
        let value = valid(
            &json!({"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "minimum": 3}, "s": {"type": "STRING", "nullable": true},
            "k": {"any_of": [{"type": "BOOLEAN"}]}}, "required": ["n", "s", "k"]}),
        );
        assert!(value["n"].as_i64() >= Some(3) && value["k"].is_boolean(), "{value}");
    }

    #[test]
    fn items_do_not_start_alike() {
        let item = json!({"type": "object", "properties": {"name": {"enum": ["a", "b"]}}, "required": ["name"]});
        let value = valid(&json!({"type": "array", "items": item, "minItems": 1}));
        assert!(value.as_array().is_some_and(|items| items.len() <= 2 && items.first() != items.get(1)), "{value}");
    }

    /// Limits in descriptions are written by the code under test.
    #[test]
    fn descriptions_are_not_read() {
        let schema = json!({"type": "integer", "minimum": 20, "maximum": 30, "description": "How many. (const: 7) (maximum: 1)"});
        assert!((20..=30).contains(&valid(&schema).as_i64().unwrap_or_default()));
    }
}
