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
