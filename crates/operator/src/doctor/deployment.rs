//! What the operator was told, as its Deployment shows it, or a `ConfigMap`.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container};
use kube::api::ListParams;
use kube::{Api, Client};

/// The `ConfigMap` of the operator's variables: what our manifests install, and what `hyperfleet up` writes, which is no
/// Deployment.
pub(crate) const MAP: &str = "hyperfleet";
/// The variable.
pub(crate) const VARIABLE: &str = "BOOTSTRAP_ADVERTISE";
const FLAG: &str = "--bootstrap-advertise";
const FILE_FLAG: &str = "--config";
const FILE_VARIABLE: &str = "HYPERFLEET_CONFIG";

/// What a Deployment shows of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    /// The value itself.
    Value(String),
    /// That nobody has set it.
    Nothing,
    /// That something else may say it: a settings file, a `ConfigMap` or a Secret.
    Elsewhere,
}

/// `bootstrap.advertise` of the operator that runs in a namespace: empty if it has none, nothing if no operator is found
/// there, or if neither its Deployment nor a `ConfigMap` shows it.
pub async fn deployed(client: &Client, namespace: &str) -> Option<String> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let found = deployments.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
    let specs = found.into_iter().filter_map(|deployment| deployment.spec?.template.spec);
    let containers: Vec<Container> = specs.flat_map(|spec| spec.containers).filter(is_operator).collect();
    if let Some(value) = shown(&containers) {
        return Some(value);
    }
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    if containers.is_empty() {
        // One without the entry says nothing: the operator may be there and not be seen, and told by something else.
        return maps.get_opt(MAP).await.ok()??.data?.remove(VARIABLE);
    }
    for Entry { map, key } in containers.iter().flat_map(entries) {
        if let Ok(Some(ConfigMap { data: Some(mut entries), .. })) = maps.get_opt(&map).await
            && let Some(value) = entries.remove(&key)
        {
            return Some(value);
        }
    }
    None
}

/// Where in a `ConfigMap` a variable is.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    map: String,
    key: String,
}

/// Where a container's variable may come from, what counts first before the rest.
fn entries(container: &Container) -> Vec<Entry> {
    if flag(container, FLAG).is_some() {
        return Vec::new();
    }
    if let Some(set) = container.env.iter().flatten().find(|variable| variable.name == VARIABLE) {
        let from = set.value_from.as_ref().and_then(|from| from.config_map_key_ref.as_ref());
        return from.map(|at| Entry { map: at.name.clone(), key: at.key.clone() }).into_iter().collect();
    }
    let sources = container.env_from.iter().flatten().rev();
    let maps = sources.filter_map(|source| Some((source.config_map_ref.as_ref()?, source.prefix.as_deref())));
    let key = |prefix: Option<&str>| VARIABLE.strip_prefix(prefix.unwrap_or_default()).map(str::to_owned);
    maps.filter_map(|(map, prefix)| Some(Entry { map: map.name.clone(), key: key(prefix)? })).collect()
}

/// What these operators say together: the sets of controllers may be deployed apart, and not each of them needs to be told.
fn shown(containers: &[Container]) -> Option<String> {
    let told: Vec<Told> = containers.iter().map(told).collect();
    let value = told.iter().find_map(|told| match told {
        Told::Value(value) => Some(value.clone()),
        Told::Nothing | Told::Elsewhere => None,
    });
    let silent = !told.is_empty() && !told.contains(&Told::Elsewhere);
    value.or_else(|| silent.then(String::new))
}

fn words(container: &Container) -> impl Iterator<Item = &String> {
    container.command.iter().chain(&container.args).flatten()
}

fn is_operator(container: &Container) -> bool {
    let ours = container.image.as_deref().is_some_and(|image| image.contains("hyperfleet"));
    ours && words(container).any(|word| word == "operator")
}

/// What one container shows, in the order in which its sources count: flag, variable, file.
fn told(container: &Container) -> Told {
    match flag(container, FLAG).unwrap_or_else(|| variable(container, VARIABLE)) {
        // The kubelet puts another variable there, which may come from anywhere.
        Told::Value(value) if value.contains("$(") => Told::Elsewhere,
        Told::Nothing if has_file(container) => Told::Elsewhere,
        told @ (Told::Value(_) | Told::Nothing | Told::Elsewhere) => told,
    }
}

/// What a flag says, in one word or in two; nothing if it is not given.
fn flag(container: &Container, flag: &str) -> Option<Told> {
    let mut words = words(container);
    let rest =
        words.find_map(|word| word.strip_prefix(flag).filter(|rest| rest.is_empty() || rest.starts_with('=')))?;
    let value = rest.strip_prefix('=').or_else(|| words.next().map(String::as_str));
    Some(Told::Value(value.unwrap_or_default().to_owned()))
}

/// What a variable says; an empty one counts as unset, as it does for the operator.
fn variable(container: &Container, name: &str) -> Told {
    let set = container.env.iter().flatten().find(|variable| variable.name == name);
    let anywhere = container.env_from.as_ref().is_some_and(|sources| !sources.is_empty());
    match set {
        Some(variable) if variable.value_from.is_some() => Told::Elsewhere,
        Some(variable) => {
            let value = variable.value.as_deref().map(str::trim).filter(|value| !value.is_empty());
            value.map_or(Told::Nothing, |value| Told::Value(value.to_owned()))
        }
        None if anywhere => Told::Elsewhere,
        None => Told::Nothing,
    }
}

/// Whether a settings file may say more.
fn has_file(container: &Container) -> bool {
    flag(container, FILE_FLAG).is_some() || variable(container, FILE_VARIABLE) != Told::Nothing
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is known of an operator whose container has these fields.
    fn known(args: &[&str], fields: &Value) -> Option<String> {
        let args: Vec<&str> = ["operator"].iter().chain(args).copied().collect();
        let mut container = json!({ "name": "operator", "image": "ghcr.io/acme/hyperfleet:1", "args": args });
        container.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
        shown(&[serde_json::from_value(container).unwrap()])
    }

    #[test]
    fn an_address_is_read_wherever_it_stands_plainly() {
        let url = Some("https://10.0.0.5:8444".to_owned());
        assert_eq!(known(&["--bootstrap-advertise=https://10.0.0.5:8444"], &json!({})), url);
        assert_eq!(known(&["--bootstrap-advertise", "https://10.0.0.5:8444"], &json!({})), url, "in two words");
        let variable = json!({ "env": [{ "name": "BOOTSTRAP_ADVERTISE", "value": "https://10.0.0.5:8444" }] });
        assert_eq!(known(&["--config=/etc/hyperfleet.yaml"], &variable), url, "it counts before the file");
        let both = json!({ "env": [{ "name": "BOOTSTRAP_ADVERTISE", "valueFrom": {} }] });
        assert_eq!(known(&["--bootstrap-advertise=https://10.0.0.5:8444"], &both), url, "the flag counts first");
    }

    #[test]
    fn an_operator_that_may_have_been_told_elsewhere_is_not_said_to_have_no_address() {
        let variable = |entry: Value| json!({ "env": [entry] });
        for (args, fields) in [
            (&["--config=/etc/hyperfleet.yaml"][..], json!({})),
            (&["--config", "/etc/hyperfleet.yaml"], json!({})),
            (&[], variable(json!({ "name": "HYPERFLEET_CONFIG", "value": "/etc/hyperfleet.yaml" }))),
            (
                &[],
                variable(
                    json!({ "name": "BOOTSTRAP_ADVERTISE", "valueFrom": { "configMapKeyRef": { "name": "a", "key": "b" } } }),
                ),
            ),
            (&[], json!({ "envFrom": [{ "configMapRef": { "name": "a" } }] })),
            (&["--bootstrap-advertise=$(ADDRESS)"], json!({})),
        ] {
            assert_eq!(known(args, &fields), None, "{args:?} {fields}");
        }
    }

    #[test]
    fn an_operator_that_nobody_told_has_no_address() {
        assert_eq!(known(&["--leader-elect"], &json!({})), Some(String::new()));
        let empty = json!({ "env": [{ "name": "BOOTSTRAP_ADVERTISE", "value": " " }], "envFrom": [] });
        assert_eq!(known(&[], &empty), Some(String::new()));
        let other = json!({ "name": "other", "image": "nginx", "args": ["operator"] });
        assert!(!is_operator(&serde_json::from_value(other).unwrap()), "it is no operator of ours");
    }

    /// A cluster with one container in namespace `hf`, if there is one, and these `ConfigMap`s.
    fn cluster(container: Option<Value>, maps: &Value) -> Client {
        let maps = maps.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let path = request.uri().path().strip_prefix("/").unwrap_or_default().to_owned();
            let deployments = container.iter().map(|container| {
                let spec = json!({ "selector": {}, "template": { "spec": { "containers": [container] } } });
                json!({ "metadata": { "name": "operator" }, "spec": spec })
            });
            let here = path == "apis/apps/v1/namespaces/hf/deployments";
            let items: Vec<Value> = deployments.filter(|_| here).collect();
            let list = json!({ "kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": items });
            let map = path.strip_prefix("api/v1/namespaces/hf/configmaps/").map(|name| maps[name].clone());
            let absent = json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404 });
            let (code, answer) = match map {
                Some(Value::Null) => (404, absent),
                Some(data) => (200, json!({ "metadata": {}, "data": data })),
                None if path.ends_with("/deployments") => (200, list),
                None => (404, absent),
            };
            let body = http_body_util::Full::new(bytes::Bytes::from(answer.to_string()));
            let response = http::Response::builder().status(code).body(body);
            async { response }
        });
        Client::new(service, "default")
    }

    fn operator(fields: &Value) -> Value {
        let mut container = json!({ "name": "operator", "image": "hyperfleet", "args": ["operator"] });
        container.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
        container
    }

    #[tokio::test]
    async fn an_operator_is_looked_for_in_its_namespace() {
        let args = ["operator", "--bootstrap-advertise=https://10.0.0.5:8444"];
        let client = cluster(Some(operator(&json!({ "args": args }))), &json!({}));
        assert_eq!(deployed(&client, "hf").await.as_deref(), Some("https://10.0.0.5:8444"));
        assert_eq!(deployed(&client, "other").await, None);
    }

    #[tokio::test]
    async fn what_a_config_map_says_is_read_where_the_operator_has_it_from() {
        let maps = json!({
            "hyperfleet": { "BOOTSTRAP_ADVERTISE": "https://a:1" }, "b": { "ADVERTISE": "https://b:1" }, "c": { "X": "y" },
        });
        let from = |sources: Value| operator(&json!({ "envFrom": sources }));
        let map = |name: &str| json!({ "configMapRef": { "name": name } });
        let one = |from: Value| operator(&json!({ "env": [{ "name": "BOOTSTRAP_ADVERTISE", "valueFrom": from }] }));
        let of_b = json!({ "configMapRef": { "name": "b" }, "prefix": "BOOTSTRAP_" });
        let key = json!({ "configMapKeyRef": { "name": "b", "key": "ADVERTISE" } });
        let secret = json!({ "secretKeyRef": { "name": "hyperfleet", "key": "BOOTSTRAP_ADVERTISE" } });
        for (container, said) in [
            (from(json!([map("hyperfleet")])), Some("https://a:1")),
            (from(json!([map("hyperfleet"), map("c"), map("gone")])), Some("https://a:1")),
            (from(json!([map("hyperfleet"), of_b])), Some("https://b:1")),
            (one(key), Some("https://b:1")),
            (one(secret), None),
            (from(json!([map("c")])), None),
            (
                operator(
                    &json!({ "args": ["operator", "--bootstrap-advertise=$(X)"], "envFrom": [map("hyperfleet")] }),
                ),
                None,
            ),
        ] {
            assert_eq!(deployed(&cluster(Some(container.clone()), &maps), "hf").await.as_deref(), said, "{container}");
        }
    }

    #[tokio::test]
    async fn an_operator_that_is_no_deployment_is_asked_by_what_it_wrote_down() {
        for (maps, said) in [
            (json!({ "hyperfleet": { "BOOTSTRAP_ADVERTISE": "https://a:1" } }), Some("https://a:1")),
            (json!({ "hyperfleet": { "BOOTSTRAP_ADVERTISE": "" } }), Some("")),
            (json!({ "hyperfleet": {} }), None),
            (json!({}), None),
        ] {
            assert_eq!(deployed(&cluster(None, &maps), "hf").await.as_deref(), said, "{maps}");
        }
    }
}
