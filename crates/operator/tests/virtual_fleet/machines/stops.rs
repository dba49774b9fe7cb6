//! VMs that stop: noticed in time, gone in time, and never confused with those that have not been started yet.

use std::time::Duration;

use sim::proxmox::{FaultId, FaultRule, Simulator};
use sim::world::{World, across, seeds};

use super::claims::{there, vm_of};
use crate::yard::Yard;

/// One tick after a listing whose statistics lag shows it, and the pass that acts on it.
const NOTICED: u64 = 42 + 2;

/// Until a new process holds the lease of one that died, and has looked.
const LEASE: u64 = 17;

/// What goes wrong on the way.
#[derive(Clone, Debug)]
struct Case {
    /// What each task of the hypervisor takes at least, until the VM runs.
    slow: u64,
    /// How much more the statistics lag.
    lag: u32,
    /// From the moment when it runs to the stop.
    stop: u64,
    /// How long the operator is away when it stops.
    away: Option<u64>,
    /// Whether the operator dies while the machine is made, and when.
    crash: Option<u64>,
    /// What happens to those who take it away.
    fault: Option<FaultId>,
}

impl Case {
    fn of(world: &World) -> Self {
        let mut dice = world.dice("case");
        let slow = *dice.pick(&[0, 0, 2, 12]).unwrap();
        let lag = *dice.pick(&[0, 0, 3, 10, 20]).unwrap();
        let faults = [None, None, Some(FaultId::F10), Some(FaultId::F12), Some(FaultId::F24), Some(FaultId::F36)];
        let fault = *dice.pick(&faults).unwrap();
        let mut seconds = |most: usize| u64::try_from(dice.below(most)).unwrap();
        let stop = seconds(35);
        let away = (seconds(3) == 0).then(|| 1 + seconds(60));
        let crash = (seconds(3) == 0).then(|| seconds(30));
        Self { slow, lag, stop, away, crash, fault }
    }

    /// The faults in force, with the statistics' lag.
    fn faults(&self, more: Option<FaultId>) -> Vec<FaultRule> {
        let lag = FaultRule { times: Some(0), seconds: Some(f64::from(self.lag)), ..FaultRule::new(FaultId::F25) };
        let destroy = |id| FaultRule { method: Some("DELETE".into()), ..FaultRule::new(id) };
        (self.lag > 0).then_some(lag).into_iter().chain(more.map(destroy)).collect()
    }
}

/// Whether the VM with that number runs.
fn runs(pve: &Simulator, vmid: u32) -> bool {
    let state = pve.state();
    state["vms"].as_array().unwrap().iter().any(|vm| vm["vmid"] == vmid && vm["status"] == "running")
}

/// Waits until the claim's VM runs and the claim says so: one whose start nobody has written down is started again. Nobody takes it for one that has stopped on the way.
async fn running(yard: &Yard, pve: &Simulator, case: &Case) -> u32 {
    for second in 0..400 {
        if case.crash == Some(second) {
            yard.world.crash("operator");
            yard.pass(1).await;
            yard.world.restart("operator");
        }
        let status = yard.claimed("short").await["status"].clone();
        let taken = status["conditions"].to_string().contains("VMShutdownDetected");
        assert!(!taken, "it never ran: {case:?}: {status}");
        if matches!(status["phase"].as_str(), Some("Bootstrapping" | "Ready" | "Busy")) && runs(pve, vm_of(&status)) {
            assert_eq!(pve.clones().len(), 1, "{case:?}");
            return vm_of(&status);
        }
        yard.pass(1).await;
    }
    panic!("it never ran: {case:?}\n{}", yard.world.text());
}

/// Seconds until this is so; the most that it may take is told.
async fn seconds_until(yard: &Yard, most: u64, is_so: impl AsyncFn() -> bool) -> u64 {
    for second in 0..=most {
        if is_so().await {
            return second;
        }
        yard.pass(1).await;
    }
    most + 1
}

fn stopped(seed: u64) {
    World::run(seed, async |world: World| {
        let case = Case::of(&world);
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        pve.slow_down(Duration::from_secs(case.slow));
        pve.set_faults(case.faults(None));
        yard.claim("short", &["sleep", "100000"], |_| {}).await;
        let vm = running(&yard, &pve, &case).await;
        pve.slow_down(Duration::ZERO);
        yard.pass(case.stop).await;
        pve.set_faults(case.faults(case.fault));
        if case.away.is_some() {
            world.crash("operator");
        }
        assert!(pve.power_off(vm), "{case:?}");
        if let Some(away) = case.away {
            yard.pass(away).await;
            world.restart("operator");
        }
        let most = NOTICED + u64::from(case.lag) + case.away.map_or(0, |_| LEASE);
        let noticed = async || matches!(yard.phase("short").await.as_str(), "Terminating" | "Failed");
        let took = seconds_until(&yard, most, noticed).await;
        assert!(took <= most, "noticed after more than {most} s: {case:?}\n{}", world.text());
        let gone = async || yard.phase("short").await == "Failed";
        let took = took + seconds_until(&yard, 300 - took, gone).await;
        assert!(took <= 300, "still there after five minutes: {case:?}\n{}", world.text());
        assert_eq!(there(&pve), before, "{case:?}");
        assert_eq!(yard.claim_condition("short", "Ready").await.1, "VMShutdownDetected", "{case:?}");
    });
}

/// Stop to nothing left within five minutes, also if the operator was away when it happened.
#[test]
fn p27_r3_8_a_stopped_vm_is_noticed_and_removed_in_time_and_a_fresh_clone_is_not_stopped() {
    let seeds = seeds(2_700, 100);
    across(&seeds, stopped);
    println!("lane: {} machines that stopped, each noticed and removed in time", seeds.len());
}
