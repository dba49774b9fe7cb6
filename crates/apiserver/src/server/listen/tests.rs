//! Who comes when all seats are taken.

use jiff::Timestamp;
use rstest::rstest;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use secrecy::SecretSlice;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::access::{Authenticator, Signer, User};
use crate::server::Options;

/// Longer than anything here takes, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Longer than a handshake takes where nobody has to wait for a seat.
const WHILE: Duration = Duration::from_millis(300);

/// What clients prove themselves with.
const TOKEN: &str = "hf-good";

/// The server's side, and that of clients who speak this.
fn tls(speaks: &[&str]) -> (Arc<ServerConfig>, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(default_provider());
    let ours =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let mut ours = ours.with_no_client_auth().with_single_cert(vec![certificate], key.into()).unwrap();
    ours.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let theirs = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut theirs = theirs.with_root_certificates(roots).with_no_client_auth();
    theirs.alpn_protocols = speaks.iter().map(|word| word.as_bytes().to_vec()).collect();
    (Arc::new(ours), TlsConnector::from(Arc::new(theirs)))
}

/// Makes a connection and says nothing.
async fn enter(address: SocketAddr, tls: &TlsConnector) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
}

/// Asks for this and reads the first line of the answer.
async fn ask(stream: &mut TlsStream<TcpStream>, path: &str) {
    let question = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(question.as_bytes()).await.unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

/// Comes, asks for something and stays.
async fn come(address: SocketAddr, tls: &TlsConnector) -> TlsStream<TcpStream> {
    let mut stream = enter(address, tls).await;
    ask(&mut stream, "/version").await;
    stream
}

/// Opens with these limits.
async fn open(ours: Arc<ServerConfig>, limits: Limits) -> (SocketAddr, Tasks) {
    let clock = chassis::Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap());
    let signer = Signer::new("https://kubernetes.default.svc", SecretSlice::from(vec![7; 32]));
    let authenticator = Authenticator::new(signer, [(TOKEN.into(), User::admin())]);
    let server = ApiServer::new(Options { authenticator, ..Options::in_memory(clock, [7; 32]) }).unwrap();
    let tasks = Tasks::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = accept(listener, TlsAcceptor::from(ours), server.front_door(), tasks.clone(), limits);
    let stopping = tasks.stopping();
    tasks.spawn("seats", async move {
        tokio::select! {
            () = stopping => {}
            () = accepting => {}
        }
    });
    (address, tasks)
}

#[tokio::test]
async fn who_finds_all_seats_taken_is_served_when_somebody_leaves() {
    let (ours, theirs) = tls(&[]);
    let (address, tasks) = open(ours, Limits { connections: 2, ..LIMITS }).await;
    let first = come(address, &theirs).await;
    let second = come(address, &theirs).await;
    let mut third = std::pin::pin!(come(address, &theirs));
    assert!(timeout(WHILE, &mut third).await.is_err(), "there are two seats");
    drop(first);
    let third = timeout(SOON, third).await.expect("a seat is free");
    drop((second, third));
    tasks.shutdown(SOON).await.unwrap();
}

/// A thousand of these locked everybody out for as long as they liked.
#[rstest]
#[case::after_the_handshake(&[], b"")]
#[case::who_would_speak_http2(&["h2"], b"")]
#[case::after_the_first_words_of_http2(&["h2"], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")]
#[case::in_the_middle_of_a_word(&["h2"], b"PRI * HT")]
#[tokio::test]
async fn who_says_nothing_loses_his_seat(#[case] speaks: &[&str], #[case] words: &[u8]) {
    let (ours, theirs) = tls(speaks);
    let limits = Limits { connections: 1, patience: Duration::from_secs(1), idle: WHILE };
    let (address, tasks) = open(ours, limits).await;
    let mut silent = enter(address, &theirs).await;
    silent.write_all(words).await.unwrap();
    silent.flush().await.unwrap();
    let others = TlsConnector::from(Arc::new({
        let mut others = (**theirs.config()).clone();
        others.alpn_protocols = Vec::new();
        others
    }));
    timeout(SOON, come(address, &others)).await.expect("who says nothing keeps the seat");
    drop(silent);
    tasks.shutdown(SOON).await.unwrap();
}

#[tokio::test]
async fn who_waits_for_news_keeps_his_seat() {
    let (ours, theirs) = tls(&[]);
    let (address, tasks) = open(ours, Limits { idle: WHILE, ..LIMITS }).await;
    let mut waiting = enter(address, &theirs).await;
    ask(&mut waiting, "/api/v1/namespaces?watch=1&resourceVersion=1000").await;
    tokio::time::sleep(4 * WHILE).await;
    let mut rest = [0; 4_096];
    let more = async {
        loop {
            let read = waiting.read(&mut rest).await.unwrap();
            assert!(read > 0, "the watch has ended");
        }
    };
    assert!(timeout(2 * WHILE, more).await.is_err(), "nothing happens, and that is for how long it waits");
    tasks.shutdown(SOON).await.unwrap();
}
