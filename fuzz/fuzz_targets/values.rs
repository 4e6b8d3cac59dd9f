//! `cargo +nightly fuzz run values --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::values(data) {
        panic!("{fault}");
    }
});
