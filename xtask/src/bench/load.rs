//! Load from `wrk` (Debian: `wrk`) and single streams from `curl`, and what they measure.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// What is asked of one address.
pub(crate) struct Target<'a> {
    pub(crate) url: String,
    pub(crate) key: &'a str,
    /// The file with the body.
    pub(crate) body: &'a Path,
}

/// What `wrk` measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) median: Duration,
    pub(crate) per_second: f64,
}

/// Sends requests over so many connections for so long.
pub(crate) fn load(target: &Target<'_>, connections: usize, seconds: usize) -> Result<Load> {
    let script = target.body.with_extension("lua");
    std::fs::write(&script, SCRIPT)?;
    let (count, time) = (format!("-c{connections}"), format!("-d{seconds}s"));
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", &count, &time, "--timeout", "20s", "--latency", "-s"]).arg(&script).arg(&target.url);
    wrk.arg("--").arg(target.body).arg(target.key);
    let output = wrk.output().context("`wrk` cannot be started (Debian: wrk)")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
        bail!("{}: {text}{}", target.url, String::from_utf8_lossy(&output.stderr));
    }
    read_load(&text).with_context(|| format!("cannot read what wrk printed: {text}"))
}

/// Every request posts the file that is the first argument.
const SCRIPT: &str = r#"
function init(arguments)
  local file = io.open(arguments[1], "rb")
  wrk.method, wrk.body = "POST", file:read("a")
  wrk.headers["content-type"] = "application/json"
  wrk.headers["authorization"] = "Bearer " .. arguments[2]
end
"#;

fn read_load(text: &str) -> Option<Load> {
    let after = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    Some(Load { median: read_time(after("50%")?)?, per_second: after("Requests/sec:")?.parse().ok()? })
}

/// Reads `123.00us`, `1.50ms` or `2.00s`.
fn read_time(text: &str) -> Option<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

/// The median time to the first byte of so many streams, one after another on one connection.
pub(crate) fn first_byte(target: &Target<'_>, count: usize) -> Result<Duration> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--no-buffer", "--fail", "--write-out", "%{time_starttransfer}\n"]);
    curl.arg("--header").arg(format!("authorization: Bearer {}", target.key));
    curl.args(["--header", "content-type: application/json", "--data-binary"]);
    curl.arg(format!("@{}", target.body.display()));
    for _ in 0..count {
        curl.args(["--output", "/dev/null", &target.url]);
    }
    let output = curl.output().context("`curl` cannot be started")?;
    if !output.status.success() {
        bail!("{} gave no stream: {}", target.url, output.status);
    }
    let text = String::from_utf8(output.stdout)?;
    let times = text.lines().map(|line| Ok(Duration::try_from_secs_f64(line.parse()?)?));
    median(times.collect::<Result<_>>()?)
}

pub(crate) fn median(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied().context("nothing was measured")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::read_load;

    #[test]
    fn the_median_and_the_rate_are_read() {
        let text = "  Latency Distribution\n     50%    1.25ms\n     75%    2.00ms\nRequests/sec:   7512.50\n";
        let load = read_load(text).expect("figures");
        assert_eq!((load.median, load.per_second), (Duration::from_micros(1250), 7512.5));
    }
}
