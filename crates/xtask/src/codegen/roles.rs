//! `deploy/rbac`: the accounts and roles of each controller set in both shapes, and the roles for people.

use anyhow::Result;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::generated::Generated;
use crate::rbac::{ControllerSet, Kind, NAMESPACE, Shape, console_reader, metrics_reader, roles, user_roles};
use crate::yaml;

pub(super) fn render(generated: &mut Generated) -> Result<()> {
    for set in operator::sets() {
        let source = format!("the rules beside the controllers of the set `{}`", set.name);
        let set = ControllerSet::from(set);
        let cluster_wide = yaml::manifest(&source, &roles(&set, NAMESPACE, Shape::ClusterWide));
        generated.add(format!("deploy/rbac/{}.yaml", set.name), cluster_wide)?;
        let namespaced = yaml::manifest(&source, &roles(&set, NAMESPACE, Shape::Namespaced(&[NAMESPACE])));
        generated.add(format!("deploy/rbac/namespaced/{}.yaml", set.name), namespaced)?;
    }
    let mut people = user_roles(&kinds());
    people.extend([metrics_reader(), console_reader()]);
    generated.add("deploy/rbac/users.yaml", yaml::manifest("crates/xtask/src/rbac/users.rs", &people))
}

fn kinds() -> Vec<Kind> {
    let kind = |crd: CustomResourceDefinition| Kind {
        scale: crd.spec.versions.iter().any(|version| version.subresources.as_ref().is_some_and(|s| s.scale.is_some())),
        group: crd.spec.group,
        plural: crd.spec.names.plural,
    };
    api::crds().into_iter().map(kind).collect()
}

impl From<&operator::Set> for ControllerSet {
    fn from(set: &operator::Set) -> Self {
        let rules = set.controllers.iter().flat_map(|duty| duty.rules).copied().collect();
        Self { name: set.name.to_owned(), rules }
    }
}
