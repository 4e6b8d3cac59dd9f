//! How many broken values come back exactly, by fault: `cargo xtask bench recover`, which adds other readers.
//!
//! Options: `--seed N`, `--size N` (percent of the usual number of cases), `--set NAME` (part of a name), `--failures`,
//! `--write FILE` (the cases as JSON lines, for other readers), `--peer NAME=FILE` (what another reader made of them).

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark prints its figures and stops at the first fault"
)]

#[path = "../tests/all/recovery.rs"]
mod recovery;

use std::fmt::Write as _;
use std::fs;

use recovery::{Case, Counts, Guide, Score, cases, instances};
use serde_json::{Value, json};

/// A reader: its name and what it made of each case, by the schema or not.
struct Column {
    name: String,
    guide: Guide,
    recovered: Vec<bool>,
}

struct Arguments {
    seed: u64,
    size: usize,
    set: String,
    failures: bool,
    write: Option<String>,
    peers: Vec<(String, String)>,
}

fn main() {
    let arguments = arguments();
    let percent = |count: usize| (count * arguments.size / 100).max(3);
    let counts = Counts { single: percent(100), several: percent(1_500), cut: percent(300) };
    let mut cases = cases(&instances(1), counts, arguments.seed);
    cases.retain(|case| case.set.contains(&arguments.set));
    if let Some(path) = &arguments.write {
        let mut lines = String::new();
        for case in &cases {
            let line = json!({"text": case.broken.text, "schema": case.schema});
            writeln!(lines, "{line}").expect("text");
        }
        fs::write(path, lines).expect("the cases are written");
        return;
    }
    let mut columns = vec![own(&cases, Guide::None), own(&cases, Guide::Schema)];
    columns.extend(arguments.peers.iter().map(|(name, path)| peer(&cases, name, path)));
    if arguments.failures {
        print_failures(&cases, &columns);
    }
    print_table(&cases, &columns);
}

fn arguments() -> Arguments {
    let mut read =
        Arguments { seed: 1, size: 100, set: String::new(), failures: false, write: None, peers: Vec::new() };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().expect("a value behind the option");
        match name.as_str() {
            "--seed" => read.seed = value().parse().expect("a number"),
            "--size" => read.size = value().parse().expect("a number"),
            "--set" => read.set = value(),
            "--failures" => read.failures = true,
            "--write" => read.write = Some(value()),
            "--peer" => {
                let peer = value();
                let (name, path) = peer.split_once('=').expect("NAME=FILE");
                read.peers.push((name.to_owned(), path.to_owned()));
            }
            _ => {}
        }
    }
    read
}

fn own(cases: &[Case], guide: Guide) -> Column {
    let recovered = cases.iter().map(|case| case.is_recovered(case.read(guide).as_ref())).collect();
    let name = if guide == Guide::Schema { "with schema" } else { "polywire" };
    Column { name: name.to_owned(), guide, recovered }
}

/// What another reader made of the cases: a line of JSON each, `{"value": …}` or `{}`.
fn peer(cases: &[Case], name: &str, path: &str) -> Column {
    let lines = fs::read_to_string(path).expect("the file of a reader");
    let values: Vec<Option<Value>> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON").get("value").cloned())
        .collect();
    assert_eq!(values.len(), cases.len(), "{path}");
    let recovered = cases.iter().zip(&values).map(|(case, value)| case.is_recovered(value.as_ref())).collect();
    let guide = if name.contains("schema") { Guide::Schema } else { Guide::None };
    Column { name: name.to_owned(), guide, recovered }
}

fn print_failures(cases: &[Case], columns: &[Column]) {
    for (index, case) in cases.iter().enumerate() {
        for column in columns.iter().take(2) {
            let recovered = column.recovered.get(index).copied().unwrap_or_default();
            if recovered || !case.is_decidable(column.guide) {
                continue;
            }
            let names: Vec<&str> = case.broken.faults.iter().map(|fault| fault.name()).collect();
            println!("#{index} {}: {} ({})", column.name, case.set, names.join(", "));
            println!("  text {:?}", case.broken.text);
            println!("  want {}", case.broken.value);
            println!("  got  {}", case.read(column.guide).map_or("nothing".to_owned(), |got| got.to_string()));
            if column.guide == Guide::Schema {
                println!("  schema {}", case.schema);
            }
        }
    }
}

fn print_table(cases: &[Case], columns: &[Column]) {
    let mut sets: Vec<&str> = Vec::new();
    for case in cases {
        if sets.last() != Some(&case.set.as_str()) {
            sets.push(&case.set);
        }
    }
    print!("{:36}", "exact recovery, percent");
    for column in columns {
        print!("{:>20}", column.name);
    }
    println!();
    let row = |name: &str, counts: &dyn Fn(&Case) -> bool| {
        print!("{name:36}");
        for column in columns {
            let mut score = Score::default();
            for (case, recovered) in cases.iter().zip(&column.recovered) {
                if counts(case) && case.is_decidable(column.guide) {
                    score.add(*recovered);
                }
            }
            if score.of == 0 {
                print!("{:>20}", "");
            } else {
                print!("{:>12.1} of{:>5}", score.percent(), score.of);
            }
        }
        println!();
    };
    for set in sets {
        row(set, &|case| case.set == set);
    }
    row("all of one to three at once", &|case| case.set.ends_with("at once"));
    row("all cut", &|case| case.set.starts_with("cut"));
    row("all", &|_| true);
    let hurt = cases.iter().enumerate().filter(|(index, case)| {
        let of =
            |column: usize| columns.get(column).and_then(|column| column.recovered.get(*index)).copied() == Some(true);
        case.is_decidable(Guide::None) && case.is_decidable(Guide::Schema) && of(0) && !of(1)
    });
    println!("exact without the schema and not with it: {}", hurt.count());
}
