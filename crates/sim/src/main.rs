//! `hyperfleet-sim`: simulated worlds as servers, for demos, for clients of others, and for the curious.

mod program;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use chassis::{Clock, Tasks};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use sim::proxmox::{Authority, FaultId, Fixture, Limits, Options, Profile, Release, Server, Simulator, Transport};
use std::io::Write as _;

/// Simulated worlds, as servers.
#[derive(Debug, Parser)]
#[command(name = "hyperfleet-sim", version)]
struct Cli {
    #[command(subcommand)]
    world: WorldCommand,
}

#[derive(Debug, Subcommand)]
enum WorldCommand {
    /// A Proxmox VE cluster behind its HTTP API.
    Proxmox(Proxmox),
    /// GitHub Actions: the REST API, webhooks, the scale-set service, runners' jobs.
    Github(program::github::Github),
    /// A stand-in for GitHub's runner.
    Runner(program::runner::Runner),
}

/// A Proxmox VE cluster behind its HTTP API.
///
/// It answers as recorded real Proxmox code does, down to reason phrases, closed connections, locks that time out and
/// statistics that lag.
#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
struct Proxmox {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8006")]
    listen: SocketAddr,
    /// Which Proxmox VE.
    #[arg(long, default_value = "9.2", value_parser = PossibleValuesParser::new(["8.4", "9.2"]))]
    version: String,
    /// What is there at the start.
    ///
    /// golden: the cluster that real answers were recorded from (node vm, and pve2 with VM 150; storages local, store,
    /// shr and off1; no statistics). demo: three nodes with an image each, for trying things out.
    #[arg(long, default_value = "demo", value_parser = PossibleValuesParser::new(["golden", "demo"]))]
    fixture: String,
    /// How long things take.
    ///
    /// zero: no time at all. nvme-linked: local flash, linked clones. lvmthin-full: every machine is a full copy. ceph:
    /// replicated storage with one lock for all nodes.
    #[arg(long, default_value = "zero", value_parser = PossibleValuesParser::new(Profile::ALL.map(|profile| profile.name)))]
    profile: String,
    /// Serve http instead of https.
    #[arg(long)]
    plain: bool,
    /// Everything random follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the certificate that clients must trust to this file.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    guests: program::guests::Guests,
    /// Divide the fixed delays of the real programs (3 s before a 401, 10 s for a lock, 10 s between statistics ...).
    #[arg(long, default_value_t = 1, value_name = "N")]
    faster: u32,
}

fn after_help() -> String {
    let faults: Vec<String> = FaultId::ALL.iter().map(|id| format!("  {}  {}", id.as_str(), id.what())).collect();
    let faults = faults.join("\n");
    format!(
        "Try it:\n  hyperfleet-sim proxmox --plain &\n  curl -H 'Authorization: PVEAPIToken=op@pve!hf=11111111-1111-4111-8111-111111111111' \\\n       \
         http://127.0.0.1:8006/api2/json/cluster/resources\n\n\
         Users: op@pve (password golden) and its token op@pve!hf may do all that a VM's life needs; min@pve!tk only within\n\
         the pool hf. Both tokens have the secret shown above.\n\n\
         Control, on a loopback address only:\n  \
         GET  /sim/state, /sim/history, /sim/calls, /sim/faults\n  \
         PUT  /sim/faults             a list of rules; [] clears them\n  \
         POST, DELETE /sim/locks/vm/VMID and /sim/locks/storage/ID\n  \
         PUT  /sim/vms/VMID/lock      {{\"lock\": \"clone\"}} or {{\"lock\": null}}\n  \
         POST /sim/vms/VMID/power-off what a guest does that shuts itself down\n\n\
         Faults, as {{\"id\": \"F-12\", \"vmid\": 101}}, with method, path, vmid, node, storage, skip, times (0: always),\n\
         chance, seconds and variant where they make sense:\n{faults}"
    )
}

fn main() -> ExitCode {
    match run(Cli::parse_from(arguments())) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "hyperfleet-sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What it was called with; under the name of GitHub's runner it is that, with the same arguments.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().map(PathBuf::from).unwrap_or_default();
    if name.file_name().is_some_and(|name| name == program::runner::NAME) {
        arguments.insert(1, "runner".into());
    }
    arguments
}

fn run(cli: Cli) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start the runtime")?;
    match cli.world {
        WorldCommand::Proxmox(args) => runtime.block_on(serve(args)).map(|()| ExitCode::SUCCESS),
        WorldCommand::Github(args) => runtime.block_on(program::github::serve(args)).map(|()| ExitCode::SUCCESS),
        WorldCommand::Runner(args) => runtime.block_on(program::runner::run(args)),
    }
}

async fn serve(args: Proxmox) -> Result<()> {
    let tasks = Tasks::new();
    let release = if args.version == "8.4" { Release::V8 } else { Release::V9 };
    let options = Options {
        release,
        fixture: Fixture::named(&args.fixture).context("the fixture is one that --help lists")?,
        profile: Profile::named(&args.profile).context("the profile is one that --help lists")?,
        seed: args.seed,
        limits: Limits::REAL.faster(args.faster.max(1)),
        hook: args.guests.hook(|trouble| drop(writeln!(std::io::stderr().lock(), "hyperfleet-sim: {trouble}"))),
        ..Options::new(release, Fixture::Demo, Clock::system())
    };
    let simulator = Simulator::new(options, &tasks);
    let mut fingerprint = None;
    let (transport, scheme) = if args.plain {
        (Transport::Plain, "http")
    } else {
        let host = args.listen.ip().to_string();
        let authority =
            Authority::new(&["localhost", "127.0.0.1", "::1", host.as_str()]).context("make a certificate")?;
        if let Some(path) = &args.ca_file {
            std::fs::write(path, authority.pem()).with_context(|| format!("write {}", path.display()))?;
        }
        fingerprint = Some(authority.fingerprint());
        (Transport::Tls(Arc::new(authority)), "https")
    };
    let server = Server::start(&simulator, args.listen, transport);
    let server = server.await.with_context(|| format!("listen on {}", args.listen))?;
    writeln!(
        std::io::stdout().lock(),
        "Proxmox VE {} ({}, {}) at {scheme}://{}/api2/json",
        release.version(),
        args.fixture,
        args.profile,
        server.address()
    )?;
    if let Some(fingerprint) = fingerprint {
        writeln!(std::io::stdout().lock(), "its certificate's fingerprint is {fingerprint}")?;
    }
    tokio::signal::ctrl_c().await.context("wait for the end")?;
    tasks.shutdown(Duration::from_secs(5)).await.context("end")
}
