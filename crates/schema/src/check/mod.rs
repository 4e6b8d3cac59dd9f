//! Predicts the provider's verdict on a document as written. It checks the JSON keyword by keyword, because that is what the
//! provider sees, and reads the same rows as `fit`.

mod key_index;
mod messages;
mod misplaced;
mod references;
mod rules;
mod snake_case;
mod totals;
mod well_formed;

use std::fmt;

use foldhash::HashSet;
use serde::Serialize;
use serde_json::Value;

pub(crate) use key_index::KeyIndex;
pub(crate) use messages::{Subject, SubjectPart};
pub(crate) use rules::takes_objects;
pub(crate) use totals::{
    Counts, LONG_ENUM, budget_violation, count_json, count_optionals, count_schema, enum_chars, unused_definitions,
};
pub(crate) use well_formed::MalformedValue;

use crate::arena::Arena;
use crate::dialect::{Capabilities, Confidence, Demand, Dialect, KeywordRow, KeywordSpelling, RuleRow, Severity, Slot};
use crate::error::ReadError;
use crate::json::{Json, push_token};
use crate::keyword::{KeywordValue, Kw, KwSet};
use crate::read::Limits;
use messages::{ErrorMessage, Placeholders};
use references::{CycleBreaker, ReferenceGraph};
use rules::NodeKeywords;
use totals::{CountScope, Totals};

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
    /// The provider's reaction.
    pub severity: Severity,
    /// The confidence in the rule.
    pub confidence: Confidence,
    /// The provider's error message.
    pub says: String,
    /// The source of the rule.
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
/// through unions and arrays, in the order of the document.
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
    if dialect.keyword_spelling() == KeywordSpelling::InSnakeCaseToo {
        let arena = Arena::default();
        if let Some(renamed) = snake_case::with_keyword_names(*json, dialect.caps(slot).accepted, &arena) {
            let found = check_as_written(&renamed, dialect, slot, subject).into_iter();
            return found.map(|one| Violation { at: snake_case::spelled_as_written(json, &one.at), ..one }).collect();
        }
    }
    check_as_written(json, dialect, slot, subject)
}

fn check_as_written(json: &Json<'_>, dialect: &Dialect, slot: Slot, subject: &Subject<'_>) -> Vec<Violation> {
    let mut checker = Checker::new(json, dialect, slot, *subject, CheckMode::All);
    checker.run();
    let mut violations = checker.violations;
    // Two rows may ask the same in the same words.
    let mut known = HashSet::default();
    let new: Vec<bool> = violations.iter().map(|one| known.insert((&one.code, &one.at, &one.says))).collect();
    let mut new = new.into_iter();
    violations.retain(|_| new.next() == Some(true));
    violations
}

/// The first violation that the provider refuses, or may refuse.
pub(crate) fn first_refusal(json: &Json<'_>, dialect: &Dialect, slot: Slot) -> Option<Violation> {
    let mut checker = Checker::new(json, dialect, slot, Subject::default(), CheckMode::First);
    checker.ignored = IgnoredKeywords::Skipped;
    checker.run();
    checker.violations.into_iter().next()
}

/// True where [`check_json`] would find nothing; stops at the first violation.
pub(crate) fn is_clean(json: &Json<'_>, dialect: &Dialect, slot: Slot) -> bool {
    let mut checker = Checker::new(json, dialect, slot, Subject::default(), CheckMode::Exists);
    checker.run();
    checker.found == 0
}

/// True where the provider refuses nothing, though it may ignore keywords.
pub(crate) fn is_accepted(json: &Json<'_>, dialect: &Dialect, slot: Slot) -> bool {
    let mut checker = Checker::new(json, dialect, slot, Subject::default(), CheckMode::Exists);
    checker.ignored = IgnoredKeywords::Skipped;
    checker.run();
    checker.found == 0
}

/// Whether keywords that the provider lets by without effect are violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IgnoredKeywords {
    Reported,
    Skipped,
}

/// A violation by a tool or a tool list, outside of its schemas.
pub(crate) fn tool_violation(
    row: &RuleRow,
    dialect: &Dialect,
    subject: Subject<'_>,
    (at, keyword): (&str, &str),
    count: u64,
) -> Violation {
    let placeholders = Placeholders { keyword, limit: row.limit, count, ..Placeholders::default() };
    let broken = ErrorMessage {
        says: &row.says,
        whole: true,
        placeholders: &placeholders,
        at: &[],
        node: &[],
        document: &Json::Null,
        keys: &KeyIndex::default(),
        slot: Slot::Tool,
        subject,
    };
    RowView::from(row).violation(at.to_owned(), keyword, broken.text(dialect.error_text()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckMode {
    /// Every violation, with its message.
    All,
    /// The first violation, with its message.
    First,
    /// The existence of a violation, without messages.
    Exists,
}

/// The path from the root to a schema, as a linked list on the stack: the pointer is built only for violations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaPath<'p> {
    parent: Option<&'p SchemaPath<'p>>,
    token: Token<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Token<'p> {
    Root,
    /// A keyword of a schema.
    Kw(Kw),
    /// A key of a map, which may be spelled like a keyword.
    Word(&'p str),
    Index(usize),
}

impl<'p> SchemaPath<'p> {
    const ROOT: Self = Self { parent: None, token: Token::Root };

    fn kw(&'p self, kw: Kw) -> Self {
        SchemaPath { parent: Some(self), token: Token::Kw(kw) }
    }

    fn word(&'p self, word: &'p str) -> Self {
        SchemaPath { parent: Some(self), token: Token::Word(word) }
    }

    fn index(&'p self, index: usize) -> Self {
        SchemaPath { parent: Some(self), token: Token::Index(index) }
    }

    fn is_within(&self, kw: Kw) -> bool {
        matches!(self.token, Token::Kw(own) if own == kw) || self.parent.is_some_and(|parent| parent.is_within(kw))
    }

    fn tokens(&self) -> Vec<String> {
        let mut tokens = Vec::new();
        let mut path = Some(self);
        while let Some(own) = path {
            match own.token {
                Token::Root => {}
                Token::Kw(kw) => tokens.push(kw.name().to_owned()),
                Token::Word(word) => tokens.push(word.to_owned()),
                Token::Index(index) => tokens.push(index.to_string()),
            }
            path = own.parent;
        }
        tokens.reverse();
        tokens
    }
}

pub(crate) fn is_null(json: &Json<'_>) -> bool {
    json.get(Kw::Type.name()).and_then(Json::as_str) == Some("null")
}

/// What rules need to know of a node's position.
#[derive(Clone, Copy, Debug)]
struct NodeContext {
    root: bool,
    /// The keyword that holds the node.
    under: Option<Kw>,
    /// The number of objects around the node.
    depth: u64,
    /// The definition the node belongs to; the document itself is 0.
    owner: usize,
    requiredness: Requiredness,
}

/// Whether a value of the owner must contain a value of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requiredness {
    /// It need not, or no rule asks.
    Optional,
    /// It must.
    Required,
}

struct Checker<'c, 'j> {
    document: &'j Json<'j>,
    dialect: &'c Dialect,
    caps: &'c Capabilities,
    rules: &'c [RuleRow],
    /// The leniency at the root, and below it.
    leniency: [Option<well_formed::Leniency>; 2],
    /// Keywords that are no references here: `ref` is one only where the dialect accepts it.
    ignored_references: KwSet,
    slot: Slot,
    subject: Subject<'c>,
    mode: CheckMode,
    totals: Totals,
    counting: CountScope,
    references: ReferenceGraph<'j>,
    violations: Vec<Violation>,
    found: usize,
    ignored: IgnoredKeywords,
}

impl<'c, 'j> Checker<'c, 'j> {
    fn new(json: &'j Json<'j>, dialect: &'c Dialect, slot: Slot, subject: Subject<'c>, mode: CheckMode) -> Self {
        let rules = dialect.rule_rows(slot);
        let leniency = well_formed::leniency_of(rules, mode);
        Self {
            document: json,
            dialect,
            caps: dialect.caps(slot),
            leniency: [leniency, leniency.map(well_formed::Leniency::below)],
            ignored_references: [Kw::BareRef].into_iter().filter(|kw| dialect.refusal(*kw, slot).is_some()).collect(),
            rules,
            slot,
            subject,
            mode,
            totals: Totals::default(),
            counting: CountScope::Budgets,
            references: ReferenceGraph::new(json),
            violations: Vec::new(),
            found: 0,
            ignored: IgnoredKeywords::Reported,
        }
    }

    fn run(&mut self) {
        let root =
            NodeContext { root: true, under: None, depth: 0, owner: 0, requiredness: self.initial_requiredness() };
        let document = self.document;
        self.check_schema(document, &SchemaPath::ROOT, root);
        if !self.is_done() {
            self.check_misplaced_targets();
        }
        if !self.is_done() {
            self.check_references();
            self.check_totals();
        }
    }

    /// Requiredness matters to one demand only.
    fn initial_requiredness(&self) -> Requiredness {
        if self.caps.has_demand(Demand::CycleOptional) { Requiredness::Required } else { Requiredness::Optional }
    }

    fn is_done(&self) -> bool {
        self.mode != CheckMode::All && self.found > 0
    }

    /// Checks one schema and everything below it.
    fn check_schema(&mut self, json: &'j Json<'j>, path: &SchemaPath<'_>, context: NodeContext) {
        let Json::Obj(members) = json else {
            self.check_non_object(json, path, context);
            return;
        };
        let node = NodeKeywords::new(members, self.leniency_at(context), self.ignored_references);
        self.check_node(&node, path, context);
        if self.is_done() {
            return;
        }
        let depth = context.depth + u64::from(node.is_object());
        for (kw, value) in node.subschemas() {
            let below = NodeContext { root: false, under: Some(kw), depth, ..context };
            let at = path.kw(kw);
            match (kw.info().holds, value) {
                (KeywordValue::SchemaList, Json::Arr(items)) => {
                    // Only `null` is known to be taken as a way out of a loop.
                    let has_exit = kw != Kw::AllOf && items.iter().any(is_null);
                    let below = NodeContext {
                        requiredness: if has_exit { Requiredness::Optional } else { context.requiredness },
                        ..below
                    };
                    // What a list need not be long enough to have may be missing.
                    let needed = if kw == Kw::PrefixItems { node.min_items() } else { u64::MAX };
                    for (index, item) in items.iter().enumerate() {
                        let requiredness =
                            if (index as u64) < needed { below.requiredness } else { Requiredness::Optional };
                        self.check_schema(item, &at.index(index), NodeContext { requiredness, ..below });
                    }
                }
                (KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap, Json::Obj(map)) => {
                    let required = if context.requiredness == Requiredness::Required {
                        node.required()
                    } else {
                        HashSet::default()
                    };
                    for (name, item) in *map {
                        if kw == Kw::Dependencies && matches!(item, Json::Arr(_)) {
                            continue;
                        }
                        let below = if matches!(kw, Kw::Defs | Kw::Definitions | Kw::BareDefs) {
                            NodeContext {
                                depth: 0,
                                owner: self.references.owner(kw, name),
                                requiredness: self.initial_requiredness(),
                                ..below
                            }
                        } else if kw == Kw::Properties
                            && context.requiredness == Requiredness::Required
                            && required.contains(name)
                        {
                            below
                        } else {
                            NodeContext { requiredness: Requiredness::Optional, ..below }
                        };
                        self.check_schema(item, &at.word(name), below);
                        if self.is_done() {
                            return;
                        }
                    }
                }
                (KeywordValue::Schema, Json::Arr(items)) if kw == Kw::Items => {
                    for (index, item) in items.iter().enumerate() {
                        self.check_schema(item, &at.index(index), below);
                    }
                }
                (KeywordValue::Schema, _) => {
                    let needed = (kw == Kw::Items && node.min_items() > 0)
                        || (kw == Kw::AdditionalProperties && !self.caps.cycle_exits.has(kw));
                    self.check_schema(
                        value,
                        &at,
                        NodeContext {
                            requiredness: if needed { context.requiredness } else { Requiredness::Optional },
                            ..below
                        },
                    );
                }
                _ => {}
            }
        }
    }

    /// What could be changed on the path to a reference to end a cycle, where messages are needed.
    fn find_cycle_breaker(&self, path: &SchemaPath<'_>) -> CycleBreaker {
        let breakers = [
            (Kw::Properties, CycleBreaker::Property),
            (Kw::Items, CycleBreaker::List),
            (Kw::AdditionalProperties, CycleBreaker::Map),
        ];
        let found = breakers.into_iter().find(|(kw, _)| self.needs_messages() && path.is_within(*kw));
        found.map_or(CycleBreaker::Nothing, |(_, breaker)| breaker)
    }

    fn needs_messages(&self) -> bool {
        self.mode != CheckMode::Exists
    }

    /// Reports a violation at a path that was left earlier.
    fn report_rule_at(&mut self, row: &RuleRow, tokens: &[String], keyword: &str, placeholders: &Placeholders<'_>) {
        self.report_rule_below(row, &SchemaPath::ROOT, tokens, keyword, placeholders);
    }

    fn report_rule_below(
        &mut self,
        row: &RuleRow,
        path: &SchemaPath<'_>,
        tokens: &[String],
        keyword: &str,
        placeholders: &Placeholders<'_>,
    ) {
        match tokens.split_first() {
            Some((first, rest)) => self.report_rule_below(row, &path.word(first), rest, keyword, placeholders),
            None => self.report_rule(row, path, keyword, placeholders),
        }
    }

    fn report_rule(&mut self, row: &RuleRow, path: &SchemaPath<'_>, keyword: &str, placeholders: &Placeholders<'_>) {
        self.report(
            &row.into(),
            path,
            None,
            &Placeholders { limit: row.limit.or(placeholders.limit), keyword, ..*placeholders },
        );
    }

    fn report_rule_in_keyword(
        &mut self,
        row: &RuleRow,
        path: &SchemaPath<'_>,
        keyword: &str,
        placeholders: &Placeholders<'_>,
    ) {
        self.report(&row.into(), path, Some(keyword), &Placeholders { keyword, ..*placeholders });
    }

    fn report_keyword(&mut self, row: &KeywordRow, path: &SchemaPath<'_>, keyword: &str, value: &Json<'_>, kind: &str) {
        let placeholders =
            Placeholders { keyword, kind, value: Some(value), limit: row.up_to, ..Placeholders::default() };
        self.report(&row.into(), path, Some(keyword), &placeholders);
    }

    /// Reports a violation by a schema, or by the value of one of its keys.
    fn report(&mut self, row: &RowView<'_>, path: &SchemaPath<'_>, key: Option<&str>, placeholders: &Placeholders<'_>) {
        if row.severity == Severity::Ignored && self.ignored == IgnoredKeywords::Skipped {
            return;
        }
        self.found += 1;
        if self.mode == CheckMode::Exists || (self.mode == CheckMode::First && self.found > 1) {
            return;
        }
        let node = path.tokens();
        let tokens: Vec<String> = node.iter().map(String::as_str).chain(key).map(str::to_owned).collect();
        let mut at = String::new();
        for token in &tokens {
            push_token(&mut at, token);
        }
        let broken = ErrorMessage {
            says: row.says,
            whole: row.whole,
            placeholders,
            at: &tokens,
            node: &node,
            document: self.document,
            keys: &self.references.keys,
            slot: self.slot,
            subject: self.subject,
        };
        let says = broken.text(self.dialect.error_text());
        self.violations.push(row.violation(at, placeholders.keyword, says));
    }

    fn rows(&self, demand: Demand) -> impl Iterator<Item = &'c RuleRow> + use<'c> {
        self.rules.iter().filter(move |row| row.demand == demand)
    }
}

/// What violations copy from a row, of either kind.
struct RowView<'r> {
    code: &'r str,
    says: &'r str,
    whole: bool,
    severity: Severity,
    confidence: Confidence,
    source: &'r str,
}

impl RowView<'_> {
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

macro_rules! impl_row_view {
    ($($row:ident)*) => { $(
        impl<'r> From<&'r $row> for RowView<'r> {
            fn from(row: &'r $row) -> Self {
                let $row { code, says, whole, severity, confidence, source, .. } = row;
                Self { code, says, whole: *whole, severity: *severity, confidence: *confidence, source }
            }
        }
    )* };
}

impl_row_view! { RuleRow KeywordRow }
