//! The cases of `corpus/` with Rust's results, a line of JSON each. The packages of other languages run the same cases and compare:
//! `cargo run -p polywire-bindings --example cases -- corpus`.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use polywire::answer::{Options, ReadOptions, Schema, Verdict, read_with};
use polywire::schema::{FitOptions, Severity, Slot, check, dialect, fit};
use serde_json::{Value, json};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let corpus = PathBuf::from(std::env::args_os().nth(1).ok_or("give the folder of the corpus")?);
    let mut out = BufWriter::new(io::stdout().lock());
    for path in files(&corpus.join("schema"))? {
        let id = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        for case in cases(&path)? {
            writeln!(out, "{}", schema_case(&case, id)?)?;
        }
    }
    for path in files(&corpus.join("answer"))? {
        for case in cases(&path)? {
            writeln!(out, "{}", answer_case(&case)?)?;
        }
    }
    Ok(out.flush()?)
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Fallible<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn cases(path: &Path) -> Fallible<Vec<Value>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// A schema, checked and fitted for its dialect, and its values on their way there and back.
fn schema_case(case: &Value, id: &str) -> Fallible<Value> {
    let schema = case.get("schema").ok_or("a case has a schema")?;
    let slot = case.get("slot").cloned().map(serde_json::from_value::<Slot>).transpose()?.unwrap_or_default();
    let dialect = dialect(id).ok_or("a file has the name of a dialect")?;
    let mut found = check(schema, dialect, slot)?;
    found.retain(|violation| violation.severity != Severity::Ignored);
    let fitted = fit(schema, dialect, &FitOptions::default().with_slot(slot))?;
    let values = case.get("valid").and_then(Value::as_array).into_iter().flatten().map(|value| {
        let encoded = fitted.encode(value.clone()).ok();
        let decoded = encoded.clone().and_then(|encoded| fitted.decode(encoded).ok());
        json!({"value": value, "encoded": encoded, "decoded": decoded})
    });
    Ok(json!({
        "kind": "schema",
        "dialect": id,
        "slot": slot,
        "schema": schema,
        "violations": found,
        "fitted": fitted.schema,
        "strict": fitted.strict(),
        "changes": fitted.changes,
        "values": values.collect::<Value>(),
    }))
}

/// A text, read by its schema.
fn answer_case(case: &Value) -> Fallible<Value> {
    let text = case.get("text").and_then(Value::as_str).ok_or("a case has a text")?;
    let schema = case.get("schema");
    let is_arriving = case.get("arriving") == Some(&Value::Bool(true));
    let salvage = if is_arriving { Options::partial() } else { Options::default() };
    let compiled = schema.map(Schema::cached).transpose()?;
    let read = read_with(text, compiled.as_deref(), &ReadOptions::default().with_salvage(salvage));
    Ok(json!({
        "kind": "answer",
        "text": text,
        "schema": schema,
        "partial": is_arriving,
        "valid": read.verdict == Verdict::Valid,
        "truncated": read.is_truncated(),
        "has_value": read.value.is_some(),
        "value": read.value,
        "repairs": read.repairs,
        "errors": read.verdict.into_faults(),
    }))
}
