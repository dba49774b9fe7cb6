//! The server on a socket, over TLS, for kubectl and everything else that is not in this process.

mod presence;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chassis::Tasks;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use super::{ApiServer, Door};

/// Requests of one connection that are under way, as on the real server.
const STREAMS: u32 = 250;

/// What one connection may take from the others.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Connections at the most; whoever comes then waits in the kernel's queue.
    connections: usize,
    /// For the TLS handshake, for each request's head, and for the answer to a question whether anybody is there.
    patience: Duration,
    /// How long nothing need be under way.
    idle: Duration,
}

const LIMITS: Limits = Limits {
    connections: 1_000,
    patience: Duration::from_secs(10),
    // As on the real server.
    idle: Duration::from_secs(90),
};

impl ApiServer {
    /// Serves `listener` until `tasks` stop; returns where.
    pub fn listen(&self, listener: TcpListener, tls: Arc<ServerConfig>, tasks: &Tasks) -> std::io::Result<SocketAddr> {
        let address = listener.local_addr()?;
        let door = self.front_door();
        let (stopping, connections) = (tasks.stopping(), tasks.clone());
        tasks.spawn("api server", async move {
            tokio::select! {
                () = stopping => {}
                () = accept(listener, TlsAcceptor::from(tls), door, connections, LIMITS) => {}
            }
        });
        Ok(address)
    }
}

/// Serves whoever comes, so many at a time as the limits say.
async fn accept(listener: TcpListener, tls: TlsAcceptor, door: Door, tasks: Tasks, limits: Limits) {
    let seats = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Mostly "too many open files": trying at once again would burn a core and change nothing.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (tls, door, stopping) = (tls.clone(), door.clone(), tasks.stopping());
        tasks.spawn("api connection", async move {
            tokio::select! {
                () = stopping => {}
                () = converse(stream, tls, door, limits) => {}
            }
            drop(seat);
        });
    }
}

async fn converse(stream: TcpStream, tls: TlsAcceptor, door: Door, limits: Limits) {
    let Ok(Ok(stream)) = timeout(limits.patience, tls.accept(stream)).await else { return };
    let builder = builder(stream.get_ref().1.alpn_protocol() == Some(b"h2"), limits);
    let (register, watcher) = presence::register();
    let service = service_fn(move |request| register.attend(door.clone().oneshot(request)));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = watcher.idle_for(limits.idle) => {
            connection.as_mut().graceful_shutdown();
            timeout(limits.patience, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}

/// What was agreed on in the handshake is spoken: to find it out from the first bytes would be to wait for them.
fn builder(second: bool, limits: Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.patience);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    http2.keep_alive_interval(limits.idle / 3).keep_alive_timeout(limits.patience);
    if second { builder.http2_only() } else { builder.http1_only() }
}

#[cfg(test)]
mod tests;
