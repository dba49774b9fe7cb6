//! Thousands of jobs in a browser: making them takes longer than showing them, so that they come from a stage.

use std::time::Duration;

use chassis::Tasks;
use serde_json::{Map, Value, json};
use testenv::Stopwatch;

use crate::browser::Browser;
use crate::stage::{BORN, Stage};

/// Five thousand jobs: what a server lists of them, and how many wait behind.
const QUEUED: usize = 1_000;
const RUNNING: usize = 1_000;
const ENDED: usize = 200;
const BEHIND: usize = 2_600;
const JOBS: usize = QUEUED + RUNNING + ENDED;
const MACHINES: usize = 1_000;
const WHY: &str = "waits for a machine: the pool large is at its maximum.";
/// The way of a job, a second from each mark to the next; one that waits has come to the second.
const WAY: [&str; 9] = ["queued", "seen", "claimMade", "allocated", "started", "called", "attested", "begun", "ended"];

fn job(number: usize) -> Value {
    let at = BORN + i64::try_from(number).unwrap() * 1_000;
    let (state, passed) = match number {
        0..QUEUED => ("Queued", 2),
        _ if number < QUEUED + RUNNING => ("Running", 8),
        _ => ("Completed", 9),
    };
    let marks: Vec<Value> = WAY
        .iter()
        .take(passed)
        .zip(0..)
        .map(|(mark, second)| json!({ "mark": mark, "at": at + second * 1_000 }))
        .collect();
    let claim = (state == "Running").then(|| format!("vm{:04}", number - QUEUED));
    json!({
        "state": state, "what": format!("build {number}"), "repository": "acme/app", "labels": ["linux"], "pool": "large",
        "queuedAt": at, "standing": "Waits", "why": WHY, "says": "runnerpool/large", "claim": claim, "marks": marks,
    })
}

fn machine(number: usize) -> Value {
    json!({ "phase": "Busy", "step": "busy", "pool": "large", "node": "pve1", "vmId": 6_000 + number, "bornAt": BORN, "word": {} })
}

fn queue(queued: usize) -> Value {
    let reason = json!({ "number": queued, "standing": "Waits", "why": WHY });
    json!({ "queued": queued, "blocked": 0, "reasons": [reason] })
}

fn picture() -> Value {
    let rows = |count: usize, name: &str, row: &dyn Fn(usize) -> Value| -> Value {
        (0..count).map(|number| (format!("ci/{name}{number:04}"), row(number))).collect::<Map<_, _>>().into()
    };
    json!({
        "place": { "instance": "one", "version": "1", "namespaces": [], "leads": true }, "pools": {}, "clusters": {}, "sources": {},
        "jobs": rows(JOBS, "j", &job), "machines": rows(MACHINES, "vm", &machine),
        "queue": queue(QUEUED + BEHIND),
    })
}

/// Fifty machines and fifty jobs that run have something to say.
fn bustle(turn: usize) -> Value {
    let some = |first: usize| (0..50).map(move |at| first + (turn * 50 + at) % 1_000);
    let word = json!({ "good": true, "reason": "Busy", "message": format!("the runner runs, {turn}") });
    let machines = some(0).map(|number| {
        let mut row = machine(number);
        row["word"] = word.clone();
        (format!("ci/vm{number:04}"), row)
    });
    let jobs = some(QUEUED).map(|number| {
        let mut row = job(number);
        row["why"] = json!(format!("runs, {turn}"));
        (format!("ci/j{number:04}"), row)
    });
    json!({ "machines": machines.collect::<Map<_, _>>(), "jobs": jobs.collect::<Map<_, _>>() })
}

/// Notes which rows of a table are touched, but for what only grows old.
const WATCH: &str = "(() => {
    globalThis.touched = new Set();
    const note = ({ target, addedNodes, removedNodes }) => {
        const element = target.nodeType === 1 ? target : target.parentElement;
        if (element?.closest('.age')) return;
        for (const row of [element, ...addedNodes, ...removedNodes].map((node) => node.closest?.('tr'))) {
            if (row?.dataset.key) globalThis.touched.add(row.dataset.key);
        }
    };
    const watch = new MutationObserver((changes) => changes.forEach(note));
    watch.observe(document.querySelector('.t-queue tbody'), { childList: true, subtree: true, attributes: true, characterData: true });
})()";

/// Counts how many bars of Timelines are drawn at once, at most and in all.
const GROWTH: &str = "(() => {
    globalThis.growth = { most: 0, all: 0 };
    const watch = new MutationObserver((changes) => {
        const bars = new Set(changes.map(({ target }) => target.closest('.bar')).filter(Boolean)).size;
        growth.most = Math.max(growth.most, bars);
        growth.all += bars;
    });
    watch.observe(document.querySelector('.t-timelines tbody'), { subtree: true, attributes: true });
})()";

/// A machine that takes a tenth of a millisecond for each row that the time is asked for.
const SLOW: &str = "(() => {
    let now = performance.now();
    performance.now = () => (now += 0.1);
})()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_jobs_are_listed_and_one_that_changes_is_drawn_alone() {
    let (watch, tasks) = (Stopwatch::start(), Tasks::new());
    let (stage, browser) = (Stage::new(&tasks).await, Browser::start().await);
    let length = stage.say("state", &picture());
    browser.open(&stage.origin, (1280, 800), "light").await;
    browser.goto(&operator::console::link(&stage.origin, "anybody")).await;
    browser.click("nav a[href='#/queue']").await;
    browser.until(&format!("shown.lines('t-queue').length === {QUEUED}")).await;
    assert_eq!(browser.text("#count-queue").await, (QUEUED + BEHIND).to_string(), "all are counted");
    assert_eq!(browser.text("#found").await, format!("{BEHIND} more wait behind these"));
    browser.eval(WATCH).await;
    let mut row = job(321);
    row["why"] = json!("is served by no pool.");
    let change = json!({ "jobs": { "ci/j0321": row, "ci/j0000": null }, "queue": queue(QUEUED + BEHIND - 1) });
    stage.say("change", &change);
    let changed = "document.querySelector(`[data-key='ci/j0321'] .reason`).textContent === 'is served by no pool.'";
    browser.until(changed).await;
    browser.until(&format!("shown.lines('t-queue').length === {}", QUEUED - 1)).await;
    assert_eq!(browser.eval("[...globalThis.touched].sort()").await, json!(["ci/j0000", "ci/j0321"]));
    browser.fill("#filter", "build 321").await;
    browser.until("shown.lines('t-queue').length === 1").await;
    assert_eq!(browser.text("#found").await, format!("1 of {}, {BEHIND} more wait behind these", QUEUED - 1));
    let took = watch.elapsed().as_secs_f64();
    println!("lane: {JOBS} jobs ({} KiB) in a browser in {took:.1} s", length >> 10);
    browser.toil().await.is_smooth("the first look at thousands");
    browser.is_clean().await;
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Somebody who looks at a thousand machines at work.
async fn looking(tasks: &Tasks) -> (Stage, Browser) {
    let (stage, browser) = (Stage::new(tasks).await, Browser::start().await);
    stage.say("state", &picture());
    browser.open(&stage.origin, (1280, 800), "light").await;
    browser.goto(&operator::console::link(&stage.origin, "anybody")).await;
    browser.until("document.getElementById('link-text').textContent === 'Live'").await;
    (stage, browser)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_view_of_a_thousand_machines_at_work_stays_quick_while_they_grow_old() {
    let tasks = Tasks::new();
    let (stage, browser) = looking(&tasks).await;
    for (view, rows) in [("overview", 0), ("queue", QUEUED), ("vms", MACHINES), ("timelines", JOBS), ("clusters", 0)] {
        browser.click(&format!("nav a[href='#/{view}']")).await;
        browser.until(&format!("shown.lines('t-{view}').length === {rows}")).await;
        for turn in 0..10 {
            stage.say("change", &bustle(turn));
            browser.eval("scrollBy(0, 900)").await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        browser.toil().await.is_smooth(view);
    }
    // However slow a machine is, a frame draws some rows and leaves the others to the next.
    browser.eval(SLOW).await;
    browser.click("nav a[href='#/timelines']").await;
    browser.eval(GROWTH).await;
    browser.until(&format!("growth.all >= {RUNNING}")).await;
    let most = browser.eval("growth.most").await.as_u64().unwrap();
    assert!((1..=200).contains(&most), "{most} bars at once");
    browser.is_clean().await;
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_there_already_keep_no_others_from_being_drawn() {
    let tasks = Tasks::new();
    let (_stage, browser) = looking(&tasks).await;
    browser.eval(SLOW).await;
    browser.click("nav a[href='#/timelines']").await;
    browser.until(&format!("shown.lines('t-timelines').length === {JOBS}")).await;
    browser.is_clean().await;
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
