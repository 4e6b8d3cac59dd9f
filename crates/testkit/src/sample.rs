//! Samples values that a schema accepts, from a seed: for the laws of round trips, and for answers without a model. The same
//! schema and seed give the same value.

pub(crate) mod dice;
mod text;

use polywire_schema::internals::{Kw, compile_pattern, pointer_tokens};
use serde_json::{Map, Number, Value};

use dice::Dice;

/// Deeper values are kept as small as possible.
const SMALL_BELOW: usize = 6;

/// Schemas within schemas beyond this depth are given up.
const MAX_DEPTH: usize = 64;

/// The limit of sampled values, for schemas that branch without end.
const MAX_VALUES: usize = 4_096;

/// A value that the schema accepts, or `None` where none was found. Keywords that need a search, such as `not` and `contains`
/// with a limit, are ignored: a caller who must be sure validates the value.
///
/// ```
/// let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]});
/// assert!(polywire_testkit::sample(&schema, 7).unwrap()["n"].as_i64().unwrap() >= 3);
/// ```
pub fn sample(schema: &Value, seed: u64) -> Option<Value> {
    Sampler { root: schema, dice: Dice::new(seed), left: MAX_VALUES }.value(schema, 0)
}

struct Sampler<'s> {
    root: &'s Value,
    dice: Dice,
    left: usize,
}

impl<'s> Sampler<'s> {
    fn value(&mut self, schema: &'s Value, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        match schema {
            Value::Bool(true) => Some(Value::String(self.dice.word())),
            Value::Object(map) if depth < MAX_DEPTH => self.sample_schema(map, depth),
            Value::Null
            | Value::Bool(false)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }

    fn sample_schema(&mut self, map: &'s Map<String, Value>, depth: usize) -> Option<Value> {
        let get = |kw: Kw| map.get(kw.name());
        if let Some(value) = get(Kw::Const) {
            return Some(value.clone());
        }
        if let Some(Value::Array(values)) = get(Kw::Enum) {
            return self.dice.pick(values).cloned();
        }
        if get(Kw::Nullable) == Some(&Value::Bool(true)) && self.dice.one_in(if depth > SMALL_BELOW { 1 } else { 4 }) {
            return Some(Value::Null);
        }
        let referred = [Kw::Ref, Kw::BareRef].into_iter().find_map(|kw| get(kw)?.as_str());
        if let Some(target) = referred.and_then(|pointer| resolve(self.root, pointer)) {
            return self.sample_merged([SchemaPart::All(map), SchemaPart::Schema(target)], depth);
        }
        for kw in [Kw::AnyOf, Kw::OneOf] {
            if let Some(Value::Array(branches)) = get(kw) {
                return self.branch(map, kw, branches, depth);
            }
        }
        if let Some(Value::Array(parts)) = get(Kw::AllOf) {
            let own = SchemaPart::Without(map, Kw::AllOf);
            return self.sample_merged(std::iter::once(own).chain(parts.iter().map(SchemaPart::Schema)), depth);
        }
        self.sample_type(&SampleRules::of(map), depth)
    }

    /// A value of one branch and its siblings; at depth, of the smallest branch.
    fn branch(&mut self, map: &'s Map<String, Value>, kw: Kw, branches: &'s [Value], depth: usize) -> Option<Value> {
        let first = if depth > SMALL_BELOW { 0 } else { self.dice.below(branches.len()) };
        let mut order: Vec<&Value> = branches.iter().skip(first).chain(branches.iter().take(first)).collect();
        if depth > SMALL_BELOW {
            order.sort_by_key(|branch| weight(branch));
        }
        order
            .into_iter()
            .find_map(|branch| self.sample_merged([SchemaPart::Without(map, kw), SchemaPart::Schema(branch)], depth))
    }

    /// A value of several schemas at once, as far as their keywords can be combined.
    fn sample_merged(&mut self, parts: impl IntoIterator<Item = SchemaPart<'s>>, depth: usize) -> Option<Value> {
        let mut rules = SampleRules::default();
        let mut open: Vec<SchemaPart<'s>> = parts.into_iter().collect();
        open.reverse();
        let mut steps = 0;
        while let Some(part) = open.pop() {
            steps += 1;
            if steps > MAX_DEPTH {
                return None;
            }
            let (map, without) = match part {
                SchemaPart::All(map) | SchemaPart::Schema(Value::Object(map)) => (map, None),
                SchemaPart::Without(map, kw) => (map, Some(kw)),
                SchemaPart::Schema(Value::Bool(true)) => continue,
                SchemaPart::Schema(_) => return None,
            };
            if let Some(value) = map.get(Kw::Const.name()) {
                return Some(value.clone());
            }
            if let Some(Value::Array(values)) = map.get(Kw::Enum.name()) {
                return self.dice.pick(values).cloned();
            }
            let referring = !matches!(part, SchemaPart::All(_));
            let pointer = [Kw::Ref, Kw::BareRef].into_iter().find_map(|kw| map.get(kw.name())?.as_str());
            if let Some(target) = pointer.filter(|_| referring).and_then(|pointer| resolve(self.root, pointer)) {
                open.push(SchemaPart::Schema(target));
            }
            for kw in [Kw::AnyOf, Kw::OneOf] {
                if let (Some(Value::Array(branches)), true) = (map.get(kw.name()), without != Some(kw)) {
                    open.push(SchemaPart::Schema(self.chosen(branches, depth)?));
                }
            }
            if let (Some(Value::Array(parts)), true) = (map.get(Kw::AllOf.name()), without != Some(Kw::AllOf)) {
                open.extend(parts.iter().map(SchemaPart::Schema));
            }
            rules.add(map);
        }
        self.sample_type(&rules, depth)
    }

    fn chosen(&mut self, branches: &'s [Value], depth: usize) -> Option<&'s Value> {
        if depth > SMALL_BELOW { branches.iter().min_by_key(|branch| weight(branch)) } else { self.dice.pick(branches) }
    }

    fn sample_type(&mut self, rules: &SampleRules<'s>, depth: usize) -> Option<Value> {
        let types = rules.types();
        let plain = ["null", "boolean", "string", "integer", "number"];
        let kind = match types.iter().find(|kind| depth > SMALL_BELOW && plain.contains(*kind)) {
            Some(simple) => *simple,
            None => self.dice.pick(&types)?,
        };
        match kind {
            "null" => Some(Value::Null),
            "boolean" => Some(Value::Bool(self.dice.one_in(2))),
            "integer" | "number" => self.number(rules, kind == "integer"),
            "string" => text::text(rules, &mut self.dice).map(Value::String),
            "array" => self.array(rules, depth + 1),
            _ => self.object(rules, depth + 1),
        }
    }

    fn number(&mut self, rules: &SampleRules<'s>, whole: bool) -> Option<Value> {
        let step = rules.maximum(Kw::MultipleOf).filter(|step| *step > 0.0);
        let grain = step.unwrap_or(if whole { 1.0 } else { 0.5 });
        let low = [rules.maximum(Kw::Minimum), rules.maximum(Kw::ExclusiveMinimum).map(|at| at + grain.min(1e-3))];
        let high = [rules.minimum(Kw::Maximum), rules.minimum(Kw::ExclusiveMaximum).map(|at| at - grain.min(1e-3))];
        let low = low.into_iter().flatten().reduce(f64::max);
        let high = high.into_iter().flatten().reduce(f64::min);
        let start = low.or(high.map(|high| high - grain * 8.0)).unwrap_or(0.0);
        let end = high.unwrap_or(start + grain * 100.0);
        let first = (start / grain).ceil();
        let count = ((end / grain).floor() - first).clamp(0.0, 1_000.0);
        let chosen = first + (count * self.dice.part()).floor();
        let value = chosen * grain;
        // A narrow range may hold no multiple of a grain that nobody asked for.
        let value = if step.is_none() && !whole && value > end { f64::midpoint(start, end) } else { value };
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a whole number in range")]
        if value.fract() == 0.0 && value.abs() < 9e15 {
            return Some(Value::Number((value as i64).into()));
        }
        if whole { None } else { Number::from_f64(value).map(Value::Number) }
    }

    fn array(&mut self, rules: &SampleRules<'s>, depth: usize) -> Option<Value> {
        let min = rules.count(Kw::MinItems).unwrap_or(0);
        let room = if depth > SMALL_BELOW { 0 } else { self.dice.below(3) };
        let max = rules.least_count(Kw::MaxItems).unwrap_or(usize::MAX);
        let prefix = rules.list(Kw::PrefixItems);
        let rest = rules.one(Kw::Items);
        let unique = rules.one(Kw::UniqueItems) == Some(&Value::Bool(true));
        let wanted = if max < min { return None } else { (min + room).min(max).min(min + 64) };
        let mut items: Vec<Value> = Vec::with_capacity(wanted);
        if let Some(contained) = rules.one(Kw::Contains).filter(|_| prefix.is_empty() && wanted > 0 || min == 0) {
            items.extend(self.value(contained, depth).filter(|_| max > 0));
        }
        for _ in 0..wanted * 4 {
            if items.len() >= wanted {
                break;
            }
            let made = match (prefix.get(items.len()), rest) {
                (Some(own), _) | (None, Some(own)) => self.value(own, depth),
                (None, None) => Some(Value::String(self.dice.word())),
            };
            let Some(made) = made else { break };
            if !(unique && items.contains(&made)) {
                items.push(made);
            }
        }
        (items.len() >= min).then_some(Value::Array(items))
    }

    fn object(&mut self, rules: &SampleRules<'s>, depth: usize) -> Option<Value> {
        let mut made = Map::new();
        let required = rules.required();
        let most = rules.least_count(Kw::MaxProperties).unwrap_or(usize::MAX);
        for (name, schema) in rules.properties() {
            let needed = required.contains(&name);
            if !needed && (made.len() >= most || depth > SMALL_BELOW || self.dice.one_in(2)) {
                continue;
            }
            match self.value(schema, depth) {
                Some(value) => _ = made.insert(name.to_owned(), value),
                None if needed => return None,
                None => {}
            }
        }
        for name in required {
            if !made.contains_key(name) {
                made.insert(name.to_owned(), self.undeclared(rules, name, depth)?);
            }
        }
        let least = rules.count(Kw::MinProperties).unwrap_or(0);
        let spare = usize::from(depth <= SMALL_BELOW && rules.allows_undeclared() && self.dice.one_in(2));
        for _ in 0..(least + 8) * 4 {
            if made.len() >= least.max(spare) || made.len() >= most {
                break;
            }
            let key = match rules.pattern_properties().first() {
                Some((pattern, _)) => text::of_pattern(pattern, &mut self.dice)?,
                None => self.dice.word(),
            };
            if rules.properties().iter().any(|(own, _)| *own == key) {
                continue;
            }
            match self.undeclared(rules, &key, depth) {
                Some(value) => _ = made.insert(key, value),
                None => break,
            }
        }
        (made.len() >= least).then_some(Value::Object(made))
    }

    /// A value for a key that is not declared.
    fn undeclared(&mut self, rules: &SampleRules<'s>, key: &str, depth: usize) -> Option<Value> {
        let matching = rules
            .pattern_properties()
            .into_iter()
            .find(|(pattern, _)| compile_pattern(pattern).is_some_and(|matcher| matcher.is_match(key)));
        match matching.map(|(_, schema)| schema).or_else(|| rules.one(Kw::AdditionalProperties)) {
            Some(schema) => self.value(schema, depth),
            None => Some(Value::String(self.dice.word())),
        }
    }
}

/// A schema, or a part of one, that the value must satisfy.
#[derive(Clone, Copy)]
enum SchemaPart<'s> {
    /// The keywords of a schema whose reference is followed already.
    All(&'s Map<String, Value>),
    /// The keywords of a schema but one.
    Without(&'s Map<String, Value>, Kw),
    Schema(&'s Value),
}

/// The keywords of all schemas for one value.
#[derive(Default)]
struct SampleRules<'s>(Vec<&'s Map<String, Value>>);

impl<'s> SampleRules<'s> {
    fn of(map: &'s Map<String, Value>) -> Self {
        Self(vec![map])
    }

    fn add(&mut self, map: &'s Map<String, Value>) {
        self.0.push(map);
    }

    fn each(&self, kw: Kw) -> impl Iterator<Item = &'s Value> {
        self.0.iter().filter_map(move |map| map.get(kw.name()))
    }

    /// The keyword's first value.
    fn one(&self, kw: Kw) -> Option<&'s Value> {
        self.each(kw).next()
    }

    fn maximum(&self, kw: Kw) -> Option<f64> {
        self.each(kw).filter_map(Value::as_f64).reduce(f64::max)
    }

    fn minimum(&self, kw: Kw) -> Option<f64> {
        self.each(kw).filter_map(Value::as_f64).reduce(f64::min)
    }

    fn count(&self, kw: Kw) -> Option<usize> {
        self.each(kw).filter_map(count).max()
    }

    fn least_count(&self, kw: Kw) -> Option<usize> {
        self.each(kw).filter_map(count).min()
    }

    fn list(&self, kw: Kw) -> &'s [Value] {
        self.one(kw).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn required(&self) -> Vec<&'s str> {
        self.each(Kw::Required).filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect()
    }

    fn properties(&self) -> Vec<(&'s str, &'s Value)> {
        self.members(Kw::Properties)
    }

    fn pattern_properties(&self) -> Vec<(&'s str, &'s Value)> {
        self.members(Kw::PatternProperties)
    }

    fn members(&self, kw: Kw) -> Vec<(&'s str, &'s Value)> {
        self.each(kw).filter_map(Value::as_object).flatten().map(|(key, schema)| (key.as_str(), schema)).collect()
    }

    fn allows_undeclared(&self) -> bool {
        let refused = self.each(Kw::AdditionalProperties).any(|own| own == &Value::Bool(false));
        !self.pattern_properties().is_empty() || (!refused && self.one(Kw::AdditionalProperties).is_some())
    }

    /// The types that all schemas accept, or those that their keywords apply to.
    fn types(&self) -> Vec<&'s str> {
        let mut left: Option<Vec<&'s str>> = None;
        for stated in self.each(Kw::Type) {
            let names: Vec<&str> = match stated {
                Value::String(name) => vec![name],
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => continue,
            };
            left = Some(match left {
                None => names,
                Some(left) if left.contains(&"number") && names.contains(&"integer") => vec!["integer"],
                Some(left) => left.into_iter().filter(|own| names.contains(own)).collect(),
            });
        }
        left.unwrap_or_else(|| {
            let spoken = |kws: &[Kw]| kws.iter().any(|kw| self.one(*kw).is_some());
            let objects = [Kw::Properties, Kw::Required, Kw::AdditionalProperties, Kw::PatternProperties];
            match () {
                () if spoken(&objects) => vec!["object"],
                () if spoken(&[Kw::Items, Kw::PrefixItems, Kw::MinItems]) => vec!["array"],
                () if spoken(&[Kw::Minimum, Kw::Maximum, Kw::MultipleOf]) => vec!["number"],
                () => vec!["string"],
            }
        })
    }
}

fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|count| usize::try_from(count).ok())
}

/// About the size of the smallest value.
fn weight(schema: &Value) -> usize {
    let list = |kw: Kw| schema.get(kw.name()).and_then(Value::as_array).map_or(0, Vec::len);
    let refers = usize::from(schema.get(Kw::Ref.name()).is_some());
    let nested = schema.get(Kw::Properties.name()).or_else(|| schema.get(Kw::Items.name())).is_some();
    refers * 4 + list(Kw::Required) + usize::from(nested)
}

fn resolve<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    let mut at = root;
    for token in pointer_tokens(pointer.strip_prefix('#')?) {
        at = match at {
            Value::Object(map) => map.get(token.as_ref())?,
            Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sample;

    #[test]
    fn values_conform() {
        let schemas = [
            json!({"type": "string", "pattern": "^[a-f]{3}-\\d+$", "minLength": 5}),
            json!({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "uniqueItems": true}),
            json!({"type": "number", "exclusiveMinimum": 0.1, "maximum": 0.2}),
            json!({"type": "integer", "multipleOf": 7, "minimum": 15, "maximum": 22}),
            json!({"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "boolean"}}, "additionalProperties": false}]}),
            json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "required": ["kids"], "properties": {
                "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}}}),
            json!({"type": "object", "patternProperties": {"^x-[a-z]+$": {"type": "null"}}, "additionalProperties": false,
                "minProperties": 2}),
            json!({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}),
        ];
        for schema in schemas {
            let judge =
                jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a schema");
            for seed in 0..50 {
                let value = sample(&schema, seed).expect("a value");
                assert!(judge.is_valid(&value), "{value} of {schema}");
                assert_eq!(sample(&schema, seed), Some(value));
            }
        }
    }

    #[test]
    fn what_has_no_end_is_given_up() {
        let schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "required": ["b", "c"], "properties": {
            "b": {"$ref": "#/$defs/a"}, "c": {"$ref": "#/$defs/a"}}}}});
        assert_eq!(sample(&schema, 1), None);
    }
}
