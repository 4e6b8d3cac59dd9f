//! `polywire.toml` as every command sees it.

use std::fs;

use crate::{Home, errors, json};

const CONFIG: &str = r#"
dialects = ["acme.toml"]

[defaults]
model = "acme/small"

[[provider]]
id = "acme"
like = "groq"
base-url = "https://acme.example/v1"
auth = { style = "bearer", env = ["ACME_KEY"] }

[[model]]
provider = "acme"
id = "small"
context = 1234
also = ["native-output"]
"#;

const DIALECT: &str = "id = \"acme-strict\"\ntitle = \"Acme\"\nserves = \"Acme\"\nextends = \"openai-strict\"\nsource = \"us\"\nchecked-on = \"2026-11-16\"\n";

const REQUEST: &str = r#"{"model": "", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}"#;

fn configured(name: &str) -> Home {
    let home = Home::new(name);
    home.write("polywire.toml", CONFIG);
    home.write("acme.toml", DIALECT);
    home.write("request.json", REQUEST);
    home.write("schema.json", r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#);
    let trusted = home.run(&["config", "trust"], &[]);
    assert!(trusted.status.success(), "{}", errors(&trusted));
    home
}

#[test]
fn the_configuration_of_the_working_directory_counts_everywhere() {
    let home = configured("config");
    let check = home.run(&["config", "check"], &[]);
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    let encoded = json(&home.run(&["encode", "request.json", "--to", "acme/small"], &[]));
    assert_eq!(encoded["url"], "https://acme.example/v1/chat/completions");
    assert_eq!(encoded["headers"]["authorization"], "Bearer {env ACME_KEY}");
    assert!(encoded["changes"].as_array().expect("changes").is_empty());
    let planned = json(&home.run(&["plan", "request.json", "--json"], &[]));
    assert_eq!((&planned["provider"], &planned["model"]), (&"acme".into(), &"small".into()), "the default model");
    let shown = json(&home.run(&["models", "show", "acme/small", "--json", "--offline"], &[]));
    assert_eq!((&shown["row"]["context"], &shown["strategy"]), (&1234.into(), &"native".into()));
    let listed = json(&home.run(&["models", "--provider", "acme", "--can", "output", "--json", "--offline"], &[]));
    assert_eq!(listed["models"].as_array().map(Vec::len), Some(1));
    let fitted = json(&home.run(&["fit", "schema.json", "--to", "acme-strict", "--json"], &[]));
    assert_eq!(fitted["schema"]["additionalProperties"], false);
    let asked = home.run(&["ask", "Hi", "--deadline", "1"], &[]);
    assert!(asked.status.code() == Some(2) && errors(&asked).contains("ACME_KEY"), "{}", errors(&asked));
}

/// A provider of one's own is emulated as those of the catalog are, because `ask` offers that to whom has no key.
#[test]
fn providers_of_the_configuration_are_emulated() {
    let home = configured("emulated");
    for model in ["emulator/acme", "emulator/acme/small"] {
        let asked = json(&home.run(&["ask", "Hi", "--model", model, "--schema", "schema.json", "--json"], &[]));
        assert_eq!((&asked["model"], &asked["strategy"]), (&"acme/small".into(), &"native".into()), "{asked}");
    }
}

#[test]
fn config_show_tells_what_counts_and_no_key() {
    let home = configured("show");
    let shown = home.run(&["config", "show", "--json"], &[("ACME_KEY", "very-secret"), ("OPENAI_API_KEY", "")]);
    let told = json(&shown);
    assert_eq!((&told["model"], &told["ttl-hours"]), (&"acme/small".into(), &24.into()));
    assert_eq!(told["providers"], serde_json::json!({"acme": "https://acme.example/v1"}));
    assert_eq!((&told["models"][0], &told["dialects"][0]), (&"acme/small".into(), &"acme-strict".into()));
    assert_eq!(told["keys"], serde_json::json!({"acme": ["ACME_KEY"]}));
    let words = home.run(&["config", "show"], &[("ACME_KEY", "very-secret")]);
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains("acme (ACME_KEY)") && !words.contains("very-secret"), "{words}");
}

#[test]
fn the_users_configuration_counts_where_there_is_no_other() {
    let home = Home::new("users");
    home.write("request.json", REQUEST);
    let told = json(&home.run(&["config", "path", "--json"], &[]));
    assert!(told["config"].is_null());
    let users = std::path::PathBuf::from(told["user"].as_str().expect("a path"));
    fs::create_dir_all(users.parent().expect("a folder")).expect("a folder");
    fs::write(&users, "[defaults]\nmodel = \"openai:chat/gpt-4o\"\n").expect("a file");
    let planned = json(&home.run(&["plan", "request.json", "--json"], &[]));
    assert_eq!(planned["model"], "gpt-4o");
    home.write("polywire.toml", "[defaults]\nmodel = \"openai/gpt-5\"\n");
    let planned = json(&home.run(&["plan", "request.json", "--json"], &[]));
    assert_eq!(planned["model"], "gpt-5", "the working directory comes first");
}

#[test]
fn mistakes_are_told_with_lines_and_stop_other_commands() {
    let home = configured("mistakes");
    home.write(
        "polywire.toml",
        "[defaults]\nmodle = \"a/b\"\n\n[[model]]\nprovider = \"groq\"\nid = \"x\"\ncontext = \"big\"\n",
    );
    let check = home.run(&["config", "check"], &[]);
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert_eq!(check.status.code(), Some(1), "{text}");
    assert!(
        text.contains("polywire.toml:2:1: unknown field `modle`") && text.contains("polywire.toml:7:11:"),
        "{text}"
    );
    let told = json(&home.run(&["config", "check", "--json"], &[]));
    assert_eq!(told["mistakes"][1]["line"], 7);
    let planned = home.run(&["plan", "request.json", "--model", "openai/gpt-5"], &[]);
    assert_eq!(planned.status.code(), Some(2));
    assert!(errors(&planned).contains("line 2") && errors(&planned).contains("config check"), "{}", errors(&planned));
    assert_eq!(home.run(&["config", "check", "nowhere.toml"], &[]).status.code(), Some(2));
    assert_eq!(home.run(&["models", "--provider", "opnai"], &[]).status.code(), Some(2));
    assert!(home.run(&["--version"], &[]).status.success());
}

#[test]
fn models_are_a_table_and_filters_narrow_it() {
    let home = Home::new("table");
    let table = |more: &[&str]| {
        let line = [&["models", "--offline", "--provider", "anthropic"], more].concat();
        let output = home.run(&line, &[]);
        assert!(output.status.success(), "{}", errors(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let all = table(&[]);
    assert!(all.starts_with("model ") && all.contains("deprecated"), "{all}");
    let row = all.lines().find(|line| line.starts_with("anthropic/claude-sonnet-4-5 ")).expect("a row");
    let words = "200k 64k vision pdf tools strict output parallel tools-with-output forced sampling thinking";
    assert_eq!(row.split_whitespace().skip(1).collect::<Vec<_>>().join(" "), words);
    let few = table(&["--can", "forced,strict", "--can", "sampling", "--current", "--least-context", "1000000"]);
    assert!(few.contains("claude-opus-4-6") && !few.contains("claude-sonnet-4-5") && !few.contains("opus-5"), "{few}");
    assert_eq!(table(&["--can", "audio"]), "0 models\n");
    let shown = home.run(&["models", "show", "Anthropic/claude-3-5-haiku", "--offline"], &[]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.status.success() && text.contains("claude-3-5-haiku-20241022") && text.contains("deprecated"),
        "{text}"
    );
    let unknown = home.run(&["models", "show", "anthropic/claude-none", "--offline"], &[]);
    assert_eq!(unknown.status.code(), Some(1), "what is assumed is a finding");
    assert_eq!(home.run(&["models", "show", "anthropic"], &[]).status.code(), Some(2));
    assert_eq!(home.run(&["models", "--refresh", "--offline"], &[]).status.code(), Some(2));
}
