//! What records look like, and which are written.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use reconcile::Class;
use serde_json::Value;

use super::*;
use crate::settings::{Layers, RUNTIME, Runtime};

/// Where a test's records go.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Capture {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn records(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }
}

fn options<'a>(level: Level, format: Format, env: Env<'a>, metrics: &'a Metrics) -> Options<'a> {
    let clock = Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap());
    Options { service: "hyperfleet-operator", version: "1.2.3", level, format: Some(format), env, metrics, clock }
}

/// What `body` logs at this level.
fn logged(level: Level, format: Format, body: impl FnOnce(&Telemetry)) -> Capture {
    let (capture, metrics) = (Capture::default(), Metrics::new("0"));
    let writer = capture.clone();
    let (subscriber, telemetry) = build(&options(level, format, &|_| None, &metrics), move || writer.clone());
    tracing::subscriber::with_default(subscriber, || body(&telemetry));
    capture
}

fn one_of_each() {
    tracing::error!("of each");
    tracing::warn!("of each");
    tracing::info!("of each");
    tracing::debug!("of each");
    tracing::trace!("of each");
    tracing::info!(target: "hyper_util::client", "library");
    tracing::debug!(target: "hyper_util::client", "library quotes a request");
}

fn words(records: &[Value], message: &str) -> Vec<String> {
    let ours = records.iter().filter(|record| record["message"] == message);
    ours.map(|record| record["level"].as_str().unwrap().to_owned()).collect()
}

fn any_level_text() -> impl Strategy<Value = String> {
    let mixed = |word: &'static str| {
        prop::collection::vec(any::<bool>(), word.len()).prop_map(move |upper| {
            word.chars().zip(upper).map(|(c, up)| if up { c.to_ascii_uppercase() } else { c }).collect::<String>()
        })
    };
    prop_oneof![mixed("debug"), mixed("info"), mixed("warn"), mixed("error"), ".*", "[a-z]{1,7}", Just("trace".into())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn p32_whatever_log_level_says_nothing_below_the_threshold_is_written(text in any_level_text()) {
        let env = |name: &str| (name == "LOG_LEVEL").then(|| text.clone());
        let effective = Layers::new(&[RUNTIME], [], &env).resolve(None).unwrap();
        let level = Runtime::of(&effective).unwrap().log_level;
        let word = text.trim().to_ascii_uppercase();
        let known = ["ERROR", "WARN", "INFO", "DEBUG"].contains(&word.as_str());
        prop_assert_eq!(level.as_str(), if known { word.as_str() } else { "INFO" });
        prop_assert_eq!(effective.warnings.is_empty(), known || text.trim().is_empty(), "{:?}", effective.warnings);
        let records = logged(level, Format::Json, |_| one_of_each()).records();
        let expected: Vec<&str> = LEVELS.iter().filter(|each| **each <= level).map(Level::as_str).collect();
        prop_assert_eq!(words(&records, "of each"), expected);
    }

    #[test]
    fn p36_any_fault_is_one_error_line_and_one_debug_line_with_the_cause_and_one_trace_id(
        operation in "[a-z ]{1,20}", summary in ".{0,60}", causes in prop::collection::vec("[a-z]{1,10}", 0..4), debug: bool,
    ) {
        let mut fault = Fault::new(Class::Refused, operation.clone(), summary.clone());
        if let Some(chain) = causes.iter().rev().fold(None, |inner, text| Some(Box::new(Cause(text.clone(), inner)))) {
            fault = fault.caused_by(*chain);
        }
        let level = if debug { Level::DEBUG } else { Level::INFO };
        let records = logged(level, Format::Json, |_| tracing::info_span!("pass").in_scope(|| report(&fault))).records();
        let levels: Vec<&str> = records.iter().map(|record| record["level"].as_str().unwrap()).collect();
        prop_assert_eq!(levels, if debug { vec!["ERROR", "DEBUG"] } else { vec!["ERROR"] });
        let error = &records[0];
        prop_assert_eq!(error["message"].as_str().unwrap(), fault.to_string());
        prop_assert_eq!(error["operation"].as_str().unwrap(), &operation);
        prop_assert_eq!(&error["class"], "refused");
        prop_assert!(error.get("backtrace").is_none() && error.get("chain").is_none());
        if debug {
            prop_assert_eq!(&records[1]["chain"], &causes.join(": "));
            prop_assert!(records[1]["backtrace"].as_str().unwrap().contains("telemetry"));
            prop_assert_eq!(&records[1]["trace_id"], &error["trace_id"]);
            prop_assert_eq!(&records[1]["span_id"], &error["span_id"]);
        }
        prop_assert_eq!(error["trace_id"].as_str().unwrap().len(), 32);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Cause(String, #[source] Option<Box<Cause>>);

#[test]
fn r10_1_a_json_record_carries_the_fields_of_its_spans_at_the_top_level() {
    let capture = logged(Level::INFO, Format::Json, |_| {
        let pass = tracing::info_span!(
            "reconcile",
            controller = "runnerpool",
            namespace = "ci",
            name = "linux",
            otel.kind = "internal"
        );
        let _in_pass = pass.enter();
        let call = tracing::info_span!("call", operation = "patch", attempt = tracing::field::Empty);
        call.record("attempt", 2);
        let _in_call = call.enter();
        tracing::info!(outcome = "done", retried = true, level = "fake", "status written\nin one line");
    });
    let text = capture.text();
    let head =
        r#","level":"INFO","target":"chassis::telemetry::tests","message":"status written\nin one line","trace_id":""#;
    assert!(text.starts_with(r#"{"timestamp":"2027-01-15T08:00:0"#) && text.contains(head), "{text}");
    assert_eq!(text.lines().count(), 1);
    let record = &capture.records()[0];
    for (field, value) in [
        ("controller", "runnerpool"),
        ("namespace", "ci"),
        ("name", "linux"),
        ("operation", "patch"),
        ("outcome", "done"),
    ] {
        assert_eq!(record[field], value);
    }
    assert_eq!(record["attempt"], 2);
    assert_eq!(record["retried"], true);
    assert!(record.get("otel.kind").is_none());
}

#[test]
fn r10_1_text_is_one_line_whatever_it_is_made_of() {
    let capture = logged(Level::INFO, Format::Text, |_| {
        tracing::info_span!("reconcile", controller = "runnerpool").in_scope(|| {
            tracing::warn!(what = "two words", gap = "", "first\nsecond \x1b[31mred");
        });
    });
    let text = capture.text();
    let message = r"Z  WARN first\nsecond \u{1b}[31mred trace_id=";
    assert!(text.starts_with("2027-01-15T08:00:0") && text.contains(message), "{text}");
    assert!(text.ends_with("what=\"two words\" gap=\"\" controller=runnerpool\n"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn r10_2_the_level_changes_while_the_process_runs_and_spans_stay_known_at_every_level() {
    let capture = logged(Level::ERROR, Format::Json, |telemetry| {
        let span = tracing::info_span!("reconcile", controller = "runnerpool");
        let _in = span.enter();
        one_of_each();
        telemetry.set_level(Level::DEBUG);
        one_of_each();
        telemetry.set_level(Level::WARN);
        one_of_each();
    });
    let records = capture.records();
    assert_eq!(words(&records, "of each"), ["ERROR", "ERROR", "WARN", "INFO", "DEBUG", "ERROR", "WARN"]);
    assert!(records.iter().all(|record| record["controller"] == "runnerpool"));
    assert!(words(&records, "library quotes a request").is_empty(), "libraries are not heard below INFO");
    assert_eq!(words(&records, "library"), ["INFO"]);
}

#[test]
fn r10_8_every_record_of_a_reconcile_has_its_trace_id_also_when_nothing_is_exported() {
    let capture = logged(Level::INFO, Format::Json, |_| {
        for _ in 0..2 {
            tracing::info_span!("reconcile").in_scope(|| {
                tracing::info!("outer");
                tracing::info_span!("call").in_scope(|| tracing::info!("inner"));
            });
        }
        tracing::info!("outside");
    });
    let records = capture.records();
    let id = |at: usize, name: &str| records[at][name].as_str().map(str::to_owned);
    assert_eq!(id(0, "trace_id"), id(1, "trace_id"));
    assert_ne!(id(0, "span_id"), id(1, "span_id"));
    assert_ne!(id(0, "trace_id"), id(2, "trace_id"));
    assert_eq!(id(4, "trace_id"), None);
}

#[tokio::test]
async fn p34_variables_that_make_no_sense_cost_the_traces_and_nothing_else() {
    let (capture, metrics) = (Capture::default(), Metrics::new("0"));
    let writer = capture.clone();
    let env = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("https://collector.example:4317".to_owned()),
        "OTEL_EXPORTER_OTLP_CERTIFICATE" => Some("/does/not/exist".to_owned()),
        _ => None,
    };
    let (subscriber, telemetry) = build(&options(Level::INFO, Format::Json, &env, &metrics), move || writer.clone());
    tracing::subscriber::with_default(subscriber, || {
        telemetry.announce();
        tracing::info_span!("reconcile").in_scope(|| tracing::info!("works"));
    });
    let records = capture.records();
    assert_eq!(records[0]["level"], "WARN");
    assert!(records[0]["message"].as_str().unwrap().starts_with("no traces are exported: "), "{}", records[0]);
    assert_eq!(records[1]["message"], "works");
    tokio::time::timeout(Duration::from_millis(100), telemetry.shutdown()).await.unwrap();
}
