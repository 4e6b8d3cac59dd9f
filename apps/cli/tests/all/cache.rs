//! The cache of discovered models under real processes: several at once, without a network, on a full disk.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use polywire::{Catalog, LookOptions, Store};
use serde_json::Value;

use crate::{Emulator, Home, POLYWIRE, errors, json};

const REFRESH: [&str; 5] = ["models", "--provider", "openai", "--refresh", "--json"];
const OFFLINE: [&str; 5] = ["models", "--provider", "openai", "--offline", "--json"];

fn how(output: &Output) -> String {
    json(output)["sources"][0]["how"].as_str().expect("a source").to_owned()
}

fn codes(output: &Output) -> Vec<String> {
    let told = json(output);
    let warnings = told["warnings"].as_array().expect("warnings").iter();
    warnings.map(|warning| warning["code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Several processes refresh at once; gives what each of them said.
fn run_concurrently(home: &Home, emulator: &Emulator, count: usize) -> Vec<Output> {
    let begin = |_| {
        let mut command = home.polywire(&REFRESH);
        command.envs(emulator.openai()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
    };
    let processes: Vec<_> = (0..count).map(begin).collect();
    processes.into_iter().map(|process| process.wait_with_output().expect("an end")).collect()
}

#[test]
fn processes_that_refresh_at_once_do_not_disturb_each_other() {
    let home = Home::new("at-once");
    let emulator = Emulator::start(&home);
    let outputs = run_concurrently(&home, &emulator, 6);
    for output in &outputs {
        assert!(output.status.success(), "{}", errors(output));
        assert_eq!((how(output).as_str(), codes(output)), ("fetched", vec![]), "{}", errors(output));
    }
    let first = json(&outputs[0])["models"].clone();
    assert!(outputs.iter().all(|output| json(output)["models"] == first));
    let env = emulator.openai();
    drop(emulator);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let offline = home.run(&OFFLINE, &env);
    assert_eq!((how(&offline).as_str(), &json(&offline)["models"]), ("kept", &first), "nothing was lost");
    let vain = home.run(&REFRESH, &env);
    assert_eq!(
        (vain.status.code(), how(&vain).as_str(), codes(&vain)),
        (Some(1), "kept", vec!["not-asked".to_owned()])
    );
    assert!(errors(&vain).contains("could not be fetched"), "{}", errors(&vain));
}

/// A broken file is set aside by one of the processes that find it, and all of them go on.
#[test]
fn processes_that_find_a_broken_cache_set_it_aside_once() {
    let home = Home::new("broken");
    let emulator = Emulator::start(&home);
    let cache = home.cache();
    fs::create_dir_all(cache.parent().expect("a folder")).expect("a folder");
    fs::write(&cache, "not a database ".repeat(1000)).expect("a file");
    let outputs = run_concurrently(&home, &emulator, 4);
    for output in &outputs {
        assert_eq!((output.status.code(), how(output).as_str()), (Some(0), "fetched"), "{}", errors(output));
    }
    let told: Vec<String> = outputs.iter().flat_map(codes).collect();
    assert_eq!(told, ["cache-set-aside"], "one of them does it");
    assert!(outputs.iter().any(|output| errors(output).contains("aside-1")));
    let aside = fs::read(format!("{}.aside-1", cache.display())).expect("the old file");
    assert!(aside.starts_with(b"not a database"), "nothing was lost");
    assert_eq!(run_concurrently(&home, &emulator, 1).iter().map(how).collect::<Vec<_>>(), ["fetched"]);
}

/// A list from the future: the clock was set back since.
#[test]
fn a_clock_set_back_is_told_and_costs_nothing() {
    let home = Home::new("clock");
    let emulator = Emulator::start(&home);
    let fetched = json(&run_concurrently(&home, &emulator, 1)[0])["models"].clone();
    let env = emulator.openai();
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (catalog, cache) = (Catalog::built_in(), home.cache());
    let provider = catalog.provider("openai").expect("a provider");
    let address = provider.list_url(env[0].1).expect("a list");
    let year = Duration::from_hours(24 * 365);
    let mut listed = Vec::new();
    for row in catalog.models_of("openai") {
        listed.extend([&row.id].into_iter().chain(&row.dated).map(|id| polywire::ModelPatch::new("openai", id)));
    }
    let options = LookOptions::at(SystemTime::now() + year);
    Store::open(&cache).save(catalog, provider, &address, (&listed, None), &options);
    let offline = home.run(&OFFLINE, &env);
    assert_eq!((offline.status.code(), codes(&offline)), (Some(0), vec!["clock-set-back".to_owned()]));
    assert_eq!(json(&offline)["models"], fetched, "nothing was lost");
    assert!(errors(&offline).contains("the clock was set back"), "{}", errors(&offline));
    let asked = home.run(&["models", "--provider", "openai", "--json"], &env);
    assert_eq!(how(&asked), "fetched", "it is not fresh for a year");
    let again = home.run(&["models", "--provider", "openai", "--json"], &env);
    assert_eq!((how(&again).as_str(), codes(&again)), ("kept", vec![]));
}

/// Runs a script with a disk of its own at `disk`, where that is allowed.
fn on_a_small_disk(home: &Home, disk: &Path, kilobytes: u32, env: &[(&str, String)], script: &str) -> Option<Output> {
    let mount = format!("mount -t tmpfs -o size={kilobytes}k none \"$DISK\"");
    let mut command = Command::new("unshare");
    home.at_home(&mut command).args(["--mount", "sh", "-c"]).arg(format!("{mount} || exit 99\n{script}"));
    command.env("DISK", disk).env("POLYWIRE", POLYWIRE).env("POLYWIRE_CACHE_DIR", disk).envs(env.iter().cloned());
    let output = command.output().ok()?;
    let allowed = output.status.code() != Some(99) && !errors(&output).contains("unshare");
    if !allowed {
        println!("skipped: a disk cannot be mounted here");
    }
    allowed.then_some(output)
}

/// The answers of several commands, one a line.
fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// R-D1, without a place to write: what was learned is used, what was kept stays, and the user is told.
#[test]
fn a_full_disk_costs_nothing_but_a_warning() {
    let home = Home::new("full");
    let emulator = Emulator::start(&home);
    let disk = home.0.join("disk");
    fs::create_dir_all(&disk).expect("a folder");
    let env = emulator.openai();
    // Full from the beginning: no file can be made.
    let script =
        "head -c 1M /dev/zero > \"$DISK/filler\" 2>/dev/null; \"$POLYWIRE\" models --provider openai --refresh --json";
    let Some(full) = on_a_small_disk(&home, &disk, 64, &env, script) else { return };
    assert_eq!((full.status.code(), how(&full).as_str()), (Some(0), "fetched"), "{}", errors(&full));
    assert!(!codes(&full).is_empty() && errors(&full).contains("model cache"), "{}", errors(&full));
    // Full after a list was kept: it stays, and is used.
    let script = "\"$POLYWIRE\" models --provider openai --refresh --json
        head -c 4M /dev/zero > \"$DISK/filler\" 2>/dev/null
        \"$POLYWIRE\" models --provider openai --refresh --json
        \"$POLYWIRE\" models --provider openai --offline --json
        rm \"$DISK/filler\"
        \"$POLYWIRE\" models --provider openai --offline --json";
    let Some(filled) = on_a_small_disk(&home, &disk, 512, &env, script) else { return };
    let told = lines(&filled);
    assert_eq!(told.len(), 4, "{}", errors(&filled));
    for answer in &told {
        assert_eq!(answer["models"], told[0]["models"]);
    }
    assert!(!told[1]["warnings"].as_array().expect("warnings").is_empty(), "{}", told[1]["warnings"]);
    assert!(errors(&filled).contains("model cache"), "{}", errors(&filled));
    assert_eq!(told[2]["sources"][0]["how"], "kept", "{}", told[2]["warnings"]);
    assert_eq!(told[3]["sources"][0]["how"], "kept", "{}", told[3]["warnings"]);
}

#[test]
fn a_disk_that_is_read_only_is_read() {
    let home = Home::new("read-only");
    let emulator = Emulator::start(&home);
    let disk = home.0.join("disk");
    fs::create_dir_all(&disk).expect("a folder");
    let script = "\"$POLYWIRE\" models --provider openai --refresh --json
        mount -o remount,ro \"$DISK\"
        \"$POLYWIRE\" models --provider openai --offline --json
        \"$POLYWIRE\" models --provider openai --refresh --json";
    let Some(output) = on_a_small_disk(&home, &disk, 512, &emulator.openai(), script) else { return };
    let told = lines(&output);
    assert_eq!(told.len(), 3, "{}", errors(&output));
    assert_eq!(
        (&told[1]["models"], &told[1]["sources"][0]["how"]),
        (&told[0]["models"], &Value::from("kept")),
        "{}",
        told[1]["warnings"]
    );
    assert_eq!(told[2]["sources"][0]["how"], "fetched");
    assert!(errors(&output).contains("only kept in memory"), "{}", errors(&output));
}
