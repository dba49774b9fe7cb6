//! The ingress: where CI platforms tell us of jobs.
//!
//! ```text
//!   platform ── POST /webhooks/{id} ──▶ body, not too much, not too slowly ─▶ whose? ─▶ signature of the raw bytes
//!                                          ─▶ parse ─▶ intake: created by name or swapped ─▶ 202
//! ```
//!
//! It runs on every replica, whoever leads. Nothing is read before its signature is right, nothing is answered with yes
//! before it is stored, and whoever is refused learns nothing but that: not even whether there is such a source. Deliveries
//! are hints; what gets lost is found by polling.
//!
//! Callers are not counted by where they call from: behind a load balancer they all call from there, and a flood of
//! forged deliveries must not keep the platform out. What a flood can take is bounded by the places there are.

mod deliveries;
mod refusal;
mod router;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::RunnerSource;
use chassis::Tasks;
use chassis::health::Gate;
use chassis::serve::{self, Bind, Certificate, Places, ServeError};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Parts};

pub use deliveries::EVENTS;
pub use router::{Ingress, router};

use crate::Duty;
use crate::outpost::{Caches, Intake, Outposts};

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: NAME,
    summary: "hears of jobs from CI platforms that call us",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnersources", "runnerpools", "machineclaims"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs"],
            verbs: &["get", "list", "watch", "create"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        // What deliveries are signed with, and how to ask about a job that comes back.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get"], scope: Scope::Watched },
    ],
};

const NAME: &str = "ingress";

/// The pause after something that must be there was not.
const PAUSE: Duration = Duration::from_secs(5);

/// With a body each, as large as it may be, they take 64 MiB.
const PLACES: Places = Places { connections: 64, handshakes: 32 };

/// What it serves with.
pub struct Means {
    /// The platforms that deliver.
    pub outposts: Outposts,
    /// The sources, by whose ids deliveries find them.
    pub sources: Cache<RunnerSource>,
    /// What is known of jobs.
    pub caches: Caches,
}

/// Starts it, on the address that the settings give.
pub fn spawn(host: &Host, means: &Means) {
    let (bind, directory) = {
        let effective = host.live.effective.borrow();
        (effective.bind("ingress.listen"), effective.text("ingress.certDir").to_owned())
    };
    if bind == Bind::Off {
        return;
    }
    let Means { outposts, sources, caches } = means;
    let intake = Intake::new(&host.client, &host.parts, NAME, &host.instance, caches);
    let service = Ingress::new(outposts, &intake, sources, &host.parts);
    let certificate = (!directory.is_empty()).then(|| PathBuf::from(directory));
    let known = (sources.clone(), caches.clone());
    let opening = Opening { bind, certificate, service, parts: host.parts.clone(), gate: host.parts.health.gate(NAME) };
    let stopping = host.parts.tasks.stopping();
    host.parts.tasks.spawn(NAME, async move {
        tokio::select! {
            biased;
            () = stopping => {}
            () = opening.run(known) => {}
        }
    });
}

/// An ingress that is not open yet.
struct Opening {
    bind: Bind,
    certificate: Option<PathBuf>,
    service: Ingress,
    parts: Parts,
    gate: Gate,
}

impl Opening {
    /// Opens it as soon as everything is there, and says what it waits for until then.
    async fn run(self, (sources, caches): (Cache<RunnerSource>, Caches)) {
        self.gate.wait("its caches");
        sources.synced().await;
        caches.synced().await;
        loop {
            match serve(self.bind, self.certificate.as_deref(), &self.service, &self.parts.tasks).await {
                Ok(_) => break self.gate.open(),
                Err(error) => self.gate.wait(format!("its address: {error}")),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Serves until `tasks` stop, over TLS if there is a directory with a certificate, and plain behind whatever brings one; the
/// address, unless switched off.
pub async fn serve(
    bind: Bind,
    certificate: Option<&Path>,
    service: &Ingress,
    tasks: &Tasks,
) -> Result<Option<SocketAddr>, ServeError> {
    let Some(mut listener) = serve::listen("the webhook ingress", bind).await? else { return Ok(None) };
    if let Some(directory) = certificate {
        let (chain, key) = (directory.join("tls.crt"), directory.join("tls.key"));
        listener = listener.with_tls(Certificate::from_files(&chain, &key).await?);
    }
    let address = listener.address();
    listener.with_places(PLACES).serve("webhook ingress", router(service), tasks);
    Ok(Some(address))
}
