//! Somebody looks while jobs run.

use std::process::Command;
use std::time::Duration;

use api::{HypervisorCluster, RunnerJob, RunnerPool};
use http::Method;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::api::{Api, ListParams, PostParams};
use kube::{Resource, ResourceExt};
use operator::console::{invite, link};
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sim::github::{ORGANIZATION, REPOSITORY};
use testenv::{Program, ServiceAccountRef, Signal, Stopwatch, Stream, eventually, free_port};

use crate::browser::Browser;
use crate::viewers::{operator, viewers};
use crate::works::{SOON, Works};

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (375, 812);
const VIEWS: [&str; 5] = ["overview", "queue", "vms", "timelines", "clusters"];

/// A job that would like to be a script.
const NASTY: &str = "<img src=x onerror=alert(document.domain)>";

struct Visit {
    works: Works,
    browser: Browser,
    origin: String,
}

impl Visit {
    async fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope> + Clone + DeserializeOwned,
        K: std::fmt::Debug,
    {
        let objects: Api<K> = Api::namespaced(self.works.town.plane.client(), &self.works.town.namespace);
        objects.list(&ListParams::default()).await.unwrap().items
    }

    /// Without a token there is a door, and a stranger's token does not open it.
    async fn door(&self, stranger: &ServiceAccountRef) {
        self.browser.open(&self.origin, DESKTOP, "light").await;
        self.browser.goto(&format!("{}/console/", self.origin)).await;
        self.browser.until("!document.getElementById('door').hidden").await;
        assert_eq!(self.browser.eval("document.activeElement.id").await, "token");
        assert!(self.browser.text("#door").await.contains("kubectl create token"));
        self.browser.is_accessible("the door").await;
        self.browser.shot("door-desktop-light").await;
        self.browser.is_clean().await;
        self.browser.fill("#token", stranger.token()).await;
        self.browser.press("Enter").await;
        self.browser.until("document.getElementById('door-why').textContent.includes('console-reader')").await;
        assert_eq!(self.browser.eval("sessionStorage.length").await, 0, "a token that opens nothing is not kept");
        self.browser.forgive().await;
    }

    /// A link with a token opens it, and hides the token at once.
    async fn enter(&self) {
        let (client, namespace) = (self.works.town.plane.client(), &self.works.town.namespace);
        let token = invite(&client, namespace, Duration::from_hours(1)).await.unwrap();
        // Rights take a moment to be known; who is refused is refused for half a minute.
        let rights = json!({ "spec": {
            "user": format!("system:serviceaccount:{namespace}:console"),
            "nonResourceAttributes": { "path": "/console/events", "verb": "get" },
        } });
        let rights: SubjectAccessReview = serde_json::from_value(rights).unwrap();
        eventually("the rights are known", SOON, async || {
            let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
            let review = reviews.create(&PostParams::default(), &rights).await.unwrap();
            review.status.is_some_and(|status| status.allowed).then_some(())
        })
        .await;
        self.browser.goto(&link(&self.origin, token.expose_secret())).await;
        self.browser.until("document.getElementById('link-text').textContent === 'Live'").await;
        assert_eq!(self.browser.eval("location.href").await, format!("{}/console/#/overview", self.origin));
        assert_eq!(
            self.browser
                .eval("performance.getEntriesByType('resource').some(({ name }) => name.includes('token'))")
                .await,
            false
        );
        assert!(self.browser.text("#place").await.contains("leads"));
    }

    async fn go(&self, view: &str) {
        self.browser.click(&format!("nav a[href='#/{view}']")).await;
        self.browser.until(&format!("!document.getElementById('{view}').hidden")).await;
        assert_eq!(self.browser.text("nav [aria-current=page]").await.to_lowercase().split(' ').next(), Some(view));
    }

    /// Waits until the page shows what the API says, whatever that is in the meantime.
    async fn agrees(&self, what: &str, shown: &str, said: impl AsyncFn() -> Value) {
        let mut last = (Value::Null, Value::Null);
        let agree = async {
            loop {
                let before = said().await;
                last = (self.browser.eval(shown).await, said().await);
                if before == last.1 && last.0 == last.1 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let agreed = tokio::time::timeout(Duration::from_secs(20), agree).await;
        assert!(agreed.is_ok(), "{what}: the page shows {}, the API says {}", last.0, last.1);
    }

    async fn pools(&self) {
        self.go("overview").await;
        self.agrees("pools", "shown.pools()", async || {
            let row = |pool: &RunnerPool| {
                let status = pool.status.clone().unwrap_or_default();
                json!([
                    pool.name_any(),
                    status.desired_replicas,
                    status.replicas,
                    status.busy_replicas,
                    status.pending_jobs,
                    pool.spec.scaling.max_replicas
                ])
            };
            self.all::<RunnerPool>().await.iter().map(row).collect()
        })
        .await;
    }

    /// Each job waits for what `hyperfleet why` says.
    async fn queue(&self) {
        self.go("queue").await;
        let unserved = eventually("the job that nobody serves is known", SOON, async || {
            self.all::<RunnerJob>().await.into_iter().find(|job| job.spec.display_name.as_deref() == Some(NASTY))
        });
        let name = unserved.await.name_any();
        let row = format!("tr[data-key='{}/{name}']", self.works.town.namespace);
        self.browser
            .until(&format!("document.querySelector(`{row} .reason`)?.textContent.includes('is served by no pool')"))
            .await;
        assert_eq!(self.browser.text(&format!("{row} .open")).await, NASTY, "a name is a text");
        assert_eq!(self.browser.eval("document.images.length").await, 1, "the only picture is ours");
        let line = why(&self.works, &name).await;
        assert_eq!(format!("runnerjob/{name} {}", self.browser.text(&format!("{row} .reason")).await), line);
        self.browser.fill("#filter", "ONERROR").await;
        self.browser.until("shown.lines('t-queue').length === 1").await;
        assert!(self.browser.text("#found").await.starts_with("1 of "), "whoever filters learns what is left out");
        self.browser.click(&format!("{row} .open")).await;
        self.browser.until("document.getElementById('detail').open").await;
        assert_eq!(self.browser.text("#detail-title").await, NASTY);
        assert!(self.browser.text("#detail-body").await.contains(&format!("hyperfleet why runnerjob/{name}")));
        self.browser.is_accessible("details").await;
        self.browser.shot("detail-desktop-light").await;
        self.browser.press("Escape").await;
        self.browser.until("!document.getElementById('detail').open").await;
        assert_eq!(self.browser.eval("document.activeElement.textContent").await, NASTY, "the focus is where it was");
        self.browser.fill("#filter", "").await;
    }

    async fn machines(&self) {
        self.go("vms").await;
        self.agrees("VMs", "shown.vms()", async || {
            let claims = self.works.claims().list(&ListParams::default()).await.unwrap().items;
            let row = |claim: &api::MachineClaim| {
                let status = claim.status.clone().unwrap_or_default();
                let held = status.allocation.as_ref();
                json!([
                    claim.name_any(),
                    status.phase.map_or("Pending", api::Phase::as_str),
                    held.map(|held| held.node.to_string()).unwrap_or_default(),
                    held.map(|held| held.vm_id.to_string()).unwrap_or_default(),
                ])
            };
            let mut rows: Vec<Value> = claims.iter().map(row).collect();
            rows.sort_by_key(|row| row[0].to_string());
            rows.into()
        })
        .await;
        self.browser.click(".t-vms thead th:first-child button").await;
        self.browser.until("document.querySelector('.t-vms thead th').getAttribute('aria-sort') === 'ascending'").await;
    }

    async fn clusters(&self) {
        self.go("clusters").await;
        self.agrees("clusters", "shown.clusters()", async || {
            let row = |cluster: &HypervisorCluster| {
                let status = cluster.status.clone().unwrap_or_default();
                let ready = api::condition::find(&status.conditions, api::ConditionType::Ready).unwrap();
                let online = |name: &api::NodeName| status.nodes.iter().any(|node| node.name == *name && node.online);
                let node = |node: &api::Node| {
                    json!([node.name.to_string(), if online(&node.name) { "online" } else { "offline" }])
                };
                let nodes: Vec<Value> = cluster.spec.nodes.iter().map(node).collect();
                json!([cluster.name_any(), ready.message, nodes])
            };
            self.all::<HypervisorCluster>().await.iter().map(row).collect()
        })
        .await;
    }

    /// A job's bar has all its stages once its machine is gone.
    async fn timelines(&self) {
        self.go("timelines").await;
        self.browser.until("shown.bar('queued', 'clone', 'boot', 'busy', 'clearing')").await;
        self.agrees("jobs", "shown.jobs()", async || {
            let row = |job: &RunnerJob| {
                let status = job.status.clone().unwrap_or_default();
                let state = status.state.map_or("Queued", api::JobState::as_str);
                let word = status.result.map_or(state, api::JobResult::as_str).to_lowercase();
                json!([job.spec.display_name.clone().unwrap_or_else(|| job.name_any()), word])
            };
            let mut rows: Vec<Value> = self.all::<RunnerJob>().await.iter().map(row).collect();
            rows.sort_by_key(|row| row[0].to_string());
            rows.into()
        })
        .await;
        self.browser.click("input[value=clock]").await;
        self.browser.until("/^\\d\\d:\\d\\d:\\d\\d$/.test(document.querySelector('.scale span').textContent)").await;
        self.browser.click("input[value=start]").await;
    }

    /// Everything can be reached without a mouse, beginning with a way past the head.
    async fn keyboard(&self) {
        self.browser.goto(&format!("{}/console/", self.origin)).await;
        self.browser.until("document.getElementById('link-text').textContent === 'Live'").await;
        self.browser.press("Tab").await;
        assert_eq!(self.browser.text(":focus").await, "Skip to content");
        self.browser.press("Enter").await;
        assert_eq!(self.browser.eval("document.activeElement.id").await, "main");
        self.go("queue").await;
        self.browser.eval("document.activeElement.blur()").await;
        self.browser.press("/").await;
        assert_eq!(self.browser.eval("document.activeElement.id").await, "filter");
        self.browser.press("Tab").await;
        assert_eq!(self.browser.eval("shown.ring()").await, true, "where the focus is can be seen");
    }

    /// Every view in every dress: nobody is shut out, and a picture to look at.
    async fn pictures(&self) {
        for (size, width) in [("desktop", DESKTOP), ("phone", PHONE)] {
            for scheme in ["light", "dark"] {
                self.browser.look(width, scheme).await;
                for view in VIEWS {
                    self.go(view).await;
                    self.browser.is_accessible(&format!("{view} {size} {scheme}")).await;
                    self.browser.shot(&format!("{view}-{size}-{scheme}")).await;
                }
            }
        }
        self.browser.look(DESKTOP, "light").await;
    }
}

/// The first line that a person gets who asks about a job.
async fn why(works: &Works, job: &str) -> String {
    let mut command = Command::new(works.town.program("hyperfleet"));
    command.args(["why", &format!("runnerjob/{job}"), "-n", &works.town.namespace]);
    let program = Program::start(command.env("KUBECONFIG", works.town.plane.kubeconfig()));
    assert!(program.wait(SOON).await.success(), "{}", program.output());
    program.lines().into_iter().find(|line| line.stream == Stream::Out).unwrap().text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_who_looks_while_jobs_run_sees_what_the_api_says() {
    let works = Works::on("console", 1, "nvme-linked").await;
    let port = free_port().unwrap();
    let first = operator(&works, 0, port, None);
    works.by_webhook(6, ORGANIZATION).await;
    let (_, stranger) = viewers(&works).await;
    let watch = Stopwatch::start();
    let visit = Visit { works, browser: Browser::start().await, origin: format!("https://127.0.0.1:{port}") };
    visit.door(&stranger).await;
    visit.works.queue(9, 5.0).await;
    let nasty = json!({ "name": NASTY, "seconds": 1.0, "labels": ["self-hosted", "gpu"] });
    visit.works.github.ask(Method::POST, "/sim/runs", &json!({ "repository": REPOSITORY, "jobs": [nasty] })).await;
    visit.enter().await;
    visit.pools().await;
    visit.queue().await;
    visit.machines().await;
    visit.clusters().await;
    visit.timelines().await;
    visit.pictures().await;
    visit.keyboard().await;
    visit.browser.is_clean().await;
    first.signal(Signal::Kill);
    visit.browser.until("document.getElementById('link-text').textContent.startsWith('Connection lost')").await;
    // Whether it comes back with another certificate, a page cannot know.
    visit.browser.until("document.getElementById('link-text').textContent.includes('Reload the page')").await;
    let second = operator(&visit.works, 0, port, None);
    visit.browser.until("document.getElementById('link-text').textContent === 'Live'").await;
    visit.pools().await;
    println!("lane: a browser saw jobs run in {:.1} s", watch.elapsed().as_secs_f64());
    second.signal(Signal::Terminate);
    assert!(second.wait(SOON).await.success(), "a viewer keeps nobody from ending: {}", second.output());
}
