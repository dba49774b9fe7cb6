//! The API server that a person's kubeconfig names, and where in it they look.

use std::path::PathBuf;

use anyhow::Context;
use chassis::Clock;
use chassis::metrics::Metrics;
use clap::{Arg, ArgMatches, value_parser};
use kube::config::{KubeConfigOptions, Kubeconfig};
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

/// The flag that names the kubeconfig.
pub(super) fn kubeconfig_flag() -> Arg {
    Arg::new("kubeconfig")
        .long("kubeconfig")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Kubeconfig to use; by default what KUBECONFIG names, ~/.kube/config, or the surrounding cluster")
}

/// What the command line says of the API server.
async fn configured(matches: &ArgMatches) -> anyhow::Result<Config> {
    // Not every command has the flag.
    let Some(path) = matches.try_get_one::<PathBuf>("kubeconfig").ok().flatten() else {
        return Config::infer().await.context("no Kubernetes API server is configured: set KUBECONFIG");
    };
    let unusable = || format!("--kubeconfig: {} cannot be used", path.display());
    let read = Kubeconfig::read_from(path).with_context(unusable)?;
    Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.with_context(unusable)
}

/// A connection, and the namespace that was asked for. Every call has a deadline.
pub(super) async fn reach(matches: &ArgMatches) -> anyhow::Result<(Client, String)> {
    let config = configured(matches).await?;
    let guard = Guard::new(Limits::default(), Clock::system(), Metrics::new(VERSION));
    let client = connect(&config, guard).context("the connection to the Kubernetes API cannot be set up")?;
    // Some commands have no such flag.
    let named = matches.try_get_one::<String>("namespace").ok().flatten();
    let namespace = named.cloned().unwrap_or(config.default_namespace);
    Ok((client, namespace))
}
