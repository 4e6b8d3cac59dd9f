//! Answers: values, text, and both while they arrive.

use polywire::answer::Repair;
use polywire::wire::{Delta, Event, Response, StopReason, Strategy, Usage};
use polywire::{Asked, Change, Completion, CompletionStream};
use serde_json::{Value, json};

use crate::emulator::Emulator;
use crate::error::{Error, ErrorKind, attempt};

/// A valid value and how it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AskedValue {
    /// The value, valid by the caller's schema.
    pub value: Value,
    /// The model that answered, as `provider/model`.
    pub model: String,
    /// How the value was requested.
    pub strategy: Strategy,
    /// Every change and loss.
    pub changes: Vec<Change>,
    /// The repairs of the value.
    pub repairs: Vec<Repair>,
    /// The tokens of all attempts.
    pub usage: Usage,
    /// The cost of all attempts at list prices, in US dollars, if it is known.
    pub cost_usd: Option<f64>,
    /// Every attempt, as plain data.
    pub attempts: Vec<Value>,
}

impl From<Asked<Value>> for AskedValue {
    fn from(asked: Asked<Value>) -> Self {
        let last = asked.attempts.last();
        Self {
            model: last.map(|last| format!("{}/{}", last.plan.provider, last.plan.model)).unwrap_or_default(),
            repairs: asked.repairs().to_vec(),
            usage: asked.usage(),
            cost_usd: asked.cost().usd(),
            attempts: asked.attempts.iter().map(attempt).collect(),
            strategy: asked.strategy,
            changes: asked.changes,
            value: asked.value,
        }
    }
}

/// An answer of text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AskedText {
    /// The text.
    pub text: String,
    /// The model that answered, as `provider/model`.
    pub model: String,
    /// The whole response in the neutral form, as plain data.
    pub response: Value,
    /// Every change and loss.
    pub changes: Vec<Change>,
    /// The tokens.
    pub usage: Usage,
    /// The cost at list prices, in US dollars, if it is known.
    pub cost_usd: Option<f64>,
}

impl AskedText {
    pub(crate) fn of(done: Completion) -> Result<Self, Error> {
        refusal(&done.response)?;
        Ok(Self {
            text: done.response.text(),
            model: format!("{}/{}", done.plan.provider, done.plan.model),
            response: json!(done.response),
            usage: done.response.usage.clone().unwrap_or_default(),
            cost_usd: done.cost.usd(),
            changes: done.changes,
        })
    }
}

/// A refusal of the model or of a content filter is an error.
pub(crate) fn refusal(response: &Response) -> Result<(), Error> {
    let words = match (&response.refusal, &response.stop) {
        (Some(words), _) => words.clone(),
        (None, StopReason::Refusal | StopReason::ContentFilter) => response.text(),
        (None, _) => return Ok(()),
    };
    let error = Error::new(ErrorKind::Refused, "refused", format!("the model refused: {words}"));
    Err(error.with("refusal", json!(words)).with("response", json!(response)))
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Partial {
    /// The value so far; of an answer of text, the text so far.
    pub value: Value,
    /// The number of the attempt, from 1. A later attempt starts a new value.
    pub attempt: usize,
}

/// An answer while it arrives.
#[derive(Debug)]
pub struct AskStream {
    arriving: Box<Arriving>,
    /// The emulator that answers: the client may be dropped before the answer has arrived.
    _emulator: Option<Emulator>,
}

#[derive(Debug)]
enum Arriving {
    Value(polywire::AskStream<Value>),
    Text { events: CompletionStream, text: String },
}

impl AskStream {
    pub(crate) fn of_value(stream: polywire::AskStream<Value>, emulator: Option<Emulator>) -> Self {
        Self { arriving: Box::new(Arriving::Value(stream)), _emulator: emulator }
    }

    pub(crate) fn of_text(events: CompletionStream, emulator: Option<Emulator>) -> Self {
        Self { arriving: Box::new(Arriving::Text { events, text: String::new() }), _emulator: emulator }
    }

    /// The next partial value; of text, only what was added to it. `None` when everything has arrived.
    pub async fn next(&mut self) -> Result<Option<Partial>, Error> {
        match &mut *self.arriving {
            Arriving::Value(stream) => match stream.next().await {
                Some(partial) => {
                    let partial = partial?;
                    Ok(Some(Partial { value: partial.value, attempt: partial.attempt }))
                }
                None => Ok(None),
            },
            Arriving::Text { events, text } => {
                while let Some(event) = events.next().await {
                    if let Event::Delta { delta: Delta::Text(more), .. } = event? {
                        text.push_str(&more);
                        return Ok(Some(Partial { value: Value::String(more), attempt: 1 }));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Waits for the end. The value of text is a string.
    pub async fn finish(self) -> Result<AskedValue, Error> {
        match *self.arriving {
            Arriving::Value(stream) => Ok(AskedValue::from(stream.finish().await?)),
            Arriving::Text { events, .. } => Ok(AskedValue::from(AskedText::of(events.finish().await?)?)),
        }
    }
}

impl From<AskedText> for AskedValue {
    /// Text as a value.
    fn from(asked: AskedText) -> Self {
        Self {
            value: Value::String(asked.text),
            model: asked.model,
            strategy: Strategy::Auto,
            changes: asked.changes,
            repairs: Vec::new(),
            usage: asked.usage,
            cost_usd: asked.cost_usd,
            attempts: vec![json!({"response": asked.response})],
        }
    }
}
