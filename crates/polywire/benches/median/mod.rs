//! How long something takes.
#![allow(dead_code, reason = "no benchmark uses all of it")]

use std::time::{Duration, Instant};

/// An odd number of runs has a median.
const RUNS: usize = 51;

/// The median of some runs.
pub(crate) fn time(mut run: impl FnMut()) -> Duration {
    median([(); RUNS].map(|()| once(&mut run)))
}

/// The medians of two things that run in turn, so that other load on the machine slows both.
pub(crate) fn time_both(mut one: impl FnMut(), mut other: impl FnMut()) -> (Duration, Duration) {
    let times = [(); RUNS].map(|()| (once(&mut one), once(&mut other)));
    (median(times.map(|(one, _)| one)), median(times.map(|(_, other)| other)))
}

fn once(run: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median(mut times: [Duration; RUNS]) -> Duration {
    times.sort_unstable();
    times[RUNS / 2]
}
