//! Starting and stopping.

use std::time::Duration;

use super::{Call, check_lock, no_machine, root_only};
use crate::proxmox::control::FaultId;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Run, Vm};
use crate::proxmox::worker::Worker;

/// How a start goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfire {
    Fails,
    FailsButRuns,
}

pub(super) fn power(call: &Call, word: &str) -> Outcome {
    root_only(call, "skiplock")?;
    let (node, vmid) = (call.node().to_owned(), call.vmid());
    let id = vmid.to_string();
    match word {
        "start" => {
            call.world.check_quorum()?;
            let misfire = call
                .fault(FaultId::F18)
                .map(|fault| if fault.is("running") { Misfire::FailsButRuns } else { Misfire::Fails });
            call.fork("qmstart", &id, move |worker| async move { start(&worker, &node, vmid, misfire).await })
        }
        "stop" => {
            let hang = call.fault(FaultId::F16).map(|fault| fault.span(71.0));
            let undead = call.fault(FaultId::F14).is_some();
            call.fork("qmstop", &id, move |worker| async move { stop(&worker, &node, vmid, hang, undead).await })
        }
        "shutdown" => {
            let deaf = call.fault(FaultId::F17).is_some();
            let limit = Duration::from_secs(call.params.number("timeout").unwrap_or(60));
            let force = call.params.flag("forceStop");
            call.fork("qmshutdown", &id, move |worker| async move {
                shutdown(&worker, &node, vmid, deaf, limit, force).await
            })
        }
        "reboot" | "reset" | "suspend" | "resume" => {
            let (kind, state) = match word {
                "reboot" => ("qmreboot", "running"),
                "reset" => ("qmreset", "running"),
                "suspend" => ("qmsuspend", "paused"),
                _ => ("qmresume", "running"),
            };
            call.fork(kind, &id, move |worker| async move { set_state(&worker, &node, vmid, state).await })
        }
        other => Err(Failure::died(format!("'{other}' is not simulated"))),
    }
}

/// Starts a VM.
pub(super) async fn start(worker: &Worker, node: &str, vmid: u32, misfire: Option<Misfire>) -> Outcome<()> {
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(vmid), world.limits.lock).await?;
    let cards = world.with_vm(node, vmid, |vm| {
        if vm.is_template() {
            return Err(Failure::died("you can't start a vm if it's a template"));
        }
        check_lock(&vm.config)?;
        if vm.is_running() {
            return Err(Failure::died(format!("VM {vmid} already running")));
        }
        let bridge = |line: &str| line.split(',').find_map(|part| part.strip_prefix("bridge=").map(str::to_owned));
        Ok(vm
            .config
            .options
            .iter()
            .filter(|(name, _)| name.starts_with("net"))
            .filter_map(|(_, l)| bridge(l))
            .collect::<Vec<_>>())
    })??;
    let known = world.state().nodes.get(node).map(|node| node.bridges.clone()).unwrap_or_default();
    if let Some(bridge) = cards.iter().find(|bridge| !known.contains(bridge)) {
        return Err(Failure::died(format!("bridge '{bridge}' does not exist")));
    }
    let took = world.profile.start + world.profile.card * u32::try_from(cards.len()).unwrap_or(1);
    world.pause(took).await;
    if misfire == Some(Misfire::Fails) {
        return Err(Failure::died("start failed: QEMU exited with code 1"));
    }
    let now = world.now();
    let pid = {
        let mut state = world.state();
        state.next_pid += 1;
        state.next_pid
    };
    world.change_vm(node, vmid, |vm| {
        vm.config.apply_pending();
        vm.run = Run::Running { pid, since: now, qmp: "running" };
    })?;
    world.boot(vmid, pid);
    match misfire {
        Some(Misfire::FailsButRuns) => Err(Failure::died("start failed: command '/usr/bin/kvm' failed: got timeout")),
        Some(Misfire::Fails) | None => Ok(()),
    }
}

async fn stop(worker: &Worker, node: &str, vmid: u32, hang: Option<Duration>, undead: bool) -> Outcome<()> {
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(vmid), world.limits.lock).await?;
    if !running(worker, node, vmid)? {
        return Ok(());
    }
    world.with_vm(node, vmid, |vm| check_lock(&vm.config))??;
    match hang {
        Some(span) => tokio::time::sleep(span).await,
        None => world.pause(world.profile.stop).await,
    }
    if !undead {
        world.power_off(vmid);
    }
    Ok(())
}

async fn shutdown(worker: &Worker, node: &str, vmid: u32, deaf: bool, limit: Duration, force: bool) -> Outcome<()> {
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(vmid), world.limits.lock).await?;
    if !running(worker, node, vmid)? {
        return Ok(());
    }
    if deaf || world.with_vm(node, vmid, |vm| vm.deaf)? {
        tokio::time::sleep(limit).await;
        if !force {
            return Err(Failure::died("VM quit/powerdown failed - got timeout"));
        }
    } else {
        world.pause(world.profile.stop).await;
    }
    world.power_off(vmid);
    Ok(())
}

async fn set_state(worker: &Worker, node: &str, vmid: u32, state: &'static str) -> Outcome<()> {
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(vmid), world.limits.lock).await?;
    if !running(worker, node, vmid)? {
        return Err(Failure::died(format!("VM {vmid} not running")));
    }
    world.change_vm(node, vmid, |vm| {
        if let Run::Running { qmp, .. } = &mut vm.run {
            *qmp = state;
        }
    })
}

fn running(worker: &Worker, node: &str, vmid: u32) -> Outcome<bool> {
    worker.world.with_vm(node, vmid, Vm::is_running).map_err(|_| no_machine(node, vmid))
}
