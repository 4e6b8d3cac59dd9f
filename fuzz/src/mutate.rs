//! Makes new JSON out of old: parts are exchanged, moved under other keys, wrapped, repeated and left out. The same seed
//! gives the same JSON.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

/// What the cases of a folder and its folders have in a field. A file is one case, or one a line.
pub fn seeds(folder: &Path, field: &str) -> io::Result<Vec<Value>> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|entry| entry.map(|own| own.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let mut seeds = Vec::new();
    for path in paths {
        if path.is_dir() {
            seeds.extend(self::seeds(&path, field)?);
            continue;
        }
        let text = fs::read_to_string(path)?;
        let lines = || text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let cases: Vec<Value> = serde_json::from_str(&text).map_or_else(|_| lines(), |case| vec![case]);
        seeds.extend(cases.into_iter().filter_map(|mut case| case.get_mut(field).map(Value::take)));
    }
    Ok(seeds)
}

/// Makes new schemas out of old ones.
pub struct Mutator {
    seeds: Vec<Value>,
    /// Every value that stands anywhere in a seed.
    parts: Vec<Value>,
    /// Every key that stands anywhere in a seed.
    keys: Vec<String>,
    state: u64,
}

impl Mutator {
    /// A mutator whose choices follow from the number.
    pub fn new(seeds: Vec<Value>, number: u64) -> Self {
        let mut parts = vec![json!(true), json!(false), json!(null), json!([]), json!({}), json!(-1), json!(1e300)];
        let words = ["$ref", "any_of", "dependencies", "extends", "contentSchema", "_def", "$recursiveRef", "then", ""];
        let mut keys: Vec<String> = words.map(str::to_owned).to_vec();
        for seed in &seeds {
            collect(seed, &mut parts, &mut keys);
        }
        keys.sort();
        keys.dedup();
        Self { seeds, parts, keys, state: number.wrapping_mul(2).wrapping_add(1) }
    }

    /// The next input: two bytes that choose dialect and options, and the text of a schema.
    pub fn input(&mut self) -> Vec<u8> {
        let how = if self.one_in(4) { self.number() } else { 0 };
        let mut data = vec![self.number().to_le_bytes()[0], how.to_le_bytes()[0]];
        let index = self.below(self.seeds.len());
        let mut schema = self.seeds.get(index).cloned().unwrap_or_default();
        for _ in 0..=self.below(6) {
            self.mutate(&mut schema, 0);
        }
        let mut text = schema.to_string().into_bytes();
        if self.one_in(16) {
            self.damage(&mut text);
        }
        data.append(&mut text);
        data
    }

    /// Changes something at a random place.
    fn mutate(&mut self, value: &mut Value, depth: usize) {
        let children = match value {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        if children > 0 && depth < 40 && !self.one_in(5) {
            let index = self.below(children);
            let child = match value {
                Value::Object(members) => members.values_mut().nth(index),
                Value::Array(items) => items.get_mut(index),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            if let Some(child) = child {
                return self.mutate(child, depth + 1);
            }
        }
        match (self.below(8), value) {
            (0 | 1, Value::Object(members)) => {
                let (key, part) = (self.key(), self.part());
                members.insert(key, part);
            }
            (2, Value::Object(members)) => {
                let mut index = self.below(members.len().max(1));
                members.retain(|_, _| {
                    let keep = index != 0;
                    index = index.wrapping_sub(1);
                    keep
                });
            }
            (3, Value::Object(members)) => {
                // The same value under another key.
                let index = self.below(members.len().max(1));
                if let Some(part) = members.values().nth(index).cloned() {
                    members.insert(self.key(), part);
                }
            }
            (4, Value::Array(items)) => items.push(self.part()),
            (5, Value::Array(items)) => {
                let index = self.below(items.len().max(1));
                if let Some(item) = items.get(index).cloned() {
                    items.push(item);
                }
            }
            (6, value) => {
                let inner = value.take();
                *value = self.wrapped(inner);
            }
            (_, value) => *value = self.part(),
        }
    }

    fn wrapped(&mut self, inner: Value) -> Value {
        let key = self.key();
        match self.below(6) {
            0 => json!({ key: [inner] }),
            1 => json!({ key: inner }),
            2 => json!({ key: {"a": inner} }),
            3 => json!([inner.clone(), inner]),
            4 => Value::Object(Map::from_iter([(self.key(), self.part()), (key, json!([inner, self.part()]))])),
            _ => json!({"type": "object", "properties": { key: inner }}),
        }
    }

    fn damage(&mut self, text: &mut [u8]) {
        let (at, with) = (self.below(text.len().max(1)), self.number().to_le_bytes()[0]);
        if let Some(byte) = text.get_mut(at) {
            *byte = with & 0x7f;
        }
    }

    fn part(&mut self) -> Value {
        let index = self.below(self.parts.len());
        self.parts.get(index).cloned().unwrap_or_default()
    }

    fn key(&mut self) -> String {
        let index = self.below(self.keys.len());
        self.keys.get(index).cloned().unwrap_or_default()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn below(&mut self, count: usize) -> usize {
        let count = count.max(1) as u64;
        usize::try_from(self.number() % count).unwrap_or(0)
    }

    /// The xorshift generator: enough to wander with, and the same everywhere.
    fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

fn collect(value: &Value, parts: &mut Vec<Value>, keys: &mut Vec<String>) {
    parts.push(value.clone());
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                keys.push(key.clone());
                collect(member, parts, keys);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, parts, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
