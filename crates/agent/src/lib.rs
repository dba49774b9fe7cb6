//! The agent in a fresh VM: one life, one piece of work, power-off.
//!
//! ```text
//!   seed ─▶ is this the machine? ── no ──▶ exit 3, nothing is touched
//!                  │ yes
//!                  ▼
//!   is this the agent that the seed pins, if it pins one? ── no ──▶ beacon, power-off
//!                  │ yes
//!                  ▼
//!   start ── plan, lease ──▶ work begins ──▶ started, or a runner's listening and then its job's started
//!     │                        │   ▲ lease, again and again: go on, drain, end
//!     │ not reached,           ▼   │
//!     │ not trusted,       it exits, its deadline passes, no job comes, the lease is lost, the service says end
//!     │ refused                │
//!     │                        ▼
//!     └────────────────▶ finished ──▶ power-off, whatever happened
//! ```
//!
//! [`live`] is all of it between seed and power-off. It talks through a [`Line`] and works on a [`Machine`], so that a
//! whole life runs in a test's own time; [`Wire`] and [`Host`] are the real ones. [`cli`] is the program around it, and
//! the only place that powers anything off.

pub mod cli;
mod hardening;
mod host;
mod life;
mod line;
mod machine;
pub mod power_off;
mod program;
pub mod seed;
mod uuid;
mod watchdog;
mod wire;

pub use host::{Host, Running};
pub use life::{Ending, Patience, live};
pub use line::{Answer, Line, LineError};
pub use machine::{Event, Exit, Job, Machine, Shortage, Work};
pub use wire::{Wire, WireError};

/// The agent's version, as the service is told.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
