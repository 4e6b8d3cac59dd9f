//! Emits objects: closed where demanded, optional properties in the form of the dialect, keys renamed.

use super::annotations::{self, Facts};
use super::emit::{SchemaBuilder, described};
use super::null::{NULLABLE_MARK, OPTIONAL_MARK, accepts_null};
use super::required::{RequiredNames, undeclared};
use super::{AmbiguousNull, Lowered, Lowerer, Open, Position, ReferenceMode, SPARE_ROOM, Spill};
use crate::arena::Arena;
use crate::dialect::{Demand, KeyDepth};
use crate::graph::{Node, NodeId, ObjectRules, RareRules};
use crate::json::{Json, Member, Num};
use crate::keyword::Kw;
use crate::lens::{Absent, Field, LensId, ObjectShape, Pattern, Rest, Shape};
use crate::names::UniqueNames;
use crate::pattern::{self, Lines};
use crate::place::Place;
use crate::spelling::Spelling;
use crate::types::Types;
use polywire_report::{Action, Effect};

/// The rules for undeclared properties.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UndeclaredProperties {
    /// Anything is accepted.
    Open,
    /// None may be there.
    Closed,
    /// Each is of this kind.
    Of(NodeId),
}

/// The properties that are declared, as they are printed.
pub(super) struct DeclaredProperties<'d> {
    fields: Vec<EmittedField<'d>>,
    properties: Vec<Member<'d>>,
    required: Vec<Json<'d>>,
}

/// Most objects have no more properties.
const PROPERTIES: usize = 16;

impl<'d> DeclaredProperties<'d> {
    /// The declared properties with what they are called on the wire.
    fn named(&self) -> impl Iterator<Item = (&EmittedField<'d>, &'d str)> {
        self.fields.iter().zip(self.properties.iter().map(|(wire, _)| *wire))
    }

    fn new() -> Self {
        Self {
            fields: Vec::with_capacity(PROPERTIES),
            properties: Vec::with_capacity(PROPERTIES),
            required: Vec::with_capacity(PROPERTIES),
        }
    }

    /// Makes room for another object.
    fn clear(&mut self) {
        self.fields.clear();
        self.properties.clear();
        self.required.clear();
    }
}

/// A property that is printed.
#[derive(Clone, Copy)]
struct EmittedField<'d> {
    key: &'d str,
    lens: LensId,
    absent: Absent,
    /// The value of a property that the caller may leave out, but the wire may not.
    constant: Option<&'d Json<'d>>,
}

impl EmittedField<'_> {
    fn field(&self, wire: &str) -> Field {
        let renamed = (wire != self.key).then(|| wire.into());
        let constant = self.constant.map(|value| Box::new(value.to_value()));
        Field { name: self.key.into(), renamed, lens: self.lens, absent: self.absent, constant }
    }
}

/// Room for the number that tells keys apart which are spelled alike.
const NUMBER_ROOM: usize = 8;

/// The key under which undeclared properties travel beside declared ones.
const REST: &str = "additional_properties";

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    pub(super) fn extra(&mut self, node: &Node<'g, 'd>, rules: &ObjectRules<'g, 'd>) -> UndeclaredProperties {
        match rules.of_others(node) {
            None => UndeclaredProperties::Open,
            Some(id) if self.is_never(id) => UndeclaredProperties::Closed,
            Some(id) => {
                let flat = self.flatten(id);
                if self.graph[flat].is_any() { UndeclaredProperties::Open } else { UndeclaredProperties::Of(id) }
            }
        }
    }

    /// The rules of an object. A lone pattern that every key matches is what `additionalProperties` says.
    pub(super) fn object_rules(&self, node: &Node<'g, 'd>) -> &'g ObjectRules<'g, 'd> {
        let Some(rules) = node.rules.object() else { return self.nodes.keep(ObjectRules::default()) };
        if let [(pattern, id)] = rules.rare.patterns
            && pattern::matches_every_text(pattern).is_some()
            && rules.properties.is_empty()
            && !self.caps.accepts(Kw::PatternProperties)
        {
            let rare = RareRules { patterns: &[], ..*rules.rare }.store_in(self.nodes);
            return self.nodes.keep(ObjectRules { additional: Some(*id), rare, ..*rules });
        }
        rules
    }

    /// Records that keys of several lines are not told from others where every key of one line was asked for.
    pub(super) fn record_lines(&mut self, node: &'g Node<'g, 'd>, rules: &ObjectRules<'g, 'd>) {
        let Some(asked) = node.rules.object().filter(|asked| rules.rare.patterns.len() < asked.rare.patterns.len())
        else {
            return;
        };
        let code = self.refusal_code(Kw::PatternProperties);
        if !asked.rare.patterns.iter().any(|(pattern, _)| pattern::matches_every_text(pattern) == Some(Lines::One)) {
            let detail = "every key matches: said by `additionalProperties`";
            self.change(&code, node.place, Kw::PatternProperties, Action::Rewritten, Effect::Same, detail);
            return;
        }
        let effects: &[Effect] = match self.extra(node, asked) {
            UndeclaredProperties::Open => &[Effect::Narrower],
            UndeclaredProperties::Closed => &[Effect::Wider],
            UndeclaredProperties::Of(_) => &[Effect::Narrower, Effect::Wider],
        };
        for effect in effects {
            let detail = "keys of several lines are taken like those of one";
            self.change(&code, node.place, Kw::PatternProperties, Action::Rewritten, *effect, detail);
        }
    }

    pub(super) fn put_object(&mut self, node: &'g Node<'g, 'd>, pos: Position, builder: &mut SchemaBuilder<'d>) {
        let rules = self.object_rules(node);
        self.record_lines(node, rules);
        let extra = self.extra(node, rules);
        let mut unknown = undeclared(rules);
        let rules = self.with_required_declared(node, rules, extra, &mut unknown);
        if rules.additional.is_none() && rules.unevaluated.is_some() && !node.evaluates_beside() {
            let code = self.refusal_code(Kw::UnevaluatedProperties);
            let detail = "nothing else evaluates: said by `additionalProperties`";
            self.change(&code, node.place, Kw::UnevaluatedProperties, Action::Rewritten, Effect::Same, detail);
        }
        let mut own = self.spare_objects.pop().unwrap_or_else(DeclaredProperties::new);
        let wanted = RequiredNames::new(rules.required);
        // Made when the first key has to be renamed.
        let mut names = None;
        self.enter_object();
        let mut gone: Vec<&str> = Vec::new();
        for (index, (key, id)) in rules.properties.iter().enumerate() {
            if self.is_abandoned() {
                self.count_unprinted(rules.properties.get(index..).unwrap_or_default(), &wanted);
                break;
            }
            let must = wanted.has(key);
            if self.is_never(*id) && !self.says_never() {
                gone.push(key);
                let shut = extra == UndeclaredProperties::Closed
                    || (self.caps.has_demand(Demand::Closed) && self.open == Open::Close);
                let matched = rules.rare.patterns.iter().any(|(pattern, _)| self.matches(pattern, key));
                let effect = if must || !shut || matched { Effect::Wider } else { Effect::Same };
                self.drop_property(node, key, effect);
                continue;
            }
            let wire = self.wire_key(node, key, pos, &mut names);
            let (json, absent, lens, needed) = self.within(|own| own.property(*id, must));
            let json = self.describe_original_key(json, key, wire);
            if needed {
                own.required.push(Json::Str(wire));
            } else {
                self.printed.optionals += 1;
            }
            let constant = if absent == Absent::Constant { self.constant(*id) } else { None };
            own.fields.push(EmittedField { key, lens, absent, constant });
            self.printed.properties += 1;
            own.properties.push((wire, json));
        }
        let rest = self.within(|lowerer| lowerer.put_rest(node, rules, extra, &mut own, builder));
        self.objects -= 1;
        let (carried, rest_keeps) = (rest.carried.is_some(), rest.keeps_values());
        self.put_unknown_required(node, carried, &unknown, &gone, &mut own.required);
        let demanded = self.caps.has_demand(Demand::HasProperties);
        let unsaid = node.written(Kw::Properties).is_none();
        if demanded && own.properties.is_empty() && rules.properties.is_empty() && unsaid {
            let code = self.demand_code(Demand::HasProperties);
            self.change(&code, node.place, Kw::Properties, Action::Added, Effect::Same, "no property is declared");
        }
        let said = node.written(Kw::Properties).and_then(Json::as_obj).is_some_and(<[_]>::is_empty);
        if !own.properties.is_empty() || demanded || !rules.properties.is_empty() || said {
            builder.put(Kw::Properties, self.arena.obj_like(&own.properties, node.written(Kw::Properties)));
        }
        let empty = node.written(Kw::Required).and_then(Json::as_arr).is_some_and(<[_]>::is_empty);
        let says_none =
            (empty || self.caps.has_demand(Demand::AllRequired)) && !self.caps.has_demand(Demand::RequiredNotEmpty);
        if empty && !says_none && own.required.is_empty() {
            let code = self.demand_code(Demand::RequiredNotEmpty);
            self.change(&code, node.place, Kw::Required, Action::Dropped, Effect::Same, "nothing is required");
        }
        if !own.required.is_empty() || says_none {
            builder.put(Kw::Required, self.arena.arr_like(&own.required, node.written(Kw::Required)));
        }
        self.put_property_order(node, &own.properties, builder);
        if let Some(json) = rest.additional {
            builder.put(Kw::AdditionalProperties, json);
        }
        if let Some(json) = rest.patterns {
            builder.put(Kw::PatternProperties, json);
        }
        let kept = |(field, wire): (&EmittedField<'d>, &str)| field.absent == Absent::Kept && field.key == wire;
        let as_written = rest.carried.is_none() && own.named().all(kept);
        let renamed = rest.carried.is_none() && own.fields.iter().all(|field| field.absent == Absent::Kept);
        let plain = as_written && rest_keeps && own.fields.iter().all(|field| field.lens.is_same());
        let kept = plain || (rest_keeps && !rules.rare.dependents.is_empty() && self.keep_values(&own.fields));
        let keys = match (as_written, kept) {
            (false, _) if renamed => KeySpelling::Renamed,
            (false, _) => KeySpelling::Others,
            (true, false) => KeySpelling::AsWritten,
            (true, true) => KeySpelling::AndValuesAsWritten,
        };
        self.put_object_rules(node, rules, keys, &own, builder);
        // Most objects travel as they are, and nothing has to be told of them.
        if !plain {
            let fields = own.named().map(|(field, wire)| field.field(wire)).collect();
            let shape = ObjectShape { fields, rest: rest.carried, matching: rest.matching, others: rest.others };
            builder.lens = self.lens.add(Shape::Object(Box::new(shape)));
        }
        if own.properties.len() <= SPARE_ROOM {
            own.clear();
            self.spare_objects.push(own);
        }
    }

    /// Lists the properties where the provider would sort them.
    fn put_property_order(
        &mut self,
        node: &'g Node<'g, 'd>,
        properties: &[(&'d str, Json<'d>)],
        builder: &mut SchemaBuilder<'d>,
    ) {
        let is_wanted = self.caps.has_demand(Demand::PropertyOrder) && self.caps.accepts(Kw::PropertyOrdering);
        if !is_wanted || properties.is_sorted_by_key(|(key, _)| *key) || node.written(Kw::PropertyOrdering).is_some() {
            return;
        }
        let code = self.demand_code(Demand::PropertyOrder);
        self.change(
            &code,
            node.place,
            Kw::PropertyOrdering,
            Action::Added,
            Effect::Note,
            "keeps the order of the keys",
        );
        let names: Vec<Json<'d>> = properties.iter().map(|(key, _)| Json::Str(key)).collect();
        builder.put(Kw::PropertyOrdering, self.arena.arr(&names));
    }

    /// Counts properties that are not printed any more, to say by how much a budget is overdrawn.
    fn count_unprinted(&mut self, rest: &[(&str, NodeId)], wanted: &RequiredNames<'_>) {
        self.printed.properties += rest.len() as u64;
        if !self.caps.has_demand(Demand::AllRequired) {
            self.printed.optionals += rest.iter().filter(|(key, _)| !wanted.has(key)).count() as u64;
        }
    }

    fn keep_values(&mut self, fields: &[EmittedField<'d>]) -> bool {
        fields.iter().all(|field| self.keeps_values(field.lens))
    }

    /// Enters an object.
    pub(super) fn enter_object(&mut self) {
        self.objects += 1;
        self.deepest = self.deepest.max(self.objects + 1);
    }

    fn says_never(&self) -> bool {
        self.caps.accepts(Kw::Not)
            && !self.caps.has_demand(Demand::Typed)
            && !self.caps.has_demand(Demand::SchemaObject)
    }

    fn drop_property(&mut self, node: &'g Node<'g, 'd>, key: &str, effect: Effect) {
        let code = self.demand_code(Demand::SchemaObject);
        let detail = format!("the property `{key}` accepts no value and is left out");
        self.change(&code, node.place, Kw::Properties, Action::Dropped, effect, detail);
    }

    /// One property: its schema, what absence becomes, its lens, and whether it is required.
    fn property(&mut self, id: NodeId, must: bool) -> (Json<'d>, Absent, LensId, bool) {
        let lowered = self.lower(id, Position::Property);
        let all = self.caps.has_demand(Demand::AllRequired);
        let place = self.graph[id].place;
        if must && !lowered.null {
            return (lowered.json, Absent::Kept, lowered.lens, true);
        }
        if !must && !lowered.null && (all || self.caps.has_demand(Demand::MaxOptionals)) && self.is_tag(id) {
            let demand = if all { Demand::AllRequired } else { Demand::MaxOptionals };
            let code = self.demand_code(demand);
            let detail = "it tells what the object is: always given";
            self.change(&code, place, Kw::Required, Action::Added, Effect::Narrower, detail);
            return (lowered.json, Absent::Constant, lowered.lens, true);
        }
        if !all && !lowered.null {
            if self.must_be_required(id, &lowered) {
                return self.absent_as_null(Demand::MaxOptionals, place, lowered);
            }
            return (lowered.json, Absent::Kept, lowered.lens, false);
        }
        if !all {
            // R-A8: a nullable property leaves `required`.
            let code = self.demand_code(Demand::NoNull);
            if !must && self.open == Open::Carry {
                let list = self.null_here(lowered);
                return (list.json, Absent::Kept, list.lens, false);
            }
            let (effect, absent) = match (must, self.reads_ambiguous_null(id)) {
                (true, _) => (Effect::Same, Absent::IsNull),
                (false, true) => (Effect::Narrower, Absent::IsEitherNull),
                (false, false) => (Effect::Narrower, Absent::IsEither),
            };
            let detail = if must { "`null` travels as absence" } else { "`null` and absence are one" };
            self.change(&code, place, Kw::Type, Action::Carried, effect, detail);
            return (lowered.json, absent, lowered.lens, false);
        }
        let code = self.demand_code(Demand::AllRequired);
        if self.can_say_null() && !lowered.null {
            if must {
                return (lowered.json, Absent::Kept, lowered.lens, true);
            }
            let nullable = self.types_of(id).intersects(Types::NULL);
            // What a reference or a union of references means is known from the schema, not from the print.
            if nullable && (accepts_null(&lowered.json) || self.refers(&lowered.json)) {
                if self.open == Open::Carry {
                    return self.marked_null(id, lowered);
                }
                let detail = "absence travels as `null`, as `null` itself does";
                self.change(&code, place, Kw::Required, Action::MadeNullable, Effect::Narrower, detail);
                let is_null = self.reads_ambiguous_null(id);
                let absent = if is_null { Absent::NullEitherIsNull } else { Absent::NullEither };
                return (lowered.json, absent, lowered.lens, true);
            }
            return self.absent_as_null(Demand::AllRequired, place, lowered);
        }
        let lowered = self.null_here(lowered);
        if must {
            return (lowered.json, Absent::Kept, lowered.lens, true);
        }
        let is_list = lowered.json.get(Kw::Type.name()).and_then(Json::as_str) == Some("array");
        if is_list && self.open == Open::Close && lowered.json.get(Kw::MinItems.name()).is_none() {
            let detail = "absence travels as an empty list, as an empty value does";
            self.change(&code, place, Kw::Required, Action::Carried, Effect::Narrower, detail);
            return (lowered.json, Absent::EmptyEither, lowered.lens, true);
        }
        self.change(&code, place, Kw::Required, Action::Carried, Effect::Same, "absence travels as an empty list");
        // The list is the field's; what is in it travels in a shape of its own.
        let lens = lowered.lens;
        let list = self.at_most_one(lowered, OPTIONAL_MARK);
        (list.json, Absent::EmptyList, lens, true)
    }

    /// Whether a property is `null` in the caller's value where the wire has one sign for `null` and absence.
    fn reads_ambiguous_null(&self, id: NodeId) -> bool {
        match self.ambiguous_null {
            AmbiguousNull::ByDefault => matches!(self.graph[id].note(Kw::Default), Some(Json::Null)),
            AmbiguousNull::Absent => false,
            AmbiguousNull::Null => true,
        }
    }

    /// A property that may be absent and is never `null`, which a demand wants to be required.
    fn absent_as_null(
        &mut self,
        demand: Demand,
        place: Option<Place>,
        lowered: Lowered<'d>,
    ) -> (Json<'d>, Absent, LensId, bool) {
        let code = self.demand_code(demand);
        self.change(&code, place, Kw::Required, Action::MadeNullable, Effect::Same, "absence travels as `null`");
        let lens = lowered.lens;
        let said = self.with_null(lowered);
        (said.json, Absent::Null, lens, true)
    }

    /// A property that may be absent and may be `null`, where absence travels as `null`: an empty list is `null`.
    fn marked_null(&mut self, id: NodeId, lowered: Lowered<'d>) -> (Json<'d>, Absent, LensId, bool) {
        let code = self.demand_code(Demand::AllRequired);
        let place = self.graph[id].place;
        let detail = "absence travels as `null`, and `null` as an empty list";
        self.change(&code, place, Kw::Required, Action::Carried, Effect::Same, detail);
        let lists = self.types_of(id).intersects(Types::ARRAY) || self.lens.may_become_list(lowered.lens);
        let lens = lowered.lens;
        let none = Lowered {
            json: self.arena.obj(&[(Kw::Type.name(), Json::Str("string"))]),
            lens: LensId::SAME,
            null: false,
        };
        let mut mark = self.at_most_one(if lists { lowered } else { none }, NULLABLE_MARK);
        if lists {
            let said = self.with_null(Lowered { lens: LensId::SAME, ..mark });
            return (said.json, Absent::NullList, lens, true);
        }
        let meaning = Json::Str("(an empty list means null, null means that it is left out)");
        for (kw, value) in [(Kw::MaxItems, Json::Num(Num::Whole(0))), (Kw::Description, meaning)] {
            if mark.json.get(kw.name()).is_some() {
                mark.json = self.arena.with(mark.json, kw.name(), value);
            }
        }
        let mut branches = self.spliced(lowered.json);
        branches.push(mark.json);
        let union = self.arena.obj(&[(Kw::AnyOf.name(), self.arena.arr(&branches))]);
        (union, Absent::NullMark, lens, true)
    }

    /// What becomes of properties that are not declared.
    fn put_rest(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &ObjectRules<'g, 'd>,
        extra: UndeclaredProperties,
        own: &mut DeclaredProperties<'d>,
        builder: &mut SchemaBuilder<'d>,
    ) -> EmittedRest<'d> {
        let closes = self.caps.has_demand(Demand::Closed);
        let says = self.caps.accepts(Kw::AdditionalProperties);
        let map = matches!(extra, UndeclaredProperties::Of(_)) || !rules.rare.patterns.is_empty();
        // Where everything has a type, nothing says that anything may stand under a pattern, as it may have to where a key can be
        // asked by several.
        let several =
            rules.rare.patterns.len() > 1 || (!rules.rare.patterns.is_empty() && !rules.properties.is_empty());
        let typed = self.caps.has_demand(Demand::Typed) && several;
        let natural = !closes && !typed && (says || extra == UndeclaredProperties::Open) && self.map_is_natural(rules);
        if natural {
            return self.natural_rest(node, rules, extra, own);
        }
        let mut out = EmittedRest::default();
        let carry = map || (extra == UndeclaredProperties::Open && self.open == Open::Carry && closes);
        let deepest = self.caps.limit(Demand::MaxDepth).filter(|_| self.refs == ReferenceMode::Inline);
        if carry && deepest.is_some_and(|limit| self.objects >= limit) {
            let code = self.demand_code(Demand::MaxDepth);
            let detail = "nested too deeply: properties that are not declared are refused";
            self.change(&code, node.place, Kw::AdditionalProperties, Action::Closed, Effect::Narrower, detail);
        } else if carry {
            let code = self.map_code();
            let (json, lens) = self.entries(rules, extra, &code, node);
            let mut key = REST.to_owned();
            while own.properties.iter().any(|(taken, _)| *taken == key) {
                key.push('_');
            }
            let what = Json::Str("(properties that are not declared, as a list of entries)");
            let describes = self.caps.accepts(Kw::Description);
            let list = if describes { described(json, what, self.arena) } else { json };
            let wire = self.arena.text(&key);
            own.properties.push((wire, list));
            if self.caps.has_demand(Demand::AllRequired) {
                own.required.push(Json::Str(wire));
            }
            out.carried = Some(Rest { wire: key, lens, always: self.caps.has_demand(Demand::AllRequired) });
            if !says {
                let detail = "properties that are neither declared nor in the list cannot be refused";
                self.change(&code, node.place, Kw::AdditionalProperties, Action::Carried, Effect::Wider, detail);
            }
        } else if extra == UndeclaredProperties::Open && closes {
            let code = self.demand_code(Demand::Closed);
            let detail = "properties that are not declared are refused";
            self.change(&code, node.place, Kw::AdditionalProperties, Action::Closed, Effect::Narrower, detail);
        } else if extra == UndeclaredProperties::Closed && !says {
            self.spill(Kw::AdditionalProperties, &Json::Bool(false), node.place, Effect::Wider, &mut builder.facts);
        }
        if says && (closes || map || extra == UndeclaredProperties::Closed) {
            out.additional = Some(Json::Bool(false));
        }
        out
    }

    /// Whether objects that do not say whether they are open are closed by saying so.
    pub(super) fn closes_unsaid(&self) -> bool {
        self.caps.has_demand(Demand::SaysOpen) && self.open == Open::Close
    }

    fn natural_rest(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &ObjectRules<'g, 'd>,
        extra: UndeclaredProperties,
        own: &DeclaredProperties<'d>,
    ) -> EmittedRest<'d> {
        let mut out = EmittedRest::default();
        match extra {
            UndeclaredProperties::Closed => out.additional = Some(Json::Bool(false)),
            UndeclaredProperties::Of(id) => {
                let lowered = self.lower(id, Position::Other);
                let lowered = self.null_here(lowered);
                out.others = lowered.lens;
                out.additional = Some(self.in_union_if_typeless(lowered.json, node));
            }
            UndeclaredProperties::Open if self.caps.has_demand(Demand::SaysOpen) => {
                let declared = RequiredNames::of_keys(rules.properties);
                // What is required without being declared could not be given if it were closed.
                let stays = !self.closes_unsaid()
                    || rules.additional.is_some()
                    || rules.properties.is_empty()
                    || rules.required.iter().any(|name| !declared.has(name));
                out.additional = Some(Json::Bool(stays));
                let code = self.demand_code(Demand::SaysOpen);
                let (effect, what) =
                    if stays { (Effect::Same, "said to be open") } else { (Effect::Narrower, "closed") };
                self.change(&code, node.place, Kw::AdditionalProperties, Action::Added, effect, what);
            }
            // Where it is said that all others may be anything, they are evaluated.
            UndeclaredProperties::Open if rules.of_others(node).is_some() => {
                if self.caps.accepts(Kw::AdditionalProperties) {
                    out.additional = Some(Json::Bool(true));
                } else {
                    let code = self.refusal_code(Kw::AdditionalProperties);
                    let detail = "an object is open where nothing is said";
                    self.change(&code, node.place, Kw::AdditionalProperties, Action::Dropped, Effect::Same, detail);
                }
            }
            UndeclaredProperties::Open => {}
        }
        if !rules.rare.patterns.is_empty() {
            let mut map = Vec::with_capacity(rules.rare.patterns.len());
            let any = self.any();
            for (pattern, id) in rules.rare.patterns {
                let lowered = self.lower(*id, Position::Other);
                let Lowered { mut json, mut lens, .. } = self.null_here(lowered);
                let keeps = self.keeps_values(lens);
                // Which keys match matters only where not everything travels as it is.
                let blind = (!keeps || !out.others.is_same()) && self.matcher(pattern).is_none();
                let several = rules.rare.patterns.len() > 1 || blind;
                if (several && !keeps) || self.meets_in_another_shape(pattern, keeps, own) {
                    // A key may match several patterns, or be declared, and its value travel in one shape only.
                    let code = self.refusal_code(Kw::PatternProperties);
                    let detail = format!("anything may stand under `{pattern}`, which would travel in another shape");
                    self.change(&code, node.place, Kw::PatternProperties, Action::Rewritten, Effect::Wider, detail);
                    (json, lens) = (self.lower_here(any), LensId::SAME);
                }
                if blind && !out.others.is_same() {
                    let code = self.refusal_code(Kw::PatternProperties);
                    let detail = format!("anything may stand under keys that may match `{pattern}`");
                    self.change(&code, node.place, Kw::AdditionalProperties, Action::Rewritten, Effect::Wider, detail);
                    (out.additional, out.others) = (Some(self.lower_here(any)), LensId::SAME);
                }
                if !lens.is_same() || !out.others.is_same() {
                    out.matching.push((Pattern::new(pattern), lens));
                }
                map.push((*pattern, json));
            }
            out.patterns = Some(self.arena.obj_like(&map, node.written(Kw::PatternProperties)));
        }
        out
    }

    /// A schema of properties that are not declared, as the only branch of a union where it must name a type and names none.
    fn in_union_if_typeless(&mut self, json: Json<'d>, node: &'g Node<'g, 'd>) -> Json<'d> {
        let Json::Obj(members) = json else { return json };
        let stands = |kw: Kw| kw == Kw::Type || self.caps.others_typed_by.has(kw);
        let typed = members.iter().any(|(key, _)| Kw::of(key).is_some_and(stands));
        if typed || !self.caps.has_demand(Demand::OthersTyped) {
            return json;
        }
        let code = self.demand_code(Demand::OthersTyped);
        let detail = "a union of one needs no type";
        self.change(&code, node.place, Kw::AdditionalProperties, Action::Rewritten, Effect::Same, detail);
        self.arena.obj(&[(Kw::AnyOf.name(), self.arena.arr(&[json]))])
    }

    /// Whether a declared property matches a pattern, and the two want its value in different shapes.
    fn meets_in_another_shape(&mut self, pattern: &str, pattern_keeps: bool, own: &DeclaredProperties<'d>) -> bool {
        own.named().any(|(field, wire)| {
            let keeps = pattern_keeps && field.absent == Absent::Kept && self.keeps_values(field.lens);
            (!keeps || field.key != wire) && (self.matches(pattern, field.key) || self.matches(pattern, wire))
        })
    }

    /// What is asked of an object beside its properties: of its keys as a whole, of what depends on one, and of the rest.
    fn put_object_rules(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &ObjectRules<'g, 'd>,
        keys: KeySpelling,
        own: &DeclaredProperties<'d>,
        builder: &mut SchemaBuilder<'d>,
    ) {
        // How many keys there are, and which, can be said of other names too; what they are like cannot.
        let counts = |lowerer: &Self, kw| lowerer.caps.accepts(kw) && keys != KeySpelling::Others;
        let says = |lowerer: &Self, kw| counts(lowerer, kw) && keys != KeySpelling::Renamed;
        let min = (rules.rare.min > 0).then_some(rules.rare.min);
        for (kw, count) in [(Kw::MinProperties, min), (Kw::MaxProperties, rules.rare.max)] {
            match count {
                Some(count) if counts(self, kw) => builder.put(kw, Json::Num(count.into())),
                Some(count) => self.spill(kw, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts),
                None => {}
            }
        }
        for (index, id) in rules.rare.names.iter().enumerate() {
            let taken = index == 0 && says(self, Kw::PropertyNames);
            match if taken { self.lower_beside(*id) } else { None } {
                Some(names) => builder.put(Kw::PropertyNames, names),
                None => self.tell_rule(node, Kw::PropertyNames, self.graph[*id].source, &mut builder.facts),
            }
        }
        if !rules.rare.needs.is_empty() {
            let needs = needs(rules, own, self.arena);
            if counts(self, Kw::DependentRequired) {
                builder.put(Kw::DependentRequired, needs);
            } else {
                self.tell_rule(node, Kw::DependentRequired, Some(&needs), &mut builder.facts);
            }
        }
        if !rules.rare.dependents.is_empty() {
            // A schema that is closed would shut out what it does not declare itself.
            if says(self, Kw::DependentSchemas) && keys == KeySpelling::AndValuesAsWritten && !self.closes_unsaid() {
                let mut map: Vec<(&'d str, NodeId)> = Vec::with_capacity(rules.rare.dependents.len());
                let mut places = foldhash::HashMap::default();
                for (key, id) in rules.rare.dependents {
                    // Two drafts have a word for it, and both may stand in one schema.
                    let place = *places.entry(*key).or_insert(map.len());
                    match map.get_mut(place) {
                        Some((_, own)) => *own = self.intersection_of(*own, *id),
                        None => map.push((*key, *id)),
                    }
                }
                let count = map.len();
                let said: Vec<_> =
                    map.into_iter().filter_map(|(key, id)| Some((key, self.lower_beside(id)?))).collect();
                if said.len() < count {
                    self.drop_rule(node, Kw::DependentSchemas);
                    self.dropped_evaluators += 1;
                }
                builder.put(Kw::DependentSchemas, self.arena.obj(&said));
            } else {
                let written = [Kw::DependentSchemas, Kw::Dependencies].into_iter().find_map(|kw| node.written(kw));
                self.tell_rule(node, Kw::DependentSchemas, written, &mut builder.facts);
                self.dropped_evaluators += 1;
            }
        }
        if let Some(id) = rules.unevaluated.filter(|_| rules.says_unevaluated(node)) {
            // Where a word for all others is printed, nothing is left to be unevaluated.
            let open = builder.members.iter().all(|(key, _)| *key != Kw::AdditionalProperties.name());
            let taken = says(self, Kw::UnevaluatedProperties) && (open || rules.additional.is_some());
            let said = if taken { self.lower_beside(id) } else { None };
            match said {
                Some(json) => builder.put(Kw::UnevaluatedProperties, json),
                None => self.drop_rule(node, Kw::UnevaluatedProperties),
            }
        }
    }

    /// Drops a rule of more than one word; a short one goes into the description.
    pub(super) fn tell_rule(&mut self, node: &Node<'g, 'd>, kw: Kw, written: Option<&Json<'_>>, facts: &mut Facts<'d>) {
        let fact = written.map(|written| format!("({})", rule_in_words(kw, written)));
        match fact.filter(|fact| self.can_describe(fact)) {
            Some(fact) => {
                facts.push(fact);
                let code = self.refusal_code(kw);
                self.change(&code, node.place, kw, Action::Described, Effect::Wider, "moved into the description");
            }
            None => self.drop_rule(node, kw),
        }
    }

    pub(super) fn drop_rule(&mut self, node: &Node<'g, 'd>, kw: Kw) {
        self.drop_because(node, kw, "not taken");
    }

    pub(super) fn drop_because(&mut self, node: &Node<'g, 'd>, kw: Kw, why: &'static str) {
        let code = self.refusal_code(kw);
        self.change(&code, node.place, kw, Action::Dropped, Effect::Wider, why);
    }

    /// The schema of a property whose key lost letters on the way, with the key in its description.
    fn describe_original_key(&mut self, json: Json<'d>, key: &str, wire: &str) -> Json<'d> {
        let lost = |letter: char| letter.is_alphanumeric() && !letter.is_ascii();
        if key == wire || !key.contains(lost) || self.spill_mode == Spill::Off {
            return json;
        }
        let lowered = Lowered { json, lens: LensId::SAME, null: false };
        self.with_facts(lowered, &[format!("(key: {key})")]).json
    }

    /// The key as the dialect can spell it.
    fn wire_key(
        &mut self,
        node: &'g Node<'g, 'd>,
        key: &'d str,
        pos: Position,
        taken: &mut Option<UniqueNames>,
    ) -> &'d str {
        let caps = self.caps;
        let depth = if pos == Position::Root { KeyDepth::Root } else { KeyDepth::Below };
        if caps.accepts_key(key, depth) {
            return key;
        }
        let demand = if caps.accepts_key(key, KeyDepth::Below) { Demand::RootKeys } else { Demand::Keys };
        let accepts = |name: &str| caps.accepts_key(name, depth);
        let longest = if depth == KeyDepth::Root { caps.longest_root_key } else { caps.longest_key };
        // A number may have to be put behind it.
        let name = Spelling(&accepts).respelled(key, "key", longest.saturating_sub(NUMBER_ROOM).max(1));
        let stem = name.trim_end_matches('_');
        let name = if accepts(stem) { stem.to_owned() } else { name };
        let names = taken.get_or_insert_with(|| {
            UniqueNames::of(node.rules.object().into_iter().flat_map(ObjectRules::names).map(str::to_owned))
        });
        let unique = names.unique(name);
        let code = self.demand_code(demand);
        let detail = format!("the key `{key}` travels as `{unique}`");
        self.change(&code, node.place, Kw::Properties, Action::Renamed, Effect::Same, detail);
        self.arena.text(&unique)
    }
}

/// A rule about several keys in words, or else as it was written.
fn rule_in_words(kw: Kw, written: &Json<'_>) -> String {
    let spelled = match (kw, written) {
        (Kw::DependentRequired | Kw::DependentSchemas, Json::Obj(members)) => {
            let sentences = members.iter().map(|(key, then)| match then.as_arr() {
                Some(names) => annotations::dependency(key, &Json::Obj(&[(Kw::Required.name(), Json::Arr(names))])),
                None => annotations::dependency(key, then),
            });
            sentences.collect::<Option<Vec<_>>>().map(|sentences| sentences.join("; "))
        }
        _ => None,
    };
    spelled.unwrap_or_else(|| format!("{} {written}", kw.name()))
}

/// `dependentRequired`, each key once, in the names of the wire.
fn needs<'d>(rules: &ObjectRules<'_, 'd>, own: &DeclaredProperties<'d>, arena: &'d Arena) -> Json<'d> {
    let renamed: foldhash::HashMap<&str, &'d str> =
        own.named().filter(|(field, wire)| field.key != *wire).map(|(field, wire)| (field.key, wire)).collect();
    let wire = |name: &'d str| renamed.get(name).copied().unwrap_or(name);
    let mut map: Vec<(&'d str, Vec<Json<'d>>)> = Vec::with_capacity(rules.rare.needs.len());
    let mut places = foldhash::HashMap::default();
    for (key, names) in rules.rare.needs {
        let key = wire(key);
        let place = *places.entry(key).or_insert(map.len());
        if place == map.len() {
            map.push((key, Vec::new()));
        }
        let Some((_, list)) = map.get_mut(place) else { continue };
        for name in *names {
            let name = wire(name);
            if !list.iter().any(|own| own.as_str() == Some(name)) {
                list.push(Json::Str(name));
            }
        }
    }
    let map: Vec<Member<'d>> = map.into_iter().map(|(key, list)| (key, arena.arr(&list))).collect();
    arena.obj(&map)
}

/// The keys of an object on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeySpelling {
    /// It has, and their values travel as they are.
    AndValuesAsWritten,
    AsWritten,
    /// It has as many, some of them under other names.
    Renamed,
    Others,
}

/// The emitted rules for undeclared properties.
#[derive(Default)]
struct EmittedRest<'d> {
    additional: Option<Json<'d>>,
    patterns: Option<Json<'d>>,
    carried: Option<Rest>,
    /// How undeclared properties travel that stay in place, by their keys.
    matching: Vec<(Pattern, LensId)>,
    others: LensId,
}

impl EmittedRest<'_> {
    fn keeps_values(&self) -> bool {
        self.carried.is_none() && self.matching.is_empty() && self.others.is_same()
    }
}
