//! Traces at real OTLP receivers built from the official protos, and at receivers that misbehave.

#![allow(missing_docs, unreachable_pub, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use chassis::metrics::Metrics;
use chassis::serve::{Certificate, Listener};
use chassis::telemetry::{self, Format, Level, Options, Telemetry};
use chassis::{Clock, Tasks};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use reconcile::{Class, Fault};
use serde_json::Value;
use testenv::Stopwatch;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const LOCAL: &str = "127.0.0.1:0";

/// What arrived: spans, and the attributes of the resource they came with.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<Arrival>>>);

/// The attributes of a resource, and a span of it.
type Arrival = (BTreeMap<String, String>, Span);

impl Received {
    fn take(&self, request: ExportTraceServiceRequest) {
        for group in request.resource_spans {
            let resource = attributes(&group.resource.unwrap_or_default().attributes);
            let spans = group.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.0.lock().unwrap().extend(spans.map(|span| (resource.clone(), span)));
        }
    }

    fn span(&self, name: &str) -> (BTreeMap<String, String>, Span) {
        let received = self.0.lock().unwrap();
        received.iter().find(|(_, span)| span.name == name).unwrap_or_else(|| panic!("no span {name}")).clone()
    }
}

fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |pair: &KeyValue| {
        let value = pair.value.as_ref()?.value.as_ref()?;
        Some(if let AnyValue::StringValue(text) = value { text.clone() } else { format!("{value:?}") })
    };
    pairs.iter().filter_map(|pair| Some((pair.key.clone(), text(pair)?))).collect()
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        let token = request.metadata().get("x-token").map(|token| token.to_str().unwrap().to_owned());
        if token.as_deref() != Some("a b") {
            return Err(tonic::Status::permission_denied("who are you?"));
        }
        self.take(request.into_inner());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A collector that speaks gRPC, with TLS if it has a configuration for it.
async fn grpc(received: &Received, tls: Option<Arc<rustls::ServerConfig>>, tasks: &Tasks) -> String {
    let listener = TcpListener::bind(LOCAL).await.unwrap();
    let address = format!(
        "{}://localhost:{}",
        if tls.is_some() { "https" } else { "http" },
        listener.local_addr().unwrap().port()
    );
    let (received, connections, stopping) = (received.clone(), tasks.clone(), tasks.stopping());
    let accept = async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (service, tls) = (TraceServiceServer::new(received.clone()), tls.clone());
            let stopping = connections.stopping();
            connections.spawn("collector connection", async move {
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let service = TowerToHyperService::new(service);
                let conversation = async {
                    let _ended = match tls {
                        None => builder.serve_connection(TokioIo::new(stream), service).await,
                        Some(config) => {
                            let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
                            builder.serve_connection(TokioIo::new(stream), service).await
                        }
                    };
                };
                tokio::select! { () = stopping => {}, () = conversation => {} }
            });
        }
    };
    tasks.spawn("collector", async move {
        tokio::select! { () = stopping => {}, () = accept => {} }
    });
    address
}

/// A collector that speaks http/protobuf.
async fn http(received: &Received, certificate: Option<Certificate>, tasks: &Tasks) -> String {
    let received = received.clone();
    let router = Router::new().route(
        "/v1/traces",
        post(|headers: HeaderMap, body: Bytes| async move {
            if headers["x-token"] != "a b" || headers["content-type"] != "application/x-protobuf" {
                return StatusCode::FORBIDDEN;
            }
            received.take(ExportTraceServiceRequest::decode(body).unwrap());
            StatusCode::OK
        }),
    );
    let listener = Listener::bind(LOCAL.parse().unwrap()).await.unwrap().unwrap();
    let port = listener.address().port();
    let (scheme, listener) = match certificate {
        Some(certificate) => ("https", listener.with_tls(certificate)),
        None => ("http", listener),
    };
    listener.serve("collector", router, tasks);
    format!("{scheme}://localhost:{port}")
}

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Capture {
    fn records(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

struct World {
    telemetry: Telemetry,
    metrics: Metrics,
    log: Capture,
    _installed: tracing::subscriber::DefaultGuard,
}

/// Telemetry as the variables say, for this test's thread alone.
fn start(vars: &[(&str, &str)]) -> World {
    let (log, metrics) = (Capture::default(), Metrics::new("0"));
    let env = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let options = Options {
        service: "hyperfleet-operator",
        version: "1.2.3",
        level: Level::INFO,
        format: Some(Format::Json),
        env: &env,
        metrics: &metrics,
        clock: Clock::system(),
    };
    let writer = log.clone();
    let (subscriber, telemetry) = telemetry::build(&options, move || writer.clone());
    World { telemetry, metrics, log, _installed: tracing::subscriber::set_default(subscriber) }
}

/// A reconcile with one call that fails.
fn reconcile() {
    let pass = tracing::info_span!(target: "runtime", "reconcile", controller = "runnerpool", namespace = "ci", name = "linux");
    let _in_pass = pass.enter();
    tracing::info_span!(target: "runtime", "patch status", otel.kind = "client").in_scope(|| {
        telemetry::report(&Fault::new(Class::Unavailable, "patch status", "no answer"));
    });
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// The trace of [`reconcile`] arrived as it happened, and the log speaks of the same one.
fn verify(world: &World, received: &Received, service: &str) {
    let (resource, root) = received.span("reconcile");
    let (_, call) = received.span("patch status");
    assert_eq!(resource["service.name"], service);
    assert_eq!(resource["service.version"], "1.2.3");
    assert_eq!(resource["k8s.cluster.name"], "my cluster");
    assert!(root.parent_span_id.is_empty(), "one root span");
    assert_eq!(call.parent_span_id, root.span_id);
    assert_eq!(call.trace_id, root.trace_id);
    let about = attributes(&root.attributes);
    assert_eq!(
        (about["controller"].as_str(), about["namespace"].as_str(), about["name"].as_str()),
        ("runnerpool", "ci", "linux")
    );
    assert_eq!(call.status.unwrap().code, 2, "the ERROR record marks the span");
    let record = world.log.records().into_iter().find(|record| record["level"] == "ERROR").unwrap();
    assert_eq!(record["trace_id"], hex(&root.trace_id));
    assert_eq!(record["span_id"], hex(&call.span_id));
    assert_eq!(record["controller"], "runnerpool");
    let page = world.metrics.render();
    assert!(page.contains("hyperfleet_trace_spans_exported_total 2\n"), "{page}");
}

const HEADERS: (&str, &str) = ("OTEL_EXPORTER_OTLP_HEADERS", "x-token=a%20b");
const RESOURCE: (&str, &str) = ("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=my%20cluster");
const GRPC: (&str, &str) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");

#[tokio::test]
async fn r10_5_traces_arrive_over_grpc() {
    let (received, tasks) = (Received::default(), Tasks::new());
    let endpoint = grpc(&received, None, &tasks).await;
    let world = start(&[GRPC, HEADERS, RESOURCE, ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    reconcile();
    world.telemetry.shutdown().await;
    verify(&world, &received, "hyperfleet-operator");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn r10_5_traces_arrive_over_http_protobuf() {
    let (received, tasks) = (Received::default(), Tasks::new());
    let endpoint = http(&received, None, &tasks).await;
    let world = start(&[HEADERS, RESOURCE, ("OTEL_SERVICE_NAME", "other"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    reconcile();
    world.telemetry.shutdown().await;
    verify(&world, &received, "other");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A certificate for localhost in files.
fn certificate(directory: &tempfile::TempDir) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let paths = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    std::fs::write(&paths.0, made.cert.pem()).unwrap();
    std::fs::write(&paths.1, made.signing_key.serialize_pem()).unwrap();
    paths
}

fn server_config(chain: &PathBuf, key: &PathBuf) -> Arc<rustls::ServerConfig> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = CertificateDer::pem_file_iter(chain).unwrap().collect::<Result<_, _>>().unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config =
        config.with_no_client_auth().with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

#[tokio::test]
async fn r10_5_traces_arrive_over_tls_by_both_protocols_and_only_at_a_trusted_collector() {
    let (directory, tasks) = (tempfile::tempdir().unwrap(), Tasks::new());
    let (chain, key) = certificate(&directory);
    let trust = ("OTEL_EXPORTER_OTLP_CERTIFICATE", chain.to_str().unwrap());
    let overs_grpc = Received::default();
    let endpoint = grpc(&overs_grpc, Some(server_config(&chain, &key)), &tasks).await;
    let world = start(&[GRPC, HEADERS, RESOURCE, trust, ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    reconcile();
    world.telemetry.shutdown().await;
    verify(&world, &overs_grpc, "hyperfleet-operator");
    drop(world);

    let over_http = Received::default();
    let endpoint = http(&over_http, Some(Certificate::from_files(&chain, &key).await.unwrap()), &tasks).await;
    let world = start(&[HEADERS, RESOURCE, trust, ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    reconcile();
    world.telemetry.shutdown().await;
    verify(&world, &over_http, "hyperfleet-operator");
    drop(world);

    let before = over_http.0.lock().unwrap().len();
    let foreign = tempfile::tempdir().unwrap();
    let (foreign, _) = certificate(&foreign);
    let distrust = ("OTEL_EXPORTER_OTLP_CERTIFICATE", foreign.to_str().unwrap());
    let world = start(&[HEADERS, RESOURCE, distrust, ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    reconcile();
    world.telemetry.shutdown().await;
    assert_eq!(over_http.0.lock().unwrap().len(), before, "nothing is sent to a collector that cannot prove itself");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Many reconciles against this collector take no longer than without one, and the end is bounded.
async fn unharmed(vars: &[(&str, &str)]) -> World {
    let world = start(vars);
    let watch = Stopwatch::start();
    for _ in 0..2_000 {
        reconcile();
        tokio::task::yield_now().await;
    }
    let busy = watch.elapsed();
    assert!(busy < Duration::from_secs(5), "2,000 reconciles took {busy:?}");
    let watch = Stopwatch::start();
    world.telemetry.shutdown().await;
    let ending = watch.elapsed();
    assert!(ending < Duration::from_secs(3), "shutdown took {ending:?}");
    let errors = world.log.records().iter().filter(|record| record["level"] == "ERROR").count();
    assert_eq!(errors, 2_000, "every record was written");
    let page = world.metrics.render();
    let lost: u64 = ["queue_full", "export_failed"]
        .iter()
        .filter_map(|reason| {
            let series = format!("hyperfleet_trace_spans_dropped_total{{reason=\"{reason}\"}} ");
            page.lines().find_map(|line| line.strip_prefix(&series)).map(|count| count.parse::<u64>().unwrap())
        })
        .sum();
    assert_eq!(lost, 4_000, "every lost span is counted");
    world
}

#[tokio::test]
async fn p34_a_dead_collector_changes_nothing() {
    let dead = TcpListener::bind(LOCAL).await.unwrap();
    let endpoint = format!("http://{}", dead.local_addr().unwrap());
    drop(dead);
    for protocol in ["grpc", "http/protobuf"] {
        let vars = [("OTEL_EXPORTER_OTLP_PROTOCOL", protocol), ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
        let world = unharmed(&vars).await;
        let warnings = world.log.records().iter().filter(|record| record["level"] == "WARN").count();
        assert!(warnings <= 1, "{warnings} lines about one dead collector over {protocol}");
    }
}

#[tokio::test]
async fn p34_a_collector_that_accepts_and_never_answers_changes_nothing() {
    let silent = TcpListener::bind(LOCAL).await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let tasks = Tasks::new();
    let stopping = tasks.stopping();
    tasks.spawn("silent collector", async move {
        let mut held = Vec::new();
        let accept = async {
            loop {
                held.push(silent.accept().await.unwrap());
            }
        };
        tokio::select! { () = stopping => {}, () = accept => {} }
    });
    for protocol in ["grpc", "http/protobuf"] {
        unharmed(&[("OTEL_EXPORTER_OTLP_PROTOCOL", protocol), ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]).await;
    }
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn p34_a_collector_that_refuses_changes_nothing() {
    let (received, tasks) = (Received::default(), Tasks::new());
    // Without the token that the collectors demand.
    let endpoint = grpc(&received, None, &tasks).await;
    unharmed(&[GRPC, ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]).await;
    let endpoint = http(&received, None, &tasks).await;
    let vars = [("OTEL_EXPORTER_OTLP_HEADERS", "x-token=wrong"), ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    unharmed(&vars).await;
    assert!(received.0.lock().unwrap().is_empty());
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
