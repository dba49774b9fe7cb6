//! Telling the service what the work does.

use protocol::{Report, path};
use tokio::time::sleep;

use super::patience::{Patience, Pauses};
use crate::Line;

/// Tells it until it is acknowledged, or refused for good.
pub(super) async fn tell(line: &impl Line, report: &Report, patience: &Patience) {
    let body = serde_json::to_vec(report).expect("texts have a form in JSON");
    let mut pauses = Pauses::new(patience);
    loop {
        let (why, asked) = match line.post(path::STATUS, body.clone()).await {
            Ok(answer) if answer.is_success() => return,
            Ok(answer) if !answer.may_pass() => {
                tracing::warn!(status = answer.status, "the service does not take a report");
                return;
            }
            Ok(answer) => (format!("the service answered {}", answer.status), answer.retry_after),
            Err(error) => (error.to_string(), None),
        };
        tracing::warn!(why, "a report was not acknowledged");
        sleep(pauses.next(asked)).await;
    }
}
