//! Fits a schema to a dialect by a fixed order of small rewrites that know no provider. Each rewrite asks the
//! dialect's rows, records what it changed, and adds its part of the lens.

mod ambiguity;
mod annotations;
mod array;
mod budget;
mod disjointness;
mod emit;
mod entries;
mod enum_merge;
mod global_fixes;
mod guard;
mod ladder;
mod lower;
mod merge;
mod null;
mod object;
mod optionals_to_require;
mod options;
mod pending_change;
mod reference;
mod required;
mod root;
mod tags;
mod unevaluated;
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
use crate::names::UniqueNames;
use crate::place::Place;
use crate::read::ReadGraph;
use crate::step_budget::StepBudget;
use crate::types::Types;
use ambiguity::{CarriedUnion, TaggedBranches};
use ladder::{AttemptConfig, fit_json};
use null::explain_marks;
use object::DeclaredProperties;
use optionals_to_require::OptionalsToRequire;
use pending_change::PendingChange;
use polywire_report::{Action, Change, Effect};
use reference::EmittedDefinition;

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
    /// True where the provider's strict flag may be sent with the schema.
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
    /// True where the provider's strict flag may be sent with the schema.
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

/// Rewrites a schema for a dialect, and lists every change.
///
/// ```
/// use polywire_schema::{FitOptions, dialect, fit};
/// let schema = serde_json::json!({"type": "object", "properties": {"unit": {"type": "string"}}});
/// let fitted = fit(&schema, dialect("openai-strict").unwrap(), &FitOptions::default()).unwrap();
/// assert!(fitted.strict());
/// assert_eq!(fitted.schema["required"], serde_json::json!(["unit"]));
/// assert_eq!(fitted.schema["properties"]["unit"]["type"], serde_json::json!(["string", "null"]));
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
enum Position {
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
enum ReferenceMode {
    /// They stay.
    Keep,
    /// They stay where they make no cycle.
    Acyclic,
    /// Each is replaced by its target.
    Inline,
}

/// The words for references.
#[derive(Clone, Copy, Debug)]
struct ReferenceKeywords {
    reference: Kw,
    defs: Kw,
}

/// A printed schema and how its values travel.
#[derive(Clone, Copy, Debug)]
struct Lowered<'d> {
    json: Json<'d>,
    lens: LensId,
    /// True where `null` is accepted but not expressed here: the parent must express it.
    null: bool,
}

/// A target that was printed in the place of a reference.
struct InlinedTarget<'d> {
    lowered: Lowered<'d>,
    size: usize,
    exact: bool,
}

/// Whether definitions that are not emitted yet are assumed to be exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AssumeExact {
    #[default]
    Definitions,
    Nothing,
}

/// The assumptions about definitions that were not emitted yet.
#[derive(Debug, Default)]
struct Assumptions<'d> {
    /// Shapes that must turn out to be the identity.
    shapes: Vec<LensId>,
    /// The same for definitions with sample values in the schema.
    samples: Vec<LensId>,
    /// Pointers to definitions that must turn out to be exact.
    meanings: Vec<&'d str>,
    /// True once an assumption is known to be wrong: this attempt is discarded.
    violated: bool,
}

/// The number of shapes that the parts of a node need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShapeCount {
    One,
    Several,
}

/// The number of changes so far.
#[derive(Clone, Copy, Debug)]
struct Progress {
    changes: usize,
    inexact_merges: usize,
}

/// The state to roll back to.
#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    progress: Progress,
    definitions: usize,
    shapes: usize,
    samples: usize,
    meanings: usize,
    unions: usize,
    inlined: usize,
    printed: EmittedCounts,
    deepest: u64,
    repeated: usize,
    dropped_evaluators: usize,
}

/// Counts of what was printed.
#[derive(Clone, Copy, Debug, Default)]
struct EmittedCounts {
    properties: u64,
    /// Properties that are not required.
    optionals: u64,
    /// Properties that could be required, or are, though they were not asked for.
    can_be_required: OptionalsToRequire,
    enum_values: u64,
}

struct Lowerer<'g, 'd, 'c> {
    /// Where what is printed lies.
    arena: &'d Arena,
    /// Where nodes lie: it is given back before the text is written.
    nodes: &'g Arena,
    read: &'c ReadGraph<'g, 'd>,
    graph: Graph<'g, 'd, 'c>,
    dialect: &'c Dialect,
    caps: &'c Capabilities,
    slot: Slot,
    open: Open,
    spill_mode: Spill,
    ambiguous_null: AmbiguousNull,
    refs: ReferenceMode,
    reference_keywords: ReferenceKeywords,
    changes: Vec<PendingChange<'d>>,
    lens: Lens,
    /// Reusable buffers for members.
    spare_members: Vec<Vec<Member<'d>>>,
    spare_objects: Vec<DeclaredProperties<'d>>,
    definitions: Vec<EmittedDefinition<'d>>,
    defined: HashMap<NodeId, usize>,
    names: UniqueNames,
    pending_definitions: Vec<usize>,
    open_nodes: Vec<NodeId>,
    /// The definition that is emitted next: it is open, but not because it contains itself.
    defining: Option<NodeId>,
    /// Unions that are being merged into one schema.
    open_unions: Vec<NodeId>,
    inlined: HashMap<NodeId, InlinedTarget<'d>>,
    /// The same in the order in which they were printed.
    repeatable: Vec<NodeId>,
    /// Targets whose description was generated, so that a reference cannot replace it.
    has_generated_description: HashSet<NodeId>,
    /// About how many bytes were printed within what is repeated, and how many may be.
    repeated: usize,
    repeated_limit: usize,
    /// The number of repeated schemas around the current node.
    repeating: usize,
    flat: HashMap<NodeId, NodeId>,
    /// Where long chains of bare references end.
    ends: HashMap<NodeId, Option<NodeId>>,
    /// What merging could not keep.
    merges: Vec<PendingChange<'d>>,
    /// Places of which not everything was merged, as that would have been too much.
    unmerged: HashSet<Option<Place>>,
    /// Nodes of which merging did not keep everything.
    inexact: HashSet<NodeId>,
    /// How often such a node was made or used, or something inexact printed again whose changes are on record already.
    inexact_merges: usize,
    flattening: Vec<NodeId>,
    pairs: HashMap<(NodeId, NodeId), NodeId>,
    unions_made: HashMap<Vec<NodeId>, NodeId>,
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
    /// Properties that tell the branches of a union apart.
    tags: HashSet<NodeId>,
    /// How many lists of at most one item were printed with a mark, which the root has to explain.
    marked_lists: usize,
    /// Unions whose branches travel in different shapes.
    unions: Vec<CarriedUnion>,
    tagged: TaggedBranches,
    depth: usize,
    /// The place of the node that is being printed, or the nearest one around it that has one.
    here: Option<Place>,
    /// Unions around the one whose types are asked for.
    union_depth: usize,
    /// Objects around the node that is being printed.
    objects: u64,
    /// The deepest nesting of objects.
    deepest: u64,
    /// What was printed so far of what has a budget.
    printed: EmittedCounts,
    /// The number of dropped keywords that would evaluate parts of the current value.
    dropped_evaluators: usize,
    /// The budgets that no rewrite can meet, where there is a rung below.
    budgets: budget::Budgets,
    /// Merging makes no more nodes once there are this many.
    nodes_limit: usize,
    /// How many more nodes are printed before the rest travels as text.
    steps_left: usize,
    /// What may still be done for this schema, in all attempts together.
    work: &'c StepBudget,
    root_in_place: bool,
    assume_exact: AssumeExact,
    /// The same of definitions whose values have samples.
    samples: AssumeExact,
    optionals_to_require: OptionalsToRequire,
    parts: ShapeCount,
    /// Nodes that were found to hold parts which want the value in different shapes.
    multi_shape: HashSet<NodeId>,
    /// True where all items of a tuple are emitted alike.
    uniform_tuples: HashMap<Vec<NodeId>, bool>,
    assumptions: Assumptions<'d>,
    root_lens: LensId,
    root_facts: Vec<String>,
    /// Which properties of the root must be given together, and of how many such groups.
    root_wants: Vec<(&'static str, Vec<Vec<&'d str>>)>,
    /// Sentences for the description of the current node about dropped constraints.
    pending_facts: Vec<String>,
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
        read: &'c ReadGraph<'g, 'd>,
        arena: &'d Arena,
        dialect: &'c Dialect,
        options: &FitOptions,
        config: AttemptConfig,
        work: &'c StepBudget,
    ) -> Self {
        let caps = dialect.caps(options.slot);
        let typed = |kw: Kw| !caps.has_demand(Demand::Typed) || caps.typed_by.has(kw);
        let dollar = caps.accepts(Kw::Ref) && caps.accepts(Kw::Defs) && typed(Kw::Ref);
        // The words without a dollar sign are keywords only where a dialect lists them; elsewhere they are unknown keys.
        let open = caps.accepts(Kw::BareRef) && caps.accepts(Kw::BareDefs) && !caps.unknown && typed(Kw::BareRef);
        let refs = match (dollar || open, caps.has_demand(Demand::NoCycle)) {
            (false, _) => ReferenceMode::Inline,
            (true, true) => ReferenceMode::Acyclic,
            (true, false) => ReferenceMode::Keep,
        };
        let reference_keywords = if dollar || !open {
            ReferenceKeywords { reference: Kw::Ref, defs: Kw::Defs }
        } else {
            ReferenceKeywords { reference: Kw::BareRef, defs: Kw::BareDefs }
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
            reference_keywords,
            changes: Vec::with_capacity(CHANGES),
            lens: Lens::identity(),
            spare_members: Vec::new(),
            spare_objects: Vec::new(),
            definitions: Vec::new(),
            defined: HashMap::default(),
            names: UniqueNames::default(),
            pending_definitions: Vec::new(),
            open_nodes: Vec::new(),
            defining: None,
            open_unions: Vec::new(),
            inlined: HashMap::default(),
            repeatable: Vec::new(),
            has_generated_description: HashSet::default(),
            repeated: 0,
            repeated_limit: INLINE_BYTES + nodes_limit * NODE_BYTES,
            repeating: 0,
            flat: HashMap::default(),
            ends: HashMap::default(),
            merges: Vec::new(),
            unmerged: HashSet::default(),
            inexact: HashSet::default(),
            inexact_merges: 0,
            flattening: Vec::new(),
            pairs: HashMap::default(),
            unions_made: HashMap::default(),
            bases: HashMap::default(),
            matchers: HashMap::default(),
            types: NodeMap::default(),
            recursive: HashMap::default(),
            searched: (NodeMap::default(), 0),
            guards: HashMap::default(),
            cut_guards: HashMap::default(),
            type_guards: HashMap::default(),
            tags: HashSet::default(),
            marked_lists: 0,
            unions: Vec::new(),
            tagged: config.tagged,
            depth: 0,
            here: None,
            union_depth: 0,
            objects: 0,
            deepest: 0,
            printed: EmittedCounts::default(),
            dropped_evaluators: 0,
            budgets: if dialect.fallback().is_some() { budget::unfixable_budgets(caps) } else { budget::NO_BUDGETS },
            nodes_limit,
            steps_left: nodes_limit * 2,
            work,
            root_in_place: false,
            assume_exact: config.assume_exact,
            samples: config.samples,
            optionals_to_require: config.optionals_to_require,
            parts: ShapeCount::One,
            multi_shape: HashSet::default(),
            uniform_tuples: HashMap::default(),
            assumptions: Assumptions::default(),
            root_lens: LensId::SAME,
            root_facts: Vec::new(),
            root_wants: Vec::new(),
            pending_facts: Vec::new(),
        }
    }

    /// Emits the whole schema; `false` where an assumption turned out to be wrong, and the schema must be emitted again
    /// without it.
    fn run(&mut self) -> (Json<'d>, Lens, bool) {
        let lowered = self.lower_root();
        let facts = self.root_descriptions(lowered.lens);
        let lowered = self.with_facts(lowered, &facts);
        self.lower_queue();
        if self.assumptions.violated {
            self.assume_exact = AssumeExact::Nothing;
            return (lowered.json, Lens::identity(), false);
        }
        let understood = !self.has_violated_assumptions();
        let mut json = lowered.json;
        if !self.definitions.is_empty() {
            json = self.with_definitions(json);
        }
        if let Some(fact) = explain_marks(&json).filter(|_| self.marked_lists > 0) {
            json = self.with_facts(Lowered { json, ..lowered }, &[fact.to_owned()]).json;
        }
        let closed = self.caps.has_demand(Demand::Closed);
        let undeclared = if closed { Undeclared::Refused } else { Undeclared::AsAsked };
        let lens = std::mem::replace(&mut self.lens, Lens::identity());
        let lens = lens.with_root(lowered.lens).with_undeclared(undeclared).simplified();
        let kept = |shapes: &[LensId]| shapes.iter().all(|shape| lens.is_identity_shape(*shape));
        let (meant, shown) = (understood && kept(&self.assumptions.shapes), kept(&self.assumptions.samples));
        if !meant {
            self.assume_exact = AssumeExact::Nothing;
        }
        if !shown {
            self.samples = AssumeExact::Nothing;
        }
        (json, lens, meant && shown)
    }

    /// Puts the definitions where the caller has them, in the caller's order.
    fn with_definitions(&mut self, json: Json<'d>) -> Json<'d> {
        let printed = |own: &mut EmittedDefinition<'d>| Some((own.name, own.json.take()?));
        let mut map: Vec<Member<'d>> = self.definitions.iter_mut().filter_map(printed).collect();
        let source = self.graph[self.read.root].source;
        let maps = [Kw::Defs, Kw::Definitions, Kw::BareDefs];
        let written = source.and_then(|root| maps.iter().find_map(|kw| root.get(kw.name())?.as_obj()));
        if let Some(written) = written {
            let positions: HashMap<&str, usize> =
                written.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
            map.sort_by_key(|(name, _)| positions.get(name).copied().unwrap_or(usize::MAX));
        }
        let json = self.arena.with(json, self.reference_keywords.defs.name(), self.arena.obj(&map));
        let Json::Obj(members) = json else { return json };
        let mut members = members.to_vec();
        emit::sort_like_source(&mut members, source);
        self.arena.obj(&members)
    }

    /// Everything that was changed.
    fn edits(&mut self) -> Vec<PendingChange<'d>> {
        let mut edits = std::mem::take(&mut self.changes);
        edits.append(&mut self.merges);
        edits
    }

    fn progress(&self) -> Progress {
        Progress { changes: self.changes.len(), inexact_merges: self.inexact_merges }
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            progress: self.progress(),
            definitions: self.definitions.len(),
            shapes: self.assumptions.shapes.len(),
            samples: self.assumptions.samples.len(),
            meanings: self.assumptions.meanings.len(),
            unions: self.unions.len(),
            inlined: self.repeatable.len(),
            printed: self.printed,
            deepest: self.deepest,
            repeated: self.repeated,
            dropped_evaluators: self.dropped_evaluators,
        }
    }

    /// Discards what was emitted since a checkpoint, with everything whose changes would be missing and the definitions
    /// that nothing else refers to.
    fn rollback(&mut self, checkpoint: Checkpoint) {
        self.changes.truncate(checkpoint.progress.changes);
        self.assumptions.shapes.truncate(checkpoint.shapes);
        self.assumptions.samples.truncate(checkpoint.samples);
        self.assumptions.meanings.truncate(checkpoint.meanings);
        self.unions.truncate(checkpoint.unions);
        (self.printed, self.deepest, self.repeated) = (checkpoint.printed, checkpoint.deepest, checkpoint.repeated);
        self.dropped_evaluators = checkpoint.dropped_evaluators;
        for taken in self.repeatable.drain(checkpoint.inlined..) {
            self.inlined.remove(&taken);
        }
        self.pending_definitions.retain(|index| *index < checkpoint.definitions);
        for taken in self.definitions.drain(checkpoint.definitions..) {
            self.defined.remove(&taken.node);
            self.names.release(taken.name);
        }
    }

    /// True where a shape is the identity, or is assumed to be.
    fn keeps_values(&mut self, lens: LensId) -> bool {
        if lens.is_same() {
            return true;
        }
        let defined = self.assume_exact == AssumeExact::Definitions
            && (lens == self.root_lens || self.definitions.iter().any(|own| own.lens == lens))
            && !self.lens.is_known_to_change(lens);
        if defined {
            self.assumptions.shapes.push(lens);
        }
        defined
    }

    /// Sample values beside a value with another wire shape would mislead.
    fn shows(&mut self, kw: Kw, lens: LensId) -> bool {
        if lens.is_same() || !matches!(kw, Kw::Default | Kw::Example | Kw::Examples) {
            return true;
        }
        let kept = self.samples == AssumeExact::Definitions && !self.lens.is_known_to_change(lens);
        if kept {
            self.assumptions.samples.push(lens);
        }
        kept
    }

    fn lower_merged_plain(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
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
        self.changes.push(PendingChange { place: place.or(self.here), code, keyword, action, effect, detail });
    }

    fn drop_note(&mut self, place: Option<Place>, keyword: AnnotationKey<'d>, why: &'static str) {
        let (code, detail) = (self.demand_code(Demand::RefAlone), Cow::Borrowed(why));
        self.record_dropped_note(place, code, keyword, detail);
    }

    /// Records that a key which is no keyword was dropped.
    fn drop_unknown(&mut self, place: Option<Place>, name: &'d str) {
        let row = self.dialect.refusal_of_unknown(self.slot);
        let code = row.map_or_else(own_code, |row| Arc::clone(&row.code));
        let (keyword, detail) = (AnnotationKey::Unknown(name), Cow::Borrowed("not a keyword"));
        self.record_dropped_note(place, code, keyword, detail);
    }

    fn record_dropped_note(
        &mut self,
        place: Option<Place>,
        code: Arc<str>,
        keyword: AnnotationKey<'d>,
        detail: Cow<'static, str>,
    ) {
        let (action, effect) = (Action::Dropped, Effect::Note);
        self.changes.push(PendingChange { place, code, keyword, action, effect, detail });
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
