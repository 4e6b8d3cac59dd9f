//! Owns the schema as a graph of typed nodes: a reference is an edge, so sharing and cycles are natural. A node is the
//! conjunction of everything it holds. Nothing here knows a dialect.

use std::num::NonZeroU32;
use std::ops::Index;

use crate::arena::Arena;
use crate::json::{Json, Num};
use crate::keyword::Kw;
use crate::place::{Place, index, nth};
use crate::types::Types;

/// A node of a [`Graph`]: its number, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(NonZeroU32);

/// Something for nodes, of which most have it.
#[derive(Debug)]
pub(crate) struct NodeMap<T>(Vec<Option<T>>);

impl<T> Default for NodeMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> NodeMap<T> {
    pub(crate) fn get(&self, id: NodeId) -> Option<T> {
        self.0.get(index(id.0)).copied().flatten()
    }

    /// Returns the previous value.
    pub(crate) fn insert(&mut self, id: NodeId, value: T) -> Option<T> {
        let index = index(id.0);
        if index >= self.0.len() {
            self.0.resize(index.next_power_of_two().max(index + 1), None);
        }
        self.0.get_mut(index).and_then(|slot| slot.replace(value))
    }
}

/// A schema, read. It lies in the arena with everything it holds, so that a copy of it is cheap and is changed by giving it
/// other lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'g, 'd> {
    pub(crate) place: Option<Place>,
    /// The JSON that the node was read from. The node may have changed since.
    pub(crate) source: Option<&'d Json<'d>>,
    pub(crate) types: Option<Types>,
    pub(crate) is_const: bool,
    /// The schema that this one refers to.
    pub(crate) target: Option<NodeId>,
    pub(crate) rules: NodeRules<'g, 'd>,
    pub(crate) annotations: &'g [Annotation<'d>],
}

/// The rules of a node beside its types. Most nodes have none or one kind, so only those are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeRules<'g, 'd> {
    Nothing,
    Number(&'g NumberRules<'g, 'd>),
    Text(&'g TextRules<'g, 'd>),
    Array(&'g ArrayRules<'g>),
    Object(&'g ObjectRules<'g, 'd>),
    Logic(&'g Logic<'g, 'd>),
    Several(&'g RuleSet<'g, 'd>),
}

/// All rules of a node beside its types.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RuleSet<'g, 'd> {
    pub(crate) values: Option<&'g [&'d Json<'d>]>,
    pub(crate) formats: &'g [&'d str],
    pub(crate) number: Option<&'g NumberRules<'g, 'd>>,
    pub(crate) text: Option<&'g TextRules<'g, 'd>>,
    pub(crate) array: Option<&'g ArrayRules<'g>>,
    pub(crate) object: Option<&'g ObjectRules<'g, 'd>>,
    pub(crate) logic: Option<&'g Logic<'g, 'd>>,
}

/// A lower or upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: Num,
    pub(crate) exclusive: bool,
}

/// A side of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundSide {
    Lower,
    Upper,
}

impl Bound {
    /// The bound that leaves fewer numbers.
    pub(crate) fn tighter(self, other: Self, side: BoundSide) -> Self {
        let (own, new) = (self.value.as_f64(), other.value.as_f64());
        let first =
            if own.total_cmp(&new).is_eq() { self.exclusive } else { (own > new) == (side == BoundSide::Lower) };
        if first { self } else { other }
    }
}

/// The rules for numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberRules<'g, 'd> {
    pub(crate) min: Option<Bound>,
    pub(crate) max: Option<Bound>,
    pub(crate) multiples: &'g [&'d Json<'d>],
}

/// The rules for strings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextRules<'g, 'd> {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) patterns: &'g [&'d str],
}

/// The rules for arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrayRules<'g> {
    pub(crate) prefix: &'g [NodeId],
    pub(crate) items: Option<NodeId>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) unique: bool,
    pub(crate) contains: &'g [Contains],
    pub(crate) unevaluated: Option<NodeId>,
}

/// How many items must be of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contains {
    pub(crate) node: NodeId,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

/// The rules for objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectRules<'g, 'd> {
    pub(crate) properties: &'g [(&'d str, NodeId)],
    pub(crate) required: &'g [&'d str],
    pub(crate) additional: Option<NodeId>,
    pub(crate) unevaluated: Option<NodeId>,
    pub(crate) rare: &'g RareRules<'g, 'd>,
}

/// Rules that few objects have; the others share one empty value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RareRules<'g, 'd> {
    pub(crate) patterns: &'g [(&'d str, NodeId)],
    pub(crate) names: &'g [NodeId],
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// `dependentRequired`.
    pub(crate) needs: &'g [(&'d str, &'g [&'d str])],
    /// `dependentSchemas`.
    pub(crate) dependents: &'g [(&'d str, NodeId)],
}

impl Default for ObjectRules<'_, '_> {
    fn default() -> Self {
        Self { properties: &[], required: &[], additional: None, unevaluated: None, rare: &RareRules::NONE }
    }
}

impl<'d> ObjectRules<'_, 'd> {
    /// Every name that is spoken of.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'d str> {
        let declared = self.properties.iter().map(|(key, _)| *key).chain(self.required.iter().copied());
        let needed = self.rare.needs.iter().flat_map(|(key, names)| std::iter::once(*key).chain(names.iter().copied()));
        declared.chain(needed).chain(self.rare.dependents.iter().map(|(key, _)| *key))
    }
}

impl<'g> RareRules<'g, '_> {
    const NONE: Self = Self { patterns: &[], names: &[], min: 0, max: None, needs: &[], dependents: &[] };

    pub(crate) fn is_empty(&self) -> bool {
        let Self { patterns, names, min, max, needs, dependents } = self;
        let lists = patterns.is_empty() && names.is_empty() && needs.is_empty() && dependents.is_empty();
        lists && *min == 0 && max.is_none()
    }

    /// The same in the arena.
    pub(crate) fn store_in(self, arena: &'g Arena) -> &'g Self {
        if self.is_empty() { &Self::NONE } else { arena.keep(self) }
    }
}

/// Rules by other schemas for the same value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Logic<'g, 'd> {
    pub(crate) all: &'g [NodeId],
    pub(crate) unions: &'g [Union<'g>],
    pub(crate) nots: &'g [NodeId],
    pub(crate) conditions: &'g [Condition<'d>],
}

impl<'g> Logic<'g, '_> {
    /// `None` where empty.
    pub(crate) fn store_in(self, arena: &'g Arena) -> Option<&'g Self> {
        (!self.is_empty()).then(|| arena.keep(self))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.unions.is_empty() && self.nots.is_empty() && self.conditions.is_empty()
    }
}

/// An `anyOf` or `oneOf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Union<'g> {
    pub(crate) exactly_one: bool,
    pub(crate) branches: &'g [NodeId],
}

/// An `if` with its `then` and `else`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition<'d> {
    pub(crate) when: NodeId,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
    /// The three as they were written, for people.
    pub(crate) written: [Option<&'d Json<'d>>; 3],
}

/// An annotation, or a key that no draft knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Annotation<'d> {
    pub(crate) key: AnnotationKey<'d>,
    pub(crate) value: &'d Json<'d>,
}

/// What a [`Annotation`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AnnotationKey<'d> {
    Kw(Kw),
    Unknown(&'d str),
}

impl<'g, 'd> NodeRules<'g, 'd> {
    /// Where all of several are; none where there are not several.
    fn several(self) -> &'g RuleSet<'g, 'd> {
        if let Self::Several(rules) = self { rules } else { &RuleSet::NONE }
    }

    /// All of it, to be changed and kept again.
    pub(crate) fn all(self) -> RuleSet<'g, 'd> {
        RuleSet {
            values: self.values(),
            formats: self.formats(),
            number: self.number(),
            text: self.text(),
            array: self.array(),
            object: self.object(),
            logic: self.logic(),
        }
    }

    pub(crate) fn values(self) -> Option<&'g [&'d Json<'d>]> {
        self.several().values
    }

    pub(crate) fn formats(self) -> &'g [&'d str] {
        self.several().formats
    }

    pub(crate) fn number(self) -> Option<&'g NumberRules<'g, 'd>> {
        if let Self::Number(own) = self { Some(own) } else { self.several().number }
    }

    pub(crate) fn text(self) -> Option<&'g TextRules<'g, 'd>> {
        if let Self::Text(own) = self { Some(own) } else { self.several().text }
    }

    pub(crate) fn array(self) -> Option<&'g ArrayRules<'g>> {
        if let Self::Array(own) = self { Some(own) } else { self.several().array }
    }

    pub(crate) fn object(self) -> Option<&'g ObjectRules<'g, 'd>> {
        if let Self::Object(own) = self { Some(own) } else { self.several().object }
    }

    pub(crate) fn logic(self) -> Option<&'g Logic<'g, 'd>> {
        if let Self::Logic(own) = self { Some(own) } else { self.several().logic }
    }

    /// True without rules for numbers, strings, arrays or objects.
    fn has_no_typed_rules(self) -> bool {
        match self {
            Self::Nothing | Self::Logic(_) => true,
            Self::Number(_) | Self::Text(_) | Self::Array(_) | Self::Object(_) => false,
            Self::Several(rules) => rules.has_no_typed_rules(),
        }
    }
}

impl<'g, 'd> RuleSet<'g, 'd> {
    const NONE: Self =
        Self { values: None, formats: &[], number: None, text: None, array: None, object: None, logic: None };

    /// The same as a node keeps it.
    pub(crate) fn store_in(self, arena: &'g Arena) -> NodeRules<'g, 'd> {
        let Self { values, formats, number, text, array, object, logic } = self;
        match (number, text, array, object, logic) {
            _ if values.is_some() || !formats.is_empty() => NodeRules::Several(arena.keep(self)),
            (None, None, None, None, None) => NodeRules::Nothing,
            (Some(own), None, None, None, None) => NodeRules::Number(own),
            (None, Some(own), None, None, None) => NodeRules::Text(own),
            (None, None, Some(own), None, None) => NodeRules::Array(own),
            (None, None, None, Some(own), None) => NodeRules::Object(own),
            (None, None, None, None, Some(own)) => NodeRules::Logic(own),
            _ => NodeRules::Several(arena.keep(self)),
        }
    }

    /// True without rules for numbers, strings, arrays or objects.
    fn has_no_typed_rules(&self) -> bool {
        self.formats.is_empty()
            && self.number.is_none()
            && self.text.is_none()
            && self.array.is_none()
            && self.object.is_none()
    }
}

impl Default for Node<'_, '_> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<'g, 'd> Node<'g, 'd> {
    /// A node without rules.
    const NONE: Self = Self {
        place: None,
        source: None,
        types: None,
        is_const: false,
        target: None,
        rules: NodeRules::Nothing,
        annotations: &[],
    };

    /// The same with other rules.
    pub(crate) fn with_rules(self, rules: RuleSet<'g, 'd>, arena: &'g Arena) -> Self {
        Self { rules: rules.store_in(arena), ..self }
    }

    /// The same with other logic.
    pub(crate) fn with_logic(self, logic: Logic<'g, 'd>, arena: &'g Arena) -> Self {
        self.with_rules(RuleSet { logic: logic.store_in(arena), ..self.rules.all() }, arena)
    }

    /// The same without its unions.
    pub(crate) fn without_unions(self, arena: &'g Arena) -> Self {
        self.rules.logic().map_or(self, |logic| self.with_logic(Logic { unions: &[], ..*logic }, arena))
    }

    /// The types of this node itself, not of its logic.
    pub(crate) fn types(&self) -> Types {
        self.types.unwrap_or(Types::ANY)
    }

    pub(crate) fn is_any(&self) -> bool {
        self.types() == Types::ANY && self.has_only_types()
    }

    pub(crate) fn has_only_types(&self) -> bool {
        self.target.is_none() && self.rules.logic().is_none() && self.has_no_rules()
    }

    /// About the cost of copying or merging the node.
    pub(crate) fn weight(&self) -> usize {
        let values = self.rules.values().map_or(0, |values| values.len() / 8);
        let object = self.rules.object().map_or(0, |rules| {
            let rare = rules.rare;
            rules.properties.len() + rules.required.len() / 4 + rare.patterns.len() + rare.dependents.len()
        });
        let array = self.rules.array().map_or(0, |rules| rules.prefix.len() + rules.contains.len());
        let logic = self.rules.logic().map_or(0, |logic| {
            let branches: usize = logic.unions.iter().map(|union| union.branches.len() + 1).sum();
            logic.all.len() + branches + logic.nots.len() + logic.conditions.len()
        });
        1 + values + object + array + logic
    }

    /// True without types and rules beside a reference or logic.
    pub(crate) fn is_bare(&self) -> bool {
        self.types.is_none() && self.has_no_rules()
    }

    fn has_no_rules(&self) -> bool {
        self.rules.values().is_none() && self.has_no_rules_beside_values()
    }

    /// True without rules beside types and listed values.
    pub(crate) fn has_no_rules_beside_values(&self) -> bool {
        self.rules.has_no_typed_rules()
    }

    pub(crate) fn is_alias(&self) -> bool {
        self.target.is_some() && self.is_bare() && self.rules.logic().is_none() && self.annotations.is_empty()
    }

    /// The value of a keyword in the caller's schema.
    pub(crate) fn written(&self, kw: Kw) -> Option<&'d Json<'d>> {
        self.source?.get(kw.name())
    }

    pub(crate) fn note(&self, kw: Kw) -> Option<&'d Json<'d>> {
        self.annotations.iter().find(|note| note.key == AnnotationKey::Kw(kw)).map(|note| note.value)
    }

    pub(crate) fn unions(&self) -> &'g [Union<'g>] {
        self.rules.logic().map_or(&[], |logic| logic.unions)
    }

    /// The node as it was written, where it is still that: one type of values without parts, and annotations.
    pub(crate) fn as_written(&self) -> Option<&'d Json<'d>> {
        let scalar = !self.types?.intersects(Types::ARRAY.or(Types::OBJECT));
        let name = self.types?.name().filter(|_| scalar && self.has_only_types())?;
        let source = self.source?;
        let members = source.as_obj().filter(|members| members.len() == self.annotations.len() + 1)?;
        let mut annotations = self.annotations.iter();
        let same = members.iter().all(|(key, value)| match Kw::of(key) {
            Some(Kw::Type) => value.as_str() == Some(name),
            Some(_) | None => annotations.next().is_some_and(|note| std::ptr::eq(note.value, value)),
        });
        same.then_some(source)
    }

    /// Restricts the node to types, and drops the rules for other types.
    pub(crate) fn restrict(&mut self, types: Types, arena: &'g Arena) {
        let types = self.types().and(types);
        let mut rules = self.rules.all();
        self.types = Some(types);
        if !types.intersects(Types::NUMBER) {
            rules.number = None;
        }
        if !types.intersects(Types::STRING) {
            rules.text = None;
            if !types.intersects(Types::NUMBER) {
                rules.formats = &[];
            }
        }
        if !types.intersects(Types::ARRAY) {
            rules.array = None;
        }
        if !types.intersects(Types::OBJECT) {
            rules.object = None;
        }
        rules.values = rules.values.map(|values| arena.filtered(values, |value| types.intersects(Types::of(value))));
        self.rules = rules.store_in(arena);
    }
}

/// The nodes of a schema.
#[derive(Debug)]
pub(crate) struct Graph<'g, 'd, 'b> {
    arena: &'g Arena,
    /// The nodes of the graph that this one extends.
    below: &'b [&'g Node<'g, 'd>],
    nodes: Vec<&'g Node<'g, 'd>>,
}

/// The placeholder for reserved nodes.
static UNKNOWN: Node<'static, 'static> = Node::NONE;

impl<'g, 'd> Graph<'g, 'd, '_> {
    pub(crate) fn with_capacity(nodes: usize, arena: &'g Arena) -> Self {
        Self { arena, below: &[], nodes: Vec::with_capacity(nodes) }
    }

    /// A graph that begins as this one is.
    pub(crate) fn extend_graph(&self) -> Graph<'g, 'd, '_> {
        debug_assert!(self.below.is_empty(), "one layer above what was read is all there is");
        Graph { arena: self.arena, below: &self.nodes, nodes: Vec::new() }
    }

    /// Where the nodes lie.
    pub(crate) fn arena(&self) -> &'g Arena {
        self.arena
    }

    pub(crate) fn len(&self) -> usize {
        self.below.len() + self.nodes.len()
    }

    pub(crate) fn add(&mut self, node: Node<'g, 'd>) -> NodeId {
        let node = self.arena.keep(node);
        self.push(node)
    }

    /// A node that is not known yet.
    pub(crate) fn reserve(&mut self) -> NodeId {
        self.push(&UNKNOWN)
    }

    fn push(&mut self, node: &'g Node<'g, 'd>) -> NodeId {
        self.nodes.push(node);
        NodeId(nth(self.len()))
    }

    /// Sets a node that was reserved.
    pub(crate) fn set(&mut self, id: NodeId, node: Node<'g, 'd>) {
        if let Some(slot) = index(id.0).checked_sub(self.below.len()).and_then(|own| self.nodes.get_mut(own)) {
            *slot = self.arena.keep(node);
        }
    }

    /// Calls a function for every node that a node refers to.
    pub(crate) fn each_child(&self, id: NodeId, visit: &mut dyn FnMut(NodeId)) {
        let node = self[id];
        node.target.into_iter().for_each(&mut *visit);
        if let Some(rules) = node.rules.array() {
            let contains = rules.contains.iter().map(|contains| contains.node);
            let items = rules.prefix.iter().copied().chain(rules.items).chain(rules.unevaluated);
            items.chain(contains).for_each(&mut *visit);
        }
        if let Some(rules) = node.rules.object() {
            let named =
                rules.properties.iter().chain(rules.rare.patterns).chain(rules.rare.dependents).map(|(_, id)| *id);
            let others = rules.rare.names.iter().copied().chain(rules.additional).chain(rules.unevaluated);
            named.chain(others).for_each(&mut *visit);
        }
        if let Some(logic) = node.rules.logic() {
            let branches = logic.unions.iter().flat_map(|union| union.branches.iter().copied());
            logic.all.iter().chain(logic.nots).copied().chain(branches).for_each(&mut *visit);
            for condition in logic.conditions {
                [Some(condition.when), condition.then, condition.otherwise].into_iter().flatten().for_each(&mut *visit);
            }
        }
    }
}

impl<'g, 'd> Index<NodeId> for Graph<'g, 'd, '_> {
    type Output = &'g Node<'g, 'd>;

    #[expect(clippy::indexing_slicing, reason = "an id is made by the graph that holds the node, or the one below")]
    fn index(&self, id: NodeId) -> &&'g Node<'g, 'd> {
        let index = index(id.0);
        self.below.get(index).unwrap_or_else(|| &self.nodes[index - self.below.len()])
    }
}
