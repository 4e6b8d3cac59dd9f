//! Compares two schemas by the canonical forms of the `jsonschema` crate: whether one contains the other, and what remains where
//! it does not. The verdict is never our own code's.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Display;

use jsonschema::canonical::{self, CanonicalSchema, CanonicalView, Containment, Satisfiability};
use jsonschema::{Draft, Validator};
use polywire_schema::Lens;
use serde_json::{Value, json};

use super::containment::{self, ContainmentJudge, UndecidedPair};
use super::counterexample::{Search, values_along};
use super::intersection::listed;
use super::normalize::{normalize, with_lengths};
use super::{Difference, Notation, Proof, Question, Reason, Relation, Undecided};
use crate::values::{equal, shortened, shortened_text};
use crate::{as_json_schema, image, image_at_most, sample};

/// Schemas of more bytes than this are not tried.
const MAX_BYTES: usize = 1 << 20;

/// How many values of the wire are made up to see what they come back as.
const MADE: u64 = 12;

pub(super) fn compare(question: &Question) -> Result<Proof, Undecided> {
    let Question { asked, wire, lens, words, recorded } = question;
    let size = asked.len().max(wire.len());
    if size > MAX_BYTES {
        return Err(Reason::Size.because(format!("{size} bytes")));
    }
    let openapi = |schema: Value| if *words == Notation::OpenApi { as_json_schema(schema) } else { schema };
    let read =
        |text: &str| serde_json::from_str::<Value>(text).map_err(|error| Reason::Refused.because(error.to_string()));
    let wire = openapi(read(wire)?);
    let asked = read(asked)?;
    let asked = if asked.get("$schema").is_none() { openapi(asked) } else { asked };
    let image = image(lens, &wire).map_err(|error| Reason::Image.because(error.to_string()));
    let differences = match image.and_then(|image| differences(&asked, &image, &wire, lens)) {
        // Where it cannot be said what comes back, it can be said that no more does.
        Err(why) if why.reason == Reason::Image => {
            let (lost, gained) = differences(&asked, &image_at_most(lens, &wire), &wire, lens)?;
            (lost.assuming_upper_bound(Difference::Lost, &why), gained.assuming_upper_bound(Difference::Gained, &why))
        }
        differences => differences?,
    };
    Ok(proof(differences, recorded))
}

fn proof((lost, gained): (Remainder, Remainder), recorded: &[Difference]) -> Proof {
    let relation = match (&lost, &gained) {
        (Remainder::Nothing, Remainder::Nothing) => Relation::Equal,
        (Remainder::Nothing, Remainder::Something(..)) => Relation::Wider,
        (Remainder::Something(..), Remainder::Nothing) => Relation::Narrower,
        (Remainder::Something(..), Remainder::Something(..)) => Relation::Neither,
        (Remainder::Unknown(_), _) | (_, Remainder::Unknown(_)) => Relation::Undecided,
    };
    let unsaid = |left: &Remainder, difference: Difference, word: &str| match left {
        Remainder::Something(_, what) if !recorded.contains(&difference) => {
            Some(format!("proved {word}, with no change that says so: {what}"))
        }
        Remainder::Something(..) | Remainder::Nothing | Remainder::Unknown(_) => None,
    };
    let silent = unsaid(&gained, Difference::Gained, "wider").or_else(|| unsaid(&lost, Difference::Lost, "narrower"));
    let undecided = lost.unknown("what is lost").or_else(|| gained.unknown("what is gained"));
    Proof { relation, gained: gained.shown(), lost: lost.shown(), undecided, silent }
}

/// What is lost and what is gained, where an image holds what comes back.
fn differences(asked: &Value, image: &Value, wire: &Value, lens: &Lens) -> Result<(Remainder, Remainder), Undecided> {
    let (before, after) = sides(asked, image)?;
    let judge = validator(wire)?;
    let made = (0..MADE).filter_map(|seed| sample(wire, seed)).filter(|made| judge.is_valid(made));
    let back: Vec<Value> = made.filter_map(|made| lens.decode(made).ok()).collect();
    if let Some(back) = back.iter().find(|back| !after.accepts(back)) {
        return Err(Reason::Image.because(format!("it does not hold {}", shortened(back))));
    }
    let comes_back = |value: &Value| {
        let sent = lens.encode(value.clone()).ok().filter(|sent| judge.is_valid(sent));
        sent.and_then(|sent| lens.decode(sent).ok()).is_some_and(|back| equal(&back, value))
    };
    let lost = remainder(&before, &after, Some(&comes_back));
    if let Remainder::Unknown(why) = &lost
        && why.reason == Reason::Image
    {
        return Err(why.clone());
    }
    let gained = match Search::new(&after, &before, None).try_values(&back) {
        Some(value) => Remainder::Something(Evidence::CameBack, value),
        None => remainder(&after, &before, None),
    };
    Ok((lost, gained))
}

/// One of the two schemas: in canonical form, and as a judge of values.
pub(super) struct ProofSide {
    pub(super) schema: Value,
    form: OnceCell<Result<CanonicalSchema, Undecided>>,
    judge: Validator,
    /// The same in the words that it was written in.
    native: Option<Validator>,
}

/// What one schema accepts and another refuses.
enum Remainder {
    Nothing,
    /// A value, or the schema of such values.
    Something(Evidence, String),
    Unknown(Undecided),
}

/// How it is known that something is left over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The two schemas say so.
    Schemas,
    /// A value of the wire came back as it.
    CameBack,
}

impl Remainder {
    /// What is still known where the image may hold more than comes back.
    fn assuming_upper_bound(self, difference: Difference, why: &Undecided) -> Self {
        match (self, difference) {
            (Self::Nothing, Difference::Lost) | (Self::Something(Evidence::Schemas, _), Difference::Gained) => {
                Self::Unknown(why.clone())
            }
            (known, Difference::Lost | Difference::Gained) => known,
        }
    }

    /// Why it is not known.
    fn unknown(&self, what: &str) -> Option<Undecided> {
        match self {
            Self::Unknown(why) => Some(why.reason.because(format!("{what}: {}", why.detail))),
            Self::Nothing | Self::Something(..) => None,
        }
    }

    fn shown(self) -> Option<String> {
        match self {
            Self::Something(_, what) => Some(what),
            Self::Nothing | Self::Unknown(_) => None,
        }
    }
}

/// Both sides, in words that can be compared.
fn sides(asked: &Value, image: &Value) -> Result<(ProofSide, ProofSide), Undecided> {
    let draft = |why: String| Reason::Draft.because(why);
    let (before, after) = (normalize(asked.clone()).map_err(draft)?, normalize(image.clone()).map_err(draft)?);
    Ok((ProofSide::of(asked, before)?, ProofSide::of(image, after)?))
}

impl ProofSide {
    fn of(native: &Value, schema: Value) -> Result<Self, Undecided> {
        let native = jsonschema::options().should_validate_formats(true).build(native).ok();
        Ok(Self { form: OnceCell::new(), judge: validator(&schema)?, schema, native })
    }

    fn form(&self) -> Result<&CanonicalSchema, &Undecided> {
        self.form.get_or_init(|| form(&self.schema)).as_ref()
    }

    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.judge.is_valid(value)
    }

    /// Whether a value is judged otherwise in the words that the schema was written in.
    pub(super) fn differs(&self, value: &Value) -> bool {
        self.native.as_ref().is_some_and(|native| native.is_valid(value) != self.judge.is_valid(value))
    }
}

/// What the judge reads everything as.
const DRAFT: Draft = Draft::Draft202012;

fn refused(error: &dyn Display) -> Undecided {
    Reason::Refused.because(shortened_text(&error.to_string()))
}

fn validator(schema: &Value) -> Result<Validator, Undecided> {
    let judge = jsonschema::options().with_draft(DRAFT).should_validate_formats(true).build(schema);
    judge.map_err(|error| refused(&error))
}

fn form(schema: &Value) -> Result<CanonicalSchema, Undecided> {
    let form = canonical::options().offline().with_draft(DRAFT).should_validate_formats(true);
    let form = form.canonicalize(schema).map_err(|error| refused(&error))?;
    if let CanonicalView::Raw(raw) = form.view() {
        let at = raw.pointer.unwrap_or_default();
        let what = schema.pointer(&at).map(shortened).unwrap_or_default();
        return Err(Reason::Form.because(format!("{} at `{at}`: {what}", raw.reason.as_str())));
    }
    Ok(form)
}

/// What `all` accepts and `most` refuses: shown by a value, or proved by canonical form. A value that is at hand spares the
/// canonical forms, which may be large.
fn remainder(all: &ProofSide, most: &ProofSide, comes_back: Option<&dyn Fn(&Value) -> bool>) -> Remainder {
    let mut search = Search::new(all, most, comes_back);
    if let Some(value) = search.try_samples(&all.schema) {
        return Remainder::Something(Evidence::Schemas, value);
    }
    let mut leaves = LeafJudge::default();
    if containment::covers(&most.schema, &all.schema, &mut leaves) {
        return Remainder::Nothing;
    }
    if let Some(value) = search.try_values(&leaves.values).or_else(|| search.try_changed()) {
        return Remainder::Something(Evidence::Schemas, value);
    }
    let forms = all.form().and_then(|all| most.form().map(|most| (all, most)));
    let covers = forms
        .map_err(Clone::clone)
        .and_then(|(all, most)| most.covers(all).map_err(|error| Reason::Containment.because(error.to_string())));
    let (covers, why) = match covers {
        Ok(Containment::Yes) => return Remainder::Nothing,
        Ok(covers) => (covers, Reason::Containment.because(leaves.stuck.unwrap_or_default())),
        Err(why) => (Containment::Unknown, why),
    };
    let difference = forms.ok().and_then(|(all, most)| all.subtract(most).ok()).map(|form| form.to_json_schema());
    if let Some(value) = difference.as_ref().and_then(|difference| search.try_samples(difference)) {
        return Remainder::Something(Evidence::Schemas, value);
    }
    match (search.inconsistency(), covers, difference) {
        (Some(odd), _, _) => Remainder::Unknown(odd),
        (None, Containment::No, Some(schema)) => {
            Remainder::Something(Evidence::Schemas, format!("what is valid by {}", shortened(&schema)))
        }
        (None, Containment::No, None) => Remainder::Something(Evidence::Schemas, "no value of it was found".to_owned()),
        (None, Containment::Yes | Containment::Unknown, _) => Remainder::Unknown(why),
    }
}

/// The judge of small parts.
#[derive(Default)]
struct LeafJudge {
    known: HashMap<(String, String), bool>,
    forms: HashMap<String, Option<CanonicalSchema>>,
    /// The first pair that could not be shown and had to be, or else the first that was tried.
    stuck: Option<String>,
    /// Whether that was only tried.
    is_tried: bool,
    /// Values that may tell such pairs apart.
    values: Vec<Value>,
    patterns: HashMap<String, Option<Validator>>,
}

impl LeafJudge {
    /// The canonical form of a schema, made once.
    fn form(&mut self, schema: &Value) -> Option<CanonicalSchema> {
        self.forms.entry(schema.to_string()).or_insert_with(|| form(schema).ok()).clone()
    }

    fn judged(&mut self, outer: &Value, inner: &Value) -> bool {
        if let Some(values) = inner.as_object().and_then(listed) {
            let judges = validator(outer).ok().zip(validator(inner).ok());
            return judges.is_some_and(|(outer, inner)| {
                values.iter().all(|value| outer.is_valid(value) || !inner.is_valid(value))
            });
        }
        let mut covers = |inner: &Value| {
            let covers = self.form(outer).zip(self.form(inner)).map(|(outer, inner)| outer.covers(&inner));
            matches!(covers, Some(Ok(Containment::Yes)))
        };
        let mut told = inner.clone();
        covers(inner) || (told.as_object_mut().and_then(with_lengths).is_some() && covers(&told))
    }
}

impl ContainmentJudge for LeafJudge {
    fn covers(&mut self, outer: &Value, inner: &Value) -> bool {
        let pair = (outer.to_string(), inner.to_string());
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        let judged = self.judged(outer, inner);
        self.known.insert(pair, judged);
        judged
    }

    fn are_disjoint(&mut self, outer: &Value, inner: &Value) -> bool {
        let both = self.form(outer).zip(self.form(inner)).and_then(|(outer, inner)| outer.intersect(&inner).ok());
        both.is_some_and(|both| both.satisfiability() == Satisfiability::No)
    }

    fn matches(&mut self, pattern: &str, key: &str) -> bool {
        let matcher = self
            .patterns
            .entry(pattern.to_owned())
            .or_insert_with(|| jsonschema::options().with_draft(DRAFT).build(&json!({ "pattern": pattern })).ok());
        matcher.as_ref().is_none_or(|matcher| matcher.is_valid(&json!(key)))
    }

    fn record_undecided(&mut self, stuck: &UndecidedPair<'_>) {
        if self.stuck.is_none() || (self.is_tried && !stuck.is_tried) {
            self.stuck = Some(format!("{} in {}", shortened(stuck.inner), shortened(stuck.outer)));
            self.is_tried = stuck.is_tried;
        }
        let judges = validator(stuck.outer).ok().zip(validator(stuck.inner).ok());
        let tells = |value: &Value| {
            judges.as_ref().is_none_or(|(outer, inner)| inner.is_valid(value) && !outer.is_valid(value))
        };
        self.values.extend(values_along(stuck, tells));
    }
}
