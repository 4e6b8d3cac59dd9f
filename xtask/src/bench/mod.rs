//! Benchmarks that need programs of others. They print figures and assert none: machines differ.

mod gateway;
mod http;
mod load;
pub(crate) mod soak;

use anyhow::{Result, bail};

/// Runs a benchmark.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["gateway"] => gateway::bench(),
        _ => bail!("there is no such benchmark; there is: gateway"),
    }
}
