//! The keywords of JSON Schema that shape or judge a value, spelled once, and the annotations that speak of values.

pub(crate) const ADDITIONAL: &str = "additionalProperties";
pub(crate) const ADDITIONAL_ITEMS: &str = "additionalItems";
pub(crate) const ALIAS: &str = "x-alias";
pub(crate) const ALL_OF: &str = "allOf";
pub(crate) const ANY_OF: &str = "anyOf";
pub(crate) const ASSERT: &str = "x-assert";
pub(crate) const CONST: &str = "const";
pub(crate) const CONTAINS: &str = "contains";
pub(crate) const DEFAULT: &str = "default";
pub(crate) const DEPENDENCIES: &str = "dependencies";
pub(crate) const DEPENDENT_SCHEMAS: &str = "dependentSchemas";
pub(crate) const DESCRIBED: &str = "x-enum";
pub(crate) const DYNAMIC_ANCHOR: &str = "$dynamicAnchor";
pub(crate) const DYNAMIC_REF: &str = "$dynamicRef";
pub(crate) const ELSE: &str = "else";
pub(crate) const ENUM: &str = "enum";
pub(crate) const FORMAT: &str = "format";
pub(crate) const IF: &str = "if";
pub(crate) const ITEMS: &str = "items";
pub(crate) const MAX_CONTAINS: &str = "maxContains";
pub(crate) const MAX_LENGTH: &str = "maxLength";
pub(crate) const MIN_CONTAINS: &str = "minContains";
pub(crate) const MIN_LENGTH: &str = "minLength";
pub(crate) const NOT: &str = "not";
pub(crate) const NULLABLE: &str = "nullable";
pub(crate) const ONE_OF: &str = "oneOf";
pub(crate) const PATTERN: &str = "pattern";
pub(crate) const PATTERNS: &str = "patternProperties";
pub(crate) const PREFIX_ITEMS: &str = "prefixItems";
pub(crate) const PROPERTIES: &str = "properties";
pub(crate) const PROPERTY_NAMES: &str = "propertyNames";
pub(crate) const RECURSIVE_ANCHOR: &str = "$recursiveAnchor";
pub(crate) const RECURSIVE_REF: &str = "$recursiveRef";
pub(crate) const REF: &str = "$ref";
pub(crate) const REQUIRED: &str = "required";
pub(crate) const STREAM: &str = "x-stream";
pub(crate) const THEN: &str = "then";
pub(crate) const TYPE: &str = "type";
pub(crate) const UNEVALUATED_ITEMS: &str = "unevaluatedItems";
pub(crate) const UNEVALUATED_PROPERTIES: &str = "unevaluatedProperties";
pub(crate) const UNIQUE_ITEMS: &str = "uniqueItems";

/// Keywords that look at one value and at nothing inside of it.
pub(crate) const ASSERTIONS: &[&str] = &[
    TYPE,
    ENUM,
    CONST,
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    MAX_LENGTH,
    MIN_LENGTH,
    PATTERN,
    "maxItems",
    "minItems",
    UNIQUE_ITEMS,
    "maxProperties",
    "minProperties",
    REQUIRED,
    "dependentRequired",
    FORMAT,
    "contentEncoding",
    "contentMediaType",
];
