//! What is given beside the prompt: images, documents and tools.

use anyhow::Result;
use polywire::schema::ToolEntry;
use polywire::wire::{Block, Document, Function, Image, Source, Tool};

use crate::input::{Failure, Input, read_bytes};

/// The first bytes of the kinds of files that models look at.
const KINDS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"%PDF-", "application/pdf"),
];

/// A file as a block of the prompt.
pub(super) fn image(path: &str) -> Result<Block> {
    let bytes = read_bytes(path)?;
    let Some((_, kind)) = KINDS.iter().find(|(start, _)| bytes.starts_with(start)) else {
        let what = "this is no image that models look at";
        return Err(Failure::new(what, path, "give a PNG, JPEG, GIF or WebP image, or a PDF").into());
    };
    let source = Source::bytes(*kind, &bytes);
    Ok(if kind.starts_with("image/") {
        Block::Image(Image { source, ..Image::default() })
    } else {
        Block::Document(Document { source, ..Document::default() })
    })
}

/// The tools of a list in any shape that is known.
pub(super) fn tools(path: &str) -> Result<Vec<Tool>> {
    let next = "expected: a tool list of MCP or of a provider";
    let list = Input::read(path)?.tools().ok_or_else(|| Failure::new("this is no tool list", path, next))?;
    let function = |entry: ToolEntry| Function {
        name: entry.name,
        description: entry.description,
        parameters: Some(entry.schema),
        strict: entry.strict,
        ..Function::default()
    };
    Ok(list.tools.into_iter().map(|entry| Tool::Function(function(entry))).collect())
}
