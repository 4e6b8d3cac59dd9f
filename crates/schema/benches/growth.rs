//! How the cost of a fit and a check grows with schemas that are known to be costly: for each family and dialect the processor
//! time, the peak memory and the size of the fitted schema at growing sizes.
//! `cargo bench -p polywire-schema --bench growth -- [FAMILY|all] [DIALECT|all] [MAX_BYTES]`.
//!
//! Each figure is of a process of its own, which is ended after twenty seconds. Processor time and memory come from `/proc`, so it needs Linux.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a benchmark fails loudly and prints what it finds")]

#[path = "../tests/all/families.rs"]
mod families;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use polywire_schema::{FitOptions, Slot, check_text, dialect, dialects, fit_text};

use families::{FAMILIES, Family, largest};

/// The sizes that are measured, in bytes.
const SIZES: [usize; 6] = [500, 2_000, 8_000, 25_000, 50_000, 100_000];

/// How long one fit may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["one", id] => one(id),
        rest => {
            let family = rest.first().copied().unwrap_or("all");
            let dialect = rest.get(1).copied().unwrap_or("all");
            let bytes = rest.get(2).and_then(|bytes| bytes.parse().ok()).unwrap_or(usize::MAX);
            for family in FAMILIES.iter().filter(|own| family == "all" || own.name == family) {
                table(family, dialect, bytes);
            }
        }
    }
}

/// Fits the schema on standard input, and prints processor time in milliseconds, peak memory in kilobytes, what came out in bytes.
fn one(id: &str) {
    let text = std::io::read_to_string(std::io::stdin()).expect("a schema");
    let dialect = dialect(id).expect("a built-in dialect");
    let bytes = fit_text(&text, dialect, &FitOptions::default()).expect("a fit").schema.len();
    drop(check_text(&text, dialect, Slot::Tool));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    println!("{} {peak} {bytes}", processor_milliseconds());
}

/// The processor time of this process. Linux counts it in hundredths of a second.
fn processor_milliseconds() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.iter().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}

fn table(family: &Family, only: &str, most: usize) {
    println!("{}", family.name);
    for dialect in dialects().filter(|own| only == "all" || own.id() == only) {
        let mut line = format!("  {:18}", dialect.id());
        for size in SIZES.into_iter().filter(|size| *size <= most) {
            let (_, schema) = largest(family, size);
            let Some(told) = measured(dialect.id(), &schema.to_string()) else {
                line.push_str("  gave up");
                break;
            };
            line.push_str(&told);
        }
        println!("{line}");
    }
}

fn measured(id: &str, text: &str) -> Option<String> {
    let mut child = Command::new(std::env::current_exe().ok()?)
        .args(["one", id])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let start = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().ok()?;
            child.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().ok()?;
    let told = String::from_utf8(output.stdout).ok()?;
    let figures: Vec<u64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [time, peak, bytes] = figures.as_slice() else { return Some("  (died)".to_owned()) };
    Some(format!("  {time:>5} ms {:>4} MB {:>5} KB", peak / 1000, bytes / 1000))
}
