//! Somebody who reads: what changes meanwhile takes nothing out of their hands, and what they leave is gone.

use std::time::Duration;

use chassis::Tasks;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::stage::{BORN, NOW, Stage};

const PHONE: (u32, u32) = (375, 812);

/// A job that runs, with so many marks.
fn job(number: i64, passed: usize) -> Value {
    let way = ["queued", "seen", "claimMade", "allocated", "started", "called", "attested", "begun"];
    let marks: Vec<Value> =
        way.iter().take(passed).zip(0..).map(|(mark, at)| json!({ "mark": mark, "at": BORN + at * 1_000 })).collect();
    json!({
        "state": "Queued", "what": format!("build {number}"), "repository": "acme/app", "labels": ["linux"], "pool": "small",
        "queuedAt": BORN + number, "standing": "Waits", "why": "waits for its VM to boot.", "says": "machineclaim/a",
        "marks": marks,
    })
}

fn picture() -> Value {
    let word = json!({ "good": true, "reason": "Steady", "message": "all is well" });
    let pool = json!({
        "wanted": 1, "live": 1, "ready": 0, "busy": 1, "queued": 3, "min": 0, "max": 4, "source": "github",
        "template": "debian", "labels": ["linux"], "word": word,
    });
    json!({
        "place": { "instance": "one", "version": "1", "namespaces": [], "leads": true }, "pools": { "ci/small": pool },
        "clusters": { "ci/pve": { "provider": "proxmox", "nodes": [], "word": word } },
        "sources": { "ci/github": { "platform": "github", "word": word } },
        "jobs": { "ci/a": job(1, 4), "ci/b": job(2, 2), "ci/c": job(3, 2) },
        "machines": { "ci/a-1": { "phase": "Busy", "node": "pve1", "vmId": 6001, "bornAt": BORN, "word": word } },
        "queue": { "queued": 3, "blocked": 0, "reasons": [{ "number": 3, "standing": "Waits", "why": "waits." }] },
    })
}

struct Reading {
    tasks: Tasks,
    stage: Stage,
    browser: Browser,
}

/// Somebody looks at the queue.
async fn reading(size: (u32, u32)) -> Reading {
    let tasks = Tasks::new();
    let (stage, browser) = (Stage::new(&tasks).await, Browser::start().await);
    stage.say("state", &picture());
    browser.open(&stage.origin, size, "light").await;
    browser.goto(&operator::console::link(&stage.origin, "anybody")).await;
    browser.click("nav a[href='#/queue']").await;
    browser.until("shown.lines('t-queue').length === 3").await;
    Reading { tasks, stage, browser }
}

impl Reading {
    async fn end(self) {
        self.browser.is_clean().await;
        self.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn details_keep_focus_and_selection_while_their_job_goes_on() {
    let reading = reading((1280, 800)).await;
    let (browser, stage) = (&reading.browser, &reading.stage);
    browser.click("[data-key='ci/a'] .open").await;
    browser.eval("document.querySelector('#detail-body pre').focus()").await;
    browser.eval("getSelection().selectAllChildren(document.querySelector('.why'))").await;
    let mut on = job(1, 5);
    on["retryAt"] = json!(NOW + 1_000);
    on["marks"][0]["at"] = json!(BORN - 2 * 86_400_000);
    stage.say("change", &json!({ "jobs": { "ci/a": on } }));
    browser.until("document.querySelectorAll('#detail-body .marks li').length === 5").await;
    assert_eq!(browser.text("#detail-body .marks li:last-child span").await, "VM cloned and started");
    assert!(browser.text("#detail-body .facts").await.contains("Next attempt"), "a time of its own");
    assert_eq!(browser.eval("document.activeElement.tagName").await, "PRE");
    assert_eq!(browser.eval("getSelection().toString()").await, "Waits for its VM to boot.");
    let told = "[...document.querySelectorAll('#detail-body time')].map((time) => time.textContent.split(' ').length)";
    assert_eq!(browser.eval(told).await, json!([2, 2, 1, 1, 1]), "a day is said when it is another one than before");
    stage.say("change", &json!({ "jobs": { "ci/a": null } }));
    browser.until("!document.getElementById('detail-gone').hidden").await;
    assert_eq!(browser.eval("document.activeElement.tagName").await, "PRE");
    browser.eval("location.hash = '#/overview'").await;
    browser.until("!document.getElementById('overview').hidden && !document.getElementById('detail').open").await;
    browser.back().await;
    browser.click("[data-key='ci/b'] .open").await;
    browser.until("document.getElementById('detail').open").await;
    browser.back().await;
    browser.until("!document.getElementById('detail').open").await;
    reading.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_leaves_nothing() {
    let reading = reading((1280, 800)).await;
    let browser = &reading.browser;
    for view in ["overview", "vms", "timelines", "clusters", "queue"] {
        browser.click(&format!("nav a[href='#/{view}']")).await;
        browser.until(&format!("!document.getElementById('{view}').hidden")).await;
    }
    browser.eval("location.hash = '#/constructor'").await;
    browser.until("!document.getElementById('queue').hidden").await;
    browser.fill("#filter", "build").await;
    browser.click("[data-key='ci/a'] .open").await;
    browser.until("document.getElementById('detail').open").await;
    browser.press("Escape").await;
    browser.click("#leave").await;
    browser.until("!document.getElementById('door').hidden").await;
    let left = "document.body.textContent + document.title + document.getElementById('filter').value";
    let told = "sessionStorage.length + location.search.length";
    for turn in ["at once", "after looking around by the address"] {
        for word in ["build 1", "acme", "pve1", "small", "debian", "github", "6001", "leads", "all is well"] {
            let kept = browser.eval(&format!("({left}).includes({})", json!(word))).await;
            assert_eq!(kept, json!(false), "{turn}: {word}");
        }
        assert_eq!(browser.eval(told).await, json!(0));
        for address in ["#/constructor", "#/vms"] {
            browser.eval(&format!("location.hash = '{address}'")).await;
            browser.press("/").await;
        }
        browser.until("!document.getElementById('door').hidden").await;
    }
    reading.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_moves_keeps_the_focus() {
    let reading = reading((1280, 800)).await;
    let (browser, stage) = (&reading.browser, &reading.stage);
    let order = "shown.lines('t-queue').map((row) => row.dataset.key).join()";
    for (later, after) in [(10, "ci/b,ci/c,ci/a"), (2, "ci/b,ci/a,ci/c"), (0, "ci/a,ci/b,ci/c")] {
        browser.eval("document.querySelector('[data-key=\"ci/a\"] .open').focus()").await;
        let mut moved = job(1, 2);
        moved["queuedAt"] = json!(BORN + later);
        let mut stays = job(2, 2);
        stays["queuedAt"] = json!(BORN + 1);
        stage.say("change", &json!({ "jobs": { "ci/a": moved, "ci/b": stays } }));
        browser.until(&format!("{order} === '{after}'")).await;
        assert_eq!(browser.text(":focus").await, "build 1", "{after}");
    }
    reading.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_phone_whoever_comes_to_a_column_by_key_sees_it() {
    let reading = reading(PHONE).await;
    let browser = &reading.browser;
    let seen = "document.querySelector('.t-queue thead').getBoundingClientRect().height > 20";
    assert_eq!(browser.eval(seen).await, json!(false), "else it takes room");
    browser.eval("document.getElementById('filter').focus()").await;
    browser.press("Tab").await;
    assert_eq!(browser.eval("document.activeElement.className").await, "sort");
    assert_eq!(browser.eval(seen).await, json!(true));
    assert_eq!(browser.eval("shown.ring()").await, json!(true));
    browser.is_accessible("the columns on a phone").await;
    browser.shot("columns-phone-light").await;
    reading.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_many_are_found_is_said_to_whoever_types_and_not_with_every_change() {
    let reading = reading((1280, 800)).await;
    let (browser, stage) = (&reading.browser, &reading.stage);
    browser.fill("#filter", "build").await;
    browser.until("document.getElementById('said').textContent === '3 of 3'").await;
    stage.say("change", &json!({ "jobs": { "ci/c": null }, "queue": { "queued": 2, "blocked": 0, "reasons": [] } }));
    browser.until("document.getElementById('found').textContent === '2 of 2'").await;
    assert_eq!(
        browser.eval("document.getElementById('found').closest('[aria-live], [role=status]')").await,
        Value::Null
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(browser.text("#said").await, "3 of 3");
    reading.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_looks_while_the_cluster_is_away_reads_how_old_it_is() {
    let Reading { tasks, stage, browser } = reading((1280, 800)).await;
    stage.lose_the_cluster();
    let said = "document.getElementById('link-text').textContent";
    browser
        .until(&format!("{said}.startsWith('The operator cannot reach the Kubernetes API; what you see is from ')"))
        .await;
    assert_eq!(browser.eval("shown.lines('t-queue').length").await, json!(3), "it stays");
    browser.shot("away-desktop-light").await;
    browser.forgive().await;
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
