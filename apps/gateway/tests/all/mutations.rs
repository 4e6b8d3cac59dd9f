//! R-G8: bodies of the corpus, mutated, through the router. The fuzz target `gateway` does the same for as long as it is let.

use std::path::Path;

use serde_json::Value;

use crate::gateway;
use crate::router_input::router_input;

const INPUTS: usize = 1_500;
/// What often breaks parsers, put into the place of some bytes.
const TOKENS: [&[u8]; 12] = [
    b"null",
    b"{}",
    b"[]",
    b"\"\"",
    b"-1",
    b"1e400",
    b"\\u0000",
    b"\xff",
    b"\"",
    b"}",
    b"[[[[[[[[",
    b"18446744073709551616",
];

/// The bodies of a folder of cases.
fn seeds(folder: &Path, seeds: &mut Vec<Vec<u8>>) {
    for entry in folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            self::seeds(&entry, seeds);
        } else if entry.extension().is_some_and(|kind| kind == "json") {
            let case: Value = serde_json::from_slice(&std::fs::read(&entry).expect("a file")).expect("JSON");
            seeds.extend(case.get("body").map(|body| body.to_string().into_bytes()));
        }
    }
}

/// `SplitMix64`.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).expect("64 bits") % limit.max(1)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_g8_any_body_gets_an_answer_of_its_protocol() {
    let mut bodies = Vec::new();
    seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/wire"), &mut bodies);
    assert!(bodies.len() > 50, "{} seeds", bodies.len());
    let gateway = gateway("retries = 0").await;
    let address = gateway.url().trim_start_matches("http://").to_owned();
    let faults = tokio::task::spawn_blocking(move || {
        let mut chance = Chance(1);
        let mut faults = Vec::new();
        for number in 0..INPUTS {
            let mut body = bodies[chance.below(bodies.len())].clone();
            for _ in 0..chance.below(4) {
                let (start, token) = (chance.below(body.len() + 1), TOKENS[chance.below(TOKENS.len())]);
                let end = (start + chance.below(8)).min(body.len());
                body.splice(start..end, token.iter().copied());
            }
            let choice =
                [u8::try_from(number % 250).expect("a byte"), u8::try_from(chance.below(250)).expect("a byte")];
            let input = [&choice[..], &body].concat();
            if let Err(fault) = router_input(&address, &input) {
                faults.push(format!("{fault}\n  {}", String::from_utf8_lossy(&input[2..])));
            }
        }
        faults
    });
    let faults = faults.await.expect("no panic");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(5)].join("\n"));
}
