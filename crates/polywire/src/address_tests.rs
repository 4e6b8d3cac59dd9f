//! Which texts are paths and base URLs, and which values may stand in them.

use std::collections::BTreeMap;

use super::{Variables, check_base_url, check_path, fill};

fn variables(names: &[&str]) -> Variables {
    names.iter().map(|name| ((*name).to_owned(), vec![name.to_uppercase()])).collect()
}

#[test]
fn paths_cannot_become_part_of_a_host() {
    for path in ["/models", "/models/{model}:generateContent?alt=sse", "/v1internal:generateContent", "/a@b/c"] {
        assert_eq!(check_path(path), Ok(()), "{path}");
    }
    for path in [
        "",
        ".attacker.test:9443/chat/completions",
        "@attacker.test/x",
        ":9443/x",
        ":generateContent",
        "//attacker.test/x",
        "/\\attacker.test/x",
        "\\\\attacker.test",
        "/a\tb",
        "/a\nb",
        "/a b",
        "/a\u{202e}b",
        "/ünïcode",
        "/../x",
        "/a/./b",
        "/a/%2e%2E/b",
        "/a#b",
        "/{env OPENAI_API_KEY}",
        "/{model",
        "/model}",
    ] {
        assert!(check_path(path).is_err(), "{path:?}");
    }
}

#[test]
fn base_urls_are_a_scheme_a_host_and_a_path() {
    let known = variables(&["region", "project"]);
    for url in [
        "https://api.example.com",
        "http://localhost:11434/v1",
        "http://[::1]:80/v1",
        "https://bedrock.{region}.amazonaws.com",
        "https://{region}-ai.googleapis.com/v1/projects/{project}/x",
    ] {
        assert_eq!(check_base_url(url, &known), Ok(()), "{url}");
    }
    for url in [
        "api.example.com",
        "ftp://api.example.com",
        "https:///v1",
        "https://",
        "https://:80",
        "https://user:word@api.example.com",
        "https://api.example.com\\@attacker.test",
        "https://api.example.com?x=1",
        "https://api.example.com#x",
        "https://api.exämple.com",
        "https://аpi.openai.com",
        "https://api.example.com/\n",
        "https://api.example.com/v1/../x",
        "https://attacker.test/{env OPENAI_API_KEY}",
        "https://{region}",
        "https://{region}.test",
        "https://x.{region}.test",
        "https://api.example.com:{region}",
        "https://a.{region}.b.c:{project}",
        "https://api.{region",
        "https://api.{country}.example.com",
    ] {
        assert!(check_base_url(url, &known).is_err(), "{url:?}");
    }
}

#[test]
fn values_stay_within_their_label_or_segment() {
    let known = variables(&["region", "project"]);
    let url = "https://{region}-ai.example.com/projects/{project}/x";
    let with = |region: &str, project: &str| {
        let values = BTreeMap::from([("REGION", region.to_owned()), ("PROJECT", project.to_owned())]);
        fill(url, &known, &|name| values.get(name).cloned().filter(|value| !value.is_empty()))
    };
    assert_eq!(with("eu", "my.com:p_1").as_deref(), Ok("https://eu-ai.example.com/projects/my.com:p_1/x"));
    let error = with("", "p").unwrap_err();
    assert_eq!(error, "the environment variable REGION is not set");
    for region in ["a.b", "attacker.test/", "attacker.test#", "a@b", "a:1", "-a", "a b", "ä", &"a".repeat(64), "a\\b"]
    {
        let error = with(region, "p").unwrap_err();
        assert_eq!(error, "the value of the environment variable REGION is not allowed in a URL", "{region}");
    }
    for project in ["a/b", "..", ".", "a?b", "a#b", "a%2fb", "a b", "a\nb"] {
        assert!(with("eu", project).is_err(), "{project}");
    }
}
