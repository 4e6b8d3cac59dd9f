//! Renders the provider's error message: the text of a rule with its placeholders filled, inside the provider's envelope.

use std::fmt::Write as _;

use super::key_index::KeyIndex;
use crate::dialect::{ErrorText, Slot};
use crate::json::{Json, cut};
use crate::keyword::{KeywordValue, Kw};

/// The tool or format whose schema is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'s> {
    pub(crate) name: &'s str,
    pub(crate) index: usize,
    pub(crate) part: SubjectPart,
}

/// The part of a tool that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubjectPart {
    /// The arguments of the tool, or the output format.
    Whole,
    /// The result of the tool.
    Result,
}

impl Default for Subject<'_> {
    fn default() -> Self {
        Self { name: "schema", index: 0, part: SubjectPart::Whole }
    }
}

/// The values for the placeholders of a rule's text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placeholders<'b> {
    pub(super) keyword: &'b str,
    pub(super) value: Option<&'b Json<'b>>,
    pub(super) key: &'b str,
    pub(super) kind: &'b str,
    /// The schema's `type`.
    pub(super) types: Option<&'b Json<'b>>,
    pub(super) limit: Option<u64>,
    pub(super) count: u64,
    /// The index of the value or key.
    pub(super) nth: usize,
    /// The schema's `$ref`.
    pub(super) reference: &'b str,
    /// The validator's message about the value.
    pub(super) validator_message: &'b str,
}

/// The message about one violated rule.
pub(super) struct ErrorMessage<'b, 'j> {
    pub(super) says: &'b str,
    /// True where the provider sends the text without its envelope.
    pub(super) whole: bool,
    pub(super) placeholders: &'b Placeholders<'b>,
    /// The path to what is refused, and to the schema that holds it.
    pub(super) at: &'b [String],
    pub(super) node: &'b [String],
    pub(super) document: &'j Json<'j>,
    pub(super) keys: &'b KeyIndex<'j>,
    pub(super) slot: Slot,
    pub(super) subject: Subject<'b>,
}

impl ErrorMessage<'_, '_> {
    pub(super) fn text(&self, envelope: Option<&ErrorText>) -> String {
        let own = self.fill(self.says, envelope, "");
        match (envelope.filter(|_| !self.whole), self.slot) {
            (None, _) => own,
            (Some(around), Slot::Tool) => self.fill(&around.tool, envelope, &own),
            (Some(around), Slot::Output) => self.fill(&around.output, envelope, &own),
        }
    }

    /// Other braces stay as they are, and inserted text is not scanned for placeholders.
    fn fill(&self, text: &str, envelope: Option<&ErrorText>, says: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let blank = after
                .split_once('}')
                .and_then(|(word, rest)| Some((self.resolve_placeholder(word, envelope, says)?, rest)));
            if let Some((with, behind)) = blank {
                filled.push_str(&with);
                rest = behind;
            } else {
                filled.push('{');
                rest = after;
            }
        }
        filled.push_str(rest);
        filled
    }

    fn resolve_placeholder(&self, word: &str, envelope: Option<&ErrorText>, says: &str) -> Option<String> {
        let Self { placeholders, at, node, subject, .. } = self;
        let behind_subject =
            |path: ErrorPath| self.subject_name(envelope) + &path.spell(&steps(node, self.document, self.keys));
        Some(match word {
            "says" => says.to_owned(),
            "subject" => self.subject_name(envelope),
            "place" => behind_subject(ErrorPath::Validator),
            "field" => behind_subject(ErrorPath::Parser),
            "names" => ErrorPath::Names.spell(&steps(node, self.document, self.keys)),
            "context" => python_tuple(node),
            "path" if at.is_empty() => envelope.map_or_else(String::new, |envelope| envelope.root.clone()),
            "path" => at.join("."),
            "name" => subject.name.to_owned(),
            "index" => subject.index.to_string(),
            "keyword" => placeholders.keyword.to_owned(),
            "key" => placeholders.key.to_owned(),
            "ref" => placeholders.reference.rsplit('/').next().unwrap_or_default().to_owned(),
            "type" => placeholders.kind.to_owned(),
            "limit" => placeholders.limit.map_or_else(String::new, |limit| limit.to_string()),
            "count" => placeholders.count.to_string(),
            "nth" => placeholders.nth.to_string(),
            "wrong" => placeholders.validator_message.to_owned(),
            "python-type" => placeholders.types.map_or_else(|| python_repr(&Json::Null), python_repr),
            "plain-type" => placeholders.types.map_or_else(|| python_repr(&Json::Null), python_str),
            "plain" => placeholders.value.map_or_else(String::new, |value| cut(python_str(value), LONGEST_VALUE)),
            "value" => placeholders.value.map_or_else(String::new, |value| shortened(value)),
            "python" => placeholders.value.map_or_else(String::new, |value| cut(python_repr(value), LONGEST_VALUE)),
            _ => return None,
        })
    }

    /// The provider's name for the tool or output format.
    fn subject_name(&self, envelope: Option<&ErrorText>) -> String {
        let subjects = envelope.map(|envelope| &envelope.subject);
        let called = subjects.map_or("", |subjects| match self.slot {
            Slot::Tool => &subjects.tool,
            Slot::Output if self.subject.part == SubjectPart::Result && !subjects.result.is_empty() => &subjects.result,
            Slot::Output => &subjects.output,
        });
        called.replace("{index}", &self.subject.index.to_string()).replace("{name}", self.subject.name)
    }
}

/// One step of a path to a schema.
enum MessageStep<'w> {
    /// A keyword.
    Word(&'w str),
    /// A member of a map.
    Entry { name: &'w str, nth: usize },
    /// An item of a list.
    Item(&'w str),
}

fn steps<'w, 'j>(tokens: &'w [String], document: &'j Json<'j>, keys: &KeyIndex<'j>) -> Vec<MessageStep<'w>> {
    let mut steps = Vec::with_capacity(tokens.len());
    let mut json = Some(document);
    let mut map = false;
    for token in tokens {
        let members = json.and_then(Json::as_obj).unwrap_or_default();
        let list = matches!(json, Some(Json::Arr(_)));
        steps.push(if map {
            MessageStep::Entry { name: token, nth: keys.position(members, token).unwrap_or(0) }
        } else if list {
            MessageStep::Item(token)
        } else {
            MessageStep::Word(token)
        });
        let holds = Kw::of(token).filter(|_| !map && !list).map(|kw| kw.info().holds);
        map = holds.is_some_and(|holds| matches!(holds, KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap));
        json = json.and_then(|json| keys.step(json, token));
    }
    steps
}

/// The notation of a path in a provider's messages.
#[derive(Clone, Copy)]
enum ErrorPath {
    /// `.properties[3].value.any_of[0]`
    Parser,
    /// `.properties[name].any_of[0]`
    Validator,
    /// `.name.any_of[0]`
    Names,
}

impl ErrorPath {
    fn spell(self, steps: &[MessageStep<'_>]) -> String {
        let mut text = String::new();
        for step in steps {
            // Writing to a `String` cannot fail.
            _ = match (step, self) {
                (MessageStep::Word(word), Self::Names) if *word == Kw::Properties.name() => Ok(()),
                (MessageStep::Word(word), _) => write!(text, ".{}", snake_case(word)),
                (MessageStep::Entry { nth, .. }, Self::Parser) => write!(text, "[{nth}].value"),
                (MessageStep::Entry { name, .. }, Self::Validator) => write!(text, "[{name}]"),
                (MessageStep::Entry { name, .. }, Self::Names) => write!(text, ".{name}"),
                (MessageStep::Item(index), _) => write!(text, "[{index}]"),
            };
        }
        text
    }
}

fn snake_case(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 2);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Longer values are cut.
pub(super) const LONGEST_VALUE: usize = 80;

fn shortened(value: &Json<'_>) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    cut(text, LONGEST_VALUE)
}

/// Python's `str()` of a value: only nested strings are quoted.
fn python_str(value: &Json<'_>) -> String {
    value.as_str().map_or_else(|| python_repr(value), str::to_owned)
}

/// Python's `repr()` of a value.
pub(super) fn python_repr(value: &Json<'_>) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Num(number) => number.to_string(),
        Json::Str(text) => format!("'{text}'"),
        Json::Arr(items) => format!("[{}]", items.iter().map(python_repr).collect::<Vec<_>>().join(", ")),
        Json::Obj(members) => {
            let members = members.iter().map(|(key, value)| format!("'{key}': {}", python_repr(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Python's `repr()` of a tuple of strings.
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
