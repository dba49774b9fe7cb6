//! Finds machines of ours that no claim has, and removes them.
//!
//! After every listing: what in our range belongs to no claim is looked at, a few at a time; what is ours and stays
//! without a claim goes. Which and when is decided by [`fleet::orphan`]. It is a task of its own, so that neither the
//! monitor nor any claim waits for it, and everything it knows can be lost: the next one begins from the start.

mod removal;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use api::{HypervisorCluster, Reason, VmId};
use chassis::Clock;
use fleet::orphan::{Census, Outlook, Row, Search, Sight, Suspect};
use jiff::Timestamp;
use kube::Resource;
use providers::hypervisor::{Error, Inventory, Presence, Tag, VmIdRange, VmRow, Whose};
use runtime::{Leadership, Notice, Severity};
use tokio::time::Instant;

use self::removal::Removed;
use super::books::{Books, Holdings};
use super::figures::{Action, Figures};
use super::{Site, lock};

/// What the search needs beside its site.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) books: Books,
    pub(super) figures: Figures,
    pub(super) clock: Clock,
}

/// Searches one site until it is given up or the process ends; while somebody else leads, it waits.
pub(super) async fn run(site: Arc<Site>, means: Means, leadership: Leadership, stopping: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = stopping => {}
        () = watch_over(&site, &means, &leadership) => {}
    }
}

async fn watch_over(site: &Site, means: &Means, leadership: &Leadership) {
    means.books.complete().await;
    while !site.given_up.load(Ordering::Relaxed) {
        tokio::select! {
            biased;
            () = site.listed.notified() => continue,
            () = leadership.acquired() => {}
        }
        // What is known is of this term: nobody else's past.
        let began = (means.clock.now(), Instant::now());
        let mut errand = Errand { site, means, search: Search::default(), began };
        tokio::select! {
            biased;
            () = leadership.lost() => {}
            () = errand.run() => {}
        }
        *lock(&site.outlook) = Outlook::Unknown;
    }
}

/// The search during one term of leadership.
struct Errand<'a> {
    site: &'a Site,
    means: &'a Means,
    search: Search,
    /// When the term began, by the clock and by what no hand can turn.
    began: (Timestamp, Instant),
}

impl Errand<'_> {
    /// The time that has passed since then, whatever became of the clock: a search that waits for a moment must not wait for
    /// as long as the clock was set back.
    fn now(&self) -> Timestamp {
        let (clock, since) = self.began;
        clock.saturating_add(since.elapsed()).unwrap_or(Timestamp::MAX)
    }

    async fn run(&mut self) {
        loop {
            self.site.listed.notified().await;
            if self.site.given_up.load(Ordering::Relaxed) {
                return;
            }
            let (cluster, inventory) = (self.means.books.cluster(&self.site.key), self.site.inventory());
            if let (Some(cluster), Some(inventory)) = (cluster, inventory) {
                self.sweep(&cluster, &inventory).await;
            }
        }
    }

    /// What one listing gives rise to.
    async fn sweep(&mut self, cluster: &HypervisorCluster, inventory: &Inventory) {
        let Some(range) = range(cluster) else { return };
        let holdings = self.means.books.holdings(&self.site.key);
        let candidates = candidates(inventory, range, &holdings);
        let rows: Vec<Row> = candidates.iter().map(|row| face(row)).collect();
        self.search.list(&rows, |allocation| holdings.has(allocation));
        for vm in self.search.agenda(self.now()) {
            if let Some(row) = candidates.iter().find(|row| u32::from(row.vm.id) == vm.0) {
                let sight = self.look(row).await;
                self.search.saw(vm, sight, |allocation| holdings.has(allocation), self.now());
            }
        }
        let listed = |vm: &&VmId| inventory.vms.iter().any(|row| u32::from(row.vm.id) == vm.0);
        let census = Census {
            claimed: holdings.numbers.iter().filter(listed).count(),
            claims: holdings.claims,
            confirmed: confirmed(cluster),
        };
        let verdict = self.search.judge(census, self.now());
        self.tell();
        for suspect in verdict.remove {
            if let Some(row) = candidates.iter().find(|row| u32::from(row.vm.id) == suspect.vm.0) {
                self.remove(cluster, &suspect, row).await;
            }
        }
    }

    /// Whether a machine is ours.
    async fn look(&self, row: &VmRow) -> Sight {
        match self.site.hypervisor.look(&row.vm, Whose::AnyOfOurs).await {
            Ok(seen) => Sight::Ours(seen.allocation().to_string()),
            Err(Error::Foreign { .. }) => Sight::Foreign,
            Err(Error::NotFound { .. }) => Sight::Gone,
            Err(error) => {
                tracing::debug!(cluster = %self.site.key, vm = %row.vm, %error, "whose VM it is cannot be told now");
                Sight::Unknown
            }
        }
    }

    /// Lets the cluster know when the outlook changes.
    fn tell(&self) {
        let outlook = self.search.outlook().clone();
        let before = std::mem::replace(&mut *lock(&self.site.outlook), outlook.clone());
        if let (Outlook::Storm(storm), Outlook::Calm | Outlook::Unknown) = (&outlook, &before) {
            tracing::warn!(cluster = %self.site.key, "{storm}");
            self.means.figures.orphan(&self.site.key, Action::Storm);
        }
        if outlook != before {
            self.site.bell.ring(&self.site.key);
        }
    }

    async fn remove(&mut self, cluster: &HypervisorCluster, suspect: &Suspect, row: &VmRow) {
        let (key, now) = (&self.site.key, self.now());
        match removal::remove(self.site, self.means, suspect, &row.vm).await {
            Ok(Removed::ByUs) => {
                tracing::info!(cluster = %key, vm = %row.vm, allocation = suspect.allocation, "orphan removed");
                self.search.removed(suspect.vm);
                self.means.figures.orphan(key, Action::Removed);
                self.means.books.recorder().publish(&notice(suspect), &cluster.object_ref(&())).await;
            }
            Ok(Removed::BySomebody) => self.search.removed(suspect.vm),
            Err(error) => {
                tracing::warn!(cluster = %key, vm = %row.vm, allocation = suspect.allocation, %error, "orphan not removed");
                self.search.failed(suspect.vm, now);
                self.means.figures.orphan(key, Action::Failed);
            }
        }
    }
}

fn notice(suspect: &Suspect) -> Notice {
    let Suspect { vm, allocation, .. } = suspect;
    Notice {
        severity: Severity::Normal,
        reason: Reason::OrphanRemoved.as_str().to_owned(),
        action: "Remove".to_owned(),
        note: format!("VM {vm} was removed: no MachineClaim has its allocation {allocation} any more"),
        occasion: allocation.clone(),
    }
}

fn range(cluster: &HypervisorCluster) -> Option<VmIdRange> {
    let range = cluster.spec.proxmox.as_ref()?.vmid_range;
    Some(VmIdRange { first: range.first.0.try_into().ok()?, last: range.last.0.try_into().ok()? })
}

/// How many orphans an administrator says there are.
fn confirmed(cluster: &HypervisorCluster) -> Option<usize> {
    cluster.metadata.annotations.as_ref()?.get(api::registry::annotation::CONFIRM_ORPHANS)?.trim().parse().ok()
}

/// The machines of the range that no claim has, on nodes that answer.
fn candidates<'a>(inventory: &'a Inventory, range: VmIdRange, holdings: &Holdings) -> Vec<&'a VmRow> {
    let online =
        |row: &&VmRow| inventory.nodes.iter().any(|node| node.name == row.vm.node && node.presence == Presence::Online);
    let free = |row: &&VmRow| !holdings.numbers.contains(&VmId(row.vm.id.into()));
    inventory.within(range).filter(free).filter(online).collect()
}

fn face(row: &VmRow) -> Row {
    let VmRow { vm, kind: _, name, power: _, lock, tags, pool, cores: _, memory: _ } = row;
    let face = format!("{:?}", (&vm.node, name, lock, tags, pool));
    Row { vm: VmId(vm.id.into()), face, tagged: tags.contains(&Tag::ours()) }
}
