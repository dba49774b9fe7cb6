//! A handshake and nothing more: which certificate a server shows, before anything is sent to it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::uri::Scheme;
use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::{CONNECT_TIMEOUT, Endpoint};
use crate::http::validity;
use crate::http::{Fingerprint, TransportError};

/// The certificate that a server showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its SHA-256 fingerprint.
    pub fingerprint: Fingerprint,
    /// When it runs out, if that can be read.
    pub expires: Option<Timestamp>,
}

impl Endpoint {
    /// Connects and shakes hands as its trust and address policy have it; which certificate was shown. Nothing is sent.
    pub async fn greet(&self) -> Result<Shown, TransportError> {
        match tokio::time::timeout(CONNECT_TIMEOUT, self.shake()).await {
            Ok(shown) => shown,
            Err(_) => Err(TransportError::TimedOut { after: CONNECT_TIMEOUT }),
        }
    }

    async fn shake(&self) -> Result<Shown, TransportError> {
        let unusable = |error: &dyn ToString| TransportError::Unreachable { detail: error.to_string() };
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = self.authority.port_u16().unwrap_or(if self.scheme == Scheme::HTTPS { 443 } else { 80 });
        let name = ServerName::try_from(host.to_owned()).map_err(|error| unusable(&error))?;
        let config = self.trust.config().map_err(|error| unusable(&error))?;
        let found = lookup_host((host, port)).await.map_err(|error| TransportError::from_io(&error))?;
        let stream = self.dial(found.collect()).await?;
        let greeted = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let greeted = greeted.map_err(|error| TransportError::from_io(&error))?;
        let shown = greeted.get_ref().1.peer_certificates().and_then(<[CertificateDer<'_>]>::first);
        let shown = shown.ok_or_else(|| unusable(&"the server showed no certificate"))?;
        Ok(Shown { fingerprint: Fingerprint::of(shown), expires: validity::end(shown) })
    }

    /// A connection to the first address that the policy lets pass and that answers.
    async fn dial(&self, found: Vec<SocketAddr>) -> Result<TcpStream, TransportError> {
        let mut why = TransportError::from_io(&io::Error::other("the name has no address"));
        for address in found {
            if let Err(refused) = self.policy.check(address.ip()) {
                why = refused.into();
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => why = TransportError::from_io(&error),
            }
        }
        Err(why)
    }
}
