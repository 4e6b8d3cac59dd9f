//! Benchmarks that need programs of others. They print figures and assert none: machines differ.

mod gateway;
mod http;
mod load;
mod mcp;
mod recover;
pub(crate) mod soak;

use std::path::Path;

use anyhow::{Result, bail};

use crate::server::program;

/// Runs a benchmark.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["gateway"] => gateway::bench(),
        ["recover", arguments @ ..] => recover::bench(arguments),
        ["mcp"] => mcp::bench(&program("bench")?),
        ["mcp", program] => mcp::bench(Path::new(program)),
        _ => bail!("there is no such benchmark; there are: gateway, mcp, recover"),
    }
}
