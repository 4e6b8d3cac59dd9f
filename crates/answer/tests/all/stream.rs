//! Streams: the same whatever the chunks, and what is shown is a part of what will be.

use polywire_answer::{Event, OpenText, Options, Stream, salvage};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::laws::{any_broken, any_value, cases};

/// The events of a text that arrives in chunks, texts joined.
fn events(text: &str, sizes: &[usize]) -> (Vec<Event>, Option<Value>) {
    let mut stream = Stream::new();
    let mut told = Vec::new();
    let mut rest = text;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let mut size = (*sizes.next().unwrap_or(&1)).clamp(1, rest.len());
        while !rest.is_char_boundary(size) {
            size += 1;
        }
        let (chunk, after) = rest.split_at(size);
        stream.push(chunk);
        told.extend(stream.events().into_iter().filter(|event| matches!(event, Event::Completed { .. })));
        rest = after;
    }
    let value = stream.value(OpenText::Show);
    (told, value)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn chunking_does_not_matter(text in any_broken(), sizes in prop::collection::vec(1_usize..9, 1..5)) {
        prop_assert_eq!(events(&text, &sizes), events(&text, &[text.len()]));
    }

    #[test]
    fn a_stream_ends_with_the_value(value in any_value(), size in 1_usize..20) {
        let text = json!({"value": value}).to_string() + "\n";
        let (_, last) = events(&text, &[size]);
        prop_assert_eq!(last, Some(json!({"value": value})));
    }

    #[test]
    fn complete_values_never_change(value in any_value()) {
        let whole = json!([value]);
        let text = whole.to_string();
        let mut stream = Stream::new();
        for char in text.chars() {
            stream.push(char.encode_utf8(&mut [0; 4]));
            for event in stream.events() {
                if let Event::Completed { at, value: Some(value) } = event {
                    prop_assert!(stream.is_complete(&at));
                    prop_assert_eq!(whole.pointer(&at), Some(&value));
                }
            }
        }
    }
}

#[test]
fn a_text_is_complete_when_no_part_can_follow() {
    let text = r#"{"a": "b["+",", "c": "d"}"#;
    let in_pieces = events(text, &[1]);
    assert_eq!(in_pieces, events(text, &[text.len()]));
    assert_eq!(in_pieces.0[0], Event::Completed { at: "/a".into(), value: Some(json!("b[,")) });
}

#[test]
fn a_slash_waits_for_the_end_of_its_line() {
    assert_eq!(events("[/}/", &[1]), events("[/}/", &[4]));
}

#[test]
fn thinking_and_prose_are_passed_over() {
    let mut stream = Stream::new();
    for chunk in ["<th", "ink>draft {\"a\"", ": 1}</thi", "nk> So [see docs]: ", "```json\n{\"a\": ", "2, \"b\": \"x"] {
        stream.push(chunk);
    }
    assert_eq!(stream.value(OpenText::Hide), Some(json!({"a": 2})));
    assert_eq!(stream.value(OpenText::Show), Some(json!({"a": 2, "b": "x"})));
    assert!(!stream.is_done());
    stream.push("\"}\n```");
    assert!(stream.is_done());
    assert_eq!(stream.get("/b"), Some(json!("x")));
    let text = stream.text().to_owned();
    assert_eq!(
        stream.finish(&Options::default()).map(|salvaged| salvaged.value),
        salvage(&text, &Options::default()).map(|salvaged| salvaged.value)
    );
}

#[test]
fn which_backslash_escapes_is_told_by_what_comes_after_it() {
    let text = r#""{\"args\": \"{\\\"path\\\": \\\"C:\\\\\\\\dir\\\", \\\"cont"#;
    for end in 1..=text.len() {
        let (part, _) = text.split_at(end);
        let arrived = |size: usize| {
            let mut stream = Stream::new();
            part.as_bytes().chunks(size).for_each(|chunk| stream.push(std::str::from_utf8(chunk).expect("ASCII")));
            stream.value(OpenText::Show)
        };
        let whole = arrived(part.len());
        (1..part.len()).for_each(|size| assert_eq!(arrived(size), whole, "{part} by {size}"));
    }
}
