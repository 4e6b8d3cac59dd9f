//! Makes new JSON out of old: parts are exchanged, moved under other keys, wrapped, repeated and left out. The same seed
//! gives the same JSON.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::chance::{Chance, has_children};

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
    chance: Chance,
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
        Self { seeds, parts, keys, chance: Chance::new(number) }
    }

    /// The next input: two bytes that choose dialect and options, and the text of a schema.
    pub fn input(&mut self) -> Vec<u8> {
        let how = if self.chance.one_in(4) { self.chance.number() } else { 0 };
        let mut data = vec![self.chance.number().to_le_bytes()[0], how.to_le_bytes()[0]];
        let index = self.chance.below(self.seeds.len());
        let mut schema = self.seeds.get(index).cloned().unwrap_or_default();
        for _ in 0..=self.chance.below(6) {
            self.mutate(&mut schema, 0);
        }
        let mut text = schema.to_string().into_bytes();
        if self.chance.one_in(16) {
            self.damage(&mut text);
        }
        data.append(&mut text);
        data
    }

    /// Changes something at a random place.
    fn mutate(&mut self, value: &mut Value, depth: usize) {
        if has_children(value)
            && depth < 40
            && !self.chance.one_in(5)
            && let Some(child) = self.chance.child_mut(value)
        {
            return self.mutate(child, depth + 1);
        }
        match (self.chance.below(8), value) {
            (0 | 1, Value::Object(members)) => {
                let (key, part) = (self.key(), self.part());
                members.insert(key, part);
            }
            (2, Value::Object(members)) => {
                let key = members.keys().nth(self.chance.below(members.len())).cloned();
                _ = key.and_then(|key| members.shift_remove(&key));
            }
            (3, Value::Object(members)) => {
                // The same value under another key.
                if let Some(part) = members.values().nth(self.chance.below(members.len())).cloned() {
                    members.insert(self.key(), part);
                }
            }
            (4, Value::Array(items)) => items.push(self.part()),
            (5, Value::Array(items)) => {
                let index = self.chance.below(items.len());
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
        match self.chance.below(6) {
            0 => json!({ key: [inner] }),
            1 => json!({ key: inner }),
            2 => json!({ key: {"a": inner} }),
            3 => json!([inner.clone(), inner]),
            4 => Value::Object(Map::from_iter([(self.key(), self.part()), (key, json!([inner, self.part()]))])),
            _ => json!({"type": "object", "properties": { key: inner }}),
        }
    }

    fn damage(&mut self, text: &mut [u8]) {
        let (at, with) = (self.chance.below(text.len()), self.chance.number().to_le_bytes()[0]);
        if let Some(byte) = text.get_mut(at) {
            *byte = with & 0x7f;
        }
    }

    fn part(&mut self) -> Value {
        let index = self.chance.below(self.parts.len());
        self.parts.get(index).cloned().unwrap_or_default()
    }

    fn key(&mut self) -> String {
        let index = self.chance.below(self.keys.len());
        self.keys.get(index).cloned().unwrap_or_default()
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
