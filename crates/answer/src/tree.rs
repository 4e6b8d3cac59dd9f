//! The value while it is read: nodes in an arena, each with the bytes it came from.
//!
//! An arena has no depth: building and dropping it needs no stack, and a stream can grow it in place.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::ops::Range;

use foldhash::fast::RandomState;
use serde_json::{Map, Number, Value};

/// The index of a node, counted from one so that an absent one takes no room of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(NonZeroU32);

impl Id {
    fn of(index: usize) -> Self {
        Self(u32::try_from(index).map_or(NonZeroU32::MAX, |index| NonZeroU32::MIN.saturating_add(index)))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Children),
    Object(Children),
}

/// The children of a list or object, as a chain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Children {
    first: Option<Id>,
    last: Option<Id>,
    pub(crate) count: u32,
}

/// How a node was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// As JSON writes it, or nearly.
    Plain,
    /// Without quotes.
    Bare,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The key under which it stands in its parent.
    pub(crate) key: Option<String>,
    pub(crate) span: Range<usize>,
    pub(crate) notation: Notation,
    /// Whether it was read to its end.
    pub(crate) complete: bool,
    pub(crate) parent: Option<Id>,
    /// Its place among the children of its parent.
    index: u32,
    next: Option<Id>,
}

impl Node {
    pub(crate) fn new(kind: Kind, span: Range<usize>) -> Self {
        Self { kind, key: None, span, notation: Notation::Plain, complete: true, parent: None, index: 0, next: None }
    }

    fn kind_count(&self) -> u32 {
        match self.kind {
            Kind::List(children) | Kind::Object(children) => children.count,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => 0,
        }
    }

    pub(crate) fn bare(mut self) -> Self {
        self.notation = Notation::Bare;
        self
    }
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    pub(crate) fn get(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Node> {
        self.nodes.get_mut(id.index())
    }

    pub(crate) fn kind(&self, id: Id) -> &Kind {
        self.get(id).map_or(&Kind::Null, |node| &node.kind)
    }

    /// Adds a node that has no parent.
    pub(crate) fn push(&mut self, node: Node) -> Id {
        let id = Id::of(self.nodes.len());
        self.nodes.push(node);
        id
    }

    /// Adds a node as the last child of a list or object.
    pub(crate) fn append(&mut self, parent: Id, mut node: Node) -> Id {
        node.parent = Some(parent);
        let id = self.push(node);
        self.link(parent, id);
        id
    }

    fn link(&mut self, parent: Id, child: Id) {
        let Some(Node { kind: Kind::List(children) | Kind::Object(children), .. }) = self.get_mut(parent) else {
            return;
        };
        let index = children.count;
        let before = children.last.replace(child);
        children.count += 1;
        if children.first.is_none() {
            children.first = Some(child);
        }
        if let Some(node) = before.and_then(|before| self.get_mut(before)) {
            node.next = Some(child);
        }
        if let Some(node) = self.get_mut(child) {
            node.index = index;
            node.parent = Some(parent);
        }
    }

    pub(crate) fn children(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let first = match self.kind(id) {
            Kind::List(children) | Kind::Object(children) => children.first,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        };
        std::iter::successors(first, |id| self.get(*id).and_then(|node| node.next))
    }

    pub(crate) fn last_child(&self, id: Id) -> Option<Id> {
        match self.kind(id) {
            Kind::List(children) | Kind::Object(children) => children.last,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        }
    }

    pub(crate) fn count(&self, id: Id) -> usize {
        self.get(id).map_or(0, Node::kind_count) as usize
    }

    /// Replaces the places of all nodes.
    pub(crate) fn map_spans(&mut self, map: &dyn Fn(usize) -> usize) {
        for node in &mut self.nodes {
            node.span = map(node.span.start)..map(node.span.end);
        }
    }

    /// Puts an object in the place of a text, which becomes the key that the object is about to get.
    pub(crate) fn text_to_object(&mut self, id: Id) -> Option<String> {
        let node = self.get_mut(id)?;
        let Kind::Text(text) = &mut node.kind else { return None };
        let key = std::mem::take(text);
        node.kind = Kind::Object(Children::default());
        node.notation = Notation::Plain;
        Some(key)
    }

    /// Puts the only item of a list in the place of the list.
    pub(crate) fn unwrap_only(&mut self, id: Id) {
        let Some(item) = self.children(id).next() else { return };
        let Some(inner) = self.get(item).cloned() else { return };
        let adopted: Vec<Id> = self.children(item).collect();
        if let Some(node) = self.get_mut(id) {
            node.kind = inner.kind;
            node.notation = inner.notation;
        }
        for child in adopted {
            if let Some(node) = self.get_mut(child) {
                node.parent = Some(id);
            }
        }
    }

    /// The JSON Pointer of a node, seen from the root that it hangs under.
    pub(crate) fn pointer(&self, id: Id) -> String {
        let mut chain = Vec::with_capacity(16);
        let mut at = self.get(id);
        while let Some(node) = at.filter(|node| node.parent.is_some()) {
            chain.push(node);
            at = node.parent.and_then(|parent| self.get(parent));
        }
        let mut pointer = String::with_capacity(chain.len() * 12);
        for node in chain.into_iter().rev() {
            node.push_step(&mut pointer);
        }
        pointer
    }

    /// [`Tree::pointer`], with the pointer of the last parent at hand: what comes in is mostly inside one object.
    pub(crate) fn pointer_near(&self, id: Id, last: &mut Option<(Id, String)>) -> String {
        let Some((node, parent)) = self.get(id).and_then(|node| Some((node, node.parent?))) else {
            return String::new();
        };
        let (_, above) = match last.take() {
            Some(known) if known.0 == parent => last.insert(known),
            _ => last.insert((parent, self.pointer(parent))),
        };
        let mut pointer = String::with_capacity(above.len() + 16);
        pointer.push_str(above);
        node.push_step(&mut pointer);
        pointer
    }

    /// Members whose key stands a second time in their object: the first ones.
    pub(crate) fn repeated(&self, limit: usize) -> Vec<Id> {
        const FEW: usize = 16;
        let mut repeated = Vec::new();
        let mut keys: Vec<&str> = Vec::with_capacity(FEW);
        let mut many: HashSet<&str, RandomState> = HashSet::default();
        for (index, node) in self.nodes.iter().enumerate() {
            if !matches!(node.kind, Kind::Object(_)) || node.kind_count() < 2 {
                continue;
            }
            if repeated.len() >= limit {
                repeated.truncate(limit);
                break;
            }
            keys.clear();
            many.clear();
            for child in self.children(Id::of(index)) {
                let key = self.get(child).and_then(|node| node.key.as_deref()).unwrap_or_default();
                // Few keys are compared faster than they are hashed.
                let again = if node.kind_count() as usize <= FEW { keys.contains(&key) } else { !many.insert(key) };
                if again {
                    repeated.push(child);
                }
                keys.push(key);
            }
        }
        repeated
    }

    /// The value of a node. Nodes are never nested deeper than the options allow, so recursion is bounded.
    pub(crate) fn value(&self, id: Id) -> Value {
        match self.kind(id) {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(value.clone()),
            Kind::List(_) => Value::Array(self.children(id).map(|child| self.value(child)).collect()),
            Kind::Object(children) => {
                let mut map = Map::with_capacity(children.count as usize);
                for child in self.children(id) {
                    let key = self.get(child).and_then(|node| node.key.as_deref()).unwrap_or_default();
                    map.insert(key.to_owned(), self.value(child));
                }
                Value::Object(map)
            }
        }
    }

    /// The value of a node, whose texts are taken out of the tree.
    pub(crate) fn take_value(&mut self, id: Id) -> Value {
        let Some(node) = self.get_mut(id) else { return Value::Null };
        match &mut node.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(std::mem::take(value)),
            Kind::List(children) => {
                let (mut next, count) = (children.first, children.count);
                let mut items = Vec::with_capacity(count as usize);
                while let Some(child) = next {
                    items.push(self.take_value(child));
                    next = self.get(child).and_then(|node| node.next);
                }
                Value::Array(items)
            }
            Kind::Object(children) => {
                let (mut next, count) = (children.first, children.count);
                let mut map = Map::with_capacity(count as usize);
                while let Some(child) = next {
                    let key = self.get_mut(child).and_then(|node| node.key.take()).unwrap_or_default();
                    let value = self.take_value(child);
                    map.insert(key, value);
                    next = self.get(child).and_then(|node| node.next);
                }
                Value::Object(map)
            }
        }
    }

    /// Adds a value that did not come from a text.
    pub(crate) fn plant(&mut self, value: &Value, span: &Range<usize>) -> Id {
        let kind = |value: &Value| match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Number(value) => Kind::Number(value.clone()),
            Value::String(value) => Kind::Text(value.clone()),
            Value::Array(_) => Kind::List(Children::default()),
            Value::Object(_) => Kind::Object(Children::default()),
        };
        let root = self.push(Node::new(kind(value), span.clone()));
        let mut open = vec![(root, value)];
        while let Some((id, value)) = open.pop() {
            match value {
                Value::Array(items) => {
                    for item in items {
                        open.push((self.append(id, Node::new(kind(item), span.clone())), item));
                    }
                }
                Value::Object(members) => {
                    for (key, member) in members {
                        let mut node = Node::new(kind(member), span.clone());
                        node.key = Some(key.clone());
                        open.push((self.append(id, node), member));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        root
    }
}

impl Node {
    /// Adds the node's own step to the pointer of its parent.
    fn push_step(&self, pointer: &mut String) {
        pointer.push('/');
        match &self.key {
            Some(key) => push_step(pointer, key),
            // Writing to a text cannot fail.
            None => drop(write!(pointer, "{}", self.index)),
        }
    }
}

/// Adds a key as a step of a JSON Pointer.
pub(crate) fn push_step(pointer: &mut String, key: &str) {
    if key.contains(['~', '/']) {
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(key);
    }
}
