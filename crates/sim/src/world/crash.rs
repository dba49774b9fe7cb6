//! Crashes at every step: counts the writes of a story, then tells it again with a crash before and after each one.

use std::time::Duration;

use super::World;
use super::actor::Desk;
use super::deed::Deed;
use super::figures::Figures;
use super::invariant::{Invariant, Verdict};
use super::lock;
use super::run::Report;

/// Where the crash is, seen from the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The write never arrives.
    Before,
    /// The write is durable; its sender never hears of it.
    After,
}

/// A story to be told with crashes.
pub struct Scenario<'a, S> {
    /// Starts everything, does something, and returns when all should be settled.
    pub story: S,
    /// What must hold however often somebody dies.
    pub invariants: &'a [Invariant],
    /// Which writes are worth a crash; renewals of a lease, for one, never end.
    pub counts: fn(&Deed) -> bool,
    /// How long the dead stay dead.
    pub down: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct CrashReport {
    /// Writes that the story makes without a crash.
    pub writes: usize,
    /// The sum over all runs.
    pub figures: Figures,
    /// Every run in which something broke.
    pub failures: Vec<(usize, Option<Side>, Verdict, Report)>,
}

impl std::fmt::Display for CrashReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} writes, {}", self.writes, self.figures)?;
        for (number, side, verdict, report) in &self.failures {
            write!(f, "\ncrash {side:?} write {number}:\n{verdict}\n{report}")?;
        }
        Ok(())
    }
}

/// Tells the story once, then once for each write and side with the writer dying there.
pub fn crash_everywhere<S: AsyncFn(World)>(seed: u64, scenario: &Scenario<'_, S>) -> CrashReport {
    let mut report = CrashReport::default();
    let tell = |point, report: &mut CrashReport| {
        let plan = CrashPlan { point, seen: 0, down: scenario.down, counts: Some(scenario.counts) };
        World::run_with(seed, plan, async |world: World| {
            (scenario.story)(world.clone()).await;
            let verdict = world.check(scenario.invariants);
            if !verdict.is_clean() {
                let (number, side) = point.map_or((0, None), |(number, side)| (number, Some(side)));
                report.failures.push((number, side, verdict, world.report()));
            }
            report.figures += world.figures();
            lock(&world.0.crash).seen
        })
    };
    report.writes = tell(None, &mut report);
    for number in 1..=report.writes {
        tell(Some((number, Side::Before)), &mut report);
        tell(Some((number, Side::After)), &mut report);
    }
    report
}

/// At which write somebody dies, if at any.
#[derive(Clone, Debug, Default)]
pub(crate) struct CrashPlan {
    point: Option<(usize, Side)>,
    seen: usize,
    down: Duration,
    counts: Option<fn(&Deed) -> bool>,
}

impl World {
    /// A write is about to be acted on: its number, if it is counted; the sender may die of it.
    pub(crate) fn before_write(&self, desk: &Desk, deed: &Deed) -> Result<Option<usize>, Gone> {
        let mut plan = lock(&self.0.crash);
        if desk.plain || !deed.verb.writes() || !plan.counts.is_some_and(|counts| counts(deed)) {
            return Ok(None);
        }
        plan.seen += 1;
        let (number, fatal) = (plan.seen, plan.point == Some((plan.seen, Side::Before)));
        let down = plan.down;
        drop(plan);
        if fatal {
            self.kill(desk, down);
            return Err(Gone);
        }
        Ok(Some(number))
    }

    /// The write with this number is durable; its sender may die of it.
    pub(crate) fn after_write(&self, desk: &Desk, number: Option<usize>) {
        let plan = lock(&self.0.crash);
        let (fatal, down) =
            (plan.point.is_some() && plan.point == number.map(|number| (number, Side::After)), plan.down);
        drop(plan);
        if fatal {
            self.kill(desk, down);
        }
    }

    fn kill(&self, desk: &Desk, down: Duration) {
        // A late request of an earlier life does not kill the present one.
        if desk.brake.is_cut() {
            return;
        }
        let name = desk.life.actor.clone();
        self.crash(&name);
        self.later(down, move |world| world.restart(&name));
    }
}

/// The sender died before its write arrived.
pub(crate) struct Gone;
