//! The laws over real schemas and tools. They lie beside the repository, and not everybody has them: where they are missing,
//! a test says so and passes. `POLYWIRE_FULL=1` takes every schema instead of every tenth.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flate2::read::MultiGzDecoder;
use polywire_schema::{
    Action, Change, Effect, FitOptions, Severity, check, check_tools, dialect, dialects, fit, fit_text, fit_tools,
    read_tools,
};
use polywire_testkit::sample;
use serde_json::{Value, json};

use crate::judge::{assert_no_faults, fit_by_the_laws, is_full};
use crate::main_dialects::MAIN;

/// Members of a recorded request that hold a schema.
const HOLDERS: [&str; 10] = [
    "guided_json",
    "input_schema",
    "inputSchema",
    "json",
    "outputSchema",
    "parameters",
    "parametersJsonSchema",
    "responseJsonSchema",
    "responseSchema",
    "schema",
];

#[test]
fn every_schema_of_the_corpus_fits_by_the_laws() {
    let Some(lines) = lines("schemas.jsonl.gz") else { return };
    let step = if is_full() { 1 } else { 10 };
    let lines: Vec<&String> = lines.iter().step_by(step).collect();
    let faults = in_parallel(&lines, |line| {
        let sample: Value = serde_json::from_str(line).expect("a line of JSON");
        let schema = sample["schema"].to_string();
        let broken = MAIN.iter().filter_map(|id| {
            let (dialect, options) = (dialect(id).expect("a dialect"), FitOptions::default());
            let fault = fit_by_the_laws(&schema, dialect, &options).err().map(|fault| fault.to_string());
            let fault = fault.or_else(|| {
                // The last rung is for one dialect alone.
                let changes = fit_text(&schema, dialect, &options).expect("a fit").changes;
                let given_up = |change: &Change| change.action == Action::FellBack && change.effect == Effect::Wider;
                (*id != "cca" && changes.iter().any(given_up)).then(|| "given up as a whole".to_owned())
            })?;
            Some(format!("{} for {id}: {}", sample["name"], shortened(&fault)))
        });
        broken.collect()
    });
    assert_no_faults(&faults);
}

#[test]
fn every_tool_fits_every_dialect() {
    let Some(lines) = lines("mcp-tools.jsonl") else { return };
    let lines: Vec<&String> = lines.iter().collect();
    let faults = in_parallel(&lines, |line| {
        let tool: Value = serde_json::from_str(line).expect("a line of JSON");
        let name = tool["name"].as_str().unwrap_or_default();
        let list = read_tools(&json!({ "tools": [tool.clone()] })).expect("a tool list");
        let mut faults = Vec::new();
        for dialect in dialects() {
            let options = FitOptions::default();
            let fitted = fit_tools(&list, dialect, &options);
            if let Err(fault) = fit_by_the_laws(&tool["inputSchema"].to_string(), dialect, &options) {
                faults.push(format!("{name} for {}: {}", dialect.id(), shortened(&fault.to_string())));
            }
            // The list as the provider reads it, flags and names included.
            let written = read_tools(&fitted.to_json()).expect("the list that was written");
            let refused = check_tools(&written, dialect).into_iter().find(|one| one.severity == Severity::Rejected);
            if let Some(first) = refused {
                faults.push(format!("{name} for {}: {} at `{}`", dialect.id(), first.code, first.at));
            }
        }
        let strict = fit_tools(&list, dialect("openai-strict").expect("a dialect"), &FitOptions::default());
        if !strict.strict() {
            faults.push(format!("{name}: not strict"));
        }
        faults
    });
    assert_no_faults(&faults);
}

/// Arguments that a model could write for the strict schema come back as arguments that the server's own schema accepts, unless
/// a change says that the strict schema lets more through.
#[test]
fn arguments_for_every_tool_come_back_as_the_server_wants_them() {
    let Some(lines) = lines("mcp-tools.jsonl") else { return };
    let lines: Vec<&String> = lines.iter().collect();
    let strict = dialect("openai-strict").expect("a dialect");
    let faults = in_parallel(&lines, |line| {
        let tool: Value = serde_json::from_str(line).expect("a line of JSON");
        let (name, schema) = (tool["name"].as_str().unwrap_or_default(), &tool["inputSchema"]);
        let fitted = fit(schema, strict, &FitOptions::default()).expect("a fit");
        let build =
            |schema: &Value| jsonschema::options().should_validate_formats(true).build(schema).expect("a schema");
        let (server, wire) = (build(schema), build(&fitted.schema));
        let wider = fitted.changes.iter().any(|change| change.effect == Effect::Wider);
        let mut faults = Vec::new();
        let mut made = 0;
        for written in (0..20).filter_map(|seed| sample(&fitted.schema, seed)).filter(|value| wire.is_valid(value)) {
            made += 1;
            match fitted.decode(written.clone()) {
                Ok(arguments) if wider || server.is_valid(&arguments) => {}
                Ok(arguments) => faults.push(format!("{name}: {written} comes back as {arguments}")),
                // The same key twice in a list of entries is refused, with its place.
                Err(error) if error.to_string().contains("appears twice") => {}
                Err(error) => faults.push(format!("{name}: {written}: {error}")),
            }
        }
        if made == 0 {
            faults.push(format!("{name}: no arguments could be made up"));
        }
        faults
    });
    assert_no_faults(&faults);
}

#[test]
fn every_rejected_schema_fits_by_the_laws() {
    let Some(lines) = lines("cases.jsonl") else { return };
    let lines: Vec<&String> = lines.iter().collect();
    let faults = in_parallel(&lines, |line| {
        let case: Value = serde_json::from_str(line).expect("a line of JSON");
        let mut schemas = Vec::new();
        if case["kind"] == "schema" {
            collect_schemas(&case["input"], &mut schemas);
        }
        let mut faults = Vec::new();
        for schema in schemas {
            for dialect in dialects() {
                if let Err(fault) = fit_by_the_laws(&schema.to_string(), dialect, &FitOptions::default()) {
                    faults.push(format!("{} for {}: {fault}", case["id"], dialect.id()));
                }
            }
        }
        faults
    });
    assert_no_faults(&faults);
}

#[test]
fn a_parsed_schema_fits_as_its_text_does() {
    let Some(lines) = lines("schemas.jsonl.gz") else { return };
    let lines: Vec<&String> = lines.iter().skip(7).step_by(100).collect();
    let faults = in_parallel(&lines, |line| {
        let sample: Value = serde_json::from_str(line).expect("a line of JSON");
        let schema = &sample["schema"];
        let mut faults = Vec::new();
        for id in MAIN {
            let dialect = dialect(id).expect("a dialect");
            let options = FitOptions::default();
            let from_value = fit(schema, dialect, &options).expect("a fit");
            let printed = from_value.schema.to_string();
            match fit_by_the_laws(&schema.to_string(), dialect, &options) {
                Err(fault) => faults.push(format!("{} for {id}: {}", sample["name"], shortened(&fault.to_string()))),
                Ok(text) if *text.schema != *printed || text.changes != from_value.changes => {
                    faults.push(format!("{} for {id}: text and value differ", sample["name"]));
                }
                Ok(_) => {}
            }
            // What `check` finds is a matter of the document, not of how it arrives.
            if check(&from_value.schema, dialect, options.slot).is_err() {
                faults.push(format!("{} for {id}: not checked", sample["name"]));
            }
        }
        faults
    });
    assert_no_faults(&faults);
}

/// The lines of a file in `../shared/corpus`. Under `CI=true` a missing file fails the test, because a skip would look like a pass.
pub(crate) fn lines(name: &str) -> Option<Vec<String>> {
    let beside = || [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared"].iter().collect();
    let path = std::env::var_os("POLYWIRE_SHARED").map_or_else(beside, PathBuf::from).join("corpus").join(name);
    let Ok(file) = File::open(&path) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        println!("skipped: {} is missing", path.display());
        return None;
    };
    let lines: Result<Vec<String>, _> = if name.ends_with("gz") {
        BufReader::new(MultiGzDecoder::new(file)).lines().collect()
    } else {
        BufReader::new(file).lines().collect()
    };
    Some(lines.expect("readable lines"))
}

/// The schemas of a recorded request, wherever they are; what is inside a schema is the schema's.
fn collect_schemas<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let is_schema = HOLDERS.contains(&key.as_str()) && member.is_object() && member.get("json").is_none();
                if is_schema {
                    found.push(member);
                } else {
                    collect_schemas(member, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_schemas(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Asks about every item, on every core, and returns the answers in the order of the items.
pub(crate) fn in_parallel<T: Sync>(items: &[T], ask: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let answers = ask(item);
                    if !answers.is_empty() {
                        found.lock().expect("a lock").push((index, answers));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().expect("a lock");
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().flat_map(|(_, answers)| answers).collect()
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    text.chars().take(600).collect()
}
