//! The chart, for a person and for a program.

use std::fmt::Write;

use serde_json::{Value, json};

use super::chart::{Chart, Finding, Severity};
use crate::print::{Paint, plain};

/// The form of the JSON; a change that breaks readers gets another number.
const FORM: u32 = 1;

impl Chart {
    /// A line or two for each finding, and one for all that is well.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        for finding in self.findings() {
            let Finding { severity, object, what, remedy, .. } = finding;
            let word = match severity {
                Severity::Broken => paint.bad("WRONG  "),
                Severity::Unknown => paint.odd("unknown"),
                Severity::Advice => paint.odd("advice "),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{word}  {}: {}", plain(object), plain(what));
            for line in remedy.lines() {
                let _ = writeln!(text, "     fix:  {}", plain(line));
            }
        }
        if !self.findings().is_empty() {
            text.push('\n');
        }
        text.push_str(&self.summary());
        text.push('\n');
        text
    }

    /// What is well, a line each.
    pub(crate) fn good(&self, paint: Paint) -> String {
        let line = |passed: &super::chart::Passed| {
            format!("{}  {}: {}\n", paint.good("ok     "), plain(&passed.object), plain(&passed.what))
        };
        self.passed().iter().map(line).collect()
    }

    /// All of it in one line.
    pub(crate) fn summary(&self) -> String {
        let (broken, unknown) = (self.count(Severity::Broken), self.count(Severity::Unknown));
        let (advice, passed) = (self.count(Severity::Advice), self.passed().len());
        let mut parts = Vec::new();
        let mut tell = |count: usize, one: &str, many: &str| {
            if count > 0 {
                parts.push(format!("{count} {}", if count == 1 { one } else { many }));
            }
        };
        tell(broken, "thing is broken", "things are broken");
        tell(unknown, "could not be checked", "could not be checked");
        tell(advice, "piece of advice", "pieces of advice");
        let checks = format!("{passed} {} passed", if passed == 1 { "check" } else { "checks" });
        if parts.is_empty() { format!("All is well: {checks}.") } else { format!("{}; {checks}.", parts.join(", ")) }
    }

    /// The same for programs.
    pub(crate) fn json(&self, namespace: Option<&str>) -> Value {
        json!({
            "version": FORM,
            "namespace": namespace,
            "exitCode": self.code(),
            "summary": {
                "broken": self.count(Severity::Broken),
                "unknown": self.count(Severity::Unknown),
                "advice": self.count(Severity::Advice),
                "passed": self.passed().len(),
            },
            "findings": self.findings(),
            "passed": self.passed(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::chart::Check;

    fn chart() -> Chart {
        let mut chart = Chart::default();
        chart.find(Severity::Advice, Check::Clock, &"pve", "its clock is late", "chronyc makestep");
        chart.find(Severity::Broken, Check::Storage, &"pve", "storage x is full\u{1b}[2J", "free some");
        chart.pass(Check::Nodes, &"pve", "3 nodes");
        chart
    }

    #[test]
    fn the_worst_comes_first_and_nothing_steers_the_terminal() {
        let text = chart().text(Paint::Plain);
        assert_eq!(
            text,
            "WRONG    pve: storage x is full [2J\n     fix:  free some\nadvice   pve: its clock is late\n     fix:  \
             chronyc makestep\n\n1 thing is broken, 1 piece of advice; 1 check passed.\n"
        );
        assert_eq!(Chart::default().text(Paint::Plain), "All is well: 0 checks passed.\n");
    }

    #[test]
    fn programs_read_the_same_in_fixed_words() {
        let read = chart().json(Some("ci"));
        assert_eq!(
            (&read["version"], &read["exitCode"], &read["summary"]["broken"]),
            (&1.into(), &1.into(), &1.into())
        );
        let first = &read["findings"][0];
        assert_eq!((&first["severity"], &first["check"]), (&"broken".into(), &"storage".into()));
        assert_eq!(read["passed"][0]["what"], "3 nodes");
    }
}
