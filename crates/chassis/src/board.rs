//! A value that changes, and those who wait for that.
//!
//! They are woken in the order in which they began to wait. `tokio::sync::watch`, whose likeness this is, wakes them in an
//! order that is different each time, so that no seed of a simulated world would tell the same story twice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Where the value is written; whoever reads it learns when this is dropped.
#[derive(Debug)]
pub struct Board<T>(Arc<Shared<T>>);

/// Reads a [`Board`]; clones have seen the same.
#[derive(Debug)]
pub struct Reader<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// The board is gone: the value changes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

#[derive(Debug)]
struct Shared<T> {
    content: Mutex<Content<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct Content<T> {
    value: T,
    version: u64,
    gone: bool,
}

impl<T> Shared<T> {
    fn content(&self) -> MutexGuard<'_, Content<T>> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Board<T> {
    /// A board with a value.
    pub fn new(value: T) -> Self {
        let content = Mutex::new(Content { value, version: 0, gone: false });
        Self(Arc::new(Shared { content, changed: Notify::new() }))
    }

    /// Somebody who has seen the value as it is now.
    pub fn reader(&self) -> Reader<T> {
        Reader { seen: self.0.content().version, shared: Arc::clone(&self.0) }
    }

    /// Changes the value; whoever waits is woken if `change` says that it has.
    pub fn change_if(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let changed = {
            let mut content = self.0.content();
            let changed = change(&mut content.value);
            content.version += u64::from(changed);
            changed
        };
        if changed {
            self.0.changed.notify_waiters();
        }
        changed
    }

    /// Changes the value and wakes whoever waits.
    pub fn change(&self, change: impl FnOnce(&mut T)) {
        self.change_if(|value| {
            change(value);
            true
        });
    }

    /// Puts another value in its place; the one before.
    pub fn replace(&self, value: T) -> T {
        let mut before = value;
        self.change(|value| std::mem::swap(value, &mut before));
        before
    }
}

impl<T: Copy> Board<T> {
    /// The value.
    pub fn get(&self) -> T {
        self.0.content().value
    }
}

impl<T: Default> Default for Board<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Board<T> {
    fn drop(&mut self) {
        self.0.content().gone = true;
        self.0.changed.notify_waiters();
    }
}

impl<T> Clone for Reader<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), seen: self.seen }
    }
}

impl<T> Reader<T> {
    /// Whether the board is gone.
    pub fn is_gone(&self) -> bool {
        self.shared.content().gone
    }

    /// Resolves once there is a value that this reader has not seen, and counts it as seen.
    pub async fn changed(&mut self) -> Result<(), Gone> {
        let seen = self.seen;
        self.until(|content| content.version != seen).await
    }

    /// Resolves once the value is like that.
    pub async fn wait_for(&mut self, mut is: impl FnMut(&T) -> bool) -> Result<(), Gone> {
        self.until(|content| is(&content.value)).await
    }

    async fn until(&mut self, mut is: impl FnMut(&Content<T>) -> bool) -> Result<(), Gone> {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            {
                let content = self.shared.content();
                if is(&content) {
                    self.seen = content.version;
                    return Ok(());
                }
                if content.gone {
                    return Err(Gone);
                }
            }
            changed.await;
        }
    }
}

impl<T: Copy> Reader<T> {
    /// The value.
    pub fn get(&self) -> T {
        self.shared.content().value
    }

    /// The value, which counts as seen.
    pub fn see(&mut self) -> T {
        let content = self.shared.content();
        self.seen = content.version;
        content.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_is_woken_in_the_order_of_waiting() {
        for _ in 0..20 {
            let (board, order) = (Board::new(0), Arc::new(Mutex::new(Vec::new())));
            let mut tasks = tokio::task::JoinSet::new();
            for number in 0..40 {
                let (mut reader, order) = (board.reader(), Arc::clone(&order));
                tasks.spawn(async move {
                    reader.changed().await.unwrap();
                    order.lock().unwrap().push(number);
                });
            }
            tokio::task::yield_now().await;
            board.replace(1);
            while tasks.join_next().await.is_some() {}
            assert_eq!(*order.lock().unwrap(), (0..40).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_change_is_seen_once_however_late_and_a_board_that_goes_is_noticed() {
        let board = Board::new(1);
        let mut reader = board.reader();
        board.replace(2);
        assert_eq!((reader.changed().await, reader.get()), (Ok(()), 2));
        let mut late = reader.clone();
        assert!(!board.change_if(|_| false));
        let waits = async { late.wait_for(|value| *value == 4).await };
        let changes = async {
            board.change(|value| *value = 3);
            board.change(|value| *value = 4);
        };
        assert_eq!(futures::join!(waits, changes).0, Ok(()));
        assert!(!reader.is_gone());
        drop(board);
        assert_eq!(reader.changed().await, Ok(()), "what it has not seen comes first");
        assert_eq!((reader.changed().await, reader.is_gone()), (Err(Gone), true));
    }
}
