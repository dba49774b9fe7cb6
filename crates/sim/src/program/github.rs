//! `hyperfleet-sim github`: GitHub Actions as a server.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use chassis::{Clock, Tasks};
use clap::Args;
use sim::github::{
    APP_ID, CLIENT_ID, FaultKind, HOOK_SECRET, Handover, INSTALLATION_ID, Limits, ORGANIZATION, Options,
    PERSONAL_TOKEN, REPOSITORY, Rates, Server, Simulator,
};
use sim::proxmox::{Authority, Transport};

/// GitHub Actions as a control plane sees it: the REST API, webhooks, the scale-set service, and runners' jobs.
#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct Github {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Serve http instead of https.
    #[arg(long)]
    plain: bool,
    /// Everything random follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the certificate that clients must trust to this file.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Certificates that receivers of webhooks may have, beside none; without them hooks go out over plain http only.
    #[arg(long, value_name = "FILE")]
    hook_ca_file: Option<PathBuf>,
    /// Write the App's private key to this file.
    #[arg(long, value_name = "FILE")]
    app_key_file: Option<PathBuf>,
    /// Let listeners acquire jobs, instead of assigning them by their capacity.
    #[arg(long)]
    acquire: bool,
    /// Count nobody's requests, as GitHub Enterprise Server does unless it is told to.
    #[arg(long)]
    unlimited: bool,
    /// Divide the waits of the real service (50 s for a poll, 30 s until `busy` is true ...).
    #[arg(long, default_value_t = 1, value_name = "N")]
    faster: u32,
}

fn after_help() -> String {
    let faults: Vec<String> =
        FaultKind::ALL.iter().map(|kind| serde_json::json!(kind).as_str().unwrap_or_default().to_owned()).collect();
    format!(
        "Try it:\n  hyperfleet-sim github --plain --listen 127.0.0.1:8080 &\n  curl -H 'Authorization: Bearer {PERSONAL_TOKEN}' \\\n       \
         http://127.0.0.1:8080/api/v3/orgs/{ORGANIZATION}/actions/runners\n  \
         curl -d '{{\"jobs\": [{{\"name\": \"build\", \"seconds\": 5}}]}}' http://127.0.0.1:8080/sim/runs\n\n\
         There is the organisation {ORGANIZATION} with the repository {REPOSITORY}; the App {APP_ID} (client id\n\
         {CLIENT_ID}) is installed there as {INSTALLATION_ID}. Hooks have the secret \"{HOOK_SECRET}\"\n\
         unless they are given another.\n\n\
         Control, on a loopback address only:\n  \
         GET  /sim/state, /sim/history, /sim/calls, /sim/faults\n  \
         PUT  /sim/faults             a list of rules; [] clears them\n  \
         PUT  /sim/weather            {{\"lose\": 0.05, \"fail\": 0, \"duplicate\": 0.1, \"delay_seconds\": 5}}\n  \
         POST /sim/runs               {{\"repository\": \"{REPOSITORY}\", \"jobs\": [{{\"name\": \"build\", \"labels\": [\"self-hosted\"]}}]}}\n  \
         POST /sim/runs/ID/cancel, /sim/jobs/ID/approve\n  \
         POST /sim/hooks              {{\"owner\": \"app\", \"url\": \"http://127.0.0.1:9000/\"}}\n\n\
         Faults, as {{\"kind\": \"answer\", \"status\": 502, \"path\": \"/runners\"}}, with method, path, skip, times (0: always),\n\
         chance, seconds and status where they make sense:\n  {}",
        faults.join(", ")
    )
}

pub(crate) async fn serve(args: Github) -> Result<()> {
    let tasks = Tasks::new();
    let mut limits = Limits::REAL.faster(args.faster.max(1));
    if args.unlimited {
        limits.rates = Rates { core: None, ..limits.rates };
    }
    let handover = if args.acquire { Handover::Acquire } else { Handover::Direct };
    let hook_trust = args.hook_ca_file.as_deref().map(sim::github::trusting).transpose();
    let hook_trust = hook_trust.context("read the certificates of receivers")?;
    let options = Options { seed: args.seed, limits, handover, hook_trust, ..Options::new(Clock::system()) };
    let simulator = Simulator::new(options, &tasks);
    if let Some(path) = &args.app_key_file {
        std::fs::write(path, simulator.app_key().pem()).with_context(|| format!("write {}", path.display()))?;
    }
    let mut fingerprint = None;
    let transport = if args.plain {
        Transport::Plain
    } else {
        let host = args.listen.ip().to_string();
        let names = ["localhost", "127.0.0.1", "::1", host.as_str()];
        let authority = Authority::new(&names).context("make a certificate")?;
        if let Some(path) = &args.ca_file {
            std::fs::write(path, authority.pem()).with_context(|| format!("write {}", path.display()))?;
        }
        fingerprint = Some(authority.fingerprint());
        Transport::Tls(Arc::new(authority))
    };
    let server = Server::start(&simulator, args.listen, transport);
    let server = server.await.with_context(|| format!("listen on {}", args.listen))?;
    writeln!(std::io::stdout().lock(), "GitHub at {0}, its API at {0}/api/v3", server.web())?;
    if let Some(fingerprint) = fingerprint {
        writeln!(std::io::stdout().lock(), "its certificate's fingerprint is {fingerprint}")?;
    }
    tokio::signal::ctrl_c().await.context("wait for the end")?;
    tasks.shutdown(Duration::from_secs(5)).await.context("end")
}
