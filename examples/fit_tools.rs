//! Fits a list of tools to several providers and prints every change, without sending anything.
//!
//! `cargo run -p polywire-examples --bin fit_tools`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use polywire::wire::Function;
use polywire::{Catalog, Request, plan};
use serde_json::json;

fn main() -> anyhow::Result<()> {
    // A map, an optional key and a union: something for everybody to refuse.
    let parameters = json!({
        "type": "object",
        "properties": {
            "guests": {"type": "integer", "minimum": 1},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "place": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}]}
        },
        "required": ["guests"]
    });
    let request = Request::user("Book a table.").tool(Function::new("book", "Books a table", parameters));
    for name in ["openai/gpt-5", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro"] {
        let planned = plan(&request, &Catalog::built_in().resolve(name)?);
        println!("{name}\n  {}", planned.body.get());
        for change in planned.changes() {
            println!("  {} at `{}`: {}", change.code, change.at, change.detail);
        }
    }
    Ok(())
}
