//! `--kubeconfig`: the operator against a cluster that there is already. Nothing is installed in it.

use std::path::Path;

use anyhow::Context;
use chassis::Clock;
use chassis::metrics::Metrics;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use runtime::client::{Guard, Limits, connect};
use runtime::host::{self, Cluster, Surroundings};

use crate::cli::VERSION;
use crate::cli::operator::Prepared;
use crate::{controllers, print};

pub(super) async fn run(file: &Path, prepared: Prepared) -> anyhow::Result<()> {
    let shown = file.display();
    let read = Kubeconfig::read_from(file).with_context(|| format!("{shown} is no kubeconfig"))?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("{shown} names no cluster"))?;
    let guard = Guard::new(Limits::default(), Clock::system(), Metrics::new(VERSION));
    let client = connect(&config, guard).context("the connection to the Kubernetes API cannot be set up")?;
    check(&client, &shown.to_string()).await?;
    print::out(&format!(
        "HyperFleet {VERSION} runs against {}, namespace {}; it installs nothing there and keeps nothing here\n",
        config.cluster_url, config.default_namespace,
    ))?;
    let Prepared { launch, duties, effective: _ } = prepared;
    let surroundings = Surroundings { cluster: Cluster::At(Box::new(config)), ..Surroundings::default() };
    host::run_in(launch, surroundings, |host| controllers::spawn(&duties, host)).await?;
    Ok(())
}

/// Whether the cluster answers and has our definitions: without them the operator would wait for ever.
async fn check(client: &Client, file: &str) -> anyhow::Result<()> {
    let found = client.list_api_group_resources("hypervisor.hyperfleet.io/v1alpha1").await;
    match found {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => anyhow::bail!(
            "the cluster of {file} has no HyperFleet definitions: install them with \
             hyperfleet crds | kubectl --kubeconfig {file} apply --server-side -f -"
        ),
        Err(error) => Err(error).with_context(|| format!("the cluster of {file} does not answer")),
    }
}
