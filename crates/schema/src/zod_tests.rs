//! Instances as `JSON.stringify` writes them, by Zod 3.22, 3.25, 4.1 and 4.6, and the schemas that they stand for.

use super::{DEEPEST, plain};
use crate::arena::Arena;
use crate::json::{Bounds, Json};

const BOUNDS: Bounds = Bounds { depth: 100, values: 1000 };

fn read<'a>(text: &'a str, arena: &'a Arena) -> Json<'a> {
    Json::from_text(text, BOUNDS, arena).expect(text)
}

fn check(instance: &str, expected: &str) {
    let arena = Arena::default();
    let json = read(instance, &arena);
    let got = plain(&json, &arena).expect(instance);
    assert!(got.same(&read(expected, &arena)), "{instance}\n  became {got}\n  and not {expected}");
}

/// An instance of Zod 3.22 whose definition has these members.
fn check_3(definition: &str, expected: &str) {
    check(&format!(r#"{{"_def":{{{definition}}}}}"#), expected);
}

/// An instance of Zod 4.6 of that type, whose definition has these other members.
fn check_4(name: &str, definition: &str, expected: &str) {
    check(&format!(r#"{{"def":{{"type":"{name}"{definition}}},"type":"{name}"}}"#), expected);
}

const STRING_3: &str = r#"{"_def":{"checks":[],"typeName":"ZodString","coerce":false}}"#;
const STRING_4: &str = r#"{"def":{"type":"string"},"type":"string"}"#;
const NUMBER_4: &str = r#"{"def":{"type":"number","checks":[]},"type":"number","isFinite":true}"#;
const OPTIONAL_4: &str =
    r#"{"def":{"type":"optional","innerType":{"def":{"type":"string"},"type":"string"}},"type":"optional"}"#;
const STRING: &str = r#"{"type":"string"}"#;

#[test]
fn strings_of_version_3() {
    for (checks, expected) in [
        (r"", r#"{"type":"string"}"#),
        (r#"{"kind":"min","value":1},{"kind":"max","value":5}"#, r#"{"type":"string","minLength":1,"maxLength":5}"#),
        (r#"{"kind":"length","value":3}"#, r#"{"type":"string","minLength":3,"maxLength":3}"#),
        (r#"{"kind":"email"}"#, r#"{"type":"string","format":"email"}"#),
        (r#"{"kind":"url"}"#, r#"{"type":"string","format":"uri"}"#),
        (r#"{"kind":"uuid"}"#, r#"{"type":"string","format":"uuid"}"#),
        (
            r#"{"kind":"datetime","precision":null,"offset":true,"local":false}"#,
            r#"{"type":"string","format":"date-time"}"#,
        ),
        (r#"{"kind":"datetime","precision":null,"offset":false,"local":true}"#, STRING),
        (r#"{"kind":"ip","version":"v4"}"#, r#"{"type":"string","format":"ipv4"}"#),
        (r#"{"kind":"ip"}"#, r#"{"type":"string","anyOf":[{"format":"ipv4"},{"format":"ipv6"}]}"#),
        (r#"{"kind":"base64"}"#, r#"{"type":"string","contentEncoding":"base64"}"#),
        (r#"{"kind":"regex","regex":{}},{"kind":"trim"},{"kind":"emoji"}"#, STRING),
        (r#"{"kind":"regex","regex":"/^a$/"}"#, r#"{"type":"string","pattern":"^a$"}"#),
        (r#"{"kind":"includes","value":"x.y"}"#, r#"{"type":"string","pattern":"x\\.y"}"#),
        (
            r#"{"kind":"startsWith","value":"a"},{"kind":"endsWith","value":"z"}"#,
            r#"{"type":"string","pattern":"^a","allOf":[{"pattern":"z$"}]}"#,
        ),
    ] {
        check_3(&format!(r#""checks":[{checks}],"typeName":"ZodString","coerce":false"#), expected);
    }
}

#[test]
fn numbers_of_version_3() {
    for (checks, expected) in [
        (r#"{"kind":"int"}"#, r#"{"type":"integer"}"#),
        (r#"{"kind":"min","value":0,"inclusive":false}"#, r#"{"type":"number","exclusiveMinimum":0}"#),
        (
            r#"{"kind":"min","value":1,"inclusive":true},{"kind":"min","value":3,"inclusive":true},
               {"kind":"max","value":5,"inclusive":true},{"kind":"multipleOf","value":0.5}"#,
            r#"{"type":"number","minimum":3,"maximum":5,"multipleOf":0.5}"#,
        ),
        (r#"{"kind":"finite"},{"kind":"min","inclusive":true,"value":-9007199254740991}"#, r#"{"type":"number"}"#),
    ] {
        check_3(&format!(r#""checks":[{checks}],"typeName":"ZodNumber","coerce":false"#), expected);
    }
}

#[test]
fn the_other_kinds_of_version_3() {
    let list = |extra: &str| format!(r#""type":{STRING_3},{extra},"typeName":"ZodArray""#);
    for (definition, expected) in [
        (r#""checks":[],"typeName":"ZodBigInt","coerce":false"#.to_owned(), r#"{"type":"integer"}"#),
        (r#""typeName":"ZodBoolean","coerce":false"#.to_owned(), r#"{"type":"boolean"}"#),
        (r#""checks":[],"typeName":"ZodDate""#.to_owned(), r#"{"type":"string","format":"date-time"}"#),
        (r#""typeName":"ZodNull""#.to_owned(), r#"{"type":"null"}"#),
        (r#""typeName":"ZodUndefined""#.to_owned(), r#"{"not":{}}"#),
        (r#""typeName":"ZodNever""#.to_owned(), r#"{"not":{}}"#),
        (r#""typeName":"ZodUnknown""#.to_owned(), "{}"),
        (r#""typeName":"ZodLazy""#.to_owned(), "{}"),
        (r#""typeName":"ZodOfTheFuture""#.to_owned(), "{}"),
        (r#""value":"a","typeName":"ZodLiteral""#.to_owned(), r#"{"type":"string","const":"a"}"#),
        (r#""value":null,"typeName":"ZodLiteral""#.to_owned(), r#"{"type":"null","const":null}"#),
        (r#""values":["a","b"],"typeName":"ZodEnum""#.to_owned(), r#"{"type":"string","enum":["a","b"]}"#),
        (r#""values":{"3":"B","A":"a","B":3},"typeName":"ZodNativeEnum""#.to_owned(), r#"{"enum":["a",3]}"#),
        (
            list(r#""minLength":{"value":1},"maxLength":{"value":3},"exactLength":null"#),
            r#"{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3}"#,
        ),
        (
            list(r#""minLength":null,"maxLength":null,"exactLength":{"value":2}"#),
            r#"{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":2}"#,
        ),
        (
            format!(
                r#""items":[{STRING_3},{{"_def":{{"innerType":{STRING_3},"typeName":"ZodOptional"}}}}],
                "typeName":"ZodTuple","rest":null"#
            ),
            r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"string"}],"items":false,"minItems":2}"#,
        ),
        (
            format!(
                r#""keyType":{{"_def":{{"values":["a","b"],"typeName":"ZodEnum"}}}},
                "valueType":{STRING_3},"typeName":"ZodRecord""#
            ),
            r#"{"type":"object","propertyNames":{"type":"string","enum":["a","b"]},
                "additionalProperties":{"type":"string"}}"#,
        ),
        (
            format!(r#""valueType":{STRING_3},"keyType":{STRING_3},"typeName":"ZodMap""#),
            r#"{"type":"array","items":{"type":"array","prefixItems":[{"type":"string"},{"type":"string"}],
                "items":false,"minItems":2}}"#,
        ),
        (
            format!(r#""valueType":{STRING_3},"minSize":{{"value":1}},"maxSize":null,"typeName":"ZodSet""#),
            r#"{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}"#,
        ),
        (format!(r#""options":[{STRING_3},{{"_def":{{"typeName":"ZodUndefined"}}}}],"typeName":"ZodUnion""#), STRING),
        (r#""typeName":"ZodDiscriminatedUnion","discriminator":"k","options":{}"#.to_owned(), r#"{"type":"object"}"#),
        (format!(r#""innerType":{STRING_3},"typeName":"ZodNullable""#), r#"{"type":["string","null"]}"#),
        (
            r#""innerType":{"_def":{"value":1,"typeName":"ZodLiteral"}},"typeName":"ZodNullable""#.to_owned(),
            r#"{"anyOf":[{"type":"integer","const":1},{"type":"null"}]}"#,
        ),
        (format!(r#""innerType":{STRING_3},"typeName":"ZodDefault""#), STRING),
        (format!(r#""typeName":"ZodBranded","type":{STRING_3}"#), STRING),
        (format!(r#""schema":{STRING_3},"typeName":"ZodEffects","effect":{{"type":"transform"}}"#), STRING),
        (format!(r#""in":{STRING_3},"out":{{"_def":{{"typeName":"ZodNull"}}}},"typeName":"ZodPipeline""#), STRING),
        (format!(r#""type":{STRING_3},"typeName":"ZodPromise""#), STRING),
    ] {
        check_3(&definition, expected);
    }
}

#[test]
fn an_object_of_version_3_has_its_shape_only_after_it_was_used() {
    let object = |keys: &str, cached: &str| {
        format!(
            r#"{{"_def":{{"unknownKeys":"{keys}","catchall":{{"_def":{{"typeName":"ZodNever"}},
            "~standard":{{"version":1,"vendor":"zod"}}}},"typeName":"ZodObject","description":"d"}},
            "~standard":{{"version":1,"vendor":"zod"}},"_cached":{cached}}}"#
        )
    };
    let shape = format!(
        r#"{{"shape":{{"a":{STRING_3},"b":{{"_def":{{"innerType":{STRING_3},"typeName":"ZodOptional"}}}},
        "c":{{"_def":{{"typeName":"ZodAny"}},"_any":true}}}},"keys":["a","b","c"]}}"#
    );
    check(&object("strict", "null"), r#"{"type":"object","description":"d"}"#);
    let properties = r#""type":"object","description":"d","required":["a"],
        "properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{}}"#;
    check(&object("strip", &shape), &format!("{{{properties}}}"));
    check(&object("strict", &shape), &format!(r#"{{{properties},"additionalProperties":false}}"#));
    check(&object("passthrough", &shape), &format!(r#"{{{properties},"additionalProperties":true}}"#));
}

#[test]
fn strings_and_numbers_of_version_4() {
    // 4.6: plain checks leave `{}`, formats are instances of their own.
    check_4("string", r#","checks":[{},{}]"#, STRING);
    check_4(
        "string",
        r#","checks":[{"def":{"type":"string","format":"email","check":"string_format","abort":false,"pattern":{}},
            "type":"string"}]"#,
        r#"{"type":"string","format":"email"}"#,
    );
    check_4(
        "string",
        r#","format":"guid","check":"string_format","pattern":{}"#,
        r#"{"type":"string","format":"uuid"}"#,
    );
    check_4("number", r#","check":"number_format","abort":false,"format":"safeint""#, r#"{"type":"integer"}"#);
    check_4(
        "number",
        r#","check":"number_format","abort":false,"format":"uint32""#,
        r#"{"type":"integer","minimum":0,"maximum":4294967295}"#,
    );
    // 4.1 sums the checks up.
    check(
        r#"{"~standard":{"vendor":"zod","version":1},"def":{"type":"string","checks":[{},{}]},"type":"string",
            "format":null,"minLength":3,"maxLength":null}"#,
        r#"{"type":"string","minLength":3}"#,
    );
    check(
        r#"{"~standard":{"vendor":"zod","version":1},"def":{"type":"number","checks":[{}]},"type":"number",
            "minValue":0,"maxValue":9007199254740991,"isInt":true,"isFinite":true,"format":"safeint"}"#,
        r#"{"type":"integer","minimum":0}"#,
    );
    // The internals, as a serializer of its own may write them.
    check(
        r#"{"_zod":{"def":{"type":"array","element":{"_zod":{"def":{"type":"string"}}},
            "checks":[{"_zod":{"def":{"check":"min_length","minimum":2}}}]}}}"#,
        r#"{"type":"array","items":{"type":"string"},"minItems":2}"#,
    );
}

#[test]
fn the_other_kinds_of_version_4() {
    let enumeration = r#"{"def":{"type":"enum","entries":{"a":"a","b":"b"}},"type":"enum",
        "enum":{"a":"a","b":"b"},"options":["a","b"]}"#;
    let unknown = r#"{"def":{"type":"unknown"},"type":"unknown"}"#;
    let never = r#"{"def":{"type":"never"},"type":"never"}"#;
    let transform = r#"{"def":{"type":"transform"},"type":"transform"}"#;
    check(enumeration, r#"{"type":"string","enum":["a","b"]}"#);
    for (name, definition, expected) in [
        ("bigint", String::new(), r#"{"type":"integer"}"#),
        ("date", r#","checks":[{}]"#.to_owned(), r#"{"type":"string","format":"date-time"}"#),
        ("void", String::new(), r#"{"not":{}}"#),
        ("literal", r#","values":["a",1]"#.to_owned(), r#"{"enum":["a",1]}"#),
        ("enum", r#","entries":{"0":"A","1":"B","A":0,"B":1}"#.to_owned(), r#"{"type":"integer","enum":[0,1]}"#),
        (
            "object",
            format!(r#","shape":{{"a":{STRING_4},"b":{OPTIONAL_4},"c":{unknown}}}"#),
            r#"{"type":"object","required":["a","c"],
                "properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{}}}"#,
        ),
        (
            "object",
            format!(r#","shape":{{"b":{OPTIONAL_4}}},"catchall":{never}"#),
            r#"{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":false}"#,
        ),
        (
            "object",
            format!(r#","shape":{{}},"catchall":{NUMBER_4}"#),
            r#"{"type":"object","properties":{},"additionalProperties":{"type":"number"}}"#,
        ),
        (
            "tuple",
            format!(r#","items":[{STRING_4},{OPTIONAL_4}],"rest":{NUMBER_4}"#),
            r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"string"}],"items":{"type":"number"},
                "minItems":1}"#,
        ),
        (
            "record",
            format!(r#","keyType":{STRING_4},"valueType":{NUMBER_4}"#),
            r#"{"type":"object","additionalProperties":{"type":"number"}}"#,
        ),
        (
            "record",
            format!(r#","keyType":{enumeration},"valueType":{NUMBER_4}"#),
            r#"{"type":"object","required":["a","b"],"propertyNames":{"type":"string","enum":["a","b"]},
                "additionalProperties":{"type":"number"}}"#,
        ),
        (
            "union",
            format!(r#","options":[{STRING_4},{NUMBER_4}],"inclusive":false"#),
            r#"{"anyOf":[{"type":"string"},{"type":"number"}]}"#,
        ),
        (
            "intersection",
            format!(r#","left":{STRING_4},"right":{NUMBER_4}"#),
            r#"{"allOf":[{"type":"string"},{"type":"number"}]}"#,
        ),
        ("nullable", format!(r#","innerType":{unknown}"#), "{}"),
        ("default", format!(r#","innerType":{STRING_4},"defaultValue":"x""#), r#"{"type":"string","default":"x"}"#),
        ("catch", format!(r#","innerType":{STRING_4}"#), STRING),
        ("readonly", format!(r#","innerType":{STRING_4}"#), STRING),
        ("nonoptional", format!(r#","innerType":{OPTIONAL_4}"#), STRING),
        ("pipe", format!(r#","in":{STRING_4},"out":{transform}"#), STRING),
        ("pipe", format!(r#","in":{transform},"out":{STRING_4}"#), STRING),
        ("lazy", String::new(), "{}"),
        ("template_literal", r#","parts":["a"]"#.to_owned(), STRING),
    ] {
        check_4(name, &definition, expected);
    }
}

#[test]
fn a_json_schema_is_never_taken_for_an_instance() {
    for text in [
        "true",
        r#"{"type":"object","properties":{"def":{"type":"string"},"_def":{"type":"object"}}}"#,
        r#"{"type":"object","properties":{},"def":{"type":"object","shape":{}}}"#,
        r#"{"type":"object","def":{"type":"object","properties":{}}}"#,
        r#"{"type":"object","def":{"type":"string"}}"#,
        r#"{"def":{"type":"string"}}"#,
        r##"{"$ref":"#/def/a","def":{"a":{"type":"string"}}}"##,
        r#"{"type":"string","enum":["a"],"def":{"type":"string"}}"#,
        r#"{"_def":{"typeName":"Person"}}"#,
        r#"{"_def":{"typeName":"ZodString"},"properties":{}}"#,
        r#"{"_zod":1,"def":[],"_def":null}"#,
    ] {
        let arena = Arena::default();
        assert_eq!(plain(&read(text, &arena), &arena), None, "{text}");
    }
}

#[test]
fn nesting_is_bounded() {
    let arena = Arena::default();
    let mut json = read(STRING_4, &arena);
    for _ in 0..DEEPEST * 2 {
        let definition = arena.obj(&[("type", Json::Str("array")), ("element", json)]);
        json = arena.obj(&[("def", definition), ("type", Json::Str("array"))]);
    }
    let got = plain(&json, &arena).expect("an instance").to_string();
    assert_eq!(got.matches("items").count(), DEEPEST);
    assert!(got.contains(r#""items":{}}"#));
}

#[test]
fn no_part_of_an_instance_makes_it_panic() {
    let text = r#"{"_def":{"items":[{"_def":{"typeName":"ZodEnum"}}],
        "checks":[1,null,{"kind":"min"},{"check":"string_format"}],"values":{"0":"A"},
        "shape":{"a":{"_def":{"typeName":"ZodObject"}}},"options":[[]],"typeName":"ZodString"}}"#;
    for kind in
        ["String", "Number", "Enum", "Object", "Array", "Tuple", "Record", "Map", "Set", "Union", "Intersection"]
    {
        let text = text.replace("ZodString", &format!("Zod{kind}"));
        let arena = Arena::default();
        _ = plain(&read(&text, &arena), &arena);
    }
}
