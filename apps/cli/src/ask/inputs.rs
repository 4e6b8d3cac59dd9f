//! Inputs beside the prompt: images, documents and tools.

use std::fs;

use anyhow::Result;
use polywire::schema::ToolEntry;
use polywire::wire::{Block, Document, Function, Image, Source, Tool};

use crate::input::{Failure, Input};

/// Offsets and the bytes expected there.
type MagicBytes = &'static [(usize, &'static [u8])];

/// Media types that models accept, by their magic bytes.
const MEDIA_TYPES: &[(MagicBytes, &str)] = &[
    (&[(0, b"\x89PNG\r\n\x1a\n")], "image/png"),
    (&[(0, b"\xff\xd8\xff")], "image/jpeg"),
    (&[(0, b"GIF8")], "image/gif"),
    (&[(0, b"RIFF"), (8, b"WEBP")], "image/webp"),
    (&[(0, b"%PDF-")], "application/pdf"),
];

/// Reads an image or a PDF as a content block.
pub(super) fn image(path: &str) -> Result<Block> {
    let next = "give a PNG, JPEG, GIF or WebP image, or a PDF";
    let bytes = fs::read(path).map_err(|error| Failure::new(error, path, next))?;
    let is =
        |magic: MagicBytes| magic.iter().all(|(at, sign)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(sign)));
    let Some((_, kind)) = MEDIA_TYPES.iter().find(|(magic, _)| is(magic)) else {
        return Err(Failure::new("unsupported file type", path, next).into());
    };
    let source = Source::bytes(*kind, &bytes);
    Ok(if kind.starts_with("image/") {
        Block::Image(Image { source, ..Image::default() })
    } else {
        Block::Document(Document { source, ..Document::default() })
    })
}

/// Reads a tool list in any known shape.
pub(super) fn tools(path: &str) -> Result<Vec<Tool>> {
    let next = "expected: a tool list of MCP or of a provider";
    let list = Input::read(path)?.tools.ok_or_else(|| Failure::new("not a tool list", path, next))?;
    let function = |entry: ToolEntry| Function {
        name: entry.name,
        description: entry.description,
        parameters: Some(entry.schema),
        strict: entry.strict,
        ..Function::default()
    };
    Ok(list.tools.into_iter().map(|entry| Tool::Function(function(entry))).collect())
}
