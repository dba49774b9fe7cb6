//! Frames as a terminal shows them.

#![allow(clippy::needless_pass_by_value, reason = "objects are written down where they are used")]

use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::super::Scope;
use super::super::look::Then;
use super::super::view::Objects;
use super::*;

const NOW: i64 = 1_000_000;

fn ago(seconds: i64) -> String {
    Timestamp::from_second(NOW - seconds).unwrap().to_string()
}

fn object<T: serde::de::DeserializeOwned>(kind: &str, name: &str, age: i64, spec: Value, status: Value) -> Arc<T> {
    let metadata = json!({ "name": name, "namespace": "ci", "creationTimestamp": ago(age) });
    let api = api::registry::API_VERSION;
    let object = json!({ "apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec, "status": status });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn said(about: &str, reason: &str) -> Value {
    json!([{ "type": about, "status": "False", "reason": reason, "message": "", "lastTransitionTime": ago(5) }])
}

fn pool(name: &str, busy: u32, queued: u32, reason: &str) -> Arc<api::RunnerPool> {
    let spec = json!({
        "sourceRef": { "name": "github" }, "templateRef": { "name": "ubuntu" }, "labels": ["linux"],
        "scaling": { "minReplicas": 1, "maxReplicas": 10 }, "lifecycle": {},
    });
    let status = json!({
        "replicas": busy, "readyReplicas": 1, "busyReplicas": busy, "desiredReplicas": busy + queued,
        "pendingJobs": queued, "conditions": said("Scaling", reason),
    });
    object("RunnerPool", name, 86_400, spec, status)
}

fn job(name: &str, waits: i64, what: &str, state: &str, reason: &str) -> Arc<api::RunnerJob> {
    let spec = json!({
        "sourceRef": { "name": "github" }, "key": name, "queuedAt": ago(waits), "repository": "acme/app", "displayName": what,
    });
    let status = json!({ "state": state, "poolRef": { "name": "small" }, "conditions": said("Assigned", reason) });
    object("RunnerJob", name, waits, spec, status)
}

fn claim(name: &str, age: i64, phase: &str, vm: Option<u32>) -> Arc<api::MachineClaim> {
    let spec = json!({
        "templateRef": { "name": "ubuntu" }, "poolRef": { "name": "small" },
        "workload": { "runner": { "sourceRef": { "name": "github" }, "labels": ["linux"] } },
    });
    let allocation = vm.map(|vm| {
        json!({
            "id": "0b9c5a7e-2a57-4e0c-9a39-0c1d7f0f6a11", "clusterRef": { "name": "pve" }, "vmId": vm, "node": "pve1",
            "templateGeneration": 1, "allocatedAt": ago(age),
        })
    });
    let mut status = json!({ "phase": phase });
    if let Some(allocation) = allocation {
        status["allocation"] = allocation;
    }
    object("MachineClaim", name, age, spec, status)
}

fn objects() -> Objects {
    Objects {
        pools: vec![
            pool("a-pool-whose-name-is-far-too-long-for-a-narrow-terminal", 0, 0, "ScaledToMinimum"),
            pool("small", 3, 2, "AtMaximum"),
        ],
        jobs: vec![
            job("job-3f9a2c", 30, "build", "Queued", "MachineStarting"),
            job("job-77b1d0", 7_300, "test \u{1b}[31m(gpu)", "Queued", "NoMatchingPool"),
            job("job-000000", 90, "lint", "Running", "RunnerAssigned"),
        ],
        claims: vec![
            claim("job-000000-1", 95, "Busy", Some(6001)),
            claim("small-0", 100_000, "Ready", Some(6000)),
            claim("job-3f9a2c-1", 20, "Pending", None),
        ],
    }
}

fn view(objects: &Objects) -> View {
    View::of(objects, &Scope(Some("ci".to_owned())), None, Timestamp::from_second(NOW).unwrap())
}

fn frame(view: &View, look: &Look, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(view, look, Paint::Colour, frame.area(), frame.buffer_mut())).unwrap();
    let shown = terminal.backend().to_string();
    shown.lines().map(|line| line.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn everything_is_seen_in_eighty_columns_and_twenty_four_lines() {
    insta::assert_snapshot!(frame(&view(&objects()), &Look::default(), 80, 24), @r"
    HyperFleet, namespace ci, 1970-01-12 13:46:40 UTC
    Pools 2
    POOL                     MIN  MAX WANTED READY  BUSY QUEUED REASON
    a-pool-whose-name-is-f…    1   10      0     1     0      0 ScaledToMinimum
    small                      1   10      5     1     3      2 AtMaximum

    Queue 2
    JOB                        WHAT                           AGE REASON
    job-77b1d0                 acme/app test  [31m(gpu)      2h1m NoMatchingPool
    job-3f9a2c                 acme/app build                 30s MachineStarting

    VMs 3
    CLAIM              PHASE              VMID NODE               AGE POOL
    small-0            Ready              6000 pve1              1d3h small
    job-000000-1       Busy               6001 pve1             1m35s small
    job-3f9a2c-1       Pending                                    20s small







    Tab: next pane  Up/Down: move  q: leave
    ");
}

#[test]
fn a_small_terminal_shows_the_pane_that_somebody_looks_at() {
    insta::assert_snapshot!(frame(&view(&objects()), &Look { pane: 1, ..Look::default() }, 40, 12), @r"
    HyperFleet, namespace ci, 1970-01-12 13…
    Queue 2
    JOB               AGE REASON
    job-77b1d0       2h1m NoMatchingPool
    job-3f9a2c        30s MachineStarting






    Tab: next pane  Up/Down: move  q: leave
    ");
}

#[test]
fn one_plain_frame_has_every_row() {
    insta::assert_snapshot!(plain(&view(&objects())), @r"
    HyperFleet, namespace ci, 1970-01-12 13:46:40 UTC

    Pools 2
    POOL                                                             MIN  MAX WANTED READY  BUSY QUEUED REASON
    a-pool-whose-name-is-far-too-long-for-a-narrow-terminal            1   10      0     1     0      0 ScaledToMinimum
    small                                                              1   10      5     1     3      2 AtMaximum

    Queue 2
    JOB                                                 WHAT                           AGE POOL           REASON
    job-77b1d0                                          acme/app test  [31m(gpu)      2h1m small          NoMatchingPool
    job-3f9a2c                                          acme/app build                 30s small          MachineStarting

    VMs 3
    CLAIM                                                      PHASE              VMID NODE               AGE POOL
    small-0                                                    Ready              6000 pve1              1d3h small
    job-000000-1                                               Busy               6001 pve1             1m35s small
    job-3f9a2c-1                                               Pending                                    20s small
    ");
}

#[test]
fn what_does_not_fit_is_counted_and_can_be_reached() {
    let claims =
        (0..40).map(|number| claim(&format!("small-{number:02}"), 100 - number, "Ready", Some(6_000))).collect();
    let view = view(&Objects { claims, ..objects() });
    let mut look = Look { pane: 2, ..Look::default() };
    let shown = frame(&view, &look, 80, 24);
    assert!(shown.contains("VMs 40 (30 more below)") && shown.contains("small-00"), "{shown}");
    assert_eq!(look.press(KeyEvent::new(KeyCode::End, KeyModifiers::NONE), &view), Then::Stay);
    let shown = frame(&view, &look, 80, 24);
    assert!(shown.contains("small-39") && !shown.contains("more below"), "{shown}");
}

#[test]
fn keys_go_from_pane_to_pane_and_out() {
    let (view, mut look) = (view(&objects()), Look::default());
    let mut press = |code, modifiers| (look.press(KeyEvent::new(code, modifiers), &view), look.pane);
    assert_eq!(press(KeyCode::Tab, KeyModifiers::NONE), (Then::Stay, 1));
    assert_eq!(press(KeyCode::Right, KeyModifiers::NONE), (Then::Stay, 2));
    assert_eq!(press(KeyCode::Tab, KeyModifiers::NONE), (Then::Stay, 0));
    assert_eq!(press(KeyCode::Left, KeyModifiers::NONE), (Then::Stay, 2));
    assert_eq!(press(KeyCode::Char('c'), KeyModifiers::NONE).0, Then::Stay);
    assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL).0, Then::Leave);
    assert_eq!(press(KeyCode::Char('q'), KeyModifiers::NONE).0, Then::Leave);
    assert_eq!(press(KeyCode::Esc, KeyModifiers::NONE).0, Then::Leave);
}

#[test]
fn trouble_is_told_where_the_keys_were() {
    let mut view = view(&objects());
    view.trouble = Some("cache/runnerjobs no answer".to_owned());
    let shown = frame(&view, &Look::default(), 80, 24);
    assert!(shown.ends_with("cache/runnerjobs no answer"), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No terminal is too small, and none too large.
    #[test]
    fn every_size_can_be_drawn(width in 0_u16..200, height in 0_u16..60, pane in 0_usize..3, first in 0_usize..50) {
        let view = view(&objects());
        let look = Look { pane, first: [first; 3] };
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        draw(&view, &look, Paint::Plain, area, &mut buffer);
    }
}
