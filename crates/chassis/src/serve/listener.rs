//! A small HTTP/1.1 server, plain or TLS, that a slow or greedy client cannot hold.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::{Bind, Certificate};
use crate::Tasks;

/// Clients at once; more wait in the kernel's backlog.
const CONNECTIONS: usize = 128;
/// For the TLS handshake, for each request's headers, and for a kept connection to ask again.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// After this a connection may finish its request and must come again: whoever does not read loses his place.
pub(super) const LIFE: Duration = Duration::from_mins(5);
/// What a request in flight gets when the process or the connection's life ends.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);

/// A bound socket, ready to serve.
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Certificate>>,
}

impl Listener {
    /// Binds the first address that works; `None` when switched off.
    pub async fn bind(bind: Bind) -> io::Result<Option<Self>> {
        let candidates = bind.candidates();
        if candidates.is_empty() {
            return Ok(None);
        }
        let tcp = TcpListener::bind(candidates.as_slice()).await?;
        Ok(Some(Self { address: tcp.local_addr()?, tcp, tls: None }))
    }

    /// The same over TLS.
    #[must_use]
    pub fn with_tls(self, certificate: Certificate) -> Self {
        Self { tls: Some(Arc::new(certificate)), ..self }
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
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            let stream = match self.tcp.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Mostly "too many open files": trying at once again would burn a core and change nothing.
                    tracing::warn!(server = name, %error, "cannot accept a connection");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (router, tls, stopping) = (router.clone(), self.tls.clone(), tasks.stopping());
            tasks.spawn(format!("{name} connection"), async move {
                match tls {
                    None => converse(stream, router, stopping).await,
                    Some(certificate) => {
                        if let Some(stream) = handshake(stream, &certificate).await {
                            converse(stream, router, stopping).await;
                        }
                    }
                }
                drop(place);
            });
        }
    }
}

async fn handshake(stream: TcpStream, certificate: &Certificate) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    let acceptor = TlsAcceptor::from(certificate.config().await);
    let outcome = timeout(PATIENCE, acceptor.accept(stream)).await;
    outcome.ok()?.inspect_err(|error| tracing::debug!(%error, "TLS handshake failed")).ok()
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
