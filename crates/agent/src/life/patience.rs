//! How long the agent tries what does not succeed.

use std::time::Duration;

/// How long the agent tries, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the service to answer at all; as long as a token is good for.
    pub connect: Duration,
    /// For the service to be the right one: guests' clocks are set late.
    pub trust: Duration,
    /// The first pause between two tries; each is twice as long as the one before.
    pub first_pause: Duration,
    /// No pause is longer, unless the service asks for it.
    pub longest_pause: Duration,
    /// How often to try again where the service refuses: what it knows of us may lag behind.
    pub refusals: u32,
    /// The pause before trying again after a refusal.
    pub refusal_pause: Duration,
    /// For the machine's clock to be set, where a runner needs it right; less than a lease that nobody renews lasts.
    pub clock: Duration,
    /// For a command to exit that is asked to.
    pub grace: Duration,
    /// For the service to hear how the work ended.
    pub last_word: Duration,
    /// The same where the lease is lost: nobody may be there to hear it.
    pub lost_word: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_mins(10),
            trust: Duration::from_mins(2),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(10),
            refusals: 5,
            refusal_pause: Duration::from_secs(2),
            clock: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            last_word: Duration::from_mins(1),
            lost_word: Duration::from_secs(10),
        }
    }
}

/// No service may ask to be left alone for longer.
const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(1);

/// Pauses that grow.
pub(super) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(super) fn new(patience: &Patience) -> Self {
        Self { next: patience.first_pause, longest: patience.longest_pause }
    }

    /// The next pause; at least what the service asked for.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = pause * 2;
        pause.max(asked.unwrap_or_default().min(LONGEST_RETRY_AFTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_a_service_may_ask_for_more() {
        let mut pauses = Pauses::new(&Patience::default());
        let mut next = |asked| pauses.next(asked).as_millis();
        let grown: Vec<u128> = (0..7).map(|_| next(None)).collect();
        assert_eq!(grown, [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
        assert_eq!(next(Some(Duration::from_secs(30))), 30_000);
        assert_eq!(next(Some(Duration::from_secs(3))), 10_000);
        assert_eq!(next(Some(Duration::from_hours(9))), 60_000);
    }
}
