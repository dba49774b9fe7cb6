//! Who comes when all seats are taken.

use jiff::Timestamp;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::server::Options;

/// Longer than anything here takes, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Longer than a handshake takes where nobody has to wait for a seat.
const WHILE: Duration = Duration::from_millis(300);

fn tls() -> (Arc<ServerConfig>, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(default_provider());
    let ours =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let ours = ours.with_no_client_auth().with_single_cert(vec![certificate], key.into()).unwrap();
    let theirs = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let theirs = theirs.with_root_certificates(roots).with_no_client_auth();
    (Arc::new(ours), TlsConnector::from(Arc::new(theirs)))
}

/// Comes, asks for something and stays.
async fn come(address: SocketAddr, tls: &TlsConnector) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream = tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    stream.write_all(b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    stream
}

#[tokio::test]
async fn who_finds_all_seats_taken_is_served_when_somebody_leaves() {
    let clock = chassis::Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap());
    let door = ApiServer::new(Options::in_memory(clock, [7; 32])).unwrap().front_door();
    let (tasks, (ours, theirs)) = (Tasks::new(), tls());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = accept(listener, TlsAcceptor::from(ours), door, tasks.clone(), 2);
    let stopping = tasks.stopping();
    tasks.spawn("seats", async move {
        tokio::select! {
            () = stopping => {}
            () = accepting => {}
        }
    });
    let first = come(address, &theirs).await;
    let second = come(address, &theirs).await;
    let mut third = std::pin::pin!(come(address, &theirs));
    assert!(timeout(WHILE, &mut third).await.is_err(), "there are two seats");
    drop(first);
    let third = timeout(SOON, third).await.expect("a seat is free");
    drop((second, third));
    tasks.shutdown(SOON).await.unwrap();
}
