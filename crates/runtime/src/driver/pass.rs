//! One pass over one object: observe, plan, audit, execute, status.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube::core::error_boundary::InvalidObject;
use kube::core::object::HasStatus;
use kube::{Resource, ResourceExt};
use reconcile::{Backoff, Class, Fault, Finalizer, Next, Plan};
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use super::Controller;
use super::state::State;
use super::status::{self, Change, json};
use crate::cache::Entry;
use crate::events::{Herald, Notice, Severity};
use crate::lease::Leadership;
use crate::{Cache, Key, Parts, Writer};
use chassis::metrics::Outcome;
use chassis::telemetry;

/// A stale view is looked at again almost at once; the pause only grows if it stays stale.
const CONFLICT: Backoff =
    Backoff { initial: Duration::from_millis(10), factor: 2.0, max: Duration::from_secs(1), jitter: 0.5 };

/// How long a pass waits for the watch to show our own last write before it looks again anyway.
const CATCH_UP: Duration = Duration::from_secs(5);

/// When an object is looked at again whose pass fell apart outside the controller's own code.
const PANICKED: Duration = Duration::from_mins(1);

/// The annotation of an object that nothing is to be done about, with the reason.
pub const HOLD: &str = "hyperfleet.io/hold";

/// When to look at an object again without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Its plan asks for it.
    Asked(Duration),
    /// Something stood in the way.
    After(Duration),
    /// Nothing is planned: when the net under lost triggers says so.
    Resync,
    /// It is gone.
    Never,
}

/// What every pass of a controller needs.
pub(super) struct Desk<C: Controller> {
    pub(super) controller: C,
    pub(super) objects: Cache<C::Object>,
    pub(super) leadership: Leadership,
    pub(super) parts: Parts,
    pub(super) writer: Writer,
    pub(super) herald: Herald,
    pub(super) state: State,
}

impl<C: Controller> Desk<C> {
    /// A pass that always comes back: an object whose pass vanished would count as running for ever.
    pub(super) async fn safe_pass(self: Arc<Self>, key: Key) -> (Key, Again) {
        let pass = AssertUnwindSafe(self.pass(key.clone())).catch_unwind().await;
        pass.unwrap_or((key, Again::After(PANICKED)))
    }

    /// Looks at one object once; tells when to look again without being asked.
    async fn pass(self: Arc<Self>, key: Key) -> (Key, Again) {
        let object = match self.objects.entry(&key) {
            Some(Entry::Readable(object)) => object,
            Some(Entry::Unreadable(object)) => {
                self.report_unreadable(&object);
                return (key, Again::Resync);
            }
            None => {
                self.state.forget(&key);
                return (key, Again::Never);
            }
        };
        if self.state.is_superseded(&key, version_of(&*object)) {
            return (key, Again::After(CATCH_UP));
        }
        let span = tracing::info_span!(
            parent: None,
            "reconcile",
            otel.name = format!("reconcile {}", C::NAME),
            otel.status_code = field::Empty,
            controller = C::NAME,
            namespace = key.namespace,
            name = key.name,
        );
        let started = Instant::now();
        let (outcome, again) = async {
            // A planner that panics must not take the other objects' controller down with it.
            let attempt = AssertUnwindSafe(self.attempt(&key, &object)).catch_unwind().await;
            let panicked = |_| Err(Fault::new(Class::Unavailable, "reconcile", "the controller panicked"));
            let result = attempt.unwrap_or_else(panicked);
            let outcome = Outcome::of(&result);
            match result {
                Ok(next) => (outcome, self.settled(&key, &next)),
                Err(fault) => (outcome, self.failed(&key, &object, &fault).await),
            }
        }
        .instrument(span)
        .await;
        self.parts.metrics.reconciled(C::NAME, outcome, started.elapsed());
        (key, again)
    }

    async fn attempt(&self, key: &Key, object: &Arc<C::Object>) -> Result<Next, Fault> {
        if let Some(why) = held(&**object) {
            return Err(Fault::new(Class::Refused, "act", format!("annotation {HOLD}: {why}")));
        }
        let observed = self.controller.observe(Arc::clone(object)).await?;
        let plan = self.controller.plan(&observed, self.parts.clock.now());
        self.audit(&observed, &plan)?;
        let Plan { finalizer, steps, status, next } = plan;
        if finalizer == Finalizer::Add && self.add_finalizer(key, object).await? {
            return Ok(Next::OnChange);
        }
        for step in steps {
            tracing::info!(%step, "executing");
            self.controller.execute(&observed, step, &self.writer).await?;
        }
        let planned = status.map(|status| json(&status));
        let change = status::change(&json(&object.status()), planned, C::CONDITIONS, self.parts.clock.now());
        if let Some(change) = change {
            self.write_status(key, object, change).await?;
            return Ok(next);
        }
        if finalizer == Finalizer::Remove {
            self.remove_finalizer(key, object).await?;
        }
        Ok(next)
    }

    fn audit(&self, observed: &C::Observed, plan: &Plan<C::Step, C::Status>) -> Result<(), Fault> {
        let violations = self.controller.audit(observed, plan);
        if violations.is_empty() {
            return Ok(());
        }
        let listed: Vec<String> = violations.iter().map(ToString::to_string).collect();
        Err(Fault::new(Class::Refused, "audit", format!("plan not carried out: {}", listed.join("; "))))
    }

    /// Puts the finalizer on; whether that was necessary.
    async fn add_finalizer(&self, key: &Key, object: &C::Object) -> Result<bool, Fault> {
        let Some(finalizer) = C::FINALIZER else { return Ok(false) };
        if object.finalizers().iter().any(|present| present == finalizer) {
            return Ok(false);
        }
        tracing::info!(finalizer, "adding finalizer");
        let version = self.writer.add_finalizer(object, finalizer).await?;
        self.remember_write(key, object, &version);
        Ok(true)
    }

    async fn remove_finalizer(&self, key: &Key, object: &C::Object) -> Result<(), Fault> {
        let Some(finalizer) = C::FINALIZER else { return Ok(()) };
        if object.finalizers().iter().any(|present| present == finalizer) {
            tracing::info!(finalizer, "removing finalizer");
            let version = self.writer.remove_finalizer(object, finalizer).await?;
            self.remember_write(key, object, &version);
        }
        Ok(())
    }

    /// Writes the status and tells people; returns the object's new version.
    async fn write_status(&self, key: &Key, object: &C::Object, change: Change) -> Result<String, Fault> {
        let version = self.writer.replace_status(object, &change.status).await?;
        self.remember_write(key, object, &version);
        let severity = |condition: &_| self.controller.severity(condition);
        for notice in change.announce(severity) {
            self.herald.tell(notice, &object.object_ref(&()));
        }
        Ok(version)
    }

    /// The version we saw is history, unless the server found nothing to change.
    fn remember_write(&self, key: &Key, object: &C::Object, version: &str) {
        let seen = version_of(object);
        if seen != version {
            self.state.wrote(key, seen, version);
        }
    }

    fn settled(&self, key: &Key, next: &Next) -> Again {
        self.state.succeeded(key);
        match next {
            Next::OnChange => {
                tracing::debug!("settled");
                Again::Resync
            }
            Next::After(pause, why) => {
                tracing::debug!(why = why.as_str(), reason = %why, seconds = pause.as_secs_f64(), "looking again later");
                Again::Asked(*pause)
            }
        }
    }

    async fn failed(&self, key: &Key, object: &C::Object, fault: &Fault) -> Again {
        if !self.leadership.is_held() {
            tracing::debug!(error = %fault, "given up with the lease");
            return Again::Never;
        }
        match fault.class() {
            Class::Conflict => {
                tracing::debug!(error = %fault, "stale view");
                Again::After(CONFLICT.delay(self.state.conflicted(key), key))
            }
            Class::Throttled(pause) => {
                tracing::info!(error = %fault, seconds = pause.as_secs_f64(), "asked to slow down");
                Again::After(pause)
            }
            Class::Unavailable => {
                self.stall(key, object, fault).await;
                Again::After(Backoff::DRIVER.delay(self.state.failed(key), key))
            }
            Class::Refused => {
                self.stall(key, object, fault).await;
                Again::Resync
            }
        }
    }

    /// Reports the fault to the log, and on the object as far as the API server takes it.
    async fn stall(&self, key: &Key, object: &C::Object, fault: &Fault) {
        Span::current().record("otel.status_code", "ERROR");
        telemetry::report(fault);
        let generation = object.meta().generation;
        let change = status::stalled(&json(&object.status()), fault, generation, self.parts.clock.now());
        let Some(change) = change else { return };
        match self.write_status(key, object, change).await {
            Ok(version) => self.state.complained(key, &version),
            Err(error) => tracing::debug!(%error, "condition not written"),
        }
    }

    fn report_unreadable(&self, object: &InvalidObject) {
        let kind = C::Object::kind(&());
        let notice = Notice {
            severity: Severity::Warning,
            reason: "Unreadable".to_owned(),
            action: "Read".to_owned(),
            note: format!("this {kind} is left alone, because it does not have the expected form: {}", object.error),
            occasion: object.metadata.resource_version.clone().unwrap_or_default(),
        };
        let regarding = k8s_openapi::api::core::v1::ObjectReference {
            api_version: Some(C::Object::api_version(&()).into_owned()),
            kind: Some(kind.into_owned()),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone(),
            uid: object.metadata.uid.clone(),
            ..Default::default()
        };
        self.herald.tell(notice, &regarding);
    }
}

/// Why nothing is to be done about an object, if somebody says so. One that is being deleted may go.
fn held<K: Resource>(object: &K) -> Option<&str> {
    let meta = object.meta();
    let why = meta.annotations.as_ref()?.get(HOLD)?;
    meta.deletion_timestamp.is_none().then_some(why.as_str())
}

fn version_of<K: Resource>(object: &K) -> &str {
    object.meta().resource_version.as_deref().unwrap_or_default()
}
