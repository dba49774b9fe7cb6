//! The server on a socket, over TLS, for kubectl and everything else that is not in this process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chassis::Tasks;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::{ApiServer, Door};

/// Connections at the most; whoever comes then waits in the kernel's queue.
const CONNECTIONS: usize = 1_000;

/// Requests of one connection that are under way, as on the real server.
const STREAMS: u32 = 250;

/// For the TLS handshake, and for each request's head.
const PATIENCE: Duration = Duration::from_secs(10);

impl ApiServer {
    /// Serves `listener` until `tasks` stop; returns where.
    pub fn listen(&self, listener: TcpListener, tls: Arc<ServerConfig>, tasks: &Tasks) -> std::io::Result<SocketAddr> {
        let address = listener.local_addr()?;
        let door = self.front_door();
        let (stopping, connections) = (tasks.stopping(), tasks.clone());
        tasks.spawn("api server", async move {
            tokio::select! {
                () = stopping => {}
                () = accept(listener, TlsAcceptor::from(tls), door, connections, CONNECTIONS) => {}
            }
        });
        Ok(address)
    }
}

/// Serves whoever comes, `most` of them at a time.
async fn accept(listener: TcpListener, tls: TlsAcceptor, door: Door, tasks: Tasks, most: usize) {
    let seats = Arc::new(Semaphore::new(most));
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
                () = converse(stream, tls, door) => {}
            }
            drop(seat);
        });
    }
}

async fn converse(stream: TcpStream, tls: TlsAcceptor, door: Door) {
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await else { return };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    let service = TowerToHyperService::new(door);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection ended early");
    }
}

#[cfg(test)]
mod tests;
