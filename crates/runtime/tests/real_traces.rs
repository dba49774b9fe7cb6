//! Traces of a whole operator on a real API server, held against the server's own audit log.

#![allow(missing_docs, unreachable_pub, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "lamps/collector.rs"]
mod collector;
#[path = "../examples/lamps/lamp.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod lamp;
#[path = "lamps/room.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod room;
#[path = "lamps/worker.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chassis::Tasks;
use collector::{Collector, hex};
use opentelemetry_proto::tonic::trace::v1::Span;
use room::Room;
use serde_json::{Value, json};
use testenv::{Signal, Stopwatch};
use worker::Worker;

const SOON: Duration = Duration::from_secs(40);

/// One root span per reconcile, a child for each call to the API server, and the same id in the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p33_r10_6_r10_8_r10_10_each_reconcile_is_one_trace_with_a_child_per_call_and_its_id_in_the_log() {
    let room = Room::open(testenv::shared().await).await;
    let tasks = Tasks::new();
    let (collector, address) = Collector::start(&tasks).await;
    let mark = room.plane.audit_mark().await;
    let worker = Worker::start(&room, "worker", &[], &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    for name in ["a", "b", "c"] {
        room.add(name, "red", 2).await;
        room.reads(name, "Lit", "True", "AllBulbsShine").await;
    }
    room.patch("a", json!({ "spec": { "fault": "refused" } })).await;
    room.reads("a", "Stalled", "True", "Refused").await;
    worker.program.signal(Signal::Terminate);
    assert!(worker.program.wait(SOON).await.success(), "{}", worker.program.output());
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();

    let mut traces: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for span in collector.spans() {
        traces.entry(hex(&span.trace_id)).or_default().push(span);
    }
    let is_root = |span: &&Span| span.parent_span_id.is_empty();
    traces.retain(|_, spans| spans.iter().any(|span| span.name == "reconcile lamps"));
    assert!(traces.len() >= 4, "{} reconciles", traces.len());
    let mut writes = 0;
    for (id, spans) in &traces {
        assert_eq!(spans.iter().filter(is_root).count(), 1, "trace {id} has one root: {:?}", names(spans));
        let known: BTreeSet<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
        for span in spans.iter().filter(|span| !is_root(span)) {
            assert!(known.contains(span.parent_span_id.as_slice()), "{} hangs below the root", span.name);
        }
        writes += spans.iter().filter(|span| !is_root(span)).count();
    }
    let audited = room.plane.audit_since(mark).await.user(&room.account.username()).writes();
    let audited = audited.filter(|line| line.resource != "leases");
    assert_eq!(writes, audited.len(), "as many child spans as the server saw writes");
    logs_carry_the_ids(&worker, &traces);
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

/// Every record of a reconcile names its trace, and the fault is one ERROR and one DEBUG record of the same trace.
fn logs_carry_the_ids(worker: &Worker, traces: &BTreeMap<String, Vec<Span>>) {
    let lines = worker.program.lines();
    let records: Vec<Value> = lines.iter().map(|line| serde_json::from_str(&line.text).unwrap()).collect();
    let of_reconciles: Vec<&Value> = records.iter().filter(|record| record["name"].is_string()).collect();
    assert!(of_reconciles.len() >= 10);
    for record in &of_reconciles {
        let id = record["trace_id"].as_str().unwrap_or_else(|| panic!("no trace in {record}"));
        assert!(traces.contains_key(id), "the collector knows {id} of {record}");
    }
    let errors: Vec<&&Value> = of_reconciles.iter().filter(|record| record["level"] == "ERROR").collect();
    let [error] = errors.as_slice() else { panic!("one fault, one ERROR record: {errors:?}") };
    assert!(error["message"].as_str().unwrap().contains("no such socket") && error.get("backtrace").is_none());
    let chains = of_reconciles.iter().filter(|record| record["level"] == "DEBUG" && record["chain"].is_string());
    let chains: Vec<_> = chains.map(|record| (record["chain"].as_str().unwrap(), &record["trace_id"])).collect();
    assert_eq!(chains, [("a cause", &error["trace_id"])]);
}

/// A collector that is not there, and one that takes the connection and never answers, change nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p34_r10_7_a_dead_or_silent_collector_changes_nothing_for_the_operator() {
    let room = Room::open(testenv::shared().await).await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let addresses = [silent.local_addr().unwrap(), closed];
    for (number, address) in addresses.into_iter().enumerate() {
        for protocol in ["grpc", "http/protobuf"] {
            let endpoint = format!("http://{address}");
            let environment =
                [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
            let worker = Worker::start(&room, "worker", &[], &environment);
            let name = format!("lamp-{number}-{}", protocol.len());
            room.add(&name, "red", 1).await;
            room.reads(&name, "Lit", "True", "AllBulbsShine").await;
            let watch = Stopwatch::start();
            worker.program.signal(Signal::Terminate);
            assert!(worker.program.wait(SOON).await.success(), "{}", worker.program.output());
            assert!(watch.elapsed() < Duration::from_secs(10), "ending took {:?}", watch.elapsed());
        }
    }
    drop(silent);
}
