//! Built-in kinds before anyone wrote to them: the fields that their Go types never leave out.

use serde_json::{Value, json};

/// A blank object of a built-in kind, for [`Writer::blank`](super::track::Writer::blank); empty for kinds that can leave
/// everything out.
pub fn blank(api_version: &str, kind: &str) -> Value {
    match (api_version, kind) {
        ("v1", "Namespace") => json!({ "spec": {}, "status": {} }),
        ("v1", "Event") => json!({
            "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": null, "eventTime": null,
            "reportingComponent": "", "reportingInstance": "",
        }),
        ("events.k8s.io/v1", "Event") => json!({
            "eventTime": null, "regarding": {}, "deprecatedSource": {}, "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null,
        }),
        ("coordination.k8s.io/v1", "Lease") => json!({ "spec": {} }),
        ("rbac.authorization.k8s.io/v1", "Role" | "ClusterRole") => json!({ "rules": null }),
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => {
            json!({ "roleRef": { "apiGroup": "", "kind": "", "name": "" } })
        }
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => json!({
            "spec": { "group": "", "names": { "plural": "", "kind": "" }, "scope": "", "versions": null },
            "status": { "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": null },
        }),
        _ => json!({}),
    }
}
