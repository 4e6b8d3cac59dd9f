//! R-G4: a gateway that is killed at random under load. Every request that its caller heard of is in the ledger once.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use crate::serve::Served;
use crate::{Home, json};

const ROUNDS: u64 = 20;
const CALLERS: u64 = 6;

/// What a caller heard of its request.
struct Heard {
    id: String,
    is_whole: bool,
}

/// Sends a request and reads what comes; `None` if not even the head of a response came.
fn exchange(address: &str, key: &str, stream: bool) -> Option<Heard> {
    let body = format!(
        r#"{{"model": "openai:chat/gpt-4o", "stream": {stream}, "messages": [{{"role": "user", "content": "Hello?"}}]}}"#
    );
    let mut socket = TcpStream::connect(address).ok()?;
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n");
    let head = format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut bytes = Vec::new();
    // A connection that is reset gave what it gave.
    let _ = socket.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let head = head.to_lowercase();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    assert!(head.starts_with("http/1.1 200"), "{text}");
    let length = field("content-length:").and_then(|length| length.parse::<usize>().ok());
    let is_whole =
        length.map_or_else(|| rest.contains("[DONE]") && rest.ends_with("0\r\n\r\n"), |length| rest.len() == length);
    Some(Heard { id: field("x-polywire-request-id:")?.to_owned(), is_whole })
}

#[test]
fn r_g4_twenty_kills_under_load_lose_and_repeat_nothing() {
    let home = Home::new("serve-kills");
    let store = home.0.join("ledger.sqlite3").display().to_string();
    let created = json(&home.run(&["keys", "create", "me", "--json", "--store", &store], &[]));
    let key = created["key"].as_str().expect("a key").to_owned();
    let (heard, sent) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    // Not the same times in every round, but the same in every run.
    let mut chance = 0x9e37_79b9_u64;
    for _ in 0..ROUNDS {
        let mut served = Served::start(&home, &["--store", &store]);
        let address = served.address.clone();
        let answered = AtomicU64::new(0);
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (address, key, heard, sent, answered) = (&address, &key, &heard, &sent, &answered);
                scope.spawn(move || {
                    loop {
                        sent.fetch_add(1, Ordering::SeqCst);
                        let Some(one) = exchange(address, key, caller % 2 == 0) else { return };
                        let is_whole = one.is_whole;
                        heard.lock().expect("a list").push(one);
                        if !is_whole {
                            return;
                        }
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            while answered.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(chance >> 48));
            served.child.kill().expect("killed");
            served.child.wait().expect("ended");
        });
    }
    // The next start must find the ledger in order.
    Served::start(&home, &["--store", &store]).kill();
    let ledger = Connection::open(&store).expect("a ledger");
    let mut statement = ledger.prepare("SELECT id, outcome FROM requests").expect("a statement");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>().expect("rows");
    let by_id: BTreeMap<&str, &str> = rows.iter().map(|(id, outcome)| (id.as_str(), outcome.as_str())).collect();
    let heard = heard.into_inner().expect("a list");
    assert!(heard.iter().filter(|one| one.is_whole).count() >= 20, "{} heard", heard.len());
    for one in &heard {
        let outcome = by_id.get(one.id.as_str()).copied();
        let is_right = if one.is_whole { outcome == Some("answered") } else { outcome.is_some() };
        assert!(is_right, "{}: whole {}, recorded as {outcome:?}", one.id, one.is_whole);
    }
    let distinct: std::collections::BTreeSet<&str> = heard.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(distinct.len(), heard.len(), "an id was used twice");
    let sent = sent.into_inner();
    assert!(by_id.len() == rows.len() && rows.len() as u64 <= sent, "{} rows for {sent} requests", rows.len());
}
