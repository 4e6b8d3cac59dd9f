//! The tests of `polywire-answer`: one binary, a module for each subject.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "tests say what they expect")]

mod families;
mod hostile;
mod laws;
mod own;
mod recovered;
mod recovery;
mod shared;
mod stream;
