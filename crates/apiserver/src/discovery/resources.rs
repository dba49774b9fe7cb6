//! Every resource that is served, with what is below it: also those that are answered and never kept.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::kind::{Kind, Nature};
use crate::served::{Kinds, Served};

/// A resource.
#[derive(Clone)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    name: String,
    singular: String,
    kind: String,
    namespaced: bool,
    verbs: Vec<&'static str>,
    short_names: Vec<String>,
    categories: Vec<String>,
    /// Custom kinds are named in full.
    custom: bool,
    /// A digest of the version in which it is kept, if it is kept.
    storage: Option<String>,
    below: Vec<Below>,
}

/// Something below a resource.
#[derive(Clone)]
struct Below {
    name: &'static str,
    /// Group, version and kind, if they are not the resource's own.
    of: Option<(&'static str, &'static str, &'static str)>,
    verbs: Vec<&'static str>,
}

/// Resources that answer and forget: group, resource, kind, whether in a namespace.
const REVIEWS: [(&str, &str, &str, bool); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", false),
    ("authentication.k8s.io", "tokenreviews", "TokenReview", false),
    ("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", false),
    ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false),
];

/// All resources, by group, version and name.
pub(super) fn resources(kinds: &Kinds) -> Vec<Resource> {
    let kept = kinds.all().map(|served| of_kind(&served.kind, storage(kinds, served)));
    kept.chain(REVIEWS.iter().map(review)).collect()
}

/// The first bytes of a hash over the version in which objects are kept.
fn storage(kinds: &Kinds, served: &Served) -> Option<String> {
    let Kind { group, version, kind, .. } = kinds.stored(&served.resource)?.kind.as_ref();
    // Definitions are older than their version, and still kept in the one before it.
    let version = if group == crate::kinds::crd::GROUP { "v1beta1" } else { version };
    Some(STANDARD.encode(&Sha256::digest(format!("{group}/{version}/{kind}"))[..8]))
}

fn of_kind(kind: &Kind, storage: Option<String>) -> Resource {
    Resource {
        group: kind.group.clone(),
        version: kind.version.clone(),
        name: kind.plural.clone(),
        singular: kind.singular.clone(),
        kind: kind.kind.clone(),
        namespaced: kind.namespaced,
        verbs: kind.verbs.clone(),
        short_names: kind.short_names.clone(),
        categories: kind.categories.clone(),
        custom: matches!(kind.nature, Nature::Custom(_)),
        storage,
        below: below(kind),
    }
}

fn below(kind: &Kind) -> Vec<Below> {
    let written = vec!["get", "patch", "update"];
    let mut below = Vec::new();
    if kind.group.is_empty() && kind.plural == "namespaces" {
        below.push(Below { name: "finalize", of: None, verbs: vec!["update"] });
    }
    if kind.status {
        below.push(Below { name: "status", of: None, verbs: written.clone() });
    }
    if kind.scale.is_some() {
        below.push(Below { name: "scale", of: Some(("autoscaling", "v1", "Scale")), verbs: written });
    }
    if kind.group.is_empty() && kind.plural == "serviceaccounts" {
        let of = Some(("authentication.k8s.io", "v1", "TokenRequest"));
        below.push(Below { name: "token", of, verbs: vec!["create"] });
    }
    below
}

fn review(review: &(&str, &str, &str, bool)) -> Resource {
    let (group, name, kind, namespaced) = *review;
    Resource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        name: name.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        namespaced,
        verbs: vec!["create"],
        short_names: Vec::new(),
        categories: Vec::new(),
        custom: false,
        storage: None,
        below: Vec::new(),
    }
}

impl Resource {
    /// The resource and what is below it, as entries of a list.
    pub(super) fn listed(&self) -> Vec<Value> {
        let mut own = json!({
            "name": self.name, "singularName": self.singular, "namespaced": self.namespaced, "kind": self.kind,
            "verbs": self.verbs,
        });
        self.add_names(&mut own);
        if let Some(storage) = &self.storage {
            own["storageVersionHash"] = json!(storage);
        }
        let mut listed = vec![own];
        for below in &self.below {
            let mut entry = json!({
                "name": format!("{}/{}", self.name, below.name), "singularName": "", "namespaced": self.namespaced,
                "kind": self.kind, "verbs": below.verbs,
            });
            if let Some((group, version, kind)) = below.of {
                entry["group"] = json!(group);
                entry["version"] = json!(version);
                entry["kind"] = json!(kind);
            }
            listed.push(entry);
        }
        listed
    }

    /// The resource with what is below it inside.
    pub(super) fn whole(&self) -> Value {
        let (group, version) = if self.custom { (self.group.as_str(), self.version.as_str()) } else { ("", "") };
        let own = json!({ "group": group, "version": version, "kind": self.kind });
        let mut whole = json!({
            "resource": self.name, "responseKind": own, "singularResource": self.singular, "verbs": self.verbs,
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
        });
        self.add_names(&mut whole);
        let below = self.below.iter().map(|below| {
            let kind =
                below.of.map(|(group, version, kind)| json!({ "group": group, "version": version, "kind": kind }));
            let kind = kind.unwrap_or_else(|| own.clone());
            json!({ "subresource": below.name, "responseKind": kind, "verbs": below.verbs })
        });
        if !self.below.is_empty() {
            whole["subresources"] = below.collect();
        }
        whole
    }

    fn add_names(&self, entry: &mut Value) {
        for (field, names) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !names.is_empty() {
                entry[field] = json!(names);
            }
        }
    }
}
