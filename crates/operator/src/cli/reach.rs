//! The API server that a person's kubeconfig names, and where in it they look.

use anyhow::Context;
use chassis::Clock;
use chassis::metrics::Metrics;
use clap::{Arg, ArgMatches};
use kube::{Client, Config};
use runtime::client::{Guard, Limits, connect};

use super::VERSION;

/// The flag that names the namespace.
pub(super) fn namespace_flag() -> Arg {
    Arg::new("namespace")
        .long("namespace")
        .short('n')
        .value_name("NAME")
        .help("Namespace to look in; by default that of the kubeconfig's context")
}

/// A connection, and the namespace that was asked for. Every call has a deadline.
pub(super) async fn reach(matches: &ArgMatches) -> anyhow::Result<(Client, String)> {
    let config = Config::infer().await.context("no Kubernetes API server is configured: set KUBECONFIG")?;
    let guard = Guard::new(Limits::default(), Clock::system(), Metrics::new(VERSION));
    let client = connect(&config, guard).context("the connection to the Kubernetes API cannot be set up")?;
    let namespace = matches.get_one::<String>("namespace").cloned().unwrap_or(config.default_namespace);
    Ok((client, namespace))
}
