//! The command line of the project's chores: `cargo xtask <command>`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use xtask::finding::Finding;
use xtask::tree::Tree;
use xtask::{codegen, deps, tidy, trace};

/// Generates and checks everything generated.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, Subcommand)]
enum Command {
    /// Write CRDs, roles, examples and reference pages from their sources
    Codegen {
        /// Write nothing; fail and name the files that differ from what would be written
        #[arg(long)]
        check: bool,
    },
    /// Check crate edges, pure crates, duplicates, licences and forbidden crates
    Deps,
    /// Check file sizes, names, leaks, links and test tags
    Tidy,
    /// Write the page that says which test verifies which requirement
    Trace {
        /// Write nothing; fail if the page is stale, or a named test did not run or was not ok in the last test run
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    run(Cli::parse().command).unwrap_or_else(|error| {
        // There is nobody left to tell if even this cannot be written.
        let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().context("the workspace this program was built from is gone")?;
    let tree = || Tree::load(&root);
    match command {
        Command::Codegen { check: false } => {
            let tree = tree()?;
            say(&codegen::render(&tree)?.write(&tree)?.to_string())
        }
        Command::Codegen { check: true } => {
            let tree = tree()?;
            let rendered = codegen::render(&tree)?;
            report("codegen", &format!("{} files", rendered.files().count()), &rendered.compare(&tree))
        }
        Command::Deps => {
            let facts = deps::Facts::gather(&root)?;
            let looked_at = format!("{} crates, {} packages", facts.members.len(), facts.packages.len());
            report("deps", &looked_at, &deps::check(&facts))
        }
        Command::Tidy => {
            let tree = tree()?;
            report("tidy", &format!("{} files", tree.paths().count()), &tidy::check(&tree))
        }
        Command::Trace { check: false } => {
            let tree = tree()?;
            say(&trace::render(&tree)?.write_only(&tree)?.to_string())
        }
        Command::Trace { check: true } => {
            let tree = tree()?;
            let looked_at = format!("{} tests that verify requirements", trace::find_tests(&tree).len());
            report("trace", &looked_at, &trace::check(&tree, &trace::Results::read(&root)?)?)
        }
    }
}

fn report(command: &str, looked_at: &str, findings: &[Finding]) -> Result<ExitCode> {
    if findings.is_empty() {
        return say(&format!("{command}: ok ({looked_at})"));
    }
    let mut lines: Vec<String> = findings.iter().map(|finding| format!("  {finding}")).collect();
    lines.insert(0, format!("{command}: {} to fix", findings.len()));
    say(&lines.join("\n"))?;
    Ok(ExitCode::FAILURE)
}

fn say(text: &str) -> Result<ExitCode> {
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}
