//! Normalizes a schema for canonical forms: JSON Schema 2020-12, whatever draft it was written in, without annotations.
//! Keyword by keyword and by the drafts' own rules, independent of the reader that the fit uses.
//!
//! Two things are read alike in every draft: a format means what its name says, and `1.0` is an integer.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::definitions::gather_definitions;
use super::pattern_lengths::matched_lengths;
use crate::values::escaped;

/// Schemas within schemas beyond this depth are given up.
const MAX_DEPTH: usize = 256;

/// Drafts by a part of their address, oldest first.
const DRAFTS: [&str; 6] = ["draft-03", "draft-04", "draft-06", "draft-07", "2019-09", "2020-12"];

/// The place of a draft in [`DRAFTS`].
type Draft = usize;

const DRAFT_4: Draft = 1;
const DRAFT_6: Draft = 2;
const DRAFT_7: Draft = 3;
const DRAFT_2019: Draft = 4;
const DRAFT_2020: Draft = 5;

/// Words that mean nothing before a draft.
const LATER: [(&str, Draft); 14] = [
    ("const", DRAFT_6),
    ("contains", DRAFT_6),
    ("propertyNames", DRAFT_6),
    ("if", DRAFT_7),
    ("then", DRAFT_7),
    ("else", DRAFT_7),
    ("dependentRequired", DRAFT_2019),
    ("dependentSchemas", DRAFT_2019),
    ("unevaluatedItems", DRAFT_2019),
    ("unevaluatedProperties", DRAFT_2019),
    ("minContains", DRAFT_2019),
    ("maxContains", DRAFT_2019),
    ("prefixItems", DRAFT_2020),
    ("$dynamicRef", DRAFT_2020),
];

/// Words that hold a schema, or a list of schemas.
const INSIDE: [&str; 15] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Words that hold schemas by name.
const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Words that hold no schemas and say something about values.
const BESIDE: [&str; 28] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "const",
    "dependentRequired",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "type",
    "uniqueItems",
];

/// Patterns that every key matches.
const EVERY_KEY: [&str; 6] = ["", ".*", "^.*", ".*$", "^", "$"];

/// Words that stay beside a reference of an older draft: others may be referred to in there.
const KEPT_BESIDE_REF: [&str; 3] = ["$ref", "$defs", "definitions"];

/// Words that hold a count.
const COUNTS: [&str; 8] =
    ["maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties"];

/// Formats that have a meaning. Others accept everything.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// Where the whole schema goes that refers to itself.
const WHOLE: &str = "whole-schema";

/// The schema in plain words, or why it has none.
pub(super) fn normalize(mut schema: Value) -> Result<Value, String> {
    let draft = match schema.get("$schema").and_then(Value::as_str).filter(|named| !named.is_empty()) {
        Some(named) => {
            let known = DRAFTS.iter().position(|draft| named.contains(draft));
            known.ok_or_else(|| format!("`{named}` is no draft that is known"))?
        }
        None => guessed(&schema),
    };
    if draft < DRAFT_4 {
        return Err("draft 3".to_owned());
    }
    let id = if draft < DRAFT_6 { "id" } else { "$id" };
    let mut survey = SchemaSurvey::default();
    survey.look(&schema, id, 0);
    let own = schema.get(id).and_then(Value::as_str).map(|own| own.trim_end_matches('#').to_owned());
    let mut words = Normalizer {
        draft,
        id,
        own,
        nested_ids: NestedIds::Kept,
        seen: HashSet::new(),
        on_the_way: HashSet::new(),
        open: Vec::new(),
    };
    let is_here =
        |reference: &String| reference.starts_with('#') && (reference.len() == 1 || reference.starts_with("#/"));
    let local: Vec<String> = survey.references.iter().map(|reference| words.local(reference)).collect();
    if local.is_empty() || (survey.nested_ids == 0 && local.iter().all(is_here)) {
        words.nested_ids = NestedIds::Dropped;
    }
    for target in local.iter().filter_map(|reference| reference.strip_prefix('#')) {
        words.on_the_way.extend(target.match_indices('/').filter_map(|(end, _)| target.get(..end)).map(str::to_owned));
        words.on_the_way.insert(target.to_owned());
    }
    each_schema(&mut schema, "", &mut |map, at| words.put(map, at))?;
    // A reference may lead to where no schema is expected.
    while let Some(pointer) = words.open.pop() {
        if !words.seen.contains(&pointer)
            && let Some(target) = schema.pointer_mut(&pointer)
        {
            each_schema(target, &pointer, &mut |map, at| words.put(map, at))?;
        }
    }
    match gather_definitions(&schema) {
        Some(gathered) => Ok(gathered),
        None if local.iter().any(|reference| reference == "#") => without_root_references(schema),
        None => Ok(schema),
    }
}

/// Whether a word says something about values, or holds schemas.
pub(super) fn is_word(word: &str) -> bool {
    [&BESIDE[..], &INSIDE, &NAMED].iter().any(|words| words.contains(&word))
}

/// Visits a schema and the schemas in it, outermost first, each with its place.
pub(super) fn each_schema(
    schema: &mut Value,
    at: &str,
    visit: &mut dyn FnMut(&mut Map<String, Value>, &str),
) -> Result<(), String> {
    below(schema, at, visit, MAX_DEPTH)
}

fn below(
    schema: &mut Value,
    at: &str,
    visit: &mut dyn FnMut(&mut Map<String, Value>, &str),
    depth: usize,
) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or("schemas are nested too deeply")?;
    let Value::Object(map) = schema else { return Ok(()) };
    visit(map, at);
    for (key, value) in map.iter_mut() {
        let at = format!("{at}/{}", escaped(key));
        let (is_inside, is_named) = (INSIDE.contains(&key.as_str()), NAMED.contains(&key.as_str()));
        if let (true, Value::Array(items)) = (is_inside, &mut *value) {
            for (index, item) in items.iter_mut().enumerate() {
                below(item, &format!("{at}/{index}"), visit, depth)?;
            }
        } else if let (true, Value::Object(named)) = (is_named, &mut *value) {
            for (name, item) in named.iter_mut() {
                below(item, &format!("{at}/{}", escaped(name)), visit, depth)?;
            }
        } else if is_inside {
            below(value, &at, visit, depth)?;
        }
    }
    Ok(())
}

/// The draft of a schema that does not say: the newest, or draft 7 where it has words that the newest refuses.
fn guessed(schema: &Value) -> Draft {
    let mut survey = SchemaSurvey::default();
    survey.look(schema, "$id", 0);
    if survey.older { DRAFT_7 } else { DRAFT_2020 }
}

#[derive(Default)]
struct SchemaSurvey {
    references: Vec<String>,
    nested_ids: usize,
    /// Whether there are words that draft 2020-12 refuses.
    older: bool,
}

impl SchemaSurvey {
    fn look(&mut self, schema: &Value, id: &str, depth: usize) {
        match schema {
            Value::Object(map) if depth <= MAX_DEPTH => {
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                            self.references.push(reference.clone());
                        }
                        ("items", Value::Array(_)) | ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {
                            self.older = true;
                        }
                        (key, Value::String(_)) if key == id => self.nested_ids += usize::from(depth > 0),
                        _ => {}
                    }
                    self.look(value, id, depth + 1);
                }
            }
            Value::Array(items) if depth <= MAX_DEPTH => {
                for item in items {
                    self.look(item, id, depth + 1);
                }
            }
            Value::Object(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            }
        }
    }
}

/// What becomes of the names that schemas have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NestedIds {
    Kept,
    /// Nobody refers to them.
    Dropped,
}

/// A schema that is put into plain words.
struct Normalizer {
    draft: Draft,
    /// What the name of a schema is called in its draft.
    id: &'static str,
    /// The name of the whole schema.
    own: Option<String>,
    nested_ids: NestedIds,
    /// Places that are done.
    seen: HashSet<String>,
    /// Places that are referred to, and those on the way there.
    on_the_way: HashSet<String>,
    /// Places that are referred to from where a schema is expected.
    open: Vec<String>,
}

impl Normalizer {
    /// A reference without the name of the document that it stands in.
    fn local(&self, reference: &str) -> String {
        let own = self.own.as_deref().filter(|own| !own.is_empty());
        match own.and_then(|own| reference.strip_prefix(own)) {
            Some("") => "#".to_owned(),
            Some(rest) if rest.starts_with('#') => rest.to_owned(),
            _ => reference.to_owned(),
        }
    }

    fn put(&mut self, map: &mut Map<String, Value>, at: &str) {
        for (word, draft) in LATER {
            if self.draft < draft {
                map.remove(word);
            }
        }
        self.names_and_references(map);
        self.older_words(map);
        let is_referred =
            ["properties", "patternProperties"].iter().any(|word| self.on_the_way.contains(&format!("{at}/{word}")));
        newer_words(map, if is_referred { Keys::Referred } else { Keys::Own });
        map.retain(|key, _| is_word(key) || self.on_the_way.contains(&format!("{at}/{}", escaped(key))));
        self.seen.insert(at.to_owned());
    }

    fn names_and_references(&mut self, map: &mut Map<String, Value>) {
        let name = map.get(self.id).is_some_and(Value::is_string).then(|| map.remove(self.id)).flatten();
        if let Some(name) = name.filter(|_| self.nested_ids == NestedIds::Kept) {
            match name.as_str().and_then(|name| name.strip_prefix('#')) {
                Some("") => {}
                Some(anchor) => _ = map.insert("$anchor".to_owned(), anchor.into()),
                None => _ = map.insert("$id".to_owned(), name),
            }
        }
        let Some(reference) = map.get("$ref").and_then(Value::as_str).map(|reference| self.local(reference)) else {
            return;
        };
        if let Some(pointer) = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/')) {
            self.open.push(pointer.to_owned());
        }
        map.insert("$ref".to_owned(), reference.into());
        if self.draft < DRAFT_2019 {
            // Before 2019-09 a reference silences what stands beside it.
            map.retain(|key, _| KEPT_BESIDE_REF.contains(&key.as_str()));
        }
    }

    /// What later drafts say in other words.
    fn older_words(&self, map: &mut Map<String, Value>) {
        for (bound, strict) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            if let Some(Value::Bool(is_strict)) = map.get(strict).cloned() {
                map.remove(strict);
                if is_strict && let Some(bound) = map.remove(bound) {
                    map.insert(strict.to_owned(), bound);
                }
            }
        }
        // The judge knows it in every draft.
        if let Some(Value::Object(dependencies)) = map.remove("dependencies") {
            for (key, own) in dependencies {
                let (word, own) = match own {
                    Value::Array(_) => ("dependentRequired", own),
                    Value::String(_) => ("dependentRequired", json!([own])),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => ("dependentSchemas", own),
                };
                let all = map.entry(word).or_insert_with(|| json!({}));
                all.as_object_mut().into_iter().for_each(|all| _ = all.insert(key.clone(), own.clone()));
            }
        }
        if self.draft >= DRAFT_2020 {
            return;
        }
        let rest = map.remove("additionalItems");
        if map.get("items").is_some_and(Value::is_array) {
            let places = map.remove("items").unwrap_or_default();
            // A list of no places is not a list of places to 2020-12.
            if places.as_array().is_some_and(|places| !places.is_empty()) {
                map.insert("prefixItems".to_owned(), places);
            }
            map.extend(rest.map(|rest| ("items".to_owned(), rest)));
        }
    }
}

/// Says of every property what a pattern asks that every key matches.
fn every_key(map: &mut Map<String, Value>, keys: Keys) {
    let Some(Value::Object(patterns)) = map.get("patternProperties") else { return };
    let Some((every, own)) = EVERY_KEY.iter().find_map(|every| patterns.get_key_value(*every)) else { return };
    let (every, own) = (every.clone(), own.clone());
    let mut named: Vec<(&str, Map<String, Value>)> = Vec::new();
    for word in ["properties", "patternProperties"] {
        let with_own = |(name, asked): (&String, &Value)| {
            let both = if *asked == own { own.clone() } else { json!({ "allOf": [asked, own] }) };
            (name.clone(), both)
        };
        let is_other = |(name, _): &(&String, &Value)| word == "properties" || **name != every;
        let all = map.get(word).and_then(Value::as_object).into_iter().flatten().filter(is_other);
        let all: Map<String, Value> = all.map(with_own).collect();
        if keys == Keys::Referred && !all.is_empty() {
            return;
        }
        named.push((word, all));
    }
    for (word, all) in named {
        if all.is_empty() {
            map.remove(word);
        } else {
            map.insert(word.to_owned(), Value::Object(all));
        }
    }
    map.insert("additionalProperties".to_owned(), own);
}

/// Whether the schema of a property is referred to from elsewhere, which keeps it as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Referred,
    Own,
}

/// Words for which canonical forms know better ones.
fn newer_words(map: &mut Map<String, Value>, keys: Keys) {
    if map.get("format").is_some_and(|format| !format.as_str().is_some_and(|format| FORMATS.contains(&format))) {
        map.remove("format");
    }
    every_key(map, keys);
    for word in COUNTS {
        if let Some(count) = map.get_mut(word) {
            *count = whole(count);
        }
    }
    if map.get("pattern").and_then(Value::as_str).is_some_and(is_length) && with_lengths(map).is_some() {
        map.remove("pattern");
    }
}

/// Whether a pattern of any letters asks for a length and nothing else.
fn is_length(pattern: &str) -> bool {
    let counted = pattern.strip_prefix("^[\\s\\S]{").and_then(|rest| rest.strip_suffix("}$"));
    counted.is_some_and(|counted| counted.bytes().all(|byte| byte == b',' || byte.is_ascii_digit()))
}

/// A count without a fraction, as `2` for `2.0`.
fn whole(count: &Value) -> Value {
    match count.as_f64().filter(|_| count.is_f64()).map(|count| format!("{count:.0}").parse::<u64>()) {
        Some(Ok(whole)) if json!(whole).as_f64() == count.as_f64() => whole.into(),
        Some(_) | None => count.clone(),
    }
}

/// Says what lengths the pattern of a schema asks for.
pub(super) fn with_lengths(map: &mut Map<String, Value>) -> Option<()> {
    let (least, most) = matched_lengths(map.get("pattern")?.as_str()?)?;
    let bound = |map: &Map<String, Value>, word: &str| map.get(word).and_then(Value::as_u64);
    let least = least.max(bound(map, "minLength").unwrap_or_default());
    map.insert("minLength".to_owned(), least.into());
    if let Some(most) = most {
        map.insert("maxLength".to_owned(), bound(map, "maxLength").map_or(most, |own| own.min(most)).into());
    }
    Some(())
}

/// Two schemas that both refer to themselves cannot be compared; two that refer to definitions can.
fn without_root_references(mut schema: Value) -> Result<Value, String> {
    each_schema(&mut schema, "", &mut |map, _| {
        if let Some(Value::String(reference)) = map.get_mut("$ref")
            && let Some(rest) = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            *reference = format!("#/$defs/{WHOLE}{rest}");
        }
    })?;
    Ok(json!({ "$ref": format!("#/$defs/{WHOLE}"), "$defs": { WHOLE: schema } }))
}
