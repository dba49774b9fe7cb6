//! One control plane: etcd, the API server, and on request the controllers that every cluster has.

mod apiserver;
mod controllers;
mod etcd;
mod home;
mod objects;
mod sharing;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::access::Access;
use crate::account::ServiceAccountRef;
use crate::demand::demand;
use crate::guard::{Guarded, Scratch};
use home::Home;
pub use sharing::{CONTROL_PLANE_VARIABLE, shared};

/// How long a program may take to answer. It takes 3 s on an idle machine; builds on the same cores make it slow.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often a start is tried again because somebody took the port first.
const PORT_ATTEMPTS: usize = 5;

/// What a control plane is made of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    controllers: bool,
    apiserver_flags: Vec<String>,
}

impl Options {
    /// Adds kube-controller-manager: owner references are collected, namespaces can be deleted, every namespace gets its
    /// default service account. It notices new custom resource types within 30 s.
    #[must_use]
    pub fn with_controller_manager(mut self) -> Self {
        self.controllers = true;
        self
    }

    /// Adds a flag to the API server's command line, such as `--etcd-compaction-interval=1s`.
    #[must_use]
    pub fn with_apiserver_flag(mut self, flag: impl Into<String>) -> Self {
        self.apiserver_flags.push(flag.into());
        self
    }
}

/// A control plane that tests talk to. One that this program started ends with the value.
#[derive(Debug)]
pub struct ControlPlane {
    home: Home,
    access: Access,
    /// Absent when another program owns the processes.
    owned: Option<Owned>,
}

/// The processes, in the order in which they must end; the directory goes last.
#[derive(Debug)]
struct Owned {
    _controllers: Option<Guarded>,
    apiserver: Mutex<Option<Guarded>>,
    apiserver_command: Command,
    _etcd: Guarded,
    _scratch: Scratch,
}

impl ControlPlane {
    /// Starts a control plane of this test's own; panics with the reason when it cannot.
    pub async fn start(options: Options) -> Self {
        demand("start a control plane", Self::try_start(options).await)
    }

    /// Starts a control plane; the error says what is missing or shows the end of the log of what failed.
    pub async fn try_start(options: Options) -> Result<Self> {
        let scratch = Scratch::new().context("a temporary directory")?;
        let home = Home::found(scratch.path())?;
        let (etcd, etcd_port) = etcd::start(&home).await?;
        let apiserver = apiserver::start(&home, etcd_port, &options.apiserver_flags).await?;
        let access = home.access()?;
        let controllers = if options.controllers { Some(controllers::start(&home, &access).await?) } else { None };
        let owned = Owned {
            _controllers: controllers,
            apiserver: Mutex::new(Some(apiserver.program)),
            apiserver_command: apiserver.command,
            _etcd: etcd,
            _scratch: scratch,
        };
        Ok(Self { home, access, owned: Some(owned) })
    }

    /// Kills the API server as a crash would; etcd keeps what was stored.
    pub fn stop_apiserver(&self) {
        let running = self.owned().apiserver().take();
        demand("stop the API server", running.expect("the API server is running").stop());
    }

    /// Starts the stopped API server again, on the same port and the same etcd; returns when it is ready.
    pub async fn start_apiserver(&self) {
        let owned = self.owned();
        assert!(owned.apiserver().is_none(), "the API server is running already");
        let program = apiserver::restart(&self.home, &owned.apiserver_command, &self.access).await;
        *owned.apiserver() = Some(demand("start the API server again", program));
    }

    /// Kills the API server and starts it again.
    pub async fn restart_apiserver(&self) {
        self.stop_apiserver();
        self.start_apiserver().await;
    }

    /// The address of the API server.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// The authority that signed the API server's certificate.
    pub fn ca_pem(&self) -> &str {
        &self.access.ca_pem
    }

    /// An administrator's client, made for the runtime that calls this.
    pub fn client(&self) -> kube::Client {
        demand("make a client", self.access.client())
    }

    /// A client that acts exactly as the service account, made for the runtime that calls this.
    pub fn client_for(&self, account: &ServiceAccountRef) -> kube::Client {
        self.client_with_token(account.token())
    }

    /// A client with this bearer token, valid or not.
    pub fn client_with_token(&self, token: &str) -> kube::Client {
        demand("make a client", self.access.with_token(token.to_owned()).client())
    }

    /// A kubeconfig file with which programs act as an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.home.admin_kubeconfig()
    }

    /// A kubeconfig file with which programs act exactly as the service account.
    pub fn kubeconfig_for(&self, account: &ServiceAccountRef) -> PathBuf {
        let path = self.home.account_kubeconfig(account.namespace(), account.name());
        let access = self.access.with_token(account.token().to_owned());
        demand("write a kubeconfig file", access.write_kubeconfig(&path, &self.home.ca()));
        path
    }

    /// The directory with everything of this control plane: logs, certificates, kubeconfig files.
    pub fn directory(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    fn owned(&self) -> &Owned {
        self.owned.as_ref().expect("only the control plane a test started itself may be hurt: use ControlPlane::start")
    }
}

impl Owned {
    fn apiserver(&self) -> MutexGuard<'_, Option<Guarded>> {
        self.apiserver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the start of a program came out.
enum Progress {
    Up,
    PortTaken,
}

/// Waits until `is_up`; an error with the end of its log if the program ends first for any reason but a taken port.
async fn await_start(
    program: &mut Guarded,
    name: &str,
    home: &Home,
    mut is_up: impl AsyncFnMut() -> bool,
) -> Result<Progress> {
    let progress = crate::waiting::poll(PATIENCE, async || match program.ended() {
        Err(error) => Some(Err(error.into())),
        Ok(Some(_)) if home.log_mentions(name, "address already in use") => Some(Ok(Progress::PortTaken)),
        Ok(Some(status)) => Some(home.failure(name, &format!("ended early with {status}"))),
        Ok(None) => is_up().await.then_some(Ok(Progress::Up)),
    });
    match progress.await {
        Some(progress) => progress,
        None => home.failure(name, &format!("was not ready within {PATIENCE:?}")),
    }
}

/// Runs `attempt` with a fresh port until one is not taken by somebody else first.
async fn with_free_port<T>(name: &str, mut attempt: impl AsyncFnMut(u16) -> Result<Option<T>>) -> Result<T> {
    for _ in 0..PORT_ATTEMPTS {
        if let Some(started) = attempt(crate::ports::free_port()?).await? {
            return Ok(started);
        }
    }
    bail!("{name}: {PORT_ATTEMPTS} free ports in a row were taken before it could listen on them")
}
