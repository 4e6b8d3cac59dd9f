//! Every example runs to its end, against the emulator.
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program from the root of the repository and returns what it prints.
fn run(program: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let output = Command::new(program).current_dir(root).stdin(Stdio::null()).output().expect("the example starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}\n{printed}{}", output.status, String::from_utf8_lossy(&output.stderr));
    printed
}

/// A test for each example, with words that it must print.
macro_rules! examples {
    ($($name:ident: $words:expr,)*) => {$(
        #[test]
        fn $name() {
            let printed = run(env!(concat!("CARGO_BIN_EXE_", stringify!($name))));
            for word in $words {
                assert!(printed.contains(word), "`{word}` is missing in:\n{printed}");
            }
        }
    )*};
}

examples! {
    ask: ["Order { id: ", "1 attempt(s)"],
    stream: ["EndTurn after 0 retries"],
    tool_loop: ["calls ", "gets ", " turns: "],
    fit_tools: ["openai/gpt-5\n", "anthropic/claude-sonnet-4-5\n", " at `/"],
    translate: ["POST https://api.anthropic.com/v1/messages", "at `/"],
    own_http: ["Hello from memory. (1 request)"],
    emulated_test: ["well behaved: ", "fenced and wrong at first: "],
}
