//! The lines of a batch: what each asks, and its fingerprint. One line is in memory at a time.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Result;
use polywire::wire::{Message, Request, Text};
use serde::Deserialize;
use serde_json::Value;

use super::output::{Done, Fingerprint};
use crate::input::{Failure, unreadable};

/// One line that asks something.
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: usize,
    /// The caller's own name for it.
    pub(super) id: Option<Value>,
    /// What tells the line from another one.
    pub(super) fingerprint: Fingerprint,
    /// What it asks, or why it asks nothing.
    pub(super) request: Result<Request, String>,
}

/// The lines of a file.
pub(super) struct Lines {
    name: String,
    reader: BufReader<File>,
    number: usize,
}

/// A line in the short form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    prompt: String,
    system: Option<String>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| unreadable(&error, &name))?;
        Ok(Self { name, reader: BufReader::new(file), number: 0 })
    }

    /// How many lines ask something. What was done must be of these lines.
    pub(super) fn count_checked(mut self, done: &Done) -> Result<usize> {
        let (mut count, mut met) = (0, 0);
        while let Some(bytes) = self.next_bytes()? {
            count += 1;
            if let Some(known) = done.get(&self.number) {
                if *known != Fingerprint::of(&bytes) {
                    return Err(self.mismatch(self.number));
                }
                met += 1;
            }
        }
        match done.keys().next_back() {
            Some(last) if met < done.len() => Err(self.mismatch(*last)),
            _ => Ok(count),
        }
    }

    fn mismatch(&self, number: usize) -> anyhow::Error {
        let what = format!("the output has a value for a different line {number}");
        let next = "give the input that the output belongs to, or another output";
        Failure::new(what, &self.name, next).into()
    }

    /// The next line that was not done.
    pub(super) fn next_open(&mut self, done: &Done) -> Result<Option<Line>> {
        while let Some(bytes) = self.next_bytes()? {
            if !done.contains_key(&self.number) {
                return Ok(Some(read(self.number, &bytes)));
            }
        }
        Ok(None)
    }

    /// The next line with something in it.
    fn next_bytes(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let mut bytes = Vec::new();
            let count = self.reader.read_until(b'\n', &mut bytes).map_err(|error| unreadable(&error, &self.name))?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            let text = bytes.trim_ascii();
            if !text.is_empty() {
                return Ok(Some(text.to_vec()));
            }
        }
    }
}

fn read(number: usize, bytes: &[u8]) -> Line {
    let parsed = serde_json::from_slice::<Value>(bytes).map_err(|error| format!("not JSON: {error}"));
    let (id, request) = match parsed {
        Ok(Value::Object(mut map)) => (map.shift_remove("id"), read_object(Value::Object(map))),
        Ok(Value::String(prompt)) => (None, Ok(Request::new("", vec![Message::user(prompt)]))),
        Ok(_) => (None, Err("expected a JSON string or object".to_owned())),
        Err(why) => (None, Err(why)),
    };
    Line { number, id, fingerprint: Fingerprint::of(bytes), request }
}

fn read_object(value: Value) -> Result<Request, String> {
    if value.get("prompt").is_none() {
        return serde_json::from_value(value).map_err(|error| format!("not a request: {error}"));
    }
    let short: Short = serde_json::from_value(value).map_err(|error| format!("not a prompt: {error}"))?;
    let mut request = Request::new("", vec![Message::user(short.prompt)]);
    request.system = short.system.into_iter().map(|text| Text { text, ..Text::default() }).collect();
    Ok(request)
}
