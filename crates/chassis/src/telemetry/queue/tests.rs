//! Collectors that work, hang and refuse, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opentelemetry::trace::{Tracer, TracerProvider};
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Mood {
    Willing,
    Refusing,
    Hanging,
}

#[derive(Clone, Debug)]
struct Collector {
    mood: Mood,
    batches: Arc<AtomicUsize>,
    spans: Arc<AtomicUsize>,
}

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.batches.fetch_add(1, Ordering::SeqCst);
        match self.mood {
            Mood::Willing => {
                self.spans.fetch_add(batch.len(), Ordering::SeqCst);
                Ok(())
            }
            Mood::Refusing => Err(OTelSdkError::InternalFailure("no".into())),
            Mood::Hanging => std::future::pending().await,
        }
    }
}

struct World {
    collector: Collector,
    provider: SdkTracerProvider,
    metrics: Metrics,
    tasks: Tasks,
}

fn world(mood: Mood) -> World {
    let collector = Collector { mood, batches: Arc::default(), spans: Arc::default() };
    let (metrics, tasks) = (Metrics::new("0"), Tasks::new());
    let queue = Queue::spawn(collector.clone(), Duration::from_secs(10), &metrics, &tasks);
    let provider = SdkTracerProvider::builder().with_span_processor(queue).build();
    World { collector, provider, metrics, tasks }
}

impl World {
    fn emit(&self, spans: usize) {
        let tracer = self.provider.tracer("test");
        (0..spans).for_each(|_| drop(tracer.start("span")));
    }

    fn metric(&self, series: &str) -> usize {
        let page = self.metrics.render();
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map_or(0, |count| count.parse().unwrap())
    }

    fn dropped(&self, reason: &str) -> usize {
        self.metric(&format!("hyperfleet_trace_spans_dropped_total{{reason=\"{reason}\"}}"))
    }
}

#[tokio::test(start_paused = true)]
async fn spans_go_out_in_batches_after_a_short_while_and_at_shutdown() {
    let world = world(Mood::Willing);
    world.emit(3);
    tokio::time::sleep(DELAY + Duration::from_millis(1)).await;
    assert_eq!(world.collector.spans.load(Ordering::SeqCst), 3);
    world.emit(BATCH + 7);
    world.tasks.shutdown(FLUSH).await.unwrap();
    assert_eq!(world.collector.spans.load(Ordering::SeqCst), BATCH + 10);
    assert_eq!(world.collector.batches.load(Ordering::SeqCst), 3);
    assert_eq!(world.metric("hyperfleet_trace_spans_exported_total"), BATCH + 10);
}

#[tokio::test(start_paused = true)]
async fn p34_a_collector_that_never_answers_costs_spans_and_not_time() {
    let world = world(Mood::Hanging);
    let start = Instant::now();
    world.emit(QUEUE + 100);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(world.dropped("queue_full"), 100);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(world.dropped("export_failed"), BATCH, "one batch has had its ten seconds");
    let stop = Instant::now();
    world.tasks.shutdown(FLUSH * 2).await.unwrap();
    assert_eq!(stop.elapsed(), FLUSH);
    assert_eq!(world.dropped("export_failed"), QUEUE, "what is left is counted, too");
    world.emit(1);
    assert_eq!(world.dropped("queue_full"), 101, "a span after the end is lost but harms nobody");
}

#[tokio::test(start_paused = true)]
async fn p34_a_collector_that_refuses_is_complained_about_once_a_minute() {
    let (lines, world) = (Arc::new(AtomicUsize::new(0)), world(Mood::Refusing));
    let counted = Arc::clone(&lines);
    let writer = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        std::io::sink()
    };
    let subscriber = tracing_subscriber::fmt().with_writer(writer).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    for _ in 0..20 {
        world.emit(1);
        tokio::time::sleep(Duration::from_secs(6)).await;
    }
    assert_eq!(world.dropped("export_failed"), 20);
    assert_eq!(lines.load(Ordering::SeqCst), 2, "two minutes of trouble are two lines");
}
