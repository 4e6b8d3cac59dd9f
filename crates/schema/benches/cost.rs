//! What a fit costs whatever else the machine does: instructions, beside those of parsing the same text into a `serde_json` value
//! and printing it again, and the most memory it takes, beside the size of the schema. `cargo bench -p polywire-schema --bench
//! cost` prints both for each main dialect.
//!
//! Instructions are counted by valgrind and memory by Linux; what is not there is left out. Each figure is of a process of its
//! own: the benchmark starts itself with what it is to do.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark fails loudly and prints what it finds"
)]

mod material;

use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use polywire_schema::{FitOptions, fit_text};
use serde_json::Value;

use material::{MAIN, corpus, made_up, named, shared_schemas};

/// The schemas whose memory is measured have so many bytes.
const LARGE: usize = 10_000_000;

/// The name under which `serde_json` is measured among the dialects.
const PLAIN: &str = "serde_json";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["instructions", id, path] => read(path).lines().for_each(|text| counted(id, text)),
        ["memory", id, path] => {
            counted(id, &read(path));
            println!("{}", peak().unwrap_or_default());
        }
        _ => tell(),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).expect("what the benchmark wrote")
}

/// What is counted.
#[inline(never)]
fn counted(id: &str, text: &str) {
    if id == PLAIN {
        let value: Value = serde_json::from_str(text).expect("JSON");
        black_box(value.to_string());
    } else {
        black_box(fit_text(text, named(id), &FitOptions::default()).expect("a fit"));
    }
}

/// The most memory that this process has had, in bytes.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn tell() {
    let small = kept("corpus.jsonl", &corpus().join("\n"));
    let large = kept("made-up.json", &made_up(LARGE).to_string());
    let real = real_ones(LARGE).map(|text| kept("real.json", &text));
    println!("instructions: times those of {PLAIN}; memory: times the bytes of a schema of {} MB", LARGE / 1_000_000);
    println!("{:18} {:>13} {:>15} {:>12}", "", "instructions", "memory made up", "memory real");
    let plain = instructions(PLAIN, &small);
    for id in MAIN {
        let ratio = plain.and_then(|plain| Some(instructions(id, &small)? as f64 / plain as f64));
        let (made_up, real) = (memory(id, &large), real.as_ref().and_then(|path| memory(id, path)));
        println!("{id:18} {:>13} {:>15} {:>12}", figure(ratio), figure(made_up), figure(real));
    }
}

fn figure(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// Writes a text where the processes find it.
fn kept(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("room for a file");
    path
}

/// Real schemas as the properties of one, of about so many bytes. Those with names or references of their own are left out, as
/// they would lead elsewhere.
fn real_ones(bytes: usize) -> Option<String> {
    let mut schemas = shared_schemas(1);
    schemas.retain(|text| !["\"$ref\"", "\"$id\"", "\"id\""].iter().any(|name| text.contains(name)));
    let mut text = r#"{"type":"object","properties":{"#.to_owned();
    for (index, schema) in schemas.iter().cycle().enumerate() {
        if text.len() >= bytes {
            break;
        }
        let comma = if index == 0 { "" } else { "," };
        // Writing to a text cannot fail.
        _ = write!(text, "{comma}\"field_{index}\":{schema}");
    }
    text.push_str("}}");
    (!schemas.is_empty()).then_some(text)
}

fn instructions(id: &str, path: &Path) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*cost*counted*"]);
    let output = command.arg(std::env::current_exe().ok()?).args(["instructions", id]).arg(path).output().ok()?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

/// The most memory that a process takes to fit a schema, beside the size of the schema.
fn memory(id: &str, path: &Path) -> Option<f64> {
    let output = Command::new(std::env::current_exe().ok()?).args(["memory", id]).arg(path).output().ok()?;
    let peak: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().ok().filter(|bytes| *bytes > 0)?;
    Some(peak as f64 / fs::metadata(path).ok()?.len() as f64)
}
