//! How work and memory grow with hostile input, by doubling: `cargo bench -p polywire-answer --bench growth`.
//!
//! Each row is measured in a process of its own, so that the peak is that of one family at one size. `-- --dump FOLDER` writes the
//! schemas and texts instead, for other readers to be measured by.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark prints its figures and stops at the first fault"
)]

use std::process::Command;
use std::time::Instant;

use polywire_answer::{ReadOptions, Schema, Verdict, read_with};

#[path = "../tests/all/families.rs"]
mod families;

use families::{FAMILIES, Family};

const SIZES: [usize; 5] = [12_500, 25_000, 50_000, 100_000, 1_000_000];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["--row", name, size] => {
            let family = FAMILIES.iter().find(|family| family.0 == *name).expect("a family");
            row(family, size.parse().expect("a size"));
        }
        ["--dump", folder, size] => dump(folder, size.parse().expect("a size")),
        _ => table(),
    }
}

fn table() {
    println!("{:26} {:>9} {:>12} {:>9} {:>8}  verdict", "family", "bytes", "steps", "peak MB", "seconds");
    let program = std::env::current_exe().expect("this program");
    for (name, _) in FAMILIES {
        for size in SIZES {
            let run = Command::new(&program).args(["--row", name, &size.to_string()]).output().expect("a run");
            let figures = String::from_utf8_lossy(&run.stdout).into_owned();
            let figures = if run.status.success() { figures } else { "failed\n".to_owned() };
            print!("{name:26} {figures}");
        }
    }
}

fn row((_, make): &Family, size: usize) {
    let (schema, text) = make(size);
    let start = Instant::now();
    let bytes = schema.to_string().len() + text.len();
    let schema = Schema::new(&schema).expect("a schema");
    let answer = read_with(&text, Some(&schema), &ReadOptions::default());
    let seconds = start.elapsed().as_secs_f64();
    let verdict = match answer.verdict {
        Verdict::Valid => "valid",
        Verdict::Invalid(_) => "invalid",
        Verdict::TooCostly => "too costly",
        Verdict::NoValue => "no value",
    };
    println!("{bytes:9} {:12} {:9} {seconds:8.3}  {verdict}", answer.steps, peak_megabytes());
}

/// The most memory that this process had, where the system says so.
fn peak_megabytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or_else(|| "-".to_owned(), |kilobytes| (kilobytes / 1024).to_string())
}

fn dump(folder: &str, size: usize) {
    for (name, make) in FAMILIES {
        let (schema, text) = make(size);
        let path = |kind: &str| format!("{folder}/{}.{size}.{kind}", name.replace(' ', "-"));
        std::fs::write(path("json"), schema.to_string()).expect("a file");
        std::fs::write(path("txt"), text).expect("a file");
    }
}
