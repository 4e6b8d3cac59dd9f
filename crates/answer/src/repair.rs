//! Liberties taken with a model's text: what kind, where, and how much they cost.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// One liberty that was taken to get from the text to the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Repair {
    /// What was done.
    pub kind: RepairKind,
    /// The JSON Pointer of the place in the value.
    pub at: String,
    /// The byte range in the text, for repairs of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Range<usize>>,
}

impl Repair {
    /// A value that was not written in the shape of the fitted schema, though its meaning was clear.
    pub fn of_shape(at: String) -> Self {
        Self::new(RepairKind::Shape, at, None)
    }

    pub(crate) fn new(kind: RepairKind, at: impl Into<String>, span: Option<Range<usize>>) -> Self {
        Self { kind, at: at.into(), span }
    }
}

/// Limits of the list of repairs: number, and total bytes of places.
pub(crate) const MAX_REPAIRS: usize = 10_000;
const MAX_PLACE_BYTES: usize = 4 << 20;

/// A bounded list of repairs. A truncation is always listed.
#[derive(Debug, Default)]
pub(crate) struct Repairs {
    list: Vec<Repair>,
    place_bytes: usize,
}

impl Repairs {
    pub(crate) fn push(&mut self, kind: RepairKind, at: &str, span: Option<&Range<usize>>) {
        self.push_with(kind, || at.to_owned(), span);
    }

    /// Adds a repair whose place is written out only if it is listed.
    pub(crate) fn push_with(&mut self, kind: RepairKind, at: impl FnOnce() -> String, span: Option<&Range<usize>>) {
        if self.list.len() < MAX_REPAIRS && self.place_bytes < MAX_PLACE_BYTES {
            let at = at();
            self.place_bytes += at.len();
            self.list.push(Repair::new(kind, at, span.cloned()));
        } else if kind == RepairKind::Truncated {
            self.list.push(Repair::new(kind, "", span.cloned()));
        }
    }

    pub(crate) fn extend(&mut self, repairs: impl IntoIterator<Item = Repair>) {
        for repair in repairs {
            self.push_with(repair.kind, || repair.at, repair.span.as_ref());
        }
    }

    pub(crate) fn into_list(self) -> Vec<Repair> {
        self.list
    }
}

/// The repairs that one step took: mostly none or one.
#[derive(Clone, Debug)]
pub(crate) enum Kinds {
    None,
    One(RepairKind),
    Many(Box<[RepairKind]>),
}

impl Kinds {
    pub(crate) fn of(kinds: &[RepairKind]) -> Self {
        match kinds {
            [] => Self::None,
            [kind] => Self::One(*kind),
            kinds => Self::Many(kinds.into()),
        }
    }

    pub(crate) fn as_slice(&self) -> &[RepairKind] {
        match self {
            Self::None => &[],
            Self::One(kind) => std::slice::from_ref(kind),
            Self::Many(kinds) => kinds,
        }
    }

    pub(crate) fn push(&mut self, kind: RepairKind) {
        let mut kinds = self.as_slice().to_vec();
        kinds.push(kind);
        *self = Self::of(&kinds);
    }
}

/// The severity of a repair, most severe last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostClass {
    /// Only the notation was repaired.
    Syntax,
    /// The value was converted to another type.
    Retyped,
    /// Something was added that the model did not write.
    Invented,
    /// Something that the model wrote, or would have written, is missing from the value.
    Lost,
}

macro_rules! kinds {
    ($($name:ident $text:literal $class:ident $doc:literal,)*) => {
        /// The kinds of [`Repair`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum RepairKind {
            $(#[doc = $doc] $name,)*
        }

        impl RepairKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name of the kind, as it is printed.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The severity of the kind.
            pub fn class(self) -> CostClass {
                match self {
                    $(Self::$name => CostClass::$class,)*
                }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $doc,)*
                }
            }
        }
    };
}

kinds! {
    Prose "prose" Syntax "Text around the value was ignored.",
    Fence "fence" Syntax "The value was taken out of a Markdown fence.",
    Thinking "thinking" Syntax "A block of the model's reasoning was ignored.",
    Markup "markup" Syntax "Tool-call markup around the value was ignored.",
    Comment "comment" Syntax "A comment was ignored.",
    Comma "comma" Syntax "A comma was missing or one too many.",
    Colon "colon" Syntax "A colon was missing.",
    Quote "quote" Syntax "A quote was missing, doubled, or of another kind.",
    InnerQuote "inner_quote" Syntax "A quote inside a string was not escaped.",
    Escape "escape" Syntax "An escape was invalid, or outside a string.",
    Control "control" Syntax "A control character in a string was not escaped.",
    Bracket "bracket" Syntax "A bracket was missing, one too many, or of another kind.",
    Literal "literal" Syntax "A literal was written as another language writes it.",
    NumberForm "number_form" Syntax "A number was written in a form that JSON does not have.",
    Bare "bare" Syntax "A string or key was not quoted.",
    Joined "joined" Syntax "Parts of a string or list were joined.",
    Trimmed "trimmed" Syntax "Line breaks before a closing quote were removed.",
    SeveralValues "several_values" Syntax "Several values became one list.",
    ToolCall "tool_call" Syntax "A tool call was read from the model's own notation.",
    KeySpelling "key_spelling" Syntax "A key was spelled differently from the schema.",
    EnumSpelling "enum_spelling" Syntax "An enum value was spelled differently from the schema.",
    NullAbsent "null_absent" Syntax "A null was removed, or inserted, for an absent key.",
    Encoded "encoded" Retyped "JSON inside a string was decoded.",
    Stringified "stringified" Retyped "A value became a string, as it was written.",
    ToNumber "to_number" Retyped "A string became a number.",
    ToBoolean "to_boolean" Retyped "A string or number became a boolean.",
    ToNull "to_null" Retyped "A string became null.",
    ToInteger "to_integer" Retyped "A number without a fraction became an integer.",
    ToList "to_list" Retyped "A value became a list of one.",
    FromList "from_list" Retyped "A list of one became its item.",
    Unwrapped "unwrapped" Retyped "An object around the value was removed.",
    Wrapped "wrapped" Retyped "A value became the only field of an object.",
    Shape "shape" Retyped "The value was not written in the shape of the fitted schema; its meaning was clear.",
    TextNumber "text_number" Retyped "A number that no float can hold became a string.",
    EnumDistance "enum_distance" Retyped "A value was close to exactly one that the schema allows.",
    Ambiguous "ambiguous" Retyped "Several readings were equally good; the first was used.",
    MissingValue "missing_value" Invented "A value was missing; null was inserted.",
    DefaultApplied "default_applied" Invented "The default of the schema was inserted.",
    EmptyApplied "empty_applied" Invented "An absent list or nullable field was inserted, empty.",
    InProse "in_prose" Lost "A value was found inside a longer text.",
    Rounded "rounded" Lost "A number was rounded to what a float can hold.",
    Ellipsis "ellipsis" Lost "An ellipsis stood for omitted values.",
    Dropped "dropped" Lost "Something that does not match the schema was dropped.",
    DuplicateKey "duplicate_key" Lost "A key was repeated; the last one was used.",
    OtherValue "other_value" Lost "Another value in the text was ignored.",
    Truncated "truncated" Lost "The text ended before the value did.",
}

impl fmt::Display for RepairKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The cost of a reading: unmet requirements, then repairs by class. Less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// Places where the value cannot match the schema.
    pub(crate) unmet: u32,
    lost: u32,
    invented: u32,
    retyped: u32,
    syntax: u32,
}

impl Cost {
    pub(crate) const UNMET: Self = Self { unmet: 1, lost: 0, invented: 0, retyped: 0, syntax: 0 };

    /// A reading that is used only where no other fits.
    pub(crate) const LAST_RESORT: Self = Self { unmet: 0, lost: 1_000, invented: 0, retyped: 0, syntax: 0 };

    pub(crate) fn of(kind: RepairKind) -> Self {
        let mut cost = Self::default();
        match kind.class() {
            CostClass::Lost => cost.lost = 1,
            CostClass::Invented => cost.invented = 1,
            CostClass::Retyped => cost.retyped = 1,
            CostClass::Syntax => cost.syntax = 1,
        }
        cost
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            unmet: self.unmet.saturating_add(other.unmet),
            lost: self.lost.saturating_add(other.lost),
            invented: self.invented.saturating_add(other.invented),
            retyped: self.retyped.saturating_add(other.retyped),
            syntax: self.syntax.saturating_add(other.syntax),
        }
    }

    pub(crate) fn is_free(self) -> bool {
        self == Self::default()
    }
}
