//! The only place of HyperFleet that talks to Kubernetes.
//!
//! ```text
//!  watch ─▶ Cache ─┐                                             ┌─▶ status, if it differs
//!  timer ──────────┼▶ driver: observe ─▶ plan ─▶ audit ─▶ execute┤
//!  trigger ────────┘              (pure)      (steps, via Writer) └─▶ events, from transitions
//!                        ▲                        ▲
//!                     Health                  Leadership
//! ```
//!
//! One driver serves every controller; one [`Writer`] makes every write, needs the lease and carries a precondition. What
//! runs on every replica has no lease and writes status through a [`Swap`].
//! [`host`] is the life of a process around them, on the `chassis` that all our programs share. It is not a framework: it
//! holds what three operators share and nothing else.

mod bell;
mod cache;
mod driver;
mod events;
mod key;
mod parts;
mod swap;
mod writer;

pub mod admin;
pub mod client;
pub mod host;
pub mod lease;
pub mod rbac;

pub use bell::Bell;
pub use cache::{Cache, Cacheable, Change, Entry, Selection};
pub use driver::{Controller, Driver, HOLD, STALLED, StallWords};
pub use events::{Notice, Recorder, Severity};
pub use key::Key;
pub use lease::{Door, Leadership};
pub use parts::Parts;
pub use swap::Swap;
pub use writer::{Created, Writable, Writer};
