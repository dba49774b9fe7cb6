//! The kit's bench at a real server with real runners.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use providers::platform::kit::{Bench, Delivery, Trouble, Unavailable};
use providers::platform::{Grant, JobKey, Marker, Platform};
use secrecy::SecretString;

use crate::ground::{Ground, SECRET, now};
use crate::machine::Machine;

pub(crate) struct GiteaBench<'a> {
    ground: &'a Ground,
    machines: Mutex<BTreeMap<String, Arc<Machine>>>,
    /// How many jobs were queued since deliveries were last asked for: so many arrive at the least.
    queued: AtomicUsize,
}

impl<'a> GiteaBench<'a> {
    pub(crate) fn new(ground: &'a Ground) -> Self {
        Self { ground, machines: Mutex::default(), queued: AtomicUsize::new(0) }
    }

    fn take(&self) -> BTreeMap<String, Arc<Machine>> {
        std::mem::take(&mut *self.machines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Bench for GiteaBench<'_> {
    fn pool(&self) -> Vec<String> {
        vec!["hyperfleet".to_owned(), "Kit".to_owned()]
    }

    fn marker(&self) -> Marker {
        Marker::of("0a1b2c3d-0000-4000-8000-000000000000")
    }

    fn secret(&self) -> SecretString {
        SECRET.into()
    }

    fn now(&self) -> Timestamp {
        now()
    }

    fn nobody(&self) -> JobKey {
        let site = self.ground.server.url().trim_start_matches("http://");
        JobKey::new(format!("{site}/{}/jobs/999999", self.ground.repository))
    }

    async fn queue(&self, labels: &[String]) -> Result<String, Unavailable> {
        let run = self.ground.queue(labels).await;
        self.queued.fetch_add(1, Ordering::Relaxed);
        Ok(format!("run {run}"))
    }

    async fn cancel(&self) -> Result<(), Unavailable> {
        for run in self.ground.server.unfinished_runs(&self.ground.repository).await {
            self.ground.server.cancel(&self.ground.repository, run).await;
        }
        // Their runners never learn of it.
        for machine in self.take().into_values() {
            machine.kill();
        }
        Ok(())
    }

    async fn deliveries(&self) -> Result<Vec<Delivery>, Unavailable> {
        Ok(self.ground.receiver.deliveries(self.queued.swap(0, Ordering::Relaxed)).await)
    }

    async fn connect(&self, grant: &Grant) -> Result<(), Unavailable> {
        let machine = Machine::start(&self.ground.platform.plan(grant)).await;
        let name = grant.runner.name.clone();
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(machine));
        Ok(())
    }

    async fn finish(&self, runner: &str) -> Result<(), Unavailable> {
        let machine = self.machines.lock().unwrap_or_else(PoisonError::into_inner).remove(runner);
        machine.ok_or_else(|| Unavailable(format!("{runner} is not connected")))?.finish().await;
        Ok(())
    }

    async fn arrange(&self, trouble: Trouble) -> Result<(), Unavailable> {
        *self.ground.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
        Ok(())
    }

    async fn calm(&self) {
        *self.ground.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
