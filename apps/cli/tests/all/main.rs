//! The command as a process of its own: killed, piped, and without keys.
#![expect(clippy::expect_used, reason = "helpers of tests may fail loudly")]

mod ask;
mod batch;
mod process;
