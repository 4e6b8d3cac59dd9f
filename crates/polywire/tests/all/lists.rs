//! Lists of models as providers give them, read without IO, and merged over the rows by the documented precedence.

use std::sync::Arc;

use polywire::wire::{Effort, ThinkingMode};
use polywire::{
    Ability, Catalog, Config, ListPage, ListStyle, Modality, ModelPatch, ModelRow, Origin, When, read_list,
};
use serde_json::{Value, json};

use crate::model;

fn page(provider: &str, body: &Value) -> ListPage {
    let provider = Catalog::built_in().provider(provider).expect("a provider");
    let style = provider.list.as_ref().expect("a list").style;
    read_list(provider, style, body.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn ids(page: &ListPage) -> Vec<&str> {
    page.models.iter().map(|model| model.id.as_str()).collect()
}

#[test]
fn the_plain_form_and_what_hosts_add_to_it() {
    let plain = page("openai", &json!({"object": "list", "data": [{"id": "gpt-x", "object": "model"}]}));
    assert_eq!(plain.models, [ModelPatch::new("openai", "gpt-x")]);
    let groq = page(
        "groq",
        &json!({"data": [
            {"id": "a", "active": true, "context_window": 8192, "max_completion_tokens": 1024},
            {"id": "b", "active": false}
        ]}),
    );
    assert_eq!((groq.models[0].context, groq.models[0].output), (Some(8192), Some(1024)));
    assert_eq!((ids(&groq), groq.passed_over), (vec!["a"], 1));
    let mistral = page(
        "mistral",
        &json!({"data": [
            {"id": "m", "aliases": ["m-latest"], "max_context_length": 32768, "deprecation": "2027-01-01",
             "capabilities": {"completion_chat": true, "function_calling": false, "vision": true}},
            {"id": "m-embed", "capabilities": {"completion_chat": false}}
        ]}),
    );
    let said = &mistral.models[0];
    assert_eq!((ids(&mistral), &said.aliases), (vec!["m"], &vec!["m-latest".to_owned()]));
    assert_eq!(said.not, [Ability::Tools, Ability::ParallelCalls, Ability::ToolsWithOutput]);
    assert_eq!(said.also_reads, [Modality::Image]);
    assert!(said.deprecated.as_ref().is_some_and(|why| why.contains("2027-01-01")));
    let together = page(
        "together",
        &json!([{"id": "chatty", "type": "chat", "context_length": 9}, {"id": "pic", "type": "image"}]),
    );
    assert_eq!((ids(&together), together.models[0].context), (vec!["chatty"], Some(9)));
    assert_eq!(page("vllm", &json!({"data": [{"id": "v", "max_model_len": 4096}]})).models[0].context, Some(4096));
}

#[test]
fn anthropic_states_capabilities_and_pages() {
    let supported = |yes: bool| json!({"supported": yes});
    let types = json!({"adaptive": supported(true), "enabled": supported(false), "disabled": supported(false),
        "between_tools": supported(true)});
    let effort = json!({"supported": true, "low": supported(true), "max": supported(true), "medium": supported(false)});
    let body = json!({"has_more": true, "last_id": "claude-q", "data": [{
        "type": "model", "id": "claude-q", "max_input_tokens": 500_000, "max_tokens": 64_000,
        "capabilities": {"structured_outputs": supported(false), "image_input": supported(true),
            "pdf_input": supported(false), "thinking": {"supported": true, "types": types}, "effort": effort}
    }]});
    let page = page("anthropic", &body);
    let said = &page.models[0];
    assert_eq!(page.next, Some(("after_id", "claude-q".to_owned())));
    assert_eq!((said.context, said.output), (Some(500_000), Some(64_000)));
    assert_eq!(said.not, [Ability::Strict, Ability::NativeOutput]);
    assert_eq!((said.also_reads.as_slice(), said.not_reads.as_slice()), (&[Modality::Image][..], &[Modality::Pdf][..]));
    assert_eq!(said.thinking, Some(vec![ThinkingMode::Adaptive, ThinkingMode::BetweenTools]));
    assert_eq!(said.efforts, Some(vec![Effort::Low, Effort::Max]));
    assert_eq!(said.forced, None, "the list has no word on forced tools");
}

#[test]
fn gemini_ollama_lm_studio_and_openrouter_have_forms_of_their_own() {
    let gemini = page(
        "google",
        &json!({"nextPageToken": "t", "models": [
            {"name": "models/gemini-q", "inputTokenLimit": 7, "outputTokenLimit": 3, "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding-q", "supportedGenerationMethods": ["embedContent"]}
        ]}),
    );
    assert_eq!((ids(&gemini), gemini.passed_over), (vec!["gemini-q"], 1));
    assert_eq!((gemini.models[0].context, gemini.next), (Some(7), Some(("pageToken", "t".to_owned()))));
    let ollama =
        page("ollama", &json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "details": {"family": "qwen3"}}]}));
    assert_eq!(ollama.models, [ModelPatch::new("ollama", "qwen3:8b")]);
    let older = page(
        "lmstudio",
        &json!({"data": [
            {"id": "q", "type": "vlm", "max_context_length": 5, "capabilities": ["tool_use"]}, {"id": "e", "type": "embeddings"}
        ]}),
    );
    let newer = page(
        "lmstudio",
        &json!({"models": [
            {"key": "q", "type": "llm", "max_context_length": 5, "capabilities": {"vision": true, "trained_for_tool_use": true}}
        ]}),
    );
    assert_eq!((ids(&older), ids(&newer)), (vec!["q"], vec!["q"]));
    assert_eq!((older.models[0].context, &older.models[0].also), (Some(5), &vec![Ability::Tools]));
    assert!(newer.models[0].also_reads.contains(&Modality::Image));
    let router = page(
        "openrouter",
        &json!({"data": [{
            "id": "a/b", "context_length": 11, "top_provider": {"max_completion_tokens": null},
            "architecture": {"input_modalities": ["text", "file"], "output_modalities": ["text"]},
            "supported_parameters": ["tools", "structured_outputs", "temperature"]
        }]}),
    );
    let said = &router.models[0];
    assert_eq!((said.output, said.forced, said.sampling), (None, Some(When::Never), None));
    assert_eq!(said.also, [Ability::Tools, Ability::NativeOutput]);
    assert_eq!(said.also_reads, [Modality::Pdf]);
}

/// Bodies that are no lists are errors, entries that are no models are passed over, and nothing panics.
#[test]
fn what_is_no_list_is_an_error() {
    let provider = Catalog::built_in().provider("openai").expect("a provider");
    let styles = [
        ListStyle::Openai,
        ListStyle::Anthropic,
        ListStyle::Gemini,
        ListStyle::Ollama,
        ListStyle::Lmstudio,
        ListStyle::Openrouter,
    ];
    let deep = "[".repeat(100_000);
    for style in styles {
        for body in ["", "<html>", "{}", "3", "{\"data\": 1, \"models\": null}", "\u{0}", deep.as_str()] {
            assert!(read_list(provider, style, body.as_bytes()).is_err(), "{style:?} {body:.9}");
        }
        let odd = br#"{"data": [1, null, {"id": 5}, {"id": ""}, {"id": "a\nb"}], "models": [{"name": []}, [[]]], "has_more": true}"#;
        let page = read_list(provider, style, odd).expect("a list");
        assert!(page.models.is_empty() && page.passed_over > 0 && page.next.is_none(), "{style:?}");
    }
}

fn merged<'r>(rows: &'r [Arc<ModelRow>], id: &str) -> &'r ModelRow {
    rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("{id}"))
}

/// R-D1: the provider's word counts over the catalog's, field by field; what it does not say stays.
#[test]
fn r_d1_lists_count_over_rows_field_by_field() {
    let catalog = Catalog::built_in();
    let ours = model("anthropic/claude-sonnet-4-5").row().clone();
    let mut said = ModelPatch::new("anthropic", "claude-sonnet-4-5");
    (said.context, said.not) = (Some(1), vec![Ability::Strict]);
    let mut dated = ModelPatch::new("anthropic", "claude-sonnet-4-5-20250929");
    dated.context = Some(2);
    let rows = catalog.merge("anthropic", &[dated, said]);
    let row = merged(&rows, "claude-sonnet-4-5");
    assert_eq!(row.context, Some(1), "the id speaks for a model before its other names");
    assert!(!row.can(Ability::Strict) && row.can(Ability::NativeOutput));
    assert_eq!((row.output, row.forced, &row.dated), (ours.output, ours.forced, &ours.dated));
    assert_eq!(row.known_from, [Origin::Catalog, Origin::Provider]);
    assert_eq!(rows.len(), catalog.models_of("anthropic").count());
    let untold = merged(&rows, "claude-haiku-4-5");
    assert_eq!(untold.known_from, [Origin::Catalog]);
}

#[test]
fn a_listed_name_that_nobody_knows_is_taken_for_the_least() {
    let mut catalog = Catalog::built_in().clone();
    let mut new = ModelPatch::new("ollama", "brandnew:7b");
    new.also_reads = vec![Modality::Image];
    let rows = catalog.merge("ollama", &[ModelPatch::new("ollama", "llama3.1:70b"), new.clone(), new]);
    assert_eq!(merged(&rows, "llama3.1:70b").family, model("ollama/llama3.1").row().family);
    assert_eq!(rows.len(), catalog.models_of("ollama").count() + 2);
    catalog.put("ollama", rows);
    let found = catalog.resolve("Ollama/BrandNew:7b").expect("a model");
    assert!(found.row().reads(Modality::Image) && found.row().known_from == [Origin::Provider]);
    assert_eq!(found.changes()[0].code, "unknown-model");
    assert!(catalog.resolve("ollama/llama3.1:70b").expect("a model").changes().is_empty());
}

/// R-D3: empty sources short-circuit: the rows are the very same.
#[test]
fn r_d3_an_empty_list_changes_nothing() {
    let catalog = Catalog::built_in();
    let rows = catalog.merge("openai", &[]);
    assert!(rows.iter().zip(catalog.models_of("openai")).all(|(row, ours)| std::ptr::eq(Arc::as_ptr(row), ours)));
    assert!(catalog.merge("nobody", &[ModelPatch::new("nobody", "x")]).is_empty());
}

/// R-D3: the fingerprint of a slice is made once, is another for another slice, and is empty only where there is none.
#[test]
fn r_d3_fingerprints() {
    let catalog = Catalog::built_in();
    let copy = catalog.clone();
    assert!(std::ptr::eq(catalog.fingerprint("openai"), copy.fingerprint("OpenAI")), "made once");
    assert_eq!(catalog.fingerprint("nobody"), "");
    let all: std::collections::BTreeSet<&str> =
        catalog.providers().map(|provider| catalog.fingerprint(&provider.id)).collect();
    assert!(all.len() == catalog.providers().count() && !all.contains(""));
    let (providers, models) = (include_str!("../../data/providers.toml"), include_str!("../../data/models.toml"));
    let same = Catalog::from_toml(providers, models).expect("rows");
    let other = Catalog::from_toml(providers, &models.replacen("output = 272000", "output = 272001", 1)).expect("rows");
    assert_eq!(catalog.fingerprint("openai"), same.fingerprint("openai"));
    assert_ne!(catalog.fingerprint("openai"), other.fingerprint("openai"));
    assert_eq!(catalog.fingerprint("mistral"), other.fingerprint("mistral"));
}

const CONFIG: &str = r#"
dialects = ["mine.toml"]

[defaults]
model = "acme/big"

[[family]]
id = "acme-family"
can = ["tools", "native-output"]
context = 5000
forced = "always"

[[provider]]
id = "acme"
like = "openai"
base-url = "https://acme.example/v1"
auth = { style = "bearer", env = ["ACME_KEY"] }
unknown = "acme-family"

[[provider.surface]]
id = "chat"
protocol = "openai-chat"
path = "/chat/completions"
dialects = { tool = "mine", output = "mine,openai" }

[[provider]]
id = "groq"
base-url = "https://groq.example/v1"

[[model]]
provider = "acme"
id = "big"
surfaces = ["chat"]
context = 9000
aliases = ["huge"]

[[model]]
provider = "anthropic"
id = "claude-sonnet-4-5"
context = 3
"#;

fn file(name: &str) -> Result<String, String> {
    let text = "id = \"mine\"\ntitle = \"Mine\"\nserves = \"tests\"\nextends = \"openai\"\nsource = \"me\"\nchecked-on = \"2026-01-01\"\n";
    if name == "mine.toml" { Ok(text.to_owned()) } else { Err(format!("`{name}`: there is no such file")) }
}

/// The caller's rows count over what the provider says, and that over the catalog.
#[test]
fn the_configuration_has_the_last_word() {
    let config = Config::read(CONFIG, &file).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    assert_eq!(config.defaults.model.as_deref(), Some("acme/big"));
    let base = config.base(Catalog::built_in());
    let other =
        Config::read("[[provider]]\nid = \"groq\"\nid-prefixes = [\"x-\"]", &file).unwrap().base(Catalog::built_in());
    assert_ne!(other.fingerprint("groq"), base.fingerprint("groq"), "what lists are merged with is another");
    assert_eq!(other.fingerprint("openai"), base.fingerprint("openai"));
    let mut catalog = base.clone();
    let mut said = ModelPatch::new("anthropic", "claude-sonnet-4-5");
    (said.context, said.output) = (Some(1), Some(2));
    catalog.put("anthropic", base.merge("anthropic", &[said]));
    config.over(&mut catalog);
    let row = catalog.resolve("anthropic/claude-sonnet-4-5").expect("a model").row().clone();
    assert_eq!((row.context, row.output), (Some(3), Some(2)));
    assert_eq!(row.known_from, [Origin::Catalog, Origin::Provider, Origin::Config]);
    let big = catalog.resolve("acme/HUGE").expect("a model");
    assert_eq!((big.id(), big.row().context, big.surface().id.as_str()), ("big", Some(9000), "chat"));
    assert!(big.row().can(Ability::NativeOutput) && big.changes().is_empty());
    let acme = big.provider();
    assert!(acme.base_url_env.is_empty() && acme.auth.env == ["ACME_KEY"], "another's key does not go along");
    assert_eq!(acme.surfaces.len(), 2);
    let groq = catalog.provider("groq").expect("a provider");
    assert_eq!(
        (groq.base_url.as_str(), groq.auth.env.as_slice()),
        ("https://groq.example/v1", &["GROQ_API_KEY".to_owned()][..])
    );
    let request = polywire::wire::Request::new("", vec![polywire::wire::Message::user("Hi")]);
    assert_eq!(polywire::plan(&request, &big).endpoint.url, "https://acme.example/v1/chat/completions");
    assert!(Catalog::built_in().provider("acme").is_none());
}

/// Every mistake is told with its line.
#[test]
fn mistakes_in_a_configuration_have_lines() {
    let mistakes = |text: &str| -> Vec<(usize, String)> {
        let told = Config::read(text, &file).expect_err(text);
        told.into_iter().map(|mistake| (mistake.line, mistake.what)).collect()
    };
    let check = |text: &str, expected: &[(usize, &str)]| {
        let told = mistakes(text);
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for ((line, what), (at, says)) in told.iter().zip(expected) {
            assert!(line == at && what.contains(says), "line {line}: {what}; expected line {at}: {says}");
        }
    };
    check("a = 1\n[defaults]\nmodle = 3\nmodel = 4", &[(1, "`a`"), (3, "modle"), (4, "invalid type")]);
    check(
        "[[model]]\nprovider = \"groq\"\ncontext = \"x\"\nid = 3\nalso = [\"fly\"]",
        &[(3, "u64"), (4, "string"), (5, "fly")],
    );
    check("\n[model]\nid = 3", &[(2, "two brackets")]);
    check("[[model]]\nprovider = \"nobody\"\nid = \"x\"", &[(1, "no provider `nobody`")]);
    check("[[model]]\nprovider = \"groq\"\nid = \"x\"\nfamily = \"none\"", &[(1, "no family `none`")]);
    check("[[model]]\nprovider = \"openai\"\nid = \"x\"\naliases = [\"gpt-4o\"]", &[(1, "taken")]);
    check("[[model]]\nprovider = \"openai\"\nid = \"x\"\nsurfaces = [\"fax\"]", &[(1, "no surface `fax`")]);
    check("[[provider]]\nid = \"acme\"\nlike = \"openai\"", &[(1, "`base-url` is missing")]);
    check("[[provider]]\nid = \"acme\"\nlike = \"nobody\"", &[(1, "unknown provider `nobody`")]);
    check("[[family]]\nid = \"gpt-5\"\ncan = []", &[(1, "the family `gpt-5` already exists")]);
    check("dialects = [\n\"mine.toml\",\n\"gone.toml\"]", &[(3, "no such file")]);
    check("[[provider]\nid = 1", &[(1, "]")]);
    check(
        "[[provider]]\nid = \"openai\"\n[[provider.surface]]\nid = \"chat\"\nprotocol = \"openai-chat\"\npath = \"/x\"\ndialects = { tool = \"nope\" }",
        &[(1, "nope")],
    );
    assert!(Config::read("", &file).is_ok());
}
