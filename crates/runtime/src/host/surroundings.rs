//! What a process takes from around it, and what may stand in: one that lives in another's process has its cluster there,
//! is told by it when to end, and must not write over its screen.

use chassis::telemetry::{self, Telemetry};
use futures::future::BoxFuture;
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use super::HostError;
use crate::client::{Guard, Local, connect, within};

/// What a process has around it; by default, what every process has.
#[derive(Default)]
pub struct Surroundings {
    /// Where its API server is.
    pub cluster: Cluster,
    /// Where its records go.
    pub records: Records,
    /// What ends it.
    pub ending: Ending,
}

/// The API server of a process.
#[derive(Default)]
pub enum Cluster {
    /// The one that `KUBECONFIG` names, or that of the surrounding cluster.
    #[default]
    Inferred,
    /// This one.
    At(Box<Config>),
    /// One in this process.
    Within {
        /// It, for somebody whom it knows.
        service: Local,
        /// The namespace that the process lives in.
        namespace: String,
    },
}

/// Where records go.
#[derive(Default)]
pub enum Records {
    /// To standard error.
    #[default]
    Stderr,
    /// Here, whatever the settings say of a terminal.
    To(BoxMakeWriter),
    /// Where they go already: the process has a subscriber.
    Installed,
}

/// What ends a process.
#[derive(Default)]
pub enum Ending {
    /// SIGTERM or SIGINT; a second one ends it at once.
    #[default]
    Signals,
    /// This. There is no second time: who waits no longer drops what it waits for.
    When(BoxFuture<'static, ()>),
}

impl Cluster {
    /// A client of it, and the namespace that the process lives in.
    pub(super) async fn connect(self, guard: Guard) -> Result<(Client, String), HostError> {
        let config = match self {
            Self::Within { service, namespace } => return Ok((within(service, &namespace, &guard), namespace)),
            Self::At(config) => *config,
            Self::Inferred => Config::infer().await.map_err(HostError::NoCluster)?,
        };
        let client = connect(&config, guard).map_err(HostError::Client)?;
        Ok((client, config.default_namespace))
    }
}

impl Records {
    pub(super) fn start(self, options: &telemetry::Options<'_>) -> Result<Telemetry, HostError> {
        match self {
            Self::Stderr => Ok(telemetry::start(options)?),
            Self::Installed => Ok(telemetry::build(options, std::io::sink).1),
            Self::To(writer) => {
                let (subscriber, telemetry) = telemetry::build(options, writer);
                tracing::subscriber::set_global_default(subscriber)?;
                telemetry.announce();
                Ok(telemetry)
            }
        }
    }
}

impl Ending {
    pub(super) fn listen(self) -> Result<Listening, HostError> {
        let listen = |kind| signal(kind).map_err(HostError::Signals);
        match self {
            Self::When(over) => Ok(Listening::When(Some(over))),
            Self::Signals => Ok(Listening::Signals {
                terminate: listen(SignalKind::terminate())?,
                interrupt: listen(SignalKind::interrupt())?,
            }),
        }
    }
}

/// Hears what ends a process.
pub(super) enum Listening {
    Signals { terminate: tokio::signal::unix::Signal, interrupt: tokio::signal::unix::Signal },
    When(Option<BoxFuture<'static, ()>>),
}

impl Listening {
    /// Resolves when the process is told to end, and once more if it is told so again.
    pub(super) async fn again(&mut self) {
        match self {
            Self::Signals { terminate, interrupt } => tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            },
            Self::When(over) => {
                if let Some(over) = over.as_mut() {
                    over.await;
                } else {
                    std::future::pending::<()>().await;
                }
                *self = Self::When(None);
            }
        }
    }
}
