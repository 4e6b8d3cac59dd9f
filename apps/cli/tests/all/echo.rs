//! A provider that repeats the request: the key is in nothing that is printed.

use std::process::Output;

use crate::Home;
use crate::attacker::Server;

const KEY: &str = "sk-very-secret/0123456789";

/// The encodings of the key in which the server repeats it. The base64 ones are of `KEY`, and of `Bearer KEY`.
const ECHOES: [&str; 4] = [
    KEY,
    "sk-very-secret%2F0123456789",
    "c2stdmVyeS1zZWNyZXQvMDEyMzQ1Njc4OQ==",
    "QmVhcmVyIHNrLXZlcnktc2VjcmV0LzAxMjM0NTY3ODk=",
];

fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nx-request-id: {KEY}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn chat(text: &str) -> String {
    let text = serde_json::to_string(text).expect("JSON");
    format!(
        r#"{{"id":"{KEY}","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{{"index":0,"message":{{"role":"assistant","content":{text}}},"finish_reason":"stop"}}]}}"#
    )
}

fn event(text: &str) -> String {
    let text = serde_json::to_string(text).expect("JSON");
    format!(
        "data: {{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":{text}}},\"finish_reason\":null}}]}}\n\n"
    )
}

fn run(server: &Server, more: &[&str]) -> String {
    let home = Home::new(&format!("echo-{}", server.address.port()));
    let base = format!("http://{}/v1", server.address);
    let line = [&["ask", "hi", "--model", "openai:chat/gpt-4o", "--deadline", "10"], more].concat();
    let output: Output = home.run(&line, &[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base)]);
    assert!(server.heard().contains(&format!("authorization: Bearer {KEY}")), "the key was sent");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn assert_hidden(told: &str) {
    for part in ["very-secret", "0123456789", "dmVyeS1zZWNyZXQ", "MDEyMzQ1Njc4", "2ZXJ5LXNlY3JldC"] {
        assert!(!told.contains(part), "{part}: {told}");
    }
    assert!(told.contains("[hidden]") || told.contains("repeats a key"), "{told}");
}

#[test]
fn errors_do_not_repeat_the_key() {
    for echo in ECHOES {
        for body in
            [format!(r#"{{"error":{{"message":"Incorrect API key: {echo}","code":"{echo}"}}}}"#), echo.repeat(200)]
        {
            let server = Server::start(move |_| vec![answer("401 Unauthorized", KEY, &body)]);
            for more in [&[][..], &["--json"], &["--explain"], &["--stream"]] {
                assert_hidden(&run(&server, more));
            }
        }
    }
}

#[test]
fn answers_do_not_repeat_the_key() {
    for echo in ECHOES {
        let body = chat(&format!("you sent {echo}."));
        let server = Server::start(move |_| vec![answer("200 OK", "application/json", &body)]);
        for more in [&[][..], &["--json"], &["--explain"]] {
            let told = run(&server, more);
            assert_hidden(&told);
            assert!(told.contains("you sent "), "the rest is shown: {told}");
        }
    }
    // Escaped letter by letter, it is a key only once it is decoded.
    let escaped = KEY.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect::<Vec<_>>().concat();
    let body = chat("ESCAPED").replace("ESCAPED", &escaped);
    let server = Server::start(move |_| vec![answer("200 OK", "application/json", &body)]);
    let told = run(&server, &["--explain"]);
    assert_hidden(&told);
    assert!(!told.contains(&escaped), "{told}");
}

#[test]
fn streams_do_not_repeat_a_key_that_is_cut() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let end = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    // Cut between two packets, and between two events.
    let whole = event(&format!("you sent {KEY}."));
    let (one, two) = whole.split_at(whole.find("secret").expect("the key") + 3);
    let packets = [head.to_owned(), one.to_owned(), format!("{two}{end}")];
    let events = [head.to_owned(), event("you sent sk-ve"), event("ry-secret/01"), event("23456789."), end.to_owned()];
    for pieces in [packets.to_vec(), events.to_vec()] {
        let server = Server::start(move |_| pieces.iter().map(|piece| piece.clone().into_bytes()).collect());
        for more in [&["--stream"][..], &["--stream", "--json"], &["--stream", "--explain"]] {
            let told = run(&server, more);
            assert_hidden(&told);
            for part in ["sk-ve", "ry-sec", "ret/01"] {
                assert!(!told.contains(part), "{part}: {told}");
            }
        }
    }
}
