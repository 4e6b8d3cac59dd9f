//! What a cached fit costs Rust, for comparison with other languages: `… --example costs -- SCHEMA.json DIALECT` prints nanoseconds.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use polywire::schema::{FitCache, FitOptions, dialect};
use serde_json::Value;

const CALLS: u32 = 20_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the file of a schema")?;
    let schema: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let dialect = arguments.next().as_deref().and_then(dialect).ok_or("give the id of a dialect")?;
    let cache = FitCache::new(16);
    let options = FitOptions::default();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(cache.fit(black_box(&schema), dialect, &options)?);
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let nanoseconds = best / f64::from(CALLS) * 1e9;
    Ok(writeln!(io::stdout(), "{nanoseconds:.0}")?)
}
