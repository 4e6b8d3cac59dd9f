//! Dialects that callers write themselves.

use polywire_schema::{Dialect, FitCache, FitOptions};
use serde_json::json;

/// A dialect file with these lines behind its head.
fn file(lines: &str) -> String {
    let head = "id = \"own\"\ntitle = \"own\"\nserves = \"x\"\nsource = \"x\"\nchecked-on = \"2026-11-15\"";
    format!("{head}\n{lines}\n")
}

/// A row of a file.
fn row(lines: &str) -> String {
    format!("{lines}\ncode = \"X-1\"\nsays = \"no\"\nconfidence = \"inferred\"\nsource = \"x\"\n")
}

#[test]
fn an_edited_dialect_gets_fits_of_its_own() {
    let cache = FitCache::new(64);
    let schema = json!({"type": "object", "properties": {"a b": {"type": "string", "minLength": 3, "pattern": "(?=a)"}}, "required": ["a b"]});
    let keys = |pattern: &str| row(&format!("[[rule]]\ndemand = \"keys\"\npattern = \"{pattern}\""));
    let refused = |refuse: &str| row(&format!("[[rule]]\ndemand = \"patterns\"\nrefuse = [\"{refuse}\"]"));
    let words = |names: &str, more: &str| row(&format!("[[keyword]]\nnames = [\"{names}\"]\n{more}"));
    let pairs = [
        (keys("^.*$"), keys("^[a-z]+$")),
        (refused("backreference"), refused("lookaround")),
        (words("title", ""), words("minLength", "")),
        (words("minLength", "up-to = 5"), words("minLength", "")),
        (words("minLength", "slot = \"output\""), words("minLength", "slot = \"tool\"")),
    ];
    for (before, after) in pairs {
        let fit = |text: &str| {
            let own = Dialect::from_toml(&file(text)).unwrap();
            cache.fit(&schema, &own, &FitOptions::default()).unwrap().schema.clone()
        };
        let (old, new) = (fit(&before), fit(&after));
        assert_eq!(old, schema, "{before}");
        assert_ne!(old, new, "{after}");
    }
}

#[test]
fn a_file_that_says_what_cannot_be_is_an_error_that_names_the_row() {
    let rule = |lines: &str| row(&format!("[[rule]]\n{lines}"));
    let cases = [
        (rule("demand = \"keys\"\npattern = \"^([a-z\""), "rule X-1: the pattern `^([a-z` cannot be read"),
        (rule("demand = \"tool-name\"\npattern = \"(?=a)\""), "rule X-1: the pattern `(?=a)` cannot be read"),
        (rule("demand = \"root-plain\"\nrefuse = [\"anyof\"]"), "rule X-1: `refuse`: `anyof` is not a keyword"),
        (rule("demand = \"own-keywords\"\nrefuse = [\"one_of\"]"), "rule X-1: `refuse`: `one_of` is not a keyword"),
        (rule("demand = \"ref-alone\"\nallow = [\"descripton\"]"), "rule X-1: `allow`: `descripton` is not a keyword"),
        (rule("demand = \"typed\"\nallow = [\"$Ref\"]"), "rule X-1: `allow`: `$Ref` is not a keyword"),
        ("accepts = [\"typ\"]".to_owned(), "`accepts`: `typ` is not a keyword"),
        ("fallback = \"nonsense\"".to_owned(), "`fallback` names `nonsense`, which is not a dialect"),
        ("fallback = \"openai, nonsense\"".to_owned(), "`fallback` names `nonsense`, which is not a dialect"),
        ("extends = \"nonsense\"".to_owned(), "`extends` names `nonsense`, which is not a dialect"),
        ("meets = [\"openai\", \"nonsense\"]".to_owned(), "`meets` names `nonsense`, which is not a dialect"),
        ("drops = [\"typed\"]".to_owned(), "`drops` takes demands out of the dialect that `extends` names"),
        (
            format!("meets = [\"openai\", \"gemini\"]\n{}", row("[[keyword]]\nnames = [\"title\"]")),
            "`keyword` (row X-1) stands beside `meets`",
        ),
        (
            format!("meets = [\"openai\", \"gemini\"]\n{}", rule("demand = \"closed\"")),
            "`rule` (row X-1) stands beside `meets`",
        ),
        ("meets = [\"openai\"]\naccepts = [\"type\"]".to_owned(), "`accepts` stands beside `meets`"),
    ];
    for (lines, says) in cases {
        let error = Dialect::from_toml(&file(&lines)).map(|_| ()).expect_err(&lines).to_string();
        assert!(error.starts_with("dialect `own`: ") && error.contains(says), "{lines}\n{error}");
    }
}
