//! The list of faults of a rejected value, bounded in number and in bytes.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde_json::Value;

use super::address;
use super::evaluate::Evaluation;
use super::graph::{Apply, Graph, Node, NodeId, ROOT, Slot};
use super::wording;
use crate::budget::{Budget, Exhausted};
use crate::keyword;
use crate::paths::{PathId, Paths, Step};
use crate::validate::{Fault, MAX_LISTED_BYTES, shortened};

/// What is still to be listed.
enum Todo<'v> {
    Node(NodeId, &'v Value, PathId),
    Fault(Box<Fault>),
}

/// The faults of one value.
pub(super) struct Listing<'g, 'v, 'b> {
    graph: &'g Graph,
    document: &'g Value,
    budget: &'b Budget,
    evaluation: Evaluation<'g, 'v, 'b>,
    paths: Paths<'v>,
    seen: HashSet<(NodeId, usize), RandomState>,
    todo: Vec<Todo<'v>>,
    /// Objects of the document by address; filled when a keyword is first quoted.
    objects: Option<HashMap<usize, &'g Value, RandomState>>,
    limit: usize,
    bytes: usize,
    faults: Vec<Fault>,
    more: usize,
}

impl<'g, 'v, 'b> Listing<'g, 'v, 'b> {
    pub(super) fn new(graph: &'g Graph, document: &'g Value, budget: &'b Budget, limit: usize) -> Self {
        Self {
            graph,
            document,
            budget,
            evaluation: Evaluation::new(graph, budget),
            paths: Paths::default(),
            seen: HashSet::default(),
            todo: Vec::new(),
            objects: None,
            limit,
            bytes: 0,
            faults: Vec::new(),
            more: 0,
        }
    }

    /// Every fault of a value, the last one counting those that are not listed; none if the schema accepts the value.
    pub(super) fn of_value(mut self, value: &'v Value) -> Result<Vec<Fault>, Exhausted> {
        self.list(ROOT, value)?;
        if self.more > 0 {
            self.faults.push(Fault::more(self.more));
        }
        Ok(self.faults)
    }

    fn list(&mut self, root: NodeId, value: &'v Value) -> Result<(), Exhausted> {
        self.todo.push(Todo::Node(root, value, Paths::WHOLE));
        while let Some(todo) = self.todo.pop() {
            match todo {
                Todo::Fault(fault) => self.add(*fault),
                Todo::Node(id, value, path) => {
                    if self.seen.insert((id, address(value))) && !self.evaluation.accepts(id, value)? {
                        self.open(id, value, path)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, fault: Fault) {
        self.bytes += fault.bytes();
        if self.faults.len() < self.limit && (self.bytes <= MAX_LISTED_BYTES || self.faults.is_empty()) {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }

    /// Lists the faults of a node that refuses the value.
    fn open(&mut self, id: NodeId, value: &'v Value, path: PathId) -> Result<(), Exhausted> {
        let Some(node) = self.graph.get(id) else { return Ok(()) };
        if node.constant == Some(false) {
            self.todo.push(self.fault(path, "falseSchema", Value::Bool(false), value, wording::NOTHING_ALLOWED));
        }
        let mut found: Vec<Todo<'v>> = Vec::new();
        let errors = match &node.leaf {
            Some(leaf) => leaf.errors(value, self.budget)?,
            None => Vec::new(),
        };
        for slot in &node.order {
            match slot {
                Slot::Leaf(name) => {
                    let of_slot = |path: &str| path.split('/').nth(1) == Some(*name);
                    for error in errors.iter().filter(|error| of_slot(error.schema_path().as_str())) {
                        let expected = node.leaf.as_ref().and_then(|leaf| leaf.at(error.schema_path().as_str()));
                        let detail = wording::describe(error);
                        let keyword = error.kind().keyword();
                        found.push(self.fault(path, keyword, shortened(expected), value, &detail));
                    }
                }
                Slot::Rule(index) => {
                    if let Some(rule) = node.rules.get(*index) {
                        self.rule(node, rule.keyword, &rule.apply, value, path, &mut found)?;
                    }
                }
            }
        }
        self.todo.extend(found.into_iter().rev());
        Ok(())
    }

    fn rule(
        &mut self,
        node: &'g Node,
        keyword: &'static str,
        apply: &'g Apply,
        value: &'v Value,
        path: PathId,
        found: &mut Vec<Todo<'v>>,
    ) -> Result<(), Exhausted> {
        match (apply, value) {
            (Apply::All(ids), _) => found.extend(ids.iter().map(|id| Todo::Node(*id, value, path))),
            (Apply::Any(ids), _) if self.count(ids, value)? == 0 => {
                found.push(self.keyword_fault(node, keyword, &wording::no_branch(keyword), value, path));
            }
            (Apply::One(ids), _) => match self.count(ids, value)? {
                0 => found.push(self.keyword_fault(node, keyword, &wording::no_branch(keyword), value, path)),
                1 => {}
                _ => found.push(self.keyword_fault(node, keyword, &wording::several_branches(keyword), value, path)),
            },
            (Apply::Not(id), _) if self.evaluation.accepts(*id, value)? => {
                let expected = self.keyword(node, keyword);
                let detail = wording::forbidden(&expected);
                found.push(self.fault(path, keyword, expected, value, &detail));
            }
            (Apply::If { test, then, otherwise }, _) => {
                let taken = if self.evaluation.accepts(*test, value)? { then } else { otherwise };
                found.extend(taken.map(|id| Todo::Node(id, value, path)));
            }
            (Apply::Dependent(pairs), Value::Object(members)) => {
                let met = pairs.iter().filter(|(key, _)| members.contains_key(key));
                found.extend(met.map(|(_, id)| Todo::Node(*id, value, path)));
            }
            (Apply::Members(_), Value::Object(_)) => self.members(node, keyword, apply, value, path, found)?,
            (Apply::Names(id), Value::Object(members)) => {
                for key in members.keys() {
                    let name = Value::String(key.clone());
                    for fault in self.name_faults(*id, &name)? {
                        let detail = wording::field_name(&name, &fault.detail);
                        found.push(self.fault(path, keyword, fault.expected, value, &detail));
                    }
                }
            }
            (Apply::Tuple(ids), Value::Array(items)) => {
                for (index, (id, item)) in ids.iter().zip(items).enumerate() {
                    let path = self.paths.step(path, Step::Index(index));
                    found.push(Todo::Node(*id, item, path));
                }
            }
            (Apply::Items { from, each }, Value::Array(items))
                if keyword == keyword::ADDITIONAL_ITEMS && self.constant(*each) == Some(false) =>
            {
                let count = items.len().saturating_sub(*from);
                let detail = wording::too_many_items(*from);
                found.extend((count > 0).then(|| self.fault(path, keyword, Value::Bool(false), value, &detail)));
            }
            (Apply::Items { from, each }, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate().skip(*from) {
                    let path = self.paths.step(path, Step::Index(index));
                    found.push(Todo::Node(*each, item, path));
                }
            }
            (Apply::Contains { item, min, max, .. }, Value::Array(items)) => {
                let mut accepted = 0;
                for value in items {
                    accepted += usize::from(self.evaluation.accepts(*item, value)?);
                }
                if accepted < *min || max.is_some_and(|max| accepted > max) {
                    let detail = wording::wrong_contains(accepted, *min, *max);
                    found.push(self.keyword_fault(node, keyword, &detail, value, path));
                }
            }
            (Apply::UnevaluatedProperties(others), Value::Object(members)) => {
                let refused = self.evaluation.refused_unevaluated(node, *others, value)?;
                if !refused.is_empty() {
                    let refused: HashSet<usize> = refused.into_iter().collect();
                    let names =
                        members.keys().enumerate().filter(|(index, _)| refused.contains(index)).map(|(_, key)| key);
                    let detail = wording::unexpected_fields(names);
                    found.push(self.keyword_fault(node, keyword, &detail, value, path));
                }
            }
            (Apply::UnevaluatedItems(others), Value::Array(_)) => {
                let count = self.evaluation.refused_unevaluated(node, *others, value)?.len();
                if count > 0 {
                    let detail = wording::unexpected_items(count);
                    found.push(self.keyword_fault(node, keyword, &detail, value, path));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn members(
        &mut self,
        node: &'g Node,
        keyword: &'static str,
        apply: &'g Apply,
        value: &'v Value,
        path: PathId,
        found: &mut Vec<Todo<'v>>,
    ) -> Result<(), Exhausted> {
        let (Apply::Members(rule), Value::Object(members)) = (apply, value) else { return Ok(()) };
        let refused = rule.others.filter(|others| self.constant(*others) == Some(false));
        let mut others: Vec<&String> = Vec::new();
        for (key, member) in members {
            let path = self.paths.step(path, Step::Key(key));
            let mut ids = Vec::new();
            rule.each_schema(key, self.budget, |id| ids.push(id))?;
            for id in ids {
                if Some(id) == refused && !rule.named.contains_key(key) {
                    others.push(key);
                } else {
                    found.push(Todo::Node(id, member, path));
                }
            }
        }
        if !others.is_empty() {
            let detail = wording::unexpected_fields(others.into_iter());
            found.push(self.keyword_fault(node, keyword, &detail, value, path));
        }
        Ok(())
    }

    /// The faults of the name of a field.
    fn name_faults(&self, id: NodeId, name: &Value) -> Result<Vec<Fault>, Exhausted> {
        let mut listing = Listing::new(self.graph, self.document, self.budget, self.limit);
        listing.list(id, name)?;
        Ok(listing.faults)
    }

    fn constant(&self, id: NodeId) -> Option<bool> {
        self.graph.get(id).and_then(|node| node.constant)
    }

    /// How many of some schemas accept a value, as far as it matters: none, one, or more.
    fn count(&mut self, ids: &[NodeId], value: &'v Value) -> Result<usize, Exhausted> {
        let mut count = 0;
        for id in ids {
            count += usize::from(self.evaluation.accepts(*id, value)?);
            if count > 1 {
                break;
            }
        }
        Ok(count)
    }

    fn keyword_fault(&mut self, node: &'g Node, keyword: &str, detail: &str, value: &Value, path: PathId) -> Todo<'v> {
        let expected = self.keyword(node, keyword);
        self.fault(path, keyword, expected, value, detail)
    }

    fn fault(&self, path: PathId, keyword: &str, expected: Value, value: &Value, detail: &str) -> Todo<'v> {
        Todo::Fault(Box::new(Fault::new(self.paths.pointer(path), keyword, expected, value, detail)))
    }

    /// What a keyword of a node says in the document.
    fn keyword(&mut self, node: &Node, keyword: &str) -> Value {
        let document = self.document;
        let objects = self.objects.get_or_insert_with(|| objects(document));
        shortened(objects.get(&node.address).and_then(|schema| schema.get(keyword)))
    }
}

fn objects(document: &Value) -> HashMap<usize, &Value, RandomState> {
    let mut found = HashMap::default();
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                found.insert(address(value), value);
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}
