//! Owns fitting: a schema said in a dialect, by a fixed order of small rewrites that know no provider. Each rewrite asks the
//! dialect's rows, records what it changed, and adds its part of the lens.

mod array;
mod budget;
mod disjoint;
mod edit;
mod emit;
mod entries;
mod evaluated;
mod fold;
mod guard;
mod ladder;
mod lower;
mod mend;
mod merge;
mod null;
mod object;
mod options;
mod reference;
mod required;
mod root;
mod tell;
mod trade;
mod union;
mod values;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use foldhash::{HashMap, HashSet};
use serde_json::Value;

pub use options::{AmbiguousNull, FitOptions, Open, Spill, StrictMode};

use crate::arena::Arena;
use crate::dialect::{Capabilities, Demand, Dialect, Slot};
use crate::error::ReadError;
use crate::graph::{AnnotationKey, Graph, Node, NodeId, NodeMap};
use crate::json::{Json, Member};
use crate::keyword::Kw;
use crate::lens::{GuardId, Lens, LensError, LensId, Undeclared};
use crate::names::Names;
use crate::place::Place;
use crate::read::Read;
use crate::types::Types;
use crate::work::Work;
use edit::Edit;
use ladder::{Way, fit_json};
use object::Declared;
use polywire_report::{Action, Change, Effect};
use reference::Definition;
use tell::{Boxes, Told};
use trade::Trade;

/// A fitted schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fitted {
    /// The schema in the dialect.
    pub schema: Value,
    /// Everything that was changed.
    pub changes: Vec<Change>,
    strict: bool,
    lens: Arc<Lens>,
}

impl Fitted {
    /// Whether the provider's strict flag may be sent with the schema.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// How values travel.
    pub fn lens(&self) -> &Lens {
        &self.lens
    }

    /// The same, to be kept without a copy.
    pub fn shared_lens(&self) -> Arc<Lens> {
        Arc::clone(&self.lens)
    }

    /// The caller's value as it travels: for history, examples and tests.
    pub fn encode(&self, value: Value) -> Result<Value, LensError> {
        self.lens.encode(value)
    }

    /// A value from the wire as the caller knows it.
    pub fn decode(&self, value: Value) -> Result<Value, LensError> {
        self.lens.decode(value)
    }
}

/// A fitted schema as JSON text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FittedText {
    /// The schema in the dialect.
    pub schema: String,
    /// Everything that was changed.
    pub changes: Vec<Change>,
    strict: bool,
    lens: Lens,
}

impl FittedText {
    /// Whether the provider's strict flag may be sent with the schema.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// How values travel.
    pub fn lens(&self) -> &Lens {
        &self.lens
    }

    /// The caller's value as it travels: for history, examples and tests.
    pub fn encode(&self, value: Value) -> Result<Value, LensError> {
        self.lens.encode(value)
    }

    /// A value from the wire as the caller knows it.
    pub fn decode(&self, value: Value) -> Result<Value, LensError> {
        self.lens.decode(value)
    }
}

/// Says a schema in a dialect, and lists everything that had to give.
///
/// ```
/// use polywire_schema::{FitOptions, dialect, fit};
/// let schema = serde_json::json!({"type": "object", "properties": {"unit": {"type": "string"}}});
/// let fitted = fit(&schema, dialect("openai-strict").unwrap(), &FitOptions::default()).unwrap();
/// assert!(fitted.strict());
/// assert_eq!(fitted.schema["required"], serde_json::json!(["unit"]));
/// assert_eq!(fitted.schema["properties"]["unit"]["anyOf"][1]["type"], "null");
/// ```
pub fn fit(schema: &Value, dialect: &Dialect, options: &FitOptions) -> Result<Fitted, ReadError> {
    let arena = Arena::default();
    let json = Json::from_value(schema, options.limits.bounds(), &arena).map_err(|error| ReadError::json(&error))?;
    let print = |json: &Json<'_>| json.to_value();
    fit_json(json, &arena, dialect, options, print).map(|(schema, out)| Fitted {
        schema,
        changes: out.changes,
        strict: out.strict,
        lens: Arc::new(out.lens),
    })
}

/// [`fit`] for the schema of a type.
#[cfg(feature = "schemars")]
pub fn fit_type<T: schemars::JsonSchema>(dialect: &Dialect, options: &FitOptions) -> Result<Fitted, ReadError> {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    fit(schema.as_value(), dialect, options)
}

/// [`fit`] from text to text.
pub fn fit_text(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<FittedText, ReadError> {
    let arena = Arena::for_text(text.len());
    let json = Json::from_text(text, options.limits.bounds(), &arena).map_err(|error| ReadError::json(&error))?;
    let print = |json: &Json<'_>| {
        let mut out = String::with_capacity(text.len() + text.len() / 2);
        json.write_again(text, &mut out);
        out
    };
    fit_json(json, &arena, dialect, options, print).map(|(schema, out)| FittedText {
        schema,
        changes: out.changes,
        strict: out.strict,
        lens: out.lens,
    })
}

/// Where a schema is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pos {
    /// At the root.
    Root,
    /// As a property, which may be left out.
    Property,
    /// As a branch of a union.
    Branch,
    /// Anywhere else.
    Other,
}

/// What becomes of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refs {
    /// They stay.
    Keep,
    /// They stay where they make no loop.
    Acyclic,
    /// Each is replaced by its target.
    Inline,
}

/// The words for references.
#[derive(Clone, Copy, Debug)]
struct Words {
    reference: Kw,
    defs: Kw,
}

/// A printed schema and how its values travel.
#[derive(Clone, Copy, Debug)]
struct Lowered<'d> {
    json: Json<'d>,
    lens: LensId,
    /// `null` was accepted and could not be said; the parent must.
    null: bool,
}

/// A target that was printed in the place of a reference.
struct Inlined<'d> {
    lowered: Lowered<'d>,
    size: usize,
    /// Whether it accepts just what the caller's schema does.
    exact: bool,
}

/// Whether a definition that is not printed yet is taken to be what the caller's schema says, to the letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    #[default]
    Definitions,
    Nothing,
}

/// What was taken for granted of definitions that were not printed yet.
#[derive(Debug, Default)]
struct Relied<'d> {
    /// Shapes in which values are to travel as they are.
    shapes: Vec<LensId>,
    /// Those in which samples of values are to, which stand in the schema.
    samples: Vec<LensId>,
    /// Pointers to what is to accept exactly what the caller's schema does.
    meanings: Vec<&'d str>,
    /// Whether some of it is known not to hold: nothing that is printed counts.
    mistaken: bool,
}

/// In how many shapes the parts of what is printed want the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanting {
    OneShape,
    Several,
}

/// How much was changed.
#[derive(Clone, Copy, Debug)]
struct SoFar {
    changes: usize,
    loosened: usize,
}

/// How far printing had come, for taking back what was printed since.
#[derive(Clone, Copy, Debug)]
struct Mark {
    so_far: SoFar,
    definitions: usize,
    shapes: usize,
    samples: usize,
    meanings: usize,
    unions: usize,
    inlined: usize,
    printed: Printed,
    deepest: u64,
    repeated: usize,
    unheard: usize,
}

/// Counts of what was printed.
#[derive(Clone, Copy, Debug, Default)]
struct Printed {
    properties: u64,
    /// Properties that are not required.
    optionals: u64,
    /// Properties that could be required, or are, though they were not asked for.
    tradable: Trade,
    enum_values: u64,
}

struct Lowerer<'g, 'd, 'c> {
    /// Where what is printed lies.
    arena: &'d Arena,
    /// Where nodes lie: it is given back before the text is written.
    nodes: &'g Arena,
    read: &'c Read<'g, 'd>,
    graph: Graph<'g, 'd, 'c>,
    dialect: &'c Dialect,
    caps: &'c Capabilities,
    slot: Slot,
    open: Open,
    spill_mode: Spill,
    ambiguous_null: AmbiguousNull,
    refs: Refs,
    words: Words,
    changes: Vec<Edit<'d>>,
    lens: Lens,
    /// Room for members that was used before, and is not too large to be kept.
    spare: Vec<Vec<Member<'d>>>,
    spare_objects: Vec<Declared<'d>>,
    definitions: Vec<Definition<'d>>,
    defined: HashMap<NodeId, usize>,
    names: Names,
    queue: Vec<usize>,
    opened: Vec<NodeId>,
    /// The definition that is printed next: it stands on the list of opened ones, but not because it contains itself.
    defining: Option<NodeId>,
    /// Unions that are being merged into one schema.
    joining: Vec<NodeId>,
    inlined: HashMap<NodeId, Inlined<'d>>,
    /// The same in the order in which they were printed.
    repeatable: Vec<NodeId>,
    /// Targets that say more of themselves than what they were given to say, so that no other description fits.
    outspoken: HashSet<NodeId>,
    /// About how many bytes were printed within what is repeated, and how many may be.
    repeated: usize,
    repeated_limit: usize,
    /// How many repeated schemas stand around the node that is being printed.
    repeating: usize,
    flat: HashMap<NodeId, NodeId>,
    /// Where long chains of bare references end.
    ends: HashMap<NodeId, Option<NodeId>>,
    /// What merging could not keep.
    merges: Vec<Edit<'d>>,
    /// Places of which not everything was merged, as that would have been too much.
    unmerged: HashSet<Option<Place>>,
    /// Nodes of which merging did not keep everything.
    loose: HashSet<NodeId>,
    /// How often such a node was made or used, or something inexact printed again whose changes are on record already.
    loosened: usize,
    flattening: Vec<NodeId>,
    pairs: HashMap<(NodeId, NodeId), NodeId>,
    eithers: HashMap<Vec<NodeId>, NodeId>,
    bases: HashMap<NodeId, NodeId>,
    matchers: HashMap<String, Option<regex::Regex>>,
    types: NodeMap<Types>,
    recursive: HashMap<NodeId, bool>,
    /// The last search that came by each node, and how many there were.
    searched: (NodeMap<u32>, u32),
    guards: HashMap<NodeId, GuardId>,
    /// Guards of what is too deep to be asked.
    cut_guards: HashMap<NodeId, GuardId>,
    type_guards: HashMap<Option<Types>, GuardId>,
    /// Unions whose branches travel in different shapes.
    unions: Vec<Told>,
    boxes: Boxes,
    depth: usize,
    /// The place of the node that is being printed, or the nearest one around it that has one.
    here: Option<Place>,
    /// Unions around the one whose types are asked for.
    typing: usize,
    /// Objects around the node that is being printed.
    objects: u64,
    /// The most objects that stand around each other.
    deepest: u64,
    /// What was printed so far of what has a budget.
    printed: Printed,
    /// How much could not be said that evaluates parts of the value in hand.
    unheard: usize,
    /// The budgets that cannot be mended, where there is a rung below.
    budgets: budget::Budgets,
    /// Merging makes no more nodes once there are this many.
    nodes_limit: usize,
    /// How many more nodes are printed before the rest travels as text.
    steps_left: usize,
    /// What may still be done for this schema, in all attempts together.
    work: &'c Work,
    root_in_place: bool,
    trust: Trust,
    /// The same of definitions whose values have samples.
    samples: Trust,
    trade: Trade,
    parts: Wanting,
    /// Nodes that were found to hold parts which want the value in different shapes.
    torn: HashSet<NodeId>,
    /// Whether the places of a tuple were found to be alike.
    uniform_tuples: HashMap<Vec<NodeId>, bool>,
    relied: Relied<'d>,
    root_lens: LensId,
    root_facts: Vec<String>,
    /// Which properties of the root must be given together, and of how many such groups.
    root_wants: Vec<(&'static str, Vec<Vec<&'d str>>)>,
    /// What the description of the node in hand has to say of what was taken from it.
    told: Vec<String>,
}

/// About how many bytes a node takes as text.
const NODE_BYTES: usize = 32;

/// Most schemas are changed no more often.
const CHANGES: usize = 8;

/// Room for so many members or properties is kept for the next sheet or object.
const SPARE_ROOM: usize = 1024;

/// What inlining may add, in bytes, whatever the size of the schema.
const INLINE_BYTES: usize = 24 * 1024;

impl<'g, 'd, 'c> Lowerer<'g, 'd, 'c> {
    fn new(
        read: &'c Read<'g, 'd>,
        arena: &'d Arena,
        dialect: &'c Dialect,
        options: &FitOptions,
        way: Way,
        work: &'c Work,
    ) -> Self {
        let caps = dialect.caps(options.slot);
        let typed = |kw: Kw| !caps.has_demand(Demand::Typed) || caps.typed_by.has(kw);
        let dollar = caps.accepts(Kw::Ref) && caps.accepts(Kw::Defs) && typed(Kw::Ref);
        // The words without a dollar sign are keywords only where a dialect lists them; elsewhere they are unknown keys.
        let open = caps.accepts(Kw::BareRef) && caps.accepts(Kw::BareDefs) && !caps.unknown && typed(Kw::BareRef);
        let refs = match (dollar || open, caps.has_demand(Demand::NoCycle)) {
            (false, _) => Refs::Inline,
            (true, true) => Refs::Acyclic,
            (true, false) => Refs::Keep,
        };
        let words = if dollar || !open {
            Words { reference: Kw::Ref, defs: Kw::Defs }
        } else {
            Words { reference: Kw::BareRef, defs: Kw::BareDefs }
        };
        let nodes_limit = read.graph.len() * 3 + 512;
        Self {
            arena,
            nodes: read.graph.arena(),
            read,
            graph: read.graph.extend_graph(),
            dialect,
            caps,
            slot: options.slot,
            open: options.open,
            spill_mode: options.spill,
            ambiguous_null: options.ambiguous_null,
            refs,
            words,
            changes: Vec::with_capacity(CHANGES),
            lens: Lens::identity(),
            spare: Vec::new(),
            spare_objects: Vec::new(),
            definitions: Vec::new(),
            defined: HashMap::default(),
            names: Names::default(),
            queue: Vec::new(),
            opened: Vec::new(),
            defining: None,
            joining: Vec::new(),
            inlined: HashMap::default(),
            repeatable: Vec::new(),
            outspoken: HashSet::default(),
            repeated: 0,
            repeated_limit: INLINE_BYTES + nodes_limit * NODE_BYTES,
            repeating: 0,
            flat: HashMap::default(),
            ends: HashMap::default(),
            merges: Vec::new(),
            unmerged: HashSet::default(),
            loose: HashSet::default(),
            loosened: 0,
            flattening: Vec::new(),
            pairs: HashMap::default(),
            eithers: HashMap::default(),
            bases: HashMap::default(),
            matchers: HashMap::default(),
            types: NodeMap::default(),
            recursive: HashMap::default(),
            searched: (NodeMap::default(), 0),
            guards: HashMap::default(),
            cut_guards: HashMap::default(),
            type_guards: HashMap::default(),
            unions: Vec::new(),
            boxes: way.boxes,
            depth: 0,
            here: None,
            typing: 0,
            objects: 0,
            deepest: 0,
            printed: Printed::default(),
            unheard: 0,
            budgets: if dialect.fallback().is_some() { budget::unmendable(caps) } else { budget::ENDLESS },
            nodes_limit,
            steps_left: nodes_limit * 2,
            work,
            root_in_place: false,
            trust: way.trust,
            samples: way.samples,
            trade: way.trade,
            parts: Wanting::OneShape,
            torn: HashSet::default(),
            uniform_tuples: HashMap::default(),
            relied: Relied::default(),
            root_lens: LensId::SAME,
            root_facts: Vec::new(),
            root_wants: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Prints the whole schema. What was taken for granted of definitions may turn out not to hold; then it has to be printed
    /// again, without the trust that is gone by then.
    fn run(&mut self) -> (Json<'d>, Lens, bool) {
        let lowered = self.lower_root();
        let facts = self.told_of_root(lowered.lens);
        let lowered = self.with_facts(lowered, &facts);
        self.lower_queue();
        if self.relied.mistaken {
            self.trust = Trust::Nothing;
            return (lowered.json, Lens::identity(), false);
        }
        let understood = !self.misunderstood();
        let mut json = lowered.json;
        if !self.definitions.is_empty() {
            let arena = self.arena;
            let printed = |own: &mut Definition<'d>| Some((own.name, own.json.take()?));
            let map: Vec<Member<'d>> = self.definitions.iter_mut().filter_map(printed).collect();
            json = arena.with(json, self.words.defs.name(), arena.obj(&map));
        }
        let closed = self.caps.has_demand(Demand::Closed);
        let undeclared = if closed { Undeclared::Refused } else { Undeclared::AsAsked };
        let lens = std::mem::replace(&mut self.lens, Lens::identity());
        let lens = lens.with_root(lowered.lens).with_undeclared(undeclared).simplified();
        let kept = |shapes: &[LensId]| shapes.iter().all(|shape| lens.is_identity_shape(*shape));
        let (meant, shown) = (understood && kept(&self.relied.shapes), kept(&self.relied.samples));
        if !meant {
            self.trust = Trust::Nothing;
        }
        if !shown {
            self.samples = Trust::Nothing;
        }
        (json, lens, meant && shown)
    }

    /// Everything that was changed.
    fn edits(&mut self) -> Vec<Edit<'d>> {
        let mut edits = std::mem::take(&mut self.changes);
        edits.append(&mut self.merges);
        edits
    }

    fn so_far(&self) -> SoFar {
        SoFar { changes: self.changes.len(), loosened: self.loosened }
    }

    fn mark(&self) -> Mark {
        Mark {
            so_far: self.so_far(),
            definitions: self.definitions.len(),
            shapes: self.relied.shapes.len(),
            samples: self.relied.samples.len(),
            meanings: self.relied.meanings.len(),
            unions: self.unions.len(),
            inlined: self.repeatable.len(),
            printed: self.printed,
            deepest: self.deepest,
            repeated: self.repeated,
            unheard: self.unheard,
        }
    }

    /// Takes back what was printed since a mark, and with it everything whose changes would be missing and the definitions
    /// that nothing else refers to.
    fn take_back(&mut self, mark: Mark) {
        self.changes.truncate(mark.so_far.changes);
        self.relied.shapes.truncate(mark.shapes);
        self.relied.samples.truncate(mark.samples);
        self.relied.meanings.truncate(mark.meanings);
        self.unions.truncate(mark.unions);
        (self.printed, self.deepest, self.repeated) = (mark.printed, mark.deepest, mark.repeated);
        self.unheard = mark.unheard;
        for taken in self.repeatable.drain(mark.inlined..) {
            self.inlined.remove(&taken);
        }
        self.queue.retain(|index| *index < mark.definitions);
        for taken in self.definitions.drain(mark.definitions..) {
            self.defined.remove(&taken.node);
            self.names.release(taken.name);
        }
    }

    /// Whether values travel as they are in a shape, as far as is known.
    fn keeps_values(&mut self, lens: LensId) -> bool {
        if lens.is_same() {
            return true;
        }
        let defined = self.trust == Trust::Definitions
            && (lens == self.root_lens || self.definitions.iter().any(|own| own.lens == lens))
            && !self.lens.is_known_to_change(lens);
        if defined {
            self.relied.shapes.push(lens);
        }
        defined
    }

    /// Whether an annotation may stand beside what travels in a shape: a sample of a value that travels otherwise would mislead.
    fn shows(&mut self, kw: Kw, lens: LensId) -> bool {
        if lens.is_same() || !matches!(kw, Kw::Default | Kw::Example | Kw::Examples) {
            return true;
        }
        let kept = self.samples == Trust::Definitions && !self.lens.is_known_to_change(lens);
        if kept {
            self.relied.samples.push(lens);
        }
        kept
    }

    /// Says a node that is not in the graph.
    fn lower_merged_plain(&mut self, node: &'g Node<'g, 'd>, pos: Pos) -> Lowered<'d> {
        let id = self.graph.add(*node);
        self.lower(id, pos)
    }

    fn change(
        &mut self,
        code: &Arc<str>,
        place: Option<Place>,
        kw: Kw,
        action: Action,
        effect: Effect,
        detail: impl Into<Cow<'static, str>>,
    ) {
        let (code, keyword, detail) = (Arc::clone(code), AnnotationKey::Kw(kw), detail.into());
        // What is made up here stands for what is being printed.
        self.changes.push(Edit { place: place.or(self.here), code, keyword, action, effect, detail });
    }

    /// Records that an annotation may not stand beside a reference.
    fn drop_note(&mut self, place: Option<Place>, keyword: AnnotationKey<'d>, why: &'static str) {
        let (code, detail) = (self.demand_code(Demand::RefAlone), Cow::Borrowed(why));
        self.changes.push(Edit { place, code, keyword, action: Action::Dropped, effect: Effect::Note, detail });
    }

    /// Records that a key which is no keyword was dropped.
    fn drop_unknown(&mut self, place: Option<Place>, name: &'d str) {
        let row = self.dialect.refusal_of_unknown(self.slot);
        let code = row.map_or_else(own_code, |row| Arc::clone(&row.code));
        let (keyword, detail) = (AnnotationKey::Unknown(name), Cow::Borrowed("not a keyword"));
        self.changes.push(Edit { place, code, keyword, action: Action::Dropped, effect: Effect::Note, detail });
    }

    /// The code of the row that refuses a keyword.
    fn refusal_code(&self, kw: Kw) -> Arc<str> {
        self.dialect.refusal(kw, self.slot).map_or_else(own_code, |row| Arc::clone(&row.code))
    }

    /// The code of the row with a demand.
    fn demand_code(&self, demand: Demand) -> Arc<str> {
        self.caps.code(demand).map_or_else(own_code, Arc::clone)
    }
}

/// The code of what no row of the dialect asked for.
fn own_code() -> Arc<str> {
    static CODE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("FIT"));
    Arc::clone(&CODE)
}
