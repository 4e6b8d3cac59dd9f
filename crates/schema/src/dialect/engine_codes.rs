//! The codes of changes that no row demands: liberties of reading (READ-…) and of fitting (FIT).

/// Each code with its meaning.
const ENGINE_CODES: &[(&str, &str)] = &[
    (
        "FIT",
        "No rule of the provider asks for this change: fitting makes it so that the schema can be said, or values tell their branch.",
    ),
    (
        "READ-BOUND",
        "A boolean `exclusiveMinimum` or `exclusiveMaximum`, as draft 4 and OpenAPI 3.0 write it, is said by the bound itself.",
    ),
    (
        "READ-CONTENT",
        "The schema of what a string contains is dropped: it constrains no value, and has references of its own.",
    ),
    ("READ-DEFS", "Definitions are printed anew: only those that something refers to."),
    (
        "READ-ENUM",
        "Values that the type beside them refuses, or that stand twice, are left out; where it refuses all of them, they are read as that type or as the values of a list's items, or the type is left out.",
    ),
    ("READ-FOREIGN", "A keyword speaks of values that the type beside it refuses, and is dropped: it asks nothing."),
    ("READ-INTEGER", "Up to draft 4, a number like `1.0` is not an integer; fitted schemas accept it as one."),
    ("READ-ITEMS", "What items that are not evaluated must be is said by `items`, where nothing else evaluates them."),
    ("READ-LATER", "A keyword is younger than the draft that the schema states, and is taken to be meant."),
    (
        "READ-MALFORMED",
        "A keyword, or the place of a schema, holds what means nothing there, and it is dropped or taken for what it stands for.",
    ),
    (
        "READ-NAME",
        "A name of the schema (`$schema`, `$id`, `$anchor` and the like) is dropped: references are resolved.",
    ),
    ("READ-NULLABLE", "`nullable` is read as OpenAPI 3.0 means it."),
    (
        "READ-OLDER",
        "A keyword of an older draft is said by the one that took its place, or dropped where it only annotates.",
    ),
    ("READ-REF", "A reference leads nowhere: any value is accepted, or what is likely to be meant is taken."),
    ("READ-REQUIRED", "What is required is said once, by the object that declares the property."),
    ("READ-SIBLINGS", "Keywords beside a reference are dropped: up to draft 7 they mean nothing."),
    ("READ-SPELLING", "A key in snake_case is taken for the keyword that it stands for."),
    (
        "READ-TOOL",
        "A tool or its schema cannot be read as it stands: the schema is missing, JSON text, or no schema at all.",
    ),
    ("READ-TUPLE", "A tuple in `items`, as drafts before 2020-12 write it, is said by `prefixItems`."),
    (
        "READ-TYPE",
        "The names of types are written as JSON Schema spells them, each once, or by a format; an unknown one is left out, and alone it accepts any value.",
    ),
    (
        "TOOL-EXAMPLE",
        "Examples of a tool's arguments travel as the arguments do; one that does not fit the schema is left out.",
    ),
    ("TOOL-SHAPE", "The provider's shape of a tool has no room for this, and it is left out."),
];

/// The spelling of a code of polywire's own, whatever its case, and what it stands for.
///
/// ```
/// let (code, meaning) = polywire_schema::explain_own("read-ref").unwrap();
/// assert_eq!(code, "READ-REF");
/// assert!(meaning.starts_with("A reference leads nowhere"));
/// ```
pub fn explain_own(code: &str) -> Option<(&'static str, &'static str)> {
    own_codes().find(|(own, _)| own.eq_ignore_ascii_case(code))
}

/// The codes of polywire's own and what each stands for, in their order.
///
/// ```
/// assert!(polywire_schema::own_codes().any(|(code, _)| code == "FIT"));
/// ```
pub fn own_codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ENGINE_CODES.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::ENGINE_CODES;

    #[test]
    fn just_the_codes_that_are_given_are_explained() {
        let sources = [
            include_str!("../read/mod.rs"),
            include_str!("../read/keywords.rs"),
            include_str!("../read/resolve.rs"),
            include_str!("../read/types.rs"),
            include_str!("../tools/fit.rs"),
            include_str!("../fit/mod.rs"),
        ];
        let is_code = |word: &str| {
            word == "FIT" || word.split_once('-').is_some_and(|(family, _)| matches!(family, "READ" | "TOOL"))
        };
        let words = sources.iter().flat_map(|source| source.split('"').skip(1).step_by(2));
        let given: std::collections::BTreeSet<&str> = words.filter(|word| is_code(word)).collect();
        let explained: Vec<&str> = ENGINE_CODES.iter().map(|(code, _)| *code).collect();
        assert_eq!(explained, given.into_iter().collect::<Vec<_>>());
    }
}
