//! What each object on the way says.

use api::condition::find;
use api::{Condition, ConditionStatus, ConditionType, MachineClaim, Phase};
use serde::Serialize;

use super::object::{self, Speaks};
use super::{Found, Kind, Scene};

/// What one object says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Which, as `kind/name`.
    pub object: String,
    /// How it is: its phase or state, whether it can be used, or that it is not there.
    pub state: String,
    /// Why, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Every object on the way, from the job down.
pub(super) fn links(scene: &Scene) -> Vec<Link> {
    Kind::ALL.into_iter().filter_map(|kind| Some(link(scene, kind, &object::name(scene, kind)?))).collect()
}

fn link(scene: &Scene, kind: Kind, object: &str) -> Link {
    match kind {
        Kind::Job => tell(object, &scene.job, |job| {
            let state = job.status.as_ref().and_then(|status| status.state);
            (state.map(api::JobState::as_str), find(job.conditions(), ConditionType::Assigned))
        }),
        Kind::Pool => tell(object, &scene.pool, |pool| (None, find(pool.conditions(), ConditionType::Scaling))),
        Kind::Claim => tell(object, &scene.claim, |claim| {
            let phase = claim.status.as_ref().and_then(|status| status.phase);
            (phase.map(Phase::as_str), telling(claim))
        }),
        Kind::Source => tell(object, &scene.source, |source| (None, find(source.conditions(), ConditionType::Ready))),
        Kind::Template => {
            tell(object, &scene.template, |template| (None, find(template.conditions(), ConditionType::TemplateValid)))
        }
        Kind::Cluster => {
            tell(object, &scene.cluster, |cluster| (None, find(cluster.conditions(), ConditionType::Ready)))
        }
    }
}

type Said<'a> = (Option<&'static str>, Option<&'a Condition>);

fn tell<T: Speaks>(object: &str, found: &Found<T>, said: impl FnOnce(&T) -> Said<'_>) -> Link {
    let bare = |state: &str, message: Option<String>| Link {
        object: object.to_owned(),
        state: state.to_owned(),
        reason: None,
        message,
    };
    match found {
        Found::Unnamed | Found::Missing(_) => bare("missing", None),
        Found::Hidden { why, .. } => bare("unreadable", Some(why.clone())),
        Found::There(there) => {
            let (state, condition) = said(there);
            let Some(condition) = condition else { return bare(state.unwrap_or("unknown"), None) };
            let state = state.map_or_else(|| format!("{}={}", condition.type_, condition.status), ToOwned::to_owned);
            Link { state, reason: Some(condition.reason.clone()), ..bare("", Some(condition.message.clone())) }
        }
    }
}

/// The condition that tells most about a claim in its present phase.
pub fn telling(claim: &MachineClaim) -> Option<&Condition> {
    let said = |about| find(claim.conditions(), about);
    let denied = |about| said(about).filter(|known| known.status == ConditionStatus::False.as_str());
    match claim.status.as_ref()?.phase? {
        Phase::Pending | Phase::Provisioning => said(ConditionType::Provisioning),
        Phase::Bootstrapping => denied(ConditionType::Bootstrapped).or_else(|| said(ConditionType::Provisioning)),
        Phase::Ready | Phase::Busy | Phase::Draining | Phase::Succeeded | Phase::Failed => said(ConditionType::Ready),
        Phase::Terminating => {
            let left = denied(ConditionType::VmCleanedUp).or_else(|| denied(ConditionType::Deregistered));
            left.or_else(|| said(ConditionType::Ready))
        }
    }
}
