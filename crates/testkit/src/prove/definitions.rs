//! Moves definitions to the root: every target of a reference has one name, and unused definitions are gone. So a part can be
//! taken out of its document together with what it needs, and nothing else.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::intersection::{DEFINITIONS, target};
use super::normalize::{each_schema, is_word};

/// How many schemas are copied. What is referred to in several places, one inside of another, is copied more than once.
const MAX_COPIED: usize = 200_000;

/// Words that make a reference lead elsewhere than to a place of its document.
const ELSEWHERE: [&str; 6] = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

/// What the whole schema is called.
const WHOLE: &str = "whole";

/// The schema with its definitions gathered, where all of its references lead to places that are there.
pub(super) fn gather_definitions(root: &Value) -> Option<Value> {
    let mut gatherer = Gatherer { root, names: HashMap::new(), taken: HashSet::new(), open: Vec::new(), copied: 0 };
    let mut whole = gatherer.copy(root)?;
    let mut definitions = Map::new();
    while let Some((name, target)) = gatherer.open.pop() {
        let definition = gatherer.copy(target)?;
        definitions.insert(name, definition);
    }
    if let Some(name) = gatherer.names.get("#") {
        // Two schemas that both refer to themselves cannot be compared; two that refer to definitions can.
        whole = reference_to(name);
    }
    if let Some(map) = whole.as_object_mut().filter(|_| !definitions.is_empty()) {
        map.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Some(whole)
}

struct Gatherer<'s> {
    root: &'s Value,
    /// The names of what is referred to, by reference.
    names: HashMap<String, String>,
    taken: HashSet<String>,
    /// What is still to be copied.
    open: Vec<(String, &'s Value)>,
    copied: usize,
}

impl Gatherer<'_> {
    fn copy(&mut self, schema: &Value) -> Option<Value> {
        let mut copy = schema.clone();
        let mut is_here = true;
        each_schema(&mut copy, "", &mut |map, _| {
            self.copied += 1;
            map.retain(|word, _| is_word(word) && !DEFINITIONS.contains(&word.as_str()));
            is_here &= !ELSEWHERE.iter().any(|word| map.contains_key(*word));
            if let Some(reference) = map.get_mut("$ref") {
                match reference.as_str().and_then(|reference| self.name(reference)) {
                    Some(name) => *reference = json!(place_of(&name)),
                    None => is_here = false,
                }
            }
        })
        .ok()?;
        (is_here && self.copied <= MAX_COPIED).then_some(copy)
    }

    /// The name of what a reference leads to.
    fn name(&mut self, reference: &str) -> Option<String> {
        if let Some(name) = self.names.get(reference) {
            return Some(name.clone());
        }
        let target = target(self.root, reference)?;
        let is_plain = |letter: &char| letter.is_alphanumeric() || ['-', '_', '.'].contains(letter);
        let own: String = reference.rsplit('/').next()?.chars().filter(is_plain).collect();
        let own = if own.is_empty() { WHOLE.to_owned() } else { own };
        let others = (self.taken.len()..).map(|number| format!("{own}-{number}"));
        let name = std::iter::once(own.clone()).chain(others).find(|name| !self.taken.contains(name))?;
        self.taken.insert(name.clone());
        self.names.insert(reference.to_owned(), name.clone());
        self.open.push((name.clone(), target));
        Some(name)
    }
}

fn place_of(name: &str) -> String {
    format!("#/$defs/{name}")
}

fn reference_to(name: &str) -> Value {
    json!({ "$ref": place_of(name) })
}
