//! The public suites of other readers and the outputs of real models, where they are at hand: exact values, one set of
//! defaults, and floors below which no change may fall.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use polywire_answer::{Formats, Judge, Options, ReadOptions, Schema, read_with};
use serde_json::Value;

struct Case {
    id: String,
    kind: String,
    input: String,
    expected: Value,
    schema: Value,
}

fn lines(path: &str) -> Option<Vec<Value>> {
    let text = fs::read_to_string(shared()?.join(path)).expect("a file of cases");
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect())
}

/// The folder beside the repository. Under `CI=true` its absence fails the test, because a skip would look like a pass.
fn shared() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

fn cases(suite: &str) -> Option<Vec<Case>> {
    let case = |line: &Value| Case {
        id: text(line, "id"),
        kind: text(line, "kind"),
        input: text(line, "input"),
        expected: line["expected"].clone(),
        schema: line["schema"].clone(),
    };
    lines(&format!("corpus/salvage/{suite}.jsonl")).map(|lines| lines.iter().map(case).collect())
}

/// The valid value of a text, or nothing.
fn answer(input: &str, schema: &Value, salvage: Options) -> Option<Value> {
    let schema = (!schema.is_null()).then(|| Schema::cached(schema).expect("a schema"));
    read_with(input, schema.as_deref(), &ReadOptions::default().with_salvage(salvage)).valid().cloned()
}

/// Numbers by value, keys in any order.
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len() && one.iter().all(|(key, one)| two.get(key).is_some_and(|two| same(one, two)))
        }
        _ => one == two,
    }
}

/// The half of a suite that a case is in. Failures of the second half are counted and not shown, so that nobody mends them one by one.
fn is_shown(id: &str) -> bool {
    id.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) % 2 == 0
}

/// Runs a suite whose texts are whole, or still arriving, and says whether fewer values and refusals than the floor are reached.
fn reaches(suite: &str, options: &Options, floor: (usize, usize)) -> Option<String> {
    let cases = cases(suite)?;
    let (mut reached, mut refused, mut shown, mut hidden) = ((0, 0), (0, 0), (0, 0), (0, 0));
    for case in cases {
        let got = answer(&case.input, &case.schema, options.clone());
        let refuse = matches!(case.kind.as_str(), "error" | "no_json");
        let fine = match &got {
            None => refuse,
            Some(got) => !refuse && same(got, &case.expected),
        };
        let count = if refuse { &mut refused } else { &mut reached };
        count.0 += usize::from(fine);
        count.1 += 1;
        let half = if is_shown(&case.id) { &mut shown } else { &mut hidden };
        half.0 += usize::from(fine);
        half.1 += 1;
        if !fine && is_shown(&case.id) {
            let got = got.map_or("nothing".to_owned(), |got| got.to_string());
            println!("{} {:?}\n  want {} {}\n  got  {got}", case.id, case.input, case.kind, case.expected);
        }
    }
    println!(
        "{suite}: {} of {} values, {} of {} refusals; shown half {} of {}, other half {} of {}",
        reached.0, reached.1, refused.0, refused.1, shown.0, shown.1, hidden.0, hidden.1
    );
    (reached.0 < floor.0 || refused.0 < floor.1).then(|| format!("{suite} fell below {floor:?}"))
}

#[test]
fn values_of_the_public_suites_are_reached() {
    let (whole, arriving) = (Options::default(), Options::partial());
    let faults = [
        reaches("jsonrepair", &whole, (194, 6)),
        reaches("json_repair", &whole, (108, 5)),
        reaches("json_repair_schema", &whole, (29, 5)),
        reaches("baml", &whole, (180, 13)),
        reaches("baml_partial", &arriving, (19, 2)),
        reaches("aisdk", &arriving, (26, 1)),
        reaches("jiter", &arriving, (7, 0)),
    ];
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn outputs_of_real_models_are_read_or_refused() {
    let Some(cases) = lines("corpus/cases.jsonl") else { return };
    let outputs = cases.iter().filter(|case| case["kind"] == "output");
    let mut judged = 0;
    let mut faults = Vec::new();
    for case in outputs.filter(|case| case.get("expected_value").is_some() || case.get("expected_failure").is_some()) {
        let got = answer(&text(case, "input"), &case["schema"], Options::default());
        let fine = match (case.get("expected_value"), &got) {
            (Some(expected), Some(got)) => same(got, expected),
            (None, got) => got.is_none(),
            (Some(_), None) => false,
        };
        if !fine {
            faults.push(format!("{case}\n  got {got:?}"));
        }
        judged += 1;
    }
    println!("{judged} outputs");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(judged > 20);
}

#[test]
fn every_prefix_of_every_case_can_be_read() {
    for suite in ["jsonrepair", "json_repair", "json_repair_schema", "baml", "baml_partial", "aisdk", "jiter"] {
        for case in cases(suite).unwrap_or_default() {
            let ends = case.input.char_indices().map(|(end, _)| end);
            // Long texts are read at some of their prefixes only.
            for prefix in ends.step_by(1 + case.input.len() / 400).filter_map(|end| case.input.get(..end)) {
                answer(prefix, &case.schema, Options::default());
                answer(prefix, &case.schema, Options::partial());
            }
        }
    }
}

/// The `jsonschema` crate on the whole schema is the second opinion.
#[test]
fn verdicts_are_those_of_the_jsonschema_crate() {
    let Some(shared) = shared() else { return };
    let file = fs::File::open(shared.join("corpus/schemas.jsonl.gz")).expect("a file of schemas");
    let full = std::env::var_os("POLYWIRE_FULL").is_some_and(|value| value == "1");
    let mut judged = 0;
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    for line in lines.step_by(if full { 1 } else { 20 }) {
        let case: Value = serde_json::from_str(&line.expect("a line")).expect("a case");
        let oracle = jsonschema::options().should_validate_formats(true).build(&case["schema"]);
        let judge = Judge::new(&case["schema"], Formats::Asserted);
        assert_eq!(judge.is_ok(), oracle.is_ok(), "{}", case["name"]);
        let (Ok(judge), Ok(oracle)) = (judge, oracle) else { continue };
        for test in case["tests"].as_array().into_iter().flatten() {
            assert_eq!(
                judge.is_valid(&test["data"]),
                oracle.is_valid(&test["data"]),
                "{} {}",
                case["name"],
                test["data"]
            );
            judged += 1;
        }
    }
    println!("{judged} values");
    assert!(judged > 500);
}
