//! `hyperfleet doctor`: the flags, and how the program ends.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use chassis::Clock;
use chassis::settings::{Effective, Setting, Source, environment};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use kube::Client;
use providers::http::AddressPolicy;
use runtime::host::{self, Launch};

use super::VERSION;
use super::operator::argument;
use super::reach::{kubeconfig_flag, namespace_flag, reach};
use crate::doctor::{self, Means, Sight};
use crate::print::{self, Paint};
use crate::{SETTINGS, controllers};

/// Where `deploy/` puts the operator.
const HOME: &str = "hyperfleet-operator-system";

/// Settings of the operator that what is looked at depends on.
const SHARED: &[&str] = &[
    "bootstrap-advertise",
    "hypervisor-allowed-addresses",
    "hypervisor-denied-addresses",
    "platform-allowed-addresses",
    "platform-denied-addresses",
];

const LONG_ABOUT: &str = "Check everything that is configured, live, and say for each thing that is wrong what to do.

It looks at the Kubernetes API and our custom resource definitions; at each HypervisorCluster (endpoint, certificate, clock, \
token, privileges, pool, storages, VMIDs) and its templates; at the address that machines call; at each RunnerSource \
(credentials, permissions, webhook or queue); and at pools. It only reads, and shows nothing secret. Settings are those of the \
operator: give it the same flags, environment or file.

Exit codes:
  0  all is well; there may be advice
  1  something is broken
  2  nothing is known to be broken, but something could not be checked, or what it was told is wrong";

const EXAMPLES: &str = "Examples:
  hyperfleet doctor -n ci
  hyperfleet doctor --all-namespaces --bootstrap-advertise=https://10.0.0.5:8444
  hyperfleet doctor -o json | jq -r '.findings[] | \"\\(.object): \\(.what)\"'

JSON: version (1), namespace, exitCode, summary {broken, unknown, advice, passed}, findings [{severity, check, object, what,
remedy}] with the worst first, passed [{check, object, what}].";

pub(super) fn command() -> Command {
    let output = Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FORM")
        .value_parser(["text", "json"])
        .default_value("text")
        .help("How to say it");
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("doctor")
        .about("Check everything that is configured, and say what to do about what is wrong")
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .arg(namespace_flag())
        .arg(switch("all-namespaces").short('A').conflicts_with("namespace").help("Look in all namespaces"))
        .arg(output)
        .arg(switch("verbose").short('v').help("Say what is well, too"))
        .arg(kubeconfig_flag())
        .arg(
            Arg::new("operator-namespace")
                .long("operator-namespace")
                .value_name("NAME")
                .default_value(HOME)
                .help("Namespace that the operator runs in"),
        )
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The operator's settings file (YAML) [env: HYPERFLEET_CONFIG]"),
        )
        .args(shared().map(argument))
}

fn shared() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| SHARED.contains(&setting.flag))
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (effective, client, namespace) = match begun(matches).await {
        Ok(begun) => begun,
        // It says nothing of what is looked at: 1 would.
        Err(error) => {
            print::error(&error);
            return Ok(ExitCode::from(2));
        }
    };
    let home = matches.get_one::<String>("operator-namespace").cloned().unwrap_or_default();
    let advertise = match told(&effective) {
        Some(advertise) => Some(advertise),
        None => doctor::deployed(&client, &home).await,
    };
    let means = Means {
        client,
        namespace: (!matches.get_flag("all-namespaces")).then_some(namespace),
        home,
        advertise,
        sight: Sight {
            hypervisors: policy(&effective, "hypervisors"),
            platforms: policy(&effective, "platforms"),
            clock: Clock::system(),
        },
    };
    let chart = doctor::examine(&means).await;
    let paint = Paint::detect();
    if matches.get_one::<String>("output").is_some_and(|form| form == "json") {
        print::out(&format!("{:#}\n", chart.json(means.namespace.as_deref())))?;
    } else {
        if matches.get_flag("verbose") {
            print::out(&chart.good(paint))?;
        }
        print::out(&chart.text(paint))?;
    }
    Ok(ExitCode::from(chart.code()))
}

/// What everything else needs: settings that are right, and an API server.
async fn begun(matches: &ArgMatches) -> anyhow::Result<(Effective, Client, String)> {
    let effective = settings(matches).await?;
    let (client, namespace) = reach(matches).await?;
    Ok((effective, client, namespace))
}

/// The operator's settings, as far as they are known here.
pub(super) async fn settings(matches: &ArgMatches) -> anyhow::Result<Effective> {
    let given = |setting: &Setting| Some((setting.flag.to_owned(), matches.get_one::<String>(setting.flag)?.clone()));
    let file = matches.try_get_one::<PathBuf>("config").ok().flatten().cloned();
    let launch = Launch {
        name: "hyperfleet-doctor",
        lease: String::new(),
        version: VERSION,
        tables: &[SETTINGS],
        flags: shared().filter_map(given).collect(),
        file: file.or_else(|| environment("HYPERFLEET_CONFIG").map(Into::into)),
        env: &environment,
    };
    let (_, effective, _) = host::resolve(&launch).await.context("the settings are wrong")?;
    Ok(effective)
}

/// `bootstrap.advertise`, if anybody said something about it.
fn told(effective: &Effective) -> Option<String> {
    let lines = effective.lines();
    let line = lines.iter().find(|line| line.setting.flag == "bootstrap-advertise")?;
    (line.source != Source::Default).then(|| line.value.clone())
}

/// The addresses that hypervisors, or platforms, may have.
pub(super) fn policy(effective: &Effective, whose: &str) -> AddressPolicy {
    controllers::ranges(effective, whose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_setting_that_is_wrong_is_no_sign_that_something_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let (absent, strange) = (folder.path().join("absent.yaml"), folder.path().join("strange.yaml"));
        std::fs::write(&strange, "bootstrap: {advertize: x}\n").unwrap();
        let (absent, strange) = (absent.to_str().unwrap(), strange.to_str().unwrap());
        for flags in [["--config", absent], ["--config", strange], ["--hypervisor-allowed-addresses", "everywhere"]] {
            let matches = command().get_matches_from(["doctor"].iter().chain(&flags));
            assert_eq!(run(&matches).await.unwrap(), ExitCode::from(2), "{flags:?}");
        }
    }
}
