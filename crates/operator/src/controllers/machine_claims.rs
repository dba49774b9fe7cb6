//! Looks after `MachineClaims`: a VM each, made, watched and removed.
//!
//! What is decided stands in [`fleet::claim`]. Here it is found out what a decision needs, with as few calls as the step
//! allows ([`look`]), and carried out ([`deed`]; what concerns the CI platform, in the background: [`farewell`]). Who
//! proves to be the agent is the bootstrap service's business.

mod deed;
mod farewell;
pub(crate) mod figures;
mod look;
mod notes;
mod place;
mod seed;
mod supply;
mod wiring;

use std::sync::Arc;
use std::time::Duration;

use api::registry::finalizer::VM_CLEANUP;
use api::{
    Condition, HypervisorCluster, HypervisorMachineTemplate, MachineClaim, MachineClaimStatus, Reason, Step as Where,
};
use chassis::Clock;
use fleet::claim::{self, CONDITIONS, Gate, Job, Life, Offer, Policy, Reach, Runner, Sight, Step};
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::{Client, ResourceExt};
use providers::hypervisor::Bytes;
use reconcile::{Backoff, Fault, Plan, Violation};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Key, Severity, Writer};

use self::farewell::Farewells;
use self::look::Subject;
use self::notes::Notes;
use self::supply::Supply;
pub use self::wiring::{Memory, wire};
use super::hypervisor_clusters::target;
use crate::Duty;
use crate::chance::{Chance, real_chance};
use crate::platforms::Platforms;
use crate::site::{Site, Sites, Want};

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: MachineClaims::NAME,
    summary: "makes a VM for each claim and removes it without a trace",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["machineclaims"],
            verbs: &["list", "watch", "patch", "delete"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["machineclaims/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisorclusters", "hypervisormachinetemplates"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        // The authority that machines know the bootstrap service by.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get", "create"], scope: Scope::Own },
        // The labels of a namespace decide what is shared with it.
        Rule { groups: &[""], resources: &["namespaces"], verbs: &["get"], scope: Scope::Cluster },
    ],
};

/// What it reads beside its claims.
#[derive(Clone)]
pub struct Sources {
    /// The templates that claims name.
    pub templates: Cache<HypervisorMachineTemplate>,
    /// The clusters that templates name.
    pub clusters: Cache<HypervisorCluster>,
    /// All claims, for the numbers that they hold.
    pub claims: Cache<MachineClaim>,
    /// Where their runners are registered.
    pub platforms: Arc<dyn Platforms>,
}

/// Where an agent has to prove itself.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The service's address, as machines reach it.
    pub url: String,
    /// Whose certificates it has, in PEM.
    pub authority: String,
    /// The same as [`protocol::PIN`], for seeds without room.
    pub pin: String,
}

/// Finds out where agents have to prove themselves; the message if they cannot.
pub type Invite = Arc<dyn Fn() -> BoxFuture<'static, Result<Result<Invitation, String>, Fault>> + Send + Sync>;

/// How failed attempts are repeated, unless the template says otherwise; asked anew each time.
pub type AskPolicy = Arc<dyn Fn() -> Policy + Send + Sync>;

/// How failed attempts are repeated, unless somebody says otherwise.
pub const POLICY: Policy = Policy {
    backoff: Backoff { initial: Duration::from_secs(5), factor: 2.0, max: Duration::from_mins(5), jitter: 0.2 },
    attempts: 10,
};

/// Starts it.
pub fn spawn(host: &Host, sites: &Sites, sources: &Sources, invite: Invite, policy: AskPolicy) {
    let controller = MachineClaims::new(sites, sources, &host.client, host.parts.clock, real_chance(), invite, policy);
    let memory = controller.memory();
    wire(host.driver(controller, &sources.claims), memory, sites, sources).spawn();
}

/// The controller.
pub struct MachineClaims {
    sites: Sites,
    sources: Sources,
    client: Client,
    clock: Clock,
    chance: Chance,
    invite: Invite,
    policy: AskPolicy,
    notes: Notes,
    farewells: Farewells,
}

/// What became of our tasks.
#[derive(Debug, PartialEq, Eq)]
enum Polled {
    /// None is under way.
    Free,
    /// One is under way.
    Busy,
    /// That could not be found out, for this reason.
    Unknown(String),
}

/// A claim as it is, with what a VM is made from.
pub struct Observed {
    seen: claim::Observed,
    supply: Option<Supply>,
    site: Option<Arc<Site>>,
}

impl MachineClaims {
    /// A controller that makes machines on the hypervisors of `sites`.
    pub fn new(
        sites: &Sites,
        sources: &Sources,
        client: &Client,
        clock: Clock,
        chance: Chance,
        invite: Invite,
        policy: AskPolicy,
    ) -> Self {
        let (sites, sources, client) = (sites.clone(), sources.clone(), client.clone());
        let (notes, farewells) = (Notes::new(), Farewells::default());
        Self { sites, sources, client, clock, chance, invite, policy, notes, farewells }
    }

    /// What it remembers.
    pub fn memory(&self) -> Memory {
        Memory { notes: self.notes.clone(), farewells: self.farewells.clone(), clock: self.clock }
    }

    /// A claim without an allocation: is there something to make its VM from, and where would it go?
    async fn gated(&self, claim: Arc<MachineClaim>) -> Result<Observed, Fault> {
        let (gate, supply) = self.gate(&claim).await?;
        let offer = supply.as_ref().map_or(Offer::Unasked, |supply| self.offer(&claim, supply));
        let policy = self.policy(supply.as_ref());
        let seen = claim::Observed { gate, offer, policy, ..nothing_seen(claim) };
        Ok(Observed { seen, supply, site: None })
    }

    fn policy(&self, supply: Option<&Supply>) -> Policy {
        let usual = (self.policy)();
        let Some(own) = supply.and_then(|supply| supply.template.spec.backoff.as_ref()) else { return usual };
        let backoff = Backoff { initial: own.initial.as_duration(), max: own.max.as_duration(), ..usual.backoff };
        Policy { backoff, attempts: u32::from(own.max_attempts) }
    }

    /// A claim that has, or may have, a VM.
    async fn allocated(&self, claim: Arc<MachineClaim>, stage: Where) -> Result<Observed, Fault> {
        let Some(held) = allocation(&claim).cloned() else { return self.gated(claim).await };
        let cluster = target(&held.cluster_ref, &claim.metadata);
        self.sites.enlist(&cluster, held.vm_id, &Key::of(&claim.metadata));
        let away = |why: String| Reach::Away(format!("HypervisorCluster {cluster} {why}"));
        let site = self.sites.get(&cluster).filter(|site| site.inventory().is_some());
        let Some(site) = site else {
            let reach = away("is not connected; its machines are left as they are".to_owned());
            let seen = claim::Observed { reach, policy: self.policy(None), ..nothing_seen(claim) };
            return Ok(Observed { seen, supply: None, site: None });
        };
        let seen = claim::Observed { policy: self.policy(None), ..nothing_seen(claim) };
        let mut observed = Observed { seen, supply: None, site: Some(site) };
        let polled = self.poll(&observed).await;
        // Only a VM that is being made needs what it is made from, and none while all there is to do is to wait.
        if stage == Where::Allocated && polled == Polled::Free {
            let (gate, supply) = self.gate(&observed.seen.claim).await?;
            observed.seen.gate = gate;
            observed.seen.policy = self.policy(supply.as_ref());
            observed.supply = supply;
        }
        observed.enter(&held);
        self.inquire(&mut observed, stage, polled).await;
        Ok(observed)
    }

    /// Asks how our tasks stand.
    async fn poll(&self, observed: &Observed) -> Polled {
        let Some(subject) = observed.subject() else { return Polled::Free };
        let (claim, allocation) = (uid(subject.claim), subject.allocation.id.as_str());
        let mut note = self.notes.of(&claim, allocation);
        let polled = match subject.poll(&mut note, self.clock.now()).await {
            Err(why) => Polled::Unknown(why),
            Ok(()) if note.tasks.is_empty() => Polled::Free,
            Ok(()) => Polled::Busy,
        };
        self.notes.keep(&claim, note);
        polled
    }

    async fn gate(&self, claim: &MachineClaim) -> Result<(Gate, Option<Supply>), Fault> {
        Ok(match self.supply(claim).await? {
            Err(obstacle) => (Gate::Closed(obstacle), None),
            Ok(supply) => (Gate::Open(supply.terms(claim)), Some(supply)),
        })
    }

    /// Asks the hypervisor what the step needs to know.
    async fn inquire(&self, observed: &mut Observed, stage: Where, polled: Polled) {
        let (claim, site) = (uid(&observed.seen.claim), observed.site.clone());
        let (sight, life, errands) = {
            let Some(subject) = observed.subject() else { return };
            let mut note = self.notes.of(&claim, subject.allocation.id.as_str());
            let (sight, life) = match polled {
                Polled::Free => subject.see(stage, &mut note, self.clock.now()).await,
                Polled::Busy => (Sight::Unasked, Life::Unknown),
                Polled::Unknown(why) => (Sight::Unknown(why), Life::Unknown),
            };
            let busy = site.filter(|_| note.tasks.is_empty()).and_then(|site| {
                let supply = observed.supply.as_ref().filter(|_| {
                    stage == Where::Allocated
                        && !note.done.contains(&Job::Start)
                        && clones(&observed.seen, &sight, self.clock.now())
                });
                let Some(supply) = supply else {
                    // Who does not clone now is not in the way of those who would.
                    site.cloned(&claim, false);
                    return None;
                };
                let Supply { cluster, template, image, .. } = supply;
                site.turn(&Want { claim: &claim, cluster, template, image }).err()
            });
            let mut errands = note.errands(self.notes.age(), busy, self.clock.now());
            if matches!(sight, Sight::Unknown(_)) {
                errands.running = None;
            }
            self.notes.keep(&claim, note);
            (sight, life, errands)
        };
        observed.seen.sight = sight;
        observed.seen.life = life;
        observed.seen.errands = errands;
    }
}

impl Observed {
    /// Counts its machine among those of its site.
    fn enter(&self, held: &api::Allocation) {
        let memory = self.supply.as_ref().map_or(0, |supply| supply.template.spec.resources.memory.bytes());
        if let Some(site) = &self.site {
            site.recall(&uid(&self.seen.claim), held, memory);
        }
    }

    /// The VM that somebody may have to look at or change.
    fn subject(&self) -> Option<Subject<'_>> {
        let (claim, site) = (&self.seen.claim, self.site.as_ref()?);
        let allocation = allocation(claim)?;
        let vm = site.whereabouts(allocation.vm_id, &allocation.node).ok()?;
        let template = self.supply.as_ref().map(|supply| &supply.template.spec);
        Some(Subject {
            claim,
            allocation,
            site,
            vm,
            id: allocation.id.as_str().parse().ok()?,
            disk: template.map(|spec| Bytes(spec.resources.disk.bytes())),
        })
    }
}

/// Whether a clone is next for a claim whose number was looked at.
fn clones(seen: &claim::Observed, sight: &Sight, now: Timestamp) -> bool {
    let rests = seen.claim.status.as_ref().and_then(|status| claim::due(status, &seen.policy, now)).is_some();
    let free = match sight {
        Sight::Unasked => true,
        Sight::Absent { remains } => remains.is_empty(),
        Sight::Unknown(_) | Sight::Locked { .. } | Sight::Foreign { .. } | Sight::Ours { .. } => false,
    };
    free && !rests
}

fn allocation(claim: &MachineClaim) -> Option<&api::Allocation> {
    claim.status.as_ref()?.allocation.as_ref()
}

fn uid(claim: &MachineClaim) -> String {
    claim.uid().unwrap_or_default()
}

/// A claim of which nothing was asked.
fn nothing_seen(claim: Arc<MachineClaim>) -> claim::Observed {
    claim::Observed {
        claim,
        gate: Gate::Unasked,
        offer: Offer::Unasked,
        reach: Reach::Connected,
        errands: claim::Errands::default(),
        sight: Sight::Unasked,
        life: Life::Unknown,
        runner: Runner::default(),
        policy: POLICY,
    }
}

impl Controller for MachineClaims {
    type Object = MachineClaim;
    type Observed = Observed;
    type Step = Step;
    type Status = MachineClaimStatus;

    const NAME: &'static str = "machine-claims";
    const FINALIZER: Option<&'static str> = Some(VM_CLEANUP);
    const CONDITIONS: &'static [&'static str] = CONDITIONS;

    fn begin(&self) {
        self.notes.begin();
        self.farewells.begin();
        self.sites.begin();
    }

    async fn observe(&self, claim: Arc<MachineClaim>) -> Result<Observed, Fault> {
        let stage = claim::stage(&claim);
        // Before its finalizer is on, nothing is promised to it.
        let kept = claim.finalizers().iter().any(|name| name == VM_CLEANUP);
        if stage == Where::Gone || (stage == Where::Gated && !kept) {
            return Ok(Observed { seen: nothing_seen(claim), supply: None, site: None });
        }
        if stage == Where::Gated {
            return self.gated(claim).await;
        }
        let runner = self.runner(&claim);
        // The number of a VM that is gone may be another one's by now.
        let mut observed = if claim::holds_machine(&claim) {
            self.allocated(claim, stage).await?
        } else {
            Observed { seen: nothing_seen(claim), supply: None, site: None }
        };
        observed.seen.runner = runner;
        Ok(observed)
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Step, MachineClaimStatus> {
        claim::plan(&observed.seen, now)
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, MachineClaimStatus>) -> Vec<Violation> {
        claim::audit(&observed.seen, plan)
    }

    async fn execute(&self, observed: &Observed, step: Step, writer: &Writer) -> Result<(), Fault> {
        match step {
            Step::Delete => writer.delete(&*observed.seen.claim).await,
            Step::Deregister { mode, .. } => self.part(&observed.seen.claim, &step, mode),
            Step::Clone
            | Step::StageSeed
            | Step::Resize
            | Step::Configure
            | Step::Start
            | Step::DetachSeed
            | Step::DiscardSeed
            | Step::Stop
            | Step::Destroy
            | Step::RemoveLeftover(_) => self.act(observed, &step).await,
        }
    }

    fn severity(&self, condition: &Condition) -> Severity {
        let expected = [
            Reason::Booting,
            Reason::AgentAttested,
            Reason::Finished,
            Reason::ClaimDeleted,
            Reason::Draining,
            Reason::IdleTimeout,
        ];
        let usual = expected.iter().any(|reason| reason.as_str() == condition.reason);
        if condition.status == "False" && !usual { Severity::Warning } else { Severity::Normal }
    }
}
