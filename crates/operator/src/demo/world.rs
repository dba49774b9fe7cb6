//! The demo's world: an API server, a hypervisor with three nodes, a GitHub, and what is known of all of them.
//!
//! Everything but the operator is here from the beginning; that comes and goes ([`super::operate`]).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use kube::ResourceExt;
use runtime::{Cache, Parts, Selection};
use sim::proxmox::{Authority, Fixture, Release, Transport};
use sim::{github, proxmox};

use super::fault::Fault;
use super::guests::Guests;
use super::home::Home;
use super::story::{self, Places};
use super::tempo::Tempo;
use crate::cli::VERSION;
use crate::single::{HISTORY, Keys, Options, Single};

/// Everything but the operator.
pub(super) struct World {
    pub(super) clock: Clock,
    pub(super) single: Single,
    pub(super) pve: proxmox::Simulator,
    pub(super) github: github::Simulator,
    pub(super) guests: Guests,
    pub(super) known: Known,
    pub(super) doors: Doors,
    /// What a person would apply.
    pub(super) story: Vec<serde_json::Value>,
    /// Addresses of the hypervisor and of GitHub.
    pub(super) addresses: [String; 2],
    /// What ends last: API server, simulators and watches.
    tasks: Tasks,
}

/// The operator's own ports, the same after a restart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doors {
    /// Where machines prove themselves.
    pub(super) machines: u16,
    /// Where platforms deliver.
    pub(super) platforms: u16,
    /// Where people look.
    pub(super) console: u16,
}

/// What the API says.
pub(super) struct Known {
    pub(super) clusters: Cache<HypervisorCluster>,
    pub(super) templates: Cache<HypervisorMachineTemplate>,
    pub(super) sources: Cache<RunnerSource>,
    pub(super) pools: Cache<RunnerPool>,
    pub(super) jobs: Cache<RunnerJob>,
    pub(super) claims: Cache<MachineClaim>,
}

impl World {
    /// Starts it, with its files in `home`.
    pub(super) async fn start(home: &Home, tempo: Tempo, fault: Option<Fault>) -> anyhow::Result<Self> {
        let (clock, tasks) = (Clock::system(), Tasks::new());
        let single = Single::start(
            Options {
                clock,
                storage: Box::new(apiserver::store::Memory),
                history: HISTORY,
                listen: any(),
                names: Vec::new(),
                keys: Keys::fresh(clock.now()).context("the API server has no keys")?,
            },
            &tasks,
        );
        let single = single.await.context("the API server cannot be started")?;
        let (trust, machines) = (home.path().join("github-ca.pem"), home.path().join("machines"));
        let guests = Guests::new(machines, trust.clone(), clock);
        let (pve, hypervisor) = hypervisor(&guests, tempo, clock, &tasks).await?;
        let (github, platform) = platform(&trust, clock, &tasks).await?;
        let key = github.app_key();
        let story = story::objects(&Places {
            hypervisor: (&hypervisor.url, &hypervisor.authority),
            github: (&platform.url, &platform.authority),
            key: &key.pem(),
            bootstrap: &Fault::bootstrap(fault, tempo),
        });
        let parts = Parts { clock, tasks: tasks.clone(), health: Health::new(), metrics: Metrics::new(VERSION) };
        let known = Known::follow(&single, &parts);
        let doors = Doors::find().context("no port is free on this machine")?;
        let addresses = [hypervisor.url, platform.url];
        Ok(Self { clock, single, pve, github, guests, known, doors, story, addresses, tasks })
    }

    /// The number of the VM with this runner, as its claim says.
    pub(super) fn machine_of(&self, runner: &str) -> Option<u32> {
        self.known.claims.all().iter().find_map(|claim| {
            let status = claim.status.as_ref()?;
            let is = status.runner.as_ref().is_some_and(|known| known.name == runner);
            is.then(|| status.allocation.as_ref().map(|held| held.vm_id.0))?
        })
    }

    /// Every VM and image: its number, its node, and whether it is an image.
    pub(super) fn nodes(&self) -> Vec<(u32, String, bool)> {
        let state = self.pve.state();
        let vms = state["vms"].as_array().into_iter().flatten();
        let place = |vm: &serde_json::Value| {
            let number = u32::try_from(vm["vmid"].as_u64()?).ok()?;
            Some((number, vm["node"].as_str()?.to_owned(), vm["template"] == true))
        };
        vms.filter_map(place).collect()
    }

    /// Where GitHub delivers, once the source that it calls has a path.
    pub(super) fn webhook(&self) -> Option<String> {
        let sources = self.known.sources.all();
        let source = sources.iter().find(|source| source.name_any() == story::CALLER)?;
        let path = source.status.as_ref()?.webhook_path.clone()?;
        Some(format!("http://127.0.0.1:{}{path}", self.doors.platforms))
    }

    /// Ends it. Whatever does not end in time ends with the process.
    pub(super) async fn end(self, grace: Duration) {
        if let Err(leftover) = self.tasks.shutdown(grace).await {
            tracing::warn!(%leftover, "the demo's world does not end");
        }
    }
}

impl Known {
    fn follow(single: &Single, parts: &Parts) -> Self {
        let (all, client) = (Selection::default(), single.admin());
        Self {
            clusters: Cache::spawn(&all, &client, parts),
            templates: Cache::spawn(&all, &client, parts),
            sources: Cache::spawn(&all, &client, parts),
            pools: Cache::spawn(&all, &client, parts),
            jobs: Cache::spawn(&all, &client, parts),
            claims: Cache::spawn(&all, &client, parts),
        }
    }
}

impl Doors {
    /// Two ports that are free now.
    fn find() -> io::Result<Self> {
        let port = || std::net::TcpListener::bind(any());
        let all = [port()?, port()?, port()?];
        let [machines, platforms, console] = all.each_ref().map(|door| door.local_addr().map(|address| address.port()));
        Ok(Self { machines: machines?, platforms: platforms?, console: console? })
    }
}

/// Any port of this machine that only it can reach.
fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Where a server is, and whom to trust for it.
struct Place {
    url: String,
    authority: String,
}

async fn hypervisor(
    guests: &Guests,
    tempo: Tempo,
    clock: Clock,
    tasks: &Tasks,
) -> anyhow::Result<(proxmox::Simulator, Place)> {
    let options = proxmox::Options {
        profile: tempo.profile(),
        limits: Tempo::hypervisor(),
        hook: guests.hook(),
        ..proxmox::Options::new(Release::V9, Fixture::Demo, clock)
    };
    let simulator = proxmox::Simulator::new(options, tasks);
    let (transport, authority) = transport()?;
    let server = proxmox::Server::start(&simulator, any(), transport).await;
    let server = server.context("the simulated hypervisor cannot listen")?;
    Ok((simulator, Place { url: format!("https://{}", server.address()), authority }))
}

async fn platform(trust: &Path, clock: Clock, tasks: &Tasks) -> anyhow::Result<(github::Simulator, Place)> {
    let options = github::Options { limits: Tempo::github(), ..github::Options::new(clock) };
    let simulator = github::Simulator::new(options, tasks);
    let (transport, authority) = transport()?;
    std::fs::write(trust, &authority).with_context(|| format!("{} cannot be written", trust.display()))?;
    let server = github::Server::start(&simulator, any(), transport).await;
    let server = server.context("the simulated GitHub cannot listen")?;
    Ok((simulator, Place { url: server.web().to_owned(), authority }))
}

/// TLS with an authority of its own.
fn transport() -> anyhow::Result<(Transport, String)> {
    let authority = Authority::new(&["localhost", "127.0.0.1"]).context("a certificate cannot be made")?;
    let pem = authority.pem().to_owned();
    Ok((Transport::Tls(Arc::new(authority)), pem))
}
