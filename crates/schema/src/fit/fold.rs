//! Unions of values as one enum, and what one schema says of the branches that it stands for.

use std::sync::Arc;

use super::Lowerer;
use super::emit::described;
use crate::dialect::{Demand, Depth};
use crate::graph::{Node, NodeId, Note, NoteKey, Union};
use crate::json::{Distinct, Json, Member};
use crate::keyword::Kw;
use crate::place::Place;
use crate::report::{Action, Effect};
use crate::types::Types;

/// What the values of an enum mean is told in no more bytes.
const LONGEST_LEGEND: usize = 4096;

/// Which keys go together is told of no more branches: the text would be too long.
const MOST_GROUPS: usize = 32;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Whether a union of single values has to be one enum.
    pub(super) fn splits_an_enum(&mut self, node: &Node<'g, 'd>) -> bool {
        if !self.caps.must(Demand::OneEnum) {
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
            for note in node.notes {
                match note.key {
                    NoteKey::Kw(kw) if Some(kw) == told => {}
                    NoteKey::Kw(kw) => {
                        self.change(
                            &code,
                            node.place,
                            kw,
                            Action::Dropped,
                            Effect::Note,
                            "a value of an enum has none",
                        );
                    }
                    NoteKey::Unknown(name) => self.drop_unknown(node.place, name),
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
        let key = NoteKey::Kw(Kw::Description);
        let text =
            about.note(Kw::Description).and_then(Json::as_str).into_iter().chain(facts.iter().map(String::as_str));
        let text = self.arena.str(&text.collect::<Vec<_>>().join(" "));
        let mut notes: Vec<Note<'d>> = about.notes.iter().copied().filter(|note| note.key != key).collect();
        notes.push(Note { key, value: self.arena.keep(text) });
        self.nodes.keep(Node { notes: self.nodes.list(&notes), ..*about })
    }

    /// The values of all branches, where every branch is nothing but values.
    pub(super) fn folded_values(&mut self, branches: &[NodeId], null: bool) -> Option<Vec<&'d Json<'d>>> {
        let folds = self.caps.must(Demand::OneEnum);
        if !folds && !self.caps.must(Demand::Typed) && !self.caps.must(Demand::EnumStrings) {
            return None;
        }
        let mut folded: Vec<&'d Json<'d>> = Vec::new();
        let mut distinct = Distinct::default();
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
        if branches.len() < 2 || !self.caps.must(Demand::OneEnum) {
            return None;
        }
        let asks = |(key, _): &&Member<'_>| Kw::of(key).is_none_or(|kw| !kw.annotates());
        let mut kinds: Vec<(Json<'d>, Distinct<'d>, Vec<String>)> = Vec::new();
        for branch in branches {
            let asked: Vec<&Member<'d>> = branch.as_obj()?.iter().filter(asks).collect();
            let [(first, kind), (second, Json::Arr(listed))] = asked[..] else { return None };
            if *first != Kw::Type.name() || *second != Kw::Enum.name() {
                return None;
            }
            let place = kinds.iter().position(|(own, ..)| own == kind).unwrap_or(kinds.len());
            if place == kinds.len() {
                kinds.push((*kind, Distinct::default(), Vec::new()));
            }
            let (_, values, said) = kinds.get_mut(place)?;
            for value in *listed {
                values.add(*value);
            }
            let names: Vec<String> = listed.iter().map(ToString::to_string).collect();
            let text = branch.get(Kw::Description.name()).and_then(Json::as_str);
            said.extend(text.map(|text| format!("{}: {text}", names.join(", "))));
        }
        if kinds.len() == branches.len() {
            return None;
        }
        let code = self.demand_code(Demand::OneEnum);
        self.change(&code, place, Kw::AnyOf, Action::Merged, Effect::Same, "its branches list values: one enum");
        let arena = self.arena;
        let folded = |(kind, values, said): (Json<'d>, Distinct<'d>, Vec<String>)| {
            let one = arena.obj(&[(Kw::Type.name(), kind), (Kw::Enum.name(), arena.arr(&values.into_values()))]);
            if said.is_empty() { one } else { described(one, arena.str(&format!("({})", said.join("; "))), arena) }
        };
        Some(kinds.into_iter().map(folded).collect())
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
        let said =
            |group: &Vec<&str>| !group.is_empty() && group.iter().all(|name| self.caps.takes_key(name, Depth::Below));
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

/// What a branch says of itself.
fn told_by<'d>(node: &Node<'_, 'd>) -> Option<(Kw, &'d str)> {
    [Kw::Description, Kw::Title].into_iter().find_map(|kw| Some((kw, node.note(kw)?.as_str()?)))
}
