//! Twenty-four hours: jobs come and go, and something goes wrong every few hours. In the evening every job has ended, those
//! that failed were lost with a machine and said so, both bounds of the pool have held at every instant, and nothing is left
//! anywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use sim::github::{Conclusion, JobSpec, REPOSITORY, Status};
use sim::proxmox::FaultId;
use sim::world::{Commit, History, World, across, seeds};

use super::trouble::{ALL, Toll, Trouble};
use crate::bounds::{hold, hold_machines, story};
use crate::mishaps::{assert_each_struck, struck};
use crate::promises::promises;
use crate::town::{LABEL, Town, is_of};
use crate::yard::Pace;

/// How demand is learnt of, by seed.
const MODES: [&str; 3] = ["session", "webhook", "poll"];

/// A day has 86,400 seconds: people who looked every other second would do nothing but look, and a hundred days would take
/// an hour. A look at the hypervisor comes before the platform gives up a job whose machine was lost, which takes it ten
/// minutes: who only looks afterwards finds nothing but that the job has failed.
const SLOW: Pace = Pace { lease: Duration::from_mins(20), look: Duration::from_mins(5), poll: Duration::from_mins(5) };

const DAY: Duration = Duration::from_hours(24);

/// Days in which everything has happened that can.
const MANY: usize = 50;

const JOBS: &str = "runnerjobs.hypervisor.hyperfleet.io";

/// What a day was made of.
#[derive(Debug, Default)]
struct Diary {
    jobs: usize,
    failed: usize,
    machines: usize,
    most_at_once: usize,
    lost: usize,
    deposed: usize,
    troubles: BTreeMap<Trouble, usize>,
    struck: BTreeMap<FaultId, usize>,
}

impl Diary {
    fn add(mut self, other: Self) -> Self {
        self.jobs += other.jobs;
        self.failed += other.failed;
        self.machines += other.machines;
        self.most_at_once = self.most_at_once.max(other.most_at_once);
        self.lost += other.lost;
        self.deposed += other.deposed;
        for (trouble, number) in other.troubles {
            *self.troubles.entry(trouble).or_default() += number;
        }
        for (fault, number) in other.struck {
            *self.struck.entry(fault).or_default() += number;
        }
        self
    }
}

fn day(seed: u64) -> (Diary, String) {
    World::run(seed, async |world| {
        let town = Town::paced(&world, MODES[usize::try_from(seed % 3).unwrap()], SLOW).await;
        town.yard.with_replica();
        town.pool("linux", 4, |_| {}).await;
        let (mut diary, mut dice, mut jobs) = (Diary::default(), world.dice("day"), Vec::new());
        while world.age() < DAY {
            world.pass(dice.between(Duration::from_mins(30), Duration::from_hours(6))).await;
            if dice.chance(0.8) {
                let seconds = 5.0 + f64::from(u32::try_from(dice.below(300)).unwrap());
                jobs.extend(town.queue(1 + dice.below(2), seconds));
                // Whatever happens then meets machines that are being made, or that work.
                world.pass(dice.between(Duration::from_secs(2), Duration::from_mins(3))).await;
            }
            let trouble = Trouble::draw(&mut dice);
            *diary.troubles.entry(trouble).or_default() += 1;
            let Toll { lost, deposed } = trouble.happen(&world, &town, &mut dice).await;
            diary.lost += lost;
            diary.deposed += deposed;
        }
        evening(&world, &town, &jobs, seed).await;
        let history = world.history();
        let complaints = complaints(&history, &town, &jobs, diary.lost);
        assert!(complaints.is_empty(), "seed {seed}: {complaints:#?}");
        diary.jobs = jobs.len();
        diary.failed = failed(&town, &jobs).len();
        diary.machines = hold(&history, 4, 1);
        diary.most_at_once = hold_machines(&town, 5).await;
        diary.struck = struck(&town.pve);
        world.judge(&promises()).unwrap();
        (diary, world.text())
    })
}

/// Everything is calm, and everything comes to its end.
async fn evening(world: &World, town: &Town, jobs: &[u64], seed: u64) {
    world.calm();
    town.pve.set_faults(Vec::new());
    town.github.set_faults(Vec::new());
    let done = town.until(14_400, async |town| town.are_done(jobs)).await;
    assert!(done, "seed {seed}: {:?} {:?}", town.phases().await, open(town, jobs).await);
    town.cleared(14_400).await;
}

/// Jobs that have not ended, and what they wait for.
async fn open(town: &Town, jobs: &[u64]) -> Vec<(u64, (String, String))> {
    let mut open = Vec::new();
    for job in jobs.iter().filter(|job| town.job(**job).status != Status::Completed) {
        open.push((*job, town.reason(*job).await));
    }
    open
}

/// Jobs that did not succeed, at the platform.
fn failed(town: &Town, jobs: &[u64]) -> Vec<u64> {
    jobs.iter().copied().filter(|job| town.job(*job).conclusion != Some(Conclusion::Success)).collect()
}

/// What a user could complain of: a job that failed and does not say that its machine was lost, and more jobs that failed
/// than machines were `lost`. What is known of a job goes an hour after its end, so that only the history can tell.
fn complaints(history: &History, town: &Town, jobs: &[u64], lost: usize) -> Vec<String> {
    let failed = failed(town, jobs);
    let untold = failed.iter().filter(|job| !is_told(history, **job)).map(|job| {
        let ended = town.job(*job);
        let life = ended.runner.as_deref().map(|runner| story(history, runner)).unwrap_or_default();
        format!("job {job} ended as {:?} and does not say why: {:#?} {life:#?}", ended.conclusion, known(history, *job))
    });
    let many = (failed.len() > lost).then(|| {
        let known: Vec<_> = failed.iter().map(|job| known(history, *job)).collect();
        format!("{} jobs failed, and {lost} machines were lost: {known:#?}", failed.len())
    });
    untold.chain(many).collect()
}

/// Whether a job has ever said that it was lost with its machine.
fn is_told(history: &History, job: u64) -> bool {
    let known = |commit: &Commit| commit.after.as_deref().is_some_and(|known| is_of(known, job));
    let told =
        |commit: &Commit| commit.after.as_deref().is_some_and(|known| !known["status"]["infrastructureLoss"].is_null());
    history.commits.iter().any(|commit| commit.object.resource == JOBS && known(commit) && told(commit))
}

/// Everything that was ever known of a job.
fn known(history: &History, job: u64) -> Vec<String> {
    let of = |commit: &&Commit| commit.object.resource == JOBS;
    let commits = history.commits.iter().filter(of).filter_map(|commit| Some((commit.at, commit.after.as_deref()?)));
    commits.filter(|(_, known)| is_of(known, job)).map(|(at, known)| format!("{at:?} {}", known["status"])).collect()
}

fn days(first: u64, count: u64) {
    let all = across(&seeds(first, count), |seed| day(seed).0);
    let (count, sum) = (all.len(), all.into_iter().fold(Diary::default(), Diary::add));
    println!("lane: {count} days of 24 h with faults: {sum:?}");
    assert!(sum.machines >= sum.jobs / 2, "{sum:?}");
    // One day alone need not meet everything that many do.
    if count >= MANY {
        assert_each_struck(&sum.struck);
        assert_eq!(sum.troubles.len(), ALL.len(), "{sum:?}");
        assert!(sum.failed > 0 && sum.deposed > 0, "{sum:?}");
    }
}

#[test]
fn p6_p7_p9_a_day_with_faults_loses_no_job_and_leaves_nothing() {
    days(1, 100);
}

#[test]
#[ignore = "many seeds: make soak"]
fn soak_a_thousand_days_with_faults() {
    days(10_000, 1_000);
}

/// A town whose one job ends, by itself or because its machine is lost; what a user could complain of then.
fn complaints_of_one(mode: &str, conclusion: Conclusion, power: bool, lost: usize) -> Vec<String> {
    World::run(1, async |world| {
        let town = Town::new(&world, mode).await;
        town.pool("linux", 2, |_| {}).await;
        let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
        let spec = JobSpec { labels, seconds: 120.0, conclusion, ..JobSpec::default() };
        let jobs = town.github.queue(REPOSITORY, &[spec]).unwrap().1;
        assert!(town.until(300, async |town| town.running(&jobs) == 1).await);
        town.pass(60).await;
        for machine in town.machines().into_iter().filter(|_| !power) {
            assert!(town.pve.power_off(machine));
        }
        assert!(town.until(1_800, async |town| town.are_done(&jobs)).await);
        town.cleared(1_800).await;
        // What is known of a job is forgotten by now.
        town.pass(3_700).await;
        assert!(town.known().await.is_empty());
        complaints(&world.history(), &town, &jobs, lost)
    })
}

#[test]
fn a_day_finds_a_job_that_failed_for_no_reason_and_one_too_many() {
    for mode in MODES {
        let found = complaints_of_one(mode, Conclusion::Failure, true, 0);
        assert_eq!(found.len(), 2, "{mode}: {found:#?}");
        assert!(
            found[0].contains("does not say why") && found[1].contains("0 machines were lost"),
            "{mode}: {found:#?}"
        );
    }
}

#[test]
fn a_day_accepts_a_job_that_was_lost_with_its_machine() {
    for mode in MODES {
        assert_eq!(complaints_of_one(mode, Conclusion::Success, false, 1), [""; 0], "{mode}");
    }
}

/// DECISIONS 24: whatever goes wrong on some day can be seen again.
#[test]
fn one_seed_tells_one_day() {
    let (first, second) = (day(7).1, day(7).1);
    let differs = first.lines().zip(second.lines()).find(|(first, second)| first != second);
    assert_eq!(differs, None);
}
