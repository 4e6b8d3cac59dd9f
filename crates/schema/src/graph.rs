//! Owns the schema as a graph of typed nodes: a reference is an edge, so sharing and cycles are natural. A node is the
//! conjunction of everything it holds. Nothing here knows a dialect.

use std::fmt::Write;
use std::ops::Index;

use crate::arena::Arena;
use crate::json::{Json, Num, push_token};
use crate::keyword::Kw;
use crate::types::Types;

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

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
        self.0.get(id.0 as usize).copied().flatten()
    }

    /// Sets what a node has, and returns what it had.
    pub(crate) fn insert(&mut self, id: NodeId, value: T) -> Option<T> {
        let index = id.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index.next_power_of_two().max(index + 1), None);
        }
        self.0.get_mut(index).and_then(|slot| slot.replace(value))
    }
}

/// A place in the caller's schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(u32);

/// The place of the root.
pub(crate) const ROOT: Place = Place(0);

/// One step of the way to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'d> {
    Word(&'d str),
    Index(usize),
}

impl Step<'_> {
    fn spell(&self, pointer: &mut String) {
        match self {
            Self::Word(word) => push_token(pointer, word),
            // Writing to a text cannot fail.
            Self::Index(index) => drop(write!(pointer, "/{index}")),
        }
    }

    /// About how many bytes the step takes.
    fn room(&self) -> usize {
        match self {
            Self::Word(word) => word.len(),
            Self::Index(_) => 4,
        }
    }
}

/// A schema, read. It lies in the arena with everything it holds, so that a copy of it is cheap and is changed by giving it
/// other lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node<'d> {
    pub(crate) place: Option<Place>,
    /// What the node was read from. It may have been changed since.
    pub(crate) source: Option<&'d Json<'d>>,
    pub(crate) types: Option<Types>,
    pub(crate) values: Option<&'d [&'d Json<'d>]>,
    /// Whether the one value was written as `const`.
    pub(crate) constant: bool,
    /// The schema that this one refers to.
    pub(crate) target: Option<NodeId>,
    pub(crate) formats: &'d [&'d str],
    pub(crate) number: Option<&'d NumberRules<'d>>,
    pub(crate) text: Option<&'d TextRules<'d>>,
    pub(crate) array: Option<&'d ArrayRules<'d>>,
    pub(crate) object: Option<&'d ObjectRules<'d>>,
    pub(crate) logic: Option<&'d Logic<'d>>,
    pub(crate) notes: &'d [Note<'d>],
}

/// A lower or upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: Num,
    pub(crate) exclusive: bool,
}

/// A side of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Lower,
    Upper,
}

impl Bound {
    /// The bound that leaves fewer numbers.
    pub(crate) fn tighter(self, other: Self, side: Side) -> Self {
        let (own, new) = (self.value.as_f64(), other.value.as_f64());
        let first = if own.total_cmp(&new).is_eq() { self.exclusive } else { (own > new) == (side == Side::Lower) };
        if first { self } else { other }
    }
}

/// What is asked of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberRules<'d> {
    pub(crate) min: Option<Bound>,
    pub(crate) max: Option<Bound>,
    pub(crate) multiples: &'d [&'d Json<'d>],
}

/// What is asked of strings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextRules<'d> {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) patterns: &'d [&'d str],
}

/// What is asked of arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrayRules<'d> {
    pub(crate) prefix: &'d [NodeId],
    pub(crate) items: Option<NodeId>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) unique: bool,
    pub(crate) contains: &'d [Contains],
    pub(crate) unevaluated: Option<NodeId>,
}

/// How many items must be of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contains {
    pub(crate) node: NodeId,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

/// What is asked of objects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObjectRules<'d> {
    pub(crate) properties: &'d [(&'d str, NodeId)],
    pub(crate) required: &'d [&'d str],
    pub(crate) additional: Option<NodeId>,
    pub(crate) patterns: &'d [(&'d str, NodeId)],
    pub(crate) names: &'d [NodeId],
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// `dependentRequired`.
    pub(crate) needs: &'d [(&'d str, &'d [&'d str])],
    /// `dependentSchemas`.
    pub(crate) dependents: &'d [(&'d str, NodeId)],
    pub(crate) unevaluated: Option<NodeId>,
}

/// What is said through other schemas about the same value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Logic<'d> {
    pub(crate) all: &'d [NodeId],
    pub(crate) unions: &'d [Union<'d>],
    pub(crate) nots: &'d [NodeId],
    pub(crate) conditions: &'d [Condition<'d>],
}

impl<'d> Logic<'d> {
    /// The same in the arena; nothing where nothing is said.
    pub(crate) fn kept(self, arena: &'d Arena) -> Option<&'d Self> {
        let silent =
            self.all.is_empty() && self.unions.is_empty() && self.nots.is_empty() && self.conditions.is_empty();
        (!silent).then(|| arena.keep(self))
    }
}

/// An `anyOf` or `oneOf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Union<'d> {
    pub(crate) exactly_one: bool,
    pub(crate) branches: &'d [NodeId],
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
pub(crate) struct Note<'d> {
    pub(crate) key: NoteKey<'d>,
    pub(crate) value: &'d Json<'d>,
}

/// What a [`Note`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKey<'d> {
    Kw(Kw),
    Unknown(&'d str),
}

impl<'d> Node<'d> {
    /// A node that asks nothing.
    const NONE: Self = Self {
        place: None,
        source: None,
        types: None,
        values: None,
        constant: false,
        target: None,
        formats: &[],
        number: None,
        text: None,
        array: None,
        object: None,
        logic: None,
        notes: &[],
    };

    /// The types a value may have, as far as this node itself says.
    pub(crate) fn types(&self) -> Types {
        self.types.unwrap_or(Types::ANY)
    }

    /// Whether the node asks nothing of a value.
    pub(crate) fn is_any(&self) -> bool {
        self.types() == Types::ANY && self.asks_only_types()
    }

    /// Whether the node asks nothing but a type.
    pub(crate) fn asks_only_types(&self) -> bool {
        self.target.is_none() && self.logic.is_none() && self.has_no_rules()
    }

    /// Whether the node holds nothing but annotations beside its reference or logic.
    pub(crate) fn is_bare(&self) -> bool {
        self.types.is_none() && self.has_no_rules()
    }

    fn has_no_rules(&self) -> bool {
        self.values.is_none() && self.has_no_rules_beside_values()
    }

    /// Whether nothing is asked of values but which they are and what types they have, as far as this node itself says.
    pub(crate) fn has_no_rules_beside_values(&self) -> bool {
        self.formats.is_empty()
            && self.number.is_none()
            && self.text.is_none()
            && self.array.is_none()
            && self.object.is_none()
    }

    /// Whether the node is a reference and nothing else.
    pub(crate) fn is_alias(&self) -> bool {
        self.target.is_some() && self.is_bare() && self.logic.is_none() && self.notes.is_empty()
    }

    pub(crate) fn note(&self, kw: Kw) -> Option<&'d Json<'d>> {
        self.notes.iter().find(|note| note.key == NoteKey::Kw(kw)).map(|note| note.value)
    }

    pub(crate) fn unions(&self) -> &'d [Union<'d>] {
        self.logic.map_or(&[], |logic| logic.unions)
    }

    /// The node as it was written, where it is still that: one type of values without parts, and annotations.
    pub(crate) fn as_written(&self) -> Option<&'d Json<'d>> {
        let scalar = !self.types?.meets(Types::ARRAY.or(Types::OBJECT));
        let name = self.types?.name().filter(|_| scalar && self.asks_only_types())?;
        let source = self.source?;
        let members = source.as_obj().filter(|members| members.len() == self.notes.len() + 1)?;
        let mut notes = self.notes.iter();
        let same = members.iter().all(|(key, value)| match Kw::of(key) {
            Some(Kw::Type) => value.as_str() == Some(name),
            Some(_) | None => notes.next().is_some_and(|note| std::ptr::eq(note.value, value)),
        });
        same.then_some(source)
    }

    /// Restricts the node to types, dropping the rules that then speak of nothing.
    pub(crate) fn restrict(&mut self, types: Types, arena: &'d Arena) {
        let types = self.types().and(types);
        self.types = Some(types);
        if !types.meets(Types::NUMBER) {
            self.number = None;
        }
        if !types.meets(Types::STRING) {
            self.text = None;
            if !types.meets(Types::NUMBER) {
                self.formats = &[];
            }
        }
        if !types.meets(Types::ARRAY) {
            self.array = None;
        }
        if !types.meets(Types::OBJECT) {
            self.object = None;
        }
        self.values = self.values.map(|values| arena.filtered(values, |value| types.meets(Types::of(value))));
    }
}

/// The nodes of a schema and the places they come from.
#[derive(Debug)]
pub(crate) struct Graph<'d> {
    arena: &'d Arena,
    nodes: Vec<&'d Node<'d>>,
    /// Nodes that several references lead to.
    shared: foldhash::HashSet<NodeId>,
    places: Vec<(Place, Step<'d>)>,
    spelled: Spelled,
}

/// The way to a place, spelled out, and how long it is at each place on it: neighbours are often asked for in turn.
#[derive(Debug, Default)]
struct Spelled {
    text: String,
    places: Vec<(Place, usize)>,
}

impl Spelled {
    /// Goes to a place, back over what lies behind the last common one. A place is made after the one around it, so its
    /// number is greater.
    fn go_to(&mut self, place: Place, places: &[(Place, Step<'_>)]) {
        while self.places.pop_if(|(own, _)| *own > place).is_some() {}
        if let Some((_, length)) = self.places.last().filter(|(own, _)| *own == place) {
            self.text.truncate(*length);
            return;
        }
        match places.get(place.0 as usize).filter(|_| place != ROOT) {
            Some((parent, step)) => {
                self.go_to(*parent, places);
                step.spell(&mut self.text);
            }
            None => self.text.clear(),
        }
        self.places.push((place, self.text.len()));
    }
}

/// What stands for every node that is not known yet.
static UNKNOWN: Node<'static> = Node::NONE;

/// A size that a graph had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    nodes: usize,
    places: usize,
}

impl<'d> Graph<'d> {
    pub(crate) fn new(arena: &'d Arena) -> Self {
        let mut places = Vec::with_capacity(128);
        places.push((ROOT, Step::Index(0)));
        Self {
            arena,
            nodes: Vec::with_capacity(64),
            shared: foldhash::HashSet::default(),
            places,
            spelled: Spelled::default(),
        }
    }

    /// How large the graph is, for [`Graph::shrink_to`].
    pub(crate) fn size(&self) -> Size {
        Size { nodes: self.nodes.len(), places: self.places.len() }
    }

    /// Forgets what was added since the graph had that size.
    pub(crate) fn shrink_to(&mut self, size: Size) {
        self.nodes.truncate(size.nodes);
        self.places.truncate(size.places);
        self.spelled = Spelled::default();
        self.shared.retain(|id| (id.0 as usize) < size.nodes);
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn add(&mut self, node: Node<'d>) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(self.arena.keep(node));
        id
    }

    /// A node that is not known yet.
    pub(crate) fn reserve(&mut self) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(&UNKNOWN);
        id
    }

    /// Notes that one more reference leads to a node that is known already.
    pub(crate) fn share(&mut self, id: NodeId) {
        self.shared.insert(id);
    }

    /// Whether several references may lead to a node.
    pub(crate) fn is_shared(&self, id: NodeId) -> bool {
        self.shared.contains(&id)
    }

    pub(crate) fn set(&mut self, id: NodeId, node: Node<'d>) {
        if let Some(slot) = self.nodes.get_mut(id.0 as usize) {
            *slot = self.arena.keep(node);
        }
    }

    pub(crate) fn step(&mut self, parent: Place, step: Step<'d>) -> Place {
        let place = Place(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        self.places.push((parent, step));
        place
    }

    /// Calls a function for every node that a node refers to.
    pub(crate) fn each_child(&self, id: NodeId, visit: &mut dyn FnMut(NodeId)) {
        let node = self[id];
        node.target.into_iter().for_each(&mut *visit);
        if let Some(rules) = node.array {
            let contains = rules.contains.iter().map(|contains| contains.node);
            let items = rules.prefix.iter().copied().chain(rules.items).chain(rules.unevaluated);
            items.chain(contains).for_each(&mut *visit);
        }
        if let Some(rules) = node.object {
            let named = rules.properties.iter().chain(rules.patterns).chain(rules.dependents).map(|(_, id)| *id);
            let others = rules.names.iter().copied().chain(rules.additional).chain(rules.unevaluated);
            named.chain(others).for_each(&mut *visit);
        }
        if let Some(logic) = node.logic {
            let branches = logic.unions.iter().flat_map(|union| union.branches.iter().copied());
            logic.all.iter().chain(logic.nots).copied().chain(branches).for_each(&mut *visit);
            for condition in logic.conditions {
                [Some(condition.when), condition.then, condition.otherwise].into_iter().flatten().for_each(&mut *visit);
            }
        }
    }

    /// The JSON Pointer of a place.
    pub(crate) fn pointer(&mut self, place: Option<Place>) -> String {
        let Some((parent, step)) = place.filter(|own| *own != ROOT).and_then(|own| self.places.get(own.0 as usize))
        else {
            return String::new();
        };
        self.spelled.go_to(*parent, &self.places);
        let mut pointer = String::with_capacity(self.spelled.text.len() + 1 + step.room());
        pointer.push_str(&self.spelled.text);
        step.spell(&mut pointer);
        pointer
    }

    /// The last word on the way to a place: the name of a definition or property.
    pub(crate) fn name(&self, place: Option<Place>) -> Option<&str> {
        let mut at = place?;
        while at != ROOT {
            let (parent, step) = self.places.get(at.0 as usize)?;
            if let Step::Word(word) = step {
                return Some(word);
            }
            at = *parent;
        }
        None
    }
}

impl<'d> Index<NodeId> for Graph<'d> {
    type Output = &'d Node<'d>;

    #[expect(clippy::indexing_slicing, reason = "an id is made by the graph that holds the node")]
    fn index(&self, id: NodeId) -> &&'d Node<'d> {
        &self.nodes[id.0 as usize]
    }
}
