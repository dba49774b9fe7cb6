//! Where the measurements take place: one real API server, one namespace, many jobs.

use anyhow::{Context, Result};
use api::RunnerJob;
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::api::{Api, PostParams};
use serde_json::json;
use testenv::ControlPlane;

/// Requests under way at a time: enough to keep the server busy, few enough that they do not queue for seconds.
pub(crate) const PARALLEL: usize = 32;

pub(crate) struct World {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) namespace: String,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("bench").await;
        Ok(Self { plane, namespace })
    }

    pub(crate) fn jobs(&self) -> Api<RunnerJob> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    /// Creates jobs as a webhook would see them, numbered from `first`.
    pub(crate) async fn create_jobs(&self, first: usize, count: usize) -> Result<()> {
        let jobs = self.jobs();
        let create = |number: usize| {
            let jobs = jobs.clone();
            async move { jobs.create(&PostParams::default(), &job(number)?).await.map(|_| ()).context("create a job") }
        };
        stream::iter(first..first + count).map(create).buffer_unordered(PARALLEL).try_collect().await
    }
}

pub(crate) fn job(number: usize) -> Result<RunnerJob> {
    let job = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "RunnerJob",
        "metadata": { "name": format!("job-{number:06}"), "labels": { "hyperfleet.io/runner-source": "github" } },
        "spec": {
            "sourceRef": { "name": "github" },
            "key": format!("github.com/octo-org/octo-repo/{number}/1"),
            "labels": ["self-hosted", "linux", "x64", "large"],
            "queuedAt": "2026-01-01T00:00:00Z",
            "repository": "octo-org/octo-repo",
            "displayName": "build (ubuntu-24.04, stable)",
            "url": format!("https://github.com/octo-org/octo-repo/actions/runs/{number}/job/{number}"),
            "publicRepository": false,
        },
    });
    serde_json::from_value(job).context("a job of the expected form")
}
