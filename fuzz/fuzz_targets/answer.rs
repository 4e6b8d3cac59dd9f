//! `cargo +nightly fuzz run answer --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::answer(data) {
        panic!("{fault}");
    }
});
