//! Tags: the properties that tell what an object is. They stay required and are never `null`.

use super::Lowerer;
use crate::dialect::Demand;
use crate::graph::NodeId;
use crate::json::Json;
use crate::keyword::Kw;

/// The tags of a union with more branches are not looked for: each is compared with all others.
const MAX_TAGGED: usize = 64;

impl<'d> Lowerer<'_, 'd, '_> {
    /// The only value of a property, where it has one.
    pub(super) fn constant(&mut self, id: NodeId) -> Option<&'d Json<'d>> {
        let flat = self.flatten(id);
        let node = self.graph[flat];
        match node.rules.values() {
            Some([value]) if !matches!(value, Json::Null) && node.rules.logic().is_none() => Some(*value),
            _ => None,
        }
    }

    /// Whether a property tells what the object is: its only value is its default, or other branches of a union have other ones.
    pub(super) fn is_tag(&mut self, id: NodeId) -> bool {
        let Some(value) = self.constant(id) else { return false };
        self.tags.contains(&id) || self.graph[id].note(Kw::Default).is_some_and(|default| default.same(value))
    }

    /// Finds the properties that tell the branches of a union apart: every branch has one, each with another constant.
    pub(super) fn find_tags(&mut self, branches: &[NodeId]) {
        let wanted = self.caps.has_demand(Demand::AllRequired) || self.caps.has_demand(Demand::MaxOptionals);
        if branches.len() < 2 || branches.len() > MAX_TAGGED || !wanted {
            return;
        }
        let mut constants: Vec<(&'d str, NodeId, &'d Json<'d>)> = Vec::new();
        for branch in branches {
            let flat = self.flatten(*branch);
            let properties = self.graph[flat].rules.object().map_or(&[][..], |rules| rules.properties);
            for (key, id) in properties {
                if let Some(value) = self.constant(*id) {
                    constants.push((key, *id, value));
                }
            }
        }
        for (key, id, value) in &constants {
            let of_key = || constants.iter().filter(|(own, _, _)| own == key);
            let is_unique = of_key().filter(|(_, _, other)| other.same(value)).count() == 1;
            if is_unique && of_key().count() == branches.len() {
                self.tags.insert(*id);
            }
        }
    }
}
