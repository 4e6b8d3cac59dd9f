//! Valid JSON broken the way models break it: the seeded generator of the recovery benchmark and of its tests.
//!
//! A value is written as tokens. Each token has the text that it is broken to and the JSON that it means, so the expected value
//! follows from the tokens, whatever the faults. The generator knows no reader; a text that a fault leaves undecidable is not made:
//!
//! - a text that is still valid JSON of another value ([`Broken::is_other_json`]);
//! - a closer that is lost inside, or one too many, where one edit elsewhere mends the text as well, unless a schema refuses
//!   all the values that come of that ([`Broken::rivals`]);
//! - quotes around the whole of a string, which are doubled quotes;
//! - a lost separator or quote between bare words that run together, and words that are literals or numbers.

#![expect(clippy::wildcard_enum_match_arm, reason = "each file makes the faults of its own group")]

mod around;
mod structure;
mod texts;
mod tokens;
mod words;

use serde_json::Value;

use crate::sample::dice::Dice;
use tokens::{Style, Tokens};

macro_rules! faults {
    ($($name:ident $text:literal $group:ident,)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = $text] $name,)*
        }

        impl Fault {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The kind in words.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            fn group(self) -> Group {
                match self {
                    $(Self::$name => Group::$group,)*
                }
            }
        }
    };
}

/// What a fault changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Text,
    Word,
    Structure,
    Around,
}

faults! {
    InnerQuotes "inner quotes not escaped" Text,
    LineBreak "line break in a string" Text,
    BadEscape "backslash not escaped" Text,
    SingleQuotes "single quotes" Text,
    CurlyQuotes "typographic quotes" Text,
    LostKeyOpen "opening quote of a key lost" Text,
    LostKeyClose "closing quote of a key lost" Text,
    LostTextOpen "opening quote of a string lost" Text,
    LostTextClose "closing quote of a string lost" Text,
    DoubledQuotes "quotes doubled" Text,
    BareKeys "keys without quotes" Word,
    BareWord "string without quotes" Word,
    PythonWords "Python literals" Word,
    ScriptWords "JavaScript undefined" Word,
    GroupedNumber "number with separators" Word,
    NumberForm "number in another notation" Word,
    LostComma "comma lost" Structure,
    ExtraComma "comma too many" Structure,
    LostColon "colon lost" Structure,
    OtherColon "equals sign for a colon" Structure,
    LostEnd "closers lost at the end" Structure,
    LostInside "closer lost inside" Structure,
    ExtraCloser "closer too many" Structure,
    WrongCloser "wrong closer" Structure,
    Comment "comment" Structure,
    Ellipsis "ellipsis" Structure,
    Prose "prose around" Around,
    Fence "Markdown fence" Around,
    Thinking "reasoning before" Around,
    EscapedWhole "quotes escaped outside a string" Around,
    Encoded "encoded as a string" Around,
}

/// A broken text and what it means.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The text.
    pub text: String,
    /// The value that was broken.
    pub value: Value,
    /// The faults that were made, in order.
    pub faults: Vec<Fault>,
    /// Other values that one edit gives as well. Where a schema accepts one of them, or where there is no schema, the case is
    /// undecidable.
    pub rivals: Vec<Value>,
    /// Only a schema tells that it is not a string.
    pub needs_schema: bool,
}

impl Broken {
    /// Whether the text is valid JSON of another value: nobody can know what was meant.
    pub fn is_other_json(&self) -> bool {
        !self.needs_schema && serde_json::from_str::<Value>(&self.text).is_ok()
    }
}

/// How much of the text arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// It ends inside the value, at a place that leaves no doubt about what arrived.
    Cut,
}

/// Breaks a value with these faults, if it has a place for each of them.
pub fn break_value(value: &Value, faults: &[Fault], extent: Extent, seed: u64) -> Option<Broken> {
    let mut dice = Dice::new(seed);
    let mut tokens = Tokens::write(value, Style::pick(&mut dice));
    let cut = if extent == Extent::Cut { Some(tokens.pick_cut(&mut dice)?) } else { None };
    if let Some(cut) = cut {
        if faults.iter().any(|fault| fault.is_refused_in_cut()) {
            return None;
        }
        tokens.truncate(cut);
    }
    let mut rivals = Vec::new();
    for fault in faults.iter().filter(|fault| fault.group() == Group::Structure) {
        structure::apply(&mut tokens, *fault, &mut dice, &mut rivals)?;
    }
    for fault in faults.iter().filter(|fault| fault.group() == Group::Word) {
        words::apply(&mut tokens, *fault, &mut dice)?;
    }
    for fault in faults.iter().filter(|fault| fault.group() == Group::Text) {
        texts::apply(&mut tokens, *fault, &mut dice)?;
    }
    let value = tokens.value()?;
    let mut text = tokens.text();
    let mut needs_schema = false;
    for fault in faults.iter().filter(|fault| fault.group() == Group::Around) {
        text = around::apply(&text, *fault, cut.is_some(), &mut dice)?;
        needs_schema |= *fault == Fault::Encoded;
    }
    Some(Broken { text, value, faults: faults.to_vec(), rivals, needs_schema })
}

impl Fault {
    /// Whether a cut text cannot tell what the fault was.
    fn is_refused_in_cut(self) -> bool {
        matches!(
            self,
            Self::LostEnd
                | Self::LostInside
                | Self::ExtraCloser
                | Self::WrongCloser
                | Self::EscapedWhole
                | Self::Encoded
                | Self::LostKeyClose
                | Self::LostTextClose
                | Self::LostTextOpen
                | Self::InnerQuotes
                | Self::DoubledQuotes
                | Self::BareWord
        )
    }

    /// Faults that may meet in one text: up to so many different ones, the ones around the value last.
    pub fn pick(count: usize, seed: u64) -> Vec<Self> {
        let mut dice = Dice::new(seed);
        let mut picked: Vec<Self> = Vec::new();
        while picked.len() < count {
            let Some(fault) = dice.pick(Self::ALL) else { break };
            let clashes = picked.iter().any(|other| {
                other == fault || (other.group() == fault.group() && matches!(fault.group(), Group::Around))
            });
            if !clashes {
                picked.push(*fault);
            }
        }
        picked
    }
}
