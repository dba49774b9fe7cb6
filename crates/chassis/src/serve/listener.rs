//! A small HTTP/1.1 server, plain or TLS, that a slow or greedy client cannot hold.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::{Bind, Certificate};
use crate::Tasks;

/// For the TLS handshake, for each request's headers, and for a kept connection to ask again.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// After this a connection may finish its request and must come again: whoever does not read loses his place.
pub(super) const LIFE: Duration = Duration::from_mins(5);
/// What a request in flight gets when the process or the connection's life ends.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);

/// How many clients there may be at once; more wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Connections; beyond it clients wait in the kernel's backlog.
    pub connections: usize,
    /// TLS handshakes among them, which cost far more than anything else here.
    pub handshakes: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self { connections: 128, handshakes: 128 }
    }
}

/// Who is at the other end of a connection; an extension of every request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Where it calls from.
    pub address: SocketAddr,
    /// The certificate that it showed in its handshake, if it was asked for one and had one.
    pub certificate: Option<CertificateDer<'static>>,
}

/// A bound socket, ready to serve.
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
    places: Places,
}

/// What a server needs for a handshake.
enum Tls {
    /// A certificate that may change.
    Certificate(Certificate),
    /// Everything, as whoever serves wants it.
    Config(Arc<ServerConfig>),
}

impl Tls {
    async fn config(&self) -> Arc<ServerConfig> {
        match self {
            Self::Certificate(certificate) => certificate.config().await,
            Self::Config(config) => Arc::clone(config),
        }
    }
}

impl Listener {
    /// Binds the first address that works; `None` when switched off.
    pub async fn bind(bind: Bind) -> io::Result<Option<Self>> {
        let candidates = bind.candidates();
        if candidates.is_empty() {
            return Ok(None);
        }
        let tcp = TcpListener::bind(candidates.as_slice()).await?;
        Ok(Some(Self { address: tcp.local_addr()?, tcp, tls: None, places: Places::default() }))
    }

    /// The same over TLS.
    #[must_use]
    pub fn with_tls(self, certificate: Certificate) -> Self {
        Self { tls: Some(Arc::new(Tls::Certificate(certificate))), ..self }
    }

    /// The same over TLS, on other terms than usual: versions, client certificates.
    #[must_use]
    pub fn with_tls_config(self, config: Arc<ServerConfig>) -> Self {
        Self { tls: Some(Arc::new(Tls::Config(config))), ..self }
    }

    /// The same for so many clients.
    #[must_use]
    pub fn with_places(self, places: Places) -> Self {
        Self { places, ..self }
    }

    /// Where it listens, with the port the system chose if it was asked to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `router` until `tasks` stop.
    pub fn serve(self, name: &'static str, router: Router, tasks: &Tasks) {
        let (stopping, connections) = (tasks.stopping(), tasks.clone());
        tasks.spawn(name, async move {
            tokio::select! {
                () = stopping => {}
                () = self.accept(name, router, connections) => {}
            }
        });
    }

    async fn accept(self, name: &'static str, router: Router, tasks: Tasks) {
        let places = Arc::new(Semaphore::new(self.places.connections));
        let handshakes = Arc::new(Semaphore::new(self.places.handshakes));
        loop {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            let (stream, address) = match self.tcp.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Mostly "too many open files": trying at once again would burn a core and change nothing.
                    tracing::warn!(server = name, %error, "cannot accept a connection");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (router, tls, stopping) = (router.clone(), self.tls.clone(), tasks.stopping());
            let handshakes = Arc::clone(&handshakes);
            tasks.spawn(format!("{name} connection"), async move {
                match tls {
                    None => converse(stream, introduce(router, address, None), stopping).await,
                    Some(tls) => {
                        if let Some(stream) = handshake(stream, &tls, &handshakes).await {
                            let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
                            let router = introduce(router, address, shown.map(|shown| shown.clone().into_owned()));
                            converse(stream, router, stopping).await;
                        }
                    }
                }
                drop(place);
            });
        }
    }
}

fn introduce(router: Router, address: SocketAddr, certificate: Option<CertificateDer<'static>>) -> Router {
    router.layer(Extension(Caller { address, certificate }))
}

async fn handshake(
    stream: TcpStream,
    tls: &Tls,
    places: &Semaphore,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    let outcome = timeout(PATIENCE, async {
        let _place = places.acquire().await.expect("the semaphore is never closed");
        TlsAcceptor::from(tls.config().await).accept(stream).await
    });
    outcome.await.ok()?.inspect_err(|error| tracing::debug!(%error, "TLS handshake failed")).ok()
}

pub(super) async fn converse<S>(stream: S, router: Router, stopping: impl Future<Output = ()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(64 * 1024);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { tokio::select! { () = stopping => {}, () = sleep(LIFE) => {} } } => {
            connection.as_mut().graceful_shutdown();
            timeout(FAREWELL, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}
