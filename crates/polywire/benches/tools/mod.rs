//! The 40 tools of the benchmarks: real ones where `../shared` is beside the repository, else made up.

use std::path::PathBuf;

use polywire::wire::{Function, Tool};
use serde_json::{Value, json};

pub(crate) fn tools() -> Vec<Tool> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "corpus", "mcp-tools.jsonl"].iter().collect();
    let Ok(text) = std::fs::read_to_string(path) else { return (0..40).map(made_up).collect() };
    let lines = text.lines().step_by(9).take(40);
    let tools = lines.map(|line| serde_json::from_str::<Value>(line).expect("a tool a line"));
    tools.map(|tool| function(tool["name"].as_str().unwrap_or_default(), tool["inputSchema"].clone())).collect()
}

fn made_up(number: usize) -> Tool {
    let fields = (0..6).map(|field| (format!("field_{field}"), json!({"type": ["string", "null"], "maxLength": 90})));
    let fields: serde_json::Map<String, Value> = fields.collect();
    function(&format!("tool.{number}"), json!({"type": "object", "properties": fields, "required": ["field_0"]}))
}

fn function(name: &str, parameters: Value) -> Tool {
    Tool::Function(Function { name: name.to_owned(), parameters: Some(parameters), ..Function::default() })
}
