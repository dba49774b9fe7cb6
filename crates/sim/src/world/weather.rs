//! How bad the network and the far side are: rates, from which each request's fate is drawn.

use std::time::Duration;

use super::deed::{Deed, Nature, Verb};
use super::dice::Dice;
use super::fault::Fault;

/// How often what goes wrong; every number is a likelihood per request (for streams: per delivery).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weather {
    /// The least and the most a message takes, each way.
    pub delay: (Duration, Duration),
    /// Messages that take much longer, and how much at most.
    pub slow: (f64, Duration),
    /// The request never arrives, and nothing says so.
    pub request_lost: f64,
    /// The far side acts, the answer never comes, and nothing says so.
    pub answer_lost: f64,
    /// The request arrives twice.
    pub duplicated: f64,
    /// The connection breaks, half of the time after the far side has acted.
    pub reset: f64,
    /// The connection stands and nothing comes back; for streams: from now on.
    pub half_open: f64,
    /// A Kubernetes API answers 409 to a write although nothing conflicts.
    pub conflict: f64,
    /// A Kubernetes API answers 429.
    pub throttled: f64,
    /// The far side answers 500, 503 or, after it has acted, 504.
    pub broken: f64,
    /// A Kubernetes API answers a read from the past, if it is one that takes any version; what is behind in practice
    /// is a watch, by its delay.
    pub stale: f64,
    /// A stream breaks.
    pub watch_cut: f64,
    /// A stream ends in good order.
    pub watch_closed: f64,
    /// A stream ends with 410: the past that it goes on from is compacted away.
    pub watch_expired: f64,
    /// Events about different objects that arrive together change places.
    pub reordered: f64,
}

impl Weather {
    /// A local network on a good day: messages take a moment, nothing is lost.
    pub const CALM: Self = Self {
        delay: (Duration::from_micros(200), Duration::from_millis(2)),
        slow: (0.0, Duration::ZERO),
        request_lost: 0.0,
        answer_lost: 0.0,
        duplicated: 0.0,
        reset: 0.0,
        half_open: 0.0,
        conflict: 0.0,
        throttled: 0.0,
        broken: 0.0,
        stale: 0.0,
        watch_cut: 0.0,
        watch_closed: 0.0,
        watch_expired: 0.0,
        reordered: 0.0,
    };

    /// A bad day: about one request in five meets something, and messages may take seconds.
    pub const ROUGH: Self = Self {
        delay: (Duration::from_millis(1), Duration::from_millis(200)),
        slow: (0.05, Duration::from_secs(8)),
        request_lost: 0.02,
        answer_lost: 0.02,
        duplicated: 0.02,
        reset: 0.03,
        half_open: 0.01,
        conflict: 0.02,
        throttled: 0.02,
        broken: 0.04,
        stale: 0.03,
        watch_cut: 0.03,
        watch_closed: 0.02,
        watch_expired: 0.01,
        reordered: 0.3,
    };

    /// How long a message takes.
    pub fn travel(&self, dice: &mut Dice) -> Duration {
        let ordinary = dice.between(self.delay.0, self.delay.1);
        if dice.chance(self.slow.0) { ordinary + dice.between(self.delay.1, self.slow.1) } else { ordinary }
    }

    /// Draws what happens to one request.
    pub(crate) fn fate(&self, nature: Nature, deed: &Deed, dice: &mut Dice) -> Fate {
        let kubernetes = nature == Nature::Kubernetes;
        let on = |applies: bool, likelihood: f64| if applies { likelihood } else { 0.0 };
        let table = [
            (Fault::RequestLost, self.request_lost),
            (Fault::AnswerLost, self.answer_lost),
            (Fault::Duplicated, on(deed.verb != Verb::Watch, self.duplicated)),
            (Fault::Reset, self.reset / 2.0),
            (Fault::ResetLate, self.reset / 2.0),
            (Fault::HalfOpen, self.half_open),
            (Fault::Conflict, on(kubernetes && deed.verb.writes(), self.conflict)),
            (Fault::Throttled, on(kubernetes, self.throttled)),
            (Fault::ServerError, self.broken / 3.0),
            (Fault::Unavailable, self.broken / 3.0),
            (Fault::GatewayTimeout, self.broken / 3.0),
            (Fault::Stale, on(deed.lenient, self.stale)),
            (Fault::WatchExpired, on(deed.verb == Verb::Watch, self.watch_expired)),
        ];
        let mut left = dice.unit();
        let mut fault = None;
        for (kind, likelihood) in table {
            if fault.is_none() && left < likelihood {
                fault = Some(kind);
            }
            left -= likelihood;
        }
        let (there, back, again) = (self.travel(dice), self.travel(dice), self.travel(dice));
        Fate { fault, there, back, again, survives: dice.chance(0.5), persists: dice.chance(0.5), pause: dice.below(5) }
    }
}

/// What happens to one request.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// What goes wrong.
    pub(crate) fault: Option<Fault>,
    /// How long it travels.
    pub(crate) there: Duration,
    /// How long its answer travels.
    pub(crate) back: Duration,
    /// How much later its double arrives.
    pub(crate) again: Duration,
    /// Whether it arrives although its sender is gone.
    pub(crate) survives: bool,
    /// Whether it arrives after a partition is healed.
    pub(crate) persists: bool,
    /// The seconds that a throttling server asks for, less one.
    pub(crate) pause: usize,
}

impl Fate {
    /// Nothing goes wrong and nothing takes time.
    pub(crate) const fn plain() -> Self {
        let none = Duration::ZERO;
        Self { fault: None, there: none, back: none, again: none, survives: true, persists: true, pause: 0 }
    }
}
