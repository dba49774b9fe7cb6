//! The controllers: a file each, with what it may do beside what it does.

mod going;
pub mod hypervisor_clusters;
pub mod machine_claims;
pub mod machine_templates;
pub mod runner_jobs;
pub mod runner_pools;
pub mod runner_sources;
mod runners;
mod stock;
mod watches;

use std::sync::{Arc, Mutex, PoisonError};

use chassis::settings::Effective;
use fleet::claim::Policy;
use providers::http::{AddressPolicy, Cidr, Meter};
use runtime::Selection;
use runtime::host::Host;

use self::machine_claims::{AskPolicy, Invitation, Invite};
pub use self::runners::Runners;
use self::watches::Watches;
use crate::bootstrap::{self, Advertised, Authority};
use crate::calls::Calls;
use crate::site::{Books, Sites, over_the_network};
use crate::transfer::Hold;
use crate::{Duty, console, ingress};

/// Starts the given controllers in `host`.
pub fn spawn(duties: &[Duty], host: &Host) {
    let hold = Hold::spawn(&host.client, &host.namespace, &host.parts.tasks);
    let host = &host.led_by(hold.over(&host.leadership));
    let runs = |wanted: &Duty| duties.iter().any(|duty| duty.name == wanted.name);
    let calls: Arc<dyn Meter> = Arc::new(Calls::new(&host.parts.metrics));
    // Those who name runners, or remove what nobody's claim names.
    let named = [bootstrap::DUTY, runner_sources::DUTY].iter().any(runs);
    let watches = Watches::new(host, Arc::clone(&calls), named);
    if runs(&bootstrap::DUTY) {
        bootstrap::spawn(host, watches.claims(), watches.outposts(), &hold);
    }
    if runs(&runner_sources::DUTY) {
        let feed = runner_sources::feed(host, &watches.of_jobs());
        runner_sources::spawn(host, watches.outposts(), watches.sources(), &feed);
    }
    if runs(&ingress::DUTY) {
        let (outposts, sources) = (watches.outposts().clone(), watches.sources().clone());
        ingress::spawn(host, &ingress::Means { outposts, sources, caches: watches.of_jobs() });
    }
    if runs(&runner_pools::DUTY) {
        pools(host, &watches);
    }
    if runs(&runner_jobs::DUTY) {
        jobs(host, &watches);
    }
    // Who looks after templates needs the connections, and who makes those needs to be told of templates.
    if [hypervisor_clusters::DUTY, machine_templates::DUTY, machine_claims::DUTY].iter().any(runs) {
        machines(host, &watches, calls, hold);
    }
    // It shows what all of these watch anyway, and nothing is watched for it.
    if [
        hypervisor_clusters::DUTY,
        machine_templates::DUTY,
        machine_claims::DUTY,
        runner_sources::DUTY,
        runner_pools::DUTY,
        runner_jobs::DUTY,
    ]
    .iter()
    .all(runs)
    {
        console::spawn(host, &watches.shown());
    }
}

fn pools(host: &Host, watches: &Watches<'_>) {
    let sources = runner_pools::Sources {
        sources: watches.sources().clone(),
        jobs: watches.jobs().clone(),
        claims: watches.claims().clone(),
        templates: watches.templates().clone(),
        clusters: watches.clusters().clone(),
    };
    runner_pools::spawn(host, watches.outposts(), watches.pools(), &sources);
}

fn jobs(host: &Host, watches: &Watches<'_>) {
    let sources = runner_jobs::Sources {
        pools: watches.pools().clone(),
        sources: watches.sources().clone(),
        claims: watches.claims().clone(),
        clusters: watches.clusters().clone(),
    };
    runner_jobs::spawn(host, watches.outposts(), watches.jobs(), &sources);
}

/// Clusters, templates and claims, over the same connections and caches.
fn machines(host: &Host, watches: &Watches<'_>, calls: Arc<dyn Meter>, hold: Hold) {
    let dial = over_the_network(policy(host, "hypervisors"), calls);
    let live = host.live.effective.clone();
    let pace = Arc::new(move || live.borrow().duration("hypervisors.period"));
    let selection = Selection::namespaces(&host.settings.namespaces);
    let (client, parts) = (&host.client, &host.parts);
    let (clusters, claims, templates) = (watches.clusters(), watches.claims(), watches.templates());
    let books = Books::new(clusters, claims, &selection, client, &host.instance, parts);
    let sites = Sites::new(parts, &host.leadership, dial, pace, books);
    let sources = hypervisor_clusters::Sources { templates: templates.clone(), claims: claims.clone() };
    hypervisor_clusters::spawn(host, &sites, clusters, &sources);
    let pools = watches.pools().clone();
    let sources = machine_templates::Sources { clusters: clusters.clone(), claims: claims.clone(), pools };
    machine_templates::spawn(host, &sites, templates, &sources);
    let platforms = Arc::new(Runners::spawn(watches.outposts(), watches.jobs(), claims, parts));
    let (templates, clusters, claims) = (templates.clone(), clusters.clone(), claims.clone());
    let sources = machine_claims::Sources { templates, clusters, claims, platforms };
    machine_claims::spawn(host, &sites, &sources, invite(host, hold), attempts(host));
}

/// Where agents have to prove themselves: the address in the settings, and the authority that all replicas share.
fn invite(host: &Host, mut hold: Hold) -> Invite {
    let advertised = Advertised::parse(host.live.effective.borrow().text("bootstrap.advertise"));
    let (client, namespace, clock) = (host.client.clone(), host.namespace.clone(), host.parts.clock);
    let known: Arc<Mutex<Option<Invitation>>> = Arc::default();
    let (stale, stopping) = (Arc::clone(&known), host.parts.tasks.stopping());
    // A fleet that came from elsewhere brought its own authority.
    host.parts.tasks.spawn("invitation", async move {
        tokio::pin!(stopping);
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => return,
                () = hold.ended() => *stale.lock().unwrap_or_else(PoisonError::into_inner) = None,
            }
        }
    });
    Arc::new(move || {
        let (client, namespace, known) = (client.clone(), namespace.clone(), Arc::clone(&known));
        let url = match &advertised {
            Ok(Some(advertised)) => Ok(advertised.to_string()),
            Ok(None) => Err("the setting bootstrap.advertise is empty: set it to the address that machines reach the \
                             bootstrap service at, like https://10.0.0.1:8444"
                .to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Box::pin(async move {
            let url = match url {
                Ok(url) => url,
                Err(why) => return Ok(Err(why)),
            };
            let remembered = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(remembered) = remembered {
                return Ok(Ok(remembered));
            }
            match Authority::load(&client, &namespace, clock).await? {
                Ok(authority) => {
                    let (pin, authority) = (authority.pin(), authority.certificates().to_owned());
                    let invitation = Invitation { url, authority, pin };
                    *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(invitation.clone());
                    Ok(Ok(invitation))
                }
                Err(error) => Ok(Err(error.to_string())),
            }
        })
    })
}

/// How failed attempts are repeated, as the settings have it now.
fn attempts(host: &Host) -> AskPolicy {
    let live = host.live.effective.clone();
    Arc::new(move || {
        let settings = live.borrow();
        let backoff = reconcile::Backoff {
            initial: settings.duration("claims.backoff"),
            max: settings.duration("claims.backoffMax"),
            ..machine_claims::POLICY.backoff
        };
        Policy { backoff, attempts: u32::try_from(settings.number("claims.attempts")).unwrap_or(u32::MAX) }
    })
}

/// The addresses that `whose` may have: hypervisors, or CI platforms.
fn policy(host: &Host, whose: &str) -> AddressPolicy {
    ranges(&host.live.effective.borrow(), whose)
}

/// The addresses that the settings let `whose` have: `hypervisors` or `platforms`.
pub(crate) fn ranges(effective: &Effective, whose: &str) -> AddressPolicy {
    let ranges = |which: &str| effective.list(&format!("{whose}.{which}")).iter().map(|text| range(text)).collect();
    AddressPolicy { allow: ranges("allowedAddresses"), deny: ranges("deniedAddresses") }
}

/// A range that was checked when the settings were read. One that got lost on the way would be a door left open.
fn range(text: &str) -> Cidr {
    text.parse().expect("settings and addresses agree on what a range is; a test compares them")
}

#[cfg(test)]
mod tests {
    use api::{ConditionType, Reason};
    use chassis::settings::Kind;
    use providers::http::Cidr;

    #[test]
    fn what_settings_take_for_a_range_is_one() {
        let texts = [
            "10.0.0.0/8",
            "10.1.2.3/8",
            "10.0.0.0/0",
            "10.0.0.1",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0/8",
            "::1",
            "fd00::/8",
            "fd00::/129",
            "::ffff:10.0.0.1/96",
            "localhost",
            "10.0.0.0/+8",
            "010.0.0.1",
            "10.0.0.0/08",
            "",
        ];
        for text in texts {
            let settings = Kind::Ranges.takes(text) && !text.is_empty();
            assert_eq!(settings, text.parse::<Cidr>().is_ok(), "{text}");
        }
    }

    #[test]
    fn the_driver_and_the_api_use_the_same_words_for_a_stall() {
        assert_eq!(runtime::STALLED.condition, ConditionType::Stalled.as_str());
        assert_eq!(runtime::STALLED.refused, Reason::Refused.as_str());
        assert_eq!(runtime::STALLED.unavailable, Reason::Unavailable.as_str());
        assert_eq!(runtime::HOLD, api::registry::annotation::HOLD);
    }
}
