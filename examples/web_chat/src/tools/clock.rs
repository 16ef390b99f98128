//! Tells the date and the time.

use std::time::{SystemTime, UNIX_EPOCH};

use turnstate::tool::{AgentTool, NoArgs, tool_fn};

const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(crate) fn clock() -> AgentTool {
    tool_fn("clock", "Tells the date and the time, in UTC.", async |_: NoArgs, _| {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(describe(since_epoch.as_secs()))
    })
}

/// A moment, in seconds since the Unix epoch, in words.
fn describe(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds / 60 % 1_440);
    let weekday = DAYS.iter().cycle().nth((days % 7) as usize).unwrap_or(&"");
    let (mut year, mut rest) = (1970, days);
    while rest >= days_of(year) {
        rest -= days_of(year);
        year += 1;
    }
    let february = days_of(year) - 337;
    let mut month = "";
    for (name, length) in MONTHS.iter().zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
        month = name;
        if rest < length {
            break;
        }
        rest -= length;
    }
    format!("{weekday}, {} {month} {year}, {:02}:{:02} UTC", rest + 1, minutes / 60, minutes % 60)
}

fn days_of(year: u64) -> u64 {
    let leaps = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    365 + u64::from(leaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_words() {
        let table = [
            (0, "Thursday, 1 January 1970, 00:00 UTC"),
            (951_825_599, "Tuesday, 29 February 2000, 11:59 UTC"),
            (1_709_251_199, "Thursday, 29 February 2024, 23:59 UTC"),
            (1_735_689_599, "Tuesday, 31 December 2024, 23:59 UTC"),
            (1_735_689_600, "Wednesday, 1 January 2025, 00:00 UTC"),
        ];
        for (seconds, words) in table {
            assert_eq!(describe(seconds), words);
        }
    }
}
