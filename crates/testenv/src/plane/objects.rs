//! What almost every test puts into the control plane first: a namespace and custom resource definitions.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};

use super::ControlPlane;
use crate::access::get_text;
use crate::demand::demand;
use crate::waiting::eventually;

/// How long a definition may take until its resources are served.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

impl ControlPlane {
    /// Makes a namespace that no other test has; its name begins with `prefix`.
    pub async fn namespace(&self, prefix: &str) -> String {
        self.namespace_with_labels(prefix, &[]).await
    }

    /// Makes a namespace that no other test has, with labels.
    pub async fn namespace_with_labels(&self, prefix: &str, labels: &[(&str, &str)]) -> String {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let metadata =
            ObjectMeta { generate_name: Some(format!("{prefix}-")), labels: Some(labels), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let api: Api<Namespace> = Api::all(self.client());
        demand("create a namespace", api.create(&PostParams::default(), &namespace).await).name_any()
    }

    /// Installs or updates definitions; returns when all their versions are served. Test programs may do this at once.
    pub async fn install_crds(&self, definitions: &[CustomResourceDefinition]) {
        let client = self.client();
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in definitions {
            apply(&api, definition).await;
        }
        for definition in definitions {
            let name = definition.name_any();
            eventually(&format!("{name} is served"), SERVED_WITHIN, async || {
                let established = is_established(&api.get_status(&name).await.ok()?);
                (established && is_served(&client, definition).await).then_some(())
            })
            .await;
        }
    }
}

/// Applies one definition. Two programs that create the same one at the same moment get a conflict: then ask again.
async fn apply(api: &Api<CustomResourceDefinition>, definition: &CustomResourceDefinition) {
    let name = definition.name_any();
    // The definition as a user would write it: the server refuses a status and what it fills in itself.
    let mut wanted = definition.clone();
    wanted.status = None;
    let params = PatchParams::apply("hyperfleet-testenv").force();
    let applied = eventually(&format!("{name} is applied"), SERVED_WITHIN, async || {
        match api.patch(&name, &params, &Patch::Apply(&wanted)).await {
            Ok(_) => Some(Ok(())),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => None,
            Err(error) => Some(Err(error)),
        }
    })
    .await;
    demand("install a definition", applied);
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Established" && one.status == "True"))
}

/// Established is a promise; only an answered list shows that it is kept.
async fn is_served(client: &kube::Client, definition: &CustomResourceDefinition) -> bool {
    let spec = &definition.spec;
    for version in spec.versions.iter().filter(|version| version.served) {
        let path = format!("/apis/{}/{}/{}?limit=1", spec.group, version.name, spec.names.plural);
        if get_text(client, &path).await.is_err() {
            return false;
        }
    }
    true
}
