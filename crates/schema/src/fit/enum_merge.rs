//! Merges unions of values into one enum, and collects the descriptions of merged branches.

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

/// The limit for descriptions of enum values.
const MAX_LEGEND_BYTES: usize = 4096;

/// The limit of branches whose keys are described.
const MAX_REQUIRED_GROUPS: usize = 32;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    pub(super) fn must_merge_enum(&mut self, node: &Node<'g, 'd>) -> bool {
        if !self.caps.has_demand(Demand::OneEnum) {
            return false;
        }
        let [Union { branches, .. }] = node.unions() else { return false };
        let kinds: Vec<NodeId> = branches.iter().copied().filter(|id| self.types_of(*id) != Types::NULL).collect();
        kinds.len() > 1 && self.folded_values(&kinds, false).is_some()
    }

    /// Records the merge of branches into one enum, and returns their descriptions.
    fn merge_enum_descriptions(&mut self, branches: &[NodeId], place: Option<Place>) -> Vec<String> {
        let code = self.demand_code(Demand::OneEnum);
        self.change(&code, place, Kw::AnyOf, Action::Merged, Effect::Same, "its branches list values: one enum");
        let facts = self.branch_descriptions(branches, &code, MAX_LEGEND_BYTES);
        for branch in branches {
            let flat = self.flatten(*branch);
            let node = self.graph[flat];
            let (_, sure) = self.values_left(node);
            if !sure {
                let detail = "what else is asked of its values cannot be told, and goes";
                self.change(&code, node.place, Kw::Enum, Action::Rewritten, Effect::Wider, detail);
            }
            let described_keyword = own_description(node).map(|(kw, _)| kw);
            for note in node.annotations {
                match note.key {
                    AnnotationKey::Kw(kw) if Some(kw) == described_keyword => {}
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

    /// The annotations of a union, with the descriptions of its values in the description.
    pub(super) fn with_value_descriptions(&mut self, about: &'g Node<'g, 'd>, branches: &[NodeId]) -> &'g Node<'g, 'd> {
        let facts = self.merge_enum_descriptions(branches, about.place);
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
        let mut kinds: Vec<EnumBranch<'d>> = Vec::new();
        for branch in &listed {
            let listed = EnumBranch::of(branch)?;
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
        Some(kinds.into_iter().map(|kind| self.emit_enum(kind, place, &code)).chain(nulls).collect())
    }

    /// One enum for branches that were emitted separately, with their descriptions.
    fn emit_enum(&mut self, kind: EnumBranch<'d>, place: Option<Place>, code: &Arc<str>) -> Json<'d> {
        let mut descriptions: Vec<String> = Vec::new();
        let mut room = if self.spills() { MAX_LEGEND_BYTES } else { 0 };
        for (values, (key, note)) in &kind.annotations {
            let Some(kw) = Kw::of(key) else {
                self.drop_unknown(place, key);
                continue;
            };
            let text = note.as_str().filter(|_| kw == Kw::Description);
            let described_text = text.map(|text| format!("{}: {text}", names_of(values)));
            let left = described_text.as_ref().and_then(|described_text| room.checked_sub(described_text.len() + 2));
            if let (Some(described_text), Some(left)) = (described_text, left) {
                room = left;
                descriptions.push(described_text);
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
        if descriptions.is_empty() {
            one
        } else {
            described(one, arena.str(&format!("({})", descriptions.join("; "))), arena)
        }
    }

    /// Lists the keys of each branch under the constant that names the branch: "card: last4, exp; wire: iban, bic".
    pub(super) fn describe_tagged_branches(&mut self, branches: &[NodeId]) -> Option<String> {
        if branches.len() > MAX_REQUIRED_GROUPS {
            return None;
        }
        let mut groups: Vec<(&'d Json<'d>, Vec<&'d str>)> = Vec::with_capacity(branches.len());
        for branch in branches {
            let flat = self.flatten(*branch);
            let node = self.graph[flat];
            if node.note(Kw::Description).is_some() {
                return None;
            }
            let properties = node.rules.object()?.properties;
            let tag = properties.iter().find_map(|(_, id)| self.constant(*id))?;
            if groups.iter().any(|(other, _)| other.same(tag)) {
                return None;
            }
            groups.push((tag, properties.iter().map(|(key, _)| *key).collect()));
        }
        let is_common = |key: &str| groups.iter().all(|(_, keys)| keys.contains(&key));
        let describe = |(tag, keys): &(&Json<'_>, Vec<&str>)| {
            let own: Vec<&str> = keys.iter().copied().filter(|key| !is_common(key)).collect();
            let own = if own.is_empty() { "nothing more".to_owned() } else { own.join(", ") };
            format!("{}: {own}", tag.as_str().map_or_else(|| tag.to_string(), str::to_owned))
        };
        let told: Vec<String> = groups.iter().map(describe).collect();
        Some(format!("({})", told.join("; "))).filter(|fact| self.can_describe(fact))
    }

    /// Describes the keys that each branch requires, where one schema replaces all branches.
    pub(super) fn describe_required_groups(&mut self, branches: &[NodeId]) -> Option<String> {
        if branches.len() > MAX_REQUIRED_GROUPS {
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
        let descriptions = |group: &Vec<&str>| {
            !group.is_empty() && group.iter().all(|name| self.caps.accepts_key(name, KeyDepth::Below))
        };
        if own.len() < 2 || !own.iter().all(descriptions) {
            return None;
        }
        let groups: Vec<String> = own.iter().map(|group| group.join(" and ")).collect();
        Some(format!("(at least one of these must be given: {})", groups.join(", or ")))
            .filter(|fact| self.can_describe(fact))
    }

    /// The descriptions of the branches of a union that one schema replaces, within a limit of bytes.
    pub(super) fn branch_descriptions(&mut self, branches: &[NodeId], code: &Arc<str>, most: usize) -> Vec<String> {
        let mut descriptions: Vec<String> = Vec::new();
        let mut room = if self.spills() { most } else { 0 };
        for branch in branches {
            let flat = self.flatten(*branch);
            let node = self.graph[flat];
            let Some((kw, text)) = own_description(node) else { continue };
            let value = node.rules.values().filter(|values| values.len() == 1).and_then(|values| values.first());
            let described_text = value.map_or_else(|| text.to_owned(), |value| format!("{value}: {text}"));
            if descriptions.contains(&described_text) {
                continue;
            }
            if let Some(left) = room.checked_sub(described_text.len() + 2) {
                room = left;
                descriptions.push(described_text);
                self.change(code, node.place, kw, Action::Described, Effect::Note, "moved into the one description");
            } else {
                self.change(code, node.place, kw, Action::Dropped, Effect::Note, "one schema stands for all branches");
            }
        }
        if descriptions.is_empty() { Vec::new() } else { vec![format!("({})", descriptions.join("; "))] }
    }
}

/// A printed schema that is nothing but values of one type, or several of them in one.
struct EnumBranch<'d> {
    types: Types,
    values: DistinctValues<'d>,
    /// True where `nullable` is set.
    null: bool,
    /// Annotations, each with its values.
    annotations: Vec<(&'d [Json<'d>], &'d Member<'d>)>,
}

impl<'d> EnumBranch<'d> {
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

fn own_description<'d>(node: &Node<'_, 'd>) -> Option<(Kw, &'d str)> {
    [Kw::Description, Kw::Title].into_iter().find_map(|kw| Some((kw, node.note(kw)?.as_str()?)))
}
