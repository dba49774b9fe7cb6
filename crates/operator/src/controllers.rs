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

#[cfg(test)]
mod tests {
    use api::{ConditionType, Reason};

    #[test]
    fn the_driver_and_the_api_use_the_same_words_for_a_stall() {
        assert_eq!(runtime::STALLED.condition, ConditionType::Stalled.as_str());
        assert_eq!(runtime::STALLED.refused, Reason::Refused.as_str());
        assert_eq!(runtime::STALLED.unavailable, Reason::Unavailable.as_str());
    }
}
