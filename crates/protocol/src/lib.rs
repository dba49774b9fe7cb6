//! What our own processes say to each other.
//!
//! ```text
//!   seed ─▶ agent ── start (token, key in the handshake) ──▶ bootstrap service
//!                 ◀── plan, lease ──────────────────────────
//!                 ── lease, again and again ───────────────▶  how long it may go on, and whether it should
//!                 ── status: listening, started, finished ─▶
//!                 ── beacon: why it does not get there ────▶  believed by nobody, shown to people
//! ```
//!
//! HTTP/1.1 with JSON bodies over TLS 1.3. Whoever uses a token binds it to the key that it shows in the handshake; from
//! then on that key is the session, and no body says whose it is. Times are durations, because guests' clocks lie; the one
//! exception is there to catch them at it.

mod beacon;
mod firmware;
mod lease;
mod plan;
mod report;
mod runner;
mod seed;
mod start;

use secrecy::{ExposeSecret, SecretString};

pub use beacon::{Beacon, Stage};
pub use firmware::{ENGRAVED, PIN, decipher, engrave, pin};
pub use lease::{Lease, Order};
pub use plan::{Item, Plan};
pub use report::{Class, Finish, Report};
pub use runner::{Root, Runner, Sign, Signal, Stop};
pub use seed::{FILE, Seed, VERSION};
pub use start::{Start, Welcome};

/// The largest body either side takes.
pub const LONGEST_BODY: usize = 64 * 1024;

/// The name in the bootstrap service's certificate, whatever address it is reached at.
pub const SERVER_NAME: &str = "bootstrap.hyperfleet.internal";

/// Where things are.
pub mod path {
    /// `POST`: uses a token and gets a plan; the id is the seed's.
    pub fn start(id: &str) -> String {
        format!("/v1/bootstrap/{id}/start")
    }

    /// `POST`: tells how far a machine got, without proof.
    pub fn beacon(id: &str) -> String {
        format!("/v1/bootstrap/{id}/beacon")
    }

    /// `GET`: a file of the seed that cloud-init fetches, under a name that nobody can guess.
    pub fn no_cloud(secret: &str, file: &str) -> String {
        format!("/v1/nocloud/{secret}/{file}")
    }

    /// `POST`: asks to go on.
    pub const LEASE: &str = "/v1/lease";

    /// `POST`: tells what the work does.
    pub const STATUS: &str = "/v1/status";
}

/// Writes a secret where it has to be written: on the seed, and in the one request that uses it.
fn exposed<S: serde::Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

#[cfg(test)]
mod tests;
