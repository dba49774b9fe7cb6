//! Spans on their way out: a bounded queue and one task, so that no reconcile ever waits for a collector.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter, SpanProcessor};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::Tasks;
use crate::metrics::{Loss, Metrics};

/// How long shutdown may take, whatever the collector does.
pub(super) const FLUSH: Duration = Duration::from_secs(2);

/// At most one line about a failing collector in this time.
const QUIET: Duration = Duration::from_mins(1);

/// The figures of the OpenTelemetry specification's batch processor.
const QUEUE: usize = 2_048;
const BATCH: usize = 512;
const DELAY: Duration = Duration::from_secs(5);

/// Takes finished spans; never waits, counts what it must drop.
#[derive(Debug)]
pub(super) struct Queue {
    sender: mpsc::Sender<SpanData>,
    metrics: Metrics,
}

impl Queue {
    /// A queue and the task behind it, which ends within [`FLUSH`] after `tasks` are asked to.
    pub(super) fn spawn<E>(exporter: E, limit: Duration, metrics: &Metrics, tasks: &Tasks) -> Self
    where
        E: SpanExporter + 'static,
    {
        let (sender, spans) = mpsc::channel(QUEUE);
        let mut export = Export { exporter, spans, limit, metrics: metrics.clone(), sending: 0, trouble: None };
        let (stopping, killed) = (tasks.stopping(), tasks.stopping());
        tasks.spawn("trace export", async move {
            tokio::select! {
                () = export.run(stopping) => {}
                () = async { killed.await; sleep(FLUSH).await } => {
                    export.metrics.spans_dropped(Loss::ExportFailed, export.sending + export.spans.len());
                }
            }
        });
        Self { sender, metrics: metrics.clone() }
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.sender.try_send(span).is_err() {
            self.metrics.spans_dropped(Loss::QueueFull, 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    /// Nothing to do: the task ends with its [`Tasks`], which has a bound and a name for it.
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

struct Export<E> {
    exporter: E,
    spans: mpsc::Receiver<SpanData>,
    limit: Duration,
    metrics: Metrics,
    sending: usize,
    trouble: Option<Trouble>,
}

/// Since when the collector has not taken spans, and when the log last said so.
struct Trouble {
    since: Instant,
    told: Instant,
}

impl<E: SpanExporter> Export<E> {
    /// Sends batch after batch; once `stopping`, what is left, and returns.
    async fn run(&mut self, stopping: impl Future<Output = ()>) {
        tokio::pin!(stopping);
        let mut batch = Vec::new();
        loop {
            let drained = tokio::select! {
                biased;
                () = &mut stopping, if !self.spans.is_closed() => {
                    self.spans.close();
                    false
                }
                () = gather(&mut self.spans, &mut batch) => batch.is_empty(),
            };
            if drained {
                return;
            }
            if !batch.is_empty() {
                self.send(std::mem::take(&mut batch)).await;
            }
        }
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let count = batch.len();
        self.sending = count;
        let sent = timeout(self.limit, self.exporter.export(batch)).await;
        self.sending = 0;
        match sent {
            Ok(Ok(())) => {
                self.metrics.spans_exported(count);
                if let Some(trouble) = self.trouble.take() {
                    tracing::info!(after = ?trouble.since.elapsed(), "the trace collector takes spans again");
                }
            }
            Ok(Err(error)) => self.failed(count, &error.to_string()),
            Err(_elapsed) => self.failed(count, &format!("no answer within {:?}", self.limit)),
        }
    }

    fn failed(&mut self, spans: usize, error: &str) {
        self.metrics.spans_dropped(Loss::ExportFailed, spans);
        let now = Instant::now();
        match &mut self.trouble {
            Some(trouble) if now.duration_since(trouble.told) < QUIET => return,
            Some(trouble) => trouble.told = now,
            None => self.trouble = Some(Trouble { since: now, told: now }),
        }
        tracing::warn!(error, spans, "the trace collector does not take spans; they are dropped");
    }
}

/// Waits for a span, then until the batch is full or has waited long enough; comes back empty once the queue is closed
/// and empty. Nothing is lost when it is cut short.
async fn gather(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    if spans.recv_many(batch, BATCH).await == 0 {
        return;
    }
    let due = Instant::now() + DELAY;
    while batch.len() < BATCH {
        match timeout_at(due, spans.recv_many(batch, BATCH - batch.len())).await {
            Ok(0) | Err(_) => return,
            Ok(_more) => {}
        }
    }
}

#[cfg(test)]
mod tests;
