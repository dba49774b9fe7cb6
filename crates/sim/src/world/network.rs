//! What lies between actors and destinations: which ways are cut, and how the weather is on each.
//!
//! Who waits here is woken in the order of arrival; a `tokio::sync::watch` would wake them in an order that no seed
//! decides.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::fault::Fault;
use super::weather::Weather;
use super::{World, lock};

/// Which way is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Neither requests nor answers get through.
    Both,
    /// Requests do not arrive.
    There,
    /// Answers do not arrive.
    Back,
}

/// An actor and a destination.
pub(crate) type Ends = (String, String);

/// The way there or the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

#[derive(Debug)]
pub(crate) struct Network {
    cuts: Mutex<BTreeMap<Ends, Direction>>,
    healed: Notify,
    climate: Mutex<Climate>,
    /// Tells streams between two ends that they are broken.
    severed: Mutex<BTreeMap<Ends, Arc<Notify>>>,
}

#[derive(Debug)]
struct Climate {
    everywhere: Weather,
    local: BTreeMap<Ends, Weather>,
}

impl Network {
    pub(crate) fn new() -> Self {
        let climate = Mutex::new(Climate { everywhere: Weather::CALM, local: BTreeMap::new() });
        Self { cuts: Mutex::default(), healed: Notify::new(), climate, severed: Mutex::default() }
    }

    pub(crate) fn cut(&self, ends: Ends, direction: Direction) {
        lock(&self.cuts).insert(ends, direction);
    }

    pub(crate) fn heal(&self, ends: &Ends) {
        lock(&self.cuts).remove(ends);
        self.healed.notify_waiters();
    }

    pub(crate) fn heal_all(&self) {
        lock(&self.cuts).clear();
        self.healed.notify_waiters();
    }

    pub(crate) fn is_cut(&self, ends: &Ends, way: Way) -> bool {
        match lock(&self.cuts).get(ends) {
            None => false,
            Some(Direction::Both) => true,
            Some(Direction::There) => way == Way::There,
            Some(Direction::Back) => way == Way::Back,
        }
    }

    /// Resolves once the way is open.
    pub(crate) async fn open(&self, ends: &Ends, way: Way) {
        while self.is_cut(ends, way) {
            self.healed.notified().await;
        }
    }

    pub(crate) fn weather(&self, ends: &Ends) -> Weather {
        let climate = lock(&self.climate);
        climate.local.get(ends).copied().unwrap_or(climate.everywhere)
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        let mut climate = lock(&self.climate);
        climate.everywhere = weather;
        climate.local.clear();
    }

    pub(crate) fn set_weather_between(&self, ends: Ends, weather: Weather) {
        lock(&self.climate).local.insert(ends, weather);
    }

    /// Breaks every stream between two ends.
    pub(crate) fn sever(&self, ends: &Ends) {
        if let Some(broken) = lock(&self.severed).get(ends) {
            broken.notify_waiters();
        }
    }

    /// Hears when the streams between two ends are broken.
    pub(crate) fn severed(&self, ends: &Ends) -> Arc<Notify> {
        Arc::clone(lock(&self.severed).entry(ends.clone()).or_default())
    }
}

impl World {
    /// The same weather on every line.
    pub fn weather(&self, weather: Weather) {
        self.0.network.set_weather(weather);
    }

    /// The weather between one actor and one destination.
    pub fn weather_between(&self, actor: &str, destination: &str, weather: Weather) {
        self.0.network.set_weather_between((actor.to_owned(), destination.to_owned()), weather);
    }

    /// Cuts the network between an actor and a destination.
    pub fn partition(&self, actor: &str, destination: &str, direction: Direction) {
        self.0.network.cut((actor.to_owned(), destination.to_owned()), direction);
        self.count(Fault::Partitioned);
        self.tell(actor, destination, format!("is cut off ({direction:?})"));
    }

    /// Heals what [`World::partition`] has cut.
    pub fn heal(&self, actor: &str, destination: &str) {
        let ends = (actor.to_owned(), destination.to_owned());
        if self.0.network.is_cut(&ends, Way::There) || self.0.network.is_cut(&ends, Way::Back) {
            self.0.network.heal(&ends);
            self.tell(actor, destination, "is connected again");
        }
    }

    /// Breaks every stream between an actor and a destination.
    pub fn sever(&self, actor: &str, destination: &str) {
        self.0.network.sever(&(actor.to_owned(), destination.to_owned()));
    }
}
