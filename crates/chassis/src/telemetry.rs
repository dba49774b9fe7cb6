//! Logs and traces: what the process says about what it does.
//!
//! ```text
//!   span, event ─┬─▶ OpenTelemetry layer ─▶ bounded queue ─▶ one task ─▶ collector (OTLP, if OTEL_* asks for it)
//!                └─▶ Records: one line on stderr, JSON or text, with the ids of the trace it belongs to
//! ```
//!
//! Trace ids exist whether or not traces are exported, so that the lines of one reconcile can always be found. Nothing
//! here waits for a collector. Records never hold headers or bodies: our code does not log them, and libraries are not
//! heard below INFO.

mod export;
mod level;
mod otlp;
mod queue;
mod record;
#[cfg(test)]
mod tests;

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal};

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use reconcile::Fault;
use tracing::Subscriber;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

pub use level::{Format, LEVELS, Level, level};
pub use otlp::Env;

use crate::metrics::Metrics;
use crate::{Clock, Tasks};
use level::{Threshold, traced};
use otlp::Reader;
use queue::Queue;
use record::Records;

/// What telemetry needs to know at the start.
pub struct Options<'a> {
    /// The service name unless `OTEL_SERVICE_NAME` gives one.
    pub service: &'a str,
    /// The program's version.
    pub version: &'a str,
    /// The least severe records to write.
    pub level: Level,
    /// The shape of records, or `None` to choose: text on a terminal outside a cluster, else JSON.
    pub format: Option<Format>,
    /// Reads the `OTEL_*` variables.
    pub env: Env<'a>,
    /// Where lost spans are counted.
    pub metrics: &'a Metrics,
    /// Stamps the records.
    pub clock: Clock,
}

/// The running telemetry; ends with [`Telemetry::shutdown`].
#[derive(Debug)]
pub struct Telemetry {
    threshold: Threshold,
    // Held so that spans can be finished as long as somebody can shut us down.
    _provider: SdkTracerProvider,
    tasks: Tasks,
    warnings: Vec<String>,
}

/// Starts telemetry for the whole process, with records on stderr; needs a tokio runtime.
pub fn start(options: &Options<'_>) -> Result<Telemetry, SetGlobalDefaultError> {
    let (subscriber, telemetry) = build(options, io::stderr);
    tracing::subscriber::set_global_default(subscriber)?;
    telemetry.announce();
    Ok(telemetry)
}

/// The same as a value, with records to `writer`, for a caller that installs the subscriber itself.
pub fn build<W>(options: &Options<'_>, writer: W) -> (impl Subscriber + Send + Sync + use<W>, Telemetry)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let tasks = Tasks::new();
    let mut reader = Reader { env: options.env, warnings: Vec::new() };
    let provider = provider(&mut reader, options, &tasks);
    let threshold = Threshold::new(options.level);
    let traces = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("hyperfleet"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(traced));
    let format = options.format.unwrap_or_else(|| suitable(options.env));
    let records = Records::new(format, options.clock, writer).with_filter(threshold.clone());
    let telemetry = Telemetry { threshold, _provider: provider, tasks, warnings: reader.warnings };
    (Registry::default().with(traces).with(records), telemetry)
}

fn provider(reader: &mut Reader<'_>, options: &Options<'_>, tasks: &Tasks) -> SdkTracerProvider {
    let resource = reader.resource(options.service, options.version);
    let builder = SdkTracerProvider::builder().with_sampler(reader.sampler()).with_resource(resource.clone());
    let Some(otlp) = reader.target() else { return builder.build() };
    match export::exporter(&otlp, &resource) {
        Ok(exporter) => {
            builder.with_span_processor(Queue::spawn(exporter, otlp.timeout, options.metrics, tasks)).build()
        }
        Err(problem) => {
            reader.warnings.push(format!("no traces are exported: {problem}"));
            builder.build()
        }
    }
}

fn suitable(env: Env<'_>) -> Format {
    let in_cluster = env("KUBERNETES_SERVICE_HOST").is_some();
    if !in_cluster && io::stderr().is_terminal() { Format::Text } else { Format::Json }
}

impl Telemetry {
    /// Changes the level of records from now on.
    pub fn set_level(&self, level: Level) {
        self.threshold.set(level);
    }

    /// Logs what was wrong with the `OTEL_*` variables.
    pub fn announce(&self) {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
    }

    /// Sends the spans that are left and returns within about two seconds, whatever the collector does.
    pub async fn shutdown(&self) {
        // The task ends itself at the limit; the rest is for an overloaded machine.
        if let Err(leftover) = self.tasks.shutdown(queue::FLUSH + queue::FLUSH / 4).await {
            tracing::warn!(%leftover, "spans may be lost");
        }
    }
}

/// Logs a fault: one ERROR record that says what happened, one DEBUG record that says why and where.
pub fn report(fault: &Fault) {
    let (operation, class) = (fault.operation(), fault.class().as_str());
    tracing::error!(operation, class, "{fault}");
    tracing::debug!(
        operation,
        class,
        chain = fault.chain().join(": "),
        backtrace = %Backtrace::force_capture(),
        "the cause of: {fault}"
    );
}
