//! What the simulated VMs run: the real agent's whole life, from the seed on its disc to the power-off, over TLS to the real
//! bootstrap service. Only what a machine would do with a job is simulated.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent::{Patience, Wire, live};
use chassis::Clock;
use sim::proxmox::{Hardware, Hook};

use super::workbench::Workbench;

/// The guests of all VMs; clones are the same ones.
#[derive(Clone)]
pub(super) struct Guests(Arc<Image>);

/// What every guest finds on its disk.
struct Image {
    /// Whom runners trust: the platform's authority, in PEM.
    trust: PathBuf,
    /// Where runners put their files, a directory for each VM: by what no other VM has, since numbers are used again.
    home: PathBuf,
    clock: Clock,
    /// How many of the next guests never get as far as their agent.
    dead: AtomicUsize,
    /// How many have not.
    hung: AtomicUsize,
}

impl Guests {
    pub(super) fn new(home: PathBuf, trust: PathBuf, clock: Clock) -> Self {
        Self(Arc::new(Image { trust, home, clock, dead: AtomicUsize::new(0), hung: AtomicUsize::new(0) }))
    }

    /// So many of the VMs that start from now on hang at their boot.
    pub(super) fn hang(&self, count: usize) {
        self.0.dead.store(count, Ordering::Relaxed);
    }

    /// How many have hung so far.
    pub(super) fn hung(&self) -> usize {
        self.0.hung.load(Ordering::Relaxed)
    }

    /// What a started VM does.
    pub(super) fn hook(&self) -> Hook {
        let guests = self.clone();
        Hook::Inhabited(Arc::new(move |hardware| {
            let guests = guests.clone();
            Box::pin(async move { guests.inhabit(hardware).await })
        }))
    }

    /// A guest's life; its VM is off when it ends.
    async fn inhabit(&self, hardware: Hardware) {
        let Image { trust, home, clock, dead, hung } = &*self.0;
        if dead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            hung.fetch_add(1, Ordering::Relaxed);
            return std::future::pending().await;
        }
        let disc = hardware.discs.iter().find_map(|(_, disc)| agent::seed::file(disc, protocol::FILE).ok());
        let found = disc.and_then(|text| agent::seed::parse(text).ok());
        let Some(seed) = found.or_else(|| agent::seed::engraved(&hardware.family).ok()) else {
            tracing::error!(vmid = hardware.vmid, "the guest finds no seed");
            return std::future::pending().await;
        };
        let wire = match Wire::new(&seed) {
            Ok(wire) => wire,
            Err(error) => return tracing::error!(vmid = hardware.vmid, %error, "the guest has no line"),
        };
        let bench = Workbench { home: home.join(&hardware.uuid), trust: trust.clone(), clock: *clock };
        let ending = live(&seed, &hardware.uuid, &wire, &bench, &Patience::default()).await;
        tracing::info!(vmid = hardware.vmid, %ending, "the guest powers off");
    }
}
