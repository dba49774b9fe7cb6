//! What is said of a hypervisor that answers, and refuses.

use std::convert::Infallible;

use bytes::Bytes;
use chassis::Clock;
use http::{Request, Response};
use http_body_util::Full;
use providers::http::{AddressPolicy, Client};
use providers::hypervisor::Needs;
use serde_json::json;

use super::*;

const TOKEN: &str = "op@pve!hf";

fn cluster() -> Arc<HypervisorCluster> {
    let key = |key: &str| json!({ "name": "pve", "key": key });
    let cluster = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorCluster",
        "metadata": { "name": "pve", "namespace": "ci" },
        "spec": {
            "provider": "proxmox", "endpoint": "https://pve.example.com:8006", "nodes": [{ "name": "pve1" }],
            "credentials": { "tokenId": key("id"), "tokenSecret": key("secret") },
            "defaultStorage": "disks", "defaultNetwork": "vmbr0",
            "proxmox": { "vmidRange": { "first": 6000, "last": 6099 }, "pool": "hf" },
        },
    });
    Arc::new(serde_json::from_value(cluster).unwrap())
}

/// A hypervisor that lets everything be listed but what this path begins with, which it answers with 403.
fn closed(path: &'static str) -> Dial {
    let service = tower::service_fn(move |request: Request<Full<Bytes>>| async move {
        let asked = request.uri().path().trim_start_matches("/api2/json");
        let (status, body) = match asked {
            asked if asked.starts_with(path) => {
                (403, json!({ "data": null, "message": "Permission check failed (/, Sys.Audit)\n" }))
            }
            "/cluster/resources" => (200, json!({ "data": [{ "type": "node", "node": "pve1", "status": "online" }] })),
            "/access/permissions" if path.contains("network") => (200, json!({ "data": all() })),
            asked if asked.ends_with("/network") => (200, json!({ "data": [] })),
            "/version" => (200, json!({ "data": { "version": "9.0.3", "release": "9.0", "repoid": "x" } })),
            _ => (200, json!({ "data": {} })),
        };
        let answer = Response::builder().status(status).header("content-type", "application/json");
        Ok::<_, Infallible>(answer.body(Full::new(Bytes::from(body.to_string()))).unwrap())
    });
    Arc::new(move |_, _| Ok(Client::over("proxmox", service)))
}

/// Everything that machines need, everywhere.
fn all() -> serde_json::Value {
    let words = "VM.Allocate VM.Audit VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType \
                 VM.Config.Memory VM.Config.Network VM.Config.Options VM.PowerMgmt Pool.Audit Datastore.Allocate \
                 Datastore.AllocateSpace Datastore.Audit SDN.Use Sys.Audit";
    let held: serde_json::Map<_, _> = words.split_whitespace().map(|word| (word.to_owned(), json!(1))).collect();
    json!({ "/": held })
}

/// What is said of one that cannot be used.
async fn examined(dial: &Dial) -> Chart {
    let (chart, ready) = looked_at(dial).await;
    assert!(!ready, "{:?}", chart.passed());
    chart
}

/// What is said of it, and whether it can be used.
async fn looked_at(dial: &Dial) -> (Chart, bool) {
    let (cluster, mut chart) = (cluster(), Chart::default());
    let credentials = Credentials::Token { id: TOKEN.to_owned(), secret: "11111111".into() };
    let login = Login::given(&cluster, credentials, Trust::System);
    let Login::Complete(complete) = &login else { panic!("everything was given") };
    let survey = Survey::of(&cluster, complete, dial, |_| Needs::default()).await.unwrap();
    let policy = AddressPolicy::default();
    let sight = Sight {
        hypervisors: policy.clone(),
        platforms: policy,
        clock: Clock::starting_at(jiff::Timestamp::UNIX_EPOCH),
    };
    let about = About::new("HypervisorCluster", &cluster.metadata);
    let ready = usable(&sight, &cluster, &login, &survey, &about, &mut chart);
    (chart, ready)
}

#[tokio::test]
async fn a_hypervisor_that_answers_403_is_broken_and_not_passed_over() {
    for path in ["/cluster/resources", "/access/permissions"] {
        let chart = examined(&closed(path)).await;
        assert_eq!(chart.code(), 1, "{path}: {:?}", chart.findings());
        let [finding] = chart.findings()[..] else { panic!("one thing is wrong: {:?}", chart.findings()) };
        assert_eq!((finding.severity, finding.check), (Severity::Broken, Check::Privileges));
        assert!(finding.what.contains("op@pve!hf may not even look"), "{}", finding.what);
        assert!(finding.what.contains("needs Sys.Audit on /"), "{}", finding.what);
        assert!(finding.remedy.contains("--users 'op@pve' --tokens 'op@pve!hf'"), "{}", finding.remedy);
        assert!(chart.passed().is_empty(), "{:?}", chart.passed());
    }
}

#[tokio::test]
async fn privileges_that_could_be_looked_up_are_told_one_by_one() {
    let chart = examined(&closed("/nowhere")).await;
    assert_eq!(chart.code(), 1);
    let told: Vec<&str> = chart.findings().iter().map(|finding| finding.what.as_str()).collect();
    assert!(told.iter().any(|what| what.contains("lacks") && what.contains("on /vms")), "{told:?}");
    assert!(!told.iter().any(|what| what.contains("may not even look")), "{told:?}");
}

#[tokio::test]
async fn networks_that_were_not_seen_are_not_said_to_be_well() {
    for (path, why) in
        [("/nodes/pve1/network", "permission denied"), ("/nowhere/network", "none is shown to op@pve!hf")]
    {
        let (chart, ready) = looked_at(&closed(path)).await;
        assert!(ready && chart.code() == 2, "{path}: {:?}", chart.findings());
        let unseen = chart.findings().into_iter().find(|finding| finding.check == Check::Network).unwrap();
        assert_eq!(unseen.severity, Severity::Unknown);
        assert!(unseen.what.contains("the networks of node pve1 were not seen"), "{unseen:?}");
        assert!(unseen.what.contains(why), "{unseen:?}");
        assert!(unseen.remedy.contains("pvesh get /nodes/pve1/network"), "{unseen:?}");
    }
}
