//! A rule of a role: verbs, on which objects or paths.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attributes::{Attributes, Resource, Target};
use super::quote::quote_all;

/// What one rule allows; every list says "any of these", `*` says "whatever".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// The verbs.
    pub verbs: Vec<String>,
    /// The groups of the objects; the core is the empty one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The plural names: `pods`, `pods/log`, `*/scale`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names of the objects; none means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// The paths that are no objects; one may end in `*`.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// The rules of a role, or of a cluster role.
    pub fn all_of(role: &Value) -> Vec<Self> {
        role.get("rules").and_then(Value::as_array).into_iter().flatten().map(Self::parse).collect()
    }

    /// One rule; what is not a list of texts counts as nothing.
    pub fn parse(rule: &Value) -> Self {
        let list = |key: &str| {
            let texts = rule.get(key).and_then(Value::as_array).into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            api_groups: list("apiGroups"),
            resources: list("resources"),
            resource_names: list("resourceNames"),
            non_resource_urls: list("nonResourceURLs"),
        }
    }

    /// Whether the rule allows a wish, whoever has it.
    pub fn allows(&self, wish: &Attributes) -> bool {
        has_or_all(&self.verbs, &wish.verb)
            && match &wish.target {
                Target::Resource(resource) => self.allows_resource(resource),
                Target::Path(path) => self.non_resource_urls.iter().any(|url| url_covers(url, path)),
            }
    }

    fn allows_resource(&self, wish: &Resource) -> bool {
        has_or_all(&self.api_groups, &wish.group)
            && self.resources.iter().any(|listed| resource_matches(listed, wish))
            && (self.resource_names.is_empty() || has(&self.resource_names, &wish.name))
    }
}

/// The rule as escalation refusals write it.
impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let parts = lists.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = parts.map(|(name, list)| format!("{name}:{}", quote_all(list))).collect();
        write!(f, "{{{}}}", parts.join(", "))
    }
}

fn resource_matches(listed: &str, wish: &Resource) -> bool {
    if listed == "*" {
        return true;
    }
    if wish.subresource.is_empty() {
        return listed == wish.resource;
    }
    // Compared in parts, so that no request needs to put them together.
    let rest = listed.strip_suffix(wish.subresource.as_str()).and_then(|rest| rest.strip_suffix('/'));
    rest.is_some_and(|resource| resource == "*" || resource == wish.resource)
}

/// Whether a listed path covers a path, or another listed one.
pub(super) fn url_covers(listed: &str, path: &str) -> bool {
    listed == path || (listed.ends_with('*') && path.starts_with(listed.trim_end_matches('*')))
}

/// Whether a list has an entry.
pub(super) fn has(list: &[String], entry: &str) -> bool {
    list.iter().any(|listed| listed == entry)
}

/// Whether a list has an entry, or `*`.
pub(super) fn has_or_all(list: &[String], entry: &str) -> bool {
    list.iter().any(|listed| listed == "*" || listed == entry)
}
