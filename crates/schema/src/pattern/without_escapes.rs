//! Spells a pattern with the few escapes that every grammar knows: sets of letters are listed, and nothing else is escaped that
//! can stand as it is.

use std::fmt::Write as _;

use super::read::Parsed;
use super::token::{CharToken, EcmaMode, Group, Token, set_letters};

/// The same pattern, spelled so; `None` where that cannot be done.
pub(crate) fn without_escapes(pattern: &str) -> Option<String> {
    let parsed = Parsed::read(pattern);
    if parsed.mode == EcmaMode::Neither {
        return None;
    }
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut spots = parsed.spots.iter().peekable();
    while let Some(spot) = spots.next() {
        let repeated = spots.peek().is_some_and(|next| matches!(next.token, Token::Repeat { .. }));
        match &spot.token {
            // What is repeated is one letter or one class, and nothing that stands for a letter in several.
            Token::One(one @ CharToken::Char(char)) if repeated && !char.is_ascii_alphanumeric() => {
                push_class(false, &[(*one, None)], &mut out)?;
            }
            Token::One(CharToken::Char(char)) => push_char(*char, r"\^$.*+?()[]{}|", &mut out),
            Token::One(one @ CharToken::Set(_)) => push_class(false, &[(*one, None)], &mut out)?,
            Token::Class { negated, items } if !items.is_empty() => push_class(*negated, items, &mut out)?,
            // By name or not.
            Token::Open(Group::Capture) => out.push('('),
            // Whether as few or as many as can be are tried first does not matter to whether a text matches.
            Token::Repeat { .. } => {
                let text = pattern.get(spot.start..spot.end)?;
                out.push_str(text.strip_suffix('?').filter(|rest| !rest.is_empty()).unwrap_or(text));
            }
            Token::Any | Token::Start | Token::End | Token::Bar | Token::Open(Group::Plain) | Token::Close => {
                out.push_str(pattern.get(spot.start..spot.end)?);
            }
            Token::One(CharToken::Property { .. })
            | Token::Class { .. }
            | Token::Boundary(_)
            | Token::Open(Group::Scoped(_) | Group::Ahead | Group::Behind)
            | Token::Flags(_)
            | Token::Backreference(_) => return None,
        }
    }
    Some(out)
}

fn push_class(negated: bool, items: &[(CharToken<'_>, Option<CharToken<'_>>)], out: &mut String) -> Option<()> {
    // Of all that a set leaves out only the whole can be said.
    let turned = matches!(items, [(CharToken::Set('D' | 'W' | 'S'), None)]);
    out.push_str(if negated == turned { "[" } else { "[^" });
    for (low, high) in items {
        match (low, high) {
            (CharToken::Char(low), None) => push_member(*low, out),
            (CharToken::Char(low), Some(CharToken::Char(high))) => {
                push_member(*low, out);
                out.push('-');
                push_member(*high, out);
            }
            (CharToken::Set(letter), None) if turned || letter.is_ascii_lowercase() => {
                out.push_str(set_letters(*letter)?);
            }
            (CharToken::Char(_) | CharToken::Set(_) | CharToken::Property { .. }, _) => return None,
        }
    }
    out.push(']');
    Some(())
}

/// A member of a class.
fn push_member(char: char, out: &mut String) {
    if matches!(char, '-' | '^') {
        // Writing to a `String` cannot fail.
        _ = write!(out, r"\x{:02X}", u32::from(char));
    } else {
        push_char(char, r"\[]", out);
    }
}

/// A character, with a backslash before it if it is one of these.
fn push_char(char: char, escaped: &str, out: &mut String) {
    match char {
        '\n' => out.push_str(r"\n"),
        '\r' => out.push_str(r"\r"),
        '\t' => out.push_str(r"\t"),
        char if char.is_control() => _ = write!(out, r"\x{:02X}", u32::from(char)),
        char if escaped.contains(char) => out.extend(['\\', char]),
        char => out.push(char),
    }
}

#[cfg(test)]
mod tests {
    use super::without_escapes;
    use crate::pattern::{Feature, Features, features_among, matcher};

    #[test]
    fn what_is_spelled_out_means_the_same_and_needs_no_odd_escape() {
        let texts =
            ["", "7", "a", "_", " ", "\u{a0}", "-", "^", ".", "/", "a/b", "x7", "]", "\\", "\n", "é", "a-b", "12"];
        let patterns = [
            r"^(?<y>\d{1,2})$",
            r"^\v+\.*é?$",
            r"^a\.+?-*$",
            r"^\d+$",
            r"^\w+$",
            r"^\s$",
            r"^\S+$",
            r"^\D$",
            r"^\W*$",
            r"^a\/b$",
            r"^a\-b$",
            r"^[a-z\-]+$",
            r"^[\d.]+$",
            r"^[a-z\.]+$",
            r"^[^\s]$",
            r"^[^\S]$",
            r"^(\d|\w\/)+?$",
            r"^[\^\]\\]$",
            r"^\.$",
            r"^(?:x|\-){1,3}$",
            r"^\x41é$",
        ];
        let mut odd = Features::default();
        odd.insert(Feature::OddEscape);
        for pattern in patterns {
            let spelled = without_escapes(pattern).expect(pattern);
            assert!(features_among(&spelled, odd).is_empty(), "{pattern} {spelled}");
            let (old, new) = (matcher(pattern).expect(pattern), matcher(&spelled).expect(&spelled));
            for text in texts {
                assert_eq!(old.is_match(text), new.is_match(text), "{pattern} {spelled} {text:?}");
            }
        }
        for pattern in [r"^[\s\S]*$", r"\bx", r"(?=x)", r"^\p{L}$", r"(a)\1"] {
            assert_eq!(without_escapes(pattern), None, "{pattern}");
        }
    }
}
