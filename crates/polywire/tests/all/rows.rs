//! The rows themselves, and the way from a name to a row.

use polywire::schema::target;
use polywire::wire::{Protocol, Strategy};
use polywire::{Ability, Catalog, Effect, ResolveError, When};

use crate::model;

const NAMED: [&str; 21] = [
    "openai",
    "azure",
    "anthropic",
    "google",
    "vertex",
    "bedrock",
    "gemini-cli",
    "cca",
    "xai",
    "groq",
    "mistral",
    "deepseek",
    "cerebras",
    "fireworks",
    "together",
    "openrouter",
    "ollama",
    "vllm",
    "llamacpp",
    "lmstudio",
    "moonshot",
];

#[test]
fn the_rows_can_be_read() {
    let rows = Catalog::from_toml(include_str!("../../data/providers.toml"), include_str!("../../data/models.toml"));
    let rows = rows.unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<&str> = rows.providers().map(|provider| provider.id.as_str()).collect();
    assert_eq!(ids, NAMED);
    assert!(rows.models().count() >= 120, "R-D1 asks for 120 rows");
}

#[test]
fn a_row_with_a_mistake_is_refused_by_name() {
    let models = include_str!("../../data/models.toml");
    let providers = include_str!("../../data/providers.toml");
    let check = |providers: &str, models: &str, says: &str| {
        let error = Catalog::from_toml(providers, models).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    check(&providers.replacen("base-url =", "base-uri =", 1), models, "base-uri");
    check(&providers.replacen("\"openai-strict\"", "\"open-strict\"", 1), models, "open-strict");
    check(&providers.replacen("\"legacy-max-tokens\"", "\"legacy\"", 1), models, "legacy");
    check(providers, &models.replacen("family = \"gpt-5\"", "family = \"gpt-99\"", 1), "gpt-99");
    check(providers, &models.replacen("dated = [\"gpt-4o-2024-08-06\"", "dated = [\"gpt-4o\"", 1), "is taken");
}

#[test]
fn every_row_says_where_it_is_from_and_which_variables_hold_its_key() {
    for provider in Catalog::built_in().providers() {
        assert!(!provider.source.is_empty() && provider.checked_on.starts_with("20"), "{}", provider.id);
        assert!(!provider.auth.env.is_empty(), "{}", provider.id);
        for surface in &provider.surfaces {
            let ids = [&surface.dialects.tool, &surface.dialects.tool_strict];
            assert!(ids.iter().any(|id| id.is_some()), "{}:{} has no dialect for tools", provider.id, surface.id);
            for ids in [&surface.dialects.tool_strict, &surface.dialects.output_strict].into_iter().flatten() {
                assert!(target(ids).unwrap().strict(), "{ids} has no strict flag");
            }
        }
    }
}

#[test]
fn r_c9_names_resolve_whatever_their_case() {
    let sent = |name: &str| model(name).name();
    assert_eq!(sent("OpenAI/GPT-4o"), "openai/gpt-4o");
    assert_eq!(sent("openai/gpt-4o-2024-08-06"), "openai/gpt-4o-2024-08-06");
    assert_eq!(sent("Gemini/GEMINI-2.5-PRO"), "google/gemini-2.5-pro");
    assert_eq!(sent("anthropic/claude-3-7-sonnet"), "anthropic/claude-3-7-sonnet-20250219");
    assert_eq!(sent("fireworks/kimi-k2-instruct"), "fireworks/accounts/fireworks/models/kimi-k2-instruct");
    assert_eq!(
        sent("together/meta-llama/llama-3.3-70b-instruct-turbo"),
        "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"
    );
}

#[test]
fn what_does_not_make_another_model_is_seen_through() {
    let family = |name: &str| model(name).row().family.clone();
    let plain = |name: &str| assert!(model(name).changes().is_empty(), "{name}");
    for name in [
        "anthropic/claude-opus-5-5-20261103",
        "openai/gpt-5.2-2026-01-31",
        "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/us.anthropic.claude-opus-5-5-v1:0",
        "vertex/claude-opus-5@20260801",
        "ollama/llama3.1:70b-instruct-q4",
        "openrouter/openai/gpt-5:online",
    ] {
        plain(name);
    }
    assert_eq!(family("bedrock/us.anthropic.claude-opus-5-5-v1:0"), "claude-unforced");
    assert_eq!(model("bedrock/us.anthropic.claude-opus-5-5-v1:0").id(), "us.anthropic.claude-opus-5-5-v1:0");
    assert_eq!(model("ollama/llama3.1:70b-instruct-q4").id(), "llama3.1:70b-instruct-q4");
}

#[test]
fn an_unknown_model_is_taken_for_the_least_and_says_so() {
    let unknown = model("anthropic/claude-zebra-9");
    assert_eq!(unknown.id(), "claude-zebra-9");
    assert_eq!(unknown.row().forced, When::Never);
    assert_eq!((unknown.changes()[0].code.as_str(), unknown.changes()[0].effect), ("unknown-model", Effect::Note));
    assert_eq!(model("openai/gpt-4-turbo").changes()[0].code, "deprecated");
}

#[test]
fn unknown_providers_and_surfaces_are_errors_that_say_what_there_is() {
    let error = |name: &str| Catalog::built_in().resolve(name).expect_err(name);
    assert!(error("acme/model").to_string().contains("the known providers are: openai, azure"));
    assert!(matches!(error("openai:grpc/gpt-5"), ResolveError::UnknownSurface { .. }));
    assert!(matches!(error("openai:chat/gpt-5-pro"), ResolveError::NotServed { .. }));
}

#[test]
fn every_protocol_has_an_owner() {
    let owners =
        Protocol::ALL.map(|protocol| Catalog::built_in().of_protocol(protocol, "m").unwrap().provider().id.clone());
    assert_eq!(owners, ["openai", "openai", "anthropic", "google", "bedrock"]);
}

/// R-C5: the row picks the strategy, once.
#[test]
fn r_c5_the_row_picks_the_strategy() {
    let strategy = |name: &str| model(name).strategy();
    assert_eq!(strategy("openai/gpt-5"), Strategy::Native);
    assert_eq!(strategy("anthropic/claude-sonnet-4-5"), Strategy::Native);
    assert_eq!(strategy("anthropic/claude-3-5-haiku"), Strategy::Tool);
    assert_eq!(strategy("vertex/claude-opus-5"), Strategy::Tool);
    assert_eq!(strategy("deepseek/deepseek-chat"), Strategy::Tool);
    assert_eq!(strategy("deepseek/deepseek-reasoner"), Strategy::Prompted);
    assert_eq!(strategy("google/gemma-3-27b-it"), Strategy::Prompted);
}

/// The special rules of the facts, row by row.
#[test]
fn special_models_have_their_rules() {
    for name in ["claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5", "claude-sonnet-5-5"] {
        assert_eq!(model(&format!("anthropic/{name}")).row().forced, When::Never, "{name}");
    }
    assert_eq!(model("anthropic/claude-haiku-5-5").row().forced, When::Always);
    assert_eq!(model("anthropic/claude-opus-4-5").row().forced, When::UnlessThinking);
    let efforts =
        |name: &str| model(name).row().efforts.iter().map(|e| e.word().to_owned()).collect::<Vec<_>>().join(" ");
    assert_eq!(efforts("openai/gpt-5-pro"), "high");
    assert_eq!(efforts("openai/gpt-5"), "minimal low medium high");
    assert_eq!(efforts("openai/gpt-6-astra"), "low medium high xhigh max");
    assert!(!model("google/gemini-2.5-pro").row().can(Ability::ToolsWithOutput));
    assert!(model("google/gemini-3.1-pro-preview").row().can(Ability::ToolsWithOutput));
    assert!(!model("openai/gpt-4o-2024-05-13").row().can(Ability::NativeOutput));
    assert!(!model("bedrock/anthropic.claude-opus-4-1").row().can(Ability::Strict));
}

/// A row says nothing that its other words deny.
#[test]
fn rows_do_not_contradict_themselves() {
    for row in Catalog::built_in().models() {
        let name = format!("{}/{}", row.provider, row.id);
        let tools = row.can(Ability::Tools);
        assert!(
            tools || !row.can(Ability::ParallelCalls) && !row.can(Ability::ToolsWithOutput),
            "{name}: calls without tools"
        );
        assert!(row.efforts_without_thinking.iter().all(|effort| row.efforts.contains(effort)), "{name}: efforts");
        assert!(row.default_effort.iter().all(|effort| row.efforts.contains(effort)), "{name}: default effort");
        assert!(row.output.zip(row.context).is_none_or(|(output, context)| output <= context), "{name}: limits");
        assert!(row.reads(polywire::Modality::Text), "{name}: text");
    }
}

/// The facts about thinking switched off, instructions and sampling that only some models have.
#[test]
fn rare_rules_are_planned() {
    use polywire::wire::{Effort, Message, Reasoning, Request, Text, ThinkingMode};
    let body = |name: &str, request: &Request| -> serde_json::Value {
        let plan = polywire::plan(request, &model(name));
        serde_json::from_str(plan.body.get()).unwrap()
    };
    let mut calm = Request::new("", vec![Message::user("Hi")]);
    calm.reasoning =
        Some(Reasoning { mode: Some(ThinkingMode::Disabled), effort: Some(Effort::Max), ..Reasoning::default() });
    for name in ["anthropic/claude-opus-5", "anthropic/claude-haiku-5-5"] {
        assert_eq!(body(name, &calm)["output_config"]["effort"], "high", "{name}");
    }
    assert_eq!(body("anthropic/claude-sonnet-5", &calm)["output_config"]["effort"], "max");
    let mut both = Request::new("", vec![Message::user("Hi")]);
    (both.temperature, both.top_p) = (Some(0.5), Some(0.9));
    let sent = body("anthropic/claude-opus-4-1", &both);
    assert!(sent["temperature"] == 0.5 && sent["top_p"].is_null(), "{sent}");
    assert!(!body("anthropic/claude-sonnet-4-5", &both)["top_p"].is_null());
    let mut told = Request::new("", vec![Message::user("Hi")]);
    told.system = vec![Text { text: "Be brief.".to_owned(), ..Text::default() }];
    let sent = body("google/gemma-3-27b-it", &told);
    assert!(sent["systemInstruction"].is_null() && sent["contents"][0]["parts"][0]["text"] == "Be brief.", "{sent}");
    let changes = polywire::plan(&told, &model("google/gemma-3-27b-it")).changes().to_vec();
    assert!(changes.iter().any(|change| change.code == "no-instructions" && change.effect == Effect::Same));
    let pro = model("google/gemini-2.5-pro").row().thinking.clone();
    assert!(!pro.contains(&ThinkingMode::Disabled), "it only works in thinking mode");
    assert!(model("google/gemini-2.5-flash").row().thinking.contains(&ThinkingMode::Disabled));
}
