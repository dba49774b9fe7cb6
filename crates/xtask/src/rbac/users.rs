//! Roles for people: what `view` and `edit` mean for our kinds, and who may read metrics and look at the console.

use serde_json::{Value, json};

use super::{API, PREFIX, metadata};

/// A kind people work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its API group.
    pub group: String,
    /// Its resource name, plural.
    pub plural: String,
    /// Whether it can be scaled.
    pub scale: bool,
}

/// Kinds that hold an administrator's trust: where credentials are sent and who may use them. `edit` does not include
/// them; an administrator grants the role for them by name.
const ADMINISTRATORS: &[&str] = &["hypervisorclusters"];

/// Kinds that only our own processes write; people may delete them.
const OURS: &[&str] = &["runnerjobs"];

const LOOK: [&str; 3] = ["get", "list", "watch"];
const CHANGE: [&str; 3] = ["create", "update", "patch"];
const DELETE: [&str; 2] = ["delete", "deletecollection"];

/// The role of those who scrape metrics.
pub fn metrics_reader() -> Value {
    json!({
        "apiVersion": API, "kind": "ClusterRole", "metadata": metadata(&format!("{PREFIX}-metrics-reader"), None),
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    })
}

/// The role of those who look at the console.
pub fn console_reader() -> Value {
    json!({
        "apiVersion": API, "kind": "ClusterRole", "metadata": metadata(&format!("{PREFIX}-console-reader"), None),
        "rules": [{"nonResourceURLs": ["/console/*"], "verbs": ["get"]}],
    })
}

/// Roles that make `view` and `edit` cover our kinds, and one for administrators of hypervisors.
pub fn user_roles(kinds: &[Kind]) -> Vec<Value> {
    let all: Vec<&Kind> = kinds.iter().collect();
    let is = |list: &[&str], kind: &Kind| list.contains(&kind.plural.as_str());
    let (trusted, open): (Vec<&Kind>, Vec<&Kind>) = kinds.iter().partition(|kind| is(ADMINISTRATORS, kind));
    let (ours, theirs): (Vec<&Kind>, Vec<&Kind>) = open.iter().partition(|kind| is(OURS, kind));
    let full = [&LOOK[..], &CHANGE[..], &DELETE[..]].concat();
    vec![
        role("view", Some("aggregate-to-view"), &rules(&all, &LOOK)),
        role("edit", Some("aggregate-to-edit"), &[rules(&theirs, &full[LOOK.len()..]), rules(&ours, &DELETE)].concat()),
        role("hypervisor-admin", None, &rules(&trusted, &full)),
    ]
}

fn role(name: &str, aggregate: Option<&str>, rules: &[Value]) -> Value {
    let mut metadata = metadata(&format!("{PREFIX}-{name}"), None);
    if let Some(aggregate) = aggregate {
        metadata["labels"][format!("rbac.authorization.k8s.io/{aggregate}")] = json!("true");
    }
    json!({"apiVersion": API, "kind": "ClusterRole", "metadata": metadata, "rules": rules})
}

/// One rule for the kinds and one for those of them that scale.
fn rules(kinds: &[&Kind], verbs: &[&str]) -> Vec<Value> {
    let of_scale: Vec<&str> = verbs.iter().copied().filter(|verb| ["get", "update", "patch"].contains(verb)).collect();
    let mut rules = Vec::new();
    for same_group in kinds.chunk_by(|a, b| a.group == b.group) {
        let groups = [&same_group[0].group];
        let plurals: Vec<&String> = same_group.iter().map(|kind| &kind.plural).collect();
        rules.push(json!({"apiGroups": groups, "resources": plurals, "verbs": verbs}));
        let scalable = same_group.iter().filter(|kind| kind.scale && !of_scale.is_empty());
        let scalable: Vec<String> = scalable.map(|kind| format!("{}/scale", kind.plural)).collect();
        if !scalable.is_empty() {
            rules.push(json!({"apiGroups": groups, "resources": scalable, "verbs": of_scale}));
        }
    }
    rules
}
