//! A platform that breaks its promises, to prove that the kit notices.

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use providers::attestor::Attested;
use providers::platform::github::{GitHub, QueueSession};
use providers::platform::{
    Capabilities, Error, Grant, Health, Hint, Hook, Job, JobKey, Listing, Marker, Mode, Platform, Rejected, Removal,
    Runner, RunnerOrder, RunnerPlan, RunnerState, SessionOrder, Snapshot, Verified,
};
use secrecy::SecretString;

/// It believes whoever asks, says that everything is done and does nothing, and calls jobs by other names.
pub(crate) struct Careless(pub(crate) GitHub);

impl Hook for Careless {
    fn verify(&self, headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]) -> Result<Verified, Rejected> {
        self.0.verify(headers, body, secrets)
    }

    fn parse(&self, delivery: &Verified) -> Vec<Hint> {
        self.0.parse(delivery)
    }
}

impl Platform for Careless {
    type Session = QueueSession;

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn validate(&self) -> Result<Health, Error> {
        self.0.validate().await
    }

    async fn poll(&self, now: Timestamp) -> Result<Snapshot, Error> {
        let mut snapshot = self.0.poll(now).await?;
        for job in &mut snapshot.jobs {
            job.key = JobKey::new(format!("{}0", job.key));
        }
        Ok(snapshot)
    }

    async fn job(&self, key: &JobKey) -> Result<Option<Job>, Error> {
        self.0.job(key).await
    }

    async fn recover(&self, since: Timestamp) -> Result<Vec<Hint>, Error> {
        self.0.recover(since).await
    }

    async fn open_session(&self, order: &SessionOrder) -> Result<QueueSession, Error> {
        self.0.open_session(order).await
    }

    async fn mint(&self, order: &RunnerOrder, machine: &Attested, now: Timestamp) -> Result<Grant, Error> {
        let order = RunnerOrder { machine: machine.machine().to_owned(), ..order.clone() };
        self.0.mint(&order, machine, now).await
    }

    fn plan(&self, grant: &Grant) -> RunnerPlan {
        self.0.plan(grant)
    }

    async fn state(&self, runner: &Runner) -> Result<RunnerState, Error> {
        self.0.state(runner).await
    }

    async fn drain(&self, runner: &Runner) -> Result<Removal, Error> {
        self.0.drain(runner).await
    }

    async fn deregister(&self, _: &Runner, _: Mode) -> Result<Removal, Error> {
        Ok(Removal::Gone)
    }

    async fn registrations(&self, marker: &Marker) -> Result<Listing, Error> {
        self.0.registrations(marker).await
    }

    async fn rerun(&self, key: &JobKey, ended: Timestamp) -> Result<(), Error> {
        self.0.rerun(key, ended).await
    }

    fn offered(&self, pool: &[String]) -> Vec<String> {
        self.0.offered(pool)
    }

    fn matches(&self, _: &[String], _: &[String]) -> bool {
        true
    }
}
