//! The life of an operator process, from its settings to its last task.
//!
//! ```text
//!   settings ─▶ telemetry ─▶ health server ─▶ client ─▶ metrics server ─▶ election ─▶ controllers ─▶ signal
//!   spans sent ◀─ lease given back ◀─ every task ended ◀────────────────────────────────────────────────┘
//! ```
//!
//! Health comes before anything that can wait, so that a process that waits can say for what. The lease is given back
//! only after the controllers have ended: the next leader never meets a pass of ours.

mod surroundings;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;

pub use surroundings::{Cluster, Ending, Records, Surroundings};

use crate::admin::{self, Annex};
use crate::client::{Guard, Limits};
use crate::lease::{self, Candidacy};
use crate::{Driver, Leadership, Parts};
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::serve::{self, ServeError};
use chassis::settings::{self, Effective, Follow, Layers, LeaderElection, Live, Problems, Runtime, Setting};
use chassis::telemetry::{self, Env, Telemetry};
use chassis::{Clock, Leftover, Tasks};

/// What a program is and what it was started with.
pub struct Launch<'a> {
    /// The name of its traces.
    pub name: &'a str,
    /// The name of its Lease, unless the settings give another.
    pub lease: String,
    /// Its version.
    pub version: &'a str,
    /// Its settings beside those every process has.
    pub tables: &'a [&'a [Setting]],
    /// The flags it was given, as (name, value).
    pub flags: Vec<(String, String)>,
    /// The settings file, if there is one.
    pub file: Option<PathBuf>,
    /// Reads the environment.
    pub env: Env<'a>,
}

/// Why a process could not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The settings are wrong; every mistake is listed.
    #[error(transparent)]
    Settings(#[from] Problems),
    /// The settings file cannot be read.
    #[error("settings file {}", path.display())]
    File {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Telemetry was started twice in one process.
    #[error("telemetry is already running")]
    Telemetry(#[from] tracing::subscriber::SetGlobalDefaultError),
    /// There is no API server to talk to.
    #[error("no Kubernetes API server is configured: set KUBECONFIG, or run in a cluster")]
    NoCluster(#[source] kube::config::InferConfigError),
    /// The connection cannot be set up as configured.
    #[error("the connection to the Kubernetes API cannot be set up")]
    Client(#[source] kube::Error),
    /// One of the process's own servers cannot start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Signals cannot be received.
    #[error("signals cannot be received")]
    Signals(#[source] std::io::Error),
    /// Work was still going on when the process had to end.
    #[error(transparent)]
    Leftover(#[from] Leftover),
    /// A second signal came while the process was ending.
    #[error("told twice to end; still running: {}", .0.join(", "))]
    Forced(Vec<String>),
}

/// A running process, as its controllers see it.
#[derive(Clone)]
pub struct Host {
    /// Clock, tasks, health and metrics.
    pub parts: Parts,
    /// The connection to the API server.
    pub client: Client,
    /// Whether this process acts.
    pub leadership: Leadership,
    /// The name of this process among its replicas.
    pub instance: String,
    /// The namespace that the process lives in: where its Lease is and what belongs to it alone.
    pub namespace: String,
    /// The settings every process has, as they were at the start.
    pub settings: Runtime,
    /// All settings, as they are now.
    pub live: Live,
    /// Room for pages beside the metrics.
    pub annex: Annex,
    /// Where metrics and those pages are served, unless that is switched off.
    pub admin: Option<SocketAddr>,
    resync: watch::Receiver<Duration>,
}

impl Host {
    /// The same process, which acts while this leadership lasts.
    #[must_use]
    pub fn led_by(&self, leadership: Leadership) -> Self {
        Self { leadership, ..self.clone() }
    }

    /// A driver for `controller` with this process's settings.
    pub fn driver<C: crate::Controller>(&self, controller: C, objects: &crate::Cache<C::Object>) -> Driver<C> {
        Driver::new(controller, objects, &self.client, &self.leadership, &self.instance, &self.parts)
            .workers(self.settings.workers)
            .resync(self.resync.clone())
    }
}

/// Everything that is in force at the start; what is wrong with it is all there is to know before anything runs.
pub async fn resolve(launch: &Launch<'_>) -> Result<(Layers, Effective, Option<(PathBuf, String)>), HostError> {
    let tables: Vec<&[Setting]> = std::iter::once(settings::RUNTIME).chain(launch.tables.iter().copied()).collect();
    let layers = Layers::new(&tables, launch.flags.clone(), launch.env);
    let file = match &launch.file {
        None => None,
        Some(path) => match tokio::fs::read_to_string(path).await {
            Ok(text) => Some((path.clone(), text)),
            Err(source) => return Err(HostError::File { path: path.clone(), source }),
        },
    };
    let effective = layers.resolve(file.as_ref().map(|(path, text)| (path.as_path(), text.as_str())))?;
    Ok((layers, effective, file))
}

/// Runs a process until it is told to end: `controllers` starts them, SIGTERM or SIGINT ends them.
pub async fn run(launch: Launch<'_>, controllers: impl FnOnce(&Host)) -> Result<(), HostError> {
    run_in(launch, Surroundings::default(), controllers).await
}

/// The same in other surroundings than those of a process of its own.
pub async fn run_in(
    launch: Launch<'_>,
    surroundings: Surroundings,
    controllers: impl FnOnce(&Host),
) -> Result<(), HostError> {
    let Surroundings { cluster, records, ending } = surroundings;
    let resolved = resolve(&launch).await?;
    let runtime = Runtime::of(&resolved.1)?;
    let clock = Clock::system();
    let parts = Parts { clock, tasks: Tasks::new(), health: Health::new(), metrics: Metrics::new(launch.version) };
    let telemetry = records.start(&telemetry::Options {
        service: launch.name,
        version: launch.version,
        level: runtime.log_level,
        format: runtime.log_format,
        env: launch.env,
        metrics: &parts.metrics,
        clock,
    })?;
    for warning in &resolved.1.warnings {
        tracing::warn!("{warning}");
    }
    let around = (cluster, ending);
    let outcome = work(&launch, around, (runtime, resolved), &parts, &telemetry, controllers).await;
    telemetry.shutdown().await;
    outcome
}

type Resolved = (Layers, Effective, Option<(PathBuf, String)>);

async fn work(
    launch: &Launch<'_>,
    (cluster, ending): (Cluster, Ending),
    (runtime, resolved): (Runtime, Resolved),
    parts: &Parts,
    telemetry: &Telemetry,
    controllers: impl FnOnce(&Host),
) -> Result<(), HostError> {
    let mut ending = ending.listen()?;
    // Closed until every part has a gate of its own: none of them yet is not the same as all of them open.
    let begun = parts.health.gate("process");
    serve::health(runtime.health, parts.health.clone(), &parts.tasks).await?;
    let rate = runtime.rate.map(|(rate, burst)| (f64::from(rate), burst));
    let guard = Guard::new(Limits { rate, ..Limits::default() }, parts.clock, parts.metrics.clone());
    let (client, home) = cluster.connect(guard).await?;
    let annex = Annex::new(client.clone());
    let admin = admin::serve_metrics(&runtime.metrics, parts.metrics.clone(), &annex, &parts.tasks).await?;
    let instance = instance(launch.env, parts.clock);
    let election = Parts { tasks: Tasks::new(), ..parts.clone() };
    let namespace = match resolved.1.text("leaderElection.namespace") {
        "" => home,
        own => own.to_owned(),
    };
    let leadership = match &runtime.leader_election {
        None => Leadership::always(),
        Some(rules) => lease::spawn(candidacy(rules, launch, &namespace, &instance), &client, &election),
    };
    let live = follow(resolved, parts);
    let grace = runtime.shutdown_grace;
    let mut dials = Dials { telemetry, resync: watch::Sender::new(runtime.resync) };
    let resync = dials.resync.subscribe();
    let host = Host {
        parts: parts.clone(),
        client,
        leadership,
        instance,
        namespace,
        settings: runtime,
        live,
        annex,
        admin,
        resync,
    };
    tracing::info!(version = launch.version, instance = host.instance, "started");
    controllers(&host);
    begun.open();
    tokio::select! {
        () = ending.again() => {}
        () = dials.follow(&host.live) => {}
    }
    tracing::info!("ending");
    let ended = tokio::select! {
        ended = parts.tasks.shutdown(grace) => ended.map_err(HostError::from),
        () = ending.again() => Err(HostError::Forced(parts.tasks.running())),
    };
    election.tasks.shutdown(Duration::from_secs(5)).await?;
    if ended.is_ok() {
        tracing::info!("ended; nothing is left running");
    }
    ended
}

fn candidacy(rules: &LeaderElection, launch: &Launch<'_>, namespace: &str, instance: &str) -> Candidacy {
    Candidacy {
        namespace: namespace.to_owned(),
        lease: rules.lease.clone().unwrap_or_else(|| launch.lease.clone()),
        identity: instance.to_owned(),
        duration: rules.duration,
        deadline: rules.renew_deadline,
        retry: rules.retry_period,
    }
}

fn follow((layers, effective, file): Resolved, parts: &Parts) -> Live {
    let Some((path, text)) = file else { return Live::fixed(effective) };
    let check = |effective: &Effective| Runtime::of(effective).map(|_| ());
    let (metrics, health) = (parts.metrics.clone(), parts.health.clone());
    let follow = Follow { path, text, layers, effective, check, interval: settings::INTERVAL, metrics, health };
    Live::follow(follow, &parts.tasks)
}

/// Host name, process and start: unique among replicas, and a person can find the pod by it.
fn instance(env: Env<'_>, clock: Clock) -> String {
    let host = env("HOSTNAME").filter(|name| !name.is_empty()).unwrap_or_else(|| "hyperfleet".to_owned());
    format!("{host}_{}-{:x}", std::process::id(), clock.now().as_nanosecond())
}

/// What turns with the settings while the process runs.
struct Dials<'a> {
    telemetry: &'a Telemetry,
    resync: watch::Sender<Duration>,
}

impl Dials<'_> {
    /// Follows the settings for ever.
    async fn follow(&mut self, live: &Live) {
        let mut effective = live.effective.clone();
        while effective.changed().await.is_ok() {
            let now = effective.borrow_and_update();
            self.telemetry.set_level(now.level("log.level"));
            self.resync.send_replace(now.duration("controllers.resync"));
        }
        std::future::pending::<()>().await;
    }
}
