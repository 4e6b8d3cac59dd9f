//! The state that all encoders share: protocol, surface and recorded changes, with helpers for unsupported values.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Encoded, Protocol, merge};
use crate::neutral::{
    Effort, Extra, Other, Output, Reasoning, Request, ResultBlock, Signature, Source, Strategy, ThinkingMode, ToolCall,
    ToolChoice, ToolOrigin, ToolResult,
};
use crate::report::{Action, Changes, Effect};
use crate::surface::{Budgets, Medium, Quirk, Surface};

/// A location in the encoded value, formatted as a JSON Pointer only when it is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    outer: Option<&'a At<'a>>,
    step: Step,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Root,
    Field(&'static str),
    Entry(usize),
}

impl<'a> At<'a> {
    pub(super) const ROOT: At<'static> = At { outer: None, step: Step::Root };

    pub(super) fn field(&'a self, name: &'static str) -> At<'a> {
        At { outer: Some(self), step: Step::Field(name) }
    }

    pub(super) fn entry(&'a self, index: usize) -> At<'a> {
        At { outer: Some(self), step: Step::Entry(index) }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            outer.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => write!(f, "/{name}"),
            Step::Entry(index) => write!(f, "/{index}"),
        }
    }
}

/// The state of an encoder.
pub(super) struct Context<'a> {
    pub(super) protocol: Protocol,
    pub(super) surface: &'a Surface,
    pub(super) changes: Changes,
    /// Additional request headers.
    pub(super) headers: Vec<(&'static str, String)>,
    /// True if provider-specific fields complete an object that is also written, so that its key may occur twice.
    has_partial_objects: bool,
}

/// Common pairs of action and effect.
pub(super) const DROPPED: (Action, Effect) = (Action::Dropped, Effect::Narrower);
pub(super) const DROPPED_WIDER: (Action, Effect) = (Action::Dropped, Effect::Wider);
pub(super) const DROPPED_NOTE: (Action, Effect) = (Action::Dropped, Effect::Note);
pub(super) const REWRITTEN: (Action, Effect) = (Action::Rewritten, Effect::Same);
pub(super) const MERGED: (Action, Effect) = (Action::Merged, Effect::Same);
pub(super) const MOVED: (Action, Effect) = (Action::Moved, Effect::Same);
pub(super) const ADDED: (Action, Effect) = (Action::Added, Effect::Same);

impl<'a> Context<'a> {
    pub(super) fn new(protocol: Protocol, surface: &'a Surface) -> Self {
        Self { protocol, surface, changes: Changes::default(), headers: Vec::new(), has_partial_objects: false }
    }

    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.surface.has(quirk)
    }

    pub(super) fn record(
        &mut self,
        code: &'static str,
        at: &At<'_>,
        what: (Action, Effect),
        detail: impl Into<Cow<'static, str>>,
    ) {
        self.changes.push(code, at.to_string(), what, detail);
    }

    /// Records a change of one provider-specific field.
    pub(super) fn record_field(
        &mut self,
        code: &'static str,
        at: &At<'_>,
        protocol: Protocol,
        name: &str,
        what: (Action, Effect),
        detail: String,
    ) {
        let name = name.replace('~', "~0").replace('/', "~1");
        self.changes.push(code, format!("{at}/extra/{protocol}/{name}"), what, detail);
    }

    /// Records a request parameter that the protocol does not have.
    pub(super) fn record_unsupported<T>(&mut self, field: &'static str, value: Option<&T>) {
        if value.is_some() {
            self.record(
                "no-word",
                &At::ROOT.field(field),
                DROPPED_WIDER,
                format!("`{field}` dropped: {} has no such parameter", self.protocol.title()),
            );
        }
    }

    /// Returns a request parameter, or records that the surface does not accept it.
    pub(super) fn parameter<T>(&mut self, field: &'static str, value: Option<T>) -> Option<T> {
        if value.is_some() && self.surface.rejects_parameter(field) {
            self.record(
                "refused-here",
                &At::ROOT.field(field),
                DROPPED_WIDER,
                format!("`{field}` dropped: this provider does not accept it"),
            );
            return None;
        }
        value
    }

    /// Returns the provider-specific fields of this protocol, and records the others as dropped.
    pub(super) fn extra<'e>(&mut self, at: &At<'_>, extra: &'e Extra) -> Option<&'e Map<String, Value>> {
        for (foreign, name) in extra.foreign(self.protocol) {
            let detail = format!(
                "`{name}` dropped: {} has no counterpart of this {} field",
                self.protocol.title(),
                foreign.title()
            );
            self.record_field("foreign-fields", at, foreign, name, DROPPED, detail);
        }
        let own = extra.get(self.protocol)?;
        self.has_partial_objects |= own.values().any(Value::is_object);
        Some(own)
    }

    /// Merges duplicate keys, if the body may have some.
    pub(super) fn merge_keys(&self, body: Vec<u8>) -> Vec<u8> {
        if self.has_partial_objects { merge::merge_duplicate_keys(body) } else { body }
    }

    pub(super) fn encoded(self, body: Vec<u8>) -> Encoded {
        let body = self.merge_keys(body);
        Encoded { body, headers: self.headers, changes: self.changes.into_vec() }
    }

    /// Records all provider-specific fields as dropped, at a place where this protocol allows none.
    pub(super) fn drop_fields(&mut self, at: &At<'_>, extra: &Extra) {
        let own = self.protocol;
        for name in self.extra(at, extra).into_iter().flat_map(Map::keys) {
            let detail = format!("`{name}` dropped: {} has no such field here", own.title());
            self.record_field("no-place", at, own, name, DROPPED, detail);
        }
    }

    /// Returns a value of this protocol, or records one of another protocol as dropped.
    pub(super) fn other<'o>(&mut self, at: &At<'_>, other: &'o Other) -> Option<&'o Value> {
        if other.protocol == self.protocol {
            return Some(&other.value);
        }
        let detail = format!("this block or tool dropped: only {} supports it", other.protocol.title());
        self.record("foreign-block", at, DROPPED, detail);
        None
    }

    /// Returns a signature of this protocol, or records one of another protocol as dropped.
    pub(super) fn signature<'s>(&mut self, at: &At<'_>, signature: Option<&'s Signature>) -> Option<&'s str> {
        let signature = signature?;
        if signature.from == self.protocol {
            return Some(&signature.data);
        }
        let detail = foreign_signature(self.protocol, signature);
        self.record("foreign-signature", &at.field("signature"), DROPPED_NOTE, detail);
        None
    }

    /// Records a signature as dropped.
    pub(super) fn drop_signature(&mut self, at: &At<'_>, signature: Option<&Signature>) {
        if signature.is_some() {
            let detail = no_signature_field(self.protocol);
            self.record("no-signature", &at.field("signature"), DROPPED_NOTE, detail);
        }
    }

    /// Records a cache hint as dropped.
    pub(super) fn drop_cache_hint<T>(&mut self, at: &At<'_>, cache: Option<&T>) {
        if cache.is_some() {
            self.record(
                "no-cache-hint",
                &at.field("cache"),
                DROPPED_NOTE,
                format!("cache hint dropped: {} has none", self.protocol.title()),
            );
        }
    }

    /// Records a block as dropped, because the protocol does not accept it in `place`.
    pub(super) fn drop_block(&mut self, at: &At<'_>, kind: &str, place: &str) {
        let detail = format!("{kind} block dropped: {} does not accept it in {place}", self.protocol.title());
        self.record("no-place", at, DROPPED, detail);
    }

    /// Returns true if the surface accepts the medium; otherwise records it as dropped.
    pub(super) fn accepts(&mut self, at: &At<'_>, medium: Medium) -> bool {
        let refused = self.surface.rejects_medium(medium);
        if refused {
            self.record("refused-here", at, DROPPED, format!("this provider does not accept {}", medium.plural()));
        }
        !refused
    }

    /// Returns `strict` of a tool, or records that the surface does not support it.
    pub(super) fn strict(&mut self, at: &At<'_>, strict: Option<bool>) -> Option<bool> {
        let wanted = strict?;
        if self.has(Quirk::NoStrict) {
            let effect = if wanted { DROPPED_WIDER } else { DROPPED_NOTE };
            self.record(
                "no-strict",
                &at.field("strict"),
                effect,
                "`strict` dropped: this provider has no strict tools",
            );
            return None;
        }
        Some(wanted)
    }

    /// Returns true, and records it, if JSON mode must be replaced by the schema of any object.
    pub(super) fn replaces_json_mode(&mut self) -> bool {
        let refused = self.has(Quirk::NoFreeJson);
        if refused {
            let detail = "JSON mode is sent as the schema of any object: this provider has no `json_object`";
            self.record("no-free-json", &At::ROOT.field("output"), REWRITTEN, detail);
        }
        refused
    }

    /// Records a media source that the protocol does not accept.
    pub(super) fn drop_source(&mut self, at: &At<'_>, medium: Medium, source: &Source) {
        let kind = match source {
            Source::Base64 { .. } => "data of this media type",
            Source::Url { .. } => "URLs",
            Source::File { .. } => "file ids",
            Source::Text { .. } => "blocks of plain text",
        };
        let (title, medium) = (self.protocol.title(), medium.word());
        let detail = format!("{medium} dropped: {title} does not accept {medium} {kind}");
        self.record("no-source", &at.field("source"), DROPPED, detail);
    }

    /// The effort, or the nearest supported one. Without a list of the surface, `none` and unknown efforts are sent unchanged.
    pub(super) fn effort<'r>(&mut self, request: &'r Request) -> Option<Cow<'r, Effort>> {
        let effort = request.reasoning.as_ref()?.effort.as_ref()?;
        let listed = self.surface.efforts.as_slice();
        let taken = if listed.is_empty() { efforts(self.protocol) } else { listed };
        let open = listed.is_empty() && matches!(effort, Effort::None | Effort::Other(_));
        if open || taken.contains(effort) {
            return Some(Cow::Borrowed(effort));
        }
        let at = At::ROOT.field("reasoning");
        let at = at.field("effort");
        let rank = |effort: &Effort| EFFORTS.iter().position(|known| known == effort);
        let Some(wanted) = rank(effort) else {
            self.record(
                "effort",
                &at,
                DROPPED_WIDER,
                format!("effort `{effort}` dropped: this model does not support it"),
            );
            return None;
        };
        let nearest = taken.iter().min_by_key(|known| rank(known).map_or(usize::MAX, |rank| rank.abs_diff(wanted)))?;
        let detail = format!("effort `{effort}` changed to `{nearest}`, the nearest supported one");
        self.record("effort", &at, (Action::Rewritten, Effect::Wider), detail);
        Some(Cow::Owned(nearest.clone()))
    }

    /// The effort for a protocol without thinking modes and budgets, which are converted to an effort.
    pub(super) fn effort_alone<'r>(&mut self, request: &'r Request) -> Option<Cow<'r, Effort>> {
        let reasoning = request.reasoning.as_ref()?;
        let at = At::ROOT.field("reasoning");
        if *reasoning == Reasoning::default() {
            self.record("no-word", &at, DROPPED_NOTE, "empty `reasoning` dropped");
        }
        let derived = match (&reasoning.effort, &reasoning.mode, reasoning.budget_tokens) {
            (_, None, None) => None,
            (Some(_), _, _) => {
                self.record("no-word", &at, DROPPED_WIDER, "thinking mode and budget dropped: only the effort is sent");
                None
            }
            (None, Some(ThinkingMode::Disabled), _) => Some(Effort::None),
            (None, _, Some(budget)) => Some(Effort::of_budget(budget)),
            (None, Some(_), None) => {
                self.record(
                    "no-word",
                    &at.field("mode"),
                    DROPPED_WIDER,
                    format!("thinking mode dropped: {} only has an effort", self.protocol.title()),
                );
                None
            }
        };
        if let Some(effort) = derived {
            let detail = format!("thinking mode or budget is sent as effort `{effort}`");
            self.record("effort", &at, (Action::Rewritten, Effect::Wider), detail);
            return Some(Cow::Owned(effort));
        }
        self.effort(request)
    }

    /// The thinking budget, or the nearest supported one less than `below`; `None` if there is no room for thinking.
    pub(super) fn budget(&mut self, wanted: u64, below: Option<u64>) -> Option<u64> {
        let at = At::ROOT.field("reasoning");
        let taken = self.budgets().nearest(wanted, below);
        let detail = match taken {
            Some(taken) if taken == wanted => return Some(taken),
            Some(taken) => format!("thinking budget of {wanted} tokens changed to {taken}, the nearest supported one"),
            None => format!(
                "thinking budget dropped: a limit of {} tokens leaves no room for thinking",
                below.unwrap_or(u64::MAX)
            ),
        };
        self.record("thinking-budget", &at.field("budget_tokens"), (Action::Rewritten, Effect::Wider), detail);
        taken
    }

    /// The supported thinking budgets of the surface, or else of the protocol.
    pub(super) fn budgets(&self) -> Budgets {
        let own = self.surface.budgets;
        if own == Budgets::default() { budgets(self.protocol) } else { own }
    }

    /// Records `visible` as dropped.
    pub(super) fn drop_visible(&mut self, request: &Request) {
        if request.reasoning.as_ref().is_some_and(|reasoning| reasoning.visible.is_some()) {
            let at = At::ROOT.field("reasoning");
            self.record(
                "no-word",
                &at.field("visible"),
                DROPPED_WIDER,
                format!("`visible` dropped: {} has no such parameter", self.protocol.title()),
            );
        }
    }

    /// The token limit of the request, or else the default of the surface.
    pub(super) fn max_tokens(&mut self, request: &Request) -> Option<u64> {
        request.max_tokens.or_else(|| {
            let limit = self.surface.max_tokens?;
            self.record(
                "limit",
                &At::ROOT.field("max_tokens"),
                ADDED,
                format!("`max_tokens` set to {limit}: the request has none"),
            );
            Some(limit)
        })
    }

    /// The tool choice, widened if the surface does not support it; `None` without tools.
    pub(super) fn tool_choice<'r>(&mut self, request: &'r Request, has_tools: bool) -> Option<Cow<'r, ToolChoice>> {
        if !has_tools {
            self.record_missing_tools(request);
            return None;
        }
        let at = At::ROOT.field("tool_choice");
        let choice = request.tool_choice.as_ref()?;
        let forced = matches!(choice, ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::OneOf(_));
        if forced && self.has(Quirk::NoForcedChoice) {
            self.record(
                "no-forced-choice",
                &at,
                DROPPED_WIDER,
                "`tool_choice` changed to `auto`: this provider cannot force a tool call",
            );
            return Some(Cow::Owned(ToolChoice::Auto));
        }
        if matches!(choice, ToolChoice::Tool(_)) && self.has(Quirk::NoNamedChoice) {
            self.record(
                "no-named-choice",
                &at,
                DROPPED_WIDER,
                "`tool_choice` changed to `required`: this provider cannot force a tool by name",
            );
            return Some(Cow::Owned(ToolChoice::Required));
        }
        Some(Cow::Borrowed(choice))
    }

    /// Widens a tool choice that is restricted to some tools, for protocols without such a choice.
    pub(super) fn widen_choice<'r>(&mut self, choice: Cow<'r, ToolChoice>) -> Cow<'r, ToolChoice> {
        let wider = match choice.as_ref() {
            ToolChoice::AnyOf(_) => ToolChoice::Auto,
            ToolChoice::OneOf(_) => ToolChoice::Required,
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_) => return choice,
        };
        let at = At::ROOT.field("tool_choice");
        self.record(
            "no-choice-among",
            &at,
            DROPPED_WIDER,
            format!("`tool_choice` widened to all tools: {} cannot restrict it to some", self.protocol.title()),
        );
        Cow::Owned(wider)
    }

    /// The origin of a tool or a call, if the surface supports custom tools and namespaces.
    pub(super) fn origin<'o>(&self, origin: Option<&'o ToolOrigin>) -> Option<&'o ToolOrigin> {
        origin.filter(|_| !self.has(Quirk::FunctionsOnly))
    }

    /// Records that a custom tool or a namespace member, or a call of one, is sent as a function.
    pub(super) fn record_as_function(&mut self, at: &At<'_>, origin: Option<&ToolOrigin>) {
        let Some(origin) = origin else { return };
        let mut what = Vec::new();
        if origin.custom {
            what.push("the custom tool is sent as a function with the string argument `input`".to_owned());
        }
        if let Some(namespace) = &origin.namespace {
            what.push(format!("the tool of namespace `{namespace}` is sent as a separate function"));
        }
        self.record("tool-origin", &at.field("origin"), REWRITTEN, what.join("; "));
    }

    /// The output format, as far as the surface supports it.
    pub(super) fn output<'r>(&mut self, request: &'r Request) -> Option<&'r Output> {
        let output = request.output.as_ref()?;
        let at = At::ROOT.field("output");
        if !request.tools.is_empty() && self.has(Quirk::NoToolsWithFormat) {
            self.record(
                "no-tools-with-format",
                &at,
                DROPPED_WIDER,
                "output format dropped: this provider does not accept one together with tools",
            );
            return None;
        }
        if let Output::Schema(format) = output
            && matches!(format.strategy(), Strategy::Tool | Strategy::Prompted)
        {
            self.record(
                "strategy",
                &at.field("strategy"),
                DROPPED_NOTE,
                "strategy ignored: the format is sent as native structured output",
            );
        }
        if matches!(output, Output::Schema(_)) && self.has(Quirk::NoSchemaFormat) {
            let free = has_json_mode(self.protocol);
            let instead = if free { "; JSON mode is used" } else { "" };
            let detail = format!("output schema dropped: this provider does not accept one{instead}");
            self.record("no-schema-format", &at, DROPPED_WIDER, detail);
            return free.then_some(&JSON_MODE);
        }
        Some(output)
    }

    /// The provider-specific fields of this protocol, split into top-level fields and those named in `inner`.
    pub(super) fn split_extra(&mut self, extra: &Extra, inner: &[&str]) -> (Map<String, Value>, Map<String, Value>) {
        let mut outer = self.extra(&At::ROOT, extra).cloned().unwrap_or_default();
        let taken = inner.iter().filter_map(|name| Some(((*name).to_owned(), outer.shift_remove(*name)?))).collect();
        (outer, taken)
    }

    /// Drops fields that are only valid in an envelope.
    pub(super) fn drop_envelope_fields(&mut self, extra: &mut Map<String, Value>, names: &[&'static str]) {
        for name in names.iter().filter(|name| extra.shift_remove(**name).is_some()) {
            let at = At::ROOT.field("extra");
            self.record(
                "no-envelope",
                &at.field(name),
                DROPPED_NOTE,
                format!("`{name}` dropped: it is only valid in an envelope, and the request has none"),
            );
        }
    }

    /// Records parameters that need tools as dropped.
    fn record_missing_tools(&mut self, request: &Request) {
        if request.tool_choice.is_some() {
            let at = At::ROOT.field("tool_choice");
            self.record("no-tools", &at, DROPPED_NOTE, "`tool_choice` dropped: the request has no tools");
        }
        if request.parallel_tool_calls.is_some() {
            let at = At::ROOT.field("parallel_tool_calls");
            self.record("no-tools", &at, DROPPED_NOTE, "`parallel_tool_calls` dropped: the request has no tools");
        }
    }

    /// Records that a stored result is sent as a preview.
    pub(super) fn record_reference(&mut self, at: &At<'_>) {
        let what = (Action::Rewritten, Effect::Narrower);
        self.record("stored-result", at, what, "stored tool result is sent as its preview and its path");
    }

    /// Records the media type of a URL as dropped.
    pub(super) fn drop_media_type(&mut self, at: &At<'_>, media_type: Option<&String>) {
        if media_type.is_some() {
            self.record(
                "no-media-type",
                &at.field("source"),
                DROPPED_NOTE,
                format!("media type of the URL dropped: {} has no field for it", self.protocol.title()),
            );
        }
    }

    /// The arguments of a call as a JSON object; the text is kept if it is one.
    pub(super) fn arguments<'c>(&mut self, at: &At<'_>, call: &'c ToolCall) -> Json<'c> {
        let text = call.arguments.trim();
        if text.starts_with('{')
            && let Ok(raw) = serde_json::from_str::<&RawValue>(text)
        {
            return Json::Raw(raw);
        }
        let at = at.field("arguments");
        if text.is_empty() {
            self.record("no-arguments", &at, REWRITTEN, "empty arguments are sent as `{}`");
            return Json::Value(Cow::Owned(Value::Object(Map::new())));
        }
        let (key, value) = match serde_json::from_str(text) {
            Ok(value) => ("value", value),
            Err(_) => ("text", Value::String(text.to_owned())),
        };
        let detail = format!("arguments are not a JSON object: they are sent inside one, as `{key}`");
        self.record("arguments-not-an-object", &at, (Action::Wrapped, Effect::Same), detail);
        Json::Value(Cow::Owned(Value::Object(Map::from_iter([(key.to_owned(), value)]))))
    }

    /// The text of a tool result for a protocol that only has text, and the media blocks, which are sent separately.
    pub(super) fn result_text<'r>(
        &mut self,
        at: &At<'_>,
        result: &'r ToolResult,
    ) -> (Cow<'r, str>, Vec<&'r ResultBlock>) {
        let content = at.field("content");
        let (mut texts, mut media) = (Vec::new(), Vec::new());
        for (index, block) in result.content.iter().enumerate() {
            let at = content.entry(index);
            match block {
                ResultBlock::Text(text) => {
                    self.drop_fields(&at, &text.extra);
                    self.drop_cache_hint(&at, text.cache.as_ref());
                    self.drop_signature(&at, text.signature.as_ref());
                    texts.push(Cow::Borrowed(text.text.as_str()));
                }
                ResultBlock::Json { value } => {
                    self.record("json-as-text", &at, REWRITTEN, "JSON result is sent as text");
                    texts.push(Cow::Owned(value.to_string()));
                }
                ResultBlock::Image(_) | ResultBlock::Document(_) => media.push(block),
                ResultBlock::Other(other) => {
                    let detail = format!("result block dropped: only {} supports it", other.protocol.title());
                    self.record("foreign-block", &at, DROPPED, detail);
                }
            }
        }
        if let [only] = texts.as_slice()
            && only.is_empty()
        {
            self.record("empty-text", &content, DROPPED_NOTE, "empty text dropped");
        }
        (self.join_texts(&content, texts), media)
    }

    /// Joins texts with line breaks.
    pub(super) fn join_texts<'t>(&mut self, at: &At<'_>, mut texts: Vec<Cow<'t, str>>) -> Cow<'t, str> {
        if texts.len() > 1 {
            self.record("joined-texts", at, MERGED, "several texts joined into one, one per line");
            return Cow::Owned(texts.join("\n"));
        }
        texts.pop().unwrap_or_default()
    }

    /// The text of a failed tool result for a protocol without an error flag.
    pub(super) fn error_text<'t>(&mut self, at: &At<'_>, result: &ToolResult, text: Cow<'t, str>) -> Cow<'t, str> {
        if !result.is_error {
            return text;
        }
        self.record(
            "no-error-flag",
            &at.field("is_error"),
            REWRITTEN,
            format!("tool failure is sent in the text: {} has no error flag", self.protocol.title()),
        );
        let has_prefix = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
        if has_prefix { text } else { Cow::Owned(format!("Error: {text}")) }
    }
}

/// Code and detail of a signature that is dropped from a stream, in protocols that only sign reasoning.
pub(super) fn unsupported_signature(
    own: Protocol,
    signature: &Signature,
    thought: bool,
) -> Option<(&'static str, String)> {
    if signature.from != own {
        return Some(("foreign-signature", foreign_signature(own, signature)));
    }
    (!thought).then(|| ("no-signature", no_signature_field(own)))
}

/// The `detail` of a signature that another protocol issued.
pub(super) fn foreign_signature(own: Protocol, signature: &Signature) -> String {
    format!("signature dropped: {} does not accept signatures of {}", own.title(), signature.from.title())
}

/// The `detail` of a signature at a place where the protocol has none.
pub(super) fn no_signature_field(own: Protocol) -> String {
    format!("signature dropped: {} has no field for it", own.title())
}

static JSON_MODE: Output = Output::Json;

/// True if the protocol has a JSON mode without a schema.
fn has_json_mode(protocol: Protocol) -> bool {
    match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Gemini => true,
        Protocol::AnthropicMessages | Protocol::BedrockConverse => false,
    }
}

/// All efforts, in ascending order.
const EFFORTS: [Effort; 7] =
    [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];

/// The efforts of a protocol.
fn efforts(protocol: Protocol) -> &'static [Effort] {
    match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses => &EFFORTS,
        Protocol::AnthropicMessages | Protocol::BedrockConverse => {
            &[Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max]
        }
        Protocol::Gemini => &[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High],
    }
}

/// The thinking budgets of a protocol. Anthropic has a mode for disabled thinking, so that a budget of 0 is not valid.
fn budgets(protocol: Protocol) -> Budgets {
    match protocol {
        Protocol::AnthropicMessages | Protocol::BedrockConverse => {
            Budgets { least: Some(1024), most: None, always: true }
        }
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Gemini => Budgets::default(),
    }
}

/// JSON inside a body.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Json<'a> {
    Raw(&'a RawValue),
    Value(Cow<'a, Value>),
}
