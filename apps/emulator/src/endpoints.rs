//! Endpoints beside the answers themselves: tokens are counted, texts embedded, conversations compacted. Each is found from the path
//! of the surface that it belongs to.

use polywire::wire::{FaultKind, Protocol, WireError};
use serde_json::{Value, json};

use crate::seed::hash;
use crate::tokens::{input_tokens, tokens};

/// Numbers of an embedding where the request does not say how many.
const DIMENSIONS: usize = 256;
const MOST_DIMENSIONS: usize = 4096;

/// An endpoint that answers a body with a body.
pub(crate) struct Endpoint {
    protocol: Protocol,
    /// The end of its path, and the end that the path of the surface has there.
    ends: (&'static str, &'static str),
    pub(crate) answer: fn(&Value) -> Result<Value, Box<WireError>>,
}

const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        protocol: Protocol::AnthropicMessages,
        ends: ("/messages/count_tokens", "/messages"),
        answer: count_messages,
    },
    Endpoint { protocol: Protocol::Gemini, ends: (":countTokens", ":generateContent"), answer: count_contents },
    Endpoint { protocol: Protocol::Gemini, ends: (":embedContent", ":generateContent"), answer: embed_content },
    Endpoint { protocol: Protocol::Gemini, ends: (":batchEmbedContents", ":generateContent"), answer: embed_contents },
    Endpoint { protocol: Protocol::OpenAiResponses, ends: ("/responses/compact", "/responses"), answer: compact },
    Endpoint {
        protocol: Protocol::OpenAiResponses,
        ends: ("/responses/input_tokens", "/responses"),
        answer: count_input,
    },
    Endpoint { protocol: Protocol::OpenAiChat, ends: ("/embeddings", "/chat/completions"), answer: embeddings },
];

/// The endpoints that a path may be, each with the path of its surface.
pub(crate) fn endpoints(path: &str) -> impl Iterator<Item = (&'static Endpoint, String)> {
    ENDPOINTS.iter().filter_map(move |endpoint| {
        let head = path.strip_suffix(endpoint.ends.0)?;
        Some((endpoint, format!("{head}{}", endpoint.ends.1)))
    })
}

impl Endpoint {
    pub(crate) fn serves(&self, protocol: Protocol) -> bool {
        self.protocol == protocol
    }
}

fn needed(body: &Value, fields: &[&str]) -> Result<(), Box<WireError>> {
    if fields.iter().any(|field| body.get(*field).is_some()) {
        return Ok(());
    }
    let param = fields.first().copied().unwrap_or_default().to_owned();
    let error = WireError::new(FaultKind::InvalidRequest, format!("{param}: Field required"));
    Err(Box::new(WireError { param: Some(param), ..error }))
}

fn count_messages(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["messages"])?;
    Ok(json!({"input_tokens": input_tokens(body)}))
}

fn count_contents(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["contents", "generateContentRequest", "generate_content_request"])?;
    let count = input_tokens(body);
    Ok(json!({"totalTokens": count, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count}]}))
}

fn count_input(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["input"])?;
    Ok(json!({"object": "response.input_tokens", "input_tokens": input_tokens(body)}))
}

/// The conversation as one opaque item, which is what a client sends back.
fn compact(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["input"])?;
    let input = body.get("input").map(Value::to_string).unwrap_or_default();
    let id = format!("{:016x}", hash(&[input.as_bytes()]));
    let tokens = input_tokens(body);
    let item = json!({"type": "compaction", "id": format!("cmp_{id}"), "encrypted_content": id});
    Ok(json!({
        "id": format!("resp_{id}"),
        "object": "response.compaction",
        "created_at": 0,
        "output": [item],
        "usage": {
            "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 1,
        },
    }))
}

fn embed_content(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["content"])?;
    Ok(json!({"embedding": {"values": vector(body.get("content"), dimensions(body))}}))
}

fn embed_contents(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["requests"])?;
    let requests = body.get("requests").and_then(Value::as_array).into_iter().flatten();
    let embed = |request: &Value| json!({"values": vector(request.get("content"), dimensions(request))});
    Ok(json!({"embeddings": requests.map(embed).collect::<Vec<_>>()}))
}

fn embeddings(body: &Value) -> Result<Value, Box<WireError>> {
    needed(body, &["input"])?;
    let input = body.get("input").cloned().unwrap_or_default();
    // A list of numbers is one text in tokens.
    let several = input.as_array().filter(|entries| !entries.iter().all(Value::is_number)).cloned();
    let inputs = several.unwrap_or_else(|| vec![input]);
    let is_base64 = body.get("encoding_format").and_then(Value::as_str) == Some("base64");
    let embed = |(index, input): (usize, &Value)| {
        let vector = vector(Some(input), dimensions(body));
        let embedding = if is_base64 { json!(base64(&vector)) } else { json!(vector) };
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let count = inputs.iter().map(|input| tokens(input.to_string().len())).sum::<u64>();
    Ok(json!({
        "object": "list",
        "data": inputs.iter().enumerate().map(embed).collect::<Vec<_>>(),
        "model": body.get("model"),
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }))
}

fn dimensions(body: &Value) -> usize {
    let names = ["dimensions", "outputDimensionality", "output_dimensionality"];
    let asked = names.iter().find_map(|name| body.get(*name)?.as_u64()).and_then(|count| usize::try_from(count).ok());
    asked.unwrap_or(DIMENSIONS).clamp(1, MOST_DIMENSIONS)
}

/// A unit vector that depends on the text alone.
fn vector(text: Option<&Value>, dimensions: usize) -> Vec<f32> {
    let text = text.map(Value::to_string).unwrap_or_default();
    let number = |index: usize| {
        let bits = hash(&[text.as_bytes(), &index.to_le_bytes()]) >> 48;
        f32::from(u16::try_from(bits).unwrap_or_default()) / 32_768.0 - 1.0
    };
    let vector: Vec<f32> = (0..dimensions).map(number).collect();
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 { vector.iter().map(|number| number / length).collect() } else { vector }
}

/// The little-endian bytes of the numbers in base64, which the official SDKs ask for.
fn base64(vector: &[f32]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    let letter = |bits: u32| LETTERS.get((bits & 63) as usize).map_or('A', |letter| char::from(*letter));
    let group = |chunk: &[u8]| {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let letters = [letter(bits >> 18), letter(bits >> 12), letter(bits >> 6), letter(bits)];
        letters
            .into_iter()
            .enumerate()
            .map(|(index, letter)| if index > chunk.len() { '=' } else { letter })
            .collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn floats_are_base64_of_their_bytes() {
        assert_eq!((base64(&[1.0]).as_str(), base64(&[1.0, -0.5, 0.25]).as_str()), ("AACAPw==", "AACAPwAAAL8AAIA+"));
    }
}
