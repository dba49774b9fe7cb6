//! What somebody asks for, as an authorizer sees it, and the refusal that names it.

use http::StatusCode;

use super::User;
use super::quote::quote;
use crate::failure::{Details, Failure, Of};

/// One wish of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Who asks.
    pub user: User,
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection` or another word that
    /// rules know; the method in lower case for a path.
    pub verb: String,
    /// What it is about.
    pub target: Target,
}

/// What a wish is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Objects of the API.
    Resource(Resource),
    /// A path that is no object, such as `/version`.
    Path(String),
}

/// Objects of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// The group; empty for the core.
    pub group: String,
    /// The version; rules do not look at it.
    pub version: String,
    /// The plural name.
    pub resource: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    /// The name of the object; empty for all of them.
    pub name: String,
    /// The namespace; empty for objects without one and for all namespaces.
    pub namespace: String,
}

impl Resource {
    /// `resource`, or `resource/subresource`: what rules list.
    pub fn combined(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

impl Attributes {
    /// A wish about objects.
    pub fn resource(user: &User, verb: impl Into<String>, resource: Resource) -> Self {
        Self { user: user.clone(), verb: verb.into(), target: Target::Resource(resource) }
    }

    /// A wish about a path.
    pub fn path(user: &User, verb: impl Into<String>, path: impl Into<String>) -> Self {
        Self { user: user.clone(), verb: verb.into(), target: Target::Path(path.into()) }
    }

    /// The namespace in which roles are looked for; empty for none.
    pub fn namespace(&self) -> &str {
        match &self.target {
            Target::Resource(resource) => &resource.namespace,
            Target::Path(_) => "",
        }
    }

    /// The sentence that says what cannot be done.
    pub fn describe(&self) -> String {
        let (user, verb) = (quote(&self.user.name), &self.verb);
        match &self.target {
            Target::Path(path) => format!("User {user} cannot {verb} path {}", quote(path)),
            Target::Resource(resource) => {
                let scope = match resource.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {}", quote(namespace)),
                };
                let (what, group) = (quote(&resource.combined()), quote(&resource.group));
                format!("User {user} cannot {verb} resource {what} in API group {group} {scope}")
            }
        }
    }

    /// The refusal, with the authorizer's reason if it has one.
    pub fn forbidden(&self, reason: &str) -> Failure {
        // Nothing of a request may look like HTML to a browser that shows the refusal.
        let told = self.describe().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let why = if reason.is_empty() { told } else { format!("{told}: {reason}") };
        match &self.target {
            Target::Resource(Resource { group, resource, name, .. }) if !(group.is_empty() && resource.is_empty()) => {
                Failure::forbidden(Of { group, name: resource }, name, &why)
            }
            Target::Resource(Resource { name, .. }) => nameless(name, &why),
            Target::Path(_) => nameless("", &why),
        }
    }
}

fn nameless(name: &str, why: &str) -> Failure {
    let details = Details { name: name.to_owned(), ..Details::default() };
    Failure::new(StatusCode::FORBIDDEN, "Forbidden", format!("forbidden: {why}")).with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configmaps(namespace: &str, name: &str, subresource: &str) -> Resource {
        let owned = str::to_owned;
        Resource {
            resource: owned("configmaps"),
            namespace: owned(namespace),
            name: owned(name),
            subresource: owned(subresource),
            ..Resource::default()
        }
    }

    #[test]
    fn refusals_name_what_was_asked_for() {
        let user = User::new("x", &[]);
        let told = |verb, resource| Attributes::resource(&user, verb, resource).forbidden("").message;
        assert_eq!(
            told("list", configmaps("ns", "", "")),
            r#"configmaps is forbidden: User "x" cannot list resource "configmaps" in API group "" in the namespace "ns""#
        );
        assert_eq!(
            told("list", configmaps("", "", "")),
            r#"configmaps is forbidden: User "x" cannot list resource "configmaps" in API group "" at the cluster scope"#
        );
        assert_eq!(
            told("get", configmaps("ns", "c", "s")),
            r#"configmaps "c" is forbidden: User "x" cannot get resource "configmaps/s" in API group "" in the namespace "ns""#
        );
        let leases = Resource { group: "coordination.k8s.io".to_owned(), ..configmaps("ns", "c", "") };
        assert!(told("get", leases).starts_with(r#"configmaps.coordination.k8s.io "c" is forbidden: "#));
    }

    #[test]
    fn a_path_is_refused_without_a_kind_and_without_looking_like_html() {
        let refusal = Attributes::path(&User::new("<b>", &[]), "get", "/x").forbidden("because");
        assert_eq!(refusal.message, r#"forbidden: User "&lt;b&gt;" cannot get path "/x": because"#);
        assert_eq!(refusal.details.as_deref(), Some(&Details::default()));
    }
}
