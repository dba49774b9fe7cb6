//! Cluster roles that are put together from others, by label.

use serde_json::Value;

use super::policy::text;
use super::rule::Rule;

/// What the aggregation controller would write now: the names of the cluster roles whose rules are not what the roles they
/// gather say, with the rules they should have.
///
/// Gathered roles may gather others themselves, so one round may not be enough: ask again after writing, until nothing is
/// left.
pub fn aggregate(cluster_roles: &[Value]) -> Vec<(String, Vec<Rule>)> {
    let mut sorted: Vec<(String, &Value)> = cluster_roles.iter().map(|role| (name(role), role)).collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    let gathered = sorted.iter().filter_map(|(own, role)| {
        let rules = gather(own, role, &sorted)?;
        (rules != Rule::all_of(role)).then(|| (own.clone(), rules))
    });
    gathered.collect()
}

fn name(role: &Value) -> String {
    text(role, "/metadata/name")
}

/// The rules that a role gathers; none if it gathers nothing, or cannot.
fn gather(own: &str, role: &Value, all: &[(String, &Value)]) -> Option<Vec<Rule>> {
    let wanted = role.get("aggregationRule").filter(|wanted| !wanted.is_null())?;
    let selectors = wanted.get("clusterRoleSelectors").and_then(Value::as_array).into_iter().flatten();
    let mut rules = Vec::new();
    for selector in selectors {
        for (other, role) in all {
            if matches(selector, role)? && other != own {
                for rule in Rule::all_of(role) {
                    if !rules.contains(&rule) {
                        rules.push(rule);
                    }
                }
            }
        }
    }
    Some(rules)
}

/// Whether a selector selects a role; none if it makes no sense.
fn matches(selector: &Value, role: &Value) -> Option<bool> {
    let label = |key: &str| role.get("metadata")?.get("labels")?.get(key)?.as_str();
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut all = labels.into_iter().all(|(key, value)| label(key).is_some_and(|own| Some(own) == value.as_str()));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    for expression in expressions {
        let own = label(expression.get("key")?.as_str()?);
        let values = expression.get("values").and_then(Value::as_array);
        let listed = || values.is_some_and(|values| values.iter().any(|value| value.as_str() == own && own.is_some()));
        all &= match expression.get("operator")?.as_str()? {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => own.is_some(),
            "DoesNotExist" => own.is_none(),
            _ => return None,
        };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, labels: &Value, selector: &Value, resource: &str) -> Value {
        let mut role = json!({"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}});
        if !selector.is_null() {
            role["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
        }
        if !resource.is_empty() {
            role["rules"] = json!([{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]);
        }
        role
    }

    #[test]
    fn rules_are_gathered_by_name_without_doubles_until_nothing_is_left() {
        let to = |what: &str| json!({what: "true"});
        let select = |what: &str| json!({"matchLabels": {what: "true"}});
        let mut roles = vec![
            role("top", &Value::Null, &select("top"), ""),
            role("mid", &to("top"), &select("mid"), "stale"),
            role("b", &to("mid"), &Value::Null, "pods"),
            role("a", &to("mid"), &Value::Null, "secrets"),
            role("c", &to("mid"), &Value::Null, "pods"),
        ];
        let mut rounds = 0;
        loop {
            let writes = aggregate(&roles);
            if writes.is_empty() {
                break;
            }
            rounds += 1;
            for (name, rules) in writes {
                let role = roles.iter_mut().find(|role| role["metadata"]["name"] == name.as_str()).unwrap();
                role["rules"] = json!(rules);
            }
        }
        assert_eq!(rounds, 2);
        let told: Vec<String> = Rule::all_of(&roles[0]).iter().map(|rule| rule.resources[0].clone()).collect();
        assert_eq!(told, ["secrets", "pods"]);
    }

    #[test]
    fn expressions_select_as_well_and_nonsense_gathers_nothing() {
        let select = |operator: &str, values: &Value| {
            let selector = json!({"matchExpressions": [{"key": "k", "operator": operator, "values": values}]});
            let roles = [
                role("top", &json!({"k": "own"}), &selector, ""),
                role("x", &json!({"k": "x"}), &Value::Null, "x"),
                role("y", &Value::Null, &Value::Null, "y"),
            ];
            let gathered = aggregate(&roles).pop().map(|(_, gathered)| gathered).unwrap_or_default();
            gathered.into_iter().map(|rule| rule.resources[0].clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(select("In", &json!(["x"])), "x");
        assert_eq!(select("NotIn", &json!(["x"])), "y");
        assert_eq!(select("Exists", &Value::Null), "x");
        assert_eq!(select("DoesNotExist", &Value::Null), "y");
        assert_eq!(select("Near", &json!(["x"])), "");
    }
}
