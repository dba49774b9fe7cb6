//! The hand that makes things go wrong, and right again.

use std::collections::BTreeSet;

use api::ConditionType;
use api::condition::find;
use kube::ResourceExt;
use sim::github::{self, Conclusion, HookWeather, JobView, PUBLIC_REPOSITORY, Status};
use sim::proxmox::{FaultId, FaultRule};
use tokio::sync::watch;

use super::fault::Fault;
use super::tempo::Tempo;
use super::world::World;

/// How long a fault that passes lasts, in seconds at speed 1.
const LASTS: f64 = 8.0;

/// From the first jobs to a fault that strikes in the middle.
const MIDDLE: f64 = 5.0;

/// Everything a fault needs.
pub(super) struct Hand<'a> {
    pub(super) world: &'a World,
    pub(super) tempo: Tempo,
    /// Says what happens.
    pub(super) say: &'a (dyn Fn(String) + Sync),
    /// Whether the operator is to run.
    pub(super) operator: &'a watch::Sender<bool>,
}

impl Hand<'_> {
    /// What is wrong from the beginning, before there are jobs.
    pub(super) fn before(&self, fault: Fault) {
        let rule = FaultRule::new;
        let hypervisor = |rules: Vec<FaultRule>| self.world.pve.set_faults(rules);
        match fault {
            Fault::StartFails => hypervisor(vec![FaultRule { times: Some(3), ..rule(FaultId::F18) }]),
            Fault::DisksLeft => hypervisor(vec![FaultRule { times: Some(3), ..rule(FaultId::F12) }]),
            Fault::AnswersLost => {
                hypervisor(vec![FaultRule { times: Some(0), chance: Some(1.0 / 6.0), ..rule(FaultId::F36) }]);
            }
            Fault::GuestHangs => self.world.guests.hang(2),
            Fault::WebhooksLost => self.world.github.set_weather(HookWeather { lose: 1.0, ..HookWeather::default() }),
            Fault::HypervisorAway
            | Fault::StorageFull
            | Fault::StorageLock
            | Fault::NodeDies
            | Fault::VmDies
            | Fault::RateLimited
            | Fault::PlatformErrors
            | Fault::SessionBreaks
            | Fault::OperatorRestarts
            | Fault::JobsFail => return,
        }
        (self.say)(format!("fault: {}", fault.what()));
    }

    /// What goes wrong while jobs run; how often it was seen to. It has passed when this returns.
    pub(super) async fn strike(&self, fault: Fault) -> usize {
        match fault {
            Fault::HypervisorAway => self.hypervisor_away(fault).await,
            Fault::NodeDies => self.node_dies(fault).await,
            Fault::StorageFull => self.storage_full(fault).await,
            Fault::StorageLock => self.storage_lock(fault).await,
            Fault::RateLimited => self.rate_limited(fault).await,
            Fault::PlatformErrors => self.platform_errors(fault).await,
            Fault::SessionBreaks => self.session_breaks(fault).await,
            Fault::VmDies => self.machines_die(fault).await,
            Fault::OperatorRestarts => self.operator_restarts().await,
            Fault::StartFails
            | Fault::AnswersLost
            | Fault::DisksLeft
            | Fault::GuestHangs
            | Fault::WebhooksLost
            | Fault::JobsFail => 0,
        }
    }

    /// What was wrong from the beginning is right again where it would have no end: with luck like this a machine could be
    /// cleared away for as long as somebody looks.
    pub(super) fn after(&self, fault: Fault) {
        if fault == Fault::AnswersLost {
            self.world.pve.set_faults(Vec::new());
            self.over("every answer arrives");
        }
    }

    /// How often a fault has struck by the end, of which the hand itself has seen so much.
    pub(super) fn count(&self, fault: Fault, seen: usize) -> usize {
        let calls = |id| self.world.pve.struck().get(&id).copied().unwrap_or_default();
        let jobs = |is: fn(&&JobView) -> bool| self.world.github.jobs().iter().filter(is).count();
        match fault {
            Fault::HypervisorAway => calls(FaultId::F22),
            Fault::StartFails => calls(FaultId::F18),
            Fault::DisksLeft => calls(FaultId::F12),
            Fault::AnswersLost => calls(FaultId::F36),
            Fault::GuestHangs => self.world.guests.hung(),
            Fault::WebhooksLost if self.world.github.delivered() > 0 => 0,
            Fault::WebhooksLost => jobs(|job| job.repository == PUBLIC_REPOSITORY),
            Fault::JobsFail => jobs(|job| job.conclusion == Some(Conclusion::Failure)),
            Fault::StorageFull
            | Fault::StorageLock
            | Fault::NodeDies
            | Fault::VmDies
            | Fault::RateLimited
            | Fault::PlatformErrors
            | Fault::SessionBreaks
            | Fault::OperatorRestarts => seen,
        }
    }

    async fn wait(&self, seconds: f64) {
        tokio::time::sleep(self.tempo.span(seconds)).await;
    }

    /// Waits until there is something to lose: jobs run, and have done so for a moment.
    async fn until_jobs_run(&self) {
        let any = |is: fn(&JobView) -> bool| self.world.github.jobs().iter().any(is);
        while any(|job| job.status != Status::Completed) && !any(|job| job.status == Status::InProgress) {
            self.wait(0.2).await;
        }
        self.wait(0.5).await;
    }

    fn says(&self, fault: Fault) {
        (self.say)(format!("fault: {}", fault.what()));
    }

    fn over(&self, what: &str) {
        (self.say)(format!("fault is over: {what}"));
    }

    /// For a while; the claims whose making was held up by this meanwhile.
    async fn held_up(&self, seconds: f64, by: &str) -> usize {
        let mut held = BTreeSet::new();
        for _ in 0..40 {
            self.wait(seconds / 40.0).await;
            held.extend(self.world.known.claims.all().iter().filter_map(|claim| {
                let said = find(&claim.status.as_ref()?.conditions, ConditionType::Provisioning)?;
                said.message.contains(by).then(|| claim.name_any())
            }));
        }
        held.len()
    }

    /// How many calls to GitHub were answered so since then.
    fn answered(&self, status: u16, since: jiff::Timestamp) -> usize {
        self.world.github.calls().iter().filter(|call| call.status == status && call.at >= since).count()
    }

    async fn hypervisor_away(&self, fault: Fault) -> usize {
        self.until_jobs_run().await;
        self.says(fault);
        self.world.pve.set_faults(vec![FaultRule { times: Some(0), ..FaultRule::new(FaultId::F22) }]);
        self.wait(LASTS).await;
        self.world.pve.set_faults(Vec::new());
        self.over("the hypervisor is as it was");
        0
    }

    /// A node goes down that has a running job; rather not the one with the image, without which nothing is made. The VMs
    /// that were on it.
    async fn node_dies(&self, fault: Fault) -> usize {
        let busy = loop {
            self.until_jobs_run().await;
            let jobs = self.world.github.jobs();
            let running = jobs.iter().filter(|job| job.status == Status::InProgress);
            let vms: Vec<u32> = running.filter_map(|job| self.world.machine_of(job.runner.as_deref()?)).collect();
            let nodes = self.world.nodes();
            let image = nodes.iter().find(|(_, _, image)| *image).map(|(_, node, _)| node.clone());
            let busy = nodes.iter().filter(|(vmid, ..)| vms.contains(vmid)).map(|(_, node, _)| node.clone());
            if let Some(node) = busy.max_by_key(|node| Some(node) != image.as_ref()) {
                break node;
            }
            if jobs.iter().all(|job| job.status == Status::Completed) {
                return 0;
            }
        };
        let lost = self.world.nodes().iter().filter(|(_, node, image)| *node == busy && !image).count();
        self.says(fault);
        (self.say)(format!("node {busy} is down, with {lost} VMs on it"));
        let down = FaultRule { times: Some(0), node: Some(busy), ..FaultRule::new(FaultId::F09) };
        self.world.pve.set_faults(vec![down]);
        self.wait(LASTS).await;
        self.world.pve.set_faults(Vec::new());
        self.over("the node is back");
        lost
    }

    async fn storage_full(&self, fault: Fault) -> usize {
        self.says(fault);
        let full = FaultRule { storage: Some("disks".to_owned()), ..FaultRule::new(FaultId::F19) };
        self.world.pve.set_faults(vec![full]);
        let held = self.held_up(LASTS, "No space left").await;
        self.world.pve.set_faults(Vec::new());
        self.over("the storage has room again");
        held
    }

    async fn storage_lock(&self, fault: Fault) -> usize {
        self.says(fault);
        let seconds = Some(self.tempo.span(LASTS).as_secs_f64());
        let lock = FaultRule { storage: Some("disks".to_owned()), seconds, ..FaultRule::new(FaultId::F02) };
        self.world.pve.set_faults(vec![lock]);
        let held = self.held_up(LASTS + 1.0, "the lock on storage").await;
        self.world.pve.set_faults(Vec::new());
        self.over("the lock is free");
        held
    }

    async fn rate_limited(&self, fault: Fault) -> usize {
        let since = self.world.clock.now();
        self.says(fault);
        let limit = github::FaultRule::new(github::FaultKind::SecondaryLimit);
        let limit = github::FaultRule { times: Some(8), seconds: Some(3.0), status: Some(429), ..limit };
        self.world.github.set_faults(vec![limit]);
        self.wait(LASTS).await;
        self.world.github.set_faults(Vec::new());
        self.over("GitHub answers everything again");
        self.answered(429, since)
    }

    async fn platform_errors(&self, fault: Fault) -> usize {
        let since = self.world.clock.now();
        self.says(fault);
        let wrong = github::FaultRule::new(github::FaultKind::Answer);
        let wrong = github::FaultRule { times: Some(0), chance: Some(1.0 / 3.0), status: Some(502), ..wrong };
        self.world.github.set_faults(vec![wrong]);
        self.wait(LASTS).await;
        self.world.github.set_faults(Vec::new());
        self.over("GitHub answers as it should");
        self.answered(502, since)
    }

    async fn session_breaks(&self, fault: Fault) -> usize {
        let mut broken = 0;
        for _ in 0..2 {
            self.wait(MIDDLE / 2.0).await;
            self.says(fault);
            let sets = self.world.github.scale_sets();
            broken += sets.iter().filter(|set| self.world.github.break_session(set.id)).count();
        }
        broken
    }

    /// Switches two machines off that have a job for a while.
    async fn machines_die(&self, fault: Fault) -> usize {
        let mut dead = Vec::new();
        while dead.len() < 2 {
            self.wait(0.3).await;
            let jobs = self.world.github.jobs();
            let runs = |job: &&JobView| job.status == Status::InProgress && !dead.contains(&job.run);
            let Some(victim) = jobs.iter().find(runs) else {
                if jobs.iter().all(|job| job.status == Status::Completed) {
                    break;
                }
                continue;
            };
            let vmid = victim.runner.as_deref().and_then(|runner| self.world.machine_of(runner));
            if let Some(vmid) = vmid
                && self.world.pve.power_off(vmid)
            {
                self.says(fault);
                (self.say)(format!("VM {vmid} is switched off in the middle of {}", victim.name));
                dead.push(victim.run);
            }
        }
        dead.len()
    }

    async fn operator_restarts(&self) -> usize {
        self.until_jobs_run().await;
        let open = self.world.github.jobs().iter().any(|job| job.status != Status::Completed);
        (self.say)("fault: the operator ends".to_owned());
        self.operator.send_replace(false);
        self.wait(LASTS / 2.0).await;
        (self.say)("fault is over: the operator is started again".to_owned());
        self.operator.send_replace(true);
        usize::from(open)
    }
}
