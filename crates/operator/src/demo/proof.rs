//! The proof that nothing is left: everything is counted before the first job and after the last.

use anyhow::Context;
use api::{JobState, MachineClaim, RunnerJob};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::world::World;

/// What can be left behind, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    place: &'static str,
    what: &'static str,
    things: Vec<String>,
}

/// Everything that there was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inventory(Vec<Count>);

impl Inventory {
    /// Counts. What the API has is asked for: a watch may be behind, and would not say so.
    pub(super) async fn take(world: &World) -> anyhow::Result<Self> {
        let client = world.single.admin();
        let everything = ListParams::default();
        let claims =
            Api::<MachineClaim>::all(client.clone()).list(&everything).await.context("claims are not listed")?;
        let jobs = Api::<RunnerJob>::all(client).list(&everything).await.context("jobs are not listed")?;
        let open =
            jobs.iter().filter(|job| job.status.as_ref().is_none_or(|now| now.state != Some(JobState::Completed)));
        let open = open.map(ResourceExt::name_any).collect();
        let claims = claims.iter().map(ResourceExt::name_any).collect();
        let state = world.pve.state();
        let listed = |part: &str, name: fn(&Value) -> String| {
            state[part].as_array().into_iter().flatten().map(name).collect::<Vec<String>>()
        };
        let members = state["pools"].as_array().into_iter().flatten();
        let members = members.flat_map(|pool| pool["members"].as_array().into_iter().flatten()).map(plain).collect();
        let runners = world.github.runners().into_iter().map(|runner| runner.name).collect();
        let count = |place, what, things| Count { place, what, things };
        Ok(Self(vec![
            count("Proxmox VE", "VMs", listed("vms", machine)),
            count("Proxmox VE", "volumes", listed("volumes", volume)),
            count("Proxmox VE", "members", members),
            count("Proxmox VE", "locks", listed("heldLocks", plain)),
            count("Proxmox VE", "tasks", listed("runningTasks", |task| plain(&task["upid"]))),
            count("GitHub", "runners", runners),
            count("Kubernetes", "claims", claims),
            count("Kubernetes", "open jobs", open),
        ]))
    }

    /// What is there beside what was there before, a line each; empty if nothing is.
    pub(super) fn beside(&self, before: &Self) -> Vec<String> {
        let pairs = before.0.iter().zip(&self.0);
        let changed = pairs.filter(|(before, now)| before.things != now.things);
        changed.map(|(before, now)| difference(before, now)).collect()
    }

    /// The counts of both moments, a line for each place.
    pub(super) fn compared(&self, before: &Self) -> Vec<String> {
        let mut lines: Vec<(&'static str, Vec<String>)> = Vec::new();
        for (before, now) in before.0.iter().zip(&self.0) {
            let sign = if before.things == now.things { "=" } else { "≠" };
            let text = format!("{} {} {sign} {}", now.what, before.things.len(), now.things.len());
            match lines.last_mut().filter(|(place, _)| *place == now.place) {
                Some((_, texts)) => texts.push(text),
                None => lines.push((now.place, vec![text])),
            }
        }
        lines.into_iter().map(|(place, texts)| format!("{place:10}  {}", texts.join(", "))).collect()
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A VM or image as it was then: one that was changed is not the same any more.
fn machine(vm: &Value) -> String {
    let lock = vm["lock"].as_str().map(|lock| format!(", locked: {lock}")).unwrap_or_default();
    // As much of it as tells one configuration from another.
    let digest: String = plain(&vm["digest"]).chars().take(8).collect();
    format!("{} on {} ({}{lock}, configuration {digest})", vm["vmid"], plain(&vm["node"]), plain(&vm["status"]))
}

fn volume(volume: &Value) -> String {
    format!("{} on {}", plain(&volume["volid"]), plain(&volume["node"]))
}

fn difference(before: &Count, now: &Count) -> String {
    let beside = |some: &[String], others: &[String]| {
        some.iter().filter(|thing| !others.contains(thing)).cloned().collect::<Vec<_>>().join(", ")
    };
    let (more, less) = (beside(&now.things, &before.things), beside(&before.things, &now.things));
    match (more.is_empty(), less.is_empty()) {
        (false, _) => format!("{} has {} that were not there before: {more}", now.place, now.what),
        (true, false) => format!("{} has lost {}: {less}", now.place, now.what),
        (true, true) => format!("{} has other {} than before", now.place, now.what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(vms: &[&str], runners: &[&str]) -> Inventory {
        let things = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Inventory(vec![
            Count { place: "Proxmox VE", what: "VMs", things: things(vms) },
            Count { place: "Proxmox VE", what: "locks", things: Vec::new() },
            Count { place: "GitHub", what: "runners", things: things(runners) },
        ])
    }

    #[test]
    fn nothing_beside_what_there_was_is_nothing_to_tell() {
        let before = inventory(&["9000 on pve1"], &[]);
        assert!(before.beside(&before).is_empty());
        assert_eq!(before.compared(&before), ["Proxmox VE  VMs 1 = 1, locks 0 = 0", "GitHub      runners 0 = 0"]);
    }

    #[test]
    fn an_image_that_somebody_has_changed_is_not_the_same_any_more() {
        let image = |digest: &str| {
            machine(&serde_json::json!({ "vmid": 9000, "node": "pve1", "status": "stopped", "digest": digest }))
        };
        let (before, after) = (inventory(&[&image("0a1b2c3d4e")], &[]), inventory(&[&image("f5a1b2c3d4")], &[]));
        let told = "Proxmox VE has VMs that were not there before: 9000 on pve1 (stopped, configuration f5a1b2c3)";
        assert_eq!(after.beside(&before), [told]);
        assert!(before.beside(&before).is_empty());
    }

    #[test]
    fn what_is_left_and_what_is_lost_is_named() {
        let before = inventory(&["9000 on pve1"], &[]);
        let after = inventory(&["6000 on pve2", "9000 on pve1"], &["hf-1"]);
        assert_eq!(
            after.beside(&before),
            [
                "Proxmox VE has VMs that were not there before: 6000 on pve2",
                "GitHub has runners that were not there before: hf-1",
            ]
        );
        assert_eq!(before.beside(&after)[0], "Proxmox VE has lost VMs: 6000 on pve2");
        assert_eq!(after.compared(&before)[0], "Proxmox VE  VMs 1 ≠ 2, locks 0 = 0");
    }
}
