//! The controllers: a file each, with what it may do beside what it does.

mod going;
pub mod hypervisor_clusters;
pub mod machine_claims;
pub mod machine_templates;
pub mod runner_jobs;
pub mod runner_sources;

use std::sync::Arc;

use api::MachineClaim;
use fleet::claim::Policy;
use providers::http::{AddressPolicy, Cidr, Meter};
use runtime::host::Host;
use runtime::{Cache, Selection};
use tokio::sync::OnceCell;

use self::machine_claims::{AskPolicy, Invitation, Invite};
use crate::bootstrap::{self, Advertised, Authority};
use crate::calls::Calls;
use crate::outpost::{self, Caches, Outposts};
use crate::platforms::Unconnected;
use crate::site::{Books, Sites, over_the_network};
use crate::{Duty, ingress};

/// Starts the given controllers in `host`.
pub fn spawn(duties: &[Duty], host: &Host) {
    let runs = |wanted: &Duty| duties.iter().any(|duty| duty.name == wanted.name);
    let calls: Arc<dyn Meter> = Arc::new(Calls::new(&host.parts.metrics));
    let mut watched = None;
    let mut claims = || Cache::clone(watched.get_or_insert_with(|| claims_of(host)));
    if runs(&bootstrap::DUTY) {
        bootstrap::spawn(host, &claims());
    }
    if runs(&runner_jobs::DUTY) {
        runner_jobs::spawn(host);
    }
    if [runner_sources::DUTY, ingress::DUTY].iter().any(runs) {
        platforms(host, &claims(), &calls, runs(&runner_sources::DUTY), runs(&ingress::DUTY));
    }
    // Who looks after templates needs the connections, and who makes those needs to be told of templates.
    if [hypervisor_clusters::DUTY, machine_templates::DUTY, machine_claims::DUTY].iter().any(runs) {
        machines(host, claims(), calls);
    }
}

/// One watch of claims serves everybody in the process.
fn claims_of(host: &Host) -> Cache<MachineClaim> {
    Cache::spawn(&Selection::namespaces(&host.settings.namespaces), &host.client, &host.parts)
}

/// Clusters, templates and claims, over the same connections and caches.
fn machines(host: &Host, claims: Cache<MachineClaim>, calls: Arc<dyn Meter>) {
    let dial = over_the_network(policy(host, "hypervisors"), calls);
    let live = host.live.effective.clone();
    let pace = Arc::new(move || live.borrow().duration("hypervisors.period"));
    let watched = Selection::namespaces(&host.settings.namespaces);
    let (client, parts) = (&host.client, &host.parts);
    let clusters = Cache::spawn(&watched, client, parts);
    let books = Books::new(&clusters, &claims, &watched, client, &host.instance, parts);
    let sites = Sites::new(parts, &host.leadership, dial, pace, books);
    let templates = Cache::spawn(&watched, client, parts);
    let pools = Cache::spawn(&watched, client, parts);
    let sources = hypervisor_clusters::Sources { templates: templates.clone(), claims: claims.clone() };
    hypervisor_clusters::spawn(host, &sites, &clusters, &sources);
    let sources = machine_templates::Sources { clusters: clusters.clone(), claims: claims.clone(), pools };
    machine_templates::spawn(host, &sites, &templates, &sources);
    let platforms = Arc::new(Unconnected);
    let sources = machine_claims::Sources { templates, clusters, claims, platforms };
    machine_claims::spawn(host, &sites, &sources, invite(host), attempts(host));
}

/// Sources and the ingress, over the same connections and caches.
fn platforms(host: &Host, claims: &Cache<MachineClaim>, calls: &Arc<dyn Meter>, leads: bool, hears: bool) {
    let watched = Selection::namespaces(&host.settings.namespaces);
    let (client, parts) = (&host.client, &host.parts);
    let sources = Cache::spawn(&watched, client, parts);
    let caches = Caches {
        jobs: Cache::spawn(&watched, client, parts),
        claims: claims.clone(),
        pools: Cache::spawn(&watched, client, parts),
    };
    let outposts = Outposts::spawn(outpost::Means {
        parts,
        client,
        leadership: &host.leadership,
        dial: outpost::over_the_network(policy(host, "platforms"), Arc::clone(calls)),
        sources: &sources,
        instance: &host.instance,
        home: leads.then_some(host.namespace.as_str()),
    });
    if leads {
        runner_sources::spawn(host, &outposts, &sources, &runner_sources::feed(host, &caches));
    }
    if hears {
        ingress::spawn(host, &ingress::Means { outposts, sources, caches });
    }
}

/// Where agents have to prove themselves: the address in the settings, and the authority that all replicas share.
fn invite(host: &Host) -> Invite {
    let advertised = Advertised::parse(host.live.effective.borrow().text("bootstrap.advertise"));
    let (client, namespace, clock) = (host.client.clone(), host.namespace.clone(), host.parts.clock);
    let known: Arc<OnceCell<Invitation>> = Arc::default();
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
            if let Some(known) = known.get() {
                return Ok(Ok(known.clone()));
            }
            match Authority::load(&client, &namespace, clock).await? {
                Ok(authority) => {
                    let (pin, authority) = (authority.pin(), authority.certificates().to_owned());
                    let invitation = Invitation { url, authority, pin };
                    Ok(Ok(known.get_or_init(async || invitation).await.clone()))
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
    let effective = host.live.effective.borrow();
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
    }
}
