//! Calls attention to objects whose cause no watch shows: something outside Kubernetes has moved.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Key;

/// Rung by whoever looks outside; a driver that heeds it looks at the object soon. Ringing twice is one look.
#[derive(Clone, Default)]
pub struct Bell(Arc<Mutex<Vec<Listener>>>);

type Listener = Box<dyn Fn(&Key) -> bool + Send + Sync>;

impl Bell {
    /// Asks for a look at the object under `key`. Without a driver that leads nobody hears it, which is fine: whoever
    /// comes to lead looks at everything.
    pub fn ring(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|listener| listener(key));
    }

    /// Calls `listener` whenever the bell rings, as long as it answers true.
    pub fn listen(&self, listener: impl Fn(&Key) -> bool + Send + Sync + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(listener));
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn who_does_not_listen_any_more_is_not_called() {
        let (bell, heard) = (Bell::default(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&heard);
        bell.listen(move |_| count.fetch_add(1, Ordering::Relaxed) < 1);
        for _ in 0..5 {
            bell.ring(&Key::new("ns", "name"));
        }
        assert_eq!(heard.load(Ordering::Relaxed), 2);
    }
}
