//! Faults of keys, words and numbers: what JSON quotes or spells in one way only.

use serde_json::Value;

use super::Fault;
use super::tokens::{Kind, Token, Tokens};
use crate::sample::dice::Dice;

pub(super) fn apply(tokens: &mut Tokens, fault: Fault, dice: &mut Dice) -> Option<()> {
    match fault {
        Fault::BareKeys => {
            let keys = fitting(tokens, |_, token| token.kind == Kind::Key && is_name(&unquoted(token)));
            let all = dice.one_in(2);
            let one = *dice.pick(&keys)?;
            for index in keys.into_iter().filter(|index| all || *index == one) {
                let name = tokens.get(index).map(unquoted)?;
                tokens.set_text(index, name);
            }
        }
        Fault::BareWord => {
            let index = tokens.pick(dice, |_, token| token.kind == Kind::Text && is_words(&unquoted(token)))?;
            let words = tokens.get(index).map(unquoted)?;
            tokens.set_text(index, words);
        }
        Fault::PythonWords => {
            let index = pick_word(tokens, dice, &["true", "false", "null"])?;
            replace_words(tokens, index, dice.one_in(2), |word| match word {
                "true" => "True",
                "false" => "False",
                _ => "None",
            });
        }
        Fault::ScriptWords => {
            let index = pick_word(tokens, dice, &["null"])?;
            tokens.set_text(index, "undefined");
        }
        Fault::GroupedNumber => {
            let index = tokens.pick(dice, |index, token| {
                let in_object = tokens.parent(index) == Some(Kind::OpenObject);
                in_object
                    && token.kind == Kind::Number
                    && token.text.len() > 3
                    && token.text.bytes().all(|byte| byte.is_ascii_digit())
            })?;
            let digits = tokens.get(index)?.text.clone();
            let mark = if dice.one_in(2) { ',' } else { '_' };
            tokens.set_text(index, grouped(&digits, mark));
        }
        Fault::NumberForm => {
            let index = tokens.pick(dice, |_, token| {
                token.kind == Kind::Number && token.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            })?;
            let number = tokens.get(index)?.text.clone();
            let written = match (number.strip_prefix("0."), number.contains('.')) {
                (Some(rest), _) => format!(".{rest}"),
                (None, true) => format!("+{number}"),
                (None, false) if dice.one_in(2) => format!("+{number}"),
                (None, false) => format!("{number}."),
            };
            tokens.set_text(index, written);
        }
        _ => return None,
    }
    Some(())
}

fn fitting(tokens: &Tokens, test: impl Fn(usize, &Token) -> bool) -> Vec<usize> {
    let all = tokens.list.iter().enumerate();
    all.filter(|(index, token)| token.is_whole() && test(*index, token)).map(|(index, _)| index).collect()
}

fn pick_word(tokens: &Tokens, dice: &mut Dice, words: &[&str]) -> Option<usize> {
    tokens.pick(dice, |_, token| token.kind == Kind::Word && words.contains(&token.text.as_str()))
}

fn replace_words(tokens: &mut Tokens, one: usize, all: bool, spell: impl Fn(&str) -> &'static str) {
    for (index, token) in tokens.list.iter_mut().enumerate() {
        if token.kind == Kind::Word && token.is_whole() && (all || index == one) {
            token.text = spell(&token.meant).to_owned();
        }
    }
}

/// The string that a token means.
pub(super) fn unquoted(token: &Token) -> String {
    serde_json::from_str::<String>(&token.meant).unwrap_or_default()
}

fn is_name(word: &str) -> bool {
    let starts = word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && word.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Words that can stand without quotes and be nothing else.
fn is_words(text: &str) -> bool {
    let literal = ["true", "false", "null", "none", "undefined", "nan", "infinity", "yes", "no", "inf"];
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let plain = text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | ' ' | '-'));
    starts && plain && text.trim() == text && !literal.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn grouped(digits: &str, mark: char) -> String {
    let mut written = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            written.push(mark);
        }
        written.push(digit);
    }
    written
}

/// A string as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
