//! How long something takes.
#![allow(dead_code, reason = "no benchmark uses all of it")]

use std::time::{Duration, Instant};

/// An odd number of runs has a median.
const RUNS: usize = 51;

/// The medians of two things that run in turn, so that other load on the machine slows both.
pub(crate) fn time_both(mut one: impl FnMut(), mut other: impl FnMut()) -> (Duration, Duration) {
    let mut times = [[Duration::ZERO; RUNS]; 2];
    for run in 0..RUNS {
        let start = Instant::now();
        one();
        let between = Instant::now();
        other();
        times[0][run] = between - start;
        times[1][run] = between.elapsed();
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    (times[0][RUNS / 2], times[1][RUNS / 2])
}

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
