//! Proves whether a fitted schema, after decoding, accepts the same values as the original: equal, wider or narrower, with a
//! counterexample. The types are always there, so that reports can name them; the judge needs the feature `prove`.

#[cfg(feature = "prove")]
mod compare;
#[cfg(feature = "prove")]
mod containment;
#[cfg(feature = "prove")]
mod counterexample;
#[cfg(feature = "prove")]
mod decompose;
#[cfg(feature = "prove")]
mod definitions;
#[cfg(feature = "prove")]
mod intersection;
#[cfg(feature = "prove")]
mod normalize;
#[cfg(feature = "prove")]
mod pattern_lengths;

use std::collections::BTreeMap;
use std::fmt;

use polywire_schema::{Effect, FittedText, Lens, ToolShape};
use serde::{Deserialize, Serialize};

/// How the decoded values compare with the original schema.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The same values.
    Equal,
    /// All of them, and others.
    Wider,
    /// Only some of them.
    Narrower,
    /// Not all of them, and others.
    Neither,
    /// Nothing was decided.
    Undecided,
}

/// Why nothing was decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// One of the schemas has too many bytes.
    Size,
    /// The original schema uses something that JSON Schema 2020-12 cannot express.
    Draft,
    /// The decoded values cannot be described by a schema.
    Image,
    /// The validator rejects one of the schemas, for instance for a dangling reference or an invalid pattern.
    Refused,
    /// One of the schemas has no canonical form.
    Form,
    /// Containment of the canonical forms cannot be decided.
    Containment,
    /// The proof took too long.
    Time,
    /// The proof took too much memory.
    Memory,
    /// The proof crashed.
    Fault,
}

/// Why one schema is undecided.
#[derive(Clone, Serialize, Deserialize)]
pub struct Undecided {
    /// The kind of obstacle.
    pub reason: Reason,
    /// What stood in the way, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Reason {
    /// This reason, with a detail.
    pub fn because(self, detail: impl Into<String>) -> Undecided {
        Undecided { reason: self, detail: detail.into() }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Draft => "draft",
            Self::Image => "image",
            Self::Refused => "refused",
            Self::Form => "form",
            Self::Containment => "containment",
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Fault => "fault",
        }
    }
}

/// Schemas by relation.
#[derive(Clone, Default, Serialize)]
pub struct Proofs {
    /// How many are [`Relation::Equal`].
    pub equal: usize,
    /// How many are [`Relation::Wider`].
    pub wider: usize,
    /// How many are [`Relation::Narrower`].
    pub narrower: usize,
    /// How many are [`Relation::Neither`].
    pub neither: usize,
    /// How many are [`Relation::Undecided`].
    pub undecided: usize,
    /// Undecided ones by reason.
    pub reasons: BTreeMap<Reason, usize>,
    /// Verdicts that no change accounts for.
    pub silent: usize,
}

impl Proofs {
    /// Counts one proof.
    pub fn add(&mut self, proof: &Proof) {
        *match proof.relation {
            Relation::Equal => &mut self.equal,
            Relation::Wider => &mut self.wider,
            Relation::Narrower => &mut self.narrower,
            Relation::Neither => &mut self.neither,
            Relation::Undecided => &mut self.undecided,
        } += 1;
        if let Some(undecided) = &proof.undecided {
            *self.reasons.entry(undecided.reason).or_default() += 1;
        }
        self.silent += usize::from(proof.silent.is_some());
    }
}

/// What was proved of one schema.
#[derive(Clone, Serialize, Deserialize)]
pub struct Proof {
    /// The verdict.
    pub relation: Relation,
    /// What comes back and was not asked for: a small value, or the schema of such values.
    pub gained: Option<String>,
    /// What was asked for and cannot come back.
    pub lost: Option<String>,
    /// Why nothing was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// What contradicts the changes on record.
    pub silent: Option<String>,
}

impl Proof {
    /// A proof that decided nothing.
    pub fn undecided(undecided: Undecided) -> Self {
        let undecided = Some(undecided);
        Self { relation: Relation::Undecided, gained: None, lost: None, undecided, silent: None }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.relation {
            Relation::Equal => "proved equal: the fitted schema accepts the same values",
            Relation::Wider => "proved wider",
            Relation::Narrower => "proved narrower",
            Relation::Neither => "proved neither wider nor narrower",
            Relation::Undecided => "not decided",
        })?;
        if let Some(Undecided { reason, detail }) = &self.undecided {
            write!(out, " ({}{}{detail})", reason.name(), if detail.is_empty() { "" } else { ": " })?;
        }
        if let Some(gained) = &self.gained {
            write!(out, "; {gained} is accepted only by the fitted schema")?;
        }
        if let Some(lost) = &self.lost {
            write!(out, "; {lost} is accepted only by the original schema")?;
        }
        match &self.silent {
            Some(silent) => write!(out, "; not on record: {silent}"),
            None => Ok(()),
        }
    }
}

/// A fitted schema and its original, to be compared. It can be written as JSON and answered in another process.
#[derive(Serialize, Deserialize)]
pub struct Question {
    asked: String,
    wire: String,
    lens: Lens,
    words: Notation,
    /// Differences that the changes on record speak of.
    recorded: Vec<Difference>,
}

/// What a schema that names no draft is written in.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Notation {
    JsonSchema,
    /// As the schema objects of `OpenAPI` are.
    OpenApi,
}

/// How what comes back may differ.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Difference {
    Gained,
    Lost,
}

impl Question {
    /// The comparison of a fitted schema with the text that it was fitted from.
    pub fn of(fitted: &FittedText, asked: &str, shape: ToolShape) -> Self {
        let rows = [(Effect::Wider, Difference::Gained), (Effect::Narrower, Difference::Lost)];
        let is_recorded = |effect: Effect| fitted.changes.iter().any(|change| change.effect == effect);
        let recorded = rows.iter().filter(|(effect, _)| is_recorded(*effect)).map(|(_, difference)| *difference);
        Self {
            asked: asked.to_owned(),
            wire: fitted.schema.clone(),
            lens: fitted.lens().clone(),
            words: if shape == ToolShape::GeminiOpenapi { Notation::OpenApi } else { Notation::JsonSchema },
            recorded: recorded.collect(),
        }
    }
}

/// Compares the two schemas by their canonical forms.
#[cfg(feature = "prove")]
pub fn decide(question: &Question) -> Result<Proof, Undecided> {
    compare::compare(question)
}

#[cfg(feature = "prove")]
#[cfg(test)]
#[path = "prove/tests.rs"]
mod tests;
