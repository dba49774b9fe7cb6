//! The controllers: a file each, with what it may do beside what it does.

pub mod runner_jobs;

use runtime::host::Host;

use crate::Duty;

/// Starts the given controllers in `host`.
pub fn spawn(duties: &[Duty], host: &Host) {
    if duties.iter().any(|duty| duty.name == runner_jobs::DUTY.name) {
        runner_jobs::spawn(host);
    }
}
