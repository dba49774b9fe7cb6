//! Pools: a GitHub whose jobs they serve, and the operator between it and the machines.

mod crashes;
mod jobs;
mod kills;
mod minting;
mod sizes;
mod states;
mod trust;
