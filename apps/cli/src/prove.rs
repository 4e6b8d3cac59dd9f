//! Whether a fitted schema, seen through its lens, accepts what the caller's accepts: equal, wider, narrower, with a value that
//! slips through. The feature `prove` brings the judge; the code here bounds the time it takes.

#[cfg(feature = "prove")]
mod algebra;

use std::fmt;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use polywire::schema::{Effect, FittedText, Lens, ToolShape};
use serde::Serialize;

/// How long one proof may take: canonical forms may grow with every union.
const PATIENCE: Duration = Duration::from_secs(2);

/// Proofs that took too long cannot be stopped. While so many are still at it, no other is begun.
const MOST_OVERDUE: usize = 4;

/// The stack of a proof: canonical forms are built by recursion.
const STACK_BYTES: usize = 32 << 20;

/// How what comes back compares with what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Relation {
    Equal,
    Wider,
    Narrower,
    Neither,
    Undecided,
}

/// Schemas by relation.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Proofs {
    pub(crate) equal: usize,
    pub(crate) wider: usize,
    pub(crate) narrower: usize,
    pub(crate) neither: usize,
    pub(crate) undecided: usize,
    /// Verdicts that no change accounts for.
    pub(crate) silent: usize,
}

impl Proofs {
    pub(crate) fn add(&mut self, proof: &Proof) {
        *match proof.relation {
            Relation::Equal => &mut self.equal,
            Relation::Wider => &mut self.wider,
            Relation::Narrower => &mut self.narrower,
            Relation::Neither => &mut self.neither,
            Relation::Undecided => &mut self.undecided,
        } += 1;
        self.silent += usize::from(proof.silent.is_some());
    }
}

/// What was proved of one schema.
#[derive(Clone, Serialize)]
pub(crate) struct Proof {
    pub(crate) relation: Relation,
    /// What comes back and was not asked for: a small value, or the schema of such values.
    pub(crate) gained: Option<String>,
    /// What was asked for and cannot come back.
    pub(crate) lost: Option<String>,
    /// What contradicts the changes on record.
    pub(crate) silent: Option<String>,
}

impl Proof {
    pub(crate) fn undecided() -> Self {
        Self { relation: Relation::Undecided, gained: None, lost: None, silent: None }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.relation {
            Relation::Equal => "proved equal: what comes back is what was asked for",
            Relation::Wider => "proved wider",
            Relation::Narrower => "proved narrower",
            Relation::Neither => "proved neither wider nor narrower",
            Relation::Undecided => "not decided",
        })?;
        if let Some(gained) = &self.gained {
            write!(out, "; {gained} comes back and was not asked for")?;
        }
        if let Some(lost) = &self.lost {
            write!(out, "; {lost} was asked for and cannot come back")?;
        }
        match &self.silent {
            Some(silent) => write!(out, "; not on record: {silent}"),
            None => Ok(()),
        }
    }
}

/// What is compared, on its own, so that a proof can be left behind.
struct Question {
    asked: String,
    wire: String,
    lens: Lens,
    shape: ToolShape,
    /// Effects that the changes on record have.
    recorded: Vec<Effect>,
}

/// Compares what the caller asked for with what may come back, as far as that can be told in time.
pub(crate) fn prove(fitted: &FittedText, asked: &str, shape: ToolShape) -> Proof {
    static OVERDUE: AtomicUsize = AtomicUsize::new(0);
    if OVERDUE.load(Ordering::Relaxed) >= MOST_OVERDUE {
        return Proof::undecided();
    }
    let question = Question {
        asked: asked.to_owned(),
        wire: fitted.schema.clone(),
        lens: fitted.lens().clone(),
        shape,
        recorded: fitted.changes.iter().map(|change| change.effect).collect(),
    };
    let overdue = Arc::new(AtomicBool::new(false));
    let (send, receive) = mpsc::sync_channel(1);
    let late = Arc::clone(&overdue);
    let work = move || {
        let proof = panic::catch_unwind(|| decide(&question)).ok().flatten();
        if late.swap(true, Ordering::Relaxed) {
            OVERDUE.fetch_sub(1, Ordering::Relaxed);
        }
        // Nobody listens any more where the time has run out.
        drop(send.send(proof));
    };
    let begun = thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    if begun.is_err() {
        return Proof::undecided();
    }
    let proof = receive.recv_timeout(PATIENCE);
    if proof.is_err() {
        OVERDUE.fetch_add(1, Ordering::Relaxed);
        if overdue.swap(true, Ordering::Relaxed) {
            OVERDUE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    proof.ok().flatten().unwrap_or_else(Proof::undecided)
}

#[cfg(feature = "prove")]
fn decide(question: &Question) -> Option<Proof> {
    algebra::compare(question)
}

#[cfg(not(feature = "prove"))]
fn decide(_: &Question) -> Option<Proof> {
    None
}

#[cfg(all(test, feature = "prove"))]
mod tests {
    use polywire::schema::{FitOptions, ToolShape, dialect, fit_text};
    use serde_json::json;

    use super::{Relation, prove};

    /// Verdicts on what was fitted, and on the same with its record torn out.
    #[test]
    fn a_verdict_that_is_not_on_record_is_told_with_a_value() {
        let list = |more: &str| {
            format!(
                r#"{{"type": "object", "properties": {{"a": {{"type": "array", "items": {{"type": "integer"}}{more}}}}},
                "required": ["a"], "additionalProperties": false}}"#
            )
        };
        let open = json!({"type": "object", "properties": {"a": {"type": "integer"}}}).to_string();
        let map = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "point": {"type": "array", "prefixItems": [{"type": "integer"}], "items": false, "minItems": 1}},
            "additionalProperties": false});
        let rows = [
            (list(""), Relation::Equal, None),
            (map.to_string(), Relation::Equal, None),
            (
                list(r#", "uniqueItems": true"#),
                Relation::Wider,
                Some("proved wider, with no change that says so: {\"a\":["),
            ),
            (open, Relation::Narrower, Some("proved narrower, with no change that says so: {")),
        ];
        let strict = dialect("openai-strict").expect("a dialect");
        for (schema, relation, told) in rows {
            let mut fitted = fit_text(&schema, strict, &FitOptions::default()).expect("a fit");
            let proof = prove(&fitted, &schema, ToolShape::OpenaiChat);
            assert!(proof.relation == relation && proof.silent.is_none(), "{schema}: {:?}", proof.silent);
            fitted.changes.clear();
            let silent = prove(&fitted, &schema, ToolShape::OpenaiChat).silent;
            match told {
                None => assert_eq!(silent, None, "{schema}"),
                Some(told) => assert!(silent.as_ref().is_some_and(|silent| silent.starts_with(told)), "{silent:?}"),
            }
        }
    }
}
