//! A hash that values have in common when JSON Schema calls them equal: `1` and `1.0`, and objects whatever the order of keys.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use serde_json::Value;

/// Chosen once for a process: values that share a hash cannot be prepared.
static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

pub(super) fn hash(value: &Value) -> u64 {
    let mut state = STATE.build_hasher();
    write(value, &mut state);
    state.finish()
}

fn write(value: &Value, state: &mut impl Hasher) {
    std::mem::discriminant(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            // `0` and `-0.0` are equal.
            state.write_u64(if number == 0.0 { 0 } else { number.to_bits() });
        }
        Value::String(text) => text.hash(state),
        Value::Array(items) => {
            state.write_usize(items.len());
            for item in items {
                write(item, state);
            }
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                let mut state = STATE.build_hasher();
                key.hash(&mut state);
                write(value, &mut state);
                state.finish()
            };
            state.write_u64(members.iter().map(member).fold(0, u64::wrapping_add));
        }
    }
}
