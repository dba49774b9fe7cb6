//! A town in which the objects of `examples/gitea` are applied, with an organization of a real Gitea as their source.

use std::collections::BTreeSet;
use std::path::Path;

use api::{MachineClaim, RunnerJob, RunnerSource};
use http::Method;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use testenv::{Blueprint, Program, Signal, free_port, story};

use crate::forge::{Forge, LABEL, SOON, soon};

/// What deliveries are signed with.
const SECRET: &str = "what only Gitea and we know";
const SOURCE: &str = "gitea";

pub(crate) struct Town {
    pub(crate) forge: Forge,
    place: testenv::Town,
    bootstrap: u16,
    ingress: u16,
    /// What the hypervisor had before.
    before: Value,
}

impl Town {
    /// A town in which nothing has been applied, and no operator runs.
    pub(crate) async fn new(forge: Forge) -> Self {
        let roles = ["fleet", "bootstrap", "ingress"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
        let place = testenv::Town::new(Blueprint {
            name: "pools",
            crds: &api::crds(),
            roles: &roles,
            program: Path::new(env!("CARGO_BIN_EXE_hyperfleet")),
            profile: "zero",
            runners: Some(forge.site.image().runners()),
        })
        .await;
        let before = place.there().await;
        Self { forge, place, bootstrap: free_port().unwrap(), ingress: free_port().unwrap(), before }
    }

    /// The same with an operator, the story applied with a pool of so many machines, its source connected and its hook set.
    pub(crate) async fn ready(forge: Forge, machines: u32, change: impl Fn(&mut Value)) -> (Self, Program) {
        let town = Self::new(forge).await;
        let operator = town.operator(true);
        town.settle_in(machines, change).await;
        (town, operator)
    }

    /// The real operator; with or without a place for deliveries.
    pub(crate) fn operator(&self, hears: bool) -> Program {
        let ingress = if hears { format!("127.0.0.1:{}", self.ingress) } else { "0".to_owned() };
        let mut command = self.place.operator();
        command
            .args(["--leader-elect=false", "--platform-allowed-addresses=127.0.0.0/8"])
            .arg(format!("--bootstrap-listen=127.0.0.1:{}", self.bootstrap))
            .arg(format!("--bootstrap-advertise=https://127.0.0.1:{}", self.bootstrap))
            .arg(format!("--ingress-listen={ingress}"))
            // As in an installation whose image has the authority of a company among those that it trusts.
            .env("SSL_CERT_FILE", self.forge.gitea().authority());
        Program::start(&command)
    }

    /// Applies the story, waits until the source is ready, and sets the hook at Gitea.
    pub(crate) async fn settle_in(&self, machines: u32, change: impl Fn(&mut Value)) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gitea");
        let mut objects = story(&self.place, &folder);
        objects.iter_mut().for_each(&change);
        let reruns = objects.iter().any(|object| object["spec"]["rerunLostJobs"] == true);
        // As the guide has it.
        let scopes = ["write:organization", if reruns { "write:repository" } else { "read:repository" }];
        let token = self.forge.gitea().token_for(&self.place.namespace, &scopes).await;
        for object in &mut objects {
            self.settle(object, &token, machines);
        }
        self.place.apply(&objects).await;
        self.hook(&format!("orgs/{}", self.forge.organization)).await;
    }

    /// Sets a hook at Gitea, below this scope.
    pub(crate) async fn hook(&self, scope: &str) {
        let receiver = format!("http://127.0.0.1:{}{}", self.ingress, self.connected().await);
        self.forge.gitea().hook(scope, &receiver, SECRET).await;
    }

    fn settle(&self, object: &mut Value, token: &str, machines: u32) {
        match object["kind"].as_str().unwrap() {
            "Secret" if object["metadata"]["name"] == "gitea-credentials" => {
                object["stringData"] = json!({ "token": token, "webhook-secret": SECRET });
            }
            "RunnerSource" => {
                object["spec"]["url"] = json!(self.forge.gitea().url());
                object["spec"]["gitea"]["scope"]["organization"] = json!(self.forge.organization);
                object["spec"]["demand"]["pollInterval"] = json!("5s");
            }
            "RunnerPool" => {
                object["spec"]["labels"] = json!([LABEL]);
                object["spec"]["scaling"] = json!({ "maxReplicas": machines, "scaleDownDelay": "1s" });
            }
            _ => {}
        }
    }

    /// Waits until the source is ready; where Gitea delivers.
    async fn connected(&self) -> String {
        let sources: Api<RunnerSource> = self.objects();
        let path = soon(async || {
            let status = sources.get(SOURCE).await.unwrap().status?;
            let ready = api::condition::holds(&status.conditions, api::ConditionType::Ready);
            ready.then_some(status.webhook_path).flatten()
        });
        match path.await {
            Some(path) => path,
            None => panic!("the source is not ready: {:#?}", sources.get(SOURCE).await.unwrap().status),
        }
    }

    pub(crate) fn objects<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.place.plane.client(), &self.place.namespace)
    }

    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> String {
        self.place.kubectl(arguments).await
    }

    /// Every `RunnerJob`.
    pub(crate) async fn jobs(&self) -> Vec<RunnerJob> {
        let jobs: Api<RunnerJob> = self.objects();
        jobs.list(&ListParams::default()).await.unwrap().items
    }

    /// Those of a job of this name, the oldest first.
    pub(crate) async fn jobs_named(&self, name: &str) -> Vec<RunnerJob> {
        let mut jobs = self.jobs().await;
        jobs.retain(|job| job.spec.display_name.as_deref() == Some(name));
        jobs.sort_by_key(|job| (job.creation_timestamp(), job.name_any()));
        jobs
    }

    /// Waits until the last `RunnerJob` of this name is as wanted.
    pub(crate) async fn job(&self, name: &str, what: &str, is: impl Fn(&RunnerJob) -> bool) -> RunnerJob {
        match soon(async || self.jobs_named(name).await.pop().filter(|job| is(job))).await {
            Some(job) => job,
            None => panic!("{name} is not {what}: {:#?}", self.jobs_named(name).await),
        }
    }

    pub(crate) async fn claims(&self) -> Vec<MachineClaim> {
        let claims: Api<MachineClaim> = self.objects();
        claims.list(&ListParams::default()).await.unwrap().items
    }

    /// VMs of ours, by number.
    pub(crate) async fn machines(&self) -> BTreeSet<u64> {
        let there = self.place.there().await;
        let vms = there[0].as_array().unwrap().iter().filter_map(|vm| vm["vmid"].as_u64());
        vms.filter(|number| (6000..7000).contains(number)).collect()
    }

    /// Waits until nothing is left on the hypervisor, at Gitea and in the cluster but the memory of jobs.
    pub(crate) async fn cleared(&self, operator: &Program) {
        let left = async || {
            let (claims, runners) = (self.claims().await, self.forge.runners().await);
            let machines = self.place.there().await != self.before;
            let left = !claims.is_empty() || !runners.is_empty() || machines;
            let told = claims.into_iter().map(|claim| (claim.name_any(), claim.creation_timestamp(), claim.status));
            left.then(|| (told.collect::<Vec<_>>(), runners))
        };
        let clear = soon(async || left().await.is_none().then_some(())).await.is_some();
        let said = || format!("{}\n{}", operator.output(), self.place.hypervisor.program.output());
        assert!(clear, "{:#?}\n{}", left().await, said());
    }

    /// The operator ends in order, and nothing has broken on the way.
    pub(crate) async fn close(self, operator: Program) {
        self.cleared(&operator).await;
        operator.signal(Signal::Terminate);
        assert!(operator.wait(SOON).await.success(), "{}", operator.output());
        assert!(self.place.hypervisor.program.ended().is_none(), "{}", self.place.hypervisor.program.output());
    }

    /// Switches a VM off at the hypervisor.
    pub(crate) async fn power_off(&self, vm: &str) {
        self.place.hypervisor.ask(Method::POST, &format!("/sim/vms/{vm}/power-off"), &Value::Null).await;
    }
}

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}
