//! Processes as values: they start, stand still, die and come back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chassis::{Brake, Clock, Hands, Tasks};
use jiff::SignedDuration;

use super::dice::Dice;
use super::fault::Fault;
use super::history::Life;
use super::line::Line;
use super::{World, lock};

/// What a process has when it starts; whatever it does goes through these.
#[derive(Clone)]
pub struct Desk {
    world: World,
    /// Which life of which actor this is; as text it is a good identity.
    pub life: Life,
    /// Its machine's clock, which may be wrong and may be set.
    pub clock: Clock,
    /// Its background work: stands still and ends with it.
    pub tasks: Tasks,
    pub(crate) brake: Brake,
    /// A person or a test: nothing goes wrong on its lines, and nothing it does is judged.
    pub(crate) plain: bool,
}

impl Desk {
    pub(crate) fn of(world: &World, life: Life, clock: Clock, brake: Brake, plain: bool) -> Self {
        Self { world: world.clone(), life, clock, tasks: Tasks::behind(brake.clone()), brake, plain }
    }

    /// Its connection to a destination, as a tower service.
    pub fn line(&self, destination: &str) -> Line {
        Line::new(&self.world, self, destination)
    }

    /// Its own luck, the same in every run of this seed.
    pub fn dice(&self, what: &str) -> Dice {
        self.world.dice(&format!("{}/{what}", self.life))
    }

    /// Puts a line into the transcript.
    pub fn tell(&self, object: &str, what: impl Into<String>) {
        self.world.tell(&self.life.actor, object, what);
    }

    /// The world it lives in.
    pub fn world(&self) -> &World {
        &self.world
    }
}

type Setup = Arc<dyn Fn(&Desk) + Send + Sync>;

/// An actor over all its lives.
pub(crate) struct Actor {
    setup: Setup,
    clock: Clock,
    hands: Hands,
    now: Mutex<Present>,
}

struct Present {
    number: u32,
    desk: Option<Desk>,
}

impl Actor {
    pub(crate) fn new(world: &World, setup: impl Fn(&Desk) + Send + Sync + 'static) -> Self {
        let (clock, hands) = Clock::with_hands(world.now());
        Self { setup: Arc::new(setup), clock, hands, now: Mutex::new(Present { number: 0, desk: None }) }
    }

    /// Begins the next life, unless one goes on.
    pub(crate) fn begin(&self, world: &World, name: &str) -> Option<Life> {
        let desk = {
            let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            if now.desk.is_some() {
                return None;
            }
            now.number += 1;
            let life = Life { actor: name.to_owned(), number: now.number };
            let desk = Desk::of(world, life, self.clock, Brake::default(), false);
            now.desk = Some(desk.clone());
            desk
        };
        (self.setup)(&desk);
        Some(desk.life)
    }

    /// Ends the present life at once.
    pub(crate) fn cut(&self) -> Option<Life> {
        let desk = self.now.lock().unwrap_or_else(PoisonError::into_inner).desk.take()?;
        desk.brake.cut();
        Some(desk.life)
    }

    /// The present life, if there is one.
    pub(crate) fn desk(&self) -> Option<Desk> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).desk.clone()
    }

    pub(crate) fn turn_clock(&self, by: SignedDuration) {
        self.hands.turn(by);
    }
}

impl World {
    /// Starts an actor: `setup` begins its work through its [`Desk`], in this life and after every restart.
    pub fn start(&self, name: &str, setup: impl Fn(&Desk) + Send + Sync + 'static) {
        let actor = Arc::new(Actor::new(self, setup));
        lock(&self.0.actors).insert(name.to_owned(), Arc::clone(&actor));
        self.restart(name);
    }

    /// Begins another life of an actor that is dead.
    pub fn restart(&self, name: &str) {
        let Some(actor) = self.actor(name) else { return };
        if let Some(life) = actor.begin(self, name) {
            self.tell(name, "", format!("starts as {life}"));
        }
    }

    /// SIGSTOP: none of its tasks is polled, nothing is sent, nothing is received.
    pub fn pause(&self, name: &str) {
        if let Some(desk) = self.actor(name).and_then(|actor| actor.desk()) {
            desk.brake.hold();
            lock(&self.0.standing).entry(desk.life.clone()).or_insert(self.age());
            self.count(Fault::Pause);
            self.tell(name, "", "stands still");
        }
    }

    /// SIGCONT: it goes on where it was; timers that fell due fire now.
    pub fn resume(&self, name: &str) {
        if let Some(desk) = self.actor(name).and_then(|actor| actor.desk()).filter(|desk| desk.brake.is_held()) {
            let since = lock(&self.0.standing).remove(&desk.life).unwrap_or_default();
            lock(&self.0.history).pauses.push((desk.life.clone(), since, self.age()));
            desk.brake.release();
            self.tell(name, "", "goes on");
        }
    }

    /// SIGKILL: everything of it is dropped at once. Requests under way may still arrive, by the dice.
    pub fn crash(&self, name: &str) {
        let Some(life) = self.actor(name).and_then(|actor| actor.cut()) else { return };
        lock(&self.0.history).deaths.insert(life.clone(), self.age());
        self.count(Fault::Crash);
        self.tell(name, "", format!("dies ({life})"));
    }

    /// SIGTERM: asks it to end and waits for it; whatever is left after `grace` is killed.
    pub async fn stop(&self, name: &str, grace: Duration) {
        let Some(desk) = self.actor(name).and_then(|actor| actor.desk()) else { return };
        self.tell(name, "", "is asked to end");
        let end = desk.tasks.shutdown(grace).await;
        let left = end.err().map(|leftover| leftover.to_string());
        if let Some(life) = self.actor(name).and_then(|actor| actor.cut()) {
            lock(&self.0.history).deaths.insert(life, self.age());
        }
        self.tell(name, "", left.unwrap_or_else(|| "has ended".to_owned()));
    }

    /// Sets the clock of an actor's machine, forward or back.
    pub fn turn_clock(&self, name: &str, by: SignedDuration) {
        if let Some(actor) = self.actor(name) {
            actor.turn_clock(by);
            self.count(Fault::ClockJump);
            self.tell(name, "", format!("has its clock set by {by:#}"));
        }
    }

    /// Whether the actor lives, standing still or not.
    pub fn is_alive(&self, name: &str) -> bool {
        self.actor(name).is_some_and(|actor| actor.desk().is_some())
    }

    /// Every actor, living or dead, sorted.
    pub fn actors(&self) -> Vec<String> {
        lock(&self.0.actors).keys().cloned().collect()
    }

    fn actor(&self, name: &str) -> Option<Arc<Actor>> {
        lock(&self.0.actors).get(name).cloned()
    }
}
