//! The smoke run: families of costly inputs by their bounds, then mutated seeds through every fuzz target for a while, on a stable
//! toolchain.
//!
//! `cargo run --release --manifest-path fuzz/Cargo.toml --bin smoke -- --seconds 15 [--number N]`
//!
//! Every kind of fault is told once, with the smallest input that shows it. `POLYWIRE_LAST=FILE` writes each input down
//! before it is tried, for the fault that ends the process. Exit codes: 0 none, 1 some, 2 bad arguments.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use polywire_fuzz::{Mutator, answer, cost, families, fit, read, seeds, shrink, values, wire};
use serde_json::Value;

type Target = fn(&[u8]) -> Result<(), String>;

/// What is tried on seeds of the same kind.
struct Group {
    folder: &'static str,
    /// The field of a case that is a seed.
    field: &'static str,
    targets: &'static [(&'static str, Target)],
}

const GROUPS: [Group; 3] = [
    Group { folder: "../corpus/schema", field: "schema", targets: &[("read", read), ("fit", fit), ("cost", cost), ("values", values)] },
    Group {
        folder: "../corpus/wire",
        field: "body",
        targets: &[("wire-decode", wire::decode), ("wire-stream", wire::stream), ("wire-frame", wire::frame)],
    },
    Group { folder: "../corpus/answer", field: "text", targets: &[("answer", answer)] },
];

fn main() -> ExitCode {
    let Some((seconds, number)) = arguments() else {
        eprintln!("usage: smoke [--seconds N] [--number N]");
        return ExitCode::from(2);
    };
    let mut groups = Vec::new();
    for group in &GROUPS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(group.folder);
        match seeds(&folder, group.field) {
            Ok(seeds) if !seeds.is_empty() => groups.push((Mutator::new(seeds, number), group.targets)),
            Ok(_) => {
                eprintln!("{}: no seeds", folder.display());
                return ExitCode::from(2);
            }
            Err(error) => {
                eprintln!("{}: {error}", folder.display());
                return ExitCode::from(2);
            }
        }
    }
    // A panic is told with its input; its own text would come before anybody knows which input it was.
    panic::set_hook(Box::new(|_| {}));
    if let Err(fault) = families() {
        println!("a family of costly schemas is above the bounds: {fault}");
        return ExitCode::FAILURE;
    }
    let last = std::env::var_os("POLYWIRE_LAST").map(PathBuf::from);
    let start = Instant::now();
    let mut count = 0_u64;
    let mut faults: BTreeMap<String, String> = BTreeMap::new();
    while start.elapsed() < Duration::from_secs(seconds) {
        for (mutator, targets) in &mut groups {
            let data = mutator.input();
            count += 1;
            if let Some(path) = &last
                && let Err(error) = std::fs::write(path, &data)
            {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
            for (name, target) in *targets {
                let Err(fault) = guarded(*target, &data) else { continue };
                let kind = format!("{name}: {}", kind(&fault));
                faults.entry(kind).or_insert_with_key(|kind| told(*target, &data, kind));
            }
        }
    }
    println!("{count} inputs in {seconds} s, {} kinds of faults", faults.len());
    for (kind, told) in &faults {
        println!("{kind}\n{told}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments() -> Option<(u64, u64)> {
    let (mut seconds, mut number) = (15, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seconds" => seconds = value,
            "--number" => number = value,
            _ => return None,
        }
    }
    Some((seconds, number))
}

fn guarded(target: Target, data: &[u8]) -> Result<(), String> {
    panic::catch_unwind(AssertUnwindSafe(|| target(data)))
        .unwrap_or_else(|payload| Err(format!("panic: {}", panic_text(&*payload))))
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// What faults of one kind have in common: the dialect, the law and the rule, not the place.
fn kind(fault: &str) -> String {
    let end = fault.find(" at ").or_else(|| fault.find(" fitted ")).unwrap_or(fault.len());
    fault.chars().take(fault[..end].chars().count().min(120)).collect()
}

/// The smallest input with a fault of that kind, and what is wrong with it.
fn told(target: Target, data: &[u8], kind_of_all: &str) -> String {
    let (choice, text) = data.split_at(data.len().min(2));
    let input = |text: &[u8]| [choice, text].concat();
    let small = serde_json::from_slice::<Value>(text).ok().map(|schema| {
        let fails = |candidate: &Value| {
            let fault = guarded(target, &input(candidate.to_string().as_bytes())).err();
            fault.is_some_and(|fault| kind_of_all.ends_with(&kind(&fault)))
        };
        shrink(schema, &fails).to_string().into_bytes()
    });
    let text = small.as_deref().unwrap_or(text);
    let fault = guarded(target, &input(text)).err().unwrap_or_default();
    format!(
        "  choice {choice:?}\n  input {}\n  {}",
        String::from_utf8_lossy(text),
        fault.chars().take(900).collect::<String>()
    )
}
