//! Law 5: what is written is read again as it was, up to recorded changes; streams give what whole bodies give; how the
//! bytes are cut does not matter.

use std::cell::Cell;

use polywire_wire::{Assembler, Change, Effect, Event, Headers, Protocol, Request, Response, Surface, events_of};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::generate::{fault, plain_request, plain_response, request_with_one_more, wild_request, wild_response};
use crate::words::{
    REQUEST_WORDS, RESPONSE_WORDS, Word, dice, is_streamed, said_request, said_response, streamed_response,
};

/// The same cases in every run, others and ten times as many where `POLYWIRE_FULL=1`.
pub(crate) fn cases(count: u32) -> Config {
    let full = std::env::var_os("POLYWIRE_FULL").is_some_and(|value| value == "1");
    let (cases, rng_seed) = if full { (count * 10, RngSeed::Random) } else { (count, RngSeed::Fixed(7)) };
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}

fn check<S: Strategy>(count: u32, strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(cases(count));
    if let Err(error) = runner.run(strategy, test) {
        panic!("{error}");
    }
}

fn request_trip(protocol: Protocol, request: &Request) -> (Request, Vec<Change>) {
    let encoded = protocol.encode_request(request, &Surface::default());
    (protocol.decode_request(encoded.value()).expect("our own body is read").value, encoded.changes)
}

/// The request without what stands in the URL.
fn without_url(protocol: Protocol, mut request: Request) -> Request {
    if protocol.model_in_url(&Surface::default()) {
        request.model.clear();
    }
    request.stream &= !protocol.stream_in_url(&Surface::default());
    request
}

/// The answer without what travels outside of its body.
fn without_headers(protocol: Protocol, mut response: Response) -> Response {
    if protocol == Protocol::BedrockConverse {
        response.id.clear();
        response.model.clear();
    }
    response
}

fn response_trip(protocol: Protocol, response: &Response) -> (Response, Vec<Change>) {
    let encoded = protocol.encode_response(response, &Surface::default());
    (protocol.decode_response(encoded.value()).expect("our own body is read").value, encoded.changes)
}

/// The answer as a stream, read again with its bytes cut every `step` bytes.
fn stream_trip(protocol: Protocol, response: &Response, step: usize) -> (Response, Vec<Event>, Vec<Change>) {
    let surface = Surface::default();
    let mut encoder = protocol.stream_encoder(&surface);
    let bytes: Vec<u8> = events_of(response, 3).iter().flat_map(|event| encoder.push(event)).collect();
    let mut decoder = protocol.stream_decoder(protocol.framing(&surface));
    let mut events = Vec::new();
    for chunk in bytes.chunks(step) {
        events.extend(decoder.push(chunk).expect("our own stream is read"));
    }
    events.extend(decoder.finish().expect("our own stream ends"));
    let mut assembler = Assembler::default();
    events.iter().cloned().for_each(|event| assembler.push(event));
    let response = assembler.finish().expect("our own stream is whole");
    (response, events, encoder.changes().to_vec())
}

#[test]
fn what_every_protocol_can_say_comes_back_without_a_change() {
    for protocol in Protocol::ALL {
        check(200, &plain_request(), |request| {
            let request = without_url(protocol, request);
            let (back, changes) = request_trip(protocol, &request);
            prop_assert_eq!(&changes, &[], "{}", protocol);
            prop_assert_eq!(back, request, "{}", protocol);
            Ok(())
        });
        check(200, &plain_response(), |response| {
            let response = without_headers(protocol, response);
            let (back, changes) = response_trip(protocol, &response);
            prop_assert_eq!(&changes, &[], "{}", protocol);
            prop_assert_eq!(back, response, "{}", protocol);
            Ok(())
        });
    }
}

/// Rows that are not true: a protocol that has no word but tells nothing, or has one and does not use it.
fn untrue<T: Clone + std::fmt::Debug + PartialEq>(
    words: &[Word<T>],
    plain: &BoxedStrategy<T>,
    says: fn(&Word<T>, Protocol) -> bool,
    trip: impl Fn(Protocol, T) -> (T, T, Vec<Change>),
) -> Vec<String> {
    let mut untrue = Vec::new();
    for (word, protocol) in words.iter().flat_map(|word| Protocol::ALL.map(|protocol| (word, protocol))) {
        let told = Cell::new(0);
        let mut runner = TestRunner::new(cases(25));
        let outcome = runner.run(&(plain.clone(), dice(protocol)), |(mut value, dice)| {
            word.add(&mut value, &dice);
            let (value, back, changes) = trip(protocol, value);
            told.set(told.get() + u32::from(!changes.is_empty()));
            if says(word, protocol) {
                prop_assert_eq!(&changes, &[]);
            }
            if changes.is_empty() {
                prop_assert_eq!(back, value);
            }
            Ok(())
        });
        if let Err(error) = outcome {
            untrue.push(format!("{protocol}: {}: {error}", word.name));
        } else if !says(word, protocol) && told.get() == 0 {
            untrue.push(format!("{protocol}: {}: it is said, and the row does not know", word.name));
        }
    }
    untrue
}

#[test]
fn the_rows_of_words_are_true_for_requests() {
    let untrue = untrue(REQUEST_WORDS, &plain_request().boxed(), Word::is_said_by, |protocol, request| {
        let request = without_url(protocol, request);
        let (back, changes) = request_trip(protocol, &request);
        (request, back, changes)
    });
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

#[test]
fn the_rows_of_words_are_true_for_answers() {
    let untrue = untrue(RESPONSE_WORDS, &plain_response().boxed(), Word::is_said_by, |protocol, response| {
        let response = without_headers(protocol, response);
        let (back, changes) = response_trip(protocol, &response);
        (response, back, changes)
    });
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

#[test]
fn the_rows_of_words_are_true_for_streams() {
    let untrue = untrue(RESPONSE_WORDS, &plain_response().boxed(), is_streamed, |protocol, response| {
        let response = without_headers(protocol, response);
        let (back, _, changes) = stream_trip(protocol, &response, usize::MAX);
        (response, back, changes)
    });
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

/// How many values were compared with what came back, because nothing gave. A law that compares few is no law.
#[derive(Default)]
struct Share {
    seen: Cell<u32>,
    compared: Cell<u32>,
}

/// The least share of values that a law compares, in hundredths, for every protocol and direction.
const LEAST_COMPARED: u32 = 70;

impl Share {
    fn count(&self, compared: bool) {
        self.seen.set(self.seen.get() + 1);
        self.compared.set(self.compared.get() + u32::from(compared));
    }

    fn enough(&self, protocol: Protocol, direction: &str) {
        let (seen, compared) = (self.seen.get(), self.compared.get());
        println!("{protocol}: {direction}: {compared} of {seen} compared");
        assert!(compared * 100 >= seen * LEAST_COMPARED, "{protocol}: {direction}: {compared} of {seen} compared");
    }
}

/// Mostly what the protocol can say exactly, and sometimes anything.
fn mostly<T: std::fmt::Debug>(
    said: impl Strategy<Value = T> + 'static,
    wild: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![4 => said, 1 => wild]
}

#[test]
fn words_said_together_come_back_without_a_change() {
    for protocol in Protocol::ALL {
        check(600, &said_request(protocol), |request| {
            let request = without_url(protocol, request);
            let (back, changes) = request_trip(protocol, &request);
            prop_assert_eq!(&changes, &[], "{}", protocol);
            prop_assert_eq!(back, request, "{}", protocol);
            Ok(())
        });
        check(600, &said_response(protocol), |response| {
            let response = without_headers(protocol, response);
            let (back, changes) = response_trip(protocol, &response);
            prop_assert_eq!(&changes, &[], "{}", protocol);
            prop_assert_eq!(&back, &response, "{}", protocol);
            Ok(())
        });
        check(600, &streamed_response(protocol), |response| {
            let response = without_headers(protocol, response);
            let (streamed, _, changes) = stream_trip(protocol, &response, usize::MAX);
            prop_assert_eq!(&changes, &[], "{}: streamed", protocol);
            prop_assert_eq!(&streamed, &response, "{}: streamed", protocol);
            Ok(())
        });
    }
}

#[test]
fn a_request_is_read_as_it_was_written_up_to_recorded_changes() {
    for protocol in Protocol::ALL {
        let share = Share::default();
        check(1200, &mostly(said_request(protocol), wild_request(protocol)), |request| {
            let request = without_url(protocol, request);
            let (back, changes) = request_trip(protocol, &request);
            share.count(changes.is_empty());
            if changes.is_empty() {
                prop_assert_eq!(&back, &request, "{}: a silent change", protocol);
            }
            // What was said once is said again: nothing more gives.
            let (again, changes) = request_trip(protocol, &back);
            prop_assert_eq!(&changes, &[], "{}: the second time something gives", protocol);
            prop_assert_eq!(again, back, "{}: a silent change the second time", protocol);
            Ok(())
        });
        share.enough(protocol, "request");
    }
}

/// One thing at a time: where nothing is told, nothing was lost.
#[test]
fn one_thing_more_comes_back_or_is_told() {
    for protocol in Protocol::ALL {
        check(1500, &request_with_one_more(protocol), |request| {
            let request = without_url(protocol, request);
            let (back, changes) = request_trip(protocol, &request);
            if changes.is_empty() {
                prop_assert_eq!(back, request, "{}: a silent change", protocol);
            }
            Ok(())
        });
    }
}

#[test]
fn an_answer_is_read_as_it_was_written_up_to_recorded_changes() {
    for protocol in Protocol::ALL {
        let share = Share::default();
        check(1200, &mostly(said_response(protocol), wild_response(protocol)), |response| {
            let response = without_headers(protocol, response);
            let (back, changes) = response_trip(protocol, &response);
            share.count(changes.is_empty());
            if changes.is_empty() {
                prop_assert_eq!(&back, &response, "{}: a silent change", protocol);
            }
            let (again, changes) = response_trip(protocol, &back);
            prop_assert_eq!(&changes, &[], "{}: the second time something gives", protocol);
            prop_assert_eq!(again, back, "{}: a silent change the second time", protocol);
            Ok(())
        });
        share.enough(protocol, "response");
    }
}

#[test]
fn a_stream_gives_what_the_whole_body_gives_however_it_is_cut() {
    for protocol in Protocol::ALL {
        let share = Share::default();
        check(500, &(mostly(streamed_response(protocol), wild_response(protocol)), 2..40_usize), |(response, step)| {
            let (whole, _) = response_trip(protocol, &response);
            let (streamed, events, changes) = stream_trip(protocol, &whole, usize::MAX);
            let noted = changes.iter().all(|change| change.effect == Effect::Note);
            share.count(noted);
            if noted {
                prop_assert_eq!(&streamed, &whole, "{}: {:?}", protocol, events);
            }
            for step in [1, step] {
                prop_assert_eq!(&stream_trip(protocol, &whole, step).1, &events, "{}: cut every {}", protocol, step);
            }
            Ok(())
        });
        share.enough(protocol, "stream");
    }
}

#[test]
fn an_error_is_read_as_it_was_written() {
    for protocol in Protocol::ALL {
        let share = Share::default();
        check(400, &fault(), |error| {
            share.count(true);
            let encoded = protocol.encode_error(&error, &Surface::default());
            let headers: Vec<_> = encoded.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let back = protocol.decode_error(encoded.status, Headers(&headers), &encoded.body);
            prop_assert_eq!(back, error, "{}", protocol);
            Ok(())
        });
        share.enough(protocol, "error");
    }
}
