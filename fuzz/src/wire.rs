//! The fuzz targets of the wire: decoders of every protocol, and framers.

use polywire_wire::{Assembler, Event, Framer, Framing, Headers, Protocol, Quirk, Surface};
use serde_json::{Value, json};

const FRAMINGS: [Framing; 4] = [Framing::Sse, Framing::Ndjson, Framing::JsonArray, Framing::Aws];

/// Reads any body as a request, an answer and an error of the protocol that the first byte chooses. What is read can be
/// repaired, written to every protocol and read there again.
pub fn decode(data: &[u8]) -> Result<(), String> {
    let Some((&[which, how], text)) = data.split_first_chunk::<2>() else { return Ok(()) };
    let protocol = Protocol::ALL[usize::from(which) % Protocol::ALL.len()];
    protocol.decode_error(u16::from(how) + 400, Headers(&[("retry-after", "1")]), text);
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return Ok(()) };
    let surface = if how % 2 == 0 { Surface::default() } else { Surface::default().with(Quirk::Stateless) };
    if let Ok(decoded) = protocol.decode_request(value.clone()) {
        for to in Protocol::ALL {
            let mut request = decoded.value.clone();
            to.repair_history(&mut request, &surface);
            let repaired = request.clone();
            if !to.repair_history(&mut request, &surface).is_empty() || request != repaired {
                return Err(format!("{protocol} to {to}: a repaired history is repaired again at {}", json!(repaired)));
            }
            let body = to.encode_request(&request, &surface).value();
            if let Err(error) = to.decode_request(body.clone()) {
                return Err(format!("{protocol} to {to}: our own request is not read: {error} at {body}"));
            }
        }
    }
    if let Ok(decoded) = protocol.decode_response(value) {
        for to in Protocol::ALL {
            let body = to.encode_response(&decoded.value, &surface).value();
            if let Err(error) = to.decode_response(body.clone()) {
                return Err(format!("{protocol} to {to}: our own answer is not read: {error} at {body}"));
            }
        }
    }
    Ok(())
}

/// Reads any bytes as a stream, whole and cut; the events are the same, and what they make can be streamed on.
pub fn stream(data: &[u8]) -> Result<(), String> {
    let Some((&[which, how], text)) = data.split_first_chunk::<2>() else { return Ok(()) };
    let protocol = Protocol::ALL[usize::from(which) % Protocol::ALL.len()];
    let framing = if how == 0 { protocol.framing(&Surface::default()) } else { FRAMINGS[usize::from(how) % 4] };
    let bytes = framed(framing, text);
    let whole = events(protocol, framing, &bytes, usize::MAX);
    for step in [1, usize::from(how) + 2] {
        let cut = events(protocol, framing, &bytes, step);
        if cut != whole {
            return Err(format!("{protocol}: cut every {step} bytes at {cut:?} not {whole:?}"));
        }
    }
    let mut assembler = Assembler::default();
    whole.0.iter().cloned().for_each(|event| assembler.push(event));
    let _ = assembler.finish();
    for to in Protocol::ALL {
        let mut encoder = to.stream_encoder(&Surface::default());
        let bytes: Vec<u8> = whole.0.iter().flat_map(|event| encoder.push(event)).collect();
        if let (_, Some(error)) = events(to, to.framing(&Surface::default()), &bytes, usize::MAX) {
            return Err(format!(
                "{protocol} to {to}: our own stream is not read: {error} at {}",
                String::from_utf8_lossy(&bytes)
            ));
        }
    }
    Ok(())
}

/// Cuts any bytes into frames, whole and cut; the frames are the same.
pub fn frame(data: &[u8]) -> Result<(), String> {
    let Some((&[which, how], bytes)) = data.split_first_chunk::<2>() else { return Ok(()) };
    let framing = FRAMINGS[usize::from(which) % 4];
    let frames = |step: usize| {
        let (mut frames, mut framer) = (Vec::new(), Framer::new(framing).with_longest(1 << 20));
        let mut take = |frame: polywire_wire::Frame<'_>| {
            frames.push((frame.event.to_owned(), frame.data.to_owned()));
            Ok(())
        };
        let pushed = bytes.chunks(step).try_for_each(|chunk| framer.push(chunk, &mut take));
        let ended = pushed.and_then(|()| framer.finish(&mut take));
        (frames, ended.err())
    };
    let whole = frames(bytes.len().max(1));
    for step in [1, usize::from(how) + 2] {
        if frames(step) != whole {
            return Err(format!("{framing:?}: cut every {step} bytes at other frames"));
        }
    }
    Ok(())
}

/// A list of events as a stream; anything else as it is.
fn framed(framing: Framing, text: &[u8]) -> Vec<u8> {
    let list = serde_json::from_slice::<Value>(text).ok().and_then(|value| value.as_array().cloned());
    let Some(list) = list.filter(|_| framing == Framing::Sse) else { return text.to_vec() };
    let mut bytes = Vec::new();
    for event in list {
        let name = event.get("event").and_then(Value::as_str).unwrap_or_default();
        let data = event.get("data").cloned().unwrap_or_default();
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        bytes.extend(format!("event: {name}\ndata: {data}\n\n").bytes());
    }
    bytes
}

type Read = (Vec<Event>, Option<String>);

fn events(protocol: Protocol, framing: Framing, bytes: &[u8], step: usize) -> Read {
    let mut decoder = protocol.stream_decoder(framing);
    let mut events = Vec::new();
    for chunk in bytes.chunks(step.min(bytes.len().max(1))) {
        match decoder.push(chunk) {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error.to_string())),
        }
    }
    // What could not be read is told after the events before it.
    for _ in 0..2 {
        match decoder.finish() {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error.to_string())),
        }
    }
    (events, None)
}
