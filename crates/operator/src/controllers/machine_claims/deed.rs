//! Carries out what was decided, and remembers how it went.

use std::collections::BTreeSet;

use fleet::claim::{Job, Step};
use kube::ResourceExt;
use providers::hypervisor::{
    Bytes, CloneOrder, Error, Gib, Mib, Network, Object, PowerAction, Seen, Shape, Tag, Vlan, VmRef,
};
use reconcile::{Class, Fault};

use super::notes::Note;
use super::seed::Seeds;
use super::supply::Supply;
use super::{MachineClaims, Observed, Subject, uid};
use crate::seed;
use crate::site::{bridge, mode};

impl MachineClaims {
    /// One step on the hypervisor. What goes wrong is remembered for the next pass, which judges it: the claim counts
    /// attempts, and the driver must not back off on top of that.
    pub(super) async fn act(&self, observed: &Observed, step: &Step) -> Result<(), Fault> {
        let Some(subject) = observed.subject() else {
            return Err(Fault::new(Class::Conflict, step.to_string(), "there is no VM to do it to"));
        };
        // Hypervisors know nothing of leases: a process that stood still must not act on what it decided before.
        if !self.sites.leads() {
            return Err(Fault::new(Class::Unavailable, step.to_string(), "this process does not hold the lease"));
        }
        let (claim, allocation) = (uid(subject.claim), subject.allocation.id.as_str().to_owned());
        let mut note = self.notes.of(&claim, &allocation);
        let job = job(step);
        // A quick clone has ended by now: whoever waits for its storage need not wait until the seed is up. What cannot be
        // found out now, the next pass asks.
        if job == Job::Stage {
            let _ = subject.poll(&mut note, self.clock.now()).await;
        }
        let outcome = self.ask(observed, &subject, step, &mut note).await;
        let attempt = observed.seen.claim.status.as_ref().and_then(|status| status.attempts).unwrap_or(0);
        let result = match outcome {
            Ok(()) => Ok(()),
            // The storage is busy with clones that the ledger does not know of.
            Err(Error::Busy { retry, storage, .. }) => {
                let words = format!("storage {storage} is busy");
                Err(Fault::new(Class::Throttled(retry), step.to_string(), words))
            }
            Err(error) => {
                if job == Job::Clone {
                    subject.site.cloned(&claim, false);
                }
                // What only needs another look is no news to anybody.
                if error.class() == Class::Conflict {
                    tracing::debug!(%step, %error, class = error.as_str(), "looking again");
                } else {
                    tracing::warn!(%step, %error, class = error.as_str(), "did not succeed");
                }
                subject.failed(&mut note, job, &error, attempt, self.clock.now());
                Err(Fault::new(Class::Conflict, step.to_string(), error.to_string()))
            }
        };
        self.notes.keep(&claim, note);
        result
    }

    async fn ask(&self, observed: &Observed, subject: &Subject<'_>, step: &Step, note: &mut Note) -> Result<(), Error> {
        let hypervisor = subject.site.hypervisor();
        match step {
            Step::Clone => {
                let order = order(observed, subject)?;
                note.storages = order.storages();
                let task = hypervisor.clone_image(&order).await?;
                note.begun(Job::Clone, Some(task));
            }
            Step::StageSeed => {
                let refused = |says: String| Error::invalid(Object::Vm(subject.vm.id), "seed", says);
                let files = seeds(observed, subject)?.files().map_err(refused)?;
                let task = hypervisor.stage_seed(&subject.vm, &subject.id, &files).await?;
                note.begun(Job::Stage, task);
            }
            Step::Resize => {
                let disk = subject.disk.ok_or(unsupplied(subject))?;
                let task = hypervisor.resize(seen(note, subject)?, gib(disk)).await?;
                note.seen = None;
                note.begun(Job::Resize, task);
            }
            Step::Configure => {
                hypervisor.configure(seen(note, subject)?, &shape(observed, subject)?).await?;
                note.begun(Job::Configure, None);
                // What stands in the firmware cannot be taken out of a running VM: it is spent by then, and goes with it.
                if supply(observed, subject)?.seed() != api::Seed::Iso {
                    note.done.insert(Job::Detach);
                    // Nobody but us can have made a medium for it.
                    if note.made_here && !note.asked.contains(&Job::Stage) {
                        note.done.insert(Job::Discard);
                    }
                }
            }
            Step::Start => {
                let task = hypervisor.power(seen(note, subject)?, PowerAction::Start).await?;
                note.begun(Job::Start, Some(task));
            }
            Step::DetachSeed => {
                hypervisor.detach_seed(seen(note, subject)?).await?;
                note.begun(Job::Detach, None);
            }
            Step::DiscardSeed => {
                let task = hypervisor.discard_seed(&subject.vm, &subject.id).await?;
                note.begun(Job::Discard, task);
            }
            Step::Stop => {
                let task = hypervisor.power(seen(note, subject)?, PowerAction::Stop).await?;
                note.begun(Job::Stop, Some(task));
            }
            Step::Destroy => {
                let task = hypervisor.destroy(seen(note, subject)?).await?;
                note.seen = None;
                note.begun(Job::Destroy, Some(task));
            }
            Step::RemoveLeftover(volume) => {
                let object = Object::Volume(volume.clone());
                let volume = volume.parse().map_err(|_| Error::NotFound { object })?;
                let task = hypervisor.remove_leftover(&subject.vm, &volume).await?;
                note.begun(Job::Sweep, task);
            }
            Step::Deregister { .. } | Step::Delete => {}
        }
        Ok(())
    }
}

const fn job(step: &Step) -> Job {
    match step {
        Step::Clone => Job::Clone,
        Step::StageSeed => Job::Stage,
        Step::Resize => Job::Resize,
        Step::Configure => Job::Configure,
        Step::Start => Job::Start,
        Step::DetachSeed => Job::Detach,
        Step::DiscardSeed => Job::Discard,
        Step::Stop => Job::Stop,
        Step::Destroy => Job::Destroy,
        Step::RemoveLeftover(_) | Step::Deregister { .. } | Step::Delete => Job::Sweep,
    }
}

fn seen<'a>(note: &'a Note, subject: &Subject<'_>) -> Result<&'a Seen, Error> {
    note.seen.as_ref().ok_or(unsupplied(subject))
}

const fn unsupplied(subject: &Subject<'_>) -> Error {
    Error::Stale { object: Object::Vm(subject.vm.id) }
}

fn supply<'a>(observed: &'a Observed, subject: &Subject<'_>) -> Result<&'a Supply, Error> {
    observed.supply.as_ref().ok_or(unsupplied(subject))
}

/// Whole GiB, rounded up: disks are sold by them.
fn gib(Bytes(bytes): Bytes) -> Gib {
    Gib(u32::try_from(bytes.div_ceil(1 << 30)).unwrap_or(u32::MAX))
}

fn order<'a>(observed: &'a Observed, subject: &Subject<'_>) -> Result<CloneOrder<'a>, Error> {
    let supply = supply(observed, subject)?;
    let (name, claim) = (seed::hostname(subject.claim), subject.claim);
    let wrong = |text: &str| Error::invalid(Object::Vm(subject.vm.id), "name", text);
    let VmRef { id, node } = subject.vm.clone();
    let pool = supply.cluster.spec.proxmox.as_ref().and_then(|proxmox| proxmox.pool.as_ref());
    Ok(CloneOrder {
        image: &supply.image,
        id,
        node,
        name: name.parse().map_err(|_| wrong("the claim's name makes no host name"))?,
        allocation: subject.id.clone(),
        note: format!(
            "Machine of MachineClaim {} in namespace {}, made and removed by HyperFleet.",
            claim.name_any(),
            claim.namespace().unwrap_or_default()
        ),
        mode: mode(&supply.cluster, &supply.template),
        pool: pool.and_then(|pool| pool.as_str().parse().ok()),
    })
}

fn seeds<'a>(observed: &'a Observed, subject: &Subject<'a>) -> Result<Seeds<'a>, Error> {
    let supply = supply(observed, subject)?;
    let record = subject.claim.status.as_ref().and_then(|status| status.bootstrap.as_ref());
    let record = record.ok_or(unsupplied(subject))?;
    Ok(Seeds { claim: subject.claim, allocation: subject.allocation, record, supply })
}

fn shape(observed: &Observed, subject: &Subject<'_>) -> Result<Shape, Error> {
    let Supply { template, cluster, .. } = supply(observed, subject)?;
    let spec = &template.spec;
    let bridge = bridge(cluster, template)
        .as_str()
        .parse()
        .map_err(|_| Error::invalid(Object::Vm(subject.vm.id), "network.bridge", "it is no name of a bridge"))?;
    let refused = |says: String| Error::invalid(Object::Vm(subject.vm.id), "seed", says);
    let (seed, letter) = seeds(observed, subject)?.way().map_err(refused)?;
    let mut tags = BTreeSet::from([Tag::ours()]);
    tags.extend(subject.claim.spec.pool_ref.as_ref().map(|pool| Tag::named("pool", pool.name.as_str())));
    Ok(Shape {
        cores: Some(u32::from(spec.resources.cpu)),
        memory: Some(Mib(u32::try_from(spec.resources.memory.mebibytes()).unwrap_or(u32::MAX))),
        network: Some(Network { bridge, vlan: spec.network.vlan.and_then(Vlan::new) }),
        tags,
        agent: None,
        tpm: None,
        uefi: None,
        seed: Some(seed),
        uuid: subject.id.as_str().to_ascii_lowercase().parse().ok(),
        letter,
    })
}
