//! The answer to a request, made up from a seed, with the faults that were asked for.

use polywire::wire::{Block, Function, Request, Response, StopReason, Tool, ToolCall, Usage};
use polywire_testkit::sample;
use serde_json::{Value, json};

use crate::decide::{Decision, decide};
use crate::misbehave::Injection;
use crate::tokens::tokens;
use crate::values::{as_json_schema, make};

/// A made-up answer.
pub(crate) struct Reply {
    pub(crate) response: Response,
    /// Whether every made-up value conforms to its schema. A fault that was asked for does not count.
    pub(crate) conforms: bool,
}

/// Makes the answer to a request of so many tokens.
pub(crate) fn reply(request: &Request, input_tokens: u64, seed: u64, injections: &[&Injection]) -> Reply {
    let mut maker = Maker { injections, conforms: true };
    let mut stop = StopReason::EndTurn;
    let content = match decide(request) {
        Decision::Call(function) => {
            stop = StopReason::ToolUse;
            let calls_all = injections.iter().any(|injection| matches!(injection, Injection::CallAllTools));
            let functions = request.tools.iter().filter_map(Tool::as_function);
            let called = functions.filter(|other| calls_all || std::ptr::eq(*other, function));
            let seeds = (0..).map(|step| seed.wrapping_add(step));
            seeds.zip(called).map(|(seed, function)| Block::ToolCall(maker.call(function, seed))).collect()
        }
        Decision::GivenCall { name, arguments } => {
            stop = StopReason::ToolUse;
            vec![Block::ToolCall(ToolCall::new(call_id(seed), name, arguments.to_string()))]
        }
        Decision::Value(schema) => vec![Block::text(maker.text(&schema, seed))],
        Decision::Word(schema) => {
            let value = maker.value(&schema, seed);
            vec![Block::text(value.as_str().map_or_else(|| value.to_string(), str::to_owned))]
        }
        Decision::Text(text) => vec![Block::text(text)],
        Decision::Words => {
            let words = sample(&json!({"type": "string", "minLength": 24}), seed);
            vec![Block::text(words.as_ref().and_then(Value::as_str).unwrap_or("Yes."))]
        }
    };
    let output_tokens = content.iter().map(|block| tokens(block_length(block)) + 1).sum();
    let mut response = Response {
        id: format!("emulated-{seed:016x}"),
        model: request.model.clone(),
        content,
        stop,
        usage: Some(Usage { input_tokens, output_tokens, ..Usage::default() }),
        ..Response::default()
    };
    for injection in injections {
        if let Injection::Response(change) = injection {
            change(&mut response);
        }
    }
    Reply { response, conforms: maker.conforms }
}

fn call_id(seed: u64) -> String {
    format!("c{:08x}", seed & 0xffff_ffff)
}

struct Maker<'a> {
    injections: &'a [&'a Injection],
    conforms: bool,
}

impl Maker<'_> {
    fn call(&mut self, function: &Function, seed: u64) -> ToolCall {
        let none = json!({"type": "object"});
        let arguments = self.value(function.parameters.as_ref().unwrap_or(&none), seed);
        ToolCall::new(call_id(seed), function.name.clone(), arguments.to_string())
    }

    /// A value that conforms, then what is to be wrong with it.
    fn value(&mut self, schema: &Value, seed: u64) -> Value {
        let made = make(schema, seed);
        self.conforms &= made.is_valid;
        let schema = as_json_schema(schema);
        self.injections.iter().fold(made.value, |value, injection| {
            if let Injection::Value(change) = injection { change(value, &schema) } else { value }
        })
    }

    fn text(&mut self, schema: &Value, seed: u64) -> String {
        let text = self.value(schema, seed).to_string();
        self.injections
            .iter()
            .fold(text, |text, injection| if let Injection::Text(change) = injection { change(&text) } else { text })
    }
}

fn block_length(block: &Block) -> usize {
    let text = if let Block::Text(text) = block { text.text.len() } else { 0 };
    block.as_call().map_or(text, |call| call.arguments.len())
}
