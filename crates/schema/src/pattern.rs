//! Owns what the engine knows of regular expressions: which features a pattern (ECMA-262, searched for anywhere in the
//! text) uses, how it is anchored, and how it is run. It knows no provider and no schema.
//!
//! A pattern is read once, left to right, without recursion. What is not surely fine is reported as a feature, and what
//! cannot be rewritten or run exactly is refused with `None`.

mod groups;
mod read;
mod token;
mod without_escapes;

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

use read::{Parsed, scan};
use token::{CharToken, EcmaMode, Group, Token, TokenSpan, set_letters};
pub(crate) use without_escapes::without_escapes;

/// A feature of a pattern that not every engine supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Feature {
    /// `(?=`, `(?!`, `(?<=`, `(?<!`.
    Lookaround,
    /// `\1`, `\k<name>`.
    Backreference,
    /// `\b`, `\B`.
    WordBoundary,
    /// `\p{..}`, `\P{..}`.
    UnicodeClass,
    /// Python's `re` does not compile it.
    NotPython,
    /// It is not one `^..$` from end to end.
    Unanchored,
    /// `(?i)`, `(?i:..)`.
    InlineFlag,
    /// A bound above [`LARGE_BOUND`], or nested bounds that multiply to more than [`LARGE_PRODUCT`].
    LargeRepeat,
    /// A repeat with bounds around another one.
    NestedRepeat,
    /// An escape that grammars do not know: of a set (`\d`, `[\s\S]`), or of what needs none (`\!`, `[\.]`).
    OddEscape,
}

const LARGE_BOUND: u64 = 100;
const LARGE_PRODUCT: u64 = 1000;

impl Feature {
    const NAMED: [(Self, &'static str); 10] = [
        (Self::Lookaround, "lookaround"),
        (Self::Backreference, "backreference"),
        (Self::WordBoundary, "word-boundary"),
        (Self::UnicodeClass, "unicode-class"),
        (Self::NotPython, "not-python"),
        (Self::Unanchored, "unanchored"),
        (Self::InlineFlag, "inline-flag"),
        (Self::LargeRepeat, "large-repeat"),
        (Self::NestedRepeat, "nested-repeat"),
        (Self::OddEscape, "odd-escape"),
    ];

    /// The feature of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(_, own)| *own == name).map(|(feature, _)| *feature)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(feature, _)| *feature == self).map_or("", |(_, name)| name)
    }
}

/// A set of features.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Features(u16);

impl Features {
    pub(crate) const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << (feature as u8)) != 0
    }

    pub(crate) fn insert(&mut self, feature: Feature) {
        self.0 |= 1 << (feature as u8);
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Those of some features that a pattern uses.
pub(crate) fn features_among(pattern: &str, some: Features) -> Features {
    if some.is_empty() {
        return some;
    }
    let mut features = scan(pattern, |_| {}).features;
    if some.has(Feature::OddEscape) && has_odd_escape(pattern) {
        features.insert(Feature::OddEscape);
    }
    features.and(some)
}

fn has_odd_escape(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '[' => in_class = true,
            ']' => in_class = false,
            '\\' => {
                let known = if in_class { r#"\[]"nrtxu"# } else { r#"\[]"nrtxu^$.*+?(){}|"# };
                let escaped = letters.next();
                let in_braces = escaped == Some('u') && letters.as_str().starts_with('{');
                if in_braces || escaped.is_none_or(|escaped| !known.contains(escaped)) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// A pattern that starts with `^`, ends with `$` and finds a match in the same texts; `None` where an anchor stands
/// inside.
pub(crate) fn anchored(pattern: &str) -> Option<String> {
    let parsed = Parsed::read(pattern);
    if parsed.mode == EcmaMode::Neither || parsed.features.has(Feature::InlineFlag) {
        return None;
    }
    let mut depth = 0_usize;
    let branches = parsed.spots.split(|spot| {
        depth += usize::from(matches!(spot.token, Token::Open(_)));
        depth = depth.saturating_sub(usize::from(matches!(spot.token, Token::Close)));
        depth == 0 && matches!(spot.token, Token::Bar)
    });
    let branches = branches.map(|branch| whole_text_branch(pattern, branch)).collect::<Option<Vec<_>>>()?;
    match branches.as_slice() {
        [only] => Some(format!("^{only}$")),
        many => Some(format!("^(?:{})$", many.join("|"))),
    }
}

/// One branch without its own anchors, widened on each side that had none. `None` where another anchor is left.
fn whole_text_branch(pattern: &str, branch: &[TokenSpan<'_>]) -> Option<String> {
    const ANYTHING: &str = r"[\s\S]*";
    let (head, branch) = match branch {
        [TokenSpan { token: Token::Start, .. }, rest @ ..] => ("", rest),
        all => (ANYTHING, all),
    };
    let (branch, tail) = match branch {
        [rest @ .., TokenSpan { token: Token::End, .. }] => (rest, ""),
        all => (all, ANYTHING),
    };
    let (Some(first), Some(last)) = (branch.first(), branch.last()) else {
        return Some(if head.is_empty() { tail } else { head }.to_owned());
    };
    if branch.iter().any(|spot| matches!(spot.token, Token::Start | Token::End)) {
        return None;
    }
    Some(format!("{head}{}{tail}", pattern.get(first.start..last.end)?))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Those of one line.
    One,
    Any,
}

/// Whether a pattern takes every text, as far as its spelling shows: generators write that in few ways.
pub(crate) fn matches_every_text(pattern: &str) -> Option<Lines> {
    let (starts, rest) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
    let (ends, mut rest) = rest.strip_suffix('$').map_or((false, rest), |rest| (true, rest));
    while let Some(inner) = rest.strip_prefix("(?:").or(rest.strip_prefix('(')).and_then(|own| own.strip_suffix(')')) {
        rest = inner;
    }
    let whole = starts && ends;
    match rest {
        "" if !whole => Some(Lines::Any),
        ".*" | ".*?" => Some(if whole { Lines::One } else { Lines::Any }),
        r"[\s\S]*" | r"[\d\D]*" | r"[\w\W]*" | "[^]*" => Some(Lines::Any),
        _ => None,
    }
}

/// A pattern with the meaning of a least and a greatest length.
pub(crate) fn length_pattern(min: Option<u64>, max: Option<u64>) -> String {
    match (min.unwrap_or(0), max) {
        (min, Some(max)) if min > max => r"^[^\s\S]$".to_owned(),
        (_, Some(0)) => "^$".to_owned(),
        (min, Some(max)) if min == max => format!(r"^[\s\S]{{{min}}}$"),
        (min, Some(max)) => format!(r"^[\s\S]{{{min},{max}}}$"),
        (0, None) => r"^[\s\S]*$".to_owned(),
        (min, None) => format!(r"^[\s\S]{{{min},}}$"),
    }
}

/// Compiles a pattern with the meaning of ECMA-262; `None` where the `regex` crate has no equivalent.
pub fn matcher(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&for_matcher(pattern)?).size_limit(1 << 20).build().ok()
}

/// True where [`matcher`] would return an engine.
pub(crate) fn has_matcher(pattern: &str) -> bool {
    for_matcher(pattern).is_some()
}

/// A pattern in the syntax of the `regex` crate.
fn for_matcher(pattern: &str) -> Option<String> {
    let parsed = Parsed::read(pattern);
    let plain = !parsed.features.has(Feature::Lookaround) && !parsed.features.has(Feature::Backreference);
    if parsed.mode == EcmaMode::Neither || !plain {
        return None;
    }
    let mut out = String::with_capacity(pattern.len() * 2);
    for spot in &parsed.spots {
        write_token(&spot.token, &mut out)?;
    }
    Some(out)
}

/// Writes a token in the syntax of the `regex` crate. `None` where it has no word for it.
fn write_token(token: &Token<'_>, out: &mut String) -> Option<()> {
    match token {
        Token::One(one) => write_one(one, out)?,
        Token::Any => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
        // `[^]` takes every character and `[]` takes none.
        Token::Class { negated: true, items } if items.is_empty() => out.push_str("(?s:.)"),
        Token::Class { negated: false, items } if items.is_empty() => out.push_str("[a&&b]"),
        Token::Class { negated, items } => {
            out.push_str(if *negated { "[^" } else { "[" });
            for (low, high) in items {
                write_one(low, out)?;
                if let Some(high) = high {
                    out.push('-');
                    write_one(high, out)?;
                }
            }
            out.push(']');
        }
        Token::Start => out.push_str(r"\A"),
        Token::End => out.push_str(r"\z"),
        Token::Boundary(letter) => write!(out, r"(?-u:\{letter})").ok()?,
        Token::Bar => out.push('|'),
        Token::Open(Group::Plain | Group::Capture) => out.push_str("(?:"),
        // Any other flag would change what the anchors and the dot were translated to.
        Token::Open(Group::Scoped(flags @ ("i" | "-i"))) => write!(out, "(?{flags}:").ok()?,
        Token::Flags("i") => out.push_str("(?i)"),
        Token::Close => out.push(')'),
        Token::Repeat { min, max: Some(max) } => write!(out, "{{{min},{max}}}").ok()?,
        Token::Repeat { min, max: None } => write!(out, "{{{min},}}").ok()?,
        Token::Open(Group::Scoped(_) | Group::Ahead | Group::Behind) | Token::Flags(_) | Token::Backreference(_) => {
            return None;
        }
    }
    Some(())
}

/// Writes one character or set, inside a class or outside.
fn write_one(one: &CharToken<'_>, out: &mut String) -> Option<()> {
    match one {
        CharToken::Char(char) if char.is_ascii() && !char.is_ascii_alphanumeric() => {
            write!(out, r"\x{{{:X}}}", u32::from(*char)).ok()?;
        }
        CharToken::Char(char) => out.push(*char),
        CharToken::Set(letter) => {
            let not = if letter.is_ascii_uppercase() { "^" } else { "" };
            write!(out, "[{not}{}]", set_letters(*letter)?).ok()?;
        }
        CharToken::Property { letter, name } => {
            // The `regex` crate gives other characters a meaning here that ECMA-262 does not.
            if name.is_empty() || !name.chars().all(|char| char.is_ascii_alphanumeric() || "_=".contains(char)) {
                return None;
            }
            write!(out, r"\{letter}{{{name}}}").ok()?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{Feature, Features, Lines, anchored, features_among, length_pattern, matcher, matches_every_text};

    fn features(pattern: &str) -> Features {
        features_among(pattern, Features(u16::MAX))
    }

    #[test]
    fn a_pattern_that_takes_every_text_does_so() {
        let texts = ["", "a", "a b", "é.x", "\n", "a\nb"];
        for pattern in
            ["", "^", "$", ".*", "^.*", ".*$", "^.*$", "^(.*)$", "^(?:.*)$", "^((.*))$", r"^[\s\S]*$", "(.*?)"]
        {
            let (lines, matcher) = (matches_every_text(pattern).expect(pattern), matcher(pattern).expect(pattern));
            for text in texts {
                let taken = lines == Lines::Any || !text.contains('\n');
                assert_eq!(matcher.is_match(text), taken, "{pattern} {text:?}");
            }
        }
        for pattern in ["^$", "^.+$", "a*", "^(.*)x$", "(.*)(.*)", "(?=.*)", r"^.*\$"] {
            assert_eq!(matches_every_text(pattern), None, "{pattern}");
        }
    }

    // As Zod 3 and 4 write them.
    const EMAIL: &str =
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
    const UUID: &str = concat!(
        "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}",
        "|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$"
    );
    const DATETIME: &str = concat!(
        r"^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29",
        r"|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)",
        r"|(?:02)-(?:0[1-9]|1\d|2[0-8])))T(?:(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z))$"
    );

    /// The names of the features, joined by spaces.
    fn named(pattern: &str) -> String {
        let found = features(pattern);
        let named = Feature::NAMED.iter().filter(|(feature, _)| found.has(*feature));
        named.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn features_are_found() {
        for (pattern, expected) in [
            (EMAIL, "lookaround odd-escape"),
            (UUID, ""),
            (DATETIME, "odd-escape"),
            ("", "unanchored"),
            ("^a|b$", "unanchored"),
            (r"^a\$", "unanchored"),
            (r"^a\\$", ""),
            (r"^(a)\1$", "backreference odd-escape"),
            (r"^\1(a)$", "backreference not-python odd-escape"),
            (r"^(?<n>a)\k<n>$", "backreference not-python odd-escape"),
            (r"^(?P<n>a)(?P=n)$", "backreference"),
            (r"^\ba[\b]$", "word-boundary odd-escape"),
            (r"^[\p{L}\-]$", "unicode-class not-python odd-escape"),
            (r"^(?i)a$", "not-python inline-flag"),
            (r"^(?i:a)$", "inline-flag"),
            (r"^a{101}$", "large-repeat"),
            (r"^(?:a{50}b){0,21}$", "large-repeat nested-repeat"),
            (r"^(?:a{50}|b{40}){20}$", "nested-repeat"),
            (r"^(?:a{5}|b+)*(?:c*d?){20}$", ""),
            (r"^(?<=ab|c)d$", "lookaround not-python"),
            (r"^(?<=ab|cd)d$", "lookaround"),
            (r"^\/\_\x41\u0041\0$", "odd-escape"),
            (r"^[a\]\[[]{,$", ""),
        ] {
            assert_eq!(named(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_python_does_not_compile_is_named() {
        for pattern in [
            "*a",
            "a**",
            "a{2,1}",
            "a{2}{3}",
            "(a",
            "a)",
            "[a",
            "[z-a]",
            r"[\w-z]",
            "[]",
            "[^]",
            r"\i",
            r"\cA",
            r"\x4",
            r"\u{1F600}",
            r"\",
            r"a{,5}",
            "^*",
            "(?P<n>a)(?P<n>b)",
            "(?>a)",
            "(?-i)a",
            "a|(?i)b",
            "a{4294967295}",
        ] {
            assert!(features(pattern).has(Feature::NotPython), "{pattern}");
        }
    }

    #[test]
    fn anchors_are_added_where_the_meaning_stays() {
        for (pattern, expected) in [
            ("abc", Some(r"^[\s\S]*abc[\s\S]*$")),
            ("^abc", Some(r"^abc[\s\S]*$")),
            ("abc$", Some(r"^[\s\S]*abc$")),
            ("^abc$", Some("^abc$")),
            ("^a$|^b$", Some("^(?:a|b)$")),
            ("^a|b$", Some(r"^(?:a[\s\S]*|[\s\S]*b)$")),
            ("(a|b)", Some(r"^[\s\S]*(a|b)[\s\S]*$")),
            ("", Some(r"^[\s\S]*$")),
            ("^", Some(r"^[\s\S]*$")),
            ("(^a|b)", None),
            ("a$b", None),
            ("(?i)a", None),
            ("(a", None),
        ] {
            assert_eq!(anchored(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_run_as_in_ecma_262() {
        for (pattern, text, expected) in [
            (UUID, "123e4567-e89b-42d3-a456-426614174000", true),
            (DATETIME, "2024-02-29T10:00:00Z", true),
            (DATETIME, "2023-02-29T10:00:00Z", false),
            ("b", "abc", true),
            ("^a$", "a\n", false),
            (r"^\d$", "٣", false),
            (r"^\w$", "é", false),
            (r"^\s$", "\u{feff}", true),
            ("^.$", "\u{2028}", false),
            ("^.$", "😀", true),
            (r"^\uD83D\uDE00\u{1F600}$", "😀😀", true),
            (r"^[[&&~~\]\-/]+$", "[&~]-/", true),
            (r"^[^]$", "\n", true),
            ("a[]", "a", false),
            (r"^\/\cJ\x41\.$", "/\nA.", true),
            (r"^[\D\d]\b", "a", true),
            (r"^\p{Lu}[^\P{L}]$", "Éa", true),
            (r"^(?<y>x){2}?$", "xx", true),
            ("^a{,2}$", "a{,2}", true),
        ] {
            let found = matcher(pattern).expect(pattern).is_match(text);
            assert_eq!(found, expected, "{pattern} on {text:?}");
        }
        for pattern in [EMAIL, r"(a)\1", "a**", "(a", r"\Aa", "a++", "(?m)^a", r"\p{^L}", r"\uD83D", "(?:a{999}){999}"]
        {
            assert!(matcher(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn lengths_become_patterns() {
        for (min, max, expected) in [
            (Some(1), Some(10), r"^[\s\S]{1,10}$"),
            (Some(3), None, r"^[\s\S]{3,}$"),
            (None, Some(2), r"^[\s\S]{0,2}$"),
            (Some(2), Some(2), r"^[\s\S]{2}$"),
            (None, None, r"^[\s\S]*$"),
            (None, Some(0), "^$"),
            (Some(2), Some(1), r"^[^\s\S]$"),
        ] {
            assert_eq!(length_pattern(min, max), expected);
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        let nasty = [
            EMAIL,
            r"^(?<=a)(?<näme>[^\]-\u{1F600}\uD83D\uDE00\cA\x4z]{2,3}?)\k<n>|(?i-s:\p{L=é}[])++(?P=x)(?#c)\0123\99",
            "((((((([[[[[{{{{{1,2}{99999999999999999999,}😀?*+|||",
        ];
        for text in nasty {
            for (start, _) in text.char_indices() {
                let cut = text.get(start..).unwrap_or_default();
                for (end, _) in cut.char_indices() {
                    let part = cut.get(..end).unwrap_or_default();
                    _ = (features(part), anchored(part), matcher(part));
                }
            }
        }
        let deep = "(".repeat(10_000) + &")*".repeat(10_000);
        assert!(features(&deep).has(Feature::NotPython));
        assert!(matcher(&deep).is_none());
        assert_eq!(Feature::named("large-repeat"), Some(Feature::LargeRepeat));
    }
}
