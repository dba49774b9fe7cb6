//! The rules of the roles for people: `view`, `edit`, `admin`, and the paths that need no object.

use serde_json::{Value, json};

/// A rule in short: words between spaces.
pub(super) struct Line {
    pub(super) verbs: &'static str,
    pub(super) groups: &'static [&'static str],
    pub(super) resources: &'static str,
}

impl Line {
    pub(super) fn to_json(&self) -> Value {
        let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
        json!({"verbs": words(self.verbs), "apiGroups": self.groups, "resources": words(self.resources)})
    }
}

const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const BOTH: &str = "create delete deletecollection get list patch update watch";

const fn line(verbs: &'static str, groups: &'static [&'static str], resources: &'static str) -> Line {
    Line { verbs, groups, resources }
}

pub(super) const DISCOVERY: &str =
    "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/";
pub(super) const PUBLIC: &str = "/healthz /livez /readyz /version /version/";
pub(super) const MONITORING: &str =
    "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz";
pub(super) const ISSUER: &str = "/.well-known/openid-configuration /.well-known/openid-configuration/ \
     /openid/v1/jwks /openid/v1/jwks/";

pub(super) const ADMIN: &[Line] = &[
    line("create", &["authorization.k8s.io"], "localsubjectaccessreviews"),
    line(BOTH, &["rbac.authorization.k8s.io"], "rolebindings roles"),
];

pub(super) const EDIT: &[Line] = &[
    line(READ, &[""], "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    line("impersonate", &[""], "serviceaccounts"),
    line(WRITE, &[""], "pods pods/attach pods/exec pods/portforward pods/proxy"),
    line("create", &[""], "pods/eviction"),
    line(
        WRITE,
        &[""],
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts \
         services services/proxy",
    ),
    line("create", &[""], "serviceaccounts/token"),
    line(WRITE, &["", "events.k8s.io"], "events"),
    line(
        WRITE,
        &["apps"],
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets \
         statefulsets/scale",
    ),
    line(WRITE, &["autoscaling"], "horizontalpodautoscalers"),
    line(WRITE, &["batch"], "cronjobs jobs"),
    line(
        WRITE,
        &["extensions"],
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets \
         replicasets/scale replicationcontrollers/scale",
    ),
    line(WRITE, &["policy"], "poddisruptionbudgets"),
    line(WRITE, &["networking.k8s.io"], "ingresses networkpolicies"),
    line(BOTH, &["coordination.k8s.io"], "leases"),
    line(WRITE, &["resource.k8s.io"], "resourceclaims resourceclaimtemplates"),
];

pub(super) const VIEW: &[Line] = &[
    line(
        READ,
        &[""],
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers \
         replicationcontrollers/scale serviceaccounts services services/status",
    ),
    line(
        READ,
        &[""],
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas \
         resourcequotas/status",
    ),
    line(READ, &[""], "namespaces"),
    line(READ, &["", "events.k8s.io"], "events"),
    line(READ, &["discovery.k8s.io"], "endpointslices"),
    line(
        READ,
        &["apps"],
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets \
         replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
    ),
    line(READ, &["autoscaling"], "horizontalpodautoscalers horizontalpodautoscalers/status"),
    line(READ, &["batch"], "cronjobs cronjobs/status jobs jobs/status"),
    line(
        READ,
        &["extensions"],
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status \
         networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
    ),
    line(READ, &["policy"], "poddisruptionbudgets poddisruptionbudgets/status"),
    line(READ, &["networking.k8s.io"], "ingresses ingresses/status networkpolicies"),
    line(READ, &["resource.k8s.io"], "resourceclaims resourceclaims/status resourceclaimtemplates"),
];
