//! What Go's structs know beyond their schemas: which fields are always written, which are pointers, which have a named
//! type. It shows in every answer (`"rules": null`) and in every complaint about types.

use super::definition::EXTENSIONS;

/// What a field that is always written holds when nobody set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// `""`.
    Text,
    /// `false`.
    No,
    /// `0`.
    Nought,
    /// `null`: times, lists and maps.
    Null,
    /// A struct, with its own zeros.
    Struct,
}

/// One struct.
pub(super) struct Go {
    definition: &'static str,
    /// The fields that are always written.
    pub(super) always: &'static [(&'static str, Zero)],
    /// The fields that keep a zero somebody set.
    pub(super) pointers: &'static [&'static str],
    /// The fields of a named type; for lists, the type of their entries.
    pub(super) named: &'static [(&'static str, &'static str)],
}

const fn go(
    definition: &'static str,
    always: &'static [(&'static str, Zero)],
    pointers: &'static [&'static str],
    named: &'static [(&'static str, &'static str)],
) -> Go {
    Go { definition, always, pointers, named }
}

const META: (&str, Zero) = ("metadata", Zero::Struct);

static STRUCTS: &[Go] = &[
    go(
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        &[],
        &["deletionGracePeriodSeconds"],
        &[("uid", "types.UID")],
    ),
    go(
        "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
        &[("apiVersion", Zero::Text), ("kind", Zero::Text), ("name", Zero::Text), ("uid", Zero::Text)],
        &["controller", "blockOwnerDeletion"],
        &[("uid", "types.UID")],
    ),
    go(
        "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
        &[],
        &[],
        &[("operation", "v1.ManagedFieldsOperationType")],
    ),
    go(
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
        &[("key", Zero::Text), ("operator", Zero::Text)],
        &[],
        &[("operator", "v1.LabelSelectorOperator")],
    ),
    go("io.k8s.api.core.v1.ObjectReference", &[], &[], &[("uid", "types.UID")]),
    go("io.k8s.api.core.v1.Namespace", &[META, ("spec", Zero::Struct), ("status", Zero::Struct)], &[], &[]),
    go("io.k8s.api.core.v1.NamespaceSpec", &[], &[], &[("finalizers", "v1.FinalizerName")]),
    go("io.k8s.api.core.v1.NamespaceStatus", &[], &[], &[("phase", "v1.NamespacePhase")]),
    go(
        "io.k8s.api.core.v1.NamespaceCondition",
        &[("type", Zero::Text), ("status", Zero::Text), ("lastTransitionTime", Zero::Null)],
        &[],
        &[("type", "v1.NamespaceConditionType"), ("status", "v1.ConditionStatus")],
    ),
    go("io.k8s.api.core.v1.Secret", &[META], &["immutable"], &[("type", "v1.SecretType")]),
    go("io.k8s.api.core.v1.ConfigMap", &[META], &["immutable"], &[]),
    go("io.k8s.api.core.v1.ServiceAccount", &[META], &["automountServiceAccountToken"], &[]),
    go(
        "io.k8s.api.core.v1.Event",
        &[
            META,
            ("involvedObject", Zero::Struct),
            ("source", Zero::Struct),
            ("firstTimestamp", Zero::Null),
            ("lastTimestamp", Zero::Null),
            ("eventTime", Zero::Null),
            ("reportingComponent", Zero::Text),
            ("reportingInstance", Zero::Text),
        ],
        &[],
        &[],
    ),
    go("io.k8s.api.core.v1.EventSeries", &[("lastObservedTime", Zero::Null)], &[], &[]),
    go(
        "io.k8s.api.events.v1.Event",
        &[
            META,
            ("eventTime", Zero::Null),
            ("regarding", Zero::Struct),
            ("deprecatedSource", Zero::Struct),
            ("deprecatedFirstTimestamp", Zero::Null),
            ("deprecatedLastTimestamp", Zero::Null),
        ],
        &[],
        &[],
    ),
    go("io.k8s.api.events.v1.EventSeries", &[("count", Zero::Nought), ("lastObservedTime", Zero::Null)], &[], &[]),
    go("io.k8s.api.coordination.v1.Lease", &[META, ("spec", Zero::Struct)], &[], &[]),
    go(
        "io.k8s.api.coordination.v1.LeaseSpec",
        &[],
        &["holderIdentity", "leaseDurationSeconds", "leaseTransitions", "strategy", "preferredHolder"],
        &[("strategy", "v1.CoordinatedLeaseStrategy")],
    ),
    go("io.k8s.api.rbac.v1.Role", &[META, ("rules", Zero::Null)], &[], &[]),
    go("io.k8s.api.rbac.v1.ClusterRole", &[META, ("rules", Zero::Null)], &[], &[]),
    go("io.k8s.api.rbac.v1.PolicyRule", &[("verbs", Zero::Null)], &[], &[]),
    go("io.k8s.api.rbac.v1.RoleBinding", &[META, ("roleRef", Zero::Struct)], &[], &[]),
    go("io.k8s.api.rbac.v1.ClusterRoleBinding", &[META, ("roleRef", Zero::Struct)], &[], &[]),
    go("io.k8s.api.rbac.v1.Subject", &[("kind", Zero::Text), ("name", Zero::Text)], &[], &[]),
    go("io.k8s.api.rbac.v1.RoleRef", &[("apiGroup", Zero::Text), ("kind", Zero::Text), ("name", Zero::Text)], &[], &[]),
];

/// The same for definitions of custom resources, whose names share a long beginning.
static EXTENSION_STRUCTS: &[Go] = &[
    go("CustomResourceDefinition", &[META, ("spec", Zero::Struct), ("status", Zero::Struct)], &[], &[]),
    go(
        "CustomResourceDefinitionSpec",
        &[("group", Zero::Text), ("names", Zero::Struct), ("scope", Zero::Text), ("versions", Zero::Null)],
        &[],
        &[("scope", "v1.ResourceScope")],
    ),
    go("CustomResourceDefinitionNames", &[("plural", Zero::Text), ("kind", Zero::Text)], &[], &[]),
    go(
        "CustomResourceDefinitionStatus",
        &[("conditions", Zero::Null), ("acceptedNames", Zero::Struct), ("storedVersions", Zero::Null)],
        &[],
        &[],
    ),
    go(
        "CustomResourceDefinitionCondition",
        &[("type", Zero::Text), ("status", Zero::Text), ("lastTransitionTime", Zero::Null)],
        &[],
        &[("type", "v1.CustomResourceDefinitionConditionType"), ("status", "v1.ConditionStatus")],
    ),
    go(
        "CustomResourceDefinitionVersion",
        &[("name", Zero::Text), ("served", Zero::No), ("storage", Zero::No)],
        &["deprecationWarning"],
        &[],
    ),
    go("CustomResourceConversion", &[("strategy", Zero::Text)], &[], &[("strategy", "v1.ConversionStrategyType")]),
    go("WebhookConversion", &[("conversionReviewVersions", Zero::Null)], &[], &[]),
    go("WebhookClientConfig", &[], &["url"], &[]),
    go("ServiceReference", &[("namespace", Zero::Text), ("name", Zero::Text)], &["path", "port"], &[]),
    go(
        "CustomResourceColumnDefinition",
        &[("name", Zero::Text), ("type", Zero::Text), ("jsonPath", Zero::Text)],
        &[],
        &[],
    ),
    go("SelectableField", &[("jsonPath", Zero::Text)], &[], &[]),
    go(
        "CustomResourceSubresourceScale",
        &[("specReplicasPath", Zero::Text), ("statusReplicasPath", Zero::Text)],
        &["labelSelectorPath"],
        &[],
    ),
    go(
        "ValidationRule",
        &[("rule", Zero::Text)],
        &["reason", "optionalOldSelf"],
        &[("reason", "v1.FieldValueErrorReason")],
    ),
    go(
        "JSONSchemaProps",
        &[],
        &[
            "$ref",
            "maximum",
            "minimum",
            "maxLength",
            "minLength",
            "maxItems",
            "minItems",
            "multipleOf",
            "maxProperties",
            "minProperties",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
        ],
        &[("$schema", "v1.JSONSchemaURL")],
    ),
];

static NOTHING: Go = go("", &[], &[], &[]);

/// What Go knows about the struct of that definition.
pub(super) fn of(definition: &str) -> &'static Go {
    let extension = definition.strip_prefix(EXTENSIONS);
    let found = match extension {
        Some(short) => EXTENSION_STRUCTS.iter().find(|go| go.definition == short),
        None => STRUCTS.iter().find(|go| go.definition == definition),
    };
    found.unwrap_or(&NOTHING)
}

impl Go {
    /// The named type of a field, or of the entries of a list.
    pub(super) fn type_of(&self, field: &str) -> Option<&'static str> {
        self.named.iter().find(|(name, _)| *name == field).map(|(_, named)| *named)
    }
}
