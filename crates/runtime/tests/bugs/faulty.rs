//! The lamp controller with one classic mistake at a time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chassis::Clock;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Resource as _, ResourceExt as _};
use reconcile::{Class, Fault, Finalizer, Next, Plan, Violation, Why};
use runtime::{Controller, Notice, Recorder, Severity, Writer};
use serde_json::json;

use crate::lamp::{LAMP, Lamp, LampStatus, Lamps, Observed, Step, colour_of, wanted};

/// A mistake that controllers are known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The status holds something that is different each time, so that each pass writes it.
    StatusEachPass,
    /// The finalizer goes as soon as the object does, with everything it guards still there.
    FinalizerEarly,
    /// What is made has a random name: whoever makes it again makes another.
    RandomName,
    /// A list that failed counts as empty, and what belongs to nobody in it is removed.
    EmptyListTrusted,
    /// Waits for a moment, and does not ask to be called then.
    MissedRequeue,
    /// Does not listen to what its work consists of.
    MissedTrigger,
    /// Acts on what the cache says, without asking the server whether it is still so.
    StaleCacheTrusted,
    /// Says that it is done before it has begun.
    StatusFirst,
    /// Never looks at the generation it speaks of.
    OldGeneration,
    /// Tries again, at once, for ever.
    HotRetry,
    /// Tells people about passes instead of changes.
    EventStorm,
    /// Writes whether it leads or not.
    NoLease,
}

impl Bug {
    pub(crate) const ALL: &'static [Self] = &[
        Self::StatusEachPass,
        Self::FinalizerEarly,
        Self::RandomName,
        Self::EmptyListTrusted,
        Self::MissedRequeue,
        Self::MissedTrigger,
        Self::StaleCacheTrusted,
        Self::StatusFirst,
        Self::OldGeneration,
        Self::HotRetry,
        Self::EventStorm,
        Self::NoLease,
    ];

    /// The invariant that is there to find it.
    pub(crate) const fn found_by(self) -> &'static str {
        match self {
            Self::StatusEachPass => "settled is silent",
            Self::FinalizerEarly => "finalizers wait",
            Self::RandomName => "one object per purpose",
            Self::EmptyListTrusted => "wanted things stay",
            Self::MissedRequeue | Self::MissedTrigger => "converges",
            Self::StaleCacheTrusted => "writes are guarded",
            Self::StatusFirst => "status is true",
            Self::OldGeneration => "observed generation is honest",
            Self::HotRetry => "retries back off",
            Self::EventStorm => "events are bounded",
            Self::NoLease => "leaders act alone",
        }
    }
}

/// The controller, with a bug or without.
pub(crate) struct Faulty {
    pub(crate) lamps: Lamps,
    pub(crate) bug: Option<Bug>,
    pub(crate) client: Client,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
}

/// What it does: what a lamp controller does, or what its bug makes of it.
#[derive(Debug)]
pub(crate) enum Act {
    Sound(Step),
    /// Makes a bulb under a name that the server invents.
    LightSomehow(String),
    /// Removes whatever has this name now.
    PutOutByName(Arc<ConfigMap>),
    /// Removes the bulbs of lamps that a list does not show.
    CollectOrphans,
    /// Says that everything shines.
    Boast,
    /// Does it until it works.
    Insist(Step),
    /// Tells everybody that there was a pass.
    Shout,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sound(step) | Self::Insist(step) => step.fmt(f),
            Self::LightSomehow(name) => write!(f, "light {name} somehow"),
            Self::PutOutByName(bulb) => write!(f, "put out whatever {} is", bulb.name_any()),
            Self::CollectOrphans => f.write_str("collect orphans"),
            Self::Boast => f.write_str("boast"),
            Self::Shout => f.write_str("shout"),
        }
    }
}

/// How long a lamp takes to warm up, for a controller that waits for that.
const WARM_UP: i64 = 20;

impl Controller for Faulty {
    type Object = Lamp;
    type Observed = Observed;
    type Step = Act;
    type Status = LampStatus;

    const NAME: &'static str = Lamps::NAME;
    const FINALIZER: Option<&'static str> = Lamps::FINALIZER;
    const CONDITIONS: &'static [&'static str] = Lamps::CONDITIONS;

    async fn observe(&self, lamp: Arc<Lamp>) -> Result<Observed, Fault> {
        self.lamps.observe(lamp).await
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Act, LampStatus> {
        let Plan { finalizer, steps, status, next } = self.lamps.plan(observed, now);
        let mut plan = Plan { finalizer, steps: steps.into_iter().map(Act::Sound).collect(), status, next };
        if let Some(bug) = self.bug {
            spoil(&mut plan, bug, observed, now);
        }
        plan
    }

    fn audit(&self, _: &Observed, _: &Plan<Act, LampStatus>) -> Vec<Violation> {
        Vec::new()
    }

    async fn execute(&self, observed: &Observed, act: Act, writer: &Writer) -> Result<(), Fault> {
        match act {
            Act::Sound(step) => self.lamps.execute(observed, step, writer).await,
            Act::LightSomehow(name) => self.light_somehow(observed, &name).await,
            Act::PutOutByName(bulb) => {
                let outcome = self.bulbs(observed).delete(&bulb.name_any(), &DeleteParams::default()).await;
                outcome.map(drop).map_err(|error| runtime::client::fault("put out", error))
            }
            Act::CollectOrphans => self.collect_orphans(observed, writer).await,
            Act::Boast => self.boast(observed, writer).await,
            Act::Insist(step) => self.insist(observed, step, writer).await,
            Act::Shout => {
                let note = format!("a pass at {}", self.clock.now());
                let notice = Notice {
                    severity: Severity::Normal,
                    reason: "Passed".into(),
                    action: "Pass".into(),
                    note,
                    occasion: String::new(),
                };
                self.recorder.publish(&notice, &observed.lamp.object_ref(&())).await;
                Ok(())
            }
        }
    }
}

/// Makes of a sound plan what the bug makes of it.
fn spoil(plan: &mut Plan<Act, LampStatus>, bug: Bug, observed: &Observed, now: Timestamp) {
    let going = observed.lamp.metadata.deletion_timestamp.is_some();
    let conditions = plan.status.iter_mut().flat_map(|status| &mut status.conditions);
    match bug {
        Bug::StatusEachPass => {
            let minute = now.as_second() / 10;
            conditions.for_each(|condition| condition.message = format!("looked at, {minute}"));
            plan.next = Next::After(Duration::from_secs(10), Why::Recheck);
        }
        Bug::OldGeneration => conditions.for_each(|condition| condition.observed_generation = Some(1)),
        Bug::FinalizerEarly if going => {
            plan.steps.clear();
            plan.finalizer = Finalizer::Remove;
        }
        Bug::RandomName if !going => plan.steps = with_random_names(observed),
        Bug::EmptyListTrusted => plan.steps.push(Act::CollectOrphans),
        Bug::MissedRequeue if !going => {
            let made = observed.lamp.creation_timestamp().map_or(now, |time| time.0);
            if now.duration_since(made).as_secs() < WARM_UP {
                (plan.status, plan.next) = (None, Next::OnChange);
                plan.steps.clear();
            }
        }
        Bug::StaleCacheTrusted => {
            for act in &mut plan.steps {
                if let Act::Sound(Step::PutOut(bulb)) = act {
                    *act = Act::PutOutByName(Arc::clone(bulb));
                }
            }
        }
        Bug::StatusFirst if !going && !plan.steps.is_empty() => plan.steps.insert(0, Act::Boast),
        Bug::HotRetry => {
            let insist = |act| if let Act::Sound(step) = act { Act::Insist(step) } else { act };
            plan.steps = std::mem::take(&mut plan.steps).into_iter().map(insist).collect();
        }
        Bug::EventStorm => {
            plan.steps.push(Act::Shout);
            plan.next = Next::After(Duration::from_secs(1), Why::Recheck);
        }
        Bug::FinalizerEarly
        | Bug::RandomName
        | Bug::MissedRequeue
        | Bug::MissedTrigger
        | Bug::StatusFirst
        | Bug::NoLease => {}
    }
}

/// The steps of a controller that knows its bulbs by the beginning of their names.
fn with_random_names(observed: &Observed) -> Vec<Act> {
    let (wanted, colour) = (wanted(&observed.lamp), &observed.lamp.spec.colour);
    let is = |bulb: &ConfigMap, name: &str| bulb.name_any().starts_with(&format!("{name}-"));
    let missing = wanted.iter().filter(|name| !observed.bulbs.iter().any(|bulb| is(bulb, name)));
    let mut acts: Vec<Act> = missing.cloned().map(Act::LightSomehow).collect();
    for bulb in &observed.bulbs {
        if !wanted.iter().any(|name| is(bulb, name)) {
            acts.push(Act::Sound(Step::PutOut(Arc::clone(bulb))));
        } else if colour_of(bulb) != colour {
            acts.push(Act::Sound(Step::Paint(Arc::clone(bulb))));
        }
    }
    acts
}

impl Faulty {
    fn bulbs(&self, observed: &Observed) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &observed.lamp.namespace().unwrap_or_default())
    }

    async fn light_somehow(&self, observed: &Observed, name: &str) -> Result<(), Fault> {
        let lamp = &observed.lamp;
        let bulb = serde_json::from_value(json!({
            "metadata": { "generateName": format!("{name}-"), "labels": { LAMP: lamp.name_any() } },
            "data": { "colour": lamp.spec.colour },
        }));
        let made = self.bulbs(observed).create(&PostParams::default(), &bulb.unwrap()).await;
        made.map(drop).map_err(|error| runtime::client::fault("light", error))
    }

    async fn collect_orphans(&self, observed: &Observed, writer: &Writer) -> Result<(), Fault> {
        let lamps: Api<Lamp> = Api::namespaced(self.client.clone(), "default");
        let listed = lamps.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
        for bulb in &observed.bulbs {
            let lamp = bulb.labels().get(LAMP);
            if !listed.iter().any(|listed| Some(&listed.name_any()) == lamp) {
                writer.delete(&**bulb).await?;
            }
        }
        Ok(())
    }

    async fn boast(&self, observed: &Observed, writer: &Writer) -> Result<(), Fault> {
        let lamp = &observed.lamp;
        let lit = json!({
            "type": "Lit", "status": "True", "reason": "AllBulbsShine", "message": "", "observedGeneration": lamp.metadata.generation,
            "lastTransitionTime": Timestamp::UNIX_EPOCH,
        });
        let status = json!({ "lit": lamp.spec.bulbs, "conditions": [lit] });
        writer.replace_status(&**lamp, &status).await.map(drop)
    }

    async fn insist(&self, observed: &Observed, step: Step, writer: &Writer) -> Result<(), Fault> {
        let copy = || match &step {
            Step::Light(name) => Step::Light(name.clone()),
            Step::Paint(bulb) => Step::Paint(Arc::clone(bulb)),
            Step::PutOut(bulb) => Step::PutOut(Arc::clone(bulb)),
        };
        loop {
            match self.lamps.execute(observed, copy(), writer).await {
                Err(fault) if fault.class() == Class::Unavailable => tokio::time::sleep(Duration::from_millis(5)).await,
                other => return other,
            }
        }
    }
}
