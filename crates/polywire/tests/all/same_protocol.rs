//! R-F2: where both sides speak one protocol, bytes that nothing has to change stay as they are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use polywire::wire::{Framing, Protocol, Surface};
use polywire::{Catalog, TranslateOptions, Translation};
use serde_json::Value;

/// The cases of `corpus/wire` of one kind: protocol, file name, body.
fn cases(kind: &str) -> Vec<(Protocol, String, Value)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/wire");
    let mut found = Vec::new();
    for protocol in Protocol::ALL {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(protocol.name()))
            .expect("a folder")
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let case: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).expect("a case");
            if case["kind"] == kind {
                found.push((protocol, name(&file), case["body"].clone()));
            }
        }
    }
    assert!(!found.is_empty(), "no cases of kind {kind}");
    found
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The body with spaces that no encoder of ours writes.
fn spaced(body: &Value) -> String {
    format!("  {}\n", serde_json::to_string_pretty(body).expect("JSON"))
}

fn translation(body: &str, protocol: Protocol) -> Result<Translation, polywire::TranslateError> {
    let asked = serde_json::from_str::<Value>(body).unwrap()["model"].as_str().unwrap_or("m").to_owned();
    let model = Catalog::built_in().of_protocol(protocol, &asked).expect("a provider");
    Translation::new(body.as_bytes(), protocol, &model, &TranslateOptions::default())
}

/// A request without anything that could change.
fn plain(protocol: Protocol) -> Translation {
    let request = polywire::wire::Request::new("m", vec![polywire::wire::Message::user("Hi")]);
    let body = String::from_utf8(protocol.encode_request(&request, &Surface::default()).body).unwrap();
    translation(&body, protocol).expect("a translation")
}

/// A request that nothing has to change leaves as it came; in one that something has to change, everything else stays.
#[test]
fn r_f2_requests_keep_their_bytes() {
    let (mut untouched, mut all) = (0, 0);
    for (protocol, file, body) in cases("request") {
        let text = spaced(&body);
        let translation = translation(&text, protocol).unwrap_or_else(|error| panic!("{file}: {error}"));
        let sent = translation.request();
        all += 1;
        if sent.body.get() == text {
            untouched += 1;
            continue;
        }
        for change in sent.changes {
            println!("{protocol} {file}: {} {} {} {}", change.code, change.at, change.effect, change.detail);
        }
        assert!(!sent.changes.is_empty(), "{protocol} {file}: changed without a record:\n{}", sent.body.get());
    }
    println!("{untouched} of {all} requests leave as they came");
    assert!(untouched * 10 >= all * 6, "only {untouched} of {all} requests leave as they came");
}

#[test]
fn r_f2_answers_keep_their_bytes() {
    for (protocol, file, body) in cases("response") {
        let text = spaced(&body);
        let back = plain(protocol).response(text.as_bytes()).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(String::from_utf8_lossy(&back.body), text, "{protocol} {file}");
    }
}

#[test]
fn r_f2_errors_keep_their_bytes() {
    for (protocol, file, body) in cases("error") {
        let text = spaced(&body);
        let back = plain(protocol).error(429, &[], text.as_bytes());
        assert_eq!((back.status, String::from_utf8_lossy(&back.body)), (429, text.into()), "{protocol} {file}");
    }
}

#[test]
fn r_f2_streams_keep_their_bytes() {
    for (kind, is_cut) in [("stream", false), ("cut", true)] {
        for (protocol, file, body) in cases(kind) {
            if protocol.framing(&Surface::default()) == Framing::Sse {
                stream_keeps_its_bytes(protocol, &file, &body, is_cut);
            }
        }
    }
}

fn stream_keeps_its_bytes(protocol: Protocol, file: &str, body: &Value, is_cut: bool) {
    let mut text = String::from(": a comment\n\n");
    for frame in body.as_array().expect("frames") {
        if let Some(event) = frame["event"].as_str() {
            writeln!(text, "event: {event}").expect("a string");
        }
        let data = frame["data"].as_str().map_or_else(|| frame["data"].to_string(), str::to_owned);
        write!(text, "id: 7\ndata: {data}\n\n").expect("a string");
    }
    for size in [1, 11, text.len()] {
        let mut stream = plain(protocol).stream();
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            out.extend_from_slice(&stream.push(piece));
        }
        let end = stream.finish();
        assert_eq!(String::from_utf8_lossy(&out), text, "{protocol} {file}");
        assert_eq!(end.error.is_some(), is_cut, "{protocol} {file}: {:?}", end.error);
    }
}
