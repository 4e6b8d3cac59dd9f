//! Whether a node of the schema accepts a value: a loop over an explicit stack that remembers the results of shared nodes.
//!
//! A pair of node and value is judged once, so the work is bounded by the edges of the schema times the values, whatever the schema
//! shares; the step budget bounds the product. A pair that is needed to judge itself counts as accepted, as it does in the
//! `jsonschema` crate.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value;

use super::address;
use super::graph::{Apply, Graph, Members, Node, NodeId};
use super::marks::{Ask, Marks};
use crate::budget::{Budget, Exhausted};

/// Results that are remembered at a time, frames that are open, and children that wait: each bounds memory.
const MAX_RESULTS: usize = 400_000;
const MAX_FRAMES: usize = 100_000;
const MAX_WAITING: usize = 1_000_000;

/// What is known of a pair of node and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It is being judged.
    Open,
    Result(bool),
}

/// A node that is being judged.
struct Frame<'g, 'v> {
    id: NodeId,
    node: &'g Node,
    value: &'v Value,
    /// Where its children start among those that wait.
    start: usize,
    /// The rule that is being judged; before the first one, all children that wait must be accepted.
    rule: Option<usize>,
    /// The next schema of the rule, and how many were accepted.
    next: usize,
    accepted: usize,
    marks: Option<Box<Marks<'g, 'v>>>,
}

/// What a frame does next.
enum Step<'v> {
    Child(NodeId, &'v Value),
    Done(bool),
}

/// The judging of one value.
pub(super) struct Evaluation<'g, 'v, 'b> {
    graph: &'g Graph,
    budget: &'b Budget,
    known: HashMap<(NodeId, usize), Known, RandomState>,
    frames: Vec<Frame<'g, 'v>>,
    waiting: Vec<(NodeId, &'v Value)>,
}

impl<'g, 'v, 'b> Evaluation<'g, 'v, 'b> {
    pub(super) fn new(graph: &'g Graph, budget: &'b Budget) -> Self {
        Self { graph, budget, known: HashMap::default(), frames: Vec::new(), waiting: Vec::new() }
    }

    /// Whether a node accepts a value.
    pub(super) fn accepts(&mut self, id: NodeId, value: &'v Value) -> Result<bool, Exhausted> {
        let mut result = self.enter(id, value)?;
        while let Some(mut frame) = self.frames.pop() {
            match self.advance(&mut frame, result.take())? {
                Step::Child(id, value) => {
                    self.frames.push(frame);
                    result = self.enter(id, value)?;
                }
                Step::Done(accepted) => {
                    self.waiting.truncate(frame.start);
                    self.remember(&frame, accepted);
                    result = Some(accepted);
                }
            }
        }
        Ok(result.unwrap_or(true))
    }

    /// The result, where it is known at once; else a frame is opened.
    fn enter(&mut self, id: NodeId, value: &'v Value) -> Result<Option<bool>, Exhausted> {
        self.budget.spend(1)?;
        let Some(node) = self.graph.get(id) else { return Err(self.budget.exhaust()) };
        if let Some(constant) = node.constant {
            return Ok(Some(constant));
        }
        if node.is_shared {
            match self.known.get(&(id, address(value))) {
                Some(Known::Open) => return Ok(Some(true)),
                Some(Known::Result(result)) => return Ok(Some(*result)),
                None => {}
            }
        }
        if let Some(leaf) = &node.leaf
            && !leaf.accepts(value, self.budget)?
        {
            return Ok(Some(false));
        }
        if node.rules.is_empty() {
            return Ok(Some(true));
        }
        let start = self.waiting.len();
        if !self.expand(node, value)? {
            self.waiting.truncate(start);
            return Ok(Some(false));
        }
        if self.frames.len() >= MAX_FRAMES || self.waiting.len() >= MAX_WAITING {
            return Err(self.budget.exhaust());
        }
        if node.is_shared {
            self.known.insert((id, address(value)), Known::Open);
        }
        self.frames.push(Frame { id, node, value, start, rule: None, next: 0, accepted: 0, marks: None });
        Ok(None)
    }

    fn remember(&mut self, frame: &Frame<'g, 'v>, accepted: bool) {
        if !frame.node.is_shared {
            return;
        }
        if self.known.len() >= MAX_RESULTS {
            self.known.retain(|_, known| *known == Known::Open);
        }
        self.known.insert((frame.id, address(frame.value)), Known::Result(accepted));
    }

    /// Lets everything wait that must be accepted; says whether nothing is refused already.
    fn expand(&mut self, node: &'g Node, value: &'v Value) -> Result<bool, Exhausted> {
        for rule in &node.rules {
            match (&rule.apply, value) {
                (Apply::All(ids), _) => self.waiting.extend(ids.iter().rev().map(|id| (*id, value))),
                (Apply::Dependent(pairs), Value::Object(members)) => {
                    self.budget.spend(pairs.len())?;
                    let met = pairs.iter().filter(|(key, _)| members.contains_key(key));
                    self.waiting.extend(met.map(|(_, id)| (*id, value)));
                }
                (Apply::Tuple(ids), Value::Array(items)) => {
                    self.waiting.extend(ids.iter().copied().zip(items));
                }
                (Apply::Items { from, each }, Value::Array(items)) => {
                    self.waiting.extend(items.iter().skip(*from).map(|item| (*each, item)));
                }
                (Apply::Members(rule), Value::Object(members)) => {
                    for (key, member) in members {
                        rule.each_schema(key, self.budget, |id| self.waiting.push((id, member)))?;
                    }
                }
                (Apply::Names(id), Value::Object(members)) => {
                    for key in members.keys() {
                        // A key is no part of the value: what is known of it is forgotten with it.
                        let name = Value::String(key.clone());
                        if !Evaluation::new(self.graph, self.budget).accepts(*id, &name)? {
                            return Ok(false);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(true)
    }

    fn advance(&mut self, frame: &mut Frame<'g, 'v>, mut result: Option<bool>) -> Result<Step<'v>, Exhausted> {
        if frame.rule.is_none() {
            if result.take() == Some(false) {
                return Ok(Step::Done(false));
            }
            if self.waiting.len() > frame.start
                && let Some((id, value)) = self.waiting.pop()
            {
                return Ok(Step::Child(id, value));
            }
        }
        let mut index = frame.rule.unwrap_or(0);
        while let Some(rule) = frame.node.rules.get(index) {
            frame.rule = Some(index);
            if let Some(step) = self.choose(&rule.apply, frame, result.take())? {
                return Ok(step);
            }
            (frame.next, frame.accepted, frame.marks) = (0, 0, None);
            index += 1;
        }
        Ok(Step::Done(true))
    }

    /// The next step of a rule that is more than a list of schemas that must accept; `None` where the rule holds.
    fn choose(
        &mut self,
        apply: &'g Apply,
        frame: &mut Frame<'g, 'v>,
        result: Option<bool>,
    ) -> Result<Option<Step<'v>>, Exhausted> {
        let value = frame.value;
        let next = frame.next;
        frame.next += 1;
        frame.accepted += usize::from(result == Some(true));
        let child = |id: &NodeId| Some(Step::Child(*id, value));
        Ok(match apply {
            Apply::Any(_) if frame.accepted > 0 => None,
            Apply::Any(ids) => ids.get(next).map_or(Some(Step::Done(false)), child),
            Apply::One(_) if frame.accepted > 1 => Some(Step::Done(false)),
            Apply::One(ids) => match ids.get(next) {
                Some(id) => child(id),
                None => (frame.accepted != 1).then_some(Step::Done(false)),
            },
            Apply::Not(id) if next == 0 => child(id),
            Apply::Not(_) => (frame.accepted > 0).then_some(Step::Done(false)),
            Apply::If { then: None, otherwise: None, .. } => None,
            Apply::If { test, .. } if next == 0 => child(test),
            Apply::If { then, otherwise, .. } if next == 1 => {
                if result == Some(true) { then } else { otherwise }.as_ref().and_then(child)
            }
            Apply::If { .. } => (result == Some(false)).then_some(Step::Done(false)),
            Apply::Contains { item, min, max, .. } => {
                let Value::Array(items) = value else { return Ok(None) };
                match items.get(next) {
                    _ if max.is_some_and(|max| frame.accepted > max) => Some(Step::Done(false)),
                    _ if frame.accepted >= *min && max.is_none() => None,
                    Some(value) => Some(Step::Child(*item, value)),
                    None => (frame.accepted < *min).then_some(Step::Done(false)),
                }
            }
            Apply::UnevaluatedProperties(others) if value.is_object() => self.unevaluated(*others, frame, result)?,
            Apply::UnevaluatedItems(others) if value.is_array() => self.unevaluated(*others, frame, result)?,
            Apply::UnevaluatedProperties(_)
            | Apply::UnevaluatedItems(_)
            | Apply::All(_)
            | Apply::Dependent(_)
            | Apply::Members(_)
            | Apply::Names(_)
            | Apply::Tuple(_)
            | Apply::Items { .. } => None,
        })
    }

    /// First which parts other keywords evaluated, then whether the schema accepts the rest.
    fn unevaluated(
        &mut self,
        others: NodeId,
        frame: &mut Frame<'g, 'v>,
        result: Option<bool>,
    ) -> Result<Option<Step<'v>>, Exhausted> {
        let (node, value) = (frame.node, frame.value);
        let marks = frame.marks.get_or_insert_with(|| Box::new(Marks::new(node, value)));
        if marks.is_done() && result == Some(false) {
            return Ok(Some(Step::Done(false)));
        }
        Ok(match marks.next(result, self.graph, self.budget)? {
            Some(Ask { id, value }) => Some(Step::Child(id, value)),
            None => marks.next_unmarked().map(|(_, value)| Step::Child(others, value)),
        })
    }

    /// The parts of a value that `unevaluatedProperties` or `unevaluatedItems` of a node refuses: their indices.
    pub(super) fn refused_unevaluated(
        &mut self,
        node: &'g Node,
        others: NodeId,
        value: &'v Value,
    ) -> Result<Vec<usize>, Exhausted> {
        let mut marks = Marks::new(node, value);
        let mut result = None;
        while let Some(ask) = marks.next(result, self.graph, self.budget)? {
            result = Some(self.accepts(ask.id, ask.value)?);
        }
        let mut refused = Vec::new();
        while let Some((index, value)) = marks.next_unmarked() {
            if !self.accepts(others, value)? {
                refused.push(index);
            }
        }
        Ok(refused)
    }
}

impl Members {
    /// The schemas for the member under a key.
    pub(super) fn each_schema(
        &self,
        key: &str,
        budget: &Budget,
        mut visit: impl FnMut(NodeId),
    ) -> Result<(), Exhausted> {
        let mut is_known = false;
        if let Some(id) = self.named.get(key) {
            is_known = true;
            visit(*id);
        }
        if !self.patterns.is_empty() {
            let name = Value::String(key.to_owned());
            for (pattern, id) in &self.patterns {
                if pattern.matches(&name, budget)? {
                    is_known = true;
                    visit(*id);
                }
            }
        }
        if let Some(others) = self.others.filter(|_| !is_known) {
            visit(others);
        }
        budget.spend(1)
    }
}
