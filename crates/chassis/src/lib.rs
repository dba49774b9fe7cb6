//! What every program of ours needs, whatever it does.
//!
//! ```text
//!   settings   flag > variable > file > default, one table
//!   telemetry  records on stderr, spans to a collector, one trace id
//!   metrics    one handle, one catalogue
//!   health     gates that say what they wait for, pulses that must beat
//!   serve      small HTTP servers: limits, TLS that follows its files, an orderly end
//!   Clock      the one source of time          Tasks  named background work that shutdown joins
//!   Brake      what stops a simulated process  Hands  what sets a simulated clock
//! ```
//!
//! Nothing here knows Kubernetes: the operator stands on it, and so can the agent in a VM, an executor or a simulator.

mod board;
mod brake;
mod clock;
mod tasks;

pub mod health;
pub mod metrics;
pub mod serve;
pub mod settings;
pub mod telemetry;

pub use board::{Board, Gone, Reader};
pub use brake::{Brake, Braked};
pub use clock::{Clock, Hands};
pub use tasks::{Leftover, Tasks};
