//! Permissions as constants beside the code that needs them.
//!
//! `cargo xtask codegen` renders them into roles, and the integration tests run under exactly those.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// One grant: these verbs on these resources of these groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// API groups; the core group is `""`.
    pub groups: &'static [&'static str],
    /// Resources, with subresources as `pods/status`.
    pub resources: &'static [&'static str],
    /// Verbs, in Kubernetes' words.
    pub verbs: &'static [&'static str],
    /// The namespaces in which the grant is needed.
    pub scope: Scope,
}

impl Rule {
    /// The rule as roles carry it.
    pub fn policy(&self) -> PolicyRule {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        PolicyRule {
            api_groups: Some(owned(self.groups)),
            resources: Some(owned(self.resources)),
            verbs: owned(self.verbs),
            ..PolicyRule::default()
        }
    }
}

/// Where a grant is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In every namespace that the controllers watch (all of them unless the installation is namespaced).
    Watched,
    /// Only in the operator's own namespace.
    Own,
    /// On cluster-scoped resources.
    Cluster,
}

/// What every operator process needs, whichever controllers it runs: events about the objects it looks after.
pub const EVENTS: Rule =
    Rule { groups: &["events.k8s.io"], resources: &["events"], verbs: &["create", "patch"], scope: Scope::Watched };

/// What leader election needs: one Lease, in the operator's own namespace.
pub const LEASE: Rule = Rule {
    groups: &["coordination.k8s.io"],
    resources: &["leases"],
    verbs: &["get", "create", "update"],
    scope: Scope::Own,
};

/// What the metrics endpoint needs to ask who is calling.
pub const TOKEN_REVIEW: Rule = Rule {
    groups: &["authentication.k8s.io"],
    resources: &["tokenreviews"],
    verbs: &["create"],
    scope: Scope::Cluster,
};

/// What the metrics endpoint needs to ask whether the caller may look.
pub const ACCESS_REVIEW: Rule = Rule {
    groups: &["authorization.k8s.io"],
    resources: &["subjectaccessreviews"],
    verbs: &["create"],
    scope: Scope::Cluster,
};
