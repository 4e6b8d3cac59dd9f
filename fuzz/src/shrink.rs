//! Makes a schema that shows a fault smaller, as long as it shows a fault of the same kind.

use serde_json::{Value, json};

/// The smallest schema that the search finds; `fails` says whether one still shows the fault.
pub fn shrink(schema: Value, fails: &dyn Fn(&Value) -> bool) -> Value {
    let mut best = schema;
    for _ in 0..400 {
        let Some(smaller) = smaller(&best).find(|candidate| fails(candidate)) else { return best };
        best = smaller;
    }
    best
}

/// Everything that is one step simpler, the largest steps first.
fn smaller(value: &Value) -> Box<dyn Iterator<Item = Value> + '_> {
    match value {
        Value::Object(members) => {
            let hoisted = members.values().filter(|member| member.is_object()).cloned();
            let without = members.keys().map(move |left_out| {
                let rest = members.iter().filter(move |(key, _)| *key != left_out);
                Value::Object(rest.map(|(key, member)| (key.clone(), member.clone())).collect())
            });
            let within = members.iter().flat_map(move |(key, member)| {
                smaller(member).map(move |simpler| {
                    let mut members = members.clone();
                    members.insert(key.clone(), simpler);
                    Value::Object(members)
                })
            });
            let empty = (!members.is_empty()).then(|| json!({}));
            Box::new(empty.into_iter().chain(hoisted).chain(without).chain(within))
        }
        Value::Array(items) => {
            let without = (0..items.len()).map(move |left_out| {
                let rest = items.iter().enumerate().filter(move |(index, _)| *index != left_out);
                Value::Array(rest.map(|(_, item)| item.clone()).collect())
            });
            let within = items.iter().enumerate().flat_map(move |(index, item)| {
                smaller(item).filter_map(move |simpler| {
                    let mut items = items.clone();
                    *items.get_mut(index)? = simpler;
                    Some(Value::Array(items))
                })
            });
            Box::new(without.chain(within))
        }
        Value::String(text) if text.chars().count() > 1 => Box::new(std::iter::once(json!("a"))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}
