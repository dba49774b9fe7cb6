//! Asking to go on, again and again.

use std::time::Duration;

use protocol::{Lease, Order, path};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::Ending;
use crate::{Answer, Line};

/// Without an answer for this many times the lease's seconds, it is lost.
const MISSED: u32 = 3;

/// Keeps the lease; returns when the work must end, and tells `drain` when it should take no more.
pub(super) async fn keep(line: &impl Line, lease: Lease, drain: &Notify) -> Ending {
    let (mut lease, mut asked) = (lease, Instant::now());
    loop {
        match lease.order {
            Order::End => return Ending::EndedByService,
            Order::Drain => drain.notify_one(),
            Order::GoOn => {}
        }
        let period = Duration::from_secs(lease.seconds.max(1));
        sleep_until(asked + period).await;
        (lease, asked) = match renew(line, period, asked + period * MISSED).await {
            Ok(renewed) => renewed,
            Err(why) => return Ending::LeaseLost(why),
        };
    }
}

/// Asks until there is an answer, or none is worth waiting for; with the time of the asking.
async fn renew(line: &impl Line, period: Duration, end: Instant) -> Result<(Lease, Instant), String> {
    let mut why = "no answer".to_owned();
    loop {
        let asked = Instant::now();
        let Ok(said) = timeout_at(end, line.post(path::LEASE, b"{}".to_vec())).await else { return Err(why) };
        match said {
            Ok(Answer { status: 403, .. }) => return Err("the service refused to go on".to_owned()),
            Ok(answer) if answer.is_success() => match serde_json::from_slice(&answer.body) {
                Ok(lease) => return Ok((lease, asked)),
                Err(_) => "the service answered what is no lease".clone_into(&mut why),
            },
            Ok(answer) => why = format!("the service answered {}", answer.status),
            Err(error) => why = error.to_string(),
        }
        tracing::warn!(why, "the lease was not renewed");
        // Several tries fit into what is left of the lease.
        let pause = (period / 4).clamp(Duration::from_millis(250), Duration::from_secs(10));
        if timeout_at(end, sleep(pause)).await.is_err() {
            return Err(why);
        }
    }
}
