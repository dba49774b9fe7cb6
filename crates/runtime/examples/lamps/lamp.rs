//! The smallest controller that uses everything the runtime offers: a Lamp wants so many bulbs of a colour, a bulb is
//! a `ConfigMap`, and a lamp that goes puts out its bulbs first.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use kube::{CustomResource, ResourceExt};
use reconcile::{Class, Fault, Finalizer, Next, Plan, Violation};
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Key, Writer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a lamp should look like.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.hyperfleet.io", version = "v1", kind = "Lamp", namespaced, status = "LampStatus")]
#[serde(rename_all = "camelCase")]
pub struct LampSpec {
    /// The colour of every bulb.
    #[schemars(length(max = 16))]
    pub colour: String,
    /// How many bulbs.
    #[schemars(range(max = 16))]
    pub bulbs: u32,
    /// Refuses to be looked at, to see what the driver makes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub fault: Option<String>,
}

/// What a lamp looks like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LampStatus {
    /// How many bulbs shine in the right colour.
    #[serde(default)]
    pub lit: u32,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub conditions: Vec<Condition>,
}

/// The label that ties a bulb to its lamp.
pub const LAMP: &str = "example.hyperfleet.io/lamp";

/// The rights a lamp controller needs.
pub const RULES: &[Rule] = &[
    Rule {
        groups: &["example.hyperfleet.io"],
        resources: &["lamps"],
        verbs: &["get", "list", "watch", "patch"],
        scope: Scope::Watched,
    },
    Rule {
        groups: &["example.hyperfleet.io"],
        resources: &["lamps/status"],
        verbs: &["update"],
        scope: Scope::Watched,
    },
    Rule {
        groups: &[""],
        resources: &["configmaps"],
        verbs: &["list", "watch", "create", "patch", "delete"],
        scope: Scope::Watched,
    },
];

/// The controller.
pub struct Lamps {
    /// Every bulb there is.
    pub bulbs: Cache<ConfigMap>,
}

/// A lamp and its bulbs.
pub struct Observed {
    /// The lamp.
    pub lamp: Arc<Lamp>,
    /// What belongs to it.
    pub bulbs: Vec<Arc<ConfigMap>>,
}

/// What can be done to a bulb.
#[derive(Debug)]
pub enum Step {
    /// Make it.
    Light(String),
    /// Change its colour.
    Paint(Arc<ConfigMap>),
    /// Remove it.
    PutOut(Arc<ConfigMap>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Light(name) => write!(f, "light {name}"),
            Self::Paint(bulb) => write!(f, "paint {}", bulb.name_any()),
            Self::PutOut(bulb) => write!(f, "put out {}", bulb.name_any()),
        }
    }
}

/// The lamp that a bulb belongs to.
pub fn lamp_of(bulb: &ConfigMap) -> Vec<Key> {
    let lamp = bulb.labels().get(LAMP);
    lamp.map(|lamp| Key::new(bulb.namespace().unwrap_or_default(), lamp)).into_iter().collect()
}

/// The names a lamp's bulbs should have.
pub fn wanted(lamp: &Lamp) -> Vec<String> {
    (0..lamp.spec.bulbs).map(|number| format!("{}-{number}", lamp.name_any())).collect()
}

/// The colour a bulb has.
pub fn colour_of(bulb: &ConfigMap) -> &str {
    bulb.data.as_ref().and_then(|data| data.get("colour")).map_or("", String::as_str)
}

impl Controller for Lamps {
    type Object = Lamp;
    type Observed = Observed;
    type Step = Step;
    type Status = LampStatus;

    const NAME: &'static str = "lamps";
    const FINALIZER: Option<&'static str> = Some("example.hyperfleet.io/put-out");
    const CONDITIONS: &'static [&'static str] = &["Lit"];

    async fn observe(&self, lamp: Arc<Lamp>) -> Result<Observed, Fault> {
        match lamp.spec.fault.as_deref() {
            Some("unavailable") => return Err(Fault::new(Class::Unavailable, "look at lamp", "the fuse has blown")),
            Some("refused") => {
                let cause = std::io::Error::other("a cause");
                return Err(Fault::new(Class::Refused, "look at lamp", "no such socket").caused_by(cause));
            }
            Some("panic") => std::panic::resume_unwind(Box::new("on purpose")),
            Some(_) | None => {}
        }
        let mine = Key::of(&lamp.metadata);
        let bulbs = self.bulbs.select(|bulb| lamp_of(bulb).contains(&mine));
        Ok(Observed { lamp, bulbs })
    }

    fn plan(&self, observed: &Observed, _now: Timestamp) -> Plan<Step, LampStatus> {
        let Observed { lamp, bulbs } = observed;
        if lamp.metadata.deletion_timestamp.is_some() {
            let steps: Vec<Step> = bulbs.iter().cloned().map(Step::PutOut).collect();
            let finalizer = if steps.is_empty() { Finalizer::Remove } else { Finalizer::Keep };
            return Plan { finalizer, steps, status: None, next: Next::OnChange };
        }
        let wanted = wanted(lamp);
        let missing = wanted.iter().filter(|name| bulbs.iter().all(|bulb| bulb.name_any() != **name));
        let mut steps: Vec<Step> = missing.cloned().map(Step::Light).collect();
        let mut lit = 0;
        for bulb in bulbs {
            if !wanted.contains(&bulb.name_any()) {
                steps.push(Step::PutOut(Arc::clone(bulb)));
            } else if colour_of(bulb) != lamp.spec.colour {
                steps.push(Step::Paint(Arc::clone(bulb)));
            } else {
                lit += 1;
            }
        }
        let status = Some(LampStatus { lit, conditions: vec![lit_condition(lamp, steps.is_empty())] });
        Plan { finalizer: Finalizer::Add, steps, status, next: Next::OnChange }
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, LampStatus>) -> Vec<Violation> {
        let going = observed.lamp.metadata.deletion_timestamp.is_some();
        let lights = plan.steps.iter().any(|step| matches!(step, Step::Light(_)));
        let broken = going && lights;
        broken.then(|| Violation::new("a lamp that goes lights no bulb", "it would")).into_iter().collect()
    }

    async fn execute(&self, observed: &Observed, step: Step, writer: &Writer) -> Result<(), Fault> {
        let lamp = &observed.lamp;
        match step {
            Step::Light(name) => writer.create(&bulb(lamp, name)).await.map(|_| ()),
            Step::Paint(bulb) => {
                writer.merge(&*bulb, json!({ "data": { "colour": lamp.spec.colour } })).await.map(|_| ())
            }
            Step::PutOut(bulb) => {
                // A lamp may have come to want the bulb since our view of it was taken.
                writer.confirm(&**lamp).await?;
                writer.delete(&*bulb).await
            }
        }
    }
}

fn lit_condition(lamp: &Lamp, complete: bool) -> Condition {
    let (status, reason, message) = if complete {
        ("True", "AllBulbsShine", "every bulb shines in the right colour")
    } else {
        ("False", "Lighting", "bulbs are being changed")
    };
    Condition {
        type_: "Lit".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: lamp.metadata.generation,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}

fn bulb(lamp: &Lamp, name: String) -> ConfigMap {
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: lamp.namespace(),
        labels: Some([(LAMP.to_owned(), lamp.name_any())].into()),
        ..ObjectMeta::default()
    };
    let data = Some([("colour".to_owned(), lamp.spec.colour.clone())].into());
    ConfigMap { metadata, data, ..ConfigMap::default() }
}
