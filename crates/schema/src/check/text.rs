//! The provider's words: a rule's text with its blanks filled, inside the provider's own envelope.

use std::fmt::Write as _;

use crate::dialect::{ErrorText, Slot};
use crate::json::{Json, cut};

/// The tool or format whose schema is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'s> {
    pub(crate) name: &'s str,
    pub(crate) index: usize,
}

impl Default for Subject<'_> {
    fn default() -> Self {
        Self { name: "schema", index: 0 }
    }
}

/// What a rule's text may name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blanks<'b> {
    pub(super) keyword: &'b str,
    pub(super) value: Option<&'b Json<'b>>,
    pub(super) key: &'b str,
    pub(super) kind: &'b str,
    pub(super) limit: Option<u64>,
    pub(super) count: u64,
}

pub(super) fn provider_text(
    says: &str,
    blanks: &Blanks<'_>,
    tokens: &[String],
    envelope: Option<&ErrorText>,
    slot: Slot,
    subject: &Subject<'_>,
) -> String {
    let mut inner = says.to_owned();
    let mut fill = |blank: &str, with: &dyn Fn() -> String| {
        if inner.contains(blank) {
            inner = inner.replace(blank, &with());
        }
    };
    fill("{keyword}", &|| blanks.keyword.to_owned());
    fill("{key}", &|| blanks.key.to_owned());
    fill("{type}", &|| blanks.kind.to_owned());
    fill("{limit}", &|| blanks.limit.map_or_else(String::new, |limit| limit.to_string()));
    fill("{count}", &|| blanks.count.to_string());
    fill("{value}", &|| blanks.value.map_or_else(String::new, |value| shortened(value)));
    fill("{name}", &|| subject.name.to_owned());
    fill("{path}", &|| tokens.join("."));
    fill("{context}", &|| python_tuple(tokens));
    let Some(envelope) = envelope else { return inner };
    let template = match slot {
        Slot::Tool => &envelope.tool,
        Slot::Output => &envelope.output,
    };
    template
        .replace("{name}", subject.name)
        .replace("{index}", &subject.index.to_string())
        .replace("{context}", &python_tuple(tokens))
        .replace("{path}", &tokens.join("."))
        .replace("{says}", &inner)
}

fn shortened(value: &Json<'_>) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    cut(text, 80)
}

/// A path as Python prints a tuple of strings.
fn python_tuple(tokens: &[String]) -> String {
    let mut text = String::from("(");
    for (index, token) in tokens.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        // Writing to a `String` cannot fail.
        _ = write!(text, "{comma}'{token}'");
    }
    if tokens.len() == 1 {
        text.push(',');
    }
    text.push(')');
    text
}
