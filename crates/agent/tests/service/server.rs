//! A TLS server on loopback that remembers every byte it could decrypt, and says what a test tells it to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use protocol::{Lease, Order, Plan, Seed, Welcome};
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::anybody::Anybody;
use super::authority::{Authority, Identity};

pub(crate) const ID: &str = "5d1d9be8-0000-4000-8000-000000000001";
pub(crate) const MACHINE: &str = "278caaf8-6ca2-4a15-9b2a-b9814b29fae7";
pub(crate) const TOKEN: &str = "canary-token";

/// What the server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// The key that was shown.
    pub(crate) key: Option<Vec<u8>>,
}

type Script = dyn Fn(&Heard) -> String + Send + Sync;

/// A server and what it has heard.
pub(crate) struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    /// Everything that was ever decrypted, understood or not.
    bytes: Arc<Mutex<Vec<u8>>>,
    _connections: JoinSet<()>,
}

impl Server {
    /// Serves with this identity in TLS 1.3 and answers by the script.
    pub(crate) async fn start(identity: Identity, script: impl Fn(&Heard) -> String + Send + Sync + 'static) -> Self {
        Self::in_version(&TLS13, identity, script).await
    }

    /// The same in TLS 1.2.
    pub(crate) async fn start_old(
        identity: Identity,
        script: impl Fn(&Heard) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::in_version(&TLS12, identity, script).await
    }

    async fn in_version(
        version: &'static SupportedProtocolVersion,
        (certificates, key): Identity,
        script: impl Fn(&Heard) -> String + Send + Sync + 'static,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(Arc::new(Anybody(provider)))
            .with_single_cert(certificates, key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, acceptor) = (listener.local_addr().unwrap(), TlsAcceptor::from(Arc::new(config)));
        let (heard, bytes, script) = (Arc::default(), Arc::default(), Arc::new(script));
        let mut connections = JoinSet::new();
        let ears = Ears { heard: Arc::clone(&heard), bytes: Arc::clone(&bytes), script };
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(ears.clone().serve(acceptor.clone(), stream));
            }
        });
        Self { address, heard, bytes, _connections: connections }
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// What was posted to a path.
    pub(crate) fn posted(&self, path: &str) -> Vec<Heard> {
        self.heard().into_iter().filter(|heard| heard.path == path).collect()
    }

    pub(crate) fn has_seen(&self, text: &str) -> bool {
        self.bytes.lock().unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// A seed that leads here and trusts this authority.
    pub(crate) fn seed(&self, authority: &Authority) -> Seed {
        Seed {
            version: protocol::VERSION,
            url: format!("https://{}", self.address),
            authority: authority.pem().to_owned(),
            id: ID.to_owned(),
            token: TOKEN.to_owned().into(),
            machine: MACHINE.to_owned(),
            agent: None,
        }
    }
}

#[derive(Clone)]
struct Ears {
    heard: Arc<Mutex<Vec<Heard>>>,
    bytes: Arc<Mutex<Vec<u8>>>,
    script: Arc<Script>,
}

impl Ears {
    async fn serve(self, acceptor: TlsAcceptor, stream: TcpStream) {
        let Ok(mut stream) = acceptor.accept(stream).await else { return };
        let key = stream.get_ref().1.peer_certificates().map(|chain| chain[0].to_vec());
        let (mut request, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let Ok(length @ 1..) = stream.read(&mut part).await else { return };
            request.extend_from_slice(&part[..length]);
            self.bytes.lock().unwrap().extend_from_slice(&part[..length]);
            if let Some((path, body)) = whole(&request) {
                let heard = Heard { path, body, key };
                self.heard.lock().unwrap().push(heard.clone());
                let _: Result<(), _> = stream.write_all((self.script)(&heard).as_bytes()).await;
                let _: Result<(), _> = stream.shutdown().await;
                return;
            }
        }
    }
}

/// Path and body of a request that has arrived to its end.
fn whole(request: &[u8]) -> Option<(String, Value)> {
    let text = String::from_utf8_lossy(request);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    if body.len() < length.unwrap_or(0_usize) {
        return None;
    }
    Some((head.split(' ').nth(1)?.to_owned(), serde_json::from_str(body).ok()?))
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// A whole answer.
pub(crate) fn answer(status: u16, body: &Value) -> String {
    let body = body.to_string();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// What a service says that is content with everything: this plan, and this order at every lease.
pub(crate) fn kindly(heard: &Heard, plan: &Plan, order: Order) -> String {
    // Soon, where something is to come of it; where nothing is, a busy machine may take its time.
    let seconds = if order == Order::End { 2 } else { 20 };
    let welcome = Welcome { plan: plan.clone(), lease: Lease { seconds, order: Order::GoOn }, clock: now() };
    match heard.path.as_str() {
        protocol::path::LEASE => answer(200, &serde_json::to_value(Lease { seconds, order }).unwrap()),
        path if path == protocol::path::start(ID) => answer(200, &serde_json::to_value(welcome).unwrap()),
        _ => answer(200, &json!({})),
    }
}
