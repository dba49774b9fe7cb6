//! The messages that kubectl writes in protobuf: every field's number, its name in JSON and its type.
//!
//! A type is a scalar, another message, `[...]` for a list, `{...}` for a map from texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Its name in JSON.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) of: Type,
    /// How often it is there.
    pub(super) often: Often,
}

/// How often a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Often {
    Once,
    List,
    Map,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Bytes,
    Bool,
    Int,
    Time,
    MicroTime,
    /// JSON inside a message of one field.
    Json,
    /// Texts inside a message of one field.
    Texts,
    Message(&'static str),
}

const MESSAGES: &str = "
authentication.BoundObjectReference: 1 kind text, 2 apiVersion text, 3 name text, 4 uid text
authentication.SelfSubjectReview: 1 metadata meta.ObjectMeta, 2 status authentication.SelfSubjectReviewStatus
authentication.SelfSubjectReviewStatus: 1 userInfo authentication.UserInfo
authentication.TokenRequest: 1 metadata meta.ObjectMeta, 2 spec authentication.TokenRequestSpec,
    3 status authentication.TokenRequestStatus
authentication.TokenRequestSpec: 1 audiences [text], 4 expirationSeconds int,
    3 boundObjectRef authentication.BoundObjectReference
authentication.TokenRequestStatus: 1 token text, 2 expirationTimestamp time
authentication.TokenReview: 1 metadata meta.ObjectMeta, 2 spec authentication.TokenReviewSpec,
    3 status authentication.TokenReviewStatus
authentication.TokenReviewSpec: 1 token text, 2 audiences [text]
authentication.TokenReviewStatus: 1 authenticated bool, 2 user authentication.UserInfo, 4 audiences [text],
    3 error text
authentication.UserInfo: 1 username text, 2 uid text, 3 groups [text], 4 extra {texts}
authorization.FieldSelectorAttributes: 1 rawSelector text, 2 requirements [meta.FieldSelectorRequirement]
authorization.LabelSelectorAttributes: 1 rawSelector text, 2 requirements [meta.LabelSelectorRequirement]
authorization.LocalSubjectAccessReview: 1 metadata meta.ObjectMeta, 2 spec authorization.SubjectAccessReviewSpec,
    3 status authorization.SubjectAccessReviewStatus
authorization.NonResourceAttributes: 1 path text, 2 verb text
authorization.NonResourceRule: 1 verbs [text], 2 nonResourceURLs [text]
authorization.ResourceAttributes: 1 namespace text, 2 verb text, 3 group text, 4 version text, 5 resource text,
    6 subresource text, 7 name text, 8 fieldSelector authorization.FieldSelectorAttributes,
    9 labelSelector authorization.LabelSelectorAttributes
authorization.ResourceRule: 1 verbs [text], 2 apiGroups [text], 3 resources [text], 4 resourceNames [text]
authorization.SelfSubjectAccessReview: 1 metadata meta.ObjectMeta, 2 spec authorization.SelfSubjectAccessReviewSpec,
    3 status authorization.SubjectAccessReviewStatus
authorization.SelfSubjectAccessReviewSpec: 1 resourceAttributes authorization.ResourceAttributes,
    2 nonResourceAttributes authorization.NonResourceAttributes
authorization.SelfSubjectRulesReview: 1 metadata meta.ObjectMeta, 2 spec authorization.SelfSubjectRulesReviewSpec,
    3 status authorization.SubjectRulesReviewStatus
authorization.SelfSubjectRulesReviewSpec: 1 namespace text
authorization.SubjectAccessReview: 1 metadata meta.ObjectMeta, 2 spec authorization.SubjectAccessReviewSpec,
    3 status authorization.SubjectAccessReviewStatus
authorization.SubjectAccessReviewSpec: 1 resourceAttributes authorization.ResourceAttributes,
    2 nonResourceAttributes authorization.NonResourceAttributes, 3 user text, 4 groups [text], 5 extra {texts},
    6 uid text
authorization.SubjectAccessReviewStatus: 1 allowed bool, 4 denied bool, 2 reason text, 3 evaluationError text
authorization.SubjectRulesReviewStatus: 1 resourceRules [authorization.ResourceRule],
    2 nonResourceRules [authorization.NonResourceRule], 3 incomplete bool, 4 evaluationError text
coordination.Lease: 1 metadata meta.ObjectMeta, 2 spec coordination.LeaseSpec
coordination.LeaseSpec: 1 holderIdentity text, 2 leaseDurationSeconds int, 3 acquireTime micro, 4 renewTime micro,
    5 leaseTransitions int, 6 strategy text, 7 preferredHolder text
core.ConfigMap: 1 metadata meta.ObjectMeta, 4 immutable bool, 2 data {text}, 3 binaryData {bytes}
core.Event: 1 metadata meta.ObjectMeta, 2 involvedObject core.ObjectReference, 3 reason text, 4 message text,
    5 source core.EventSource, 6 firstTimestamp time, 7 lastTimestamp time, 8 count int, 9 type text,
    10 eventTime micro, 11 series core.EventSeries, 12 action text, 13 related core.ObjectReference,
    14 reportingComponent text, 15 reportingInstance text
core.EventSeries: 1 count int, 2 lastObservedTime micro
core.EventSource: 1 component text, 2 host text
core.LocalObjectReference: 1 name text
core.Namespace: 1 metadata meta.ObjectMeta, 2 spec core.NamespaceSpec, 3 status core.NamespaceStatus
core.NamespaceCondition: 1 type text, 2 status text, 4 lastTransitionTime time, 5 reason text, 6 message text
core.NamespaceSpec: 1 finalizers [text]
core.NamespaceStatus: 1 phase text, 2 conditions [core.NamespaceCondition]
core.ObjectReference: 1 kind text, 2 namespace text, 3 name text, 4 uid text, 5 apiVersion text,
    6 resourceVersion text, 7 fieldPath text
core.Secret: 1 metadata meta.ObjectMeta, 5 immutable bool, 2 data {bytes}, 4 stringData {text}, 3 type text
core.ServiceAccount: 1 metadata meta.ObjectMeta, 2 secrets [core.ObjectReference],
    3 imagePullSecrets [core.LocalObjectReference], 4 automountServiceAccountToken bool
events.Event: 1 metadata meta.ObjectMeta, 2 eventTime micro, 3 series events.EventSeries,
    4 reportingController text, 5 reportingInstance text, 6 action text, 7 reason text,
    8 regarding core.ObjectReference, 9 related core.ObjectReference, 10 note text, 11 type text,
    12 deprecatedSource core.EventSource, 13 deprecatedFirstTimestamp time, 14 deprecatedLastTimestamp time,
    15 deprecatedCount int
events.EventSeries: 1 count int, 2 lastObservedTime micro
meta.DeleteOptions: 1 gracePeriodSeconds int, 2 preconditions meta.Preconditions, 3 orphanDependents bool,
    4 propagationPolicy text, 5 dryRun [text], 6 ignoreStoreReadErrorWithClusterBreakingPotential bool
meta.FieldSelectorRequirement: 1 key text, 2 operator text, 3 values [text]
meta.LabelSelector: 1 matchLabels {text}, 2 matchExpressions [meta.LabelSelectorRequirement]
meta.LabelSelectorRequirement: 1 key text, 2 operator text, 3 values [text]
meta.ManagedFieldsEntry: 1 manager text, 2 operation text, 3 apiVersion text, 4 time time, 6 fieldsType text,
    7 fieldsV1 json, 8 subresource text
meta.ObjectMeta: 1 name text, 2 generateName text, 3 namespace text, 4 selfLink text, 5 uid text,
    6 resourceVersion text, 7 generation int, 8 creationTimestamp time, 9 deletionTimestamp time,
    10 deletionGracePeriodSeconds int, 11 labels {text}, 12 annotations {text},
    13 ownerReferences [meta.OwnerReference], 14 finalizers [text], 17 managedFields [meta.ManagedFieldsEntry]
meta.OwnerReference: 5 apiVersion text, 1 kind text, 3 name text, 4 uid text, 6 controller bool,
    7 blockOwnerDeletion bool
meta.Preconditions: 1 uid text, 2 resourceVersion text
rbac.AggregationRule: 1 clusterRoleSelectors [meta.LabelSelector]
rbac.ClusterRole: 1 metadata meta.ObjectMeta, 2 rules [rbac.PolicyRule], 3 aggregationRule rbac.AggregationRule
rbac.ClusterRoleBinding: 1 metadata meta.ObjectMeta, 2 subjects [rbac.Subject], 3 roleRef rbac.RoleRef
rbac.PolicyRule: 1 verbs [text], 2 apiGroups [text], 3 resources [text], 4 resourceNames [text],
    5 nonResourceURLs [text]
rbac.Role: 1 metadata meta.ObjectMeta, 2 rules [rbac.PolicyRule]
rbac.RoleBinding: 1 metadata meta.ObjectMeta, 2 subjects [rbac.Subject], 3 roleRef rbac.RoleRef
rbac.RoleRef: 1 apiGroup text, 2 kind text, 3 name text
rbac.Subject: 1 kind text, 2 apiGroup text, 3 name text, 4 namespace text
";

type Messages = BTreeMap<&'static str, BTreeMap<u64, Field>>;

static READ: LazyLock<Messages> = LazyLock::new(read);

/// The fields of a message by their numbers.
pub(super) fn message(name: &str) -> Option<&'static BTreeMap<u64, Field>> {
    READ.get(name)
}

fn read() -> Messages {
    let mut messages = Messages::new();
    let mut current = "";
    for line in MESSAGES.lines().filter(|line| !line.is_empty()) {
        let fields = match line.split_once(':') {
            Some((name, fields)) => {
                current = name;
                fields
            }
            None => line,
        };
        let fields = fields.split(',').filter_map(|field| read_field(field.trim()));
        messages.entry(current).or_default().extend(fields);
    }
    messages
}

fn read_field(text: &'static str) -> Option<(u64, Field)> {
    let mut words = text.split(' ');
    let (number, name, of) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    let bare = of.trim_matches(['[', ']', '{', '}']);
    let often = match of.as_bytes().first()? {
        b'[' => Often::List,
        b'{' => Often::Map,
        _ => Often::Once,
    };
    let of = match bare {
        "text" => Type::Text,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "time" => Type::Time,
        "micro" => Type::MicroTime,
        "json" => Type::Json,
        "texts" => Type::Texts,
        message => Type::Message(message),
    };
    Some((number, Field { name, of, often }))
}
