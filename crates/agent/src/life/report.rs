//! Telling the service what the work does.

use std::collections::VecDeque;
use std::pin::Pin;

use protocol::{Report, path};
use tokio::time::sleep;

use super::patience::{Patience, Pauses};
use crate::Line;

/// Reports on their way, one after the other, while everything else goes on.
pub(super) struct Reports<'a, L> {
    line: &'a L,
    patience: &'a Patience,
    waiting: VecDeque<Report>,
    sending: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
}

impl<'a, L: Line> Reports<'a, L> {
    pub(super) fn new(line: &'a L, patience: &'a Patience) -> Self {
        Self { line, patience, waiting: VecDeque::new(), sending: None }
    }

    /// Says this after all that was said before.
    pub(super) fn say(&mut self, report: Report) {
        // That it waits for a job is no news any more.
        self.waiting.retain(|waiting| *waiting != Report::Listening);
        self.waiting.push_back(report);
    }

    /// Goes on until everything was said; may be dropped and asked again.
    pub(super) async fn done(&mut self) {
        loop {
            if let Some(sending) = &mut self.sending {
                sending.await;
                self.sending = None;
            }
            let Some(report) = self.waiting.pop_front() else { return };
            self.sending = Some(Box::pin(tell(self.line, report, self.patience)));
        }
    }

    /// Whether there is something to say.
    pub(super) fn are_waiting(&self) -> bool {
        self.sending.is_some() || !self.waiting.is_empty()
    }
}

/// Tells it until it is acknowledged, or refused for good.
pub(super) async fn tell(line: &impl Line, report: Report, patience: &Patience) {
    let body = serde_json::to_vec(&report).expect("texts have a form in JSON");
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
