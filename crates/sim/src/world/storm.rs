//! A time in which everything goes wrong, and after which it is calm.

use std::time::Duration;

use jiff::SignedDuration;

use super::World;
use super::dice::Dice;
use super::network::Direction;
use super::weather::Weather;

/// What happens, how often, for how long; drawn from the world's dice.
#[derive(Clone, Debug)]
pub struct Storm {
    /// How long it lasts; afterwards everything is calm.
    pub length: Duration,
    /// The weather on every line meanwhile.
    pub weather: Weather,
    /// Actors that stand still, per minute.
    pub pauses: f64,
    /// Actors that die, per minute; they start again after a while.
    pub crashes: f64,
    /// Ways that are cut, per minute.
    pub partitions: f64,
    /// Clocks that are set, per minute.
    pub jumps: f64,
    /// Streams that break, per minute.
    pub cuts: f64,
    /// Pasts that are forgotten, per minute.
    pub compactions: f64,
    /// The longest pause, partition or death.
    pub longest: Duration,
}

impl Storm {
    /// Everything at once, for this long.
    pub const fn rough(length: Duration) -> Self {
        Self {
            length,
            weather: Weather::ROUGH,
            pauses: 0.5,
            crashes: 0.3,
            partitions: 0.5,
            jumps: 0.2,
            cuts: 0.5,
            compactions: 0.3,
            longest: Duration::from_secs(90),
        }
    }
}

#[derive(Clone, Copy)]
enum Blow {
    Pause,
    Crash,
    Partition,
    Jump,
    Cut,
    Compaction,
}

impl World {
    /// Lets `storm` go over the world, and returns when it is calm.
    pub async fn weather_out(&self, storm: &Storm) {
        let end = self.age() + storm.length;
        let mut dice = self.dice(&format!("storm at {:?}", self.age()));
        self.tell("world", "", format!("a storm of {} s begins", storm.length.as_secs()));
        self.weather(storm.weather);
        let blows = [
            (Blow::Pause, storm.pauses),
            (Blow::Crash, storm.crashes),
            (Blow::Partition, storm.partitions),
            (Blow::Jump, storm.jumps),
            (Blow::Cut, storm.cuts),
            (Blow::Compaction, storm.compactions),
        ];
        let rate: f64 = blows.iter().map(|(_, rate)| rate).sum();
        loop {
            let left = end.saturating_sub(self.age());
            let wait = dice.wait_for_next(rate);
            if rate <= 0.0 || wait >= left {
                self.pass(left).await;
                break;
            }
            self.pass(wait).await;
            let mut mark = dice.unit() * rate;
            let chosen = blows.iter().find(|(_, rate)| {
                mark -= rate;
                mark < 0.0
            });
            self.strike(chosen.map_or(Blow::Cut, |(blow, _)| *blow), storm, &mut dice);
        }
        self.calm();
    }

    fn strike(&self, blow: Blow, storm: &Storm, dice: &mut Dice) {
        let (actors, destinations) = (self.actors(), self.destinations());
        let (Some(actor), Some(destination)) = (dice.pick(&actors).cloned(), dice.pick(&destinations).cloned()) else {
            return;
        };
        let length = dice.between(Duration::from_millis(100), storm.longest);
        let direction = *dice.pick(&[Direction::Both, Direction::There, Direction::Back]).unwrap_or(&Direction::Both);
        let jump = SignedDuration::try_from(dice.between(Duration::from_secs(1), Duration::from_hours(48)))
            .unwrap_or_default();
        let back = dice.chance(0.5);
        match blow {
            Blow::Pause => {
                self.pause(&actor);
                self.later(length, move |world| world.resume(&actor));
            }
            Blow::Crash => {
                self.crash(&actor);
                self.later(length, move |world| world.restart(&actor));
            }
            Blow::Partition => {
                self.partition(&actor, &destination, direction);
                self.later(length, move |world| world.heal(&actor, &destination));
            }
            Blow::Jump => self.turn_clock(&actor, if back { -jump } else { jump }),
            Blow::Cut => self.sever(&actor, &destination),
            Blow::Compaction => self.compact(&destination),
        }
    }

    /// Does something after a while.
    pub(crate) fn later(&self, wait: Duration, what: impl FnOnce(&Self) + Send + 'static) {
        let world = self.clone();
        self.tasks().spawn("later", async move {
            world.pass(wait).await;
            what(&world);
        });
    }
}
