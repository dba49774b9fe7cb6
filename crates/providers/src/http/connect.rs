//! The way to a real server: hyper over rustls, to addresses that passed the policy.

mod greet;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt, service_fn};

use super::Transport;
use super::address::{AddressPolicy, AddressRefused};
use super::error::TransportError;
use super::trust::Trust;

pub use greet::Shown;

/// Name lookup, TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Below the 5 s after which Proxmox closes idle connections: a call on a connection that is just being closed fails.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Larger than any sane answer: an inventory of 10,000 VMs has about 6 MiB.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// A server to talk to and how.
#[derive(Clone, Debug)]
pub struct Endpoint {
    scheme: Scheme,
    authority: Authority,
    trust: Trust,
    policy: AddressPolicy,
}

/// The text is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no absolute URL.
    #[error("{0:?} is no URL: expected one such as https://pve.example.com:8006")]
    NoUrl(String),
    /// It is not https.
    #[error("{0:?} is not https: credentials are sent over https only")]
    NotHttps(String),
    /// It carries a user name or password.
    #[error("the URL holds a user name or password: credentials belong into a Secret")]
    Credentials,
}

/// An endpoint that cannot be connected to as configured.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its address is one we do not talk to.
    #[error(transparent)]
    Address(#[from] AddressRefused),
    /// The CA bundle cannot be used.
    #[error("the CA bundle cannot be used: {0}; expected PEM certificates")]
    Bundle(String),
    /// The system's certificate authorities cannot be loaded.
    #[error("the system's certificate authorities cannot be loaded")]
    Roots(#[source] io::Error),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

impl Endpoint {
    /// Reads an https URL; what stands behind the host and port makes no difference.
    pub fn https(url: &str, trust: Trust, policy: AddressPolicy) -> Result<Self, EndpointError> {
        let endpoint = Self::parse(url, trust, policy)?;
        if endpoint.scheme == Scheme::HTTPS { Ok(endpoint) } else { Err(EndpointError::NotHttps(url.to_owned())) }
    }

    /// Reads an https or http URL. Plain http is for simulators: whoever listens reads every credential.
    pub fn https_or_plain(url: &str, trust: Trust, policy: AddressPolicy) -> Result<Self, EndpointError> {
        Self::parse(url, trust, policy)
    }

    fn parse(url: &str, trust: Trust, policy: AddressPolicy) -> Result<Self, EndpointError> {
        let no_url = || EndpointError::NoUrl(url.split(['?', '@']).next().unwrap_or_default().to_owned());
        let parts = url.trim().parse::<Uri>().map_err(|_| no_url())?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else { return Err(no_url()) };
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        if scheme != Scheme::HTTPS && scheme != Scheme::HTTP {
            return Err(no_url());
        }
        Ok(Self { scheme, authority, trust, policy })
    }

    pub(super) fn origin(&self) -> (Scheme, Authority) {
        (self.scheme.clone(), self.authority.clone())
    }

    /// The host if it is written as an address: the connector then asks no resolver, so it is checked here.
    fn literal(&self) -> Option<IpAddr> {
        self.authority.host().trim_start_matches('[').trim_end_matches(']').parse().ok()
    }
}

/// A transport that connects to the endpoint's server when there is something to send.
pub(super) fn transport(endpoint: &Endpoint) -> Result<Transport, ConnectError> {
    if let Some(address) = endpoint.literal() {
        endpoint.policy.check(address)?;
    }
    let mut tcp = HttpConnector::new_with_resolver(resolver(&endpoint.policy));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let https = HttpsConnectorBuilder::new().with_tls_config(endpoint.trust.config()?);
    let https = https.https_or_http().enable_http1().wrap_connector(tcp);
    let connector = BoxCloneSyncService::new(Timeout::new(https, CONNECT_TIMEOUT));
    let client = legacy::Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_timer(TokioTimer::new())
        .build(connector);
    let exchange = move |request: Request<Full<Bytes>>| {
        let sent = client.request(request);
        async move { whole(sent.await.map_err(|error| TransportError::from_hyper(&error))?).await }
    };
    Ok(BoxCloneSyncService::new(service_fn(exchange)))
}

async fn whole(response: Response<Incoming>) -> Result<Response<Full<Bytes>>, TransportError> {
    let (head, body) = response.into_parts();
    let broken = |error: BoxError| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => TransportError::TooLarge { limit: ANSWER_LIMIT },
        None => TransportError::Interrupted { detail: error.to_string() },
    };
    let body = Limited::new(body, ANSWER_LIMIT).collect().await.map_err(broken)?.to_bytes();
    Ok(Response::from_parts(head, Full::new(body)))
}

/// Resolves names to those of their addresses that the policy lets pass.
type Resolver = BoxCloneSyncService<Name, std::vec::IntoIter<SocketAddr>, BoxError>;

fn resolver(policy: &AddressPolicy) -> Resolver {
    let policy = Arc::new(policy.clone());
    BoxCloneSyncService::new(service_fn(move |name: Name| {
        let policy = Arc::clone(&policy);
        async move {
            let (mut passed, mut refused) = (Vec::new(), None);
            for address in GaiResolver::new().oneshot(name).await? {
                match policy.check(address.ip()) {
                    Ok(()) => passed.push(address),
                    Err(refusal) => refused = Some(refusal),
                }
            }
            match refused {
                Some(refusal) if passed.is_empty() => Err(BoxError::from(refusal)),
                Some(_) | None => Ok(passed.into_iter()),
            }
        }
    }))
}

#[cfg(test)]
mod tests;
