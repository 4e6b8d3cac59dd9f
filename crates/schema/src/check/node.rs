//! The rules that one node can break by itself.

use super::budget::LONG_ENUM;
use super::text::Blanks;
use super::well_formed::{Lenience, Misfit, fits, no_schema};
use super::{Checker, Depth, Spot, Stand, is_null};
use crate::dialect::{Caps, Demand, RuleRow};
use crate::json::{Json, Member};
use crate::keyword::{COUNT, Holds, Kw, KwSet, TABLE, root_definition};
use crate::pattern::{self, Features};
use crate::types::Types;

/// A node's keywords, found once.
pub(super) struct Seen<'j> {
    pub(super) members: &'j [Member<'j>],
    pub(super) keywords: KwSet,
    /// Whether a key is no keyword. One in `snake_case` is none either, but the reader takes it for one.
    unknown: bool,
    form: Form,
    /// The types that `type` names, where it is well formed.
    types: Option<Types>,
    /// At which member each of [`LOOKED_AT`] stands; past the end where it does not.
    at: [u32; LOOKED_AT.len()],
}

/// Whether every keyword holds what it may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Good,
    Bad,
}

/// The keywords that hold schemas.
const HOLDERS: KwSet = holders();

const fn holders() -> KwSet {
    let mut set = KwSet::NONE;
    let mut rest = TABLE;
    while let Some((row, after)) = rest.split_first() {
        if matches!(row.holds, Holds::Schema | Holds::SchemaList | Holds::SchemaMap | Holds::SchemaOrNamesMap) {
            set = set.with(row.kw);
        }
        rest = after;
    }
    set
}

/// Where in [`Seen`] the value of a keyword is kept; past the end for those nobody looks at.
const PLACES: [u8; COUNT] = {
    let mut places = [u8::MAX; COUNT];
    let mut place: u8 = 0;
    let mut rest: &[Kw] = &LOOKED_AT;
    while let Some((kw, after)) = rest.split_first() {
        #[expect(clippy::indexing_slicing, reason = "checked when the table is built, at compile time")]
        {
            places[*kw as usize] = place;
        }
        place += 1;
        rest = after;
    }
    places
};

fn place_of(kw: Kw) -> u8 {
    PLACES.get(kw as usize).copied().unwrap_or(u8::MAX)
}

/// The keywords whose values the rules look at.
const LOOKED_AT: [Kw; 16] = [
    Kw::Type,
    Kw::Properties,
    Kw::Required,
    Kw::AdditionalProperties,
    Kw::Items,
    Kw::Enum,
    Kw::Const,
    Kw::AnyOf,
    Kw::Ref,
    Kw::OpenRef,
    Kw::Format,
    Kw::Pattern,
    Kw::MinItems,
    Kw::MaxItems,
    Kw::Nullable,
    Kw::OneOf,
];

impl<'j> Seen<'j> {
    #[inline]
    pub(super) fn new(members: &'j [Member<'j>], lenience: Option<Lenience>, unheard: KwSet) -> Self {
        let mut seen = Self {
            members,
            keywords: KwSet::default(),
            unknown: false,
            form: Form::Good,
            types: None,
            at: [u32::MAX; LOOKED_AT.len()],
        };
        for (index, (key, value)) in (0..).zip(members) {
            let Some(kw) = Kw::of(key) else {
                seen.unknown = true;
                continue;
            };
            seen.keywords.insert(kw);
            if kw == Kw::Type {
                // Most nodes name one type, as everybody spells it.
                seen.types = value.as_str().and_then(Types::spelled);
            }
            let good = kw == Kw::Type && seen.types.is_some();
            if !good && lenience.is_some_and(|lenience| !fits(kw, value, lenience)) {
                seen.form = Form::Bad;
            }
            if let Some(at) = seen.at.get_mut(usize::from(place_of(kw))).filter(|_| !unheard.has(kw)) {
                *at = index;
            }
        }
        seen.types = seen.types.or_else(|| seen.get(Kw::Type).and_then(Types::stated));
        seen
    }

    pub(super) fn get(&self, kw: Kw) -> Option<&'j Json<'j>> {
        let at = *self.at.get(usize::from(place_of(kw)))?;
        self.members.get(at as usize).map(|(_, value)| value)
    }

    pub(super) fn subschemas(&self) -> impl Iterator<Item = (Kw, &'j Json<'j>)> + use<'j> {
        let any = !self.keywords.and(HOLDERS).is_empty();
        let members = if any { self.members } else { &[] };
        members.iter().filter_map(|(key, value)| Some((Kw::of(key).filter(|kw| HOLDERS.has(*kw))?, value)))
    }

    pub(super) fn properties(&self) -> &'j [Member<'j>] {
        self.get(Kw::Properties).and_then(Json::as_obj).unwrap_or_default()
    }

    /// Whether the node speaks of objects.
    pub(super) fn is_object(&self) -> bool {
        let declares = || matches!(self.get(Kw::Properties), Some(Json::Obj(_)));
        self.types.is_some_and(|types| types.has(Types::OBJECT)) || declares()
    }

    /// The names that are required.
    pub(super) fn required(&self) -> foldhash::HashSet<&'j str> {
        self.required_list().iter().filter_map(Json::as_str).collect()
    }

    fn required_list(&self) -> &'j [Json<'j>] {
        self.get(Kw::Required).and_then(Json::as_arr).unwrap_or_default()
    }

    pub(super) fn min_items(&self) -> u64 {
        self.get(Kw::MinItems).and_then(Json::as_count).unwrap_or(0)
    }

    /// Whether the node names one type of values without parts and annotates it: it holds nothing that is counted or referred to.
    fn is_plain(&self) -> bool {
        let scalar = self.types.is_some_and(|types| SCALARS.has(types));
        scalar
            && matches!(self.get(Kw::Type), Some(Json::Str(_)))
            && !self.unknown
            && self.form == Form::Good
            && self.keywords.without(PLAINEST).is_empty()
    }

    fn values(&self) -> impl Iterator<Item = &'j Json<'j>> + use<'j> {
        let listed = self.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default();
        listed.iter().chain(self.get(Kw::Const))
    }

    fn has_values(&self) -> bool {
        self.keywords.has(Kw::Enum) || self.keywords.has(Kw::Const)
    }

    fn nullable(&self) -> bool {
        self.get(Kw::Nullable).and_then(Json::as_bool) == Some(true)
    }
}

impl<'j> Checker<'_, 'j> {
    pub(super) fn judge(&mut self, seen: &Seen<'j>, spot: &Spot<'_>, stand: Stand) {
        if seen.is_plain() && !stand.root && seen.keywords.without(self.caps.accepted).is_empty() {
            debug_assert!(!self.breaks_a_rule(seen, stand), "a node that breaks a rule is taken for a plain one");
            return;
        }
        let members = seen.members;
        if seen.unknown && !self.told() && members.iter().any(|(key, _)| Kw::of_snake_case(key).is_some()) {
            // No rule is broken, but what the caller meant is not what the provider would read.
            self.found += 1;
        }
        if !seen.keywords.without(self.caps.accepted).is_empty() || (seen.unknown && !self.caps.unknown) {
            self.judge_keywords(members, spot);
        }
        self.totals.add(seen, self.caps, self.counting);
        if seen.reference().is_some() {
            self.links.add(seen, stand, self.way_by(spot));
        }
        if let Some(pattern) = seen.get(Kw::Pattern).and_then(Json::as_str) {
            let features = pattern::features_among(pattern, self.caps.pattern_refused);
            if !features.is_empty() {
                self.judge_pattern(pattern, features, spot, Kw::Pattern);
            }
        }
        if seen.keywords.has(Kw::PatternProperties) && self.caps.accepts(Kw::PatternProperties) {
            self.judge_pattern_keys(members, spot);
        }
        if let Some(lenience) = self.lenience_at(stand).filter(|_| seen.form == Form::Bad) {
            self.judge_form(members, spot, lenience);
        }
        let may_break = may_break(seen, stand, self);
        debug_assert!(
            may_break || !self.breaks_a_rule(seen, stand),
            "a node that breaks a rule is taken for a plain one"
        );
        if may_break {
            for row in self.rules {
                if !breaks(row, seen, stand, self) {
                    continue;
                }
                if !self.told() {
                    self.found += 1;
                    break;
                }
                let Named { key, kind, value, nth } = names_in(row, seen);
                let named = kind.map_or_else(|| "null".to_owned(), ToString::to_string);
                let count = if row.demand == Demand::MaxDepth {
                    stand.depth + 1
                } else {
                    super::budget::enum_chars(seen.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default())
                };
                let reference = seen.reference().unwrap_or_default();
                let blanks =
                    Blanks { key: &key, kind: &named, types: kind, value, count, nth, reference, ..Blanks::default() };
                self.violate(row, spot, &keyword_of(row, seen), &blanks);
                if self.done() {
                    break;
                }
            }
        }
    }

    /// What is taken of the form where a node stands.
    pub(super) fn lenience_at(&self, stand: Stand) -> Option<Lenience> {
        let [root, below] = self.lenience;
        if stand.root { root } else { below }
    }

    fn breaks_a_rule(&self, seen: &Seen<'j>, stand: Stand) -> bool {
        self.rules.iter().any(|row| breaks(row, seen, stand, self))
    }

    /// A schema that is no object.
    pub(super) fn judge_other(&mut self, json: &'j Json<'j>, spot: &Spot<'_>, stand: Stand) {
        let boolean = matches!(json, Json::Bool(_));
        if !boolean && !self.told() {
            // Whatever the rules say, it is no schema.
            self.found += 1;
        }
        if boolean && stand.under == Some(Kw::AdditionalProperties) {
            return;
        }
        for row in self.rows(Demand::SchemaObject) {
            let allowed = stand.under.is_some_and(|kw| row.allow.iter().any(|name| name == kw.name()));
            if boolean && !allowed {
                self.violate(
                    row,
                    spot,
                    stand.under.map_or("", Kw::name),
                    &Blanks { value: Some(json), ..Blanks::default() },
                );
            }
        }
        if !boolean {
            let wrong = no_schema(json);
            for row in self.rows_about(Misfit::Schema) {
                let blanks = Blanks { value: Some(json), wrong: &wrong, ..Blanks::default() };
                self.violate(row, spot, stand.under.map_or("", Kw::name), &blanks);
            }
        }
        for row in self.rows(Demand::RootObject).filter(|_| stand.root) {
            self.violate(row, spot, Kw::Type.name(), &Blanks { kind: "null", ..Blanks::default() });
        }
    }

    fn judge_keywords(&mut self, members: &[Member<'_>], spot: &Spot<'_>) {
        for (key, value) in members {
            let row = match Kw::of(key) {
                Some(kw) => self
                    .dialect
                    .refusal(kw, self.slot)
                    .filter(|row| row.up_to.is_none_or(|limit| value.as_count().is_none_or(|count| count > limit))),
                None => self.dialect.refusal_of_unknown(self.slot),
            };
            if let Some(row) = row {
                let kind =
                    members.iter().find(|(own, _)| *own == Kw::Type.name()).and_then(|(_, kind)| first_type(kind));
                self.refuse(row, spot, key, value, kind.unwrap_or_default());
            }
        }
    }

    /// The keys of `patternProperties` are patterns too.
    fn judge_pattern_keys(&mut self, members: &[Member<'_>], spot: &Spot<'_>) {
        let maps = members.iter().filter(|(key, _)| Kw::of(key) == Some(Kw::PatternProperties));
        for (pattern, _) in maps.filter_map(|(_, map)| map.as_obj()).flatten() {
            let features = pattern::features_among(pattern, self.caps.key_refused);
            if !features.is_empty() {
                self.judge_pattern(pattern, features, spot, Kw::PatternProperties);
            }
        }
    }

    fn judge_pattern(&mut self, text: &str, features: Features, spot: &Spot<'_>, kw: Kw) {
        for row in self.rows(Demand::Patterns) {
            let broken =
                row.refuse.iter().filter_map(|name| pattern::Feature::named(name)).find(|own| features.has(*own));
            if let Some(feature) = broken {
                let value = Json::Str(text);
                let blanks = Blanks { kind: feature.name(), value: Some(&value), ..Blanks::default() };
                if kw == Kw::PatternProperties {
                    self.violate(row, &spot.kw(kw).word(text), kw.name(), &blanks);
                } else {
                    self.violate_in(row, spot, kw.name(), &blanks);
                }
            }
        }
    }
}

/// The type that a keyword is said to be of: the first one but `null`.
fn first_type<'j>(kind: &Json<'j>) -> Option<&'j str> {
    let mut listed = kind.as_arr().unwrap_or_default().iter().filter_map(Json::as_str);
    kind.as_str().or_else(|| listed.find(|name| *name != "null"))
}

/// Whether a node may break a rule. Most nodes are plain: a scalar type, a list of strings, an array with items, an object with
/// properties, a union or a reference with nothing beside it. They are recognised here, so that the rows are asked about the others only.
fn may_break(seen: &Seen<'_>, stand: Stand, checker: &Checker<'_, '_>) -> bool {
    let caps = checker.caps;
    let only = |set: KwSet| seen.keywords.without(set).is_empty();
    if stand.root || stand.under.is_none() {
        return true;
    }
    if let Some(Json::Str(_)) = seen.get(Kw::Type) {
        let types = seen.types;
        if only(PLAIN) && types.is_some_and(|types| SCALARS.has(types)) {
            let taken = |format: &Json<'_>| {
                let fits = |format: &str| Types::of_format(format).has(types.unwrap_or(Types::NONE));
                let listed = |formats: &Vec<String>| {
                    format.as_str() != Some("enum") && formats.iter().any(|own| format.as_str() == Some(own))
                };
                caps.formats.as_ref().is_none_or(listed)
                    && (caps.formats.is_none() || format.as_str().is_some_and(fits))
            };
            return !seen.get(Kw::Format).is_none_or(taken);
        }
        if only(PLAIN.with(Kw::Enum)) && types == Some(Types::STRING) && !seen.keywords.has(Kw::Format) {
            let values = seen.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default();
            let plain = |value: &Json<'_>| value.as_str().is_some_and(|text| !text.is_empty());
            return !(1..=LONG_ENUM).contains(&values.len()) || !values.iter().all(plain);
        }
        if types == Some(Types::ARRAY) && only(LIST) && seen.keywords.has(Kw::Items) {
            return seen.keywords.has(Kw::MaxItems) && caps.must(Demand::ObjectListsUnbounded);
        }
        if types == Some(Types::OBJECT) && only(RECORD) && !seen.properties().is_empty() {
            let shut = seen.get(Kw::AdditionalProperties).and_then(Json::as_bool) == Some(false);
            let unsaid = !shut && (caps.must(Demand::Closed) || caps.must(Demand::SaysOpen));
            let deep = caps.limit(Demand::MaxDepth).is_some_and(|limit| stand.depth >= limit);
            let others =
                caps.must(Demand::OthersTyped) && matches!(seen.get(Kw::AdditionalProperties), Some(Json::Obj(_)));
            return unsaid || deep || others || caps.must(Demand::Keys) || may_break_required(seen, caps);
        }
        let formatted = seen.keywords.has(Kw::Format);
        return types != Some(Types::NULL) || caps.must(Demand::NoNull) || formatted || !only(PLAIN);
    }
    if seen.keywords.has(Kw::AnyOf) {
        let beside = only(KwSet::NONE.with(Kw::AnyOf).with(Kw::Description)) && caps.beside_union.has(Kw::Description);
        let typed = !caps.must(Demand::Typed) || caps.typed_by.has(Kw::AnyOf);
        return !beside || !typed || caps.must(Demand::UnionTyped) || caps.must(Demand::OneEnum);
    }
    if only(KwSet::NONE.with(Kw::Ref)) {
        let typed = !caps.must(Demand::Typed) || caps.typed_by.has(Kw::Ref);
        return !typed || !seen.reference().is_some_and(|reference| checker.links.defines(reference));
    }
    true
}

fn may_break_required(seen: &Seen<'_>, caps: &Caps) -> bool {
    let (all, known) = (caps.must(Demand::AllRequired), caps.must(Demand::RequiredKnown));
    (all || known)
        && !run_in_step(seen.properties(), seen.required_list())
        && ((all && missing_required(seen).is_some()) || (known && unknown_required(seen).is_some()))
}

/// Keywords that break no rule by standing on a node of one scalar type.
const PLAIN: KwSet = PLAINEST.with(Kw::Format).with(Kw::Pattern);

/// Those of them that break none whatever they hold.
const PLAINEST: KwSet = KwSet::NONE.with(Kw::Type).with(Kw::Title).with(Kw::Description).with(Kw::Default);

/// Keywords that break no rule by standing on an array that has items.
const LIST: KwSet = KwSet::NONE
    .with(Kw::Type)
    .with(Kw::Title)
    .with(Kw::Description)
    .with(Kw::Items)
    .with(Kw::MinItems)
    .with(Kw::MaxItems);

/// Keywords that break no rule by standing on an object that has properties, if they hold what they should.
const RECORD: KwSet = KwSet::NONE
    .with(Kw::Type)
    .with(Kw::Title)
    .with(Kw::Description)
    .with(Kw::Properties)
    .with(Kw::Required)
    .with(Kw::AdditionalProperties);

/// The types whose values have no parts, `null` left out.
const SCALARS: Types = Types::STRING.or(Types::NUMBER).or(Types::BOOLEAN);

/// Whether a node breaks a rule.
#[expect(clippy::too_many_lines, reason = "one arm for each demand reads better than a split")]
fn breaks(row: &RuleRow, seen: &Seen<'_>, stand: Stand, checker: &Checker<'_, '_>) -> bool {
    let has = |kw| seen.keywords.has(kw);
    match row.demand {
        Demand::RootObject => {
            stand.root && seen.get(Kw::Type).and_then(Json::as_str).and_then(Types::named) != Some(Types::OBJECT)
        }
        Demand::RootPlain => stand.root && !seen.keywords.and(row.refused).is_empty(),
        Demand::RootKeys | Demand::Keys => {
            let keys = if row.demand == Demand::Keys { &checker.caps.keys } else { &checker.caps.root_keys };
            let here = stand.root || row.demand == Demand::Keys;
            let mut own = keys.iter().filter(|(code, _)| *code == row.code);
            here && own.any(|(_, keys)| seen.properties().iter().any(|(key, _)| !keys.is_match(key)))
        }
        Demand::Closed => {
            let extra = seen.get(Kw::AdditionalProperties);
            let of_a_kind = matches!(extra, Some(Json::Obj(_)));
            let spoken_of = |names: &[String]| names.iter().any(|name| name == "schema");
            let told_apart = if of_a_kind { spoken_of(&row.allow) } else { spoken_of(&row.refuse) };
            seen.is_object() && extra.and_then(Json::as_bool) != Some(false) && !told_apart
        }
        Demand::SaysOpen => seen.is_object() && !has(Kw::AdditionalProperties) && !has(Kw::UnevaluatedProperties),
        Demand::AllRequired => missing_required(seen).is_some(),
        Demand::HasProperties => {
            seen.types.is_some_and(|types| types.has(Types::OBJECT))
                && !matches!(seen.get(Kw::Properties), Some(Json::Obj(_)))
        }
        Demand::RequiredNotEmpty => has(Kw::Required) && seen.required_list().is_empty(),
        Demand::RequiredKnown => unknown_required(seen).is_some(),
        Demand::Typed => !has(Kw::Type) && seen.keywords.and(row.allowed).is_empty(),
        Demand::OthersTyped => {
            let typed = |(key, _): &Member<'_>| *key == Kw::Type.name() || row.allow.iter().any(|name| name == key);
            let others = seen.get(Kw::AdditionalProperties).and_then(Json::as_obj);
            others.is_some_and(|members| !members.iter().any(typed))
        }
        Demand::HasItems => seen.types.is_some_and(|types| types.has(Types::ARRAY)) && !has(Kw::Items),
        Demand::NotFreeForm => {
            let shut = seen.get(Kw::AdditionalProperties).and_then(Json::as_bool) == Some(false);
            !stand.root && seen.types == Some(Types::OBJECT) && seen.properties().is_empty() && !shut
        }
        Demand::ObjectListsUnbounded => {
            let items = seen.get(Kw::Items).filter(|_| has(Kw::MaxItems));
            items.is_some_and(|items| takes_objects(items, &|reference| checker.links.target(reference)))
        }
        Demand::OneType => matches!(seen.get(Kw::Type), Some(Json::Arr(_))),
        Demand::NoNull => {
            seen.types.is_some_and(|types| types.has(Types::NULL))
                || (seen.nullable() && row.refuse.iter().any(|name| name == Kw::Nullable.name()))
        }
        Demand::OwnKeywords => foreign_keyword(row, seen).is_some(),
        Demand::EnumTyped => {
            let one = seen.get(Kw::Type).and_then(Json::as_str).and_then(Types::named);
            seen.has_values() && one.is_none_or(|types| seen.values().any(|value| !types.meets(Types::of(value))))
        }
        Demand::EnumFits => {
            let list =
                matches!(seen.get(Kw::Type), Some(Json::Arr(_))) && row.refuse.iter().any(|name| name == "type-list");
            let exempt = |types: Types| types.name().is_some_and(|own| row.allow.iter().any(|name| name == own));
            seen.has_values()
                && !seen.types.is_some_and(exempt)
                && (list
                    || seen.types.is_some_and(|types| {
                        seen.values()
                            .any(|value| !types.meets(Types::of(value)) && (!seen.nullable() || *value != Json::Null))
                    }))
        }
        Demand::EnumStrings => seen.values().any(|value| value.as_str().is_none()),
        // Nothing is given up for it.
        Demand::OneEnum => checker.depth != Depth::One && splits_an_enum(seen),
        Demand::EnumNotBlank => seen.values().any(|value| value.as_str() == Some("")),
        Demand::EnumScalars => seen.values().any(|value| matches!(value, Json::Arr(_) | Json::Obj(_))),
        Demand::EnumOneType => {
            let mut kinds = seen.values().map(|value| kind_of(value));
            kinds.next().is_some_and(|first| kinds.any(|kind| kind != first))
        }
        Demand::EnumNotEmpty => seen.get(Kw::Enum).and_then(Json::as_arr).is_some_and(<[_]>::is_empty),
        Demand::UnionAlone => {
            has(Kw::AnyOf) && !seen.keywords.without(row.allowed).without(KwSet::default().with(Kw::AnyOf)).is_empty()
        }
        Demand::UnionTyped => {
            let branches = seen.get(Kw::AnyOf).or(seen.get(Kw::OneOf)).and_then(Json::as_arr).unwrap_or_default();
            branches.iter().any(|branch| {
                let typed = |key: &str| key == Kw::Type.name() || row.allow.iter().any(|name| name == key);
                branch.as_obj().is_some_and(|members| !members.iter().any(|(key, _)| typed(key)))
            })
        }
        Demand::RefAlone => {
            let open = !has(Kw::Ref) && seen.get(Kw::OpenRef).is_some();
            let reference = if open { Kw::OpenRef } else { Kw::Ref };
            let beside = seen.keywords.without(row.allowed).without(KwSet::default().with(reference));
            has(reference) && !beside.is_empty()
        }
        Demand::RefToDefs => seen.reference().is_some_and(|reference| !points_to_definition(reference, &row.allow)),
        Demand::RefResolves => seen.reference().is_some_and(|reference| !checker.links.resolves(reference)),
        Demand::Formats => seen.get(Kw::Format).and_then(Json::as_str).is_some_and(|format| {
            let foreign = seen.types.is_some_and(|types| !Types::of_format(format).has(types.without(Types::NULL)));
            // A format that says that there is an enum.
            let unlisted = format == "enum" && seen.get(Kw::Enum).and_then(Json::as_arr).is_none_or(<[_]>::is_empty);
            foreign || unlisted || !row.allow.iter().any(|own| own == format)
        }),
        Demand::MaxEnumChars => {
            let values = seen.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default();
            values.len() > LONG_ENUM && super::budget::enum_chars(values) > row.limit.unwrap_or(u64::MAX)
        }
        Demand::MaxDepth => {
            stand.depth + u64::from(seen.is_object()) == row.limit.unwrap_or(u64::MAX) + 1 && seen.is_object()
        }
        Demand::SchemaObject
        | Demand::Patterns
        | Demand::WellFormed
        | Demand::NoCycle
        | Demand::CycleOptional
        | Demand::DefsUsed
        | Demand::MaxProperties
        | Demand::MaxEnumValues
        | Demand::MaxNameChars
        | Demand::MaxOptionals
        | Demand::MaxUnions
        | Demand::MaxChars
        | Demand::MaxItemsSum
        | Demand::SchemaNotText
        | Demand::HasSchema
        | Demand::OneSchema
        | Demand::HasTools
        | Demand::OutputName
        | Demand::ToolName
        | Demand::UniqueNames
        | Demand::MaxDescription
        | Demand::DescriptionNotEmpty
        | Demand::MaxTools
        | Demand::MaxStrictTools
        | Demand::UniformStrict
        | Demand::RequestOptionals
        | Demand::RequestUnions
        | Demand::RequestChars => false,
    }
}

impl<'j> Seen<'j> {
    pub(super) fn reference(&self) -> Option<&'j str> {
        self.get(Kw::Ref).or(self.get(Kw::OpenRef)).and_then(Json::as_str)
    }
}

/// Whether a reference points at a definition at the root, or at a place that the row allows.
fn points_to_definition(reference: &str, allowed: &[String]) -> bool {
    root_definition(reference).is_some() || allowed.iter().any(|own| own == reference)
}

/// Whether a schema takes objects: by its type, in a branch of a union, or behind a reference.
pub(crate) fn takes_objects<'j>(json: &'j Json<'j>, target: &dyn Fn(&str) -> Option<&'j Json<'j>>) -> bool {
    let mut open = vec![json];
    // Unions and references may lead to each other for ever.
    for _ in 0..MOST_LOOKED_AT {
        let Some(json) = open.pop() else { break };
        if json.get(Kw::Type.name()).and_then(Types::stated).is_some_and(|types| types.meets(Types::OBJECT)) {
            return true;
        }
        open.extend([Kw::AnyOf, Kw::OneOf].iter().filter_map(|kw| json.get(kw.name())?.as_arr()).flatten());
        open.extend([Kw::Ref, Kw::OpenRef].iter().filter_map(|kw| target(json.get(kw.name())?.as_str()?)));
    }
    false
}

/// Whether the branches of a union, but for `null`, list one value each, and two of them are of one type.
fn splits_an_enum(seen: &Seen<'_>) -> bool {
    let branches = seen.get(Kw::AnyOf).or(seen.get(Kw::OneOf)).and_then(Json::as_arr).unwrap_or_default();
    let mut kinds = Vec::new();
    for branch in branches.iter().filter(|branch| !is_null(branch)) {
        let listed = match branch.get(Kw::Enum.name()).and_then(Json::as_arr) {
            Some([value]) => Some(value),
            Some(_) => None,
            None => branch.get(Kw::Const.name()),
        };
        let Some(value) = listed else { return false };
        kinds.push(kind_of(value));
    }
    kinds.sort_unstable();
    kinds.array_windows().any(|[one, other]| one == other)
}

/// How many schemas are looked at to find what one takes.
const MOST_LOOKED_AT: usize = 64;

fn kind_of(value: &Json<'_>) -> &'static str {
    let types = Types::of(value);
    if types.meets(Types::NUMBER) { "number" } else { types.name().unwrap_or_default() }
}

fn missing_required<'j>(seen: &Seen<'j>) -> Option<&'j str> {
    let properties = seen.properties();
    let required = seen.required_list();
    if run_in_step(properties, required) {
        return None;
    }
    let names: foldhash::HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    properties.iter().map(|(key, _)| key.as_ref()).find(|key| !names.contains(key))
}

/// Whether just the properties are required, in their order: so a schema is written that means to require all.
pub(super) fn run_in_step(properties: &[Member<'_>], required: &[Json<'_>]) -> bool {
    let same = |((key, _), name): (&Member<'_>, &Json<'_>)| name.as_str() == Some(key);
    properties.len() == required.len() && properties.iter().zip(required).all(same)
}

fn unknown_required<'j>(seen: &Seen<'j>) -> Option<&'j str> {
    let required = seen.required_list();
    if required.is_empty() {
        return None;
    }
    let properties = seen.properties();
    if run_in_step(properties, required) {
        return None;
    }
    if properties.len() < 16 {
        return required.iter().filter_map(Json::as_str).find(|name| !properties.iter().any(|(key, _)| key == name));
    }
    let keys: foldhash::HashSet<&str> = properties.iter().map(|(key, _)| key.as_ref()).collect();
    required.iter().filter_map(Json::as_str).find(|name| !keys.contains(name))
}

fn foreign_keyword(row: &RuleRow, seen: &Seen<'_>) -> Option<Kw> {
    let types = seen.types.unwrap_or(Types::NONE);
    let own = |kw: &Kw| {
        // An enum belongs to strings where the rule names it.
        let speaks_of = if *kw == Kw::Enum { Types::STRING } else { kw.row().speaks_of };
        speaks_of.meets(types)
    };
    row.refuse.iter().filter_map(|name| Kw::of(name)).filter(|kw| seen.keywords.has(*kw)).find(|kw| !own(kw))
}

/// The keyword that a broken demand is about.
fn keyword_of(row: &RuleRow, seen: &Seen<'_>) -> String {
    /// Demands that are always about the same keyword.
    const ABOUT: &[(Demand, Kw)] = &[
        (Demand::RootObject, Kw::Type),
        (Demand::Typed, Kw::Type),
        (Demand::OneType, Kw::Type),
        (Demand::NoNull, Kw::Type),
        (Demand::RootKeys, Kw::Properties),
        (Demand::Keys, Kw::Properties),
        (Demand::HasProperties, Kw::Properties),
        (Demand::NotFreeForm, Kw::Properties),
        (Demand::MaxDepth, Kw::Properties),
        (Demand::ObjectListsUnbounded, Kw::MaxItems),
        (Demand::Closed, Kw::AdditionalProperties),
        (Demand::OthersTyped, Kw::AdditionalProperties),
        (Demand::SaysOpen, Kw::AdditionalProperties),
        (Demand::AllRequired, Kw::Required),
        (Demand::RequiredKnown, Kw::Required),
        (Demand::RequiredNotEmpty, Kw::Required),
        (Demand::HasItems, Kw::Items),
        (Demand::Formats, Kw::Format),
        (Demand::UnionAlone, Kw::AnyOf),
        (Demand::OneEnum, Kw::AnyOf),
        (Demand::UnionTyped, Kw::AnyOf),
        (Demand::RefAlone, Kw::Ref),
        (Demand::RefToDefs, Kw::Ref),
        (Demand::RefResolves, Kw::Ref),
    ];
    let kw = if let Some((_, kw)) = ABOUT.iter().find(|(demand, _)| *demand == row.demand) {
        *kw
    } else if row.demand == Demand::RootPlain {
        let root = [Kw::OneOf, Kw::AnyOf, Kw::AllOf, Kw::Enum, Kw::Not, Kw::Const, Kw::Ref, Kw::If];
        root.into_iter().find(|kw| seen.keywords.has(*kw)).unwrap_or(Kw::Type)
    } else if row.demand == Demand::OwnKeywords {
        foreign_keyword(row, seen).unwrap_or(Kw::Type)
    } else if seen.keywords.has(Kw::Enum) {
        Kw::Enum
    } else {
        Kw::Const
    };
    kw.name().to_owned()
}

/// What a broken demand's text may name.
struct Named<'j> {
    key: String,
    kind: Option<&'j Json<'j>>,
    value: Option<&'j Json<'j>>,
    /// Which of the values or required names it is.
    nth: usize,
}

fn names_in<'j>(row: &RuleRow, seen: &Seen<'j>) -> Named<'j> {
    let kind = seen.get(Kw::Type);
    let beside = |own: Kw| {
        let allowed = |key: &str| key == own.name() || row.allow.iter().any(|name| name == key);
        seen.members.iter().map(|(key, _)| key.as_ref()).find(|key| !allowed(key))
    };
    let unknown = if row.demand == Demand::RequiredKnown { unknown_required(seen) } else { None };
    let key = if row.demand == Demand::AllRequired {
        missing_required(seen)
    } else if row.demand == Demand::Formats {
        seen.get(Kw::Format).and_then(Json::as_str)
    } else if matches!(row.demand, Demand::RefToDefs | Demand::RefResolves) {
        seen.reference()
    } else if row.demand == Demand::RefAlone {
        beside(Kw::Ref)
    } else if row.demand == Demand::UnionAlone {
        beside(Kw::AnyOf)
    } else {
        unknown
    };
    let types = seen.types.unwrap_or(Types::NONE);
    let offends = |value: &Json<'_>| {
        if row.demand == Demand::EnumStrings {
            value.as_str().is_none()
        } else if row.demand == Demand::EnumNotBlank {
            value.as_str() == Some("")
        } else {
            !types.meets(Types::of(value))
        }
    };
    let offending = seen.values().enumerate().find(|(_, value)| offends(value));
    let (mut nth, value) = offending.map_or((0, seen.values().next()), |(nth, value)| (nth, Some(value)));
    if let Some(name) = unknown {
        let required = seen.required_list();
        nth = required.iter().position(|own| own.as_str() == Some(name)).unwrap_or(0);
    }
    Named { key: key.unwrap_or_default().to_owned(), kind, value, nth }
}

#[cfg(test)]
mod tests {
    use super::{LOOKED_AT, TABLE};

    #[test]
    fn what_the_rules_look_at_is_in_the_table() {
        assert!(LOOKED_AT.iter().all(|kw| TABLE.iter().any(|row| row.kw == *kw)));
    }
}
