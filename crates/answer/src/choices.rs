//! Enum values, and the search for the one that a text means.
//!
//! Names are folded and indexed once for a schema: a long list must not be compared from its start for every text.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use serde_json::{Map, Value};

use crate::budget::{Budget, Exhausted};
use crate::coerce::text_number;
use crate::fold::{distance, fold, fold_text};
use crate::keyword;
use crate::repair::RepairKind;

/// A value that the schema lists, and the names under which the model knows it.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) value: Value,
    pub(crate) name: String,
    described: Option<String>,
}

/// All values that a schema lists at one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    all: Vec<Choice>,
    index: OnceLock<Box<Index>>,
}

/// In lists as short as this the same name is found without an index.
const FEW: usize = 64;

/// Choices by what is compared with a text.
#[derive(Clone, Debug, Default)]
struct Index {
    /// The first text with a name.
    by_name: HashMap<String, usize, RandomState>,
    /// Texts by folded name.
    by_fold: HashMap<String, Vec<usize>, RandomState>,
    /// Texts by what describes them, folded, alone and behind the name.
    by_description: HashMap<String, Vec<usize>, RandomState>,
    /// What is no text.
    others: Vec<usize>,
    /// Texts as they are looked for inside of a longer text: as written, folded, and folded without signs.
    in_prose: [Prose; 3],
    /// Folded names with their length in characters and the letters that they have.
    near: Vec<Near>,
}

#[derive(Clone, Debug)]
struct Near {
    choice: usize,
    folded: String,
    length: usize,
    letters: u64,
}

/// Names by the first word in them: a name stands in a text only where that word does.
#[derive(Clone, Debug, Default)]
struct Prose {
    by_word: HashMap<String, Vec<usize>, RandomState>,
    /// Names without a word.
    signs: Vec<usize>,
    /// Every name, folded.
    names: HashMap<usize, String, RandomState>,
}

impl Choices {
    /// What a schema lists, and whether the model was shown other names.
    pub(crate) fn of(schema: &Map<String, Value>) -> (Self, bool) {
        let one = schema.get(keyword::CONST).map(std::slice::from_ref);
        let all = schema.get(keyword::ENUM).and_then(Value::as_array).map(Vec::as_slice);
        let told = schema.get(keyword::DESCRIBED).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut told_by_value: HashMap<String, &Value, RandomState> = HashMap::default();
        for told in told {
            if let Some(value) = told.get("value") {
                told_by_value.entry(value.to_string()).or_insert(told);
            }
        }
        let mut is_aliased = false;
        let mut choices = Vec::new();
        for value in one.or(all).unwrap_or_default() {
            let own = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            let told = if told.is_empty() { None } else { told_by_value.get(&value.to_string()) };
            let text = |key: &str| told.and_then(|told| told.get(key)).and_then(Value::as_str).map(ToOwned::to_owned);
            let alias = text("alias");
            is_aliased |= alias.as_ref().is_some_and(|alias| *alias != own);
            choices.push(Choice { value: value.clone(), name: alias.unwrap_or(own), described: text("description") });
        }
        (Self { all: choices, index: OnceLock::new() }, is_aliased)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Choice> {
        self.all.iter()
    }

    pub(crate) fn has_null(&self) -> bool {
        self.all.iter().any(|choice| choice.value.is_null())
    }

    /// The choice that a text means: the same, then folded, then close to only one, then named inside of it more than others.
    pub(crate) fn pick(&self, text: &str, budget: &Budget) -> Result<Option<(&Choice, Option<RepairKind>)>, Exhausted> {
        budget.spend(1 + text.len() / 64)?;
        if let Some(choice) = self.exact(text) {
            let repair = (choice.value.as_str() != Some(text)).then_some(RepairKind::EnumSpelling);
            return Ok(Some((choice, repair)));
        }
        let index = self.index.get_or_init(|| Box::new(Index::of(&self.all)));
        budget.spend(index.others.len())?;
        let at = |index: &usize| self.all.get(*index);
        if let Some(choice) = index.others.iter().filter_map(at).find(|choice| says(text, &choice.value)) {
            return Ok(Some((choice, Some(RepairKind::ToNumber))));
        }
        let folded = fold(text);
        for by in [&index.by_fold, &index.by_description] {
            let found = by.get(&folded).map(Vec::as_slice).unwrap_or_default();
            budget.spend(found.len())?;
            if let Some(choice) = only(found.iter().filter_map(at)) {
                return Ok(Some((choice, Some(RepairKind::EnumSpelling))));
            }
        }
        if let Some(choice) = self.in_prose(text, index, budget)? {
            return Ok(Some((choice, Some(RepairKind::InProse))));
        }
        let close = self.close(&folded, index, budget)?;
        Ok(close.map(|choice| (choice, Some(RepairKind::EnumDistance))))
    }

    fn exact(&self, text: &str) -> Option<&Choice> {
        if self.all.len() <= FEW {
            return self.all.iter().find(|choice| choice.value.is_string() && choice.name == text);
        }
        let index = self.index.get_or_init(|| Box::new(Index::of(&self.all)));
        index.by_name.get(text).and_then(|index| self.all.get(*index))
    }

    /// The only choice whose name differs in a letter or two.
    fn close(&self, folded: &str, index: &Index, budget: &Budget) -> Result<Option<&Choice>, Exhausted> {
        let length = folded.chars().count();
        let limit: usize = match length {
            0..4 => return Ok(None),
            4..8 => 1,
            _ => 2,
        };
        let letters = letters_of(folded);
        budget.spend(index.near.len() / 16)?;
        // A letter that differs changes at most two letters of the set.
        let may_be_close = |near: &&Near| {
            near.length.abs_diff(length) <= limit && (near.letters ^ letters).count_ones() as usize <= 2 * limit
        };
        let mut found: Vec<&Choice> = Vec::new();
        for near in index.near.iter().filter(may_be_close) {
            budget.spend(2 + length * 2)?;
            if distance(&near.folded, folded, limit).is_some() {
                found.extend(self.all.get(near.choice));
            }
        }
        Ok(only(found.into_iter()))
    }

    /// The choice whose name stands in a text more often than any other. As written first, then without case and accents.
    fn in_prose(&self, text: &str, index: &Index, budget: &Budget) -> Result<Option<&Choice>, Exhausted> {
        for (prose, folding) in index.in_prose.iter().zip(FOLDINGS) {
            if let Some(choice) = self.most_named(&folding(text), prose, budget)? {
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }

    fn most_named(&self, text: &str, prose: &Prose, budget: &Budget) -> Result<Option<&Choice>, Exhausted> {
        let mut places: Vec<usize> = prose.signs.clone();
        let mut words: HashSet<&str, RandomState> = HashSet::default();
        for word in words_of(text).filter(|word| words.insert(word)) {
            places.extend(prose.by_word.get(word).into_iter().flatten());
        }
        budget.spend(words.len())?;
        let mut named: Vec<(&str, usize)> =
            places.into_iter().filter_map(|place| Some((prose.names.get(&place)?.as_str(), place))).collect();
        // A longer name hides the shorter ones inside of it; of equally long ones the first.
        named.sort_by_key(|(name, place)| (std::cmp::Reverse(name.len()), *place));
        let mut covered = text.to_owned();
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for (name, choice) in named {
            budget.spend(1 + covered.len() / 32)?;
            let count = covered.match_indices(name).filter(|(place, _)| is_whole(&covered, *place, name.len())).count();
            if count == 0 {
                continue;
            }
            counts.push((count, choice));
            covered = covered.replace(name, &"\u{1}".repeat(name.len()));
        }
        let Some(most) = counts.iter().map(|(count, _)| *count).max() else { return Ok(None) };
        let mut best = counts.iter().filter(|(count, _)| *count == most);
        let first = best.next().and_then(|(_, choice)| self.all.get(*choice));
        Ok(first.filter(|_| best.next().is_none()))
    }
}

/// How texts and names are made alike before one is looked for in the other.
const FOLDINGS: [fn(&str) -> String; 3] = [ToOwned::to_owned, fold_text, without_signs];

fn without_signs(text: &str) -> String {
    fold_text(text).replace(|char: char| !char.is_alphanumeric(), " ")
}

impl Index {
    fn of(choices: &[Choice]) -> Self {
        let mut index = Self::default();
        for (place, choice) in choices.iter().enumerate() {
            if !choice.value.is_string() {
                index.others.push(place);
                continue;
            }
            index.by_name.entry(choice.name.clone()).or_insert(place);
            let folded = fold(&choice.name);
            index.by_fold.entry(folded.clone()).or_default().push(place);
            let described = choice.described.as_deref().unwrap_or_default();
            if !described.is_empty() {
                let both = fold(&format!("{}{described}", choice.name));
                let alone = fold(described);
                if alone != both {
                    index.by_description.entry(alone).or_default().push(place);
                }
                index.by_description.entry(both).or_default().push(place);
            }
            for (prose, folding) in index.in_prose.iter_mut().zip(FOLDINGS) {
                prose.add(place, folding(&choice.name));
            }
            let (length, letters) = (folded.chars().count(), letters_of(&folded));
            index.near.push(Near { choice: place, folded, length, letters });
        }
        index
    }
}

impl Prose {
    fn add(&mut self, place: usize, name: String) {
        if name.trim().is_empty() {
            return;
        }
        match words_of(&name).next() {
            Some(word) => self.by_word.entry(word.to_owned()).or_default().push(place),
            None => self.signs.push(place),
        }
        self.names.insert(place, name);
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The letters of a text as a set of 64.
fn letters_of(text: &str) -> u64 {
    text.chars().fold(0, |letters, char| letters | 1 << (u32::from(char) % 64))
}

fn only<'c>(mut choices: impl Iterator<Item = &'c Choice>) -> Option<&'c Choice> {
    let first = choices.next()?;
    choices.all(|other| other.value == first.value).then_some(first)
}

/// Whether a text says a number, boolean or null.
fn says(text: &str, value: &Value) -> bool {
    match value {
        Value::Number(wanted) => text_number(text).is_some_and(|number| number.as_f64() == wanted.as_f64()),
        Value::Bool(wanted) => text.trim().eq_ignore_ascii_case(if *wanted { "true" } else { "false" }),
        Value::Null => text.trim().eq_ignore_ascii_case("null"),
        Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether a name in a text is no part of a longer word.
fn is_whole(text: &str, place: usize, length: usize) -> bool {
    let before = text.get(..place).and_then(|before| before.chars().next_back());
    let after = text.get(place + length..).and_then(|after| after.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}
