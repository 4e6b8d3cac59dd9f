//! The one writer of annotations: what a fitted schema tells the model in descriptions, because the dialect has no keyword for it.
//!
//! The style: the caller's description comes first, then facts in parentheses. A fact is a phrase that a person would write, in the
//! words of the value and not of JSON Schema: `(from 1 to 99)`, `(2 to 5 items, no duplicates)`, `(format: date)`. Bounds that belong
//! together are one phrase, and all bounds are one parenthesis. The default keeps its own, `(default: 3)`, because other tools look
//! for it. Values are written whole or not at all.

use std::fmt::Write as _;

use crate::graph::{Annotation, AnnotationKey};
use crate::json::{Json, Member};
use crate::keyword::Kw;
use crate::types::Types;

/// A longer value is not written into a description.
pub(super) const MAX_VALUE_CHARS: usize = 200;

/// The formats that a person knows better than a pattern for them.
const WELL_KNOWN_FORMATS: [&str; 16] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "uuid",
    "json-pointer",
    "regex",
];

/// What a description has to say besides what the caller wrote.
#[derive(Debug, Default)]
pub(super) struct Facts<'d> {
    /// Keywords that stay in the schema although the provider ignores them: the model reads them there.
    pub(super) kept: Vec<Member<'d>>,
    /// Keywords that were dropped, with their values as text.
    keywords: Vec<(Kw, String)>,
    sentences: Vec<String>,
}

impl Facts<'_> {
    /// Adds a sentence, in parentheses.
    pub(super) fn push(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// Adds a keyword that was dropped. Returns false where its value is too long to be written, or says nothing.
    pub(super) fn add(&mut self, kw: Kw, value: &Json<'_>) -> bool {
        let text = match (kw, value) {
            (Kw::Pattern | Kw::Format, Json::Str(text)) => (*text).to_owned(),
            (_, value) => value.to_string(),
        };
        let says_nothing = (kw == Kw::Default && matches!(value, Json::Null))
            || (kw == Kw::UniqueItems && matches!(value, Json::Bool(false)));
        if says_nothing || text.chars().count() > MAX_VALUE_CHARS {
            return false;
        }
        self.keywords.push((kw, text));
        true
    }

    /// Every fact as it is written, in a fixed order.
    pub(super) fn texts(&self) -> Vec<String> {
        let bounds: Vec<String> = [
            self.phrases(Kw::Format, |value| format!("format: {value}")),
            self.phrases(Kw::Pattern, |value| format!("matches the pattern {value}")),
            self.count([Kw::MinLength, Kw::MaxLength], ["character", "characters"]),
            self.range(),
            self.phrases(Kw::MultipleOf, |value| format!("a multiple of {value}")),
            self.count([Kw::MinItems, Kw::MaxItems], ["item", "items"]),
            self.phrases(Kw::UniqueItems, |_| "no duplicates".to_owned()),
            self.count([Kw::MinProperties, Kw::MaxProperties], ["key", "keys"]),
            self.phrases(Kw::Enum, |value| format!("one of {}", listed(value))),
            self.phrases(Kw::Const, |value| format!("always {value}")),
        ]
        .concat();
        let mut texts = Vec::new();
        if !bounds.is_empty() {
            texts.push(format!("({})", bounds.join(", ")));
        }
        for (kw, value) in &self.keywords {
            if matches!(kw, Kw::Example | Kw::Examples) {
                texts.push(format!("(for example {})", listed(value)));
            } else if !IN_BOUNDS.contains(kw) {
                texts.push(format!("({}: {value})", kw.name()));
            }
        }
        texts.extend(self.sentences.iter().cloned());
        texts
    }

    fn value(&self, kw: Kw) -> Option<&str> {
        self.keywords.iter().find(|(own, _)| *own == kw).map(|(_, value)| &**value)
    }

    fn phrases(&self, kw: Kw, phrase: impl Fn(&str) -> String) -> Vec<String> {
        self.keywords.iter().filter(|(own, _)| *own == kw).map(|(_, value)| phrase(value)).collect()
    }

    /// Two bounds of a count.
    fn count(&self, [min, max]: [Kw; 2], [one, several]: [&str; 2]) -> Vec<String> {
        let noun = |count: &str| if count == "1" { one } else { several };
        let phrase = match (self.value(min), self.value(max)) {
            (Some(min), Some(max)) if min == max => format!("exactly {min} {}", noun(min)),
            (Some(min), Some(max)) => format!("{min} to {max} {several}"),
            (Some(min), None) => format!("at least {min} {}", noun(min)),
            (None, Some(max)) => format!("at most {max} {}", noun(max)),
            (None, None) => return Vec::new(),
        };
        vec![phrase]
    }

    /// The bounds of a number.
    fn range(&self) -> Vec<String> {
        if let (Some(min), Some(max)) = (self.value(Kw::Minimum), self.value(Kw::Maximum)) {
            return vec![format!("from {min} to {max}")];
        }
        let one = |kw, words: &str| self.value(kw).map(|value| format!("{words} {value}"));
        let lower = one(Kw::Minimum, "at least").or_else(|| one(Kw::ExclusiveMinimum, "more than"));
        let upper = one(Kw::Maximum, "at most").or_else(|| one(Kw::ExclusiveMaximum, "less than"));
        let phrases: Vec<String> = lower.into_iter().chain(upper).collect();
        if phrases.is_empty() { phrases } else { vec![phrases.join(" and ")] }
    }
}

/// The keywords whose values are phrases of one parenthesis.
const IN_BOUNDS: [Kw; 16] = [
    Kw::Const,
    Kw::Format,
    Kw::Pattern,
    Kw::MinLength,
    Kw::MaxLength,
    Kw::Minimum,
    Kw::Maximum,
    Kw::ExclusiveMinimum,
    Kw::ExclusiveMaximum,
    Kw::MultipleOf,
    Kw::MinItems,
    Kw::MaxItems,
    Kw::UniqueItems,
    Kw::MinProperties,
    Kw::MaxProperties,
    Kw::Enum,
];

/// The items of a list without its brackets.
fn listed(list: &str) -> &str {
    list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list)
}

/// The type that annotations speak of, where the schema names none: "Must be a string", or examples of one type.
pub(super) fn hinted_types(annotations: &[Annotation<'_>]) -> Option<Types> {
    let note = |kw: Kw| annotations.iter().find(|own| own.key == AnnotationKey::Kw(kw)).map(|own| own.value);
    if let Some(text) = note(Kw::Description).and_then(Json::as_str) {
        let text = text.to_ascii_lowercase();
        let named = |verb: &str| {
            let (_, rest) = text.split_once(verb)?;
            let rest = rest.trim_start().trim_start_matches("an ").trim_start_matches("a ");
            let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
            Types::named(&word).filter(|types| *types != Types::NULL)
        };
        if let Some(types) = ["must be ", "should be "].into_iter().find_map(named) {
            return Some(types);
        }
    }
    let examples = note(Kw::Examples).and_then(Json::as_arr)?;
    let types = examples.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
    Some(types).filter(|types| !examples.is_empty() && types.name().is_some() && *types != Types::NULL)
}

/// A format that says in a word what a pattern beside it spells out.
pub(super) fn stands_for_a_pattern(format: &str) -> bool {
    WELL_KNOWN_FORMATS.contains(&format)
}

/// A condition in words, where its parts are about single keys: "v is required when k is x".
pub(super) fn condition(when: &Json<'_>, then: Option<&Json<'_>>, otherwise: Option<&Json<'_>>) -> Option<String> {
    let condition = statement(when, Mood::Condition)?;
    let mut text = String::new();
    if let Some(then) = then {
        _ = write!(text, "{} when {condition}", statement(then, Mood::Demand)?);
    }
    if let Some(otherwise) = otherwise {
        let otherwise = statement(otherwise, Mood::Demand)?;
        _ = if text.is_empty() {
            write!(text, "{otherwise} unless {condition}")
        } else {
            write!(text, ", otherwise {otherwise}")
        };
    }
    Some(text).filter(|text| !text.is_empty())
}

/// What is asked where a key is given, in words: "b is required when a is given".
pub(super) fn dependency(key: &str, then: &Json<'_>) -> Option<String> {
    Some(format!("{} when {key} is given", statement(then, Mood::Demand)?))
}

/// What must not be, in words.
pub(super) fn exclusion(not: &Json<'_>) -> Option<String> {
    let members = not.as_obj()?;
    let mut said = members.iter().filter(|(key, _)| Kw::of(key).is_none_or(|kw| !kw.is_annotation()));
    let (Some((key, value)), None) = (said.next(), said.next()) else { return None };
    match (Kw::of(key)?, value) {
        (Kw::Required, Json::Arr([one])) => Some(format!("{} must not be given", one.as_str()?)),
        (Kw::Required, Json::Arr(_)) => Some(format!("{} must not be given together", names(value)?)),
        (Kw::Const, value) => Some(format!("not {value}")),
        (Kw::Enum, Json::Arr(_)) => Some(format!("none of {}", listed(&value.to_string()))),
        (Kw::Pattern, Json::Str(pattern)) => Some(format!("does not match the pattern {pattern}")),
        _ => None,
    }
}

/// Whether something is asked, or is what something else depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Condition,
    Demand,
}

/// A schema about single keys of an object, in words.
fn statement(schema: &Json<'_>, mood: Mood) -> Option<String> {
    let mut parts = Vec::new();
    let properties = schema.get(Kw::Properties.name()).and_then(Json::as_obj).unwrap_or_default();
    for (key, value) in schema.as_obj()? {
        match (Kw::of(key), value) {
            (Some(Kw::Properties), Json::Obj(own)) => {
                for (name, own) in *own {
                    // The type of a key that is asked for is in the schema.
                    if mood == Mood::Demand && has_only_type(own) {
                        continue;
                    }
                    parts.push(format!("{name} {}", value_phrase(own)?));
                }
            }
            (Some(Kw::Required), Json::Arr(required)) => {
                // Of a key whose value is spoken of anyway, its presence goes without saying.
                let spoken = |name: &&Json<'_>| properties.iter().any(|(own, _)| Some(*own) == name.as_str());
                let left: Vec<Json<'_>> = match mood {
                    Mood::Condition => required.iter().filter(|name| !spoken(name)).copied().collect(),
                    Mood::Demand => required.to_vec(),
                };
                if left.is_empty() {
                    continue;
                }
                let verb = match (mood, left.len()) {
                    (Mood::Condition, 1) => "is given",
                    (Mood::Condition, _) => "are given",
                    (Mood::Demand, 1) => "is required",
                    (Mood::Demand, _) => "are required",
                };
                parts.push(format!("{} {verb}", names(&Json::Arr(&left))?));
            }
            (Some(Kw::Not), not) if mood == Mood::Demand => parts.push(exclusion(not)?),
            (Some(Kw::Type), Json::Str("object")) => {}
            (Some(kw), _) if kw.is_annotation() => {}
            _ => return None,
        }
    }
    Some(parts.join(" and ")).filter(|text| !text.is_empty())
}

fn has_only_type(schema: &Json<'_>) -> bool {
    schema.as_obj().is_some_and(|members| !members.iter().any(|(key, _)| restricts_beyond_type(key)))
}

fn restricts_beyond_type(key: &str) -> bool {
    Kw::of(key).is_none_or(|kw| !kw.is_annotation() && kw != Kw::Type)
}

/// What is said of the value of one key.
fn value_phrase(schema: &Json<'_>) -> Option<String> {
    let members = schema.as_obj()?;
    let mut said = members.iter().filter(|(key, _)| restricts_beyond_type(key));
    let phrase = match (said.next(), said.next()) {
        (Some((key, value)), None) => match (Kw::of(key)?, value) {
            (Kw::Const, value) => format!("is {}", plain(value)),
            (Kw::Enum, Json::Arr([one])) => format!("is {}", plain(one)),
            (Kw::Enum, Json::Arr(values)) => {
                format!("is one of {}", values.iter().map(plain).collect::<Vec<_>>().join(", "))
            }
            (Kw::MinLength | Kw::MinItems, Json::Num(_)) => "is not empty".to_owned(),
            (Kw::Minimum, value) => format!("is at least {value}"),
            (Kw::Maximum, value) => format!("is at most {value}"),
            (Kw::Pattern, Json::Str(pattern)) => format!("matches the pattern {pattern}"),
            _ => return None,
        },
        _ => return None,
    };
    Some(phrase)
}

/// A value as a person writes it in a sentence.
fn plain(value: &Json<'_>) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Names, as a list in a sentence.
fn names(list: &Json<'_>) -> Option<String> {
    let names: Vec<&str> = list.as_arr()?.iter().map(Json::as_str).collect::<Option<_>>()?;
    let (end, others) = names.split_last()?;
    Some(if others.is_empty() { (*end).to_owned() } else { format!("{} and {end}", others.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::{Facts, condition, dependency, exclusion};
    use crate::arena::Arena;
    use crate::json::{Bounds, Json};
    use crate::keyword::Kw;

    fn with_json<T>(text: &str, use_it: impl FnOnce(&Json<'_>) -> T) -> T {
        let arena = Arena::for_text(text.len());
        use_it(&Json::from_text(text, Bounds { depth: 32, values: 1_000 }, &arena).expect("JSON"))
    }

    #[track_caller]
    fn assert_facts(keywords: &[(Kw, &str)], expected: &[&str]) {
        let mut facts = Facts::default();
        for (kw, value) in keywords {
            with_json(value, |value| facts.add(*kw, value));
        }
        assert_eq!(facts.texts(), expected);
    }

    #[test]
    fn bounds_are_one_phrase_and_all_of_them_one_parenthesis() {
        assert_facts(&[(Kw::Minimum, "1"), (Kw::Maximum, "99")], &["(from 1 to 99)"]);
        assert_facts(&[(Kw::ExclusiveMinimum, "0"), (Kw::Maximum, "1.5")], &["(more than 0 and at most 1.5)"]);
        assert_facts(
            &[(Kw::MinItems, "2"), (Kw::MaxItems, "5"), (Kw::UniqueItems, "true")],
            &["(2 to 5 items, no duplicates)"],
        );
        assert_facts(&[(Kw::MinLength, "1")], &["(at least 1 character)"]);
        assert_facts(&[(Kw::MinLength, "3"), (Kw::MaxLength, "3")], &["(exactly 3 characters)"]);
        assert_facts(
            &[(Kw::Format, "\"date\""), (Kw::Default, "3"), (Kw::MaxLength, "9")],
            &["(format: date, at most 9 characters)", "(default: 3)"],
        );
        assert_facts(&[(Kw::Examples, "[1,2]")], &["(for example 1,2)"]);
    }

    #[test]
    fn what_says_nothing_or_is_too_long_is_not_written() {
        let long = format!("\"{}\"", "a".repeat(300));
        assert_facts(&[(Kw::Default, "null"), (Kw::UniqueItems, "false"), (Kw::Pattern, &long)], &[]);
    }

    #[test]
    fn conditions_about_keys_are_sentences() {
        let rows = [
            (r#"{"properties":{"k":{"const":"x"}}}"#, r#"{"required":["v"]}"#, Some("v is required when k is x")),
            (
                r#"{"properties":{"k":{"enum":["x","y"]}},"required":["k"]}"#,
                r#"{"required":["v","w"]}"#,
                Some("v and w are required when k is one of x, y"),
            ),
            (r#"{"required":["a"]}"#, r#"{"properties":{"b":{"const":1}}}"#, Some("b is 1 when a is given")),
            (r#"{"required":["a"]}"#, r#"{"not":{"required":["b"]}}"#, Some("b must not be given when a is given")),
            (r#"{"items":{}}"#, r#"{"required":["v"]}"#, None),
        ];
        for (when, then, expected) in rows {
            let text = with_json(when, |when| with_json(then, |then| condition(when, Some(then), None)));
            assert_eq!(text.as_deref(), expected, "{when} {then}");
        }
        let text = with_json(r#"{"required":["b"]}"#, |then| dependency("a", then));
        assert_eq!(text.as_deref(), Some("b is required when a is given"));
        let text = with_json(r#"{"required":["a","b"]}"#, exclusion);
        assert_eq!(text.as_deref(), Some("a and b must not be given together"));
    }
}
