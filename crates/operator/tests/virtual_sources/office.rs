//! An office: a world with a Kubernetes API, a simulated GitHub, and replicas of the operator that learn of its jobs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use api::{RunnerJob, RunnerSource};
use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use chassis::health::Health;
use chassis::metrics::Metrics;
use futures::FutureExt as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Request;
use kube::Client;
use operator::controllers::runner_sources::{self, RunnerSources};
use operator::ingress::{Ingress, router};
use operator::outpost::demand::{self, Feed};
use operator::outpost::{Caches, Dial, Intake, Means, Outposts};
use runtime::client::{Guard, Limits};
use runtime::lease::{Candidacy, spawn};
use runtime::{Cache, Driver, Parts, Selection};
use serde_json::{Value, json};
use sha2::Sha256;
use sim::github::{HookOwner, JobSpec, ORGANIZATION, Options, PERSONAL_TOKEN, Receiver, Scope, Simulator};
use sim::world::{Desk, Nature, Person, Prototype, World};
use tower::{ServiceBuilder, ServiceExt as _};

pub(crate) const SOURCES: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnersources";
pub(crate) const POOLS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnerpools";
pub(crate) const JOBS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnerjobs";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// What deliveries are signed with.
pub(crate) const HOOK: &str = "It's a Secret to Everybody";
/// The operator's id in the ownership key.
pub(crate) const OPERATOR: &str = "0123456789abcdef";

/// Our kinds; compiling them takes longer than most worlds.
static KINDS: LazyLock<Prototype> = LazyLock::new(|| {
    let crds: Vec<Value> = api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    Prototype::new(&crds).unwrap()
});

/// The ingress of every replica that lives.
#[derive(Clone, Default)]
pub(crate) struct Doors(Arc<Mutex<BTreeMap<String, Router>>>);

impl Doors {
    /// Delivers to one replica; what it answered.
    pub(crate) async fn knock(&self, replica: &str, request: Request<Body>) -> u16 {
        let door = self.0.lock().unwrap().get(replica).cloned();
        match door {
            Some(door) => door.oneshot(request).await.unwrap().status().as_u16(),
            None => 0,
        }
    }

    pub(crate) fn close(&self, replica: &str) {
        self.0.lock().unwrap().remove(replica);
    }

    /// Every replica hears every delivery, at the same time; the best answer counts.
    fn receiver(&self) -> Receiver {
        let doors = self.clone();
        Receiver::function(move |request| {
            let doors = doors.clone();
            let names: Vec<String> = doors.0.lock().unwrap().keys().cloned().collect();
            async move {
                let (head, body) = request.into_parts();
                let copy = || Request::from_parts(head.clone(), Body::from(body.clone()));
                let answers = names.iter().map(|name| doors.knock(name, copy()));
                futures::future::join_all(answers).await.into_iter().filter(|code| *code > 0).min()
            }
            .boxed()
        })
    }
}

pub(crate) struct Office {
    pub(crate) world: World,
    pub(crate) person: Person,
    pub(crate) github: Simulator,
    pub(crate) doors: Doors,
    figures: Arc<Mutex<BTreeMap<String, Metrics>>>,
}

impl Office {
    /// The API with our kinds, a GitHub, and these replicas of the operator.
    pub(crate) async fn new(world: &World, replicas: &[&str]) -> Self {
        world.kubernetes_like("kube", &KINDS);
        let github = Simulator::new(Options { seed: world.seed(), ..Options::new(world.clock()) }, world.tasks());
        world.serve("github", Nature::Other, github.service());
        let (doors, figures) = (Doors::default(), Arc::default());
        let office = Self { world: world.clone(), person: world.person("person", "kube"), github, doors, figures };
        let ownership = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "hyperfleet-ownership" },
            "stringData": { "operator-id": OPERATOR, "key": "0123456789abcdef0123456789abcdef" },
        });
        office.person.create(SECRETS, &ownership).await.unwrap();
        for name in replicas {
            let (doors, figures, own) = (office.doors.clone(), Arc::clone(&office.figures), (*name).to_owned());
            world.start(name, move |desk| operate(desk, &own, &doors, &figures));
        }
        office
    }

    /// The same with the source `ci` in this mode and the pool `gpu`, after a minute; and a hook of the organisation.
    pub(crate) async fn with_source(world: &World, replicas: &[&str], mode: &str) -> Self {
        Self::polling(world, replicas, mode, "60s").await
    }

    /// The same, polling as often as this.
    pub(crate) async fn polling(world: &World, replicas: &[&str], mode: &str, interval: &str) -> Self {
        let office = Self::new(world, replicas).await;
        office.secret("ci", PERSONAL_TOKEN).await;
        office.source("ci", mode, |object| object["spec"]["demand"]["pollInterval"] = interval.into()).await;
        office.pool("gpu", &["gpu"]).await;
        office.pass(60).await;
        if mode == "webhook" {
            office.hook(HookOwner::Of(Scope::Organization(ORGANIZATION.to_owned()))).await;
        }
        office
    }

    /// A hook at GitHub that delivers to every replica.
    pub(crate) async fn hook(&self, owner: HookOwner) {
        let url = format!("https://hooks.example{}", self.path().await);
        self.github.add_hook(owner, &url, HOOK, self.doors.receiver());
    }

    /// Where the source's platform delivers, as its status says.
    pub(crate) async fn path(&self) -> String {
        let source = self.person.get(&format!("{SOURCES}/ci")).await.unwrap();
        source["status"]["webhookPath"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn secret(&self, name: &str, token: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name },
            "stringData": { "token": token, "hook": HOOK },
        });
        self.person.create(SECRETS, &secret).await.unwrap();
    }

    pub(crate) async fn source(&self, name: &str, mode: &str, change: impl FnOnce(&mut Value)) {
        let key = |entry: &str| json!({ "name": name, "key": entry });
        let mut object = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerSource", "metadata": { "name": name },
            "spec": {
                "platform": "github", "url": "https://github.com",
                "github": { "scope": { "organization": ORGANIZATION }, "credentials": { "pat": key("token") } },
                "demand": { "mode": mode },
            },
        });
        if mode == "webhook" {
            object["spec"]["webhook"] = json!({ "secret": key("hook") });
        }
        change(&mut object);
        self.person.create(SOURCES, &object).await.unwrap();
    }

    pub(crate) async fn pool(&self, name: &str, labels: &[&str]) {
        let object = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerPool", "metadata": { "name": name },
            "spec": {
                "sourceRef": { "name": "ci" }, "templateRef": { "name": "small" }, "labels": labels,
                "scaling": { "maxReplicas": 100 },
            },
        });
        self.person.create(POOLS, &object).await.unwrap();
    }

    /// Queues so many jobs, a run each; the numbers of the runs.
    pub(crate) fn queue(&self, count: usize) -> Vec<u64> {
        let spec = |number: usize| JobSpec::new(format!("job-{number}"), &["self-hosted", "gpu"]);
        (0..count).map(|number| self.github.queue(sim::github::REPOSITORY, &[spec(number)]).unwrap().0).collect()
    }

    /// Every `RunnerJob`.
    pub(crate) async fn jobs(&self) -> Vec<RunnerJob> {
        let list = self.person.get(JOBS).await.unwrap();
        serde_json::from_value(list["items"].clone()).unwrap()
    }

    /// How many are in this state.
    pub(crate) async fn count(&self, state: api::JobState) -> usize {
        let of = |job: &RunnerJob| job.status.as_ref().and_then(|status| status.state).unwrap_or(api::JobState::Queued);
        self.jobs().await.iter().filter(|job| of(job) == state).count()
    }

    /// Status, reason and message of the source's `Ready`.
    pub(crate) async fn ready(&self, name: &str) -> (String, String, String) {
        self.condition(name, "Ready").await
    }

    pub(crate) async fn condition(&self, name: &str, about: &str) -> (String, String, String) {
        let object = self.person.get(&format!("{SOURCES}/{name}")).await.unwrap();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|condition| condition["type"] == about).unwrap_or_default();
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// A number on a replica's metrics page: the sum over all lines that contain every one of these words.
    pub(crate) fn figure(&self, replica: &str, words: &[&str]) -> f64 {
        let page = self.figures.lock().unwrap().get(replica).map(Metrics::render).unwrap_or_default();
        let lines = page.lines().filter(|line| !line.starts_with('#') && words.iter().all(|word| line.contains(word)));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// The replica that leads.
    pub(crate) async fn leader(&self) -> String {
        let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/hyperfleet-fleet";
        let lease = self.person.get(path).await.unwrap();
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        holder.split('#').next().unwrap_or_default().to_owned()
    }

    /// A replica dies.
    pub(crate) fn kill(&self, replica: &str) {
        self.world.crash(replica);
        self.doors.close(replica);
    }
}

/// A delivery as GitHub would send it.
pub(crate) fn delivery(path: &str, secret: &str, body: &str) -> Request<Body> {
    let digits = signed(secret, body);
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("x-github-event", "workflow_job")
        .header("x-github-delivery", "00000000-0000-4000-8000-000000000000")
        .header("x-hub-signature-256", format!("sha256={digits}"));
    request.body(Body::from(Bytes::from(body.to_owned()))).unwrap()
}

/// The digits that prove who sent it.
pub(crate) fn signed(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    providers::hex::encode(&mac.finalize().into_bytes())
}

/// One replica of the operator.
fn operate(desk: &Desk, name: &str, doors: &Doors, figures: &Mutex<BTreeMap<String, Metrics>>) {
    let parts =
        Parts { clock: desk.clock, tasks: desk.tasks.clone(), health: Health::new(), metrics: Metrics::new("world") };
    figures.lock().unwrap().insert(name.to_owned(), parts.metrics.clone());
    let guard = Guard::new(Limits::default(), parts.clock, parts.metrics.clone());
    let client = Client::new(ServiceBuilder::new().layer(guard).service(desk.line("kube")), "default");
    let instance = desk.life.to_string();
    let candidacy = Candidacy {
        namespace: "default".into(),
        lease: "hyperfleet-fleet".into(),
        identity: instance.clone(),
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };
    let leadership = spawn(candidacy, &client, &parts);
    let all = Selection::default();
    let sources: Cache<RunnerSource> = Cache::spawn(&all, &client, &parts);
    let caches = Caches {
        jobs: Cache::spawn(&all, &client, &parts),
        claims: Cache::spawn(&all, &client, &parts),
        pools: Cache::spawn(&all, &client, &parts),
    };
    let outposts = Outposts::spawn(Means {
        parts: &parts,
        client: &client,
        leadership: &leadership,
        dial: dial(desk),
        sources: &sources,
        instance: &instance,
        home: Some("default"),
    });
    let controller = RunnerSources::new(&outposts, &caches);
    let driver = Driver::new(controller, &sources, &client, &leadership, &instance, &parts);
    runner_sources::wire(driver, &sources, &outposts, &caches).spawn();
    let intake = Intake::new(&client, &parts, "demand", &instance, &caches);
    demand::spawn(&outposts, &Feed { intake, caches: caches.clone() });
    let intake = Intake::new(&client, &parts, "ingress", &instance, &caches);
    let ingress = Ingress::new(&outposts, &intake, &sources, &parts);
    doors.0.lock().unwrap().insert(name.to_owned(), router(&ingress));
}

/// Every host of GitHub is the one of this world, and so is every Gitea.
fn dial(desk: &Desk) -> Dial {
    let desk = desk.clone();
    Arc::new(move |provider, _, _| Ok(providers::http::Client::over(provider, desk.line(provider).whole())))
}
