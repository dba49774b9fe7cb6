//! The real way to the bootstrap service: HTTP/1.1 over TLS, a connection for each request.
//!
//! Requests are small and rare. A connection of its own shows our key in a full handshake every time and can be neither
//! stale nor half closed.

mod exchange;
mod pinned;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use protocol::Seed;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::seed::place;
use crate::{Answer, Line, LineError};

/// For name lookup, TCP and TLS together, and for the exchange after it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects to the service that a seed names, with a key made here.
pub struct Wire {
    host: String,
    port: u16,
    /// Verifies the service and shows our key.
    proven: Arc<ClientConfig>,
    /// Verifies nothing and shows nothing.
    open: Arc<ClientConfig>,
}

/// Why no connection can ever be made.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The seed's address is none.
    #[error("field url of the seed must be https://host or https://host:port")]
    Url,
    /// The seed's certificates cannot be used.
    #[error("field authority of the seed must be certificates in PEM, or the hash of one: {0}")]
    Authority(String),
    /// No key can be made.
    #[error("cannot make a key: {0}")]
    Key(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Wire {
    /// Makes a key and gets ready; connects to nothing yet.
    pub fn new(seed: &Seed) -> Result<Self, WireError> {
        let (host, port) = place(&seed.url).ok_or(WireError::Url)?;
        let proven = Arc::new(trust::proven(&seed.authority)?);
        Ok(Self { host, port, proven, open: Arc::new(trust::open()?) })
    }

    async fn exchange(&self, tls: &Arc<ClientConfig>, path: &str, body: Vec<u8>) -> Result<Answer, LineError> {
        let late = |what: &str| LineError::Unreachable(format!("{what} took longer than {} s", PATIENCE.as_secs()));
        let stream = timeout(PATIENCE, self.connect(tls)).await.map_err(|_| late("connecting"))??;
        timeout(PATIENCE, exchange::post(stream, &self.authority(), path, body))
            .await
            .map_err(|_| late("its answer"))?
    }

    /// Where the service is, as a request names it.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    async fn connect(&self, tls: &Arc<ClientConfig>) -> Result<TlsStream<TcpStream>, LineError> {
        let lost = |error: std::io::Error| LineError::Unreachable(format!("{}: {error}", self.authority()));
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(lost)?;
        tcp.set_nodelay(true).map_err(lost)?;
        let connector = TlsConnector::from(Arc::clone(tls));
        connector.connect(trust::name(), tcp).await.map_err(|error| trust::doubt(&error).unwrap_or_else(|| lost(error)))
    }
}

impl Line for Wire {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Answer, LineError> {
        // On the heap: a TLS connection is large, and lives hold several of these.
        Box::pin(self.exchange(&self.proven, path, body)).await
    }

    async fn beacon(&self, path: &str, body: Vec<u8>) {
        if let Err(error) = Box::pin(self.exchange(&self.open, path, body)).await {
            tracing::warn!(%error, "nobody heard why we do not get on");
        }
    }
}
