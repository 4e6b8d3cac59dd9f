//! The shape of a dialect file, as TOML spells it. Nothing here interprets a row.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::keyword::{Kw, KwSet};

/// A dialect file.
#[derive(Clone, Debug, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DialectFile {
    pub(crate) id: String,
    /// A name for people.
    pub(crate) title: String,
    /// Which endpoints, slots and model families this dialect serves.
    pub(crate) serves: String,
    pub(crate) source: String,
    pub(crate) checked_on: String,
    /// A dialect whose rows hold here too; own rows of the same demand or keyword replace them.
    pub(crate) extends: Option<String>,
    /// Demands of the extended dialect that do not hold here.
    #[serde(default)]
    pub(crate) drops: Vec<Demand>,
    /// The dialects whose meet this one is.
    #[serde(default)]
    pub(crate) meets: Vec<String>,
    /// True where schemas are sent with the provider's strict flag.
    #[serde(default)]
    pub(crate) strict: bool,
    /// The next rung of the ladder when this dialect cannot be met.
    pub(crate) fallback: Option<String>,
    /// The dialect by which the same provider reads a tool that has the strict flag all the same.
    pub(crate) with_strict: Option<String>,
    /// The spelling of keywords that the provider reads.
    pub(crate) words: Option<KeywordSpelling>,
    /// How one tool is written down.
    pub(crate) shape: Option<ToolShape>,
    /// What the provider wraps around a rule's text.
    pub(crate) error: Option<ErrorText>,
    /// The only keywords accepted; when left out, every keyword is that no row refuses.
    pub(crate) accepts: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) keyword: Vec<KeywordRow>,
    #[serde(default)]
    pub(crate) rule: Vec<RuleRow>,
}

/// The spelling of keywords that a provider reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KeywordSpelling {
    #[default]
    AsWritten,
    /// `any_of` is `anyOf`.
    InSnakeCaseToo,
}

/// How a provider writes one tool of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolShape {
    /// `{"type":"function","function":{"name","description","parameters","strict"}}`
    OpenaiChat,
    /// `{"type":"function","name","description","parameters","strict"}`
    OpenaiResponses,
    /// `{"name","description","input_schema","strict"}`
    Anthropic,
    /// A function declaration with `parametersJsonSchema`.
    GeminiJson,
    /// A function declaration with `parameters`.
    GeminiOpenapi,
    /// `{"toolSpec":{"name","description","inputSchema":{"json"},"strict"}}`
    Bedrock,
    /// `{"name","description","inputSchema"}`
    Mcp,
}

/// What stands around the text of a rule in the provider's answer. Its blanks, and those of the rule's own text: `{says}` the
/// rule's own text; `{name}` the tool or format, `{index}` its place in the list, `{subject}` what the provider calls it; the place
/// as `{path}` (dotted), and of the schema there as `{context}` (a Python tuple), `{field}` and `{place}` (as Google's parser and
/// validator count it, behind the subject) and `{names}` (properties only, behind the subject).
#[derive(Clone, Debug, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ErrorText {
    pub(crate) tool: String,
    pub(crate) output: String,
    #[serde(default)]
    pub(crate) subject: Subjects,
    /// What `{path}` is at the root.
    #[serde(default)]
    pub(crate) root: String,
}

/// What a provider calls the thing whose schema it refuses.
#[derive(Clone, Debug, Default, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Subjects {
    pub(crate) tool: String,
    pub(crate) output: String,
    /// The schema of what a tool answers, where it is not called like an output.
    #[serde(default)]
    pub(crate) result: String,
}

/// Where a schema is going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Slot {
    /// The parameters of a tool.
    #[default]
    Tool,
    /// A structured output.
    Output,
}

/// Whether the model reads a keyword that the provider ignores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Visibility {
    #[default]
    Visible,
    /// It is removed before the model reads the schema.
    Hidden,
}

/// The provider's reaction to a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Severity {
    /// The request is refused.
    #[default]
    Rejected,
    /// The request passes and the constraint has no effect.
    Ignored,
    /// The request may be refused or go wrong: an unwritten budget, or reports that disagree.
    Risk,
}

/// How sure we are of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Confidence {
    /// Documented by the vendor.
    Documented,
    /// Others saw it happen.
    Observed,
    /// It was measured.
    Measured,
    /// It follows from other rules.
    Inferred,
}

/// One row about keywords.
#[derive(Clone, Debug, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct KeywordRow {
    /// Keywords; `*` is every keyword that `accepts` does not name, `?` every key that no JSON Schema draft knows.
    pub(crate) names: Vec<String>,
    #[serde(default)]
    pub(crate) severity: Severity,
    pub(crate) code: Arc<str>,
    /// The provider's text; `{keyword}` and `{value}` are filled in.
    pub(crate) says: String,
    /// True where the text is the whole answer, without [`ErrorText`] around it.
    #[serde(default)]
    pub(crate) whole: bool,
    pub(crate) confidence: Confidence,
    pub(crate) source: String,
    /// Whether the model reads an ignored keyword.
    #[serde(default)]
    pub(crate) visibility: Visibility,
    /// Counts up to this one are accepted all the same.
    pub(crate) up_to: Option<u64>,
    /// The row holds in this slot alone.
    pub(crate) slot: Option<Slot>,
}

/// One row about structure or budget.
#[derive(Clone, Debug, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RuleRow {
    pub(crate) demand: Demand,
    #[serde(default)]
    pub(crate) severity: Severity,
    pub(crate) code: Arc<str>,
    pub(crate) says: String,
    /// True where the text is the whole answer, without [`ErrorText`] around it.
    #[serde(default)]
    pub(crate) whole: bool,
    pub(crate) confidence: Confidence,
    pub(crate) source: String,
    /// What is exempt, by demand: keywords, formats, or reference targets.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// What is refused, by demand: keywords or features of a pattern.
    #[serde(default)]
    pub(crate) refuse: Vec<String>,
    /// The keywords among both, looked up once.
    #[serde(skip)]
    pub(crate) allowed: KwSet,
    #[serde(skip)]
    pub(crate) refused: KwSet,
    /// The budget.
    pub(crate) limit: Option<u64>,
    /// The charset of names or keys.
    pub(crate) pattern: Option<String>,
    pub(crate) slot: Option<Slot>,
}

impl RuleRow {
    pub(super) fn with_keyword_sets(&self) -> Self {
        let named = |names: &[String]| names.iter().filter_map(|name| Kw::of(name)).collect();
        Self { allowed: named(&self.allow), refused: named(&self.refuse), ..self.clone() }
    }
}

/// What a rule demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Demand {
    /// The root's `type` is exactly `object`.
    RootObject,
    /// The root has none of the keywords in `refuse`.
    RootPlain,
    /// The keys of the root's properties match `pattern`.
    RootKeys,
    /// The keys of all properties match `pattern`.
    Keys,
    /// Every object says `additionalProperties: false`.
    Closed,
    /// An object that does not say `additionalProperties` is taken to be closed, so it must say.
    SaysOpen,
    /// Every property is required.
    AllRequired,
    /// Every object has `properties`.
    HasProperties,
    /// An object below the root declares properties or is closed: one of any form comes back empty.
    NotFreeForm,
    /// A list of objects has no `maxItems`.
    ObjectListsUnbounded,
    /// An object with several properties lists them in `propertyOrdering`, unless their order is alphabetical.
    PropertyOrder,
    /// `required` is no empty list.
    RequiredNotEmpty,
    /// `required` names declared properties only.
    RequiredKnown,
    /// Every node has a `type`, or one of the keywords in `allow`.
    Typed,
    /// A schema of properties that are not declared has a `type`, or one of the keywords in `allow`.
    OthersTyped,
    /// A subschema is an object, never `true` or `false`.
    SchemaObject,
    /// Every array has `items`.
    HasItems,
    /// `type` is one name, never a list.
    OneType,
    /// Nothing is of type `null`.
    NoNull,
    /// Keywords in `refuse` stand only on nodes of the type they speak of.
    OwnKeywords,
    /// `enum` and `const` stand beside a `type` that is one name and fits every value.
    EnumTyped,
    /// The values of `enum` and `const` fit the declared `type`, where there is one.
    EnumFits,
    /// The values of an enum are strings.
    EnumStrings,
    /// Values of one type are listed by one enum, not by a union of schemas with one value each.
    OneEnum,
    /// No value of an enum is the empty string.
    EnumNotBlank,
    /// No value of an enum is an array or object.
    EnumScalars,
    /// All values of an enum are of one type.
    EnumOneType,
    /// An enum has at least one value.
    EnumNotEmpty,
    /// A node with `anyOf` has no other keyword than those in `allow`.
    UnionAlone,
    /// Every branch of a union has a `type`, or one of the keywords in `allow`.
    UnionTyped,
    /// A node with a reference has no other keyword than those in `allow`.
    RefAlone,
    /// References point into the definitions at the root, or at a place in `allow`.
    RefToDefs,
    /// Every reference has a target in the document.
    RefResolves,
    /// Definitions do not refer to themselves.
    NoCycle,
    /// A definition refers to itself only through something optional, nullable or possibly empty, or one of the keywords in `allow`.
    CycleOptional,
    /// `format` is one of `allow`.
    Formats,
    /// `pattern` has none of the features in `refuse`.
    Patterns,
    /// The document is valid under the 2020-12 meta-schema.
    WellFormed,
    /// Definitions that nothing refers to are absent.
    DefsUsed,
    /// Properties in all.
    MaxProperties,
    /// Objects within objects, the root being the first.
    MaxDepth,
    /// Enum values in all.
    MaxEnumValues,
    /// Characters of one enum that has more than 250 values.
    MaxEnumChars,
    /// Characters of all names of properties and definitions and all enum values.
    MaxNameChars,
    /// Properties that are not required.
    MaxOptionals,
    /// Nodes with a union or a list of types.
    MaxUnions,
    /// Characters of the schema as text.
    MaxChars,
    /// The sum of all `maxItems`.
    MaxItemsSum,
    /// The schema of a tool is an object, never JSON text.
    SchemaNotText,
    /// A tool has a schema.
    HasSchema,
    /// The arguments and the result of a tool have one schema each, in one of the slots for it.
    OneSchema,
    /// A list of tools is not empty.
    HasTools,
    /// The name of an output format matches `pattern`.
    OutputName,
    /// The name of a tool matches `pattern`.
    ToolName,
    /// The names of tools differ.
    UniqueNames,
    /// Characters of a tool's description.
    MaxDescription,
    /// A tool has a description that is not empty, or none.
    DescriptionNotEmpty,
    /// Tools in one request.
    MaxTools,
    /// Strict tools in one request.
    MaxStrictTools,
    /// All tools of a request have the same strict flag.
    UniformStrict,
    /// Properties that are not required, over all strict tools of a request.
    RequestOptionals,
    /// Unions over all strict tools of a request.
    RequestUnions,
    /// Characters of all tool schemas of a request.
    RequestChars,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rejected => "rejected",
            Self::Ignored => "ignored",
            Self::Risk => "risk",
        })
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Documented => "documented",
            Self::Observed => "observed",
            Self::Measured => "measured",
            Self::Inferred => "inferred",
        })
    }
}
