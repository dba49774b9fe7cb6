//! What a request to the API server is about, read from its method and path.

use http::{Method, Uri};

/// A request in Kubernetes' words; borrowed from the request itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub(super) verb: &'static str,
    /// The resource with its subresource, `runnerpools/status`; the path itself for anything that is no resource.
    pub(super) resource: String,
    /// The namespace, or nothing for cluster-scoped requests.
    pub(super) namespace: &'a str,
    /// The object's name, or nothing for collections.
    pub(super) name: &'a str,
}

impl<'a> Route<'a> {
    pub(super) fn of(method: &Method, uri: &'a Uri) -> Self {
        let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let below_version = match parts.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let (namespace, tail) = match below_version {
            ["namespaces", namespace, tail @ ..] if !tail.is_empty() => (*namespace, tail),
            tail => ("", tail),
        };
        let (resource, name) = match tail {
            [] => (uri.path().to_owned(), ""),
            [resource] => ((*resource).to_owned(), ""),
            [resource, name] => ((*resource).to_owned(), *name),
            [resource, name, sub @ ..] => (format!("{resource}/{}", sub.join("/")), *name),
        };
        let watching = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
        Self { verb: verb(method, name.is_empty(), watching), resource, namespace, name }
    }

    /// Whether the answer is a stream that lives longer than one call.
    pub(super) fn is_watch(&self) -> bool {
        self.verb == "watch"
    }
}

fn verb(method: &Method, collection: bool, watching: bool) -> &'static str {
    match (method.as_str(), collection) {
        ("GET", _) if watching => "watch",
        ("GET", true) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", _) => "delete",
        // What is left is GET of one object, and methods the API server has no verb for.
        (_, _) => "get",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::core_list("GET", "/api/v1/namespaces/ns/pods?limit=5", "list", "pods", "ns", "")]
    #[case::group_get("GET", "/apis/g.io/v1/namespaces/ns/widgets/one?", "get", "widgets", "ns", "one")]
    #[case::status("PATCH", "/apis/g.io/v1/namespaces/ns/widgets/one/status", "patch", "widgets/status", "ns", "one")]
    #[case::watch_all("GET", "/apis/g.io/v1/widgets?&watch=true&timeoutSeconds=290", "watch", "widgets", "", "")]
    #[case::a_namespace("GET", "/api/v1/namespaces/ns", "get", "namespaces", "", "ns")]
    #[case::namespaces("GET", "/api/v1/namespaces", "list", "namespaces", "", "")]
    #[case::review("POST", "/apis/authentication.k8s.io/v1/tokenreviews", "create", "tokenreviews", "", "")]
    #[case::version("GET", "/version", "list", "/version", "", "")]
    fn requests_read_as_kubernetes_names_them(
        #[case] method: &str,
        #[case] uri: &str,
        #[case] verb: &str,
        #[case] resource: &str,
        #[case] namespace: &str,
        #[case] name: &str,
    ) {
        let (method, uri): (Method, Uri) = (method.parse().unwrap(), uri.parse().unwrap());
        let route = Route::of(&method, &uri);
        assert_eq!((route.verb, route.resource.as_str()), (verb, resource));
        assert_eq!((route.namespace, route.name), (namespace, name));
    }
}
