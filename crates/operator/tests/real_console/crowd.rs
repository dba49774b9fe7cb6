//! A thousand machines, and a replica that only stands by.

use std::time::Duration;

use api::MachineClaim;
use futures::{StreamExt, stream};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testenv::free_port;

use crate::browser::Browser;
use crate::viewers::{operator, viewers};
use crate::works::Works;

const MACHINES: usize = 1_000;
const PHASES: [(&str, &str); 4] =
    [("Provisioning", "cloning"), ("Bootstrapping", "attesting"), ("Ready", "ready"), ("Busy", "busy")];

fn status(number: usize, turn: usize) -> Value {
    let (phase, step) = PHASES[(number + turn) % PHASES.len()];
    json!({ "status": {
        "phase": phase, "step": step,
        "allocation": {
            "id": format!("0b9c5a7e-2a57-4e0c-9a39-{number:012x}"), "clusterRef": { "name": "pve" },
            "vmId": 6_000 + number, "node": format!("pve{}", number % 5), "templateGeneration": 1,
            "allocatedAt": "2026-01-01T00:00:05Z",
        },
    } })
}

async fn set(claims: &Api<MachineClaim>, number: usize, turn: usize) {
    let patch = Patch::Merge(status(number, turn));
    claims.patch_status(&format!("vm-{number}"), &PatchParams::default(), &patch).await.unwrap();
}

async fn make(claims: &Api<MachineClaim>, number: usize) {
    let claim = json!({
        "apiVersion": api::registry::API_VERSION, "kind": "MachineClaim", "metadata": { "name": format!("vm-{number}") },
        "spec": {
            "templateRef": { "name": "debian" }, "poolRef": { "name": "large" },
            "workload": { "runner": { "sourceRef": { "name": "github" }, "labels": ["linux"] } },
        },
    });
    claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    set(claims, number, 0).await;
}

/// A hundred and more changes a second, from one state of all machines to the next.
async fn storm(claims: &Api<MachineClaim>, turn: usize, some: usize) {
    let numbers = (0..MACHINES).step_by(MACHINES / some);
    stream::iter(numbers).for_each_concurrent(8, |number| set(claims, number, turn)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_machines_are_shown_by_a_replica_that_stands_by_and_the_page_stays_quick() {
    let works = Works::new("crowd", 2).await;
    let plane = works.town.plane;
    let crowd = plane.namespace("thousand").await;
    let claims: Api<MachineClaim> = Api::namespaced(plane.client(), &crowd);
    let _leader = works.operator(0);
    stream::iter(0..MACHINES).for_each_concurrent(16, |number| make(&claims, number)).await;
    let port = free_port().unwrap();
    let standby = operator(&works, 1, port, Some(&crowd));
    let (reader, _) = viewers(&works).await;
    let (browser, origin) = (Browser::start().await, format!("https://127.0.0.1:{port}"));
    let settled = "shown.lines('t-vms').length === 1000";
    browser.open(&origin, (1280, 800), "light").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    browser.goto(&operator::console::link(&origin, reader.token())).await;
    browser.click("nav a[href='#/vms']").await;
    browser.until(settled).await;
    assert!(
        browser.text("#place").await.contains("stands by"),
        "{}: {}",
        browser.text("#place").await,
        standby.output()
    );
    for turn in 1..=4 {
        let changes = storm(&claims, turn, 250);
        let looks = async {
            for _ in 0..4 {
                browser.eval("scrollBy(0, 900)").await;
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        };
        futures::join!(changes, looks);
    }
    storm(&claims, 5, 1_000).await;
    let even = json!([["Bootstrapping", 250], ["Busy", 250], ["Provisioning", 250], ["Ready", 250]]);
    browser.until(&format!("JSON.stringify(shown.phases()) === JSON.stringify({even})")).await;
    let first = browser.text("tr[data-key$='/vm-0']").await;
    assert!(first.contains(PHASES[1].0), "{first}");
    browser.toil().await.is_smooth("a thousand machines and 2,000 changes");
    browser.is_accessible("a thousand").await;
    browser.shot("thousand-desktop-light").await;
    browser.is_clean().await;
}
