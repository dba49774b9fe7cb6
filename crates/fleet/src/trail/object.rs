//! What the kinds on the way have in common.

use api::{Condition, HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};

use super::{Found, Kind, Scene};

/// An object that says how it is doing.
pub(super) trait Speaks {
    /// Its namespace and name.
    fn named(&self) -> (&str, &str);
    /// Whether it was deleted and waits for something before it goes.
    fn is_going(&self) -> bool;
    /// What it says.
    fn conditions(&self) -> &[Condition];
}

macro_rules! speaks {
    ($($kind:ty),+) => {$(
        impl Speaks for $kind {
            fn named(&self) -> (&str, &str) {
                let (namespace, name) = (&self.metadata.namespace, &self.metadata.name);
                (namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default())
            }

            fn is_going(&self) -> bool {
                self.metadata.deletion_timestamp.is_some()
            }

            fn conditions(&self) -> &[Condition] {
                self.status.as_ref().map_or(&[], |status| &status.conditions)
            }
        }
    )+};
}

speaks!(RunnerJob, RunnerPool, MachineClaim, RunnerSource, HypervisorMachineTemplate, HypervisorCluster);

/// The name of the object of a kind, as `kind/name`; none if nothing refers to one.
pub(super) fn name(scene: &Scene, kind: Kind) -> Option<String> {
    let name = match kind {
        Kind::Job => shown(scene, &scene.job),
        Kind::Pool => shown(scene, &scene.pool),
        Kind::Claim => shown(scene, &scene.claim),
        Kind::Source => shown(scene, &scene.source),
        Kind::Template => shown(scene, &scene.template),
        Kind::Cluster => shown(scene, &scene.cluster),
    }?;
    Some(format!("{}/{name}", kind.as_str()))
}

fn shown<T: Speaks>(scene: &Scene, found: &Found<T>) -> Option<String> {
    match found {
        Found::Unnamed => None,
        Found::Missing(name) | Found::Hidden { name, .. } => Some(name.clone()),
        Found::There(object) => match object.named() {
            (namespace, name) if namespace.is_empty() || namespace == scene.namespace => Some(name.to_owned()),
            (namespace, name) => Some(format!("{namespace}/{name}")),
        },
    }
}
