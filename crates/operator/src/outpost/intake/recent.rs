//! What was put down lately.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// As many entries are kept before old ones are looked for.
const FEW: usize = 1_024;

/// Values that are there for a while after they were put.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    entries: HashMap<K, (Instant, V)>,
    span: Duration,
    /// At this size old ones are looked for: twice what was left the last time, so that putting many costs no walk over all
    /// of them each time.
    full: usize,
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Nothing yet; what is put stays for this long.
    pub(super) fn for_the_last(span: Duration) -> Self {
        Self { entries: HashMap::new(), span, full: FEW }
    }

    /// The value, if it was put lately.
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).filter(|(at, _)| at.elapsed() < self.span).map(|(_, value)| value)
    }

    /// Puts a value in the place of the one before.
    pub(super) fn put(&mut self, key: K, value: V) {
        if self.entries.len() >= self.full {
            let span = self.span;
            self.entries.retain(|_, (at, _)| at.elapsed() < span);
            self.full = FEW.max(self.entries.len() * 2);
        }
        self.entries.insert(key, (Instant::now(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn what_was_put_is_there_for_a_while() {
        let mut recent = Recent::for_the_last(SPAN);
        recent.put("a", 1);
        tokio::time::advance(Duration::from_secs(3)).await;
        recent.put("b", 2);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!((recent.get(&"a"), recent.get(&"b")), (None, Some(&2)));
        recent.put("a", 3);
        assert_eq!(recent.get(&"a"), Some(&3));
    }

    #[tokio::test(start_paused = true)]
    async fn old_ones_are_forgotten_and_new_ones_are_not_looked_through_each_time() {
        let mut recent = Recent::for_the_last(SPAN);
        let mut walks = 0;
        for number in 0..100 * FEW {
            let full = recent.full;
            recent.put(number, ());
            walks += usize::from(recent.full != full);
        }
        assert!(walks < 10, "{walks} walks");
        assert!((0..100 * FEW).all(|number| recent.get(&number).is_some()));
        tokio::time::advance(SPAN).await;
        let most = recent.full;
        (0..=most).for_each(|number| recent.put(1_000_000 + number, ()));
        assert!(recent.entries.len() <= most + 1, "{} are left", recent.entries.len());
    }
}
