//! Servers against impatient and greedy clients, and certificates that change.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::listener::{FAREWELL, LIFE, PATIENCE, converse};
use super::*;

const LOCAL: Bind = Bind::At(SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0));

fn page() -> Router {
    Router::new().route("/", get(|| async { "x".repeat(1_000_000) }))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_its_headers_loses_its_place() {
    let (mut client, server) = tokio::io::duplex(1_024);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ").await.unwrap();
    let start = Instant::now();
    converse(server, page(), std::future::pending()).await;
    assert_eq!(start.elapsed().as_secs(), PATIENCE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_a_connection_without_asking_loses_its_place() {
    let (_client, server) = tokio::io::duplex(1_024);
    let start = Instant::now();
    converse(server, page(), std::future::pending()).await;
    assert_eq!(start.elapsed().as_secs(), PATIENCE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_the_answer_loses_its_place() {
    let (mut client, server) = tokio::io::duplex(1_024);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let start = Instant::now();
    converse(server, page(), std::future::pending()).await;
    assert_eq!(start.elapsed(), LIFE + FAREWELL);
}

/// One request over a fresh connection; the whole answer.
async fn fetch(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("GET {request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn health_is_plain_and_names_every_gate() {
    let (health, tasks) = (Health::new(), Tasks::new());
    let gate = health.gate("runnerpools");
    gate.wait("CRD runnerpools.hypervisor.hyperfleet.io: not found");
    let address = super::health(LOCAL, health.clone(), &tasks).await.unwrap().unwrap();
    let answer = fetch(address, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let line = "[-]runnerpools waiting for CRD runnerpools.hypervisor.hyperfleet.io: not found\n";
    assert!(answer.contains(line), "{answer}");
    assert!(fetch(address, "/healthz").await.starts_with("HTTP/1.1 200 "));
    gate.open();
    let answer = fetch(address, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("[+]runnerpools ok\n"), "{answer}");
    let _stuck = health.pulse("driver", Duration::ZERO);
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(fetch(address, "/healthz").await.starts_with("HTTP/1.1 503 "));
    assert!(fetch(address, "/metrics").await.starts_with("HTTP/1.1 404 "));
    assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Ok(()));
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens after shutdown");
}

/// Writes a fresh pair, or the given halves of one.
fn write_pair(directory: &TempDir, chain: Option<&str>, key: Option<&str>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, key) =
        (chain.map_or(made.cert.pem(), str::to_owned), key.map_or(made.signing_key.serialize_pem(), str::to_owned));
    std::fs::write(directory.path().join("tls.crt"), chain).unwrap();
    std::fs::write(directory.path().join("tls.key"), key).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_changed_certificate_is_served_and_a_bad_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (chain, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    let missing = Certificate::from_files(&chain, &key).await.err().unwrap();
    assert!(missing.to_string().starts_with("cannot read "), "{missing}");
    write_pair(&directory, None, None);
    let certificate = Certificate::from_files(&chain, &key).await.unwrap();
    let later = || tokio::time::advance(Duration::from_secs(2));
    let first = certificate.config().await;
    later().await;
    assert!(Arc::ptr_eq(&first, &certificate.config().await), "unchanged files change nothing");
    write_pair(&directory, None, None);
    later().await;
    let second = certificate.config().await;
    assert!(!Arc::ptr_eq(&first, &second));
    let stranger = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    for (chain, key) in
        [(Some("garbage"), None), (None, Some("garbage")), (None, Some(stranger.signing_key.serialize_pem().as_str()))]
    {
        write_pair(&directory, chain, key);
        later().await;
        assert!(Arc::ptr_eq(&second, &certificate.config().await), "{chain:?} {key:?}");
    }
    std::fs::remove_file(&chain).unwrap();
    later().await;
    assert!(Arc::ptr_eq(&second, &certificate.config().await), "a missing file keeps the old pair");
    write_pair(&directory, None, None);
    later().await;
    assert!(!Arc::ptr_eq(&second, &certificate.config().await));
}
