//! A town: a yard with a template, and a GitHub whose jobs its pools serve.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sim::github::{self, HookOwner, JobSpec, JobView, ORGANIZATION, PERSONAL_TOKEN, REPOSITORY, Scope, Status};
use sim::proxmox::Simulator;
use sim::world::{Nature, World};

use crate::yard::{CLAIMS, FOREIGN, Pace, SECRETS, Yard};

pub(crate) const SOURCES: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnersources";
pub(crate) const POOLS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnerpools";
pub(crate) const JOBS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnerjobs";
/// What deliveries are signed with.
const HOOK: &str = "It's a Secret to Everybody";
/// What jobs of these tests run on.
pub(crate) const LABEL: &str = "small";

pub(crate) struct Town {
    pub(crate) yard: Yard,
    pub(crate) pve: Simulator,
    pub(crate) github: github::Simulator,
    /// What the hypervisor had before.
    before: Value,
}

impl Town {
    /// A town whose source learns of jobs in this way, and which has had time to become ready.
    pub(crate) async fn new(world: &World, mode: &str) -> Self {
        Self::paced(world, mode, Pace::USUAL).await
    }

    /// The same, with people who look as seldom as this.
    pub(crate) async fn paced(world: &World, mode: &str, pace: Pace) -> Self {
        let town = Self::founded(world, pace).await;
        let interval = if mode == "webhook" { pace.poll * 6 } else { pace.poll };
        town.yard.person.create(SOURCES, &source(mode, interval)).await.unwrap();
        town.pass(20).await;
        if mode == "webhook" {
            let path = town.hook_path().await;
            let owner = HookOwner::Of(Scope::Organization(ORGANIZATION.to_owned()));
            town.github.add_hook(owner, &format!("https://hooks{path}"), HOOK, town.yard.guests.receiver());
        }
        town
    }

    /// Where deliveries to the source go. An operator that crashed is back when its lease is over.
    async fn hook_path(&self) -> String {
        let path = async || {
            let source = self.yard.person.get(&format!("{SOURCES}/gh")).await.unwrap();
            source["status"]["webhookPath"].as_str().map(str::to_owned)
        };
        self.until(300, async |_| path().await.is_some()).await;
        path().await.unwrap()
    }

    /// A town without a source, which has what one needs.
    pub(crate) async fn founded(world: &World, pace: Pace) -> Self {
        let (yard, pve) = Yard::with_template_paced(world, pace).await;
        let options = github::Options {
            seed: world.seed(),
            web: Some("https://ghes".to_owned()),
            ..github::Options::new(world.clock())
        };
        let github = github::Simulator::new(options, world.tasks());
        world.serve("ghes", Nature::Other, github.service());
        yard.guests.employ(&github, world.clock());
        let before = there(&pve);
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "gh" },
            "stringData": { "pat": PERSONAL_TOKEN, "hook": HOOK },
        });
        yard.person.create(SECRETS, &secret).await.unwrap();
        Self { yard, pve, github, before }
    }

    /// A pool of `max` runners with the label of these tests.
    pub(crate) async fn pool(&self, name: &str, max: u32, change: impl FnOnce(&mut Value)) {
        let mut pool = pool(name, max);
        change(&mut pool);
        self.yard.person.create(POOLS, &pool).await.unwrap();
        self.pass(2).await;
    }

    pub(crate) async fn change_pool(&self, name: &str, change: &Value) {
        self.yard.person.merge(&format!("{POOLS}/{name}"), change).await.unwrap();
    }

    pub(crate) async fn delete_pool(&self, name: &str) {
        self.yard.person.delete(&format!("{POOLS}/{name}")).await.unwrap();
    }

    /// A pool as it is; null if it is gone.
    pub(crate) async fn pooled(&self, name: &str) -> Value {
        self.yard.person.get(&format!("{POOLS}/{name}")).await.unwrap_or_default()
    }

    /// Queues runs of one job each, which take so long; their jobs.
    pub(crate) fn queue(&self, count: usize, seconds: f64) -> Vec<u64> {
        let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
        let spec = JobSpec { labels, seconds, ..JobSpec::default() };
        let one = || self.github.queue(REPOSITORY, std::slice::from_ref(&spec)).unwrap().1;
        (0..count).flat_map(|_| one()).collect()
    }

    /// Queues a run of one job that somebody's fork proposes; the run and the job.
    pub(crate) fn queue_from_fork(&self, seconds: f64) -> (u64, u64) {
        let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
        let spec = JobSpec { name: "proposed".to_owned(), labels, seconds, ..JobSpec::default() };
        let (run, jobs) = self.github.queue_from_fork(REPOSITORY, &[spec]).unwrap();
        (run, jobs[0])
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.yard.pass(seconds).await;
    }

    /// Lets time pass until this holds; whether it did in time.
    pub(crate) async fn until(&self, seconds: u64, mut holds: impl AsyncFnMut(&Self) -> bool) -> bool {
        for _ in 0..seconds {
            if holds(self).await {
                return true;
            }
            self.pass(1).await;
        }
        holds(self).await
    }

    /// Whether all these jobs have ended, at the platform.
    pub(crate) fn are_done(&self, jobs: &[u64]) -> bool {
        jobs.iter().all(|job| self.job(*job).status == Status::Completed)
    }

    pub(crate) fn job(&self, id: u64) -> JobView {
        self.github.job(id).unwrap()
    }

    /// How many of these jobs run.
    pub(crate) fn running(&self, jobs: &[u64]) -> usize {
        jobs.iter().filter(|job| self.job(**job).status == Status::InProgress).count()
    }

    /// Every claim.
    pub(crate) async fn claims(&self) -> Vec<Value> {
        self.yard.person.get(CLAIMS).await.unwrap()["items"].as_array().unwrap().clone()
    }

    /// Claims by phase.
    pub(crate) async fn phases(&self) -> BTreeMap<String, usize> {
        self.claims().await.iter().fold(BTreeMap::new(), |mut sums, claim| {
            *sums.entry(claim["status"]["phase"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
            sums
        })
    }

    /// Every job as we know it.
    pub(crate) async fn known(&self) -> Vec<Value> {
        self.yard.person.get(JOBS).await.unwrap()["items"].as_array().unwrap().clone()
    }

    /// The reason of a job's `Assigned` by the platform's number.
    pub(crate) async fn reason(&self, job: u64) -> (String, String) {
        let known = self.known().await;
        let object = known.iter().find(|known| is_of(known, job));
        let conditions = object.map(|object| object["status"]["conditions"].clone()).unwrap_or_default();
        let found = conditions.as_array().into_iter().flatten().find(|known| known["type"] == "Assigned").cloned();
        let text = |key: &str| found.as_ref().and_then(|found| found[key].as_str()).unwrap_or_default().to_owned();
        (text("reason"), text("message"))
    }

    /// What is left anywhere beside what was there before; empty if nothing is.
    pub(crate) async fn leftovers(&self) -> String {
        let (claims, runners, now) = (self.claims().await, self.github.runners(), there(&self.pve));
        if claims.is_empty() && runners.is_empty() && now == self.before {
            return String::new();
        }
        let more = differences(&self.before, &now);
        format!("{} claims: {claims:?}; runners: {runners:?}; on the hypervisor: {more:?}", claims.len())
    }

    /// Waits until nothing is left anywhere.
    pub(crate) async fn cleared(&self, seconds: u64) {
        let clear = self.until(seconds, async |town| town.leftovers().await.is_empty()).await;
        assert!(clear, "{}", self.leftovers().await);
    }

    /// The VM whose runner has a job.
    pub(crate) async fn machine_of(&self, job: u64) -> u32 {
        let (runner, claims) = (self.job(job).runner, self.claims().await);
        let claim =
            claims.iter().find(|claim| claim["status"]["runner"]["name"].as_str() == runner.as_deref()).unwrap();
        claim["status"]["allocation"]["vmId"].as_u64().unwrap().try_into().unwrap()
    }

    /// VMs of ours.
    pub(crate) fn machines(&self) -> Vec<u32> {
        let ours = |vmid: &u32| (6000..6100).contains(vmid) && *vmid != FOREIGN;
        self.pve.machines().into_iter().map(|(vmid, _)| vmid).filter(ours).collect()
    }
}

/// Whether this is what we know of the platform's job with this number. A queue session has a key of its own for it, and
/// tells no page.
pub(crate) fn is_of(known: &Value, job: u64) -> bool {
    let text = |field: &str| known["spec"][field].as_str().unwrap_or_default();
    let (url, key) = (text("url"), text("key"));
    url.ends_with(&format!("/job/{job}")) || (key.contains("/request/") && key.contains(&format!("/{job}/")))
}

/// A source with everything right, which learns of jobs in this way.
pub(crate) fn source(mode: &str, interval: Duration) -> Value {
    let mut source = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerSource", "metadata": { "name": "gh" },
        "spec": {
            "platform": "github", "url": "https://ghes",
            "github": {
                "scope": { "organization": "acme" }, "credentials": { "pat": { "name": "gh", "key": "pat" } },
            },
            "demand": { "mode": mode, "pollInterval": format!("{}s", interval.as_secs()) },
        },
    });
    if mode == "webhook" {
        source["spec"]["webhook"] = json!({ "secret": { "name": "gh", "key": "hook" } });
    }
    source
}

/// A pool with everything right.
pub(crate) fn pool(name: &str, max: u32) -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerPool", "metadata": { "name": name },
        "spec": {
            "sourceRef": { "name": "gh" }, "templateRef": { "name": "small" },
            "labels": ["self-hosted", "linux", "x64", LABEL],
            "scaling": { "maxReplicas": max, "scaleDownDelay": "30s" },
            "lifecycle": { "bootstrapTimeout": "5m" },
        },
    })
}

fn there(pve: &Simulator) -> Value {
    let state = pve.state();
    let parts = ["vms", "volumes", "pools", "heldLocks", "runningTasks"];
    Value::Object(parts.map(|part| (part.to_owned(), state[part].clone())).into_iter().collect())
}

/// What is there now and was not before, by part; of a part that has no list, all of it.
fn differences(before: &Value, now: &Value) -> Vec<String> {
    let parts = now.as_object().into_iter().flatten().filter(|(part, now)| before[*part] != **now);
    parts
        .map(|(part, now)| match (before[part].as_array(), now.as_array()) {
            (Some(before), Some(now)) => {
                let more: Vec<&Value> = now.iter().filter(|one| !before.contains(one)).collect();
                format!("{part}: {more:?}, {} before and {} now", before.len(), now.len())
            }
            _ => format!("{part}: {now}"),
        })
        .collect()
}

/// A pause that is shorter than anything that happens.
pub(crate) const MOMENT: Duration = Duration::from_millis(250);
