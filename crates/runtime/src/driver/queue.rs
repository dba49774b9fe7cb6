//! Which object is looked at next.
//!
//! A key runs at most once at a time, and a pass serves all who asked for it before. Asking again keeps the earlier
//! moment. What asks for a key while it runs is held until it has stopped: only then is it known what the pass itself
//! has written.
//!
//! Whoever is in the middle of something goes first: what it was called for must not stay free for long, and others wait
//! for what it holds. Those who are new have every fourth turn, so that nobody waits for ever.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::Trigger;
use crate::Key;

/// Why a key waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Something outside that it waited for has moved, what it wrote has come back, or the moment has come that its last
    /// pass asked for.
    Begun,
    /// It has changed, or something stood in the way the last time.
    Usual,
}

/// So many turns in a row go to those who have begun while somebody else waits.
const BEGUN_IN_A_ROW: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Queue {
    begun: Line,
    usual: Line,
    /// Turns since one of the others had one while it waited.
    passed_over: u32,
    running: HashSet<Key>,
    held: HashMap<Key, BTreeSet<Trigger>>,
}

/// Keys in line, each at most once.
#[derive(Debug, Default)]
struct Line {
    /// Ordered by moment, then by arrival, so that equal moments are served in the order they were asked for.
    due: BTreeSet<(Instant, u64, Key)>,
    waiting: HashMap<Key, (Instant, u64)>,
    arrivals: u64,
}

impl Line {
    fn push(&mut self, key: Key, at: Instant) {
        match self.waiting.get(&key) {
            Some((earlier, _)) if *earlier <= at => return,
            Some((later, arrival)) => {
                self.due.remove(&(*later, *arrival, key.clone()));
            }
            None => {}
        }
        self.arrivals += 1;
        self.waiting.insert(key.clone(), (at, self.arrivals));
        self.due.insert((at, self.arrivals, key));
    }

    fn remove(&mut self, key: &Key) {
        if let Some((at, arrival)) = self.waiting.remove(key) {
            self.due.remove(&(at, arrival, key.clone()));
        }
    }

    /// The first key whose moment has come.
    fn first(&self, now: Instant) -> Option<&Key> {
        self.due.first().filter(|(at, _, _)| *at <= now).map(|(_, _, key)| key)
    }

    fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _, _)| *at)
    }
}

impl Queue {
    /// Asks for a look at `key`, which is not running, at the given moment.
    pub(super) fn push(&mut self, key: Key, at: Instant, lane: Lane) {
        match lane {
            Lane::Begun => self.begun.push(key, at),
            Lane::Usual => self.usual.push(key, at),
        }
    }

    /// Takes the next key whose moment has come; it counts as running until [`Queue::done`].
    pub(super) fn pop(&mut self, now: Instant) -> Option<Key> {
        let (begun, usual) = (self.begun.first(now), self.usual.first(now));
        let (key, passes_over) = match (begun, usual) {
            (Some(begun), Some(_)) if self.passed_over < BEGUN_IN_A_ROW => (begun.clone(), true),
            (_, Some(usual)) => (usual.clone(), false),
            (Some(begun), None) => (begun.clone(), false),
            (None, None) => return None,
        };
        self.passed_over = if passes_over { self.passed_over + 1 } else { 0 };
        self.begun.remove(&key);
        self.usual.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// Holds `trigger` if its object is running; gives it back otherwise.
    pub(super) fn hold(&mut self, trigger: Trigger) -> Option<Trigger> {
        if !self.running.contains(trigger.key()) {
            return Some(trigger);
        }
        self.held.entry(trigger.key().clone()).or_default().insert(trigger);
        None
    }

    /// `key` has stopped running; what was held meanwhile.
    pub(super) fn done(&mut self, key: &Key) -> BTreeSet<Trigger> {
        self.running.remove(key);
        self.held.remove(key).unwrap_or_default()
    }

    /// The moment of the next key.
    pub(super) fn next(&self) -> Option<Instant> {
        self.begun.next().into_iter().chain(self.usual.next()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_moments_wins() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.push(key("a"), now + Duration::from_mins(1), Lane::Usual);
        queue.push(key("a"), now, Lane::Usual);
        queue.push(key("a"), now + Duration::from_secs(30), Lane::Begun);
        assert_eq!(queue.pop(now), Some(key("a")));
        queue.done(&key("a"));
        assert_eq!(queue.next(), None);
    }

    fn concerned(name: &str) -> Trigger {
        Trigger::Concerned { key: key(name) }
    }

    #[tokio::test(start_paused = true)]
    async fn what_asks_for_a_key_while_it_runs_is_held_until_it_has_stopped() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.push(key("a"), now, Lane::Usual);
        assert_eq!(queue.pop(now), Some(key("a")));
        assert_eq!(queue.hold(concerned("a")), None);
        assert_eq!(queue.hold(concerned("b")), Some(concerned("b")));
        assert_eq!(queue.done(&key("a")).into_iter().collect::<Vec<_>>(), [concerned("a")]);
        assert_eq!(queue.hold(concerned("a")), Some(concerned("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_begun_goes_first_and_the_others_have_every_fourth_turn() {
        let now = Instant::now();
        let mut queue = Queue::default();
        for number in 0..6 {
            queue.push(key(&format!("usual-{number}")), now, Lane::Usual);
            queue.push(key(&format!("begun-{number}")), now, Lane::Begun);
        }
        let order: Vec<String> = std::iter::from_fn(|| queue.pop(now)).map(|key| key.name).collect();
        let expected =
            "begun-0 begun-1 begun-2 usual-0 begun-3 begun-4 begun-5 usual-1 usual-2 usual-3 usual-4 usual-5";
        assert_eq!(order.join(" "), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn one_pass_serves_all_who_asked_for_it() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.push(key("a"), now, Lane::Usual);
        queue.push(key("a"), now, Lane::Begun);
        assert_eq!(queue.pop(now), Some(key("a")));
        queue.done(&key("a"));
        assert_eq!((queue.pop(now), queue.next()), (None, None));
    }

    proptest! {
        #[test]
        fn p30_a_key_never_runs_twice_at_a_time_and_none_is_forgotten(actions in prop::collection::vec((0_u8..4, 0_u8..5), 1..200)) {
            let start = Instant::now();
            let mut queue = Queue::default();
            let (mut running, mut asked) = (HashSet::new(), HashSet::new());
            for (action, which) in actions {
                let name = key(&which.to_string());
                match action {
                    0 | 1 => {
                        asked.insert(name.clone());
                        let lane = if action == 0 { Lane::Usual } else { Lane::Begun };
                        if queue.hold(Trigger::Concerned { key: name.clone() }).is_some() {
                            queue.push(name, start, lane);
                        }
                    }
                    2 => {
                        if let Some(next) = queue.pop(start) {
                            prop_assert!(running.insert(next.clone()));
                            asked.remove(&next);
                        }
                    }
                    _ => {
                        if running.remove(&name) {
                            queue.done(&name).into_iter().for_each(|held| queue.push(held.key().clone(), start, Lane::Usual));
                        }
                    }
                }
            }
            for name in running {
                queue.done(&name).into_iter().for_each(|held| queue.push(held.key().clone(), start, Lane::Usual));
            }
            let left: HashSet<Key> = std::iter::from_fn(|| queue.pop(start)).collect();
            prop_assert_eq!(left, asked);
        }
    }
}
