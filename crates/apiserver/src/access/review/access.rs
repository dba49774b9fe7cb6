//! May somebody do that?

use std::collections::BTreeMap;

use api::{Cause, Violation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Review, Setting, metadata};
use crate::access::attributes::{Attributes, Resource};
use crate::access::quote::quote;
use crate::access::user::User;
use crate::failure::{Failure, Of};

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_attributes: Option<ResourceAttributes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    non_resource_attributes: Option<PathAttributes>,
    #[serde(skip_serializing_if = "String::is_empty")]
    user: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceAttributes {
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    verb: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_selector: Option<Selector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_selector: Option<Selector>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PathAttributes {
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    verb: String,
}

/// Rules do not look at selectors: they come back as they came.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    #[serde(skip_serializing_if = "String::is_empty")]
    raw_selector: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requirements: Vec<Value>,
}

pub(super) fn answer(review: Review, body: &Value, setting: &Setting<'_>) -> Result<Value, Failure> {
    let mut spec: Spec = review.read(body, "spec")?;
    let mut metadata = metadata::of(body);
    if review == Review::SelfSubjectAccess {
        let Spec { resource_attributes, non_resource_attributes, .. } = spec;
        spec = Spec { resource_attributes, non_resource_attributes, ..Spec::default() };
    }
    if review == Review::LocalSubjectAccess {
        localise(&mut metadata, setting.namespace)?;
    }
    let violations = violations(review, &spec, &metadata);
    if !violations.is_empty() {
        // Without a kind: the real server has forgotten it when it gets here.
        return Err(Failure::invalid(Of { group: review.group(), name: "" }, "", &violations));
    }
    let decision = setting.policy.authorize(&spec.wish(review, setting.user));
    let mut status = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        status["reason"] = json!(decision.reason);
    }
    Ok(json!({
        "kind": review.kind(), "apiVersion": review.api_version(), "metadata": metadata,
        "spec": spec, "status": status,
    }))
}

/// Puts the namespace of the path into the metadata; they must not contradict each other.
fn localise(metadata: &mut Map<String, Value>, namespace: &str) -> Result<(), Failure> {
    let own = metadata.entry("namespace").or_insert_with(|| json!(namespace));
    if own.as_str() == Some(namespace) {
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(Failure::bad_request(message))
}

impl Spec {
    fn wish(&self, review: Review, asking: &User) -> Attributes {
        let user = match review {
            Review::SelfSubjectAccess => asking.clone(),
            Review::SubjectAccess
            | Review::LocalSubjectAccess
            | Review::Token
            | Review::SelfSubjectRules
            | Review::SelfSubject => {
                let Self { user: name, uid, groups, extra, .. } = self;
                let (name, uid, groups, extra) = (name.clone(), uid.clone(), groups.clone(), extra.clone());
                User { name, uid, groups, extra }
            }
        };
        match (&self.resource_attributes, &self.non_resource_attributes) {
            (Some(wish), _) => Attributes::resource(&user, &wish.verb, wish.resource()),
            (None, Some(wish)) => Attributes::path(&user, &wish.verb, &wish.path),
            (None, None) => Attributes::path(&user, "", ""),
        }
    }
}

impl ResourceAttributes {
    fn resource(&self) -> Resource {
        Resource {
            group: self.group.clone(),
            version: if self.version.is_empty() { "*".to_owned() } else { self.version.clone() },
            resource: self.resource.clone(),
            subresource: self.subresource.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

fn violations(review: Review, spec: &Spec, metadata: &Map<String, Value>) -> Vec<Violation> {
    let mut found = spec_violations(review, spec);
    found.extend(spec.resource_attributes.iter().flat_map(selector_violations));
    let local = review == Review::LocalSubjectAccess;
    let (allowed, why): (&[&str], _) =
        if local { (&["namespace"], "must be empty except for namespace") } else { (&[], "must be empty") };
    if metadata::says_more(metadata, allowed) {
        found.push(invalid("metadata", &metadata::shown(metadata), why));
    }
    if local {
        let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
        found.extend(local_violations(spec, namespace));
    }
    found
}

fn invalid(field: &str, value: &str, why: &str) -> Violation {
    Violation::at(field, Cause::Invalid, format!("Invalid value: {value}: {why}"))
}

fn spec_violations(review: Review, spec: &Spec) -> Vec<Violation> {
    let mut found = Vec::new();
    match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(_), Some(path)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            found.push(invalid("spec.nonResourceAttributes", &path.shown(), why));
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            found.push(invalid("spec.resourceAttributes", "null", why));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    if review != Review::SelfSubjectAccess && spec.user.is_empty() && spec.groups.is_empty() {
        found.push(invalid("spec.user", "\"\"", "at least one of user or group must be specified"));
    }
    found
}

fn local_violations(spec: &Spec, namespace: &str) -> Vec<Violation> {
    let elsewhere = spec.resource_attributes.as_ref().filter(|wish| wish.namespace != namespace).map(|wish| {
        let field = "spec.resourceAttributes.namespace";
        invalid(field, &quote(&wish.namespace), "must match metadata.namespace")
    });
    let path = spec.non_resource_attributes.as_ref();
    let path =
        path.map(|path| invalid("spec.nonResourceAttributes", &path.shown(), "disallowed on this kind of request"));
    elsewhere.into_iter().chain(path).collect()
}

fn selector_violations(wish: &ResourceAttributes) -> Vec<Violation> {
    let mut found = Vec::new();
    let selectors = [("fieldSelector", &wish.field_selector), ("labelSelector", &wish.label_selector)];
    for (name, selector) in selectors.into_iter().filter_map(|(name, selector)| Some((name, selector.as_ref()?))) {
        let field = format!("spec.resourceAttributes.{name}");
        match (selector.raw_selector.as_str(), selector.requirements.is_empty()) {
            ("", true) => {
                let message =
                    format!("Required value: when {field} is specified, requirements or rawSelector is required");
                found.push(Violation::at(&format!("{field}.requirements"), Cause::Required, message));
            }
            ("", false) | (_, true) => {}
            (raw, false) => {
                let why = "may not specified at the same time as requirements";
                found.push(invalid(&format!("{field}.rawSelector"), &quote(raw), why));
            }
        }
    }
    found
}

impl PathAttributes {
    /// The wish as refusals show it, with the real server's inner names.
    fn shown(&self) -> String {
        format!("{{\"Path\":{},\"Verb\":{}}}", json!(self.path), json!(self.verb))
    }
}
