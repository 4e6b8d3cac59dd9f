//! Growth: four times the input costs about four times the work, also where calls share a name or an id.

use std::time::Instant;

use polywire_wire::{Block, Message, Protocol, Request, Role, Surface, ToolCall, ToolResult};

/// One call and one result, so many times, with ids of this kind.
fn conversation(turns: usize, id: impl Fn(usize) -> String) -> Request {
    let turn = |number| {
        let call = Block::ToolCall(ToolCall::new(id(number), "f", "{}"));
        [
            Message::user("go"),
            Message::new(Role::Assistant, vec![call]),
            Message::tool([ToolResult::text(id(number), "ok")]),
        ]
    };
    Request::new("m", (0..turns).flat_map(turn).collect())
}

/// The shortest of some runs, in seconds.
fn seconds(run: impl Fn()) -> f64 {
    let once = || {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[test]
fn repair_encoding_and_decoding_grow_with_the_conversation() {
    let surface = Surface::default();
    let kinds: [fn(usize) -> String; 2] = [|number| format!("id-{number}"), |_| "same".to_owned()];
    for protocol in Protocol::ALL {
        for id in kinds {
            let trip = |turns: usize| {
                let request = conversation(turns, id);
                seconds(|| {
                    let mut request = request.clone();
                    protocol.repair_history(&mut request, &surface);
                    let body = protocol.encode_request(&request, &surface).value();
                    protocol.decode_request(body).unwrap();
                })
            };
            // Quadratic would be sixteen times, whenever it is measured; a busy machine is busy only now and then.
            let ratio = (0..6).map(|_| trip(8000) / trip(2000)).find(|ratio| *ratio < 9.0);
            assert!(ratio.is_some(), "{protocol}: four times the turns cost more than nine times the time");
        }
    }
}
