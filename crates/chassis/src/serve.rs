//! Small HTTP servers.
//!
//! [`Listener`] is what they stand on: limits on connections and slow clients, TLS with a certificate that is read again
//! when it changes, a word about who calls, and an orderly end with the program's [`Tasks`]. [`health`] is the one that every program has.

mod bind;
mod certificate;
mod listener;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

pub use bind::Bind;
pub use certificate::{Certificate, CertificateError};
pub use listener::{Caller, Listener, Places};

use crate::Tasks;
use crate::health::{Health, Report};

/// The one cryptography provider; passed explicitly wherever TLS is set up, so that no global default can surprise.
pub(crate) fn provider() -> rustls::crypto::CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("{server} cannot listen on {address}")]
    Bind {
        /// Which server.
        server: &'static str,
        /// Where it was told to listen.
        address: Bind,
        /// What the system said.
        source: io::Error,
    },
    /// The serving certificate is unusable.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// Listens for `server`; nothing if it is switched off.
pub async fn listen(server: &'static str, address: Bind) -> Result<Option<Listener>, ServeError> {
    Listener::bind(address).await.map_err(|source| ServeError::Bind { server, address, source })
}

/// Serves `/healthz` and `/readyz` over plain http until `tasks` stop; returns the address unless switched off.
pub async fn health(bind: Bind, health: Health, tasks: &Tasks) -> Result<Option<SocketAddr>, ServeError> {
    let Some(listener) = listen("the health server", bind).await? else { return Ok(None) };
    let router = Router::new()
        .route("/healthz", get(|State(health): State<Health>| async move { verdict(&health.liveness()) }))
        .route("/readyz", get(|State(health): State<Health>| async move { verdict(&health.readiness()) }))
        .with_state(health);
    let address = listener.address();
    listener.serve("health server", router, tasks);
    Ok(Some(address))
}

fn verdict(report: &Report) -> (StatusCode, String) {
    let status = if report.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, report.to_string())
}
