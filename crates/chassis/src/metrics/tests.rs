//! What a scrape shows.

use std::collections::{BTreeMap, BTreeSet};

use reconcile::{Class, Fault, Next, Why};
use rstest::rstest;

use super::*;

/// Metrics in which everything has happened at least once.
fn eventful() -> Metrics {
    let metrics = Metrics::new("1.2.3");
    metrics.reconciled("runnerpool", Outcome::Success, Duration::from_millis(3));
    metrics.kube_request("patch", "runnerpools/status", "500", Duration::from_millis(7));
    metrics.leading("fleet", true);
    metrics.cached("RunnerPool", 12, 1);
    metrics.event("Normal", "Ready");
    metrics.settings_reloaded(Reload::Applied);
    metrics.spans_dropped(Loss::QueueFull, 4);
    metrics.spans_exported(5);
    metrics
}

/// Reads an exposition back: metric name to (kind, help, label names), `le` left out.
fn exposed(page: &str) -> BTreeMap<String, (String, String, BTreeSet<String>)> {
    let mut found: BTreeMap<String, (String, String, BTreeSet<String>)> = BTreeMap::new();
    let (mut stem, mut kind, mut help) = (String::new(), String::new(), String::new());
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, text) = rest.split_once(' ').unwrap();
            (stem, help) = (name.into(), text.into());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            kind = rest.split_once(' ').unwrap().1.into();
        } else if !line.starts_with('#') {
            let series = line.rsplit_once(' ').unwrap().0;
            let (sample, labels) = series.split_once('{').unwrap_or((series, ""));
            assert!(sample.starts_with(&stem), "{sample} is not of {stem}");
            let name = if kind == "histogram" { &stem } else { sample };
            let entry = found.entry(name.into()).or_insert((kind.clone(), help.clone(), BTreeSet::new()));
            let names = labels.trim_end_matches('}').split(',').filter_map(|label| Some(label.split_once('=')?.0));
            entry.2.extend(names.filter(|name| *name != "le").map(String::from));
        }
    }
    found
}

#[test]
fn the_catalogue_is_exactly_what_is_exposed() {
    let found = exposed(&eventful().render());
    let stated = CATALOGUE.iter().map(|entry| {
        let labels: BTreeSet<String> = entry.labels.iter().map(ToString::to_string).collect();
        (entry.name.to_owned(), (entry.kind.as_str().to_owned(), format!("{}.", entry.help), labels))
    });
    assert_eq!(found, stated.collect());
}

#[test]
fn a_page_ends_as_openmetrics_demands_and_shows_what_happened() {
    let page = eventful().render();
    assert!(page.ends_with("# EOF\n"));
    for line in [
        r#"hyperfleet_reconcile_total{controller="runnerpool",result="success"} 1"#,
        r#"hyperfleet_reconcile_duration_seconds_count{controller="runnerpool"} 1"#,
        r#"hyperfleet_kube_errors_total{verb="patch",resource="runnerpools/status",class="unavailable"} 1"#,
        r#"hyperfleet_leader{lease="fleet"} 1"#,
        r#"hyperfleet_cached_objects{kind="RunnerPool"} 12"#,
        r#"hyperfleet_unreadable_objects{kind="RunnerPool"} 1"#,
        r#"hyperfleet_events_total{type="Normal",reason="Ready"} 1"#,
        r#"hyperfleet_trace_spans_dropped_total{reason="queue_full"} 4"#,
        r#"hyperfleet_build_info{version="1.2.3"} 1"#,
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is missing in\n{page}");
    }
}

#[rstest]
#[case(Ok(Next::OnChange), "success", "success")]
#[case(Ok(Next::After(Duration::from_secs(1), Why::Recheck)), "requeue_after", "requeue_after")]
#[case(Err(Fault::new(Class::Conflict, "patch", "stale")), "conflict", "requeue")]
#[case(Err(Fault::new(Class::Throttled(Duration::ZERO), "list", "slow down")), "throttled", "requeue_after")]
#[case(Err(Fault::new(Class::Unavailable, "get", "down")), "unavailable", "error")]
#[case(Err(Fault::new(Class::Refused, "create", "no")), "refused", "error")]
fn an_outcome_has_a_word_of_ours_and_one_of_controller_runtime(
    #[case] result: Result<Next, Fault>,
    #[case] ours: &str,
    #[case] theirs: &str,
) {
    let metrics = Metrics::new("0");
    metrics.reconciled("c", Outcome::of(&result), Duration::ZERO);
    let page = metrics.render();
    assert!(page.contains(&format!(r#"hyperfleet_reconcile_total{{controller="c",result="{ours}"}} 1"#)));
    assert!(page.contains(&format!(r#"controller_runtime_reconcile_total{{controller="c",result="{theirs}"}} 1"#)));
}

#[rstest]
#[case("200", None)]
#[case("404", None)]
#[case("410", None)]
#[case("409", Some("conflict"))]
#[case("429", Some("throttled"))]
#[case("403", Some("refused"))]
#[case("503", Some("unavailable"))]
#[case("timeout", Some("unavailable"))]
fn an_answer_that_is_no_success_has_a_class(#[case] code: &str, #[case] class: Option<&str>) {
    assert_eq!(outcome::class_of(code), class);
}

#[test]
fn the_kernel_s_figures_are_plausible() {
    let page = Metrics::new("0").render();
    let figure = |name: &str| -> f64 {
        let line = page.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    assert!(figure("process_resident_memory_bytes") > 1e6);
    assert!(figure("process_open_fds") >= 3.0);
    // Between 2020 and 2100.
    assert!((1.58e9..4.1e9).contains(&figure("process_start_time_seconds")));
}
