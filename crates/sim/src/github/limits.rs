//! Limits and delays of the real service.

use std::time::Duration;

/// How much may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Requests an hour of one credential; none where nobody counts, as in GitHub Enterprise Server.
    pub core: Option<u32>,
    /// Registrations of runners an hour.
    pub registration: u32,
    /// Points a minute of one credential: a read is one, a write five.
    pub points: u32,
    /// Requests of one credential at a time.
    pub concurrent: u32,
}

/// The constants of github.com, as far as they are published or were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long an App's own token may be good.
    pub app_token: Duration,
    /// How long an installation's token is good.
    pub installation_token: Duration,
    /// How long a token for registering or removing runners is good.
    pub registration_token: Duration,
    /// How long the scale-set service's tokens are good.
    pub service_token: Duration,
    /// How long a message session lives without a poll.
    pub session: Duration,
    /// How long a poll for messages waits.
    pub poll: Duration,
    /// Between a job that waits and its offer to a runner.
    pub dispatch: Duration,
    /// How long a runner may leave an offer alone.
    pub offer: Duration,
    /// How long `busy` stays false after a job has begun.
    pub busy_lag: Duration,
    /// How long a silent runner counts as online.
    pub offline: Duration,
    /// How long a job of a silent runner goes on.
    pub lost: Duration,
    /// How long a cancelled job may clean up.
    pub cancel: Duration,
    /// How long a job may be queued.
    pub queue: Duration,
    /// How long a job may run unless it says so itself.
    pub job: Duration,
    /// How long a single-use runner may be offline.
    pub ephemeral_expiry: Duration,
    /// How long any other runner may be offline.
    pub runner_expiry: Duration,
    /// How long a webhook is on its way.
    pub hook: Duration,
    /// How long a receiver may take to answer.
    pub hook_timeout: Duration,
    /// How long deliveries are remembered.
    pub deliveries: Duration,
    /// How much may be asked for.
    pub rates: Rates,
}

impl Limits {
    /// As they are on github.com.
    pub const REAL: Self = Self {
        app_token: Duration::from_mins(10),
        installation_token: Duration::from_hours(1),
        registration_token: Duration::from_hours(1),
        service_token: Duration::from_hours(1),
        session: Duration::from_mins(5),
        poll: Duration::from_secs(50),
        dispatch: Duration::from_secs(1),
        offer: Duration::from_mins(1),
        busy_lag: Duration::from_secs(30),
        offline: Duration::from_mins(1),
        lost: Duration::from_mins(10),
        cancel: Duration::from_mins(5),
        queue: Duration::from_hours(24),
        job: Duration::from_hours(5 * 24),
        ephemeral_expiry: Duration::from_hours(24),
        runner_expiry: Duration::from_hours(14 * 24),
        hook: Duration::from_millis(300),
        hook_timeout: Duration::from_secs(10),
        deliveries: Duration::from_hours(3 * 24),
        rates: Rates { core: Some(5_000), registration: 10_000, points: 900, concurrent: 100 },
    };

    /// The same with every wait divided, so that tests on real sockets need not wait for them. Tokens live as long as ever:
    /// clients know how long that is.
    #[must_use]
    pub fn faster(self, by: u32) -> Self {
        Self {
            session: self.session / by,
            poll: self.poll / by,
            dispatch: self.dispatch / by,
            offer: self.offer / by,
            busy_lag: self.busy_lag / by,
            offline: self.offline / by,
            lost: self.lost / by,
            cancel: self.cancel / by,
            queue: self.queue / by,
            job: self.job / by,
            hook: self.hook / by,
            ..self
        }
    }
}
