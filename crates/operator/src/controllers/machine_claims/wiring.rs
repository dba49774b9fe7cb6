//! What makes the controller look at a claim, beside the claim itself.

use api::{MachineClaim, Step as Where};
use chassis::Clock;
use fleet::claim;
use jiff::Timestamp;
use runtime::{Driver, Entry, Key};

use super::super::hypervisor_clusters::target;
use super::notes::Notes;
use super::{MachineClaims, Sources, allocation, figures, uid};
use crate::site::Sites;

/// What a controller remembers, for whoever wires it.
pub struct Memory {
    pub(super) notes: Notes,
    pub(super) clock: Clock,
}

/// Looks again when a machine moves or what claims refer to changes, and forgets what is gone.
pub fn wire(driver: Driver<MachineClaims>, memory: Memory, sites: &Sites, sources: &Sources) -> Driver<MachineClaims> {
    let Memory { notes, clock } = memory;
    figures::follow(&sources.claims, sites.leadership(), sites.parts());
    let registry = sites.clone();
    sources.claims.subscribe(move |change| {
        if let (Some(Entry::Readable(gone)), None) = (change.before, change.after) {
            release(&registry, &notes, gone, clock.now());
        }
        true
    });
    let (all, waiting) = (sources.claims.clone(), sources.claims.clone());
    driver
        .heeds(sites.machines())
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

/// A claim is gone: so is everything that was kept for it.
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
