//! Which members or items of a value are evaluated by the keywords beside `unevaluatedProperties` or `unevaluatedItems`.
//!
//! Only nodes that accept the value count. Which branches do is asked of the evaluation, one question at a time.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde_json::Value;

use super::graph::{Apply, Graph, Node, NodeId};
use crate::budget::{Budget, Exhausted};

/// A question: whether a node accepts a value.
pub(super) struct Ask<'v> {
    pub(super) id: NodeId,
    pub(super) value: &'v Value,
}

/// What is still to be looked at.
#[derive(Clone, Copy)]
enum Todo<'g> {
    /// A node that accepts the value.
    Accepted(NodeId),
    /// A node that may.
    Branch(NodeId),
    /// Branches of which exactly one must.
    If(&'g Apply),
    /// An item that may be what `contains` wants.
    Item(NodeId, usize),
}

/// The parts of one value, and which of them are evaluated.
pub(super) struct Marks<'g, 'v> {
    value: &'v Value,
    parts: Vec<(Option<&'v str>, &'v Value)>,
    marked: Vec<bool>,
    todo: Vec<Todo<'g>>,
    seen: HashSet<NodeId, RandomState>,
    /// The question that the next result answers.
    asked: Option<Todo<'g>>,
    start: Option<&'g Node>,
    is_done: bool,
    unmarked: usize,
}

impl<'g, 'v> Marks<'g, 'v> {
    pub(super) fn new(node: &'g Node, value: &'v Value) -> Self {
        let parts: Vec<(Option<&str>, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(key, member)| (Some(key.as_str()), member)).collect(),
            Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        Self {
            value,
            marked: vec![false; parts.len()],
            parts,
            todo: Vec::new(),
            seen: HashSet::default(),
            asked: None,
            start: Some(node),
            is_done: false,
            unmarked: 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The next question, given the answer to the last one; `None` once every part is marked that is evaluated.
    pub(super) fn next(
        &mut self,
        result: Option<bool>,
        graph: &'g Graph,
        budget: &Budget,
    ) -> Result<Option<Ask<'v>>, Exhausted> {
        if let Some(asked) = self.asked.take() {
            self.answer(asked, result == Some(true));
        }
        if let Some(node) = self.start.take() {
            self.visit(node, true, budget)?;
        }
        while let Some(todo) = self.todo.pop() {
            budget.spend(1)?;
            let (id, value) = match todo {
                Todo::Accepted(id) => {
                    if self.seen.insert(id)
                        && let Some(node) = graph.get(id)
                    {
                        self.visit(node, false, budget)?;
                    }
                    continue;
                }
                Todo::Branch(id) => (id, self.value),
                Todo::If(Apply::If { test, .. }) => (*test, self.value),
                Todo::Item(id, index) => match self.parts.get(index) {
                    Some((_, item)) => (id, *item),
                    None => continue,
                },
                Todo::If(_) => continue,
            };
            self.asked = Some(todo);
            return Ok(Some(Ask { id, value }));
        }
        self.is_done = true;
        Ok(None)
    }

    fn answer(&mut self, asked: Todo<'g>, accepted: bool) {
        match asked {
            Todo::Branch(id) if accepted => self.todo.push(Todo::Accepted(id)),
            Todo::If(Apply::If { test, then, otherwise }) => {
                let taken = if accepted { [Some(*test), *then] } else { [*otherwise, None] };
                self.todo.extend(taken.into_iter().flatten().map(Todo::Accepted));
            }
            Todo::Item(_, index) if accepted => self.mark(index),
            Todo::Branch(_) | Todo::If(_) | Todo::Item(..) | Todo::Accepted(_) => {}
        }
    }

    fn mark(&mut self, index: usize) {
        if let Some(mark) = self.marked.get_mut(index) {
            *mark = true;
        }
    }

    /// Marks what the keywords of a node evaluate that accepts the value.
    fn visit(&mut self, node: &'g Node, is_start: bool, budget: &Budget) -> Result<(), Exhausted> {
        for rule in &node.rules {
            match &rule.apply {
                Apply::All(ids) => self.todo.extend(ids.iter().copied().map(Todo::Accepted)),
                Apply::Any(ids) | Apply::One(ids) => self.todo.extend(ids.iter().copied().map(Todo::Branch)),
                apply @ Apply::If { .. } => self.todo.push(Todo::If(apply)),
                Apply::Dependent(pairs) => {
                    let met = pairs.iter().filter(|(key, _)| self.value.get(key).is_some());
                    self.todo.extend(met.map(|(_, id)| Todo::Accepted(*id)));
                }
                Apply::Members(rule) => {
                    for index in 0..self.parts.len() {
                        let key = self.parts.get(index).and_then(|(key, _)| *key);
                        let mut is_known = false;
                        if let Some(key) = key.filter(|_| !self.marked.get(index).copied().unwrap_or(true)) {
                            rule.each_schema(key, budget, |_| is_known = true)?;
                        }
                        if is_known {
                            self.mark(index);
                        }
                    }
                }
                Apply::Tuple(ids) => self.mark_items(0..ids.len(), budget)?,
                Apply::Items { from, .. } => self.mark_items(*from..usize::MAX, budget)?,
                Apply::Contains { item, evaluates: true, .. } => {
                    let count = if self.value.is_array() { self.parts.len() } else { 0 };
                    self.todo.extend((0..count).map(|index| Todo::Item(*item, index)));
                }
                Apply::UnevaluatedProperties(_) if !is_start && self.value.is_object() => {
                    self.marked.iter_mut().for_each(|mark| *mark = true);
                }
                Apply::UnevaluatedItems(_) if !is_start && self.value.is_array() => {
                    self.marked.iter_mut().for_each(|mark| *mark = true);
                }
                Apply::Not(_)
                | Apply::Names(_)
                | Apply::Contains { .. }
                | Apply::UnevaluatedProperties(_)
                | Apply::UnevaluatedItems(_) => {}
            }
        }
        Ok(())
    }

    fn mark_items(&mut self, range: std::ops::Range<usize>, budget: &Budget) -> Result<(), Exhausted> {
        if self.value.is_array() {
            let end = range.end.min(self.marked.len());
            for mark in self.marked.get_mut(range.start..end).into_iter().flatten() {
                *mark = true;
            }
            budget.spend(end.saturating_sub(range.start) / 8)?;
        }
        Ok(())
    }

    /// The next part that is not evaluated.
    pub(super) fn next_unmarked(&mut self) -> Option<(usize, &'v Value)> {
        let rest = self.marked.get(self.unmarked..)?;
        let index = self.unmarked + rest.iter().position(|mark| !mark)?;
        self.unmarked = index + 1;
        self.parts.get(index).map(|(_, value)| (index, *value))
    }
}
