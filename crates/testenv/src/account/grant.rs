//! A role together with where it counts.

use anyhow::{Context, Result, bail};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};

use crate::demand::demand;

/// A role and where it counts.
#[derive(Clone, Debug)]
pub enum Grant {
    /// A cluster role, in the whole cluster.
    ClusterWide(ClusterRole),
    /// A cluster role, in one namespace only.
    Within(String, ClusterRole),
    /// A role, in its own namespace, or in the account's if it names none.
    Namespaced(Role),
}

impl From<ClusterRole> for Grant {
    fn from(role: ClusterRole) -> Self {
        Self::ClusterWide(role)
    }
}

impl From<Role> for Grant {
    fn from(role: Role) -> Self {
        Self::Namespaced(role)
    }
}

impl Grant {
    /// The roles of rendered manifests. Accounts and bindings are passed over, since the test makes its own; anything else
    /// is refused.
    pub fn from_yaml(manifests: &str) -> Vec<Self> {
        demand("read roles from manifests", Self::parse(manifests))
    }

    fn parse(manifests: &str) -> Result<Vec<Self>> {
        let documents: Vec<serde_json::Value> =
            serde_saphyr::from_multiple(manifests).context("the YAML of the roles")?;
        let mut grants = Vec::new();
        for document in documents.into_iter().filter(|document| !document.is_null()) {
            match document["kind"].as_str().unwrap_or_default() {
                "ClusterRole" => grants.push(Self::ClusterWide(serde_json::from_value(document)?)),
                "Role" => grants.push(Self::Namespaced(serde_json::from_value(document)?)),
                "ServiceAccount" | "ClusterRoleBinding" | "RoleBinding" => {}
                kind => bail!("a {kind:?} is not a role"),
            }
        }
        Ok(grants)
    }

    /// Its rules.
    pub(super) fn rules(&self) -> &[PolicyRule] {
        match self {
            Self::ClusterWide(role) | Self::Within(_, role) => role.rules.as_deref().unwrap_or_default(),
            Self::Namespaced(role) => role.rules.as_deref().unwrap_or_default(),
        }
    }

    /// The namespace in which the rights can be seen.
    pub(super) fn seen_in<'a>(&'a self, account_namespace: &'a str) -> &'a str {
        match self {
            Self::ClusterWide(_) => account_namespace,
            Self::Within(namespace, _) => namespace,
            Self::Namespaced(role) => role.metadata.namespace.as_deref().unwrap_or(account_namespace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFESTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: b, namespace: here}
rules: []
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: c}
";

    #[test]
    fn roles_are_taken_from_manifests_and_the_rest_of_rbac_is_passed_over() {
        let grants = Grant::parse(MANIFESTS).unwrap();
        assert!(matches!(&grants[..], [Grant::ClusterWide(_), Grant::Namespaced(_)]), "{grants:?}");
        assert_eq!(grants[0].rules().len(), 1);
        assert_eq!(grants[0].seen_in("elsewhere"), "elsewhere");
        assert_eq!(grants[1].seen_in("elsewhere"), "here");
    }

    #[test]
    fn what_is_no_role_is_refused() {
        let refused = Grant::parse("kind: Secret\n").unwrap_err().to_string();
        assert!(refused.contains("Secret"), "{refused}");
    }
}
