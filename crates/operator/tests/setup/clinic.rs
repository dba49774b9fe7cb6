//! A set-up that is well, to be broken: an API server in process, a Proxmox VE and a GitHub over TLS, and an operator's door.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apiserver::{ApiServer, User};
use chassis::{Clock, Tasks};
use futures::FutureExt as _;
use jiff::SignedDuration;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use operator::bootstrap::Authority as Ours;
use operator::doctor::{Chart, Means, Sight, examine};
use providers::http::AddressPolicy;
use serde_json::{Value, json};
use sim::github::{HookOwner, JobSpec, ORGANIZATION, PERSONAL_TOKEN, REPOSITORY, Receiver, Scope};
use sim::proxmox::{Authority, Fixture, Limits, Profile, Release, Transport};
use testenv::eventually;
use tokio::sync::OnceCell;
use tokio_rustls::TlsAcceptor;

/// The secret of every token of the simulated cluster.
pub(crate) const SECRET: &str = "11111111-1111-4111-8111-111111111111";
/// What deliveries are signed with.
pub(crate) const HOOK: &str = "It's a Secret to Everybody";
/// The operator's own namespace.
pub(crate) const HOME: &str = "hyperfleet-operator-system";

const GROUP: &str = "hypervisor.hyperfleet.io";

/// Our kinds; compiling them takes longer than the rest.
static KINDS: OnceCell<ApiServer> = OnceCell::const_new();

async fn kinds() -> ApiServer {
    let server = bare();
    let client = Client::new(server.door(User::admin()), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    for definition in api::crds() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    server
}

fn bare() -> ApiServer {
    ApiServer::new(apiserver::Options::in_memory(Clock::system(), [3; 32])).unwrap()
}

/// What cannot be changed any more when everything runs.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) release: Release,
    /// How far the hypervisor's clock is ahead.
    pub(crate) ahead: SignedDuration,
    /// How far the platform's is.
    pub(crate) platform_ahead: SignedDuration,
    /// Whether our kinds are there.
    pub(crate) kinds: bool,
}

impl Plan {
    pub(crate) const WELL: Self =
        Self { release: Release::V9, ahead: SignedDuration::ZERO, platform_ahead: SignedDuration::ZERO, kinds: true };
}

pub(crate) struct Clinic {
    pub(crate) pve: sim::proxmox::Simulator,
    pub(crate) github: sim::github::Simulator,
    pub(crate) authority: Arc<Authority>,
    pub(crate) advertise: Mutex<Option<String>>,
    pub(crate) user: Mutex<User>,
    pub(crate) client: Client,
    pub(crate) pve_url: String,
    pub(crate) github_url: String,
    server: ApiServer,
    _tasks: Tasks,
}

impl Clinic {
    pub(crate) async fn new(release: Release) -> Self {
        Self::with(Plan { release, ..Plan::WELL }).await
    }

    pub(crate) async fn with(plan: Plan) -> Self {
        let tasks = Tasks::new();
        let authority = Arc::new(Authority::new(&["localhost", "127.0.0.1"]).unwrap());
        let (pve, pve_url) = hypervisor(plan, &authority, &tasks).await;
        let github = sim::github::Simulator::new(sim::github::Options::new(clock(plan.platform_ahead)), &tasks);
        let tls = Transport::Tls(Arc::clone(&authority));
        let forge = sim::github::Server::start(&github, here(), tls).await.unwrap();
        let server = if plan.kinds { KINDS.get_or_init(kinds).await.copy(Clock::system(), [9; 32]) } else { bare() };
        let client = Client::new(server.door(User::admin()), "default");
        let github_url = forge.web().to_owned();
        let (advertise, user) = (Mutex::default(), Mutex::new(User::admin()));
        let clinic = Self {
            pve,
            github,
            authority,
            advertise,
            user,
            client,
            pve_url,
            github_url,
            server,
            _tasks: tasks.clone(),
        };
        if plan.kinds {
            clinic.furnish(&tasks).await;
        }
        clinic
    }

    async fn furnish(&self, tasks: &Tasks) {
        self.create("v1", "Namespace", "", json!({ "metadata": { "name": HOME } })).await;
        let ca = self.authority.pem();
        self.secret("proxmox-credentials", &[("tokenId", "op@pve!hf"), ("tokenSecret", SECRET), ("ca.crt", ca)]).await;
        self.secret("github-credentials", &[("pat", PERSONAL_TOKEN), ("webhook", HOOK), ("ca.crt", ca)]).await;
        let key = |secret: &str, key: &str| json!({ "name": secret, "key": key });
        let pve = |entry: &str| key("proxmox-credentials", entry);
        let cluster = json!({ "metadata": { "name": "pve" }, "spec": {
            "provider": "proxmox", "endpoint": self.pve_url, "nodes": [{ "name": "pve1" }],
            "credentials": { "tokenId": pve("tokenId"), "tokenSecret": pve("tokenSecret") },
            "tls": { "caCertificate": pve("ca.crt") }, "defaultStorage": "disks", "defaultNetwork": "vmbr0",
            "proxmox": { "pool": "hf", "isoStorage": "local", "vmidRange": { "first": 6000, "last": 6099 } },
        }});
        self.create("ours", "HypervisorCluster", "default", cluster).await;
        self.template("small", "pve").await;
        let github = |entry: &str| key("github-credentials", entry);
        let source = json!({ "metadata": { "name": "github" }, "spec": {
            "platform": "github", "url": self.github_url, "tls": { "caCertificate": github("ca.crt") },
            "github": { "credentials": { "pat": github("pat") }, "scope": { "organization": ORGANIZATION } },
            "demand": { "mode": "webhook" }, "webhook": { "secret": github("webhook") },
        }});
        let source = self.create("ours", "RunnerSource", "default", source).await;
        self.pool("linux", &["linux"]).await;
        self.hook(&source.metadata.uid.unwrap(), Some(202)).await;
        self.door(tasks).await;
    }

    /// A template for a cluster.
    pub(crate) async fn template(&self, name: &str, cluster: &str) {
        let template = json!({ "metadata": { "name": name }, "spec": {
            "hypervisorClusterRef": { "name": cluster }, "template": { "proxmox": { "templateId": 9000 } },
            "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
        }});
        self.create("ours", "HypervisorMachineTemplate", "default", template).await;
    }

    pub(crate) async fn pool(&self, name: &str, labels: &[&str]) {
        self.pool_of(name, labels, json!({ "name": "small" })).await;
    }

    /// A pool of machines from this template.
    pub(crate) async fn pool_of(&self, name: &str, labels: &[&str], template: Value) {
        let pool = json!({ "metadata": { "name": name }, "spec": {
            "labels": labels, "sourceRef": { "name": "github" }, "templateRef": template,
        }});
        self.create("ours", "RunnerPool", "default", pool).await;
    }

    /// A template of somebody else, in a namespace of his own.
    pub(crate) async fn template_of_others(&self, namespace: &str, name: &str) {
        self.create("v1", "Namespace", "", json!({ "metadata": { "name": namespace } })).await;
        let template = json!({ "metadata": { "name": name }, "spec": {
            "hypervisorClusterRef": { "name": "pve" }, "template": { "proxmox": { "templateId": 9000 } },
            "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
        }});
        self.create("ours", "HypervisorMachineTemplate", namespace, template).await;
    }

    /// From now on it is somebody who asks that may list these of our kinds, and get these Secrets.
    pub(crate) async fn asked_by_eve(&self, kinds: &[&str], secrets: &[&str]) {
        let mut rules = vec![json!({ "apiGroups": [GROUP], "resources": kinds, "verbs": ["list"] })];
        if !secrets.is_empty() {
            let get =
                json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": ["get"] });
            rules.push(get);
        }
        let role = json!({ "metadata": { "name": "eve" }, "rules": rules });
        let binding = json!({
            "metadata": { "name": "eve" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "eve" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve" }],
        });
        let api: Api<Role> = Api::namespaced(self.client.clone(), "default");
        api.create(&PostParams::default(), &serde_json::from_value(role).unwrap()).await.unwrap();
        let api: Api<RoleBinding> = Api::namespaced(self.client.clone(), "default");
        api.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
        *self.user.lock().unwrap() = User::new("eve", &[]);
    }

    /// A webhook that is answered so, and one delivery of it.
    pub(crate) async fn hook(&self, uid: &str, answer: Option<u16>) {
        let owner = HookOwner::Of(Scope::Organization(ORGANIZATION.to_owned()));
        let url = format!("https://hooks.example.com/webhooks/{uid}");
        self.github.add_hook(owner, &url, HOOK, Receiver::function(move |_| async move { answer }.boxed()));
        let before = self.github.delivered();
        self.github.queue(REPOSITORY, &[JobSpec::new("build", &["ubuntu-latest"])]).unwrap();
        eventually("a delivery has ended", Duration::from_secs(10), async || {
            (self.github.delivered() > before).then_some(())
        })
        .await;
    }

    /// The uid of the source.
    pub(crate) async fn source(&self) -> String {
        self.api("ours", "RunnerSource", "default").get("github").await.unwrap().metadata.uid.unwrap()
    }

    /// Where machines call: shows what our authority signs.
    async fn door(&self, tasks: &Tasks) {
        let own = own_address();
        let ours = Ours::load(&self.client, HOME, Clock::system()).await.unwrap().unwrap();
        let leaf = ours.called(&own.to_string()).leaf(Clock::system().now()).unwrap();
        let (listener, acceptor) = listening(own, leaf.certified).await;
        *self.advertise.lock().unwrap() = Some(format!("https://{}", listener.local_addr().unwrap()));
        tasks.spawn("door", async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let _ = acceptor.accept(stream).await;
            }
        });
    }

    pub(crate) async fn secret(&self, name: &str, entries: &[(&str, &str)]) {
        let entries: BTreeMap<&str, &str> = entries.iter().copied().collect();
        let _ = self.api("v1", "Secret", "default").delete(name, &DeleteParams::default()).await;
        self.create("v1", "Secret", "default", json!({ "metadata": { "name": name }, "stringData": entries })).await;
    }

    /// The source uses the App.
    pub(crate) async fn as_app(&self) {
        let key = self.github.app_key().pem();
        let id = sim::github::INSTALLATION_ID.to_string();
        let ca = self.authority.pem();
        let entries = [
            ("app-id", sim::github::CLIENT_ID),
            ("key", &key),
            ("installation", &id),
            ("ca.crt", ca),
            ("webhook", HOOK),
        ];
        self.secret("github-credentials", &entries).await;
        let at = |entry: &str| json!({ "name": "github-credentials", "key": entry });
        let app = json!({ "appId": at("app-id"), "privateKey": at("key"), "installationId": at("installation") });
        let spec = json!({ "github": { "credentials": { "pat": null, "app": app } } });
        self.change("runnersources", "github", json!({ "spec": spec })).await;
    }

    fn api(&self, group: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = if group == "ours" { (GROUP, "v1alpha1") } else { ("", "v1") };
        let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    async fn create(&self, group: &str, kind: &str, namespace: &str, object: Value) -> DynamicObject {
        let mut whole = object;
        whole["apiVersion"] = if group == "ours" { format!("{GROUP}/v1alpha1") } else { "v1".to_owned() }.into();
        whole["kind"] = kind.into();
        let object: DynamicObject = serde_json::from_value(whole).unwrap();
        self.api(group, kind, namespace).create(&PostParams::default(), &object).await.unwrap()
    }

    /// Changes one of our objects.
    pub(crate) async fn change(&self, plural: &str, name: &str, patch: Value) {
        let kind = match plural {
            "hypervisorclusters" => "HypervisorCluster",
            "hypervisormachinetemplates" => "HypervisorMachineTemplate",
            "runnersources" => "RunnerSource",
            other => panic!("{other}"),
        };
        self.api("ours", kind, "default").patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Takes one of our objects, or a Secret, away.
    pub(crate) async fn remove(&self, kind: &str, name: &str) {
        let group = if kind == "Secret" { "v1" } else { "ours" };
        self.api(group, kind, "default").delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Takes all our objects away, and their Secrets.
    pub(crate) async fn empty(&self) {
        for (kind, name) in [
            ("RunnerPool", "linux"),
            ("RunnerSource", "github"),
            ("HypervisorMachineTemplate", "small"),
            ("HypervisorCluster", "pve"),
            ("Secret", "proxmox-credentials"),
            ("Secret", "github-credentials"),
        ] {
            self.remove(kind, name).await;
        }
    }

    /// Makes an object out of a manifest.
    pub(crate) async fn apply(&self, manifest: Value) {
        let kind = manifest["kind"].as_str().unwrap().to_owned();
        let group = if kind == "Secret" { "v1" } else { "ours" };
        self.create(group, &kind, "default", manifest).await;
    }

    /// The version of every object.
    pub(crate) fn objects(&self) -> Vec<String> {
        self.server.store(|store| {
            let resources: Vec<_> = store.resources().cloned().collect();
            let of = |resource| store.list(resource, None).into_iter().map(|(_, record)| record.revision.to_string());
            resources.iter().flat_map(of).collect()
        })
    }

    /// A definition as an older version had it.
    pub(crate) async fn age_definition(&self, name: &str) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let mut old = definitions.get(name).await.unwrap();
        let spec = old.spec.versions[0].schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
        let spec = spec.properties.as_mut().unwrap().get_mut("spec").unwrap();
        spec.properties.as_mut().unwrap().remove("rerunLostJobs").unwrap();
        definitions.replace(name, &PostParams::default(), &old).await.unwrap();
    }

    /// Another authority is made; who serves still shows what the first one signed.
    pub(crate) async fn remove_authority(&self) {
        let secrets = Api::<k8s_openapi::api::core::v1::Secret>::namespaced(self.client.clone(), HOME);
        secrets.delete("hyperfleet-bootstrap-authority", &DeleteParams::default()).await.unwrap();
        Ours::load(&self.client, HOME, Clock::system()).await.unwrap().unwrap();
    }

    /// Waits until the hypervisor's statistics show that a storage is full.
    pub(crate) async fn relisted(&self, storage: &str) {
        eventually("it shows", Duration::from_secs(10), async || {
            let listed = resources(self.pve.service()).await;
            let rows = serde_json::from_str::<Value>(&listed).unwrap_or_default()["data"].as_array().cloned();
            let full = |row: &Value| row["storage"] == storage && row["disk"] == row["maxdisk"] && row["disk"] != 0;
            rows.unwrap_or_default().iter().any(full).then_some(())
        })
        .await;
    }

    pub(crate) async fn doctor(&self) -> Chart {
        let loopback = || AddressPolicy { allow: vec!["127.0.0.0/8".parse().unwrap()], deny: Vec::new() };
        let (user, advertise) = (self.user.lock().unwrap().clone(), self.advertise.lock().unwrap().clone());
        examine(&Means {
            client: Client::new(self.server.door(user), "default"),
            namespace: Some("default".to_owned()),
            home: HOME.to_owned(),
            advertise,
            sight: Sight { hypervisors: loopback(), platforms: loopback(), clock: Clock::system() },
        })
        .await
    }
}

fn here() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A clock that is so far ahead.
fn clock(ahead: SignedDuration) -> Clock {
    if ahead.is_zero() { Clock::system() } else { Clock::starting_at(Clock::system().now() + ahead) }
}

async fn hypervisor(plan: Plan, authority: &Arc<Authority>, tasks: &Tasks) -> (sim::proxmox::Simulator, String) {
    let options = sim::proxmox::Options::new(plan.release, Fixture::Demo, clock(plan.ahead));
    let limits = Limits { idle: Limits::REAL.idle, ..Limits::REAL.faster(100) };
    let pve = sim::proxmox::Simulator::new(sim::proxmox::Options { profile: Profile::ZERO, limits, ..options }, tasks);
    let tls = Transport::Tls(Arc::clone(authority));
    let served = sim::proxmox::Server::start(&pve, here(), tls).await.unwrap();
    // Until the first statistics an image cannot be told from a VM.
    eventually("images show", Duration::from_secs(10), async || {
        resources(pve.service()).await.contains("\"template\":1").then_some(())
    })
    .await;
    (pve, format!("https://{}", served.address()))
}

async fn resources(service: sim::proxmox::Service) -> String {
    use http_body_util::{BodyExt as _, Full};
    use tower::ServiceExt as _;
    let request = http::Request::get("/api2/json/cluster/resources")
        .header("authorization", format!("PVEAPIToken=root@pam!admin={SECRET}"))
        .body(Full::new(bytes::Bytes::new()))
        .unwrap();
    let Ok(answer) = service.oneshot(request).await else { return String::new() };
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

/// An address of this machine that others could reach; nothing is sent.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").expect("this machine has an address beside loopback");
    socket.local_addr().unwrap().ip()
}

async fn listening(own: IpAddr, certified: Arc<rustls::sign::CertifiedKey>) -> (tokio::net::TcpListener, TlsAcceptor) {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
    (tokio::net::TcpListener::bind((own, 0)).await.unwrap(), TlsAcceptor::from(Arc::new(config)))
}
