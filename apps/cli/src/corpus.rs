//! A corpus of schemas, one JSON object a line, plain or compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use anyhow::Result;
use flate2::read::MultiGzDecoder;
use polywire::schema::read_tools;
use serde_json::Value;

use crate::input::{parse, unreadable};
use crate::values::Instance;

/// A schema of the corpus.
pub(crate) struct Sample {
    pub(crate) name: String,
    /// The schema as text, printed before any clock runs.
    pub(crate) text: String,
    pub(crate) instances: Vec<Instance>,
}

/// The lines of a corpus that say anything.
pub(crate) fn read_lines(path: &str, limit: Option<usize>) -> Result<Vec<String>> {
    let reader: Box<dyn Read> = match path {
        "-" => Box::new(io::stdin()),
        _ => Box::new(File::open(path).map_err(|error| unreadable(&error, path))?),
    };
    let is_compressed = path.to_ascii_lowercase().ends_with(".gz");
    let reader: Box<dyn Read> = if is_compressed { Box::new(MultiGzDecoder::new(reader)) } else { reader };
    let lines =
        BufReader::new(reader).lines().filter(|line| line.as_ref().map_or(true, |line| !line.trim().is_empty()));
    let lines: io::Result<Vec<String>> = lines.take(limit.unwrap_or(usize::MAX)).collect();
    lines.map_err(|error| unreadable(&error, path))
}

/// Reads a line: an object with a `schema`, or a tool in any provider's shape.
pub(crate) fn read_sample(line: &str, number: usize) -> Result<Sample, String> {
    let document = parse(line).map_err(|error| error.to_string())?;
    let name = document.get("name").and_then(Value::as_str).map_or_else(|| format!("line {number}"), str::to_owned);
    let tool =
        || read_tools(&document).and_then(|list| list.tools.into_iter().next()).map(|tool| tool.schema.to_string());
    let text = document.get("schema").map(ToString::to_string).or_else(tool);
    let instances =
        document.get("tests").and_then(Value::as_array).into_iter().flatten().filter_map(|test| {
            Some(Instance { valid: test.get("valid")?.as_bool()?, data: test.get("data")?.clone() })
        });
    let instances = instances.collect();
    Ok(Sample { name, text: text.ok_or("the line has neither a schema nor a tool")?, instances })
}
