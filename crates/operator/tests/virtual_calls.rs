//! What metrics and traces say about calls to a hypervisor, held against the hypervisor's own log.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_calls/errand.rs"]
mod errand;
#[path = "virtual_calls/page.rs"]
mod page;
#[path = "virtual_calls/spans.rs"]
mod spans;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use errand::{Errand, errands};
use futures::future::join_all;
use operator::calls::Calls;
use page::Page;
use proptest::prelude::*;
use proptest::sample::select;
use providers::http::Client;
use providers::hypervisor::Keyring;
use providers::hypervisor::proxmox::{Credentials, Limits, Proxmox, Settings};
use sim::proxmox::{FaultId, FaultRule, Fixture, Logged, Options, Profile, Release, Simulator};
use spans::Spans;
use tracing_subscriber::layer::SubscriberExt as _;

/// What can go wrong between a question and its answer, and how often.
fn faults() -> impl Strategy<Value = Vec<FaultRule>> {
    let anywhere = [FaultId::F10, FaultId::F21, FaultId::F22, FaultId::F27, FaultId::F28, FaultId::F36];
    let fault = (select(anywhere.to_vec()), 0.05..0.6_f64, 0.5..45_f64).prop_map(|(id, chance, seconds)| FaultRule {
        times: Some(0),
        chance: Some(chance),
        seconds: Some(seconds),
        ..FaultRule::new(id)
    });
    let node = |id| FaultRule { node: Some("pve2".to_owned()), ..FaultRule::new(id) };
    let lasting = select(vec![None, None, Some(node(FaultId::F09)), Some(FaultRule::new(FaultId::F11))]);
    (prop::collection::vec(fault, 0..4), lasting).prop_map(|(some, lasting)| some.into_iter().chain(lasting).collect())
}

fn logins() -> impl Strategy<Value = Credentials> {
    let secret = |text: &str| text.to_owned().into();
    let token = |text| Credentials::Token { id: "op@pve!hf".to_owned(), secret: secret(text) };
    let password = |text| Credentials::Password { user: "op@pve".to_owned(), password: secret(text) };
    let good = token("11111111-1111-4111-8111-111111111111");
    select(vec![good.clone(), good, token("wrong"), password("op-password"), password("wrong")])
}

/// What a run left behind on both sides.
struct Told {
    log: Vec<Logged>,
    page: Page,
    spans: Spans,
}

/// Carries errands out, so many at a time, and collects what everybody says about them.
fn run(seed: u64, login: Credentials, faults: Vec<FaultRule>, errands: &[Errand], width: usize) -> Told {
    let time = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let spans = Spans::default();
    let _traced = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    let (metrics, tasks) = (Metrics::new("test"), Tasks::new());
    let log = time.block_on(async {
        let clock = Clock::starting_at("2026-11-15T12:00:00Z".parse().unwrap());
        let profile = Profile::ALL[usize::try_from(seed).unwrap() % Profile::ALL.len()];
        let options = Options { profile, seed, ..Options::new(Release::V9, Fixture::Demo, clock) };
        let simulator = Simulator::new(options, &tasks);
        let client = Client::over("proxmox", simulator.service()).metered(Arc::new(Calls::new(&metrics)));
        let owner = Keyring::new("test".parse().unwrap(), "simulated".parse().unwrap(), vec![7; 32].into());
        let settings = Settings { owner, seeds: Some("local".parse().unwrap()), limits: Limits::default() };
        let proxmox = Proxmox::new(client, login, settings);
        tokio::time::sleep(Duration::from_secs(15)).await;
        simulator.set_faults(faults);
        for together in errands.chunks(width) {
            join_all(together.iter().map(|errand| errand.carry_out(&proxmox))).await;
        }
        simulator.log()
    });
    Told { log, page: Page::read(&metrics.render()), spans }
}

/// The operation by its name in the published schema.
fn operation(call: &Logged) -> String {
    format!("{} {}", call.method, call.operation.expect("the schema knows every call"))
}

/// What a caller saw of a call.
fn code(call: &Logged) -> String {
    match (call.status, call.reason.as_str()) {
        (0, "given up") => "timeout".to_owned(),
        (0, _) => "interrupted".to_owned(),
        (status, _) => status.to_string(),
    }
}

/// What a failed call means, said once more and apart from the provider.
fn class(call: &Logged) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| call.reason.contains(word));
    // Images are numbered from 9000; an image that is gone does not come back by looking again.
    let about_machine = !call.path.contains("/qemu/9") && call.path.contains("/qemu/") && !has(&["storage '"]);
    match call.status {
        200 => None,
        // This is how the API says that a number is taken.
        400 if call.path == "/cluster/nextid" => Some("conflict"),
        400 | 401 | 403 => Some("refused"),
        500 if has(&["already exists", "File exists"]) => Some("conflict"),
        500 if has(&["does not exist"]) && about_machine => Some("conflict"),
        500 if has(&["does not exist"]) => Some("refused"),
        500 if has(&["is running", "already running"]) => Some("conflict"),
        _ => Some("unavailable"),
    }
}

fn tally<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, u64> {
    let mut tally = BTreeMap::new();
    for key in keys {
        *tally.entry(key).or_default() += 1;
    }
    tally
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every call is one observation, one span and, if it failed, one error of its class; none is invented.
    #[test]
    fn p35_r10_9_metrics_and_spans_agree_with_the_hypervisors_log(
        seed in 0_u64..1_000, login in logins(), faults in faults(), errands in errands(), width in 1_usize..5,
    ) {
        let Told { log, page, spans } = run(seed, login, faults, &errands, width);
        prop_assert!(!log.is_empty());
        let outcomes = tally(log.iter().map(|call| (operation(call), code(call))));
        prop_assert_eq!(&page.counts, &outcomes, "observations by operation and outcome");
        prop_assert_eq!(&spans.outcomes(), &outcomes, "spans by operation and outcome");
        let failures = log.iter().filter_map(|call| Some((operation(call), class(call)?.to_owned())));
        prop_assert_eq!(&page.errors, &tally(failures), "errors by operation and class: {:?}", log);
        let broken = log.iter().filter(|call| call.status == 0 || call.status >= 500).map(operation);
        prop_assert_eq!(&spans.errors(), &tally(broken), "spans that are marked as errors");
        for ((operation, code), seconds) in &page.seconds {
            let took = |call: &&Logged| self::operation(call) == *operation && self::code(call) == *code;
            let logged: f64 = log.iter().filter(took).map(|call| call.seconds).sum();
            prop_assert!((seconds - logged).abs() < 0.001, "{operation} {code}: {seconds} s, logged {logged} s");
        }
    }
}

/// The log that the figures are held against knows every kind of end.
#[test]
fn calls_that_nobody_waits_for_are_in_the_log_too() {
    let token = "11111111-1111-4111-8111-111111111111".to_owned().into();
    let login = Credentials::Token { id: "op@pve!hf".to_owned(), secret: token };
    let slow = FaultRule { times: Some(0), seconds: Some(20.0), ..FaultRule::new(FaultId::F21) };
    let told = run(1, login, vec![slow], &[Errand::Health], 1);
    let ends: Vec<(u16, &str)> = told.log.iter().map(|call| (call.status, call.reason.as_str())).collect();
    assert_eq!(ends, [(0, "given up")]);
    assert!((told.log[0].seconds - 10.0).abs() < 0.01, "{:?}", told.log);
}
