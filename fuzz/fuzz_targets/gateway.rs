//! `cargo +nightly fuzz run gateway --features libfuzzer,gateway`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::gateway(data) {
        panic!("{fault}");
    }
});
