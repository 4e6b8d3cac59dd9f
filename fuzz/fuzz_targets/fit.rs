//! `cargo +nightly fuzz run fit --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = polywire_fuzz::fit(data) {
        panic!("{fault}");
    }
});
