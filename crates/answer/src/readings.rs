//! Everything in a text that could be meant: each value, all of them as a list, the text itself, and what stands in a
//! text that was written as JSON.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use foldhash::fast::RandomState;
use serde_json::Value;

use crate::calls;
use crate::options::Options;
use crate::repair::{Cost, MAX_REPAIRS, Repair, RepairKind, Repairs};
use crate::salvage::{
    Candidate, Content, End, Found, MAX_CANDIDATES, Mended, Noted, Others, Outcome, Parser, Place, Salvaged, Source,
    Trial, Whence, Whole, by_preference, find, find_quoted, find_scalar, read_strict, repairs_in, repairs_of,
    surroundings,
};
use crate::schema::Schema;
use crate::shape::{Shapes, Types};
use crate::tags::{Tagged, tagged};
use crate::tree::{Id, Kind, Node, Tree};

/// A value that might be meant.
pub(crate) struct Reading<'t> {
    /// What it was read from: the text, or one inside of it.
    pub(crate) text: &'t str,
    pub(crate) tree: Tree,
    pub(crate) root: Id,
    pub(crate) cost: Cost,
    /// It is used only where the reading before does not fit the schema.
    pub(crate) is_alternative: bool,
    around: Around<'t>,
    inside: Inside,
    /// The liberties by which its text was taken out of another one.
    opened: Option<Rc<[Repair]>>,
}

/// What taking a value out of its text means. Listed for the readings that are judged and for no other: every reading passes over
/// nearly all that the text has.
enum Around<'t> {
    /// A value that stands in a text.
    Of(Rc<Surroundings<'t>>, Range<usize>, Whence),
    Listed(Vec<Repair>),
}

/// What was mended in a value.
enum Inside {
    Noted(Vec<Noted>),
    Listed(Vec<Repair>),
}

/// A text, and what of it may be passed over.
struct Surroundings<'t> {
    text: &'t str,
    thinking: Vec<Range<usize>>,
    others: Others,
}

impl Surroundings<'_> {
    /// The repairs that taking a value out of the text means.
    fn of(&self, span: &Range<usize>, whence: Whence) -> Vec<Repair> {
        let mut repairs = surroundings(self.text, span, whence, &self.thinking, &self.others.passed(span));
        for repair in repairs.iter_mut().filter(|repair| repair.kind == RepairKind::Prose) {
            let words = repair.span.clone().and_then(|span| self.text.get(span));
            if words.is_some_and(calls::is_around) {
                repair.kind = RepairKind::Markup;
            }
        }
        repairs
    }
}

impl<'t> Reading<'t> {
    /// A value that was read, with the repairs that it took.
    fn mended(around: Around<'t>, text: &'t str, mended: Mended, options: &Options) -> Self {
        let kinds = mended.noted.iter().map(|noted| noted.kind);
        let repeated = std::iter::repeat_n(RepairKind::DuplicateKey, mended.tree.repeated(MAX_REPAIRS).len());
        let cost = cost_of(kinds.chain(repeated), options);
        let (tree, root, inside) = (mended.tree, mended.root, Inside::Noted(mended.noted));
        Self { text, tree, root, cost, is_alternative: false, around, inside, opened: None }
    }

    fn listed(text: &'t str, (tree, root): (Tree, Id), cost: Cost, around: Around<'t>, inside: Vec<Repair>) -> Self {
        let inside = Inside::Listed(inside);
        Self { text, tree, root, cost, is_alternative: false, around, inside, opened: None }
    }

    /// Lists what taking the value out of its text took, before its tree is given away.
    pub(crate) fn list(&mut self) {
        if let Around::Of(surroundings, span, whence) = &self.around {
            self.around = Around::Listed(surroundings.of(span, *whence));
        }
        if let Inside::Noted(noted) = &self.inside {
            self.inside = Inside::Listed(repairs_in(&self.tree, noted));
        }
    }

    /// Every liberty, given those that were taken with the value itself.
    pub(crate) fn repairs(mut self, coerced: Vec<Repair>) -> Vec<Repair> {
        self.list();
        let mut repairs = Repairs::default();
        let is_inner = self.opened.is_some();
        repairs.extend(self.opened.iter().flat_map(|opened| opened.iter().cloned()));
        let around = if let Around::Listed(around) = self.around { around } else { Vec::new() };
        let inside = if let Inside::Listed(inside) = self.inside { inside } else { Vec::new() };
        let own = around.into_iter().chain(inside).chain(coerced);
        // The bytes of what was written in another text are none of the text.
        repairs.extend(own.map(|repair| if is_inner { Repair { span: None, ..repair } } else { repair }));
        repairs.into_list()
    }
}

/// A text, and the lists and objects that were found in it.
pub(crate) struct Page<'t> {
    text: &'t str,
    found: Found,
    others: Others,
}

/// A text that was written as JSON, once or several times over.
pub(crate) struct Quoted {
    text: String,
    /// How often it was written as JSON.
    layers: usize,
    span: Range<usize>,
    whence: Whence,
}

impl<'t> Page<'t> {
    pub(crate) fn new(text: &'t str, options: &Options, shapes: Option<&Shapes>) -> Self {
        let found = find(text, options, Trial::Open, shapes);
        let others = Others::new(&found);
        Self { text, found, others }
    }

    /// States that the search for cheaper readings took.
    pub(crate) fn states(&self) -> usize {
        self.found.states
    }

    /// What of the text may be passed over, as far as it is known by now.
    fn surroundings(&self) -> Rc<Surroundings<'t>> {
        let (thinking, others) = (self.found.thinking.clone(), self.others.clone());
        Rc::new(Surroundings { text: self.text, thinking, others })
    }

    /// The text that this one is when it is read as JSON.
    pub(crate) fn quoted(&self) -> Option<Quoted> {
        let Candidate { content, span, whence, .. } = find_quoted(self.text, &self.found.thinking)?;
        let Content::Strict(Value::String(text)) = content else { return None };
        let (text, layers) = unquoted(text);
        Some(Quoted { text, layers: layers + 1, span, whence })
    }

    /// Every reading; of equally good ones the first is meant.
    pub(crate) fn readings(
        &mut self,
        quoted: Option<&'t Quoted>,
        schema: &Schema,
        options: &Options,
    ) -> Vec<Reading<'t>> {
        let mut readings = quoted.map_or_else(Vec::new, |quoted| self.inside(quoted, options, &schema.shapes));
        if let Some(quoted) = quoted.filter(|_| !readings.is_empty()) {
            // Brackets between escaped quotes are those that were read already, seen through their escapes.
            self.found.candidates.retain(|candidate| !quoted.span.contains(&candidate.span.start));
        }
        readings.extend(self.containers(options));
        if let Some(scalar) =
            find_quoted(self.text, &self.found.thinking).or_else(|| find_scalar(self.text, &self.found, options))
        {
            let around = Around::Of(self.surroundings(), scalar.span.clone(), scalar.whence);
            readings.push(Reading::mended(around, self.text, with_spans(self.text, scalar, options), options));
        }
        // A text with a value in it may be the answer where a text is wanted, but never a part of one.
        if !self.text.trim().is_empty() && (readings.is_empty() || schema.shapes.takes_scalar(schema.shapes.root)) {
            let mut whole = whole_text(self.text);
            if schema.shapes.takes(schema.shapes.root, Types::CONTAINER, 8) {
                // Where a list or object would do, a text is what the answer is only if nothing else is.
                whole.cost = whole.cost.plus(Cost::LAST_RESORT);
            }
            readings.insert(0, whole);
        }
        readings
    }

    /// The lists and objects in a text that was written as JSON.
    fn inside(&self, quoted: &'t Quoted, options: &Options, shapes: &Shapes) -> Vec<Reading<'t>> {
        let mut opened = self.surroundings().of(&quoted.span, quoted.whence);
        let encoded = Repair::new(RepairKind::Encoded, "", Some(quoted.span.clone()));
        opened.extend(std::iter::repeat_n(encoded, quoted.layers));
        let opened: Rc<[Repair]> = opened.into();
        let text = quoted.text.as_str();
        let mut readings = match read_strict(text) {
            Whole::Value(Salvaged { value: value @ (Value::Array(_) | Value::Object(_)), span, .. }) => {
                let content = Content::Strict(value);
                let value = Candidate { content, others: Vec::new(), span, whence: Whence::Plain };
                let Mended { tree, root, .. } = with_spans(text, value, options);
                vec![Reading::listed(text, (tree, root), Cost::default(), Around::Listed(Vec::new()), Vec::new())]
            }
            Whole::Value(_) | Whole::No(_) => Page::new(text, options, Some(shapes)).containers(options),
        };
        // Like all that stands around a value, this says nothing about it.
        for reading in &mut readings {
            reading.opened = Some(opened.clone());
        }
        readings
    }

    /// Each list and object, all of them as a list, and the arguments of each call.
    fn containers(&mut self, options: &Options) -> Vec<Reading<'t>> {
        let text = self.text;
        let candidates = std::mem::take(&mut self.found.candidates);
        let several = self.several(&candidates);
        let tagged = tagged(text);
        self.others.add(tagged.iter().map(|tagged| tagged.span.clone()));
        let surroundings = self.surroundings();
        let mut readings: Vec<Reading<'t>> = Vec::new();
        for candidate in by_preference(text, candidates, options) {
            let around = Around::Of(surroundings.clone(), candidate.span.clone(), candidate.whence);
            let draft = candidate.whence == Whence::Draft;
            let (span, whence) = (candidate.span.clone(), candidate.whence);
            let mut candidate = candidate;
            let others = std::mem::take(&mut candidate.others);
            let mut reading = Reading::mended(around, text, with_spans(text, candidate, options), options);
            if draft {
                reading.cost = reading.cost.plus(Cost::of(RepairKind::OtherValue));
            }
            // A dearer reading is used only where the cheapest does not fit the schema.
            let mut cost = reading.cost;
            readings.push(reading);
            for other in others {
                cost = cost.plus(Cost::of(RepairKind::Quote));
                let around = Around::Of(surroundings.clone(), span.clone(), whence);
                readings.push(Reading { cost, is_alternative: true, ..Reading::mended(around, text, other, options) });
            }
        }
        readings.extend(several);
        readings
            .extend(tagged.into_iter().take(MAX_CANDIDATES).map(|call| tagged_reading(call, &surroundings, options)));
        readings
    }

    /// All values of a text as one list.
    fn several(&self, candidates: &[Candidate]) -> Option<Reading<'t>> {
        let shown: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.whence != Whence::Draft).collect();
        let (first, last) = (shown.first()?, shown.last()?);
        if shown.len() < 2 {
            return None;
        }
        let span = first.span.start..last.span.end;
        let around = surroundings(self.text, &span, first.whence, &[], &self.others.passed(&span));
        let mut repairs = Repairs::default();
        let mut items = Vec::with_capacity(shown.len());
        for (index, candidate) in shown.iter().enumerate() {
            items.push(match &candidate.content {
                Content::Strict(value) => value.clone(),
                Content::Mended(mended) => {
                    let inside = repairs_of(mended).into_iter();
                    repairs.extend(inside.map(|repair| Repair { at: format!("/{index}{}", repair.at), ..repair }));
                    mended.tree.value(mended.root)
                }
            });
        }
        let mut tree = Tree::default();
        let root = tree.plant(&Value::Array(items), &(0..0));
        repairs.push(RepairKind::SeveralValues, "", Some(&span));
        let (cost, around) = (Cost::of(RepairKind::SeveralValues), Around::Listed(around));
        Some(Reading::listed(self.text, (tree, root), cost, around, repairs.into_list()))
    }
}

/// What a text is that was written as JSON, and how often it was. Each time takes twice as many backslashes as the last,
/// so that all of them together take no longer than the first.
pub(crate) fn unquoted(mut text: String) -> (String, usize) {
    let mut layers = 0;
    while text.trim_start().starts_with('"') {
        let Whole::Value(whole) = read_strict(&text) else { break };
        let Value::String(inner) = whole.value else { break };
        text = inner;
        layers += 1;
    }
    (text, layers)
}

/// The arguments of a call in tags.
fn tagged_reading<'t>(call: Tagged, around: &Rc<Surroundings<'t>>, options: &Options) -> Reading<'t> {
    let mut tree = Tree::default();
    let root = tree.plant(&call.arguments, &(0..0));
    let mut inside = vec![Repair::new(RepairKind::Markup, "", Some(call.span.clone()))];
    inside.extend(call.repairs);
    let cut = inside.iter().filter(|repair| repair.kind == RepairKind::Truncated);
    let cut: HashSet<&str, RandomState> = cut.map(|repair| repair.at.as_str()).collect();
    for id in tree.children(root).chain([root]).collect::<Vec<Id>>() {
        let complete = !cut.contains(tree.pointer(id).as_str());
        if let Some(node) = tree.get_mut(id) {
            node.complete = complete;
        }
    }
    let cost = cost_of(inside.iter().map(|repair| repair.kind), options);
    let text = around.text;
    let around = Around::Of(around.clone(), call.span, Whence::Plain);
    Reading::listed(text, (tree, root), cost, around, inside)
}

/// What is mended in a value counts. What stands around it says nothing about it, and what is still arriving is not lost.
fn cost_of(inside: impl Iterator<Item = RepairKind>, options: &Options) -> Cost {
    let counted = inside.filter(|kind| !(options.arriving && *kind == RepairKind::Truncated));
    counted.fold(Cost::default(), |cost, kind| cost.plus(Cost::of(kind)))
}

/// The text itself, as if it had been quoted.
fn whole_text(text: &str) -> Reading<'_> {
    let mut tree = Tree::default();
    let root = tree.push(Node::new(Kind::Text(text.to_owned()), 0..text.len()));
    let repairs = vec![Repair::new(RepairKind::Stringified, "", Some(0..text.len()))];
    let cost = Cost::of(RepairKind::Stringified);
    Reading::listed(text, (tree, root), cost, Around::Listed(Vec::new()), repairs)
}

/// A candidate as a tree whose nodes know their bytes.
fn with_spans(text: &str, candidate: Candidate, options: &Options) -> Mended {
    let mut tree = Tree::default();
    let Range { start, end } = candidate.span;
    let value = match candidate.content {
        Content::Mended(mended) => return *mended,
        Content::Strict(Value::String(text)) => {
            let root = tree.push(Node::new(Kind::Text(text), start..end));
            return Mended { tree, root, noted: Vec::new() };
        }
        Content::Strict(value) => value,
    };
    let source = Source::new(text.get(..end).unwrap_or_default(), End::Final);
    let mut parser = Parser::new(start, Place::Top);
    if let (Outcome::Done(_), Some(root)) = (parser.run(&source, options), parser.root)
        && parser.noted.is_empty()
    {
        return Mended { tree: parser.tree, root, noted: Vec::new() };
    }
    let root = tree.plant(&value, &(0..0));
    Mended { tree, root, noted: Vec::new() }
}
