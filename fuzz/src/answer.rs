//! Reading what a model wrote: valid JSON comes back as it is, and anything else ends without a fault.

use polywire_answer::{OpenText, Options, ReadOptions, RepairKind, Schema, Stream, read_with, salvage};
use serde_json::Value;

/// Reads a text as it is, and broken in a way that the first two bytes choose: whole, arriving, and by a schema.
pub fn answer(data: &[u8]) -> Result<(), String> {
    let Some((&[one, two], rest)) = data.split_first_chunk() else { return Ok(()) };
    let text = String::from_utf8_lossy(rest);
    let document = serde_json::from_str::<Value>(&text).ok();
    if let Some(value) = &document {
        let salvaged = salvage(&text, &Options::default()).ok_or("law 6: valid JSON gave no value")?;
        let rounded = salvaged.repairs.iter().any(|repair| repair.kind == RepairKind::Rounded);
        if salvaged.value != *value || !(salvaged.repairs.is_empty() || rounded) {
            return Err(format!("law 6: valid JSON was changed: {:?}", salvaged.repairs));
        }
    }
    let broken = damaged(&text, one, two);
    salvage(&broken, &Options::default());
    salvage(&broken, &Options::partial());
    if let Some(schema) = document.as_ref().and_then(|document| Schema::new(document).ok()) {
        read_with(&broken, Some(&schema), &ReadOptions::default());
        read_with(&broken, Some(&schema), &ReadOptions::default().with_salvage(Options::partial()));
    }
    let max_concurrency = streamed(&broken, broken.len());
    if streamed(&broken, usize::from(one) % 13 + 1) != max_concurrency {
        return Err("law 5: chunking changes the value".to_owned());
    }
    Ok(())
}

/// Leaves out marks of notation here and there, and the end.
fn damaged(text: &str, one: u8, two: u8) -> String {
    let every = usize::from(one) % 9 + 2;
    let mark = ['"', ',', '}', ']', ':', '\\'][usize::from(two) % 6];
    let end = text.chars().count() * (usize::from(two) + 1) / 256;
    let mut seen = 0;
    let kept = |char: &char| {
        seen += usize::from(*char == mark);
        *char != mark || seen % every != 0
    };
    text.chars().take(end).filter(kept).collect()
}

fn streamed(text: &str, size: usize) -> Option<Value> {
    let mut stream = Stream::new();
    let mut chunk = String::new();
    for char in text.chars() {
        chunk.push(char);
        if chunk.len() >= size {
            stream.push(&chunk);
            chunk.clear();
        }
    }
    stream.push(&chunk);
    stream.value(OpenText::Show)
}
