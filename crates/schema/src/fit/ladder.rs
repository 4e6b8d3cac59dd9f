//! The ladder: a schema is printed for a rung, again where that did not hold, and for the rung below where it cannot be met.
//! Each attempt has an arena of its own, so that one that is given up gives its memory back.

use super::budget::{self, RootKind};
use super::edit::{Edit, told};
use super::mend::mended;
use super::options::{FitOptions, StrictMode};
use super::tell::Boxes;
use super::trade::Trade;
use super::{Lowerer, Trust, root};
use crate::arena::Arena;
use crate::check::{self, Violation, first_violation, is_clean};
use crate::dialect::Dialect;
use crate::error::{ReadError, ReadErrorKind};
use crate::json::Json;
use crate::lens::Lens;
use crate::place::Places;
use crate::read::{Read, ReadOptions, Unresolved, has_dropped_ref_siblings, read, remote_references};
use crate::work::Work;
use crate::zod;
use polywire_report::{Action, Change, Effect};

/// What is said of a fitted schema beside the schema.
pub(super) struct Outcome {
    pub(super) changes: Vec<Change>,
    pub(super) strict: bool,
    pub(super) lens: Lens,
}

/// Says a schema in a dialect, and prints it.
pub(super) fn fit_json<'d, T>(
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
    while let (Some(contradiction), Some(next)) = (rung.contradictory_keyword(options.slot), rung.next_rung())
        && options.strict != StrictMode::Require
    {
        let says = format!("`{}` is wanted and refused", contradiction.kw.name());
        fell.push(fall(&contradiction.wanted.code, "", contradiction.kw.name(), &says, rung, next));
        (strict, rung) = (false, next);
    }
    let remote = fetch(&json, arena, options)?;
    let reading = ReadOptions { draft: options.draft, unresolved: options.unresolved };
    if options.unresolved == Unresolved::Refuse {
        read(&json, arena, &Arena::for_graph_of(arena), &remote, &reading)?;
    }
    // What already fits is left alone: the first law then implies the second.
    let stays = |rung: &Dialect| is_clean(&json, rung, options.slot) && !has_dropped_ref_siblings(&json, options.draft);
    if stays(rung) {
        return Ok((print(&json), Outcome { changes: fell, strict, lens: Lens::identity() }));
    }
    let nodes = Arena::for_graph_of(arena);
    let read = read(&json, arena, &nodes, &remote, &reading)?;
    let mut way = Way::default();
    let work = Work::for_nodes(read.graph.len());
    loop {
        let arena = Arena::for_nodes(read.graph.len());
        let Some(mut tried) = attempt(&read, &arena, rung, options, &mut way, &work) else { continue };
        let next = tried.stuck.as_ref().and_then(|_| rung.next_rung());
        let next = next.filter(|_| options.strict != StrictMode::Require);
        let (Some(violation), Some(next)) = (&tried.stuck, next) else {
            // Room is needed for what is told, and for the text.
            let Read { graph, places, changes, .. } = read;
            drop(graph);
            drop(nodes);
            let told = tried.told(changes, &places);
            if fell.is_empty() {
                fell = told;
            } else {
                fell.extend(told);
            }
            if let Some(stuck) = tried.stuck.take() {
                let (json, lens, mut changes) =
                    budget::last_resort(&stuck, rung.caps(options.slot), tried.root, &arena);
                fell.append(&mut changes);
                strict = strict && is_clean(&json, rung, options.slot);
                tried = Tried { json, lens, ..tried };
            }
            if wants_strict && !strict && options.strict != StrictMode::Off {
                return Ok(again_strictly(tried, fell, (&arena, &work), dialect, options, print));
            }
            return Ok((print(&tried.json), Outcome { changes: fell, strict, lens: tried.lens }));
        };
        fell.push(fall(&violation.code, &violation.at, &violation.keyword, &violation.says, rung, next));
        (strict, rung, way) = (false, next, Way::default());
        if stays(rung) {
            break;
        }
    }
    drop(read);
    drop(nodes);
    Ok((print(&json), Outcome { changes: fell, strict, lens: Lens::identity() }))
}

/// The change that tells of a rung that cannot be met.
fn fall(code: &str, at: &str, keyword: &str, says: &str, rung: &Dialect, next: &Dialect) -> Change {
    Change {
        kind: None,
        code: code.into(),
        at: at.to_owned(),
        keyword: keyword.to_owned().into(),
        action: Action::FellBack,
        effect: Effect::Note,
        detail: format!("`{}` cannot be met ({says}); `{}` is used", rung.id(), next.id()).into(),
    }
}

/// How a schema is printed, as earlier attempts have shown that it must be.
#[derive(Default)]
pub(super) struct Way {
    pub(super) trust: Trust,
    pub(super) samples: Trust,
    pub(super) boxes: Boxes,
    /// What has to be required, because too much may be left out.
    pub(super) trade: Trade,
}

/// A schema as one rung of the ladder says it.
struct Tried<'d> {
    json: Json<'d>,
    lens: Lens,
    edits: Vec<Edit<'d>>,
    /// What budgets changed, told already.
    late: Vec<Change>,
    /// What the rung does not take of it.
    stuck: Option<Violation>,
    root: RootKind,
}

impl Tried<'_> {
    /// Everything that was changed, behind what reading changed.
    fn told(&mut self, changes: Vec<Change>, places: &Places<'_>) -> Vec<Change> {
        let mut changes = told(changes, std::mem::take(&mut self.edits), places);
        changes.append(&mut self.late);
        changes
    }
}

/// Prints a schema for a rung. Nothing where what was taken for granted does not hold: it is to be printed again, another way.
fn attempt<'d>(
    read: &Read<'_, 'd>,
    arena: &'d Arena,
    rung: &Dialect,
    options: &FitOptions,
    way: &mut Way,
    work: &Work,
) -> Option<Tried<'d>> {
    let mut lowerer = Lowerer::new(read, arena, rung, options, std::mem::take(way), work);
    let (json, lens, holds) = lowerer.run();
    let apart = lowerer.tells_apart(&lens);
    if !(holds && apart) {
        // What looks alike goes into objects of its own.
        *way = Way { trust: lowerer.trust, samples: lowerer.samples, boxes: lowerer.boxes, trade: lowerer.trade };
        return None;
    }
    if let Some((demand, count)) = lowerer.hopeless() {
        let stuck = check::budget_violation(rung, options.slot, demand, count);
        return Some(Tried { json, lens, edits: Vec::new(), late: Vec::new(), stuck, root: lowerer.root_kind() });
    }
    let mut late = Vec::new();
    let mut json = budget::meet_budgets(json, lowerer.deepest, rung, options.slot, arena, &mut late);
    let mut stuck = None;
    if !is_clean(&json, rung, options.slot) {
        json = budget::drop_unused(json, arena);
        json = mended(json, rung, options.slot, arena, &mut late);
        stuck = first_violation(&json, rung, options.slot);
    }
    if stuck.is_some()
        && lowerer.trade == Trade::default()
        && let Some(trade) = Trade::for_budget(&json, lowerer.printed.tradable, lowerer.caps)
    {
        *way = Way { trust: lowerer.trust, samples: lowerer.samples, boxes: lowerer.boxes, trade };
        return None;
    }
    // What budgets changed is known by where it was printed.
    for change in &mut late {
        root::rebase(change, &lens);
    }
    let root = if stuck.is_some() { lowerer.root_kind() } else { RootKind::Any };
    Some(Tried { json, lens, edits: lowerer.edits(), late, stuck, root })
}

/// A schema that went down the ladder may fit the upper rung in its new form, which would make fitting it again another
/// thing (law 2). If so, that is the result: it is strict, and its values go through both lenses.
fn again_strictly<T>(
    first: Tried<'_>,
    mut changes: Vec<Change>,
    (arena, work): (&Arena, &Work),
    dialect: &Dialect,
    options: &FitOptions,
    print: impl Fn(&Json<'_>) -> T,
) -> (T, Outcome) {
    let strict = is_clean(&first.json, dialect, options.slot);
    let reading = ReadOptions { draft: options.draft, unresolved: options.unresolved };
    let nodes;
    let in_vain = || {
        dialect.contradictory_keyword(options.slot).is_some()
            || budget::is_over(&first.json, dialect.caps(options.slot))
    };
    let read = if strict || in_vain() {
        None
    } else {
        nodes = Arena::for_graph_of(arena);
        read(&first.json, arena, &nodes, &[], &reading).ok()
    };
    let mut way = Way::default();
    while let Some(read) = &read {
        let arena = Arena::for_nodes(read.graph.len());
        let Some(mut second) = attempt(read, &arena, dialect, options, &mut way, work) else { continue };
        if second.stuck.is_some() {
            break;
        }
        let mut told = second.told(read.changes.clone(), &read.places);
        for change in &mut told {
            root::rebase(change, &first.lens);
        }
        changes.append(&mut told);
        return (print(&second.json), Outcome { changes, strict: true, lens: first.lens.then(second.lens) });
    }
    (print(&first.json), Outcome { changes, strict, lens: first.lens })
}

/// The documents that the schema refers to by URI, as the caller's resolver gives them.
fn fetch<'d>(json: &Json<'_>, arena: &'d Arena, options: &FitOptions) -> Result<Vec<(String, Json<'d>)>, ReadError> {
    let Some(resolver) = &options.resolver else { return Ok(Vec::new()) };
    let mut found: Vec<(String, Json<'d>)> = Vec::new();
    let mut wanted = remote_references(json, "");
    while let Some(uri) = wanted.pop() {
        if found.len() >= 64 || found.iter().any(|(own, _)| *own == uri) {
            continue;
        }
        let Some(document) = resolver.resolve(&uri) else { continue };
        let text = arena.text(&document.to_string());
        let read = Json::from_text(text, options.limits.bounds(), arena).map_err(|error| ReadError::json(&error))?;
        wanted.extend(remote_references(&read, &uri));
        found.push((uri, read));
    }
    Ok(found)
}
