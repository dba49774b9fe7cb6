//! The console: one page that shows what is going on, for whoever may look.
//!
//! ```text
//!   caches that the controllers have ──▶ Show: one picture for all who look, some times a second, none if nobody does
//!   claims that went ──▶ Departed ────▶   │
//!                                         ├─▶ /console/state   the whole picture
//!                                         └─▶ /console/events  the whole picture, then only what changed, live
//!                                             /console/        page, style, script: the same for everybody
//! ```
//!
//! It is read-only and costs the API server nothing but two reviews of a viewer's token. Pictures are behind the same
//! question as metrics: whose token is it, and may its owner `get` this path? The page itself holds nothing that is not in
//! this repository, and a browser that follows a link cannot send a token with it: so the page is open. It gets its token
//! from the part of its address that is never sent (`/console/#token=…`), and asks for it if there is none.
//!
//! Every replica serves it, whoever leads.

mod diff;
mod invite;
mod page;
mod queue;
mod rows;
mod scene;
mod seat;
mod show;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use runtime::host::Host;
use runtime::{Cache, Cacheable};

pub use self::invite::{InviteError, invite};

use self::rows::Place;
use self::show::Show;
use self::state::{Objects, State};
use crate::departed::Departed;

/// Everything that the console shows, as the process knows it anyway.
#[derive(Clone, Debug)]
pub struct Caches {
    /// The pools.
    pub pools: Cache<RunnerPool>,
    /// The jobs.
    pub jobs: Cache<RunnerJob>,
    /// The claims.
    pub claims: Cache<MachineClaim>,
    /// The sources.
    pub sources: Cache<RunnerSource>,
    /// What machines are made from.
    pub templates: Cache<HypervisorMachineTemplate>,
    /// Where machines are made.
    pub clusters: Cache<HypervisorCluster>,
}

/// Puts the console beside the metrics of a process.
pub fn spawn(host: &Host, caches: &Caches) {
    let Some(address) = host.admin else { return };
    let departed = Departed::of(&caches.claims, host.parts.clock);
    let (leadership, clock) = (host.leadership.clone(), host.parts.clock);
    let (instance, namespaces) = (host.instance.clone(), host.settings.namespaces.clone());
    let watched = caches.clone();
    let look = move || {
        let place = Place {
            instance: instance.clone(),
            version: crate::cli::VERSION,
            namespaces: namespaces.clone(),
            leads: leadership.is_held(),
        };
        State::of(&gather(&watched, &departed), place)
    };
    let show = Arc::new(Show::new(clock, look));
    stir(&caches.pools, &show);
    stir(&caches.jobs, &show);
    stir(&caches.claims, &show);
    stir(&caches.sources, &show);
    stir(&caches.templates, &show);
    stir(&caches.clusters, &show);
    host.annex.furnish(page::open(), seat::closed(&show, &host.parts.tasks));
    let (stopping, painter) = (host.parts.tasks.stopping(), Arc::clone(&show));
    host.parts.tasks.spawn("console", async move {
        tokio::select! {
            biased;
            () = stopping => {}
            () = painter.run() => {}
        }
    });
    let scheme = if host.settings.metrics.secure { "https" } else { "http" };
    tracing::info!("the console is at {scheme}://{address}/console/");
}

/// The address of a console with a token in the part that browsers keep to themselves. Whoever has it may look: it is for
/// one person's terminal, and for no log.
pub fn link(origin: &str, token: &str) -> String {
    format!("{}/console/#token={token}", origin.trim_end_matches('/'))
}

fn gather(caches: &Caches, departed: &Departed) -> Objects {
    let Caches { pools, jobs, claims, sources, templates, clusters } = caches;
    Objects {
        pools: pools.all(),
        jobs: jobs.all(),
        claims: claims.all(),
        sources: sources.all(),
        templates: templates.all(),
        clusters: clusters.all(),
        departed: departed.all(),
    }
}

/// Every change makes the picture an old one.
fn stir<K: Cacheable>(cache: &Cache<K>, show: &Arc<Show>) {
    let show = Arc::downgrade(show);
    cache.subscribe(move |_| show.upgrade().map(|show| show.stir()).is_some());
}
