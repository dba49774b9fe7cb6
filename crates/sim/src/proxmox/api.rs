//! The calls themselves, a file for each group of them.

mod access;
mod agent;
mod clone;
mod cloudinit;
mod cluster;
mod config;
mod create;
mod destroy;
mod disks;
mod nodes;
mod pools;
mod power;
mod resize;
mod resources;
mod rights;
mod storage;
mod tasks;
mod template;
mod upload;
mod users;
mod vm;

use std::sync::Arc;

use serde_json::{Value, json};

use super::access::Who;
use super::control::{FaultId, FaultRule, Scene};
use super::failure::{Failure, Outcome};
use super::model::{Config, Vm};
use super::schema::Params;
use super::wire::{Reply, Upload};
use super::world::World;

/// A call that passed every general check.
pub(crate) struct Call {
    pub(crate) world: Arc<World>,
    pub(crate) who: Who,
    pub(crate) params: Params,
    pub(crate) upload: Option<Upload>,
    pub(crate) scene: Scene,
}

/// Makes the call that `verb` on the path `template` means.
pub(crate) async fn dispatch(verb: &str, template: &str, call: Call) -> Outcome<Reply> {
    if let Some(rest) = template.strip_prefix("/nodes/{node}/qemu/{vmid}/agent") {
        return agent::call(&call, rest).await.map(|given| Reply::ok(&given, None));
    }
    match (verb, template) {
        ("GET", "/nodes/{node}/tasks") => Ok(tasks::list(&call)),
        ("GET", "/nodes/{node}/tasks/{upid}/log") => tasks::log(&call),
        (verb, "/access/ticket" | "/access/permissions" | "/access/domains") => {
            access::call(verb, template, &call).map(|given| Reply::ok(&given, None))
        }
        (verb, template) if template.starts_with("/access/") => {
            users::call(verb, template, &call).await.map(|given| Reply::ok(&given, None))
        }
        (verb, template) if template.starts_with("/nodes/{node}/qemu") => {
            machine(verb, template, call).await.map(|given| Reply::ok(&given, None))
        }
        (verb, template) if template.contains("storage") => {
            storage::call(verb, template, call).await.map(|given| Reply::ok(&given, None))
        }
        (verb, template) if template.starts_with("/pools") => {
            pools::call(verb, template, &call).await.map(|given| Reply::ok(&given, None))
        }
        (verb, template) if template.starts_with("/nodes") => {
            nodes::call(verb, template, &call).map(|given| Reply::ok(&given, None))
        }
        (_, template) => cluster::call(template, &call).map(|given| Reply::ok(&given, None)),
    }
}

async fn machine(verb: &str, template: &str, call: Call) -> Outcome {
    const VM: &str = "/nodes/{node}/qemu/{vmid}";
    if template == "/nodes/{node}/qemu" {
        return if verb == "GET" { Ok(vm::list(&call)) } else { create::create(call).await };
    }
    match (verb, template.strip_prefix(VM).unwrap_or_default()) {
        ("DELETE", "") => destroy::destroy(&call),
        ("POST", "/clone") => clone::clone(call).await,
        ("GET", "/config") => vm::config(&call),
        ("GET", "/pending") => vm::pending(&call),
        ("GET", "/feature") => vm::feature(&call),
        ("GET", "/status/current") => vm::current(&call),
        ("PUT", "/config") => config::update(call, config::Wait::Here).await,
        ("POST", "/config") => config::update(call, config::Wait::Background).await,
        ("PUT", "/unlink") => config::unlink(call).await,
        ("PUT", "/resize") => resize::resize(&call),
        ("POST", "/template") => template::template(&call),
        ("GET", "/cloudinit") => cloudinit::options(&call),
        ("GET", "/cloudinit/dump") => cloudinit::dump(&call),
        ("PUT", "/cloudinit") => Ok(Value::Null),
        ("POST", rest) if rest.starts_with("/status/") => power::power(&call, &rest["/status/".len()..]),
        // What is left are indexes of what is below them.
        (_, rest) => Ok(vm::index(rest)),
    }
}

impl Call {
    /// The node in the path.
    pub(crate) fn node(&self) -> &str {
        self.params.get("node").unwrap_or_default()
    }

    /// The VM in the path.
    pub(crate) fn vmid(&self) -> u32 {
        self.params.number("vmid").unwrap_or_default()
    }

    /// Whether a fault strikes this call.
    pub(crate) fn fault(&self, id: FaultId) -> Option<FaultRule> {
        self.world.fault(id, &self.scene)
    }

    /// Looks at the VM of the call.
    pub(crate) fn with_vm<T>(&self, look: impl FnOnce(&Vm) -> T) -> Outcome<T> {
        self.world.with_vm(self.node(), self.vmid(), look)
    }

    /// Starts a task for this call.
    pub(crate) fn fork<F>(&self, kind: &str, id: &str, work: impl FnOnce(super::worker::Worker) -> F) -> Outcome
    where
        F: Future<Output = Outcome<()>> + Send + 'static,
    {
        let upid = self.world.fork(self.node(), kind, id, &self.who, work);
        // The task runs; what could not be written down is that it does.
        if self.fault(FaultId::F24).is_some() {
            return Err(Failure::died("can't lock file '/var/log/pve/tasks/.active.lock' - got timeout"));
        }
        Ok(json!(upid))
    }
}

impl World {
    /// Looks at a VM on a node.
    pub(crate) fn with_vm<T>(&self, node: &str, vmid: u32, look: impl FnOnce(&Vm) -> T) -> Outcome<T> {
        self.state().vm_on(node, vmid).map(look).ok_or_else(|| no_config(node, vmid))
    }

    /// Changes a VM on a node.
    pub(crate) fn change_vm<T>(&self, node: &str, vmid: u32, change: impl FnOnce(&mut Vm) -> T) -> Outcome<T> {
        let now = self.now();
        let mut state = self.state();
        let vm = state.vm_on_mut(node, vmid).ok_or_else(|| no_config(node, vmid))?;
        let result = change(vm);
        vm.note(now);
        Ok(result)
    }
}

/// A VM that is not on this node: not a 404, since there is none in this API.
pub(crate) fn no_config(node: &str, vmid: u32) -> Failure {
    Failure::died(format!("Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist"))
}

/// The same from the parts that look for a running VM first.
pub(crate) fn no_machine(node: &str, vmid: u32) -> Failure {
    Failure::died(format!("unable to find configuration file for VM {vmid} on node '{node}'"))
}

/// Fails while an operation has left its lock in a configuration.
pub(crate) fn check_lock(config: &Config) -> Outcome<()> {
    config.lock().map_or(Ok(()), |lock| Err(Failure::died(format!("VM is locked ({lock})"))))
}

/// Fails for a VM that is protected.
pub(crate) fn check_protection(config: &Config, what: &str) -> Outcome<()> {
    if config.flag("protection") {
        return Err(Failure::died(format!("{what} - protection mode enabled")));
    }
    Ok(())
}

/// Only the real root may use an option.
pub(crate) fn root_only(call: &Call, name: &str) -> Outcome<()> {
    if call.params.flag(name) && !call.who.is_root() {
        return Err(Failure::param(name, "Only root may use this option."));
    }
    Ok(())
}
