//! The memory of a stream does not depend on the length of the answer. In a binary of its own, because it counts every allocation.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test fails loudly and prints what it finds")]

use peak_alloc::PeakAlloc;
use polywire::wire::{Block, Delta, Event, Extra, Message, Protocol, Request, StopReason, Surface};
use polywire::{Catalog, TranslateOptions, Translation};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const MODELS: [(Protocol, &str); 5] = [
    (Protocol::OpenAiChat, "openai:chat/gpt-4o"),
    (Protocol::OpenAiResponses, "openai:responses/gpt-4o"),
    (Protocol::AnthropicMessages, "anthropic/claude-sonnet-4-5"),
    (Protocol::Gemini, "google/gemini-2.5-flash"),
    (Protocol::BedrockConverse, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
];

const MEGABYTE: usize = 1 << 20;

/// The text of one delta.
const WORDS: &str = "Some words of an answer, one after the other. ";

/// The peak of live bytes while an answer of `length` bytes is streamed. The provider repeats one delta, so that its last events are short:
/// those of a real Responses stream repeat the answer, and each is held until it is complete.
fn peak(caller: Protocol, provider: Protocol, model: &str, length: usize) -> usize {
    let request = Request { stream: true, ..Request::new("m", vec![Message::user("Hi")]) };
    let body = caller.encode_request(&request, &Surface::default()).body;
    let model = Catalog::built_in().resolve(model).expect("a model");
    let options = TranslateOptions::default().with_stream(true);
    let translation = Translation::new(&body, caller, &model, &options).expect("a translation");
    let mut encoder = provider.stream_encoder(&translation.plan().surface);
    let delta = Event::Delta { index: 0, delta: Delta::Text(WORDS.to_owned()) };
    let mut start = encoder.push(&Event::Start { id: "r".into(), model: "m".into(), extra: Extra::default() });
    encoder.write(&Event::Open { index: 0, block: Block::text("") }, &mut start);
    encoder.write(&delta, &mut start);
    let repeated = encoder.push(&delta);
    let mut end = encoder.push(&Event::Close { index: 0 });
    let stop = Event::Stop { reason: StopReason::EndTurn, sequence: None, extra: Extra::default() };
    encoder.write(&stop, &mut end);
    encoder.write(&Event::End, &mut end);

    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut stream = translation.stream();
    drop(stream.push(&start));
    for _ in 0..length / WORDS.len() {
        assert!(!stream.push(&repeated).is_empty(), "text passes as it arrives");
    }
    drop(stream.push(&end));
    assert_eq!(stream.finish().error, None);
    ALLOCATOR.peak_usage().saturating_sub(before)
}

/// One test, because tests that run beside each other would count each other's allocations.
#[test]
fn a_longer_stream_needs_no_more_memory() {
    for (caller, _) in MODELS {
        for (provider, model) in MODELS {
            let [short, long] = [MEGABYTE, 10 * MEGABYTE].map(|length| peak(caller, provider, model, length));
            println!("{caller} from {provider}: {short} bytes for 1 MB, {long} bytes for 10 MB");
            // The last events of a Responses stream repeat the whole answer, so it is kept until then.
            if caller == Protocol::OpenAiResponses && caller != provider {
                assert!(long > 10 * MEGABYTE, "{caller} from {provider}: {long}");
            } else {
                assert!(long < short + 4096, "{caller} from {provider}: {short}, then {long}");
            }
        }
    }
}
