//! Twenty-four hours: jobs come and go, and something goes wrong every few hours. In the evening every job has ended or
//! says why not, both bounds of the pool have held at every instant, and nothing is left anywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use sim::github::{Conclusion, Status};
use sim::world::{World, across, seeds};

use super::trouble::Trouble;
use crate::bounds::{hold, story};
use crate::town::Town;
use crate::yard::Pace;

/// How demand is learnt of, by seed.
const MODES: [&str; 3] = ["session", "webhook", "poll"];

/// A day has 86,400 seconds: people who looked every other second would do nothing but look, and a hundred days would take
/// an hour.
const SLOW: Pace = Pace { lease: Duration::from_mins(20), look: Duration::from_mins(15) };

const DAY: Duration = Duration::from_hours(24);

/// What a day was made of.
#[derive(Debug, Default)]
struct Diary {
    jobs: usize,
    machines: usize,
    lost: usize,
    troubles: BTreeMap<Trouble, usize>,
}

impl Diary {
    fn add(mut self, other: Self) -> Self {
        self.jobs += other.jobs;
        self.machines += other.machines;
        self.lost += other.lost;
        for (trouble, number) in other.troubles {
            *self.troubles.entry(trouble).or_default() += number;
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
                world.pass(dice.between(Duration::ZERO, Duration::from_secs(90))).await;
            }
            let trouble = Trouble::draw(&mut dice);
            *diary.troubles.entry(trouble).or_default() += 1;
            if trouble.happen(&world, &town, &mut dice).await {
                diary.lost += 1;
            }
        }
        evening(&world, &town, &jobs, seed).await;
        diary.jobs = jobs.len();
        diary.machines = hold(&world.history(), 4, 1);
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
    for job in jobs {
        let ended = town.job(*job);
        if ended.conclusion != Some(Conclusion::Success) {
            told(world, town, *job, seed).await;
        }
    }
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

/// A job that did not succeed says that its machine was lost, once somebody has looked: the platform may give the job up
/// before that.
async fn told(world: &World, town: &Town, job: u64, seed: u64) {
    let page = format!("/job/{job}");
    let own = async |town: &Town| {
        let known = town.known().await;
        known.into_iter().find(|known| known["spec"]["url"].as_str().is_some_and(|url| url.ends_with(&page)))
    };
    let noted = async |town: &Town| own(town).await.is_none_or(|own| !own["status"]["infrastructureLoss"].is_null());
    let noted = town.until((SLOW.look * 2).as_secs(), noted).await;
    let ended = town.job(job);
    let life = ended.runner.as_deref().map(|runner| story(&world.history(), runner)).unwrap_or_default();
    assert!(noted, "seed {seed}: job {job} ended as {:?}: {:?} {life:#?}", ended.conclusion, own(town).await);
}

fn days(first: u64, count: u64) {
    let all = across(&seeds(first, count), |seed| day(seed).0);
    let (count, sum) = (all.len(), all.into_iter().fold(Diary::default(), Diary::add));
    println!("lane: {count} days of 24 h with faults: {sum:?}");
    assert!(sum.machines >= sum.jobs / 2, "{sum:?}");
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

/// DECISIONS 24: whatever goes wrong on some day can be seen again.
#[test]
fn one_seed_tells_one_day() {
    let (first, second) = (day(7).1, day(7).1);
    let differs = first.lines().zip(second.lines()).find(|(first, second)| first != second);
    assert_eq!(differs, None);
}
