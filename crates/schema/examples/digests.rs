//! Prints a digest of the fit of every schema of the corpus for each main dialect (schema, strict flag, changes, lens), so that
//! two states of the engine can be compared: `cargo run --release --example digests [OUT]`.
use std::hash::{BuildHasher, Hash, Hasher};
use std::io::BufRead;
use polywire_schema::{FitOptions, dialects, fit_text};
fn main() {
    let out = std::env::args().nth(1).expect("out");
    let file = std::fs::File::open("/work/shared/corpus/schemas.jsonl.gz").unwrap();
    let mut samples: Vec<(String, String)> = std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map(|l| {
        let v: serde_json::Value = serde_json::from_str(&l.unwrap()).unwrap();
        (v["name"].to_string(), v["schema"].to_string())
    }).collect();
    let mcp = std::fs::read_to_string("/work/shared/corpus/mcp-tools.jsonl").unwrap();
    for (i, l) in mcp.lines().enumerate() {
        let v: serde_json::Value = serde_json::from_str(l).unwrap();
        let s = if v["inputSchema"].is_object() { v["inputSchema"].clone() } else { v.clone() };
        samples.push((format!("mcp{i}"), s.to_string()));
    }
    for f in std::fs::read_dir("/work/main/corpus/schema").unwrap() {
        let t = std::fs::read_to_string(f.unwrap().path()).unwrap();
        for l in t.lines() {
            let Ok(v) = serde_json::from_str::<serde_json::Value>(l) else { continue };
            if v["schema"].is_object() { samples.push((v["name"].to_string(), v["schema"].to_string())); }
        }
    }
    let mut lines = String::new();
    for d in dialects() {
        for (n, s) in &samples {
            let mut h = foldhash::fast::FixedState::with_seed(7).build_hasher();
            match fit_text(s, d, &FitOptions::default()) {
                Ok(f) => { f.schema.hash(&mut h); f.strict().hash(&mut h); format!("{:?}", f.changes).hash(&mut h); format!("{:?}", f.lens()).hash(&mut h); }
                Err(e) => e.to_string().hash(&mut h),
            }
            lines.push_str(&format!("{} {} {:016x}\n", d.id(), n, h.finish()));
        }
    }
    std::fs::write(out, lines).unwrap();
}
