//! Faults of quotes and of what stands between them.

use super::Fault;
use super::tokens::{Kind, Token, Tokens};
use super::words::{quoted, unquoted};
use crate::sample::dice::Dice;

pub(super) fn apply(tokens: &mut Tokens, fault: Fault, dice: &mut Dice) -> Option<()> {
    match fault {
        Fault::InnerQuotes => {
            let index = tokens.pick(dice, |_, token| token.kind == Kind::Text && token.text.len() > 6)?;
            let words = with_quotes(&tokens.get(index).map(unquoted)?, dice)?;
            let json = quoted(&words);
            tokens.set_text(index, format!("\"{}\"", json.get(1..json.len() - 1)?.replace("\\\"", "\"")));
            tokens.set_meant(index, json);
        }
        Fault::LineBreak => {
            let index =
                tokens.pick(dice, |_, token| token.kind == Kind::Text && inside(token).contains([' ', '\\']))?;
            let text = tokens.get(index).map(unquoted)?;
            let broken = if text.contains(['\n', '\t']) { text } else { replace_one(&text, " ", "\n", dice)? };
            let json = quoted(&broken);
            tokens.set_text(index, json.replace("\\n", "\n").replace("\\t", "\t"));
            tokens.set_meant(index, json);
        }
        Fault::BadEscape => {
            let index = tokens.pick(dice, |_, token| {
                token.kind == Kind::Text && inside(token).contains(' ') && !token.text.contains('\\')
            })?;
            // Letters that no escape of JSON begins with.
            let added = *dice.pick(&["C:\\Apps ", "\\d+ ", "\\$x ", "\\-", "\\s*", "\\[a\\] "])?;
            let text = tokens.get(index).map(unquoted)?;
            let whole = replace_one(&text, " ", &format!(" {added}"), dice)?;
            tokens.set_text(index, quoted(&whole).replace("\\\\", "\\"));
            tokens.set_meant(index, quoted(&whole));
        }
        Fault::SingleQuotes | Fault::CurlyQuotes => {
            let all = dice.one_in(2);
            let marks = if fault == Fault::SingleQuotes { ('\'', '\'') } else { ('“', '”') };
            let one = tokens.pick(dice, |_, token| is_quoted(token) && !token.text.contains(['\\', '“', '”']))?;
            for index in 0..tokens.list.len() {
                let Some(token) = tokens.get(index) else { break };
                if is_quoted(token)
                    && token.is_whole()
                    && !token.text.contains(['\\', '“', '”'])
                    && (all || index == one)
                {
                    let inner = inside(token).replace('\'', if marks.0 == '\'' { "\\'" } else { "'" });
                    tokens.set_text(index, format!("{}{inner}{}", marks.0, marks.1));
                }
            }
        }
        Fault::LostKeyOpen | Fault::LostKeyClose => {
            let index = tokens.pick(dice, |_, token| token.kind == Kind::Key && is_plain(inside(token)))?;
            lose_quote(tokens, index, fault == Fault::LostKeyOpen);
        }
        Fault::LostTextOpen | Fault::LostTextClose => {
            let index = tokens.pick(dice, |index, token| {
                // A comma in an item of a list may be the one behind it.
                let in_list = tokens.parent(index) == Some(Kind::OpenList);
                token.kind == Kind::Text && is_plain(inside(token)) && !(in_list && inside(token).contains(','))
            })?;
            lose_quote(tokens, index, fault == Fault::LostTextOpen);
        }
        Fault::DoubledQuotes => {
            let index = tokens.pick(dice, |_, token| is_quoted(token) && is_plain(inside(token)))?;
            let text = format!("\"{}\"", tokens.get(index)?.text);
            tokens.set_text(index, text);
        }
        _ => return None,
    }
    Some(())
}

fn is_quoted(token: &Token) -> bool {
    matches!(token.kind, Kind::Key | Kind::Text)
}

/// What stands between the quotes.
fn inside(token: &Token) -> &str {
    token.text.get(1..token.text.len().saturating_sub(1)).unwrap_or_default()
}

/// Whether words are no literal, number or bracket without their quotes.
fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(char::is_alphabetic);
    let literal =
        ["true", "false", "null", "none", "undefined", "nan"].iter().any(|word| text.eq_ignore_ascii_case(word));
    starts
        && !literal
        && !text.contains(['"', '\\', '{', '}', '[', ']', ':', '\'', '`', '/'])
        && !text.ends_with([' ', ','])
}

fn lose_quote(tokens: &mut Tokens, index: usize, open: bool) {
    let Some(text) = tokens.get(index).map(|token| token.text.clone()) else { return };
    let kept = if open { text.get(1..) } else { text.get(..text.len() - 1) };
    tokens.set_text(index, kept.unwrap_or_default());
}

/// Puts a word, or several, in quotes.
fn with_quotes(text: &str, dice: &mut Dice) -> Option<String> {
    if text.contains('"') {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = text.split(' ').collect();
    let clean = |word: &&str| {
        !word.is_empty() && word.chars().all(|char| char.is_alphanumeric() || matches!(char, ',' | '.' | '-' | '_'))
    };
    let first = dice.below(words.len());
    let last = (first + 1 + dice.below(3)).min(words.len());
    let picked = words.get(first..last).filter(|picked| picked.iter().all(clean))?;
    if first == 0 && last == words.len() {
        // Quotes around all of it are doubled ones.
        return None;
    }
    let phrase = picked.join(" ");
    let (core, rest) = match phrase.strip_suffix(['.', ',']) {
        Some(core) if dice.one_in(2) => (core, phrase.get(core.len()..)?),
        _ => (phrase.as_str(), ""),
    };
    let mut parts: Vec<String> = words.get(..first)?.iter().map(|word| (*word).to_owned()).collect();
    parts.push(format!("\"{core}\"{rest}"));
    parts.extend(words.get(last..)?.iter().map(|word| (*word).to_owned()));
    Some(parts.join(" "))
}

fn replace_one(text: &str, from: &str, to: &str, dice: &mut Dice) -> Option<String> {
    let places: Vec<usize> = text.match_indices(from).map(|(place, _)| place).collect();
    let place = *dice.pick(&places)?;
    Some(format!("{}{to}{}", text.get(..place)?, text.get(place + from.len()..)?))
}
