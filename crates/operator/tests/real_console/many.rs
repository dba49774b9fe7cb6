//! Thousands of jobs in a browser. They are told to the page as a server of ours would, since making them takes longer than
//! showing them; what a server tells of them is for the tests of the console itself.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path as Asked;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chassis::Tasks;
use serde_json::{Value, json};
use testenv::Stopwatch;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::browser::Browser;

/// Five thousand jobs: what a server lists of them, and how many wait behind.
const QUEUED: usize = 1_000;
const RUNNING: usize = 1_000;
const ENDED: usize = 200;
const BEHIND: usize = 2_600;
const JOBS: usize = QUEUED + RUNNING + ENDED;
const MACHINES: usize = 1_000;
/// As in a crowd of machines: what is longer is taken for broken.
const LONGEST: u64 = 1_000;
const BORN: i64 = 1_767_225_600_000;
const WHY: &str = "waits for a machine: the pool large is at its maximum.";

fn job(number: usize) -> Value {
    let at = BORN + i64::try_from(number).unwrap() * 1_000;
    let state = match number {
        0..QUEUED => "Queued",
        _ if number < QUEUED + RUNNING => "Running",
        _ => "Completed",
    };
    json!({
        "state": state, "what": format!("build {number}"), "repository": "acme/app", "labels": ["linux"], "pool": "large",
        "queuedAt": at, "standing": "Waits", "why": WHY, "says": "runnerpool/large",
        "marks": [{ "mark": "queued", "at": at }, { "mark": "seen", "at": at + 500 }],
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
        (0..count)
            .map(|number| (format!("ci/{name}{number:04}"), row(number)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    json!({
        "place": { "instance": "one", "version": "1", "namespaces": [], "leads": true }, "pools": {}, "clusters": {}, "sources": {},
        "jobs": rows(JOBS, "j", &job), "machines": rows(MACHINES, "vm", &machine),
        "queue": queue(QUEUED + BEHIND),
    })
}

fn event(name: &str, serial: u64, part: &str, content: &Value) -> String {
    format!("event: {name}\ndata: {}\n\n", json!({ "serial": serial, "now": BORN + 10_000_000, part: content }))
}

/// A file of the page, as it is in the source.
async fn file(Asked(name): Asked<String>) -> Response {
    let kind = match name.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "text/html",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/page").join(name);
    match std::fs::read(path) {
        Ok(bytes) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A console that tells one viewer whatever is sent to it; its origin.
async fn console(tasks: &Tasks) -> (String, UnboundedSender<String>) {
    let (say, said) = unbounded_channel();
    let said: Arc<Mutex<Option<UnboundedReceiver<String>>>> = Arc::new(Mutex::new(Some(said)));
    let events = move || {
        let said = said.lock().unwrap().take();
        async move {
            let Some(said) = said else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
            let stream = futures::stream::unfold(said, |mut said| async move {
                said.recv().await.map(|text| (Ok::<_, Infallible>(text), said))
            });
            ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response()
        }
    };
    let pages = Router::new()
        .route("/console/", get(|| file(Asked("index.html".to_owned()))))
        .route("/console/events", get(events))
        .route("/console/{name}", get(file));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let stopping = tasks.stopping();
    tasks.spawn("pages", async move {
        tokio::select! {
            () = stopping => {}
            served = axum::serve(listener, pages) => served.unwrap(),
        }
    });
    (origin, say)
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

/// A machine that takes a tenth of a millisecond for each row that the time is asked for.
const SLOW: &str = "(() => {
    let now = performance.now();
    performance.now = () => (now += 0.1);
})()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_jobs_are_listed_and_one_that_changes_is_drawn_alone() {
    let (watch, tasks) = (Stopwatch::start(), Tasks::new());
    let ((origin, say), browser) = (console(&tasks).await, Browser::start().await);
    let state = event("state", 1, "state", &picture());
    say.send(state.clone()).unwrap();
    browser.open(&origin, (1280, 800), "light").await;
    browser.goto(&operator::console::link(&origin, "anybody")).await;
    browser.click("nav a[href='#/queue']").await;
    browser.until(&format!("shown.lines('t-queue').length === {QUEUED}")).await;
    assert_eq!(browser.text("#count-queue").await, (QUEUED + BEHIND).to_string(), "all are counted");
    assert_eq!(browser.text("#found").await, format!("{BEHIND} more wait behind these"));
    browser.eval(WATCH).await;
    let mut row = job(321);
    row["why"] = json!("is served by no pool.");
    let change = json!({ "jobs": { "ci/j0321": row, "ci/j0000": null }, "queue": queue(QUEUED + BEHIND - 1) });
    say.send(event("change", 2, "change", &change)).unwrap();
    let changed = "document.querySelector(`[data-key='ci/j0321'] .reason`).textContent === 'is served by no pool.'";
    browser.until(changed).await;
    browser.until(&format!("shown.lines('t-queue').length === {}", QUEUED - 1)).await;
    assert_eq!(browser.eval("[...globalThis.touched].sort()").await, json!(["ci/j0000", "ci/j0321"]));
    browser.fill("#filter", "build 321").await;
    browser.until("shown.lines('t-queue').length === 1").await;
    assert_eq!(browser.text("#found").await, format!("1 of {}, {BEHIND} more wait behind these", QUEUED - 1));
    browser.fill("#filter", "").await;
    browser.click("nav a[href='#/vms']").await;
    browser.until(&format!("shown.lines('t-vms').length === {MACHINES}")).await;
    let long: Vec<u64> = serde_json::from_value(browser.eval("globalThis.long").await).unwrap();
    // However slow a machine is, rows that are there already do not keep those behind them from being drawn.
    browser.eval(SLOW).await;
    browser.click("nav a[href='#/timelines']").await;
    browser.until(&format!("shown.lines('t-timelines').length === {}", JOBS - 1)).await;
    let took = watch.elapsed().as_secs_f64();
    println!("lane: {JOBS} jobs ({} KiB) in a browser in {took:.1} s, long tasks (ms): {long:?}", state.len() >> 10);
    assert!(long.iter().all(|task| *task <= LONGEST), "the page did not answer for {long:?} ms");
    browser.is_clean().await;
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
