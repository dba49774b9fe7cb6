//! Which object is looked at next.
//!
//! A key waits at most once and runs at most once at a time. Asking again while it waits keeps the earlier moment. What
//! asks for it while it runs is held until it has stopped: only then is it known what the pass itself has written.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::Trigger;
use crate::Key;

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Ordered by moment, then by arrival, so that equal moments are served in the order they were asked for.
    due: BTreeSet<(Instant, u64, Key)>,
    waiting: HashMap<Key, (Instant, u64)>,
    running: HashSet<Key>,
    held: HashMap<Key, BTreeSet<Trigger>>,
    arrivals: u64,
}

impl Queue {
    /// Asks for a look at `key`, which is not running, at the given moment.
    pub(super) fn push(&mut self, key: Key, at: Instant) {
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

    /// Takes the next key whose moment has come; it counts as running until [`Queue::done`].
    pub(super) fn pop(&mut self, now: Instant) -> Option<Key> {
        if self.due.first()?.0 > now {
            return None;
        }
        let (_, _, key) = self.due.pop_first()?;
        self.waiting.remove(&key);
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
        self.due.first().map(|(at, _, _)| *at)
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
        queue.push(key("a"), now + Duration::from_mins(1));
        queue.push(key("a"), now);
        queue.push(key("a"), now + Duration::from_secs(30));
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
        queue.push(key("a"), now);
        assert_eq!(queue.pop(now), Some(key("a")));
        assert_eq!(queue.hold(concerned("a")), None);
        assert_eq!(queue.hold(concerned("b")), Some(concerned("b")));
        assert_eq!(queue.done(&key("a")).into_iter().collect::<Vec<_>>(), [concerned("a")]);
        assert_eq!(queue.hold(concerned("a")), Some(concerned("a")));
    }

    proptest! {
        #[test]
        fn p30_a_key_never_runs_twice_at_a_time_and_none_is_forgotten(actions in prop::collection::vec((0_u8..3, 0_u8..5), 1..200)) {
            let start = Instant::now();
            let mut queue = Queue::default();
            let (mut running, mut asked) = (HashSet::new(), HashSet::new());
            for (action, which) in actions {
                let name = key(&which.to_string());
                match action {
                    0 => {
                        asked.insert(name.clone());
                        if queue.hold(Trigger::Concerned { key: name.clone() }).is_some() {
                            queue.push(name, start);
                        }
                    }
                    1 => {
                        if let Some(next) = queue.pop(start) {
                            prop_assert!(running.insert(next.clone()));
                            asked.remove(&next);
                        }
                    }
                    _ => {
                        if running.remove(&name) {
                            queue.done(&name).into_iter().for_each(|held| queue.push(held.key().clone(), start));
                        }
                    }
                }
            }
            for name in running {
                queue.done(&name).into_iter().for_each(|held| queue.push(held.key().clone(), start));
            }
            let left: HashSet<Key> = std::iter::from_fn(|| queue.pop(start)).collect();
            prop_assert_eq!(left, asked);
        }
    }
}
