//! What a cluster of one can take: `hyperfleet up` as a process of its own, with a file on this machine's disk.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use api::RunnerJob;
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use testenv::{Program, Signal, Stopwatch, eventually, free_port};

use crate::ceiling::per_second;
use crate::figures::Figures;
use crate::memory::{beside_us, resident_megabytes};
use crate::world::{PARALLEL, job};

/// Objects that a restart finds.
const OBJECTS: usize = 10_000;

/// How long anything may take before the measurement is given up.
const LONG: Duration = Duration::from_mins(2);

/// So often the restart is measured; the one in the middle counts.
const RESTARTS: usize = 5;

/// Measures an idle process, then durable writes, then restarts with all that was written.
pub(crate) async fn measure() -> Result<Figures> {
    let mut figures = Figures::default();
    let place = tempfile::tempdir()?;
    let home = Home { folder: place.path().join("up"), port: free_port()? };
    let (program, _) = home.start(&[]).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    figures.put("up.idle_rss_mb", resident_megabytes(program.pid())?);
    end(program).await;
    // Nobody else writes: the figure is what the file can take.
    let (program, client) = home.start(&["--controllers=ingress"]).await?;
    let jobs: Api<RunnerJob> = Api::namespaced(client, "default");
    let create = |number: usize| {
        let jobs = jobs.clone();
        async move { jobs.create(&PostParams::default(), &job(number)?).await.map(|_| ()).context("create a job") }
    };
    let watch = Stopwatch::start();
    stream::iter(0..OBJECTS).map(create).buffer_unordered(PARALLEL).try_collect::<()>().await?;
    figures.put("up.durable_creates_per_s", per_second(OBJECTS, &watch));
    program.kill();
    let mut restarts = Vec::new();
    for _ in 0..RESTARTS {
        let watch = Stopwatch::start();
        let (program, client) = home.start(&[]).await?;
        let jobs: Api<RunnerJob> = Api::namespaced(client, "default");
        let page = jobs.list(&ListParams::default().limit(1)).await?;
        restarts.push(watch.elapsed().as_secs_f64() * 1_000.0);
        let there = page.metadata.remaining_item_count.unwrap_or_default();
        anyhow::ensure!(usize::try_from(there)? == OBJECTS - 1, "{there} objects are left");
        program.kill();
    }
    restarts.sort_by(f64::total_cmp);
    figures.put("up.restart_10k_ms", restarts[RESTARTS / 2]);
    Ok(figures)
}

struct Home {
    folder: std::path::PathBuf,
    port: u16,
}

impl Home {
    /// Starts the program and waits until its API answers.
    async fn start(&self, flags: &[&str]) -> Result<(Program, Client)> {
        let mut command = Command::new(beside_us("hyperfleet")?);
        command
            .arg("up")
            .arg(format!("--data-dir={}", self.folder.display()))
            .arg(format!("--listen=127.0.0.1:{}", self.port))
            .args(["--health-probe-bind-address=0", "--metrics-bind-address=0", "--bootstrap-listen=127.0.0.1:0"])
            .args(flags);
        let program = Program::start(&command);
        let client = eventually("the API answers", LONG, async || client(&self.folder).await).await;
        Ok((program, client))
    }
}

async fn client(folder: &Path) -> Option<Client> {
    let read = Kubeconfig::read_from(folder.join("kubeconfig")).ok()?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.ok()?;
    let client = Client::try_from(config).ok()?;
    client.apiserver_version().await.is_ok().then_some(client)
}

async fn end(program: Program) {
    program.signal(Signal::Terminate);
    eventually("the program ends", LONG, async || program.ended()).await;
}
