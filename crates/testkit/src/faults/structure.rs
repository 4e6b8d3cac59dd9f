//! Faults between values: commas, colons, brackets, comments.

use serde_json::Value;

use super::Fault;
use super::tokens::{Kind, Token, Tokens};
use crate::sample::dice::Dice;

const COMMENTS: &[&str] =
    &["// the next one", "/* optional */", "/* see above, and below */", "// TODO: check", "# a note"];

/// Makes a fault; the values that one other edit gives as well are added to the rivals.
pub(super) fn apply(tokens: &mut Tokens, fault: Fault, dice: &mut Dice, rivals: &mut Vec<Value>) -> Option<()> {
    match fault {
        Fault::LostComma => {
            let index = tokens.pick(dice, |index, token| token.kind == Kind::Comma && tokens.next(index).is_some())?;
            // Words that run together are one word.
            let quoted = |at: Option<usize>| {
                at.and_then(|at| tokens.kind(at)).is_some_and(|kind| !matches!(kind, Kind::Number | Kind::Word))
            };
            let apart = tokens.kind(index + 1) == Some(Kind::Space)
                || quoted(tokens.before(index))
                || quoted(tokens.next(index));
            tokens.set_text(index, if apart { "" } else { " " });
        }
        Fault::ExtraComma => {
            let index = tokens.pick(dice, |index, token| {
                let before = tokens.before(index).and_then(|before| tokens.get(before));
                (token.kind == Kind::Comma || token.kind.is_close())
                    && before.is_some_and(|before| !before.kind.is_open())
            })?;
            let mut place = index;
            while place > 0 && tokens.kind(place - 1) == Some(Kind::Space) && dice.one_in(2) {
                place -= 1;
            }
            tokens.insert(place, Token::noise(","));
        }
        Fault::LostColon => {
            let index = tokens.pick(dice, |_, token| token.kind == Kind::Colon)?;
            tokens.set_text(index, if dice.one_in(2) { "" } else { " " });
        }
        Fault::OtherColon => {
            let index = tokens.pick(dice, |_, token| token.kind == Kind::Colon)?;
            tokens.set_text(index, *dice.pick(&["=", " = ", " =>"])?);
        }
        Fault::LostEnd => lose_end(tokens, dice)?,
        Fault::LostInside => lose_inside(tokens, dice, rivals)?,
        Fault::ExtraCloser => {
            let index = tokens.pick(dice, |_, token| token.kind.is_close())?;
            let same = dice.below(3) > 0;
            let list = (tokens.kind(index) == Some(Kind::CloseList)) == same;
            let closer = if list { "]" } else { "}" };
            rivals.extend(without_one_closer(tokens, index, closer)?);
            tokens.insert(index + 1, Token::noise(closer));
        }
        Fault::WrongCloser => {
            let index = tokens.pick(dice, |_, token| token.kind.is_close())?;
            let list = tokens.kind(index) == Some(Kind::CloseList);
            tokens.set_text(index, if list { "}" } else { "]" });
        }
        Fault::Comment => {
            let index = tokens.pick(dice, |_, token| token.kind == Kind::Comma || token.kind.is_open())?;
            let comment = *dice.pick(COMMENTS)?;
            let closed = comment.ends_with("*/");
            tokens.insert(index + 1, Token::noise(format!(" {comment}{}", if closed { " " } else { "\n" })));
        }
        Fault::Ellipsis => {
            let index = tokens.pick(dice, |index, token| {
                token.kind.is_close()
                    && tokens.before(index).and_then(|at| tokens.kind(at)).is_some_and(|kind| !kind.is_open())
            })?;
            tokens.insert(index, Token::noise(*dice.pick(&[", ...", ", …", ",\n..."])?));
        }
        _ => return None,
    }
    Some(())
}

/// Loses the last closers, one or all of them.
fn lose_end(tokens: &mut Tokens, dice: &mut Dice) -> Option<()> {
    let mut run = Vec::new();
    for (index, token) in tokens.list.iter().enumerate().rev() {
        match token.kind {
            kind if kind.is_close() => run.push(index),
            kind if kind.is_noise() => {}
            _ => break,
        }
    }
    let last = *run.last()?;
    // A number at the end of a text may go on.
    if run.is_empty()
        || matches!(tokens.before(last).and_then(|at| tokens.kind(at)), Some(Kind::Number)) && dice.below(4) > 0
    {
        return None;
    }
    let count = 1 + dice.below(run.len());
    for index in run.into_iter().take(count) {
        tokens.set_text(index, "");
    }
    Some(())
}

/// Loses a closer inside. Where one closer elsewhere mends the text as well, its value is a rival.
fn lose_inside(tokens: &mut Tokens, dice: &mut Dice, rivals: &mut Vec<Value>) -> Option<()> {
    let last = tokens.list.iter().rposition(|token| !token.kind.is_close() && !token.kind.is_noise())?;
    let index = tokens.pick(dice, |index, token| token.kind.is_close() && index < last)?;
    let closer = tokens.get(index)?.text.clone();
    let pieces: Vec<&str> =
        tokens.list.iter().enumerate().map(|(at, token)| if at == index { "" } else { token.meant.as_str() }).collect();
    if pieces.len() > 1500 {
        return None;
    }
    let keys = tokens.list.iter().filter(|token| token.kind == Kind::Key).count();
    let meant = tokens.value()?;
    for place in 1..=pieces.len() {
        if tokens.get(place).is_some_and(|token| token.kind.is_noise()) {
            continue;
        }
        let (head, tail) = pieces.split_at(place);
        let text = format!("{}{closer}{}", head.concat(), tail.concat());
        if let Ok(value) = serde_json::from_str::<Value>(&text)
            && value != meant
            && key_count(&value) == keys
            && !rivals.contains(&value)
        {
            rivals.push(value);
        }
    }
    tokens.set_text(index, "");
    Some(())
}

/// The other values that come of one closer too many where another one is left out.
fn without_one_closer(tokens: &Tokens, index: usize, closer: &str) -> Option<Vec<Value>> {
    let mut pieces: Vec<&str> = tokens.list.iter().map(|token| token.meant.as_str()).collect();
    if pieces.len() > 1500 {
        return None;
    }
    pieces.insert(index + 1, closer);
    let meant = tokens.value()?;
    let mut rivals = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        if !matches!(*piece, "}" | "]") {
            continue;
        }
        let text: String = pieces.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, piece)| *piece).collect();
        if let Ok(value) = serde_json::from_str::<Value>(&text)
            && value != meant
            && !rivals.contains(&value)
        {
            rivals.push(value);
        }
    }
    Some(rivals)
}

fn key_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(key_count).sum(),
        Value::Object(members) => members.len() + members.values().map(key_count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
