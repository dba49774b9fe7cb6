//! Grants: which other namespaces may use a cluster or a template.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

/// Selects namespaces by their labels; all parts must match, and an empty selector matches every namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSelector {
    /// Labels the namespace must carry with exactly these values, for example
    /// `kubernetes.io/metadata.name: team-a`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels_schema")]
    pub match_labels: BTreeMap<String, String>,
    /// Further conditions on the namespace's labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub match_expressions: Vec<LabelExpression>,
}

/// One condition on a namespace's labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)")
    .message("values must list at least one value for In and NotIn, and must be left out for Exists and DoesNotExist")
    .field_path(".values"))]
pub struct LabelExpression {
    /// Key of the label.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// `In` and `NotIn` compare the label's value with `values`; `Exists` and `DoesNotExist` look only at the key.
    pub operator: LabelOperator,
    /// Values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub values: Vec<String>,
}

words! {
    /// How a label is compared.
    LabelOperator {
        /// The value is one of the listed.
        In = "In",
        /// The label is absent or its value is none of the listed.
        NotIn = "NotIn",
        /// The label is there.
        Exists = "Exists",
        /// The label is not there.
        DoesNotExist = "DoesNotExist",
    }
}

fn labels_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": { "type": "string", "maxLength": 63 }
    })
}
