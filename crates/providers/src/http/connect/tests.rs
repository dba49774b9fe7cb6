//! Certificates, addresses and broken lines, on loopback sockets.

use std::net::Ipv4Addr;

use http::{HeaderMap, Method};
use rstest::rstest;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::http::{Call, Client, Fingerprint, PROBE_TIMEOUT};

/// A certificate authority and a certificate of its for `name`.
struct Issued {
    authority: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn issue(name: &str) -> Issued {
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let signing = rcgen::KeyPair::generate().unwrap();
    let authority = parameters.self_signed(&signing).unwrap().pem();
    let issuer = rcgen::Issuer::new(parameters, signing);
    let own = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&own, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(own.serialize_der()).unwrap();
    Issued { authority, certificate: certificate.der().clone(), key }
}

/// Serves one kind of answer over TLS, as raw text, to every connection.
struct Server {
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[expect(clippy::disallowed_methods, reason = "the test owns the task and aborts it when it ends")]
async fn serve(issued: &Issued, answer: &'static str) -> Server {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config
        .with_no_client_auth()
        .with_single_cert(vec![issued.certificate.clone()], issued.key.clone_key())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
                    line.clear();
                }
                stream.write_all(answer.as_bytes()).await.ok();
                stream.shutdown().await.ok();
                stream.read_to_end(&mut Vec::new()).await.ok();
            });
        }
    });
    Server { port, task }
}

const GOOD: &str =
    "HTTP/1.1 500 VM is locked (clone)\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"data\":null}";

fn here() -> AddressPolicy {
    AddressPolicy { allow: vec!["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()], deny: Vec::new() }
}

async fn get(url: &str, trust: Trust) -> Result<crate::http::Answer, TransportError> {
    let client = Client::connect("test", &Endpoint::https(url, trust, here()).unwrap()).unwrap();
    let call = Call {
        method: Method::GET,
        route: "/version",
        subject: "the server".into(),
        path: "/version".into(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        timeout: PROBE_TIMEOUT,
    };
    client.send(call).await
}

#[tokio::test]
async fn r1_2_a_server_that_the_bundle_vouches_for_is_talked_to() {
    let issued = issue("localhost");
    let server = serve(&issued, GOOD).await;
    let bundle = Trust::Bundle(issued.authority.clone().into_bytes());
    let answer = get(&format!("https://localhost:{}/api2/json", server.port), bundle).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.reason.as_str()), (500, "VM is locked (clone)"));
    assert_eq!(&answer.body[..], b"{\"data\":null}");
}

#[tokio::test]
async fn a_server_of_another_authority_or_name_is_not_trusted() {
    let issued = issue("localhost");
    let server = serve(&issued, GOOD).await;
    let other = Trust::Bundle(issue("localhost").authority.into_bytes());
    let error = get(&format!("https://localhost:{}", server.port), other).await.unwrap_err();
    assert!(matches!(error, TransportError::Certificate { .. }), "{error}");
    let bundle = Trust::Bundle(issued.authority.clone().into_bytes());
    let error = get(&format!("https://127.0.0.1:{}", server.port), bundle).await.unwrap_err();
    assert!(matches!(error, TransportError::Certificate { .. }), "{error}");
    assert!(!error.may_have_acted());
}

#[tokio::test]
async fn a_pinned_certificate_is_trusted_whatever_its_name_and_no_other_is() {
    let issued = issue("some-other-name");
    let server = serve(&issued, GOOD).await;
    let url = format!("https://127.0.0.1:{}", server.port);
    let pin = Fingerprint::of(&issued.certificate);
    assert!(get(&url, Trust::Pinned(pin.to_string().parse().unwrap())).await.is_ok());
    let wrong = Fingerprint::of(&issue("some-other-name").certificate);
    let error = get(&url, Trust::Pinned(wrong)).await.unwrap_err();
    assert!(error.to_string().contains(&format!("its fingerprint is {pin}, expected {wrong}")), "{error}");
}

#[tokio::test]
async fn without_verification_any_certificate_passes() {
    let server = serve(&issue("some-other-name"), GOOD).await;
    assert!(get(&format!("https://127.0.0.1:{}", server.port), Trust::Insecure).await.is_ok());
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_interrupted() {
    let server = serve(&issue("x"), "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort").await;
    let error = get(&format!("https://127.0.0.1:{}", server.port), Trust::Insecure).await.unwrap_err();
    assert!(matches!(error, TransportError::Interrupted { .. }), "{error}");
    assert!(error.may_have_acted());
}

#[tokio::test]
async fn nobody_listening_is_unreachable_and_nothing_was_sent() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = get(&format!("https://127.0.0.1:{port}"), Trust::Insecure).await.unwrap_err();
    assert!(matches!(error, TransportError::Unreachable { .. }), "{error}");
    assert!(!error.may_have_acted());
}

#[rstest]
#[case("https://127.0.0.1:8006")]
#[case("https://[::1]:8006")]
#[case("https://[::ffff:127.0.0.1]:8006")]
#[case("https://169.254.169.254")]
#[case("https://0.0.0.0")]
fn a_refused_address_is_refused_before_anything_is_sent(#[case] url: &str) {
    let endpoint = Endpoint::https(url, Trust::Insecure, AddressPolicy::default()).unwrap();
    assert!(matches!(transport(&endpoint), Err(ConnectError::Address(_))));
}

#[tokio::test]
async fn a_name_that_resolves_to_a_refused_address_is_refused_too() {
    let server = serve(&issue("localhost"), GOOD).await;
    let url = format!("https://localhost:{}", server.port);
    let endpoint = Endpoint::https(&url, Trust::Insecure, AddressPolicy::default()).unwrap();
    let mut transport = transport(&endpoint).unwrap();
    let request = Request::get(url).body(Full::new(Bytes::new())).unwrap();
    let error = transport.ready().await.unwrap().oneshot(request).await.unwrap_err();
    assert!(matches!(error, TransportError::Refused(AddressRefused { why: "a loopback address", .. })), "{error}");
}

#[rstest]
#[case(
    "http://pve.example.com:8006",
    "\"http://pve.example.com:8006\" is not https: credentials are sent over https only"
)]
#[case("pve.example.com", "\"pve.example.com\" is no URL: expected one such as https://pve.example.com:8006")]
#[case(
    "ftp://pve.example.com",
    "\"ftp://pve.example.com\" is no URL: expected one such as https://pve.example.com:8006"
)]
#[case("https://root:canary@pve", "the URL holds a user name or password: credentials belong into a Secret")]
fn an_endpoint_must_make_sense(#[case] url: &str, #[case] says: &str) {
    assert_eq!(Endpoint::https(url, Trust::System, AddressPolicy::default()).unwrap_err().to_string(), says);
}

#[test]
fn plain_http_must_be_asked_for() {
    let url = "http://127.0.0.1:8006/api2/json/";
    let endpoint = Endpoint::https_or_plain(url, Trust::System, here()).unwrap();
    let (scheme, authority) = endpoint.origin();
    assert_eq!((scheme, authority.as_str()), (Scheme::HTTP, "127.0.0.1:8006"));
}

#[test]
fn a_bundle_without_a_certificate_is_refused() {
    for bundle in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(Trust::Bundle(bundle.into()).config(), Err(ConnectError::Bundle(_))), "{bundle}");
    }
}
