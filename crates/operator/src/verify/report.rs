//! What came of it, for a person.

use std::fmt::Write;
use std::time::Duration;

use providers::hypervisor::VmRef;
use providers::hypervisor::kit::{Case, Entry, Outcome, Report};

use super::checks::Ready;
use super::request::Request;
use super::run::Run;
use crate::print::Paint;

/// A case that a real hypervisor gives no chance to.
pub(super) fn untried(case: Case) -> Entry {
    let why = "it takes a hypervisor that misbehaves on request; our tests try it on a simulated one";
    Entry { case: case.name(), outcome: Outcome::Skipped(why.into()), elapsed: Duration::ZERO }
}

/// The whole report.
pub(super) fn text(report: &Report, request: &Request, run: &Run, ready: &Ready, paint: Paint) -> String {
    let mut text = format!("\nProxmox VE {} at {}, run {}:\n\n", ready.health.version, request.url, run.word);
    for line in report.to_string().lines() {
        text.push_str(&painted(line, paint));
        text.push('\n');
    }
    text.push_str(if report.is_good() {
        "\nEverything that could be tried passed, and nothing is left behind.\n"
    } else if report.residue.is_empty() {
        "\nNot everything passed. Nothing is left behind.\n"
    } else {
        "\nSomething is left behind: remove it by hand.\n"
    });
    text
}

/// The line with its verdict standing out.
fn painted(line: &str, paint: Paint) -> String {
    let words =
        [("  passed ", paint.good("passed")), ("  skipped ", paint.odd("skipped")), ("  FAILED ", paint.bad("FAILED"))];
    let found = words.iter().filter_map(|(plain, bright)| Some((line.find(plain)?, *plain, bright))).min();
    match found {
        Some((at, plain, bright)) => {
            let word = plain.trim();
            let start = at + 2;
            format!("{}{bright}{}", &line[..start], &line[start + word.len()..])
        }
        None => line.to_owned(),
    }
}

/// What may be left when somebody would not wait.
pub(super) fn abandoned(remaining: &[VmRef], run: &Run) -> String {
    if remaining.is_empty() {
        return "\nLeft at once. Nothing was left behind.\n".to_owned();
    }
    let mut text = format!("\nLeft at once. These may be left behind, named hyperfleet-kit-{}-<number>:\n", run.word);
    for vm in remaining {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {vm}");
    }
    text.push_str("Look at each before you remove it (qm destroy VMID --purge).\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_stands_out_and_nothing_else_changes() {
        let line = "full-life  FAILED      1.0 s  it had  passed  before";
        assert_eq!(painted(line, Paint::Plain), line);
        assert_eq!(
            painted(line, Paint::Colour),
            "full-life  \u{1b}[31;1mFAILED\u{1b}[0m      1.0 s  it had  passed  before"
        );
        assert_eq!(painted("1 passed, 0 skipped, 0 failed", Paint::Colour), "1 passed, 0 skipped, 0 failed");
    }
}
