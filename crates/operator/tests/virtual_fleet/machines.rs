//! The operator's machine controllers: clusters, templates and claims.

mod claims;
mod clusters;
mod crashes;
mod leftovers;
mod mistakes;
mod moved;
mod named;
mod neighbours;
mod orphans;
mod placed;
mod runners;
mod secrets;
mod seeds;
mod stops;
mod storms;
mod templates;
mod threats;
