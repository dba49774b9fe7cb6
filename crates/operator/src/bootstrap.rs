//! The bootstrap service: where a fresh machine proves itself and is told what to do.
//!
//! ```text
//!   agent ── TLS 1.3, own key ──▶ listen ─▶ router ─▶ limits ─▶ Bootstrap ─▶ attestor, fleet::bootstrap (pure)
//!                                                                  │
//!                                        Ledger: claims by id and key, from the watch; compare and swap
//! ```
//!
//! It runs on every replica, whoever leads. Nobody is found by a secret: a claim is found by its public id, or by the key
//! that the caller proves to hold. (The files for cloud-init, which can prove nothing and in which nothing is secret, are
//! found by a name that only the machine's firmware has.) What it decides is written before it is answered, and only if the claim is still what
//! it was decided on; so a token works once. Whoever is refused learns nothing but that.

mod advertise;
mod attestor;
mod authority;
mod cloud;
mod denial;
mod enrol;
mod ledger;
mod limits;
mod listen;
mod peer;
mod registrations;
mod requests;
mod router;
mod service;
mod words;
mod work;

use std::time::Duration;

use api::{Digest, MachineClaim};
use chassis::health::Gate;
use chassis::serve::Bind;
use providers::hex;
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Selection};
use sha2::{Digest as _, Sha256};

pub use advertise::{AdvertiseError, Advertised};
pub use attestor::{Attestor, Case, JoinToken, Verdict};
pub use authority::{Authority, AuthorityError, Leaf, LeafError, SECRET as AUTHORITY};
pub use listen::{Charter, serve};
pub use peer::Peer;
pub use registrations::REGISTRATIONS;
pub use requests::REQUESTS;
pub use router::router;
pub use service::Bootstrap;

use crate::Duty;
use crate::outpost::Outposts;
use crate::transfer::Hold;

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: NAME,
    summary: "believes fresh machines, and tells them what to do",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["machineclaims"],
            verbs: &["get", "list", "watch"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["machineclaims/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        // What a machine's cloud-init is told comes from these.
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisormachinetemplates", "hypervisorclusters"],
            verbs: &["get"],
            scope: Scope::Watched,
        },
        // Whether a machine's pool still wants it.
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerpools"],
            verbs: &["get"],
            scope: Scope::Watched,
        },
        // Where runners are registered, and with what.
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnersources"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get"], scope: Scope::Watched },
        // The authority that machines know us by.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get", "create"], scope: Scope::Own },
    ],
};

const NAME: &str = "bootstrap";

/// The pause after something that must be there was not.
const PAUSE: Duration = Duration::from_secs(5);

/// SHA-256 as it stands in bootstrap records.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::new(hex::encode(&Sha256::digest(bytes)))
}

/// Starts it over `claims`, on the address that the settings give.
pub fn spawn(host: &Host, claims: &Cache<MachineClaim>, outposts: &Outposts, hold: &Hold) {
    let bind = host.live.effective.borrow().bind("bootstrap.listen");
    if bind == Bind::Off {
        tracing::warn!("bootstrap.listen is 0: this replica believes no machine");
        return;
    }
    let selection = Selection::namespaces(&host.settings.namespaces);
    let service = Bootstrap::new(&host.client, claims, outposts, &selection, &host.parts, &host.instance).heeding(hold);
    let advertised = Advertised::parse(host.live.effective.borrow().text("bootstrap.advertise")).ok().flatten();
    let opening = Opening {
        bind,
        advertised,
        service,
        claims: claims.clone(),
        client: host.client.clone(),
        namespace: host.namespace.clone(),
        parts: host.parts.clone(),
        gate: host.parts.health.gate(NAME),
        hold: hold.clone(),
    };
    let stopping = host.parts.tasks.stopping();
    host.parts.tasks.spawn(NAME, async move {
        tokio::select! {
            biased;
            () = stopping => {}
            () = opening.run() => {}
        }
    });
}

/// A service that is not open yet.
struct Opening {
    bind: Bind,
    advertised: Option<Advertised>,
    service: Bootstrap,
    claims: Cache<MachineClaim>,
    client: kube::Client,
    namespace: String,
    parts: runtime::Parts,
    gate: Gate,
    hold: Hold,
}

impl Opening {
    /// Opens the service as soon as everything is there, and says what it waits for until then.
    async fn run(mut self) {
        self.gate.wait("its cache");
        self.claims.synced().await;
        // Whoever came before that is known would hear "not now" from a service that calls itself ready.
        self.gate.wait("whether the fleet is on hold");
        self.hold.known().await;
        let authority = Charter::new(self.authority().await);
        loop {
            match serve(self.bind, &self.service, &authority, self.parts.clock, &self.parts.tasks).await {
                Ok(_) => break self.gate.open(),
                Err(error) => self.gate.wait(format!("its address: {error}")),
            }
            tokio::time::sleep(PAUSE).await;
        }
        // Machines that came with a fleet from elsewhere know only the authority that came with them.
        loop {
            self.hold.ended().await;
            authority.renew(self.authority().await);
        }
    }

    /// The authority, as soon as there is one.
    async fn authority(&self) -> Authority {
        let authority = loop {
            match Authority::load(&self.client, &self.namespace, self.parts.clock).await {
                Ok(Ok(authority)) => break authority,
                Ok(Err(error)) => self.gate.wait(format!("an administrator: {error}")),
                Err(fault) => self.gate.wait(format!("its authority: {fault}")),
            }
            tokio::time::sleep(PAUSE).await;
        };
        match &self.advertised {
            Some(advertised) => authority.called(advertised.host()),
            None => authority,
        }
    }
}
