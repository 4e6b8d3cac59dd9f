//! The calendar in UTC, for budgets by day and month.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: i64 = 86_400_000;

pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Unix seconds.
pub(crate) fn unix_seconds() -> u64 {
    u64::try_from(unix_ms() / 1000).unwrap_or_default()
}

/// A day and a month that budgets refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    /// Milliseconds from the epoch to the beginning of the day.
    pub(crate) day: i64,
    /// Milliseconds from the epoch to the beginning of the month.
    pub(crate) month: i64,
}

impl Period {
    pub(crate) fn at(unix_ms: i64) -> Self {
        let day = unix_ms.div_euclid(DAY_MS);
        Self { day: day * DAY_MS, month: (day - day_of_month(day)) * DAY_MS }
    }
}

/// The day of the month, from 0, of a day since the epoch: Howard Hinnant's `civil_from_days`.
fn day_of_month(day: i64) -> i64 {
    let day_of_era = (day + 719_468).rem_euclid(146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    day_of_year - (153 * month + 2) / 5
}

#[cfg(test)]
mod tests {
    use super::{DAY_MS, Period, day_of_month};

    #[test]
    fn months_begin_on_their_first_day() {
        // 1970-01-01, 1970-02-01, 1972-02-29, 1972-03-01, 2026-11-18.
        let days = [(0, 0), (31, 0), (789, 28), (790, 0), (20_775, 17)];
        for (day, expected) in days {
            assert_eq!(day_of_month(day), expected, "{day}");
        }
        let period = Period::at(20_775 * DAY_MS + 5);
        assert_eq!(period, Period { day: 20_775 * DAY_MS, month: 20_758 * DAY_MS });
    }
}
