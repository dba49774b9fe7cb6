//! What must hold at every instant, by what became durable and by what was on the hypervisor.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use sim::world::{History, State};

use crate::town::{MOMENT, Town};

const CLAIMS: &str = "machineclaims.hypervisor.hyperfleet.io";
const JOBS: &str = "runnerjobs.hypervisor.hyperfleet.io";

/// Claims that may still take a job or have one, with what they say of themselves: what DECISIONS 7 bounds by `max`.
///
/// A runner is registered for one job, and the platform itself gives it no second one. Once its job has ended there nothing
/// more can come, whether or not its agent has said so yet: such a claim counts among the machines, which are bounded by
/// `max + maxTerminating`, and no longer here. One that was asked to drain counts until its agent has confirmed that no job
/// has begun: until then one may.
fn live(state: &State) -> Vec<String> {
    let ended = state.of(JOBS).filter(|(_, job)| job["status"]["state"] == "Completed");
    let done: BTreeSet<&str> = ended.filter_map(|(_, job)| job["status"]["claimRef"]["name"].as_str()).collect();
    let may = |claim: &Value| {
        let status = &claim["status"];
        let phase = status["phase"].as_str().unwrap_or("Pending");
        let used = phase == "Busy" && claim["metadata"]["name"].as_str().is_some_and(|name| done.contains(name));
        claim["metadata"]["deletionTimestamp"].is_null()
            && !used
            && status["drain"]["confirmedAt"].is_null()
            && ["Pending", "Provisioning", "Bootstrapping", "Ready", "Busy", "Draining"].contains(&phase)
    };
    let tell = |claim: &Value| {
        let (meta, status) = (&claim["metadata"], &claim["status"]);
        format!("{} {} of {} {}", meta["name"], status["phase"], meta["creationTimestamp"], meta["labels"])
    };
    state.of(CLAIMS).filter(|(_, claim)| may(claim)).map(|(_, claim)| tell(claim)).collect()
}

/// Claims that have, or may have, a VM.
fn with_machine(state: &State) -> usize {
    let has = |claim: &Value| {
        let status = &claim["status"];
        !status["allocation"].is_null() && status["teardown"]["vmGoneAt"].is_null()
    };
    state.of(CLAIMS).filter(|(_, claim)| has(claim)).count()
}

/// Holds a pool's whole history against both of its bounds, and says how many claims were ever made.
pub(crate) fn hold(history: &History, max: usize, terminating: usize) -> usize {
    let mut made = BTreeSet::new();
    history.replay(|state, commit| {
        if commit.object.resource != CLAIMS {
            return;
        }
        made.insert(commit.object.clone());
        let (live, machines) = (live(state), with_machine(state));
        let by = commit.by.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(live.len() <= max, "more than {max} may take a job at {:?} by {by}: {live:#?}", commit.at);
        let most = max + terminating;
        assert!(machines <= most, "{machines} machines at {:?}, and there may be {most}", commit.at);
    });
    made.len()
}

/// Holds what was on the hypervisor, by its own record, against both bounds: never two VMs for one claim, never more than
/// `most`. How many there were at once.
pub(crate) async fn hold_machines(town: &Town, most: usize) -> usize {
    let onlooker = town.yard.world.person("onlooker", "pve");
    let record = onlooker.get("/sim/history").await.unwrap();
    overlap(record["vms"].as_array().unwrap(), most)
}

/// Goes through the lives of VMs; whoever goes at an instant makes room for whoever comes.
fn overlap(lives: &[Value], most: usize) -> usize {
    let at = |life: &Value, what: &str| life[what].as_str().map(|at| at.parse::<Timestamp>().unwrap());
    let moments = lives.iter().flat_map(|life| {
        let name = life["name"].as_str().unwrap_or_default();
        [at(life, "removed").map(|at| (at, false, name)), at(life, "made").map(|at| (at, true, name))]
    });
    let mut moments: Vec<(Timestamp, bool, &str)> = moments.flatten().collect();
    moments.sort_unstable();
    let (mut there, mut highest) = (BTreeMap::<&str, usize>::new(), 0);
    for (at, made, name) in moments {
        let of_it = there.entry(name).or_default();
        *of_it = if made { *of_it + 1 } else { *of_it - 1 };
        assert!(*of_it <= 1, "two VMs named {name} at {at}");
        let all: usize = there.values().sum();
        assert!(all <= most, "{all} VMs at {at}, and there may be {most}: {there:?}");
        highest = highest.max(all);
    }
    highest
}

/// How a runner's claim came to its end: every status it had.
pub(crate) fn story(history: &History, runner: &str) -> Vec<String> {
    let of = |commit: &&sim::world::Commit| {
        let after = commit.after.as_deref().or(commit.before.as_deref());
        after.is_some_and(|claim| claim["status"]["runner"]["name"] == runner)
    };
    let tell = |commit: &sim::world::Commit| {
        let status = commit.after.as_deref().map(|claim| claim["status"].clone()).unwrap_or_default();
        let by = commit.by.as_ref().map(ToString::to_string).unwrap_or_default();
        let (phase, drain, outcome) = (&status["phase"], &status["drain"], &status["outcome"]);
        let ready =
            status["conditions"].as_array().and_then(|all| all.iter().find(|one| one["type"] == "Ready").cloned());
        format!("{:?} {by}: {phase} {drain} {outcome} {}", commit.at, ready.unwrap_or_default()["message"])
    };
    history.commits.iter().filter(of).map(tell).collect()
}

/// Lets time pass and counts VMs all the while.
pub(crate) async fn watch(town: &Town, seconds: u64, most: usize) {
    let moments = u128::from(seconds) * 1_000 / MOMENT.as_millis();
    for _ in 0..moments {
        town.yard.world.pass(MOMENT).await;
        let machines = town.machines();
        assert!(machines.len() <= most, "{} VMs where {most} may be: {machines:?}", machines.len());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lives(second: [(&str, u32, u32); 2]) -> Vec<Value> {
        let at = |second: u32| format!("2026-01-01T00:00:{second:02}.5Z");
        second.map(|(name, made, removed)| json!({ "name": name, "made": at(made), "removed": at(removed) })).to_vec()
    }

    #[test]
    fn vms_that_follow_each_other_are_never_two() {
        assert_eq!(overlap(&lives([("a", 1, 5), ("a", 5, 9)]), 1), 1);
        assert_eq!(overlap(&lives([("a", 1, 5), ("b", 4, 9)]), 2), 2);
    }

    #[test]
    #[should_panic(expected = "two VMs named a")]
    fn a_second_vm_of_a_claim_is_found() {
        overlap(&lives([("a", 1, 5), ("a", 4, 9)]), 2);
    }

    #[test]
    #[should_panic(expected = "2 VMs at")]
    fn a_vm_too_many_is_found() {
        overlap(&lives([("a", 1, 5), ("b", 4, 9)]), 1);
    }
}
