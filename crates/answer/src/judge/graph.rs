//! A schema as a graph: one node for each subschema, an edge for each reference, so that what is shared is there once.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::leaf::Leaf;

/// The index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub(super) u32);

/// One subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// What a boolean schema says.
    pub(super) constant: Option<bool>,
    /// The keywords that look at one value and at nothing inside of it.
    pub(super) leaf: Option<Arc<Leaf>>,
    /// The keywords that apply other schemas.
    pub(super) rules: Vec<Rule>,
    /// All keywords in the order of the schema: faults are listed in this order.
    pub(super) order: Vec<Slot>,
    /// Several edges lead here: results are remembered, else the work could double at every level.
    pub(super) is_shared: bool,
    /// The address of the subschema in the document.
    pub(super) address: usize,
}

/// A keyword of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Leaf(&'static str),
    Rule(usize),
}

/// A keyword that applies other schemas.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) keyword: &'static str,
    pub(super) apply: Apply,
}

/// How schemas are applied.
#[derive(Debug)]
pub(super) enum Apply {
    /// Each of them to the value itself: references and `allOf`.
    All(Vec<NodeId>),
    Any(Vec<NodeId>),
    One(Vec<NodeId>),
    Not(NodeId),
    If {
        test: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    /// To the value itself where the object has a key.
    Dependent(Vec<(String, NodeId)>),
    Members(Box<Members>),
    Names(NodeId),
    /// To the items from the start, one each.
    Tuple(Vec<NodeId>),
    /// To every item from an index on.
    Items {
        from: usize,
        each: NodeId,
    },
    Contains {
        item: NodeId,
        min: usize,
        max: Option<usize>,
        evaluates: bool,
    },
    UnevaluatedProperties(NodeId),
    UnevaluatedItems(NodeId),
}

/// What applies to the members of an object.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) named: HashMap<String, NodeId, RandomState>,
    pub(super) patterns: Vec<(Arc<Leaf>, NodeId)>,
    /// For keys that are neither named nor match a pattern.
    pub(super) others: Option<NodeId>,
}

/// All nodes of a schema; the root is the first.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// The graph is not complete: dynamic references multiply the schema beyond its limit.
    pub(super) is_cut: bool,
}

pub(super) const ROOT: NodeId = NodeId(0);

impl Graph {
    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// Marks the nodes whose results are worth remembering.
    pub(super) fn mark_shared(&mut self) {
        let mut edges = vec![0_u32; self.nodes.len()];
        let mut count = |id: NodeId| {
            if let Some(edges) = edges.get_mut(id.0 as usize) {
                *edges = edges.saturating_add(1);
            }
        };
        count(ROOT);
        // Which members were evaluated is asked of a branch after it was judged.
        let mut all = false;
        for rule in self.nodes.iter().flat_map(|node| &node.rules) {
            all |= matches!(rule.apply, Apply::UnevaluatedProperties(_) | Apply::UnevaluatedItems(_));
            rule.apply.each_target(&mut count);
        }
        for (node, edges) in self.nodes.iter_mut().zip(edges) {
            node.is_shared = !node.rules.is_empty() && (all || edges > 1);
        }
    }
}

impl Apply {
    fn each_target(&self, visit: &mut impl FnMut(NodeId)) {
        match self {
            Self::All(ids) | Self::Any(ids) | Self::One(ids) | Self::Tuple(ids) => ids.iter().copied().for_each(visit),
            Self::Not(id)
            | Self::Names(id)
            | Self::Items { each: id, .. }
            | Self::Contains { item: id, .. }
            | Self::UnevaluatedProperties(id)
            | Self::UnevaluatedItems(id) => visit(*id),
            Self::If { test, then, otherwise } => {
                [Some(*test), *then, *otherwise].into_iter().flatten().for_each(visit);
            }
            Self::Dependent(pairs) => pairs.iter().map(|(_, id)| *id).for_each(visit),
            Self::Members(members) => {
                let patterns = members.patterns.iter().map(|(_, id)| *id);
                #[expect(clippy::iter_over_hash_type, reason = "edges are counted in any order")]
                for id in members.named.values() {
                    visit(*id);
                }
                patterns.chain(members.others).for_each(visit);
            }
        }
    }
}
