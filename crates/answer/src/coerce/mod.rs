//! Coercion of a value to a schema: first a plan with its cost, then the value of the cheapest plan.
//!
//! There is one plan for each pair of node and shape, so nested unions cost the sum of their branches, not the product.
//! Planning changes nothing; only the chosen plan is applied.

mod choice;
mod object;
mod partial;
mod scalar;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::judge::Judge;
use crate::options::Options;
use crate::readings::unquoted;
use crate::repair::{Cost, Kinds, Repair, RepairKind, Repairs};
use crate::salvage::{Trial, content, find};
use crate::shape::{Shape, ShapeId, Shapes, Types};
use crate::tree::{Id, Kind, Tree, push_step};

pub(crate) use scalar::text_number;

/// Options for coercion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoerceOptions {
    /// What happens to absent fields that have a default.
    pub defaults: Defaults,
}

/// What happens to absent fields that have a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defaults {
    /// They stay absent.
    #[default]
    Leave,
    /// The default is inserted.
    Apply,
}

impl CoerceOptions {
    /// Sets what happens to absent fields that have a default.
    #[must_use]
    pub fn with_defaults(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }
}

/// Whether the value is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Whole,
    /// More may follow, so absent fields may still arrive.
    Arriving,
}

/// Maximum depth of coercion; deeper values stay unchanged.
const MAX_DEPTH: usize = 96;
/// Bytes that all plans may take, and more for each byte of the text.
const PLAN_BYTES: usize = 20 << 20;
const PLAN_BYTES_PER_BYTE: usize = 6;
/// About what an entry of the map takes, and what the plan itself does.
const ENTRY_BYTES: usize = 32;
const PLAN_SIZE: usize = size_of::<Plan>() + 16;

/// A way to make a value of a shape from a node.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) cost: Cost,
    how: How,
    repairs: Kinds,
}

#[derive(Debug)]
enum How {
    /// The node as it is.
    Keep,
    Put(Box<Value>),
    /// The text that the node was written as.
    Raw,
    /// A list of the node as it is.
    Alone,
    List(Vec<(Id, ShapeId)>),
    Object(Vec<Member>),
    /// What another plan gives.
    Through(Id, ShapeId),
}

#[derive(Debug)]
struct Member {
    key: Key,
    from: From,
    repair: Option<RepairKind>,
}

/// The key of a member.
#[derive(Debug)]
enum Key {
    /// The one that the node was written under.
    Own(Id),
    Named(Arc<str>),
}

#[derive(Debug)]
enum From {
    Plan(Id, ShapeId),
    Node(Id),
    Value(Arc<Value>),
    /// Left out.
    Nothing,
}

impl Plan {
    fn keep() -> Self {
        Self { cost: Cost::default(), how: How::Keep, repairs: Kinds::None }
    }

    fn unmet() -> Self {
        Self { cost: Cost::UNMET, how: How::Keep, repairs: Kinds::None }
    }

    fn put(value: Value, kind: RepairKind) -> Self {
        Self { cost: Cost::of(kind), how: How::Put(Box::new(value)), repairs: Kinds::One(kind) }
    }

    fn better(self, other: Self) -> Self {
        if other.cost < self.cost { other } else { self }
    }

    fn is_unmet(&self) -> bool {
        matches!((&self.how, &self.repairs), (How::Keep, Kinds::None)) && self.cost == Cost::UNMET
    }

    /// The memory that it takes.
    fn bytes(&self) -> usize {
        PLAN_SIZE
            + match &self.how {
                How::List(items) => items.capacity() * size_of::<(Id, ShapeId)>(),
                How::Object(members) => members.capacity() * size_of::<Member>(),
                How::Put(_) => 64,
                How::Keep | How::Raw | How::Alone | How::Through(..) => 0,
            }
    }
}

/// The list or object that a text holds, and what taking it out of the text took.
#[derive(Debug)]
struct Opened {
    inner: Id,
    repairs: Kinds,
}

/// Makes plans over one tree.
pub(crate) struct Coercer<'a> {
    shapes: &'a Shapes,
    tree: Tree,
    text: &'a str,
    options: CoerceOptions,
    stage: Stage,
    plans: HashMap<(Id, ShapeId), Option<Rc<Plan>>, RandomState>,
    opened: HashMap<Id, Option<Rc<Opened>>, RandomState>,
    depth: usize,
    budget: &'a Budget,
    /// Memory that plans may still take.
    bytes_left: usize,
    /// Plans that many nodes share.
    keep: Rc<Plan>,
    unmet: Rc<Plan>,
}

impl<'a> Coercer<'a> {
    pub(crate) fn new(
        shapes: &'a Shapes,
        tree: Tree,
        text: &'a str,
        (options, stage): (CoerceOptions, Stage),
        budget: &'a Budget,
    ) -> Self {
        Self {
            shapes,
            tree,
            text,
            options,
            stage,
            plans: HashMap::default(),
            opened: HashMap::default(),
            depth: 0,
            budget,
            bytes_left: PLAN_BYTES.saturating_add(text.len().saturating_mul(PLAN_BYTES_PER_BYTE)),
            keep: Rc::new(Plan::keep()),
            unmet: Rc::new(Plan::unmet()),
        }
    }

    /// Gives the tree back, with what was taken out of texts.
    pub(crate) fn into_tree(self) -> Tree {
        self.tree
    }

    pub(crate) fn cost(&mut self, root: Id) -> Cost {
        self.plan(root, self.shapes.root).cost
    }

    /// The value of a node, if a schema accepts it as it is.
    pub(crate) fn accepted(&self, root: Id, judge: &Judge) -> Option<Value> {
        let value = self.tree.value(root);
        (judge.accepts(&value, self.budget) == Ok(true)).then_some(value)
    }

    /// Carries out the best plan for a node.
    pub(crate) fn build(&mut self, root: Id) -> (Value, Vec<Repair>) {
        let plan = self.plan(root, self.shapes.root);
        let mut repairs = Repairs::default();
        let value = self.carry_out(root, &plan, &mut String::new(), &mut repairs);
        (value, repairs.into_list())
    }

    fn plan(&mut self, id: Id, shape: ShapeId) -> Rc<Plan> {
        self.try_plan(id, shape).unwrap_or_else(|| self.unmet.clone())
    }

    /// The plan for a node and a shape. A plan that needs itself is none.
    fn try_plan(&mut self, id: Id, shape: ShapeId) -> Option<Rc<Plan>> {
        let Some(wanted) = self.shapes.get(shape) else { return Some(self.keep.clone()) };
        if self.is_kept(id, wanted) {
            return Some(self.keep.clone());
        }
        if let Some(known) = self.plans.get(&(id, shape)) {
            return known.clone();
        }
        if self.depth >= MAX_DEPTH || self.budget.spend(2).is_err() {
            return Some(self.keep.clone());
        }
        self.plans.insert((id, shape), None);
        self.depth += 1;
        let plan = self.make(id, wanted);
        self.depth -= 1;
        let (plan, bytes) = if plan.is_unmet() {
            (self.unmet.clone(), ENTRY_BYTES)
        } else {
            let bytes = plan.bytes();
            (Rc::new(plan), ENTRY_BYTES + bytes)
        };
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => self.bytes_left = left,
            None => drop(self.budget.exhaust()),
        }
        self.plans.insert((id, shape), Some(plan.clone()));
        Some(plan)
    }

    /// Whether a scalar is what the shape wants: most are, and need no plan of their own.
    fn is_kept(&self, id: Id, wanted: &Shape) -> bool {
        let kind = self.tree.kind(id);
        let scalar = !matches!(kind, Kind::List(_) | Kind::Object(_));
        scalar && wanted.branches.is_empty() && wanted.choices.is_empty() && wanted.types.has(types_of(kind))
    }

    fn make(&mut self, id: Id, wanted: &Shape) -> Plan {
        if !wanted.branches.is_empty() {
            return self.branch(id, wanted);
        }
        if !wanted.choices.is_empty() {
            return self.choose(id, wanted);
        }
        let kind = self.tree.kind(id);
        let own = types_of(kind);
        if wanted.types.has(own) {
            return match kind {
                Kind::Object(_) => self.object(id, wanted),
                Kind::List(_) => self.list(id, wanted),
                Kind::Text(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) => Plan::keep(),
            };
        }
        let mut best = Plan::unmet();
        for types in
            [Types::BOOLEAN, Types::INTEGER, Types::NUMBER, Types::ARRAY, Types::OBJECT, Types::STRING, Types::NULL]
        {
            if wanted.types.has(types) {
                let plan = self.convert(id, wanted, types);
                best = best.better(plan);
            }
        }
        best
    }

    fn convert(&mut self, id: Id, wanted: &Shape, types: Types) -> Plan {
        match types {
            Types::ARRAY => self.as_list(id, wanted),
            Types::OBJECT => self.as_object(id, wanted),
            types => self.as_scalar(id, types),
        }
    }

    /// The cheapest branch; the first of several.
    fn branch(&mut self, id: Id, wanted: &Shape) -> Plan {
        let mut best: Option<(Cost, ShapeId)> = None;
        let mut tied = false;
        for branch in &wanted.branches {
            let Some(plan) = self.try_plan(id, *branch) else { continue };
            let cost = plan.cost;
            match best {
                Some((least, _)) if cost > least => {}
                Some((least, _)) if cost == least => tied = true,
                Some(_) | None => {
                    best = Some((cost, *branch));
                    tied = false;
                }
            }
            if cost.is_free() {
                // Nothing that comes later can be better.
                break;
            }
        }
        let Some((cost, branch)) = best else { return Plan::unmet() };
        let ambiguous = tied && !cost.is_free() && cost.unmet == 0;
        Plan {
            cost,
            how: How::Through(id, branch),
            repairs: if ambiguous { Kinds::One(RepairKind::Ambiguous) } else { Kinds::None },
        }
    }

    fn list(&mut self, id: Id, wanted: &Shape) -> Plan {
        let children: Vec<Id> = self.tree.children(id).collect();
        let mut cost = Cost::default();
        let mut items = Vec::with_capacity(children.len());
        for (index, child) in children.into_iter().enumerate() {
            let Some(shape) = wanted.item(index) else { return Plan::keep() };
            cost = cost.plus(self.plan(child, shape).cost);
            items.push((child, shape));
        }
        Plan { cost, how: How::List(items), repairs: Kinds::None }
    }

    fn as_list(&mut self, id: Id, wanted: &Shape) -> Plan {
        if let (Kind::Null, Stage::Whole) = (self.tree.kind(id), self.stage) {
            return Plan::put(Value::Array(Vec::new()), RepairKind::EmptyApplied);
        }
        let mut best = Plan::unmet();
        if let Some(opened) = self.opened(id).filter(|opened| matches!(self.tree.kind(opened.inner), Kind::List(_))) {
            best = best.better(self.through_text(&opened, wanted));
        }
        if let Some(item) = wanted.item(0) {
            if let Some(plan) = self.try_plan(id, item) {
                let cost = plan.cost.plus(Cost::of(RepairKind::ToList));
                best = best.better(Plan {
                    cost,
                    how: How::List(vec![(id, item)]),
                    repairs: Kinds::One(RepairKind::ToList),
                });
            }
        } else {
            let kind = RepairKind::ToList;
            best = best.better(Plan { cost: Cost::of(kind), how: How::Alone, repairs: Kinds::One(kind) });
        }
        let only = self.only_member(id);
        if let Some(inner) = only.filter(|inner| matches!(self.tree.kind(*inner), Kind::List(_))) {
            best = best.better(self.through(inner, wanted, RepairKind::Unwrapped));
        }
        best
    }

    /// The plan for another node in the place of this one.
    fn through(&mut self, inner: Id, wanted: &Shape, kind: RepairKind) -> Plan {
        let cost = self.plan(inner, wanted.id).cost.plus(Cost::of(kind));
        Plan { cost, how: How::Through(inner, wanted.id), repairs: Kinds::One(kind) }
    }

    /// The plan for what a text holds. What was mended there is on record, but does not make another reading better.
    fn through_text(&mut self, opened: &Opened, wanted: &Shape) -> Plan {
        Plan { repairs: opened.repairs.clone(), ..self.through(opened.inner, wanted, RepairKind::Encoded) }
    }

    /// The value of the only member of an object.
    fn only_member(&self, id: Id) -> Option<Id> {
        let object = matches!(self.tree.kind(id), Kind::Object(_)) && self.tree.count(id) == 1;
        self.tree.children(id).next().filter(|_| object)
    }

    /// The list or object that a text holds.
    fn opened(&mut self, id: Id) -> Option<Rc<Opened>> {
        if let Some(known) = self.opened.get(&id) {
            return known.clone();
        }
        let Kind::Text(text) = self.tree.kind(id) else { return None };
        let opened = if text.trim_start().starts_with(['{', '[', '"']) { self.open(text.clone()) } else { None };
        let opened = opened.map(Rc::new);
        self.opened.insert(id, opened.clone());
        opened
    }

    fn open(&mut self, text: String) -> Option<Opened> {
        self.budget.spend(1 + text.len() / 4).ok()?;
        let (text, layers) = unquoted(text);
        let options = match self.stage {
            Stage::Whole => Options::default().of_known(),
            Stage::Arriving => Options::partial(),
        };
        let mut found = if text.trim_start().starts_with(['{', '[']) {
            find(&text, &options, Trial::Open, None).candidates
        } else {
            Vec::new()
        };
        let candidate = found.pop().filter(|_| found.is_empty())?;
        let mut repairs = vec![RepairKind::Encoded; layers + 1];
        if candidate.span.end < text.trim_end().len() {
            repairs.push(RepairKind::Prose);
        }
        let (value, mended) = content(candidate.content);
        // Their places are places of another text: it is enough to know of each kind.
        for kind in mended.into_iter().map(|repair| repair.kind) {
            if !repairs.contains(&kind) {
                repairs.push(kind);
            }
        }
        // What comes out of a text has no bytes of its own.
        Some(Opened { inner: self.tree.plant(&value, &(0..0)), repairs: Kinds::of(&repairs) })
    }

    /// The text that a node was written as.
    fn raw(&self, id: Id) -> String {
        let Some(node) = self.tree.get(id) else { return String::new() };
        match (&node.kind, self.text.get(node.span.clone())) {
            (Kind::Text(text), _) => text.clone(),
            (_, Some(raw)) if !raw.is_empty() => raw.to_owned(),
            (_, _) => self.tree.value(id).to_string(),
        }
    }

    /// The key of a member.
    fn key<'k>(&'k self, member: &'k Member) -> &'k str {
        match &member.key {
            Key::Own(id) => self.tree.get(*id).and_then(|node| node.key.as_deref()).unwrap_or_default(),
            Key::Named(name) => name,
        }
    }

    fn carry_out(&mut self, id: Id, plan: &Plan, path: &mut String, repairs: &mut Repairs) -> Value {
        let span = self.tree.get(id).map(|node| node.span.clone()).filter(|span| !span.is_empty());
        for kind in plan.repairs.as_slice() {
            repairs.push(*kind, path, span.as_ref());
        }
        match &plan.how {
            How::Keep => self.tree.value(id),
            How::Put(value) => Value::clone(value),
            How::Raw => Value::String(self.raw(id)),
            How::Alone => Value::Array(vec![self.tree.value(id)]),
            How::Through(inner, shape) => {
                let plan = self.plan(*inner, *shape);
                self.carry_out(*inner, &plan, path, repairs)
            }
            How::List(items) => {
                let length = path.len();
                let mut list = Vec::with_capacity(items.len());
                for (index, (item, shape)) in items.iter().enumerate() {
                    // Writing to a text cannot fail.
                    let _ = write!(path, "/{index}");
                    let plan = self.plan(*item, *shape);
                    list.push(self.carry_out(*item, &plan, path, repairs));
                    path.truncate(length);
                }
                Value::Array(list)
            }
            How::Object(members) => {
                let length = path.len();
                let mut map = Map::with_capacity(members.len());
                for member in members {
                    path.push('/');
                    push_step(path, self.key(member));
                    if let Some(kind) = member.repair {
                        repairs.push(kind, path, span.as_ref());
                    }
                    let value = match &member.from {
                        From::Plan(id, shape) => {
                            let plan = self.plan(*id, *shape);
                            Some(self.carry_out(*id, &plan, path, repairs))
                        }
                        From::Node(id) => Some(self.tree.value(*id)),
                        From::Value(value) => Some(Value::clone(value)),
                        From::Nothing => None,
                    };
                    path.truncate(length);
                    if let Some(value) = value {
                        map.insert(self.key(member).to_owned(), value);
                    }
                }
                Value::Object(map)
            }
        }
    }
}

fn types_of(kind: &Kind) -> Types {
    match kind {
        Kind::Null => Types::NULL,
        Kind::Bool(_) => Types::BOOLEAN,
        Kind::Number(number) if number.is_f64() => Types::NUMBER,
        Kind::Number(_) => Types::INTEGER_OR_NUMBER,
        Kind::Text(_) => Types::STRING,
        Kind::List(_) => Types::ARRAY,
        Kind::Object(_) => Types::OBJECT,
    }
}
