//! Streams in every framing, cut at every byte: where the bytes are cut never matters, and a stream that ends too early ends
//! in a named error with what arrived.

use polywire_wire::{
    Assembler, DecodeError, Envelope, Event, Framing, IncompleteStream, Protocol, Response, Surface, events_of,
};

use crate::corpus::{Kind, of_kind, stream_bytes};

const FRAMINGS: [Framing; 4] = [Framing::Sse, Framing::Ndjson, Framing::JsonArray, Framing::Aws];

/// The events of a stream, and the error that ended it.
fn events(protocol: Protocol, framing: Framing, bytes: &[u8], step: usize) -> (Vec<Event>, Option<DecodeError>) {
    let mut decoder = protocol.stream_decoder(framing);
    let mut events = Vec::new();
    for chunk in bytes.chunks(step) {
        match decoder.push(chunk) {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error)),
        }
    }
    // An error is told after the events before it.
    for _ in 0..2 {
        match decoder.finish() {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

fn assembled(events: Vec<Event>) -> Result<Response, Box<IncompleteStream>> {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.finish()
}

#[test]
fn where_bytes_are_cut_never_matters_in_any_framing() {
    let mut streams = 0;
    for protocol in Protocol::ALL {
        let all = [Kind::Stream, Kind::Cut].into_iter().flat_map(|kind| of_kind(protocol, kind));
        for (path, case) in all {
            for framing in FRAMINGS {
                let bytes = stream_bytes(framing, &case.body);
                let whole = events(protocol, framing, &bytes, bytes.len());
                assert!(!whole.0.is_empty() || whole.1.is_some(), "{}: {framing:?}: nothing is read", path.display());
                for step in [1, 2, 3, 7, 64] {
                    let cut = events(protocol, framing, &bytes, step);
                    assert_eq!(cut, whole, "{}: {framing:?}: cut every {step} bytes", path.display());
                }
                streams += 1;
            }
        }
    }
    assert!(streams >= 40, "{streams} streams");
}

/// Streams as their protocols and envelopes frame them.
fn own_streams() -> Vec<(String, Protocol, Framing, Vec<u8>)> {
    let invoke = Surface::default().with_envelope(Envelope::Invoke);
    let code_assist = Surface::default().with_envelope(Envelope::CodeAssist);
    let mut streams = Vec::new();
    for protocol in Protocol::ALL {
        for (path, case) in of_kind(protocol, Kind::Stream) {
            let framing = protocol.framing(&Surface::default());
            let bytes = stream_bytes(framing, &case.body);
            let response = assembled(events(protocol, framing, &bytes, bytes.len()).0).unwrap();
            streams.push((path.display().to_string(), protocol, framing, bytes));
            let enveloped = [(Protocol::AnthropicMessages, &invoke), (Protocol::Gemini, &code_assist)];
            for (_, surface) in enveloped.into_iter().filter(|(of, _)| *of == protocol) {
                let mut encoder = protocol.stream_encoder(surface);
                let bytes = events_of(&response, 5).iter().flat_map(|event| encoder.push(event)).collect();
                let name = format!("{} in its envelope", path.display());
                streams.push((name, protocol, protocol.framing(surface), bytes));
            }
            if protocol == Protocol::Gemini {
                streams.push((
                    path.display().to_string(),
                    protocol,
                    Framing::JsonArray,
                    stream_bytes(Framing::JsonArray, &case.body),
                ));
            }
        }
    }
    streams
}

#[test]
fn a_stream_that_ends_anywhere_ends_in_a_named_error_with_what_arrived() {
    for (name, protocol, framing, bytes) in own_streams() {
        let (read, error) = events(protocol, framing, &bytes, bytes.len());
        assert_eq!(error, None, "{name}");
        let whole = assembled(read).unwrap();
        let mut cuts = 0;
        for end in 0..bytes.len() {
            let (read, error) = events(protocol, framing, &bytes[..end], end.max(1));
            let arrived = match assembled(read) {
                // Everything was said; what is missing says nothing more.
                Ok(response) => response,
                Err(cut) => {
                    cuts += 1;
                    assert!(cut.to_string().contains("ended before the response was complete"), "{name}: {end}: {cut}");
                    let texts = cut
                        .cut_calls
                        .iter()
                        .all(|call| whole.calls().any(|full| full.arguments.starts_with(&call.arguments)));
                    assert!(texts, "{name}: {end}: {:?}", cut.cut_calls);
                    cut.response
                }
            };
            if let Some(error) = error {
                assert!(!error.to_string().is_empty(), "{name}: {end}");
            }
            assert!(whole.text().starts_with(&arrived.text()), "{name}: {end}: {:?}", arrived.text());
            let made = arrived.calls().all(|call| whole.calls().any(|full| full == call));
            assert!(made, "{name}: {end}: a call that is not complete: {arrived:?}");
        }
        assert!(cuts * 2 > bytes.len(), "{name}: {cuts} cuts of {} bytes", bytes.len());
    }
}
