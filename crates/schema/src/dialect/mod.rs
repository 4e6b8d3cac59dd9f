//! Reads the rows of dialects, joins them (`extends`, meets) and answers queries. It knows no provider: a
//! provider's rules are a file in `data/`.

mod capabilities;
mod engine_codes;
mod rows;
mod validate;

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use foldhash::fast::FixedState;
use regex::Regex;
use serde::Serialize;

pub(crate) use capabilities::{Capabilities, KeyDepth, RootRef};
pub use engine_codes::{explain_own, own_codes};
pub use rows::{Confidence, Severity, Slot, ToolShape};
pub(crate) use rows::{Demand, ErrorText, KeywordRow, KeywordSpelling, RuleRow};

use crate::keyword::{COUNT, Kw, TABLE};
use rows::DialectFile;

/// What one provider surface accepts as a schema.
#[derive(Clone, Debug)]
pub struct Dialect {
    file: DialectFile,
    /// The row that refuses a keyword, by slot and keyword.
    refusals: [[Option<u16>; COUNT]; 2],
    /// The row that refuses keys that are not keywords, by slot.
    unknown: [Option<u16>; 2],
    /// The rows about structure and budgets, by slot.
    rules: [Vec<RuleRow>; 2],
    caps: [Capabilities; 2],
    derived: Derived,
}

/// What is derived from the rows once, on demand.
#[derive(Clone, Debug, Default)]
struct Derived {
    fingerprint: OnceLock<Arc<str>>,
    /// The next rung of the ladder, where it has a dialect.
    next: OnceLock<Option<Arc<Cow<'static, Dialect>>>>,
    /// The patterns for names of tools, by the number of their row in the slot for tools.
    names: OnceLock<Arc<[(usize, Regex)]>>,
}

/// A keyword that one row requires on every object and another refuses.
pub(crate) struct ContradictoryKeyword<'a> {
    pub(crate) kw: Kw,
    pub(crate) wanted: &'a RuleRow,
    pub(crate) refused: &'a KeywordRow,
}

/// A row of a dialect, for people.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RuleView<'a> {
    /// The rule's code.
    pub code: &'a str,
    /// What the rule is about: keywords, or the name of a demand.
    pub about: String,
    /// The provider's reaction to a violation.
    pub severity: Severity,
    /// The provider's text.
    pub says: &'a str,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// Where it is from.
    pub source: &'a str,
    /// The budget, where it is one.
    pub limit: Option<u64>,
}

/// Why a dialect could not be read.
#[derive(Debug)]
pub struct DialectError(String);

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DialectError {}

/// The dialects that come with the crate, sorted by id.
pub fn dialects() -> impl ExactSizeIterator<Item = &'static Dialect> {
    BUILT_IN.iter().map(BuiltIn::dialect)
}

/// The built-in dialect of that id. Each is read when it is first asked for.
pub fn dialect(id: &str) -> Option<&'static Dialect> {
    let index = BUILT_IN.binary_search_by(|own| own.id.cmp(id)).ok()?;
    BUILT_IN.get(index).map(BuiltIn::dialect)
}

/// The dialect that a comma-separated list of ids names: one dialect, or the meet of several.
pub fn target(ids: &str) -> Result<Cow<'static, Dialect>, DialectError> {
    let found = ids
        .split(',')
        .map(|id| dialect(id.trim()).map(Cow::Borrowed).ok_or_else(|| unknown_dialect(id.trim())))
        .collect::<Result<Vec<_>, _>>()?;
    Dialect::meet_of(found)
}

/// Every row of a built-in dialect that has this code, whatever its case.
pub fn explain(code: &str) -> Vec<(&'static Dialect, RuleView<'static>)> {
    dialects()
        .flat_map(|dialect| dialect.rules().map(move |rule| (dialect, rule)))
        .filter(|(_, rule)| rule.code.eq_ignore_ascii_case(code))
        .collect()
}

impl Dialect {
    /// Reads a dialect of the caller's own. It may extend or meet built-in ones.
    pub fn from_toml(text: &str) -> Result<Self, DialectError> {
        let file: DialectFile = toml::from_str(text).map_err(|error| DialectError(error.to_string()))?;
        Self::build(file, &|id| dialect(id).cloned())
    }

    /// The dialect of what all the given ones accept. It is an error if they have no schema in common, with the ladder of strict
    /// ones gone down: one requires a keyword on every object that another refuses.
    ///
    /// ```
    /// use polywire_schema::target;
    /// assert!(target("openai-strict,gemini-openapi").is_ok());
    /// let error = target("llamacpp,gemini-openapi").unwrap_err().to_string();
    /// assert!(error.contains("LCPP-01 wants `additionalProperties` on every object"), "{error}");
    /// ```
    pub fn meet(dialects: &[&Self]) -> Result<Self, DialectError> {
        let mut members = dialects.iter();
        let Some(first) = members.next() else { return Ok(Self::empty()) };
        let mut meet = (*first).clone();
        for member in members {
            let id = format!("{},{}", meet.file.id, member.file.id);
            let before = std::mem::replace(&mut meet.file.id, id);
            meet.file.title = format!("{} and {}", meet.file.title, member.file.title);
            meet.file.serves = format!("{}; {}", meet.file.serves, member.file.serves);
            meet.file.fallback = match (meet.file.fallback.take(), &member.file.fallback) {
                (None, None) => None,
                (ours, theirs) => {
                    Some(format!("{},{}", ours.as_deref().unwrap_or(&before), theirs.as_deref().unwrap_or(member.id())))
                }
            };
            meet.file.strict |= member.file.strict;
            meet.file.with_strict = None;
            meet.file.words = meet.file.words.filter(|words| member.keyword_spelling() == *words);
            let offset = u16::try_from(meet.file.keyword.len()).unwrap_or(u16::MAX);
            for slot in [Slot::Tool, Slot::Output] {
                for row in TABLE {
                    let theirs = member.refusal_index(row.kw, slot).map(|index| index + offset);
                    let chosen =
                        meet.stricter_row(meet.refusal_index(row.kw, slot), theirs, &member.file.keyword, offset);
                    if let Some(cell) =
                        meet.refusals.get_mut(slot as usize).and_then(|cells| cells.get_mut(row.kw as usize))
                    {
                        *cell = chosen;
                    }
                }
                let theirs = member.unknown.get(slot as usize).copied().flatten().map(|index| index + offset);
                if let Some(cell) = meet.unknown.get_mut(slot as usize) {
                    *cell = cell.or(theirs);
                }
            }
            meet.file.keyword.extend(member.file.keyword.iter().cloned());
            meet.file.rule.extend(member.file.rule.iter().cloned());
        }
        meet.build_slot_rules();
        for slot in [Slot::Tool, Slot::Output] {
            if let Some(caps) = meet.caps.get_mut(slot as usize) {
                for member in dialects {
                    caps.remove_accepted(member.caps(slot).meaningless_keywords());
                }
            }
        }
        meet.with_shared_limits()
    }

    /// The only one of these dialects, or the [meet](Self::meet) of several.
    pub fn meet_of(dialects: Vec<Cow<'static, Self>>) -> Result<Cow<'static, Self>, DialectError> {
        match <[_; 1]>::try_from(dialects) {
            Ok([only]) => Ok(only),
            Err(several) => Self::meet(&several.iter().map(AsRef::as_ref).collect::<Vec<_>>()).map(Cow::Owned),
        }
    }

    /// An error if no rung of the ladder accepts an object.
    fn with_shared_limits(self) -> Result<Self, DialectError> {
        let mut rung = &self;
        while let Some(ContradictoryKeyword { kw, wanted, refused }) = rung.contradictory_keyword(Slot::Tool) {
            rung = rung.next_rung().ok_or_else(|| {
                let (word, wants, refuses) = (kw.name(), &wanted.code, &refused.code);
                let why = format!("{wants} wants `{word}` on every object, and {refuses} refuses it");
                DialectError(format!("the dialects `{}` have no schema in common: {why}", self.id()))
            })?;
        }
        Ok(self)
    }

    /// The reason why no object fits, if there is one.
    pub(crate) fn contradictory_keyword(&self, slot: Slot) -> Option<ContradictoryKeyword<'_>> {
        let (demand, kw) = self.caps(slot).contradictory_keyword()?;
        let wanted = self.rule_rows(slot).iter().find(|row| row.demand == demand)?;
        Some(ContradictoryKeyword { kw, wanted, refused: self.refusal(kw, slot)? })
    }

    /// The id, such as `openai-strict`.
    pub fn id(&self) -> &str {
        &self.file.id
    }

    /// True where the file of the dialect joins others.
    pub(crate) fn is_meet(&self) -> bool {
        !self.file.meets.is_empty()
    }

    /// Differs for every dialect, including a caller's own with a built-in id.
    pub(crate) fn fingerprint(&self) -> &str {
        self.derived.fingerprint.get_or_init(|| self.digest().into())
    }

    /// Covers the own rows, those of extended dialects and, for a meet, those of each member.
    fn digest(&self) -> String {
        let mut hasher = FixedState::with_seed(0).build_hasher();
        self.file.hash(&mut hasher);
        (self.refusals, self.unknown).hash(&mut hasher);
        for slot in [Slot::Tool, Slot::Output] {
            self.caps(slot).accepted.hash(&mut hasher);
        }
        format!("{} {:x}", self.file.id, hasher.finish())
    }

    /// The name for people.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// Which endpoints, slots and model families the dialect serves.
    pub fn serves(&self) -> &str {
        &self.file.serves
    }

    /// Where the rules are from.
    pub fn source(&self) -> &str {
        &self.file.source
    }

    /// The day on which the rules were checked.
    pub fn checked_on(&self) -> &str {
        &self.file.checked_on
    }

    /// True where a fitted schema is sent with the provider's strict flag.
    pub fn strict(&self) -> bool {
        self.file.strict
    }

    /// The next rung of the ladder.
    pub fn fallback(&self) -> Option<&str> {
        self.file.fallback.as_deref()
    }

    /// The dialect of the next rung.
    pub(crate) fn next_rung(&self) -> Option<&Self> {
        let find = || Some(Arc::new(target(self.fallback()?).ok()?));
        self.derived.next.get_or_init(find).as_ref().map(|next| next.as_ref().as_ref())
    }

    pub(crate) fn keyword_spelling(&self) -> KeywordSpelling {
        self.file.words.unwrap_or_default()
    }

    /// The dialect by which the provider reads a tool with the strict flag.
    pub(crate) fn with_strict(&self) -> &Self {
        self.file.with_strict.as_deref().and_then(dialect).unwrap_or(self)
    }

    /// The rows with a demand about names of tools or formats, and their patterns.
    pub(crate) fn patterns(&self, demand: Demand) -> impl Iterator<Item = (&RuleRow, &Regex)> {
        let rows = self.rule_rows(Slot::Tool);
        let find = || {
            let about_names = [Demand::ToolName, Demand::OutputName];
            let named = rows.iter().enumerate().filter(|(_, row)| about_names.contains(&row.demand));
            named.filter_map(|(index, row)| Some((index, Regex::new(row.pattern.as_deref()?).ok()?))).collect()
        };
        let patterns = self.derived.names.get_or_init(find).iter();
        let all = patterns.filter_map(|(index, pattern)| Some((rows.get(*index)?, pattern)));
        all.filter(move |(row, _)| row.demand == demand)
    }

    /// The most tools that a request may have, and the code of the rule that says so.
    pub fn most_tools(&self) -> Option<(u64, &str)> {
        let rows = self.rule_rows(Slot::Tool).iter();
        let refusing = rows.filter(|row| row.demand == Demand::MaxTools && row.severity == Severity::Rejected);
        refusing.filter_map(|row| Some((row.limit?, row.code.as_ref()))).min()
    }

    /// How the provider writes one tool.
    pub fn shape(&self) -> ToolShape {
        self.file.shape.unwrap_or(ToolShape::Mcp)
    }

    /// Every row, those about keywords first.
    pub fn rules(&self) -> impl Iterator<Item = RuleView<'_>> {
        let keywords = self.file.keyword.iter().map(view_keyword);
        let rules = self.file.rule.iter().map(|row| RuleView {
            code: &row.code,
            about: demand_name(row.demand),
            severity: row.severity,
            says: &row.says,
            confidence: row.confidence,
            source: &row.source,
            limit: row.limit,
        });
        keywords.chain(rules)
    }

    /// The row that refuses a keyword in a tool's schema; none where it is accepted.
    pub fn stance(&self, keyword: &str) -> Option<RuleView<'_>> {
        let row = match Kw::of(keyword) {
            Some(kw) => self.refusal(kw, Slot::Tool),
            None => self.refusal_of_unknown(Slot::Tool),
        };
        row.map(view_keyword)
    }

    pub(crate) fn caps(&self, slot: Slot) -> &Capabilities {
        let [tool, output] = &self.caps;
        match slot {
            Slot::Tool => tool,
            Slot::Output => output,
        }
    }

    pub(crate) fn refusal(&self, kw: Kw, slot: Slot) -> Option<&KeywordRow> {
        self.file.keyword.get(usize::from(self.refusal_index(kw, slot)?))
    }

    pub(crate) fn refusal_of_unknown(&self, slot: Slot) -> Option<&KeywordRow> {
        self.file.keyword.get(usize::from((*self.unknown.get(slot as usize)?)?))
    }

    pub(crate) fn error_text(&self) -> Option<&ErrorText> {
        self.file.error.as_ref()
    }

    /// The rows about structure and budgets that hold in a slot.
    pub(crate) fn rule_rows(&self, slot: Slot) -> &[RuleRow] {
        let [tool, output] = &self.rules;
        match slot {
            Slot::Tool => tool,
            Slot::Output => output,
        }
    }

    /// Splits the rows by slot and derives the capabilities.
    fn build_slot_rules(&mut self) {
        let rows = |slot: Slot| -> Vec<RuleRow> {
            self.file
                .rule
                .iter()
                .filter(|row| row.slot.is_none_or(|own| own == slot))
                .map(RuleRow::with_keyword_sets)
                .collect()
        };
        self.derived = Derived::default();
        self.rules = [rows(Slot::Tool), rows(Slot::Output)];
        self.caps = [Capabilities::of(self, Slot::Tool), Capabilities::of(self, Slot::Output)];
    }

    /// The first row with that demand.
    pub(crate) fn rule(&self, demand: Demand) -> Option<&RuleRow> {
        self.file.rule.iter().find(|row| row.demand == demand)
    }

    fn refusal_index(&self, kw: Kw, slot: Slot) -> Option<u16> {
        self.refusals.get(slot as usize)?.get(kw as usize).copied().flatten()
    }

    fn stricter_row(&self, ours: Option<u16>, theirs: Option<u16>, rows: &[KeywordRow], offset: u16) -> Option<u16> {
        let (Some(a), Some(b)) = (ours, theirs) else { return ours.or(theirs) };
        let ours = self.file.keyword.get(usize::from(a))?;
        let theirs = rows.get(usize::from(b - offset))?;
        // A row that accepts small counts is the weaker one.
        let rank = |row: &KeywordRow| (row.up_to.unwrap_or(0), row.severity);
        Some(if rank(theirs) < rank(ours) { b } else { a })
    }

    /// A dialect without rules.
    pub(crate) fn empty() -> Self {
        Self {
            file: DialectFile {
                id: String::new(),
                title: String::new(),
                serves: String::new(),
                source: String::new(),
                checked_on: String::new(),
                extends: None,
                drops: Vec::new(),
                meets: Vec::new(),
                strict: false,
                fallback: None,
                with_strict: None,
                words: None,
                shape: None,
                error: None,
                accepts: None,
                keyword: Vec::new(),
                rule: Vec::new(),
            },
            refusals: [[None; COUNT]; 2],
            unknown: [None; 2],
            rules: [Vec::new(), Vec::new()],
            caps: [Capabilities::default(), Capabilities::default()],
            derived: Derived::default(),
        }
    }

    fn build(mut file: DialectFile, find: &dyn Fn(&str) -> Option<Self>) -> Result<Self, DialectError> {
        validate::check_references(&file)?;
        if !file.meets.is_empty() {
            let mut members = Vec::with_capacity(file.meets.len());
            for id in &file.meets {
                members.push(find(id).ok_or_else(|| unknown_dialect(id))?);
            }
            let mut meet = Self::meet(&members.iter().collect::<Vec<_>>())?;
            let (keyword, rule) = (std::mem::take(&mut meet.file.keyword), std::mem::take(&mut meet.file.rule));
            let error = meet.file.error.take();
            meet.file = DialectFile { error, keyword, rule, ..file };
            return Ok(meet);
        }
        validate::rows(&file)?;
        if let Some(base) = &file.extends {
            let base = find(base).ok_or_else(|| unknown_dialect(base))?.file;
            inherit(&mut file, base);
        }
        let mut dialect = Self::empty();
        dialect.file = file;
        for slot in [Slot::Tool, Slot::Output] {
            for row in TABLE {
                let refused = dialect.find_refusal(row.kw.name(), slot, Some(row.kw));
                if let Some(cell) =
                    dialect.refusals.get_mut(slot as usize).and_then(|cells| cells.get_mut(row.kw as usize))
                {
                    *cell = refused;
                }
            }
            let unknown = dialect.find_refusal("?", slot, None);
            if let Some(cell) = dialect.unknown.get_mut(slot as usize) {
                *cell = unknown;
            }
        }
        dialect.build_slot_rules();
        Ok(dialect)
    }

    fn find_refusal(&self, name: &str, slot: Slot, kw: Option<Kw>) -> Option<u16> {
        let rows = || self.file.keyword.iter().enumerate().filter(|(_, row)| row.slot.is_none_or(|own| own == slot));
        let accepted = kw.is_some_and(|kw| {
            self.file.accepts.as_ref().is_none_or(|names| names.iter().any(|name| name == kw.name()))
        });
        let named = rows().find(|(_, row)| row.names.iter().any(|own| own == name));
        let found = named.or_else(|| {
            let rest = rows().find(|(_, row)| row.names.iter().any(|own| own == "*"));
            if accepted { None } else { rest }
        });
        found.and_then(|(index, _)| u16::try_from(index).ok())
    }
}

fn view_keyword(row: &KeywordRow) -> RuleView<'_> {
    RuleView {
        code: &row.code,
        about: row.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        severity: row.severity,
        says: &row.says,
        confidence: row.confidence,
        source: &row.source,
        limit: row.up_to,
    }
}

/// The name of a demand as the dialect files spell it.
pub(crate) fn demand_name(demand: Demand) -> String {
    let mut name = String::new();
    for letter in format!("{demand:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn is_built_in(id: &str) -> bool {
    BUILT_IN.binary_search_by(|own| own.id.cmp(id)).is_ok()
}

fn unknown_dialect(id: &str) -> DialectError {
    DialectError(format!("`{id}` is not a dialect; `polywire dialects` lists them"))
}

/// Puts the rows of `base` behind those of `file`, except where `file` speaks of the same keyword or demand.
fn inherit(file: &mut DialectFile, base: DialectFile) {
    for mut row in base.keyword {
        row.names.retain(|name| !file.keyword.iter().any(|own| own.names.contains(name)));
        if !row.names.is_empty() {
            file.keyword.push(row);
        }
    }
    let own: Vec<Demand> = file.rule.iter().map(|row| row.demand).chain(file.drops.iter().copied()).collect();
    file.rule.extend(base.rule.into_iter().filter(|row| !own.contains(&row.demand)));
    file.accepts = file.accepts.take().or(base.accepts);
    file.shape = file.shape.or(base.shape);
    file.words = file.words.or(base.words);
    file.error = file.error.take().or(base.error);
}

/// A dialect that comes with the crate.
struct BuiltIn {
    id: &'static str,
    text: &'static str,
    read: OnceLock<Dialect>,
}

impl BuiltIn {
    fn dialect(&self) -> &Dialect {
        self.read.get_or_init(|| {
            #[expect(clippy::expect_used, reason = "the files are part of this crate and a test reads them all")]
            Dialect::from_toml(self.text).expect("a built-in dialect is sound")
        })
    }
}

macro_rules! built_in {
    ($($id:literal)*) => {
        [$(BuiltIn { id: $id, text: include_str!(concat!("../../data/", $id, ".toml")), read: OnceLock::new() }),*]
    };
}

/// The files of `data/`, sorted by id. None extends or meets one that leads back to it.
static BUILT_IN: [BuiltIn; 26] = built_in! {
    "anthropic" "anthropic-strict" "azure-strict" "bedrock" "cca" "cerebras-strict" "deepseek-strict"
    "fireworks" "gemini" "gemini-openapi" "groq-strict" "llamacpp" "lmstudio" "mcp" "mistral" "moonshot"
    "ollama" "openai" "openai-responses" "openai-strict" "openrouter" "portable" "together" "vertex-openapi"
    "vllm" "xai"
};

#[cfg(test)]
mod tests {
    use super::{Dialect, dialect, dialects};

    #[test]
    fn every_built_in_dialect_is_sound_and_names_its_fallback() {
        assert!(super::BUILT_IN.is_sorted_by_key(|own| own.id));
        for (own, one) in super::BUILT_IN.iter().zip(dialects()) {
            assert_eq!(own.id, one.id());
            assert!(!one.source().is_empty() && !one.serves().is_empty(), "{}", one.id());
            if let Some(id) = one.fallback() {
                assert!(dialect(id).is_some(), "{id}");
            }
        }
    }

    #[test]
    fn a_row_about_an_unknown_keyword_is_named() {
        let text = r#"
            id = "x"
            title = "x"
            serves = "x"
            source = "x"
            checked-on = "2026-11-15"
            [[keyword]]
            names = ["minLenght"]
            code = "X-1"
            says = "no"
            confidence = "inferred"
            source = "x"
        "#;
        let error = Dialect::from_toml(text).map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "dialect `x`: keyword row X-1: `minLenght` is not a keyword; write one as JSON Schema spells it, `*` or `?`"
        );
    }
}
