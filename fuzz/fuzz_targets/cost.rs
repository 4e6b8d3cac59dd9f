//! `cargo +nightly fuzz run cost --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::cost(data) {
        panic!("{fault}");
    }
});
