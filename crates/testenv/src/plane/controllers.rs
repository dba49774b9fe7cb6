//! kube-controller-manager: the few controllers without which a cluster behaves in ways no user ever sees.

use std::process::Command;

use anyhow::Result;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;

use super::home::Home;
use super::{Progress, await_start};
use crate::access::Access;
use crate::assets::Tool;
use crate::guard::{Guarded, Sink};

/// What may surprise our operators: owner references, namespace deletion, accounts, roles that aggregate others.
const CONTROLLERS: [&str; 5] = [
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
];

/// Starts the controllers; returns when they have done their first work.
pub(super) async fn start(home: &Home, access: &Access) -> Result<Guarded> {
    let tool = Tool::KubeControllers;
    let mut command = Command::new(tool.path()?);
    command
        .arg(format!("--kubeconfig={}", home.admin_kubeconfig().display()))
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        .arg(format!("--service-account-private-key-file={}", home.account_key().display()))
        .arg(format!("--root-ca-file={}", home.ca().display()))
        .arg("--leader-elect=false")
        // It serves nothing that a test asks for.
        .arg("--secure-port=0")
        // The default of 20 requests a second makes deleting a namespace slow.
        .arg("--kube-api-qps=200")
        .arg("--kube-api-burst=400");
    let mut program = Guarded::spawn(&command, Sink::File(home.log(tool.program())?))?;
    let accounts: Api<ServiceAccount> = Api::namespaced(access.client()?, "default");
    match await_start(&mut program, tool.program(), home, async || accounts.get("default").await.is_ok()).await? {
        Progress::Up => Ok(program),
        Progress::PortTaken => home.failure(tool.program(), "found a port taken though it listens on none"),
    }
}
