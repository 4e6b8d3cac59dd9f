//! What a schema expects at a place of the text, as costs: a reading that fits the schema is cheaper than one that does not.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::cost;
use crate::shape::{Others, ShapeId, Shapes, Types};
use crate::tree::Kind;

/// The shapes that a value may have. The first set has none: nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SetId(u32);

impl SetId {
    pub(super) const ANY: Self = Self(0);
}

const MAX_SHAPES: usize = 16;
const MAX_BRANCH_DEPTH: usize = 6;

/// A key as the schema sees it.
pub(super) struct Member {
    /// What its value may be.
    pub(super) child: SetId,
    pub(super) cost: u32,
    pub(super) is_declared: bool,
}

pub(super) struct Guide<'s> {
    shapes: Option<&'s Shapes>,
    sets: Vec<Vec<ShapeId>>,
    known: HashMap<Vec<ShapeId>, SetId, RandomState>,
}

impl<'s> Guide<'s> {
    pub(super) fn new(shapes: Option<&'s Shapes>) -> Self {
        Self { shapes, sets: vec![Vec::new()], known: HashMap::default() }
    }

    pub(super) fn is_blind(&self) -> bool {
        self.shapes.is_none()
    }

    pub(super) fn root(&mut self) -> SetId {
        let root = self.shapes.map(|shapes| shapes.root);
        self.set(root)
    }

    fn set(&mut self, ids: impl IntoIterator<Item = ShapeId>) -> SetId {
        let Some(shapes) = self.shapes else { return SetId::ANY };
        let mut set = Vec::new();
        for id in ids {
            expand(shapes, id, MAX_BRANCH_DEPTH, &mut set);
        }
        if set.is_empty() || set.len() >= MAX_SHAPES {
            return SetId::ANY;
        }
        if let Some(known) = self.known.get(&set) {
            return *known;
        }
        let id = SetId(u32::try_from(self.sets.len()).unwrap_or(0));
        self.sets.push(set.clone());
        self.known.insert(set, id);
        id
    }

    fn shapes_of(&self, set: SetId) -> impl Iterator<Item = &'s crate::shape::Shape> + '_ {
        let ids = self.sets.get(set.0 as usize).map(Vec::as_slice).unwrap_or_default();
        ids.iter().filter_map(|id| self.shapes.and_then(|shapes| shapes.get(*id)))
    }

    pub(super) fn member(&mut self, set: SetId, key: &str) -> Member {
        let mut exact = Vec::new();
        let mut folded = Vec::new();
        let mut others = Vec::new();
        let (mut open, mut objects) = (false, false);
        for shape in self.shapes_of(set).filter(|shape| shape.types.has(Types::OBJECT)) {
            objects = true;
            match shape.field(key).and_then(|(index, is_exact)| Some((shape.fields.get(index)?.shape, is_exact))) {
                Some((id, true)) => exact.push(id),
                Some((id, false)) => folded.push(id),
                None => match (shape.pattern(key), shape.others) {
                    (Some(id), _) => exact.push(id),
                    (None, Others::Any) => open = true,
                    (None, Others::Shaped(id)) => others.push(id),
                    (None, Others::Refused) => {}
                },
            }
        }
        if !objects {
            return Member { child: SetId::ANY, cost: 0, is_declared: false };
        }
        if !exact.is_empty() {
            return Member { child: self.set(exact), cost: 0, is_declared: true };
        }
        if !folded.is_empty() {
            return Member { child: self.set(folded), cost: cost::KEY_SPELLING, is_declared: true };
        }
        match (open, others.is_empty()) {
            (true, _) => Member { child: SetId::ANY, cost: 0, is_declared: false },
            (false, false) => Member { child: self.set(others), cost: 0, is_declared: false },
            (false, true) => Member { child: SetId::ANY, cost: cost::REFUSED_KEY, is_declared: false },
        }
    }

    /// Whether the schema declares a key at a place.
    pub(super) fn declares(&self, set: SetId, key: &str) -> bool {
        self.shapes_of(set).any(|shape| shape.field(key).is_some_and(|(_, exact)| exact))
    }

    pub(super) fn item(&mut self, set: SetId) -> SetId {
        let lists = self.shapes_of(set).filter(|shape| shape.types.has(Types::ARRAY));
        let items: Vec<Option<ShapeId>> =
            lists.flat_map(|shape| shape.first_items.iter().map(|id| Some(*id)).chain([shape.items])).collect();
        if items.contains(&None) && items.iter().flatten().next().is_none() {
            return SetId::ANY;
        }
        self.set(items.into_iter().flatten())
    }

    pub(super) fn container_cost(&self, set: SetId, types: Types) -> u32 {
        if set == SetId::ANY || self.shapes_of(set).any(|shape| shape.types.has(types) && shape.choices.is_empty()) {
            0
        } else if self.shapes_of(set).any(|shape| shape.types.has(Types::CONTAINER)) {
            cost::ONE_OF_LIST
        } else {
            cost::WRONG_TYPE
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever is not named is of another type")]
    pub(super) fn scalar_cost(&self, set: SetId, kind: &Kind) -> u32 {
        if set == SetId::ANY {
            return 0;
        }
        let types = match kind {
            Kind::Null => Types::NULL,
            Kind::Bool(_) => Types::BOOLEAN,
            Kind::Number(number) if number.as_f64().is_some_and(|float| float.fract() != 0.0) => Types::NUMBER,
            Kind::Number(_) => Types::INTEGER_OR_NUMBER,
            Kind::Text(_) => Types::STRING,
            Kind::List(_) => Types::ARRAY,
            Kind::Object(_) => Types::OBJECT,
        };
        let mut least = cost::WRONG_TYPE;
        for shape in self.shapes_of(set) {
            let cost = if shape.choices.is_empty() {
                match kind {
                    _ if shape.types.has(types) => 0,
                    _ if shape.types.has(Types::ARRAY) => cost::ONE_OF_LIST,
                    Kind::Text(text) if text.len() < 32 && is_convertible(text, shape.types) => cost::CONVERTED,
                    Kind::Number(_) | Kind::Bool(_) if shape.types.has(Types::STRING) => cost::CONVERTED,
                    Kind::Number(_) if shape.types.has(Types::INTEGER) => cost::CONVERTED,
                    _ => cost::WRONG_TYPE,
                }
            } else {
                match kind {
                    Kind::Text(text) if shape.choices.iter().any(|choice| choice.name == *text) => 0,
                    Kind::Text(_) => cost::OTHER_CHOICE,
                    _ => 1,
                }
            };
            least = least.min(cost);
        }
        least
    }

    /// The cost of an object that ends without keys that the schema requires.
    pub(super) fn missing_cost(&self, set: SetId, keys: &dyn Fn(&str) -> bool) -> u32 {
        let missing = self
            .shapes_of(set)
            .filter(|shape| shape.types.has(Types::OBJECT))
            .map(|shape| shape.fields.iter().filter(|field| field.required && !keys(&field.shown)).take(3).count());
        missing.min().map_or(0, |count| cost::MISSING_KEY * u32::try_from(count).unwrap_or(3))
    }
}

fn is_convertible(text: &str, types: Types) -> bool {
    let text = text.trim();
    let number = text.trim_start_matches(['-', '+', '$']).starts_with(|char: char| char.is_ascii_digit());
    let word = ["true", "false", "yes", "no", "null", "none"].iter().any(|word| text.eq_ignore_ascii_case(word));
    (number && types.has(Types::INTEGER_OR_NUMBER)) || (word && (types.has(Types::BOOLEAN) || types.has(Types::NULL)))
}

fn expand(shapes: &Shapes, id: ShapeId, depth: usize, set: &mut Vec<ShapeId>) {
    let Some(shape) = shapes.get(id).filter(|_| depth > 0 && set.len() < MAX_SHAPES) else { return };
    if shape.branches.is_empty() {
        if !set.contains(&id) {
            set.push(id);
        }
        return;
    }
    for branch in &shape.branches {
        expand(shapes, *branch, depth - 1, set);
    }
}
