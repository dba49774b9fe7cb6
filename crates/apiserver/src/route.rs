//! What a request is about, from its method and path.

use http::Method;
use percent_encoding::percent_decode_str;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An object, a collection, or a subresource.
    Resource(Target),
    /// Everything else: discovery, schemas, health; its segments.
    Other(Vec<String>),
}

/// A place in the resource tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// The group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace; empty for cluster-scoped kinds and lists across namespaces.
    pub namespace: String,
    /// The plural name.
    pub plural: String,
    /// The object's name; empty for collections.
    pub name: String,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: String,
    /// Whether the path goes on behind the subresource.
    pub deeper: bool,
}

impl Route {
    /// Reads a path.
    pub(crate) fn of(path: &str) -> Self {
        let segments: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        Self::resource(&segments).map_or(Self::Other(segments), Self::Resource)
    }

    fn resource(segments: &[String]) -> Option<Target> {
        let (group, version, rest) = match segments {
            [api, version, rest @ ..] if api == "api" => (String::new(), version, rest),
            [apis, group, version, rest @ ..] if apis == "apis" => (group.clone(), version, rest),
            _ => return None,
        };
        let target = Target { group, version: version.clone(), ..Target::default() };
        let text = String::clone;
        // `namespaces/x/finalize` is the namespace's own; `namespaces/x/configmaps` is a collection in it.
        Some(match rest {
            [] => return None,
            [namespaces, name, sub] if namespaces == "namespaces" && matches!(sub.as_str(), "status" | "finalize") => {
                Target { plural: text(namespaces), name: text(name), subresource: text(sub), ..target }
            }
            [namespaces, namespace, plural, tail @ ..] if namespaces == "namespaces" => {
                let target = Target { namespace: text(namespace), plural: text(plural), ..target };
                with_name(target, tail)
            }
            [plural, tail @ ..] => with_name(Target { plural: text(plural), ..target }, tail),
        })
    }
}

fn with_name(target: Target, tail: &[String]) -> Target {
    match tail {
        [] => target,
        [name] => Target { name: name.clone(), ..target },
        [name, sub, rest @ ..] => {
            Target { name: name.clone(), subresource: sub.clone(), deeper: !rest.is_empty(), ..target }
        }
    }
}

/// What is done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object.
    Update,
    /// Change an object.
    Patch,
    /// Remove an object.
    Delete,
    /// Remove a collection.
    DeleteCollection,
}

impl Verb {
    /// The verb of a request, as roles name it.
    pub(crate) fn of(method: &Method, target: &Target, watch: bool) -> Option<Self> {
        let named = !target.name.is_empty();
        Some(match *method {
            Method::GET | Method::HEAD if watch => Self::Watch,
            Method::GET | Method::HEAD if named => Self::Get,
            Method::GET | Method::HEAD => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if named => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => return None,
        })
    }

    /// The word that stands in roles.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> (String, String, String, String, String) {
        let Route::Resource(target) = Route::of(path) else { panic!("{path} is no resource") };
        let Target { group, version, namespace, plural, name, subresource, deeper: _ } = target;
        (format!("{group}/{version}"), namespace, plural, name, subresource)
    }

    fn expected(parts: [&str; 5]) -> (String, String, String, String, String) {
        let [one, two, three, four, five] = parts.map(str::to_owned);
        (one, two, three, four, five)
    }

    #[test]
    fn every_form_of_path_is_understood() {
        for (path, parts) in [
            ("/api/v1/configmaps", ["/v1", "", "configmaps", "", ""]),
            ("/api/v1/namespaces/a/configmaps/b", ["/v1", "a", "configmaps", "b", ""]),
            ("/api/v1/namespaces", ["/v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/a", ["/v1", "", "namespaces", "a", ""]),
            ("/api/v1/namespaces/a/finalize", ["/v1", "", "namespaces", "a", "finalize"]),
            ("/api/v1/namespaces/a/status", ["/v1", "", "namespaces", "a", "status"]),
            ("/apis/g.io/v1/namespaces/a/lamps/b/scale", ["g.io/v1", "a", "lamps", "b", "scale"]),
            ("/apis/g.io/v1/lamps", ["g.io/v1", "", "lamps", "", ""]),
            ("/apis/g.io/v1/things/a%20b", ["g.io/v1", "", "things", "a b", ""]),
        ] {
            assert_eq!(target(path), expected(parts), "{path}");
        }
        assert!(matches!(Route::of("/apis/g.io/v1"), Route::Other(_)));
        assert!(matches!(Route::of("/openapi/v3/api/v1"), Route::Other(_)));
    }
}
