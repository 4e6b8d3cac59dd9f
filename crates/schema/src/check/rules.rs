//! The rules about a single node.

use super::messages::Placeholders;
use super::totals::LONG_ENUM;
use super::well_formed::{Leniency, MalformedValue, is_well_formed, not_a_schema_error};
use super::{CheckMode, Checker, NodeContext, SchemaPath, is_null};
use crate::dialect::{Capabilities, Demand, RuleRow};
use crate::json::{Json, Member};
use crate::keyword::{COUNT, KeywordValue, Kw, KwSet, TABLE, root_definition};
use crate::pattern::{self, Features};
use crate::types::Types;

/// The keywords of a node, indexed once.
pub(super) struct NodeKeywords<'j> {
    pub(super) members: &'j [Member<'j>],
    pub(super) keywords: KwSet,
    /// True where a key is no keyword; keys in `snake_case` count, though the reader accepts them.
    unknown: bool,
    well_formed: WellFormed,
    /// The types that `type` names, where it is well formed.
    types: Option<Types>,
    /// The member of each of [`INDEXED_KEYWORDS`]; past the end where it is missing.
    at: [u32; INDEXED_KEYWORDS.len()],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WellFormed {
    Yes,
    No,
}

/// The keywords that hold schemas.
const SUBSCHEMA_KEYWORDS: KwSet = subschema_keywords();

const fn subschema_keywords() -> KwSet {
    let mut set = KwSet::NONE;
    let mut rest = TABLE;
    while let Some((row, after)) = rest.split_first() {
        if matches!(
            row.holds,
            KeywordValue::Schema | KeywordValue::SchemaList | KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap
        ) {
            set = set.with(row.kw);
        }
        rest = after;
    }
    set
}

/// The slot of a keyword in [`NodeKeywords`]; past the end for those that are not indexed.
const KEYWORD_SLOTS: [u8; COUNT] = {
    let mut places = [u8::MAX; COUNT];
    let mut place: u8 = 0;
    let mut rest: &[Kw] = &INDEXED_KEYWORDS;
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

fn keyword_slot(kw: Kw) -> u8 {
    KEYWORD_SLOTS.get(kw as usize).copied().unwrap_or(u8::MAX)
}

/// The keywords whose values rules read.
const INDEXED_KEYWORDS: [Kw; 16] = [
    Kw::Type,
    Kw::Properties,
    Kw::Required,
    Kw::AdditionalProperties,
    Kw::Items,
    Kw::Enum,
    Kw::Const,
    Kw::AnyOf,
    Kw::Ref,
    Kw::BareRef,
    Kw::Format,
    Kw::Pattern,
    Kw::MinItems,
    Kw::MaxItems,
    Kw::Nullable,
    Kw::OneOf,
];

impl<'j> NodeKeywords<'j> {
    #[inline]
    pub(super) fn new(members: &'j [Member<'j>], leniency: Option<Leniency>, ignored_references: KwSet) -> Self {
        let mut node = Self {
            members,
            keywords: KwSet::default(),
            unknown: false,
            well_formed: WellFormed::Yes,
            types: None,
            at: [u32::MAX; INDEXED_KEYWORDS.len()],
        };
        for (index, (key, value)) in (0..).zip(members) {
            let Some(kw) = Kw::of(key) else {
                node.unknown = true;
                continue;
            };
            node.keywords.insert(kw);
            if kw == Kw::Type {
                // Most nodes name one type, as everybody spells it.
                node.types = value.as_str().and_then(Types::spelled);
            }
            let good = kw == Kw::Type && node.types.is_some();
            if !good && leniency.is_some_and(|leniency| !is_well_formed(kw, value, leniency)) {
                node.well_formed = WellFormed::No;
            }
            if let Some(at) = node.at.get_mut(usize::from(keyword_slot(kw))).filter(|_| !ignored_references.has(kw)) {
                *at = index;
            }
        }
        node.types = node.types.or_else(|| node.get(Kw::Type).and_then(Types::stated));
        node
    }

    pub(super) fn get(&self, kw: Kw) -> Option<&'j Json<'j>> {
        let at = *self.at.get(usize::from(keyword_slot(kw)))?;
        self.members.get(at as usize).map(|(_, value)| value)
    }

    pub(super) fn subschemas(&self) -> impl Iterator<Item = (Kw, &'j Json<'j>)> + use<'j> {
        let any = !self.keywords.and(SUBSCHEMA_KEYWORDS).is_empty();
        let members = if any { self.members } else { &[] };
        members.iter().filter_map(|(key, value)| Some((Kw::of(key).filter(|kw| SUBSCHEMA_KEYWORDS.has(*kw))?, value)))
    }

    pub(super) fn properties(&self) -> &'j [Member<'j>] {
        self.get(Kw::Properties).and_then(Json::as_obj).unwrap_or_default()
    }

    pub(super) fn is_object(&self) -> bool {
        let declares = || matches!(self.get(Kw::Properties), Some(Json::Obj(_)));
        self.types.is_some_and(|types| types.has(Types::OBJECT)) || declares()
    }

    pub(super) fn required(&self) -> foldhash::HashSet<&'j str> {
        self.required_list().iter().filter_map(Json::as_str).collect()
    }

    fn required_list(&self) -> &'j [Json<'j>] {
        self.get(Kw::Required).and_then(Json::as_arr).unwrap_or_default()
    }

    pub(super) fn min_items(&self) -> u64 {
        self.get(Kw::MinItems).and_then(Json::as_count).unwrap_or(0)
    }

    /// True of an annotated scalar type, which no budget counts.
    fn is_plain(&self) -> bool {
        let scalar = self.types.is_some_and(|types| SCALARS.has(types));
        scalar
            && matches!(self.get(Kw::Type), Some(Json::Str(_)))
            && !self.unknown
            && self.well_formed == WellFormed::Yes
            && self.keywords.without(ANNOTATED_TYPE_KEYWORDS).is_empty()
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
    pub(super) fn check_node(&mut self, node: &NodeKeywords<'j>, path: &SchemaPath<'_>, context: NodeContext) {
        if node.is_plain() && !context.root && node.keywords.without(self.caps.accepted).is_empty() {
            debug_assert!(!self.violates_any_rule(node, context), "a node that breaks a rule is taken for a plain one");
            return;
        }
        let members = node.members;
        if node.unknown && !self.needs_messages() && members.iter().any(|(key, _)| Kw::of_snake_case(key).is_some()) {
            // No rule is broken, but what the caller meant is not what the provider would read.
            self.found += 1;
        }
        if !node.keywords.without(self.caps.accepted).is_empty() || (node.unknown && !self.caps.unknown) {
            self.check_keywords(members, path);
        }
        self.totals.add(node, self.caps, self.counting);
        if node.reference().is_some() {
            self.references.add(node, context, self.find_cycle_breaker(path));
        }
        if let Some(pattern) = node.get(Kw::Pattern).and_then(Json::as_str) {
            let features = pattern::features_among(pattern, self.caps.pattern_refused);
            if !features.is_empty() {
                self.check_pattern(pattern, features, path, Kw::Pattern);
            }
        }
        if node.keywords.has(Kw::PatternProperties) && self.caps.accepts(Kw::PatternProperties) {
            self.check_pattern_keys(members, path);
        }
        if let Some(leniency) = self.leniency_at(context).filter(|_| node.well_formed == WellFormed::No) {
            self.check_well_formed(members, path, leniency);
        }
        let needs_rules = needs_rules(node, context, self);
        debug_assert!(
            needs_rules || !self.violates_any_rule(node, context),
            "a node that breaks a rule is taken for a plain one"
        );
        if needs_rules {
            for row in self.rules {
                if !violates(row, node, context, self) {
                    continue;
                }
                if !self.needs_messages() {
                    self.found += 1;
                    break;
                }
                let Offender { key, kind, value, nth } = find_offender(row, node);
                let named = kind.map_or_else(|| "null".to_owned(), ToString::to_string);
                let count = if row.demand == Demand::MaxDepth {
                    context.depth + 1
                } else {
                    super::totals::enum_chars(node.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default())
                };
                let reference = node.reference().unwrap_or_default();
                let placeholders = Placeholders {
                    key: &key,
                    kind: &named,
                    types: kind,
                    value,
                    count,
                    nth,
                    reference,
                    ..Placeholders::default()
                };
                self.report_rule(row, path, &violated_keyword(row, node), &placeholders);
                if self.is_done() {
                    break;
                }
            }
        }
    }

    pub(super) fn leniency_at(&self, context: NodeContext) -> Option<Leniency> {
        let [root, below] = self.leniency;
        if context.root { root } else { below }
    }

    fn violates_any_rule(&self, node: &NodeKeywords<'j>, context: NodeContext) -> bool {
        self.rules.iter().any(|row| violates(row, node, context, self))
    }

    pub(super) fn check_non_object(&mut self, json: &'j Json<'j>, path: &SchemaPath<'_>, context: NodeContext) {
        let boolean = matches!(json, Json::Bool(_));
        if !boolean && !self.needs_messages() {
            // Whatever the rules say, it is no schema.
            self.found += 1;
        }
        if boolean && context.under == Some(Kw::AdditionalProperties) {
            return;
        }
        for row in self.rows(Demand::SchemaObject) {
            let allowed = context.under.is_some_and(|kw| row.allow.iter().any(|name| name == kw.name()));
            if boolean && !allowed {
                self.report_rule(
                    row,
                    path,
                    context.under.map_or("", Kw::name),
                    &Placeholders { value: Some(json), ..Placeholders::default() },
                );
            }
        }
        if !boolean {
            let validator_message = not_a_schema_error(json);
            for row in self.rows_for_malformed(MalformedValue::Schema) {
                let placeholders = Placeholders {
                    value: Some(json),
                    validator_message: &validator_message,
                    ..Placeholders::default()
                };
                self.report_rule(row, path, context.under.map_or("", Kw::name), &placeholders);
            }
        }
        for row in self.rows(Demand::RootObject).filter(|_| context.root) {
            self.report_rule(row, path, Kw::Type.name(), &Placeholders { kind: "null", ..Placeholders::default() });
        }
    }

    fn check_keywords(&mut self, members: &[Member<'_>], path: &SchemaPath<'_>) {
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
                self.report_keyword(row, path, key, value, kind.unwrap_or_default());
            }
        }
    }

    /// The keys of `patternProperties` are patterns too.
    fn check_pattern_keys(&mut self, members: &[Member<'_>], path: &SchemaPath<'_>) {
        let maps = members.iter().filter(|(key, _)| Kw::of(key) == Some(Kw::PatternProperties));
        for (pattern, _) in maps.filter_map(|(_, map)| map.as_obj()).flatten() {
            let features = pattern::features_among(pattern, self.caps.key_refused);
            if !features.is_empty() {
                self.check_pattern(pattern, features, path, Kw::PatternProperties);
            }
        }
    }

    fn check_pattern(&mut self, text: &str, features: Features, path: &SchemaPath<'_>, kw: Kw) {
        for row in self.rows(Demand::Patterns) {
            let broken =
                row.refuse.iter().filter_map(|name| pattern::Feature::named(name)).find(|own| features.has(*own));
            if let Some(feature) = broken {
                let value = Json::Str(text);
                let placeholders =
                    Placeholders { kind: feature.name(), value: Some(&value), ..Placeholders::default() };
                if kw == Kw::PatternProperties {
                    self.report_rule(row, &path.kw(kw).word(text), kw.name(), &placeholders);
                } else {
                    self.report_rule_in_keyword(row, path, kw.name(), &placeholders);
                }
            }
        }
    }
}

/// The type that messages name: the first one but `null`.
fn first_type<'j>(kind: &Json<'j>) -> Option<&'j str> {
    let mut listed = kind.as_arr().unwrap_or_default().iter().filter_map(Json::as_str);
    kind.as_str().or_else(|| listed.find(|name| *name != "null"))
}

/// False of nodes that violate no rule for sure. Most nodes are plain: a scalar type, an enum of strings, an array with items,
/// an object with properties, a union or a reference alone. Rules are evaluated for the others only.
fn needs_rules(node: &NodeKeywords<'_>, context: NodeContext, checker: &Checker<'_, '_>) -> bool {
    let caps = checker.caps;
    let only = |set: KwSet| node.keywords.without(set).is_empty();
    if context.root || context.under.is_none() {
        return true;
    }
    if let Some(Json::Str(_)) = node.get(Kw::Type) {
        let types = node.types;
        if only(SCALAR_KEYWORDS) && types.is_some_and(|types| SCALARS.has(types)) {
            let taken = |format: &Json<'_>| {
                let fits = |format: &str| Types::of_format(format).has(types.unwrap_or(Types::NONE));
                let listed = |formats: &Vec<String>| {
                    format.as_str() != Some("enum") && formats.iter().any(|own| format.as_str() == Some(own))
                };
                caps.formats.as_ref().is_none_or(listed)
                    && (caps.formats.is_none() || format.as_str().is_some_and(fits))
            };
            return !node.get(Kw::Format).is_none_or(taken);
        }
        if only(SCALAR_KEYWORDS.with(Kw::Enum)) && types == Some(Types::STRING) && !node.keywords.has(Kw::Format) {
            let values = node.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default();
            let with_keyword_names = |value: &Json<'_>| value.as_str().is_some_and(|text| !text.is_empty());
            return !(1..=LONG_ENUM).contains(&values.len()) || !values.iter().all(with_keyword_names);
        }
        if types == Some(Types::ARRAY) && only(ARRAY_KEYWORDS) && node.keywords.has(Kw::Items) {
            return node.keywords.has(Kw::MaxItems) && caps.has_demand(Demand::ObjectListsUnbounded);
        }
        if types == Some(Types::OBJECT) && only(OBJECT_KEYWORDS) && !node.properties().is_empty() {
            let shut = node.get(Kw::AdditionalProperties).and_then(Json::as_bool) == Some(false);
            let unsaid = !shut && (caps.has_demand(Demand::Closed) || caps.has_demand(Demand::SaysOpen));
            let deep = caps.limit(Demand::MaxDepth).is_some_and(|limit| context.depth >= limit);
            let others = caps.has_demand(Demand::OthersTyped)
                && matches!(node.get(Kw::AdditionalProperties), Some(Json::Obj(_)));
            return unsaid || deep || others || caps.has_demand(Demand::Keys) || needs_required_rules(node, caps);
        }
        let formatted = node.keywords.has(Kw::Format);
        return types != Some(Types::NULL) || caps.has_demand(Demand::NoNull) || formatted || !only(SCALAR_KEYWORDS);
    }
    if node.keywords.has(Kw::AnyOf) {
        let beside = only(KwSet::NONE.with(Kw::AnyOf).with(Kw::Description)) && caps.beside_union.has(Kw::Description);
        let typed = !caps.has_demand(Demand::Typed) || caps.typed_by.has(Kw::AnyOf);
        return !beside || !typed || caps.has_demand(Demand::UnionTyped) || caps.has_demand(Demand::OneEnum);
    }
    if only(KwSet::NONE.with(Kw::Ref)) {
        let typed = !caps.has_demand(Demand::Typed) || caps.typed_by.has(Kw::Ref);
        return !typed || !node.reference().is_some_and(|reference| checker.references.is_definition(reference));
    }
    true
}

fn needs_required_rules(node: &NodeKeywords<'_>, caps: &Capabilities) -> bool {
    let (all, known) = (caps.has_demand(Demand::AllRequired), caps.has_demand(Demand::RequiredKnown));
    (all || known)
        && !requires_all_in_order(node.properties(), node.required_list())
        && ((all && missing_required(node).is_some()) || (known && unknown_required(node).is_some()))
}

/// Keywords that violate no rule on a node of one scalar type.
const SCALAR_KEYWORDS: KwSet = ANNOTATED_TYPE_KEYWORDS.with(Kw::Format).with(Kw::Pattern);

/// Those of them that violate none whatever their value.
const ANNOTATED_TYPE_KEYWORDS: KwSet =
    KwSet::NONE.with(Kw::Type).with(Kw::Title).with(Kw::Description).with(Kw::Default);

/// Keywords that violate no rule on an array with items.
const ARRAY_KEYWORDS: KwSet = KwSet::NONE
    .with(Kw::Type)
    .with(Kw::Title)
    .with(Kw::Description)
    .with(Kw::Items)
    .with(Kw::MinItems)
    .with(Kw::MaxItems);

/// Keywords that violate no rule on an object with properties, if they are well formed.
const OBJECT_KEYWORDS: KwSet = KwSet::NONE
    .with(Kw::Type)
    .with(Kw::Title)
    .with(Kw::Description)
    .with(Kw::Properties)
    .with(Kw::Required)
    .with(Kw::AdditionalProperties);

const SCALARS: Types = Types::STRING.or(Types::NUMBER).or(Types::BOOLEAN);

#[expect(clippy::too_many_lines, reason = "one arm for each demand reads better than a split")]
fn violates(row: &RuleRow, node: &NodeKeywords<'_>, context: NodeContext, checker: &Checker<'_, '_>) -> bool {
    let has = |kw| node.keywords.has(kw);
    match row.demand {
        Demand::RootObject => {
            context.root && node.get(Kw::Type).and_then(Json::as_str).and_then(Types::named) != Some(Types::OBJECT)
        }
        Demand::RootPlain => context.root && !node.keywords.and(row.refused).is_empty(),
        Demand::RootKeys | Demand::Keys => {
            let keys = if row.demand == Demand::Keys { &checker.caps.keys } else { &checker.caps.root_keys };
            let here = context.root || row.demand == Demand::Keys;
            let mut own = keys.iter().filter(|(code, _)| *code == row.code);
            here && own.any(|(_, keys)| node.properties().iter().any(|(key, _)| !keys.is_match(key)))
        }
        Demand::Closed => {
            let extra = node.get(Kw::AdditionalProperties);
            let of_a_kind = matches!(extra, Some(Json::Obj(_)));
            let spoken_of = |names: &[String]| names.iter().any(|name| name == "schema");
            let told_apart = if of_a_kind { spoken_of(&row.allow) } else { spoken_of(&row.refuse) };
            node.is_object() && extra.and_then(Json::as_bool) != Some(false) && !told_apart
        }
        Demand::SaysOpen => node.is_object() && !has(Kw::AdditionalProperties) && !has(Kw::UnevaluatedProperties),
        Demand::AllRequired => missing_required(node).is_some(),
        Demand::HasProperties => {
            node.types.is_some_and(|types| types.has(Types::OBJECT))
                && !matches!(node.get(Kw::Properties), Some(Json::Obj(_)))
        }
        Demand::PropertyOrder => {
            let is_sorted = node.properties().is_sorted_by_key(|(key, _)| *key);
            checker.caps.accepts(Kw::PropertyOrdering) && !has(Kw::PropertyOrdering) && !is_sorted
        }
        Demand::RequiredNotEmpty => has(Kw::Required) && node.required_list().is_empty(),
        Demand::RequiredKnown => unknown_required(node).is_some(),
        Demand::Typed => !has(Kw::Type) && node.keywords.and(row.allowed).is_empty(),
        Demand::OthersTyped => {
            let typed = |(key, _): &Member<'_>| *key == Kw::Type.name() || row.allow.iter().any(|name| name == key);
            let others = node.get(Kw::AdditionalProperties).and_then(Json::as_obj);
            others.is_some_and(|members| !members.iter().any(typed))
        }
        Demand::HasItems => node.types.is_some_and(|types| types.has(Types::ARRAY)) && !has(Kw::Items),
        Demand::NotFreeForm => {
            let shut = node.get(Kw::AdditionalProperties).and_then(Json::as_bool) == Some(false);
            !context.root && node.types == Some(Types::OBJECT) && node.properties().is_empty() && !shut
        }
        Demand::ObjectListsUnbounded => {
            let items = node.get(Kw::Items).filter(|_| has(Kw::MaxItems));
            items.is_some_and(|items| takes_objects(items, &|reference| checker.references.target(reference)))
        }
        Demand::OneType => matches!(node.get(Kw::Type), Some(Json::Arr(_))),
        Demand::NoNull => {
            node.types.is_some_and(|types| types.has(Types::NULL))
                || (node.nullable() && row.refuse.iter().any(|name| name == Kw::Nullable.name()))
        }
        Demand::OwnKeywords => foreign_keyword(row, node).is_some(),
        Demand::EnumTyped => {
            let one = node.get(Kw::Type).and_then(Json::as_str).and_then(Types::named);
            node.has_values() && one.is_none_or(|types| node.values().any(|value| !types.intersects(Types::of(value))))
        }
        Demand::EnumFits => {
            let list =
                matches!(node.get(Kw::Type), Some(Json::Arr(_))) && row.refuse.iter().any(|name| name == "type-list");
            let exempt = |types: Types| types.name().is_some_and(|own| row.allow.iter().any(|name| name == own));
            node.has_values()
                && !node.types.is_some_and(exempt)
                && (list
                    || node.types.is_some_and(|types| {
                        node.values().any(|value| {
                            !types.intersects(Types::of(value)) && (!node.nullable() || *value != Json::Null)
                        })
                    }))
        }
        Demand::EnumStrings => node.values().any(|value| value.as_str().is_none()),
        // Nothing is given up for it.
        Demand::OneEnum => checker.mode != CheckMode::First && is_split_enum(node),
        Demand::EnumNotBlank => node.values().any(|value| value.as_str() == Some("")),
        Demand::EnumScalars => node.values().any(|value| matches!(value, Json::Arr(_) | Json::Obj(_))),
        Demand::EnumOneType => {
            let mut kinds = node.values().map(|value| value_kind(value));
            kinds.next().is_some_and(|first| kinds.any(|kind| kind != first))
        }
        Demand::EnumNotEmpty => node.get(Kw::Enum).and_then(Json::as_arr).is_some_and(<[_]>::is_empty),
        Demand::UnionAlone => {
            has(Kw::AnyOf) && !node.keywords.without(row.allowed).without(KwSet::default().with(Kw::AnyOf)).is_empty()
        }
        Demand::UnionTyped => {
            let branches = node.get(Kw::AnyOf).or(node.get(Kw::OneOf)).and_then(Json::as_arr).unwrap_or_default();
            branches.iter().any(|branch| {
                let typed = |key: &str| key == Kw::Type.name() || row.allow.iter().any(|name| name == key);
                branch.as_obj().is_some_and(|members| !members.iter().any(|(key, _)| typed(key)))
            })
        }
        Demand::RefAlone => {
            let open = !has(Kw::Ref) && node.get(Kw::BareRef).is_some();
            let reference = if open { Kw::BareRef } else { Kw::Ref };
            let beside = node.keywords.without(row.allowed).without(KwSet::default().with(reference));
            has(reference) && !beside.is_empty()
        }
        Demand::RefToDefs => node.reference().is_some_and(|reference| !points_to_definition(reference, &row.allow)),
        Demand::RefResolves => node.reference().is_some_and(|reference| !checker.references.resolves(reference)),
        Demand::Formats => node.get(Kw::Format).and_then(Json::as_str).is_some_and(|format| {
            let foreign = node.types.is_some_and(|types| !Types::of_format(format).has(types.without(Types::NULL)));
            // A format that says that there is an enum.
            let unlisted = format == "enum" && node.get(Kw::Enum).and_then(Json::as_arr).is_none_or(<[_]>::is_empty);
            foreign || unlisted || !row.allow.iter().any(|own| own == format)
        }),
        Demand::MaxEnumChars => {
            let values = node.get(Kw::Enum).and_then(Json::as_arr).unwrap_or_default();
            values.len() > LONG_ENUM && super::totals::enum_chars(values) > row.limit.unwrap_or(u64::MAX)
        }
        Demand::MaxDepth => {
            context.depth + u64::from(node.is_object()) == row.limit.unwrap_or(u64::MAX) + 1 && node.is_object()
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

impl<'j> NodeKeywords<'j> {
    pub(super) fn reference(&self) -> Option<&'j str> {
        self.get(Kw::Ref).or(self.get(Kw::BareRef)).and_then(Json::as_str)
    }
}

fn points_to_definition(reference: &str, allowed: &[String]) -> bool {
    root_definition(reference).is_some() || allowed.iter().any(|own| own == reference)
}

/// Looks at the type, the branches of unions and the targets of references.
pub(crate) fn takes_objects<'j>(json: &'j Json<'j>, target: &dyn Fn(&str) -> Option<&'j Json<'j>>) -> bool {
    let mut open = vec![json];
    // Unions and references may lead to each other for ever.
    for _ in 0..MAX_SCHEMAS_VISITED {
        let Some(json) = open.pop() else { break };
        if json.get(Kw::Type.name()).and_then(Types::stated).is_some_and(|types| types.intersects(Types::OBJECT)) {
            return true;
        }
        open.extend([Kw::AnyOf, Kw::OneOf].iter().filter_map(|kw| json.get(kw.name())?.as_arr()).flatten());
        open.extend([Kw::Ref, Kw::BareRef].iter().filter_map(|kw| target(json.get(kw.name())?.as_str()?)));
    }
    false
}

/// True where the branches but `null` list one value each, two of them of one type.
fn is_split_enum(node: &NodeKeywords<'_>) -> bool {
    let branches = node.get(Kw::AnyOf).or(node.get(Kw::OneOf)).and_then(Json::as_arr).unwrap_or_default();
    let mut kinds = Vec::new();
    for branch in branches.iter().filter(|branch| !is_null(branch)) {
        let listed = match branch.get(Kw::Enum.name()).and_then(Json::as_arr) {
            Some([value]) => Some(value),
            Some(_) => None,
            None => branch.get(Kw::Const.name()),
        };
        let Some(value) = listed else { return false };
        kinds.push(value_kind(value));
    }
    kinds.sort_unstable();
    kinds.array_windows().any(|[one, other]| one == other)
}

const MAX_SCHEMAS_VISITED: usize = 64;

fn value_kind(value: &Json<'_>) -> &'static str {
    let types = Types::of(value);
    if types.intersects(Types::NUMBER) { "number" } else { types.name().unwrap_or_default() }
}

fn missing_required<'j>(node: &NodeKeywords<'j>) -> Option<&'j str> {
    let properties = node.properties();
    let required = node.required_list();
    if requires_all_in_order(properties, required) {
        return None;
    }
    let names: foldhash::HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    properties.iter().map(|(key, _)| key.as_ref()).find(|key| !names.contains(key))
}

/// The usual spelling of "all are required", which needs no set of names.
pub(super) fn requires_all_in_order(properties: &[Member<'_>], required: &[Json<'_>]) -> bool {
    let same = |((key, _), name): (&Member<'_>, &Json<'_>)| name.as_str() == Some(key);
    properties.len() == required.len() && properties.iter().zip(required).all(same)
}

fn unknown_required<'j>(node: &NodeKeywords<'j>) -> Option<&'j str> {
    let required = node.required_list();
    if required.is_empty() {
        return None;
    }
    let properties = node.properties();
    if requires_all_in_order(properties, required) {
        return None;
    }
    if properties.len() < 16 {
        return required.iter().filter_map(Json::as_str).find(|name| !properties.iter().any(|(key, _)| key == name));
    }
    let keys: foldhash::HashSet<&str> = properties.iter().map(|(key, _)| key.as_ref()).collect();
    required.iter().filter_map(Json::as_str).find(|name| !keys.contains(name))
}

fn foreign_keyword(row: &RuleRow, node: &NodeKeywords<'_>) -> Option<Kw> {
    let types = node.types.unwrap_or(Types::NONE);
    let own = |kw: &Kw| {
        // An enum belongs to strings where the rule names it.
        let applies_to = if *kw == Kw::Enum { Types::STRING } else { kw.info().applies_to };
        applies_to.intersects(types)
    };
    row.refuse.iter().filter_map(|name| Kw::of(name)).filter(|kw| node.keywords.has(*kw)).find(|kw| !own(kw))
}

fn violated_keyword(row: &RuleRow, node: &NodeKeywords<'_>) -> String {
    /// Demands about one keyword.
    const ABOUT: &[(Demand, Kw)] = &[
        (Demand::RootObject, Kw::Type),
        (Demand::Typed, Kw::Type),
        (Demand::OneType, Kw::Type),
        (Demand::NoNull, Kw::Type),
        (Demand::RootKeys, Kw::Properties),
        (Demand::Keys, Kw::Properties),
        (Demand::HasProperties, Kw::Properties),
        (Demand::PropertyOrder, Kw::PropertyOrdering),
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
        root.into_iter().find(|kw| node.keywords.has(*kw)).unwrap_or(Kw::Type)
    } else if row.demand == Demand::OwnKeywords {
        foreign_keyword(row, node).unwrap_or(Kw::Type)
    } else if node.keywords.has(Kw::Enum) {
        Kw::Enum
    } else {
        Kw::Const
    };
    kw.name().to_owned()
}

/// What a violation's message names.
struct Offender<'j> {
    key: String,
    kind: Option<&'j Json<'j>>,
    value: Option<&'j Json<'j>>,
    /// The index among the values or required names.
    nth: usize,
}

fn find_offender<'j>(row: &RuleRow, node: &NodeKeywords<'j>) -> Offender<'j> {
    let kind = node.get(Kw::Type);
    let beside = |own: Kw| {
        let allowed = |key: &str| key == own.name() || row.allow.iter().any(|name| name == key);
        node.members.iter().map(|(key, _)| key.as_ref()).find(|key| !allowed(key))
    };
    let unknown = if row.demand == Demand::RequiredKnown { unknown_required(node) } else { None };
    let key = if row.demand == Demand::AllRequired {
        missing_required(node)
    } else if row.demand == Demand::Formats {
        node.get(Kw::Format).and_then(Json::as_str)
    } else if matches!(row.demand, Demand::RefToDefs | Demand::RefResolves) {
        node.reference()
    } else if row.demand == Demand::RefAlone {
        beside(Kw::Ref)
    } else if row.demand == Demand::UnionAlone {
        beside(Kw::AnyOf)
    } else {
        unknown
    };
    let types = node.types.unwrap_or(Types::NONE);
    let offends = |value: &Json<'_>| {
        if row.demand == Demand::EnumStrings {
            value.as_str().is_none()
        } else if row.demand == Demand::EnumNotBlank {
            value.as_str() == Some("")
        } else {
            !types.intersects(Types::of(value))
        }
    };
    let offending = node.values().enumerate().find(|(_, value)| offends(value));
    let (mut nth, value) = offending.map_or((0, node.values().next()), |(nth, value)| (nth, Some(value)));
    if let Some(name) = unknown {
        let required = node.required_list();
        nth = required.iter().position(|own| own.as_str() == Some(name)).unwrap_or(0);
    }
    Offender { key: key.unwrap_or_default().to_owned(), kind, value, nth }
}

#[cfg(test)]
mod tests {
    use super::{INDEXED_KEYWORDS, TABLE};

    #[test]
    fn what_the_rules_look_at_is_in_the_table() {
        assert!(INDEXED_KEYWORDS.iter().all(|kw| TABLE.iter().any(|row| row.kw == *kw)));
    }
}
