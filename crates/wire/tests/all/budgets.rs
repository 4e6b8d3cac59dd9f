//! Budgets of thinking: what is not taken becomes the nearest that is, and the change says where.

use polywire_wire::{
    Budgets, Change, Effect, Effort, Message, Protocol, Quirk, Reasoning, Request, Surface, ThinkingMode,
};
use serde_json::{Value, json};

const A: Protocol = Protocol::AnthropicMessages;
const B: Protocol = Protocol::BedrockConverse;
const G: Protocol = Protocol::Gemini;

/// The widest budgets, budgets of a model that thinks always, and budgets with a gap above nothing.
const ANY: Budgets = Budgets { least: None, most: None, always: false };
const ALWAYS: Budgets = Budgets { least: Some(128), most: Some(32_768), always: true };
const GAP: Budgets = Budgets { least: Some(512), most: Some(24_576), always: false };

fn encode(protocol: Protocol, budgets: Budgets, limit: Option<u64>, reasoning: Reasoning) -> (Value, Vec<Change>) {
    let surface = Surface { budgets, ..Surface::default() }.with(Quirk::ThinkingBudget);
    encode_on(protocol, &surface, limit, reasoning)
}

fn encode_on(protocol: Protocol, surface: &Surface, limit: Option<u64>, reasoning: Reasoning) -> (Value, Vec<Change>) {
    let words = vec![Message::user("Hello")];
    let request = Request { max_tokens: limit, reasoning: Some(reasoning), ..Request::new("m", words) };
    let encoded = protocol.encode_request(&request, surface);
    let body = encoded.value();
    let places = ["/thinking", "/additionalModelRequestFields/thinking", "/generationConfig/thinkingConfig"];
    let sent = places.iter().find_map(|place| body.pointer(place)).cloned().unwrap_or_default();
    let told = encoded.changes.into_iter().filter(|change| change.at == "/reasoning/budget_tokens").collect();
    (sent, told)
}

fn budget(tokens: u64, mode: Option<ThinkingMode>) -> Reasoning {
    Reasoning { budget_tokens: Some(tokens), mode, ..Reasoning::default() }
}

#[test]
fn a_budget_that_is_not_taken_becomes_the_nearest_that_is_and_it_is_told() {
    let enabled = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let thinking = |tokens: u64| json!({"thinkingBudget": tokens});
    let disabled = json!({"type": "disabled"});
    let rows = [
        (A, ANY, Some(8000), 2000, enabled(2000)),
        (A, ANY, Some(8000), 100, enabled(1024)),
        (A, ANY, Some(8000), 9000, enabled(7999)),
        (A, ANY, Some(8000), 8000, enabled(7999)),
        (A, ANY, Some(1024), 4000, disabled.clone()),
        (A, GAP, Some(90_000), 30_000, enabled(24_576)),
        (B, ANY, Some(8000), 7999, enabled(7999)),
        (B, ANY, Some(8000), 1, enabled(1024)),
        (B, ANY, None, 60_000, enabled(60_000)),
        (B, ANY, Some(500), 4000, disabled),
        (G, ANY, Some(100), 70_000, thinking(70_000)),
        (G, ALWAYS, None, 0, thinking(128)),
        (G, ALWAYS, None, 100, thinking(128)),
        (G, ALWAYS, None, 40_000, thinking(32_768)),
        (G, ALWAYS, None, 32_768, thinking(32_768)),
        (G, GAP, None, 0, thinking(0)),
        (G, GAP, None, 1, thinking(512)),
        (G, GAP, None, 24_577, thinking(24_576)),
    ];
    for (protocol, budgets, limit, wanted, expected) in rows {
        let mode = (protocol != G).then_some(ThinkingMode::Enabled);
        let (sent, told) = encode(protocol, budgets, limit, budget(wanted, mode));
        assert_eq!(sent, expected, "{protocol}: {budgets:?}, limit {limit:?}, budget {wanted}");
        let kept = sent.get("budget_tokens").or(sent.get("thinkingBudget")) == Some(&json!(wanted));
        let effects: Vec<Effect> = told.iter().map(|change| change.effect).collect();
        assert_eq!(effects, if kept { vec![] } else { vec![Effect::Wider] }, "{protocol}: {wanted}: {told:?}");
    }
}

#[test]
fn no_thinking_and_efforts_stay_within_the_budgets_too() {
    let off = Reasoning { mode: Some(ThinkingMode::Disabled), ..Reasoning::default() };
    assert_eq!(encode(G, ALWAYS, None, off.clone()).0, json!({"thinkingBudget": 128}));
    assert_eq!(encode(G, GAP, None, off).0, json!({"thinkingBudget": 0}));
    let none = Reasoning { effort: Some(Effort::None), ..Reasoning::default() };
    let (sent, told) = encode(G, ALWAYS, None, none);
    assert_eq!((sent, told.len()), (json!({"thinkingBudget": 128}), 1));
    let small = Budgets { most: Some(4000), ..Budgets::default() };
    let high = Reasoning { effort: Some(Effort::High), ..Reasoning::default() };
    assert_eq!(encode(G, small, None, high.clone()).0, json!({"thinkingBudget": 4000}));
    assert_eq!(encode(A, ANY, Some(3000), high.clone()).0, json!({"type": "enabled", "budget_tokens": 2999}));
    assert_eq!(encode(A, ANY, Some(900), high).0, json!({"type": "disabled"}));
    assert_eq!(encode(A, ANY, Some(9000), budget(0, None)).0, json!({"type": "disabled"}));
}

#[test]
fn where_the_budget_must_be_below_the_limit_it_is() {
    let budgets = Budgets { least: Some(1024), ..Budgets::default() };
    let surface = Surface { budgets, ..Surface::default() }.with(Quirk::BudgetBelowLimit);
    assert_eq!(encode_on(G, &surface, Some(5000), budget(8000, None)).0, json!({"thinkingBudget": 4999}));
    let (sent, told) = encode_on(G, &surface, Some(1000), budget(8000, None));
    assert_eq!((sent, told.len()), (json!({"thinkingBudget": 0}), 1));
}
