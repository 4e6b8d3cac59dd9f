//! The one table of JSON Schema keywords: the kind of value, the types that each applies to, and its role when it must be
//! dropped. Only this file spells keywords; all others use [`Kw`].

use crate::types::Types;

/// The kind of value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordValue {
    /// One schema.
    Schema,
    /// A list of schemas.
    SchemaList,
    /// A map from names to schemas.
    SchemaMap,
    /// A map from names to schemas or to lists of names (`dependencies`).
    SchemaOrNamesMap,
    /// A type name or a list of type names.
    TypeNames,
    /// A list of strings.
    Names,
    /// A map from names to lists of strings.
    NamesMap,
    /// A non-negative integer.
    Count,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// A string.
    Text,
    /// A list of arbitrary values.
    Values,
    /// Any value at all: data, never walked.
    Data,
}

/// What happens to a keyword that a dialect refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeywordRole {
    /// It shapes the schema: never written into a description.
    Structure,
    /// A constraint that a person understands: moved into the description.
    Limit,
    /// An annotation that helps the model: moved into the description.
    Hint,
    /// An annotation without meaning for the model: dropped.
    Remark,
}

/// One row of the table.
#[derive(Debug)]
pub struct KeywordInfo {
    pub(crate) kw: Kw,
    pub(crate) name: &'static str,
    /// The kind of its value.
    pub holds: KeywordValue,
    pub(crate) role: KeywordRole,
    /// The types it constrains; all of them where it is not bound to any.
    pub applies_to: Types,
}

macro_rules! keywords {
    ($($kw:ident $name:literal $holds:ident $role:ident $speaks:ident;)*) => {
        /// A keyword of JSON Schema, of any draft, or of `OpenAPI` 3.0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kw { $(#[doc = concat!("`", $name, "`")] $kw),* }

        /// Every keyword, in the order in which a node is printed.
        pub(crate) const TABLE: &[KeywordInfo] = &[
            $(KeywordInfo { kw: Kw::$kw, name: $name, holds: KeywordValue::$holds, role: KeywordRole::$role, applies_to: Types::$speaks }),*
        ];

        /// How many keywords there are.
        pub(crate) const COUNT: usize = TABLE.len();

        impl Kw {
            /// The keyword of that name.
            pub fn of(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$kw),)* _ => None }
            }
        }
    };
}

keywords! {
    Schema "$schema" Text Remark ANY;
    Vocabulary "$vocabulary" Data Remark ANY;
    Id "$id" Text Remark ANY;
    LegacyId "id" Text Remark ANY;
    Anchor "$anchor" Text Remark ANY;
    DynamicAnchor "$dynamicAnchor" Text Remark ANY;
    RecursiveAnchor "$recursiveAnchor" Flag Remark ANY;
    Ref "$ref" Text Structure ANY;
    DynamicRef "$dynamicRef" Text Structure ANY;
    RecursiveRef "$recursiveRef" Text Structure ANY;
    BareRef "ref" Text Structure ANY;
    Comment "$comment" Text Remark ANY;
    Title "title" Text Remark ANY;
    Description "description" Text Hint ANY;
    Type "type" TypeNames Structure ANY;
    Nullable "nullable" Flag Structure ANY;
    Format "format" Text Limit ANY;
    Enum "enum" Values Limit ANY;
    Const "const" Data Limit ANY;
    MultipleOf "multipleOf" Number Limit NUMBER;
    DivisibleBy "divisibleBy" Number Limit NUMBER;
    Minimum "minimum" Number Limit NUMBER;
    ExclusiveMinimum "exclusiveMinimum" Number Limit NUMBER;
    Maximum "maximum" Number Limit NUMBER;
    ExclusiveMaximum "exclusiveMaximum" Number Limit NUMBER;
    MinLength "minLength" Count Limit STRING;
    MaxLength "maxLength" Count Limit STRING;
    Pattern "pattern" Text Limit STRING;
    ContentEncoding "contentEncoding" Text Limit STRING;
    ContentMediaType "contentMediaType" Text Limit STRING;
    ContentSchema "contentSchema" Schema Structure STRING;
    PrefixItems "prefixItems" SchemaList Structure ARRAY;
    Items "items" Schema Structure ARRAY;
    AdditionalItems "additionalItems" Schema Structure ARRAY;
    UnevaluatedItems "unevaluatedItems" Schema Structure ARRAY;
    Contains "contains" Schema Structure ARRAY;
    MinContains "minContains" Count Limit ARRAY;
    MaxContains "maxContains" Count Limit ARRAY;
    MinItems "minItems" Count Limit ARRAY;
    MaxItems "maxItems" Count Limit ARRAY;
    UniqueItems "uniqueItems" Flag Limit ARRAY;
    Properties "properties" SchemaMap Structure OBJECT;
    PropertyOrdering "propertyOrdering" Names Remark OBJECT;
    Required "required" Names Structure OBJECT;
    PatternProperties "patternProperties" SchemaMap Structure OBJECT;
    AdditionalProperties "additionalProperties" Schema Structure OBJECT;
    UnevaluatedProperties "unevaluatedProperties" Schema Structure OBJECT;
    PropertyNames "propertyNames" Schema Structure OBJECT;
    MinProperties "minProperties" Count Limit OBJECT;
    MaxProperties "maxProperties" Count Limit OBJECT;
    DependentRequired "dependentRequired" NamesMap Structure OBJECT;
    DependentSchemas "dependentSchemas" SchemaMap Structure OBJECT;
    Dependencies "dependencies" SchemaOrNamesMap Structure OBJECT;
    AllOf "allOf" SchemaList Structure ANY;
    AnyOf "anyOf" SchemaList Structure ANY;
    OneOf "oneOf" SchemaList Structure ANY;
    Not "not" Schema Structure ANY;
    If "if" Schema Structure ANY;
    Then "then" Schema Structure ANY;
    Else "else" Schema Structure ANY;
    Extends "extends" Schema Structure ANY;
    Disallow "disallow" Data Structure ANY;
    Discriminator "discriminator" Data Remark ANY;
    Default "default" Data Hint ANY;
    Example "example" Data Hint ANY;
    Examples "examples" Values Hint ANY;
    Deprecated "deprecated" Flag Remark ANY;
    ReadOnly "readOnly" Flag Remark ANY;
    WriteOnly "writeOnly" Flag Remark ANY;
    Xml "xml" Data Remark ANY;
    ExternalDocs "externalDocs" Data Remark ANY;
    Defs "$defs" SchemaMap Structure ANY;
    Definitions "definitions" SchemaMap Structure ANY;
    BareDefs "defs" SchemaMap Structure ANY;
}

/// Keywords that some generators write in `snake_case` (R-A6).
const SNAKE_CASE: &[(&str, Kw)] = &[
    ("any_of", Kw::AnyOf),
    ("all_of", Kw::AllOf),
    ("one_of", Kw::OneOf),
    ("additional_properties", Kw::AdditionalProperties),
    ("pattern_properties", Kw::PatternProperties),
    ("property_names", Kw::PropertyNames),
    ("prefix_items", Kw::PrefixItems),
    ("property_ordering", Kw::PropertyOrdering),
    ("min_items", Kw::MinItems),
    ("max_items", Kw::MaxItems),
    ("unique_items", Kw::UniqueItems),
    ("min_length", Kw::MinLength),
    ("max_length", Kw::MaxLength),
    ("min_properties", Kw::MinProperties),
    ("max_properties", Kw::MaxProperties),
    ("exclusive_minimum", Kw::ExclusiveMinimum),
    ("exclusive_maximum", Kw::ExclusiveMaximum),
    ("multiple_of", Kw::MultipleOf),
];

impl Kw {
    pub(crate) fn of_snake_case(name: &str) -> Option<Self> {
        // Keys are short: a plain look is quicker than a search.
        if !name.bytes().any(|byte| byte == b'_') {
            return None;
        }
        SNAKE_CASE.iter().find(|(snake, _)| *snake == name).map(|(_, kw)| *kw)
    }

    /// The row of the table.
    pub fn info(self) -> &'static KeywordInfo {
        #[expect(clippy::indexing_slicing, reason = "the table has one row for each keyword, in declaration order")]
        &TABLE[self as usize]
    }

    /// The name as schemas spell it.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// True of keywords of the 2020-12 meta-schema; its validators ignore others.
    pub(crate) fn is_in_2020_12(self) -> bool {
        const OTHERS: KwSet = KwSet::NONE
            .with(Kw::LegacyId)
            .with(Kw::BareRef)
            .with(Kw::BareDefs)
            .with(Kw::Nullable)
            .with(Kw::DivisibleBy)
            .with(Kw::AdditionalItems)
            .with(Kw::Extends)
            .with(Kw::Disallow)
            .with(Kw::PropertyOrdering)
            .with(Kw::Discriminator)
            .with(Kw::Example)
            .with(Kw::Xml)
            .with(Kw::ExternalDocs);
        !OTHERS.has(self)
    }

    /// True of the reference itself and of definitions.
    pub(crate) fn is_ignored_beside_ref(self) -> bool {
        matches!(self, Self::Ref | Self::Defs | Self::Definitions | Self::BareDefs)
    }

    /// True of keywords that never constrain a value.
    pub fn is_annotation(self) -> bool {
        matches!(self.info().role, KeywordRole::Hint | KeywordRole::Remark)
    }
}

/// The map and the name of a definition at the root that a reference points at, if it points at one.
pub(crate) fn root_definition(reference: &str) -> Option<(Kw, &str)> {
    let (kw, name) = within_definitions(reference)?;
    // Names are short: a plain look is quicker than a search.
    (!name.bytes().any(|byte| byte == b'/')).then_some((kw, name))
}

/// The map of definitions at the root into which a reference points, and the rest of the pointer.
pub(crate) fn within_definitions(reference: &str) -> Option<(Kw, &str)> {
    let maps = [("#/$defs/", Kw::Defs), ("#/definitions/", Kw::Definitions), ("#/defs/", Kw::BareDefs)];
    maps.iter().find_map(|(start, kw)| Some((*kw, reference.strip_prefix(start)?)))
}

/// The keywords among the tokens of a path between schemas; the others are names and indices.
pub(crate) fn keywords_along(tokens: &[String]) -> Vec<Option<Kw>> {
    let mut within = false;
    let keyword = |token: &String| {
        let kw = Kw::of(token).filter(|_| !within);
        within = kw.is_some_and(|kw| {
            matches!(
                kw.info().holds,
                KeywordValue::SchemaMap | KeywordValue::SchemaOrNamesMap | KeywordValue::SchemaList
            )
        });
        kw
    };
    tokens.iter().map(keyword).collect()
}

/// A set of keywords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct KwSet(u128);

impl KwSet {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn with(mut self, kw: Kw) -> Self {
        self.0 |= 1 << (kw as u8);
        self
    }

    pub(crate) fn insert(&mut self, kw: Kw) {
        *self = self.with(kw);
    }

    pub(crate) const fn has(self, kw: Kw) -> bool {
        self.0 & (1 << (kw as u8)) != 0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The keywords that constrain other types only.
    pub(crate) fn foreign_to(types: Types) -> Self {
        const NUMBERS: KwSet = constraining(Types::NUMBER);
        const TEXTS: KwSet = constraining(Types::STRING);
        const LISTS: KwSet = constraining(Types::ARRAY);
        const OBJECTS: KwSet = constraining(Types::OBJECT);
        let of = |own: Types, keywords: Self| if own.intersects(types) { Self::NONE } else { keywords };
        let scalars = of(Types::NUMBER, NUMBERS).or(of(Types::STRING, TEXTS));
        scalars.or(of(Types::ARRAY, LISTS)).or(of(Types::OBJECT, OBJECTS))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Kw> {
        TABLE.iter().map(|row| row.kw).filter(move |kw| self.has(*kw))
    }
}

/// The keywords that constrain one type alone. `contentEncoding` and its siblings annotate.
const fn constraining(types: Types) -> KwSet {
    let mut set = KwSet::NONE;
    let mut rest = TABLE;
    while let Some((row, after)) = rest.split_first() {
        let content = matches!(row.kw, Kw::ContentEncoding | Kw::ContentMediaType | Kw::ContentSchema);
        let asks = matches!(row.role, KeywordRole::Structure | KeywordRole::Limit) && !content;
        if asks && types.has(row.applies_to) {
            set = set.with(row.kw);
        }
        rest = after;
    }
    set
}

impl FromIterator<Kw> for KwSet {
    fn from_iter<I: IntoIterator<Item = Kw>>(keywords: I) -> Self {
        keywords.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNT, Kw, TABLE};

    #[test]
    fn every_row_stands_at_its_keywords_place() {
        const { assert!(COUNT <= 128, "a keyword set is one u128") };
        for row in TABLE {
            assert_eq!(row.kw.info().name, row.name);
            assert_eq!(Kw::of(row.name), Some(row.kw));
        }
    }
}
