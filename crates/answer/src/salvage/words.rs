//! What stands without quotes: literals, numbers in every notation, and words.

use serde_json::Number;

use super::edge::{Around, Place};
use super::source::{KeyLike, Source, is_word_byte, key_like};
use crate::options::{CutLiteral, LeadingZeros, NotANumber, Options};
use crate::repair::RepairKind;
use crate::tree::Kind;

/// A word and what had to be done to read it.
pub(crate) struct Word {
    pub(crate) kind: Kind,
    pub(crate) repair: Option<RepairKind>,
}

impl Word {
    fn exact(kind: Kind) -> Self {
        Self { kind, repair: None }
    }

    fn mended(kind: Kind, repair: RepairKind) -> Self {
        Self { kind, repair: Some(repair) }
    }
}

/// Where the word at a place ends: behind it, and behind what separates it from what follows.
pub(crate) fn word_end(source: &Source<'_>, start: usize, around: Around) -> usize {
    if let Some(end) = number_end(source, start, around) {
        return end;
    }
    let mut depth = 0_usize;
    let mut at = start;
    while !source.is_end(at) {
        let byte = source.at(at);
        let ends = match byte {
            b'(' => {
                depth += 1;
                false
            }
            b'{' | b'[' if at > start => {
                if around.place == Place::Top && depth == 0 {
                    true
                } else {
                    depth += 1;
                    false
                }
            }
            b')' | b'}' | b']' if depth > 0 => {
                depth -= 1;
                false
            }
            b')' | b';' => around.parens > 0,
            b'}' => around.objects > 0 || around.lists > 0,
            b']' => around.lists > 0,
            b',' if depth == 0 => comma_ends(source, at, around) || is_literal(source.slice(start, at).trim_end()),
            b'\n' if line_ends(source, at, around) => true,
            b'\n' => {
                // What was looked at need not be looked at again from every line break.
                at = source.peek_space(at + 1).max(at + 1) - 1;
                false
            }
            b'/' if source.is_comment(at) => {
                at > start && source.at(at - 1).is_ascii_whitespace() || source.at(at + 1) == b'*'
            }
            b'`' => source.is_fence(at),
            b'"' | b'\'' | 0xe2 if depth == 0 => quote_ends(source, at, around),
            b'\\' if around.place != Place::Top => escape_ends(source, at),
            b'<' => source.at(at + 1) == b'/' && around.place != Place::Top || source.starts_with(at, "<|"),
            _ => false,
        };
        if ends {
            break;
        }
        at += 1;
    }
    if source.is_end(at) {
        source.at(at);
    }
    at
}

/// The end of a number that something other than more of a word follows.
pub(crate) fn number_end(source: &Source<'_>, start: usize, around: Around) -> Option<usize> {
    let mut at = start + usize::from(matches!(source.at(start), b'-' | b'+'));
    if !source.at(at).is_ascii_digit() && source.at(at) != b'.' {
        return None;
    }
    while matches!(source.at(at), b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-' | b'_') {
        at += 1;
    }
    if around.place == Place::Member {
        at = thousands_end(source, start, at);
    }
    let token = source.slice(start, at);
    let clean = number(token).is_some();
    let next = source.peek_space(at);
    let byte = source.at(next);
    if source.is_end(at) || !clean {
        return None;
    }
    let follows = matches!(byte, b',' | b'}' | b']' | b')' | b';' | b'`' | b'<' | b'#')
        || source.is_end(next)
        || source.is_comment(next)
        || (next > at
            && (source.quote_at(next).is_some()
                || byte.is_ascii_digit()
                || matches!(byte, b'-' | b'{' | b'[' | b'.')
                || source.slice(at, next).contains('\n')
                || source.peek_word_colon(next).is_some()))
        || matches!(byte, b'{' | b'[' | b'"')
        || (byte == b'\\' && escape_ends(source, next));
    (follows && (around.place != Place::Top || !matches!(byte, b'-' | b'.'))).then_some(at)
}

/// Behind the groups of three digits in `2,000.00`, which no key can be.
fn thousands_end(source: &Source<'_>, start: usize, mut at: usize) -> usize {
    let head = source.slice(start, at).trim_start_matches(['-', '+']);
    if head.is_empty() || head.len() > 3 || !head.bytes().all(|byte| byte.is_ascii_digit()) {
        return at;
    }
    loop {
        let group = (at + 1..at + 4).all(|place| source.at(place).is_ascii_digit());
        if source.at(at) != b',' || !group || source.at(at + 4).is_ascii_digit() {
            break;
        }
        if source.at(source.peek_space(at + 4)) == b':' {
            break;
        }
        at += 4;
    }
    if source.at(at) == b'.' && source.at(at + 1).is_ascii_digit() {
        at += 1;
        while source.at(at).is_ascii_digit() {
            at += 1;
        }
    }
    at
}

fn comma_ends(source: &Source<'_>, comma: usize, around: Around) -> bool {
    match around.place {
        Place::Key | Place::Item => true,
        Place::Top => false,
        Place::Member => {
            let next = source.peek_space(comma + 1);
            matches!(source.at(next), b'}' | b']' | b'.' | b'{' | b'[' | b'\\' | b'`')
                || source.is_end(next)
                || source.is_comment(next)
                || key_like(source, next) == KeyLike::Yes
                || source.slice(comma + 1, next).contains('\n') && bare_key_line(source, next)
        }
    }
}

/// Whether a line starts with a key of several words.
fn bare_key_line(source: &Source<'_>, place: usize) -> bool {
    let mut at = place;
    while at < place + 64 && (is_word_byte(source.at(at)) || source.at(at) == b' ') {
        at += 1;
    }
    source.at(at) == b':'
}

fn line_ends(source: &Source<'_>, place: usize, around: Around) -> bool {
    match around.place {
        Place::Key | Place::Item | Place::Top => true,
        Place::Member => {
            let next = source.peek_space(place + 1);
            matches!(source.at(next), b'}' | b']') || key_like(source, next) == KeyLike::Yes || source.is_comment(next)
        }
    }
}

/// Whether a quote inside a word is the start of what follows, or a stray one at its end.
fn quote_ends(source: &Source<'_>, place: usize, around: Around) -> bool {
    let Some((_, length)) = source.quote_at(place) else { return false };
    let next = source.peek_space(place + length);
    let stray = matches!(source.at(next), b',' | b'}' | b']' | b':') || source.is_end(next);
    match around.place {
        Place::Top => false,
        Place::Key => true,
        Place::Item => stray && !matches!(source.at(place), b'\''),
        Place::Member => {
            let spaced = place > 0 && source.at(place - 1).is_ascii_whitespace();
            (stray
                && source.at(place) == b'"'
                && (source.at(next) != b',' || source.at(next) == b',' && comma_ends(source, next, around)))
                || (spaced && key_like(source, place) == KeyLike::Yes)
        }
    }
}

/// Whether `\n` outside of a text is a line break that was escaped once too often.
fn escape_ends(source: &Source<'_>, place: usize) -> bool {
    let mut at = place;
    while source.at(at) == b'\\' && matches!(source.at(at + 1), b'n' | b'r' | b't') {
        at = source.peek_space(at + 2);
    }
    at > place && (matches!(source.at(at), b'}' | b']' | b',' | b'"' | b'[' | b'{') || source.is_end(at))
}

fn is_literal(word: &str) -> bool {
    ["true", "false", "null", "none"].iter().any(|literal| word.eq_ignore_ascii_case(literal))
}

/// What a word is.
pub(crate) fn classify(word: &str, options: &Options, cut: bool) -> Word {
    if word.starts_with(|char: char| char.is_ascii_digit())
        && let Some(found) = classify_number(word, options)
    {
        return found;
    }
    for (literal, kind) in [("true", Kind::Bool(true)), ("false", Kind::Bool(false)), ("null", Kind::Null)] {
        if word == literal {
            return Word::exact(kind);
        }
        let complete = cut && options.cut_literal == CutLiteral::Complete;
        let starts = !word.is_empty() && literal.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        if word.eq_ignore_ascii_case(literal) || complete && starts {
            return Word::mended(kind, RepairKind::Literal);
        }
    }
    if word == "None" || word.eq_ignore_ascii_case("undefined") {
        return Word::mended(Kind::Null, RepairKind::Literal);
    }
    if matches!(word.trim_start_matches('-'), "NaN" | "Infinity") && options.not_a_number == NotANumber::Null {
        return Word::mended(Kind::Null, RepairKind::Literal);
    }
    if let Some(found) = classify_number(word, options) {
        return found;
    }
    Word::mended(Kind::Text(word.to_owned()), RepairKind::Bare)
}

fn classify_number(word: &str, options: &Options) -> Option<Word> {
    let digits = word.trim_start_matches(['-', '+']);
    let zeros = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if zeros && options.leading_zeros == LeadingZeros::Text {
        return None;
    }
    match number(word)? {
        Found::Exact(number) => Some(Word::exact(Kind::Number(number))),
        Found::Mended(number) => Some(Word::mended(Kind::Number(number), RepairKind::NumberForm)),
        Found::Rounded(number) => Some(Word::mended(Kind::Number(number), RepairKind::Rounded)),
        Found::TooLarge => Some(Word::mended(Kind::Text(word.to_owned()), RepairKind::TextNumber)),
    }
}

/// A number that was read.
pub(crate) enum Found {
    Exact(Number),
    /// Its notation is not that of JSON.
    Mended(Number),
    /// It has more digits than a float.
    Rounded(Number),
    /// No float is so large.
    TooLarge,
}

/// Reads a number: JSON's notation, and `+1`, `.5`, `2.`, `1e`, `1_000`, `1,000`.
pub(crate) fn number(word: &str) -> Option<Found> {
    let strict = is_json_number(word);
    let mended;
    let token = if strict {
        word
    } else {
        mended = mend_number(word)?;
        &mended
    };
    let Ok(read) = serde_json::from_str::<Number>(token) else { return Some(Found::TooLarge) };
    let integer = !token.contains(['.', 'e', 'E']);
    let rounded = integer && read.is_f64() && token != "-0";
    Some(match (rounded, strict) {
        (true, _) => Found::Rounded(read),
        (false, true) => Found::Exact(read),
        (false, false) => Found::Mended(read),
    })
}

fn is_json_number(word: &str) -> bool {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

/// A number in JSON's notation, made from one that is nearly so.
fn mend_number(word: &str) -> Option<String> {
    if !word.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (sign, unsigned) = match word.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let mut plain = without_groups(unsigned)?;
    while plain.ends_with(['e', 'E', '+', '-']) {
        plain.pop();
    }
    let trimmed = plain.trim_start_matches('0').len();
    if trimmed < plain.len() && plain.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        plain = plain.split_off(plain.len() - trimmed);
    }
    if plain.starts_with('.') {
        plain.insert(0, '0');
    }
    if plain.ends_with('.') {
        plain.push('0');
    }
    let token = format!("{sign}{plain}").replace(".e", ".0e").replace(".E", ".0E");
    is_json_number(&token).then_some(token)
}

/// Takes out the marks between groups of digits.
fn without_groups(digits: &str) -> Option<String> {
    if digits.contains('_') {
        let inside = digits.bytes().zip(digits.bytes().skip(1)).all(|(one, two)| one != b'_' || two.is_ascii_digit());
        return (inside && !digits.starts_with('_') && !digits.ends_with('_')).then(|| digits.replace('_', ""));
    }
    if !digits.contains(',') {
        return Some(digits.to_owned());
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.split(',');
    let head = groups.next().is_some_and(|head| (1..=3).contains(&head.len()));
    (head && groups.all(|group| group.len() == 3) && !fraction.contains(',')).then(|| digits.replace(',', ""))
}
