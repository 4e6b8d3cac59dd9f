//! The provider's words: a rule's text with its blanks filled, inside the provider's own envelope.

use std::fmt::Write as _;

use super::keys::Keys;
use crate::dialect::{ErrorText, Slot};
use crate::json::{Json, cut};
use crate::keyword::{Holds, Kw};

/// The tool or format whose schema is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'s> {
    pub(crate) name: &'s str,
    pub(crate) index: usize,
    pub(crate) part: Part,
}

/// What of it the schema is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The arguments of the tool, or the format.
    Whole,
    /// What a tool answers.
    Result,
}

impl Default for Subject<'_> {
    fn default() -> Self {
        Self { name: "schema", index: 0, part: Part::Whole }
    }
}

/// What a rule's text may name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blanks<'b> {
    pub(super) keyword: &'b str,
    pub(super) value: Option<&'b Json<'b>>,
    pub(super) key: &'b str,
    pub(super) kind: &'b str,
    /// What the schema's own `type` says.
    pub(super) types: Option<&'b Json<'b>>,
    pub(super) limit: Option<u64>,
    pub(super) count: u64,
    /// Which of several the value or key is.
    pub(super) nth: usize,
    /// What the schema refers to.
    pub(super) reference: &'b str,
    /// What is wrong with the value, as a validator says it.
    pub(super) wrong: &'b str,
}

/// A broken rule, as far as its text goes.
pub(super) struct Broken<'b, 'j> {
    pub(super) says: &'b str,
    /// Whether nothing stands around the text.
    pub(super) whole: bool,
    pub(super) blanks: &'b Blanks<'b>,
    /// The way to what is refused, and to the schema that it stands in.
    pub(super) at: &'b [String],
    pub(super) node: &'b [String],
    pub(super) document: &'j Json<'j>,
    pub(super) keys: &'b Keys<'j>,
    pub(super) slot: Slot,
    pub(super) subject: Subject<'b>,
}

impl Broken<'_, '_> {
    pub(super) fn text(&self, envelope: Option<&ErrorText>) -> String {
        let own = self.filled(self.says, envelope, "");
        match (envelope.filter(|_| !self.whole), self.slot) {
            (None, _) => own,
            (Some(around), Slot::Tool) => self.filled(&around.tool, envelope, &own),
            (Some(around), Slot::Output) => self.filled(&around.output, envelope, &own),
        }
    }

    /// A text with its blanks filled. Other braces stay as they are, and what is filled in is not looked at again.
    fn filled(&self, text: &str, envelope: Option<&ErrorText>, says: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let blank = after.split_once('}').and_then(|(word, rest)| Some((self.blank(word, envelope, says)?, rest)));
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

    /// What a blank stands for.
    fn blank(&self, word: &str, envelope: Option<&ErrorText>, says: &str) -> Option<String> {
        let Self { blanks, at, node, subject, .. } = self;
        let behind_subject =
            |way: Way| self.subject_in(envelope) + &way.spelled(&steps(node, self.document, self.keys));
        Some(match word {
            "says" => says.to_owned(),
            "subject" => self.subject_in(envelope),
            "place" => behind_subject(Way::Validator),
            "field" => behind_subject(Way::Parser),
            "names" => Way::Names.spelled(&steps(node, self.document, self.keys)),
            "context" => python_tuple(node),
            "path" if at.is_empty() => envelope.map_or_else(String::new, |envelope| envelope.root.clone()),
            "path" => at.join("."),
            "name" => subject.name.to_owned(),
            "index" => subject.index.to_string(),
            "keyword" => blanks.keyword.to_owned(),
            "key" => blanks.key.to_owned(),
            "ref" => blanks.reference.rsplit('/').next().unwrap_or_default().to_owned(),
            "type" => blanks.kind.to_owned(),
            "limit" => blanks.limit.map_or_else(String::new, |limit| limit.to_string()),
            "count" => blanks.count.to_string(),
            "nth" => blanks.nth.to_string(),
            "wrong" => blanks.wrong.to_owned(),
            "python-type" => blanks.types.map_or_else(|| python(&Json::Null), python),
            "plain-type" => blanks.types.map_or_else(|| python(&Json::Null), in_python),
            "plain" => blanks.value.map_or_else(String::new, |value| cut(in_python(value), LONGEST_VALUE)),
            "value" => blanks.value.map_or_else(String::new, |value| shortened(value)),
            "python" => blanks.value.map_or_else(String::new, |value| cut(python(value), LONGEST_VALUE)),
            _ => return None,
        })
    }

    /// What the provider calls the tool or format.
    fn subject_in(&self, envelope: Option<&ErrorText>) -> String {
        let subjects = envelope.map(|envelope| &envelope.subject);
        let called = subjects.map_or("", |subjects| match self.slot {
            Slot::Tool => &subjects.tool,
            Slot::Output if self.subject.part == Part::Result && !subjects.result.is_empty() => &subjects.result,
            Slot::Output => &subjects.output,
        });
        called.replace("{index}", &self.subject.index.to_string()).replace("{name}", self.subject.name)
    }
}

/// A step of the way to a schema.
enum Step<'w> {
    /// To what a keyword holds.
    Word(&'w str),
    /// To a member of a map.
    Entry { name: &'w str, nth: usize },
    /// To an item of a list.
    Item(&'w str),
}

/// The steps of a way through a document.
fn steps<'w, 'j>(tokens: &'w [String], document: &'j Json<'j>, keys: &Keys<'j>) -> Vec<Step<'w>> {
    let mut steps = Vec::with_capacity(tokens.len());
    let mut json = Some(document);
    let mut map = false;
    for token in tokens {
        let members = json.and_then(Json::as_obj).unwrap_or_default();
        let list = matches!(json, Some(Json::Arr(_)));
        steps.push(if map {
            Step::Entry { name: token, nth: keys.position(members, token).unwrap_or(0) }
        } else if list {
            Step::Item(token)
        } else {
            Step::Word(token)
        });
        let holds = Kw::of(token).filter(|_| !map && !list).map(|kw| kw.row().holds);
        map = holds.is_some_and(|holds| matches!(holds, Holds::SchemaMap | Holds::SchemaOrNamesMap));
        json = json.and_then(|json| keys.step(json, token));
    }
    steps
}

/// How a way is spelled.
#[derive(Clone, Copy)]
enum Way {
    /// `.properties[3].value.any_of[0]`
    Parser,
    /// `.properties[name].any_of[0]`
    Validator,
    /// `.name.any_of[0]`
    Names,
}

impl Way {
    fn spelled(self, steps: &[Step<'_>]) -> String {
        let mut text = String::new();
        for step in steps {
            // Writing to a `String` cannot fail.
            _ = match (step, self) {
                (Step::Word(word), Self::Names) if *word == Kw::Properties.name() => Ok(()),
                (Step::Word(word), _) => write!(text, ".{}", snake_case(word)),
                (Step::Entry { nth, .. }, Self::Parser) => write!(text, "[{nth}].value"),
                (Step::Entry { name, .. }, Self::Validator) => write!(text, "[{name}]"),
                (Step::Entry { name, .. }, Self::Names) => write!(text, ".{name}"),
                (Step::Item(index), _) => write!(text, "[{index}]"),
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

/// A value is shown with so many letters.
pub(super) const LONGEST_VALUE: usize = 80;

fn shortened(value: &Json<'_>) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    cut(text, LONGEST_VALUE)
}

/// A value as Python puts it into a text: only what stands within it is quoted.
fn in_python(value: &Json<'_>) -> String {
    value.as_str().map_or_else(|| python(value), str::to_owned)
}

/// A value as Python prints it.
pub(super) fn python(value: &Json<'_>) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Num(number) => number.to_string(),
        Json::Str(text) => format!("'{text}'"),
        Json::Arr(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Json::Obj(members) => {
            let members = members.iter().map(|(key, value)| format!("'{key}': {}", python(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
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
