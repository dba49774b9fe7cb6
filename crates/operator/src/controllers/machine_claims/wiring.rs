//! What makes the controller look at a claim, beside the claim itself.

use api::{MachineClaim, Step as Where};
use chassis::Clock;
use fleet::claim;
use jiff::Timestamp;
use runtime::{Driver, Entry, Key};

use super::super::hypervisor_clusters::target;
use super::farewell::Farewells;
use super::notes::Notes;
use super::{MachineClaims, Sources, allocation, figures, uid};
use crate::site::Sites;

/// What a controller remembers, for whoever wires it.
pub struct Memory {
    pub(super) notes: Notes,
    pub(super) farewells: Farewells,
    pub(super) clock: Clock,
}

/// Looks again when a machine moves or what claims refer to changes, and forgets what is gone.
pub fn wire(driver: Driver<MachineClaims>, memory: Memory, sites: &Sites, sources: &Sources) -> Driver<MachineClaims> {
    let Memory { notes, farewells, clock } = memory;
    figures::follow(&sources.claims, sites.leadership(), sites.parts());
    let registry = sites.clone();
    sources.claims.subscribe(move |change| {
        let (before, after) = (change.before.and_then(Entry::readable), change.after.and_then(Entry::readable));
        let lost = |claim: &&MachineClaim| claim::holds_machine(claim) && after.is_some_and(is_without_vm);
        if let Some(claim) = before.filter(|claim| change.after.is_none() || lost(claim)) {
            release(&registry, &notes, claim, clock.now());
        }
        if let Some((before, after)) = before.zip(after) {
            give_up(&registry, before, after, clock.now());
        }
        if let Some(gone) = before.filter(|_| change.after.is_none()) {
            farewells.forget(&uid(gone));
            // Also a place that it was promised and had not written down.
            registry.all().iter().for_each(|site| site.forget(&uid(gone), clock.now()));
        }
        true
    });
    let (all, waiting) = (sources.claims.clone(), sources.claims.clone());
    driver
        .heeds(sites.machines())
        .heeds(sources.platforms.bell())
        .watches(&sources.clusters, move |cluster| {
            let key = Key::of(&cluster.metadata);
            let concerned = |claim: &MachineClaim| match allocation(claim) {
                Some(allocation) => target(&allocation.cluster_ref, &claim.metadata) == key,
                None => claim::stage(claim) == Where::Gated,
            };
            all.select(concerned).iter().map(|claim| Key::of(&claim.metadata)).collect()
        })
        .watches(&sources.templates, move |template| {
            let key = Key::of(&template.metadata);
            let concerned = |claim: &MachineClaim| {
                matches!(claim::stage(claim), Where::Gated | Where::Allocated)
                    && target(&claim.spec.template_ref, &claim.metadata) == key
            };
            waiting.select(concerned).iter().map(|claim| Key::of(&claim.metadata)).collect()
        })
}

/// Whether a claim says that its VM is gone.
fn is_without_vm(claim: &MachineClaim) -> bool {
    let teardown = claim.status.as_ref().and_then(|status| status.teardown.as_ref());
    teardown.is_some_and(|teardown| teardown.vm_gone_at.is_some())
}

/// A claim whose attempt has failed holds neither its number nor a place at a storage while it pauses.
fn give_up(sites: &Sites, before: &MachineClaim, after: &MachineClaim, now: Timestamp) {
    let Some(held) = allocation(before) else { return };
    if allocation(after).is_some_and(|holds| holds.id == held.id) {
        return;
    }
    let cluster = target(&held.cluster_ref, &before.metadata);
    sites.strike(&cluster, held.vm_id, &Key::of(&before.metadata));
    if let Some(site) = sites.get(&cluster) {
        site.give_up(&uid(before), held.id.as_str(), now);
    }
}

/// A claim's VM is gone: so is everything that was kept for it.
fn release(sites: &Sites, notes: &Notes, claim: &MachineClaim, now: Timestamp) {
    notes.forget(&uid(claim));
    if let Some(allocation) = allocation(claim) {
        let cluster = target(&allocation.cluster_ref, &claim.metadata);
        sites.strike(&cluster, allocation.vm_id, &Key::of(&claim.metadata));
        if let Some(site) = sites.get(&cluster) {
            site.forget(&uid(claim), now);
        }
    }
}
