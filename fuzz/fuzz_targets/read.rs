//! `cargo +nightly fuzz run read --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::read(data) {
        panic!("{fault}");
    }
});
