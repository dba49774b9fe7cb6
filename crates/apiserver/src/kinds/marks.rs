//! How lists and maps of built-in kinds merge: what the server's `OpenAPI` says beyond types.

use serde_json::{Value, json};

use super::definition::EXTENSIONS;

/// Definition, property (empty for the definition itself), and how it merges.
type Mark = (&'static str, &'static str, Merge);

#[derive(Clone, Copy)]
enum Merge {
    /// A list that is replaced.
    Atomic,
    /// A map or struct that is replaced.
    AtomicMap,
    /// A list of distinct values, joined also by strategic merge.
    Set,
    /// A list by this key, merged also by strategic merge.
    By(&'static str),
    /// A list by this key; strategic merge replaces it.
    OnlyApplyBy(&'static str),
}

const MARKS: &[Mark] = &[
    ("io.k8s.api.core.v1.LocalObjectReference", "", Merge::AtomicMap),
    ("io.k8s.api.core.v1.NamespaceSpec", "finalizers", Merge::Atomic),
    ("io.k8s.api.core.v1.NamespaceStatus", "conditions", Merge::By("type")),
    ("io.k8s.api.core.v1.ObjectReference", "", Merge::AtomicMap),
    ("io.k8s.api.core.v1.ServiceAccount", "imagePullSecrets", Merge::Atomic),
    ("io.k8s.api.core.v1.ServiceAccount", "secrets", Merge::By("name")),
    ("io.k8s.api.rbac.v1.AggregationRule", "clusterRoleSelectors", Merge::Atomic),
    ("io.k8s.api.rbac.v1.ClusterRole", "rules", Merge::Atomic),
    ("io.k8s.api.rbac.v1.ClusterRoleBinding", "subjects", Merge::Atomic),
    ("io.k8s.api.rbac.v1.PolicyRule", "apiGroups", Merge::Atomic),
    ("io.k8s.api.rbac.v1.PolicyRule", "nonResourceURLs", Merge::Atomic),
    ("io.k8s.api.rbac.v1.PolicyRule", "resourceNames", Merge::Atomic),
    ("io.k8s.api.rbac.v1.PolicyRule", "resources", Merge::Atomic),
    ("io.k8s.api.rbac.v1.PolicyRule", "verbs", Merge::Atomic),
    ("io.k8s.api.rbac.v1.Role", "rules", Merge::Atomic),
    ("io.k8s.api.rbac.v1.RoleBinding", "subjects", Merge::Atomic),
    ("io.k8s.api.rbac.v1.RoleRef", "", Merge::AtomicMap),
    ("io.k8s.api.rbac.v1.Subject", "", Merge::AtomicMap),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", "", Merge::AtomicMap),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", "matchExpressions", Merge::Atomic),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "values", Merge::Atomic),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers", Merge::Set),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "managedFields", Merge::Atomic),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences", Merge::By("uid")),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "", Merge::AtomicMap),
];

/// The same for definitions of custom resources, whose names share a long beginning.
const OF_EXTENSIONS: &[Mark] = &[
    ("CustomResourceDefinitionNames", "categories", Merge::Atomic),
    ("CustomResourceDefinitionNames", "shortNames", Merge::Atomic),
    ("CustomResourceDefinitionSpec", "versions", Merge::Atomic),
    ("CustomResourceDefinitionStatus", "conditions", Merge::OnlyApplyBy("type")),
    ("CustomResourceDefinitionStatus", "storedVersions", Merge::Atomic),
    ("CustomResourceDefinitionVersion", "additionalPrinterColumns", Merge::Atomic),
    ("CustomResourceDefinitionVersion", "selectableFields", Merge::Atomic),
    ("JSONSchemaProps", "allOf", Merge::Atomic),
    ("JSONSchemaProps", "anyOf", Merge::Atomic),
    ("JSONSchemaProps", "enum", Merge::Atomic),
    ("JSONSchemaProps", "oneOf", Merge::Atomic),
    ("JSONSchemaProps", "required", Merge::Atomic),
    ("JSONSchemaProps", "x-kubernetes-list-map-keys", Merge::Atomic),
    ("JSONSchemaProps", "x-kubernetes-validations", Merge::By("rule")),
    ("WebhookConversion", "conversionReviewVersions", Merge::Atomic),
];

/// What a definition gets beyond its types: property (empty for itself), key and value.
pub(super) fn of(definition: &str) -> impl Iterator<Item = (&'static str, &'static str, Value)> {
    let short = definition.strip_prefix(EXTENSIONS).unwrap_or_default().to_owned();
    let definition = definition.to_owned();
    let extensions = OF_EXTENSIONS.iter().filter(move |(name, ..)| *name == short);
    let marks = MARKS.iter().filter(move |(name, ..)| *name == definition).chain(extensions);
    marks.flat_map(|(_, property, merge)| merge.keys().into_iter().map(move |(key, value)| (*property, key, value)))
}

impl Merge {
    fn keys(self) -> Vec<(&'static str, Value)> {
        const LIST: &str = "x-kubernetes-list-type";
        const KEYS: &str = "x-kubernetes-list-map-keys";
        const STRATEGY: &str = "x-kubernetes-patch-strategy";
        match self {
            Self::Atomic => vec![(LIST, json!("atomic"))],
            Self::AtomicMap => vec![("x-kubernetes-map-type", json!("atomic"))],
            Self::Set => vec![(LIST, json!("set")), (STRATEGY, json!("merge"))],
            Self::OnlyApplyBy(key) => vec![(LIST, json!("map")), (KEYS, json!([key]))],
            Self::By(key) => vec![
                (LIST, json!("map")),
                (KEYS, json!([key])),
                (STRATEGY, json!("merge")),
                ("x-kubernetes-patch-merge-key", json!(key)),
            ],
        }
    }
}
