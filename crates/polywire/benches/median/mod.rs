//! How long something takes.

use std::time::{Duration, Instant};

/// An odd number of runs has a median.
const RUNS: usize = 51;

/// The median of some runs.
pub(crate) fn time(mut run: impl FnMut()) -> Duration {
    let mut times = [Duration::ZERO; RUNS];
    for time in &mut times {
        let start = Instant::now();
        run();
        *time = start.elapsed();
    }
    times.sort_unstable();
    times[RUNS / 2]
}
