//! Emits `null`: as a type, in a union, by `nullable`, or as an absence that the parent expresses.

use super::emit::described;
use super::union::as_plain_union;
use super::{Lowered, Lowerer};
use crate::arena::Arena;
use crate::dialect::Demand;
use crate::json::{Json, Num};
use crate::keyword::Kw;
use crate::lens::Shape;
use crate::types::Types;
use polywire_report::{Action, Effect};

/// A schema of `null`.
const OF_NULL: Json<'static> = Json::Obj(&[("type", NULL_NAME)]);

/// The name of its type.
const NULL_NAME: Json<'static> = Json::Str("null");

/// Types whose values have parts.
const COMPOSITE: Types = Types::OBJECT.or(Types::ARRAY);

/// The descriptions of lists of at most one item.
pub(super) const OPTIONAL_MARK: &str = "(optional)";
pub(super) const NULLABLE_MARK: &str = "(nullable)";

impl<'d> Lowerer<'_, 'd, '_> {
    /// Adds `null` to what a schema accepts, or leaves that to the parent.
    pub(super) fn with_null(&mut self, lowered: Lowered<'d>) -> Lowered<'d> {
        let said = self.null_said(lowered);
        if said.null {
            return said;
        }
        let lens = self.lens.add(Shape::Nullable(said.lens));
        Lowered { lens, ..said }
    }

    fn null_said(&mut self, lowered: Lowered<'d>) -> Lowered<'d> {
        let Lowered { json, lens, null } = lowered;
        if lets_null_by(&json) {
            return Lowered { json, lens, null };
        }
        if !self.caps.has_demand(Demand::NoNull) && self.caps.accepts(Kw::AnyOf) {
            let listed = self.nullable_type(&json).filter(|_| !self.caps.has_demand(Demand::OneType));
            let json = listed.unwrap_or_else(|| self.nullable_union(json));
            return Lowered { json, lens, null: false };
        }
        let reference = self.refers(&json);
        if self.caps.accepts(Kw::Nullable) && (!reference || self.caps.beside_ref.has(Kw::Nullable)) {
            let code = self.demand_code(Demand::NoNull);
            self.change(
                &code,
                self.here,
                Kw::Nullable,
                Action::Rewritten,
                Effect::Same,
                "`null` is said by `nullable`",
            );
            let beside = self.caps.beside_union.has(Kw::Nullable);
            return Lowered { json: make_nullable(json, beside, self.arena), lens, null: false };
        }
        if !self.caps.has_demand(Demand::NoNull)
            && !self.caps.has_demand(Demand::OneType)
            && let Some(stated) = json.get(Kw::Type.name())
        {
            let names = stated.as_arr().unwrap_or(std::slice::from_ref(stated));
            let names = Json::Arr(self.arena.extended(names, &[NULL_NAME]));
            return Lowered { json: self.arena.with(json, Kw::Type.name(), names), lens, null: false };
        }
        Lowered { json, lens, null: true }
    }

    /// A plain type beside `null` in a list of types (R-A10). Values that are listed would have to have `null` among them.
    fn nullable_type(&self, json: &Json<'d>) -> Option<Json<'d>> {
        let stated = json.get(Kw::Type.name())?;
        let is_scalar = stated.as_str().and_then(Types::named).is_some_and(|types| !types.intersects(COMPOSITE));
        let refusing = [Kw::Enum, Kw::Const, Kw::Not, Kw::If, Kw::AllOf, Kw::OneOf, Kw::AnyOf];
        if !is_scalar || refusing.iter().any(|kw| json.get(kw.name()).is_some()) {
            return None;
        }
        Some(self.arena.with(*json, Kw::Type.name(), self.arena.arr(&[*stated, NULL_NAME])))
    }

    /// A union with `null`. The description stands on the union, where it may: it is about the property, not about one branch.
    fn nullable_union(&self, json: Json<'d>) -> Json<'d> {
        let description = json.get(Kw::Description.name()).copied();
        let Some(description) = description.filter(|_| as_plain_union(&json).is_none()) else {
            return or_null(json, self.arena);
        };
        if !self.caps.beside_union.has(Kw::Description) || self.refers(&json) {
            return or_null(json, self.arena);
        }
        let union = or_null(self.arena.without(json, Kw::Description.name()), self.arena);
        described(union, description, self.arena)
    }

    /// Says `null` right here where the parent cannot be asked: an empty list is `null`.
    pub(super) fn null_here(&mut self, lowered: Lowered<'d>) -> Lowered<'d> {
        if lowered.null {
            let code = self.demand_code(Demand::NoNull);
            self.change(&code, self.here, Kw::Type, Action::Carried, Effect::Same, "`null` travels as an empty list");
            return self.at_most_one(lowered, NULLABLE_MARK);
        }
        lowered
    }

    /// A list of at most one item, with a mark that the root's description explains.
    pub(super) fn at_most_one(&mut self, lowered: Lowered<'d>, mark: &'static str) -> Lowered<'d> {
        let mut builder = self.builder();
        builder.put(Kw::Type, Json::Str("array"));
        if self.caps.accepts(Kw::Description) {
            builder.put(Kw::Description, Json::Str(mark));
            self.marked_lists += 1;
        }
        builder.put(Kw::Items, lowered.json);
        if self.caps.accepts_count(Kw::MaxItems, 1) && self.may_bound(&lowered.json) {
            builder.put(Kw::MaxItems, Json::Num(Num::Whole(1)));
        }
        let lens = self.lens.add(Shape::AtMostOne(lowered.lens));
        Lowered { json: self.build(builder.members, None), lens, null: false }
    }
}

/// What the marks of lists of at most one item mean, where a printed schema has some.
pub(super) fn explain_marks(json: &Json<'_>) -> Option<&'static str> {
    let mut has_marks = false;
    json.each_text(Kw::Description.name(), &mut |text| has_marks |= text == OPTIONAL_MARK || text == NULLABLE_MARK);
    has_marks.then_some("(lists marked optional or nullable hold at most one item; an empty list means none)")
}

/// A union of a schema and `null`.
pub(super) fn or_null<'d>(json: Json<'d>, arena: &'d Arena) -> Json<'d> {
    match as_plain_union(&json) {
        Some(branches) => arena.with(json, Kw::AnyOf.name(), Json::Arr(arena.extended(branches, &[OF_NULL]))),
        None => arena.obj(&[(Kw::AnyOf.name(), arena.arr(&[json, OF_NULL]))]),
    }
}

fn make_nullable<'d>(json: Json<'d>, beside_union: bool, arena: &'d Arena) -> Json<'d> {
    let branches = json.get(Kw::AnyOf.name()).and_then(Json::as_arr).filter(|_| !beside_union);
    if let Some(branches) = branches {
        let branches: Vec<Json<'d>> =
            branches.iter().map(|branch| make_nullable(*branch, beside_union, arena)).collect();
        return arena.with(json, Kw::AnyOf.name(), arena.arr(&branches));
    }
    if json.get(Kw::Nullable.name()).is_some() { json } else { arena.with(json, Kw::Nullable.name(), Json::Bool(true)) }
}

/// True where an emitted schema can accept `null`; a sibling may exclude it.
pub(super) fn accepts_null(json: &Json<'_>) -> bool {
    let branches = || json.get(Kw::AnyOf.name()).and_then(Json::as_arr).unwrap_or_default();
    is_nullable(json)
        || json.get(Kw::Type.name()).map_or_else(|| branches().iter().any(accepts_null), |own| names(own, &NULL_NAME))
}

fn lets_null_by(json: &Json<'_>) -> bool {
    let untold = [Kw::Not, Kw::If, Kw::AllOf, Kw::OneOf, Kw::Ref, Kw::BareRef, Kw::Const];
    let by = |kw: Kw, lets: &dyn Fn(&Json<'_>) -> bool| json.get(kw.name()).is_none_or(lets);
    is_nullable(json)
        || by(Kw::Type, &|own| names(own, &NULL_NAME))
            && by(Kw::Enum, &|own| names(own, &Json::Null))
            && by(Kw::AnyOf, &|own| own.as_arr().unwrap_or_default().iter().any(lets_null_by))
            && untold.iter().all(|kw| json.get(kw.name()).is_none())
}

fn is_nullable(json: &Json<'_>) -> bool {
    json.get(Kw::Nullable.name()).and_then(Json::as_bool) == Some(true)
}

fn names(own: &Json<'_>, value: &Json<'_>) -> bool {
    own.same(value) || own.as_arr().unwrap_or_default().iter().any(|other| other.same(value))
}
