//! The CI platform: a simulated GitHub in this program, and what it has to tell.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::Request;
use sim::github::{
    HOOK_SECRET, HookOwner, JobSpec, Limits, Options, PERSONAL_TOKEN, REPOSITORY, Rates, Receiver, Server, Simulator,
};
use sim::proxmox::{Authority, Transport};
use sim::{Clock, Tasks};
use tokio::sync::{Mutex, mpsc};

/// Runs of this many jobs are queued, as a workflow with a matrix does.
const RUN: usize = 250;

/// What jobs ask for, and the pool has.
pub(super) const LABEL: &str = "small";

/// A simulated GitHub whose deliveries are caught before they leave.
pub(super) struct Platform {
    pub(super) simulator: Simulator,
    /// Where its pages are.
    pub(super) web: String,
    /// The certificate that its clients must trust.
    trust: tempfile::NamedTempFile,
    caught: Mutex<mpsc::UnboundedReceiver<Request<Bytes>>>,
}

impl Platform {
    pub(super) async fn start() -> Result<Self> {
        // Nobody counts requests, as in GitHub Enterprise Server, and nothing is on its way for long.
        let rates = Rates { core: None, points: u32::MAX, ..Limits::REAL.rates };
        let limits = Limits { hook: Duration::ZERO, dispatch: Duration::ZERO, rates, ..Limits::REAL };
        let options = Options { limits, ..Options::new(Clock::system()) };
        let simulator = Simulator::new(options, &Tasks::new());
        let authority = Arc::new(Authority::new(&["127.0.0.1"])?);
        let mut trust = tempfile::NamedTempFile::new()?;
        trust.write_all(authority.pem().as_bytes())?;
        let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::start(&simulator, socket, Transport::Tls(authority)).await?;
        let (catch, caught) = mpsc::unbounded_channel();
        let receiver = Receiver::function(move |delivery| {
            let kept = catch.send(delivery).is_ok();
            Box::pin(async move { kept.then_some(202) })
        });
        simulator.add_hook(HookOwner::App, "http://127.0.0.1/", HOOK_SECRET, receiver);
        Ok(Self { simulator, web: server.web().to_owned(), trust, caught: Mutex::new(caught) })
    }

    /// Lets a program believe it, and listen to deliveries on a port.
    pub(super) fn dress(&self, command: &mut Command, port: u16) {
        command
            .arg("--platform-allowed-addresses=127.0.0.0/8")
            .arg(format!("--ingress-listen=127.0.0.1:{port}"))
            .env("SSL_CERT_FILE", self.trust.path());
    }

    /// What is in the Secret of a source: its token, and what deliveries are signed with.
    pub(super) const fn secrets() -> (&'static str, &'static str) {
        (PERSONAL_TOKEN, HOOK_SECRET)
    }

    /// Whom runners have to trust.
    pub(super) fn authority(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.trust.path())?)
    }

    /// Queues one job that takes so long.
    pub(super) fn queue_one(&self, seconds: f64) -> Result<()> {
        let spec = JobSpec { seconds, ..JobSpec::new("build", &["self-hosted", LABEL]) };
        self.simulator.queue(REPOSITORY, &[spec]).context("the repository is there").map(drop)
    }

    /// Queues jobs; the deliveries that tell of them.
    pub(super) async fn queue(&self, count: usize) -> Result<Vec<Request<Bytes>>> {
        let spec = JobSpec::new("build", &["self-hosted", LABEL]);
        let mut left = count;
        while left > 0 {
            let jobs = vec![spec.clone(); left.min(RUN)];
            self.simulator.queue(REPOSITORY, &jobs).context("the repository is there")?;
            left -= jobs.len();
        }
        let mut deliveries = Vec::new();
        for _ in 0..count {
            deliveries.push(self.next().await?);
        }
        Ok(deliveries)
    }

    /// The next delivery that has not left.
    pub(super) async fn next(&self) -> Result<Request<Bytes>> {
        self.caught.lock().await.recv().await.context("GitHub is there")
    }
}
