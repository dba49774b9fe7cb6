//! What is worth a line: conditions that turned, machines that came and went, jobs that wait for something else.

use api::{ConditionType, MachineClaim, Phase, Reason, RunnerJob};
use jiff::Timestamp;
use kube::ResourceExt;
use sim::github::JobView;

use super::{Chronicle, Claim, Mood, after, word};
use crate::demo::scene::Scene;
use crate::demo::track::Track;

/// What a job waits for that the platform has not told anybody of.
const HELD: &str = "at GitHub";

impl Chronicle {
    /// Clusters, templates, sources and pools say another thing than before.
    pub(super) fn conditions(&mut self, scene: &Scene) {
        let mut said = Vec::new();
        for cluster in &scene.clusters {
            let status = cluster.status.clone().unwrap_or_default();
            said.push(("cluster", cluster.name_any(), word(&status.conditions, ConditionType::Ready)));
        }
        for template in &scene.templates {
            let status = template.status.clone().unwrap_or_default();
            said.push(("template", template.name_any(), word(&status.conditions, ConditionType::TemplateValid)));
        }
        for source in &scene.sources {
            let status = source.status.clone().unwrap_or_default();
            said.push(("source", source.name_any(), word(&status.conditions, ConditionType::Ready)));
        }
        for pool in &scene.pools {
            let status = pool.status.clone().unwrap_or_default();
            said.push(("pool", pool.name_any(), word(&status.conditions, ConditionType::Scaling)));
        }
        for (kind, name, word) in said {
            let Some((status, reason, message)) = word else { continue };
            let (whose, now) = (format!("{kind} {name}"), (status, reason));
            if self.said.get(&whose) == Some(&now) {
                continue;
            }
            // For a pool both answers are usual.
            let mood = if now.0 == "True" || kind == "pool" { Mood::Calm } else { Mood::Bad };
            self.add(scene.at, mood, &format!("{whose}: {}: {message}", now.1));
            self.said.insert(whose, now);
        }
    }

    /// Jobs that were lost with their machines.
    pub(super) fn losses(&mut self, scene: &Scene) {
        for job in &scene.jobs {
            let Some(loss) = job.status.as_ref().and_then(|status| status.infrastructure_loss.clone()) else {
                continue;
            };
            let whose = format!("loss of {}", job.name_any());
            let now = (loss.class.as_str().to_owned(), String::new());
            if self.said.get(&whose) != Some(&now) {
                let name = job.spec.display_name.clone().unwrap_or_else(|| job.name_any());
                self.add(scene.at, Mood::Bad, &format!("{name} was lost: {}: {}", now.0, loss.evidence));
                self.said.insert(whose, now);
            }
        }
    }

    /// Claims that came, went on and are gone.
    pub(super) fn claims(&mut self, scene: &Scene) {
        let gone: Vec<String> = self.claims.keys().filter(|name| !is_there(scene, name)).cloned().collect();
        for name in gone {
            let known = self.claims.remove(&name).unwrap_or_default();
            if let Some((vmid, _)) = known.machine {
                self.add(scene.at, Mood::Calm, &format!("VM {vmid} is gone{}", after(known.born, scene.at)));
            }
        }
        for claim in &scene.claims {
            self.claim(claim, scene.at);
        }
    }

    fn claim(&mut self, claim: &MachineClaim, now: Timestamp) {
        let (name, status) = (claim.name_any(), claim.status.clone().unwrap_or_default());
        let before = self.claims.get(&name).cloned().unwrap_or_default();
        let machine = status.allocation.as_ref().map(|held| (held.vm_id.0, held.node.to_string()));
        let machine = machine.or_else(|| before.machine.clone());
        let born = before.born.or_else(|| machine.is_some().then_some(now));
        let attempts = status.attempts.unwrap_or_default();
        if let Some((vmid, node)) = machine.as_ref().filter(|_| before.machine.is_none()) {
            self.machines += 1;
            self.add(now, Mood::Calm, &format!("VM {vmid} is made on {node}, for {name}"));
        }
        let shown = machine.as_ref().map_or_else(|| name.clone(), |(vmid, _)| format!("VM {vmid}"));
        if attempts > before.attempts {
            let why = word(&status.conditions, ConditionType::Provisioning);
            let why = why.map(|(_, reason, message)| format!(": {reason}: {message}")).unwrap_or_default();
            self.add(now, Mood::Bad, &format!("{shown} could not be made, attempt {attempts}{why}"));
        }
        if before.phase != status.phase
            && let Some((mood, text)) = status.phase.and_then(|phase| told(phase, claim))
        {
            self.add(now, mood, &format!("{shown} {text}"));
        }
        self.claims.insert(name, Claim { phase: status.phase, machine, born, attempts });
    }

    /// A job waits, perhaps for something else than before.
    pub(super) fn waits(&mut self, track: &mut Track, known: Option<&RunnerJob>, now: Timestamp) {
        let assigned = known.and_then(|job| word(&job.status.as_ref()?.conditions, ConditionType::Assigned));
        let (waits, why) = match (known, assigned) {
            (None, _) => (HELD.to_owned(), "the platform holds it until a runner can be had".to_owned()),
            (Some(_), None) => return,
            (Some(_), Some((_, reason, message))) => (reason, message),
        };
        if track.waits != waits {
            self.add(now, Mood::Calm, &format!("{} waits: {waits}: {why}", track.name));
            track.waits = waits;
        }
    }

    /// A job runs; where, is told once that is known.
    pub(super) fn runs(&mut self, track: &mut Track, told: &JobView, now: Timestamp) {
        if track.started.is_some() {
            return;
        }
        track.started = told.started;
        if told.started.is_none() {
            return;
        }
        let place = track.machine.as_ref().map(|(vmid, node)| format!(" on VM {vmid} ({node})"));
        self.add(now, Mood::Good, &format!("{} runs{}", track.name, place.unwrap_or_default()));
    }
}

fn is_there(scene: &Scene, name: &str) -> bool {
    scene.claims.iter().any(|claim| claim.metadata.name.as_deref() == Some(name))
}

/// What there is to say of a phase that a machine has come to.
fn told(phase: Phase, claim: &MachineClaim) -> Option<(Mood, String)> {
    let conditions = claim.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
    let calm = |text: &str| Some((Mood::Calm, text.to_owned()));
    match phase {
        // That it is made is told when its number is known, and that it has a job is told of the job.
        Phase::Pending | Phase::Provisioning | Phase::Busy | Phase::Succeeded => None,
        Phase::Bootstrapping => calm("boots"),
        Phase::Ready => calm("waits for a job"),
        Phase::Draining => calm("is not needed any more"),
        Phase::Terminating => {
            let late = conditions.iter().find(|known| known.reason == Reason::BootstrapTimeout.as_str());
            match late {
                None => calm("is destroyed"),
                Some(late) => Some((Mood::Bad, format!("is destroyed: {}: {}", late.reason, late.message))),
            }
        }
        Phase::Failed => {
            let why = word(&conditions, ConditionType::Ready);
            let why = why.map(|(_, reason, message)| format!(": {reason}: {message}")).unwrap_or_default();
            Some((Mood::Bad, format!("failed{why}")))
        }
    }
}
