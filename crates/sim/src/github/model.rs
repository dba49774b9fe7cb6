//! What there is: owners, runners, groups, runs, jobs, hooks, scale sets.

mod group;
mod job;
mod run;
mod runner;
mod scope;
mod state;

pub(crate) use group::Group;
pub use job::{Conclusion, JobSpec, Status};
pub(crate) use job::{Job, Placement, Stage, TakenBy};
pub(crate) use run::{Run, verdict};
pub(crate) use runner::{Contact, Registration, Runner, covers};
pub(crate) use scope::Repository;
pub use scope::Scope;
pub(crate) use state::State;
