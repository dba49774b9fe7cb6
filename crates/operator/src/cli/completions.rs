//! `hyperfleet completions`: what a shell needs to complete our command line.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::print;

pub(super) fn command() -> Command {
    let shell = Arg::new("shell").required(true).value_parser(value_parser!(Shell)).help("The shell to write for");
    Command::new("completions")
        .about("Print a completion script for a shell")
        .after_help("For bash:  source <(hyperfleet completions bash)")
        .arg(shell)
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let shell = *matches.get_one::<Shell>("shell").expect("clap demands it");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "hyperfleet", &mut script);
    Ok(print::out(&String::from_utf8_lossy(&script))?)
}
