//! Which object is looked at next.
//!
//! A key waits at most once and runs at most once at a time. Asking again while it waits keeps the earlier moment;
//! asking while it runs makes it run again afterwards.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use crate::Key;

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Ordered by moment, then by arrival, so that equal moments are served in the order they were asked for.
    due: BTreeSet<(Instant, u64, Key)>,
    waiting: HashMap<Key, (Instant, u64)>,
    running: HashSet<Key>,
    again: HashMap<Key, Instant>,
    arrivals: u64,
}

impl Queue {
    /// Asks for a look at `key` at the given moment.
    pub(super) fn push(&mut self, key: Key, at: Instant) {
        if self.running.contains(&key) {
            let again = self.again.entry(key).or_insert(at);
            *again = at.min(*again);
            return;
        }
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

    /// `key` has stopped running.
    pub(super) fn done(&mut self, key: &Key) {
        self.running.remove(key);
        if let Some(at) = self.again.remove(key) {
            self.push(key.clone(), at);
        }
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

    #[tokio::test(start_paused = true)]
    async fn a_key_asked_for_while_it_runs_runs_again_afterwards_and_only_then() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.push(key("a"), now);
        assert_eq!(queue.pop(now), Some(key("a")));
        queue.push(key("a"), now);
        assert_eq!(queue.pop(now), None);
        queue.done(&key("a"));
        assert_eq!(queue.pop(now), Some(key("a")));
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
                        queue.push(name.clone(), start);
                        asked.insert(name);
                    }
                    1 => {
                        if let Some(next) = queue.pop(start) {
                            prop_assert!(running.insert(next.clone()));
                            asked.remove(&next);
                        }
                    }
                    _ => {
                        if running.remove(&name) {
                            queue.done(&name);
                        }
                    }
                }
            }
            for name in running {
                queue.done(&name);
            }
            let left: HashSet<Key> = std::iter::from_fn(|| queue.pop(start)).collect();
            prop_assert_eq!(left, asked);
        }
    }
}
