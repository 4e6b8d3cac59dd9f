//! Unions of values as one enum, and what one schema says of the branches that it stands for.

use std::sync::Arc;

use super::Lowerer;
use super::emit::described;
use crate::check::is_null;
use crate::dialect::{Demand, KeyDepth};
use crate::graph::{Annotation, AnnotationKey, Node, NodeId, Union};
use crate::json::{DistinctValues, Json, Member};
use crate::keyword::Kw;
use crate::place::Place;
use crate::types::Types;
use polywire_report::{Action, Effect};

/// What the values of an enum mean is told in no more bytes.
const LONGEST_LEGEND: usize = 4096;

/// Which keys go together is told of no more branches: the text would be too long.
const MOST_GROUPS: usize = 32;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Whether a union of single values has to be one enum.
    pub(super) fn splits_an_enum(&mut self, node: &Node<'g, 'd>) -> bool {
        if !self.caps.has_demand(Demand::OneEnum) {
            return false;
        }
        let [Union { branches, .. }] = node.unions() else { return false };
        let kinds: Vec<NodeId> = branches.iter().copied().filter(|id| self.types_of(*id) != Types::NULL).collect();
        kinds.len() > 1 && self.folded_values(&kinds, false).is_some()
    }

    /// Records that branches which list values become one enum, and returns what it has to say of them.
    fn fold_notes(&mut self, branches: &[NodeId], place: Option<Place>) -> Vec<String> {
        let code = self.demand_code(Demand::OneEnum);
        self.change(&code, place, Kw::AnyOf, Action::Merged, Effect::Same, "its branches list values: one enum");
        let facts = self.told_of_branches(branches, &code, LONGEST_LEGEND);
        for branch in branches {
            let flat = self.flatten(*branch);
            let node = self.graph[flat];
            let (_, sure) = self.values_left(node);
            if !sure {
                let detail = "what else is asked of its values cannot be told, and goes";
                self.change(&code, node.place, Kw::Enum, Action::Rewritten, Effect::Wider, detail);
            }
            let told = told_by(node).map(|(kw, _)| kw);
            for note in node.annotations {
                match note.key {
                    AnnotationKey::Kw(kw) if Some(kw) == told => {}
                    AnnotationKey::Kw(kw) => {
                        self.change(
                            &code,
                            node.place,
                            kw,
                            Action::Dropped,
                            Effect::Note,
                            "a value of an enum has none",
                        );
                    }
                    AnnotationKey::Unknown(name) => self.drop_unknown(node.place, name),
                }
            }
        }
        facts
    }

    /// What is said of a union, and in its description what its branches say of their values.
    pub(super) fn with_legend(&mut self, about: &'g Node<'g, 'd>, branches: &[NodeId]) -> &'g Node<'g, 'd> {
        let facts = self.fold_notes(branches, about.place);
        if facts.is_empty() {
            return about;
        }
        let key = AnnotationKey::Kw(Kw::Description);
        let text =
            about.note(Kw::Description).and_then(Json::as_str).into_iter().chain(facts.iter().map(String::as_str));
        let text = self.arena.str(&text.collect::<Vec<_>>().join(" "));
        let mut annotations: Vec<Annotation<'d>> =
            about.annotations.iter().copied().filter(|note| note.key != key).collect();
        annotations.push(Annotation { key, value: self.arena.keep(text) });
        self.nodes.keep(Node { annotations: self.nodes.list(&annotations), ..*about })
    }

    /// The values of all branches, where every branch is nothing but values.
    pub(super) fn folded_values(&mut self, branches: &[NodeId], null: bool) -> Option<Vec<&'d Json<'d>>> {
        let folds = self.caps.has_demand(Demand::OneEnum);
        if !folds && !self.caps.has_demand(Demand::Typed) && !self.caps.has_demand(Demand::EnumStrings) {
            return None;
        }
        let mut folded: Vec<&'d Json<'d>> = Vec::new();
        let mut distinct = DistinctValues::default();
        for branch in branches {
            let flat = self.flatten(*branch);
            let node = self.graph[flat];
            let described = !folds && node.note(Kw::Description).is_some();
            if node.rules.values().is_none() || (!folds && node.rules.logic().is_some()) || described {
                return None;
            }
            let (values, sure) = self.values_left(node);
            if !sure && !folds {
                return None;
            }
            folded.extend(values.into_iter().filter(|value| distinct.add(**value)));
        }
        if null {
            folded.push(&Json::Null);
        }
        Some(folded)
    }

    /// Printed branches that are nothing but values, one for each type, where values of one type have to be one enum: what was a
    /// union within the union shows only now. The same values are on the wire, in whatever shape they travel.
    pub(super) fn fold_printed(&mut self, branches: &[Json<'d>], place: Option<Place>) -> Option<Vec<Json<'d>>> {
        if branches.len() < 2 || !self.caps.has_demand(Demand::OneEnum) {
            return None;
        }
        let (nulls, listed): (Vec<Json<'d>>, Vec<Json<'d>>) = branches.iter().partition(|branch| is_null(branch));
        let mut kinds: Vec<Listed<'d>> = Vec::new();
        for branch in &listed {
            let listed = Listed::of(branch)?;
            match kinds.iter_mut().find(|own| own.types.intersects(listed.types)) {
                Some(own) => own.join(listed),
                None => kinds.push(listed),
            }
        }
        if kinds.len() == listed.len() {
            return None;
        }
        let code = self.demand_code(Demand::OneEnum);
        self.change(&code, place, Kw::AnyOf, Action::Merged, Effect::Same, "its branches list values: one enum");
        Some(kinds.into_iter().map(|kind| self.put_listed(kind, place, &code)).chain(nulls).collect())
    }

    /// One enum for branches that were printed apart, with what they said of their values.
    fn put_listed(&mut self, kind: Listed<'d>, place: Option<Place>, code: &Arc<str>) -> Json<'d> {
        let mut said: Vec<String> = Vec::new();
        let mut room = if self.spills() { LONGEST_LEGEND } else { 0 };
        for (values, (key, note)) in &kind.annotations {
            let Some(kw) = Kw::of(key) else {
                self.drop_unknown(place, key);
                continue;
            };
            let text = note.as_str().filter(|_| kw == Kw::Description);
            let told = text.map(|text| format!("{}: {text}", names_of(values)));
            let left = told.as_ref().and_then(|told| room.checked_sub(told.len() + 2));
            if let (Some(told), Some(left)) = (told, left) {
                room = left;
                said.push(told);
            } else {
                self.change(code, place, kw, Action::Dropped, Effect::Note, "a value of an enum has none");
            }
        }
        let arena = self.arena;
        let name = Json::Str(kind.types.name().unwrap_or_default());
        let mut members = vec![(Kw::Type.name(), name), (Kw::Enum.name(), arena.arr(&kind.values.into_values()))];
        if kind.null {
            members.push((Kw::Nullable.name(), Json::Bool(true)));
        }
        let one = arena.obj(&members);
        if said.is_empty() { one } else { described(one, arena.str(&format!("({})", said.join("; "))), arena) }
    }

    /// Which keys each branch requires beside what all do, where one schema stands for all of them and cannot say it.
    pub(super) fn told_of_required(&mut self, branches: &[NodeId]) -> Option<String> {
        if branches.len() > MOST_GROUPS {
            return None;
        }
        let mut groups: Vec<&'g [&'d str]> = Vec::with_capacity(branches.len());
        for branch in branches {
            let flat = self.flatten(*branch);
            groups.push(self.graph[flat].rules.object()?.required);
        }
        let common = |name: &&str| groups.iter().all(|group| group.contains(name));
        let mut own: Vec<Vec<&str>> = Vec::with_capacity(groups.len());
        for group in &groups {
            let group: Vec<&str> = group.iter().copied().filter(|name| !common(name)).collect();
            if !own.contains(&group) {
                own.push(group);
            }
        }
        // A key may be called otherwise on the wire.
        let said = |group: &Vec<&str>| {
            !group.is_empty() && group.iter().all(|name| self.caps.accepts_key(name, KeyDepth::Below))
        };
        if own.len() < 2 || !own.iter().all(said) {
            return None;
        }
        let groups: Vec<String> = own.iter().map(|group| group.join(" and ")).collect();
        Some(format!("(at least one of these must be given: {})", groups.join(", or ")))
            .filter(|fact| self.may_tell(fact))
    }

    /// What the branches of a union say of themselves, where one schema stands for all of them, in at most so many bytes.
    pub(super) fn told_of_branches(&mut self, branches: &[NodeId], code: &Arc<str>, most: usize) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        let mut room = if self.spills() { most } else { 0 };
        for branch in branches {
            let flat = self.flatten(*branch);
            let node = self.graph[flat];
            let Some((kw, text)) = told_by(node) else { continue };
            let value = node.rules.values().filter(|values| values.len() == 1).and_then(|values| values.first());
            let told = value.map_or_else(|| text.to_owned(), |value| format!("{value}: {text}"));
            if said.contains(&told) {
                continue;
            }
            if let Some(left) = room.checked_sub(told.len() + 2) {
                room = left;
                said.push(told);
                self.change(code, node.place, kw, Action::Described, Effect::Note, "moved into the one description");
            } else {
                self.change(code, node.place, kw, Action::Dropped, Effect::Note, "one schema stands for all branches");
            }
        }
        if said.is_empty() { Vec::new() } else { vec![format!("({})", said.join("; "))] }
    }
}

/// A printed schema that is nothing but values of one type, or several of them in one.
struct Listed<'d> {
    types: Types,
    values: DistinctValues<'d>,
    /// Whether it says that `null` is taken too.
    null: bool,
    /// Annotations, each with the values that it speaks of.
    annotations: Vec<(&'d [Json<'d>], &'d Member<'d>)>,
}

impl<'d> Listed<'d> {
    fn of(branch: &Json<'d>) -> Option<Self> {
        let members = branch.as_obj()?;
        let listed = branch.get(Kw::Enum.name())?.as_arr()?;
        let types = Types::stated(branch.get(Kw::Type.name())?).filter(|types| types.name().is_some())?;
        let mut null = false;
        let mut annotations = Vec::new();
        for member in members {
            match (Kw::of(member.0), member.1) {
                (Some(Kw::Type | Kw::Enum), _) | (Some(Kw::Nullable), Json::Bool(false)) => {}
                (Some(Kw::Nullable), Json::Bool(true)) => null = true,
                (Some(kw), _) if !kw.is_annotation() => return None,
                (Some(_) | None, _) => annotations.push((listed, member)),
            }
        }
        let mut values = DistinctValues::default();
        for value in listed {
            values.add(*value);
        }
        Some(Self { types, values, null, annotations })
    }

    fn join(&mut self, other: Self) {
        self.types = self.types.or(other.types);
        self.null |= other.null;
        for value in other.values.into_values() {
            self.values.add(value);
        }
        self.annotations.extend(other.annotations);
    }
}

fn names_of(values: &[Json<'_>]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What a branch says of itself.
fn told_by<'d>(node: &Node<'_, 'd>) -> Option<(Kw, &'d str)> {
    [Kw::Description, Kw::Title].into_iter().find_map(|kw| Some((kw, node.note(kw)?.as_str()?)))
}
