//! The keywords of JSON Schema that shape a value, spelled once, and the annotations that speak of values.

pub(crate) const ADDITIONAL: &str = "additionalProperties";
pub(crate) const ALIAS: &str = "x-alias";
pub(crate) const ALL_OF: &str = "allOf";
pub(crate) const ANY_OF: &str = "anyOf";
pub(crate) const ASSERT: &str = "x-assert";
pub(crate) const CONST: &str = "const";
pub(crate) const DEFAULT: &str = "default";
pub(crate) const DESCRIBED: &str = "x-enum";
pub(crate) const ENUM: &str = "enum";
pub(crate) const ITEMS: &str = "items";
pub(crate) const NULLABLE: &str = "nullable";
pub(crate) const ONE_OF: &str = "oneOf";
pub(crate) const PATTERNS: &str = "patternProperties";
pub(crate) const PREFIX_ITEMS: &str = "prefixItems";
pub(crate) const PROPERTIES: &str = "properties";
pub(crate) const PROPERTY_NAMES: &str = "propertyNames";
pub(crate) const REF: &str = "$ref";
pub(crate) const REQUIRED: &str = "required";
pub(crate) const STREAM: &str = "x-stream";
pub(crate) const TYPE: &str = "type";
