//! Owns the verdict on a document as it stands: what would the provider say? It looks at the JSON keyword by keyword, because
//! that is what the provider sees, and reads the same rows as `fit`.

mod budget;
mod cycle;
mod keys;
mod node;
mod spelling;
mod stray;
mod text;
mod well_formed;

use std::fmt;

use foldhash::HashSet;
use serde::Serialize;
use serde_json::Value;

pub(crate) use budget::{Counts, LONG_ENUM, counts, counts_of, enum_chars, optionals, overdrawn, unused_definitions};
pub(crate) use keys::Keys;
pub(crate) use node::takes_objects;
pub(crate) use text::{Part, Subject};
pub(crate) use well_formed::Misfit;

use crate::arena::Arena;
use crate::dialect::{Caps, Confidence, Demand, Dialect, KeywordRow, RuleRow, Severity, Slot, Words};
use crate::error::ReadError;
use crate::json::{Json, push_token};
use crate::keyword::{Holds, Kw, KwSet};
use crate::read::Limits;
use budget::{Counting, Totals};
use cycle::{By, Links};
use node::Seen;
use text::{Blanks, Broken};

/// One rule that a schema breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// The rule's code.
    pub code: String,
    /// JSON Pointer to the place.
    pub at: String,
    /// The keyword concerned, or the name of the demand.
    pub keyword: String,
    /// What the provider does about it.
    pub severity: Severity,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// What the provider would say.
    pub says: String,
    /// Where the rule is from.
    pub source: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at `{}` ({}): {}", self.code, self.at, self.severity, self.says)
    }
}

/// Everything in a schema that a dialect refuses, ignores or finds too large.
///
/// ```
/// use polywire_schema::{Slot, check, dialect};
/// let schema = serde_json::json!({"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}, "required": ["tags"], "additionalProperties": false});
/// let violations = check(&schema, dialect("openai-strict").unwrap(), Slot::Tool).unwrap();
/// assert_eq!(violations[0].code, "OAI-STRICT-24");
/// assert_eq!(violations[0].at, "/properties/tags/uniqueItems");
/// ```
pub fn check(schema: &Value, dialect: &Dialect, slot: Slot) -> Result<Vec<Violation>, ReadError> {
    let arena = Arena::default();
    let json = Json::from_value(schema, Limits::default().bounds(), &arena).map_err(|error| ReadError::json(&error))?;
    Ok(check_json(&json, dialect, slot, &Subject::default()))
}

/// [`check`] for a schema that is still text.
pub fn check_text(text: &str, dialect: &Dialect, slot: Slot) -> Result<Vec<Violation>, ReadError> {
    let arena = Arena::for_text(text.len());
    let json = Json::from_text(text, Limits::default().bounds(), &arena).map_err(|error| ReadError::json(&error))?;
    Ok(check_json(&json, dialect, slot, &Subject::default()))
}

/// The objects that strict decoding would not take: those that are not closed, or do not require all their properties,
/// through unions and arrays, in the order of the document. The first says what to mend first.
pub fn strict_preflight(schema: &Value, dialect: &Dialect, slot: Slot) -> Result<Vec<Violation>, ReadError> {
    let asked = |violation: &Violation| {
        let demands = [Demand::Closed, Demand::AllRequired];
        let mut rows = dialect.rule_rows(slot).iter().filter(|row| demands.contains(&row.demand));
        let keyword = [Kw::AdditionalProperties, Kw::Required].iter().any(|kw| kw.name() == violation.keyword);
        keyword && rows.any(|row| *row.code == *violation.code)
    };
    Ok(check(schema, dialect, slot)?.into_iter().filter(asked).collect())
}

pub(crate) fn check_json(json: &Json<'_>, dialect: &Dialect, slot: Slot, subject: &Subject<'_>) -> Vec<Violation> {
    if dialect.words() == Words::InSnakeCaseToo {
        let arena = Arena::default();
        if let Some(plain) = spelling::plain(*json, dialect.caps(slot).accepted, &arena) {
            let found = check_as_written(&plain, dialect, slot, subject).into_iter();
            return found.map(|one| Violation { at: spelling::spelled_in(json, &one.at), ..one }).collect();
        }
    }
    check_as_written(json, dialect, slot, subject)
}

fn check_as_written(json: &Json<'_>, dialect: &Dialect, slot: Slot, subject: &Subject<'_>) -> Vec<Violation> {
    let mut checker = Checker::new(json, dialect, slot, *subject, Depth::All);
    checker.run();
    let mut violations = checker.violations;
    // Two rows may ask the same in the same words.
    let mut known = HashSet::default();
    let new: Vec<bool> = violations.iter().map(|one| known.insert((&one.code, &one.at, &one.says))).collect();
    let mut new = new.into_iter();
    violations.retain(|_| new.next() == Some(true));
    violations
}

/// The first violation that [`check_json`] would find.
pub(crate) fn first_violation(json: &Json<'_>, dialect: &Dialect, slot: Slot) -> Option<Violation> {
    let mut checker = Checker::new(json, dialect, slot, Subject::default(), Depth::One);
    checker.run();
    checker.violations.into_iter().next()
}

/// Whether [`check_json`] would find nothing; it stops at the first violation.
pub(crate) fn is_clean(json: &Json<'_>, dialect: &Dialect, slot: Slot) -> bool {
    let mut checker = Checker::new(json, dialect, slot, Subject::default(), Depth::First);
    checker.run();
    checker.found == 0
}

/// What is said of a rule that is broken beside the schemas, by the tool or list itself: at a place, by a member of it.
pub(crate) fn violation_beside(
    row: &RuleRow,
    dialect: &Dialect,
    subject: Subject<'_>,
    (at, keyword): (&str, &str),
    count: u64,
) -> Violation {
    let blanks = Blanks { keyword, limit: row.limit, count, ..Blanks::default() };
    let broken = Broken {
        says: &row.says,
        whole: true,
        blanks: &blanks,
        at: &[],
        node: &[],
        document: &Json::Null,
        keys: &Keys::default(),
        slot: Slot::Tool,
        subject,
    };
    Row::from(row).violation(at.to_owned(), keyword, broken.text(dialect.error_text()))
}

/// How much is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Every violation, with its text.
    All,
    /// The first one, with its text.
    One,
    /// Whether there is one.
    First,
}

/// A place on the way down: the pointer is spelled only when something is found there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'p> {
    parent: Option<&'p Spot<'p>>,
    token: Token<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Token<'p> {
    Root,
    /// A keyword, where a schema stands.
    Kw(Kw),
    /// A name in a map, which may be that of a keyword.
    Word(&'p str),
    Index(usize),
}

impl<'p> Spot<'p> {
    const ROOT: Self = Self { parent: None, token: Token::Root };

    fn kw(&'p self, kw: Kw) -> Self {
        Spot { parent: Some(self), token: Token::Kw(kw) }
    }

    fn word(&'p self, word: &'p str) -> Self {
        Spot { parent: Some(self), token: Token::Word(word) }
    }

    fn index(&'p self, index: usize) -> Self {
        Spot { parent: Some(self), token: Token::Index(index) }
    }

    /// Whether a keyword stands on the way.
    fn is_within(&self, kw: Kw) -> bool {
        matches!(self.token, Token::Kw(own) if own == kw) || self.parent.is_some_and(|parent| parent.is_within(kw))
    }

    fn tokens(&self) -> Vec<String> {
        let mut tokens = Vec::new();
        let mut spot = Some(self);
        while let Some(own) = spot {
            match own.token {
                Token::Root => {}
                Token::Kw(kw) => tokens.push(kw.name().to_owned()),
                Token::Word(word) => tokens.push(word.to_owned()),
                Token::Index(index) => tokens.push(index.to_string()),
            }
            spot = own.parent;
        }
        tokens.reverse();
        tokens
    }
}

/// Whether a schema is nothing but the type `null`.
pub(crate) fn is_null(json: &Json<'_>) -> bool {
    json.get(Kw::Type.name()).and_then(Json::as_str) == Some("null")
}

/// Where in the document a node stands, as far as rules ask.
#[derive(Clone, Copy, Debug)]
struct Stand {
    root: bool,
    /// The keyword under which the node stands.
    under: Option<Kw>,
    /// Objects around the node.
    depth: u64,
    /// The definition the node belongs to; the document itself is 0.
    owner: usize,
    way: Way,
}

/// Whether anything on the way from the owner to a node may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Something may, or nobody asks.
    Soft,
    /// Nothing may.
    Hard,
}

struct Checker<'c, 'j> {
    document: &'j Json<'j>,
    dialect: &'c Dialect,
    caps: &'c Caps,
    rules: &'c [RuleRow],
    /// What is taken of the form of the root, and below it.
    lenience: [Option<well_formed::Lenience>; 2],
    /// Words that refer to nothing here: without its dollar sign one does only where it is taken.
    unheard: KwSet,
    slot: Slot,
    subject: Subject<'c>,
    depth: Depth,
    totals: Totals,
    counting: Counting,
    links: Links<'j>,
    violations: Vec<Violation>,
    found: usize,
}

impl<'c, 'j> Checker<'c, 'j> {
    fn new(json: &'j Json<'j>, dialect: &'c Dialect, slot: Slot, subject: Subject<'c>, depth: Depth) -> Self {
        let rules = dialect.rule_rows(slot);
        let lenience = well_formed::lenience_of(rules, depth);
        Self {
            document: json,
            dialect,
            caps: dialect.caps(slot),
            lenience: [lenience, lenience.map(well_formed::Lenience::below)],
            unheard: [Kw::OpenRef].into_iter().filter(|kw| dialect.refusal(*kw, slot).is_some()).collect(),
            rules,
            slot,
            subject,
            depth,
            totals: Totals::default(),
            counting: Counting::Budgets,
            links: Links::new(json),
            violations: Vec::new(),
            found: 0,
        }
    }

    fn run(&mut self) {
        let root = Stand { root: true, under: None, depth: 0, owner: 0, way: self.start() };
        let document = self.document;
        self.schema(document, &Spot::ROOT, root);
        if !self.done() {
            self.judge_strays();
        }
        if !self.done() {
            self.judge_links();
            self.judge_totals();
        }
    }

    /// How the way from an owner begins; whether it stays hard matters only to one rule.
    fn start(&self) -> Way {
        if self.caps.must(Demand::CycleOptional) { Way::Hard } else { Way::Soft }
    }

    fn done(&self) -> bool {
        self.depth != Depth::All && self.found > 0
    }

    /// Judges one schema and everything below it.
    fn schema(&mut self, json: &'j Json<'j>, spot: &Spot<'_>, stand: Stand) {
        let Json::Obj(members) = json else {
            self.judge_other(json, spot, stand);
            return;
        };
        let seen = Seen::new(members, self.lenience_at(stand), self.unheard);
        self.judge(&seen, spot, stand);
        if self.done() {
            return;
        }
        let depth = stand.depth + u64::from(seen.is_object());
        for (kw, value) in seen.subschemas() {
            let below = Stand { root: false, under: Some(kw), depth, ..stand };
            let at = spot.kw(kw);
            match (kw.row().holds, value) {
                (Holds::SchemaList, Json::Arr(items)) => {
                    // Only `null` is known to be taken as a way out of a loop.
                    let way_out = kw != Kw::AllOf && items.iter().any(is_null);
                    let below = Stand { way: if way_out { Way::Soft } else { stand.way }, ..below };
                    // What a list need not be long enough to have may be missing.
                    let needed = if kw == Kw::PrefixItems { seen.min_items() } else { u64::MAX };
                    for (index, item) in items.iter().enumerate() {
                        let way = if (index as u64) < needed { below.way } else { Way::Soft };
                        self.schema(item, &at.index(index), Stand { way, ..below });
                    }
                }
                (Holds::SchemaMap | Holds::SchemaOrNamesMap, Json::Obj(map)) => {
                    let required = if stand.way == Way::Hard { seen.required() } else { HashSet::default() };
                    for (name, item) in *map {
                        if kw == Kw::Dependencies && matches!(item, Json::Arr(_)) {
                            continue;
                        }
                        let below = if matches!(kw, Kw::Defs | Kw::Definitions | Kw::OpenDefs) {
                            Stand { depth: 0, owner: self.links.owner(kw, name), way: self.start(), ..below }
                        } else if kw == Kw::Properties && stand.way == Way::Hard && required.contains(name) {
                            below
                        } else {
                            Stand { way: Way::Soft, ..below }
                        };
                        self.schema(item, &at.word(name), below);
                        if self.done() {
                            return;
                        }
                    }
                }
                (Holds::Schema, Json::Arr(items)) if kw == Kw::Items => {
                    for (index, item) in items.iter().enumerate() {
                        self.schema(item, &at.index(index), below);
                    }
                }
                (Holds::Schema, _) => {
                    let needed = (kw == Kw::Items && seen.min_items() > 0)
                        || (kw == Kw::AdditionalProperties && !self.caps.ways_out.has(kw));
                    self.schema(value, &at, Stand { way: if needed { stand.way } else { Way::Soft }, ..below });
                }
                _ => {}
            }
        }
    }

    /// What stands on the way to a place, where that may have to be told.
    fn way_by(&self, spot: &Spot<'_>) -> By {
        let ways = [(Kw::Properties, By::Property), (Kw::Items, By::List), (Kw::AdditionalProperties, By::Map)];
        let found = ways.into_iter().find(|(kw, _)| self.told() && spot.is_within(*kw));
        found.map_or(By::Nothing, |(_, by)| by)
    }

    /// Whether places have to be told, not only that something was found.
    fn told(&self) -> bool {
        self.depth != Depth::First
    }

    /// Reports a broken rule at a place that was left some time ago.
    fn violate_at(&mut self, row: &RuleRow, tokens: &[String], keyword: &str, blanks: &Blanks<'_>) {
        self.violate_below(row, &Spot::ROOT, tokens, keyword, blanks);
    }

    fn violate_below(&mut self, row: &RuleRow, spot: &Spot<'_>, tokens: &[String], keyword: &str, blanks: &Blanks<'_>) {
        match tokens.split_first() {
            Some((first, rest)) => self.violate_below(row, &spot.word(first), rest, keyword, blanks),
            None => self.violate(row, spot, keyword, blanks),
        }
    }

    /// Reports a rule that a schema breaks.
    fn violate(&mut self, row: &RuleRow, spot: &Spot<'_>, keyword: &str, blanks: &Blanks<'_>) {
        self.report(&row.into(), spot, None, &Blanks { limit: row.limit.or(blanks.limit), keyword, ..*blanks });
    }

    /// Reports a rule that a keyword of a schema breaks.
    fn violate_in(&mut self, row: &RuleRow, spot: &Spot<'_>, keyword: &str, blanks: &Blanks<'_>) {
        self.report(&row.into(), spot, Some(keyword), &Blanks { keyword, ..*blanks });
    }

    fn refuse(&mut self, row: &KeywordRow, spot: &Spot<'_>, keyword: &str, value: &Json<'_>, kind: &str) {
        let blanks = Blanks { keyword, kind, value: Some(value), limit: row.up_to, ..Blanks::default() };
        self.report(&row.into(), spot, Some(keyword), &blanks);
    }

    /// Reports what is broken in a schema, or by what it holds under a key.
    fn report(&mut self, row: &Row<'_>, spot: &Spot<'_>, key: Option<&str>, blanks: &Blanks<'_>) {
        self.found += 1;
        if self.depth == Depth::First || (self.depth == Depth::One && self.found > 1) {
            return;
        }
        let node = spot.tokens();
        let tokens: Vec<String> = node.iter().map(String::as_str).chain(key).map(str::to_owned).collect();
        let mut at = String::new();
        for token in &tokens {
            push_token(&mut at, token);
        }
        let broken = Broken {
            says: row.says,
            whole: row.whole,
            blanks,
            at: &tokens,
            node: &node,
            document: self.document,
            keys: &self.links.keys,
            slot: self.slot,
            subject: self.subject,
        };
        let says = broken.text(self.dialect.error_text());
        self.violations.push(row.violation(at, blanks.keyword, says));
    }

    fn rows(&self, demand: Demand) -> impl Iterator<Item = &'c RuleRow> + use<'c> {
        self.rules.iter().filter(move |row| row.demand == demand)
    }
}

/// What is told of a row that is broken.
struct Row<'r> {
    code: &'r str,
    says: &'r str,
    whole: bool,
    severity: Severity,
    confidence: Confidence,
    source: &'r str,
}

impl Row<'_> {
    fn violation(&self, at: String, keyword: &str, says: String) -> Violation {
        Violation {
            code: self.code.to_owned(),
            at,
            keyword: keyword.to_owned(),
            severity: self.severity,
            confidence: self.confidence,
            says,
            source: self.source.to_owned(),
        }
    }
}

macro_rules! told_of {
    ($($row:ident)*) => { $(
        impl<'r> From<&'r $row> for Row<'r> {
            fn from(row: &'r $row) -> Self {
                let $row { code, says, whole, severity, confidence, source, .. } = row;
                Self { code, says, whole: *whole, severity: *severity, confidence: *confidence, source }
            }
        }
    )* };
}

told_of! { RuleRow KeywordRow }
