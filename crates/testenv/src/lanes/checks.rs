//! Checks that are no tests: each is one command that succeeds or does not.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::executables::{Built, cargo};
use super::outcome::{Counts, Outcome, Outcomes};
use crate::cli::say;

/// Formatting, lints, generated files, dependency edges, file sizes and names.
pub(super) fn lint(built: &Built) -> Result<Outcomes> {
    run(
        &built.root,
        &[
            (cargo().as_path(), "cargo", &["fmt", "--all", "--check"]),
            // For release, as everything else here is: macros and what build scripts made are there already.
            (
                cargo().as_path(),
                "cargo",
                &["clippy", "--quiet", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"],
            ),
            (&built.xtask, "cargo xtask", &["codegen", "--check"]),
            (&built.xtask, "cargo xtask", &["deps"]),
            (&built.xtask, "cargo xtask", &["tidy"]),
        ],
    )
}

/// Every test that claims a requirement ran and passed.
pub(super) fn trace(built: &Built) -> Result<Outcomes> {
    run(&built.root, &[(&built.xtask, "cargo xtask", &["trace", "--check"])])
}

/// Runs each command, the later ones even if an earlier one fails: a person wants to see everything at once.
fn run(root: &Path, checks: &[(&Path, &str, &[&str])]) -> Result<Outcomes> {
    let (mut counts, mut failures) = (Counts::default(), String::new());
    for (program, shown, arguments) in checks {
        // The chores program was built with everything else: `cargo xtask` would build it again with other features.
        let status = Command::new(program)
            .args(*arguments)
            .current_dir(root)
            .env("CARGO", cargo())
            .status()
            .with_context(|| format!("run {}", program.display()))?;
        let outcome = if status.success() { Outcome::Passed } else { Outcome::Failed };
        let check = format!("{shown} {}", arguments.join(" "));
        say(&format!("{check:<70} {}", outcome.word()));
        if outcome == Outcome::Failed {
            writeln!(failures, "{check}").context("a string takes any text")?;
        }
        counts.count(outcome);
    }
    Ok(Outcomes { counts, failures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failing_check_does_not_hide_the_next() {
        let sh = Path::new("sh");
        let Outcomes { counts, failures } =
            run(Path::new("/"), &[(sh, "sh", &["-c", "exit 1"]), (sh, "sh", &["-c", "exit 0"])]).unwrap();
        assert_eq!((counts.failed, counts.passed, failures.as_str()), (1, 1, "sh -c exit 1\n"));
    }
}
