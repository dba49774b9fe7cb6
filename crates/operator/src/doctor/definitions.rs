//! The definitions of our kinds: whether they are there, and those of this version.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::Means;
use super::chart::{Chart, Check, Severity};
use super::kubernetes::told;

const OBJECT: &str = "custom resource definitions";
const REMEDY: &str = "hyperfleet crds | kubectl apply --server-side -f -";

/// Whether all of them are there, of whatever version.
pub(super) async fn installed(means: &Means, chart: &mut Chart) -> bool {
    let installed: Api<CustomResourceDefinition> = Api::all(means.client.clone());
    let (mut missing, mut old) = (Vec::new(), Vec::new());
    for wanted in api::crds() {
        let name = wanted.name_any();
        match installed.get_opt(&name).await {
            Ok(None) => missing.push(name),
            Ok(Some(found)) => {
                if !same(&wanted, &found) {
                    old.push(name);
                }
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                let what = "you may not read them, so that their version is not checked";
                let remedy = "kubectl get crds    # as somebody who may; compare with: hyperfleet crds";
                chart.find(Severity::Unknown, Check::Definitions, &OBJECT, what, remedy);
                return true;
            }
            Err(error) => {
                let what = format!("they could not be read: {}", told(&error));
                chart.find(
                    Severity::Unknown,
                    Check::Definitions,
                    &OBJECT,
                    what,
                    "run it again when the API server is well",
                );
                return false;
            }
        }
    }
    if !missing.is_empty() {
        let what =
            format!("{} not there: {}", if missing.len() == 1 { "one is" } else { "some are" }, missing.join(", "));
        chart.find(Severity::Broken, Check::Definitions, &OBJECT, what, REMEDY);
        return false;
    }
    if old.is_empty() {
        chart.pass(Check::Definitions, &OBJECT, "all are there, of this version");
    } else {
        let what = format!("not those of version {}: {}", crate::cli::VERSION, old.join(", "));
        chart.find(Severity::Broken, Check::Definitions, &OBJECT, what, REMEDY);
    }
    true
}

/// Whether everything that we would install is in what is there; API servers add to it.
fn same(wanted: &CustomResourceDefinition, found: &CustomResourceDefinition) -> bool {
    let schemas = |definition: &CustomResourceDefinition| -> Vec<(String, Value)> {
        let versions = definition.spec.versions.iter();
        versions
            .map(|version| (version.name.clone(), serde_json::to_value(&version.schema).unwrap_or_default()))
            .collect()
    };
    let found = schemas(found);
    schemas(wanted)
        .iter()
        .all(|(version, schema)| found.iter().any(|(other, held)| version == other && covers(held, schema)))
}

fn covers(held: &Value, wanted: &Value) -> bool {
    match (held, wanted) {
        (Value::Object(held), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| held.get(name).is_some_and(|held| covers(held, wanted)))
        }
        (Value::Array(held), Value::Array(wanted)) => {
            held.len() == wanted.len() && held.iter().zip(wanted).all(|(held, wanted)| covers(held, wanted))
        }
        (held, wanted) => held == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_rule_is_another_version_and_what_servers_add_is_not() {
        for ours in api::crds() {
            assert!(same(&ours, &ours));
            let mut other = serde_json::to_value(&ours).unwrap();
            other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-added-by-a-server"] = true.into();
            let added: CustomResourceDefinition = serde_json::from_value(other.clone()).unwrap();
            assert!(same(&ours, &added));
            let spec = &mut other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            spec["properties"].as_object_mut().unwrap().clear();
            assert!(!same(&ours, &serde_json::from_value(other).unwrap()));
        }
    }
}
