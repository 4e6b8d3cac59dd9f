//! Emits one node: each keyword unchanged where the dialect accepts it, else dropped, rewritten, or moved into the
//! description by the one writer of annotations.

use std::sync::Arc;

use super::annotations::{Facts, stands_for_a_pattern};
use super::{AssumeExact, Lowered, Lowerer, Position, Progress, SPARE_ROOM, ShapeCount, Spill};
use crate::arena::Arena;
use crate::dialect::{Demand, RuleRow};
use crate::graph::{AnnotationKey, Bound, BoundSide, Logic, Node, NodeId};
use crate::json::{Json, Member};
use crate::keyword::{KeywordRole, Kw, KwSet};
use crate::lens::LensId;
use crate::pattern::{self, Feature, Features};
use crate::place::Place;
use crate::types::Types;
use polywire_report::{Action, Effect};

/// The schema of one node under construction.
pub(super) struct SchemaBuilder<'d> {
    pub(super) members: Vec<Member<'d>>,
    /// Sentences to append to the caller's description.
    pub(super) facts: Facts<'d>,
    pub(super) lens: LensId,
}

impl<'d> SchemaBuilder<'d> {
    pub(super) fn put(&mut self, kw: Kw, json: Json<'d>) {
        self.members.push((kw.name(), json));
    }
}

/// Most schemas have no more keywords.
const MEMBERS: usize = 8;

/// A length above this is not written as a repetition in a pattern.
const LONGEST_REPEAT: u64 = 500;

/// The same where large repetitions are refused: any letter so many times is much to ask of a grammar.
const LONGEST_CAREFUL_REPEAT: u64 = 32;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Prints a node that has no reference; its unions and its `allOf` only where they may stay as they are.
    pub(super) fn emit(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        if let Some(json) = node.as_written().filter(|_| self.takes_notes(node)) {
            self.spend(json.as_obj().unwrap_or_default());
            return Lowered { json: *json, lens: LensId::SAME, null: false };
        }
        let mut builder = self.builder();
        let dropped_evaluators = self.dropped_evaluators;
        self.put_types(node, pos, &mut builder);
        let types = node.types();
        let numeric = types.intersects(Types::NUMBER) && node.rules.number().is_some();
        self.put_formats(node, &mut builder);
        if let (Some(rules), true) = (node.rules.text(), types.intersects(Types::STRING)) {
            self.put_text(node, rules, &mut builder);
        }
        if let (Some(rules), true) = (node.rules.number(), numeric) {
            self.put_numbers(node, rules, &mut builder);
        }
        if types.intersects(Types::ARRAY)
            && (node.rules.array().is_some() || (node.types.is_some() && self.caps.has_demand(Demand::HasItems)))
        {
            self.put_array(node, &mut builder);
        }
        if types.intersects(Types::OBJECT) && (node.rules.object().is_some() || node.types.is_some()) {
            let lists = std::mem::replace(&mut builder.lens, LensId::SAME);
            self.put_object(node, pos, &mut builder);
            builder.lens = self.by_type(lists, builder.lens, node.place);
        }
        self.put_logic(node, &mut builder);
        if self.dropped_evaluators > dropped_evaluators {
            self.forget_unevaluated(node, &mut builder);
        }
        self.finish(node, builder)
    }

    pub(super) fn builder(&mut self) -> SchemaBuilder<'d> {
        SchemaBuilder {
            members: self.spare_members.pop().unwrap_or_else(|| Vec::with_capacity(MEMBERS)),
            facts: Facts::default(),
            lens: LensId::SAME,
        }
    }

    /// Adds the annotations and the description.
    pub(super) fn finish(&mut self, node: &'g Node<'g, 'd>, builder: SchemaBuilder<'d>) -> Lowered<'d> {
        let SchemaBuilder { mut members, mut facts, lens } = builder;
        let first = usize::from(members.first().is_some_and(|(key, _)| *key == Kw::Type.name()));
        let stated = members.len();
        self.put_notes(node, lens, &mut members, &mut facts);
        put_ignored(&mut facts, &mut members);
        let annotations = members.len() - stated;
        if let Some(behind_type) = members.get_mut(first..) {
            behind_type.rotate_right(annotations);
        }
        let written = node.note(Kw::Description).filter(|json| json.as_str().is_some());
        if let Some(description) = self.description(written, &facts.texts(), node.place) {
            members.insert(first, (Kw::Description.name(), description));
        }
        self.spend(&members);
        Lowered { json: self.build(members, node.source), lens, null: false }
    }

    /// Reuses the caller's object where it is the same.
    pub(super) fn build(&mut self, mut members: Vec<Member<'d>>, source: Option<&'d Json<'d>>) -> Json<'d> {
        sort_like_source(&mut members, source);
        let json = self.arena.obj_like(&members, source);
        if members.len() <= SPARE_ROOM {
            members.clear();
            self.spare_members.push(members);
        }
        json
    }

    /// The caller's description with what was spilled behind it.
    fn description(
        &mut self,
        written: Option<&'d Json<'d>>,
        facts: &[String],
        place: Option<Place>,
    ) -> Option<Json<'d>> {
        if !self.caps.accepts(Kw::Description) {
            if written.is_some() {
                let code = self.refusal_code(Kw::Description);
                self.change(&code, place, Kw::Description, Action::Dropped, Effect::Note, "not taken");
            }
            return None;
        }
        if facts.is_empty() {
            return written.copied();
        }
        let text = written.and_then(Json::as_str);
        let missing: Vec<&String> =
            facts.iter().filter(|fact| text.is_none_or(|text| !text.contains(fact.as_str()))).collect();
        if missing.is_empty() {
            return written.copied();
        }
        let room = missing.iter().map(|fact| fact.len() + 1).sum::<usize>() + text.map_or(0, str::len);
        let mut description = String::with_capacity(room);
        description.push_str(text.unwrap_or_default());
        for fact in missing {
            if !description.is_empty() {
                description.push(' ');
            }
            description.push_str(fact);
        }
        Some(self.arena.str(&description))
    }

    /// Puts the annotations other than the description; what cannot stay is spilled or dropped.
    fn put_notes(
        &mut self,
        node: &'g Node<'g, 'd>,
        lens: LensId,
        members: &mut Vec<Member<'d>>,
        facts: &mut Facts<'d>,
    ) {
        for note in node.annotations {
            match note.key {
                AnnotationKey::Kw(Kw::Description) => {}
                AnnotationKey::Kw(kw) if self.caps.accepts(kw) && self.shows(kw, lens) => {
                    members.push((kw.name(), *note.value));
                }
                AnnotationKey::Kw(Kw::Default) if is_only_value(node, note.value) => {
                    let code = self.refusal_code(Kw::Default);
                    self.change(&code, node.place, Kw::Default, Action::Dropped, Effect::Note, "it is the only value");
                }
                AnnotationKey::Kw(kw) => self.spill(kw, note.value, node.place, Effect::Note, facts),
                AnnotationKey::Unknown(name) if self.takes_unknown(name) => members.push((name, *note.value)),
                AnnotationKey::Unknown(name) => {
                    self.drop_unknown(node.place, name);
                }
            }
        }
    }

    fn takes_notes(&self, node: &Node<'g, 'd>) -> bool {
        node.annotations.iter().all(|note| match note.key {
            AnnotationKey::Kw(kw) => self.caps.accepts(kw),
            AnnotationKey::Unknown(name) => self.takes_unknown(name),
        })
    }

    /// Whether a key that no draft knows may stay. One that reads like a keyword elsewhere would be taken for it, and what is left
    /// beside a key of an instance of Zod for such an instance.
    fn takes_unknown(&self, name: &str) -> bool {
        self.caps.unknown && Kw::of(name).is_none() && !crate::zod::may_define(name)
    }

    /// Puts the annotations that may stand beside a union or reference; what the others say goes into the description, where
    /// that one may.
    pub(super) fn notes_beside(
        &mut self,
        node: &'g Node<'g, 'd>,
        lens: LensId,
        beside: KwSet,
        members: &mut Vec<Member<'d>>,
    ) {
        if let Some(description) = self.notes_and_description(node, lens, beside, members) {
            members.push((Kw::Description.name(), description));
        }
    }

    /// Puts the annotations that may stand beside a union or reference, and returns the description with what the others say, if
    /// there is a place for it.
    pub(super) fn notes_and_description(
        &mut self,
        node: &'g Node<'g, 'd>,
        lens: LensId,
        beside: KwSet,
        members: &mut Vec<Member<'d>>,
    ) -> Option<Json<'d>> {
        let describes = beside.has(Kw::Description);
        let mut facts = Facts::default();
        for note in node.annotations {
            match note.key {
                AnnotationKey::Kw(Kw::Description) if describes => {}
                AnnotationKey::Kw(kw) if beside.has(kw) && self.caps.accepts(kw) && self.shows(kw, lens) => {
                    members.push((kw.name(), *note.value));
                }
                AnnotationKey::Kw(kw) if describes => self.spill(kw, note.value, node.place, Effect::Note, &mut facts),
                AnnotationKey::Unknown(name) if self.takes_unknown(name) && beside.has(Kw::Properties) => {
                    members.push((name, *note.value));
                }
                AnnotationKey::Kw(kw) => {
                    let code = self.refusal_code(kw);
                    self.change(&code, node.place, kw, Action::Dropped, Effect::Note, "may not stand here");
                }
                AnnotationKey::Unknown(name) => self.drop_unknown(node.place, name),
            }
        }
        let written = node.note(Kw::Description).filter(|_| describes);
        put_ignored(&mut facts, members);
        self.description(written, &facts.texts(), node.place).filter(|_| describes)
    }

    /// Whether a bound is the largest whole number that JavaScript counts exactly, or beyond, which generators write out and
    /// people do not mean.
    fn is_machine_bound(value: &Json<'_>) -> bool {
        value.as_f64().is_some_and(|bound| bound.abs() >= 9_007_199_254_740_991.0)
    }

    /// Drops a keyword; what a person would understand goes into the description.
    pub(super) fn spill(
        &mut self,
        kw: Kw,
        value: &Json<'d>,
        place: Option<Place>,
        effect: Effect,
        facts: &mut Facts<'d>,
    ) {
        let code = self.refusal_code(kw);
        self.spill_as(&code, (kw, value), place, effect, facts);
    }

    pub(super) fn spills(&self) -> bool {
        self.spill_mode == Spill::On && self.caps.accepts(Kw::Description)
    }

    /// Drops a keyword under the code of a rule about its value.
    pub(super) fn spill_as(
        &mut self,
        code: &Arc<str>,
        (kw, value): (Kw, &Json<'d>),
        place: Option<Place>,
        effect: Effect,
        facts: &mut Facts<'d>,
    ) {
        let role = kw.info().role;
        let is_telling = !(role == KeywordRole::Limit && Self::is_machine_bound(value))
            && matches!(role, KeywordRole::Limit | KeywordRole::Hint);
        if is_telling && self.caps.ignored.has(kw) {
            facts.kept.push((kw.name(), *value));
            self.change(code, place, kw, Action::Kept, effect, "the provider does not enforce it");
        } else if is_telling && self.spills() && facts.add(kw, value) {
            self.change(code, place, kw, Action::Described, effect, "moved into the description");
        } else {
            self.change(code, place, kw, Action::Dropped, effect, "not taken");
        }
    }

    fn put_types(&mut self, node: &'g Node<'g, 'd>, pos: Position, builder: &mut SchemaBuilder<'d>) {
        if node.types.is_none() {
            return;
        }
        let types = node.types();
        let root = pos == Position::Root && self.caps.has_demand(Demand::RootObject);
        if types == Types::ANY && !root && !self.wants_type(pos) {
            return;
        }
        match types.name() {
            Some(name) => builder.put(Kw::Type, Json::Str(name)),
            None => builder.put(Kw::Type, self.type_names(types, node)),
        }
    }

    /// The names of several types.
    pub(super) fn type_names(&self, types: Types, node: &Node<'g, 'd>) -> Json<'d> {
        let names: Vec<Json<'d>> = types.names().map(|(name, _)| Json::Str(name)).collect();
        self.arena.arr_like(&names, node.written(Kw::Type))
    }

    fn put_formats(&mut self, node: &'g Node<'g, 'd>, builder: &mut SchemaBuilder<'d>) {
        let mut stated = false;
        for format in node.rules.formats() {
            let taken = self.caps.accepts(Kw::Format)
                && self.caps.formats.as_ref().is_none_or(|formats| formats.iter().any(|own| own == format))
                && (*format != "enum" || node.rules.values().is_some())
                && (self.caps.formats.is_none() || Types::of_format(format).has(node.types().without(Types::NULL)));
            if taken && !stated {
                stated = true;
                builder.put(Kw::Format, Json::Str(format));
            } else if *format == "enum" {
                let code = self.demand_code(Demand::Formats);
                self.change(&code, node.place, Kw::Format, Action::Dropped, Effect::Note, "there is no enum");
            } else {
                let code = if self.caps.accepts(Kw::Format) {
                    self.demand_code(Demand::Formats)
                } else {
                    self.refusal_code(Kw::Format)
                };
                self.spill_as(&code, (Kw::Format, &Json::Str(format)), node.place, Effect::Wider, &mut builder.facts);
            }
        }
    }

    fn put_text(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &crate::graph::TextRules<'g, 'd>,
        builder: &mut SchemaBuilder<'d>,
    ) {
        let mut stated = false;
        for text in rules.patterns {
            let features = pattern::features_among(text, self.caps.pattern_refused);
            if self.caps.accepts(Kw::Pattern) && !stated {
                if features.is_empty() {
                    stated = true;
                    builder.put(Kw::Pattern, Json::Str(text));
                    continue;
                }
                if let Some((pattern, how)) = self.pattern_in_other_words(text) {
                    stated = true;
                    let code = self.pattern_code(features);
                    self.change(&code, node.place, Kw::Pattern, Action::Rewritten, Effect::Same, how);
                    builder.put(Kw::Pattern, self.arena.str(&pattern));
                    continue;
                }
            }
            let code = if self.caps.accepts(Kw::Pattern) {
                self.pattern_code(features)
            } else {
                self.refusal_code(Kw::Pattern)
            };
            let is_described = !self.caps.ignored.has(Kw::Pattern);
            if is_described && node.rules.formats().iter().any(|format| stands_for_a_pattern(format)) {
                let detail = "left to the format, which says the same in a word";
                self.change(&code, node.place, Kw::Pattern, Action::Dropped, Effect::Wider, detail);
                continue;
            }
            self.spill_as(&code, (Kw::Pattern, &Json::Str(text)), node.place, Effect::Wider, &mut builder.facts);
        }
        let min = (rules.min > 0).then_some(rules.min);
        let says_min = min.is_none_or(|min| self.caps.accepts_count(Kw::MinLength, min));
        let says_max = rules.max.is_none_or(|max| self.caps.accepts_count(Kw::MaxLength, max));
        if let Some(min) = min.filter(|_| says_min) {
            builder.put(Kw::MinLength, Json::Num(min.into()));
        }
        if let Some(max) = rules.max.filter(|_| says_max) {
            builder.put(Kw::MaxLength, Json::Num(max.into()));
        }
        let (mut min, mut max) = (min.filter(|_| !says_min), rules.max.filter(|_| !says_max));
        let careful = self.caps.pattern_refused.has(Feature::LargeRepeat);
        let longest = if careful { LONGEST_CAREFUL_REPEAT } else { LONGEST_REPEAT };
        let repeats = |count: Option<u64>| count.filter(|count| *count <= longest);
        let said = (repeats(min), repeats(max));
        if self.caps.accepts(Kw::Pattern) && rules.patterns.is_empty() && (said.0.is_some() || said.1.is_some()) {
            let text = pattern::length_pattern(said.0, said.1);
            if pattern::features_among(&text, self.caps.pattern_refused).is_empty() {
                for (kw, done) in [(Kw::MinLength, said.0), (Kw::MaxLength, said.1)] {
                    if done.is_some() {
                        let code = self.refusal_code(kw);
                        self.change(&code, node.place, kw, Action::Rewritten, Effect::Same, "said by `pattern`");
                    }
                }
                builder.put(Kw::Pattern, self.arena.str(&text));
                (min, max) = (min.filter(|_| said.0.is_none()), max.filter(|_| said.1.is_none()));
            }
        }
        for (kw, count) in [(Kw::MinLength, min), (Kw::MaxLength, max)] {
            if let Some(count) = count {
                self.spill(kw, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts);
            }
        }
    }

    /// The code of the row that refuses a pattern with these features.
    fn pattern_code(&self, features: Features) -> Arc<str> {
        let refuses = |row: &&RuleRow| {
            row.demand == Demand::Patterns
                && row.refuse.iter().filter_map(|name| Feature::named(name)).any(|feature| features.has(feature))
        };
        let row = self.dialect.rule_rows(self.slot).iter().find(refuses);
        row.map_or_else(|| self.demand_code(Demand::Patterns), |row| Arc::clone(&row.code))
    }

    /// A pattern with the same meaning that the dialect takes, and what was done to it.
    fn pattern_in_other_words(&self, text: &str) -> Option<(String, &'static str)> {
        let taken = |text: &String| pattern::features_among(text, self.caps.pattern_refused).is_empty();
        let anchored = pattern::anchored(text).filter(taken).map(|text| (text, "anchored"));
        anchored.or_else(|| {
            let spelled = pattern::without_escapes(text)?;
            let anchored = || pattern::anchored(&spelled).filter(taken);
            Some((Some(spelled.clone()).filter(taken).or_else(anchored)?, "spelled without escapes"))
        })
    }

    fn put_numbers(
        &mut self,
        node: &'g Node<'g, 'd>,
        rules: &crate::graph::NumberRules<'g, 'd>,
        builder: &mut SchemaBuilder<'d>,
    ) {
        let whole = node.types().and(Types::NUMBER) == Types::INTEGER;
        for (bound, side) in [(&rules.min, BoundSide::Lower), (&rules.max, BoundSide::Upper)] {
            if let Some(bound) = bound {
                self.put_bound(node, bound, side, builder);
            }
        }
        for (index, multiple) in rules.multiples.iter().enumerate() {
            if index == 0 && self.caps.accepts(Kw::MultipleOf) {
                builder.put(Kw::MultipleOf, **multiple);
            } else if !(whole && multiple.as_count() == Some(1)) {
                self.spill(Kw::MultipleOf, multiple, node.place, Effect::Wider, &mut builder.facts);
            }
        }
    }

    fn put_bound(&mut self, node: &'g Node<'g, 'd>, bound: &Bound, side: BoundSide, builder: &mut SchemaBuilder<'d>) {
        let whole = node.types().and(Types::NUMBER) == Types::INTEGER;
        let (inclusive, exclusive, step) = match side {
            BoundSide::Lower => (Kw::Minimum, Kw::ExclusiveMinimum, 1),
            BoundSide::Upper => (Kw::Maximum, Kw::ExclusiveMaximum, -1),
        };
        let kw = if bound.exclusive { exclusive } else { inclusive };
        let value = Json::Num(bound.value);
        if self.caps.accepts(kw) {
            builder.put(kw, value);
            return;
        }
        if bound.exclusive && self.caps.accepts(inclusive) {
            let next = bound.value.as_i64().and_then(|at| at.checked_add(step));
            if let Some(next) = next.filter(|_| whole) {
                let code = self.refusal_code(kw);
                self.change(
                    &code,
                    node.place,
                    kw,
                    Action::Rewritten,
                    Effect::Same,
                    format!("said by `{}`", inclusive.name()),
                );
                builder.put(inclusive, Json::Num(next.into()));
                return;
            }
            // The bound itself slips in; everything beyond it stays out.
            builder.put(inclusive, value);
        }
        self.spill(kw, &value, node.place, Effect::Wider, &mut builder.facts);
    }

    /// Unions, `allOf`, `not` and conditions in a dialect that takes them as they are.
    fn put_logic(&mut self, node: &'g Node<'g, 'd>, builder: &mut SchemaBuilder<'d>) {
        let Some(logic) = node.rules.logic() else { return };
        // What is said here is said of the caller's value.
        let kept = self.keeps_values(builder.lens);
        let speaks = !logic.all.is_empty() || !logic.unions.is_empty();
        if speaks && !kept {
            self.parts = ShapeCount::Several;
        }
        let mut all: Vec<Json<'d>> = Vec::with_capacity(logic.all.len());
        for part in logic.all {
            let lowered = self.lower(*part, Position::Other);
            let lowered = self.null_here(lowered);
            // What all parts speak of is one value: it cannot travel in the shape of one of them.
            if !self.keeps_values(lowered.lens) {
                self.parts = ShapeCount::Several;
            }
            all.push(lowered.json);
        }
        let mut used = KwSet::default();
        for union in logic.unions {
            let mut kw = self.union_keyword(node, union);
            let before = self.progress();
            let mut lenses = Vec::with_capacity(union.branches.len());
            let mut list = Vec::with_capacity(union.branches.len());
            for (index, id) in union.branches.iter().enumerate() {
                // One branch is left in any case.
                let others = index + 1 < union.branches.len() + list.len();
                if others && self.is_never(*id) {
                    self.drop_never(node.place);
                    continue;
                }
                if others && kw == Kw::AnyOf && self.leads_back(*id, node) {
                    let detail = "a branch that is the union itself adds nothing";
                    self.change(&super::own_code(), node.place, kw, Action::Dropped, Effect::Same, detail);
                    continue;
                }
                let lowered = self.lower_branch((index, *id), union.branches, node.place);
                let lowered = self.null_here(lowered);
                lenses.push((*id, lowered.lens));
                list.push(lowered.json);
            }
            if kw == Kw::OneOf && !(self.stays_exact(&list, before) && self.all_keep_values(&lenses)) {
                // What lets more through in one branch would shut out what another one takes, and values that fit several branches
                // do so no longer where these travel in different shapes.
                self.note_one_of(node, union);
                kw = Kw::AnyOf;
            }
            let alone = node.is_bare() && matches!(logic, Logic { all: [], unions: [_], nots: [], conditions: [] });
            if alone {
                builder.lens = self.union_lens(&lenses, node.place);
            } else if !self.all_keep_values(&lenses) {
                self.parts = ShapeCount::Several;
            }
            if let Some(folded) = self.fold_printed(&list, node.place) {
                list = folded;
            }
            let branches = self.arena.arr_like(&list, node.written(kw));
            if used.has(kw) {
                all.push(self.arena.obj(&[(kw.name(), branches)]));
            } else {
                used.insert(kw);
                builder.put(kw, branches);
            }
        }
        self.put_nots(node, kept, builder);
        for condition in logic.conditions {
            let checkpoint = self.checkpoint();
            let Some(when) = (if kept { self.lower_exactly(condition.when) } else { None }) else {
                self.drop_exclusion(node.place, Kw::If, "the condition cannot be said exactly");
                self.dropped_evaluators += 1;
                continue;
            };
            let mut members = vec![(Kw::If.name(), when)];
            let mut plain = true;
            for (kw, branch) in [(Kw::Then, condition.then), (Kw::Else, condition.otherwise)] {
                if let Some(branch) = branch {
                    let lowered = self.lower(branch, Position::Other);
                    let lowered = self.null_here(lowered);
                    plain &= self.keeps_values(lowered.lens);
                    members.push((kw.name(), lowered.json));
                }
            }
            if !plain {
                self.rollback(checkpoint);
                self.drop_exclusion(node.place, Kw::If, "what follows from the condition travels in another shape");
                self.dropped_evaluators += 1;
                continue;
            }
            if !used.has(Kw::If) {
                used.insert(Kw::If);
                builder.members.append(&mut members);
            } else if self.caps.accepts(Kw::AllOf) {
                all.push(self.arena.obj(&members));
            } else {
                self.rollback(checkpoint);
                let code = self.refusal_code(Kw::AllOf);
                self.change(&code, node.place, Kw::If, Action::Dropped, Effect::Wider, "one condition too many");
                self.dropped_evaluators += 1;
            }
        }
        if !all.is_empty() {
            builder.put(Kw::AllOf, self.arena.arr_like(&all, node.written(Kw::AllOf)));
        }
    }

    /// Whether a branch is nothing but a reference to the schema that it stands in.
    fn leads_back(&mut self, branch: NodeId, node: &Node<'g, 'd>) -> bool {
        let Some(target) = self.follow(branch).filter(|_| self.graph[branch].is_alias()) else { return false };
        let own = self.graph[target].source.zip(node.source);
        own.is_some_and(|(target, node)| std::ptr::eq(target, node))
    }

    /// What a value must not be; it is said of values that travel as they are.
    fn put_nots(&mut self, node: &'g Node<'g, 'd>, kept: bool, builder: &mut SchemaBuilder<'d>) {
        let mut nots: Vec<Json<'d>> = Vec::new();
        for not in node.rules.logic().map_or(&[][..], |logic| logic.nots) {
            if !nots.is_empty() && self.caps.has_demand(Demand::UnionTyped) {
                // What is excluded need not have a type, which the branches of a union must.
                let code = self.demand_code(Demand::UnionTyped);
                self.change(
                    &code,
                    node.place,
                    Kw::Not,
                    Action::Dropped,
                    Effect::Wider,
                    "only one exclusion can be said",
                );
                break;
            }
            match if kept { self.lower_exactly(*not) } else { None } {
                Some(json) => nots.push(json),
                None => self.drop_exclusion(node.place, Kw::Not, "the exclusion cannot be said exactly"),
            }
        }
        if nots.len() > 1 {
            // None of several is not any of them.
            nots = vec![self.arena.obj(&[(Kw::AnyOf.name(), self.arena.arr(&nots))])];
        }
        if let Some(not) = nots.pop() {
            builder.put(Kw::Not, not);
        }
    }

    fn all_keep_values(&mut self, lenses: &[(NodeId, LensId)]) -> bool {
        lenses.iter().all(|(_, lens)| self.keeps_values(*lens))
    }

    /// A subschema that says what a value must not be, or when more is asked of it: what lets more through there lets less
    /// through on the whole, so that it is said exactly or not at all.
    pub(super) fn lower_exactly(&mut self, id: NodeId) -> Option<Json<'d>> {
        let checkpoint = self.checkpoint();
        let lowered = self.lower(id, Position::Other);
        let printed = std::slice::from_ref(&lowered.json);
        if !lowered.null && self.keeps_values(lowered.lens) && self.stays_exact(printed, checkpoint.progress) {
            return Some(lowered.json);
        }
        self.rollback(checkpoint);
        None
    }

    /// Whether what was printed since then accepts just what the caller's schema does. What stands behind a
    /// reference is not printed yet, so that this is taken for granted, or not.
    fn stays_exact(&mut self, printed: &[Json<'d>], before: Progress) -> bool {
        let reference = self.reference_keywords.reference.name();
        let mut meanings = Vec::new();
        for json in printed {
            json.each_text(reference, &mut |pointer| meanings.push(pointer));
        }
        if !meanings.is_empty() && self.assume_exact == AssumeExact::Nothing {
            return false;
        }
        self.assumptions.meanings.append(&mut meanings);
        self.is_exact_since(before)
    }

    /// Records that an exclusion or a condition is not said.
    pub(super) fn drop_exclusion(&mut self, place: Option<Place>, kw: Kw, why: &'static str) {
        let code = self.refusal_code(kw);
        self.change(&code, place, kw, Action::Dropped, Effect::Wider, why);
    }

    /// A subschema that asks more of a value whose shape is decided elsewhere: it is said where values travel as they are by it.
    pub(super) fn lower_beside(&mut self, id: NodeId) -> Option<Json<'d>> {
        let checkpoint = self.checkpoint();
        let lowered = self.lower(id, Position::Other);
        let lowered = self.null_here(lowered);
        if self.keeps_values(lowered.lens) {
            return Some(lowered.json);
        }
        self.rollback(checkpoint);
        None
    }

    /// A subschema that must say `null` itself.
    pub(super) fn lower_here(&mut self, id: NodeId) -> Json<'d> {
        let lowered = self.lower(id, Position::Other);
        self.null_here(lowered).json
    }
}

/// Puts members into the order in which the caller wrote them. A new `type` comes first, a new `description` behind the type, other
/// new members last.
pub(super) fn sort_like_source(members: &mut [Member<'_>], source: Option<&Json<'_>>) {
    let Some(source) = source.and_then(Json::as_obj) else { return };
    if source.len() > MAX_SORTED || members.len() > MAX_SORTED {
        return;
    }
    let position = |key: &str| source.iter().position(|(own, _)| *own == key);
    let of_type = position(Kw::Type.name()).map_or((0, 0), |index| (1, index));
    members.sort_by_cached_key(|(key, _)| match position(key) {
        Some(index) => (1, index),
        None if matches!(Kw::of(key), Some(Kw::Type | Kw::Description)) => of_type,
        None => (2, 0),
    });
}

/// The members of larger schemas stay as they are printed; no schema has so many keywords.
const MAX_SORTED: usize = 64;

/// A printed schema with a description, behind its type where that stands first.
pub(super) fn described<'d>(json: Json<'d>, description: Json<'d>, arena: &'d Arena) -> Json<'d> {
    let Json::Obj(members) = json else { return json };
    let typed = usize::from(members.first().is_some_and(|(key, _)| *key == Kw::Type.name()));
    let (kind, rest) = members.split_at(typed);
    arena.obj(&[kind, &[(Kw::Description.name(), description)], rest].concat())
}

/// Whether a default says nothing, because there is no other value.
fn is_only_value(node: &Node<'_, '_>, default: &Json<'_>) -> bool {
    matches!(node.rules.values(), Some([only]) if only.same(default))
}

/// Puts keywords that the provider ignores behind those that it enforces; a second one of a kind is told in the description.
fn put_ignored<'d>(facts: &mut Facts<'d>, members: &mut Vec<Member<'d>>) {
    for (key, value) in std::mem::take(&mut facts.kept) {
        match Kw::of(key).filter(|_| members.iter().any(|(own, _)| *own == key)) {
            Some(kw) => _ = facts.add(kw, &value),
            None => members.push((key, value)),
        }
    }
}
