//! The hand that makes things go wrong, and right again.

use sim::github::{self, HookWeather, JobView, Status};
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

    /// What goes wrong while jobs run. It has passed when this returns.
    pub(super) async fn strike(&self, fault: Fault) {
        match fault {
            Fault::HypervisorAway => self.for_a_while(fault, FaultId::F22, None).await,
            Fault::NodeDies => self.for_a_while(fault, FaultId::F09, Some("pve2")).await,
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
            | Fault::JobsFail => {}
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

    /// A fault of the hypervisor that strikes everything until it is over.
    async fn for_a_while(&self, fault: Fault, id: FaultId, node: Option<&str>) {
        self.until_jobs_run().await;
        self.says(fault);
        let node = node.map(str::to_owned);
        self.world.pve.set_faults(vec![FaultRule { times: Some(0), node, ..FaultRule::new(id) }]);
        self.wait(LASTS).await;
        self.world.pve.set_faults(Vec::new());
        self.over("the hypervisor is as it was");
    }

    async fn storage_full(&self, fault: Fault) {
        self.says(fault);
        let full = FaultRule { storage: Some("disks".to_owned()), ..FaultRule::new(FaultId::F19) };
        self.world.pve.set_faults(vec![full]);
        self.wait(LASTS).await;
        self.world.pve.set_faults(Vec::new());
        self.over("the storage has room again");
    }

    async fn storage_lock(&self, fault: Fault) {
        self.says(fault);
        let seconds = Some(self.tempo.span(LASTS).as_secs_f64());
        let lock = FaultRule { storage: Some("disks".to_owned()), seconds, ..FaultRule::new(FaultId::F02) };
        self.world.pve.set_faults(vec![lock]);
        self.wait(LASTS + 1.0).await;
        self.world.pve.set_faults(Vec::new());
        self.over("the lock is free");
    }

    async fn rate_limited(&self, fault: Fault) {
        self.says(fault);
        let limit = github::FaultRule::new(github::FaultKind::SecondaryLimit);
        let limit = github::FaultRule { times: Some(8), seconds: Some(3.0), status: Some(429), ..limit };
        self.world.github.set_faults(vec![limit]);
        self.wait(LASTS).await;
        self.world.github.set_faults(Vec::new());
        self.over("GitHub answers everything again");
    }

    async fn platform_errors(&self, fault: Fault) {
        self.says(fault);
        let wrong = github::FaultRule::new(github::FaultKind::Answer);
        let wrong = github::FaultRule { times: Some(0), chance: Some(1.0 / 3.0), status: Some(502), ..wrong };
        self.world.github.set_faults(vec![wrong]);
        self.wait(LASTS).await;
        self.world.github.set_faults(Vec::new());
        self.over("GitHub answers as it should");
    }

    async fn session_breaks(&self, fault: Fault) {
        for _ in 0..2 {
            self.wait(MIDDLE / 2.0).await;
            self.says(fault);
            for set in self.world.github.scale_sets() {
                self.world.github.break_session(set.id);
            }
        }
    }

    /// Switches two machines off that have a job for a while.
    async fn machines_die(&self, fault: Fault) {
        let mut dead = Vec::new();
        while dead.len() < 2 {
            self.wait(0.3).await;
            let jobs = self.world.github.jobs();
            let runs = |job: &&JobView| job.status == Status::InProgress && !dead.contains(&job.run);
            let Some(victim) = jobs.iter().find(runs) else {
                if jobs.iter().all(|job| job.status == Status::Completed) {
                    return;
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
    }

    async fn operator_restarts(&self) {
        self.until_jobs_run().await;
        (self.say)("fault: the operator ends".to_owned());
        self.operator.send_replace(false);
        self.wait(LASTS / 2.0).await;
        (self.say)("fault is over: the operator is started again".to_owned());
        self.operator.send_replace(true);
    }
}
