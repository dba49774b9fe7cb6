//! What a request is about, read from its method, path and body.

use std::fmt;

use bytes::Bytes;
use http::{Method, Uri};
use serde_json::Value;

/// How a destination understands requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A Kubernetes API: verbs, resources, objects, watches.
    Kubernetes,
    /// Anything else over HTTP: GET and HEAD read, everything else acts.
    Other,
}

/// What is done, in Kubernetes' words; calls elsewhere are reads or acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// One object is read.
    Get,
    /// A collection is read.
    List,
    /// A collection is followed.
    Watch,
    /// An object is made.
    Create,
    /// An object is replaced.
    Update,
    /// Part of an object is replaced.
    Patch,
    /// An object is removed.
    Delete,
    /// Something that is no Kubernetes API reads.
    Read,
    /// Something that is no Kubernetes API acts.
    Act,
}

impl Verb {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Read => "read",
            Self::Act => "act",
        }
    }

    /// Whether it may change something.
    pub const fn writes(self) -> bool {
        match self {
            Self::Create | Self::Update | Self::Patch | Self::Delete | Self::Act => true,
            Self::Get | Self::List | Self::Watch | Self::Read => false,
        }
    }
}

/// An object of an API, or a collection if it has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// `plural.group`, or the plural alone in the core group; for other destinations the path.
    pub resource: String,
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name, or nothing.
    pub name: String,
}

impl Object {
    /// The object `namespace/name` of `resource`.
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self { resource: resource.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        for part in [&self.namespace, &self.name] {
            if !part.is_empty() {
                write!(f, " {part}")?;
            }
        }
        Ok(())
    }
}

/// One request, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// What is done.
    pub verb: Verb,
    /// To what.
    pub object: Object,
    /// Which part of it, or nothing.
    pub part: String,
    /// Whether it only changes what its sender has seen: it names a resource version or a uid, or makes a named object.
    pub guarded: bool,
    /// Whether it is a read that takes any version (`resourceVersion=0`): a server that is behind may answer it. All
    /// other reads of a Kubernetes API are as new as can be.
    pub lenient: bool,
}

impl Deed {
    /// Reads a request to a destination of this nature.
    pub fn of(nature: Nature, method: &Method, uri: &Uri, body: &Bytes) -> Self {
        match nature {
            Nature::Kubernetes => kubernetes(method, uri, body),
            Nature::Other => {
                let verb = if matches!(*method, Method::GET | Method::HEAD) { Verb::Read } else { Verb::Act };
                let object = Object::new(&format!("{method} {}", uri.path()), "", "");
                Self { verb, object, part: String::new(), guarded: false, lenient: false }
            }
        }
    }
}

fn kubernetes(method: &Method, uri: &Uri, body: &Bytes) -> Deed {
    let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    let (group, below) = match parts.as_slice() {
        ["api", _, below @ ..] => ("", below),
        ["apis", group, _, below @ ..] => (*group, below),
        _ => ("", &[][..]),
    };
    let (namespace, tail) = match below {
        ["namespaces", namespace, tail @ ..] if !tail.is_empty() => (*namespace, tail),
        tail => ("", tail),
    };
    let (plural, name, part) = match tail {
        [] => (uri.path(), "", String::new()),
        [plural] => (*plural, "", String::new()),
        [plural, name, part @ ..] => (*plural, *name, part.join("/")),
    };
    let resource = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    let sent: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let named = sent.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let verb = verb(method, uri, name.is_empty());
    let held = ["/metadata/resourceVersion", "/metadata/uid", "/preconditions/uid", "/preconditions/resourceVersion"];
    let guarded = match verb {
        Verb::Create => !named.is_empty(),
        Verb::Get | Verb::List | Verb::Watch | Verb::Update | Verb::Patch | Verb::Delete | Verb::Read | Verb::Act => {
            held.iter().any(|pointer| sent.pointer(pointer).is_some_and(Value::is_string))
        }
    };
    let name = if verb == Verb::Create && part.is_empty() { named } else { name };
    let any_version = |query: &str| query.split('&').any(|pair| pair == "resourceVersion=0");
    let lenient = matches!(verb, Verb::Get | Verb::List) && uri.query().is_some_and(any_version);
    Deed { verb, object: Object::new(&resource, namespace, name), part, guarded, lenient }
}

fn verb(method: &Method, uri: &Uri, collection: bool) -> Verb {
    let watching = |query: &str| query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1");
    match method.as_str() {
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        _ if uri.query().is_some_and(watching) => Verb::Watch,
        _ if collection => Verb::List,
        _ => Verb::Get,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("GET", "/api/v1/namespaces/n/configmaps?limit=5", "", Verb::List, "configmaps n", false)]
    #[case("GET", "/apis/g.io/v1/lamps?&watch=true", "", Verb::Watch, "lamps.g.io", false)]
    #[case(
        "POST",
        "/api/v1/namespaces/n/configmaps",
        r#"{"metadata":{"name":"a"}}"#,
        Verb::Create,
        "configmaps n a",
        true
    )]
    #[case(
        "POST",
        "/api/v1/namespaces/n/configmaps",
        r#"{"metadata":{"generateName":"a-"}}"#,
        Verb::Create,
        "configmaps n",
        false
    )]
    #[case(
        "PUT",
        "/apis/g.io/v1/namespaces/n/lamps/a/status",
        r#"{"metadata":{"resourceVersion":"4"}}"#,
        Verb::Update,
        "lamps.g.io n a",
        true
    )]
    #[case("PATCH", "/apis/g.io/v1/namespaces/n/lamps/a", r#"{"spec":{}}"#, Verb::Patch, "lamps.g.io n a", false)]
    #[case(
        "DELETE",
        "/api/v1/namespaces/n/configmaps/a",
        r#"{"preconditions":{"uid":"u"}}"#,
        Verb::Delete,
        "configmaps n a",
        true
    )]
    #[case("GET", "/api/v1/namespaces/n", "", Verb::Get, "namespaces n", false)]
    fn requests_read_as_kubernetes_names_them(
        #[case] method: &str,
        #[case] uri: &str,
        #[case] body: &'static str,
        #[case] verb: Verb,
        #[case] object: &str,
        #[case] guarded: bool,
    ) {
        let (method, uri): (Method, Uri) = (method.parse().unwrap(), uri.parse().unwrap());
        let deed = Deed::of(Nature::Kubernetes, &method, &uri, &Bytes::from_static(body.as_bytes()));
        assert_eq!((deed.verb, deed.object.to_string().as_str(), deed.guarded), (verb, object, guarded));
    }
}
