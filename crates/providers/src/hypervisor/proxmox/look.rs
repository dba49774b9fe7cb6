//! Looking at a VM, and being certain about what is seen.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::api::Request;
use super::config::Config;
use super::form::Form;
use super::{Proxmox, resources};
use crate::hypervisor::Whose;
use crate::hypervisor::error::Error;
use crate::hypervisor::number::{VmId, VmRef};
use crate::hypervisor::object::Object;
use crate::hypervisor::owner::Mark;
use crate::hypervisor::vm::{Lock, Power, Seen};

#[derive(Deserialize)]
struct Current {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    qmpstatus: Option<String>,
}

impl Proxmox {
    /// The settings of a VM or image.
    pub(super) async fn config(&self, vm: &VmRef, object: Object) -> Result<Config, Error> {
        let request = Request::vm(Method::GET, "/nodes/{node}/qemu/{vmid}/config", vm).about(object);
        self.api.call::<BTreeMap<String, Value>>(request).await.map(Config::from)
    }

    /// Whether a VM runs.
    pub(super) async fn current_power(&self, vm: &VmRef) -> Result<Power, Error> {
        let request = Request::vm(Method::GET, "/nodes/{node}/qemu/{vmid}/status/current", vm);
        let Current { status, qmpstatus } = self.settled(vm, self.api.call(request).await).await?;
        Ok(resources::power(status.as_deref(), qmpstatus.as_deref()))
    }

    /// Whether any guest of the cluster has this number; every user may ask.
    pub async fn is_taken(&self, id: VmId) -> Result<bool, Error> {
        let request = Request::get("/cluster/nextid", &[], Object::Vm(id)).with(Form::new().put("vmid", id));
        match self.api.order(request).await {
            Ok(()) => Ok(false),
            Err(Error::AlreadyExists { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Turns "not here" and "not for you" into what is certain: a VM or image that is gone looks like either, and one
    /// that moved, or that its pool does not hold yet, looks the same.
    pub(super) async fn settled<T>(&self, vm: &VmRef, outcome: Result<T, Error>) -> Result<T, Error> {
        let (object, there) = match outcome {
            Err(Error::NotFound { object: object @ (Object::Vm(_) | Object::Image(_)) }) => {
                (object, Error::Moved { vm: vm.clone() })
            }
            Err(Error::PermissionDenied { object, path: Some(path), privilege })
                if path == format!("/vms/{}", vm.id) =>
            {
                (object.clone(), Error::PermissionDenied { object, path: Some(path), privilege })
            }
            outcome => return outcome,
        };
        let taken = self.is_taken(vm.id).await?;
        Err(if taken { there } else { Error::NotFound { object } })
    }

    /// Whether these settings are those of a VM of ours.
    pub(super) fn prove(&self, vm: &VmRef, config: Config, whose: Whose<'_>) -> Result<Seen, Error> {
        let foreign = |mark| Error::Foreign { vm: vm.clone(), mark };
        let description = config.get("description").unwrap_or_default();
        let proof = self.settings.owner.verify(description, vm.id).map_err(|mark| match (mark, config.lock()) {
            // An unfinished clone has no record yet, and a removal that broke off none any more.
            (Mark::Unmarked, Some(kind @ (Lock::Clone | Lock::Create | Lock::Destroyed))) => {
                Error::Locked { object: Object::Vm(vm.id), kind }
            }
            (mark, _) => foreign(mark),
        })?;
        if config.flag("template") {
            return Err(foreign(Mark::Converted));
        }
        if let Whose::Allocation(expected) = whose
            && expected != proof.allocation()
        {
            return Err(foreign(Mark::OtherAllocation(proof.allocation().clone())));
        }
        let undated = || Error::Unexpected { object: Object::Vm(vm.id), detail: "its settings have no digest".into() };
        let facts = config.facts().ok_or_else(undated)?;
        Ok(Seen::new(vm.clone(), proof, facts).expect("the record was verified for this VM"))
    }
}
