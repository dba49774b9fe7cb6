//! The metrics endpoint on a real API server: real tokens, real rights, and a server that goes away.

#![allow(missing_docs, unreachable_pub, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chassis::Tasks;
use chassis::metrics::Metrics;
use chassis::serve::Bind;
use chassis::settings::MetricsEndpoint;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use runtime::admin::{Annex, serve_metrics};
use runtime::rbac::{ACCESS_REVIEW, Rule, TOKEN_REVIEW};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use testenv::{ControlPlane, Grant, Options, ServiceAccountRef};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Looks at the server's certificate without judging it, as scrapers of self-signed endpoints do.
#[derive(Debug)]
struct Lenient(Arc<CryptoProvider>);

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What one scrape over a fresh connection got.
struct Answer {
    status: u16,
    text: String,
    certificate: Vec<u8>,
}

async fn scrape(address: SocketAddr, token: Option<&str>) -> Answer {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(Lenient(provider))).with_no_client_auth();
    let tcp = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(ServerName::try_from("localhost").unwrap(), tcp).await.unwrap();
    let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, text, certificate }
}

/// Exactly what the constants grant.
fn role(rules: &[Rule]) -> ClusterRole {
    let strings = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rules = rules.iter().map(|rule| PolicyRule {
        api_groups: Some(strings(rule.groups)),
        resources: Some(strings(rule.resources)),
        verbs: strings(rule.verbs),
        ..PolicyRule::default()
    });
    ClusterRole { rules: Some(rules.collect()), ..ClusterRole::default() }
}

fn reader() -> ClusterRole {
    let rule = PolicyRule {
        non_resource_urls: Some(vec!["/metrics".into()]),
        verbs: vec!["get".into()],
        ..PolicyRule::default()
    };
    ClusterRole { rules: Some(vec![rule]), ..ClusterRole::default() }
}

struct World {
    address: SocketAddr,
    allowed: ServiceAccountRef,
    stranger: ServiceAccountRef,
    late: ServiceAccountRef,
    tasks: Tasks,
}

async fn serve(plane: &ControlPlane, certificates: Option<&Path>) -> World {
    let namespace = plane.namespace("admin").await;
    let own = plane.service_account(&namespace, "operator", &[Grant::from(role(&[TOKEN_REVIEW, ACCESS_REVIEW]))]).await;
    let allowed = plane.service_account(&namespace, "prometheus", &[Grant::from(reader())]).await;
    let stranger = plane.service_account(&namespace, "stranger", &[]).await;
    let late = plane.service_account(&namespace, "late", &[Grant::from(reader())]).await;
    let tasks = Tasks::new();
    let endpoint = MetricsEndpoint {
        bind: "127.0.0.1:0".parse::<Bind>().unwrap(),
        secure: true,
        certificate: certificates.map(|at| (at.join("tls.crt"), at.join("tls.key"))),
    };
    let annex = Annex::new(plane.client_for(&own));
    let address = serve_metrics(&endpoint, Metrics::new("1.2.3"), &annex, &tasks).await.unwrap().unwrap();
    World { address, allowed, stranger, late, tasks }
}

#[tokio::test]
async fn metrics_need_a_token_and_the_right_to_get_them() {
    let world = serve(testenv::shared().await, None).await;
    let anonymous = scrape(world.address, None).await;
    assert_eq!(anonymous.status, 401);
    assert!(anonymous.text.to_ascii_lowercase().contains("www-authenticate: bearer\r\n"), "{}", anonymous.text);
    assert_eq!(scrape(world.address, Some("made.up.token")).await.status, 401);
    assert_eq!(scrape(world.address, Some(world.stranger.token())).await.status, 403);
    let answer = scrape(world.address, Some(world.allowed.token())).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    assert!(answer.text.contains("hyperfleet_build_info{version=\"1.2.3\"} 1\n"), "{}", answer.text);
    for refused in [&anonymous, &scrape(world.address, Some(world.stranger.token())).await] {
        assert!(!refused.text.contains("hyperfleet_"), "no figure leaks: {}", refused.text);
    }
    world.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_rotated_certificate_is_served_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let rotate = || {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(directory.path().join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(directory.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().to_vec()
    };
    let first = rotate();
    let world = serve(testenv::shared().await, Some(directory.path())).await;
    let token = Some(world.allowed.token());
    assert_eq!(scrape(world.address, token).await.certificate, first);
    let second = rotate();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let answer = scrape(world.address, token).await;
    assert_eq!((answer.status, answer.certificate), (200, second.clone()));
    std::fs::write(directory.path().join("tls.key"), "half of a rotation").unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let answer = scrape(world.address, token).await;
    assert_eq!((answer.status, answer.certificate), (200, second));
    world.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_dead_api_server_leaves_the_door_open_for_the_known_and_closed_for_everybody_else() {
    let plane = ControlPlane::start(Options::default()).await;
    let world = serve(&plane, None).await;
    assert_eq!(scrape(world.address, Some(world.allowed.token())).await.status, 200);
    plane.stop_apiserver();
    assert_eq!(scrape(world.address, Some(world.allowed.token())).await.status, 200, "remembered");
    assert_eq!(scrape(world.address, Some(world.late.token())).await.status, 503);
    assert_eq!(scrape(world.address, Some("made.up.token")).await.status, 503);
    assert_eq!(scrape(world.address, None).await.status, 401);
    plane.start_apiserver().await;
    assert_eq!(scrape(world.address, Some(world.late.token())).await.status, 200);
    world.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
