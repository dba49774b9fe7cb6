//! `hyperfleet up`: everything on one machine, for whoever has a hypervisor and no Kubernetes.

mod backup;
mod elsewhere;
mod folder;
mod next;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use apiserver::store::Disk;
use chassis::{Clock, Tasks};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use runtime::host::{self, Surroundings};
use rustls::pki_types::ServerName;

use self::folder::Folder;
use super::operator::{self, Prepared};
use crate::single::{self, HISTORY, Keys, Single};
use crate::{controllers, print};

const LONG_ABOUT: &str = "Run everything on one machine, without a Kubernetes cluster.

It serves a Kubernetes API of its own for HyperFleet's resources and runs the operator beside it. Objects are kept in one \
file in the data directory, and each write is on disk before it is answered. kubectl works with the kubeconfig that it \
writes there. It is one process on one machine: if that is away, nobody makes VMs. For more than one machine, use a \
Kubernetes cluster; the manifests are the same.

With --kubeconfig it runs the operator against an existing cluster instead, as `hyperfleet operator` does with KUBECONFIG: \
it serves no API, needs no data directory, and installs nothing in that cluster.

SIGTERM or SIGINT ends it; what it has begun goes on at the next start.";

const EXAMPLES: &str = "Examples:
  hyperfleet up --data-dir /var/lib/hyperfleet --listen 0.0.0.0:6443 --advertise 192.168.1.10
  hyperfleet up backup --data-dir /var/lib/hyperfleet hyperfleet-2026-11-18.redb
  hyperfleet up --kubeconfig ~/.kube/config --leader-elect";

/// How long clients of the API have to hear that it ends.
const GRACE: Duration = Duration::from_secs(5);

/// Where a person expects a Kubernetes API.
const LISTEN: &str = "127.0.0.1:6443";

pub(super) fn command() -> Command {
    let listen = Arg::new("listen")
        .long("listen")
        .value_name("ADDRESS")
        .value_parser(value_parser!(SocketAddr))
        .conflicts_with("kubeconfig")
        .help(format!("Where kubectl finds the API, over TLS [default: {LISTEN}]"));
    let advertise = Arg::new("advertise")
        .long("advertise")
        .value_name("NAME")
        .action(ArgAction::Append)
        .value_parser(host_name)
        .conflicts_with("kubeconfig")
        .help(
            "Name or address that others reach this machine at; may be given more than once. The first one stands in \
             bootstrap.advertise if that is not set, and in the kubeconfig if --listen lets others in",
        );
    let kubeconfig = Arg::new("kubeconfig")
        .long("kubeconfig")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .conflicts_with("data-dir")
        .help("Use the cluster that this file names instead of an own one; nothing is installed in it");
    Command::new("up")
        .about("Run everything on one machine, without a Kubernetes cluster")
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .subcommand(backup::command())
        .arg(directory().required_unless_present("kubeconfig"))
        .args([listen, advertise, kubeconfig])
        .args(operator::arguments())
}

/// The flag that names the data directory.
fn directory() -> Arg {
    Arg::new("data-dir")
        .long("data-dir")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Directory of everything that is kept; made if it is missing, and only its owner may read it")
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    if let Some(("backup", matches)) = matches.subcommand() {
        return backup::run(matches).await;
    }
    let mut prepared = operator::prepare(matches).await?;
    next::fill(&mut prepared, names(matches).first()).await?;
    if matches.get_flag("print-settings") {
        return Ok(print::out(&operator::listing(&prepared.effective))?);
    }
    match matches.get_one::<PathBuf>("kubeconfig") {
        Some(file) => elsewhere::run(file, prepared).await,
        None => here(matches, prepared).await,
    }
}

/// A name as certificates hold it.
fn host_name(text: &str) -> Result<String, String> {
    let holds = ServerName::try_from(text).is_ok();
    holds
        .then(|| text.to_owned())
        .ok_or_else(|| "a host name or an address is expected, without scheme and port".to_owned())
}

fn names(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("advertise").unwrap_or_default().cloned().collect()
}

/// Serves the API from the data directory and runs the operator beside it, until a signal comes.
async fn here(matches: &ArgMatches, prepared: Prepared) -> anyhow::Result<()> {
    let folder = Folder::open(matches.get_one::<PathBuf>("data-dir").context("--data-dir is missing")?)?;
    let listen = matches.get_one::<SocketAddr>("listen").copied();
    let listen = listen.map_or_else(|| LISTEN.parse(), Ok).context("the default address")?;
    let (clock, tasks) = (Clock::system(), Tasks::new());
    // Whoever has the file has the directory: everything else comes after it.
    let storage = Box::new(Disk::open(&folder.state())?);
    folder.sweep()?;
    let keys = Keys::load_or_make(&folder.keys(), clock.now())?;
    let renewed = keys.renewed();
    let options = single::Options { clock, storage, history: HISTORY, listen, names: names(matches), keys };
    let single = Single::start(options, &tasks).await?;
    folder.write_kubeconfig(&single.kubeconfig())?;
    single::backup::serve(&folder.socket(), single.server(), &tasks)?;
    let Prepared { launch, duties, effective } = prepared;
    // The doctor asks for it if it is not there: a full disk is no reason not to start.
    let _ = single.advertise(effective.text("bootstrap.advertise")).await;
    print::out(&next::steps(&single, &folder, &effective, renewed))?;
    let surroundings = Surroundings { cluster: single.cluster(), ..Surroundings::default() };
    let ended = host::run_in(launch, surroundings, |host| controllers::spawn(&duties, host)).await;
    // The operator first, then what it writes to.
    let left = tasks.shutdown(GRACE).await;
    folder.close();
    ended?;
    Ok(left?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_certificate_can_hold_is_refused_with_what_can() {
        for good in ["ci.example.org", "localhost", "192.168.1.10", "fd00::1"] {
            assert_eq!(host_name(good).as_deref(), Ok(good));
        }
        for bad in ["https://ci.example.org", "ci.example.org:6443", "", "a b"] {
            assert!(host_name(bad).is_err_and(|why| why.contains("without scheme and port")), "{bad}");
        }
    }

    #[test]
    fn an_own_cluster_and_an_existing_one_exclude_each_other() {
        let parse = |arguments: &[&str]| command().try_get_matches_from(["up"].iter().chain(arguments));
        assert!(parse(&[]).is_err(), "one of them must be named");
        assert!(parse(&["--data-dir", "d"]).is_ok() && parse(&["--kubeconfig", "f"]).is_ok());
        for other in [&["--data-dir", "d"][..], &["--listen", "127.0.0.1:1"], &["--advertise", "a"]] {
            assert!(parse(&[other, &["--kubeconfig", "f"]].concat()).is_err(), "{other:?}");
        }
        assert!(parse(&["backup", "--data-dir", "d", "f"]).is_ok());
        assert!(parse(&["backup", "f"]).is_err());
    }
}
