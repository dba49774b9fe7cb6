//! Crashes at every step: counts the writes of a story, then tells it again with a crash before and after each one.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chassis::settings::environment;

use super::World;
use super::actor::Desk;
use super::deed::Deed;
use super::figures::Figures;
use super::invariant::Invariant;
use super::lock;
use super::run::Report;

/// The variable that picks one crash: `WORLD_CRASH=17:after` tells the story of a test once, with the writer dying after its
/// write 17, and tells all of it.
pub const CRASH: &str = "WORLD_CRASH";

/// Where the crash is, seen from the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The write never arrives.
    Before,
    /// The write is durable; its sender never hears of it.
    After,
}

impl Side {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// A write of a story, and on which side of it its sender dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// The number of the write among those that count, from 1.
    pub write: usize,
    /// The side.
    pub side: Side,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} write {}", self.side.as_str(), self.write)
    }
}

/// As [`CRASH`] has it: `17:after`.
impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = [Side::Before, Side::After];
        let point = text.split_once(':').and_then(|(write, side)| {
            let side = sides.into_iter().find(|known| known.as_str() == side)?;
            Some(Self { write: write.parse().ok().filter(|write| *write > 0)?, side })
        });
        point.ok_or_else(|| format!("{text:?} is no write and its side, as in 17:after or 17:before"))
    }
}

/// The crash that the environment picks.
pub(crate) fn picked() -> Option<Point> {
    environment(CRASH).map(|text| text.parse().expect("WORLD_CRASH names a write and its side"))
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
    /// Every run in which something broke; at [`ENOUGH`] of them no more are tried.
    pub failures: Vec<Broke>,
}

/// A run in which something broke.
#[derive(Clone, Debug)]
pub struct Broke {
    /// Where somebody died in it, if anybody did.
    pub at: Option<Point>,
    /// What broke: a panic of the story, or invariants.
    pub says: String,
    /// The end of its transcript, and how to see it again; nothing if no run tells more than `says`.
    pub report: Option<Report>,
}

/// Failures after which more of them would tell nothing new, and each takes as long as the story.
pub const ENOUGH: usize = 5;

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} writes, {}", self.writes, self.figures)?;
        for Broke { at, says, report } in &self.failures {
            let at = at.map_or_else(|| "no crash".to_owned(), |at| format!("crash {at}"));
            write!(f, "\n{at}: {says}")?;
            if let Some(report) = report {
                write!(f, "\n{report}")?;
            }
        }
        Ok(())
    }
}

/// Tells the story once, then once for each write and side with the writer dying there; or once, with the crash that the
/// environment picks.
pub fn crash_everywhere<S: AsyncFn(World)>(seed: u64, scenario: &Scenario<'_, S>) -> CrashReport {
    let mut report = CrashReport::default();
    let picked = picked();
    report.writes = scenario.tell(seed, picked, &mut report);
    if report.failures.is_empty() && report.writes < picked.map_or(1, |point| point.write) {
        let says = format!("the story makes {} writes that count", report.writes);
        report.failures.push(Broke { at: picked, says, report: None });
    }
    if picked.is_some() || !report.failures.is_empty() {
        return report;
    }
    let sides = |write| [Side::Before, Side::After].map(|side| Point { write, side });
    for point in (1..=report.writes).flat_map(sides) {
        scenario.tell(seed, Some(point), &mut report);
        if report.failures.len() >= ENOUGH {
            break;
        }
    }
    report
}

impl<S: AsyncFn(World)> Scenario<'_, S> {
    /// Tells the story with a crash there; how many writes it made.
    fn tell(&self, seed: u64, at: Option<Point>, report: &mut CrashReport) -> usize {
        let plan = CrashPlan { point: at, seen: 0, down: self.down, counts: Some(self.counts) };
        let told = World::run_with(seed, plan, async |world: World| {
            (self.story)(world.clone()).await;
            let verdict = world.check(self.invariants);
            if !verdict.is_clean() {
                report.failures.push(Broke { at, says: verdict.to_string(), report: Some(world.report()) });
            }
            report.figures += world.figures();
            lock(&world.0.crash).seen
        });
        told.unwrap_or_else(|panicked| {
            report.failures.push(Broke { at, says: panicked.says(), report: panicked.report });
            0
        })
    }
}

/// At which write somebody dies, if at any.
#[derive(Clone, Debug, Default)]
pub(crate) struct CrashPlan {
    pub(crate) point: Option<Point>,
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
        let (number, fatal) = (plan.seen, plan.point == Some(Point { write: plan.seen, side: Side::Before }));
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
        let after = number.map(|write| Point { write, side: Side::After });
        let (fatal, down) = (after.is_some() && plan.point == after, plan.down);
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
