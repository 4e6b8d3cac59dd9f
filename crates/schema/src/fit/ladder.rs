//! The ladder: a schema is printed for a rung, again where that did not hold, and for the rung below where it cannot be met.
//! Each attempt has an arena of its own, so that one that is given up gives its memory back.

use super::ambiguity::TaggedBranches;
use super::budget::{self, RootKind};
use super::global_fixes::apply_global_fixes;
use super::optionals_to_require::OptionalsToRequire;
use super::options::{FitOptions, StrictMode};
use super::pending_change::{PendingChange, report_changes};
use super::{AssumeExact, Lowerer, root};
use crate::arena::Arena;
use crate::check::{self, Subject, Violation, first_refusal, is_accepted, is_clean};
use crate::dialect::{Capabilities, Dialect, Slot};
use crate::error::{ReadError, ReadErrorKind};
use crate::json::Json;
use crate::keyword::{KeywordRole, Kw};
use crate::lens::Lens;
use crate::place::Places;
use crate::read::{
    ReadGraph, ReadOptions, Unresolved, has_draft_dependent_keywords, has_dropped_ref_siblings, is_draft_dependent,
    read, remote_references,
};
use crate::step_budget::StepBudget;
use crate::types::Types;
use crate::walk::look_at_subschemas;
use crate::zod;
use polywire_report::{Action, Change, Effect};

/// The result of a fit beside the schema.
pub(super) struct FitOutcome {
    pub(super) changes: Vec<Change>,
    pub(super) strict: bool,
    pub(super) lens: Lens,
}

/// Fits a schema to a dialect, and prints it.
pub(super) fn fit_json<'d, T>(
    json: Json<'d>,
    arena: &'d Arena,
    dialect: &Dialect,
    options: &FitOptions,
    print: impl Fn(&Json<'_>) -> T,
) -> Result<(T, FitOutcome), ReadError> {
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
        fell.push(fallback_change(&contradiction.wanted.code, "", contradiction.kw.name(), &says, rung, next));
        (strict, rung) = (false, next);
    }
    let remote = fetch_remote(&json, arena, options)?;
    let reading = ReadOptions { draft: options.draft, unresolved: options.unresolved };
    if options.unresolved == Unresolved::Refuse {
        read(&json, arena, &Arena::for_graph_of(arena), &remote, &reading)?;
    }
    // What already fits is left alone: the first law then implies the second.
    let kept_keywords = |rung: &Dialect| {
        let is_current = !has_dropped_ref_siblings(&json, options.draft);
        is_current.then(|| kept_keywords(&json, rung, options.slot)).flatten()
    };
    if let Some(kept) = kept_keywords(rung) {
        fell.extend(kept);
        if has_draft_dependent_keywords(&json, options.draft) {
            // They stay, and how they are read is on record.
            let nodes = Arena::for_graph_of(arena);
            let read = read(&json, arena, &nodes, &remote, &reading)?;
            fell.extend(read.changes.into_iter().filter(|change| is_draft_dependent(&change.code)));
        }
        return Ok((print(&json), FitOutcome { changes: fell, strict, lens: Lens::identity() }));
    }
    let nodes = Arena::for_graph_of(arena);
    let read = read(&json, arena, &nodes, &remote, &reading)?;
    let mut config = AttemptConfig::default();
    let work = StepBudget::for_nodes(read.graph.len());
    loop {
        let arena = Arena::for_nodes(read.graph.len());
        let Some(mut attempt_result) = attempt(&read, &arena, rung, options, &mut config, &work) else { continue };
        let next = attempt_result.violation_left.as_ref().and_then(|_| rung.next_rung());
        let next = next.filter(|_| options.strict != StrictMode::Require);
        let (Some(violation), Some(next)) = (&attempt_result.violation_left, next) else {
            // Room is needed for what is told, and for the text.
            let ReadGraph { graph, places, changes, .. } = read;
            drop(graph);
            drop(nodes);
            let reported = attempt_result.report_changes(changes, &places);
            if fell.is_empty() {
                fell = reported;
            } else {
                fell.extend(reported);
            }
            if let Some(violation_left) = attempt_result.violation_left.take() {
                let (json, lens, mut changes) =
                    budget::fall_back_to_any(&violation_left, rung.caps(options.slot), attempt_result.root, &arena);
                fell.append(&mut changes);
                strict = strict && is_accepted(&json, rung, options.slot);
                attempt_result = Attempt { json, lens, ..attempt_result };
            }
            if wants_strict && !strict && options.strict != StrictMode::Off {
                return Ok(retry_strict(attempt_result, fell, (&arena, &work), dialect, options, print));
            }
            return Ok((print(&attempt_result.json), FitOutcome { changes: fell, strict, lens: attempt_result.lens }));
        };
        fell.push(fallback_change(&violation.code, &violation.at, &violation.keyword, &violation.says, rung, next));
        (strict, rung, config) = (false, next, AttemptConfig::default());
        if let Some(kept) = kept_keywords(rung) {
            fell.extend(kept);
            break;
        }
    }
    drop(read);
    drop(nodes);
    Ok((print(&json), FitOutcome { changes: fell, strict, lens: Lens::identity() }))
}

/// The change for a rung that cannot be met.
fn fallback_change(code: &str, at: &str, keyword: &str, says: &str, rung: &Dialect, next: &Dialect) -> Change {
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

/// The record of the keywords that the provider ignores and the model reads, where a schema stays as it is. `None` where something
/// is refused, or is ignored and has an enforced form.
fn kept_keywords(json: &Json<'_>, rung: &Dialect, slot: Slot) -> Option<Vec<Change>> {
    if is_clean(json, rung, slot) {
        return Some(Vec::new());
    }
    let caps = rung.caps(slot);
    if !is_accepted(json, rung, slot)
        || (caps.ignored.has(Kw::ExclusiveMinimum) && has_exclusive_bound_of_integers(json))
    {
        return None;
    }
    let found = check::check_json(json, rung, slot, &Subject::default());
    found.iter().map(|one| kept_keyword(one, caps)).collect()
}

fn kept_keyword(ignored: &Violation, caps: &Capabilities) -> Option<Change> {
    let kw = Kw::of(&ignored.keyword).filter(|kw| caps.ignored.has(*kw) && is_kept_though_ignored(*kw))?;
    let (at, _) = ignored.at.rsplit_once('/')?;
    let effect = if kw.info().role == KeywordRole::Limit { Effect::Wider } else { Effect::Note };
    Some(Change {
        kind: None,
        code: ignored.code.as_str().into(),
        at: at.to_owned(),
        keyword: kw.name().into(),
        action: Action::Kept,
        effect,
        detail: "the provider does not enforce it".into(),
    })
}

/// A constant has an enforced form.
fn is_kept_though_ignored(kw: Kw) -> bool {
    !matches!(kw, Kw::Const | Kw::Enum) && matches!(kw.info().role, KeywordRole::Limit | KeywordRole::Hint)
}

/// An exclusive bound of integers has an enforced form, too.
fn has_exclusive_bound_of_integers(json: &Json<'_>) -> bool {
    let types = json.get(Kw::Type.name()).and_then(Types::stated);
    let is_integer = types.is_some_and(|types| types.and(Types::NUMBER) == Types::INTEGER);
    let mut found =
        is_integer && [Kw::ExclusiveMinimum, Kw::ExclusiveMaximum].iter().any(|kw| json.get(kw.name()).is_some());
    look_at_subschemas(json, &mut |_, inner| found = found || has_exclusive_bound_of_integers(inner));
    found
}

/// What earlier attempts have shown to be necessary.
#[derive(Default)]
pub(super) struct AttemptConfig {
    pub(super) assume_exact: AssumeExact,
    pub(super) samples: AssumeExact,
    pub(super) tagged: TaggedBranches,
    /// The optional properties to make required, because there are too many.
    pub(super) optionals_to_require: OptionalsToRequire,
}

/// The output of one attempt.
struct Attempt<'d> {
    json: Json<'d>,
    lens: Lens,
    edits: Vec<PendingChange<'d>>,
    /// The changes of budgets, with pointers.
    late: Vec<Change>,
    /// A violation that is left.
    violation_left: Option<Violation>,
    root: RootKind,
}

impl Attempt<'_> {
    /// Appends the changes of this attempt to those of reading.
    fn report_changes(&mut self, changes: Vec<Change>, places: &Places<'_>) -> Vec<Change> {
        let mut changes = report_changes(changes, std::mem::take(&mut self.edits), places);
        changes.append(&mut self.late);
        changes
    }
}

/// Emits a schema for a rung. `None` where an assumption was violated: the caller tries again with the new config.
fn attempt<'d>(
    read: &ReadGraph<'_, 'd>,
    arena: &'d Arena,
    rung: &Dialect,
    options: &FitOptions,
    config: &mut AttemptConfig,
    work: &StepBudget,
) -> Option<Attempt<'d>> {
    let mut lowerer = Lowerer::new(read, arena, rung, options, std::mem::take(config), work);
    let (json, lens, holds) = lowerer.run();
    let apart = lowerer.resolve_ambiguity(&lens);
    if !(holds && apart) {
        // What looks alike goes into objects of its own.
        *config = AttemptConfig {
            assume_exact: lowerer.assume_exact,
            samples: lowerer.samples,
            tagged: lowerer.tagged,
            optionals_to_require: lowerer.optionals_to_require,
        };
        return None;
    }
    if let Some((demand, count)) = lowerer.exceeded_budget() {
        let violation_left = check::budget_violation(rung, options.slot, demand, count);
        return Some(Attempt {
            json,
            lens,
            edits: Vec::new(),
            late: Vec::new(),
            violation_left,
            root: lowerer.root_kind(),
        });
    }
    let mut late = Vec::new();
    let mut json = budget::meet_budgets(json, lowerer.deepest, rung, options.slot, arena, &mut late);
    let mut violation_left = None;
    if !is_accepted(&json, rung, options.slot) {
        json = budget::drop_unused_definitions(json, arena);
        json = apply_global_fixes(json, rung, options.slot, arena, &mut late);
        violation_left = first_refusal(&json, rung, options.slot);
    }
    if violation_left.is_some()
        && lowerer.optionals_to_require == OptionalsToRequire::default()
        && let Some(optionals_to_require) =
            OptionalsToRequire::for_budget(&json, lowerer.printed.can_be_required, lowerer.caps)
    {
        *config = AttemptConfig {
            assume_exact: lowerer.assume_exact,
            samples: lowerer.samples,
            tagged: lowerer.tagged,
            optionals_to_require,
        };
        return None;
    }
    // What budgets changed is known by where it was printed.
    for change in &mut late {
        root::rebase(change, &lens);
    }
    let root = if violation_left.is_some() { lowerer.root_kind() } else { RootKind::Any };
    Some(Attempt { json, lens, edits: lowerer.edits(), late, violation_left, root })
}

/// A schema that went down the ladder may fit the upper rung in its new form, which would make fitting it again another
/// thing (law 2). If so, that is the result: it is strict, and its values go through both lenses.
fn retry_strict<T>(
    first: Attempt<'_>,
    mut changes: Vec<Change>,
    (arena, work): (&Arena, &StepBudget),
    dialect: &Dialect,
    options: &FitOptions,
    print: impl Fn(&Json<'_>) -> T,
) -> (T, FitOutcome) {
    let strict = is_accepted(&first.json, dialect, options.slot);
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
    let mut config = AttemptConfig::default();
    while let Some(read) = &read {
        let arena = Arena::for_nodes(read.graph.len());
        let Some(mut second) = attempt(read, &arena, dialect, options, &mut config, work) else { continue };
        if second.violation_left.is_some() {
            break;
        }
        let mut reported = second.report_changes(read.changes.clone(), &read.places);
        for change in &mut reported {
            root::rebase(change, &first.lens);
        }
        changes.append(&mut reported);
        return (print(&second.json), FitOutcome { changes, strict: true, lens: first.lens.then(second.lens) });
    }
    (print(&first.json), FitOutcome { changes, strict, lens: first.lens })
}

/// The documents that the schema refers to by URI, as the caller's resolver gives them.
fn fetch_remote<'d>(
    json: &Json<'_>,
    arena: &'d Arena,
    options: &FitOptions,
) -> Result<Vec<(String, Json<'d>)>, ReadError> {
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
