//! Who may use what is in another namespace.

use std::collections::BTreeMap;

use api::{LabelExpression, LabelOperator, NamespaceSelector};

/// Whether a grant covers a namespace with these labels. No grant covers nothing; an empty one covers everything.
pub fn covers(grant: Option<&NamespaceSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(NamespaceSelector { match_labels, match_expressions }) = grant else { return false };
    match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && match_expressions.iter().all(|expression| holds(expression, labels))
}

fn holds(expression: &LabelExpression, labels: &BTreeMap<String, String>) -> bool {
    let LabelExpression { key, operator, values } = expression;
    let value = labels.get(key);
    match operator {
        LabelOperator::In => value.is_some_and(|value| values.contains(value)),
        LabelOperator::NotIn => value.is_none_or(|value| !values.contains(value)),
        LabelOperator::Exists => value.is_some(),
        LabelOperator::DoesNotExist => value.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::nobody(json!(null), false)]
    #[case::everybody(json!({}), true)]
    #[case::by_label(json!({ "matchLabels": { "team": "a" } }), true)]
    #[case::other_label(json!({ "matchLabels": { "team": "b" } }), false)]
    #[case::missing_label(json!({ "matchLabels": { "other": "a" } }), false)]
    #[case::one_of(json!({ "matchExpressions": [{ "key": "team", "operator": "In", "values": ["a", "b"] }] }), true)]
    #[case::none_of(json!({ "matchExpressions": [{ "key": "team", "operator": "NotIn", "values": ["a"] }] }), false)]
    #[case::none_of_what_is_missing(json!({ "matchExpressions": [{ "key": "x", "operator": "NotIn", "values": ["a"] }] }), true)]
    #[case::exists(json!({ "matchExpressions": [{ "key": "team", "operator": "Exists" }] }), true)]
    #[case::does_not(json!({ "matchExpressions": [{ "key": "team", "operator": "DoesNotExist" }] }), false)]
    #[case::both(json!({ "matchLabels": { "team": "a" }, "matchExpressions": [{ "key": "x", "operator": "Exists" }] }), false)]
    fn a_grant_covers_what_all_its_parts_match(#[case] grant: serde_json::Value, #[case] covered: bool) {
        let grant: Option<NamespaceSelector> = serde_json::from_value(grant).unwrap();
        let labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        assert_eq!(covers(grant.as_ref(), &labels), covered);
    }
}
