//! A run: one seed, one thread, paused time, and a record that is told if something fails.

use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chassis::settings::environment;
use chassis::{Clock, Tasks};
use jiff::Timestamp;
use tokio::time::Instant;

use super::crash::{self, CRASH, CrashPlan, Point};
use super::history::History;
use super::invariant::{Invariant, Verdict};
use super::memory::Memory;
use super::network::Network;
use super::transcript::{Transcript, text};
use super::{Inner, World};

/// The variable that picks one seed: `WORLD_SEED=17 cargo test --release … -- --nocapture` repeats exactly the run that failed,
/// and tells all of it.
pub const SEED: &str = "WORLD_SEED";

/// Lines of the transcript that are told when one of many seeds fails.
const TOLD: usize = 120;

/// The seeds to run: `count` of them from `first`, or the one that the environment names.
pub fn seeds(first: u64, count: u64) -> Vec<u64> {
    picked().map_or_else(|| (first..first + count).collect(), |seed| vec![seed])
}

/// The seed that the environment names.
fn picked() -> Option<u64> {
    environment(SEED).map(|text| text.parse().expect("WORLD_SEED is a whole number"))
}

/// Runs `each` for every seed, on as many threads as there are cores; what came of them in the order of the seeds. Worlds
/// share nothing, so a seed tells the same story on any thread. If one panics, so does this, when the others are through.
pub fn across<T: Send>(seeds: &[u64], each: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || seeds.get(next.fetch_add(1, Ordering::Relaxed)).copied();
        std::iter::from_fn(take).map(|seed| (seed, each(seed))).collect::<Vec<(u64, T)>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut all: Vec<(u64, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    all.sort_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}

/// When every world begins.
const EPOCH: i64 = 1_750_000_000;

impl World {
    /// Runs `story` in a world of its own, in virtual time. If it panics, the seed and the end of the transcript are
    /// told first; of a seed that was picked, everything is told.
    pub fn run<T>(seed: u64, story: impl AsyncFnOnce(World) -> T) -> T {
        Self::run_with(seed, CrashPlan::default(), story).unwrap_or_else(|Panicked { panic, report }| {
            if let Some(report) = report {
                tell(&report.to_string());
            }
            resume_unwind(panic)
        })
    }

    /// The same with somebody dying in it; whoever calls tells what came of it, of a run that was not picked.
    pub(crate) fn run_with<T>(seed: u64, crash: CrashPlan, story: impl AsyncFnOnce(World) -> T) -> Result<T, Panicked> {
        let whole = match crash.point {
            Some(point) => crash::picked() == Some(point),
            None => picked() == Some(seed),
        };
        let time = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let time = time.expect("a runtime without I/O needs nothing that could be missing");
        let kept: Arc<Mutex<Option<World>>> = Arc::default();
        let lives = Arc::clone(&kept);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            time.block_on(async move {
                let world = Self::new(seed, crash);
                *super::lock(&lives) = Some(world.clone());
                story(world).await
            })
        }));
        let world = super::lock(&kept).take();
        if let Some(world) = world.as_ref().filter(|_| whole) {
            tell(&world.text());
        }
        let report = world.as_ref().filter(|_| !whole && ended.is_err()).map(Self::report);
        if let Some(world) = world {
            // Actors and destinations keep the world alive; the end of a run is the end of all of them.
            super::lock(&world.0.actors).clear();
            super::lock(&world.0.destinations).clear();
            world.0.memory.forget();
            // What they were made of may hold on to the world in circles. A thousand days have a thousand histories.
            *super::lock(&world.0.history) = History::default();
            *super::lock(&world.0.transcript) = Transcript::default();
        }
        ended.map_err(|panic| Panicked { panic, report })
    }

    fn new(seed: u64, crash: CrashPlan) -> Self {
        let epoch = Timestamp::from_second(EPOCH).expect("a moment of our century");
        Self(Arc::new(Inner {
            seed,
            began: Instant::now(),
            clock: Clock::starting_at(epoch),
            tasks: Tasks::new(),
            network: Network::new(),
            actors: Mutex::default(),
            destinations: Mutex::default(),
            transcript: Mutex::default(),
            history: Mutex::default(),
            figures: Mutex::default(),
            memory: Memory::default(),
            crash: Mutex::new(crash),
            standing: Mutex::default(),
        }))
    }

    /// Holds the history against `invariants`.
    pub fn check(&self, invariants: &[Invariant]) -> Verdict {
        Verdict::of(&self.history(), invariants)
    }

    /// Holds the history against `invariants`; what breaks one is told with the lines that led to it.
    pub fn judge(&self, invariants: &[Invariant]) -> Result<(), Failed> {
        let verdict = self.check(invariants);
        let Some(first) = verdict.breaches.iter().map(|(_, _, breach)| breach.at).min() else { return Ok(()) };
        let lines = self.transcript();
        let end = lines.partition_point(|line| line.at <= first);
        let lines = text(&lines[end.saturating_sub(TOLD)..end]);
        Err(Failed { seed: self.seed(), verdict, lines })
    }

    /// What to print about this run.
    pub fn report(&self) -> Report {
        let lines = self.transcript();
        let told = lines.len().saturating_sub(TOLD);
        let crash = super::lock(&self.0.crash).point;
        Report { seed: self.seed(), crash, left_out: told, lines: text(&lines[told..]) }
    }

    /// The whole transcript as text.
    pub fn text(&self) -> String {
        text(&self.transcript())
    }
}

#[expect(clippy::print_stderr, reason = "the story of a test, which nothing else can carry")]
fn tell(story: &str) {
    eprintln!("{story}");
}

/// A story that panicked, and the end of its transcript unless all of it was told.
pub(crate) struct Panicked {
    panic: Box<dyn Any + Send>,
    pub(crate) report: Option<Report>,
}

impl Panicked {
    /// The words of the panic.
    pub(crate) fn says(&self) -> String {
        let text = self.panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| self.panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.unwrap_or_else(|| "a panic without words".to_owned())
    }
}

/// Invariants that did not hold, and what led there. `Debug` is for people, since tests unwrap it.
#[derive(Clone)]
pub struct Failed {
    /// The seed of the run.
    pub seed: u64,
    /// What did not hold.
    pub verdict: Verdict,
    lines: String,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, verdict, lines } = self;
        write!(f, "seed {seed}\nbefore the first breach (seconds, who, what):\n{lines}\n{verdict}")?;
        write!(f, "run the same test again with {SEED}={seed}")
    }
}

impl std::fmt::Debug for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Failed {}

/// The end of a transcript, and how to see it again.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed of the run.
    pub seed: u64,
    /// Where somebody was made to die in it.
    pub crash: Option<Point>,
    /// How many lines came before.
    pub left_out: usize,
    /// The last lines.
    pub lines: String,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, crash, left_out, lines } = self;
        writeln!(f, "{left_out} lines before, then (seconds, who, what):\n{lines}")?;
        match crash {
            None => write!(f, "this was seed {seed}; run the same test again with {SEED}={seed}"),
            Some(at) => {
                let Point { write, side } = at;
                write!(f, "this was a crash {at}; run the same test again with {CRASH}={write}:{}", side.as_str())
            }
        }
    }
}
