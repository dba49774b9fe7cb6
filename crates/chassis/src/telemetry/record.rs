//! One line per record, with everything the spans around it know.
//!
//! A JSON record has, in this order: `timestamp`, `level`, `target`, `message`, `trace_id` and `span_id` (inside a
//! span), then the fields of the record and of the spans around it, innermost first, each name once.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

use opentelemetry::trace::TraceContextExt;
use serde_json::Value;
use tracing::dispatcher::WeakDispatch;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::Format;
use crate::Clock;

/// Writes records; the layer that makes trace ids must be below it.
pub(super) struct Records<W> {
    format: Format,
    clock: Clock,
    writer: W,
    dispatch: OnceLock<WeakDispatch>,
}

impl<W> Records<W> {
    pub(super) const fn new(format: Format, clock: Clock, writer: W) -> Self {
        Self { format, clock, writer, dispatch: OnceLock::new() }
    }

    /// The trace and span id of a span, in hexadecimal.
    fn trace(&self, span: &Id) -> Option<(String, String)> {
        let dispatch = self.dispatch.get()?.upgrade()?;
        let context = tracing_opentelemetry::get_otel_context(span, &dispatch)?;
        let span = context.span().span_context().clone();
        span.is_valid().then(|| (span.trace_id().to_string(), span.span_id().to_string()))
    }
}

impl<S, W> Layer<S> for Records<W>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + 'static,
{
    fn on_register_dispatch(&self, dispatch: &Dispatch) {
        let _first_wins = self.dispatch.set(dispatch.downgrade());
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut line = fields.head(event, self.clock);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.inherit(outer);
            }
        }
        if let Some((trace, span)) = context.event_span(event).and_then(|span| self.trace(&span.id())) {
            line.extend([("trace_id", Value::String(trace)), ("span_id", Value::String(span))]);
        }
        // A field may not pose as one of ours.
        fields.0.retain(|(name, _)| line.iter().all(|(taken, _)| taken != name));
        line.append(&mut fields.0);
        let text = match self.format {
            Format::Json => json(&line),
            Format::Text => plain(&line),
        };
        // One write per record keeps lines whole; there is nowhere left to report that the log itself is gone.
        let _written = self.writer.make_writer_for(event.metadata()).write_all(text.as_bytes());
    }
}

type Pairs = Vec<(&'static str, Value)>;

/// The fields of one span or event, by name.
#[derive(Default)]
struct Fields(Pairs);

impl Fields {
    fn head(&mut self, event: &Event<'_>, clock: Clock) -> Pairs {
        let message = self.0.iter().position(|(name, _)| *name == "message").map(|at| self.0.remove(at).1);
        vec![
            ("timestamp", Value::String(format!("{:.6}", clock.now()))),
            ("level", Value::String(event.metadata().level().to_string())),
            ("target", Value::String(event.metadata().target().into())),
            ("message", message.unwrap_or_else(|| Value::String(String::new()))),
        ]
    }

    fn inherit(&mut self, outer: &Self) {
        for (name, value) in &outer.0 {
            if self.0.iter().all(|(taken, _)| taken != name) {
                self.0.push((name, value.clone()));
            }
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        let name = field.name().trim_start_matches("r#");
        // Directions to the tracing layer, not facts.
        if name.starts_with("otel.") {
            return;
        }
        match self.0.iter_mut().find(|(taken, _)| *taken == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

macro_rules! record_as_is {
    ($($method:ident: $type:ty),+) => {
        $(fn $method(&mut self, field: &Field, value: $type) {
            self.put(field, value.into());
        })+
    };
}

impl Visit for Fields {
    record_as_is!(record_f64: f64, record_i64: i64, record_u64: u64, record_bool: bool, record_str: &str);

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.put(field, value.to_string().into());
    }
}

fn json(line: &Pairs) -> String {
    let pairs: Vec<String> = line.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}\n", pairs.join(","))
}

/// `2026-11-15T23:00:00.000000Z  INFO message name=value …`, without the target and the span id.
fn plain(line: &Pairs) -> String {
    let mut text = String::new();
    for (name, value) in line {
        let value = value.as_str().map_or_else(|| value.to_string(), printable);
        let _infallible = match *name {
            "timestamp" => write!(text, "{value}"),
            "level" => write!(text, " {value:>5}"),
            "message" => write!(text, " {value}"),
            "target" | "span_id" => Ok(()),
            _ if value.is_empty() || value.contains(' ') => write!(text, " {name}=\"{value}\""),
            _ => write!(text, " {name}={value}"),
        };
    }
    text.push('\n');
    text
}

/// A record stays one line, whatever somebody put into it.
fn printable(value: &str) -> String {
    let escape = |char: char| if char.is_control() { char.escape_default().collect() } else { char.to_string() };
    value.chars().map(escape).collect()
}
