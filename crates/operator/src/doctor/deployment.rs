//! What the operator was told, as its Deployment shows it.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Container;
use kube::api::ListParams;
use kube::{Api, Client};

const FLAG: &str = "--bootstrap-advertise";
const VARIABLE: &str = "BOOTSTRAP_ADVERTISE";
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

/// `bootstrap.advertise` of the operator that is deployed in a namespace: empty if it has none, nothing if no operator is
/// found there, or if its Deployment does not show it.
pub async fn deployed(client: &Client, namespace: &str) -> Option<String> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let found = deployments.list(&ListParams::default()).await.ok()?;
    let specs = found.items.into_iter().filter_map(|deployment| deployment.spec?.template.spec);
    let containers: Vec<Container> = specs.flat_map(|spec| spec.containers).collect();
    shown(&containers)
}

/// What the operators among these containers say together: the sets of controllers may be deployed apart, and not each of
/// them needs to be told.
fn shown(containers: &[Container]) -> Option<String> {
    let told: Vec<Told> = containers.iter().filter(|container| is_operator(container)).map(told).collect();
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
        assert_eq!(shown(&[serde_json::from_value(other).unwrap()]), None, "it is no operator of ours");
    }

    #[tokio::test]
    async fn an_operator_is_looked_for_in_its_namespace() {
        let service = tower::service_fn(|request: http::Request<kube::client::Body>| async move {
            let args = ["operator", "--bootstrap-advertise=https://10.0.0.5:8444"];
            let container = json!({ "name": "operator", "image": "hyperfleet", "args": args });
            let deployment = json!({
                "metadata": { "name": "operator" },
                "spec": { "selector": {}, "template": { "spec": { "containers": [container] } } },
            });
            let here = request.uri().path() == "/apis/apps/v1/namespaces/hf/deployments";
            let items = if here { vec![deployment] } else { Vec::new() };
            let list = json!({ "kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": items });
            let body = http_body_util::Full::new(bytes::Bytes::from(list.to_string()));
            Ok::<_, std::convert::Infallible>(http::Response::new(body))
        });
        let client = Client::new(service, "default");
        assert_eq!(deployed(&client, "hf").await.as_deref(), Some("https://10.0.0.5:8444"));
        assert_eq!(deployed(&client, "other").await, None);
    }
}
