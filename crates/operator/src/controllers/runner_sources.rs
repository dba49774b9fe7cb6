//! Looks after `RunnerSources`: says whether they can be used, and keeps them while anybody does.
//!
//! They are connected by the keepers of [`crate::outpost`], on every replica; this tells what those found.

use std::sync::Arc;
use std::time::Duration;

use api::{Condition, MachineClaim, RunnerPool, RunnerSource, RunnerSourceStatus};
use fleet::source::{self, CONDITIONS, Observed, Step};
use jiff::Timestamp;
use reconcile::{Class, Fault, Plan, Violation};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Driver, Key, Severity, Writer};

use super::going::Going;
use crate::Duty;
use crate::outpost::demand::{self, Feed};
use crate::outpost::{CHECKS, Caches, Intake, Outposts};
use crate::rotation;

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: RunnerSources::NAME,
    summary: "connects CI platforms, learns of their jobs and says whether they can be used",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnersources"],
            verbs: &["list", "watch", "patch"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnersources/status", "runnerjobs/status"],
            verbs: &["update"],
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
            resources: &["runnerpools", "machineclaims"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        // Where all namespaces are watched, only `get` of these is granted.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get", "list", "watch"], scope: Scope::Watched },
        // Who we are, which names of runners begin with.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get"], scope: Scope::Own },
    ],
};

/// How long a pass waits for the Secrets to be read.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts it, and learns of jobs while this process leads.
pub fn spawn(host: &Host, outposts: &Outposts, sources: &Cache<RunnerSource>, feed: &Feed) {
    let caches = &feed.caches;
    wire(host.driver(RunnerSources::new(outposts, caches), sources), sources, outposts, caches).spawn();
    demand::spawn(outposts, feed);
    let (known, outposts) = (sources.clone(), outposts.clone());
    let heard = move |secret: &Key| {
        for source in known.all().iter().filter(|source| names(source, secret)) {
            outposts.poke(&Key::of(&source.metadata));
        }
    };
    let follow = rotation::follow(host.settings.namespaces.clone(), host.client.clone(), host.parts.clone(), heard);
    host.parts.tasks.spawn("rotation of sources", follow);
}

/// What learns of jobs for the leader.
pub fn feed(host: &Host, caches: &Caches) -> Feed {
    let intake = Intake::new(&host.client, &host.parts, RunnerSources::NAME, &host.instance, caches);
    Feed { intake, caches: caches.clone() }
}

/// Looks again when something new is known of a platform and, at a source that is being deleted, when a pool or a claim of
/// it goes. To others these make no difference.
pub fn wire(
    driver: Driver<RunnerSources>,
    sources: &Cache<RunnerSource>,
    outposts: &Outposts,
    caches: &Caches,
) -> Driver<RunnerSources> {
    let going = Going::of(sources);
    let gone = going.clone();
    driver
        .heeds(outposts.bell())
        .watches_changes(&caches.pools, move |before, after| {
            let ended = before.filter(|_| after.is_none()).map(source_of_pool);
            ended.into_iter().filter(|key| going.has(key)).collect()
        })
        .watches_changes(&caches.claims, move |before, after| {
            let (before, after) = (before.and_then(source_of_claim), after.and_then(source_of_claim));
            let moved = before != after;
            before.into_iter().filter(|key| moved && gone.has(key)).collect()
        })
}

/// The controller.
pub struct RunnerSources {
    outposts: Outposts,
    caches: Caches,
}

impl RunnerSources {
    /// A controller that tells what `outposts` found.
    pub fn new(outposts: &Outposts, caches: &Caches) -> Self {
        Self { outposts: outposts.clone(), caches: caches.clone() }
    }
}

impl Controller for RunnerSources {
    type Object = RunnerSource;
    type Observed = Observed;
    type Step = Step;
    type Status = RunnerSourceStatus;

    const NAME: &'static str = "runner-sources";
    const FINALIZER: Option<&'static str> = Some(api::registry::finalizer::IN_USE);
    const CONDITIONS: &'static [&'static str] = CONDITIONS;

    async fn observe(&self, source: Arc<RunnerSource>) -> Result<Observed, Fault> {
        let key = Key::of(&source.metadata);
        let seen = tokio::time::timeout(PATIENCE, self.outposts.seen(&key)).await;
        let (login, link) =
            seen.map_err(|_| Fault::new(Class::Unavailable, "read Secrets", "they could not be read yet"))?;
        let pools = self.caches.pools.select(|pool| source_of_pool(pool) == key);
        let claims = self.caches.claims.select(|claim| source_of_claim(claim).as_ref() == Some(&key));
        Ok(Observed {
            source,
            login,
            link,
            pools: pools.iter().map(|pool| Key::of(&pool.metadata).to_string()).collect(),
            claims: claims.iter().map(|claim| Key::of(&claim.metadata).to_string()).collect(),
            period: CHECKS,
        })
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Step, RunnerSourceStatus> {
        source::plan(observed, now)
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, RunnerSourceStatus>) -> Vec<Violation> {
        source::audit(observed, plan)
    }

    async fn execute(&self, observed: &Observed, step: Step, _: &Writer) -> Result<(), Fault> {
        let key = Key::of(&observed.source.metadata);
        match step {
            // Its keeper does it, here as on every other replica.
            Step::Connect => self.outposts.poke(&key),
            // Its keeper ends with the object.
            Step::Disconnect => {}
        }
        Ok(())
    }

    fn severity(&self, condition: &Condition) -> Severity {
        if condition.status == "False" { Severity::Warning } else { Severity::Normal }
    }
}

/// The source whose jobs a pool serves.
fn source_of_pool(pool: &RunnerPool) -> Key {
    Key::new(pool.metadata.namespace.clone().unwrap_or_default(), pool.spec.source_ref.name.as_str())
}

/// The source that a claim's runner may still be registered with.
fn source_of_claim(claim: &MachineClaim) -> Option<Key> {
    let runner = claim.spec.workload.runner.as_ref()?;
    let gone = claim.status.as_ref().and_then(|status| status.teardown.as_ref()?.runner_gone_at.as_ref());
    let source = runner.source_ref.name.as_str();
    gone.is_none().then(|| Key::new(claim.metadata.namespace.clone().unwrap_or_default(), source))
}

/// Whether a source reads this Secret.
fn names(source: &RunnerSource, secret: &Key) -> bool {
    let spec = &source.spec;
    let github = spec.github.iter().flat_map(|github| {
        let app = github.credentials.app.iter().flat_map(|app| [&app.app_id, &app.private_key, &app.installation_id]);
        github.credentials.pat.iter().chain(app)
    });
    let gitea = spec.gitea.iter().map(|gitea| &gitea.credentials.token);
    let hook = spec.webhook.iter().map(|webhook| &webhook.secret);
    let authority = spec.tls.iter().filter_map(|tls| tls.ca_certificate.as_ref());
    let mut named = github.chain(gitea).chain(hook).chain(authority);
    source.metadata.namespace.as_deref() == Some(&secret.namespace) && named.any(|key| key.name.as_str() == secret.name)
}
