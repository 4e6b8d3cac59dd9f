//! Owns fitting: a schema said in a dialect, by a fixed order of small rewrites that know no provider. Each rewrite asks the
//! dialect's rows, records what it changed, and adds its part of the lens.

mod array;
mod budget;
mod disjoint;
mod emit;
mod guard;
mod lower;
mod merge;
mod names;
mod null;
mod object;
mod options;
mod reference;
mod root;
mod tell;
mod union;
mod values;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use foldhash::{HashMap, HashSet};
use serde_json::Value;

pub use options::{FitOptions, Open, Spill, StrictMode};

use crate::arena::Arena;
use crate::check::{self, Violation, first_violation, is_clean};
use crate::dialect::{Caps, Demand, Dialect, Slot};
use crate::error::{ReadError, ReadErrorKind};
use crate::graph::{Graph, Node, NodeId, NodeMap, Place};
use crate::json::{Json, Member};
use crate::keyword::Kw;
use crate::lens::{GuardId, Lens, LensError, LensId, Undeclared};
use crate::read::{Read, ReadOptions, Unresolved, read, remote_references};
use crate::report::{Action, Change, Effect};
use crate::types::Types;
use crate::zod;
use budget::RootKind;
use names::Names;
use object::Declared;
use reference::Definition;
use tell::{Boxes, Told};

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

struct Outcome {
    changes: Vec<Change>,
    strict: bool,
    lens: Lens,
}

fn fit_json<'d, T>(
    json: Json<'d>,
    arena: &'d Arena,
    dialect: &Dialect,
    options: &FitOptions,
    print: impl Fn(&Json<'_>) -> T,
) -> Result<(T, Outcome), ReadError> {
    let json = zod::plain(arena.keep(json), arena).unwrap_or(json);
    if !matches!(json, Json::Obj(_) | Json::Bool(_)) {
        return Err(ReadError::new(ReadErrorKind::NotASchema, String::new(), "a schema is an object or a boolean"));
    }
    let mut rung = dialect;
    let mut fell = Vec::new();
    let wants_strict = dialect.strict();
    if wants_strict
        && options.strict == StrictMode::Off
        && let Some(next) = rung.next_rung()
    {
        rung = next;
    }
    let mut strict = wants_strict && options.strict != StrictMode::Off;
    let remote = fetch(&json, arena, options)?;
    let reading = ReadOptions { draft: options.draft, unresolved: options.unresolved };
    if options.unresolved == Unresolved::Refuse {
        read(&json, arena, &remote, &reading)?;
    }
    // What already fits is left alone, to the byte: the first law then implies the second.
    if is_clean(&json, rung, options.slot) {
        return Ok((print(&json), Outcome { changes: fell, strict, lens: Lens::identity() }));
    }
    let mut read = read(&json, arena, &remote, &reading)?;
    let size = read.graph.size();
    loop {
        let mut tried = try_rung(&mut read, arena, rung, options);
        let next = tried.stuck.as_ref().and_then(|_| rung.next_rung());
        let next = next.filter(|_| options.strict != StrictMode::Require);
        let (Some(violation), Some(next)) = (&tried.stuck, next) else {
            // Room is needed for the text.
            drop(read);
            if fell.is_empty() {
                fell = std::mem::take(&mut tried.changes);
            } else {
                fell.append(&mut tried.changes);
            }
            if let Some(stuck) = &tried.stuck {
                let (last, lens, mut changes) = budget::last_resort(stuck, rung.caps(options.slot), tried.root, arena);
                fell.append(&mut changes);
                let strict = strict && is_clean(&last, rung, options.slot);
                return Ok((print(&last), Outcome { changes: fell, strict, lens }));
            }
            if wants_strict && !strict && options.strict != StrictMode::Off {
                return Ok(again_strictly(tried, fell, arena, dialect, options, print));
            }
            return Ok((print(&tried.json), Outcome { changes: fell, strict, lens: tried.lens }));
        };
        fell.push(Change {
            code: violation.code.as_str().into(),
            at: violation.at.clone(),
            keyword: violation.keyword.clone().into(),
            action: Action::FellBack,
            effect: Effect::Note,
            detail: format!("`{}` cannot be met ({}); `{}` is used", rung.id(), violation.says, next.id()).into(),
        });
        read.graph.shrink_to(size);
        strict = false;
        rung = next;
        if is_clean(&json, rung, options.slot) {
            return Ok((print(&json), Outcome { changes: fell, strict: false, lens: Lens::identity() }));
        }
    }
}

/// A schema as one rung of the ladder says it.
struct Tried<'d> {
    json: Json<'d>,
    lens: Lens,
    changes: Vec<Change>,
    /// What the rung does not take of it.
    stuck: Option<Violation>,
    root: RootKind,
}

fn try_rung<'d>(read: &mut Read<'d>, arena: &'d Arena, rung: &Dialect, options: &FitOptions) -> Tried<'d> {
    let size = read.graph.size();
    let (mut trust, mut boxes) = (Trust::Definitions, Boxes::default());
    let (mut lowerer, json, lens) = loop {
        let mut lowerer = Lowerer::new(read, arena, rung, options, trust);
        lowerer.boxes = std::mem::take(&mut boxes);
        let (json, lens, holds) = lowerer.run();
        let apart = lowerer.tells_apart(&lens);
        if holds && apart {
            break (lowerer, json, lens);
        }
        if !holds {
            trust = Trust::Nothing;
        }
        // The same again, with what looks alike in objects of its own.
        boxes = std::mem::take(&mut lowerer.boxes);
        lowerer.graph.shrink_to(size);
    };
    let mut changes = lowerer.told_changes();
    let mut json = budget::meet_budgets(json, lowerer.deepest, rung, options.slot, arena, &mut changes);
    let stuck = if let Some((demand, count)) = lowerer.hopeless() {
        check::overdrawn(rung, options.slot, demand, count)
    } else if is_clean(&json, rung, options.slot) {
        None
    } else {
        json = budget::drop_unused(json, rung, options.slot, arena);
        json = budget::soften_loops(json, rung, options.slot, arena, &mut changes);
        first_violation(&json, rung, options.slot)
    };
    let root = if stuck.is_some() { lowerer.root_kind() } else { RootKind::Any };
    Tried { json, lens, changes, stuck, root }
}

/// A schema that went down the ladder may fit the upper rung in its new form, which would make fitting it again another
/// thing (law 2). If so, that is the result: it is strict, and its values go through both lenses.
fn again_strictly<T>(
    first: Tried<'_>,
    mut changes: Vec<Change>,
    arena: &Arena,
    dialect: &Dialect,
    options: &FitOptions,
    print: impl Fn(&Json<'_>) -> T,
) -> (T, Outcome) {
    if is_clean(&first.json, dialect, options.slot) {
        return (print(&first.json), Outcome { changes, strict: true, lens: first.lens });
    }
    if budget::is_over(&first.json, dialect.caps(options.slot)) {
        return (print(&first.json), Outcome { changes, strict: false, lens: first.lens });
    }
    let reading = ReadOptions { draft: options.draft, unresolved: options.unresolved };
    let second =
        read(&first.json, arena, &[], &reading).ok().map(|mut read| try_rung(&mut read, arena, dialect, options));
    match second.filter(|second| second.stuck.is_none()) {
        Some(mut second) => {
            second.changes.iter_mut().for_each(|change| root::rebase(change, &first.lens));
            changes.append(&mut second.changes);
            let lens = first.lens.then(second.lens);
            (print(&second.json), Outcome { changes, strict: true, lens })
        }
        None => (print(&first.json), Outcome { changes, strict: false, lens: first.lens }),
    }
}

/// The documents that the schema refers to by URI, as the caller's resolver gives them.
fn fetch<'d>(json: &Json<'_>, arena: &'d Arena, options: &FitOptions) -> Result<Vec<(String, Json<'d>)>, ReadError> {
    let Some(resolver) = &options.resolver else { return Ok(Vec::new()) };
    let mut found: Vec<(String, Json<'d>)> = Vec::new();
    let mut wanted = remote_references(json);
    while let Some(uri) = wanted.pop() {
        if found.len() >= 64 || found.iter().any(|(own, _)| *own == uri) {
            continue;
        }
        let Some(document) = resolver.resolve(&uri) else { continue };
        let text = arena.text(&document.to_string());
        let read = Json::from_text(text, options.limits.bounds(), arena).map_err(|error| ReadError::json(&error))?;
        wanted.extend(remote_references(&read));
        found.push((uri, read));
    }
    Ok(found)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Definitions,
    Nothing,
}

/// What was taken for granted of definitions that were not printed yet.
#[derive(Debug, Default)]
struct Relied<'d> {
    /// Shapes in which values are to travel as they are.
    shapes: Vec<LensId>,
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

/// A change whose place is not spelled yet: it may be taken back.
#[derive(Debug)]
struct Edit {
    code: Arc<str>,
    place: Option<Place>,
    keyword: Cow<'static, str>,
    action: Action,
    effect: Effect,
    detail: Cow<'static, str>,
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
    meanings: usize,
}

/// Counts of what was printed.
#[derive(Clone, Copy, Debug, Default)]
struct Printed {
    properties: u64,
    /// Properties that are not required.
    optionals: u64,
}

struct Lowerer<'d, 'c> {
    arena: &'d Arena,
    graph: &'c mut Graph<'d>,
    root: NodeId,
    dialect: &'c Dialect,
    caps: &'c Caps,
    slot: Slot,
    open: Open,
    spill_mode: Spill,
    refs: Refs,
    words: Words,
    /// What reading changed.
    read_changes: &'c [Change],
    changes: Vec<Edit>,
    lens: Lens,
    /// Room for members that was used before.
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
    /// About how many bytes were printed within what is repeated, and how many may be.
    repeated: usize,
    repeated_limit: usize,
    /// How many repeated schemas stand around the node that is being printed.
    repeating: usize,
    flat: HashMap<NodeId, NodeId>,
    /// What merging could not keep.
    merges: Vec<Edit>,
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
    /// Unions whose branches travel in different shapes.
    unions: Vec<Told>,
    boxes: Boxes,
    depth: usize,
    /// Unions around the one whose types are asked for.
    typing: usize,
    /// Objects around the node that is being printed.
    objects: u64,
    /// The most objects that stand around each other.
    deepest: u64,
    /// What was printed so far of what has a budget.
    printed: Printed,
    /// The budgets that cannot be mended, where there is a rung below: what they are of, and when hope is given up.
    budgets: Vec<(Demand, u64)>,
    /// Merging makes no more nodes once there are this many.
    nodes_limit: usize,
    /// How many more nodes are printed before the rest travels as text.
    steps_left: usize,
    root_in_place: bool,
    trust: Trust,
    parts: Wanting,
    relied: Relied<'d>,
    root_lens: LensId,
    root_facts: Vec<String>,
    /// What the description of the node in hand has to say of what was taken from it.
    told: Vec<String>,
}

/// About how many bytes a node takes as text.
const NODE_BYTES: usize = 32;

/// What inlining may add, in bytes, whatever the size of the schema.
const INLINE_BYTES: usize = 24 * 1024;

impl<'d, 'c> Lowerer<'d, 'c> {
    fn new(read: &'c mut Read<'d>, arena: &'d Arena, dialect: &'c Dialect, options: &FitOptions, trust: Trust) -> Self {
        let graph = &mut read.graph;
        let caps = dialect.caps(options.slot);
        let dollar = caps.accepts(Kw::Ref) && caps.accepts(Kw::Defs);
        // The words without a dollar sign are keywords only where a dialect lists them; elsewhere they are unknown keys.
        let open = caps.accepts(Kw::OpenRef) && caps.accepts(Kw::OpenDefs) && !caps.unknown;
        let refs = match (dollar || open, caps.must(Demand::NoCycle)) {
            (false, _) => Refs::Inline,
            (true, true) => Refs::Acyclic,
            (true, false) => Refs::Keep,
        };
        let words = if dollar || !open {
            Words { reference: Kw::Ref, defs: Kw::Defs }
        } else {
            Words { reference: Kw::OpenRef, defs: Kw::OpenDefs }
        };
        let nodes_limit = graph.len() * 3 + 512;
        Self {
            arena,
            graph,
            root: read.root,
            dialect,
            caps,
            slot: options.slot,
            open: options.open,
            spill_mode: options.spill,
            refs,
            words,
            read_changes: &read.changes,
            changes: Vec::new(),
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
            repeated: 0,
            repeated_limit: INLINE_BYTES + nodes_limit * NODE_BYTES,
            repeating: 0,
            flat: HashMap::default(),
            merges: Vec::new(),
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
            unions: Vec::new(),
            boxes: Boxes::default(),
            depth: 0,
            typing: 0,
            objects: 0,
            deepest: 0,
            printed: Printed::default(),
            budgets: if dialect.fallback().is_some() { budget::unmendable(caps) } else { Vec::new() },
            nodes_limit,
            steps_left: nodes_limit * 2,
            root_in_place: false,
            trust,
            parts: Wanting::OneShape,
            relied: Relied::default(),
            root_lens: LensId::SAME,
            root_facts: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Prints the whole schema. What was taken for granted of definitions may turn out not to hold; then it has to be printed
    /// again, without trust.
    fn run(&mut self) -> (Json<'d>, Lens, bool) {
        let lowered = self.lower_root();
        let facts = std::mem::take(&mut self.root_facts);
        let lowered = self.with_facts(lowered, &facts);
        self.lower_queue();
        if self.relied.mistaken {
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
        let closed = self.caps.must(Demand::Closed);
        let undeclared = if closed { Undeclared::Refused } else { Undeclared::AsAsked };
        let lens = std::mem::replace(&mut self.lens, Lens::identity());
        let lens = lens.with_root(lowered.lens).with_undeclared(undeclared).settled();
        let kept = self.relied.shapes.iter().all(|shape| lens.keeps(*shape));
        (json, lens, understood && kept)
    }

    /// Everything that was changed, by reading too.
    fn told_changes(&mut self) -> Vec<Change> {
        let edits = std::mem::take(&mut self.changes).into_iter().chain(std::mem::take(&mut self.merges));
        let graph = &mut *self.graph;
        let told = edits.map(|edit| Change {
            code: edit.code,
            at: graph.pointer(edit.place),
            keyword: edit.keyword,
            action: edit.action,
            effect: edit.effect,
            detail: edit.detail,
        });
        self.read_changes.iter().cloned().chain(told).collect()
    }

    fn so_far(&self) -> SoFar {
        SoFar { changes: self.changes.len(), loosened: self.loosened }
    }

    fn mark(&self) -> Mark {
        Mark {
            so_far: self.so_far(),
            definitions: self.definitions.len(),
            shapes: self.relied.shapes.len(),
            meanings: self.relied.meanings.len(),
        }
    }

    /// Takes back what was printed since a mark, and with it everything whose changes would be missing and the definitions
    /// that nothing else refers to.
    fn take_back(&mut self, mark: Mark) {
        self.changes.truncate(mark.so_far.changes);
        self.relied.shapes.truncate(mark.shapes);
        self.relied.meanings.truncate(mark.meanings);
        self.inlined.clear();
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
            && !self.lens.surely_changes(lens);
        if defined {
            self.relied.shapes.push(lens);
        }
        defined
    }

    /// Says a node that is not in the graph.
    fn lower_merged_plain(&mut self, node: &'d Node<'d>, pos: Pos) -> Lowered<'d> {
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
        let keyword = Cow::Borrowed(kw.name());
        self.changes.push(Edit { code: Arc::clone(code), place, keyword, action, effect, detail: detail.into() });
    }

    /// Records that a key which is no keyword was dropped.
    fn drop_unknown(&mut self, place: Option<Place>, name: &str) {
        let row = self.dialect.refusal_of_unknown(self.slot);
        self.changes.push(Edit {
            code: row.map_or_else(own_code, |row| Arc::clone(&row.code)),
            place,
            keyword: Cow::Owned(name.to_owned()),
            action: Action::Dropped,
            effect: Effect::Note,
            detail: Cow::Borrowed("not a keyword"),
        });
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
