//! The controllers: a file each, with what it may do beside what it does.

pub mod hypervisor_clusters;
pub mod machine_templates;
pub mod runner_jobs;

use std::sync::Arc;

use providers::http::AddressPolicy;
use runtime::host::Host;
use runtime::{Cache, Selection};

use crate::Duty;
use crate::calls::Calls;
use crate::site::{Sites, over_the_network};

/// Starts the given controllers in `host`.
pub fn spawn(duties: &[Duty], host: &Host) {
    let runs = |wanted: &Duty| duties.iter().any(|duty| duty.name == wanted.name);
    if runs(&runner_jobs::DUTY) {
        runner_jobs::spawn(host);
    }
    // Who looks after templates needs the connections, and who makes those needs to be told of templates.
    if runs(&hypervisor_clusters::DUTY) || runs(&machine_templates::DUTY) {
        machines(host);
    }
}

/// Clusters and templates, over the same connections and caches.
fn machines(host: &Host) {
    let dial = over_the_network(policy(host), Arc::new(Calls::new(&host.parts.metrics)));
    let live = host.live.effective.clone();
    let pace = Arc::new(move || live.borrow().duration("hypervisors.period"));
    let sites = Sites::new(&host.parts, &host.leadership, dial, pace);
    let watched = Selection::namespaces(&host.settings.namespaces);
    let (client, parts) = (&host.client, &host.parts);
    let clusters = Cache::spawn(&watched, client, parts);
    let templates = Cache::spawn(&watched, client, parts);
    let claims = Cache::spawn(&watched, client, parts);
    let pools = Cache::spawn(&watched, client, parts);
    let sources = hypervisor_clusters::Sources { templates: templates.clone(), claims: claims.clone() };
    hypervisor_clusters::spawn(host, &sites, &clusters, &sources);
    let sources = machine_templates::Sources { clusters, claims, pools };
    machine_templates::spawn(host, &sites, &templates, &sources);
}

/// The addresses that hypervisors may have.
fn policy(host: &Host) -> AddressPolicy {
    let ranges =
        |key: &str| host.live.effective.borrow().list(key).iter().filter_map(|text| text.parse().ok()).collect();
    AddressPolicy { allow: ranges("hypervisors.allowedAddresses"), deny: ranges("hypervisors.deniedAddresses") }
}

#[cfg(test)]
mod tests {
    use api::{ConditionType, Reason};

    #[test]
    fn the_driver_and_the_api_use_the_same_words_for_a_stall() {
        assert_eq!(runtime::STALLED.condition, ConditionType::Stalled.as_str());
        assert_eq!(runtime::STALLED.refused, Reason::Refused.as_str());
        assert_eq!(runtime::STALLED.unavailable, Reason::Unavailable.as_str());
    }
}
