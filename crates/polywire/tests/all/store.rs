//! The cache of discovered models: what is taken as it is, what is merged again, and what goes wrong with files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use polywire::{Catalog, Discovered, LookOptions, ModelPatch, Network, Provider, RowSource, Store};
use rusqlite::Connection;

const ADDRESS: &str = "https://api.groq.example/models";
const DAY: Duration = Duration::from_hours(24);

/// A folder that goes when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polywire-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("models.sqlite3")
    }

    fn store(&self) -> Store {
        Store::open(&self.file())
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.file()).and_then(|connection| connection.execute_batch(sql)).expect("a database");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn groq() -> &'static Provider {
    Catalog::built_in().provider("groq").expect("a provider")
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

fn at(time: SystemTime) -> LookOptions {
    LookOptions::at(time).with_network(Network::Never)
}

fn listed() -> Vec<ModelPatch> {
    let mut patch = ModelPatch::new("groq", "brand-new");
    patch.context = Some(77);
    vec![patch]
}

fn save(store: &mut Store, time: SystemTime) -> Discovered {
    store.save(Catalog::built_in(), groq(), ADDRESS, (&listed(), None), &at(time))
}

fn recall(store: &mut Store, time: SystemTime) -> Discovered {
    store.recall(Catalog::built_in(), groq(), ADDRESS, &at(time))
}

fn codes(found: &Discovered) -> Vec<&'static str> {
    found.warnings.iter().map(|warning| warning.code).collect()
}

/// What the cache would give if it were taken as it is.
const MARKED: &str = "UPDATE lists SET merged = replace(merged, '77', '78')";

fn context(found: &Discovered) -> Option<u64> {
    found.rows.iter().find(|row| row.id == "brand-new").and_then(|row| row.context)
}

/// R-D3: a fresh, whole list with the right fingerprint is returned as it is, without merging again.
#[test]
fn r_d3_what_is_fresh_and_whole_is_taken_as_it_is() {
    let scratch = Scratch::new("fresh");
    let fetched = save(&mut scratch.store(), now());
    assert_eq!((fetched.source, context(&fetched), codes(&fetched)), (RowSource::Fetched, Some(77), vec![]));
    let kept = recall(&mut scratch.store(), now() + Duration::from_mins(1));
    assert_eq!((kept.source, &kept.rows, kept.age), (RowSource::Kept, &fetched.rows, Some(Duration::from_mins(1))));
    scratch.sql(MARKED);
    let marked = recall(&mut scratch.store(), now());
    assert_eq!((marked.source, context(&marked)), (RowSource::Kept, Some(78)), "nothing was merged");
    let stale = recall(&mut scratch.store(), now() + DAY);
    assert_eq!((stale.source, context(&stale)), (RowSource::Merged, Some(77)), "what is stale is merged again");
    let longer = at(now() + DAY).with_ttl(DAY * 2);
    assert_eq!(scratch.store().recall(Catalog::built_in(), groq(), ADDRESS, &longer).source, RowSource::Kept);
    let elsewhere = scratch.store().recall(Catalog::built_in(), groq(), "https://else.example", &at(now()));
    assert_eq!(elsewhere.source, RowSource::Static, "another address is another list");
}

/// R-D2: another fingerprint, or an empty one, never matches; what is merged again carries the right one.
#[test]
fn r_d2_fingerprints_decide_whether_to_merge_again() {
    let scratch = Scratch::new("fingerprint");
    for fingerprint in ["", "0123"] {
        save(&mut scratch.store(), now());
        scratch.sql(&format!("{MARKED}; UPDATE lists SET fingerprint = '{fingerprint}'"));
        let found = recall(&mut scratch.store(), now());
        assert_eq!((found.source, context(&found)), (RowSource::Merged, Some(77)), "`{fingerprint}`");
        assert_eq!(recall(&mut scratch.store(), now()).source, RowSource::Kept, "it was kept with the right one");
    }
    // No fingerprint on either side is no match.
    let nobody = Catalog::default();
    scratch.sql("UPDATE lists SET fingerprint = ''");
    let found = scratch.store().recall(&nobody, groq(), ADDRESS, &at(now()));
    assert_eq!(found.source, RowSource::Merged);
    // Another catalog has other rows.
    let models =
        include_str!("../../data/models.toml").replacen("\"llama-3.1-8b-instant\"", "\"llama-3.2-8b-instant\"", 1);
    let other = Catalog::from_toml(include_str!("../../data/providers.toml"), &models).expect("rows");
    save(&mut scratch.store(), now());
    assert_eq!(scratch.store().recall(&other, groq(), ADDRESS, &at(now())).source, RowSource::Merged);
}

/// R-D2: tables of an older version are dropped; those of a newer one are left alone.
#[test]
fn r_d2_older_versions_are_dropped() {
    let scratch = Scratch::new("version");
    save(&mut scratch.store(), now());
    scratch.sql("PRAGMA user_version = 0");
    let found = recall(&mut scratch.store(), now());
    assert_eq!((found.source, codes(&found)), (RowSource::Static, vec![]));
    save(&mut scratch.store(), now());
    assert_eq!(recall(&mut scratch.store(), now()).source, RowSource::Kept);
    scratch.sql("PRAGMA user_version = 99");
    let mut store = scratch.store();
    assert!(store.path().is_none());
    let found = recall(&mut store, now());
    assert_eq!((found.source, codes(&found)), (RowSource::Static, vec!["cache-in-memory"]));
    assert_eq!(save(&mut store, now()).source, RowSource::Fetched);
    scratch.sql("PRAGMA user_version = 1");
    assert_eq!(recall(&mut scratch.store(), now()).source, RowSource::Kept, "nothing of the newer one was touched");
}

/// R-D3: whether a list is whole and fresh decides whether the provider is asked.
#[test]
fn r_d3_the_network_is_for_what_is_not_fresh() {
    let mut store = Store::in_memory();
    let mut asks = |network: Network, time: SystemTime| {
        store.fresh(Catalog::built_in(), groq(), ADDRESS, &at(time).with_network(network)).is_none()
    };
    assert!(!asks(Network::Never, now()) && asks(Network::WhenStale, now()) && asks(Network::Always, now()));
    save(&mut store, now());
    let mut asks = |network: Network, time: SystemTime| {
        store.fresh(Catalog::built_in(), groq(), ADDRESS, &at(time).with_network(network)).is_none()
    };
    assert!(!asks(Network::WhenStale, now()) && asks(Network::Always, now()));
    assert!(asks(Network::WhenStale, now() + DAY) && !asks(Network::Never, now() + DAY));
    store.save(Catalog::built_in(), groq(), "part", (&listed(), Some("it broke off")), &at(now()));
    let part = store.fresh(Catalog::built_in(), groq(), "part", &at(now()).with_network(Network::WhenStale));
    assert!(part.is_none(), "part of a list is never fresh");
    let bedrock = Catalog::built_in().provider("bedrock").expect("a provider");
    let found = store.fresh(Catalog::built_in(), bedrock, "", &at(now()).with_network(Network::Always));
    assert_eq!(found.map(|found| found.source), Some(RowSource::Static), "there is nobody to ask");
}

/// A clock that was set back makes a list neither eternal nor lost.
#[test]
fn a_clock_set_back_loses_nothing_and_keeps_nothing_forever() {
    let scratch = Scratch::new("clock");
    let fetched = save(&mut scratch.store(), now() + DAY * 365);
    let found = recall(&mut scratch.store(), now());
    assert_eq!((found.source, codes(&found)), (RowSource::Merged, vec!["clock-set-back"]));
    assert_eq!(found.rows, fetched.rows);
    let asked =
        scratch.store().fresh(Catalog::built_in(), groq(), ADDRESS, &at(now()).with_network(Network::WhenStale));
    assert!(asked.is_none(), "its age is not known, so the provider is asked");
    save(&mut scratch.store(), now());
    let found = recall(&mut scratch.store(), now());
    assert_eq!((found.source, codes(&found)), (RowSource::Kept, vec![]), "the list from the future gave way");
    save(&mut scratch.store(), now() + Duration::from_secs(30));
    assert_eq!(recall(&mut scratch.store(), now()).source, RowSource::Kept, "clocks differ a little");
}

/// Of two processes the one that was told last has the last word, whoever writes first.
#[test]
fn an_older_list_does_not_replace_a_newer_one() {
    let scratch = Scratch::new("older");
    let (mut one, mut other) = (scratch.store(), scratch.store());
    save(&mut one, now() + Duration::from_secs(10));
    other.save(Catalog::built_in(), groq(), ADDRESS, (&[], None), &at(now()));
    assert_eq!(context(&recall(&mut other, now() + Duration::from_secs(10))), Some(77));
}

fn broken(scratch: &Scratch, bytes: &[u8]) {
    fs::create_dir_all(&scratch.0).expect("a folder");
    for part in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{part}", scratch.file().display()));
    }
    fs::write(scratch.file(), bytes).expect("a file");
}

#[test]
fn a_broken_or_foreign_file_is_set_aside_and_begun_anew() {
    let scratch = Scratch::new("broken");
    broken(&scratch, b"this is no database, but it is long enough to look like one to somebody who does not read it");
    let mut store = scratch.store();
    let found = save(&mut store, now());
    assert_eq!(codes(&found), ["cache-set-aside"]);
    assert!(found.warnings[0].detail.contains("aside-1"), "{}", found.warnings[0]);
    drop(store);
    assert_eq!(recall(&mut scratch.store(), now()).source, RowSource::Kept);
    assert!(scratch.names().contains(&"models.sqlite3.aside-1".to_owned()), "{:?}", scratch.names());
    // The first page is as it was, the rest is noise.
    let mut bytes = fs::read(scratch.file()).expect("a file");
    bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0x5a);
    broken(&scratch, &bytes);
    let found = recall(&mut scratch.store(), now());
    assert_eq!((found.source, codes(&found)), (RowSource::Static, vec!["cache-set-aside"]));
    assert_eq!(save(&mut scratch.store(), now()).source, RowSource::Fetched);
    fs::remove_file(scratch.file()).expect("a file");
    scratch.sql("CREATE TABLE somebody (elses TEXT); INSERT INTO somebody VALUES ('data')");
    assert_eq!(codes(&save(&mut scratch.store(), now())), ["cache-set-aside"]);
    let aside = Connection::open(scratch.0.join("models.sqlite3.aside-3")).expect("a database");
    let kept: String = aside.query_row("SELECT elses FROM somebody", [], |row| row.get(0)).expect("a row");
    assert_eq!(kept, "data", "nothing of somebody else's is lost");
    scratch.sql("UPDATE lists SET merged = 'nonsense', listed = '['");
    let found = recall(&mut scratch.store(), now());
    assert_eq!((found.source, codes(&found)), (RowSource::Static, vec!["cache-unreadable", "cache-unreadable"]));
    broken(&scratch, b"");
    assert_eq!(codes(&save(&mut scratch.store(), now())), Vec::<&str>::new(), "an empty file is ours to fill");
}

/// Any place in the file may be damaged: opening, reading and writing end with an answer.
#[test]
fn damage_anywhere_is_survived() {
    let scratch = Scratch::new("damage");
    save(&mut scratch.store(), now());
    let bytes = fs::read(scratch.file()).expect("a file");
    for start in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut damaged = bytes.clone();
        damaged.iter_mut().skip(start).take(64).for_each(|byte| *byte ^= 0xa5);
        broken(&scratch, &damaged);
        let mut store = scratch.store();
        let found = recall(&mut store, now());
        assert!(found.rows.len() >= Catalog::built_in().models_of("groq").count(), "at {start}");
        assert_eq!(context(&save(&mut store, now())), Some(77), "at {start}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_replaced_by_memory() {
    let scratch = Scratch::new("place");
    fs::create_dir_all(&scratch.0).expect("a folder");
    let file = scratch.0.join("file");
    fs::write(&file, "in the way").expect("a file");
    for path in [file.join("models.sqlite3"), Path::new("/proc/nowhere/models.sqlite3").to_owned(), scratch.0.clone()] {
        let mut store = Store::open(&path);
        assert!(store.path().is_none(), "{}", path.display());
        let found = save(&mut store, now());
        assert_eq!((found.source, codes(&found)), (RowSource::Fetched, vec!["cache-in-memory"]), "{}", path.display());
        assert_eq!(recall(&mut store, now()).rows, found.rows, "it is remembered in this run");
    }
}

/// A store is begun by many at once: each is answered, and one file with one list is left.
#[test]
fn many_at_once_begin_the_store() {
    let scratch = Scratch::new("many");
    let work = |number: u64| {
        let file = scratch.file();
        move || {
            let mut store = Store::open(&file);
            let found = save(&mut store, now() + Duration::from_secs(number));
            assert_eq!(codes(&found), Vec::<&str>::new());
            assert_eq!(recall(&mut store, now() + Duration::from_mins(1)).source, RowSource::Kept);
        }
    };
    let threads: Vec<_> = (0..8).map(|number| std::thread::spawn(work(number))).collect();
    for thread in threads {
        thread.join().expect("an answer");
    }
    assert_eq!(recall(&mut scratch.store(), now() + Duration::from_mins(1)).age, Some(Duration::from_secs(53)));
    let rows = Catalog::built_in().merge("groq", &listed());
    assert_eq!(
        recall(&mut scratch.store(), now()).rows.iter().map(Arc::as_ref).collect::<Vec<_>>(),
        rows.iter().map(Arc::as_ref).collect::<Vec<_>>()
    );
}
