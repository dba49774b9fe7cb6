//! A cluster of one: our own API server in this process, for whoever has no Kubernetes.
//!
//! ```text
//!   kubectl ── TLS, a token ──▶ ApiServer ◀── in process, under the account of the operator ── controllers
//!                                   │
//!                          Storage: a file (`hyperfleet up`), or nothing (`hyperfleet demo`)
//! ```
//!
//! It has what `kubectl apply` of our manifests would bring to a real cluster: the definitions, the operator's namespace, its
//! account and its roles. So what runs here runs there, and the other way round.

pub(crate) mod backup;
mod certificate;
pub(crate) mod files;
mod furnish;
mod keys;
mod kubeconfig;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use apiserver::access::{Authenticator, Signer};
use apiserver::store::{Storage, StorageError};
use apiserver::{ApiServer, Chores, User};
use chassis::{Clock, Tasks};
use http::Response;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use kube::Client;
use runtime::host::Cluster;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tower::util::BoxCloneService;
use tower::{BoxError, ServiceBuilder};

use crate::chance::real_chance;

pub use furnish::NAMESPACE;
pub use keys::Keys;

/// Changes that can be watched from behind: what a busy fleet does in some minutes.
pub const HISTORY: usize = 10_000;

/// How long events are kept: as on a real cluster.
const NEWS: Duration = Duration::from_hours(1);

/// How often old events are looked for.
const SWEEP: Duration = Duration::from_mins(1);

/// Events that are removed before the next are looked for.
const SWEPT: usize = 500;

/// What a cluster of one is started with.
pub struct Options {
    /// Tells the time.
    pub clock: Clock,
    /// Where objects are kept.
    pub storage: Box<dyn Storage>,
    /// How many changes can be watched from behind.
    pub history: usize,
    /// Where kubectl finds it; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Names and addresses it is called by beside the one it listens on. The first one is that of the kubeconfig, unless only
    /// this machine is listened to.
    pub names: Vec<String>,
    /// Its authority, and what its clients prove themselves with.
    pub keys: Keys,
}

/// A running cluster of one; it ends with the tasks it was started with.
pub struct Single {
    server: ApiServer,
    address: SocketAddr,
    /// What clients call it by.
    name: String,
    authority: String,
    token: SecretString,
    operator: User,
}

/// Why there is no cluster of one.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// Its address cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Its objects cannot be read or kept.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file of keys cannot be read or written.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of keys does not hold what it should.
    #[error("{} is damaged ({what}): put a copy of it in its place, or remove it to have a new one made; {cost}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
        /// What no longer works with a new one.
        cost: &'static str,
    },
    /// A certificate cannot be made.
    #[error("its certificate cannot be made")]
    Certificate(#[from] certificate::CertificateError),
    /// What it needs from the start cannot be put into it.
    #[error("{what} cannot be put into the new cluster")]
    Furnish {
        /// Which object.
        what: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
}

impl Single {
    /// Starts it; everything is there when this returns.
    pub async fn start(options: Options, tasks: &Tasks) -> Result<Self, SingleError> {
        let Options { clock, storage, history, listen, names, keys } = options;
        let refused = |source| SingleError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let shown = [names.clone(), own_names(address.ip())].concat();
        let tls = certificate::tls(keys.issuer()?, shown, clock)?;
        let signer = Signer::new("https://kubernetes.default.svc", keys.accounts.clone());
        let admin = (keys.token.clone(), User::admin());
        // A new one each time: what was made with the last one must not come again.
        let mut seed = [0; 32];
        real_chance()(&mut seed);
        let server = ApiServer::new(apiserver::Options {
            clock,
            seed,
            storage,
            history,
            authenticator: Authenticator::new(signer, [admin]),
            chores: Chores::AtOnce,
        })?;
        let operator = furnish::furnish(&Client::new(server.door(User::admin()), "default")).await?;
        server.listen(listener, tls, tasks).map_err(refused)?;
        sweep(&server, clock, tasks);
        let name = called(names, address.ip());
        let Keys { certificate: authority, token, .. } = keys;
        Ok(Self { server, address, name, authority, token, operator })
    }

    /// Writes down where machines call the operator, for the doctor, who finds no Deployment here; empty if they cannot.
    pub async fn advertise(&self, address: &str) -> Result<(), SingleError> {
        furnish::advertise(&self.admin(), address).await
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        let port = self.address.port();
        let v6 = self.name.parse::<Ipv6Addr>().is_ok();
        if v6 { format!("https://[{}]:{port}", self.name) } else { format!("https://{}:{port}", self.name) }
    }

    /// The certificate of its authority, in PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// What an administrator's kubectl needs. It holds a secret.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::kubeconfig(&self.url(), &self.authority, &self.token)
    }

    /// The server itself.
    pub const fn server(&self) -> &ApiServer {
        &self.server
    }

    /// The cluster as the operator in this process has it: no socket, the operator's account and no more than its roles.
    pub fn cluster(&self) -> Cluster {
        let door = self.server.door(self.operator.clone());
        let service = ServiceBuilder::new()
            .map_response(|answer: Response<apiserver::Body>| {
                answer.map(|body| UnsyncBoxBody::new(body.map_err(BoxError::from)))
            })
            .map_err(|never| -> BoxError { match never {} })
            .service(door);
        Cluster::Within { service: BoxCloneService::new(service), namespace: NAMESPACE.to_owned() }
    }

    /// A client in this process that may do everything.
    pub fn admin(&self) -> Client {
        Client::new(self.server.door(User::admin()), "default")
    }
}

/// Removes events that are no news any more, until the tasks stop.
fn sweep(server: &ApiServer, clock: Clock, tasks: &Tasks) {
    let (server, stopping) = (server.clone(), tasks.stopping());
    tasks.spawn("old events", async move {
        let sweeping = async {
            loop {
                tokio::time::sleep(SWEEP).await;
                while server.expire_events(clock.now() - NEWS, SWEPT).await == SWEPT {}
            }
        };
        tokio::select! {
            biased;
            () = stopping => {}
            () = sweeping => {}
        }
    });
}

/// What the machine itself may call it by.
fn own_names(ip: IpAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string(), Ipv6Addr::LOCALHOST.to_string()];
    if !ip.is_unspecified() && !ip.is_loopback() {
        names.push(ip.to_string());
    }
    names
}

/// What clients call it by: the first of its names, or its address if nobody would be there under that name.
fn called(names: Vec<String>, ip: IpAddr) -> String {
    let here = |name: &String| name == "localhost" || name.parse() == Ok(ip);
    let name = names.into_iter().next().filter(|name| !ip.is_loopback() || here(name));
    name.unwrap_or_else(|| near(ip).to_string())
}

/// The address by which this machine reaches what listens on `ip`.
fn near(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(v4) if v4.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(v6) if v6.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) | IpAddr::V6(_) => ip,
    }
}

#[cfg(test)]
mod tests;
