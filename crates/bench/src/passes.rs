//! What the driver makes of it: passes with one status write each, and passes with nothing to do.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use api::{JobState, RunnerJob, RunnerJobStatus};
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reconcile::{Fault, Plan, Violation};
use runtime::client::{Guard, Limits, connect};
use runtime::{Cache, Controller, Driver, Key, Leadership, Parts, Selection, Writer};
use testenv::{Stopwatch, eventually};

use crate::ceiling::{OBJECTS, WARM_UP, per_second};
use crate::figures::Figures;
use crate::world::World;

/// The figure that rounds are compared by.
pub(crate) const SHARE: &str = "runtime.reconcile_share";

/// Marks every job as queued: one status write each, then nothing.
struct Mark {
    passes: Arc<AtomicUsize>,
}

/// There is nothing to do beside the status.
enum Step {}

impl fmt::Display for Step {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Controller for Mark {
    type Object = RunnerJob;
    type Observed = Arc<RunnerJob>;
    type Step = Step;
    type Status = RunnerJobStatus;

    const NAME: &'static str = "mark";
    const FINALIZER: Option<&'static str> = None;
    const CONDITIONS: &'static [&'static str] = &[];

    async fn observe(&self, job: Arc<RunnerJob>) -> Result<Arc<RunnerJob>, Fault> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(job)
    }

    fn plan(&self, _: &Arc<RunnerJob>, _: Timestamp) -> Plan<Step, RunnerJobStatus> {
        let status = RunnerJobStatus { state: Some(JobState::Queued), ..RunnerJobStatus::default() };
        Plan { status: Some(status), ..Plan::rest() }
    }

    fn audit(&self, _: &Arc<RunnerJob>, _: &Plan<Step, RunnerJobStatus>) -> Vec<Violation> {
        Vec::new()
    }

    async fn execute(&self, _: &Arc<RunnerJob>, step: Step, _: &Writer) -> Result<(), Fault> {
        match step {}
    }
}

/// The caches of an operator, following since before the first object: what the API server does for them is part of its
/// work in every measurement, as it is in operation.
pub(crate) struct Caches {
    parts: Parts,
    client: Client,
    jobs: Cache<RunnerJob>,
    bells: Cache<ConfigMap>,
}

impl Caches {
    pub(crate) async fn follow(world: &World) -> Result<Self> {
        let metrics = Metrics::new("bench");
        let parts = Parts { clock: Clock::system(), tasks: Tasks::new(), health: Health::new(), metrics };
        let client = client(world, &parts).await?;
        let here = Selection::namespaces(std::slice::from_ref(&world.namespace));
        let jobs = Cache::spawn(&here, &client, &parts);
        let bells = Cache::spawn(&here, &client, &parts);
        Ok(Self { parts, client, jobs, bells })
    }
}

/// One status write for every job there is, then a look at each with nothing to do.
pub(crate) async fn measure(world: &World, caches: Caches, figures: &mut Figures) -> Result<()> {
    let Caches { parts, client, jobs, bells } = caches;
    let metrics = parts.metrics.clone();
    eventually("the cache has every job", Duration::from_mins(1), async || {
        (jobs.all().len() >= OBJECTS + WARM_UP).then_some(())
    })
    .await;
    let everything: Vec<Key> = jobs.all().iter().map(|job| Key::of(&job.metadata)).collect();
    let (passes, total) = (Arc::new(AtomicUsize::new(0)), everything.len());
    let rings = everything.clone();
    let watch = Stopwatch::start();
    Driver::new(Mark { passes: Arc::clone(&passes) }, &jobs, &client, &Leadership::always(), "bench", &parts)
        .watches(&bells, move |_| rings.clone())
        .spawn();
    let marked = |job: &Arc<RunnerJob>| job.status.as_ref().is_some_and(|status| status.state.is_some());
    eventually("every job is marked", Duration::from_mins(3), async || jobs.all().iter().all(marked).then_some(()))
        .await;
    let rate = per_second(total, &watch);
    figures.put("runtime.reconciles_per_s", rate);
    figures.put(SHARE, rate / figures.get("apiserver_real.creates_per_s"));

    settle(&passes).await;
    let (calls, before) = (calls(&metrics), passes.load(Ordering::Relaxed));
    ring(world).await?;
    eventually("every job is looked at again", Duration::from_mins(1), async || {
        (passes.load(Ordering::Relaxed) >= before + OBJECTS).then_some(())
    })
    .await;
    settle(&passes).await;
    figures.put("runtime.noop_api_calls", self::calls(&metrics) - calls);
    figures.put("runtime.noop_passes", f64::from(u32::try_from(passes.load(Ordering::Relaxed) - before)?));
    parts.tasks.shutdown(Duration::from_secs(10)).await?;
    Ok(())
}

async fn client(world: &World, parts: &Parts) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(world.plane.kubeconfig())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(connect(&config, Guard::new(Limits::default(), parts.clock, parts.metrics.clone()))?)
}

/// Waits until no pass has happened for a second.
async fn settle(passes: &AtomicUsize) {
    loop {
        let before = passes.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
        if passes.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// Touches the object that concerns every job.
async fn ring(world: &World) -> Result<()> {
    let bells: Api<ConfigMap> = Api::namespaced(world.plane.client(), &world.namespace);
    let metadata = ObjectMeta { name: Some("bell".to_owned()), ..ObjectMeta::default() };
    bells.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await?;
    Ok(())
}

/// Calls to the API server so far, watches apart.
fn calls(metrics: &Metrics) -> f64 {
    let page = metrics.render();
    let counts = page.lines().filter(|line| line.starts_with("hyperfleet_kube_request_duration_seconds_count"));
    let calls = counts.filter(|line| !line.contains("verb=\"watch\""));
    calls.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
