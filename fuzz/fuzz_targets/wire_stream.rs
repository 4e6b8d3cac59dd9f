//! `cargo +nightly fuzz run wire_stream --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::wire::stream(data) {
        panic!("{fault}");
    }
});
