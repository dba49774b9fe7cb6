//! A post: a world with a Kubernetes API, replicas of the bootstrap service, and agents that call at their doors.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use api::{Digest, MachineClaim};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use chassis::health::Health;
use chassis::metrics::Metrics;
use http_body_util::BodyExt as _;
use kube::Client;
use operator::bootstrap::{Bootstrap, Peer, digest, router};
use operator::outpost::{Means, Outposts};
use runtime::client::{Guard, Limits};
use runtime::{Cache, Leadership, Parts, Selection};
use serde_json::{Value, json};
use sim::world::{Call, Desk, Person, Prototype, World};
use tower::{ServiceBuilder, ServiceExt as _};

pub(crate) const CLAIMS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/machineclaims";

pub(crate) struct Post {
    pub(crate) world: World,
    pub(crate) person: Person,
    doors: Doors,
}

#[derive(Clone)]
struct Door {
    router: Router,
    metrics: Metrics,
}

/// Our kinds; compiling them takes longer than most worlds.
static KINDS: LazyLock<Prototype> = LazyLock::new(|| {
    let crds: Vec<Value> = api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    Prototype::new(&crds).unwrap()
});

type Doors = Arc<Mutex<BTreeMap<String, Door>>>;

impl Post {
    /// The API with our kinds, and a replica of each name, which have had a moment to look around.
    pub(crate) async fn new(world: &World, replicas: &[&str]) -> Self {
        world.kubernetes_like("kube", &KINDS);
        let doors = Doors::default();
        for name in replicas {
            let (name, open) = ((*name).to_owned(), Arc::clone(&doors));
            world.start(&name.clone(), move |desk| {
                let door = serve(desk);
                open.lock().unwrap().insert(name.clone(), door);
            });
        }
        let post = Self { world: world.clone(), person: world.person("person", "kube"), doors };
        post.pass(1).await;
        post
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds)).await;
    }

    /// A claim whose machine boots, and whose token works for ten minutes; everybody has heard of it.
    pub(crate) async fn claim(&self, number: u32) -> Machine {
        self.claim_with(number, |_| {}).await
    }

    pub(crate) async fn claim_with(&self, number: u32, change: impl FnOnce(&mut Value)) -> Machine {
        let machine = Machine::new(number);
        let mut claim = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim",
            "metadata": { "name": machine.name, "finalizers": ["hyperfleet.io/machine"] },
            "spec": {
                "templateRef": { "name": "small" }, "captureOutput": true, "lifecycle": { "jobTimeout": "5m" },
                "workload": { "command": { "argv": ["make", "test"], "env": [{ "name": "CI", "value": "true" }] } },
            },
        });
        change(&mut claim);
        self.person.create(CLAIMS, &claim).await.unwrap();
        let not_after = self.world.now() + Duration::from_mins(10);
        let status = json!({
            "phase": "Bootstrapping", "step": "booting",
            "allocation": {
                "id": machine.uuid, "clusterRef": { "name": "pve" }, "vmId": 6000 + number, "node": "pve1",
                "templateGeneration": 1, "allocatedAt": self.world.now().to_string(),
            },
            "bootstrap": {
                "id": machine.id, "tokenHash": digest(machine.token.as_bytes()), "state": "Pending",
                "seedHash": digest(machine.seed.as_bytes()),
                "notAfter": not_after.to_string(),
            },
        });
        self.change(&machine, &status).await;
        self.pass(1).await;
        machine
    }

    /// Somebody changes the status of a machine's claim.
    pub(crate) async fn change(&self, machine: &Machine, status: &Value) {
        let path = format!("{CLAIMS}/{}/status", machine.name);
        self.person.merge(&path, &json!({ "status": status })).await.unwrap();
    }

    pub(crate) async fn object(&self, machine: &Machine) -> Value {
        self.person.get(&format!("{CLAIMS}/{}", machine.name)).await.unwrap()
    }

    pub(crate) async fn status(&self, machine: &Machine) -> Value {
        self.object(machine).await["status"].clone()
    }

    pub(crate) async fn state(&self, machine: &Machine) -> String {
        self.status(machine).await["bootstrap"]["state"].as_str().unwrap().to_owned()
    }

    /// Status, reason and message of a condition of the machine's claim; empty words if it has none.
    pub(crate) async fn condition(&self, machine: &Machine, about: &str) -> (String, String, String) {
        let conditions = self.status(machine).await["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|condition| condition["type"] == about).unwrap_or_default();
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// Type and reason of the events about the machine's claim, with how often each was said.
    pub(crate) async fn events(&self, machine: &Machine) -> Vec<(String, String, i64)> {
        let list = self.person.get("/apis/events.k8s.io/v1/namespaces/default/events").await.unwrap();
        let ours = list["items"].as_array().unwrap().iter().filter(|event| event["regarding"]["name"] == *machine.name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let count = |event: &Value| event["series"]["count"].as_i64().unwrap_or(1);
        ours.map(|event| (text(&event["type"]), text(&event["reason"]), count(event))).collect()
    }

    /// Calls of the replicas to the API that changed a claim, or tried to.
    pub(crate) fn writes(&self) -> usize {
        self.calls(|call| call.deed.verb.writes() && call.target.contains("machineclaims"))
    }

    pub(crate) fn calls(&self, wanted: impl Fn(&Call) -> bool) -> usize {
        let ours = |call: &&Call| call.to == "kube" && call.sender.actor != "person";
        self.world.history().calls.iter().filter(ours).filter(|call| wanted(call)).count()
    }

    /// What a replica counts.
    pub(crate) fn counted(&self, replica: &str, step: &str, result: &str) -> u64 {
        let page = self.doors.lock().unwrap()[replica].metrics.render();
        let line = format!("hyperfleet_bootstrap_requests_total{{step=\"{step}\",result=\"{result}\"}} ");
        page.lines().find_map(|found| found.strip_prefix(&line)).map_or(0, |count| count.parse().unwrap())
    }

    /// A request at a replica's door.
    pub(crate) async fn ask(&self, replica: &str, agent: &Agent, path: &str, body: &Value) -> Answer {
        let router = self.doors.lock().unwrap()[replica].router.clone();
        let mut request = Request::post(path).body(Body::from(body.to_string())).unwrap();
        request.extensions_mut().insert(Peer { address: agent.address, key: agent.key.clone() });
        answered(router.oneshot(request).await.unwrap()).await
    }

    /// A file of a seed, at a replica's door.
    pub(crate) async fn fetch(&self, replica: &str, from: &Agent, seed: &str, file: &str) -> Answer {
        let router = self.doors.lock().unwrap()[replica].router.clone();
        let mut request = Request::get(protocol::path::no_cloud(seed, file)).body(Body::empty()).unwrap();
        request.extensions_mut().insert(Peer { address: from.address, key: None });
        answered(router.oneshot(request).await.unwrap()).await
    }

    /// The template and the cluster of all claims.
    pub(crate) async fn with_template(&self, user_data: Option<&str>) {
        let kind = |kind: &str, name: &str| {
            json!({
                "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": kind, "metadata": { "name": name },
            })
        };
        let mut cluster = kind("HypervisorCluster", "pve");
        cluster["spec"] = json!({
            "provider": "proxmox", "endpoint": "https://pve:8006", "defaultStorage": "disks",
            "defaultNetwork": "vmbr0", "nodes": [{ "name": "pve1" }],
            "credentials": { "tokenId": { "name": "x", "key": "id" }, "tokenSecret": { "name": "x", "key": "secret" } },
            "proxmox": { "vmidRange": { "first": 6000, "last": 6999 }, "seed": "smbios" },
        });
        self.person.create(&CLAIMS.replace("machineclaims", "hypervisorclusters"), &cluster).await.unwrap();
        let mut template = kind("HypervisorMachineTemplate", "small");
        template["spec"] = json!({
            "hypervisorClusterRef": { "name": "pve" }, "template": { "proxmox": { "templateId": 9000 } },
            "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
        });
        if let Some(text) = user_data {
            template["spec"]["cloudInit"] = json!({ "userData": text });
        }
        self.person.create(&CLAIMS.replace("machineclaims", "hypervisormachinetemplates"), &template).await.unwrap();
    }

    pub(crate) async fn start(&self, replica: &str, agent: &Agent, machine: &Machine) -> Answer {
        let path = protocol::path::start(&machine.id);
        let body = json!({ "token": machine.token, "machine": machine.uuid, "agent": "test" });
        self.ask(replica, agent, &path, &body).await
    }

    pub(crate) async fn lease(&self, replica: &str, agent: &Agent) -> Answer {
        self.ask(replica, agent, protocol::path::LEASE, &json!({})).await
    }

    pub(crate) async fn report(&self, replica: &str, agent: &Agent, report: &Value) -> Answer {
        self.ask(replica, agent, protocol::path::STATUS, report).await
    }

    pub(crate) async fn beacon(&self, replica: &str, agent: &Agent, machine: &Machine, trouble: &str) -> Answer {
        let clock = self.world.now().as_second();
        let body = json!({ "stage": "trust", "trouble": trouble, "clock": clock });
        self.ask(replica, agent, &protocol::path::beacon(&machine.id), &body).await
    }
}

async fn answered(answer: axum::response::Response) -> Answer {
    let (code, again) = (answer.status().as_u16(), answer.headers().get(header::RETRY_AFTER).cloned());
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(text.to_vec()).unwrap();
    Answer { code, text, retry_after: again.map(|again| again.to_str().unwrap().parse().unwrap()) }
}

/// One replica of the service.
fn serve(desk: &Desk) -> Door {
    let metrics = Metrics::new("world");
    let parts = Parts { clock: desk.clock, tasks: desk.tasks.clone(), health: Health::new(), metrics: metrics.clone() };
    let guard = Guard::new(Limits::default(), parts.clock, metrics.clone());
    let client = Client::new(ServiceBuilder::new().layer(guard).service(desk.line("kube")), "default");
    let all = Selection::default();
    let claims: Cache<MachineClaim> = Cache::spawn(&all, &client, &parts);
    let host = desk.clone();
    let outposts = Outposts::spawn(Means {
        parts: &parts,
        client: &client,
        leadership: &Leadership::always(),
        dial: Arc::new(move |provider, _, _| Ok(providers::http::Client::over(provider, host.line("nowhere").whole()))),
        sources: &Cache::spawn(&all, &client, &parts),
        instance: "post",
        home: None,
    });
    let service = Bootstrap::new(&client, &claims, &outposts, &all, &parts, &desk.life.to_string());
    Door { router: router(&service), metrics }
}

/// What a seed says.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) uuid: String,
    /// The name of what its cloud-init fetches.
    pub(crate) seed: String,
}

impl Machine {
    fn new(number: u32) -> Self {
        Self {
            name: format!("claim-{number}"),
            id: format!("aaaaaaaa-0000-4000-8000-{number:012}"),
            token: format!("token-{number}-very-secret"),
            seed: format!("name-{number}-nobody-can-guess"),
            uuid: format!("bbbbbbbb-0000-4000-8000-{number:012}"),
        }
    }
}

/// Somebody with a key, somewhere.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) address: IpAddr,
    pub(crate) key: Option<Digest>,
}

impl Agent {
    /// Each has its own key and address.
    pub(crate) fn new(number: u32) -> Self {
        let address = Ipv4Addr::from(0x0a00_0000 + number).into();
        Self { address, key: Some(digest(&number.to_be_bytes())) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) text: String,
    pub(crate) retry_after: Option<u64>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 200, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    /// The one answer to everybody who is not believed.
    pub(crate) fn refused() -> Self {
        Self { code: 403, text: r#"{"error":"refused"}"#.to_owned(), retry_after: None }
    }
}
