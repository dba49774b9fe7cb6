//! The works: a town with a GitHub whose jobs it serves, an image with a runner in it, and one address in front of replicas.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::{MachineClaim, RunnerJob, RunnerSource};
use http::Method;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use sim::github::{CLIENT_ID, HOOK_SECRET, INSTALLATION_ID, ORGANIZATION, PERSONAL_TOKEN};
use tempfile::TempDir;
use testenv::{Balancer, Blueprint, Program, Simulated, Town, eventually, story};
use tokio::sync::{Mutex, MutexGuard};

/// How long anything may take on a busy machine.
pub(crate) const SOON: Duration = Duration::from_mins(3);

/// A look every now and then: each is a connection of its own.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Works {
    pub(crate) town: Town,
    pub(crate) github: Simulated,
    /// What the hypervisor had before.
    before: Value,
    /// What machines reach, and what the platform reaches.
    doors: [Balancer; 2],
    certificate: PathBuf,
    /// Whether images are on storage that can only copy them.
    copies: bool,
    queued: AtomicUsize,
    _image: TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// One of them at a time: fifty machines with their agents and runners are a load for two cores already.
static TURN: Mutex<()> = Mutex::const_new(());

impl Works {
    /// Everything but operators, with room for so many of them, on a hypervisor that does everything at once.
    pub(crate) async fn new(name: &str, replicas: usize) -> Self {
        Self::on(name, replicas, "zero").await
    }

    /// The same on a hypervisor that takes its time as `profile` says.
    pub(crate) async fn on(name: &str, replicas: usize, profile: &str) -> Self {
        let turn = TURN.lock().await;
        let image = image();
        let roles = ["fleet", "bootstrap", "ingress"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
        let (program, crds) = (Path::new(env!("CARGO_BIN_EXE_hyperfleet")), api::crds());
        let runners = Some(image.path());
        let town = Town::new(Blueprint { name, crds: &crds, roles: &roles, program, profile, runners }).await;
        let certificate = town.certificate();
        let (hooks, key) = (text(&certificate.join("ca.crt")), text(&town.files().join("app.pem")));
        let flags = ["--faster", "10", "--unlimited", "--hook-ca-file", &hooks, "--app-key-file", &key];
        let github = town.simulate("github", &flags).await;
        // Images trust whom their owner trusts.
        std::fs::copy(github.ca_file(), image.path().join("ca.pem")).unwrap();
        let before = town.there().await;
        let doors = [Balancer::new(replicas).await, Balancer::new(replicas).await];
        let (copies, queued) = (profile.ends_with("-full"), AtomicUsize::new(0));
        Self { town, github, before, doors, certificate, copies, queued, _image: image, _turn: turn }
    }

    /// Starts a replica, over TLS on all sides.
    pub(crate) fn operator(&self, replica: usize) -> Program {
        Program::start(&self.command(replica))
    }

    /// What starts a replica.
    pub(crate) fn command(&self, replica: usize) -> Command {
        let [machines, platform] = &self.doors;
        let mut command = self.town.operator();
        if machines.backends() > 1 {
            // Whoever dies is replaced soon. One alone must not lose its lease because the machine is busy.
            command
                .args(["--leader-election-lease-duration=3s", "--leader-election-renew-deadline=2s"])
                .arg("--leader-election-retry-period=1s");
        }
        command
            .arg("--leader-elect=true")
            .arg("--platform-allowed-addresses=127.0.0.0/8")
            .arg(format!("--bootstrap-listen=127.0.0.1:{}", machines.backend(replica)))
            .arg(format!("--bootstrap-advertise=https://127.0.0.1:{}", machines.port()))
            .arg(format!("--ingress-listen=127.0.0.1:{}", platform.backend(replica)))
            .arg(format!("--ingress-cert-path={}", self.certificate.display()))
            .env("POD_NAME", format!("hyperfleet-{replica}"))
            .env("SSL_CERT_FILE", self.github.ca_file());
        command
    }

    /// The story `github-actions`: an App, and demand by message session. A pool of at most `max`.
    pub(crate) async fn by_session(&self, max: u32) {
        self.settle(&self.session_story(max)).await;
    }

    /// Everything of that story.
    pub(crate) fn session_story(&self, max: u32) -> Vec<Value> {
        let key = file_at(&self.town.files().join("app.pem"));
        self.tell("github-actions", max, |secret, source| {
            *secret = json!({
                "app-id": CLIENT_ID, "installation-id": INSTALLATION_ID.to_string(), "private-key": key,
            });
            source["github"]["scope"] = json!({ "organization": ORGANIZATION });
            source["github"].as_object_mut().unwrap().remove("runnerGroup");
        })
    }

    /// The story `github-webhook`: a token, and demand by webhooks of an organisation (`acme`) or of a repository. The code of
    /// strangers is not let in.
    pub(crate) async fn by_webhook(&self, max: u32, owner: &str) {
        let kind = if owner.contains('/') { "repository" } else { "organization" };
        let authority = std::fs::read_to_string(self.github.ca_file()).unwrap();
        let story = self.tell("github-webhook", max, |secret, source| {
            *secret = json!({ "pat-token": PERSONAL_TOKEN, "webhook-secret": HOOK_SECRET, "ca.crt": authority });
            source["github"]["scope"] = json!({ kind: owner });
        });
        self.settle(&story).await;
        let sources: Api<RunnerSource> = Api::namespaced(self.town.plane.client(), &self.town.namespace);
        let path = async || sources.get("ghes").await.unwrap().status?.webhook_path;
        let path = eventually("deliveries have a path", SOON, path).await;
        let url = format!("https://127.0.0.1:{}{path}", self.doors[1].port());
        self.github.ask(Method::POST, "/sim/hooks", &json!({ "owner": owner, "url": url })).await;
    }

    /// Shuts the door between machines and operators, or opens it again.
    pub(crate) fn shut(&self, shut: bool) {
        self.doors[0].shut(shut);
    }

    /// A story with what is particular to this place.
    fn tell(&self, name: &str, max: u32, change: impl Fn(&mut Value, &mut Value)) -> Vec<Value> {
        let mut objects = story(&self.town, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name));
        let found = objects.iter().find(|object| object["kind"] == "RunnerSource").unwrap();
        let (mut secret, mut source) = (Value::Null, found["spec"].clone());
        source["url"] = json!(self.github.address);
        change(&mut secret, &mut source);
        for object in &mut objects {
            match object["kind"].as_str().unwrap() {
                "Secret" if object["stringData"]["tokenId"].is_null() => object["stringData"] = secret.clone(),
                "RunnerSource" => object["spec"] = source.clone(),
                "HypervisorMachineTemplate" if self.copies => {
                    object["spec"]["template"]["proxmox"]["linkedClone"] = json!(false);
                }
                "RunnerPool" => {
                    object["spec"]["scaling"] = json!({ "maxReplicas": max, "scaleDownDelay": "3s" });
                    object["spec"]["labels"] = json!(["self-hosted", "linux", "x64"]);
                    object["spec"]["trust"] = json!({});
                    // Whatever ends goes at once.
                    object["spec"]["lifecycle"].as_object_mut().unwrap().remove("ttl");
                }
                _ => {}
            }
        }
        objects
    }

    /// Applies a story, and waits until it can be used.
    async fn settle(&self, objects: &[Value]) {
        self.town.apply(objects).await;
        let kinds = ["hypervisormachinetemplate/debian-12=TemplateValid", "runnersource=Ready"];
        for (kind, condition) in kinds.iter().filter_map(|kind| kind.split_once('=')) {
            let condition = format!("--for=condition={condition}");
            let what: &[&str] = if kind.contains('/') { &[kind] } else { &[kind, "--all"] };
            let arguments = [&["wait", &condition, "--timeout=120s"], what].concat();
            self.town.kubectl(&arguments).await;
        }
    }

    /// Queues jobs that take so long, each with a name of its own; their numbers.
    pub(crate) async fn queue(&self, count: usize, seconds: f64) -> Vec<u64> {
        let named = |_| format!("build-{}", self.queued.fetch_add(1, Ordering::Relaxed));
        let jobs: Vec<Value> = (0..count).map(named).map(|name| json!({ "name": name, "seconds": seconds })).collect();
        let queued = self.github.ask(Method::POST, "/sim/runs", &json!({ "jobs": jobs })).await;
        queued["jobs"].as_array().unwrap().iter().filter_map(Value::as_u64).collect()
    }

    /// Every job as the platform has it.
    pub(crate) async fn jobs(&self) -> Vec<Value> {
        self.github.get("/sim/state").await["jobs"].as_array().unwrap().clone()
    }

    /// Waits until all these jobs have ended at the platform.
    pub(crate) async fn done(&self, jobs: &[u64], said: impl Fn() -> String) {
        let done = async || {
            tokio::time::sleep(PAUSE).await;
            let all = self.jobs().await;
            let open = all.iter().filter(|job| job["status"] != "completed");
            (!open.filter_map(|job| job["id"].as_u64()).any(|id| jobs.contains(&id))).then_some(())
        };
        let ended = tokio::time::timeout(SOON, eventually("all jobs have ended", SOON * 2, done)).await;
        assert!(ended.is_ok(), "{}\n{}\n{}", self.told().await, said(), self.github.program.output());
    }

    /// Waits until nothing is left on the hypervisor, the platform and the cluster.
    pub(crate) async fn cleared(&self, said: impl Fn() -> String) {
        let clear = async || {
            tokio::time::sleep(PAUSE).await;
            self.leftovers().await.is_empty().then_some(())
        };
        let cleared = tokio::time::timeout(SOON, eventually("nothing is left", SOON * 2, clear)).await;
        assert!(cleared.is_ok(), "{}\n{}\n{}", self.leftovers().await, self.told().await, said());
    }

    /// What is left anywhere beside what was there before; empty if nothing is.
    async fn leftovers(&self) -> String {
        let runners = self.github.get("/sim/state").await["runners"].clone();
        let claims = self.claims().list(&ListParams::default()).await.unwrap().items.len();
        let there = self.town.there().await;
        if claims == 0 && runners == json!([]) && there == self.before {
            return String::new();
        }
        format!("{claims} claims; runners: {runners}; on the hypervisor: {there}")
    }

    /// What a person would look at.
    pub(crate) async fn told(&self) -> String {
        self.town.kubectl(&["get", "runnersources,runnerpools,runnerjobs,machineclaims", "-o", "wide"]).await
    }

    pub(crate) fn claims(&self) -> Api<MachineClaim> {
        Api::namespaced(self.town.plane.client(), &self.town.namespace)
    }

    /// Every job as we know it.
    pub(crate) async fn known(&self) -> Vec<RunnerJob> {
        let known: Api<RunnerJob> = Api::namespaced(self.town.plane.client(), &self.town.namespace);
        known.list(&ListParams::default()).await.unwrap().items
    }
}

/// What an image has: the stand-in where GitHub's runner is, and whom it trusts.
fn image() -> TempDir {
    let image = TempDir::new().unwrap();
    let (home, trust) = (image.path().join("actions-runner"), image.path().join("ca.pem"));
    std::fs::create_dir_all(home.join("bin")).unwrap();
    let listener = home.join("bin/Runner.Listener");
    let program = Path::new(env!("CARGO_BIN_EXE_hyperfleet")).with_file_name("hyperfleet-sim");
    if std::fs::hard_link(&program, &listener).is_err() {
        std::fs::copy(&program, &listener).unwrap();
    }
    std::fs::write(home.join(".env"), format!("SSL_CERT_FILE={}\n", trust.display())).unwrap();
    std::fs::set_permissions(image.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    image
}

pub(crate) fn file(path: &str) -> String {
    file_at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
}

fn file_at(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
