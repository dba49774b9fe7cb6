//! The command line: what a person can ask `hyperfleet` to do.

mod completions;
mod crds;
mod demo;
mod doctor;
mod export;
#[cfg(test)]
mod guides;
mod import;
mod init;
mod operator;
mod reach;
pub(crate) mod top;
mod up;
mod verify;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use chassis::settings::{Problem, refused};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use crate::print;

/// The program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const ABOUT: &str = "Ephemeral VMs for CI jobs, on your own hypervisors";

const LONG_ABOUT: &str = "HyperFleet gives every CI job a fresh VM on your own hypervisors and leaves nothing behind.

It is a Kubernetes operator: you describe clusters, templates, sources and pools as custom resources, and
`hyperfleet operator` does the rest.";

const EXAMPLES: &str = "Examples:
  hyperfleet demo                           see it work, without a cluster and without a hypervisor
  hyperfleet up --data-dir /var/lib/hyperfleet    run everything on one machine, without a cluster
  hyperfleet crds | kubectl apply -f -      install the custom resource definitions
  hyperfleet operator --leader-elect        run the operator against the current cluster
  hyperfleet operator --print-settings      show every setting, its value and where it comes from
  hyperfleet why job-3f9a2c                 say what a job waits for, and what to do about it
  hyperfleet top                            watch pools, queue and VMs
  hyperfleet init                           set up a Proxmox VE and a CI platform, and write the manifests
  hyperfleet doctor                         check what is configured, and say what to do
  hyperfleet verify proxmox --help          try out a Proxmox VE before you trust it with your jobs
  kubectl explain runnerpools.spec          read what a pool can be told";

/// The whole command line, as clap sees it.
pub fn command() -> Command {
    Command::new("hyperfleet")
        .version(VERSION)
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .max_term_width(110)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(demo::command())
        .subcommand(operator::command())
        .subcommand(up::command())
        .subcommand(crds::command())
        .subcommand(why::command())
        .subcommand(top::command())
        .subcommand(init::command())
        .subcommand(doctor::command())
        .subcommand(verify::command())
        .subcommand(export::command())
        .subcommand(import::command())
        .subcommand(completions::command())
        .subcommand(Command::new("version").about("Print the version"))
}

/// Does what the arguments ask for.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return misunderstood(&error),
    };
    match asked(&matches).await {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            ExitCode::FAILURE
        }
    }
}

/// What was asked for, as an object: so everything behind it is compiled here, and not again with each program that polls it.
fn asked(matches: &ArgMatches) -> LocalBoxFuture<'_, anyhow::Result<ExitCode>> {
    dispatch(matches).boxed_local()
}

async fn dispatch(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    match matches.subcommand() {
        Some(("operator", matches)) => operator::run(matches).await?,
        Some(("demo", matches)) => return demo::run(matches).await,
        Some(("up", matches)) => up::run(matches).await?,
        Some(("crds", _)) => crds::run()?,
        Some(("why", matches)) => return why::run(matches).await,
        Some(("top", matches)) => top::run(matches).await?,
        Some(("export", matches)) => export::run(matches).await?,
        Some(("import", matches)) => import::run(matches).await?,
        Some(("init", matches)) => return init::run(matches).await,
        Some(("doctor", matches)) => return doctor::run(matches).await,
        Some(("verify", matches)) => return verify::run(matches).await,
        Some(("completions", matches)) => completions::run(matches)?,
        _ => print::out(&format!("hyperfleet {VERSION}\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Help and version are what was asked for; a flag other operators have gets what replaces it; the rest is clap's.
fn misunderstood(error: &clap::Error) -> ExitCode {
    if let Some(problem) = foreign_flag(error) {
        print::error(&anyhow::anyhow!(problem));
        return ExitCode::from(2);
    }
    // Printing fails only where nobody reads any more.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn foreign_flag(error: &clap::Error) -> Option<Problem> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let flag = argument.trim_start_matches('-').split('=').next()?;
    refused(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_flag_of_other_operators_names_what_replaces_it() {
        let error = command().try_get_matches_from(["hyperfleet", "operator", "--zap-log-level=debug"]).unwrap_err();
        let told = foreign_flag(&error).unwrap().to_string();
        assert_eq!(told, "--zap-log-level: has no meaning here; use --log-level (or LOG_LEVEL)");
    }

    #[test]
    fn every_command_has_help_and_every_flag_too() {
        fn check(command: &Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }
}
