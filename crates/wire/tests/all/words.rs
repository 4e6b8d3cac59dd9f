//! What each protocol has words for: one row a thing that can be said, with the protocols that say it exactly. The rows make
//! the values that law 5 compares, and the law holds the rows to the truth: who is in a row says it without a change, who is
//! not tells that it gave.

use std::collections::BTreeMap;

use polywire_wire::{
    Audio, Block, Cache, Document, Effort, Extra, Function, Image, Message, Other, Output, OutputFormat, Protocol,
    Reasoning, RedactedThinking, Request, Response, ResultBlock, Role, Signature, Source, StopReason, Text, Thinking,
    ThinkingMode, Tool, ToolCall, ToolChoice, ToolOrigin, ToolResult, ToolResultReference,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::generate::{base64, eighth, id, json_object, name, plain_request, plain_response, text};

const C: Protocol = Protocol::OpenAiChat;
const R: Protocol = Protocol::OpenAiResponses;
const A: Protocol = Protocol::AnthropicMessages;
const G: Protocol = Protocol::Gemini;
const B: Protocol = Protocol::BedrockConverse;

/// One thing that can be said in a value.
pub(crate) struct Word<T> {
    pub(crate) name: &'static str,
    pub(crate) said_by: &'static [Protocol],
    add: fn(&mut T, &Dice),
}

impl<T> Word<T> {
    pub(crate) fn add(&self, value: &mut T, dice: &Dice) {
        (self.add)(value, dice);
    }

    pub(crate) fn is_said_by(&self, protocol: Protocol) -> bool {
        self.said_by.contains(&protocol)
    }
}

fn custom() -> ToolOrigin {
    ToolOrigin { custom: true, namespace: None, member: None }
}

/// What chance gives to a word.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    pub(crate) protocol: Protocol,
    text: String,
    other_text: String,
    name: String,
    id: String,
    base64: String,
    object: Value,
    eighth: f64,
    count: u64,
    coin: bool,
}

pub(crate) fn dice(protocol: Protocol) -> impl Strategy<Value = Dice> {
    let words = (text(), text(), name(), id(), base64());
    (words, json_object(), eighth(), 1..999_u64, any::<bool>()).prop_map(
        move |((text, other_text, name, id, base64), object, eighth, count, coin)| Dice {
            protocol,
            text,
            other_text,
            name,
            id,
            base64,
            object,
            eighth,
            count,
            coin,
        },
    )
}

impl Dice {
    fn signature(&self) -> Signature {
        Signature { from: self.protocol, data: self.base64.clone() }
    }

    fn cache(&self) -> Cache {
        Cache { ttl: self.coin.then(|| "1h".to_owned()) }
    }

    fn fields(&self) -> Extra {
        // Google refuses names that it does not know, so they are not sent.
        self.field(if self.protocol == G { "partMetadata" } else { "x_own" })
    }

    fn tool_fields(&self) -> Extra {
        self.field(if self.protocol == G { "response" } else { "x_own" })
    }

    fn field(&self, name: &str) -> Extra {
        Extra::of(self.protocol, Map::from_iter([(name.to_owned(), self.object.clone())]))
    }

    fn other(&self) -> Other {
        let value = if self.protocol == G {
            json!({"executableCode": {"language": "PYTHON", "code": self.text}})
        } else {
            json!({"type": "made_up", "made": self.text})
        };
        Other { protocol: self.protocol, value }
    }

    fn text(&self) -> Text {
        Text { text: self.text.clone(), ..Text::default() }
    }

    fn image(&self) -> Image {
        let media = if self.coin { "image/png" } else { "image/jpeg" };
        Image { source: Source::base64(media, self.base64.clone()), ..Image::default() }
    }

    fn document(&self, source: Source) -> Block {
        Block::Document(Document { source, name: Some(self.name.clone()), ..Document::default() })
    }

    fn pdf(&self) -> Source {
        Source::base64("application/pdf", self.base64.clone())
    }

    fn address(&self) -> Source {
        Source::url(format!("https://example.com/{}", self.name))
    }

    fn typed_address(&self, kind: &str) -> Source {
        Source::Url { url: format!("https://example.com/{}", self.name), media_type: Some(kind.to_owned()) }
    }

    fn words(&self) -> Source {
        Source::Text { text: self.text.clone() }
    }

    fn custom_call(&self) -> ToolCall {
        ToolCall { arguments: json!({"input": self.text}).to_string(), origin: Some(custom()), ..self.call() }
    }

    /// The flat name and the origin of a tool of a namespace.
    fn member(&self) -> (String, Option<ToolOrigin>) {
        let (namespace, member) = (Some("space".to_owned()), Some(format!("more_{}", self.name)));
        (format!("space__more_{}", self.name), Some(ToolOrigin { custom: false, namespace, member }))
    }

    fn member_call(&self) -> ToolCall {
        let (name, origin) = self.member();
        ToolCall { name, origin, ..self.call() }
    }

    fn call(&self) -> ToolCall {
        ToolCall::new(format!("more-{}", self.id), &self.name, self.object.to_string())
    }

    fn result(&self) -> ToolResult {
        ToolResult::text(format!("more-{}", self.id), &self.other_text)
    }

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {self.name.clone(): {"type": "string"}}})
    }
}

/// Says something more in the last turn, which is the user's.
fn ask(request: &mut Request, block: Block) {
    request.messages.last_mut().unwrap().content.push(block);
}

/// One more round in front of the last turn: a question, what the model said, its call and the result.
fn round(request: &mut Request, said: Vec<Block>, call: ToolCall, result: ToolResult) {
    let last = request.messages.pop().unwrap();
    let mut said = said;
    said.push(Block::ToolCall(call));
    request.messages.push(Message::user("look"));
    request.messages.push(Message::new(Role::Assistant, said));
    request.messages.push(Message::tool([result]));
    request.messages.push(Message::assistant("seen"));
    request.messages.push(last);
}

/// One more round whose result has a block beside its text.
fn found(request: &mut Request, dice: &Dice, block: ResultBlock) {
    let content = vec![ResultBlock::text(&dice.other_text), block];
    round(request, Vec::new(), dice.call(), ToolResult { content, ..dice.result() });
}

/// One more round whose result is stored elsewhere.
fn round_stored(request: &mut Request, dice: &Dice, extra: Extra) {
    round(request, Vec::new(), dice.call(), dice.result());
    let stored = ToolResultReference {
        call_id: dice.result().call_id,
        path: dice.name.clone(),
        bytes: dice.count,
        preview: dice.text.clone(),
        extra,
    };
    let place = request.messages.len() - 3;
    request.messages[place].content = vec![Block::ToolResultReference(stored)];
}

fn tool(request: &mut Request, make: impl FnOnce(&mut Function), dice: &Dice) {
    let mut function = Function {
        name: format!("more_{}", dice.name),
        description: Some(dice.text.clone()),
        parameters: Some(dice.schema()),
        ..Function::default()
    };
    make(&mut function);
    request.tools.push(Tool::Function(function));
}

fn think(request: &mut Request, effort: Option<Effort>, mode: Option<ThinkingMode>, budget_tokens: Option<u64>) {
    let visible = request.reasoning.as_ref().and_then(|reasoning| reasoning.visible);
    request.reasoning = Some(Reasoning { effort, budget_tokens, mode, visible });
    // There must be room to think.
    request.max_tokens = Some(4096);
}

fn format(request: &mut Request, made: OutputFormat) {
    request.output = Some(Output::Schema(made));
}

macro_rules! words {
    ($name:ident: $type:ty { $($word:literal [$($by:ident)*] |$value:ident, $dice:ident| $add:expr;)* }) => {
        pub(crate) const $name: &[Word<$type>] = &[
            $(Word { name: $word, said_by: &[$($by),*], add: |$value, $dice| { $add; } },)*
        ];
    };
}

words! { REQUEST_WORDS: Request {
    "temperature" [C R A G B] |r, d| r.temperature = Some(d.eighth);
    "top_p" [C R A G B] |r, d| r.top_p = Some(d.eighth);
    "top_k" [A G B] |r, d| r.top_k = Some(d.count);
    "seed" [C G] |r, d| r.seed = i64::try_from(d.count).ok();
    "penalties" [C G] |r, d| (r.frequency_penalty, r.presence_penalty) = (Some(d.eighth), Some(0.5));
    "stop texts" [C A G B] |r, d| r.stop = vec![d.text.clone(), d.other_text.clone()];
    "labels" [C R G B] |r, d| r.metadata = [(d.name.clone(), d.text.clone())].into();
    "user" [C R A] |r, d| r.user = Some(d.id.clone());
    "fields of the request" [C R A G B] |r, d| r.extra = d.fields();
    "choice: auto" [C R A G B] |r, _d| r.tool_choice = Some(ToolChoice::Auto);
    "choice: none" [C R A G] |r, _d| r.tool_choice = Some(ToolChoice::None);
    "choice: some tool" [C R A G B] |r, _d| r.tool_choice = Some(ToolChoice::Required);
    "choice: this tool" [C R A G B] |r, d| r.tool_choice = Some(ToolChoice::Tool(d.name.clone()));
    "choice: among" [C R G] |r, d| r.tool_choice = Some(ToolChoice::AnyOf(vec![d.name.clone(), "f".to_owned()]));
    "choice: one among" [C R G] |r, d| r.tool_choice = Some(ToolChoice::OneOf(vec![d.name.clone(), "f".to_owned()]));
    "parallel" [C R] |r, d| (r.tool_choice, r.parallel_tool_calls) = (None, Some(d.coin));
    "parallel beside a choice" [C R A] |r, d| (r.tool_choice, r.parallel_tool_calls) = (Some(ToolChoice::Required), Some(d.coin));
    "free json" [C R G] |r, _d| r.output = Some(Output::Json);
    "a named strict format" [C R B] |r, d| format(r, OutputFormat::strict(&d.name, d.schema()).unwrap().with_description(Some(d.text.clone())));
    "a named loose format" [C R] |r, d| format(r, OutputFormat::best_effort(&d.name, d.schema()).unwrap());
    "a strict format" [C R A G B] |r, d| format(r, OutputFormat::strict("output", d.schema()).unwrap());
    "thinking adaptive" [A G B] |r, _d| think(r, None, Some(ThinkingMode::Adaptive), None);
    "thinking enabled" [A B] |r, d| think(r, None, Some(ThinkingMode::Enabled), Some(1024 + d.count));
    "thinking disabled" [A B] |r, _d| think(r, None, Some(ThinkingMode::Disabled), None);
    "thinking budget" [G] |r, d| think(r, None, None, Some(1024 + d.count));
    "adaptive effort" [A B] |r, _d| think(r, Some(Effort::Medium), Some(ThinkingMode::Adaptive), None);
    "effort none" [C R] |r, _d| think(r, Some(Effort::None), None, None);
    "effort minimal" [C R G] |r, _d| think(r, Some(Effort::Minimal), None, None);
    "effort high" [C R G B] |r, _d| think(r, Some(Effort::High), None, None);
    "effort max" [C R B] |r, _d| think(r, Some(Effort::Max), None, None);
    "visible thoughts" [R G] |r, _d| r.reasoning = Some(Reasoning { visible: Some(true), ..Reasoning::default() });
    "a tool without parameters" [C R G] |r, d| tool(r, |tool| tool.parameters = None, d);
    "a tool without words" [C R A G B] |r, d| tool(r, |tool| tool.description = None, d);
    "a strict tool" [C R A B] |r, d| tool(r, |tool| tool.strict = Some(true), d);
    "a loose tool" [C A B] |r, d| tool(r, |tool| tool.strict = Some(false), d);
    "a custom tool" [C R] |r, d| tool(r, |tool| (tool.origin, tool.parameters) = (Some(custom()), Some(ToolOrigin::custom_parameters())), d);
    "a tool of a namespace" [R] |r, d| tool(r, |tool| (tool.name, tool.origin) = d.member(), d);
    "a remembered tool" [A B] |r, d| tool(r, |tool| tool.cache = Some(d.cache()), d);
    "fields of a tool" [C R A G B] |r, d| tool(r, |tool| tool.extra = d.tool_fields(), d);
    "another tool" [C R A G B] |r, d| r.tools.push(Tool::Other(d.other()));
    "two instructions" [A G B] |r, d| r.system = vec![d.text(), Text { text: d.other_text.clone(), ..Text::default() }];
    "a remembered instruction" [A B] |r, d| r.system = vec![Text { cache: Some(d.cache()), ..d.text() }];
    "fields of a turn" [C R A B] |r, d| r.messages.last_mut().unwrap().extra = d.fields();
    "a remembered text" [A B] |r, d| ask(r, Block::Text(Text { cache: Some(d.cache()), ..d.text() }));
    "fields of a text" [C R A G] |r, d| ask(r, Block::Text(Text { extra: d.fields(), ..d.text() }));
    "an image" [C R A G B] |r, d| ask(r, Block::Image(d.image()));
    "an image at an address" [C R A G] |r, d| ask(r, Block::Image(Image { source: d.address(), ..Image::default() }));
    "a stored image" [R A] |r, d| ask(r, Block::Image(Image { source: Source::File { id: d.id.clone() }, ..Image::default() }));
    "an image with detail" [C R] |r, d| ask(r, Block::Image(Image { detail: Some("low".to_owned()), ..d.image() }));
    "a remembered image" [A B] |r, d| ask(r, Block::Image(Image { cache: Some(d.cache()), ..d.image() }));
    "fields of an image" [C R A G B] |r, d| ask(r, Block::Image(Image { extra: d.fields(), ..d.image() }));
    "a document" [C R A G B] |r, d| ask(r, d.document(d.pdf()));
    "a document at an address" [R A] |r, d| ask(r, d.document(d.address()));
    "a stored document" [C R A] |r, d| ask(r, d.document(Source::File { id: d.id.clone() }));
    "a document of text" [A B] |r, d| ask(r, d.document(Source::Text { text: d.text.clone() }));
    "a recording" [C R G B] |r, d| ask(r, Block::Audio(Audio { source: Source::base64("audio/wav", d.base64.clone()), ..Audio::default() }));
    "another block" [C R A G B] |r, d| ask(r, Block::Other(d.other()));
    "another block of the model" [C R A G B] |r, d| round(r, vec![Block::Other(d.other())], d.call(), d.result());
    "words before a call" [C R A G B] |r, d| round(r, vec![Block::Text(d.text())], d.call(), d.result());
    "a plain thought" [C G B] |r, d| round(r, vec![Block::Thinking(Thinking { text: d.text.clone(), ..Thinking::default() })], d.call(), d.result());
    "a signed thought" [R A G B] |r, d| round(r, vec![Block::Thinking(Thinking { text: d.text.clone(), signature: Some(d.signature()), ..Thinking::default() })], d.call(), d.result());
    "a sealed thought" [A B] |r, d| round(r, vec![Block::RedactedThinking(RedactedThinking { signature: d.signature() })], d.call(), d.result());
    "a signed text" [G] |r, d| round(r, vec![Block::Text(Text { signature: Some(d.signature()), ..d.text() })], d.call(), d.result());
    "a custom call" [C R] |r, d| round(r, Vec::new(), d.custom_call(), d.result());
    "a call of a namespace" [R] |r, d| round(r, Vec::new(), d.member_call(), d.result());
    "a signed call" [G] |r, d| round(r, Vec::new(), ToolCall { signature: Some(d.signature()), ..d.call() }, d.result());
    "fields of a call" [C R A G B] |r, d| round(r, Vec::new(), ToolCall { extra: d.fields(), ..d.call() }, d.result());
    "a remembered call" [A B] |r, d| round(r, Vec::new(), ToolCall { cache: Some(d.cache()), ..d.call() }, d.result());
    "a failed result" [A G B] |r, d| round(r, Vec::new(), d.call(), ToolResult { is_error: true, ..d.result() });
    "a remembered result" [A B] |r, d| round(r, Vec::new(), d.call(), ToolResult { cache: Some(d.cache()), ..d.result() });
    "fields of a result" [C R A G B] |r, d| round(r, Vec::new(), d.call(), ToolResult { extra: d.fields(), ..d.result() });
    "a result of two texts" [R A B] |r, d| round(r, Vec::new(), d.call(), ToolResult { content: vec![ResultBlock::text(&d.text), ResultBlock::text(&d.other_text)], ..d.result() });
    "a result of json" [G B] |r, d| round(r, Vec::new(), d.call(), ToolResult { content: vec![ResultBlock::Json { value: d.object.clone() }], ..d.result() });
    "an image in a result" [R A B] |r, d| round(r, Vec::new(), d.call(), ToolResult { content: vec![ResultBlock::text(&d.text), ResultBlock::Image(d.image())], ..d.result() });
    "an empty result" [C R A G] |r, d| round(r, Vec::new(), d.call(), ToolResult { content: Vec::new(), ..d.result() });
    "a format by a tool" [] |r, d| format(r, OutputFormat::strict("output", d.schema()).unwrap().with_strategy(polywire_wire::Strategy::Tool));
    "fields of an instruction" [C A G] |r, d| r.system = vec![Text { extra: d.fields(), ..d.text() }];
    "a signed instruction" [G] |r, d| r.system = vec![Text { signature: Some(d.signature()), ..d.text() }];
    "an image at an address of a kind" [G] |r, d| ask(r, Block::Image(Image { source: d.typed_address("image/png"), ..Image::default() }));
    "an image of text" [] |r, d| ask(r, Block::Image(Image { source: d.words(), ..Image::default() }));
    "a document at an address of a kind" [G] |r, d| ask(r, d.document(d.typed_address("application/pdf")));
    "a remembered document" [A B] |r, d| ask(r, Block::Document(Document { source: d.pdf(), cache: Some(d.cache()), name: Some(d.name.clone()), ..Document::default() }));
    "fields of a document" [C R A G B] |r, d| ask(r, Block::Document(Document { source: d.pdf(), extra: d.fields(), name: Some(d.name.clone()), ..Document::default() }));
    "a recording at an address" [G] |r, d| ask(r, Block::Audio(Audio { source: d.typed_address("audio/wav"), ..Audio::default() }));
    "a stored recording" [] |r, d| ask(r, Block::Audio(Audio { source: Source::File { id: d.id.clone() }, ..Audio::default() }));
    "a recording of text" [] |r, d| ask(r, Block::Audio(Audio { source: d.words(), ..Audio::default() }));
    "fields of a recording" [C R G B] |r, d| ask(r, Block::Audio(Audio { source: Source::base64("audio/wav", d.base64.clone()), extra: d.fields() }));
    "fields of a thought" [R A G] |r, d| round(r, vec![Block::Thinking(Thinking { text: d.text.clone(), signature: Some(d.signature()), extra: d.fields() })], d.call(), d.result());
    "a stored result" [] |r, d| round_stored(r, d, Extra::default());
    "fields of a stored result" [] |r, d| round_stored(r, d, d.fields());
    "a remembered text in a result" [A] |r, d| found(r, d, ResultBlock::Text(Text { cache: Some(d.cache()), ..d.text() }));
    "fields of a text in a result" [R A] |r, d| found(r, d, ResultBlock::Text(Text { extra: d.fields(), ..d.text() }));
    "a signed text in a result" [] |r, d| found(r, d, ResultBlock::Text(Text { signature: Some(d.signature()), ..d.text() }));
    "an image at an address in a result" [R A] |r, d| found(r, d, ResultBlock::Image(Image { source: d.address(), ..Image::default() }));
    "an image at an address of a kind in a result" [] |r, d| found(r, d, ResultBlock::Image(Image { source: d.typed_address("image/png"), ..Image::default() }));
    "a stored image in a result" [R A] |r, d| found(r, d, ResultBlock::Image(Image { source: Source::File { id: d.id.clone() }, ..Image::default() }));
    "an image of text in a result" [] |r, d| found(r, d, ResultBlock::Image(Image { source: d.words(), ..Image::default() }));
    "an image with detail in a result" [R] |r, d| found(r, d, ResultBlock::Image(Image { detail: Some("low".to_owned()), ..d.image() }));
    "a remembered image in a result" [A] |r, d| found(r, d, ResultBlock::Image(Image { cache: Some(d.cache()), ..d.image() }));
    "fields of an image in a result" [R A B] |r, d| found(r, d, ResultBlock::Image(Image { extra: d.fields(), ..d.image() }));
    "a document in a result" [R A B] |r, d| found(r, d, ResultBlock::Document(Document { source: d.pdf(), name: Some(d.name.clone()), ..Document::default() }));
    "a document at an address in a result" [R A] |r, d| found(r, d, ResultBlock::Document(Document { source: d.address(), ..Document::default() }));
    "a document at an address of a kind in a result" [] |r, d| found(r, d, ResultBlock::Document(Document { source: d.typed_address("application/pdf"), ..Document::default() }));
    "a stored document in a result" [R A] |r, d| found(r, d, ResultBlock::Document(Document { source: Source::File { id: d.id.clone() }, ..Document::default() }));
    "a document of text in a result" [A B] |r, d| found(r, d, ResultBlock::Document(Document { source: d.words(), name: Some(d.name.clone()), ..Document::default() }));
    "a remembered document in a result" [A] |r, d| found(r, d, ResultBlock::Document(Document { source: d.pdf(), name: Some(d.name.clone()), cache: Some(d.cache()), ..Document::default() }));
    "fields of a document in a result" [R A B] |r, d| found(r, d, ResultBlock::Document(Document { source: d.pdf(), name: Some(d.name.clone()), extra: d.fields(), ..Document::default() }));
    "another block in a result" [R A B] |r, d| found(r, d, ResultBlock::Other(d.other()));
} }

fn stop(response: &mut Response, stop: StopReason) {
    response.content.retain(|block| block.as_call().is_none());
    (response.stop, response.stop_sequence, response.refusal) = (stop, None, None);
}

fn call(response: &mut Response, call: ToolCall) {
    (response.stop, response.stop_sequence, response.refusal) = (StopReason::ToolUse, None, None);
    response.content.push(Block::ToolCall(call));
}

words! { RESPONSE_WORDS: Response {
    "truncated" [C R A G B] |r, _d| stop(r, StopReason::MaxTokens);
    "ended by a text" [A B] |r, _d| stop(r, StopReason::StopSequence);
    "ended by this text" [A] |r, d| { stop(r, StopReason::StopSequence); r.stop_sequence = Some(d.text.clone()) };
    "refused" [A] |r, _d| stop(r, StopReason::Refusal);
    "refused with words" [C R A] |r, d| { stop(r, StopReason::Refusal); r.content.clear(); r.refusal = Some(d.text.clone()) };
    "filtered with words" [C R G] |r, d| { stop(r, StopReason::ContentFilter); r.refusal = Some(d.text.clone()) };
    "filtered" [C R G B] |r, _d| stop(r, StopReason::ContentFilter);
    "too long" [A B] |r, _d| stop(r, StopReason::ContextLength);
    "paused" [A G] |r, _d| stop(r, StopReason::Pause);
    "malformed" [G B] |r, _d| stop(r, StopReason::Malformed);
    "ended in a new word" [C R A G B] |r, _d| stop(r, StopReason::Other("new_word".to_owned()));
    "no usage" [C R A G B] |r, _d| r.usage = None;
    "read from a cache" [C R A G B] |r, d| if let Some(usage) = &mut r.usage { usage.input_tokens += d.count; usage.cache_read_tokens = d.count };
    "written to a cache" [C R A B] |r, d| if let Some(usage) = &mut r.usage { usage.input_tokens += d.count; usage.cache_write_tokens = d.count };
    "tokens of thought" [C R A G] |r, d| if let Some(usage) = &mut r.usage { usage.output_tokens += d.count; usage.reasoning_tokens = d.count };
    "fields of the usage" [C R A G B] |r, d| if let Some(usage) = &mut r.usage { usage.extra = d.fields() };
    "fields of the answer" [C R A G B] |r, d| r.extra = d.fields();
    "two texts" [R A G B] |r, d| r.content.splice(0..0, [Block::Text(Text { extra: Extra::default(), ..d.text() }), Block::text(&d.other_text)]);
    "a signed text" [G] |r, d| r.content.insert(0, Block::Text(Text { signature: Some(d.signature()), ..d.text() }));
    "a custom call" [C R] |r, d| call(r, d.custom_call());
    "a call of a namespace" [R] |r, d| call(r, d.member_call());
    "a signed call" [G] |r, d| call(r, ToolCall { signature: Some(d.signature()), ..d.call() });
    "fields of a call" [C R A G B] |r, d| call(r, ToolCall { extra: d.fields(), ..d.call() });
    "fields of a text" [C R A G] |r, d| r.content.insert(0, Block::Text(Text { extra: d.fields(), ..d.text() }));
    "an image" [G B] |r, d| r.content.insert(0, Block::Image(d.image()));
    "another block" [C R A G B] |r, d| r.content.insert(0, Block::Other(d.other()));
    "a plain thought" [C R A G B] |r, d| r.content.insert(0, Block::Thinking(Thinking { text: d.text.clone(), ..Thinking::default() }));
    "a signed thought" [R A G B] |r, d| r.content.insert(0, Block::Thinking(Thinking { text: d.text.clone(), signature: Some(d.signature()), ..Thinking::default() }));
    "fields of a thought" [R A G] |r, d| r.content.insert(0, Block::Thinking(Thinking { text: d.text.clone(), signature: Some(d.signature()), extra: d.fields() }));
    "a sealed thought" [A B] |r, d| r.content.insert(0, Block::RedactedThinking(RedactedThinking { signature: d.signature() }));
} }

/// Words of an answer that a protocol says in a whole body and not in a stream.
const NOT_STREAMED: &[(&str, &[Protocol])] =
    &[("fields of a text", &[C]), ("another block", &[C, B]), ("two texts", &[G]), ("an image", &[B])];

/// Whether a protocol says a word in a stream.
pub(crate) fn is_streamed(word: &Word<Response>, protocol: Protocol) -> bool {
    let not = NOT_STREAMED.iter().any(|(name, by)| *name == word.name && by.contains(&protocol));
    word.is_said_by(protocol) && !not
}

/// A value with some of the words that the protocol says exactly.
fn said<T: Clone + std::fmt::Debug>(
    protocol: Protocol,
    plain: impl Strategy<Value = T>,
    words: &'static [Word<T>],
    says: fn(&Word<T>, Protocol) -> bool,
) -> impl Strategy<Value = T> {
    let words: Vec<_> = words.iter().filter(|word| says(word, protocol)).collect();
    let some = vec((0..words.len(), dice(protocol)), 0..9);
    (plain, some).prop_map(move |(mut value, some)| {
        // Every word once, in the order of the rows: some protocols have thoughts before texts and texts before calls.
        let some: BTreeMap<_, _> = some.into_iter().collect();
        for (which, dice) in some {
            words[which].add(&mut value, &dice);
        }
        value
    })
}

/// A request that the protocol can say exactly.
pub(crate) fn said_request(protocol: Protocol) -> impl Strategy<Value = Request> {
    said(protocol, plain_request(), REQUEST_WORDS, Word::is_said_by)
}

/// An answer that the protocol can say exactly.
pub(crate) fn said_response(protocol: Protocol) -> impl Strategy<Value = Response> {
    said(protocol, plain_response(), RESPONSE_WORDS, Word::is_said_by)
}

/// An answer that the protocol can stream exactly.
pub(crate) fn streamed_response(protocol: Protocol) -> impl Strategy<Value = Response> {
    said(protocol, plain_response(), RESPONSE_WORDS, is_streamed)
}
