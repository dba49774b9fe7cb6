//! Binding roles to an account.

use anyhow::Result;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};

use super::{Grant, ServiceAccountRef};

/// Installs the role of a grant and binds it to the account, both under a name of the account's own.
pub(super) async fn bind(client: &Client, account: &ServiceAccountRef, index: usize, grant: &Grant) -> Result<()> {
    let name = format!("{}-{}-{index}", account.namespace, account.name);
    let place = grant.seen_in(&account.namespace);
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.name.clone(),
        namespace: Some(account.namespace.clone()),
        ..Subject::default()
    };
    match grant {
        Grant::ClusterWide(role) => {
            install_cluster_role(client, &name, role).await?;
            let binding = ClusterRoleBinding {
                metadata: named(&name, None),
                role_ref: role_ref("ClusterRole", &name),
                subjects: Some(vec![subject]),
            };
            apply(&Api::all(client.clone()), &name, &binding).await
        }
        Grant::Within(_, role) => {
            install_cluster_role(client, &name, role).await?;
            apply(&Api::namespaced(client.clone(), place), &name, &binding(&name, place, "ClusterRole", subject)).await
        }
        Grant::Namespaced(role) => {
            let metadata = ObjectMeta { labels: role.metadata.labels.clone(), ..named(&name, Some(place)) };
            apply(&Api::namespaced(client.clone(), place), &name, &Role { metadata, ..role.clone() }).await?;
            apply(&Api::namespaced(client.clone(), place), &name, &binding(&name, place, "Role", subject)).await
        }
    }
}

async fn install_cluster_role(client: &Client, name: &str, role: &ClusterRole) -> Result<()> {
    // Without its labels: a copy that aggregates into `edit` would change what everybody else may do.
    apply(&Api::all(client.clone()), name, &ClusterRole { metadata: named(name, None), ..role.clone() }).await
}

fn binding(name: &str, namespace: &str, kind: &str, subject: Subject) -> RoleBinding {
    RoleBinding {
        metadata: named(name, Some(namespace)),
        role_ref: role_ref(kind, name),
        subjects: Some(vec![subject]),
    }
}

fn named(name: &str, namespace: Option<&str>) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), namespace: namespace.map(str::to_owned), ..ObjectMeta::default() }
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: "rbac.authorization.k8s.io".to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

/// Applies an object, whoever has owned its fields before.
pub(super) async fn apply<K>(api: &Api<K>, name: &str, object: &K) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let params = PatchParams::apply("hyperfleet-testenv").force();
    api.patch(name, &params, &Patch::Apply(object)).await?;
    Ok(())
}
