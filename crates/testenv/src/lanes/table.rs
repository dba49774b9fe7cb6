//! The table at the end: a time and counts for each lane, and the sum alone on the last line.

use std::fmt::Write as _;
use std::time::Duration;

use super::outcome::Counts;

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    name: &'static str,
    took: Duration,
    budget: Option<Duration>,
    counts: Option<Counts>,
}

impl Row {
    /// Something that takes time but tests nothing.
    pub(super) fn untested(name: &'static str, took: Duration) -> Self {
        Self { name, took, budget: None, counts: None }
    }

    /// A lane that ran.
    pub(super) fn tested(name: &'static str, took: Duration, budget: Option<Duration>, counts: Counts) -> Self {
        Self { name, took, budget, counts: Some(counts) }
    }

    /// Whether anything failed in it.
    pub(super) fn failed(&self) -> bool {
        self.counts.is_some_and(|counts| counts.failed > 0)
    }
}

/// The table and the sum.
pub(super) fn render(rows: &[Row]) -> String {
    let mut text =
        format!("{:<10} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "lane", "time", "budget", "passed", "failed", "ignored");
    for row in rows {
        let budget = row.budget.map_or_else(|| "-".to_owned(), seconds);
        let [passed, failed, ignored] = match row.counts {
            Some(counts) => [counts.passed, counts.failed, counts.ignored].map(|count| count.to_string()),
            None => ["-"; 3].map(str::to_owned),
        };
        let remark = if row.budget.is_some_and(|budget| row.took > budget) { "  over budget" } else { "" };
        let took = seconds(row.took);
        writeln!(text, "{:<10} {took:>8} {budget:>8} {passed:>8} {failed:>8} {ignored:>8}{remark}", row.name)
            .expect("a string takes any text");
    }
    let sum = rows.iter().filter_map(|row| row.counts).fold(Counts::default(), Counts::plus);
    write!(text, "\n{} passed, {} failed", sum.passed, sum.failed).expect("a string takes any text");
    text
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_millis().div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_sum_alone() {
        let counts = |passed, failed, ignored| Counts { passed, failed, ignored };
        let rows = [
            Row::untested("build", Duration::from_millis(1500)),
            Row::tested("unit", Duration::from_secs(3), Some(Duration::from_mins(2)), counts(10, 0, 1)),
            Row::tested("real", Duration::from_mins(6), Some(Duration::from_mins(5)), counts(4, 1, 0)),
        ];
        let expected = "\
lane           time   budget   passed   failed  ignored
build           2 s        -        -        -        -
unit            3 s    120 s       10        0        1
real          360 s    300 s        4        1        0  over budget

14 passed, 1 failed";
        assert_eq!(render(&rows), expected);
        assert!(rows[2].failed() && !rows[1].failed() && !rows[0].failed());
    }
}
