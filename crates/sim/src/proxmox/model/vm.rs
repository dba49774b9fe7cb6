//! A VM: its configuration, whether it runs, and what statistics have told of it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Config, Statistics, VmFigures};
use crate::proxmox::Release;

/// A VM.
#[derive(Clone, Debug)]
pub(crate) struct Vm {
    pub(crate) node: String,
    pub(crate) config: Config,
    pub(crate) run: Run,
    pub(crate) statistics: Statistics,
    /// Whether its guest agent answers.
    pub(crate) agent_up: bool,
    /// Whether its guest reacts to the power button.
    pub(crate) deaf: bool,
}

/// Whether a VM runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    Stopped,
    Running {
        pid: u32,
        since: Timestamp,
        /// The emulator's own word for its state.
        qmp: &'static str,
    },
}

impl Vm {
    pub(crate) fn new(node: &str, config: Config, now: Timestamp) -> Self {
        let mut vm = Self {
            node: node.to_owned(),
            config,
            run: Run::Stopped,
            statistics: Statistics::default(),
            agent_up: false,
            deaf: false,
        };
        vm.note(now);
        vm
    }

    /// Tells statistics what they will see from now on.
    pub(crate) fn note(&mut self, now: Timestamp) {
        let figures = self.figures();
        self.statistics.note(now, figures);
    }

    pub(crate) fn is_template(&self) -> bool {
        self.config.flag("template")
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.run, Run::Running { .. })
    }

    pub(crate) fn status(&self) -> &'static str {
        if self.is_running() { "running" } else { "stopped" }
    }

    fn qmp(&self) -> &'static str {
        match self.run {
            Run::Running { qmp, .. } => qmp,
            Run::Stopped => "stopped",
        }
    }

    fn cpus(&self) -> u64 {
        self.config.number("sockets", 1) * self.config.number("cores", 1)
    }

    fn disk_size(&self) -> u64 {
        self.config.boot_disk().and_then(|(_, drive)| drive.size()).unwrap_or(0)
    }

    fn figures(&self) -> VmFigures {
        VmFigures {
            name: self.config.get("name").map(str::to_owned),
            status: self.qmp(),
            template: self.is_template(),
            cpus: self.config.get("vcpus").and_then(|text| text.parse().ok()).unwrap_or_else(|| self.cpus()),
            memory: self.config.memory() << 20,
            disk: self.disk_size(),
            since: match self.run {
                Run::Running { since, .. } => Some(since),
                Run::Stopped => None,
            },
        }
    }

    fn uptime(&self, now: Timestamp) -> i64 {
        match self.run {
            Run::Running { since, .. } => now.as_second() - since.as_second(),
            Run::Stopped => 0,
        }
    }

    /// As a node lists it: live, not from statistics. `host_cpus` bounds what a VM is shown to have.
    pub(crate) fn listed(&self, vmid: u32, host_cpus: u64, release: Release, now: Timestamp) -> Value {
        let vcpus = self.config.get("vcpus").and_then(|text| text.parse::<u64>().ok());
        let mut entry = json!({
            "vmid": vmid,
            "name": self.config.get("name").map_or_else(|| format!("VM {vmid}"), str::to_owned),
            "status": self.status(),
            "cpus": vcpus.unwrap_or_else(|| self.cpus().min(host_cpus)),
            "maxmem": self.config.memory() << 20,
            "maxdisk": self.disk_size(),
            "mem": 0, "disk": 0, "cpu": 0, "netin": 0, "netout": 0,
            "uptime": self.uptime(now),
        });
        if release == Release::V9 {
            entry["memhost"] = json!(0);
        }
        if let Run::Running { pid, .. } = self.run {
            entry["pid"] = json!(pid);
            entry["mem"] = json!((self.config.memory() << 20) / 3);
            entry["diskread"] = json!(0);
            entry["diskwrite"] = json!(0);
        }
        if let Some(balloon) =
            self.config.get("balloon").and_then(|text| text.parse::<u64>().ok()).filter(|size| *size > 0)
        {
            entry["balloon_min"] = json!(balloon << 20);
            entry["shares"] = json!(self.config.number("shares", 1_000));
        }
        if self.is_template() {
            entry["template"] = json!(1);
        }
        if self.config.options.keys().any(|name| name.starts_with("serial")) {
            entry["serial"] = json!(1);
        }
        for name in ["lock", "tags"] {
            if let Some(value) = self.config.get(name) {
                entry[name] = json!(value);
            }
        }
        entry
    }

    /// As `status/current` shows it.
    pub(crate) fn current(&self, vmid: u32, host_cpus: u64, release: Release, now: Timestamp) -> Value {
        let mut entry = self.listed(vmid, host_cpus, release, now);
        entry["qmpstatus"] = json!(self.qmp());
        entry["ha"] = json!({ "managed": 0 });
        if self.config.has_agent() {
            entry["agent"] = json!(1);
        }
        if self.is_running() {
            entry["running-machine"] = json!("pc-i440fx-10.0+pve0");
            entry["running-qemu"] = json!("10.0.2");
            entry["balloon"] = entry["maxmem"].clone();
            entry["proxmox-support"] = json!({});
        }
        entry
    }
}
