//! Those who look, and an operator that shows something.

use std::path::Path;
use std::process::Command;

use testenv::{Grant, Program, ServiceAccountRef};

use crate::works::Works;

/// Somebody with the generated role, and somebody without.
pub(crate) async fn viewers(works: &Works) -> (ServiceAccountRef, ServiceAccountRef) {
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/rbac/users.yaml");
    let of_console = |grant: &Grant| match grant {
        Grant::ClusterWide(role) => role.metadata.name.as_deref() == Some("hyperfleet-operator-console-reader"),
        Grant::Within(..) | Grant::Namespaced(_) => false,
    };
    let grants = Grant::from_yaml(&std::fs::read_to_string(roles).unwrap());
    let grants: Vec<Grant> = grants.into_iter().filter(of_console).collect();
    assert_eq!(grants.len(), 1, "the role for those who look");
    let (plane, namespace) = (works.town.plane, &works.town.namespace);
    (plane.service_account(namespace, "reader", &grants).await, plane.service_account(namespace, "stranger", &[]).await)
}

/// Starts a replica with a console on this port; of these namespaces, if they are others than usual.
pub(crate) fn operator(works: &Works, replica: usize, port: u16, namespaces: Option<&str>) -> Program {
    let usual = works.command(replica);
    let keeps = |argument: &&std::ffi::OsStr| {
        let text = argument.to_string_lossy();
        let replaced = namespaces.is_some() && text.starts_with("--watch-namespaces=");
        !(replaced || text.starts_with("--metrics-bind-address="))
    };
    let mut command = Command::new(usual.get_program());
    command.args(usual.get_args().filter(keeps));
    command.arg(format!("--metrics-bind-address=127.0.0.1:{port}"));
    if let Some(namespaces) = namespaces {
        command.arg(format!("--watch-namespaces={namespaces}"));
    }
    for (name, value) in usual.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    Program::start(&command)
}
