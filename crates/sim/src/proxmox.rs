//! A Proxmox VE cluster behind its HTTP API.
//!
//! ```text
//!   request ─▶ wire ─▶ access ─▶ schema ─▶ api ─▶ model     (the order of checks of the real server)
//!                                            │
//!                                            └─▶ tasks: workers that hold locks, take time, fail and leak
//! ```
//!
//! What it answers follows what real Proxmox code was recorded to answer, not what our client would like to hear: a
//! missing VM is a 500, a clone copies its image's tags, a VM that was just made has no name in the cluster's listing.

mod access;
mod api;
mod control;
mod failure;
mod fixture;
mod front;
mod guest;
pub(crate) mod hex;
mod limits;
mod lock;
mod model;
mod profile;
pub(crate) mod rng;
mod schema;
mod wire;
mod worker;
mod world;

use std::sync::Arc;

use chassis::{Clock, Tasks};

pub use control::{FaultId, FaultRule, Logged};
pub use fixture::Fixture;
pub use guest::{Act, Hardware, Hook, Inhabitant};
pub use limits::Limits;
pub use profile::Profile;
pub use wire::{Authority, Dropped, Server, Service, Transport};

use world::World;

/// Which Proxmox VE it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 8.4
    V8,
    /// 9.2
    V9,
}

impl Release {
    /// The version that the API reports.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V8 => "8.4.21",
            Self::V9 => "9.2.11",
        }
    }

    /// The release that the API reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V8 => "8.4",
            Self::V9 => "9.2",
        }
    }
}

/// What a simulated cluster is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which Proxmox VE.
    pub release: Release,
    /// What is there at the start.
    pub fixture: Fixture,
    /// How long things take.
    pub profile: Profile,
    /// Everything random follows from it.
    pub seed: u64,
    /// Limits and delays of the real programs.
    pub limits: Limits,
    /// What a started VM does.
    pub hook: Hook,
    /// Its clock.
    pub clock: Clock,
}

impl Options {
    /// A cluster of this release with nothing unusual about it.
    pub fn new(release: Release, fixture: Fixture, clock: Clock) -> Self {
        Self { release, fixture, profile: Profile::ZERO, seed: 1, limits: Limits::REAL, hook: Hook::Nothing, clock }
    }
}

/// A simulated cluster; clones are the same one.
#[derive(Clone)]
pub struct Simulator {
    world: Arc<World>,
}

impl Simulator {
    /// Starts a cluster whose background work belongs to `tasks`.
    pub fn new(options: Options, tasks: &Tasks) -> Self {
        Self { world: Arc::new(World::new(options, tasks)) }
    }

    /// Its API in process, as one connection to it.
    pub fn service(&self) -> Service {
        Service::new(Arc::clone(&self.world))
    }
}
