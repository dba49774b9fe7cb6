//! A yard: a world with a Kubernetes API, simulated hypervisors, and the operator's machine controllers.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use api::{HypervisorCluster, HypervisorMachineTemplate, RunnerSource};
use chassis::health::Health;
use chassis::metrics::Metrics;
use kube::Client;
use operator::bootstrap::{Bootstrap, router};
use operator::chance::Chance;
use operator::controllers::Runners;
use operator::controllers::hypervisor_clusters::{self, HypervisorClusters, Sources};
use operator::controllers::machine_claims::{self, AskPolicy, Invitation, Invite, MachineClaims};
use operator::controllers::machine_templates::{self, MachineTemplates};
use operator::controllers::runner_jobs::{self, RunnerJobs};
use operator::controllers::runner_pools::{self, RunnerPools};
use operator::controllers::runner_sources::{self, RunnerSources};
use operator::ingress::{self, Ingress};
use operator::outpost::demand::{self, Feed};
use operator::outpost::{Caches, Intake, Means, Outposts};
use operator::site::{Books, Dial, Sites};
use operator::transfer::Hold;
use runtime::client::{Guard, Limits};
use runtime::lease::{Candidacy, spawn};
use runtime::{Cache, Controller, Driver, Leadership, Parts, Selection};
use serde_json::{Value, json};
use sim::proxmox::{Fixture, Options, Profile, Release, Simulator};
use sim::world::{Desk, Nature, Person, Prototype, World};
use tower::ServiceBuilder;

use crate::guests::Guests;

pub(crate) const TOKEN: &str = "op@pve!hf";
pub(crate) const SECRET: &str = "11111111-1111-4111-8111-111111111111";
pub(crate) const CLUSTERS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/hypervisorclusters";
pub(crate) const TEMPLATES: &str =
    "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/hypervisormachinetemplates";
pub(crate) const CLAIMS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/machineclaims";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/hyperfleet-fleet";

/// Our kinds; compiling them takes longer than most worlds.
static KINDS: LazyLock<Prototype> = LazyLock::new(|| {
    let crds: Vec<Value> = api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    Prototype::new(&crds).unwrap()
});

/// A VM of somebody else, among our numbers.
pub(crate) const FOREIGN: u32 = 6050;

/// How long a yard's people wait between two looks at what seldom changes.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// How long a silent leader is believed to be alive.
    pub(crate) lease: Duration,
    /// Between two looks at a hypervisor.
    pub(crate) look: Duration,
    /// Between two looks at a platform's queue; behind webhooks it is not in a hurry.
    pub(crate) poll: Duration,
}

impl Pace {
    /// As people set it.
    pub(crate) const USUAL: Self =
        Self { lease: Duration::from_secs(15), look: Duration::from_secs(30), poll: Duration::from_secs(10) };
}

pub(crate) struct Yard {
    pub(crate) world: World,
    pub(crate) person: Person,
    pub(crate) guests: Guests,
    pub(crate) pace: Pace,
    figures: Figures,
}

/// The metrics of the operator's current life.
type Figures = Arc<Mutex<Option<Metrics>>>;

impl Yard {
    /// The API with our kinds, and one operator.
    pub(crate) fn new(world: &World) -> Self {
        Self::paced(world, Pace::USUAL)
    }

    /// The same, with people who look as seldom as this.
    fn paced(world: &World, pace: Pace) -> Self {
        world.kubernetes_like("kube", &KINDS);
        let (guests, figures) = (Guests::default(), Figures::default());
        let (door, board) = (guests.clone(), Arc::clone(&figures));
        world.start("operator", move |desk| operate(desk, &door, &board, &Abode { pace, ..Abode::USUAL }));
        Self { world: world.clone(), person: world.person("person", "kube"), guests, pace, figures }
    }

    /// The same where fleets come and go: beside the first, an API `there` with our kinds and an operator of its own.
    pub(crate) fn movable(world: &World) -> Self {
        let (guests, figures, pace) = (Guests::default(), Figures::default(), Pace::USUAL);
        for (kube, name) in [("kube", "operator"), ("there", "operator-there")] {
            world.kubernetes_like(kube, &KINDS);
            let (door, board) = (guests.clone(), Arc::clone(&figures));
            let abode = Abode { kube, moves: true, pace };
            world.start(name, move |desk| operate(desk, &door, &board, &abode));
        }
        Self { world: world.clone(), person: world.person("person", "kube"), guests, pace, figures }
    }

    /// What Prometheus would read.
    pub(crate) fn metrics(&self) -> String {
        self.figures.lock().unwrap().as_ref().map(Metrics::render).unwrap_or_default()
    }

    /// Another replica of the operator beside the first.
    pub(crate) fn with_replica(&self) {
        let (door, abode) = (self.guests.clone(), Abode { pace: self.pace, ..Abode::USUAL });
        self.guests.balance();
        self.world.start("replica", move |desk| operate(desk, &door, &Figures::default(), &abode));
    }

    /// The same with the cluster `pve`, which has had a minute to become ready, and its hypervisor.
    pub(crate) async fn with_cluster(world: &World) -> (Self, Simulator) {
        let yard = Self::new(world);
        let pve = yard.hypervisor("pve");
        yard.secret("pve", TOKEN, SECRET).await;
        yard.cluster("pve", |_| {}).await;
        // Until the first statistics an image cannot be told from a VM, too.
        yard.pass(60).await;
        (yard, pve)
    }

    /// A hypervisor that answers at `https://{name}:8006`.
    pub(crate) fn hypervisor(&self, name: &str) -> Simulator {
        self.hypervisor_like(name, Profile::ZERO)
    }

    pub(crate) fn hypervisor_like(&self, name: &str, profile: Profile) -> Simulator {
        let (hook, seed) = (self.guests.hook(), self.world.seed());
        let options = Options { hook, profile, seed, ..Options::new(Release::V9, Fixture::Demo, self.world.clock()) };
        let simulator = Simulator::new(options, self.world.tasks());
        self.world.serve(name, Nature::Other, simulator.service());
        simulator
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn cluster(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = cluster(name);
        change(&mut object);
        self.person.create(CLUSTERS, &object).await.unwrap();
    }

    /// A cluster that is ready, and a template on it.
    pub(crate) async fn template(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = template(name);
        change(&mut object);
        self.person.create(TEMPLATES, &object).await.unwrap();
    }

    pub(crate) async fn secret(&self, name: &str, id: &str, secret: &str) {
        self.person.create(SECRETS, &credentials(name, id, secret)).await.unwrap();
    }

    /// The same with the template `small`, which is valid, on hardware as it is sold, beside somebody else's VM.
    pub(crate) async fn with_template(world: &World) -> (Self, Simulator) {
        Self::with_template_paced(world, Pace::USUAL).await
    }

    /// The same, with people who look as seldom as this.
    pub(crate) async fn with_template_paced(world: &World, pace: Pace) -> (Self, Simulator) {
        let yard = Self::paced(world, pace);
        let pve = yard.furnish().await;
        (yard, pve)
    }

    /// Brings a hypervisor, a cluster that is ready and a template that is valid.
    pub(crate) async fn furnish(&self) -> Simulator {
        let yard = self;
        let pve = yard.hypervisor_like("pve", Profile::NVME_LINKED);
        pve.crowd([FOREIGN], "pve1");
        yard.secret("pve", TOKEN, SECRET).await;
        yard.cluster("pve", |_| {}).await;
        yard.pass(yard.pace.look.as_secs() * 2).await;
        yard.template("small", |_| {}).await;
        yard.pass(5).await;
        pve
    }

    /// A claim for one command.
    pub(crate) async fn claim(&self, name: &str, argv: &[&str], change: impl FnOnce(&mut Value)) {
        let mut object = claim(name, argv);
        change(&mut object);
        self.person.create(CLAIMS, &object).await.unwrap();
    }

    /// Who leads, by the lease; empty if nobody does.
    pub(crate) async fn leader(&self) -> String {
        let held = self.person.get(LEASE).await.unwrap_or_default();
        held["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    /// A claim as it is; null if it is gone.
    pub(crate) async fn claimed(&self, name: &str) -> Value {
        self.person.get(&format!("{CLAIMS}/{name}")).await.unwrap_or_default()
    }

    pub(crate) async fn phase(&self, name: &str) -> String {
        self.claimed(name).await["status"]["phase"].as_str().unwrap_or_default().to_owned()
    }

    /// A claim that says it has a machine on a cluster.
    pub(crate) async fn claim_with_a_machine(&self, name: &str, cluster: &str) {
        let claim = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim", "metadata": { "name": name },
            "spec": { "templateRef": { "name": "some" }, "workload": { "command": { "argv": ["true"] } } },
        });
        self.person.create(CLAIMS, &claim).await.unwrap();
        let allocation = json!({
            "id": "11111111-2222-4333-8444-555555555555", "clusterRef": { "name": cluster }, "vmId": 6000,
            "node": "pve1", "templateGeneration": 1, "allocatedAt": "2026-01-01T00:00:00Z",
        });
        let status = json!({ "status": { "allocation": allocation } });
        self.person.merge(&format!("{CLAIMS}/{name}/status"), &status).await.unwrap();
    }

    /// Status, reason and message of the cluster's `Ready`; empty words if it has none.
    pub(crate) async fn ready(&self, name: &str) -> (String, String, String) {
        self.condition(name, "Ready").await
    }

    pub(crate) async fn condition(&self, name: &str, about: &str) -> (String, String, String) {
        self.condition_at(&format!("{CLUSTERS}/{name}"), about).await
    }

    /// Status, reason and message of a template's `TemplateValid`.
    pub(crate) async fn valid(&self, name: &str) -> (String, String, String) {
        self.condition_at(&format!("{TEMPLATES}/{name}"), "TemplateValid").await
    }

    /// Status, reason and message of one of a claim's conditions.
    pub(crate) async fn claim_condition(&self, name: &str, about: &str) -> (String, String, String) {
        self.condition_at(&format!("{CLAIMS}/{name}"), about).await
    }

    async fn condition_at(&self, path: &str, about: &str) -> (String, String, String) {
        let object = self.person.get(path).await.unwrap();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|condition| condition["type"] == about).unwrap_or_default();
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// Events about an object: type and reason, in the order of their making.
    pub(crate) async fn events(&self, name: &str) -> Vec<(String, String)> {
        let list = self.person.get("/apis/events.k8s.io/v1/namespaces/default/events").await.unwrap();
        let mut events: Vec<&Value> =
            list["items"].as_array().unwrap().iter().filter(|event| event["regarding"]["name"] == name).collect();
        events.sort_by_key(|event| event["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        events.into_iter().map(|event| (text(&event["type"]), text(&event["reason"]))).collect()
    }
}

pub(crate) fn credentials(name: &str, id: &str, secret: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name },
        "stringData": { "id": id, "secret": secret },
    })
}

/// A cluster with everything right, whose hypervisor has the same name.
pub(crate) fn cluster(name: &str) -> Value {
    let key = |key: &str| json!({ "name": name, "key": key });
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorCluster", "metadata": { "name": name },
        "spec": {
            "provider": "proxmox", "endpoint": format!("https://{name}:8006"),
            "credentials": { "tokenId": key("id"), "tokenSecret": key("secret") },
            "nodes": [{ "name": "pve1" }, { "name": "pve2" }],
            "defaultStorage": "disks", "defaultNetwork": "vmbr0",
            "proxmox": { "vmidRange": { "first": 6000, "last": 6099 }, "pool": "hf", "isoStorage": "shared" },
        },
    })
}

/// A template with everything right, of the cluster `pve`.
pub(crate) fn template(name: &str) -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorMachineTemplate",
        "metadata": { "name": name },
        "spec": {
            "hypervisorClusterRef": { "name": "pve" }, "template": { "proxmox": { "templateId": 9000 } },
            "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
        },
    })
}

/// A claim for one command on a machine of the template `small`.
pub(crate) fn claim(name: &str, argv: &[&str]) -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim", "metadata": { "name": name },
        "spec": { "templateRef": { "name": "small" }, "workload": { "command": { "argv": argv } } },
    })
}

/// Where an operator lives.
pub(crate) struct Abode {
    /// Its API server.
    kube: &'static str,
    /// Whether its fleet may be put on hold.
    moves: bool,
    /// How often it looks at what seldom changes.
    pace: Pace,
}

impl Abode {
    const USUAL: Self = Self { kube: "kube", moves: false, pace: Pace::USUAL };
}

/// One replica of the operator.
fn operate(desk: &Desk, guests: &Guests, figures: &Figures, abode: &Abode) {
    let pace = abode.pace;
    let parts =
        Parts { clock: desk.clock, tasks: desk.tasks.clone(), health: Health::new(), metrics: Metrics::new("world") };
    *figures.lock().unwrap() = Some(parts.metrics.clone());
    let guard = Guard::new(Limits::default(), parts.clock, parts.metrics.clone());
    let client = Client::new(ServiceBuilder::new().layer(guard).service(desk.line(abode.kube)), "default");
    let instance = desk.life.to_string();
    let candidacy = Candidacy {
        namespace: "default".into(),
        lease: "hyperfleet-fleet".into(),
        identity: instance.clone(),
        // As far from each other as the defaults are: 15, 10 and 2 s.
        duration: pace.lease,
        deadline: pace.lease * 2 / 3,
        retry: pace.lease * 2 / 15,
    };
    let hold = if abode.moves { Hold::spawn(&client, "default", &parts.tasks) } else { Hold::never() };
    let leadership = hold.over(&spawn(candidacy, &client, &parts));
    let all = Selection::default();
    let own = Own { desk, client: &client, parts: &parts, leadership: &leadership, instance: &instance, pace };
    let (templates, clusters) = (Cache::spawn(&all, &client, &parts), Cache::spawn(&all, &client, &parts));
    let caches = Caches {
        jobs: Cache::spawn(&all, &client, &parts),
        claims: Cache::spawn(&all, &client, &parts),
        pools: Cache::spawn(&all, &client, &parts),
    };
    let (outposts, ingress) = own.runners(&caches, &templates, &clusters);
    guests.hear(&desk.life.actor, ingress::router(&ingress));
    let service = Bootstrap::new(&client, &caches.claims, &outposts, &all, &parts, &instance).heeding(&hold);
    guests.open(&desk.life.actor, router(&service));
    own.machines(&caches, templates, clusters, &outposts);
}

/// What a replica is made of.
struct Own<'a> {
    desk: &'a Desk,
    client: &'a Client,
    parts: &'a Parts,
    leadership: &'a Leadership,
    instance: &'a str,
    pace: Pace,
}

impl Own<'_> {
    fn driver<C: Controller>(&self, controller: C, objects: &Cache<C::Object>) -> Driver<C> {
        Driver::new(controller, objects, self.client, self.leadership, self.instance, self.parts)
    }

    /// Sources, pools and jobs.
    fn runners(
        &self,
        caches: &Caches,
        templates: &Cache<HypervisorMachineTemplate>,
        clusters: &Cache<HypervisorCluster>,
    ) -> (Outposts, Ingress) {
        let Self { desk, client, parts, leadership, instance, pace: _ } = *self;
        let sources: Cache<RunnerSource> = Cache::spawn(&Selection::default(), client, parts);
        let host = desk.clone();
        let outposts = Outposts::spawn(Means {
            parts,
            client,
            leadership,
            dial: Arc::new(move |provider, url, _| {
                Ok(providers::http::Client::over(provider, host.line(host_of(url)).whole()))
            }),
            sources: &sources,
            instance,
            home: Some("default"),
        });
        let driver = self.driver(RunnerSources::new(&outposts, caches), &sources);
        runner_sources::wire(driver, &sources, &outposts, caches).spawn();
        let intake = Intake::new(client, parts, "demand", instance, caches);
        demand::spawn(&outposts, &Feed { intake, caches: caches.clone() });
        let intake = Intake::new(client, parts, "ingress", instance, caches);
        let ingress = Ingress::new(&outposts, &intake, &sources, parts);
        let Caches { jobs, claims, pools } = caches.clone();
        let read = runner_pools::Sources {
            sources: sources.clone(),
            jobs: jobs.clone(),
            claims: claims.clone(),
            templates: templates.clone(),
            clusters: clusters.clone(),
        };
        let driver = self.driver(RunnerPools::new(&outposts, &read, client, parts.clock), &pools);
        runner_pools::wire(driver, &outposts, &pools, &read).spawn();
        let read = runner_jobs::Sources { pools, sources, claims, clusters: clusters.clone() };
        let driver = self.driver(RunnerJobs::new(&outposts, &read, parts.clock), &jobs);
        runner_jobs::wire(driver, &outposts, &jobs, &read).spawn();
        (outposts, ingress)
    }

    /// Clusters, templates and claims.
    fn machines(
        &self,
        caches: &Caches,
        templates: Cache<HypervisorMachineTemplate>,
        clusters: Cache<HypervisorCluster>,
        outposts: &Outposts,
    ) {
        let Self { desk, client, parts, leadership, instance, pace } = *self;
        let Caches { jobs, claims, pools } = caches.clone();
        let books = Books::new(&clusters, &claims, &Selection::default(), client, instance, parts);
        let sites = Sites::new(parts, leadership, dial(desk), Arc::new(move || pace.look), books);
        let sources = Sources { templates: templates.clone(), claims: claims.clone() };
        let controller = HypervisorClusters::new(&sites, &sources, client, "default", chance(desk));
        hypervisor_clusters::wire(self.driver(controller, &clusters), &clusters, &sites, &sources).spawn();
        let sources = machine_templates::Sources { clusters: clusters.clone(), claims: claims.clone(), pools };
        let controller = MachineTemplates::new(&sites, &sources, client);
        machine_templates::wire(self.driver(controller, &templates), &templates, &sources).spawn();
        let platforms = Arc::new(Runners::spawn(outposts, &jobs, &claims, parts));
        let sources = machine_claims::Sources { templates, clusters, claims, platforms };
        let invite: Invite = Arc::new(|| {
            let invitation = Invitation {
                url: "https://bootstrap:8444".to_owned(),
                authority: "ours".to_owned(),
                pin: protocol::pin(&[7; 32]),
            };
            Box::pin(async move { Ok(Ok(invitation)) })
        });
        let policy: AskPolicy = Arc::new(|| machine_claims::POLICY);
        let controller = MachineClaims::new(&sites, &sources, client, parts.clock, chance(desk), invite, policy);
        let memory = controller.memory();
        machine_claims::wire(self.driver(controller, &sources.claims), memory, &sites, &sources).spawn();
    }
}

fn host_of(endpoint: &str) -> &str {
    endpoint.trim_start_matches("https://").split([':', '/']).next().unwrap_or_default()
}

/// Every endpoint is a destination of the world, by its host name.
fn dial(desk: &Desk) -> Dial {
    let desk = desk.clone();
    Arc::new(move |endpoint, _| Ok(providers::http::Client::over("proxmox", desk.line(host_of(endpoint)).whole())))
}

fn chance(desk: &Desk) -> Chance {
    let dice = Mutex::new(desk.dice("chance"));
    Arc::new(move |bytes| {
        let mut dice = dice.lock().unwrap();
        for byte in bytes {
            *byte = dice.roll().to_be_bytes()[0];
        }
    })
}
