//! How objects point at each other and at Secrets.
//!
//! Only clusters and templates can be shared between namespaces, and only by a [`NamespaceSelector`](crate::NamespaceSelector)
//! on their own side; everything else stays in its namespace, Secrets above all.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{NamespaceName, ObjectName, SecretEntry};

/// Points at a cluster or template, in the own namespace or in one that has granted its use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// Name of the object.
    pub name: ObjectName,
    /// Namespace of the object; left out, the namespace of the object that holds this reference. Another namespace works
    /// only if the object there names ours in its `allowedNamespaces`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<NamespaceName>,
}

/// Points at an object in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Name of the object, in the same namespace.
    pub name: ObjectName,
}

/// Picks one entry of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Name of the Secret, in the same namespace.
    pub name: ObjectName,
    /// Entry of the Secret's data that holds the value.
    pub key: SecretEntry,
}
