//! `hyperfleet operator`: runs controllers until it is told to end.

use std::path::PathBuf;

use anyhow::Context;
use chassis::settings::{Effective, Kind, RUNTIME, Setting, environment};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use runtime::host::{self, Launch};

use super::VERSION;
use crate::bootstrap::Advertised;
use crate::{Duty, SETTINGS, Set, controllers, print, select, sets};

pub(super) fn command() -> Command {
    Command::new("operator")
        .about("Run controllers against a Kubernetes API server")
        .long_about(long_about())
        .args(arguments())
}

/// What every command takes that runs controllers: their settings.
pub(super) fn arguments() -> Vec<Arg> {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Settings file (YAML), read again when it changes [env: HYPERFLEET_CONFIG]");
    let show = Arg::new("print-settings")
        .long("print-settings")
        .action(ArgAction::SetTrue)
        .help("Print every setting, its value and where it comes from, and exit");
    [config, show].into_iter().chain(SETTINGS.iter().chain(RUNTIME).map(argument)).collect()
}

fn long_about() -> String {
    let duties = |set: &Set| {
        let line = |duty: &Duty| format!("    {:12} {}\n", duty.name, duty.summary);
        set.controllers.iter().map(line).collect::<Vec<_>>().concat()
    };
    let listed: Vec<String> =
        sets().iter().map(|set| format!("  {:14} {}\n{}", set.name, set.summary, duties(set))).collect();
    let listed = listed.concat();
    format!(
        "Run controllers against the API server that KUBECONFIG names, or that of the surrounding cluster.\n\n\
         A flag counts before its environment variable, that before the settings file, that before the default.\n\n\
         Controllers:\n{listed}\n\
         Traces are exported if OTEL_EXPORTER_OTLP_ENDPOINT is set; the other OTEL_* variables count too."
    )
}

pub(super) fn argument(setting: &Setting) -> Arg {
    let default = if setting.default.is_empty() { String::new() } else { format!(" [default: {}]", setting.default) };
    let argument = Arg::new(setting.flag)
        .long(setting.flag)
        .help(format!("{} [env: {}]{default}", setting.help, setting.env))
        .value_name(value_name(setting.kind));
    match setting.kind {
        // `--leader-elect` alone means yes, as Go's flags have it.
        Kind::Bool => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Kind::Duration(..)
        | Kind::Int(..)
        | Kind::Address
        | Kind::Choice(_)
        | Kind::List
        | Kind::Ranges
        | Kind::Text
        | Kind::Level => argument,
    }
}

const fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "BOOL",
        Kind::Duration(..) => "DURATION",
        Kind::Int(..) => "NUMBER",
        Kind::Address => "ADDRESS",
        Kind::Choice(_) => "WORD",
        Kind::List | Kind::Ranges => "LIST",
        Kind::Text => "TEXT",
        Kind::Level => "LEVEL",
    }
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let Prepared { launch, duties, effective } = prepare(matches).await?;
    if matches.get_flag("print-settings") {
        return Ok(print::out(&listing(&effective))?);
    }
    host::run(launch, |host| controllers::spawn(&duties, host)).await?;
    Ok(())
}

/// Controllers that could start now.
pub(super) struct Prepared {
    pub(super) launch: Launch<'static>,
    pub(super) duties: Vec<Duty>,
    pub(super) effective: Effective,
}

/// Reads and checks the settings.
pub(super) async fn prepare(matches: &ArgMatches) -> anyhow::Result<Prepared> {
    let mut launch = Launch {
        name: "hyperfleet-operator",
        lease: String::new(),
        version: VERSION,
        tables: &[SETTINGS],
        flags: flags(matches),
        file: matches
            .get_one::<PathBuf>("config")
            .cloned()
            .or_else(|| environment("HYPERFLEET_CONFIG").map(Into::into)),
        env: &environment,
    };
    let (_, effective, _) = host::resolve(&launch).await.context("the settings are wrong")?;
    let duties = select(&effective.list("controllers.enabled"))?;
    launch.lease = lease_name(&duties);
    Advertised::parse(effective.text("bootstrap.advertise")).context("the settings are wrong")?;
    Ok(Prepared { launch, duties, effective })
}

/// One Lease per choice of sets, so that deployments of different sets do not wait for each other. Sets that elect nobody
/// do not count beside others: whether a process serves machines, too, is no reason for a second leader.
fn lease_name(duties: &[Duty]) -> String {
    let has = |set: &&Set| set.controllers.iter().any(|known| duties.iter().any(|duty| duty.name == known.name));
    let chosen: Vec<&Set> = sets().iter().filter(has).collect();
    let alone = chosen.iter().all(|set| !set.elects);
    let names: Vec<&str> = chosen.iter().filter(|set| set.elects || alone).map(|set| set.name).collect();
    format!("hyperfleet-{}", names.join("-"))
}

/// The settings among the arguments, as (flag, value).
fn flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let given = |setting: &Setting| {
        let value = matches.get_one::<String>(setting.flag)?;
        Some((setting.flag.to_owned(), value.clone()))
    };
    SETTINGS.iter().chain(RUNTIME).filter_map(given).collect()
}

pub(super) fn listing(effective: &Effective) -> String {
    let lines = effective.lines();
    let widest = lines.iter().map(|line| line.setting.key.len()).max().unwrap_or(0);
    let show = |line: &chassis::settings::Line| {
        let value = if line.value.is_empty() { "-" } else { &line.value };
        format!("{:widest$}  {value}  ({})\n", line.setting.key, line.source)
    };
    lines.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_is_that_of_the_sets_that_elect_a_leader() {
        for (names, lease) in [
            (&["fleet"][..], "hyperfleet-fleet"),
            (&["fleet", "bootstrap"], "hyperfleet-fleet"),
            (&["bootstrap", "runner-jobs"], "hyperfleet-fleet"),
            (&["bootstrap"], "hyperfleet-bootstrap"),
            (&["ingress", "runner-sources"], "hyperfleet-fleet"),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(lease_name(&select(&names).unwrap()), lease);
        }
    }
}
