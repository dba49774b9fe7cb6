//! What was, at every instant, by the simulators' own histories.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use crate::works::Works;

/// From when to when something was; without an end it still is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    from: Timestamp,
    until: Option<Timestamp>,
}

impl Span {
    fn of(value: &Value, from: &str, until: &str) -> Option<Self> {
        let at = |key: &str| value[key].as_str().map(|text| text.parse::<Timestamp>().unwrap());
        at(from).map(|from| Self { from, until: at(until) })
    }

    /// Whether it was there all the while that the other was.
    fn covers(&self, other: &Self) -> bool {
        let ends = |span: &Self| span.until.unwrap_or(Timestamp::MAX);
        self.from <= other.from && ends(self) >= ends(other)
    }
}

/// The most that ever were at the same instant.
pub(crate) fn most(spans: impl IntoIterator<Item = Span>) -> usize {
    let mut changes: Vec<(Timestamp, isize)> = Vec::new();
    for Span { from, until } in spans {
        changes.push((from, 1));
        changes.extend(until.map(|until| (until, -1)));
    }
    // What ends in the instant in which another begins makes room for it.
    changes.sort_unstable();
    let mut count = 0;
    changes
        .into_iter()
        .map(|(_, step)| {
            count += step;
            usize::try_from(count).unwrap_or(0)
        })
        .max()
        .unwrap_or(0)
}

/// VMs that were ever made, by name.
pub(crate) async fn machines(works: &Works) -> BTreeMap<String, Span> {
    let history = works.town.hypervisor.get("/sim/history").await;
    let vms = history["vms"].as_array().unwrap().iter();
    let spans =
        vms.map(|vm| (vm["name"].as_str().unwrap_or_default().to_owned(), Span::of(vm, "made", "removed").unwrap()));
    let all: Vec<(String, Span)> = spans.collect();
    let distinct: BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
    assert_eq!(distinct.len(), all.len(), "a VM was made twice: {all:?}");
    all.into_iter().collect()
}

/// Runners that could take a job or had one, for as long as that was so.
pub(crate) async fn able(works: &Works) -> Vec<Span> {
    let history = works.github.get("/sim/history").await;
    let runners = history["runners"].as_array().unwrap();
    runners.iter().filter_map(|runner| Span::of(runner, "online", "offline")).collect()
}

/// Holds the whole history against both bounds of a pool; how many VMs there were.
pub(crate) async fn hold(works: &Works, max: usize, terminating: usize) -> usize {
    let (machines, able) = (machines(works).await, able(works).await);
    let runners = most(able);
    assert!(runners <= max, "{runners} runners could take a job at once, and there may be {max}");
    let there = most(machines.values().copied());
    assert!(there <= max + terminating, "{there} VMs were there at once, and there may be {}", max + terminating);
    machines.len()
}

/// Each of these jobs succeeded at its first attempt, on a runner of its own and a VM of its own that was there all the
/// while. So many may not say which, because nobody was there to hear of them before their machine was gone.
pub(crate) async fn each_on_its_own(works: &Works, jobs: &[u64], unheard: usize) {
    let (all, machines) = (works.jobs().await, machines(works).await);
    let mine: BTreeMap<u64, &Value> =
        all.iter().filter_map(|job| Some((job["id"].as_u64()?, job))).filter(|(id, _)| jobs.contains(id)).collect();
    let bad: Vec<&&Value> = mine.values().filter(|job| job["conclusion"] != "success" || job["attempt"] != 1).collect();
    assert!(bad.is_empty(), "not every job succeeded: {bad:#?}");
    let runners: BTreeSet<&str> = mine.values().filter_map(|job| job["runner"].as_str()).collect();
    assert_eq!(runners.len(), jobs.len(), "two jobs had one runner");
    let known = works.known().await;
    let (mut taken, mut silent) = (BTreeSet::new(), Vec::new());
    for (id, job) in mine {
        let name = job["name"].as_str();
        let own = known.iter().find(|own| own.spec.display_name.as_deref() == name);
        let own = own.unwrap_or_else(|| panic!("job {id} has no RunnerJob: {known:#?}"));
        let claim = own.status.as_ref().and_then(|status| status.claim_ref.as_ref()).map(|claim| claim.name.as_str());
        let Some(claim) = claim else {
            silent.push(own);
            continue;
        };
        let machine = format!("{}-{claim}", works.town.namespace);
        let life = machines.get(&machine).unwrap_or_else(|| panic!("{machine} was never made: {machines:?}"));
        let ran = Span::of(job, "started", "completed").unwrap();
        assert!(life.covers(&ran), "job {id} ran {ran:?}, and its machine was there {life:?}");
        assert!(taken.insert(machine), "two jobs had one machine");
    }
    assert!(silent.len() <= unheard, "jobs that do not say which machine they had: {silent:#?}");
}
