//! Whether the machine's clock is right enough for a runner.
//!
//! Platforms refuse a runner whose clock is wrong, and some runners take that for the end of their registration. Guests'
//! clocks are set late, so that a wrong one is waited for, but not for as long as the lease lasts.

use std::time::Duration;

use protocol::Runner;
use tokio::time::{Instant, sleep};

use crate::Machine;

const GLANCE: Duration = Duration::from_secs(1);

/// Waits until the machine's clock agrees with the service's, which was `told` at `heard`; the error is a sentence.
pub(super) async fn agrees(
    machine: &impl Machine,
    runner: Option<&Runner>,
    (told, heard): (i64, Instant),
    patience: Duration,
) -> Result<(), String> {
    let Some(limit) = runner.and_then(|runner| runner.skew_seconds) else { return Ok(()) };
    loop {
        let waited = heard.elapsed();
        let right = told.saturating_add_unsigned(waited.as_secs());
        let skew = machine.clock().saturating_sub(right);
        if skew.unsigned_abs() <= limit {
            return Ok(());
        }
        if waited >= patience {
            let way = if skew < 0 { "behind" } else { "ahead" };
            return Err(format!(
                "this machine's clock is {} s {way} and the platform takes no runner beyond {limit} s: let the image set \
                 its clock when it boots",
                skew.unsigned_abs()
            ));
        }
        tracing::warn!(skew, "this machine's clock is wrong: waiting for it to be set");
        sleep(GLANCE).await;
    }
}
