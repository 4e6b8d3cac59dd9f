//! What is measured: schemas that are made up here, and real ones where `../shared` is beside the repository.

#[path = "../../tests/all/main_dialects.rs"]
mod main_dialects;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use polywire_schema::{Dialect, dialect};
use serde_json::{Map, Value, json};

pub(crate) use main_dialects::MAIN;

pub(crate) fn named(id: &str) -> &'static Dialect {
    dialect(id).expect("a built-in dialect")
}

/// Schemas of all sizes that are made up, and every tenth real one.
pub(crate) fn corpus() -> Vec<String> {
    let mut corpus: Vec<String> = (0..200).map(|number| made_up(200 + number * 47).to_string()).collect();
    corpus.extend(shared_schemas(10));
    corpus
}

/// Every so-manieth schema of the corpus beside the repository; none where it is not there.
pub(crate) fn shared_schemas(step: usize) -> Vec<String> {
    let path = [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "corpus", "schemas.jsonl.gz"];
    let Ok(file) = File::open(path.iter().collect::<PathBuf>()) else { return Vec::new() };
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines().map_while(Result::ok).step_by(step);
    let samples = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    samples.filter_map(|sample| Some(sample.get("schema")?.to_string())).collect()
}

/// An object schema of about so many bytes, with what real tools have: nested objects, lists, enums, unions, references,
/// descriptions and bounds.
pub(crate) fn made_up(bytes: usize) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut written = 150;
    let mut index = 0;
    while written < bytes {
        let property = kind_of_property(index);
        written += property.to_string().len() + 16;
        let name = format!("field_{index}");
        if index % 3 == 0 {
            required.push(name.clone());
        }
        properties.insert(name, property);
        index += 1;
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": required,
        "definitions": {"Money": {
            "type": "object",
            "properties": {"amount": {"type": "number", "minimum": 0}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}},
            "required": ["amount", "currency"]
        }}
    })
}

fn kind_of_property(index: usize) -> Value {
    match index % 9 {
        0 => {
            json!({"type": "string", "description": "The name of the thing, as people know it.", "minLength": 1, "maxLength": 200})
        }
        1 => {
            json!({"type": "integer", "description": "How many of them.", "minimum": 0, "maximum": 1_000, "default": 10})
        }
        2 => json!({"$ref": "#/definitions/Money"}),
        3 => {
            json!({"type": "array", "items": {"type": "string", "enum": ["red", "green", "blue", "black"]}, "uniqueItems": true, "minItems": 1})
        }
        4 => json!({"type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
            "country": {"type": "string", "const": "CH"}
        }, "required": ["street", "city"], "additionalProperties": false}),
        5 => {
            json!({"oneOf": [{"type": "string", "format": "date-time"}, {"type": "integer"}, {"type": "null"}], "description": "When."})
        }
        6 => json!({"type": ["string", "null"], "format": "uri", "title": "Link"}),
        7 => json!({"type": "array", "items": {"type": "object", "properties": {
            "key": {"type": "string"}, "score": {"type": "number", "exclusiveMinimum": 0}, "flag": {"type": "boolean", "default": false}
        }, "required": ["key"]}}),
        _ => json!({"allOf": [{"$ref": "#/definitions/Money"}, {"description": "What it costs."}]}),
    }
}
